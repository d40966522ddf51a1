"""Of scripts/bench-growth: how a figure is judged, and that a synthetic catalog is one."""

import sqlite3
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(str(HERE / "growth"))

from measure import Curves, exponent, steps  # noqa: E402
from synthetic import fill  # noqa: E402

SCHEMA = HERE.parents[1] / "outputs/catalog/migrations/sqlite"
DIGEST = "0" * 64


class Exponent(unittest.TestCase):
    def test_known_curves(self):
        for power in (0, 1, 1.5, 2):
            points = [[x, 7 * x**power] for x in (1000, 10_000, 30_000, 100_000)]
            self.assertAlmostEqual(exponent(points), power)

    def test_only_the_last_decade_counts(self):
        self.assertAlmostEqual(exponent([[1, 500], [10, 500], [100, 500], [1000, 5000]]), 1)

    def test_one_point_has_none(self):
        self.assertIsNone(exponent([[0, 1], [10, 1]]))


class Points(unittest.TestCase):
    def test_steps(self):
        self.assertEqual(steps(10_000), [1, 10, 100, 1000, 3000, 10_000])
        self.assertEqual(steps(100), [1, 10, 100])

    def test_medians_and_ratio(self):
        curves = Curves("t", "x", [])
        for x, y in ((1, 2), (1, 3), (1, 100), (10, 30)):
            curves.add("a", x, y)
        told = curves.told()["series"][0]
        self.assertEqual(told["points"], [[1, 3], [10, 30]])
        self.assertEqual(told["ratio"], 10)


class Synthetic(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.root = Path(made.name)
        (self.root / "blobs/sha256").mkdir(parents=True)
        self.db = sqlite3.connect(self.root / "catalog.db", isolation_level=None)
        self.addCleanup(self.db.close)
        for migration in sorted(SCHEMA.glob("*.sql")):
            self.db.executescript(migration.read_text())
        for name, state in (("good", "complete"), ("bad", "failed")):
            self.db.execute(
                "INSERT INTO analysis_run (id, attempt, state, created_at, request, place, report, host, boot_id, tool_version)"
                " VALUES (?, 1, ?, '2026-03-04T05:06:07.000Z', ?, '{}', '{}', '', '', '')", (name, state, f'{{"id":"{name}"}}'))
            self.db.execute("INSERT INTO run_label VALUES (?, 1, 'k', 'v')", (name,))
            self.db.execute(
                "INSERT INTO analysis_output (id, attempt, path, size, sha256, verdict, partial) VALUES (?, 1, x'61', 2, ?, 'output', 0)",
                (name, DIGEST))

    def one(self, query):
        return self.db.execute(query).fetchone()[0]

    def test_copies(self):
        fill(self.root, 30, ["good"] * 9 + ["bad"])
        self.assertEqual(self.one("SELECT count(*) FROM analysis_run"), 32)
        self.assertEqual(self.one("SELECT count(*) FROM analysis_run WHERE state = 'failed' AND id LIKE 'synthetic-%'"), 3)
        self.assertEqual(self.one("SELECT count(DISTINCT created_at) FROM analysis_run"), 31)
        self.assertEqual(self.one("SELECT request ->> 'id' FROM analysis_run WHERE id = 'synthetic-0000007'"), "synthetic-0000007")
        self.assertEqual(self.one("SELECT count(*) FROM run_label WHERE key = 'rare' AND value = '1'"), 10)
        self.assertEqual(self.db.execute("PRAGMA foreign_key_check").fetchall(), [])
        named = {row[0] for row in self.db.execute("SELECT sha256 FROM analysis_output")} - {DIGEST}
        self.assertEqual(named, {path.name for path in (self.root / "blobs/sha256").iterdir()})
        self.assertEqual(len(named), 30)


if __name__ == "__main__":
    unittest.main()
