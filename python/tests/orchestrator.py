"""An orchestrator as SciDEX has one, which may be killed at any time: ``python -m tests.orchestrator SEED COUNT``.

It keeps no notes: what it started is in the catalog. Each line that it prints is an analysis that has ended.
"""

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, Optional

from scidex_oci import Executor, NotFound, RequestError, Result

# What becomes of an analysis, and what the catalog has to say then: state, reason, exit code.
ENDS = {
    "complete": ("complete", "exit", 0),
    "fails": ("failed", "exit", 3),
    "crashes": ("failed", "signal", 139),
    "forgets": ("failed", "output_missing", 1),
    "lasts": ("failed", "timeout", 124),
    "no command": ("failed", "not_found", 127),
    "canceled": ("canceled", "stopped", 143),
    "refused": None,  # nothing of it is in the catalog
}


def plan(seed: int, count: int) -> Dict[str, str]:
    """What is to become of each analysis."""
    chance = random.Random(seed)
    kinds = list(ENDS)
    weights = [6 if kind == "complete" else 1 for kind in kinds]
    return {f"sim-{seed}-{i}": chance.choices(kinds, weights)[0] for i in range(count)}


def spec(name: str, kind: str) -> Dict[str, Any]:
    """The request of an analysis."""
    script = {
        "fails": "exit 3",
        "crashes": "kill -SEGV $$",
        "lasts": "while :; do sleep 1; done",
        "canceled": "while :; do sleep 1; done",
    }.get(kind, "exit 0")
    command = ["no-such-command"] if kind == "no command" else ["sh", "-c", f"echo {name} >name.txt; {script}"]
    fields: Dict[str, Any] = {"id": name, "command": command, "labels": {"kind": kind.replace(" ", "-")}}
    fields.update({"forgets": {"outputs": ["missing"]}, "lasts": {"timeout": 0.5, "grace": 0.1}, "refused": {"memory": "much"},
                   "canceled": {"grace": 0.1}}.get(kind, {}))
    return fields


def finish(executor: Executor, name: str, kind: str) -> Optional[Result]:
    """Brings one analysis to its end, wherever an orchestrator before has left it."""
    try:
        executor.check_status(name)
    except NotFound:
        try:
            executor.run_analysis(spec(name, kind))
        except RequestError:
            if kind != "refused":
                raise
            return None
    if kind == "canceled":
        executor.kill(name)
    return executor.wait(name)


def main() -> None:
    analyses = plan(int(sys.argv[1]), int(sys.argv[2]))
    with Executor(lock=Path("lock")) as executor, ThreadPoolExecutor(4) as pool:
        def one(name: str) -> None:
            finish(executor, name, analyses[name])
            sys.stdout.write(name + "\n")  # in one piece
            sys.stdout.flush()

        list(pool.map(one, analyses))


if __name__ == "__main__":
    main()
