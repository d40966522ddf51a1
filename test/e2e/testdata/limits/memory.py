"""Wants more memory than it may have, in the way of the first argument, of which each gets as many MiB as the second
says; then ends as the third says, by a code or by a signal to itself."""

import ctypes
import mmap
import os
import signal
import sys

import go

MIB = 1 << 20
WORK = os.getcwd()


def touch(memory, size):
    for at in range(0, size, 4096):
        memory[at] = 1


def anonymous(size):
    touch(bytearray(size), size)


def shared(size):
    touch(mmap.mmap(-1, size), size)


def memfd(size):
    fd = os.memfd_create("hog")
    os.ftruncate(fd, size)
    touch(mmap.mmap(fd, size), size)


def sysv(size):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmget.argtypes = [ctypes.c_int, ctypes.c_size_t, ctypes.c_int]
    libc.shmat.argtypes, libc.shmat.restype = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int], ctypes.c_void_p
    segment = libc.shmget(0, size, 0o600)  # IPC_PRIVATE
    at = libc.shmat(segment, None, 0)
    if segment < 0 or at == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "shmget, shmat")
    libc.shmctl(segment, 0, None)  # IPC_RMID: gone with its last user
    touch((ctypes.c_char * size).from_address(at), size)


def posix(size):
    """shm_open(3), as everybody uses it: the size is taken first, what is not there is a SIGBUS."""
    path = f"/dev/shm/hog-{os.getpid()}"
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    os.unlink(path)
    os.ftruncate(fd, size)
    touch(mmap.mmap(fd, size), size)


def fill(path, size):
    """A file that goes with the program, also where that runs outside."""
    path = os.path.join(path, f"hog-{os.getpid()}")
    f = open(path, "w+b", buffering=0)
    os.unlink(path)
    for _ in range(size // MIB):
        f.write(b"x" * MIB)
    return f


def tmp(size):
    fill("/tmp", size)


def tmpfs(size):
    first = fill("/tmp", size)
    fill("/dev/shm", size)
    first.close()


def home(size):
    fill(os.environ["HOME"], size)


def page_cache(size):
    """Pages of files: written ones, read ones, mapped ones."""
    with fill(WORK, size) as f:
        f.seek(0)
        while f.read(MIB):
            pass
        with mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as pages:
            for at in range(0, size, 4096):
                pages[at]


def children(size):
    """Each is small; all together are not. They stay until the last of them is there."""
    read, write = os.pipe()
    there, here = os.pipe()
    pids = []
    for _ in range(16):
        pids.append(os.fork())
        if pids[-1] == 0:
            os.close(write)
            memory = bytearray(size // 16)
            touch(memory, len(memory))
            os.write(here, b"x")
            os.read(read, 1)  # until nobody could write any more
            os._exit(0)
    for _ in pids:
        os.read(there, 1)
    os.close(write)
    if any(os.waitpid(pid, 0)[1] for pid in pids):
        sys.exit("a child did not end well")


def child(size):
    """Only a child wants too much; whatever becomes of it, its parent ends well."""
    pid = os.fork()
    if pid == 0:
        anonymous(size)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    print("the child ended with", status, flush=True)
    return status


def parent(size):
    """As above, and where the child was killed the parent goes on for ever."""
    if child(size) == signal.SIGKILL:
        while True:
            signal.pause()


if __name__ == "__main__":
    kind, size, *end = go.args
    go.wait()
    globals()[kind](int(size) * MIB)
    if end and end[0].isdigit():
        sys.exit(int(end[0]))
    if end:
        os.kill(os.getpid(), getattr(signal, end[0]))
