"""What runs ask of a bucket: requests by kind, counted by a proxy before the S3 server of scripts/s3. Nothing is timed."""

import collections
import http.client
import http.server
import json
import os
import subprocess
import threading
import time
import urllib.parse
from pathlib import Path

SCRIPTS = Path(__file__).parents[2]
PREFIX = "bench"
RUNS = 10
OLD = 48 * 3600  # seconds: what is as old may be removed by gc

# What is asked for below the prefix. An upload in parts is begun and ended by a POST.
KINDS = ("PUT blob", "HEAD blob", "GET blob", "POST blob", "DELETE blob", "LIST sha256/", "LIST gc/", "PUT gc", "DELETE gc", "GET catalog_id", "PUT catalog_id", "LIST uploads", "other")


def kind(method, path):
    """One of KINDS, by the method and the path of a request."""
    url = urllib.parse.urlsplit(path)
    query = urllib.parse.parse_qs(url.query, keep_blank_values=True)
    key = url.path.partition(f"/{PREFIX}/")[2]
    if "list-type" in query:
        found = "LIST " + query.get("prefix", [""])[0].removeprefix(PREFIX + "/").partition("/")[0] + "/"
    elif "uploads" in query and method == "GET":
        found = "LIST uploads"
    else:
        found = f"{method} {'blob' if key.startswith('sha256/') else key.partition('/')[0]}"
    return found if found in KINDS else "other"


class Proxy(http.server.ThreadingHTTPServer):
    """Passes requests on as they are, since they are signed, and counts them."""

    daemon_threads = True

    def __init__(self, endpoint):
        super().__init__(("127.0.0.1", 0), Passing)
        self.target = urllib.parse.urlsplit(endpoint).netloc
        self.counted, self.others, self.lock = collections.Counter(), [], threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def count(self, method, path):
        with self.lock:
            self.counted[kind(method, path)] += 1
            if kind(method, path) == "other":
                self.others.append(f"{method} {path}")

    def during(self, do):
        """The requests by kind while something is done."""
        with self.lock:
            before = self.counted.copy()
        do()
        with self.lock:
            return self.counted - before


class Passing(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def passed(self):
        self.server.count(self.command, self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        connection = http.client.HTTPConnection(self.server.target, timeout=60)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        content = answer.read()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        self.send_header("Content-Length", answer.getheader("Content-Length") or str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        connection.close()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = passed

    def log_message(self, *_):
        pass


class Bucket:
    def __init__(self):
        self.process = subprocess.Popen([str(SCRIPTS / "s3")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("bench-scale: the S3 server did not start")
        told = json.loads(line)
        self.objects = Path(told["dir"]) / "bucket"
        self.objects.mkdir()
        self.proxy = Proxy(told["endpoint"])
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "SCIDEX_OCI_"))},
            "AWS_ACCESS_KEY_ID": told["access_key"], "AWS_SECRET_ACCESS_KEY": told["secret_key"],
            "SCIDEX_OCI_BLOBS": f"s3://bucket/{PREFIX}?endpoint=http://127.0.0.1:{self.proxy.server_address[1]}",
        }

    def age(self):
        """Make all blobs so old that gc removes those that nothing names."""
        then = time.time() - OLD
        for path in (self.objects / PREFIX / "sha256").iterdir():
            os.utime(path, (then, then))

    def close(self):
        self.proxy.shutdown()
        self.proxy.server_close()
        self.process.communicate()


# Names of what one analysis does, and its command. Each run writes what no other has.
ANALYSES = (
    ("nothing, empty logs", "true"),
    ("an output of 36 bytes", "cat /proc/sys/kernel/random/uuid >a"),
    ("ten of them", "for i in 0 1 2 3 4 5 6 7 8 9; do cat /proc/sys/kernel/random/uuid >$i; done"),
    ("and a line on both streams", "for i in 0 1 2 3 4 5 6 7 8 9; do cat /proc/sys/kernel/random/uuid >$i; done; cat /proc/sys/kernel/random/uuid; cat /proc/sys/kernel/random/uuid >&2"),
    ("an output of 1 MB", "head -c 1000000 /dev/urandom >a"),
    ("one of 100 MB, in two parts", "head -c 100000000 /dev/urandom >a"),
)


def measure(tool, scratch, more):
    """Yield names and counts of requests: of each run of a batch, and of commands."""
    bucket = Bucket()
    env = {**bucket.env, "SCIDEX_OCI_DB": f"sqlite://{scratch / 'catalog.db'}"}

    def take(root, *words, text=None):
        done = subprocess.run([tool, "--root", str(scratch / root), *words], env=env, input=text, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise SystemExit(f"bench-scale: {words} ended with {done.returncode}")
        return done.stdout

    def batch(command, count):
        line = json.dumps({"command": ["sh", "-c", command], "docs": "none", "data": "none", "work_size": "200MB"}) + "\n"
        take("one", "batch", "--jobs", "1", *more, "-", text=line * count)

    def command(name, *words, root="one"):
        return name, bucket.proxy.during(lambda: take(root, *words))

    try:
        yield "the first command of a catalog", bucket.proxy.during(lambda: batch("true", 1))
        for name, analysis in ANALYSES:
            once = bucket.proxy.during(lambda: batch(analysis, 1))
            many = bucket.proxy.during(lambda: batch(analysis, 1 + RUNS))
            yield f"run: {name}", {kind: (many[kind] - once[kind]) / RUNS for kind in KINDS if many[kind] != once[kind]}
        run = ("run", *more, "--docs", "none", "--data", "none")
        same = (*run, "--", "sh", "-c", "head -c 1000000 /dev/zero >a")
        take("one", *same)
        yield command("`run` of 1 MB that is there", *same)
        yield command("`run` of nothing, a process of its own", *run, "--", "true")
        digest = json.loads(take("one", "outputs", "ls", "--json", last(take)))["sha256"]
        shown = (*run, "--input", f"sha256:{digest}", "--", "true")
        yield command("the same with an input by digest", *shown, root="other")
        yield command("and once more on that host", *shown, root="other")
        yield command("`gc`", "gc")
        for run_id in ids(take):
            take("one", "rm", run_id)
        blobs = len(list((bucket.objects / PREFIX / "sha256").iterdir()))
        bucket.age()
        yield command(f"`gc` that removes {blobs} blobs", "gc")
        if bucket.proxy.others:
            raise SystemExit(f"bench-scale: requests of no known kind: {bucket.proxy.others[:5]}")
    finally:
        bucket.close()


def ids(take):
    return [json.loads(line)["id"] for line in take("one", "ls", "--json", "--limit", "1000").splitlines()]


def last(take):
    """The last run that has an output."""
    for run_id in ids(take):
        if take("one", "outputs", "ls", "--json", run_id).strip():
            return run_id
    raise SystemExit("bench-scale: no run has an output")


def table(told):
    """Markdown: a row for each name, a column for each kind that occurs."""
    kinds = [kind for kind in KINDS if any(counts.get(kind) for counts in told.values())]
    rows = [["", *kinds, "in all"], ["---"] * (len(kinds) + 2)]
    for name, counts in told.items():
        rows.append([name, *(f"{counts.get(kind, 0):g}" for kind in kinds), f"{sum(counts.values()):g}"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
