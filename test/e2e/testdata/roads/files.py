"""Files, and what /proc shows of the files of others."""

import glob
import os
import socket
import subprocess

from .road import Road, absent, at, demand, marker, others, read

TEXT = marker.encode()


class File(Road):
    def __init__(self, where):
        super().__init__("file in " + where)
        self.path = os.path.join(os.path.expanduser(where), marker + where.replace("/", "-"))

    def leave(self):
        with open(self.path, "wb") as f:
            f.write(TEXT)

    def find(self):
        with open(self.path, "rb") as f:
            demand(f.read() == TEXT, self.path)

    def remove(self):
        os.unlink(self.path)


class FIFO(Road):
    """The owner reads it."""

    path = "/tmp/fifo-" + marker

    def leave(self):
        os.mkfifo(self.path)
        self.fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

    def find(self):
        fd = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        os.write(fd, TEXT)
        os.close(fd)

    def felt(self):
        demand(os.read(self.fd, 100) == TEXT, self.path)

    def remove(self):
        os.unlink(self.path)


class Socket(Road):
    def __init__(self, name, path):
        super().__init__(name)
        self.path = path

    def leave(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen()

    def find(self):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.path)

    def felt(self):
        self.socket.setblocking(False)
        self.socket.accept()

    def remove(self):
        if not self.path.startswith("\0"):
            os.unlink(self.path)


class Directory(Road):
    """Where the host has the owner's working directory. Plain processes make one like it."""

    file = at["directory"] + "/work/" + marker

    def leave(self):
        os.makedirs(os.path.dirname(self.file))
        with open(self.file, "wb") as f:
            f.write(TEXT)

    def find(self):
        with open(self.file, "rb") as f:
            f.read()

    def remove(self):
        os.unlink(self.file)
        os.removedirs(os.path.dirname(self.file))


class Listed(Road):
    """The directory by looking for those of all runs."""

    def find(self):
        for path in glob.glob("/tmp/scidex-analysis-*") + glob.glob("/proc/[0-9]*/root/tmp/scidex-analysis-*"):
            if at["directory"] in path:
                return
        raise absent(at["directory"])


class WorkingDirectory(Road):
    """By the owner's entry in /proc."""

    def leave(self):
        with open("own-" + marker, "wb") as f:
            f.write(TEXT)

    def find(self):
        for process in others():
            if read(f"{process}/cwd/own-{marker}") or read(f"{process}/root/work/own-{marker}"):
                return
        raise absent("a working directory")

    def remove(self):
        os.unlink("own-" + marker)


class Root(Road):
    """The owner's /tmp by its entry in /proc, and by that of PID 1."""

    def find(self):
        demand(any(read(f"{process}/root/tmp/{marker}-tmp") for process in others()), "another's root")


class Descriptor(Road):
    """A file that has no name any more, and one that never had one."""

    def __init__(self, name, make):
        super().__init__(name)
        self.make = make

    def leave(self):
        self.fd = self.make()
        os.write(self.fd, TEXT)

    def find(self):
        for process in others():
            try:
                paths = [f"{process}/fd/{fd}" for fd in os.listdir(process + "/fd")]
                named = [path for path in paths if marker in os.readlink(path) and "socket" not in os.readlink(path)]
            except OSError:  # not ours to look at, or gone
                continue
            if any(self.kind in os.readlink(path) and read(path) == TEXT for path in named):
                return
        raise absent("a descriptor")

    @property
    def kind(self):
        return "memfd:" if self.make is memory_file else "(deleted)"


def memory_file():
    return os.memfd_create(marker)


def deleted_file():
    path = "/tmp/deleted-" + marker
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    os.unlink(path)
    return fd


class Process(Road):
    """A process with the marker among its arguments and in its environment."""

    def __init__(self, name, file):
        super().__init__(name)
        self.file = file

    def leave(self):
        self.child = subprocess.Popen(["/bin/sh", "-c", "read line", "of-" + marker], env={"OF": "of-" + marker},
                                      stdin=subprocess.PIPE)

    def find(self):
        demand(any(b"of-" + TEXT in read(f"{process}/{self.file}") for process in others()), "a process")

    def remove(self):
        self.child.kill()
        self.child.wait()


roads = [
    *(File(where) for where in ("/tmp", "/var/tmp", "/dev/shm", "~")),
    FIFO("FIFO in /tmp"),
    Socket("socket in /tmp", "/tmp/socket-" + marker),
    Socket("socket in /dev/shm", "/dev/shm/socket-" + marker),
    Socket("abstract socket", "\0" + marker),
    Directory("directory of the run"),
    Listed("directory of the run by its name"),
    WorkingDirectory("working directory by /proc"),
    Root("root by /proc"),
    Descriptor("descriptor of a memfd", memory_file),
    Descriptor("descriptor of a deleted file", deleted_file),
    Process("arguments of a process", "cmdline"),
    Process("environment of a process", "environ"),
]
