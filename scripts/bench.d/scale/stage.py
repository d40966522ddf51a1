"""What a catalog of some size costs: real submissions, real runs, an idle worker, and commands."""

import json
import statistics
import time

import counts
from server import SETTLE, pss, say
from tool import Worker

RUNS = 20
BATCH = 1000
IDLE = 60  # seconds
ROUNDS = 3

PICK_UP = """SELECT json_build_object('median', percentile_cont(0.5) WITHIN GROUP (ORDER BY ms), 'longest', max(ms)) FROM
    (SELECT 1000 * extract(epoch FROM attempted_at - created_at) AS ms FROM scidex_oci.river_job ORDER BY id DESC LIMIT %d) j"""


class Stage:
    def __init__(self, server, tool, name):
        self.server, self.tool, self.name = server, tool, name
        self.nothing, _ = server.during(lambda: None)  # what looking costs the server
        self.told = {"name": name}

    def measure(self, some, digest):
        """All of it; some is the id of a run, digest one of its outputs."""
        say(f"{self.name}: submissions")
        submitted, _ = self.during(lambda: [self.tool.submit() for _ in range(RUNS)])
        batch, _ = self.during(lambda: self.tool.submit_batch("batch-" + self.name, BATCH))
        self.server.sql("DELETE FROM scidex_oci.river_job WHERE args ->> 'id' LIKE 'batch-%';"
                        "DELETE FROM scidex_oci.analysis_run WHERE id LIKE 'batch-%'")
        worker = Worker(self.tool, "worker")
        worker.ended(RUNS)
        try:
            idle = self.idle()
            say(f"{self.name}: runs")
            runs, seconds = self.during(lambda: self.run(worker))
        finally:
            worker.close()
        # What is counted ends with the second look, before which backends are given time.
        runs = runs.less(submitted).less(idle, (seconds + SETTLE) / (IDLE + SETTLE))
        self.told.update({
            "submission": submitted.by(RUNS).told(), "submission_in_batch": batch.by(BATCH).told(), "run": runs.by(RUNS).told(),
            "idle_worker_minute": idle.by((IDLE + SETTLE) / 60).told(), "pick_up_ms": json.loads(self.server.sql(PICK_UP % RUNS)),
        })
        say(f"{self.name}: commands")
        self.told["commands"] = self.commands(some, digest)
        return self.told

    def idle(self):
        say(f"{self.name}: an idle worker")
        idle, _ = self.during(lambda: time.sleep(IDLE))
        backends = self.server.backends()
        self.told["idle_worker"] = {"connections": len(backends), "pss": pss(backends)}
        return idle

    def during(self, do):
        done, returned = self.server.during(do)
        return done.less(self.nothing), returned

    def run(self, worker):
        begin = time.monotonic()
        for _ in range(RUNS):
            self.tool.submit()
        worker.ended(RUNS)
        return time.monotonic() - begin

    def commands(self, some, digest):
        told = {}
        for words in (("ls",), ("ls", "--state", "failed"), ("ls", "--state", "lost"), ("ls", "--label", "rare=1"), ("show", some),
                      ("outputs", "find", digest), ("queue", "ls"), ("queue", "ls", "--all"), ("gc", "--dry-run")):
            name = " ".join(words).replace(some, "ID").replace(digest, "SHA256")
            told[name] = self.command(words)
        return told

    def command(self, words):
        """The medians of some calls, after one that warms the caches."""
        taken = []
        for number in range(ROUNDS + 1):
            before = self.statements()
            seconds, cpu = self.tool.timed(*words)
            done = counts.nested(self.statements(), before)
            if number > 0:
                taken.append((seconds, cpu, sum(s["ms"] for s in done.values()), sum(s["blocks"] for s in done.values())))
        seconds, cpu, ms, blocks = map(statistics.median, zip(*taken))
        return {"seconds": seconds, "cpu": cpu, "server_ms": ms, "blocks": blocks}

    def statements(self):
        return counts.by_query(json.loads(self.server.sql(counts.LOOK, database="postgres")))
