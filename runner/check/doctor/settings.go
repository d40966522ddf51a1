package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/host/landlock"
	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// host reads the settings of the system below root.
type host struct {
	root   string // "/"
	getenv func(name string) string
	admin  bool // the caller is root
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

// setting reads a kernel setting. missing describes a kernel without it.
func (h host) setting(name, missing string) (f check.Finding, value string) {
	value = h.text("proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	f = check.Finding{Seen: name + " is " + value}
	if value == "" {
		f.Seen = missing
	}
	return f, value
}

// blamed returns a failure if a try failed that a setting may have caused: a setting by itself is no failure.
func (e *examination) blamed(f check.Finding, remedy remedies.Remedy, means string) check.Finding {
	for _, k := range e.checks() {
		if k.Try != nil && e.Of(k.Name).Status == check.Fail {
			return f.As(check.Fail, means, remedy)
		}
	}
	return f
}

// subIDs finds the ids that the caller may give to runs, and whether runs with these flags may have them.
func (e *examination) subIDs(context.Context) (f check.Finding) {
	a := e.Account
	switch {
	case a.HasRange():
		f.Seen = fmt.Sprintf("user ids %s, group ids %s", span(a.UIDs), span(a.GIDs))
	case a.Notice != "":
		f.Seen = a.Notice
	default:
		f.Seen = "none for this user in /etc/subuid and /etc/subgid"
	}
	if !a.HasRange() {
		f = f.As(check.Warn, "runs have the caller's own id, and are uid 0 inside", remedySubIDs(a))
	}
	if err := plan.CheckIDs(a, e.analysis.IDs, e.analysis.Limits); err != nil {
		f.Seen = err.Error()
		f = f.As(check.Fail, "runs are refused", remedySubIDs(a))
		var host *request.HostError
		if !errors.As(err, &host) {
			f.Cure, f.Command = "leave --ids out", "scidex-oci run COMMAND"
		}
	}
	return f
}

func remedySubIDs(a idmap.Account) remedies.Remedy {
	switch {
	case a.Root():
		return remedies.Remedy{Sentence: "the outer container must be started with a larger id map", Command: "podman run --userns=auto:size=131072 IMAGE"}
	case strings.Contains(a.Notice, "is missing"):
		return remedies.Remedy{Sentence: "let root install the program that writes the id maps", Command: "apt-get install uidmap"}
	}
	return remedies.Remedy{
		Sentence: "let root give this user a range of ids",
		Command:  fmt.Sprintf("usermod --add-subuids 100000-165535 --add-subgids 100000-165535 \"$(id -un %d)\"", a.UID),
	}
}

func span(r idmap.Range) string { return fmt.Sprintf("%d to %d", r.Start, r.Start+r.Count-1) }

// landlock says which version holds analyses. None is no failure.
func (e *examination) landlock(context.Context) check.Finding {
	return judgeLandlock(landlock.Version())
}

func judgeLandlock(version int) check.Finding {
	if version == 0 {
		return check.Finding{
			Seen:  fmt.Sprintf("the kernel has no Landlock of version %d or later (Linux 5.19 has, unless its option lsm= leaves it out)", landlock.Oldest),
			Means: "runs have the walls of their namespaces, mounts and filter, and no second one around files",
		}
	}
	return check.Finding{Seen: fmt.Sprintf("version %d", version)}
}

// spareProcesses is what launcher and supervisor need in addition to an analysis.
const spareProcesses = 64

func (e *examination) processes(context.Context) check.Finding {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &limit); err != nil {
		limit.Cur = unix.RLIM_INFINITY
	}
	return judgeProcesses(limit.Cur, e.analysis.Pids)
}

func judgeProcesses(limit uint64, pids int64) check.Finding {
	f := check.Finding{Seen: fmt.Sprintf("at most %d processes and threads of the caller (RLIMIT_NPROC)", limit)}
	switch {
	case limit == unix.RLIM_INFINITY:
		f.Seen = "no limit (RLIMIT_NPROC)"
	case limit < uint64(pids)+spareProcesses:
		return f.As(check.Warn, fmt.Sprintf("runs may fail to start, or get less than --pids %d", pids),
			remedies.Remedy{Sentence: "raise the limit of processes", Command: fmt.Sprintf("ulimit -u %d", pids+10*spareProcesses)})
	}
	return f
}

// fewNamespaces is too few for several runs at once: each needs two, the supervisor's and its own.
const fewNamespaces = 16

func (e *examination) maxNamespaces(context.Context) check.Finding {
	f, value := e.host.setting("user.max_user_namespaces", "the kernel has no user.max_user_namespaces")
	n, err := strconv.Atoi(value)
	switch {
	case err != nil:
		return f
	case n == 0:
		return f.As(check.Fail, "no run can start: user namespaces are switched off", remedies.SwitchedOff)
	case n < fewNamespaces:
		return f.As(check.Warn, "few runs can be there at once: each takes two user namespaces",
			remedies.Remedy{Sentence: "allow more of them", Command: remedies.UsedUp.Command})
	}
	return f
}

func (e *examination) unprivileged(context.Context) check.Finding {
	f, value := e.host.setting("kernel.unprivileged_userns_clone", "the kernel has no such switch")
	if value == "0" {
		return e.blamed(f, remedies.Unprivileged, "no run can start: root's supervisor is unprivileged on the host, too")
	}
	return f
}

func (e *examination) appArmor(context.Context) check.Finding {
	f, value := e.host.setting("kernel.apparmor_restrict_unprivileged_userns", "AppArmor restricts no user namespaces here")
	if value != "1" || e.host.admin {
		return f
	}
	remedy := remedies.AppArmor
	if e.around.name == gitHubJob {
		remedy = gitHubRemedy
	}
	return e.blamed(f, remedy, "no run of an ordinary user can start but under an AppArmor profile with userns for this program's own path")
}

// container finds what the container around this process restricts: a seccomp filter, and mounts over parts of /proc,
// which forbid to mount a new one.
func (e *examination) container(context.Context) (f check.Finding) {
	name := e.around.name
	var restrictions []string
	if e.host.status("Seccomp") == "2" {
		restrictions = append(restrictions, "a seccomp filter")
	}
	if n := e.host.masked(); n > 0 {
		restrictions = append(restrictions, fmt.Sprintf("%d mounts over parts of /proc", n))
	}
	switch {
	case name == "" && len(restrictions) == 0:
		return check.Finding{Seen: "no container around this"}
	case name == "":
		name = "no known container"
	}
	f.Seen = name
	if len(restrictions) == 0 {
		return f // it restricts nothing
	}
	f.Seen += ", with " + strings.Join(restrictions, " and ")
	return e.blamed(f, e.around.specific(remedies.Container), "a container around this takes from runs what they need")
}

// status returns a field of proc_pid_status(5), "" if it is missing.
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
