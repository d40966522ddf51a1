"""The line `harvest`: what a run takes beside its analysis, beside copying the same files, and beside a backup of them.

Everything is on disk before it is harvested or copied. What one round makes stays until all are done: ext4 does not use
the inodes of removed files again for some seconds, and looks for others one by one (recently_deleted() in fs/ext4/ialloc.c).
"""

import itertools
import json
import os
import shutil
from pathlib import Path

from measure import Failed, Figure, Line, say, take

FILL = str(Path(__file__).with_name("fill.py"))
LIMITS = ["--timeout", "24h", "--work-size", "64GiB", "--work-files", "10000000", "--memory", "4GiB"]
ONE, SMALL = "one file of 1 GiB", "10,000 files of 4 KiB"
FIGURES = (
    Figure("harvest of " + ONE, ONE, ONE + ": cp, sha256sum, sync"),
    Figure("harvest of " + ONE, ONE, ONE + ": restic"),
    Figure("harvest of " + SMALL, SMALL, SMALL + ": cp, sha256sum, sync"),
    Figure("harvest of " + SMALL, SMALL, SMALL + ": restic"),
    Figure("harvest of 100,000 small files", "100,000 small files", "a tenth of them"),
    Figure("show of that run", "show"),
)
serial = itertools.count()


def harvested(bench, root, count, size):
    """The seconds that a run took beside its analysis, which makes so many files."""
    command = [bench.tool, "--root", root, "run", "--quiet", "--json", *bench.request, *LIMITS, "--input", FILL]
    taken = take([*command, "--", "python3", "/inputs/fill.py", str(count), str(size)])
    result = json.loads(taken.output)
    if result["state"] != "complete" or result["outputs_total"] != count:
        raise Failed(f"the run is {result['state']} with {result['outputs_total']} outputs: {result['message']}")
    return taken.seconds - result["usage"]["wall_ms"] / 1000


def beside(bench, samples, name, count, size):
    """Harvest, copy and back up the same files in turns."""
    made = bench.scratch / "harvest"
    source = made / "source"
    source.mkdir(parents=True)
    take(["sh", "-c", 'cd "$1" && exec python3 "$2" "$3" "$4"', "sh", str(source), FILL, str(count), str(size)])

    def copied():
        script = 'cp -a "$1" "$2" && find "$2" -type f -exec sha256sum {} + && sync'
        return take(["sh", "-c", script, "sh", str(source), f"{made}/copy-{next(serial)}"]).seconds

    def backed_up():
        restic = ["restic", "--quiet", "--repo", f"{made}/repository-{next(serial)}"]
        take([*restic, "init"])
        return take([*restic, "backup", str(source)]).seconds

    ways = {name: lambda: harvested(bench, f"{made}/root-{next(serial)}", count, size)}
    ways |= {name + ": cp, sha256sum, sync": copied, name + ": restic": backed_up}
    samples.turns(bench.rounds(5), ways)
    shutil.rmtree(made)


def measure(bench, samples):
    os.environ |= {"RESTIC_PASSWORD": "bench", "RESTIC_CACHE_DIR": str(bench.scratch / "cache")}
    beside(bench, samples, ONE, 1, bench.size(1 << 30))
    beside(bench, samples, SMALL, bench.size(10_000), 4096)
    many, root = bench.size(100_000), bench.root("many")
    say(f"{many} small files, and a tenth of them")
    ways = {"a tenth of them": lambda: harvested(bench, root, many // 10, 40), "100,000 small files": lambda: harvested(bench, root, many, 40)}
    samples.turns(1, ways)
    samples.turns(5, {"show": lambda: take([bench.tool, "--root", root, "show", "@last"]).seconds})


LINE = Line(FIGURES, measure)
