"""Schedules its container's init, or itself, by every call that there is. Where it was init, it then keeps the processors
busy as the last of all, by processes that ignore signals."""

import ctypes
import os
import platform
import signal
import sys
import threading

from attacks.lib.attempt import attempt, report

libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() != "x86_64"  # riscv64 has the same numbers
SCHED_SETATTR, IOPRIO_SET = (274, 30) if arm else (314, 251)
HIGH = 1 << 32
PROCESS, GROUP, USER = 1, 2, 3  # of ioprio_set(2)
BEST_EFFORT = 2 << 13 | 7
# It may have been nice before, and less is not allowed.
NICE = os.nice(1)
# struct sched_attr (sched_setattr(2)): its size, SCHED_OTHER, no flags, the nice value, the rest 0.
ATTRIBUTES = (ctypes.c_uint32 * 12)(48, 0, 0, 0, NICE)


def call(*args):
    values = [a if isinstance(a, ctypes.Array) else ctypes.c_uint64(a) for a in args]
    if libc.syscall(*values) < 0:
        raise OSError(ctypes.get_errno(), "")


def on(pid):
    """Calls on a process alone."""
    none = os.sched_param(0)
    return {
        "sched_setaffinity": attempt(os.sched_setaffinity, pid, os.sched_getaffinity(0)),
        "setpriority": attempt(os.setpriority, os.PRIO_PROCESS, pid, NICE),
        "sched_setattr": attempt(call, SCHED_SETATTR, pid, ATTRIBUTES, 0),
        "ioprio_set": attempt(call, IOPRIO_SET, PROCESS, pid, BEST_EFFORT),
        "sched_setscheduler": attempt(os.sched_setscheduler, pid, os.SCHED_BATCH, none),
        "sched_setparam": attempt(os.sched_setparam, pid, none),
    }


def of_init():
    tries = on(1)
    tries["sched_setattr, high bit"] = attempt(call, SCHED_SETATTR, HIGH | 1, ATTRIBUTES, 0)
    tries["ioprio_set, high bits"] = attempt(call, IOPRIO_SET, HIGH | PROCESS, HIGH | 1, BEST_EFFORT)
    for name, who, which in ("group", GROUP, os.PRIO_PGRP), ("user", USER, os.PRIO_USER):
        for number in 0, 1, os.getuid():
            tries[f"setpriority, {name} {number}"] = attempt(os.setpriority, which, number, NICE)
            tries[f"ioprio_set, {name} {number}"] = attempt(call, IOPRIO_SET, who, number, BEST_EFFORT)
    return tries


def of_itself():
    """What libraries do; a thread has a number of its own, and so has a child."""
    tries = {}
    size, cores = 128, (ctypes.c_uint64 * 16)(sum(1 << core for core in os.sched_getaffinity(0) if core < 64))

    def pin():
        libc.pthread_self.restype = ctypes.c_ulong
        failed = libc.pthread_setaffinity_np(ctypes.c_ulong(libc.pthread_self()), size, cores)
        tries["pthread_setaffinity_np"] = "ok" if failed == 0 else os.strerror(failed)
        tries.update({f"{name}, thread": v for name, v in on(threading.get_native_id()).items()})

    thread = threading.Thread(target=pin)
    thread.start()
    thread.join()
    child = os.fork()
    if child == 0:
        signal.pause()
    for who, pid in ("0", 0), ("own", os.getpid()), ("child", child):
        tries.update({f"{name}, {who}": v for name, v in on(pid).items()})
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return tries


def spin():
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        try:
            signal.signal(number, signal.SIG_IGN)
        except OSError:
            pass  # glibc's own
    while True:
        pass


def stay():
    for _ in range(90):
        if os.fork() == 0:
            spin()
    print("ready", flush=True)
    spin()


if sys.argv[1:] == ["itself"]:
    report(of_itself())
else:
    tries = of_init()
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    report(tries)
    stay()
