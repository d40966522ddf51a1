#!/usr/bin/python3
"""Limits that a program sets for its children: less than the analysis has, and a larger stack."""

import resource
import signal
import sys
import unittest
from subprocess import PIPE, run

# Through max the calls nest in C, 50000 deep: between 32 and 64 MiB of stack.
DEEP = """
import sys
sys.setrecursionlimit(10**6)
def deeper(n):
    return n and max([n], key=lambda _: deeper(n - 1)) and 0
print(deeper(50000))
"""


def python(code, **options):
    return run([sys.executable, "-c", code], capture_output=True, text=True, **options)


class Limits(unittest.TestCase):
    def limited(self, code, which, *limit):
        return python(code, preexec_fn=lambda: resource.setrlimit(which, limit))

    def test_files(self):
        done = self.limited("print([open('/dev/null') for _ in range(99)])", resource.RLIMIT_NOFILE, 32, 32)
        self.assertIn("Too many open files", done.stderr)

    def test_memory(self):
        done = self.limited("bytearray(1 << 30)", resource.RLIMIT_AS, 1 << 29, 1 << 29)
        self.assertIn("MemoryError", done.stderr)

    def test_processor_time(self):
        done = self.limited("while True: pass", resource.RLIMIT_CPU, 1, 2)
        self.assertEqual(done.returncode, -signal.SIGXCPU)

    def test_shell(self):
        script = "ulimit -n 50; ulimit -n; ulimit -S -s 1024; ulimit -s; ulimit -c"
        done = run(["sh", "-c", script], stdout=PIPE)
        self.assertEqual(done.stdout.split(), [b"50", b"1024", b"0"])

    def test_own_limits(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.assertEqual(resource.prlimit(0, resource.RLIMIT_NOFILE, (soft - 1, hard)), (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    def test_large_stack(self):
        # Fortran keeps its arrays there: "ulimit -s unlimited" begins many a script.
        for size in "65536", "unlimited":
            done = run(["bash", "-c", f"ulimit -s {size} && ulimit -s"], capture_output=True, text=True)
            self.assertEqual((done.stdout, done.stderr), (size + "\n", ""))
        done = self.limited(DEEP, resource.RLIMIT_STACK, 1 << 29, resource.RLIM_INFINITY)
        self.assertEqual(done.stdout, "0\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
