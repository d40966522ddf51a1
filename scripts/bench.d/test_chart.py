"""Tests of scripts/chart.py: places on axes, marks, and drawings that are XML."""

import sys
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import chart  # noqa: E402 - it is beside this directory, which is no package


class Axes(unittest.TestCase):
    def test_a_linear_one_begins_at_zero(self):
        axis = chart.Axis(3, 10, 100, 200, log=False)
        self.assertEqual([axis.at(v) for v in (0, 5, 10)], [100, 150, 200])
        self.assertEqual(axis.ticks(), [0, 2, 4, 6, 8, 10])

    def test_a_logarithmic_one_has_the_same_way_for_the_same_factor(self):
        axis = chart.Axis(1, 100, 0, 200, log=True)
        self.assertEqual([round(axis.at(v)) for v in (1, 10, 100)], [0, 100, 200])

    def test_marks_are_few_however_long_it_is(self):
        for low, high in ((1, 2), (0.3, 4), (1, 500), (1, 1e6), (1e-6, 1e12)):
            marks = chart.Axis(low, high, 0, 1, log=True).ticks()
            self.assertTrue(2 <= len(marks) <= 10, (low, high, marks))


class Drawings(unittest.TestCase):
    def test_numbers_are_short(self):
        self.assertEqual([chart.number(v) for v in (0, 0.8, 15, 1000, 2_500_000)], ["0", "0.8", "15", "1k", "2.5M"])

    def test_a_share_below_one_is_better_for_either_kind_of_goal(self):
        self.assertEqual(chart.share_of_goal({"value": 0.4, "goal": {"relation": "at most", "bound": 0.8}}), 0.5)
        self.assertEqual(chart.share_of_goal({"value": 3.0, "goal": {"relation": "at least", "bound": 1.5}}), 0.5)

    def test_bars_are_those_of_one_user_that_were_measured(self):
        goal = {"relation": "at most", "bound": 0.8}
        measured = {"who": "user", "what": "run <true>", "peer": "runc run", "value": 1.2, "unit": "", "reached": False, "goal": goal}
        other = {**measured, "who": "root", "what": "as root"}
        drawn = chart.bars({"lines": [measured, {"who": "user", "what": "start", "peer": "bwrap", "value": None, "goal": goal}, other]})
        words = ["".join(t.itertext()) for t in xml.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("run <true>", words)
        self.assertNotIn("start", words)
        self.assertNotIn("as root", words)

    def test_curves_draw_every_point_that_the_axis_has(self):
        series = [{"name": "a & b", "points": [[0, 1], [1, 2], [10, 3]]}, {"name": "none", "points": []}]
        drawn = xml.fromstring(chart.curves({"title": "t", "x": "n", "y": "ms", "series": series, "log": ["x"]}))
        self.assertEqual(len(list(drawn.iter("{http://www.w3.org/2000/svg}circle"))), 2)


if __name__ == "__main__":
    unittest.main()
