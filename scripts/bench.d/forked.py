"""The line `forked`: lines of a batch that run one script of Python, forked from one interpreter (docs/warm.md), beside the same
script by python3 without any container. Every figure but the last two counts all of the batch, with the interpreter's own start.
"""

import json
import os
import subprocess
import time
from pathlib import Path

from measure import MIB, Failed, Figure, Goal, Line, take
from start import fresh, ours

PYTHON = "/usr/bin/python3"
RATE, PLOT, CPU, FIRST, MEMORY = "forked", "forked: plot", "CPU: forked", "forked: first line", "forked: each further"
XARGS, POOL, COLD = ": xargs -P2 python3", ": forkserver of 2", ": --warm none --preload none"
FIGURES = (
    Figure("pandas and scipy.stats, two columns, a CSV, 2 jobs", RATE, RATE + XARGS, "/s", Goal("at least", 12)),
    Figure("the same with matplotlib and a PNG", PLOT, PLOT + XARGS, "/s", Goal("at least", 4)),
    Figure("pandas and scipy.stats, two columns, a CSV, 2 jobs", RATE, RATE + POOL, "/s", Goal("at least", 0.5)),
    Figure("processor time of each line, all processes", CPU, goal=Goal("at most", 0.085)),
    Figure("from the end of one script to the first line of the next", FIRST, goal=Goal("at most", 0.06)),
    Figure("private memory of each further sleeping analysis", MEMORY, MEMORY + COLD, "MiB", Goal("at most", 0.2)),
)

TEST = """import pandas, scipy.stats
import sys
frame = pandas.DataFrame({"a": range(1000), "b": [i * i % 7 for i in range(1000)]})
found = scipy.stats.ttest_ind(frame["a"], frame["b"])
frame.describe().to_csv("out.csv")
print(found.pvalue)
"""
PLOTS = """import pandas, scipy.stats, matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
frame = pandas.DataFrame({"a": range(1000), "b": [i * i % 7 for i in range(1000)]})
frame.plot()
plt.savefig("plot.png")
frame.describe().to_csv("out.csv")
"""
GAPS = """import pandas, scipy.stats
import os, time
print(time.monotonic())
time.sleep(0.3)
print(time.monotonic(), flush=True)
"""
SLEEPS = """import pandas, scipy.stats
import sys, time
time.sleep(float(sys.argv[1]))
"""
# What a user would write to import once, without containers: each call has a directory of its own.
SERVER = """import multiprocessing, os, runpy, sys, tempfile
def work(number):
    with tempfile.TemporaryDirectory() as own:
        os.chdir(own)
        runpy.run_path(sys.argv[1])
if __name__ == "__main__":
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pandas", "scipy.stats"])
    with context.Pool(2, maxtasksperchild=1) as pool:
        pool.map(work, range(int(sys.argv[2])), chunksize=1)
"""


class Cases:
    """Lines of a batch that run a script, and the same number without one."""

    def __init__(self, bench, name, text, count):
        self.bench, self.count, self.script = bench, count, bench.scratch / name
        self.script.write_text(text)
        self.lines = bench.scratch / (name + ".jsonl")
        self.lines.write_text((json.dumps({"script": name}) + "\n") * count)

    def batch(self, tool, *flags):
        taken = take([*fresh(tool), "batch", "--json", "--quiet", "--jobs", "2", *self.bench.request, *flags, str(self.lines)])
        ends = [json.loads(line) for line in taken.output.splitlines() if line.startswith("{")]
        if [end["state"] for end in ends] != ["complete"] * self.count:
            raise Failed(f"of {self.count} lines {sum(end['state'] == 'complete' for end in ends)} are complete")
        return taken

    def xargs(self):
        """The same by python3, in a directory each, with one thread as in a run."""
        each = 'd=$(mktemp -d) && cd "$d" && {} {} >said'.format(PYTHON, self.script)
        command = f"seq {self.count} | OPENBLAS_NUM_THREADS=1 xargs -P2 -I{{}} sh -c '{each}'"
        return take(["sh", "-c", command])

    def pool(self):
        server = self.bench.scratch / "server.py"
        server.write_text(SERVER)
        return take(["env", "OPENBLAS_NUM_THREADS=1", PYTHON, str(server), str(self.script), str(self.count)])

    def rate(self, taken):
        return self.count / taken.seconds


def forked(bench, samples):
    take([PYTHON, "-c", "import pandas, scipy.stats, matplotlib"])  # Debian's packages, see scripts/setup
    tool = ours(bench, RATE)[RATE]
    tests, plots = Cases(bench, "tests.py", TEST, bench.size(200)), Cases(bench, "plots.py", PLOTS, bench.size(200))

    def counted():
        taken = tests.batch(tool)
        samples.values[CPU].append(taken.cpu / tests.count)
        return tests.rate(taken)

    samples.turns(bench.rounds(3), {
        RATE: counted, RATE + XARGS: lambda: tests.rate(tests.xargs()), RATE + POOL: lambda: tests.rate(tests.pool()),
        PLOT: lambda: plots.rate(plots.batch(tool)), PLOT + XARGS: lambda: plots.rate(plots.xargs()),
    })
    gaps = Cases(bench, "gaps.py", GAPS, 40)
    samples.values[FIRST] = gap(gaps, tool)
    samples.values[MEMORY] = [further(bench, tool)]
    samples.values[MEMORY + COLD] = [further(bench, tool, "--warm", "none", "--preload", "none")]


def gap(cases, tool):
    """The seconds between the scripts of a batch that were forked, one after the other."""
    tool = fresh(tool)
    taken = take([*tool, "batch", "--json", "--quiet", "--jobs", "1", *cases.bench.request, str(cases.lines)])
    ends = [json.loads(line) for line in taken.output.splitlines() if line.startswith("{")]
    said = [subprocess.run([*tool, "logs", end["id"]], capture_output=True, text=True, check=True).stdout.split() for end in ends]
    kinds = [(end.get("start") or {}).get("kind") for end in ends]
    found = [float(said[i][0]) - float(said[i - 1][1]) for i in range(1, len(ends)) if kinds[i - 1:i + 1] == ["forked"] * 2]
    if not found:
        raise Failed(f"the starts were {kinds}")
    return found


def further(bench, tool, *flags):
    """What each further of 20 sleeping analyses takes, in MiB: the unshared memory of their interpreters."""
    few, many = (sleeping(bench, tool, count, *flags) for count in (4, 24))
    return (many - few) / 20


def sleeping(bench, tool, count, *flags):
    """The private memory of so many analyses that sleep, in MiB, of which all were forked unless flags say otherwise."""
    cases = Cases(bench, "sleeps.py", SLEEPS, 1)
    command = [*fresh(tool), "batch", "--json", "--quiet", "--jobs", str(count), *bench.request, *flags, "-"]
    batch = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        for _ in range(50):
            kind = begin(batch, cases.script, 0) and json.loads(batch.stdout.readline()).get("start", {}).get("kind")
            if flags or kind == "forked":
                break
        for _ in range(count):
            begin(batch, cases.script, 1000)
        for _ in range(600):
            if len(interpreters(batch.pid, cases.script.name)) >= count:
                break
            time.sleep(0.1)
        time.sleep(3)  # the imports of those that have any
        return sum(private(pid) for pid in interpreters(batch.pid, cases.script.name)) / MIB
    finally:
        batch.terminate()
        batch.communicate()


def begin(batch, script, seconds):
    """Have a batch run one more line."""
    batch.stdin.write(json.dumps({"script": str(script), "args": [str(seconds)]}) + "\n")
    batch.stdin.flush()
    return True


def interpreters(launcher, script):
    """Those that execute a script below a process."""
    found = []
    stack = [launcher]
    while stack:
        pid = stack.pop()
        try:
            stack += [int(child) for thread in Path(f"/proc/{pid}/task").iterdir() for child in (thread / "children").read_text().split()]
            if script in Path(f"/proc/{pid}/cmdline").read_text() and os.readlink(f"/proc/{pid}/exe").rpartition("/")[2].startswith("python"):
                found.append(pid)
        except OSError:
            pass
    return found


def private(pid):
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    kib = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.endswith("kB")}
    return 1024 * (kib["Private_Dirty"] + kib["Private_Clean"])


FORKED = Line(FIGURES, forked)
