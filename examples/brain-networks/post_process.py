#!/usr/bin/env python3
"""Writes the correlations between brain networks of one run into a table: a --post-process command.

  scidex-oci run -f examples/brain-networks/manifest.yaml --post-process examples/brain-networks/post_process.py

The table brain_network_correlation (analysis_id, attempt, network_a, network_b, r) is in the database of
BRAIN_DB, or else of SCIDEX_OCI_DB: postgres://USER:PASSWORD@HOST:PORT/DATABASE, through psql, which also
reads PGPASSFILE and the like; or sqlite:///PATH.

It may be called again for the same run, after a failure or when scidex-oci was killed: it replaces, in one
transaction, what it has written for this analysis and attempt. What an analysis wrote is not to be trusted: every
value is parsed, and none becomes part of a statement. Python 3.11, standard library only.
"""

import csv
import json
import math
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

TABLE = """CREATE TABLE IF NOT EXISTS brain_network_correlation (
    analysis_id text NOT NULL, attempt integer NOT NULL, network_a integer NOT NULL, network_b integer NOT NULL,
    r double precision NOT NULL, PRIMARY KEY (analysis_id, attempt, network_a, network_b))"""
REMOVE = "DELETE FROM brain_network_correlation WHERE analysis_id = {} AND attempt = {}"
COLUMNS = "analysis_id, attempt, network_a, network_b, r"
LOCK = 7061512337  # any number, the same for all who make the table


def correlations(path):
    """Yield (network, network, r) from the matrix, and refuse what is none."""
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    names = [int(name) for name in header[1:]]
    if [int(row[0]) for row in rows] != names:
        raise SystemExit(f"{path.name}: rows and columns differ")
    for a, row in zip(names, rows):
        for b, text in zip(names, row[1:], strict=True):
            r = float(text)
            if math.isnan(r) or abs(r) > 1:
                raise SystemExit(f"{path.name}: {text!r} is no correlation")
            yield a, b, r


def to_sqlite(path, key, rows):
    with sqlite3.connect(path, timeout=60) as database:  # one transaction
        database.execute(TABLE)
        database.execute(REMOVE.format("?", "?"), key)
        database.executemany(f"INSERT INTO brain_network_correlation ({COLUMNS}) VALUES (?, ?, ?, ?, ?)",
                             [(*key, *row) for row in rows])


def to_postgres(url, key, rows):
    # The password goes through the environment: everyone can read a command line.
    parts = {"PGHOST": url.hostname, "PGPORT": url.port, "PGUSER": url.username, "PGPASSWORD": url.password,
             "PGDATABASE": url.path.strip("/")}
    environment = os.environ | {name: unquote(str(part)) for name, part in parts.items() if part}
    script = "\n".join([
        "SET client_min_messages = warning;", f"SELECT pg_advisory_xact_lock({LOCK}) \\g /dev/null", TABLE + ";",
        REMOVE.format(":'id'", ":attempt") + ";", f"COPY brain_network_correlation ({COLUMNS}) FROM STDIN WITH (FORMAT csv);",
        *(f"{key[0]},{key[1]},{a},{b},{r!r}" for a, b, r in rows), "\\.", "",
    ])
    command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-v", f"id={key[0]}", "-v", f"attempt={key[1]}", "--single-transaction", "-f", "-"]
    subprocess.run(command, input=script, text=True, check=True, env=environment)


def main():
    result = json.load(sys.stdin)
    key = result["id"], int(result["attempt"])
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", key[0]):
        raise SystemExit(f"{key[0]!r} is no id")
    rows = list(correlations(Path(os.environ["SCIDEX_OUTPUT_DIR"], "networks.csv")))
    url = urlsplit(os.environ.get("BRAIN_DB") or os.environ["SCIDEX_OCI_DB"])
    if url.scheme == "sqlite":
        to_sqlite(unquote(url.path), key, rows)
    elif url.scheme in ("postgres", "postgresql"):
        to_postgres(url, key, rows)
    else:
        raise SystemExit(f"no way to write to {url.scheme!r}; give postgres:// or sqlite://")
    print(f"{len(rows)} correlations of {key[0]}@{key[1]} written")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, KeyError, OSError, sqlite3.Error, subprocess.CalledProcessError) as error:
        raise SystemExit(f"post_process.py: {type(error).__name__}: {error}")
