#!/usr/bin/python3
"""What programs ask of the machine: who they are, the time, chance, languages, certificates."""

import datetime
import faulthandler
import getpass
import locale
import os
import platform
import pwd
import resource
import secrets
import ssl
import subprocess
import sys
import time
import unittest
import uuid
import zoneinfo
from pathlib import Path


class Surroundings(unittest.TestCase):
    def test_user(self):
        self.assertEqual(pwd.getpwuid(os.getuid()).pw_name, "analysis")
        self.assertEqual((getpass.getuser(), str(Path.home())), ("analysis", "/home/analysis"))
        self.assertEqual(platform.node(), "scidex")

    def test_time(self):
        self.assertEqual(time.tzname[0], "UTC")
        summer = datetime.datetime(2024, 7, 1, 12, tzinfo=zoneinfo.ZoneInfo("America/New_York"))
        self.assertEqual(summer.utcoffset(), datetime.timedelta(hours=-4))
        self.assertGreater(len(zoneinfo.available_timezones()), 400)
        self.assertGreater(time.clock_gettime(time.CLOCK_MONOTONIC_RAW), 0)
        self.assertGreater(time.process_time(), 0)

    def test_chance(self):
        self.assertEqual(len({uuid.uuid1() for _ in range(100)} | {uuid.uuid4() for _ in range(100)}), 200)
        self.assertEqual(len({secrets.token_hex(16) for _ in range(100)}), 100)
        self.assertNotEqual(os.getrandom(16), os.urandom(16))
        for device in "/dev/random", "/dev/urandom":
            with open(device, "rb", 0) as f:
                self.assertEqual(len(set(f.read(256))) > 100, True)

    def test_devices(self):
        self.assertEqual(Path("/dev/null").write_text("gone"), 4)
        with open("/dev/zero", "rb", 0) as zero, open("/dev/full", "wb", 0) as full:
            self.assertEqual(zero.read(4), bytes(4))
            with self.assertRaises(OSError):
                full.write(b"x")
        self.assertTrue(os.access("/dev/null", os.R_OK | os.W_OK))
        script = "echo out >/dev/stdout; echo err >/dev/stderr; cat /dev/fd/3 3</dev/null >>/dev/null"
        done = subprocess.run(script, shell=True, capture_output=True)
        self.assertEqual((done.stdout, done.stderr), (b"out\n", b"err\n"))

    def test_languages(self):
        locale.setlocale(locale.LC_ALL, "")
        self.assertEqual((locale.getpreferredencoding(), sys.getfilesystemencoding()), ("UTF-8", "utf-8"))
        name = Path("/work/größe-Å-数.txt")
        name.write_text("µ", encoding="utf-8")
        self.assertIn(name.name, os.listdir("/work"))
        done = subprocess.run(["sort"], input="b\nä\na\n", text=True, capture_output=True)
        self.assertEqual((done.stdout, done.stderr), ("a\nb\nä\n", ""))

    def test_certificates(self):
        self.assertGreater(len(ssl.create_default_context().get_ca_certs()), 50)

    def test_machine(self):
        self.assertGreaterEqual(os.cpu_count(), len(os.sched_getaffinity(0)))
        self.assertGreater(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 1000)
        self.assertGreater(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), 1 << 28)
        self.assertEqual(len(os.getloadavg()), 3)
        own = Path("/proc/self/status").read_text()
        self.assertIn("VmRSS", own)
        self.assertIn("[heap]", Path("/proc/self/maps").read_text())
        done = subprocess.run(["ps", "-e", "-o", "comm="], stdout=subprocess.PIPE, text=True)
        self.assertIn("python3", done.stdout)

    def test_crash_is_explained(self):
        code = "import ctypes, faulthandler; faulthandler.enable(); ctypes.string_at(0)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual(done.returncode, -11)
        self.assertIn("Fatal Python error: Segmentation fault", done.stderr)
        self.assertFalse(faulthandler.is_enabled())

    def test_environment_of_its_own(self):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", "/tmp/venv"], check=True)
        command = ["/tmp/venv/bin/python", "-c", "import sys; print(sys.prefix)"]
        done = subprocess.run(command, stdout=subprocess.PIPE)
        self.assertEqual(done.stdout, b"/tmp/venv\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
