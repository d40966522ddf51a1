#!/usr/bin/python3
"""Files: temporary ones, archives, copies, and what the kernel offers beside read and write."""

import ctypes
import errno
import os
import shutil
import struct
import subprocess
import tarfile
import tempfile
import time
import unittest
import zipfile
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


class Copies(unittest.TestCase):
    def setUp(self):
        self.content = Path("/data/bytes.bin").read_bytes()

    def test_shutil(self):
        for copy in shutil.copyfile, shutil.copy, shutil.copy2:
            copy("/data/bytes.bin", "/work/copy.bin")
            self.assertEqual(Path("/work/copy.bin").read_bytes(), self.content)
        shutil.copytree("/data", "/tmp/tree")
        self.assertEqual(sorted(os.listdir("/tmp/tree")), sorted(os.listdir("/data")))

    def test_programs(self):
        for command in "cp -a /data/bytes.bin a.bin", "cp --reflink=auto a.bin b.bin", "install -m 644 a.bin c.bin", "dd if=/data/bytes.bin of=d.bin status=none", "cat /data/bytes.bin >e.bin", "mv e.bin /tmp/e.bin; mv /tmp/e.bin f.bin":
            done = subprocess.run(command, shell=True, capture_output=True)
            self.assertEqual((done.returncode, done.stderr), (0, b""), command)
        for name in "abcdf":
            self.assertEqual(Path(name + ".bin").read_bytes(), self.content, name)

    def test_in_the_kernel(self):
        size = len(self.content)
        with open("/data/bytes.bin", "rb") as source, open("/work/sent.bin", "wb+") as target:
            self.assertEqual(os.sendfile(target.fileno(), source.fileno(), 0, size), size)
            with open("/work/ranged.bin", "wb+") as other:
                self.assertEqual(os.copy_file_range(target.fileno(), other.fileno(), size, 0), size)
            read, write = os.pipe()
            self.assertEqual(os.splice(source.fileno(), write, 4096, offset_src=256), 4096)
            self.assertEqual(os.read(read, 5000), self.content[256:4352])
            os.close(read), os.close(write)
        for name in "sent", "ranged":
            self.assertEqual(Path(f"/work/{name}.bin").read_bytes(), self.content)

    def test_from_data_in_the_kernel(self):
        # Between two filesystems Linux may say no; whoever uses it copies by hand then.
        with open("/data/bytes.bin", "rb") as source, open("/work/data.bin", "wb") as target:
            try:
                copied = os.copy_file_range(source.fileno(), target.fileno(), 1 << 20)
            except OSError as refused:
                self.assertEqual(refused.errno, errno.EXDEV)
            else:
                self.assertEqual(copied, 1 << 20)


class Data(unittest.TestCase):
    def test_is_one_filesystem(self):
        everything = sorted(os.listdir("/data"))
        for command in "find . -xdev -type f -printf '%P\\n'", "tar --one-file-system -c * | tar -t", "cp -ax . /tmp/copied && ls /tmp/copied":
            done = subprocess.run(command, shell=True, cwd="/data", capture_output=True, text=True)
            self.assertEqual((sorted(done.stdout.split()), done.stderr), (everything, ""))

    def test_has_one_identity(self):
        self.assertTrue(os.path.samefile("/data/bytes.bin", "data/bytes.bin"))
        with open("/data/bytes.bin", "rb") as f:
            self.assertTrue(os.path.sameopenfile(f.fileno(), os.open("data/bytes.bin", os.O_RDONLY)))
            self.assertEqual(os.readlink(f"/proc/self/fd/{f.fileno()}"), "/data/bytes.bin")
        self.assertEqual({entry.name: entry.is_file() for entry in os.scandir("/data")}, dict.fromkeys(os.listdir("/data"), True))


class Archives(unittest.TestCase):
    def test_zip(self):
        with zipfile.ZipFile("/tmp/a.zip", "w", zipfile.ZIP_DEFLATED) as z:
            z.write("/data/bytes.bin")
            z.writestr("text", "now")  # dated by the clock
        with zipfile.ZipFile("/tmp/a.zip") as z:
            self.assertIsNone(z.testzip())

    def test_tar(self):
        # Owned by someone else, as what is downloaded is.
        for kind in "gz", "bz2", "xz":
            with tarfile.open("/tmp/a.tar." + kind, "w:" + kind) as archive:
                member = archive.gettarinfo("/data/bytes.bin", "bytes.bin")
                member.uid, member.gid, member.uname, member.gname = 501, 502, "someone", "else"
                with open("/data/bytes.bin", "rb") as f:
                    archive.addfile(member, f)
            with tarfile.open("/tmp/a.tar." + kind) as archive, tempfile.TemporaryDirectory() as d:
                archive.extractall(d)
                self.assertEqual(Path(d, "bytes.bin").stat().st_size, 1 << 20)

    def test_tar_program(self):
        self.test_tar()
        # Uid 0 gives files to their owners, whom its namespace does not have.
        owner = ["--no-same-owner"] if os.getuid() == 0 else []
        for flags in "xf", "xpf":
            done = subprocess.run(["tar", flags, "/tmp/a.tar.gz", *owner], capture_output=True)
            self.assertEqual((done.returncode, done.stderr), (0, b""))


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
