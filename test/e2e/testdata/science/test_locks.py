#!/usr/bin/python3
"""Locks on files and files mapped into memory, in /work and on data."""

import fcntl
import mmap
import os
import struct
import subprocess
import sys
import unittest

F_OFD_SETLK = 37  # of fcntl.h; Python has no name for it

# Tells whether another process gets the lock: ok, or the error's name.
TRY = """
import errno, fcntl, sys
path, mode, call, kind = sys.argv[1:]
with open(path, mode) as f:
    try:
        getattr(fcntl, call)(f, getattr(fcntl, kind) | fcntl.LOCK_NB)
        print("ok")
    except OSError as refused:
        print(errno.errorcode[refused.errno])
"""

WRITE = """
import mmap, sys
with open(sys.argv[1], "rb+") as f, mmap.mmap(f.fileno(), 0) as m:
    m[4096:4101] = b"there"
    m.flush()
"""


def another(path, mode, call, kind):
    command = [sys.executable, "-c", TRY, path, mode, call, kind]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.strip()


class Locks(unittest.TestCase):
    def test_of_own_files(self):
        for path in "/work/lock", "/tmp/lock":
            for call in "flock", "lockf":
                with self.subTest(path=path, call=call), open(path, "w+") as f:
                    getattr(fcntl, call)(f, fcntl.LOCK_EX)
                    self.assertIn(another(path, "r+", call, "LOCK_EX"), ("EAGAIN", "EACCES"))
                    getattr(fcntl, call)(f, fcntl.LOCK_UN)
                    self.assertEqual(another(path, "r+", call, "LOCK_EX"), "ok")

    def test_of_open_descriptions(self):
        whole = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        with open("/work/ofd", "w+") as a, open("/work/ofd", "r+") as b:
            fcntl.fcntl(a, F_OFD_SETLK, whole)
            with self.assertRaises(BlockingIOError):
                fcntl.fcntl(b, F_OFD_SETLK, whole)

    def test_of_data(self):
        for call, exclusive in ("flock", "EAGAIN"), ("lockf", "EBADF"):
            with self.subTest(call), open("/data/bytes.bin", "rb") as f:
                getattr(fcntl, call)(f, fcntl.LOCK_SH)
                self.assertEqual(another("/data/bytes.bin", "rb", call, "LOCK_SH"), "ok")
                self.assertEqual(another("/data/bytes.bin", "rb", call, "LOCK_EX"), exclusive)

    def test_program(self):
        done = subprocess.run(["flock", "/work/lock", "echo", "locked"], stdout=subprocess.PIPE)
        self.assertEqual(done.stdout, b"locked\n")


class Maps(unittest.TestCase):
    def test_data(self):
        with open("/data/bytes.bin", "rb") as f:
            with mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m:
                m.madvise(mmap.MADV_SEQUENTIAL)
                self.assertEqual((len(m), m[255], m.find(b"\xff\x00")), (1 << 20, 255, 255))
            with mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY) as m:
                m[0] = 7
                self.assertEqual((m[0], os.pread(f.fileno(), 1, 0)), (7, b"\0"))
            with self.assertRaises(PermissionError):
                mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_WRITE)

    def test_shared_between_processes(self):
        for path in "/work/shared", "/tmp/shared", "/dev/shm/shared":
            with self.subTest(path), open(path, "wb+") as f:
                f.truncate(8192)
                with mmap.mmap(f.fileno(), 0) as m:
                    subprocess.run([sys.executable, "-c", WRITE, path], check=True)
                    self.assertEqual(m[4096:4101], b"there")
                    m[0:4] = b"here"
                    m.flush()
                self.assertEqual(os.pread(f.fileno(), 4, 0), b"here")

    def test_anonymous(self):
        with mmap.mmap(-1, 1 << 24) as m:
            m.madvise(mmap.MADV_HUGEPAGE)
            pid = os.fork()
            if pid == 0:
                m[1 << 20] = 42
                os._exit(0)
            os.waitpid(pid, 0)
            self.assertEqual(m[1 << 20], 42)
            m.resize(1 << 25)

    def test_executable(self):
        # What libffi and compilers that work at run time do.
        with mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as m:
            self.assertEqual(m[0], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
