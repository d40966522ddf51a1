package e2e

import "golang.org/x/sys/unix"

// oldFileCalls are those without a directory, which newer architectures do not have.
var oldFileCalls = map[uintptr]fileCall{
	unix.SYS_OPEN: first("open").opening(1), unix.SYS_MKDIR: first("mkdir").writing(), unix.SYS_MKNOD: first("mknod").writing(),
	unix.SYS_RENAME: to("rename", -1, 1), unix.SYS_LINK: to("link", -1, 1),
	unix.SYS_UNLINK: first("unlink"), unix.SYS_RMDIR: first("rmdir"),
	unix.SYS_STAT: first("stat"), unix.SYS_LSTAT: first("lstat"), unix.SYS_ACCESS: first("access"), unix.SYS_READLINK: first("readlink"),
}

// oldPathCalls are those that only pathCalls has.
var oldPathCalls = map[uintptr]fileCall{
	unix.SYS_CREAT: first("creat"), unix.SYS_CHMOD: first("chmod"), unix.SYS_CHOWN: first("chown"), unix.SYS_LCHOWN: first("lchown"),
	unix.SYS_UTIME: first("utime"), unix.SYS_UTIMES: first("utimes"), unix.SYS_FUTIMESAT: at("futimesat"), unix.SYS_SYMLINK: to("symlink", -1, 1),
}
