#!/usr/bin/python3
"""Files that an analysis makes: temporary ones, sparse ones, every kind of entry, and news of them."""

import ctypes
import os
import shutil
import struct
import tempfile
import time
import unittest
from pathlib import Path

WRITABLE = "/work", "/tmp", "/dev/shm", Path.home()


class Temporary(unittest.TestCase):
    def test_everywhere(self):
        self.assertEqual(tempfile.gettempdir(), "/tmp")
        for directory in None, *WRITABLE:
            with self.subTest(directory), tempfile.NamedTemporaryFile(dir=directory) as f:
                f.write(b"x" * 100000)
                f.flush()
                self.assertEqual(Path(f.name).stat().st_size, 100000)
            with self.subTest(directory), tempfile.TemporaryFile(dir=directory) as f:  # O_TMPFILE
                self.assertEqual(os.fstat(f.fileno()).st_nlink, 0)
                f.write(b"hidden")
                f.seek(0)
                self.assertEqual(f.read(), b"hidden")

    def test_named_when_it_is_whole(self):
        handle = os.open("/work", os.O_TMPFILE | os.O_WRONLY)
        os.write(handle, b"whole")
        directory = os.open("/work", os.O_PATH)
        os.link(f"/proc/self/fd/{handle}", "whole", dst_dir_fd=directory, follow_symlinks=True)
        os.close(directory), os.close(handle)
        self.assertEqual(Path("/work/whole").read_bytes(), b"whole")

    def test_entries(self):
        for directory in WRITABLE:
            with self.subTest(directory), tempfile.TemporaryDirectory(dir=directory) as d:
                place = Path(d)
                file = place / "file"
                file.touch()
                os.link(file, place / "link")
                os.symlink("file", place / "symlink")
                os.mkfifo(place / "fifo")
                (place / "below" / "deeper").mkdir(parents=True)
                file.chmod(0o640)
                os.utime(file, (1, 2))
                file.rename(place / "below" / "moved")
                self.assertEqual(sorted(os.listdir(d)), ["below", "fifo", "link", "symlink"])
                about = (place / "below" / "moved").stat()
                self.assertEqual((about.st_mode & 0o777, about.st_mtime, about.st_nlink), (0o640, 2, 2))


class Space(unittest.TestCase):
    def test_allocate(self):
        # fallocate(2) says EOPNOTSUPP; the C library writes instead.
        for directory in WRITABLE:
            with self.subTest(directory), tempfile.TemporaryFile(dir=directory) as f:
                os.posix_fallocate(f.fileno(), 0, 1 << 20)
                about = os.fstat(f.fileno())
                self.assertEqual(about.st_size, 1 << 20)
                self.assertGreaterEqual(about.st_blocks * 512, 1 << 20)

    def test_sparse(self):
        with open("/work/sparse", "wb") as f:
            f.truncate(1 << 29)
            f.seek(1 << 28)
            f.write(b"island")
        with open("/work/sparse", "rb") as f:
            self.assertLessEqual(os.lseek(f.fileno(), 0, os.SEEK_DATA), 1 << 28)
        self.assertLess(os.stat("/work/sparse").st_blocks, 1 << 12)
        os.remove("/work/sparse")

    def test_free(self):
        for directory in WRITABLE:
            self.assertGreater(shutil.disk_usage(directory).free, 1 << 27)


class Notices(unittest.TestCase):
    def test_inotify(self):
        libc = ctypes.CDLL(None, use_errno=True)
        watch = libc.inotify_init1(os.O_CLOEXEC)
        self.assertGreaterEqual(watch, 0)
        self.assertGreater(libc.inotify_add_watch(watch, b"/work", 0x100), 0)  # IN_CREATE
        Path("/work/noticed").touch()
        _, mask, _, length = struct.unpack("iIII", os.read(watch, 16 + 256)[:16])
        self.assertEqual((mask, length), (0x100, 16))
        self.assertGreater(libc.inotify_add_watch(watch, b"/data", 0x20), 0)  # IN_OPEN
        os.close(watch)

    def test_change_is_seen(self):
        before = os.stat("/work").st_mtime_ns
        time.sleep(0.02)
        Path("/work/another").touch()
        self.assertGreater(os.stat("/work").st_mtime_ns, before)


if __name__ == "__main__":
    unittest.main(verbosity=2)
