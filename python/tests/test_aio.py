"""arun, against the real scidex-oci."""

import asyncio
from typing import List

import scidex_oci
from scidex_oci import AnalysisFailed, Result

from .support import PATIENT, STUBBORN, Case, children, descriptors, only_thread


class AioTest(Case):
    def test_together(self) -> None:
        async def main() -> List[Result]:
            commands = [["sh", "-c", f"echo {i}; exit {i}"] for i in range(3)]
            return await asyncio.gather(*(scidex_oci.arun(command=c, tool=self.tool) for c in commands))

        before = descriptors()
        self.assertEqual([r.exit_code for r in asyncio.run(main())], [0, 1, 2])
        self.assertEqual((descriptors(), only_thread()), (before, True))

    def test_check(self) -> None:
        with self.assertRaises(AnalysisFailed):
            asyncio.run(scidex_oci.arun(command=["false"], tool=self.tool, check=True))

    def test_unknown_keyword(self) -> None:
        with self.assertRaisesRegex(TypeError, r'arun\(\) has no field "chek"; did you mean "check"'):
            asyncio.run(scidex_oci.arun(command=["false"], tool=self.tool, chek=True))  # type: ignore[call-arg]

    def test_cancellation_keeps_what_was_made(self) -> None:
        async def main() -> None:
            ready = asyncio.Event()
            task = asyncio.ensure_future(scidex_oci.arun(id="a", command=PATIENT, grace="1h", tool=self.tool,
                                                         on_output=lambda _: ready.set()))
            await ready.wait()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertEqual(children(), [])  # it has ended when the task has

        asyncio.run(main())
        result = self.tool.show("a")
        self.assertEqual((result.state, [o.path for o in result.outputs]), ("canceled", ["bye.txt"]))

    def test_second_cancellation_kills(self) -> None:
        async def main() -> None:
            ready = asyncio.Event()
            task = asyncio.ensure_future(scidex_oci.arun(id="b", command=STUBBORN, grace="1h", tool=self.tool,
                                                         on_output=lambda _: ready.set()))
            await ready.wait()
            while not task.done():
                task.cancel()
                await asyncio.wait([task], timeout=0.1)

        asyncio.run(main())
        self.assertEqual(self.tool.show("b").signal, "SIGKILL")

    def test_listener_that_raises_stops_the_run(self) -> None:
        def refuse(text: str) -> None:
            raise LookupError(text)

        with self.assertRaisesRegex(LookupError, "ready"):
            asyncio.run(scidex_oci.arun(id="c", command=PATIENT, tool=self.tool, on_output=refuse))
        self.assertEqual(self.tool.show("c").state, "canceled")

    def test_loop_that_is_closed_before_the_end(self) -> None:
        child = self.python(f"""
            import asyncio, scidex_oci
            loop = asyncio.new_event_loop()
            loop.set_exception_handler(lambda *_: None)  # which would tell of the task
            async def main():
                global task
                ready = asyncio.Event()
                task = asyncio.ensure_future(scidex_oci.arun(id="d", command={PATIENT!r}, on_output=lambda _: ready.set()))
                await ready.wait()
            loop.run_until_complete(main())
            loop.close()
            task.get_coro().close()
            print("closed")
        """)
        self.assertEqual(child.communicate(), ("closed\n", None))
        self.assertEqual((child.returncode, self.tool.show("d").state), (0, "canceled"))
