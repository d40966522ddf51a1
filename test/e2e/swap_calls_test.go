package e2e

import (
	"maps"

	"golang.org/x/sys/unix"
)

// pathCalls are the calls that underSwaps holds: all that look up a path, and accept4(2), which shows that a server has
// started.
var pathCalls = func() map[uintptr]fileCall {
	calls := map[uintptr]fileCall{
		unix.SYS_EXECVE: first("execve"), unix.SYS_EXECVEAT: at("execveat"), unix.SYS_NAME_TO_HANDLE_AT: at("name_to_handle_at"),
		unix.SYS_INOTIFY_ADD_WATCH: to("inotify_add_watch", -1, 1), unix.SYS_FANOTIFY_MARK: to("fanotify_mark", 3, 4),
		unix.SYS_STATFS: first("statfs"), unix.SYS_TRUNCATE: first("truncate"), unix.SYS_CHDIR: first("chdir"), unix.SYS_CHROOT: first("chroot"),
		unix.SYS_SETXATTR: first("setxattr"), unix.SYS_LSETXATTR: first("lsetxattr"),
		unix.SYS_GETXATTR: first("getxattr"), unix.SYS_LGETXATTR: first("lgetxattr"),
		unix.SYS_LISTXATTR: first("listxattr"), unix.SYS_LLISTXATTR: first("llistxattr"),
		unix.SYS_REMOVEXATTR: first("removexattr"), unix.SYS_LREMOVEXATTR: first("lremovexattr"),
		unix.SYS_MOUNT: first("mount"), unix.SYS_UMOUNT2: first("umount2"),
		unix.SYS_OPEN_TREE: at("open_tree"), unix.SYS_MOVE_MOUNT: to("move_mount", 2, 3), unix.SYS_MOUNT_SETATTR: at("mount_setattr"),
		unix.SYS_CONNECT: socketAddress("connect"), unix.SYS_BIND: socketAddress("bind"),
		unix.SYS_ACCEPT4: {name: "accept4", dir: -1, path: -1},
	}
	for number, call := range fileCalls {
		if call.path >= 0 {
			calls[number] = call
		}
	}
	maps.Copy(calls, oldPathCalls)
	return calls
}()

// firstPaths are the first paths of calls that take two.
var firstPaths = map[string]fileCall{
	"renameat": at("renameat"), "renameat2": at("renameat2"), "linkat": at("linkat"), "move_mount": at("move_mount"),
	"rename": first("rename"), "link": first("link"), "mount": to("mount", -1, 1),
}

// first takes a path as its first argument.
func first(name string) fileCall { return fileCall{name: name, dir: -1, path: 0, flags: -1} }

// socketAddress takes a struct sockaddr_un (unix(7)), whose path comes after the family.
func socketAddress(name string) fileCall {
	return fileCall{name: name, dir: -1, path: 1, flags: -1, offset: 2}
}
