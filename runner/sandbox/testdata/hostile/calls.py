"""Calls that a process with all capabilities in a user namespace may make, and an analysis and its template may not
(hostile_calls_test.go). It follows serve.py."""


def attempts():
    """Each name with the result of the call, or its negated error."""
    libc = lambda name, *args: -ctypes.get_errno() if getattr(python, name)(*args) < 0 else 0
    inet = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    inet6 = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    rule = (ctypes.c_ubyte * 128)()
    program = (ctypes.c_ubyte * 8)(6, 0, 0, 0, 0, 0, 0xFF, 0x7F)
    filters = struct.pack("HxxxxxxQ", 1, ctypes.addressof(program))
    yield "kcmp", call("kcmp", os.getpid(), os.getpid(), 0, 0, 0)
    yield "process_vm_readv", call("process_vm_readv", os.getpid(), 0, 0, 0, 0, 0)
    yield "perf_event_open", call("perf_event_open", 0, 0, -1, -1, 0)
    yield "keyctl", call("keyctl", 0, -3, 1)
    yield "pidfd_getfd", call("pidfd_getfd", call("pidfd_open", os.getpid(), 0), 2, 0)
    yield "replace rules of packets", libc("setsockopt", inet.fileno(), 0, 64, rule, 128)
    yield "replace rules of IPv6", libc("setsockopt", inet6.fileno(), 41, 64, rule, 128)
    yield "replace rules of ARP", libc("setsockopt", inet.fileno(), 0, 96, rule, 128)
    yield "sethostname", libc("sethostname", b"hostile", 7)
    yield "mount", libc("mount", b"none", b"/tmp", b"tmpfs", 0, None)
    yield "umount2", libc("umount2", b"/tmp", 2)
    yield "open_tree", call("open_tree", -100, b"/", 1)
    yield "pivot_root", call("pivot_root", b"/tmp", b"/tmp")
    yield "unshare", libc("unshare", 0x4000000)
    yield "setns", call("setns", call("pidfd_open", os.getpid(), 0), 0x4000000)
    child = call("clone", 0x4000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    if child > 0:
        os.waitpid(child, 0)  # whose signal would stop a process that is traced
    yield "clone into a namespace", child
    yield "ptrace", libc("ptrace", 0, 0, 0, 0)
    yield "a listener", call("seccomp", 1, 8, filters)
    yield "chroot", libc("chroot", b"/tmp")
