"""A simulated orchestrator that is killed and started again, and what the catalog has of it.

SCIDEX_OCI_SOAK is the number of analyses (20 by default), SCIDEX_OCI_SEED what they are and when the kills come.
"""

import os
import random
import subprocess
import sys
from typing import Dict, Set

from .orchestrator import ENDS, plan
from .support import PYTHON, Case


class OrchestratorTest(Case):
    def test_nothing_twice_and_nothing_lost(self) -> None:
        count = int(os.environ.get("SCIDEX_OCI_SOAK") or 20)
        seed = int(os.environ.get("SCIDEX_OCI_SEED") or random.SystemRandom().randrange(10**6))
        analyses = plan(seed, count)
        kills = self.orchestrate(seed, count)
        print(f"orchestrator: seed {seed}, {count} analyses, killed {kills} times", file=sys.stderr)
        with self.subTest(seed=seed):
            self.check(analyses)

    def orchestrate(self, seed: int, count: int) -> int:
        """Kills orchestrators at random until one has come to its end."""
        chance = random.Random(seed)
        ended: Set[str] = set()
        kills = 0
        while True:
            self.end_hangs()
            patience = chance.randrange(1, max(2, count // 4)) if len(ended) < count * 3 // 4 else count + 1
            child = subprocess.Popen([sys.executable, "-m", "tests.orchestrator", str(seed), str(count)], cwd=self.dir,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True,
                                     env={**os.environ, **self.environ, "PYTHONPATH": PYTHON})
            self.addCleanup(child.wait)
            assert child.stdout is not None
            with child.stdout as lines:
                fresh = 0
                for line in lines:
                    fresh += line.strip() not in ended
                    ended.add(line.strip())
                    if fresh >= patience:
                        child.kill()
                        break
            if child.wait() == 0:
                self.assertEqual(len(ended), count)
                return kills
            self.assertEqual(child.returncode, -9)
            kills += 1

    def check(self, analyses: Dict[str, str]) -> None:
        """The catalog has one run of each analysis, and of each what became of it."""
        runs = list(self.tool.ls("--limit", "0"))
        want = {name: ENDS[kind] for name, kind in analyses.items() if ENDS[kind] is not None}
        self.assertEqual(sorted((run["id"], run["attempt"]) for run in runs), sorted((name, 1) for name in want))
        for name, end in want.items():
            result = self.tool.show(name)
            self.assertEqual((result.state, result.reason, result.exit_code), end, result.completion_notes)
            if end[1] != "not_found" and end[0] != "canceled":
                self.assertEqual(result.read("name.txt"), f"{name}\n".encode())
        self.assertEqual(self.tool.call("gc"), self.tool.call("gc"), "there was something to be collected")
