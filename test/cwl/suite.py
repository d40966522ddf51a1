#!/usr/bin/python3
"""suite.py run SUITE RESULTS [--jobs N] [--all] [--only ID...] -- FLAG...: tests of the CWL conformance suite by cwltool.

FLAG are flags of cwltool, that say by what it runs containers. Without --all the required tests and those of docker, resource and
network features are run. RESULTS becomes a JSON object with "passed", or what went wrong, for each test.

suite.py compare OURS OTHERS: prints both figures by tag and each test that the two results differ in.
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import signal
import sys
import tempfile

import cwltool.main
import cwltool.process
import yaml

WRITE = os.O_WRONLY | os.O_CREAT
TAGS = {"required", "docker", "resource", "networkaccess"}


def load(file):
    """The entries of the suite, with the paths of their files."""
    for entry in yaml.safe_load(file.read_text()):
        if "$import" in entry:
            yield from load(file.parent / entry["$import"])
            continue
        for key in ("tool", "job"):
            if entry.get(key):
                entry[key] = str(file.parent / entry[key])
        if "$import" in (entry.get("output") or {}):
            entry["output"] = yaml.safe_load((file.parent / entry["output"]["$import"]).read_text())
        entry["tags"] = set(entry.get("tags", [])) or {"required"}
        yield entry


def differs(want, got, at="output"):
    """What differs, as cwltest judges, or None."""
    if want == "Any":
        return None
    if isinstance(want, dict):
        if not isinstance(got, dict):
            return f"{at}: {got!r} is not {want!r}"
        if want.get("class") in ("File", "Directory"):
            return differs_file(want, got, at)
        if set(want) != {key for key in got if got[key] is not None or key in want}:
            return f"{at}: has {sorted(got)}, not {sorted(want)}"
        return next(filter(None, (differs(want[key], got[key], f"{at}.{key}") for key in want if key in got)), None)
    if isinstance(want, list):
        if not isinstance(got, list) or len(want) != len(got):
            return f"{at}: {got!r} is not {want!r}"
        return next(filter(None, (differs(w, g, f"{at}[{i}]") for i, (w, g) in enumerate(zip(want, got)))), None)
    return None if want == got and isinstance(want, bool) == isinstance(got, bool) else f"{at}: {got!r} is not {want!r}"


def differs_file(want, got, at):
    if got.get("class") != want["class"]:
        return f"{at}: {got.get('class')} is not {want['class']}"
    location = want.get("location", want.get("path", "Any")).rstrip("/")
    if location != "Any" and not got.get("location", "").rstrip("/").endswith(location):
        return f"{at}: {got.get('location')} does not end with {location}"
    for key in ("listing", "secondaryFiles"):
        rest = list(got.get(key, []))
        for one in want.get(key, []):
            same = next((other for other in rest if differs(one, other) is None), None)
            if same is None:
                return f"{at}.{key}: no {one}"
            rest.remove(same)
        if key in want and rest:
            return f"{at}.{key}: {len(rest)} more"
    if want["class"] == "File" and (wrong := differs_contents(want, got, at)):
        return wrong
    others = (key for key in want if key not in ("class", "location", "path", "listing", "secondaryFiles"))
    return next(filter(None, (differs(want[key], got.get(key), f"{at}.{key}") for key in others)), None)


def differs_contents(want, got, at):
    """Size and checksum are those of the file, not only what the runner says of it."""
    try:
        data = pathlib.Path(got["path"]).read_bytes()
    except (KeyError, OSError) as error:
        return f"{at}: {error!r}"
    if want.get("size", "Any") not in ("Any", len(data)):
        return f"{at}: {len(data)} bytes, not {want['size']}"
    checksum = "sha1$" + hashlib.sha1(data).hexdigest()
    if want.get("checksum", "Any") not in ("Any", checksum):
        return f"{at}: {checksum}, not {want['checksum']}"
    return None


def start(entry, flags, scratch):
    """Runs cwltool on an entry in a child of this process, which has imported it and read its schemas."""
    if pid := os.fork():
        return pid
    signal.alarm(300)  # ends what hangs
    for fd, name, mode in ((0, os.devnull, os.O_RDONLY), (1, f"{scratch}/stdout", WRITE), (2, f"{scratch}/stderr", WRITE)):
        os.dup2(os.open(name, mode, 0o600), fd)
    line = [*flags, "--outdir", f"{scratch}/out", "--tmpdir-prefix", f"{scratch}/tmp/", "--tmp-outdir-prefix", f"{scratch}/tmpout/"]
    line += [entry["tool"], *([entry["job"]] if entry.get("job") else [])]
    code = 1
    try:
        code = cwltool.main.main(line)
        sys.stdout.flush()
    finally:
        os._exit(code)


def verdict(entry, status, scratch):
    """Why a test is not passed, or "passed"."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"killed by signal {-code}"
    if entry.get("should_fail"):
        return "passed" if code not in (0, 33) else f"exit code {code} where it should fail"
    if code != 0:
        return f"exit code {code}: " + " ".join((scratch / "stderr").read_text(errors="replace").split())[-900:]
    try:
        got = json.loads((scratch / "stdout").read_text())
    except ValueError:
        return "no JSON"
    return differs(entry.get("output") or {}, got) or "passed"


def run_all(entries, flags, jobs):
    """Yields each entry with its verdict."""
    cwltool.process.get_schema("v1.2")
    running, waiting = {}, list(reversed(entries))
    while waiting or running:
        while waiting and len(running) < jobs:
            entry, scratch = waiting.pop(), tempfile.TemporaryDirectory(prefix="cwl-")
            running[start(entry, flags, scratch.name)] = entry, scratch
        pid, status = os.wait()
        entry, scratch = running.pop(pid)
        with scratch:
            yield entry, verdict(entry, status, pathlib.Path(scratch.name))


def command_run(args):
    entries = [e for e in load(args.suite / "conformance_tests.yaml") if args.all or args.only or e["tags"] & TAGS]
    if args.only:
        entries = [e for e in entries if e["id"] in args.only]
    results = {}
    for entry, why in run_all(entries, args.flags, args.jobs):
        results[entry["id"]] = {"verdict": why, "tags": sorted(entry["tags"])}
        args.results.write_text(json.dumps(results, indent=1))
        if why != "passed":
            print(f"{entry['id']}: {why}", flush=True)
    bad = sum(one["verdict"] != "passed" for one in results.values())
    print(f"{len(results) - bad} of {len(results)} passed")
    return 1 if args.only and (bad or len(results) < len(args.only)) else 0


def command_compare(args):
    ours, others = (json.loads(file.read_text()) for file in (args.ours, args.others))
    counts, less = collections.Counter(), 0
    for name, one in ours.items():
        other = others[name]["verdict"]
        for tag in [*one["tags"], "all"]:
            counts[tag, 0] += 1
            counts[tag, 1] += one["verdict"] == "passed"
            counts[tag, 2] += other == "passed"
        if (one["verdict"] == "passed") != (other == "passed"):
            less += other == "passed"
            print(f"{name}\n  scidex-oci: {one['verdict']}\n  podman: {other}\n")
    print("| tag | tests | scidex-oci | podman |\n|---|---|---|---|")
    for tag in sorted({tag for tag, _ in counts}, key=lambda tag: -counts[tag, 0]):
        print(f"| {tag} | {counts[tag, 0]} | {counts[tag, 1]} | {counts[tag, 2]} |")
    return 1 if less else 0


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run")
    one.add_argument("suite", type=pathlib.Path)
    one.add_argument("results", type=pathlib.Path)
    one.add_argument("--jobs", type=int, default=os.cpu_count())
    one.add_argument("--all", action="store_true")
    one.add_argument("--only", nargs="+")
    one.set_defaults(do=command_run)
    two = commands.add_parser("compare")
    two.add_argument("ours", type=pathlib.Path)
    two.add_argument("others", type=pathlib.Path)
    two.set_defaults(do=command_compare)
    argv = sys.argv[1:]
    end = argv.index("--") if "--" in argv else len(argv)
    args = parser.parse_args(argv[:end])
    args.flags = argv[end + 1 :]
    return args.do(args)


if __name__ == "__main__":
    sys.exit(main())
