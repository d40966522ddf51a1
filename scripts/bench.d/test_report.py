"""Tests of scripts/bench's statistics, goals and table."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import report  # noqa: E402 - no package
from goals import FIGURES, Figure, at_least, at_most  # noqa: E402

SIZES = {"n": 1000, "files": 100000}
MIB = 1 << 20


def evaluate(figure, samples, missing=None):
    return report.evaluate(figure, {figure.line: samples}, {figure.line: missing or {}}, SIZES)


class Statistics(unittest.TestCase):
    def test_median_and_quartiles(self):
        self.assertEqual(report.summary([5, 1, 4, 2, 3]), {"median": 3, "quartiles": [2, 4], "count": 5})
        self.assertEqual(report.summary([7]), {"median": 7, "quartiles": [7, 7], "count": 1})

    def test_one_that_waited_long_does_not_count(self):
        self.assertEqual(report.summary([1, 1, 1, 1, 1000])["median"], 1)


class Goals(unittest.TestCase):
    def test_the_ratio_is_of_ours_to_its(self):
        line = evaluate(Figure("run", "w", "we", "they", "s", at_most(0.8)), {"we": [0.02, 0.04, 0.03], "they": [0.04, 0.06, 0.05]})
        self.assertAlmostEqual(line["value"], 0.6)
        self.assertTrue(line["reached"])

    def test_at_most_and_at_least(self):
        for goal, value, reached in ((at_most(1), 1, True), (at_most(1), 1.1, False), (at_least(1.5, 2), 1.5, True), (at_least(1.5, 2), 1.4, False)):
            self.assertEqual(goal.reached(value), reached, (goal, value))

    def test_memory_has_a_bound_of_its_own(self):
        line = evaluate(Figure("memory", "w", "we", None, "MiB", at_most(15)), {"we": [10 * MIB, 12 * MIB]})
        self.assertEqual((line["value"], line["unit"], line["reached"]), (11, " MiB", True))

    def test_what_was_not_measured_is_said_with_its_reason(self):
        figure = Figure("start", "w", "we", "they", "s", at_most(1))
        line = evaluate(figure, {"they": [0.01]}, {"we": "there is no gate"})
        self.assertEqual((line["value"], line["reached"], line["missing"]), (None, None, "there is no gate"))
        self.assertEqual(report.cells({**line, "who": "user"})[-1], "not measured")
        self.assertEqual(evaluate(figure, {})["missing"], "no measurement; no measurement")

    def test_every_line_is_a_program(self):
        for figure in FIGURES:
            self.assertTrue((Path(report.__file__).parent / figure.line).is_file(), figure.line)


class Words(unittest.TestCase):
    def test_a_median_has_its_quartiles_beside_it(self):
        for values, unit, words in (
            ([0.0211], "s", "21.1 ms"),
            ([0.02, 0.03, 0.04], "s", "30 ms (25 to 35)"),
            ([0.8, 1.2, 1.6], "s", "1.20 s (1.00 to 1.40)"),
            ([0.5, 1.1, 1.7], "s", "1.10 s (800 ms to 1.40)"),
            ([70, 72, 74], "/s", "72 /s (71 to 73)"),
            ([10 * MIB], "MiB", "10.0 MiB"),
        ):
            self.assertEqual(report.spread({**report.summary(values), "unit": unit}), words)

    def test_a_table_is_one_in_the_source_too(self):
        self.assertEqual(report.markdown([("a", "bbb"), ("cc", "|")]), "| a  | bbb |\n| -- | --- |\n| cc | \\|  |")


class Files(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = Path(directory.name)

    def test_samples_come_from_lines_and_from_hyperfine(self):
        (self.place / "samples").write_text("batch\tbatch\t70\nbatch\tbatch\t71\n")
        (self.place / "missing").write_text("run\tcrun run\tno: such\tgroup\n")
        for turn in (1, 2):
            told = {"results": [{"command": "runc run", "times": [0.01 * turn]}]}
            (self.place / f"run-{turn}.json").write_text(json.dumps(told))
        samples, missing = report.read_samples(self.place)
        self.assertEqual(samples, {"batch": {"batch": [70, 71]}, "run": {"runc run": [0.01, 0.02]}})
        self.assertEqual(missing, {"run": {"crun run": "no: such\tgroup"}})

    def test_a_report_has_the_user_first_and_only_what_was_tried(self):
        for who in "root", "user":
            (self.place / who).mkdir()
            (self.place / who / "samples").write_text("batch\tbatch\t70\nbatch\txargs -P2 runc run\t35\n")
        facts = {"day": "2026-01-01", "machine": "m", "versions": ["v"], "command": "c", "sizes": SIZES}
        result = report.report(self.place, facts)
        self.assertEqual([(x["who"], x["value"]) for x in result["lines"]], [("user", 2), ("user", None), ("root", 2), ("root", None)])
        self.assertEqual(result["lines"][0]["what"], "batch of 1,000 true, 2 jobs")
        self.assertIn("Not measured as user: batch of 1,000 true, 2 jobs, xargs -P2 bwrap: no measurement.", report.printed(result))

    def test_a_document_keeps_what_is_around_the_table(self):
        document = self.place / "doc.md"
        document.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
        report.put_into(document, "new\n")
        self.assertEqual(document.read_text(), f"before\n{report.BEGIN}\nnew\n{report.END}\nafter\n")
        document.write_text("no marks")
        self.assertRaises(SystemExit, report.put_into, document, "new\n")


if __name__ == "__main__":
    unittest.main()
