"""Results as they are read, without running anything."""

import copy
import json
import pickle
import unittest
from dataclasses import asdict, fields, is_dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Dict

from scidex_oci import (AnalysisCanceled, AnalysisError, AnalysisFailed, Manifest, Output, RequestError, Result, Status)
from scidex_oci.manifest import LISTS
from scidex_oci.errors import error_of

SCHEMAS = Path(__file__).parent.parent.parent / "docs/schema"

RAW: Dict[str, Any] = {
    "v": 1, "id": "a", "attempt": 2, "state": "failed", "reason": "out_of_memory", "message": "more than its 4MiB of memory",
    "exit_code": 137, "signal": "SIGKILL", "created_at": "2026-11-21T23:56:38.428123456Z", "started_at": "2026-11-21T23:56:39Z",
    "finished_at": None, "usage": {"wall_ms": 1500, "of_tomorrow": 1},
    "evidence": {"oom_kills": 1, "oom_limit": {"by": "cgroup", "bytes": 4194304}},
    "outputs": [{"path": "a.csv", "size": 3, "mode": "0640", "partial": True}, {"path": "b\\xff", "path_b64": "Yv8="}],
    "outputs_total": 9, "rejected": [{"path": "l", "reason": "symlink", "detail": "-> /etc"}], "rejected_total": 1,
    "warnings": ["beware"], "hints": [{"code": "memory_limit", "message": "give it more", "of_tomorrow": 1}], "enforced": None, "post_process": None, "of_tomorrow": {"x": 1},
}


class ResultTest(unittest.TestCase):
    def test_fields(self) -> None:
        r = Result.from_json(RAW)
        self.assertEqual((r.run_id, r.state, r.reason, r.exit_code), ("a@2", Status.FAILED, "out_of_memory", 137))
        self.assertEqual(r.state, "failed")
        self.assertEqual(r.created_at, datetime(2026, 11, 21, 23, 56, 38, 428123, timezone.utc))
        self.assertEqual(r.started_at, datetime(2026, 11, 21, 23, 56, 39, 0, timezone.utc))
        self.assertIsNone(r.finished_at)
        self.assertEqual((r.usage.wall_ms, r.usage.cpu_ms), (1500, 0))
        assert r.evidence.oom_limit is not None
        self.assertEqual(r.evidence.oom_limit.by, "cgroup")
        self.assertEqual([o.name for o in r.outputs], [b"a.csv", b"b\xff"])
        self.assertEqual(r.enforced, [])
        self.assertEqual(r.raw["of_tomorrow"], {"x": 1})

    def test_repr_is_one_short_line(self) -> None:
        self.assertEqual(repr(Result.from_json(RAW)), "<Result a@2: failed (out_of_memory), 9 outputs, 1.5 s: more than its 4MiB of memory>")
        self.assertEqual(repr(Result.from_json({**RAW, "state": "complete", "reason": "exit"})), "<Result a@2: complete (exit), 9 outputs, 1.5 s>")
        self.assertEqual(repr(Result.from_json({**RAW, "reason": "", "state": "running", "outputs_total": 1})),
                         "<Result a@2: running, 1 output, 1.5 s>")
        self.assertIsNone(Result.from_json({**RAW, "state": "running", "exit_code": None}).exit_code)
        refused = Result.from_json({"state": "error", "reason": "request", "message": "-:1: unknown field"})
        self.assertEqual(repr(refused), "<Result without a run: error (request): unknown field>")
        self.assertEqual(repr(RequestError(refused)), "RequestError(<Result without a run: error (request): unknown field>)")
        long = Result.from_json({"id": "a", "state": "error", "reason": "request", "message": "a\n b " + "x" * 200})
        self.assertEqual(repr(long), f"<Result a: error (request): a b {'x' * 93}...>")

    def test_hints_are_of_python(self) -> None:
        for message, want in (
                ("the run may use 1GiB of memory: give it more with --memory SIZE", "the run may use 1GiB of memory: give it more with memory=SIZE"),
                ("pass the files with --data DIR or --input FILE, or with --allow-host", "pass the files with data=DIR or inputs=[FILE], or with allow_hosts"),
                ("to read it, add --input 'a b.csv' and open /inputs/a b.csv", 'to read it, add inputs=["a b.csv"] and open /inputs/a b.csv'),
                ("run it with --script fit.py, or with --project . as /analysis/fit.py", 'run it with script="fit.py", or with project="." as /analysis/fit.py'),
                ("add --input /a/b.csv:/inputs/b.csv: it", 'add inputs=["/a/b.csv:/inputs/b.csv"]: it'),
                ("give it more with --work-size SIZE or --work-files N", "give it more with work_size=SIZE or work_files=N"),
                ("a program is missing: add --data o'x", "a program is missing: add --data o'x"),
                ("run it with -- sh -c 'a", "run it with -- sh -c 'a"),
                ("run with --ids self", 'run with ids="self"'),
                ("Python says where with --env PYTHONFAULTHANDLER=1; another", 'Python says where with env={"PYTHONFAULTHANDLER": "1"}; another'),
                ("choose another directory or add --overwrite", "choose another directory or add overwrite=True"),
                ("--cpus 4 is above the 2 that this host has", "cpus=4 is above the 2 that this host has"),
                ("no file, so --export has nothing to copy", "no file, so export has nothing to copy"),
                ("it is not next to the script in --project", "it is not next to the script in project"),
                ("run it with -- sh -c 'ls | wc'", 'run it with command=["sh", "-c", "ls | wc"]'),
                ("make room with scidex-oci gc --dry-run", "make room with scidex-oci gc --dry-run")):
            with self.subTest(message):
                hint, = Result.from_json({**RAW, "hints": [{"code": "x", "message": message}]}).hints
                self.assertEqual((hint.code, hint.message), ("x", want))
        for why, where in (("the script got no arguments", "put them after --, as in --script FILE -- ARG (args: [ARG] in a manifest)"),
                           ("the script got only the argument a:b, and wants more", "add them at the end")):
            hint, = Result.from_json({"hints": [{"code": "arguments_missing", "message": f"{why}: {where}"}]}).hints
            self.assertEqual(hint.message, f"{why}: give what it lacks in args, or at the end of command")

    def test_messages_are_of_python(self) -> None:
        for given, want in (
                ({"attempt": 0, "message": '--data "/a b/c:d": does not exist'}, 'data="/a b/c:d": does not exist'),
                ({"attempt": 0, "message": "--ids self would be root"}, 'ids="self" would be root'),
                ({"attempt": 1, "reason": "work_full", "message": "its bound is 1MiB (--work-size)"}, "its bound is 1MiB (work_size)"),
                ({"attempt": 1, "reason": "exit", "message": "error: no option --data x"}, "error: no option --data x")):
            with self.subTest(given):
                self.assertEqual(Result.from_json(given).message, want)

    def test_truth(self) -> None:
        self.assertEqual([bool(Result.from_json({"state": state})) for state in ("complete", "failed", "error", "running")],
                         [True, False, False, False])

    def test_a_position_in_standard_input_is_left_out(self) -> None:
        for message in ("-:1: memory: no", "standard input:12: memory: no", "memory: no"):
            refused = Result.from_json({"state": "error", "reason": "request", "message": message})
            self.assertEqual((refused.message, str(RequestError(refused))), ("memory: no", "memory: no"))
        ended = Result.from_json({**RAW, "message": "-:1: of the analysis"})
        self.assertEqual(ended.message, "-:1: of the analysis")

    def test_notes(self) -> None:
        self.assertEqual(
            Result.from_json(RAW).completion_notes,
            "failed (out_of_memory): more than its 4MiB of memory. Exit code 137 after 1.5 s. "
            "Outputs: 9, a.csv (partial), b\\xff and 4 more. Not kept: 1, l (symlink). Hint: give it more. Warning: beware.")

    def test_state_of_tomorrow(self) -> None:
        r = Result.from_json({**RAW, "state": "paused"})
        self.assertEqual((r.state, r.state.final, r.state.tes), (Status.UNKNOWN, False, "UNKNOWN"))
        self.assertIsNone(error_of(r))

    def test_errors(self) -> None:
        for state, reason, want in (("failed", "exit", AnalysisFailed), ("canceled", "stopped", AnalysisCanceled),
                                    ("error", "commit", AnalysisError), ("error", "request", RequestError),
                                    ("lost", "supervisor_lost", AnalysisError), ("complete", "exit", type(None)),
                                    ("running", "", type(None))):
            with self.subTest(state=state, reason=reason):
                self.assertIs(type(error_of(Result.from_json({"state": state, "reason": reason}))), want)

    def test_an_error_says_what_to_do(self) -> None:
        self.assertEqual(str(error_of(Result.from_json(RAW))), "a@2: more than its 4MiB of memory\nhint: give it more")

    def test_no_tool(self) -> None:
        with self.assertRaisesRegex(ValueError, "not made by a scidex-oci"):
            Result.from_json(RAW).read("a.csv")
        with self.assertRaisesRegex(ValueError, "not made by a scidex-oci"):
            Result.from_json(RAW).outputs[0].read()
        with self.assertRaisesRegex(ValueError, "belongs to no result"):
            Output(path="a.csv").read()

    def test_copies(self) -> None:
        r = Result.from_json(RAW)
        self.assertEqual(asdict(r)["outputs"][0]["path"], "a.csv")
        for same in (pickle.loads(pickle.dumps(r)), copy.deepcopy(r)):
            self.assertEqual((same, same.outputs[0]._result), (r, same))


class SchemaTest(unittest.TestCase):
    def test_result(self) -> None:
        schema = json.loads((SCHEMAS / "result.json").read_text())
        ours = {"raw", "tool"}  # not of the JSON
        self.assertEqual(set(differences(Result, schema, schema)), ours)
        self.assertEqual({str(state) for state in Status} - {"unknown"}, set(schema["properties"]["state"]["enum"]))

    def test_manifest(self) -> None:
        schema = json.loads((SCHEMAS / "manifest.json").read_text())
        self.assertEqual(Manifest.__annotations__.keys(), schema["properties"].keys())
        self.assertEqual(set(LISTS), {name for name, field in schema["properties"].items() if field.get("type") == "array"})


def differences(kind: Any, node: Dict[str, Any], schema: Dict[str, Any], where: str = "") -> "list[str]":
    """The names that either a dataclass or what a schema says of its object lacks, below it too."""
    while "properties" not in node:  # a reference, or an object or null
        node = schema["$defs"][node["$ref"].split("/")[-1]] if "$ref" in node else node["anyOf"][0]
    described, known = node["properties"], {one.name: one for one in fields(kind)}
    found = [where + name for name in described.keys() ^ known.keys()]
    for name in described.keys() & known.keys():
        below = known[name].metadata.get("one") or known[name].metadata.get("many")
        if below is not None:
            item = described[name].get("items", described[name])
            found += differences(below, item, schema, where + name + ".")
    return found


def unknown(kind: Any, raw: Dict[str, Any], where: str = "") -> "list[str]":
    """The names in raw that a dataclass lacks, below it too."""
    known = {one.name: one for one in fields(kind)}
    found = [where + name for name in raw if name not in known]
    for name, one in known.items():
        below = one.metadata.get("one") or one.metadata.get("many")
        if below is None or not raw.get(name):
            continue
        assert is_dataclass(below)
        for item in raw[name] if "many" in one.metadata else [raw[name]]:
            found += unknown(below, item, where + name + ".")
    return found
