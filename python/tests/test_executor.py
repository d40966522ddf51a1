"""Executor, against the real scidex-oci."""

import functools
import threading
from typing import Callable, List

import scidex_oci
from scidex_oci import AnalysisError, Executor, NotFound, RequestError, Result, RunLogs, Status

from .support import PATIENT, STUBBORN, Case, children


class ExecutorTest(Case):
    def setUp(self) -> None:
        super().setUp()
        self.executor = Executor(self.tool, pids=50, grace="1h")

    def test_life_of_a_run(self) -> None:
        run_id = self.executor.run_analysis({"id": "a", "command": PATIENT})
        self.assertEqual(run_id, "a@1")
        self.assertEqual((self.executor.check_status(run_id), self.executor.check_status("a").tes), (Status.RUNNING, "RUNNING"))
        self.assertEqual(self.executor.result("a").analysis["pids"], 50)
        with self.assertRaisesRegex(TypeError, "mapping of manifest fields, .*, not 'fit.py'"):
            self.executor.run_analysis("fit.py")  # type: ignore[arg-type]
        with self.assertRaisesRegex(RequestError, "in use"):
            self.executor.run_analysis({"id": "a", "command": ["true"]})
        self.wait_for_output("a")
        self.assertEqual(self.executor.get_logs(run_id), RunLogs(b"ready\n", b""))
        for _ in range(2):
            self.assertIs(self.executor.kill(run_id), Status.CANCELED)
        result = Executor(self.tool).wait("a")
        self.assertEqual((result.run_id, result.state.tes, [o.path for o in result.outputs]), ("a@1", "CANCELED", ["bye.txt"]))
        # A canceled run may be run again; the run id of the first still means the first.
        self.assertEqual(self.executor.run_analysis({"id": "a", "command": ["true"]}), "a@2")
        self.assertTrue(self.executor.wait("a").ok)
        self.assertEqual(self.executor.check_status("a@1"), "canceled")

    def test_wait_for_a_time(self) -> None:
        run_id = self.executor.run_analysis({"id": "a", "command": STUBBORN})
        waits: List[Callable[..., Result]] = [self.executor.wait, functools.partial(scidex_oci.wait, tool=self.tool)]
        for wait in waits:
            for timeout in (0, 0.3):
                with self.subTest(timeout), self.assertRaisesRegex(TimeoutError, r"\Aa@1 has not ended in time, and goes on\Z"):
                    wait(run_id, timeout=timeout)
        self.assertEqual(children(), [])
        self.assertEqual(self.executor.check_status(run_id), "running")
        self.executor.kill(run_id, now=True)
        for wait in waits:
            self.assertEqual(wait(run_id, timeout=0).state, "canceled")
            with self.assertRaises(NotFound):
                wait("b", timeout=0)

    def test_kill_now(self) -> None:
        run_id = self.executor.run_analysis({"command": STUBBORN})
        self.assertEqual(self.executor.kill(run_id, now=True), "canceled")
        self.assertEqual(self.executor.result(run_id).signal, "SIGKILL")

    def test_one_that_cannot_begin(self) -> None:
        run_id = self.executor.run_analysis({"command": ["no-such-command"]})
        self.assertEqual((self.executor.check_status(run_id), self.executor.result(run_id).reason), ("failed", "not_found"))
        self.assertEqual(self.executor.kill(run_id), "failed")

    def test_refused_and_unknown(self) -> None:
        with self.assertRaisesRegex(RequestError, "much"):
            self.executor.run_analysis({"id": "b", "command": ["true"], "memory": "much"})
        with self.assertRaisesRegex(TypeError, 'run_analysis.* no field "memroy"; did you mean "memory"'):
            self.executor.run_analysis({"id": "b", "command": ["true"], "memroy": 1})
        with self.assertRaisesRegex(TypeError, 'Executor.* no field "lok"; did you mean "lock"'):
            Executor(self.tool, lok="file")
        self.assertTrue(issubclass(RequestError, AnalysisError))
        for ask in (self.executor.check_status, self.executor.kill, self.executor.get_logs):
            with self.assertRaises(NotFound):
                ask("b")

    def test_kill_takes_no_beginning_of_an_id(self) -> None:
        self.executor.run_analysis({"id": "job-10", "command": STUBBORN})
        with self.assertRaises(NotFound):
            self.executor.kill("job-1", now=True)
        self.assertEqual(self.executor.check_status("job-10"), "running")
        self.executor.kill("job-10", now=True)

    def test_threads_that_start_the_same(self) -> None:
        ended: List[str] = []

        def start() -> None:
            try:
                ended.append(self.executor.run_analysis({"id": "same", "command": ["true"]}))
            except RequestError:
                ended.append("refused")

        threads = [threading.Thread(target=start) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(ended), ["refused"] * 3 + ["same@1"])
        self.assertTrue(self.executor.wait("same").ok)

    def test_lock(self) -> None:
        first = Executor(self.tool, lock=self.dir / "lock")
        run_id = first.run_analysis({"command": STUBBORN})
        taken = threading.Event()

        def second() -> None:
            with Executor(self.tool, lock=self.dir / "lock"):
                taken.set()

        thread = threading.Thread(target=second)
        thread.start()
        self.assertFalse(taken.wait(0.2))
        first.close()  # the run that goes on does not hold it
        thread.join()
        self.assertTrue(taken.is_set())
        first.kill(run_id, now=True)
