"""Fills a catalog with copies of real runs: their rows with other ids, times and digests, and a blob for each output."""

import hashlib
import os
import sqlite3
from pathlib import Path

FIRST = 1_704_067_200  # 2024-01-01, in seconds since 1970
APART = 30  # seconds from one run to the next: a million are a year


def fill(root, count, templates):
    """Add count runs to a root's catalog, turn about copies of the runs templates names, ten to each rare label."""
    db = sqlite3.connect(Path(root) / "catalog.db")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA cache_size = -1000000")  # KiB
    db.create_function("digest_of", 1, lambda n: blob(Path(root) / "blobs" / "sha256", n), deterministic=False)
    with db:
        db.execute("CREATE TEMP TABLE copies (n INTEGER PRIMARY KEY, template TEXT, id TEXT, at INTEGER)")
        db.executemany("INSERT INTO copies VALUES (?, ?, ?, ?)", (copy(n, templates) for n in range(count)))
        for statement in STATEMENTS:
            db.execute(statement)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    os.sync()


def copy(n, templates):
    at = FIRST + n * APART
    return n, templates[n % len(templates)], f"synthetic-{n:07}", at


def blob(directory, n):
    """Make a blob that no other run has, and return its name."""
    content = b"%d\n" % n
    digest = hashlib.sha256(content).hexdigest()
    with open(directory / digest, "wb") as file:
        file.write(content)
    os.chmod(directory / digest, 0o444)
    return digest


# How the columns have a time, so many seconds after that of the copy.
MOMENT = "strftime('%Y-%m-%dT%H:%M:%S.000Z', c.at + {}, 'unixepoch')"

STATEMENTS = (
    f"""INSERT INTO analysis_run (id, attempt, state, reason, message, exit_code, signal, created_at, started_at, finished_at,
            request, place, report, host, boot_id, tool_version, outputs_total, rejected_total)
        SELECT c.id, 1, state, reason, message, exit_code, signal, {MOMENT.format(0)}, {MOMENT.format(1)}, {MOMENT.format(2)},
            replace(request, r.id, c.id), replace(place, r.id, c.id), report, host, boot_id, tool_version, outputs_total, rejected_total
        FROM copies c CROSS JOIN analysis_run r ON r.id = c.template ORDER BY c.n""",
    """INSERT INTO run_label SELECT c.id, 1, key, value FROM copies c CROSS JOIN run_label l ON l.id = c.template ORDER BY c.n""",
    """INSERT INTO run_label SELECT c.id, 1, 'rare', CAST(c.n / 10 AS TEXT) FROM copies c ORDER BY c.n""",
    """INSERT INTO analysis_output (id, attempt, path, size, sha256, media_type, mode, verdict, detail, partial, content)
        SELECT c.id, 1, path, size, digest_of(c.n), media_type, mode, verdict, detail, partial, content
        FROM copies c CROSS JOIN analysis_output o ON o.id = c.template ORDER BY c.n""",
)
