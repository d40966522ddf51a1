"""Tries in every way to change what is given to a run to read. Everybody has every right on these files,
so that nothing but their mounts protects them.

item: 5
inside EROFS: *
"""

import fcntl
import mmap
import os
import struct

from lib.attack import arena, attempt, report

FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, FS_NODUMP_FL = 0x80086601, 0x40086602, 0x40  # linux/fs.h
RENAME_EXCHANGE = 2


def using(path, flags, action):
    fd = os.open(path, flags, 0o666)
    try:
        return action(fd)
    finally:
        os.close(fd)


def opened(path, flags):
    using(path, flags, lambda fd: None)


def again(path, flags, where="/proc/self/fd/%d"):
    using(path, os.O_RDONLY, lambda fd: opened(where % fd, flags))


def shared_mapping(path):
    def write(fd):
        with mmap.mmap(fd, 0) as mapped:
            mapped[0] = mapped[0]

    using(path, os.O_RDWR, write)


def filled(path, how):
    """From a file of our own into the path, by the call."""
    with open("/proc/self/exe", "rb") as source:
        using(path, os.O_WRONLY, lambda fd: how(source.fileno(), fd))


def spliced(source, target):
    near, far = os.pipe()
    os.write(far, b"x")
    os.splice(near, target, 1)


def no_dump(fd):
    flags = bytearray(8)
    fcntl.ioctl(fd, FS_IOC_GETFLAGS, flags)
    old = struct.unpack("l", flags)[0]
    for new in old | FS_NODUMP_FL, old:
        fcntl.ioctl(fd, FS_IOC_SETFLAGS, struct.pack("l", new))


def exchange(a, b):
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-100, a.encode(), -100, b.encode(), RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def on_a_file(kept):
    return {
        "write": attempt(opened, kept, os.O_WRONLY),
        "read and write": attempt(opened, kept, os.O_RDWR),
        "append": attempt(opened, kept, os.O_WRONLY | os.O_APPEND),
        "write again": attempt(again, kept, os.O_RDWR),
        "write again by /dev": attempt(again, kept, os.O_RDWR, "/dev/fd/%d"),
        "write again by the thread": attempt(again, kept, os.O_RDWR, "/proc/thread-self/fd/%d"),
        "write by the root of a process": attempt(opened, "/proc/self/root" + os.path.abspath(kept), os.O_RDWR),
        "shared mapping": attempt(shared_mapping, kept),
        "copy_file_range": attempt(filled, kept, lambda source, target: os.copy_file_range(source, target, 1)),
        "sendfile": attempt(filled, kept, lambda source, target: os.sendfile(target, source, 0, 1)),
        "splice": attempt(filled, kept, spliced),
        "chmod": attempt(os.chmod, kept, 0o666),
        "fchmod": attempt(using, kept, os.O_RDONLY, lambda fd: os.fchmod(fd, 0o666)),
        "chmod again": attempt(using, kept, os.O_PATH, lambda fd: os.chmod(f"/proc/self/fd/{fd}", 0o666)),
        "chown": attempt(os.chown, kept, os.getuid(), os.getgid()),
        "fchown": attempt(using, kept, os.O_RDONLY, lambda fd: os.fchown(fd, os.getuid(), os.getgid())),
        "lchown": attempt(os.lchown, kept, os.getuid(), os.getgid()),
        "utime": attempt(os.utime, kept, (0, 0)),
        "utime now": attempt(os.utime, kept),
        "futimens": attempt(using, kept, os.O_RDONLY, lambda fd: os.utime(fd, (0, 0))),
        "setxattr": attempt(os.setxattr, kept, "user.scidex", b"x"),
        "fsetxattr": attempt(using, kept, os.O_RDONLY, lambda fd: os.setxattr(fd, "user.scidex", b"x")),
        "removexattr": attempt(os.removexattr, kept, "user.scidex"),
        "attributes": attempt(using, kept, os.O_RDONLY, no_dump),
        "truncate": attempt(os.truncate, kept, 1),
        "truncate at opening": attempt(opened, kept, os.O_RDONLY | os.O_TRUNC),
        "truncate again": attempt(again, kept, os.O_RDONLY | os.O_TRUNC),
        "truncate and write again": attempt(again, kept, os.O_WRONLY | os.O_TRUNC),
    }


def in_a_directory(there):
    kept, spare, empty = (os.path.join(there, name) for name in ("kept", "spare", "empty"))
    return {
        "create": attempt(opened, there + "/new", os.O_WRONLY | os.O_CREAT),
        "create again": attempt(again, there, os.O_WRONLY | os.O_CREAT, "/proc/self/fd/%d/newer"),
        "create below": attempt(opened, there + "/sub/new", os.O_WRONLY | os.O_CREAT | os.O_EXCL),
        "temporary file": attempt(opened, there, os.O_WRONLY | os.O_TMPFILE),
        "mkdir": attempt(os.mkdir, there + "/directory"),
        "symlink": attempt(os.symlink, "kept", there + "/symlink"),
        "link": attempt(os.link, kept, there + "/link"),
        "fifo": attempt(os.mkfifo, there + "/fifo"),
        "socket": attempt(os.mknod, there + "/socket", 0o140666),
        "chmod of it": attempt(os.chmod, there, 0o777),
        "utime of it": attempt(os.utime, there, (0, 0)),
        "exchange": attempt(exchange, kept, spare),
        "rename onto": attempt(os.replace, there + "/sub/below", kept),
        "rename": attempt(os.rename, spare, there + "/renamed"),
        "unlink": attempt(os.unlink, there + "/renamed" if os.path.exists(there + "/renamed") else spare),
        "rmdir": attempt(os.rmdir, empty),
    }


results = {}
for place in "data", "docs", "input", "project", "data_link", "docs_link":
    for action, verdict in {**on_a_file(arena[place] + "/kept"), **in_a_directory(arena[place])}.items():
        results[f"{place} {action}"] = verdict
for action, verdict in on_a_file(arena["file"]).items():
    results["file " + action] = verdict
report(results)
