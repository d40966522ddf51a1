package doctor

import "strings"

// Codes of probes, in the order of a report. They are public: they are only added to.
const (
	CodeUnshare    = "userns.unshare"
	CodeSelf       = "idmap.self"
	CodeSubIDs     = "idmap.subids"
	CodeRange      = "idmap.range"
	CodeNested     = "userns.nested"
	CodeTmpfs      = "mount.tmpfs"
	CodeProc       = "mount.proc"
	CodeBind       = "mount.bind"
	CodeOverlay    = "mount.overlay"
	CodeNetwork    = "namespace.network"
	CodeIPC        = "namespace.ipc"
	CodeUTS        = "namespace.uts"
	CodeCgroupNS   = "namespace.cgroup"
	CodeFilter     = "seccomp.filter"
	CodeNotify     = "seccomp.notify"
	CodeParent     = "process.parent_death"
	CodePidfd      = "process.pidfd"
	CodeProcesses  = "process.limit"
	CodeMaxUserNS  = "sysctl.max_user_namespaces"
	CodeUserNSOff  = "sysctl.unprivileged_userns_clone"
	CodeAppArmor   = "apparmor.userns"
	CodeContainer  = "container"
	CodePlace      = "cgroup.place"
	CodeRoot       = "disk.root"
	CodeTmp        = "disk.tmp"
	CodeCatalog    = "catalog.open"
	CodePostgreSQL = "catalog.postgresql"
	CodeRun        = "run.true"
	CodePython     = "run.python"
)

// The roads to control groups, and what each is tried with: cgroup.v2.systemd.memory.
const (
	roadV1        = "cgroup.v1."
	roadDelegated = "cgroup.v2.delegated."
	roadSystemd   = "cgroup.v2.systemd."
)

var (
	roads       = [...]string{roadSystemd, roadDelegated, roadV1}
	controllers = [...]string{"memory", "pids", "cpu"}
)

// Codes are all codes that a report has, each once.
func Codes() []string {
	all := []string{
		CodeUnshare, CodeSelf, CodeSubIDs, CodeRange, CodeNested, CodeTmpfs, CodeProc, CodeBind, CodeOverlay,
		CodeNetwork, CodeIPC, CodeUTS, CodeCgroupNS, CodeFilter, CodeNotify, CodeParent, CodePidfd,
		CodeProcesses, CodeMaxUserNS, CodeUserNSOff, CodeAppArmor, CodeContainer, CodePlace,
	}
	for _, road := range roads {
		for _, controller := range controllers {
			all = append(all, road+controller)
		}
	}
	return append(all, CodeRoot, CodeTmp, CodeCatalog, CodePostgreSQL, CodeRun, CodePython)
}

// ofStorage are the probes of what is the caller's own, which the run does without.
func ofStorage(code string) bool {
	return code == CodeRoot || strings.HasPrefix(code, "catalog.")
}
