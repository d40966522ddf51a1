#!/usr/bin/python3
"""Makes what the science tests read at /data, in the directory that is named: outside, before they start."""

import sqlite3
import sys
from pathlib import Path

import numpy

directory = Path(sys.argv[1])

numpy.save(directory / "ramp.npy", numpy.arange(1_000_000, dtype=numpy.float64).reshape(1000, 1000))
(directory / "bytes.bin").write_bytes(bytes(range(256)) * 4096)
(directory / "tool").write_text("#!/bin/sh\necho $0 $1\n")
(directory / "tool").chmod(0o755)

for name, journal in ("plain.db", "delete"), ("wal.db", "wal"):
    database = sqlite3.connect(directory / name)
    database.execute(f"PRAGMA journal_mode = {journal}")
    with database:
        database.execute("CREATE TABLE squares (n INTEGER PRIMARY KEY, square INTEGER)")
        database.executemany("INSERT INTO squares VALUES (?, ?)", ((n, n * n) for n in range(1000)))
    database.close()
