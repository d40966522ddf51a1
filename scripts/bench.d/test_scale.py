"""Of scripts/bench-scale: that counters are subtracted as they are meant, and that messages of PostgreSQL are told apart."""

import struct
import sys
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "scale"))

from bucket import KINDS, kind, table  # noqa: E402
from counts import between  # noqa: E402
from listeners import split  # noqa: E402


def look(transactions, calls, updated, lsn=0):
    statements = {} if calls is None else {
        "1/true": {"query": "SELECT pg_notify($1)", "calls": calls, "rows": 2 * calls, "ms": 0.5 * calls, "wal": 0, "blocks": 3 * calls},
        "2/true": {"query": "SELECT\n  pg_notify($1)", "calls": 1, "rows": 1, "ms": 1, "wal": 0, "blocks": 1},
    }
    return {"lsn": lsn, "pages": 0, "cpu": 0, "database": {"transactions": transactions, "connections": 1}, "statements": statements,
            "tables": {"river_job": {"updated": updated, "hot": 0}, "river_queue": {"updated": 5, "hot": 5}}}


class Counting(unittest.TestCase):
    def test_the_first_look_is_not_counted(self):
        told = between(look(10, 1, 0), look(15, 1, 0)).told()
        self.assertEqual(told["totals"]["transactions"], 3)
        self.assertEqual(told["totals"]["connections"], -1)

    def test_statements_of_one_text_are_one(self):
        told = between(look(0, None, 0), look(2, 4, 0)).told()
        self.assertEqual(told["totals"]["notifications"], 9)
        self.assertEqual([s["calls"] for s in told["busiest"]], [5])

    def test_for_each(self):
        told = between(look(0, 0, 0), look(42, 20, 40, lsn=1000)).by(20).told()
        self.assertEqual(told["totals"]["transactions"], 2)
        self.assertEqual(told["totals"]["wal_bytes"], 50)
        self.assertEqual(told["tables"], {"river_job": {"updated": 2, "hot": 0}})

    def test_less(self):
        idle = between(look(0, 0, 0), look(12, 10, 0))
        told = between(look(0, 0, 0), look(27, 30, 6)).less(idle, 2).told()
        self.assertEqual(told["totals"]["transactions"], 5)
        self.assertEqual(told["totals"]["statements"], 10)


class Messages(unittest.TestCase):
    READY = b"Z" + struct.pack("!I", 5) + b"I"
    TOLD = b"A" + struct.pack("!I", 4 + 4 + 2 + 3) + struct.pack("!I", 7) + b"c\0" + b"hi\0"

    def test_whole_messages(self):
        kind, body, rest = split(self.TOLD + self.READY)
        self.assertEqual((kind, body[4:]), (b"A", b"c\0hi\0"))
        self.assertEqual(split(rest), (b"Z", b"I", b""))

    def test_a_message_that_is_not_there_yet(self):
        for end in range(len(self.READY)):
            self.assertIsNone(split(self.READY[:end]))


if __name__ == "__main__":
    unittest.main()


class Requests(unittest.TestCase):
    def test_kinds(self):
        for request, want in {
            "PUT /bucket/bench/sha256/00": "PUT blob",
            "HEAD /bucket/bench/sha256/00": "HEAD blob",
            "PUT /bucket/bench/sha256/00?partNumber=1&uploadId=x": "PUT blob",
            "POST /bucket/bench/sha256/00?uploads=": "POST blob",
            "DELETE /bucket/bench/sha256/00": "DELETE blob",
            "GET /bucket/bench/catalog_id": "GET catalog_id",
            "PUT /bucket/bench/gc/last": "PUT gc",
            "GET /bucket/?list-type=2&prefix=bench%2Fgc%2F": "LIST gc/",
            "GET /bucket/?list-type=2&prefix=bench%2Fgc%2Fopen-": "LIST gc/",
            "GET /bucket/?list-type=2&prefix=bench%2Fsha256%2F": "LIST sha256/",
            "GET /bucket/?uploads=&prefix=bench%2Fsha256%2F": "LIST uploads",
            "GET /another": "other",
        }.items():
            self.assertEqual(kind(*request.split()), want, request)
            self.assertIn(want, KINDS)

    def test_table(self):
        self.assertEqual(table({"run": {"PUT blob": 1.0, "LIST gc/": 2.5}, "gc": {"LIST gc/": 1}}),
                         "|  | PUT blob | LIST gc/ | in all |\n| --- | --- | --- | --- |\n| run | 1 | 2.5 | 3.5 |\n| gc | 0 | 1 | 1 |")
