"""A throw-away PostgreSQL of scripts/postgres, looked at as its superuser."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import counts

SCRIPTS = Path(__file__).parents[2]
TICKS = os.sysconf("SC_CLK_TCK")

# Vacuum is called by name, so that no counter has what a background worker did.
SETTINGS = ("shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track_planning=on", "autovacuum=off")

# How long a backend may keep what it has counted for itself (PGSTAT_IDLE_INTERVAL, 10 s).
SETTLE = 11


def say(text):
    print(f"bench-scale: {time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


class Server:
    def __init__(self, scratch, max_connections):
        words = [str(SCRIPTS / "postgres")]
        for setting in (*SETTINGS, f"max_connections={max_connections}"):
            words += ["-c", setting]
        # It ends with its standard input.
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(scratch)})
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("bench-scale: PostgreSQL did not start")
        self.told = json.loads(line)
        self.socket = Path(self.told["sockets"][0])
        self.pid = int((Path(self.told["log"]).parent / "data/postmaster.pid").read_text().split()[0])
        self.sql("CREATE EXTENSION pg_stat_statements", database="postgres")

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    @property
    def url(self):
        return f"postgres://scidex@127.0.0.1:{self.told['port']}/scidex"

    def sql(self, text, database="scidex"):
        """Run SQL as the superuser, statement by statement, and return what it printed."""
        words = [self.told["psql"], "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", str(self.socket.parent), "-p", str(self.told["port"]),
                 "-U", "postgres", "-d", database]
        if os.getuid() == 0:
            words = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups", *words]
        done = subprocess.run(words, input=text, stdout=subprocess.PIPE, text=True, cwd="/")
        if done.returncode != 0:
            raise SystemExit(f"bench-scale: psql ended with {done.returncode} at: {text[:500]}")
        return done.stdout.strip()

    def look(self):
        time.sleep(SETTLE)
        look = json.loads(self.sql(counts.LOOK, database="postgres"))
        look["tables"] = json.loads(self.sql(counts.LOOK_AT_TABLES))
        look["cpu"] = self.cpu()
        return look

    def during(self, do):
        """What the server does while do runs, with what do returned."""
        before = self.look()
        returned = do()
        return counts.between(before, self.look()), returned

    def backends(self):
        """The processes of the tool's connections."""
        found = self.sql("SELECT pid FROM pg_stat_activity WHERE usename = 'scidex'", database="postgres")
        return [int(pid) for pid in found.split()]

    def cpu(self):
        """CPU seconds of the server and its processes, and of those that have ended."""
        return sum(ticks(pid) for pid in (self.pid, *children(self.pid))) / TICKS


def children(parent):
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and int(fields(name)[1]) == parent:
                found.append(int(name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def ticks(pid):
    """utime, stime, cutime and cstime of a process (proc(5))."""
    try:
        return sum(map(int, fields(pid)[11:15]))
    except (FileNotFoundError, ProcessLookupError):
        return 0


def fields(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()


def pss(pids):
    """Bytes of processes' own memory, with their shares of what they share."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total
