"""The line `table`: an output of each run of a sweep in one table, beside a loop that prints them one by one."""

import itertools
import json
from pathlib import Path

from measure import Failed, Figure, Line, take

RUNS = "1,000 runs of a sweep"
LOOP = "for each id: outputs cat"
FIGURES = (
    Figure(RUNS + " in one table, CSV", "table: csv", RUNS + ": " + LOOP),
)
SCRIPT = """printf '{"loss": 0.%d, "accuracy": 1e-%d, "note": "seed %d", "history": [1, 2, 3]}' "$2" "$2" "$2" >metrics.json\n"""
serial = itertools.count()


def measure(bench, samples):
    count, script = bench.size(1000), bench.scratch / "metrics.sh"
    script.write_text(SCRIPT)
    tool = [bench.tool, "--root", bench.root("table")]
    take([*tool, "batch", "--quiet", *bench.request, "--label", "sweep=s1", "--sweep", f"seed=1..{count}", "--script", str(script)])
    ids = take([*tool, "ls", "--quiet", "--limit", "0", "--label", "sweep=s1"]).output.split()
    if len(ids) != count:
        raise Failed(f"{len(ids)} runs of {count}")

    def joined(form):
        file = bench.scratch / f"table-{next(serial)}.{form}"
        taken = take([*tool, "table", "--label", "sweep=s1", "--format", form, "-o", str(file), "metrics.json"])
        if form == "csv" and len(file.read_text().splitlines()) != count + 1:
            raise Failed(f"{file} has not {count} rows")
        return taken.seconds

    def looped():
        out = Path(f"{bench.scratch}/loop-{next(serial)}")
        line = '"$0" --root "$1" ls -q --limit 0 --label sweep=s1 | while read -r id; do "$0" --root "$1" outputs cat "$id" metrics.json && echo; done >"$2"'
        taken = take(["sh", "-c", line, *tool[:1], tool[2], str(out)])
        if len([json.loads(line) for line in out.read_text().splitlines()]) != count:
            raise Failed(f"{out} has not {count} lines")
        return taken.seconds

    ways = {"table: csv": lambda: joined("csv"), RUNS + ": " + LOOP: looped}
    samples.turns(bench.rounds(5), ways)


LINE = Line(FIGURES, measure)
