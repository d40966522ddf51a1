"""CPU time of `scidex-oci ui` for a page of its list: see scripts/bench-ui."""

import argparse
import os
import re
import signal
import sqlite3
import statistics
import subprocess
import tempfile
import urllib.parse
import urllib.request

COPIES = """WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
    INSERT INTO analysis_run (id, attempt, state, reason, message, exit_code, created_at, started_at, finished_at, request, place, report,
        host, boot_id, tool_version)
    SELECT printf('synthetic-%08d', i), 1, iif(i % 10 = 9, 'failed', 'complete'), reason, message, exit_code,
        strftime('%Y-%m-%dT%H:%M:%S.000Z', '2025-01-01', (i * 30) || ' seconds'), started_at, finished_at, request, place, report,
        host, boot_id, tool_version
    FROM n, analysis_run WHERE id = ?"""
LABELS = """INSERT INTO run_label SELECT id, 1, 'project', 'p' || (rowid % 10) FROM analysis_run WHERE id LIKE 'synthetic-%'"""


def cpu_ms(pid):
    """Of a process so far, to the microsecond (proc_pid_schedstat counts threads one by one)."""
    tasks = f"/proc/{pid}/task"
    return sum(int(open(f"{tasks}/{task}/schedstat").read().split()[0]) for task in os.listdir(tasks)) / 1e6


def get(address):
    with urllib.request.urlopen(address) as answer:
        return answer.read().decode()


def measure(pid, address):
    taken = []
    for _ in range(16):
        before = cpu_ms(pid)
        page = get(address)
        taken.append(cpu_ms(pid) - before)
    return statistics.median(taken[1:]), max(taken[1:]), page


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000_000)
    runs = parser.parse_args().runs
    tool = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bin", "scidex-oci")
    with tempfile.TemporaryDirectory(dir=os.environ.get("SCIDEX_OCI_TMP", "/var/tmp"), prefix="bench-ui.") as root:
        env = {**os.environ, "SCIDEX_OCI_ROOT": root, "SCIDEX_OCI_LIMITS": "best-effort"}
        env.pop("SCIDEX_OCI_TMP", None)
        subprocess.run([tool, "run", "--id", "real", "--data", "none", "--docs", "none", "--", "true"], env=env, check=True, capture_output=True)
        with sqlite3.connect(os.path.join(root, "catalog.db")) as db:
            db.execute(COPIES, (runs, "real"))
            db.execute(LABELS)
        ui = subprocess.Popen([tool, "ui"], env=env, stdout=subprocess.PIPE, text=True)
        try:
            address = ui.stdout.readline().strip()
            middle = urllib.parse.urlencode({"after": f"2025-06-01T00:00:00Z,1,synthetic-{runs // 2:08}"})
            for name, query in (
                ("the newest", ""),
                ("after the middle", "?" + middle),
                ("failed", "?state=failed"),
                ("failed, after the middle", "?state=failed&" + middle),
                ("a label of each tenth", "?label=project%3Dp3"),
                ("the same, after the middle", "?label=project%3Dp3&" + middle),
                ("a text of the newest ids", "?text=synthetic-"),
                ("a text of one id in the middle", f"?text=synthetic-{runs // 2:08}"),
                ("a text of none", "?text=nothing"),
                ("what goes on", "live"),
            ):
                median, most, page = measure(ui.pid, address + query)
                shown = len(re.findall(r'<th scope="row">', page))
                print(f"{name:32}  {median:7.1f} ms  {most:7.1f} ms at most  {shown:3} runs", flush=True)
        finally:
            ui.send_signal(signal.SIGTERM)
            ui.wait()


if __name__ == "__main__":
    main()
