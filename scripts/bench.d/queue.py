"""Measures the queue beside run and batch, for scripts/bench-queue: DIRECTORY of the program [--json]."""

import json
import os
import statistics
import subprocess
import sys
import time

RUNS, TURNS, COUNT = (int(os.environ[name]) for name in ("RUNS", "TURNS", "COUNT"))
WORKERS = 3
PLAIN = ["--data", "none", "--docs", "none", "--memory", "64MiB"]


class Bench:
    """The program with a root of its own, on one database."""

    def __init__(self, scratch, database):
        self.tool = os.path.join(scratch, "scidex-oci")
        self.scratch, self.database = scratch, database
        self.limits = []
        if self.call("caller", "run", "-q", *PLAIN, "--", "true", check=False).returncode:
            self.limits = ["--limits", "best-effort"]

    def words(self, root, *words):
        return [self.tool, "--root", os.path.join(self.scratch, root), "--db", self.database, *words]

    def call(self, root, *words, check=True):
        done = subprocess.run(self.words(root, *words), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if check and done.returncode:
            sys.exit(f"{words}: {done.stderr}")
        return done

    def worker(self, number):
        log = open(os.path.join(self.scratch, f"log-{number}"), "w+")
        words = ["worker", "--jobs", "1", "--total-memory", "1GiB", "--total-cpus", "1", "--log-level", "info", *self.limits]
        process = subprocess.Popen(self.words(f"worker-{number}", *words), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while "client started" not in open(log.name).read():
            if process.poll() is not None:
                sys.exit("a worker ended:\n" + open(log.name).read())
            time.sleep(0.02)
        return process

    def first(self, verb, name):
        """Milliseconds from the call to the first thing that the analysis does."""
        clock = ["--", "/bin/date", "+%s%N"]
        began = time.time_ns()
        self.call("caller", verb, *(["-q"] if verb == "run" else []), "--id", name, *PLAIN, *self.limits, *clock)
        self.call("caller", "show", "--wait", name)
        root = "caller" if verb == "run" else "worker-0"
        return (int(self.call(root, "logs", name).stdout) - began) / 1e6

    def many(self, verb, name):
        """Seconds that COUNT analyses of a second take."""
        path = os.path.join(self.scratch, name)
        with open(path, "w") as lines:
            for i in range(COUNT):
                line = {"id": f"{name}-{i}", "command": ["sleep", "1"], "data": "none", "docs": "none", "memory": "64MiB"}
                if self.limits:
                    line["limits"] = "best-effort"
                print(json.dumps(line), file=lines)
        began = time.monotonic()
        if verb == "batch":
            self.call("caller", "batch", "--json", "--jobs", str(WORKERS), path)
        else:
            self.call("caller", "submit", "--batch", path)
            while '"id"' in self.call("caller", "queue", "ls", "--json").stdout:
                time.sleep(0.02)
        return time.monotonic() - began


def measure(bench):
    bench.call("caller", "catalog", "migrate")
    workers = [bench.worker(0)]
    try:
        bench.first("submit", "warm-0")
        bench.first("run", "warm-1")
        firsts = {"run": [], "submit": []}
        for i in range(RUNS):
            for verb, times in firsts.items():
                times.append(bench.first(verb, f"{verb}-{i}"))
        workers += [bench.worker(i) for i in range(1, WORKERS)]
        wholes = {"batch": [], "workers": []}
        for i in range(TURNS):
            for verb, times in wholes.items():
                times.append(bench.many(verb, f"{verb}-{i}"))
    finally:
        for worker in workers:
            worker.terminate()
            worker.wait()
    median = {name: statistics.median(times) for name, times in (firsts | wholes).items()}
    return {
        "first_instruction_ms": {"run": median["run"], "submit": median["submit"], "added": median["submit"] - median["run"]},
        "throughput": {
            "analyses": COUNT, "batch_s": median["batch"], "workers_s": median["workers"],
            "ratio": median["batch"] / median["workers"],
        },
        "runs": RUNS, "turns": TURNS, "cores": os.cpu_count(), "load": os.getloadavg()[0], "kernel": os.uname().release,
    }


def main():
    server = subprocess.Popen(["scripts/postgres"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        at = json.loads(server.stdout.readline())
        result = measure(Bench(sys.argv[1], f"postgres://{at['user']}@127.0.0.1:{at['port']}/{at['database']}"))
    finally:
        server.stdin.close()
        server.wait()
    if sys.argv[2:]:
        print(json.dumps(result))
        return
    first, whole = result["first_instruction_ms"], result["throughput"]
    print(f"first instruction: run {first['run']:.1f} ms, submit {first['submit']:.1f} ms, {first['added']:+.1f} ms (at most 15 asked)")
    print(f"{whole['analyses']} of a second by {WORKERS}: batch {whole['batch_s']:.2f} s, workers {whole['workers_s']:.2f} s, "
          f"ratio {whole['ratio']:.3f} (at least 0.9 asked)")
    print(f"medians of {RUNS} and {TURNS} in turns; Linux {result['kernel']}, {result['cores']} cores, load {result['load']:.1f}")


main()
