package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/landlock"
	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
)

// host reads the settings of the system below root. A setting alone is no failure: it is judged with the results of the
// child probes.
type host struct {
	root   string // "/"
	getenv func(name string) string
	admin  bool // the caller is root
	failed bool // a child probe has failed
}

// checkSettings finds the settings for which child probes fail.
func (e *examination) checkSettings(context.Context) {
	h := e.host
	for _, p := range childProbes() {
		h.failed = h.failed || e.report.status(p.Name) == Fail
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &limit); err != nil {
		limit.Cur = unix.RLIM_INFINITY
	}
	e.add(judgeProcesses(limit.Cur, e.analysis.Pids))
	e.add(h.maxNamespaces())
	e.add(h.unprivileged())
	e.add(h.appArmor())
	e.add(h.container())
	e.add(judgeLandlock(landlock.Version()))
}

func (h host) text(name string) string {
	raw, err := os.ReadFile(filepath.Join(h.root, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

func (h host) has(name string) bool {
	_, err := os.Stat(filepath.Join(h.root, name))
	return err == nil
}

// setUID reports whether a program runs as its owner.
func (h host) setUID(name string) bool {
	info, err := os.Stat(filepath.Join(h.root, name))
	return err == nil && info.Mode()&fs.ModeSetuid != 0
}

// setting is the finding that a kernel setting is harmless. missing describes a kernel without it.
func (h host) setting(code, name, missing string) (f Finding, value string) {
	value = h.text("proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	f = Finding{Code: code, Status: OK, Seen: name + " is " + value, Means: meansNothing}
	if value == "" {
		f.Seen = missing
	}
	return f, value
}

// blamed returns a failure where a probe failed that the setting may have caused.
func (h host) blamed(f Finding, remedy remedies.Remedy, means string) Finding {
	if h.failed {
		return f.as(Fail, means, remedy)
	}
	return f
}

const meansNothing = "it holds no run up"

// judgeLandlock says which version holds analyses. None is no failure.
func judgeLandlock(version int) Finding {
	if version == 0 {
		return Finding{
			Code: CodeLandlock, Status: OK, Seen: fmt.Sprintf("the kernel has no Landlock of version %d or later (Linux 5.19 has, unless its option lsm= leaves it out)", landlock.Oldest),
			Means: "runs have the walls of their namespaces, mounts and filter, and no second one around files",
		}
	}
	return Finding{
		Code: CodeLandlock, Status: OK, Seen: fmt.Sprintf("version %d", version),
		Means: "what runs reach of file systems is bounded a second time, by the kernel's rules for files",
	}
}

// spareProcesses is what launcher and supervisor need in addition to an analysis.
const spareProcesses = 64

func judgeProcesses(limit uint64, pids int64) Finding {
	f := Finding{Code: CodeProcesses, Status: OK, Seen: fmt.Sprintf("at most %d processes and threads of the caller (RLIMIT_NPROC)", limit), Means: meansNothing}
	switch {
	case limit == unix.RLIM_INFINITY:
		f.Seen = "no limit (RLIMIT_NPROC)"
	case limit < uint64(pids)+spareProcesses:
		return f.as(Warn, fmt.Sprintf("runs may fail to start, or get less than --pids %d", pids),
			remedies.Remedy{Sentence: "raise the limit of processes", Command: fmt.Sprintf("ulimit -u %d", pids+10*spareProcesses)})
	}
	return f
}

// fewNamespaces is too few for several runs at once: each needs two, the supervisor's and its own.
const fewNamespaces = 16

func (h host) maxNamespaces() Finding {
	f, value := h.setting(CodeMaxUserNS, "user.max_user_namespaces", "the kernel has no user.max_user_namespaces")
	n, err := strconv.Atoi(value)
	switch {
	case err != nil:
		return f
	case n == 0:
		return f.as(Fail, "no run can start: user namespaces are switched off", remedies.SwitchedOff)
	case n < fewNamespaces:
		return f.as(Warn, "few runs can be there at once: each takes two user namespaces",
			remedies.Remedy{Sentence: "allow more of them", Command: remedies.UsedUp.Command})
	}
	return f
}

func (h host) unprivileged() Finding {
	f, value := h.setting(CodeUserNSOff, "kernel.unprivileged_userns_clone", "the kernel has no such switch")
	if value == "0" {
		return h.blamed(f, remedies.Unprivileged, "no run can start: root's supervisor is unprivileged on the host, too")
	}
	return f
}

func (h host) appArmor() Finding {
	f, value := h.setting(CodeAppArmor, "kernel.apparmor_restrict_unprivileged_userns", "AppArmor restricts no user namespaces here")
	if value != "1" || h.admin {
		return f
	}
	remedy := remedies.AppArmor
	if h.surroundings().name == gitHubJob {
		remedy = gitHubRemedy
	}
	return h.blamed(f, remedy, "no run of an ordinary user can start but under an AppArmor profile with userns for this program's own path")
}

// container finds what the container around this process restricts: a seccomp filter, and mounts over parts of /proc,
// which forbid to mount a new one.
func (h host) container() Finding {
	in := h.surroundings()
	name, remedy := in.name, in.specific(remedies.Container)
	var restrictions []string
	if h.filtered() {
		restrictions = append(restrictions, "a seccomp filter")
	}
	if n := h.masked(); n > 0 {
		restrictions = append(restrictions, fmt.Sprintf("%d mounts over parts of /proc", n))
	}
	f := Finding{Code: CodeContainer, Status: OK, Means: meansNothing}
	switch {
	case name == "" && len(restrictions) == 0:
		f.Seen = "no container around this"
		return f
	case name == "":
		name = "no known container"
	}
	f.Seen = name
	if len(restrictions) == 0 {
		return f // it restricts nothing
	}
	f.Seen += ", with " + strings.Join(restrictions, " and ")
	return h.blamed(f, remedy, "a container around this takes from runs what they need")
}

// filtered reports whether this process has a seccomp filter.
func (h host) filtered() bool { return h.status("Seccomp") == "2" }

// status returns a field of proc_pid_status(5), "" where it is missing.
func (h host) status(field string) string {
	for line := range strings.Lines(h.text("proc/self/status")) {
		if name, value, _ := strings.Cut(line, ":"); name == field {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// masked counts the mounts over parts of /proc, except binfmt_misc, which systemd mounts on every host.
func (h host) masked() (n int) {
	for line := range strings.Lines(h.text("proc/self/mountinfo")) {
		fields := strings.Fields(line)
		if len(fields) > 4 && strings.HasPrefix(fields[4], "/proc/") && fields[4] != "/proc/sys/fs/binfmt_misc" {
			n++
		}
	}
	return n
}
