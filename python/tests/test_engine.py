"""The engine of an interpreter, against the real scidex-oci."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any, List, cast
from unittest import mock

import scidex_oci
from scidex_oci import EngineLost, NotFound, RequestError, Status, Tool, channel
from scidex_oci.channel import Job
from scidex_oci.engine_run import answered
from scidex_oci.engines import _engines, ask

from .support import PATIENT, PYTHON, STUBBORN, Case, descriptors, engines, has_output, until


@unittest.skipIf(os.environ.get("SCIDEX_OCI_ENGINE") == "off", "engines are tested where they are on")
class EngineCase(Case):
    """A test that has engines."""

    def setUp(self) -> None:
        super().setUp()
        self.environ["SCIDEX_OCI_ENGINE"] = "on"
        self.tool = Tool(environ=self.environ, cwd=self.dir)

    def wait_for_run(self, run_id: str) -> None:
        """Waits until a run has started and written something."""
        off = Tool(environ={**self.environ, "SCIDEX_OCI_ENGINE": "off"})
        until(f"output of {run_id}", lambda: has_output(off, run_id))


class EngineTest(EngineCase):
    def test_one_for_threads_and_tasks(self) -> None:
        async def tasks() -> List[scidex_oci.Result]:
            return await asyncio.gather(*(scidex_oci.arun(command=["true"], tool=self.tool) for _ in range(16)))

        with ThreadPoolExecutor(64) as pool:
            results = [*pool.map(lambda i: self.run_("sh", "-c", f"exit {i % 3}"), range(64)), *asyncio.run(tasks())]
        self.assertEqual([r.exit_code for r in results], [*(i % 3 for i in range(64)), *[0] * 16])
        self.assertEqual(len({r.id for r in results}), 80)
        self.assertEqual(len(engines()), 1)

    def test_off(self) -> None:
        tool = Tool(environ={**self.environ, "SCIDEX_OCI_ENGINE": "off"})
        self.assertTrue(scidex_oci.run(command=["true"], tool=tool).ok)
        self.assertEqual(engines(), [])

    def test_killed(self) -> None:
        raised: List[BaseException] = []

        def run() -> None:
            try:
                self.run_(*STUBBORN, id="killed")
            except EngineLost as error:
                raised.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        self.wait_for_run("killed")
        os.kill(engines()[0], signal.SIGKILL)
        thread.join()
        error = raised[0]
        assert isinstance(error, EngineLost)
        self.assertEqual((error.ids, error.state, error.returncode), (["killed"], Status.LOST, -signal.SIGKILL))
        self.assertRegex(str(error), r"\Akilled: the engine was killed by signal 9")
        self.assertTrue(self.run_("true", id="next").ok)
        self.tool.call("gc")
        runs = sorted((run["id"], run["attempt"], run["state"]) for run in self.tool.ls())
        self.assertEqual(runs, [("killed", 1, "lost"), ("next", 1, "complete")])  # nothing is repeated

    def test_killed_while_idle(self) -> None:
        self.run_("true", id="a")
        pid = engines()[0]
        os.kill(pid, signal.SIGKILL)
        until("the engine is reaped", lambda: not os.path.exists(f"/proc/{pid}"))  # then its pipes are closed
        self.assertTrue(self.run_("true").ok)
        self.assertEqual(self.tool.show("a").state, "complete")

    def test_reads_outlive_an_engine(self) -> None:
        run_id = scidex_oci.Executor(self.tool).run_analysis({"command": STUBBORN, "grace": "1h"})
        waited: List[scidex_oci.Result] = []
        thread = threading.Thread(target=lambda: waited.append(self.tool.show(run_id, wait=True)))
        thread.start()
        until("the request is sent", lambda: any(one._waiting for one in list(_engines.channels.values())))  # pylint: disable=protected-access
        os.kill(engines()[0], signal.SIGKILL)
        self.tool.call("stop", "--now", "--", run_id)
        thread.join()
        self.assertEqual([r.state for r in waited], ["canceled"])

    def test_two_directories_and_environments(self) -> None:
        for name in ("one", "two"):
            (self.dir / name).mkdir(mode=0o755)
            (self.dir / name / "s.sh").write_text(f"#!/bin/sh\necho {name} $WORD\n")
        self.dir.chmod(0o755)
        for directory, word in (("one", "a"), ("two", "a"), ("one", "b"), ("one", "a")):
            tool = Tool(environ={**self.environ, "WORD": word}, cwd=self.dir / directory)
            result = scidex_oci.run("s.sh", secrets=["WORD"], tool=tool, check=True)
            self.assertEqual(result.stdout(), f"{directory} {word}\n".encode())
        self.assertEqual(len(engines()), 3)

    def test_another_directory_by_the_same_name(self) -> None:
        self.dir.chmod(0o755)
        for word in ("first", "second"):
            (self.dir / "d").mkdir(mode=0o755)
            (self.dir / "d/s.sh").write_text(f"#!/bin/sh\necho {word}\n")
            result = scidex_oci.run("s.sh", tool=Tool(environ=self.environ, cwd=self.dir / "d"), check=True)
            self.assertEqual(result.stdout(), f"{word}\n".encode())
            (self.dir / "d").rename(self.dir / word)

    def test_environment_of_python_changes(self) -> None:
        for word in ("a", "b"):
            with mock.patch.dict(os.environ, {"WORD": word}):
                result = self.run_("sh", "-c", "echo $WORD", secrets=["WORD"])
            self.assertEqual(result.stdout(), f"{word}\n".encode())

    def test_not_more_than_a_few(self) -> None:
        for i in range(8):
            self.assertTrue(scidex_oci.run(command=["true"], tool=Tool(environ={**self.environ, "WORD": str(i)})).ok)
        until("at most four engines are left", lambda: len(engines()) <= 4)

    def test_nothing_is_left_open(self) -> None:
        self.run_("true")
        before = open_files()
        for _ in range(50):
            self.run_("true")
        self.assertEqual(open_files(), before)
        before_all = descriptors()  # which ends the engine
        self.run_("true")
        self.assertEqual(descriptors(), before_all)

    def test_canceled_task(self) -> None:
        async def main() -> None:
            task = asyncio.ensure_future(scidex_oci.arun(id="a", command=PATIENT, grace="1h", tool=self.tool))
            await asyncio.get_running_loop().run_in_executor(None, self.wait_for_run, "a")
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        result = self.tool.show("a")
        self.assertEqual((result.state, result.reason, [o.path for o in result.outputs]), ("canceled", "stopped", ["bye.txt"]))

    def test_task_that_is_canceled_twice(self) -> None:
        async def main() -> None:
            task = asyncio.ensure_future(scidex_oci.arun(id="a", command=STUBBORN, grace="1h", tool=self.tool))
            await asyncio.get_running_loop().run_in_executor(None, self.wait_for_run, "a")
            while not task.done():
                task.cancel()
                await asyncio.wait([task], timeout=0.1)

        asyncio.run(main())
        self.assertEqual(self.tool.show("a").signal, "SIGKILL")

    def test_canceled_before_its_turn(self) -> None:
        async def main() -> None:
            tasks = [asyncio.ensure_future(scidex_oci.arun(id=f"r{i}", command=["sleep", "1000"], tool=self.tool)) for i in range(60)]
            await asyncio.get_running_loop().run_in_executor(None, self.wait_for_start)
            until("the engine knows 20 runs", lambda: self.known() >= 20)
            self.assertEqual(self.known(), 20)  # the others wait here
            tasks[-1].cancel()
            await asyncio.wait([tasks[-1]])  # it does not wait for those before it
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.assertTrue(all(task.cancelled() for task in tasks))

        with mock.patch.object(channel, "MOST_AHEAD", 20):
            asyncio.run(main())
        self.assertEqual({run["state"] for run in self.tool.ls("--limit", "0")}, {"canceled"})
        self.assertTrue(self.run_("true").ok)

    def known(self) -> int:
        """How many runs the engine knows."""
        answer = answered(cast(Job, ask(self.tool, "list", {})))
        assert answer is not None
        return len(answer["result"]["queued"]) + len(answer["result"]["runs"])

    def wait_for_start(self) -> None:
        off = Tool(environ={**self.environ, "SCIDEX_OCI_ENGINE": "off"})
        until("a run has started", lambda: any(run["state"] == "running" for run in off.ls()))

    def test_exceptions_are_those_of_commands(self) -> None:
        off = Tool(environ={**self.environ, "SCIDEX_OCI_ENGINE": "off"}, cwd=self.dir)
        for fields in ({"memory": "much"}, {"script": "nosuch.py"}, {"script": "nosuch.py", "id": "b"}, {"id": "b*d"}, {"data": ["a"]},
                       {"labels": ["a"]}, {"timeout": "5 minutes"}):
            request: Any = {"command": ["true"], **fields} if "script" not in fields else fields
            said = []
            for tool in (self.tool, off):
                with self.subTest(fields), self.assertRaises(RequestError) as raised:
                    scidex_oci.run(tool=tool, check=True, **request)
                r = raised.exception.result
                said.append((str(raised.exception), r.state, r.reason, r.attempt, r.exit_code, repr(r)))
            self.assertEqual(*said)
        with self.assertRaisesRegex(NotFound, 'no run "nosuch"'):
            self.tool.show("nosuch")
        self.run_("true", id="once")
        with self.assertRaisesRegex(RequestError, "was used before"):
            self.run_("true", id="once", check=True)

    def test_one_that_cannot_serve(self) -> None:
        """The command says why."""
        said = []
        for switch in ("on", "off"):
            tool = Tool(environ={**self.environ, "SCIDEX_OCI_ENGINE": switch, "SCIDEX_OCI_MEMORY": "much"})
            r = scidex_oci.run(command=["true"], tool=tool)
            said.append((r.state, r.reason, r.message))
        self.assertEqual(*said)
        self.assertEqual(engines(), [])


class SocketTest(EngineCase):
    def setUp(self) -> None:
        super().setUp()
        (self.dir / "elsewhere").mkdir()
        self.engine = subprocess.Popen(self.tool.argv("serve", "--socket", str(self.dir / "engine.sock")), cwd=self.dir / "elsewhere",
                                       env=self.tool.env(), stderr=subprocess.DEVNULL)
        self.addCleanup(self.end)
        until("an engine that listens, or its end", lambda: self.listens() or self.engine.poll() is not None)
        self.assertIsNone(self.engine.poll())

    def listens(self) -> bool:
        """A socket has its name a moment before something listens on it."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(str(self.dir / "engine.sock"))
            except OSError:
                return False
        return True

    def end(self) -> None:
        scidex_oci.close_engines()
        self.engine.terminate()
        self.engine.wait()

    def test_it_is_used(self) -> None:
        (self.dir / "s.sh").write_text("#!/bin/sh\necho here\n")
        self.dir.chmod(0o755)
        result = scidex_oci.run("s.sh", tool=self.tool, check=True)
        self.assertEqual(result.stdout(), b"here\n")  # relative to our directory, not to the engine's
        self.assertEqual(engines(), [])
        with ThreadPoolExecutor(8) as pool:
            self.assertTrue(all(pool.map(lambda _: self.run_("true").ok, range(16))))
        self.assertEqual(engines(), [])

    def test_not_with_other_settings_and_secrets(self) -> None:
        tool = Tool(environ={**self.environ, "SCIDEX_OCI_PIDS": "77"})
        self.assertEqual(scidex_oci.run(command=["true"], tool=tool).analysis["pids"], 77)
        self.assertEqual(len(engines()), 1)
        result = scidex_oci.run(command=["sh", "-c", "echo $WORD"], secrets=["WORD"], tool=Tool(environ={**self.environ, "WORD": "hush"}))
        self.assertEqual(result.stdout(), b"hush\n")

    def test_killed_and_drained(self) -> None:
        self.assertTrue(self.run_("true").ok)
        self.engine.terminate()
        self.engine.wait()
        self.assertTrue(self.run_("true").ok)
        self.assertEqual(len(engines()), 1)


class InterpreterTest(EngineCase):
    """In a Python of its own."""

    def said(self, source: str) -> str:
        child = self.python(source)
        out, _ = child.communicate()
        self.assertEqual(child.returncode, 0)
        return out

    def test_fork(self) -> None:
        out = self.said("""
            import os, sys, threading, scidex_oci
            sys.path.insert(0, "")
            from tests.support import engines
            scidex_oci.run(command=["true"])
            threading.Thread(target=lambda: scidex_oci.run(command=["sleep", "1"], id="parent")).start()
            mine, files = engines(), set(os.listdir("/proc/self/fd"))
            pipes = {fd for fd in files if int(fd) > 2 and os.path.exists(f"/proc/self/fd/{fd}") and os.readlink(f"/proc/self/fd/{fd}").startswith("pipe:")}
            assert len(pipes) == 3, pipes
            pid = os.fork()
            if pid == 0:
                assert not pipes & set(os.listdir("/proc/self/fd")), "those of the parent's engine are open"
                assert scidex_oci.run(command=["true"], id="child").ok
                theirs = engines()
                assert len(theirs) == 1 and theirs != mine, (mine, theirs)
                sys.exit(7)
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), engines() == mine, scidex_oci.run(command=["true"]).ok)
        """)
        self.assertEqual(out, "7 True True\n")
        self.assertEqual(self.tool.show("parent").state, "complete")

    def test_forks_of_multiprocessing(self) -> None:
        out = self.said("""
            import multiprocessing, scidex_oci
            def one(i):
                return scidex_oci.run(command=["sh", "-c", f"exit {i}"]).exit_code
            scidex_oci.run(command=["true"])
            with multiprocessing.get_context("fork").Pool(3) as pool:
                print(pool.map(one, range(6)))
        """)
        self.assertEqual(out, "[0, 1, 2, 3, 4, 5]\n")

    def test_exit_stops_runs(self) -> None:
        out = self.said(f"""
            import threading, time, scidex_oci
            threading.Thread(target=lambda: scidex_oci.run(command={PATIENT!r}, id="d", grace="1h"), daemon=True).start()
            while True:
                try:
                    if scidex_oci.Tool().logs("d").stdout:
                        break
                except scidex_oci.CommandError:
                    pass
            print("over")
        """)
        self.assertEqual(out, "over\n")
        result = self.tool.show("d")  # Python waited for it
        self.assertEqual((result.state, [o.path for o in result.outputs]), ("canceled", ["bye.txt"]))

    def test_exit_waits_for_threads(self) -> None:
        self.said("""
            import threading, scidex_oci
            threading.Thread(target=lambda: scidex_oci.run(command=["sleep", "1"], id="t")).start()
        """)
        self.assertEqual(self.tool.show("t").state, "complete")

    def test_python_is_killed(self) -> None:
        child = self.python(f"""
            import scidex_oci
            scidex_oci.run(command={PATIENT!r}, id="k", grace="1h")
        """)
        self.wait_for_run("k")
        child.kill()
        child.wait()
        result = self.tool.show("k", wait=True)
        self.assertEqual((result.state, [o.path for o in result.outputs]), ("canceled", ["bye.txt"]))
        until("no working directory is left", lambda: not os.listdir(self.dir / "tmp"))

    def test_interrupt(self) -> None:
        for command, times, found in ((PATIENT, 1, ["bye.txt"]), (STUBBORN, 1000, [])):
            with self.subTest(times):
                child = self.python(f"""
                    import scidex_oci
                    try:
                        scidex_oci.run(command={command!r}, id="c{times}", grace="1h")
                    except scidex_oci.Interrupted as interrupted:
                        r = interrupted.result
                        print(r.state, r.reason, [o.path for o in r.outputs])
                """)
                self.wait_for_run(f"c{times}")
                for _ in range(times):
                    os.killpg(child.pid, signal.SIGINT)
                    try:
                        child.wait(0.2)
                        break
                    except subprocess.TimeoutExpired:
                        pass
                self.assertEqual(child.communicate()[0], f"canceled stopped {found}\n")

    def test_no_warnings(self) -> None:
        child = subprocess.run([sys.executable, "-X", "dev", "-W", "error", "-c", "import scidex_oci; scidex_oci.run(command=['true'])"],
                               cwd=self.dir, env={**os.environ, **self.environ, "PYTHONPATH": PYTHON}, capture_output=True, text=True,
                               check=False)
        self.assertEqual((child.returncode, child.stderr), (0, ""))


def open_files() -> int:
    """How many descriptors are open, with those of the engine."""
    return len(os.listdir("/proc/self/fd"))


if __name__ == "__main__":
    unittest.main()
