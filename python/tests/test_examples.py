"""The programs in examples."""

import os
import subprocess
import sys
from pathlib import Path

from .support import HANG, PYTHON, Case

EXAMPLES = Path(__file__).parent.parent / "examples"


class ExamplesTest(Case):
    def said(self, name: str, *args: str) -> str:
        done = subprocess.run([sys.executable, str(EXAMPLES / name), *args], env={**os.environ, **self.environ, "PYTHONPATH": PYTHON}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, cwd=self.dir, timeout=HANG)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_one(self) -> None:
        self.assertEqual(self.said("one.py"), "45.0\n")

    def test_many(self) -> None:
        self.assertEqual(self.said("many.py"), "4 complete\n2 exit\n")

    def test_orchestrate(self) -> None:
        first = self.said("orchestrate.py", "demo")
        self.assertEqual(first, "complete 1 ['started.txt']\n")
        self.assertEqual(self.said("orchestrate.py", "demo"), first)

    def test_all_are_tried(self) -> None:
        self.assertEqual({f"test_{path.stem}" for path in EXAMPLES.glob("*.py")} - set(dir(self)), set())
