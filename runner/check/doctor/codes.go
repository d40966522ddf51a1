package doctor

import "strings"

// Codes of probes, in the order of a report. They are public: codes are added, never changed.
const (
	CodeUnshare     = "userns.unshare"
	CodeSelf        = "idmap.self"
	CodeSubIDs      = "idmap.subids"
	CodeRange       = "idmap.range"
	CodeNested      = "userns.nested"
	CodeTmpfs       = "mount.tmpfs"
	CodeProc        = "mount.proc"
	CodeBind        = "mount.bind"
	CodeOverlay     = "mount.overlay"
	CodeNetwork     = "namespace.network"
	CodeIPC         = "namespace.ipc"
	CodeUTS         = "namespace.uts"
	CodeCgroupNS    = "namespace.cgroup"
	CodeFilter      = "seccomp.filter"
	CodeNotify      = "seccomp.notify"
	CodeParent      = "process.parent_death"
	CodePidfd       = "process.pidfd"
	CodeProcesses   = "process.limit"
	CodeMaxUserNS   = "sysctl.max_user_namespaces"
	CodeUserNSOff   = "sysctl.unprivileged_userns_clone"
	CodeAppArmor    = "apparmor.userns"
	CodeContainer   = "container"
	CodeParentGroup = "cgroup.place"
	CodeRoot        = "disk.root"
	CodeTmp         = "disk.tmp"
	CodeCatalog     = "catalog.open"
	CodePostgreSQL  = "catalog.postgresql"
	CodeRun         = "run.true"
	CodePython      = "run.python"
)

// Prefixes of the codes of control groups, one for each way to get them. A controller follows: cgroup.v2.systemd.memory.
const (
	groupsV1        = "cgroup.v1."
	groupsDelegated = "cgroup.v2.delegated."
	groupsSystemd   = "cgroup.v2.systemd."
)

var (
	groupCodes  = [...]string{groupsSystemd, groupsDelegated, groupsV1}
	controllers = [...]string{"memory", "pids", "cpu"}
)

// Codes returns all codes that a report has, each once.
func Codes() []string {
	all := []string{
		CodeUnshare, CodeSelf, CodeSubIDs, CodeRange, CodeNested, CodeTmpfs, CodeProc, CodeBind, CodeOverlay,
		CodeNetwork, CodeIPC, CodeUTS, CodeCgroupNS, CodeFilter, CodeNotify, CodeParent, CodePidfd,
		CodeProcesses, CodeMaxUserNS, CodeUserNSOff, CodeAppArmor, CodeContainer, CodeParentGroup,
	}
	for _, prefix := range groupCodes {
		for _, controller := range controllers {
			all = append(all, prefix+controller)
		}
	}
	return append(all, CodeRoot, CodeTmp, CodeCatalog, CodePostgreSQL, CodeRun, CodePython)
}

// ofStorage reports whether a probe is about the caller's own root, catalog or blobs, which the run of doctor does not use.
func ofStorage(code string) bool {
	return code == CodeRoot || strings.HasPrefix(code, "catalog.")
}
