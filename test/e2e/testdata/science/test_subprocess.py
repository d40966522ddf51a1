#!/usr/bin/python3
"""subprocess: pipelines, sessions, shells, and programs that are built inside."""

import ctypes
import ctypes.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from subprocess import PIPE, Popen, run


def python(code, **options):
    return run([sys.executable, "-c", code], capture_output=True, text=True, **options)


class Processes(unittest.TestCase):
    def test_streams(self):
        text = b"through a pipe" * 10000
        done = run(["sh", "-c", "cat; echo no >&2; exit 3"], input=text, capture_output=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, text, b"no\n"))
        done = run("echo discarded >/dev/null; cat </dev/null", shell=True, stdout=PIPE)
        self.assertEqual(done.stdout, b"")

    def test_pipeline(self):
        first = Popen(["seq", "1000"], stdout=PIPE)
        second = Popen(["grep", "7"], stdin=first.stdout, stdout=PIPE)
        third = Popen(["wc", "-l"], stdin=second.stdout, stdout=PIPE)
        first.stdout.close(), second.stdout.close()
        self.assertEqual(third.communicate()[0].strip(), b"271")
        self.assertEqual((first.wait(), second.wait()), (0, 0))

    def test_shell(self):
        for command, answer in (
            ("timeout -k 1 0.1 sleep 60; echo $?", "124"),
            ("seq 20 | xargs -P 4 -n 1 sh -c 'echo $0' | sort -n | tail -n 1", "20"),
            ("seq 100000 | shuf | sort -n --parallel=2 -S 1M -T /tmp | md5sum | cut -c 1-8", "dea9193b"),
            ("set -o pipefail; cat <(seq 10) | awk '{s += $1} END {print s}'", "55"),
            ("mkfifo /tmp/fifo; echo through >/tmp/fifo & cat /tmp/fifo", "through"),
            ("cat <<END\nhere\nEND", "here"),
            ("nohup setsid nice -n 5 ionice -c 3 nproc 2>&1 | grep -c '^[1-9]'", "1"),
        ):
            with self.subTest(command):
                self.assertEqual(run(["bash", "-c", command], stdout=PIPE, text=True).stdout.strip(), answer)

    def test_session(self):
        child = Popen(["sh", "-c", "sleep 60 & sleep 60"], start_new_session=True)
        self.assertEqual((os.getsid(child.pid), os.getpgid(child.pid)), (child.pid, child.pid))
        os.killpg(child.pid, signal.SIGTERM)
        self.assertEqual(child.wait(30), -signal.SIGTERM)

    def test_timeout(self):
        with self.assertRaises(subprocess.TimeoutExpired):
            run(["sleep", "60"], timeout=0.1)

    def test_descriptors(self):
        with tempfile.TemporaryFile() as kept:
            kept.write(b"kept")
            kept.flush()
            code = f"import os; os.lseek({kept.fileno()}, 0, 0); print(os.read({kept.fileno()}, 9))"
            self.assertEqual(python(code, pass_fds=[kept.fileno()]).stdout, "b'kept'\n")
            self.assertIn("Bad file descriptor", python(code).stderr)

    def test_spawn_and_fork(self):
        pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 7"], {})
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 7)
        pid = os.fork()
        if pid == 0:
            os._exit(8)
        handle = os.pidfd_open(pid)
        self.assertEqual(os.waitid(os.P_PIDFD, handle, os.WEXITED).si_status, 8)
        os.close(handle)


class Compiled(unittest.TestCase):
    """What is made inside can be run and loaded from wherever it may be written."""

    def test_program_and_library(self):
        for directory in "/work", "/tmp", "/dev/shm", Path.home():
            with self.subTest(directory), tempfile.TemporaryDirectory(dir=directory) as place:
                source = Path(place, "twice.c")
                source.write_text("int twice(int x) { return 2 * x; } int main(void) { return twice(21); }\n")
                run(["gcc", "-O2", "-o", f"{place}/program", source], check=True)
                run(["gcc", "-shared", "-fPIC", "-o", f"{place}/library.so", source], check=True)
                self.assertEqual(run([f"{place}/program"]).returncode, 42)
                self.assertEqual(ctypes.CDLL(f"{place}/library.so").twice(21), 42)

    def test_script(self):
        script = Path("/work/script")
        script.write_text("#!/bin/sh\necho $0 $1\n")
        script.chmod(0o755)
        self.assertEqual(run([script, "x"], stdout=PIPE).stdout, b"/work/script x\n")

    def test_data(self):
        self.assertEqual(run(["/data/tool", "x"], stdout=PIPE).stdout, b"/data/tool x\n")

    def test_libraries_are_found(self):
        self.assertEqual(ctypes.util.find_library("m"), "libm.so.6")
        self.assertEqual(shutil.which("python3"), "/usr/bin/python3")


if __name__ == "__main__":
    unittest.main(verbosity=2)
