#!/usr/bin/python3
"""Signals, timers, and waiting for several descriptors at once."""

import os
import select
import selectors
import signal
import socket
import subprocess
import threading
import time
import unittest


class Signals(unittest.TestCase):
    def handle(self, number, handler):
        self.addCleanup(signal.signal, number, signal.signal(number, handler))

    def test_handler(self):
        seen = []
        for name in "SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGCHLD", "SIGRTMIN":
            number = signal.Signals[name]
            self.handle(number, lambda number, _: seen.append(number))
            os.kill(os.getpid(), number)
            signal.raise_signal(number)
            self.assertEqual(seen[-2:], [number, number])

    def test_between_processes(self):
        script = "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.02; done"
        child = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE)
        self.assertEqual(child.stdout.readline(), b"ready\n")
        child.send_signal(signal.SIGSTOP)
        self.assertTrue(os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1]))
        child.send_signal(signal.SIGCONT)
        child.terminate()
        self.assertEqual((child.communicate()[0], child.returncode), (b"caught\n", 5))

    def test_wait(self):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
        threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGUSR2)).start()
        self.assertEqual(signal.sigtimedwait([signal.SIGUSR2], 30).si_signo, signal.SIGUSR2)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR2])

    def test_to_a_thread(self):
        seen = []
        self.handle(signal.SIGUSR1, lambda *_: seen.append(1))
        signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
        self.assertEqual(seen, [1])

    def test_interval_timers(self):
        for timer, number in (
            (signal.ITIMER_REAL, signal.SIGALRM),
            (signal.ITIMER_VIRTUAL, signal.SIGVTALRM),
            (signal.ITIMER_PROF, signal.SIGPROF),
        ):
            seen = []
            self.handle(number, lambda *_: seen.append(1))
            signal.setitimer(timer, 0.005, 0.005)
            until = time.monotonic() + 30
            while len(seen) < 3 and time.monotonic() < until:
                pass
            signal.setitimer(timer, 0)
            self.assertGreaterEqual(len(seen), 3, timer)

    def test_wakeup_descriptor(self):
        ours, theirs = socket.socketpair()
        for end in ours, theirs:
            end.setblocking(False)
        self.handle(signal.SIGALRM, lambda *_: None)
        self.addCleanup(signal.set_wakeup_fd, signal.set_wakeup_fd(theirs.fileno()))
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        self.assertEqual(select.select([ours], [], [], 30)[0], [ours])
        self.assertEqual(ours.recv(9), bytes([signal.SIGALRM]))
        ours.close(), theirs.close()


class Waiting(unittest.TestCase):
    def test_every_selector(self):
        for selector in selectors.SelectSelector, selectors.PollSelector, selectors.EpollSelector:
            with self.subTest(selector.__name__), selector() as waiting:
                pipes = [os.pipe() for _ in range(20)]
                for read, _ in pipes:
                    waiting.register(read, selectors.EVENT_READ)
                self.assertEqual(waiting.select(0), [])
                os.write(pipes[7][1], b"x")
                self.assertEqual([key.fd for key, _ in waiting.select(30)], [pipes[7][0]])
                for end in sum(pipes, ()):
                    os.close(end)

    def test_sleep(self):
        start = time.monotonic()
        time.sleep(0.05)
        self.assertLess(0.05, time.monotonic() - start)


if __name__ == "__main__":
    unittest.main(verbosity=2)
