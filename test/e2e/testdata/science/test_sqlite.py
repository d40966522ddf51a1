#!/usr/bin/python3
"""sqlite3: journals and write-ahead logs where one may write, and reading where one may not."""

import sqlite3
import subprocess
import sys
import threading
import unittest

WRITER = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], timeout=30)
for n in range(200):
    with database:
        database.execute("INSERT INTO t VALUES (?)", (n,))
"""


class Writing(unittest.TestCase):
    def test_several_processes(self):
        for path in "/work", "/tmp", "/dev/shm":
            for journal in "wal", "delete", "truncate", "memory":
                with self.subTest(path=path, journal=journal):
                    self.write(f"{path}/{journal}.db", journal)

    def write(self, path, journal):
        database = sqlite3.connect(path)
        self.assertEqual(database.execute(f"PRAGMA journal_mode = {journal}").fetchone(), (journal,))
        database.execute("CREATE TABLE t (x)")
        database.commit()
        writers = [subprocess.Popen([sys.executable, "-c", WRITER, path]) for _ in range(2)]
        self.assertEqual([writer.wait() for writer in writers], [0, 0])
        self.assertEqual(database.execute("SELECT count(*), sum(x) FROM t").fetchone(), (400, 39800))
        self.assertEqual(database.execute("PRAGMA integrity_check").fetchone(), ("ok",))
        database.close()

    def test_reader_beside_writer(self):
        writer, reader = sqlite3.connect("/work/beside.db"), sqlite3.connect("/work/beside.db")
        writer.execute("PRAGMA journal_mode = wal")
        writer.execute("CREATE TABLE t (x)")
        writer.execute("INSERT INTO t VALUES (1)")
        self.assertEqual(reader.execute("SELECT count(*) FROM t").fetchone(), (0,))
        writer.commit()
        self.assertEqual(reader.execute("SELECT count(*) FROM t").fetchone(), (1,))
        writer.close(), reader.close()

    def test_threads_and_backup(self):
        database = sqlite3.connect("/work/threads.db", check_same_thread=False)
        database.execute("CREATE TABLE t (x)")
        lock = threading.Lock()

        def insert(n):
            with lock, database:
                database.execute("INSERT INTO t VALUES (?)", (n,))

        threads = [threading.Thread(target=insert, args=(n,)) for n in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with sqlite3.connect(":memory:") as copy:
            database.backup(copy)
            self.assertEqual(copy.execute("SELECT sum(x) FROM t").fetchone(), (45,))
        database.execute("VACUUM")
        database.close()


class Reading(unittest.TestCase):
    def check(self, uri):
        database = sqlite3.connect(uri, uri=True)
        self.assertEqual(database.execute("SELECT sum(square) FROM squares").fetchone(), (332833500,))
        with self.assertRaises(sqlite3.OperationalError):
            database.execute("INSERT INTO squares VALUES (-1, 1)")
        database.close()

    def test_data(self):
        for uri in "file:/data/plain.db", "file:/data/plain.db?mode=ro", "file:data/plain.db?immutable=1":
            with self.subTest(uri):
                self.check(uri)

    def test_data_with_a_log(self):
        # Without a directory to write its index to, SQLite wants to be told that nobody writes.
        self.check("file:/data/wal.db?immutable=1")

    def test_attached(self):
        database = sqlite3.connect("/work/own.db", uri=True)
        database.execute("ATTACH 'file:/data/plain.db?mode=ro' AS data")
        database.execute("CREATE TABLE even AS SELECT * FROM data.squares WHERE n % 2 = 0")
        self.assertEqual(database.execute("SELECT count(*) FROM even").fetchone(), (500,))
        database.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
