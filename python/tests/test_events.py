"""Events, AsyncExecutor and Batch in an event loop, against the real scidex-oci."""

import asyncio
from typing import Any, List

import scidex_oci
from scidex_oci import AsyncExecutor, Batch, Events, NotFound, RequestError, Status, Tool

from .support import PATIENT, STUBBORN, Case, children, descriptors, only_thread

TYPES = ["run.created", "run.started", "log", "run.exited", "run.harvested", "run.finished"]


class EventsTest(Case):
    def test_of_a_run(self) -> None:
        before = descriptors()
        for switch in ("on", "off"):
            tool = Tool(environ={**self.environ, "SCIDEX_OCI_ENGINE": switch})
            with self.subTest(switch), Events(command=["echo", "hello"], id=switch, tool=tool) as events:
                found = [event for event in events if event["type"] != "usage"]
                self.assertEqual([event["type"] for event in found], TYPES)
                self.assertEqual({event["id"] for event in found}, {switch})
                self.assertEqual(found[2]["data"]["text"], "hello\n")
                assert events.result is not None
                self.assertEqual((events.result.run_id, events.result.ok), (f"{switch}@1", True))
                self.assertEqual(list(events), [])
        self.assertEqual((descriptors(), only_thread()), (before, True))

    def test_left_early(self) -> None:
        for switch in ("on", "off"):
            tool = Tool(environ={**self.environ, "SCIDEX_OCI_ENGINE": switch})
            with self.subTest(switch), Events(command=PATIENT, id=switch, grace="1h", tool=tool) as events:
                for event in events:
                    if event["type"] == "log":
                        break
            self.assertEqual((self.tool.show(switch).state, children()), (Status.CANCELED, []))

    def test_in_a_loop(self) -> None:
        async def main(switch: str) -> List[str]:
            tool = Tool(environ={**self.environ, "SCIDEX_OCI_ENGINE": switch})
            async with Events(code="print('hello')", tool=tool) as events:
                found = [event["type"] async for event in events]
            assert events.result is not None and events.result.ok
            return found

        for switch in ("on", "off"):
            with self.subTest(switch):
                self.assertEqual([one for one in dict.fromkeys(asyncio.run(main(switch))) if one != "usage"], TYPES)

    def test_refused(self) -> None:
        for switch in ("on", "off"):
            tool = Tool(environ={**self.environ, "SCIDEX_OCI_ENGINE": switch})
            with self.subTest(switch), Events(command=["true"], memory="much", tool=tool) as events:
                list(events)
                assert events.result is not None
                self.assertEqual((events.result.state, events.result.reason), ("error", "request"))
        make: Any = Events
        with self.assertRaisesRegex(TypeError, r'Events\(\) has no field "memroy"; did you mean "memory"'):
            make(command=["true"], memroy=1, tool=self.tool)
        with self.assertRaisesRegex(TypeError, "nothing to run"):
            Events(tool=self.tool)


class LoopTest(Case):
    def test_batch(self) -> None:
        async def main() -> List[int]:
            async with Batch(({"command": ["sh", "-c", f"exit {i}"]} for i in range(5)), jobs=2, tool=self.tool) as batch:
                return [result.exit_code async for result in batch]

        self.assertEqual(sorted(asyncio.run(main())), [0, 1, 2, 3, 4])

    def test_batch_left_early(self) -> None:
        async def main() -> None:
            lines = ({"id": f"b{i}", "command": ["true"] if i == 0 else ["sleep", "1000"]} for i in range(3))
            async with Batch(lines, jobs=2, tool=self.tool) as batch:
                async for result in batch:
                    self.assertEqual(result.id, "b0")
                    break
            self.assertEqual(children(), [])

        asyncio.run(main())

    def test_batch_of_what_cannot_be_run(self) -> None:
        async def main() -> None:
            async with Batch(self.dir / "nosuch", tool=self.tool) as batch:
                async for _ in batch:
                    pass

        with self.assertRaisesRegex(scidex_oci.CommandError, "nosuch"):
            asyncio.run(main())

    def test_executor(self) -> None:
        async def main() -> None:
            async with AsyncExecutor(self.tool, grace="1h", lock=self.dir / "lock") as executor:
                run_id = await executor.run_analysis({"id": "a", "command": PATIENT})
                while not (await executor.get_logs("a")).stdout:
                    pass
                self.assertEqual((run_id, await executor.check_status("a")), ("a@1", Status.RUNNING))
                with self.assertRaises(RequestError):
                    await executor.run_analysis({"id": "a", "command": ["true"]})
                with self.assertRaisesRegex(TimeoutError, "has not ended in time, and goes on"):
                    await executor.wait("a", timeout=0.1)
                waiting = asyncio.ensure_future(executor.wait("a"))
                self.assertIs(await executor.kill(run_id), Status.CANCELED)
                self.assertEqual([o.path for o in (await waiting).outputs], ["bye.txt"])
                with self.assertRaises(NotFound):
                    await executor.result("b")
                run_id = await executor.run_analysis({"command": STUBBORN})
                self.assertIs(await executor.kill(run_id, now=True), Status.CANCELED)
                await executor.recover()

        asyncio.run(main())
        with self.assertRaisesRegex(TypeError, 'no field "lok"; did you mean "lock"'):
            AsyncExecutor(self.tool, lok="file")

    def test_short(self) -> None:
        tool = Tool(root="r", environ={"WORD": "hush"})
        self.assertEqual(repr(tool), "Tool(root='r', environ=['WORD'])")
        self.assertEqual(repr(scidex_oci.Executor(tool)), "<Executor Tool(root='r', environ=['WORD'])>")
        self.assertEqual(repr(AsyncExecutor(tool)), "<AsyncExecutor Tool(root='r', environ=['WORD'])>")
        self.assertEqual(repr(scidex_oci.Output(path="a", size=3, sha256="f" * 64)), "<Output 'a': 3 bytes>")
        with Batch([], tool=self.tool) as batch:
            list(batch)
            self.assertEqual(repr(batch), "<Batch that has ended, 0 results to take>")
