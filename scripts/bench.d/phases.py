"""phases.py TRACE...: the medians of the phases of many runs, as a table: when each begins, and how long it takes."""

import json
import statistics
import sys


def phases(events):
    """Each phase of a trace by its row and name: when it begins after the first, and how long it takes, in ms."""
    rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    return {(rows[e["pid"], e["tid"]], e["name"]): (e["ts"] / 1000, e["dur"] / 1000) for e in events if e["ph"] == "X"}


def table(traces, least=0.1):
    """Those that take at least so many ms, in the order in which they begin."""
    names = list(dict.fromkeys(name for t in traces for name in t))
    medians = []
    for name in names:
        seen = [t[name] for t in traces if name in t]
        begins, takes = (statistics.median(column) for column in zip(*seen))
        if takes >= least:
            medians.append((begins, takes, *name))
    lines = ["| begins at | takes | row | phase |", "|---|---|---|---|"]
    lines += [f"| {begins:.1f} ms | {takes:.1f} ms | {row} | {name} |" for begins, takes, row, name in sorted(medians)]
    return "\n".join(lines)


def load(path):
    with open(path) as trace:
        return phases(json.load(trace)["traceEvents"])


if __name__ == "__main__":
    print(table([load(path) for path in sys.argv[1:]]))
