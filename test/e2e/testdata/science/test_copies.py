#!/usr/bin/python3
"""Copies and archives: what programs do to get data into /work, and what data looks like to them."""

import errno
import os
import shutil
import subprocess
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path


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
        for command in (
            "cp -a /data/bytes.bin a.bin",
            "cp --reflink=auto a.bin b.bin",
            "install -m 644 a.bin c.bin",
            "dd if=/data/bytes.bin of=d.bin status=none",
            "cat /data/bytes.bin >e.bin && mv e.bin /tmp/e.bin && mv /tmp/e.bin f.bin",
        ):
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
        for command in (
            "find . -xdev -type f -printf '%P\\n'",
            "tar --one-file-system -c . | tar -t | sed 's|^./||'",
            "cp -ax . /tmp/copied && ls /tmp/copied",
        ):
            done = subprocess.run(command, shell=True, cwd="/data", capture_output=True, text=True)
            self.assertEqual((sorted(done.stdout.split()), done.stderr), (everything, ""))

    def test_has_one_identity(self):
        self.assertTrue(os.path.samefile("/data/bytes.bin", "data/bytes.bin"))
        with open("/data/bytes.bin", "rb") as f:
            self.assertTrue(os.path.sameopenfile(f.fileno(), os.open("data/bytes.bin", os.O_RDONLY)))
            self.assertEqual(os.readlink(f"/proc/self/fd/{f.fileno()}"), "/data/bytes.bin")
        self.assertTrue(all(entry.is_file(follow_symlinks=False) for entry in os.scandir("/data")))


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


if __name__ == "__main__":
    unittest.main(verbosity=2)
