"""Stays, in the way of the first argument, which makes it hard to be ended. With a second one it ends by itself when
it is told to, and leaves what it has started."""

import os
import signal
import time

import go


def refuse():
    """Ignores every signal that can be ignored."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
        try:
            signal.signal(number, signal.SIG_IGN)
        except OSError:
            pass  # the C library's own


def sleep():
    while True:
        time.sleep(1000)


def fork(child):
    pid = os.fork()
    if pid == 0:
        child()
        os._exit(0)
    return pid


def once(pid, wanted):
    """Says that all is ready once the process is in that state (proc_pid_stat(5))."""
    state = ""
    while state != wanted:
        with open(f"/proc/{pid}/stat") as f:
            state = f.read().rpartition(")")[2].split()[0]
        time.sleep(0.02)
    go.ready()


def refusing(tell):
    refuse()
    os.write(tell, b"x")
    sleep()


def deaf():
    refuse()
    go.ready()


def daemons():
    """daemon(7): two forks and a session of its own."""
    read, write = os.pipe()
    for _ in range(3):
        os.waitpid(fork(lambda: (os.setsid(), fork(lambda: refusing(write)))), 0)
        os.read(read, 1)
    go.ready()


def stopped():
    me = os.getpid()
    fork(lambda: once(me, "T"))
    os.kill(me, signal.SIGSTOP)


def siblings():
    """Whoever it starts is stopped."""
    read, write = os.pipe()
    for _ in range(3):
        pid = fork(lambda: refusing(write))
        os.read(read, 1)
        os.kill(pid, signal.SIGSTOP)
        os.waitpid(pid, os.WUNTRACED)
    go.ready()


def vfork():
    """vfork(2) keeps the parent, which no other signal than SIGKILL reaches, until its child has executed something;
    this one waits for whoever writes to a FIFO first."""
    me = os.getpid()
    os.mkfifo("never")
    fork(lambda: once(me, "D"))
    os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 3, "never", os.O_RDONLY, 0)])


kind, *end = go.args
{f.__name__: f for f in (deaf, daemons, stopped, siblings, vfork)}[kind]()
if not end:
    sleep()
while not go.told():
    time.sleep(0.05)
