"""scripts/bench-growth calls it: measures what was asked for, prints tables, and writes JSON and charts."""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import catalog
import crowd
import data
import outputs
from tables import chart, table

FIGURES = {"concurrent": crowd.measure, "catalog": catalog.measure, "data": data.measure, "outputs": outputs.measure}


class Bench:
    """What all measurements need to know."""

    def __init__(self, given):
        self.tool, self.scratch, self.to = given.tool, given.scratch, given.to
        self.rounds = int(os.environ.get("ROUNDS", "5"))
        self.more = self.limits()

    def limits(self):
        """An ordinary user without a control group cannot enforce limits."""
        probe = [self.tool, "--root", str(self.scratch / "probe"), "run", "--quiet", "--data", "none", "--docs", "none", "--", "true"]
        if subprocess.run(probe, capture_output=True).returncode == 0:
            return []
        print("bench-growth: no control group for this user: limits are held as far as possible without one", file=sys.stderr)
        return ["--limits", "best-effort"]


def where(tool):
    version = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    day = datetime.datetime.now(datetime.UTC).date()
    load = os.getloadavg()[1]
    return f"{day}, Linux {platform.release()}, {os.cpu_count()} cores, uid {os.getuid()}, {version}, load average before it {load:.1f}"


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench-growth")
    parser.add_argument("--tool", help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--to", type=int, metavar="N")
    parser.add_argument("--charts", type=Path, metavar="DIR")
    parser.add_argument("figure", nargs="*", choices=[*FIGURES, []])
    given = parser.parse_args()
    bench = Bench(given)
    told = {"where": where(given.tool), "rounds": bench.rounds, "figures": {}}
    for name in given.figure or FIGURES:
        told["figures"][name] = figure = FIGURES[name](bench).told()
        print(table(figure), flush=True)
        if given.json:
            given.json.write_text(json.dumps(told, indent=1) + "\n")
        if given.charts:
            chart(figure, bench.scratch, given.charts / f"growth-{name}.svg")
    print(told["where"])


main()
