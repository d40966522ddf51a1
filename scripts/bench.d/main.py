"""scripts/bench calls this: measures the lines that were asked for, and prints their tables."""

import argparse
import datetime
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import engine
import growth
import harvest
import memory
import start
import table
import warm
from measure import Failed, Samples, markdown, peer_name, report, say, take

LINES = {"start": start.START, "run": start.RUN, "batch": start.BATCH, "warm": warm.WARM, "engine": engine.LINE, "harvest": harvest.LINE, "memory": memory.LINE, "table": table.LINE, "growth": growth.LINE}
VERSIONS = (("runc", "--version"), ("crun", "--version"), ("podman", "--version"), ("bwrap", "--version"), ("restic", "version"))


class Bench:
    """What all lines need: the programs, a directory, and how much to measure."""

    def __init__(self, given, scratch):
        self.scratch, self.small, self.rounds_given = scratch, given.small, given.rounds
        self.programs = {"after": self.copy("after", Path("bin/scidex-oci"))}
        if given.before:
            self.programs["before"] = self.copy("before", given.before)
        self.tool = self.programs["after"]
        self.request = ["--data", "none", "--docs", "none"]
        if not self.starts([self.tool, "--root", self.root("probe"), "run", *self.request, "--", "true"]):
            say("this user has no control group: limits are held as far as possible without one")
            self.request += ["--limits", "best-effort"]

    def copy(self, name, program):
        """Copy a program, so that nothing else maps its file, to where the ids of the supervisor can read it."""
        (self.scratch / name).mkdir()
        for file in (program, program.with_name("scidex-oci-supervisor"), program.with_name("scidex-oci-net")):
            if file.exists():  # a program of --before may be older than scidex-oci-net
                shutil.copy(file, self.scratch / name)
        return str(self.scratch / name / "scidex-oci")

    def peer(self, name):
        """A program of our own that scripts/bench has built, copied as the others are."""
        copied = self.scratch / name
        if not copied.exists():
            shutil.copy(f"bin/bench-{name}", copied)
        return str(copied)

    def root(self, name):
        return str(self.scratch / f"root-{name}")

    def starts(self, command):
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0

    def rounds(self, usual):
        return self.rounds_given or (1 if self.small else usual)

    def size(self, usual):
        return max(1, usual // 100) if self.small else usual


def environment(scratch):
    """What the programs start with: a home of their own, and nothing of the caller's settings."""
    (scratch / "run").mkdir(mode=0o700)
    kept = {name: os.environ[name] for name in ("SCIDEX_OCI_TMP",) if name in os.environ}
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    os.environ.clear()
    os.environ.update(kept, HOME=str(scratch), TMPDIR=str(scratch), XDG_RUNTIME_DIR=str(scratch / "run"), LANG="C.UTF-8", PATH=path)


def where(bench):
    """What the figures depend on: the day, the machine, its load, and the versions."""
    versions = [" ".join(take([bench.tool, "--version"]).output.split("\n")[:2])]
    for command in VERSIONS:
        if shutil.which(command[0]):
            versions.append(take(command).output.splitlines()[0])
    day = datetime.datetime.now(datetime.UTC).date()
    machine = f"Linux {platform.release()}, {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}, uid {os.getuid()}"
    small = "SMALL SIZES: only shows that it works. " if bench.small else ""
    return f"{small}{day}, {machine}; {'; '.join(versions)}."


def listing():
    rows = [(name, figure.what, peer_name(figure)) for name, line in LINES.items() for figure in line.figures]
    return markdown([("name", "what", "peer"), *rows])


def options():
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("--list", action="store_true", help="print the lines")
    parser.add_argument("--small", action="store_true", help="one round of a hundredth of the sizes: only shows that all works")
    parser.add_argument("--rounds", type=int, metavar="N", help="how often each way is measured")
    parser.add_argument("--before", type=Path, metavar="PROGRAM", help="start, run, batch, warm and memory: another build of scidex-oci, whose supervisor is beside it, as an absolute path")
    parser.add_argument("line", nargs="*", choices=[*LINES, []], help="the default is all of them")
    return parser.parse_args()


def measure(bench, name):
    """Measure one line and print its table; whether that was possible."""
    say(name)
    samples = Samples()
    try:
        LINES[name].measure(bench, samples)
    except Failed as why:
        say(f"{name}: {why}")
        return False
    finally:
        if samples.values:
            print(f"\n{report(LINES[name].figures, samples)}", flush=True)
    return True


def main():
    given = options()
    if given.list:
        print(listing())
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="scidex-bench.", dir=os.environ.get("SCIDEX_OCI_TMP", "/tmp")) as made:
        scratch = Path(made)
        scratch.chmod(0o711)  # containers enter it with other ids
        environment(scratch)
        bench = Bench(given, scratch)
        about = where(bench)
        failed = [name for name in given.line or LINES if not measure(bench, name)]
        print(f"\n{about} Command: `scripts/bench {' '.join(sys.argv[1:])}`.")
    if failed:
        raise SystemExit(f"bench: failed: {', '.join(failed)}")


main()
