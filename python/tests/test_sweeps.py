"""Sweeps, against the real scidex-oci."""

import asyncio
import json
from typing import Any, Dict, List, Tuple

import scidex_oci
from scidex_oci import AsyncExecutor, Executor, Result, Sweep, Table

from .support import Case, children

FIT = """
import json, sys
seed, lr = int(sys.argv[-3]), float(sys.argv[-1])
if seed == 2:
    raise SystemExit("bad seed")
json.dump({"loss": seed * lr, "argv": sys.argv[1:]}, open("m.json", "w"))
"""


class SweepsTest(Case):
    def setUp(self) -> None:
        super().setUp()
        (self.dir / "fit.py").write_text(FIT)
        self.executor = Executor(self.tool, pids=50)

    def check(self, table: Table) -> None:
        self.assertEqual(table.columns, ["id", "attempt", "state", "seed", "lr", "sweep", "loss", "argv"])
        self.assertEqual([[row[name] for name in ("state", "seed", "lr", "sweep", "loss", "argv")] for row in table],
                         [self.row(seed, lr) for seed in range(3) for lr in (0.5, 1e-05)])

    @staticmethod
    def row(seed: int, lr: float) -> List[Any]:
        if seed == 2:
            return ["failed", seed, lr, "s1", None, None]
        return ["complete", seed, lr, "s1", seed * lr, ["first", "--seed", str(seed), "--lr", str(lr)]]

    def test_table(self) -> None:
        with self.executor.sweep("fit.py", seed=range(3), lr=[0.5, 1e-5], name="s1", args=["first"], jobs=2) as runs:
            self.assertIsInstance(runs, Sweep)
            self.assertRegex(repr(runs), r"\A<Sweep 's1' of seed, lr: Batch that ")
            table = runs.table("m.json")
        self.check(table)
        self.assertRegex(table[0]["id"], r"\As1-lr0\.5-seed0-[0-9a-f]{12}\Z")
        self.assertEqual(self.tool.show(table[0]["id"]).analysis["pids"], 50)
        self.assertEqual(len(list(self.tool.ls("--label", "sweep=s1", "--label", "seed=1"))), 2)

    def test_resume(self) -> None:
        with self.executor.sweep("fit.py", seed=range(1), lr=[0.5, 1e-5], name="s1", args=["first"]) as runs:
            before = {result.run_id for result in runs}
        # The same combinations among others, in another order: they are not run a second time.
        with self.executor.sweep("fit.py", seed=(2, 1, 0), lr=[1e-5, 0.5], name="s1", args=["first"], resume=True) as runs:
            results = list(runs)
        self.assertEqual((len(results), before - {result.run_id for result in results}), (6, {r for r in before if "@1" not in r}))
        self.assertEqual({result.attempt for result in results}, {1})
        with self.executor.sweep("fit.py", seed=range(2), lr=[0.5], name="s1", args=["first"], rerun="all") as runs:
            self.assertEqual([result.attempt for result in runs], [2, 2])

    def test_ids_are_those_of_the_command(self) -> None:
        values = ["a", "<b> & 'c'", "\u2028ü", "x" * 250, "0.5"]
        said = self.tool.call("batch", "--json", "--quiet", "--label=sweep=s1", *(f"--sweep={name}={','.join(values)}" for name in ("b", "A_1")),
                              "--", "true")
        commanded = {Result.from_json(json.loads(line)).run_id for line in said.splitlines()}
        with scidex_oci.sweep(command=["true"], b=values, A_1=values, name="s1", resume=True, tool=self.tool) as runs:
            self.assertEqual(({result.run_id for result in runs}, len(commanded)), (commanded, len(values) ** 2))

    def test_in_an_event_loop(self) -> None:
        async def swept() -> Tuple[Table, Table]:
            executor = AsyncExecutor(self.tool, pids=50)
            async with executor.sweep("fit.py", seed=range(3), lr=[0.5, 1e-5], name="s1", args=["first"]) as runs:
                table = await runs.atable("m.json")
            async with scidex_oci.sweep(command=["true"], parameters={"memory": ["1", True]}, tool=self.tool) as two:
                return table, await two.atable()

        table, two = asyncio.run(swept())
        self.check(table)
        self.assertEqual([(row["state"], row["memory"]) for row in two], [("complete", "1"), ("complete", True)])  # as they were given

    def test_command_and_labels(self) -> None:
        class Number:  # as one of NumPy
            def item(self) -> int:
                return 7

        with scidex_oci.sweep(command=["sh", "-c", 'echo "$*" >a.txt', "sh"], flag=[True, "x y"], n=[Number()], labels={"by": "me"},
                              tool=self.tool) as runs:
            results = list(runs)
        self.assertEqual(sorted(result.read("a.txt") for result in results), [b"--flag true --n 7\n", b"--flag x y --n 7\n"])
        self.assertEqual({(result.labels["by"], result.labels["sweep"]) for result in results}, {("me", runs.name)})
        self.assertEqual(scidex_oci.table(results).column("n"), [7, 7])

    def test_one_value(self) -> None:
        with scidex_oci.sweep(command=["sh", "-c", 'echo "$*" >a.txt', "sh"], seed=5, model="linear", parameters={"memory": True}, tool=self.tool) as runs:
            result, = runs
        self.assertEqual(result.read("a.txt"), b"--seed 5 --model linear --memory true\n")
        self.assertEqual({name: result.labels[name] for name in ("seed", "model", "memory")}, {"seed": "5", "model": "linear", "memory": "true"})

    def test_refused(self) -> None:
        values: Dict[str, Any] = {"seed": [1]}
        for error, message, fields in (
                (TypeError, 'no field "memroy"; did you mean "memory"', {"memroy": "1GiB"}),
                (TypeError, "a sweep needs a parameter", {"seed": None, "pids": 3}),
                (TypeError, 'no field "job"; did you mean "jobs"', {"job": 3}),
                (TypeError, '"seed" as a keyword and in parameters', {"parameters": {"seed": [1]}}),
                (TypeError, "is text, a number, True or False, not None", {"seed": [None]}),
                (TypeError, "is text, a number, True or False, not b'a'", {"seed": b"a"}),
                (ValueError, "seed: the value 1 is given twice", {"seed": [1, "1"]}),
                (ValueError, "seed: there is no value", {"seed": []}),
                (ValueError, "at most 1000000 runs, and this one would have 4000000", {"seed": range(2000), "lr": range(2000)}),
                (ValueError, "more values", {"seed": range(10**12)}),
                (ValueError, "'a b' cannot name a parameter", {"parameters": {"a b": [1]}}),
                (ValueError, "seed: the value '' cannot be a label", {"seed": [""]}),
                (ValueError, "cannot be a label", {"seed": ["a\nb"]}),
                (ValueError, "cannot be a label", {"seed": ["ü" * 129]}),
                (ValueError, "'sweep' cannot name a parameter", {"parameters": {"sweep": [1]}}),
                (ValueError, "a sweep is named by 1 to 63 letters", {"name": "a/b"}),
                (ValueError, '"seed" is a label of the sweep itself', {"labels": {"seed": "1"}}),
                (TypeError, "give the sweep a name", {"id": "a"}),
                (TypeError, "cannot share the directory of export", {"export": "out"}),
                (TypeError, "must be a list", {"args": "-v"}),
                (TypeError, "both a script, 'fit.py', and a command", {"command": ["true"]})):
            given = {name: value for name, value in {**values, **fields}.items() if value is not None}
            with self.subTest(fields), self.assertRaisesRegex(error, message):
                scidex_oci.sweep("fit.py", tool=self.tool, **given)
        with self.assertRaisesRegex(TypeError, "nothing to run"):
            scidex_oci.sweep(seed=[1], tool=self.tool)
        self.assertEqual(children(), [])
