"""Tests of what bwrap is given of a bundle."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import bwrap  # noqa: E402 - no package

CONFIG = {
    "process": {"user": {"uid": 1000, "gid": 1001}, "env": ["A=b=c"], "cwd": "/work"},
    "root": {"path": "/bundle/rootfs"},
    "hostname": "scidex",
    "mounts": [
        {"destination": "/proc", "type": "proc", "options": []},
        {"destination": "/dev", "type": "tmpfs", "options": ["size=64k"]},
        {"destination": "/dev/pts", "type": "devpts", "options": []},
        {"destination": "/tmp", "type": "tmpfs", "options": ["nosuid", "size=1024"]},
        {"destination": "/usr", "type": "bind", "source": "/host/usr", "options": ["ro"]},
        {"destination": "/work", "type": "bind", "source": "/bundle/work", "options": ["rw"]},
    ],
}


class Words(unittest.TestCase):
    def test_the_same_binds_and_all_namespaces(self):
        words = " ".join(bwrap.words(CONFIG, "/mine"))
        for part in ("--unshare-all --unshare-user", "--uid 1000 --gid 1001", "--setenv A b=c", "--ro-bind /bundle/rootfs /", "--proc /proc",
                     "--dev /dev", "--size 1024 --tmpfs /tmp", "--ro-bind /host/usr /usr", "--bind /mine /work", "--chdir /work"):
            self.assertIn(f" {part}", words)
        self.assertNotIn("/dev/pts", words)

    def test_a_mount_that_it_does_not_know_ends_it(self):
        self.assertRaises(SystemExit, list, bwrap.options({"destination": "/x", "type": "overlay", "options": []}, "/mine"))


if __name__ == "__main__":
    unittest.main()
