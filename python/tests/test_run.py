"""run, against the real scidex-oci."""

import asyncio
import dataclasses
import inspect
import json
import os
import signal
import threading
import unittest
from datetime import timedelta
from pathlib import PurePath
from typing import Any, List

import scidex_oci
from scidex_oci import (AnalysisFailed, CommandError, NotFound, NotInstalled, OutputNotFound, RequestError, Result, Status, Tool)
from scidex_oci.running import OPTIONS

from .support import PATIENT, STUBBORN, Case, children, descriptors, only_thread
from .test_result import unknown


class RunTest(Case):
    def test_complete(self) -> None:
        r = self.run_("sh", "-c", """
            echo out; echo err >&2; printf 12 >a.txt; ln -s a.txt link; mkfifo f; printf x >$(printf 'b\\377')""",
                      id="one", labels={"k": "v"}, timeout=timedelta(minutes=2), memory="1GiB")
        self.assertEqual((r.run_id, r.state, r.ok, r.reason, r.exit_code), ("one@1", "complete", True, "exit", 0))
        self.assertEqual((r.labels, r.analysis["timeout"], r.analysis["memory"]), ({"k": "v"}, "2m", 1 << 30))
        self.assertEqual(r.stdout(), b"out\n")
        self.assertEqual(r.stderr(), b"err\n")
        self.assertEqual(sorted(o.name for o in r.outputs), [b"a.txt", b"b\xff"])
        self.assertEqual({e.path: e.reason for e in r.rejected}, {"f": "fifo", "link": "symlink"})
        self.assertEqual(r.read("a.txt"), b"12")
        self.assertEqual(r.read(os.fsdecode(b"b\xff")), b"x")
        self.assertEqual(sorted(o.read() for o in r.outputs), [b"12", b"x"])
        self.assertEqual(list(r.all_outputs()), r.outputs)
        self.assertEqual(self.tool.show("one").outputs, r.outputs)

    def test_no_field_is_unknown(self) -> None:
        r = self.run_("sh", "-c", "touch a; ln -s a b; exit 1", keep="failed")
        self.assertEqual(unknown(Result, r.raw), [])
        self.assertTrue(r.kept)
        self.tool.call("rm", r.id)

    def test_export(self) -> None:
        r = self.run_("sh", "-c", "mkdir d; echo 1 >d/a")
        r.export(PurePath(self.dir, "out"))
        self.assertEqual((self.dir / "out/d/a").read_text(), "1\n")
        with self.assertRaisesRegex(CommandError, "use overwrite=True$"):
            r.export(self.dir / "out")
        r.export(self.dir / "out", overwrite=True)
        named = self.run_("sh", "-c", "echo mine >scidex-result.json")
        with self.assertWarnsRegex(UserWarning, 'the output "scidex-result.json" is not written'):
            named.export(self.dir / "named")

    def test_last(self) -> None:
        r = self.run_("true")
        self.assertEqual([self.tool.show("@last").id, self.tool.show("@last", wait=True).id, scidex_oci.wait("@last", tool=self.tool).id], [r.id] * 3)
        self.assertEqual(asyncio.run(scidex_oci.AsyncExecutor(self.tool).wait("@last")).id, r.id)
        with self.assertRaises(NotFound):
            self.tool.show(r.id[:-1])  # a beginning is not enough

    def test_all_outputs_of_many(self) -> None:
        r = self.run_("sh", "-c", "touch a b c; mkfifo d")
        cut = dataclasses.replace(r, outputs=r.outputs[:1], listing_truncated=True)
        self.assertEqual(list(cut.all_outputs()), r.outputs)
        self.assertEqual([o.read() for o in cut.all_outputs()], [b""] * 3)

    def test_failed(self) -> None:
        self.assertEqual(self.run_("sh", "-c", "exit 3").exit_code, 3)
        with self.assertRaisesRegex(AnalysisFailed, "two@1: the analysis exited with 3") as raised:
            self.run_("sh", "-c", "exit 3", id="two", check=True)
        self.assertEqual(raised.exception.result.exit_code, 3)
        with self.assertRaisesRegex(AnalysisFailed, r"\Athree@1: command \"nosuch\" is not .*\nhint: .*runtime=DIR"):
            self.run_("nosuch", id="three", check=True)

    def test_output_that_is_not_there(self) -> None:
        r = self.run_("sh", "-c", "for name in a b c d e f; do echo >$name.csv; done; ln -s /etc l")
        for name, why in (("a.cs", r"it has 'a\.csv'"), ("x", r"it has 'a\.csv', 'b\.csv', 'c\.csv', 'd\.csv', 'e\.csv' and 1 more"),
                          ("l", "it was rejected: symlink -> /etc")):
            for read in (r.read, r.table, r.image, r.dataframe):
                with self.assertRaisesRegex(FileNotFoundError, rf"\A{r.run_id} has no output '{name}'; {why}\Z") as raised:
                    read(name)
                self.assertIsInstance(raised.exception, OutputNotFound)
        for name in ("x", "l"):  # the command says so if the result does not know
            with self.assertRaisesRegex(OutputNotFound, name):
                dataclasses.replace(r, listing_truncated=True).read(name)
        with self.assertRaisesRegex(OutputNotFound, "has no output 'x'; it has none"):
            self.run_("true").read("x")

    def test_refused(self) -> None:
        r = self.run_("true", memory="much")
        self.assertEqual((r.state, r.reason, r.attempt), (Status.ERROR, "request", 0))
        with self.assertRaisesRegex(RequestError, 'memory: "much" is no'):
            self.run_("true", memory="much", check=True)
        with self.assertRaisesRegex(ValueError, "was refused"):
            r.read("a")
        with self.assertRaisesRegex(TypeError, "cannot hold"):
            self.run_("true", data=b"bytes")

    def test_script_without_its_name(self) -> None:
        (self.dir / "s.sh").write_text("#!/bin/sh\necho $1\n")
        self.dir.chmod(0o755)
        for script in ("s.sh", PurePath("s.sh")):
            self.assertEqual(scidex_oci.run(script, args=["a"], tool=self.tool, check=True).stdout(), b"a\n")
        with self.assertRaisesRegex(TypeError, "two scripts, 's.sh' and 't.sh'; give one"):
            scidex_oci.run("s.sh", tool=self.tool, **{"script": "t.sh"})  # type: ignore[misc]

    def test_no_program(self) -> None:
        for fields in ({}, {"command": []}, {"memory": "1GiB"}):
            with self.assertRaisesRegex(TypeError, r'run\(script="fit.py"\), or a command, run\(command='):
                scidex_oci.run(tool=self.tool, **fields)  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, r"both a script, 's.sh', and a command, \['true'\]; give one"):
            scidex_oci.run("s.sh", command=["true"], tool=self.tool)
        with self.assertRaisesRegex(TypeError, r"the path of a file, not \['true'\]; run a command by run\(command="):
            scidex_oci.run(["true"], tool=self.tool)  # type: ignore[arg-type]

    def test_refusals_begin_with_the_field(self) -> None:
        (self.dir / "data").mkdir()
        self.assertTrue(self.run_("true", data=self.dir / "data", memory=1e9).ok)
        for fields, message in (({"timeout": "5 minutes"}, 'timeout: "5 minutes" is no'), ({"memory": "lots"}, 'memory: "lots" is no'),
                                ({"data": ["a"]}, "data: must be text, not a list"),
                                ({"labels": ["a"]}, "labels: must be a mapping")):
            with self.subTest(fields), self.assertRaises(RequestError) as raised:
                self.run_("true", check=True, **fields)
            self.assertRegex(str(raised.exception), f"\\A{message}")
        for value, kind in ((float("nan"), ValueError), (float("inf"), ValueError), ({1}, TypeError)):
            with self.subTest(value), self.assertRaisesRegex(kind, r"\Atimeout: a manifest cannot hold"):
                self.run_("true", timeout=value)

    def test_arguments_of_a_wrong_type(self) -> None:
        for options, message in (({"tool": "scidex-oci"}, r"such as Tool\(binary=...\), not 'scidex-oci'"),
                                 ({"flags": "--ids=range"}, r"such as \['--ids=range'\]"), ({"on_output": 1}, "on_output is a function")):
            with self.subTest(options), self.assertRaisesRegex(TypeError, message):
                scidex_oci.run(command=["true"], **{"tool": self.tool, **options})  # type: ignore[arg-type]

    def test_unknown_keywords(self) -> None:
        run: Any = scidex_oci.run
        for keyword, advice in (("chek", 'did you mean "check"'), ("memroy", 'did you mean "memory"'), ("zzz", "help")):
            with self.assertRaisesRegex(TypeError, rf'\Arun\(\) has no field "{keyword}"; {advice}'):
                run(command=["false"], tool=self.tool, **{keyword: 1})
        with self.assertRaisesRegex(TypeError, 'run_python_script.* "timeout_second"; did you mean "timeout_seconds"'):
            scidex_oci.run_python_script("a", "fit.py", timeout_second=1, tool=self.tool)
        options = [p.name for p in inspect.signature(run).parameters.values() if p.kind is p.KEYWORD_ONLY]
        self.assertEqual(list(OPTIONS), options)

    def test_text_in_place_of_a_list(self) -> None:
        for field, value, advice in (("command", "echo 'h i'", '["echo", "h i"]'), ("args", "1 2", '["1", "2"]'), ("args", "'", '["\'"]'),
                                     ("outputs", "*.csv", '["*.csv"]'), ("inputs", PurePath("a b"), '["a b"]')):
            with self.subTest(value), self.assertRaises(TypeError) as raised:
                scidex_oci.run(**{"command": ["true"], "tool": self.tool, field: value})  # type: ignore[arg-type]
            self.assertIn(f"{field}: must be a list, such as {advice}, not ", str(raised.exception))

    def test_none_at_depth(self) -> None:
        for fields, where in (({"env": {"A": "", "X": None}}, r'env\["X"\]'), ({"args": ["a", None]}, r"args\[1\]")):
            with self.subTest(where), self.assertRaisesRegex(TypeError, rf"\A{where}: a manifest cannot hold None"):
                self.run_("true", **fields)

    def test_again(self) -> None:
        self.run_("sh", "-c", "exit 4", id="three")
        r = scidex_oci.run(again="three", tool=self.tool)
        self.assertEqual((r.run_id, r.exit_code), ("three@2", 4))
        self.assertEqual(self.tool.show("three@1").run_id, "three@1")
        with self.assertRaisesRegex(ValueError, "takes no fields"):
            scidex_oci.run(again="three", memory=1, tool=self.tool)

    def test_secret_and_relative_script(self) -> None:
        (self.dir / "s.sh").write_text('#!/bin/sh\necho "$WORD" | tr a-z A-Z\n')
        tool = Tool(environ={**self.environ, "WORD": "hush"}, cwd=self.dir)
        self.dir.chmod(0o755)
        r = scidex_oci.run(script=PurePath("s.sh"), secrets=["WORD"], tool=tool, check=True)
        self.assertEqual(r.stdout(), b"HUSH\n")

    def test_output_as_it_comes(self) -> None:
        heard: List[str] = []
        r = self.run_("sh", "-c", "printf 'gr\\303\\274n\\n'; echo err >&2", on_output=heard.append)
        self.assertTrue(r.ok)
        self.assertEqual(sorted("".join(heard).split()), ["err", "grün"])

    def test_truncated_logs(self) -> None:
        r = self.run_("sh", "-c", "head -c 3000 /dev/zero; head -c 3000 /dev/zero >&2", log_size=1024)
        self.assertEqual((r.stdout(), r.stderr()), (bytes(1024), bytes(1024)))

    def test_much_output_and_a_large_request(self) -> None:
        heard = [0]

        def count(text: str) -> None:
            heard[0] += len(text)

        r = self.run_("sh", "-c", "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2", on_output=count,
                      env={f"V{i}": "x" * 5000 for i in range(100)})
        self.assertEqual((r.state, heard[0], len(r.stdout())), ("complete", 6000000, 3000000))

    def test_listener_that_raises_stops_the_run(self) -> None:
        def refuse(text: str) -> None:
            raise LookupError(text)

        with self.assertRaisesRegex(LookupError, "ready"):
            self.run_(*PATIENT, id="heard", on_output=refuse)
        self.assertEqual(self.tool.show("heard").state, "canceled")

    def test_not_installed(self) -> None:
        (self.dir / "garbage").write_bytes(b"\0")
        (self.dir / "garbage").chmod(0o755)
        with self.assertRaisesRegex(NotInstalled, "garbage cannot be started .*: install scidex-oci"):
            scidex_oci.run(command=["true"], tool=Tool(binary=self.dir / "garbage"))
        for binary in ("/nonexistent/scidex-oci", "scidex-oci-that-is-not", "/etc/passwd"):
            with self.assertRaisesRegex(NotInstalled, binary):
                scidex_oci.run(command=["true"], tool=Tool(binary=binary))
        with self.assertRaisesRegex(FileNotFoundError, "nowhere"):
            scidex_oci.run(command=["true"], tool=Tool(cwd="/nowhere"))

    def test_names_are_exact(self) -> None:
        self.run_("true", id="job-10")
        for name in ("job-1", "job-1@1", "job-10@2", "job"):
            with self.assertRaises(NotFound):
                self.tool.show(name)
        self.run_("true", id="job-11")
        with self.assertRaises(NotFound):
            self.tool.show("job-1")

    def test_nothing_leaks(self) -> None:
        self.run_("true")
        before = descriptors()
        threads = [threading.Thread(target=self.run_, args=("sh", "-c", "echo; exit 1")) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(descriptors(), before)
        self.assertEqual(children(), [])
        self.assertTrue(only_thread())

    def test_killed_tool(self) -> None:
        def kill(_: str) -> None:
            for pid in children():
                os.kill(pid, signal.SIGKILL)

        with self.assertRaisesRegex(CommandError, "killed by signal 9"):
            self.run_(*STUBBORN, id="killed", on_output=kill)
        self.tool.call("gc")
        self.assertEqual(self.tool.show("killed").state, "lost")


class InterruptTest(Case):
    """Ctrl-C, in a Python of its own."""

    def ready(self, command: List[str]) -> "tuple[object, int]":
        child = self.python(f"""
            import json, scidex_oci
            try:
                scidex_oci.run(command={command!r}, id="c", grace="1h", on_output=lambda text: print(text, end="", flush=True))
            except scidex_oci.Interrupted as interrupted:
                r = interrupted.result
                assert interrupted.__cause__ is None, "a traceback shows two interrupts"
                print(json.dumps([r.state, r.reason, r.signal, [o.path for o in r.outputs]]))
        """)
        assert child.stdout is not None
        self.assertEqual(child.stdout.readline(), "ready\n")
        return child, child.pid

    def result(self, child: object) -> "list[object]":
        out, _ = child.communicate()  # type: ignore[attr-defined]
        self.assertEqual(child.returncode, 0)  # type: ignore[attr-defined]
        found: "list[object]" = json.loads(out.splitlines()[-1])  # before it, the shell may speak
        return found

    def test_of_the_process_group(self) -> None:
        child, pid = self.ready(PATIENT)
        os.killpg(pid, signal.SIGINT)  # as a terminal does
        self.assertEqual(self.result(child), ["canceled", "stopped", None, ["bye.txt"]])

    def test_of_python_alone(self) -> None:
        child, pid = self.ready(PATIENT)
        os.kill(pid, signal.SIGINT)
        self.assertEqual(self.result(child), ["canceled", "stopped", None, ["bye.txt"]])

    def test_killed_in_a_batch(self) -> None:
        child = self.python(f"""
            import scidex_oci
            list(scidex_oci.Batch([{{"command": {PATIENT!r}, "id": "b", "grace": "1h"}}]))
        """)
        self.wait_for_output("b")
        child.kill()
        child.wait()
        result = self.tool.show("b", wait=True)
        self.assertEqual((result.state, [o.path for o in result.outputs]), ("canceled", ["bye.txt"]))

    def test_the_second_kills(self) -> None:
        child, pid = self.ready(STUBBORN)
        os.killpg(pid, signal.SIGINT)
        self.tool.call("logs", "c")  # some work, in which the first is taken
        while child.poll() is None:  # type: ignore[attr-defined]
            os.killpg(pid, signal.SIGINT)
            try:
                child.wait(0.1)  # type: ignore[attr-defined]
            except Exception:  # pylint: disable=broad-except # not yet
                pass
        self.assertEqual(self.tool.show("c").state, "canceled")
        self.assertEqual(self.tool.show("c").signal, "SIGKILL")


if __name__ == "__main__":
    unittest.main()
