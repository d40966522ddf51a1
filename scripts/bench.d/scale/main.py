"""scripts/bench-scale calls it: counts what PostgreSQL does for runs and workers, in an empty catalog and in a large one."""

import argparse
import datetime
import json
import os
import platform
import subprocess
import time
from pathlib import Path

import bucket
import fill
import listeners
from server import SETTLE, Server, pss, say
from stage import IDLE, RUNS, Stage
from tables import tables
from tool import BAD, Tool, Worker, limits

LISTENERS = (0, 100, 500)
WORKERS = 8
A_DAY = 100_000  # jobs that River keeps


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench-scale")
    parser.add_argument("--tool", help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=int, metavar="N", default=1_000_000)
    parser.add_argument("--s3", action="store_true", help="count what runs ask of a bucket, and nothing of PostgreSQL")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    if given.s3:
        return asked(given)
    server = Server(given.scratch, max_connections=LISTENERS[-1] + 100)
    told = {"where": where(given.tool, server), "runs": given.runs}
    try:
        for name, figures in measure(server, Tool(given.tool, given.scratch, server), given.runs):
            told[name] = figures
            if given.json:
                given.json.write_text(json.dumps(told, indent=1) + "\n")
    finally:
        server.close()
    print(tables(told))


def asked(given):
    """Requests of runs to a bucket."""
    told = {}
    for name, counts in bucket.measure(given.tool, given.scratch, limits(given.tool, given.scratch)):
        say(name)
        told[name] = counts
    if given.json:
        given.json.write_text(json.dumps({"s3": told}, indent=1) + "\n")
    print(bucket.table(told))


def measure(server, tool, runs):
    """Yield the name and figures of each part."""
    tool.take("catalog", "migrate")
    nothing, _ = server.during(lambda: None)
    if any(nothing.totals[name] for name in ("transactions", "connections")):
        raise SystemExit(f"bench-scale: somebody else uses the server: {nothing.totals}")
    good, bad = templates(tool)
    digest = server.sql(f"SELECT sha256 FROM scidex_oci.analysis_output WHERE id = '{good}' LIMIT 1")
    yield "empty", Stage(server, tool, "empty").measure(good, digest)
    yield "idle_workers", several_idle(server, tool, nothing)
    say(f"listeners: {LISTENERS}")
    yield "listeners", listeners.measure(server, LISTENERS)
    begin = time.monotonic()
    fill.fill(server, runs, good, bad, say)
    fill.fill_jobs(server, runs, min(A_DAY, runs), good)
    say(f"filled in {time.monotonic() - begin:.0f} s")
    yield "vacuum_seconds", vacuum(server)
    yield "sizes", json.loads(server.sql(fill.SIZES))
    n = runs // 2
    yield "full", Stage(server, tool, "full").measure(fill.name(n), fill.digest(n))
    yield "cleaning", clean(server)


def templates(tool):
    """A run that is complete and one that has failed."""
    ids = [tool.submit(), tool.submit(BAD)]
    worker = Worker(tool, "worker")
    worker.ended(2)
    worker.close()
    return ids


def several_idle(server, tool, nothing):
    """Several workers of which one leads."""
    say(f"{WORKERS} idle workers")
    workers = [Worker(tool, f"idle-{n}", jobs=1) for n in range(WORKERS)]
    for _ in range(600):
        if len(server.backends()) >= WORKERS:
            break
        time.sleep(0.1)
    time.sleep(20)  # they begin at different times
    done, _ = server.during(lambda: time.sleep(IDLE))
    backends = server.backends()
    minute = done.less(nothing).by((IDLE + SETTLE) / 60)
    told = {"workers": WORKERS, "minute": minute.told(), "connections": len(backends), "pss": pss(backends)}
    told["submission_and_run"] = woken(server, tool, minute).told()
    for worker in workers:
        worker.close()
    return told


def woken(server, tool, minute):
    """What each of some submissions costs that all idle workers are told of, and that one of them runs."""
    ended = "SELECT count(*) FROM scidex_oci.river_job WHERE state = 'completed'"
    before = int(server.sql(ended))

    def submit():
        for number in range(RUNS):
            tool.submit()
            while int(server.sql(ended)) <= before + number:
                time.sleep(0.1)

    begin = time.monotonic()
    done, _ = server.during(submit)
    return done.less(minute, (time.monotonic() - begin - SETTLE) / 60).by(RUNS)


def vacuum(server):
    """Seconds that VACUUM and ANALYZE of each table take once it is filled."""
    told = {}
    for table in ("analysis_run", "run_label", "analysis_output", "river_job"):
        for statement in ("ANALYZE", "VACUUM"):
            begin = time.monotonic()
            server.sql(f"{statement} scidex_oci.{table}")
            told[f"{statement} {table}"] = time.monotonic() - begin
    return told


def clean(server):
    """What River's cleaner does once a day is over: it deletes jobs, ten thousand at a time, and vacuum comes after it."""
    before = server.sql("SELECT count(*), pg_total_relation_size('scidex_oci.river_job') FROM scidex_oci.river_job")
    begin = time.monotonic()
    for _ in range(A_DAY // 10_000):
        server.sql("DELETE FROM scidex_oci.river_job WHERE id IN (SELECT id FROM scidex_oci.river_job WHERE state = 'completed' ORDER BY id LIMIT 10000)")
    deleted = time.monotonic()
    server.sql("VACUUM scidex_oci.river_job")
    after = server.sql("SELECT count(*), pg_total_relation_size('scidex_oci.river_job') FROM scidex_oci.river_job")
    return {"before": before, "delete_seconds": deleted - begin, "vacuum_seconds": time.monotonic() - deleted, "after": after}


def where(tool, server):
    version = subprocess.run([tool, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[0]
    day = datetime.datetime.now(datetime.timezone.utc).date()
    postgres = server.sql("SHOW server_version").split()[0]
    return (f"{day}, Linux {platform.release()}, {os.cpu_count()} cores, uid {os.getuid()}, {version}, PostgreSQL {postgres} with fsync off, "
            f"load average before it {os.getloadavg()[1]:.1f}")


main()
