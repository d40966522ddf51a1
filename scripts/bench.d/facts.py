#!/usr/bin/env python3
"""facts.py COMMAND N FILES: prints what to know of a measurement besides its figures, as JSON. The versions of all that
takes part come on standard input, a line each."""

import datetime
import json
import os
import sys
from pathlib import Path


def processor():
    """Return its name, and whether it has instructions for SHA, which the harvest depends on."""
    text = Path("/proc/cpuinfo").read_text()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return (names[0] if names else os.uname().machine) + ("" if "sha_ni" in text.split() else " without SHA instructions")


def file_system(path):
    """Return the type of the file system that the path is on."""
    mounts = (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
    under = [(m[1], m[2]) for m in mounts if (path + "/").startswith(m[1].rstrip("/") + "/")]
    return max(reversed(under), key=lambda m: len(m[0]))[1]


command, n, files = sys.argv[1:]
place = os.path.realpath(os.environ.get("SCIDEX_OCI_TMP", "/tmp"))
facts = {
    "day": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
    # The load of the last five minutes tells whether anything else was going on.
    "machine": f"Linux {os.uname().release}, {os.cpu_count()} cores ({processor()}), {file_system(place)}, load {os.getloadavg()[1]:.1f}",
    "versions": [line.strip() for line in sys.stdin],
    "command": command.strip(),
    "sizes": {"n": int(n), "files": int(files)},
}
json.dump(facts, sys.stdout)
