"""verify.py PROGRAM TOLD: what must hold after a power cut, as the user whose runs they were.

TOLD names the runs, one a line, that were told to be complete before. Prints "verified ..." or "PROBLEM ...", each
with a full stop at its end.
"""
import glob
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

program, told = sys.argv[1], open(sys.argv[2]).read().split()
root, tmp = os.path.expanduser("~/.local/share/scidex-oci"), os.environ["SCIDEX_OCI_TMP"]
problems = []


def want(true, what):
    if not true:
        problems.append(what)


def call(*args):
    done = subprocess.run([program, *args], capture_output=True, text=True)
    want(done.returncode == 0, f"{args} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def holds(run, directory):
    """The directory has the files of the run."""
    for i in range(20):
        path = os.path.join(directory, f"f{i}")
        found = open(path).read() if os.path.exists(path) else None
        want(found == f"{run} {i}\n", f"{path} of {run} is {found!r}")


def integrity():
    if os.path.exists(f"{root}/catalog.db"):
        catalog = sqlite3.connect(f"{root}/catalog.db")
        # To an older SQLite json_valid(NULL) is false: a run without a report would seem to break its CHECK.
        catalog.execute("PRAGMA ignore_check_constraints = ON")
        found = catalog.execute("PRAGMA integrity_check").fetchall() + catalog.execute("PRAGMA foreign_key_check").fetchall()
        want(found == [("ok",)], f"the catalog is damaged: {found}")
        catalog.close()


integrity()
before = len(glob.glob(f"{tmp}/scidex-analysis-*"))
collected = json.loads(call("gc", "--json") or "{}")
want(not collected.get("errors"), f"gc: {collected}")
again = json.loads(call("gc", "--json") or "{}")
want(not again.get("lost") and not again.get("removed"), f"a second gc found {again}")

runs = [json.loads(line) for line in call("ls", "--json", "--limit", "0").splitlines()]
keys = [(run["id"], run["attempt"]) for run in runs]
want(len(keys) == len(set(keys)), f"doubled: {keys}")
states = {run["id"]: run["state"] for run in runs}
for run in told:
    want(states.get(run) == "complete", f"{run} was told to be complete and is {states.get(run)}")
for run, state in states.items():
    want(state in ("complete", "lost", "error"), f"{run} is {state}")
complete = [run for run, state in states.items() if state == "complete"]
recent = complete[:10] + complete[-10:]
for run in dict.fromkeys(recent):
    with tempfile.TemporaryDirectory() as directory:
        call("outputs", "export", run, directory)
        holds(run, directory)
call("catalog", "check", "--digests")

kept = []
for directory in glob.glob(f"{tmp}/scidex-analysis-*"):
    run = os.path.basename(directory).removeprefix("scidex-analysis-")
    message = json.loads(call("show", "--json", run) or "{}").get("message", "")
    want(directory in message or directory in collected.get("foreign", []), f"{directory} is left, {message}")
    kept.append(directory)
left = glob.glob(f"{root}/runs/*") + glob.glob(f"{root}/blobs/ingest/*")
left += glob.glob("/sys/fs/cgroup/**/scidex-oci-*", recursive=True)
want(not left, f"left behind: {left}")

for problem in problems:
    print(f"PROBLEM {problem}.".replace("\n", " "), flush=True)
print(f"verified {len(told)} told, {len(complete)} complete, {len(states) - len(complete)} lost, "
      f"{before} directories before gc, {len(kept)} after.", flush=True)
sys.exit(len(problems) > 0)
