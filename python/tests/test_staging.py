"""SciDEX' helpers."""

import os
import stat
from pathlib import Path
from unittest import mock

from scidex_oci import StagingError, cleanup_analysis_temp_dir, create_analysis_temp_dir, run_python_script

from .support import Case


class StagingTest(Case):
    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.dict(os.environ, {"SCIDEX_OCI_STAGING": str(self.dir / "staging")})
        patch.start()
        self.addCleanup(patch.stop)

    def test_a_script(self) -> None:
        script = self.dir / "double.py"
        script.write_text("open('out.txt', 'w').write(open('in.txt').read() * 2)\nprint('done')\n")
        script.chmod(0o644)
        self.dir.chmod(0o755)
        directory = create_analysis_temp_dir("SDA-2026-04-02-26abc5e5f9f2")
        (directory / "in.txt").write_text("ab")
        for attempt in (1, 2):
            r = run_python_script("SDA-2026-04-02-26abc5e5f9f2" if attempt == 1 else "again", script, timeout_seconds=60, tool=self.tool)
            if attempt == 2:
                self.assertEqual((r.state, r.exit_code), ("failed", 1))  # a directory of its own, without in.txt
                break
            self.assertTrue(r.ok, r.completion_notes)
            self.assertEqual((r.analysis["timeout"], [o.path for o in r.outputs]), ("1m", ["out.txt"]))
            self.assertEqual((directory / "out.txt").read_text(), "abab")
        cleanup_analysis_temp_dir("SDA-2026-04-02-26abc5e5f9f2")
        cleanup_analysis_temp_dir("again")
        self.assertEqual(os.listdir(self.dir / "staging"), [])

    def test_timeout_is_in_the_notes(self) -> None:
        script = self.dir / "sleep.sh"
        script.write_text("sleep 1000\n")
        script.chmod(0o644)
        self.dir.chmod(0o755)
        r = run_python_script("slow", script, timeout_seconds=0.5, tool=self.tool)
        self.assertEqual(r.reason, "timeout")
        self.assertIn("failed (timeout)", r.completion_notes)

    def test_private_and_the_same_again(self) -> None:
        directory = create_analysis_temp_dir("a")
        self.assertEqual(directory, self.dir / "staging" / "a")
        for made in (directory, directory.parent):
            self.assertEqual(stat.S_IMODE(made.stat().st_mode), 0o700)
        (directory / "kept").touch()
        self.assertEqual(create_analysis_temp_dir("a"), directory)
        self.assertTrue((directory / "kept").exists())

    def test_ids(self) -> None:
        for name in ("", "..", ".", "../a", "a/b", "/etc", ".a.made", "a\n", "a" * 129, "-a"):
            with self.subTest(name=name):
                for call in (create_analysis_temp_dir, cleanup_analysis_temp_dir):
                    self.assertRaises(ValueError, call, name)

    def test_clean_up_goes_nowhere_else(self) -> None:
        precious = self.dir / "precious"
        precious.mkdir()
        (precious / "file").touch()
        directory = create_analysis_temp_dir("a")
        deep = directory.joinpath(*["d"] * 100)
        deep.mkdir(parents=True)
        (deep / "f").touch()
        (directory / "link").symlink_to(precious)
        (directory / "hard").hardlink_to(precious / "file") if hasattr(Path, "hardlink_to") else None
        cleanup_analysis_temp_dir("a")
        cleanup_analysis_temp_dir("a")
        self.assertFalse(directory.exists())
        self.assertTrue((precious / "file").exists())

    def test_what_was_not_made_is_left_alone(self) -> None:
        precious = self.dir / "precious"
        precious.mkdir()
        (precious / "file").touch()
        directory = create_analysis_temp_dir("a")
        directory.rename(self.dir / "moved")
        directory.symlink_to(precious)
        with self.assertRaisesRegex(StagingError, "left alone"):
            cleanup_analysis_temp_dir("a")
        directory.unlink()
        precious.rename(directory)
        for call in (create_analysis_temp_dir, cleanup_analysis_temp_dir):
            with self.assertRaisesRegex(StagingError, "left alone"):
                call("a")
        self.assertTrue((directory / "file").exists())

    def test_base_of_others(self) -> None:
        base = self.dir / "staging"
        base.mkdir(mode=0o755)
        with self.assertRaisesRegex(StagingError, "chmod 700"):
            create_analysis_temp_dir("a")
        base.rmdir()
        base.symlink_to(self.dir)
        with self.assertRaisesRegex(StagingError, "no directory"):
            create_analysis_temp_dir("a")
