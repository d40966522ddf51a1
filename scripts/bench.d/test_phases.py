import unittest

import phases
import release


def event(name, ts, dur, tid=1):
    return {"name": name, "ph": "X", "pid": 1, "tid": tid, "ts": ts, "dur": dur}


ROWS = [{"name": "thread_name", "ph": "M", "pid": 1, "tid": n, "args": {"name": name}} for n, name in ((1, "run"), (2, "init"))]


class Phases(unittest.TestCase):
    def test_medians_in_the_order_of_their_beginnings(self):
        traces = [phases.phases([*ROWS, event("late", 5000 + n, 2000), event("early", 1000, n * 1000, 2), event("short", 0, 10)]) for n in (1, 2, 9)]
        self.assertEqual(phases.table(traces).splitlines()[2:], ["| 1.0 ms | 2.0 ms | init | early |", "| 5.0 ms | 2.0 ms | run | late |"])

    def test_a_phase_that_only_some_have(self):
        traces = [phases.phases([*ROWS, event("always", 0, 1000)]), phases.phases([*ROWS, event("always", 0, 1000), event("once", 1, 3000)])]
        self.assertIn("| 0.0 ms | 3.0 ms | run | once |", phases.table(traces))


class Release(unittest.TestCase):
    def test_from_the_gate_to_the_first_instruction(self):
        events = [*ROWS, event("open the gate", 1000, 300), event("execute the analysis", 4000, 500, 2)]
        self.assertAlmostEqual(release.release(events), 0.0035)


if __name__ == "__main__":
    unittest.main()
