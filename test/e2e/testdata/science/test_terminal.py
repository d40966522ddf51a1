#!/usr/bin/python3
"""Pseudo-terminals: programs that want one get one of their own."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import tty
import unittest

# Of ioctl_tty(2), on the architectures that follow asm-generic/ioctl.h.
TIOCGPTN, TIOCSPTLCK = 0x80045430, 0x40045431


def read_all(master):
    said = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # EIO: the last one closed the other side
            return said
        if not part:
            return said
        said += part


class Terminal(unittest.TestCase):
    def test_pair(self):
        master, slave = os.openpty()
        self.assertTrue(os.isatty(slave))
        self.assertRegex(os.ttyname(slave), r"^/dev/pts/\d+$")
        tty.setraw(slave)
        os.write(master, b"typed")
        self.assertEqual(os.read(slave, 9), b"typed")
        os.write(slave, b"shown")
        self.assertEqual(os.read(master, 9), b"shown")
        os.close(slave), os.close(master)

    def test_multiplexer(self):
        with open("/dev/ptmx", "rb+", 0) as master:
            number = struct.unpack("i", fcntl.ioctl(master, TIOCGPTN, bytes(4)))[0]
            fcntl.ioctl(master, TIOCSPTLCK, bytes(4))
            slave = os.open(f"/dev/pts/{number}", os.O_RDWR | os.O_NOCTTY)
            self.assertTrue(os.isatty(slave))
            os.close(slave)

    def test_window_size(self):
        master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.assertEqual(os.get_terminal_size(master), (120, 40))
        os.close(master), os.close(slave)

    def test_controlling_terminal(self):
        # As script(1) and pexpect do it: a session of its own, whose terminal is /dev/tty to it.
        pid, master = pty.fork()
        if pid == 0:
            script = "test -t 0 && read line </dev/tty && echo got $line >/dev/tty; ps -o tty= -p $$"
            os.execvp("sh", ["sh", "-c", script])
        os.write(master, b"a word\n")
        said = read_all(master)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertIn(b"got a word\r\n", said)
        self.assertIn(b"pts/", said)

    def test_interrupt(self):
        pid, master = pty.fork()
        if pid == 0:
            os.execvp("sh", ["sh", "-c", "echo ready; exec sleep 60"])
        said = b""
        while b"ready" not in said:
            said += os.read(master, 99)
        os.write(master, b"\x03")
        self.assertEqual(os.WTERMSIG(os.waitpid(pid, 0)[1]), 2)
        os.close(master)

    def test_spawn(self):
        done = subprocess.run(
            [sys.executable, "-c", "import pty; exit(pty.spawn(['sh', '-c', 'tty; exit 3']) >> 8)"],
            stdin=subprocess.DEVNULL, capture_output=True,
        )
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stdout, rb"^/dev/pts/\d+\r\n$")

    def test_none_of_the_hosts(self):
        with self.assertRaises(OSError):
            open("/dev/tty")


if __name__ == "__main__":
    unittest.main(verbosity=2)
