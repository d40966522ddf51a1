"""pip install without a network."""

import importlib.util
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import scidex_oci

from .support import HANG

SOURCE = Path(scidex_oci.__file__).parent.parent


class InstallTest(unittest.TestCase):
    def setUp(self) -> None:
        self.dir = tempfile.TemporaryDirectory(prefix="scidex-python-")
        self.addCleanup(self.dir.cleanup)
        self.to = Path(self.dir.name)

    def python(self, *args: str) -> str:
        """What this Python prints that sees no other package."""
        done = subprocess.run([sys.executable, "-IB", *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.to, timeout=HANG)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def build(self, hook: str) -> Path:
        """The wheel as pip asks for it."""
        code = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); import wheel_backend; print(wheel_backend.{hook}('.'))"
        return self.to / self.python("-c", code).strip()

    def test_wheel(self) -> None:
        wheel = self.build("build_wheel")
        first = wheel.read_bytes()
        self.assertEqual(self.build("build_wheel").read_bytes(), first, "not the same bytes twice")
        with zipfile.ZipFile(wheel) as archive:
            inside = {name[len("scidex_oci/"):] for name in archive.namelist() if name.startswith("scidex_oci/")}
        self.assertEqual(inside, {path.name for path in (SOURCE / "scidex_oci").iterdir() if path.name != "__pycache__"})
        said = self.python("-c", f"import sys; sys.path.insert(0, {str(wheel)!r}); import scidex_oci; print(scidex_oci.__file__)")
        self.assertTrue(said.startswith(str(wheel)), said)

    def test_pip(self) -> None:
        if importlib.util.find_spec("pip") is None:
            self.skipTest("this Python has no pip; test_wheel has looked at what pip would install")
        for what in (str(SOURCE), str(self.to / self.build("build_sdist"))):
            with self.subTest(what):
                to = self.to / "site"
                self.python("-m", "pip", "install", "--quiet", "--no-index", "--target", str(to), "--upgrade", what)
                code = ("import sys; sys.path.insert(0, 'site'); import scidex_oci, importlib.metadata as m;"
                        "print(scidex_oci.__file__, m.version('scidex-oci'), all(f.locate().exists() for f in m.files('scidex-oci')))")
                self.assertEqual(self.python("-c", code).split(), [str(to / "scidex_oci/__init__.py"), scidex_oci.__version__, "True"])


if __name__ == "__main__":
    unittest.main()
