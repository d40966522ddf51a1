package doctor

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor/rootmount"
)

// Codes that are used twice.
const (
	codeUnshare     = "userns.unshare"
	codeSubIDs      = "idmap.subids"
	codeRange       = "idmap.range"
	codeTmpfs       = "mount.tmpfs"
	codeProc        = "mount.proc"
	codeOverlay     = "mount.overlay"
	codeFilter      = "seccomp.filter"
	codeProcesses   = "process.limit"
	codeParentGroup = "cgroup.place"
	codeRoot        = "disk.root"
	codeTmp         = "disk.tmp"
	codeRun         = "run.true"
)

// harmless is what a setting means that is well.
const harmless = "it holds no run up"

// checks in the order of a report. Their names are public codes: codes are added, never changed.
func (e *examination) checks() []check.Check {
	inner := []string{codeUnshare, codeRange}
	return []check.Check{
		{
			Name: codeUnshare, Advice: e.onThisHost(remedyNamespace),
			Try:   &check.Try{IDs: check.MapNothing, Do: step("a child process ran in a user namespace of its own", ownNamespace)},
			Works: "runs can be walled off in a user namespace",
			Fails: "no run can start: the outermost wall is a user namespace",
		},
		{
			Name: "idmap.self", Needs: []string{codeUnshare}, Advice: e.onThisHost(remedyNamespace), Warns: e.Account.HasRange() || e.Account.Root(),
			Try:   &check.Try{IDs: check.MapSelf, Do: identity},
			Works: "a caller can be root of a namespace of its own",
			Fails: "no run of a caller without a range of ids can start",
		},
		{Name: codeSubIDs, Do: e.subIDs, Works: "each run has ids that no other has"},
		{
			Name: codeRange, Needs: []string{codeUnshare}, Advice: e.remedyMaps,
			Try:   &check.Try{IDs: check.MapAccount, Do: identity},
			Works: "the supervisor gets the ids that it gives to runs",
			Fails: "no run can start: the supervisor gets no ids",
		},
		{
			Name: "userns.nested", Needs: inner, Advice: e.onThisHost(remedyNamespace),
			Try:   &check.Try{IDs: check.MapAccount, Do: nested},
			Works: "each run gets a user namespace within the supervisor's",
			Fails: "no run can start: a run has a user namespace within the supervisor's",
		},
		{
			Name: codeTmpfs, Needs: inner, Advice: e.onThisHost(remedyMount),
			Try:   &check.Try{IDs: check.MapAccount, Namespaces: unix.CLONE_NEWNS, Do: step("mounted one and wrote to it", rootmount.RehearseTmpfs)},
			Works: "root filesystem, /tmp and home of runs can be made",
			Fails: "no run can start: its root filesystem is a tmpfs",
		},
		{
			Name: codeProc, Needs: inner, Advice: e.onThisHost(remedyProc),
			Try:   &check.Try{IDs: check.MapAccount, Namespaces: unix.CLONE_NEWNS | unix.CLONE_NEWPID, Do: step("mounted one for a PID namespace of its own", supervisor.RehearseProc)},
			Works: "runs see their own processes only",
			Fails: "no run can start: it has a /proc of its own",
		},
		{
			Name: "mount.bind", Needs: []string{codeTmpfs}, Advice: e.onThisHost(remedyBind),
			Try:   &check.Try{IDs: check.MapAccount, Namespaces: unix.CLONE_NEWNS, Do: step("open_tree, mount_setattr and move_mount made a bind that cannot be written to (EROFS)", rootmount.RehearseBind)},
			Works: "inputs can be bound read-only",
			Fails: "no run can start: nothing of the host can be bound read-only",
		},
		{
			Name: codeOverlay, Needs: []string{codeTmpfs}, Advice: e.remedyOverlay, Warns: true,
			Try:   &check.Try{IDs: check.MapAccount, Namespaces: unix.CLONE_NEWNS, Do: step("a unix socket below an overlay with userxattr refuses connections", rootmount.RehearseOverlay)},
			Works: "a unix socket in a bound directory is out of reach, also one that is made later",
			Fails: "that a bound directory has no unix socket is only looked at before the start: one made later can be reached",
		},
		{
			Name: "namespace.network", Needs: inner, Advice: e.onThisHost(remedyNamespace),
			Try:   &check.Try{IDs: check.MapAccount, Namespaces: unix.CLONE_NEWNET, Do: step("an empty one with a loopback that answers", supervisor.RehearseLoopback)},
			Works: "runs have no network but a loopback of their own",
			Fails: "no run can start: it would have the host's network",
		},
		{
			Name: "namespace.ipc", Needs: inner, Advice: e.onThisHost(remedyNamespace),
			Try:   &check.Try{IDs: check.MapAccount, Namespaces: unix.CLONE_NEWIPC, Do: step("made one", ownNamespace)},
			Works: "runs share no System V objects or queues with the host",
			Fails: "no run can start: it would share the host's System V objects",
		},
		{
			Name: "namespace.uts", Needs: inner, Advice: e.onThisHost(remedyNamespace),
			Try:   &check.Try{IDs: check.MapAccount, Namespaces: unix.CLONE_NEWUTS, Do: hostName},
			Works: "runs have a host name of their own",
			Fails: "no run can start: it has a host name of its own",
		},
		{
			Name: "namespace.cgroup", Needs: inner, Advice: e.onThisHost(remedyNamespace),
			Try:   &check.Try{IDs: check.MapAccount, Namespaces: unix.CLONE_NEWCGROUP, Do: step("made one", ownNamespace)},
			Works: "runs do not see where their control group is",
			Fails: "no run can start: it has a cgroup namespace",
		},
		{
			Name: codeFilter, Advice: e.onThisHost(remedyKernel),
			Try:   &check.Try{Do: filtered},
			Works: "system calls that runs must not make are refused",
			Fails: "no run can start: its system calls cannot be filtered",
		},
		{
			Name: "seccomp.notify", Needs: []string{codeFilter}, Advice: e.onThisHost(remedyNotify), Warns: e.options.NoAudit,
			Try:   &check.Try{Do: notified},
			Works: "what runs try to reach is noted (audit)",
			Fails: "runs start with --audit off only",
		},
		{
			Name: "process.parent_death", Advice: e.onThisHost(remedyKernel),
			Try:   &check.Try{Do: parentDeath},
			Works: "a supervisor dies with its launcher, and its runs with it",
			Fails: "runs could outlive this program",
		},
		{
			Name: "process.pidfd", Advice: e.onThisHost(remedyKernel),
			Try:   &check.Try{Do: pidfd},
			Works: "processes of runs are signalled by what they are and not by a number",
			Fails: "no run can start: its processes cannot be held by a descriptor",
		},
		{Name: codeProcesses, Do: e.processes, Works: harmless},
		{Name: "sysctl.max_user_namespaces", Do: e.maxNamespaces, Works: harmless},
		{Name: "sysctl.unprivileged_userns_clone", Do: e.unprivileged, Works: harmless},
		{Name: "apparmor.userns", Do: e.appArmor, Works: harmless},
		{Name: "container", Do: e.container, Works: harmless},
		{Name: "landlock", Do: e.landlock, Works: "what runs reach of file systems is bounded a second time, by the kernel's rules for files"},
		{Name: codeParentGroup, Do: e.parentGroup, Works: "the kernel holds all processes of a run together to its limits"},
		e.controller(groupsSystemd, "memory"),
		e.controller(groupsSystemd, "pids"),
		e.controller(groupsSystemd, "cpu"),
		e.controller(groupsDelegated, "memory"),
		e.controller(groupsDelegated, "pids"),
		e.controller(groupsDelegated, "cpu"),
		e.controller(groupsV1, "memory"),
		e.controller(groupsV1, "pids"),
		e.controller(groupsV1, "cpu"),
		e.disk(codeRoot, e.options.Root, "give another place with --root DIR", "outputs and catalog are kept here"),
		e.disk(codeTmp, e.options.Tmp, "give another place with --tmp DIR", "working directories of runs are made here"),
		{Name: "catalog.open", Do: e.sqlite, Works: "runs and their outputs are kept"},
		{Name: "catalog.postgresql", Do: e.postgres, Works: "runs and their outputs are kept"},
		{Name: codeRun, Do: e.runTrue, Works: "runs work, from the request to the commit"},
		{Name: "run.python", Needs: []string{codeRun}, Do: e.runPython, Works: "analyses in Python find an interpreter"},
	}
}

// step makes a step of the supervisor the function of a check.
func step(seen string, do func() error) func() (string, error) {
	return func() (string, error) { return seen, do() }
}

// onThisHost makes advice fit this host: its limit of processes, and the container engine or CI job around it.
func (e *examination) onThisHost(advice func(error) remedies.Remedy) func(error) remedies.Remedy {
	return func(err error) remedies.Remedy {
		if outOfProcesses(err.Error()) {
			return remedies.Processes
		}
		return e.around.specific(advice(err))
	}
}

// outOfProcesses reports whether an error says that a process or thread could not be created: an error of the kernel, of
// libcontainer or of Go's runtime in a child.
func outOfProcesses(text string) bool {
	for _, words := range []string{unix.EAGAIN.Error(), "Resource temporarily unavailable", "failed to create new OS thread", "RLIMIT_NPROC"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// remedyMaps is for ids that this process or newuidmap cannot map. newuidmap says why.
func (e *examination) remedyMaps(err error) remedies.Remedy {
	if remedy, ok := e.host.ids(e.around); ok && !outOfProcesses(err.Error()) {
		return remedy
	}
	return e.onThisHost(func(err error) remedies.Remedy {
		if strings.Contains(err.Error(), "newuidmap") || strings.Contains(err.Error(), "newgidmap") {
			return remedies.Remedy{
				Sentence: "newuidmap and newgidmap must be those of the package uidmap, with their privileges, and the ranges in /etc/subuid and /etc/subgid the caller's own",
				Command:  "apt-get install --reinstall uidmap",
			}
		}
		return remedyNamespace(err)
	})(err)
}

func (e *examination) remedyOverlay(err error) remedies.Remedy {
	remedy := e.onThisHost(remedyMount)(err)
	switch {
	case errors.Is(err, unix.ENODEV):
		return remedies.Remedy{Sentence: "the overlay file system must be loaded", Command: "modprobe overlay"}
	case !errors.Is(err, unix.EPERM) && remedy != remedies.Processes:
		remedy.Sentence = "the kernel must have overlayfs in user namespaces (Linux 5.11)"
	}
	return remedy
}

// remedyNamespace and the functions below return what helps if a check has failed.
func remedyNamespace(err error) remedies.Remedy {
	if remedy, ok := remedies.Namespaces("/proc", err); ok {
		return remedy
	}
	return remedyKernel(err)
}

// remedyMount is for mounts that AppArmor or a container's profile refuses although it allows namespaces.
func remedyMount(err error) remedies.Remedy {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return remedyNamespace(err)
	}
	return remedyKernel(err)
}

func remedyProc(err error) remedies.Remedy {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return remedies.Proc
	}
	return remedyKernel(err)
}

func remedyBind(err error) remedies.Remedy {
	if errors.Is(err, unix.ENOSYS) {
		return remedies.Remedy{Sentence: "the kernel must have mount_setattr (Linux 5.12), and a container's seccomp profile must let it through", Command: remedies.Container.Command}
	}
	return remedyMount(err)
}

func remedyNotify(error) remedies.Remedy {
	return remedies.Remedy{Sentence: "the kernel must have seccomp user notification (Linux 5.5), or runs do without the audit", Command: "scidex-oci run --audit off COMMAND"}
}

// remedyKernel is for what every supported kernel has.
func remedyKernel(error) remedies.Remedy {
	return remedies.Remedy{Sentence: "the kernel, or the seccomp profile of a container around this, must allow it", Command: remedies.Container.Command}
}
