#!/usr/bin/env python3
"""scripts/dependencies.py: writes the figures and the last paragraph of docs/dependencies.md and keeps its reasons.

Bytes are those of a module's functions and data in the linked program, start is what its packages take to initialise,
the median of some starts. Both are of this machine. A module that is new gets a row without a reason, which
test/docs refuses until somebody writes one.
"""

import json
import os
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

FILE = Path("docs/dependencies.md")
PROGRAMS = {"scidex-oci": "./cmd/scidex-oci", "scidex-oci-net": "./cmd/scidex-oci-net", "scidex-oci-supervisor": "./cmd/scidex-oci-supervisor"}
TAGS = "runc_nocriu,urfave_cli_no_docs,sqlite_omit_load_extension,netgo,osusergo"
OWN = "github.com/scidex-ai/scidex-oci"
STARTS = 21


def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more)


def packages(program):
    """Yield each package of a program as go list describes it."""
    text = run("go", "list", "-deps", "-json=ImportPath,Imports,Module", "-tags", TAGS, program).stdout
    decoder, at = json.JSONDecoder(), 0
    while at < len(text.rstrip()):
        package, at = decoder.raw_decode(text, at)
        yield package
        while at < len(text) and text[at].isspace():
            at += 1


def modules(listed):
    """Return the module of each package that is neither Go's nor ours."""
    paths = {p["ImportPath"]: p.get("Module", {}).get("Path") for p in listed}
    return {path: module for path, module in paths.items() if module not in (None, OWN)}


def sizes(program, owners, scratch):
    """Return bytes by module. A symbol belongs to the package that its name begins with."""
    binary = str(Path(scratch) / "program")
    run("go", "build", "-trimpath", "-tags", TAGS, "-ldflags", "-extldflags -static", "-o", binary, program)
    total = {}
    for line in run("go", "tool", "nm", "-size", binary).stdout.splitlines():
        fields = line.split(maxsplit=3)
        if len(fields) < 4 or fields[2] in "UBb":  # undefined, or zeroes that are not in the file
            continue
        module = owners.get(package_of(fields[3]))
        if module:
            total[module] = total.get(module, 0) + int(fields[1])
    return total


def package_of(symbol):
    """Return the package of a symbol such as go:itab.*a.b/c.T,error or a.b/c.(*T).M; dots of its last part are escaped."""
    path = re.sub(r"^(go:itab\.|type:\.(eq|hash)\.)?\**", "", symbol)
    head, slash, last = path.rpartition("/") if "[" not in path else path[: path.index("[")].rpartition("/")
    return (head + slash + last.split(".")[0]).replace("%2e", ".")


def starts(program, owners):
    """Return microseconds of initialisation by module."""
    seen = {}
    env = dict(os.environ, GODEBUG="inittrace=1")
    for _ in range(STARTS):
        once = {}
        for path, ms in re.findall(r"^init (\S+) @\S+ ms, (\S+) ms clock", run(program, "--version", env=env).stderr, re.M):
            if path in owners:
                once[owners[path]] = once.get(owners[path], 0) + float(ms) * 1000
        for module, took in once.items():
            seen.setdefault(module, []).append(took)
    return {module: statistics.median(took) for module, took in seen.items()}


def needed_by(listed, owners):
    """Return, for each module, the others whose packages import it, and ours as an empty name."""
    needs = {}
    for package in listed:
        importer = owners.get(package["ImportPath"])
        if importer is None and not package["ImportPath"].startswith(OWN):
            continue
        for imported in package.get("Imports", []):
            if owners.get(imported) not in (None, importer):
                needs.setdefault(owners[imported], set()).add(importer or "")
    return needs


def reasons(text):
    """Return the last cell of each row by module."""
    rows = (line.split("|") for line in text.splitlines() if line.startswith("| `"))
    return {cells[1].strip(" `"): cells[-2].strip() for cells in rows}


def cell(number, digits=0):
    return f"{number:.{digits}f}" if number else ""


def main():
    os.chdir(Path(__file__).parent.parent)
    text = FILE.read_text()
    known, rows = reasons(text), {}
    for name, program in PROGRAMS.items():
        listed = list(packages(program))
        owners = modules(listed)
        with tempfile.TemporaryDirectory() as scratch:
            size = sizes(program, owners, scratch)
        start = starts(f"bin/{name}", owners) if name != "scidex-oci-supervisor" else {}
        for module in set(owners.values()):
            row = rows.setdefault(module, {"needs": set()})
            row[name] = (size.get(module, 0) / 1000, start.get(module, 0))
            row["needs"] |= needed_by(listed, owners).get(module, set())
    lines, others = [], []
    for module, row in sorted(rows.items()):
        if "" not in row["needs"]:
            others.append(f"`{module}`")
            continue
        kilobytes = [cell(row[n][0]) if n in row else "" for n in PROGRAMS]
        micros = [cell(row[n][1]) if n in row else "" for n in list(PROGRAMS)[:2]]
        lines.append("| " + " | ".join([f"`{module}`", *kilobytes, *micros, known.get(module, "")]) + " |")
    head, rule, _ = text.partition("|---|---|---|---|---|---|---|\n")
    FILE.write_text(f"{head}{rule}" + "\n".join(lines) + f"\n\nThrough these come {', '.join(others)}.\n")


main()
