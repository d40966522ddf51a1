"""enqueue and wait, with a real PostgreSQL, a real worker and the drivers that are there."""

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path
from typing import Any, Dict, List, Tuple
from unittest import mock

import scidex_oci
from scidex_oci import AnalysisError, NotFound, Tool

from .support import Case

POSTGRES = Path(__file__).parents[2] / "scripts/postgres"


def drivers() -> List[Any]:
    """psycopg2 and psycopg 3, as far as this Python has them: PyPy sees Debian's, whose ctypes are not for it."""
    found: List[Any] = []
    if sys.implementation.name != "cpython":
        return found
    for name in ("psycopg2", "psycopg"):
        try:
            found.append(importlib.import_module(name))
        except ImportError:
            pass
    return found


DRIVERS = drivers()


@unittest.skipIf(not DRIVERS, "this Python has neither psycopg nor psycopg2 (scripts/setup test installs them for Debian's)")
class SubmissionTest(Case):
    url = ""

    @classmethod
    def setUpClass(cls) -> None:
        server = subprocess.Popen([POSTGRES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(server.communicate)  # it ends with its standard input
        cls.beside = [server.pid]
        assert server.stdout is not None
        place: Dict[str, Any] = json.loads(server.stdout.readline())
        cls.url = "postgresql://{user}@127.0.0.1:{port}/{database}".format(**place)

    def setUp(self) -> None:
        super().setUp()
        self.environ["SCIDEX_OCI_DB"] = self.url
        self.tool.call("catalog", "migrate")
        self.addCleanup(self.execute, "DROP SCHEMA scidex_oci CASCADE; DROP TABLE IF EXISTS hypothesis")
        self.execute("CREATE TABLE hypothesis (id text, state text)")

    def execute(self, sql: str) -> List[Tuple[Any, ...]]:
        connection = DRIVERS[0].connect(self.url)
        try:
            cursor = connection.cursor()
            cursor.execute(sql)
            rows = cursor.fetchall() if cursor.description else []
            connection.commit()
            return list(rows)
        finally:
            connection.close()

    def worker(self) -> None:
        """Starts one, which is drained at the end of the test."""
        worker = subprocess.Popen(self.tool.argv("worker", "--drain", "0"), env=self.tool.env(), cwd=self.dir,
                                  stdout=subprocess.DEVNULL)

        def drain() -> None:
            worker.send_signal(signal.SIGTERM)
            self.assertEqual(worker.wait(), 0)

        self.addCleanup(drain)

    def test_in_transactions(self) -> None:
        (self.dir / "measured").mkdir()
        (self.dir / "measured" / "in.txt").write_text("21")
        (self.dir / "double.py").write_text("print(2 * int(open('data/in.txt').read()), file=open('out.txt', 'w'))")
        with mock.patch.object(os, "getcwd", return_value=str(self.dir)):
            for driver in DRIVERS:
                with self.subTest(driver=driver.__name__):
                    self.commit_and_roll_back(driver)
        self.assertEqual(self.execute("SELECT count(*) FROM scidex_oci.analysis_run"), [(len(DRIVERS),)])
        with contextlib.closing(DRIVERS[0].connect(self.url)) as connection:
            scidex_oci.enqueue(connection, id="much", command=["true"], memory="much", retries=1)
            connection.commit()
        self.worker()
        with self.assertRaises(AnalysisError) as raised:  # what only a worker can tell
            scidex_oci.wait("much", check=True, tool=self.tool)
        result = raised.exception.result
        self.assertEqual((result.run_id, result.state, result.reason), ("much@2", "error", "request"))  # the last of both
        for driver in DRIVERS:
            result = scidex_oci.wait(f"{driver.__name__}-1", check=True, tool=self.tool)
            self.assertEqual((result.run_id, [o.path for o in result.outputs]), (f"{driver.__name__}-1@1", ["out.txt"]))
            self.assertEqual(result.labels, {"n": "1", "yes": "true"})

    def test_lost_between(self) -> None:
        """An attempt that is lost is no end while its job is in the queue."""
        with contextlib.closing(DRIVERS[0].connect(self.url)) as connection:
            scidex_oci.enqueue(connection, id="lost", command=["true"])
            connection.commit()
        self.execute("UPDATE scidex_oci.analysis_run SET state = 'lost', reason = 'supervisor_lost', exit_code = 125, finished_at = now()"
                     " WHERE id = 'lost'")  # as recovery does on the host of a killed worker
        with self.assertRaisesRegex(TimeoutError, "next attempt"):
            scidex_oci.wait("lost", timeout=0, tool=self.tool)
        looks: List[None] = []
        sleep = time.sleep

        def wake(_: float) -> None:
            if not looks:
                self.worker()
            looks.append(None)
            sleep(0.1)

        with mock.patch("time.sleep", wake):
            result = scidex_oci.wait("lost", tool=self.tool)
        self.assertEqual((result.run_id, result.state), ("lost@2", "complete"))
        self.assertEqual(scidex_oci.wait("lost@1", tool=self.tool).state, "lost")

    def commit_and_roll_back(self, driver: Any) -> None:
        connection = driver.connect(self.url)
        self.addCleanup(connection.close)
        request: Dict[str, Any] = {"script": Path("double.py"), "data": "measured", "memory": "1GiB", "labels": {"n": 1, "yes": True}}
        cursor = connection.cursor()
        cursor.execute("INSERT INTO hypothesis VALUES ('H-0', 'queued')")
        made = scidex_oci.enqueue(connection, **request)
        self.assertRegex(made, r"\A\d{8}T\d{6}-[0-9a-f]{8}\Z")
        connection.rollback()
        with self.assertRaises(NotFound):
            self.tool.show(made)
        self.assertEqual(self.execute("SELECT FROM hypothesis WHERE id = 'H-0'"), [])

        name = f"{driver.__name__}-1"
        cursor.execute("INSERT INTO hypothesis VALUES ('H-1', 'queued')")
        self.assertEqual(scidex_oci.enqueue(cursor, id=name, retries=0, **request), name)
        with self.assertRaises(NotFound):  # it is not visible before the commit
            self.tool.show(name)
        connection.commit()
        self.assertEqual(self.tool.show(name).state, "queued")
        with self.assertRaisesRegex(TimeoutError, "not ended in time"):
            scidex_oci.wait(name, timeout=0.1, tool=self.tool)
        with self.assertRaises(driver.Error) as refused:
            scidex_oci.enqueue(connection, id=name, command=["true"])
        self.assertIn(f"id {name} is in use: attempt 1 is queued", str(refused.exception))
        code = getattr(refused.exception, "pgcode", None) or getattr(refused.exception, "sqlstate", None)
        self.assertEqual(code, "23505")
        connection.rollback()


class RequestTest(unittest.TestCase):
    """What is refused before the database is asked."""

    def test_refused(self) -> None:
        fields: List[Tuple[Dict[str, Any], str]] = [
            ({"memroy": "1GiB"}, "enqueue.* no field \"memroy\"; did you mean \"memory\""), ({"export": "/out"}, "exports nothing"), ({"runtime": "science"}, "config file"),
            ({"labels": ["a"]}, "not a mapping"), ({"command": "true"}, "command: must be a list"), ({"script": ["a.py"]}, "not text"),
            ({"env": {"A": object()}}, "cannot hold"),
        ]
        for request, why in fields:
            with self.subTest(request=request), self.assertRaisesRegex((TypeError, ValueError), why):
                scidex_oci.enqueue(mock.Mock(side_effect=AssertionError), **request)

    def test_written(self) -> None:
        cursor = mock.Mock(spec=["execute", "close"])
        blobs = ["sha256:e:name", "s3://bucket/prefix/sha256/e"]
        scidex_oci.enqueue(cursor, id="a", args=[1, "x"], script=Path("a.py"), inputs=["b:/inputs/c", "/d", *blobs, "file://blobs/sha256/e"], docs="none",
                           rootfs="./root", runtime="venv/", env={"N": 2.5}, timeout=60, stage=None)
        cwd = os.getcwd()
        (_, (request, retries)), _ = cursor.execute.call_args
        self.assertEqual(json.loads(request), {
            "id": "a", "args": ["1", "x"], "script": f"{cwd}/a.py", "inputs": [f"{cwd}/b:/inputs/c", "/d", *blobs, f"file://{cwd}/blobs/sha256/e"], "docs": "none",
            "rootfs": f"{cwd}/./root", "runtime": f"{cwd}/venv/", "env": {"N": "2.5"}, "timeout": 60})
        self.assertIsNone(retries)
        cursor.close.assert_not_called()  # it is the caller's

    def test_asynchronous(self) -> None:
        class Cursor:
            async def execute(self, *_: Any) -> None:
                raise AssertionError("it is not to be awaited")

        with self.assertRaisesRegex(TypeError, "asynchronous"):
            scidex_oci.enqueue(Cursor(), command=["true"])
