"""A module of a template that serves its orders by code of its own (hostile_test.go), as runner/preload/src/fork.c does it. What
follows this text is an attack, which defines some of the functions anew. What it says on descriptor 2 the test reads."""

import array
import ctypes
import mmap
import os
import platform
import signal
import socket
import struct
import sys
import time

python = ctypes.PyDLL(None, use_errno=True)  # keeps the lock of the interpreter, as a fork must
IN_ORDER, CONTROL, NOTE, GATE, RULES = (0x7E020000, 5, 4, 5, 6)
CLONE_VM, CLONE_FS, CLONE_FILES, CLONE_PARENT = 0x100, 0x200, 0x400, 0x8000
X86 = platform.machine() == "x86_64"
NUMBERS = {
    "clone": (56, 220), "kcmp": (312, 272), "seccomp": (317, 277), "pivot_root": (155, 41), "setns": (308, 268), "capset": (126, 91),
    "ioprio_set": (251, 30), "process_vm_readv": (310, 270), "perf_event_open": (298, 241), "bpf": (321, 280), "keyctl": (250, 219),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424), "io_uring_setup": (425, 425), "open_tree": (428, 428),
    "close_range": (436, 436), "landlock_create_ruleset": (444, 444), "landlock_add_rule": (445, 445), "landlock_restrict_self": (446, 446),
}


def blind_the_hook():
    """What runner/preload/template.py sees of the imports is for honest modules, and no wall."""
    frame = sys._getframe()
    while frame and "changed" not in frame.f_globals:
        frame = frame.f_back
    if frame:  # else this is no template
        frame.f_globals["changed"] = lambda before: ""


blind_the_hook()


def call(name, *args):
    """A system call: its result, or the name of its error."""
    ctypes.set_errno(0)
    result = python.syscall(ctypes.c_long(NUMBERS[name][0 if X86 else 1]), *[ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args])
    return result if result >= 0 else -ctypes.get_errno()


def say(*words):
    os.write(2, (" ".join(map(str, words)) + "\n").encode())


class Order:
    def __init__(self, data, fds):
        self.uid, self.gid, self.umask = struct.unpack("III", data[:12])
        self.text, self.fds, self.pidfd = data[16:], fds, fds[0]


def receive():
    data, rights, _, _ = control.recvmsg(1 << 18, socket.CMSG_SPACE(28))
    if not data:
        os._exit(0)
    return Order(data, list(array.array("i", rights[0][2])))


# What an attack may define anew.


def ordered(order):
    """In the template."""


def middle(order):
    """In the middle process, before it joins."""


def joined(order):
    """In the middle process, with all capabilities."""


def forked(order):
    """In the child, with all capabilities."""


def dropped(order):
    """In the child, as it shall be."""


def left(order, child):
    """In the middle process, with the child. Returns the pid to tell."""
    return child


def answer(order, child):
    """In the template, with the child. Returns the pid to tell; None tells nothing."""
    return child


def place(order):
    high = [os.dup(fd) for fd in order.fds[1:]]
    high = [fd if fd > 20 else os.dup2(fd, 30 + i) for i, fd in enumerate(high)]
    for fd, place in zip(high, (0, 1, 2, NOTE, GATE, RULES)):
        os.dup2(fd, place)
    os.close(3)
    os.closerange(len(order.fds), 1024)


def session():
    os.setsid()


def bounding():
    capability = 0
    while python.prctl(24, capability, 0, 0, 0) == 0:
        capability += 1


def groups():
    python.setgroups(0, None)


def ids(order):
    os.setresgid(order.gid, order.gid, order.gid)
    os.setresuid(order.uid, order.uid, order.uid)


def capabilities():
    return call("capset", struct.pack("Ii", 0x20080522, 0), bytes(24))


def dumpable():
    python.prctl(4, 1, 0, 0, 0)


def directory():
    os.chdir("/work")


def umask(order):
    os.umask(order.umask)


def own_descriptors():
    call("close_range", RULES + 1, 0xFFFFFFFF, 2)


def restrict():
    own_descriptors()
    call("landlock_restrict_self", RULES, 0)


def keep_rules(order, read=os.read):
    if len(order.fds) > RULES:  # the kernel has Landlock
        read(GATE, 1)
        restrict()
        os.close(RULES)


def become(order):
    forked(order)
    place(order)
    session()
    umask(order)
    bounding()
    groups()
    ids(order)
    capabilities()
    dumpable()
    directory()
    keep_rules(order)
    dropped(order)


def fork_child():
    return python.fork()


def fork_middle():
    return python.fork()


def join(order):
    return call("setns", order.pidfd, IN_ORDER)


def make(order):
    """Returns the pid of the child; 0 in it."""
    told, tell = os.pipe()
    between = fork_middle()
    if between == 0:
        middle(order)
        child = join(order)
        if child == 0:
            joined(order)
            child = fork_child()
            if child == 0:
                become(order)
                return 0
            child = left(order, child)
        os.write(tell, struct.pack("i", child))
        os._exit(0)
    os.close(tell)
    child = struct.unpack("i", os.read(told, 4))[0]
    os.close(told)
    reap(between)
    return child


def reap(between):
    os.waitpid(between, 0)


def reply(child):
    os.write(CONTROL, struct.pack("i", child))


def serve(fork, text, size):
    global control
    control = socket.socket(fileno=CONTROL)
    while True:
        order = receive()
        ordered(order)
        child = make(order)
        if child == 0:
            control.detach()
            ctypes.memmove(text, order.text, len(order.text))
            return len(order.text)
        for fd in order.fds:
            os.close(fd)
        child = answer(order, child)
        if child is not None:
            reply(child)


class Serve:
    restype = None

    def __call__(self, *args):
        return serve(*args)


def load(path, load=ctypes.PyDLL):
    """The hook's library, which serves like this. What it does at the end of a process is its own."""
    library = load(path)
    library.scidex_serve = Serve()
    return library


ctypes.PyDLL = load
