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
	CodeLandlock    = "landlock"
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

// ofStorage reports whether a probe is about the caller's own root, catalog or blobs, which the run of doctor does not use.
func ofStorage(code string) bool {
	return code == CodeRoot || strings.HasPrefix(code, "catalog.")
}
