"""Batch, against the real scidex-oci."""

import contextlib
import signal
import subprocess
import threading
from typing import Any, Dict, Iterator, List

from scidex_oci import Batch, CommandError

from .support import HANG, PATIENT, STUBBORN, Case, children, descriptors, only_thread


class BatchTest(Case):
    def batch(self, manifests: Any, **options: Any) -> Batch:
        return Batch(manifests, tool=self.tool, **options)

    def test_results(self) -> None:
        before = descriptors()
        lines: List[Dict[str, Any]] = [{"id": f"b{i}", "command": ["sh", "-c", f"echo {i} >f; exit {i % 2}"]} for i in range(6)]
        with self.batch(lines + [{"id": "b6", "memory": "much"}], jobs=2) as batch:
            ended = {r.id: r for r in batch}
        self.assertEqual({name: r.exit_code for name, r in ended.items()},
                         {"b0": 0, "b1": 1, "b2": 0, "b3": 1, "b4": 0, "b5": 1, "b6": 125})
        self.assertEqual((ended["b6"].attempt, ended["b6"].reason), (0, "request"))
        self.assertEqual(ended["b4"].read("f"), b"4\n")
        self.assertEqual((descriptors(), children(), only_thread()), (before, [], True))
        with self.batch(lines, resume=True) as batch:
            self.assertEqual(sorted(r.run_id for r in batch), [f"b{i}@1" for i in range(6)])

    def test_rerun(self) -> None:
        def ran(word: str, **options: Any) -> Dict[str, str]:
            lines = [{"id": f"r{i}", "command": ["sh", "-c", f"exit {i % 2}"], "env": {"W": word if i else ""}} for i in range(3)]
            with self.batch(lines, **options) as batch:
                return {r.id: f"{r.state}@{r.attempt}" for r in batch}

        self.assertEqual(ran("a"), {"r0": "complete@1", "r1": "failed@1", "r2": "complete@1"})
        self.assertEqual(ran("b", rerun="failed"), {"r0": "complete@1", "r1": "failed@2", "r2": "complete@1"})
        self.assertEqual(ran("b", rerun="changed"), {"r0": "complete@1", "r1": "failed@2", "r2": "complete@2"})
        self.assertEqual(ran("b", rerun="all"), {"r0": "complete@2", "r1": "failed@3", "r2": "complete@3"})
        with self.assertRaisesRegex(CommandError, "--rerun.*failed, changed, all"):
            ran("b", rerun="new")

    def test_lines_that_are_refused(self) -> None:
        lines: List[Any] = [{"command": ["true"]}, {"command": ["true"], "memory": "much"}]
        with self.batch(lines) as batch:
            refused = [r for r in batch if not r.ok]
        self.assertEqual([r.line for r in refused], [2])
        self.assertRegex(refused[0].message, r'\Amemory: "much"')
        lines[1] = {"comand": ["true"]}
        with self.assertRaisesRegex(TypeError, 'line 2 of Batch has no field "comand"; did you mean "command"'):
            self.batch(lines)  # before anything starts
        with self.assertRaisesRegex(TypeError, "line 2 of Batch"):
            list(self.batch(iter(lines)))
        with self.assertRaisesRegex(TypeError, "mapping of manifest fields, .*, not 'fit.py'"):
            list(self.batch(["fit.py"]))

    def test_the_next_line_depends_on_a_result(self) -> None:
        ended: "List[str]" = []
        first = threading.Event()

        def lines() -> Iterator[Dict[str, Any]]:
            yield {"id": "first", "command": ["true"]}
            first.wait(HANG)
            yield {"id": "second", "command": ["true"]}

        for result in self.batch(lines(), jobs=1):
            ended.append(result.id)
            first.set()
        self.assertEqual(ended, ["first", "second"])

    def test_file(self) -> None:
        (self.dir / "good").write_text('{"command": ["true"]}\n' * 2)
        self.assertEqual([r.state for r in self.batch(self.dir / "good")], ["complete", "complete"])
        (self.dir / "bad").write_text('{"command": ["true"]}\n{"bogus": 1}\n')
        self.assertEqual([r.reason for r in self.batch(self.dir / "bad")], ["request"])
        with self.assertRaisesRegex(CommandError, "does not exist"):
            list(self.batch(self.dir / "none"))

    def test_flags_that_are_refused(self) -> None:
        with self.assertRaisesRegex(CommandError, "whole number"):
            list(self.batch([{"command": ["true"]}], jobs=-1))

    def test_fail_fast(self) -> None:
        lines = [{"command": ["false"]}] + [{"command": ["true"]}] * 20
        ended = [r.state for r in self.batch(lines, jobs=1, fail_fast=True)]
        self.assertIn("failed", ended)  # the next line may end before it is committed
        self.assertLess(len(ended), 20)

    def test_leaving_early_ends_what_runs(self) -> None:
        def lines() -> Iterator[Dict[str, Any]]:
            yield {"id": "patient", "command": PATIENT, "grace": "1h"}
            self.wait_for_output("patient")
            yield {"id": "quick", "command": ["true"]}
            idle.wait()  # as one that has nothing to do now

        idle = threading.Event()
        self.addCleanup(idle.set)
        with self.batch(lines(), jobs=2) as batch:
            self.assertEqual(next(batch).id, "quick")
        self.assertEqual(children(), [])
        result = self.tool.show("patient")
        self.assertEqual((result.state, [o.path for o in result.outputs]), ("canceled", ["bye.txt"]))

    def test_iterable_that_raises(self) -> None:
        def lines() -> Iterator[Dict[str, Any]]:
            yield {"id": "one", "command": PATIENT}
            raise LookupError("no more")

        with self.assertRaisesRegex(LookupError, "no more"):
            list(self.batch(lines()))
        self.assertEqual(children(), [])

    def test_interrupt(self) -> None:
        child = self.python(f"""
            import json, os, scidex_oci, signal
            lines = [{{"id": "p", "command": {PATIENT!r}, "grace": "1h"}}, {{"id": "q", "command": ["true"]}}]
            try:
                with scidex_oci.Batch(lines, jobs=2) as batch:
                    for result in batch:
                        os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                print("interrupted")
        """)
        out, _ = child.communicate()
        self.assertEqual((out, child.returncode), ("interrupted\n", 0))
        self.assertEqual(self.tool.show("p").state, "canceled")

    def test_interrupt_while_it_waits(self) -> None:
        child = self.python(f"""
            import scidex_oci
            lines = [{{"id": name, "command": {PATIENT!r}, "grace": "1h"}} for name in "pq"]
            try:
                with scidex_oci.Batch(lines, jobs=2) as batch:
                    list(batch)
            except scidex_oci.Interrupted as interrupted:
                assert interrupted.result is interrupted.results[-1]
                print(sorted((r.run_id, r.state.value, [o.path for o in r.outputs]) for r in interrupted.results))
        """)
        for name in "pq":
            self.wait_for_output(name)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate()
        self.assertEqual((out, child.returncode), (f"{[(f'{name}@1', 'canceled', ['bye.txt']) for name in 'pq']}\n", 0))

    def test_the_second_interrupt_kills(self) -> None:
        child = self.python(f"""
            import scidex_oci
            try:
                list(scidex_oci.Batch([{{"id": "s", "command": {STUBBORN!r}, "grace": "1h"}}]))
            except KeyboardInterrupt:
                pass
        """)
        self.wait_for_output("s")
        while child.poll() is None:
            child.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(0.5)
        result = self.tool.show("s")
        self.assertEqual((result.state, result.signal), ("canceled", "SIGKILL"))

    def test_abandoned(self) -> None:
        child = self.python(f"""
            import scidex_oci
            for result in scidex_oci.Batch([{{"command": ["true"]}}, {{"id": "p", "command": {PATIENT!r}}}], jobs=1):
                break
        """)
        child.communicate()
        self.assertEqual(child.returncode, 0)
        self.assertIn([run["state"] for run in self.tool.ls() if run["id"] == "p"], ([], ["canceled"]))
