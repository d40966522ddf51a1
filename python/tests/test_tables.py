"""Records of outputs, and tables of many runs."""

import asyncio
import json
import signal
import unittest
from typing import Any, Dict, List
from unittest import mock

import scidex_oci
from scidex_oci import Batch, CommandError, Result, Table
from scidex_oci.records import MAX_COLUMNS, records

from .support import PATIENT, Case, until

try:
    import pandas
except ImportError:
    pandas = None  # type: ignore[assignment]


class RecordsTest(unittest.TestCase):
    def test_formats(self) -> None:
        for name, data, want in (
                ("a.csv", "x,y\n1,2.5\n-2,\n", [{"x": 1, "y": 2.5}, {"x": -2, "y": None}]),
                ("a.csv", "\ufeffx\r\n\"a,\n\"\"b\"\r\n", [{"x": 'a,\n"b'}]),
                ("a.csv", "x,y,z,w\ntrue,007,1e3,9999999999999999999\nFalse,1,nan,1\n",
                 [{"x": True, "y": "007", "z": 1000.0, "w": "9999999999999999999"}, {"x": False, "y": "1", "z": mock.ANY, "w": "1"}]),
                ("a.csv", "x,y,z,w\nNA,NA,NA,\n1,a,.5,\n", [{"x": None, "y": "NA", "z": None, "w": None}, {"x": 1, "y": "a", "z": 0.5, "w": None}]),
                ("a.csv", ",x\n0,1_0\n", [{"column1": 0, "x": "1_0"}]),
                ("A.TSV", "x\ty\n1\ta,b\n", [{"x": 1, "y": "a,b"}]),
                ("a.csv", "", []),
                ("a.csv", "x\n", []),
                ("a.json", '{"x": 1, "y": [2]}', [{"x": 1, "y": [2]}]),
                ("a.json", '[{"x": 1}, {"y": null}]', [{"x": 1}, {"y": None}]),
                ("a.jsonl", '{"x": "\u2028"}\n\n{"x": 2}', [{"x": "\u2028"}, {"x": 2}])):
            with self.subTest(name=name, data=data):
                self.assertEqual(records(name, data.encode()), want)

    def test_refused(self) -> None:
        for name, data, message in (
                ("a.csv", b"x,y\n1\n", r"'a.csv' cannot be read: line 2 has 1 cells, the header 2"),
                ("a.csv", b"x\n1,2\n", "line 2 has 2 cells, the header 1"),
                ("a.csv", b"x,x\n1,2\n", "two of its columns are named 'x'"),
                ("a.csv", b'x\n"a', "cannot be read: .*unexpected end of data"),
                ("a.csv", b"x\n\xff\n", "cannot be read: .*utf-8"),
                ("a.csv", b"x\n" + b"a" * 200000, "cannot be read: .*field larger than field limit"),
                ("a.csv", b"," * MAX_COLUMNS + b"\n", "more than 1000 columns"),
                ("a.json", json.dumps([{f"c{i}": 1} for i in range(MAX_COLUMNS + 1)]).encode(), "more than 1000 columns"),
                ("a.json", b"[1]", "must be an object, an array of objects, or an object a line"),
                ("a.json", b"{", "'a.json' cannot be read: "),
                ("a.json", b"[" * 100000 + b"]" * 100000, "nested too deeply"),
                ("a.jsonl", b"{}\n[{}]", "must be an object"),
                ("a.parquet", b"PAR1", "only pandas reads Parquet"),
                ("a.txt", b"x", r"'a.txt' is no table by its name: it must end in .csv, .tsv")):
            with self.subTest(name=name, data=data[:20]), self.assertRaisesRegex(ValueError, message):
                records(name, data)

    def test_table(self) -> None:
        table = Table([{"x": 1}, {"y": 2}])
        self.assertEqual((table.columns, list(table), table[1], len(table), table.column("y")),
                         (["x", "y"], [{"x": 1, "y": None}, {"x": None, "y": 2}], {"x": None, "y": 2}, 2, [None, 2]))
        with self.assertRaises(KeyError):
            table.column("z")

    def test_without_pandas(self) -> None:
        with mock.patch.dict("sys.modules", pandas=None):
            with self.assertRaisesRegex(ImportError, r"needs pandas: install it .*\(pip install pandas, in Debian python3-pandas\); its rows"):
                Table([{"x": 1}]).to_dataframe()

    @unittest.skipIf(pandas is None, "skipped: there is no pandas for this Python")
    def test_to_dataframe(self) -> None:
        frame = Table([{"x": 1}, {"x": 2, "y": "a"}], ["y"]).to_dataframe()
        self.assertEqual((list(frame.columns), frame["x"].tolist(), frame["y"].tolist()), (["y", "x"], [1, 2], [None, "a"]))


class TablesTest(Case):
    def one(self, *, files: Dict[str, Any]) -> Result:
        return scidex_oci.run(command=["cp", "-r", "/inputs/given/.", "."], inputs=[self.given(files)], tool=self.tool, check=True)

    def given(self, files: Dict[str, Any]) -> str:
        (self.dir / "given").mkdir(exist_ok=True)
        for name, text in files.items():
            (self.dir / "given" / name).write_text(text)
        return f"{self.dir}/given:/inputs/given"

    def test_outputs(self) -> None:
        result = self.one(files={"a.csv": "x\n1\n", "b.json": '[{"y": 2}]', "c.tsv": "x\tz\n3\tb\n"})
        self.assertEqual([list(result.table(name)) for name in ("a.csv", "b.json", "c.tsv")], [[{"x": 1}], [{"y": 2}], [{"x": 3, "z": "b"}]])
        with mock.patch.dict("sys.modules", pandas=None):
            with self.assertRaisesRegex(ImportError, r"needs pandas: .*table\(\) has the records without it"):
                result.dataframe("a.csv")
        if pandas is None:
            return
        self.assertEqual(result.dataframe("a.csv", dtype=str).to_dict("records"), [{"x": "1"}])
        self.assertEqual(result.dataframe("c.tsv").to_dict("records"), [{"x": 3, "z": "b"}])
        self.assertEqual(result.dataframe("b.json").to_dict("records"), [{"y": 2}])
        with self.assertRaisesRegex(TypeError, "JSON is read without options, not with dtype"):
            result.dataframe("b.json", dtype=str)

    @unittest.skipIf(pandas is None, "skipped: there is no pandas for this Python")
    def test_parquet(self) -> None:
        result = self.one(files={"a.parquet": "PAR1"})
        with mock.patch.object(pandas, "read_parquet", lambda file, **options: (file.read(), options)):
            self.assertEqual(result.dataframe("a.parquet", columns=["x"]), (b"PAR1", {"columns": ["x"]}))

    def lines(self) -> List[Dict[str, Any]]:
        """Runs with an output each: a good one, two records, one with names of the table's own, none, a bad one; and one that fails."""
        outputs = ["x,y\n1,a\n", "x\n2\n3\n", "id,color,x\n7,red,4\n", None, "x,y\n1\n"]
        lines = [self.line(i, f"printf '{text}' >m.csv" if text else "true") for i, text in enumerate(outputs)]
        return lines + [self.line(5, "printf 'x\\n9\\n' >m.csv; exit 1"), {"id": "r6", "command": ["true"], "memory": "much"}]

    @staticmethod
    def line(number: int, script: str) -> Dict[str, Any]:
        return {"id": f"r{number}", "command": ["sh", "-c", script], "labels": {"n": str(number), "color": "blue"}}

    def test_batch(self) -> None:
        with Batch(self.lines(), jobs=2, tool=self.tool) as batch:
            table = batch.table("m.csv")
        self.check(table)
        self.assertEqual(batch.table().rows, [])  # all were taken

    def check(self, table: Table) -> None:
        self.assertEqual(table.columns, ["id", "attempt", "state", "label.color", "n", "x", "y", "output.id", "color"])
        self.assertEqual([[row[name] for name in ("id", "state", "n", "x", "y", "output.id", "color")] for row in table], [
            ["r0", "complete", 0, 1, "a", None, None],
            ["r1", "complete", 1, 2, None, None, None],
            ["r1", "complete", 1, 3, None, None, None],
            ["r2", "complete", 2, 4, None, 7, "red"],
            ["r3", "complete", 3, None, None, None, None],
            ["r4", "complete", 4, None, None, None, None],
            ["r5", "failed", 5, None, None, None, None],
            ["r6", "error", None, None, None, None, None]])
        self.assertEqual(table.problems, {"r3@1": "it has no output 'm.csv'", "r4@1": "'m.csv' cannot be read: line 2 has 1 cells, the header 2"})
        self.assertIn("without 2 outputs, such as that of r3@1: it has no output 'm.csv'", repr(table))

    def test_of_the_catalog(self) -> None:
        with Batch(self.lines(), tool=self.tool) as batch:
            list(batch)
        table = self.tool.table("m.csv", labels={"color": "blue"})
        self.assertEqual(table.columns, ["id", "attempt", "state", "label.color", "n", "x", "y", "output.id", "color"])
        self.assertEqual(sorted((row["n"], row["x"], row["y"], row["color"]) for row in table),
                         [(0, 1, "a", None), (1, 2, None, None), (1, 3, None, None), (2, 4, None, "red")])
        self.assertEqual(len(table.warnings), 2, table.warnings)
        self.assertRegex(repr(table), '; .* without an output "m.csv".*"r3@1"')
        self.assertEqual([row["n"] for row in self.tool.table("m.csv", labels={"n": "5"}, states=["failed"], flags=["--limit=1"])], [5])
        with self.assertRaisesRegex(CommandError, "no run matches"):
            self.tool.table("m.csv", labels={"n": "7"})

    def test_in_an_event_loop(self) -> None:
        async def joined() -> Table:
            async with Batch(self.lines(), tool=self.tool) as batch:
                return await batch.atable("m.csv")

        self.check(asyncio.run(joined()))

    def test_interrupt(self) -> None:
        child = self.python(f"""
            import scidex_oci
            lines = [{{"id": "quick", "command": ["true"]}}, {{"id": "p", "command": {PATIENT!r}, "grace": "1h"}}]
            try:
                with scidex_oci.Batch(lines, jobs=2) as batch:
                    batch.table()
            except scidex_oci.Interrupted as interrupted:
                print([(r.run_id, r.state.value) for r in interrupted.results])
        """)
        self.wait_for_output("p")
        until("the other has ended", lambda: ("quick", "complete") in [(run["id"], run["state"]) for run in self.tool.ls()])
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate()
        self.assertEqual((out, child.returncode), ("[('quick@1', 'complete'), ('p@1', 'canceled')]\n", 0))

    def test_without_an_output(self) -> None:
        table = scidex_oci.table([self.run_("sh", "-c", "echo 1 >a; exit 3", id="a", labels={"b": "c"})])
        self.assertEqual({name: table[0][name] for name in ("id", "state", "b", "reason", "exit_code", "outputs")},
                         {"id": "a", "state": "failed", "b": "c", "reason": "exit", "exit_code": 3, "outputs": 1})

    def test_damaged_blob(self) -> None:
        result = self.run_("sh", "-c", "echo x >m.csv; echo 1 >>m.csv", id="a")
        for blob in (self.dir / "root").rglob(result.outputs[0].sha256):
            blob.chmod(0o600)
            blob.write_text("x\n2\n")
        self.assertEqual(list(scidex_oci.table([result], "m.csv").problems), ["a@1"])

    def test_too_many_columns(self) -> None:
        first, second = (json.dumps({f"{name}{i}": i for i in range(600)}) for name in "ab")
        results = [self.one(files={"m.json": text}) for text in (first, second, first)]
        with mock.patch("scidex_oci.tables.MAX_JOINED", 1000):
            table = scidex_oci.table(results, "m.json")
        self.assertEqual((len(table), len(table.columns), table.problems), (3, 603, {results[1].run_id: "there would be more than 1000 columns"}))
        self.assertEqual((len(scidex_oci.table(results, "m.json").columns), len(self.tool.table("m.json").columns)), (1203, 1203))
