package e2e

import "golang.org/x/sys/unix"

// oldFileCalls are those without a directory, which newer architectures do not have.
var oldFileCalls = map[uintptr]fileCall{
	unix.SYS_OPEN: path("open").opening(1), unix.SYS_MKDIR: path("mkdir").writing(), unix.SYS_MKNOD: path("mknod").writing(),
	unix.SYS_RENAME: to("rename", -1, 1), unix.SYS_LINK: to("link", -1, 1),
	unix.SYS_UNLINK: path("unlink"), unix.SYS_RMDIR: path("rmdir"),
	unix.SYS_STAT: path("stat"), unix.SYS_LSTAT: path("lstat"), unix.SYS_ACCESS: path("access"), unix.SYS_READLINK: path("readlink"),
}

// path takes a path alone.
func path(name string) fileCall { return fileCall{name: name, dir: -1, path: 0, flags: -1} }
