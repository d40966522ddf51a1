"""release.py TRACE: the seconds from the opening of the gate to the analysis' first instruction, by a trace of a run
(docs/trace.md)."""

import json
import sys


def release(events):
    """From the supervisor's word to open the gate to the end of the execve of the analysis."""
    phases = {e["name"]: e for e in events if e["ph"] == "X"}
    gate, execve = phases["open the gate"], phases["execute the analysis"]
    return (execve["ts"] + execve["dur"] - gate["ts"]) / 1e6


if __name__ == "__main__":
    with open(sys.argv[1]) as trace:
        print(release(json.load(trace)["traceEvents"]))
