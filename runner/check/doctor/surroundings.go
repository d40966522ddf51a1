package doctor

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
)

// surroundings is the container engine or CI job, or both, that this process runs in.
type surroundings struct {
	name string // "docker", "a GitLab job in docker"; empty for neither
	// start says how to start it so that runs work in it; empty if that is unknown.
	start remedies.Remedy
	// privileges says how to give newuidmap the privileges of its file, which no_new_privs removes.
	privileges remedies.Remedy
	// limits names the setting of its control groups, on which --limits outer relies.
	limits string
}

// engines of containers, by the files that they create. Kubernetes comes first: it may use docker.
var engines = []struct {
	file string
	surroundings
}{
	{"run/secrets/kubernetes.io", surroundings{
		name: "Kubernetes",
		start: remedies.Remedy{
			Sentence: "the pod must have hostUsers: false, and its container the securityContext procMount: Unmasked, seccompProfile: {type: Unconfined} and appArmorProfile: {type: Unconfined}",
			Command:  "kubectl replace --force -f POD.yaml",
		},
		privileges: remedies.Remedy{
			Sentence: "the container's securityContext must have allowPrivilegeEscalation: true, which newuidmap needs",
			Command:  "kubectl replace --force -f POD.yaml",
		},
		limits: "resources.limits of the container",
	}},
	{"run/.containerenv", surroundings{
		name:       "podman",
		start:      remedies.Podman,
		privileges: engineOptions("podman"),
		limits:     "podman run --memory --cpus --pids-limit",
	}},
	{".dockerenv", surroundings{
		name:       "docker",
		start:      remedies.Container,
		privileges: engineOptions("docker"),
		limits:     "docker run --memory --cpus --pids-limit",
	}},
}

func engineOptions(engine string) remedies.Remedy {
	return remedies.Remedy{
		Sentence: "the container must be started without --security-opt no-new-privileges, which keeps newuidmap from its privileges",
		Command:  engine + " run --security-opt no-new-privileges=false IMAGE",
	}
}

// gitHubJob is a job outside a container, on a runner with Ubuntu and sudo.
const gitHubJob = "a GitHub job"

var gitHubRemedy = remedies.Remedy{
	Sentence: "AppArmor restricts user namespaces, which a step of the job can lift",
	Command:  "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
}

// surroundings finds container engines by their files and CI jobs by their variables.
func (h host) surroundings() surroundings {
	var found surroundings
	for _, engine := range engines {
		if h.has(engine.file) {
			found = engine.surroundings
			break
		}
	}
	if found.name == "" && (h.getenv("container") == "lxc" || h.text("run/systemd/container") == "lxc") {
		found = surroundings{name: "LXC", start: remedies.Remedy{
			Sentence: "the LXC container must be allowed to nest others", Command: "lxc config set CONTAINER security.nesting true",
		}}
	}
	switch {
	case h.getenv("GITLAB_CI") == "true":
		return gitLab(found)
	case h.getenv("GITHUB_ACTIONS") == "true":
		return gitHub(found)
	}
	return found
}

// gitLab gives the remedies in terms of the runner's config.toml. systempaths=unconfined is an option of docker's command
// line only: its daemon, which a runner uses, has no such option; podman's has one.
func gitLab(in surroundings) surroundings {
	switch in.name {
	case "":
		in.name = "a GitLab job"
		return in
	case "docker", "podman":
		must := "have this line"
		if in.name == "docker" {
			must = "name a socket of podman's as host, with this line (or, with docker itself, have privileged = true)"
		}
		in.start = remedies.Remedy{
			Sentence: "in the runner's config.toml, [runners.docker] must " + must,
			Command:  `security_opt = ["seccomp=unconfined", "apparmor=unconfined", "unmask=ALL"]`,
		}
		in.privileges = remedies.Remedy{
			Sentence: "in the runner's config.toml, [runners.docker] must not have no-new-privileges, which keeps newuidmap from its privileges",
			Command:  `security_opt = ["no-new-privileges=false"]`,
		}
		in.limits = "memory, cpus and pids_limit in [runners.docker] of the runner's config.toml"
	case "Kubernetes":
		in.start = remedies.Remedy{
			Sentence: "in the runner's config.toml, [[runners.kubernetes.pod_spec]] must patch the pod with hostUsers: false, and its container build with this line",
			Command:  "securityContext: {procMount: Unmasked, seccompProfile: {type: Unconfined}, appArmorProfile: {type: Unconfined}}",
		}
		in.limits = "memory_limit and cpu_limit in [runners.kubernetes] of the runner's config.toml"
	}
	in.name = "a GitLab job in " + in.name
	return in
}

// gitHub gives the remedies in terms of a workflow.
func gitHub(in surroundings) surroundings {
	switch in.name {
	case "":
		in.name = gitHubJob
		return in
	case "docker":
		in.start = remedies.Remedy{
			Sentence: "the job's container in the workflow must have this line",
			Command:  "options: --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined",
		}
		in.limits = "options: --memory --cpus --pids-limit of the job's container"
	}
	in.name = gitHubJob + " in " + in.name
	return in
}

// specific replaces the general remedy for containers, which is for docker or podman, by that for this engine or job.
func (a surroundings) specific(remedy remedies.Remedy) remedies.Remedy {
	general := strings.HasPrefix(remedy.Command, "docker run ") || strings.HasPrefix(remedy.Command, "podman run ")
	if !general || a.start.Sentence == "" || a.start == remedies.Container {
		return remedy
	}
	return a.start
}

// outer is the remedy if no control groups can be made: those of a container are mostly read-only.
func (a surroundings) outer() remedies.Remedy {
	return remedies.Remedy{
		Sentence: "let the limits of " + a.name + " hold (" + a.limits + ") and run with --limits outer, or let rlimits and the clock hold what they can with --limits best-effort (for all runs: scidex-oci config set limits best-effort)",
		Command:  "scidex-oci run --limits outer COMMAND",
	}
}

// rootMapping is what root needs to map ids: CAP_SETGID, CAP_SETUID and, to map its own id, CAP_SETFCAP
// (user_namespaces(7)).
const rootMapping = 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_SETFCAP

// toolMapping is what newuidmap and newgidmap need at least. Set-uid root they need CAP_SYS_ADMIN, too.
const toolMapping = 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID

// ids returns how to let this process map ids, if known.
func (h host) ids(a surroundings) (remedies.Remedy, bool) {
	switch {
	case h.admin && h.withoutCapability("CapEff", rootMapping):
		return remedies.Remedy{
			Sentence: "root must keep the capabilities SETUID, SETGID and SETFCAP, which give runs their ids",
			Command:  a.capabilities("SETUID", "SETGID", "SETFCAP"),
		}, true
	case h.admin:
		return remedies.Remedy{}, false
	case h.status("NoNewPrivs") == "1":
		if a.privileges.Sentence != "" {
			return a.privileges, true
		}
		return remedies.Remedy{
			Sentence: "no_new_privs keeps newuidmap from its privileges: start this without (NoNewPrivileges= of a systemd unit), or let runs have the caller's own id for want of a range",
			Command:  `sed -i "/^$(id -un):/d" /etc/subuid /etc/subgid`,
		}, true
	case h.withoutCapability("CapBnd", toolMapping):
		return remedies.Remedy{
			Sentence: "newuidmap and newgidmap must be left the capabilities SETUID and SETGID, with which they give runs their ids",
			Command:  a.capabilities("SETUID", "SETGID"),
		}, true
	case h.withoutCapability("CapBnd", 1<<unix.CAP_SYS_ADMIN) && h.setUID("usr/bin/newuidmap"):
		return remedies.Remedy{
			Sentence: "newuidmap and newgidmap that are set-uid root need CAP_SYS_ADMIN, which is not to be had here; with capabilities of their files, set where the image is built (package libcap2-bin), they do without",
			Command:  "chmod u-s /usr/bin/newuidmap /usr/bin/newgidmap && setcap cap_setuid=ep /usr/bin/newuidmap && setcap cap_setgid=ep /usr/bin/newgidmap",
		}, true
	}
	return remedies.Remedy{}, false
}

// withoutCapability reports whether a capability is missing in a set of this process.
func (h host) withoutCapability(set string, capabilities uint64) bool {
	has, err := strconv.ParseUint(h.status(set), 16, 64)
	return err == nil && has&capabilities != capabilities
}

// capabilities is the setting that adds capabilities to the container around this process.
func (a surroundings) capabilities(names ...string) string {
	if strings.HasSuffix(a.name, "Kubernetes") {
		return "capabilities: {add: [" + strings.Join(names, ", ") + "]}"
	}
	engine := "docker"
	if strings.HasSuffix(a.name, "podman") {
		engine = "podman"
	}
	return engine + " run --cap-add " + strings.Join(names, " --cap-add ") + " IMAGE"
}
