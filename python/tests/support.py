"""What the tests share: a scidex-oci with a catalog of its own."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from pathlib import Path
from typing import Any, Callable, Dict, List

import scidex_oci
from scidex_oci import Result, Tool

# Where other Pythons find the package and these tests.
PYTHON = os.pathsep.join(str(Path(file).parent.parent) for file in (scidex_oci.__file__, __file__))

# Ends well when it is asked to end, in a while, and says so in a file; nothing else but SIGKILL ends it.
PATIENT = ["sh", "-c", "trap 'sleep 0.3; echo bye >bye.txt; exit 0' TERM; echo ready; while :; do sleep 0.05; done"]
# Never ends when it is asked to.
STUBBORN = ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done"]

# Seconds, far more than any test takes: they only end a hang.
HANG, HANG_AGAIN = 600, 60


def until(what: str, condition: Callable[[], object]) -> None:
    """Waits for a condition, in any thread."""
    deadline = time.monotonic() + HANG
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {HANG} s")
        time.sleep(0.005)


def _hangs(*_: object) -> None:
    raise AssertionError(f"the test has not ended within {HANG} s")


class Case(unittest.TestCase):
    """A test with a catalog and a place for working directories, in which nothing may be left."""

    beside: List[int] = []  # processes that outlive a test

    def setUp(self) -> None:
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, _hangs))
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        self.end_hangs()
        self.dir = Path(tempfile.mkdtemp(prefix="scidex-python-"))
        self.addCleanup(shutil.rmtree, self.dir)
        (self.dir / "tmp").mkdir(mode=0o700)
        self.environ = {
            "SCIDEX_OCI_ROOT": str(self.dir / "root"),
            "SCIDEX_OCI_TMP": str(self.dir / "tmp"),
            "SCIDEX_OCI_STAGING": str(self.dir / "staging"),
            "SCIDEX_OCI_LIMITS": "best-effort",  # these tests are not about limits
            "SCIDEX_OCI_MIN_FREE": "0",
        }
        self.tool = Tool(environ=self.environ, cwd=self.dir)
        self.addCleanup(self.assert_nothing_left)

    def end_hangs(self) -> None:
        """From now on the main thread waits for HANG seconds at most, whatever for, and where that ends with a wait, for HANG_AGAIN."""
        signal.setitimer(signal.ITIMER_REAL, HANG, HANG_AGAIN)

    def run_(self, *command: str, **fields: Any) -> Result:
        return scidex_oci.run(command=command, tool=self.tool, **fields)

    def wait_for_output(self, run_id: str) -> None:
        """Waits until a run has started and written something."""
        until(f"output of {run_id}", lambda: has_output(self.tool, run_id))

    def assert_nothing_left(self) -> None:
        scidex_oci.close_engines()
        self.assertEqual(_all_children(), self.beside, "processes are left")
        self.assertEqual(os.listdir(self.dir / "tmp"), [], "working directories are left")

    def python(self, source: str) -> "subprocess.Popen[str]":
        """Another Python of the same kind, in a session of its own, as a shell starts one."""
        child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(source)], cwd=self.dir, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, text=True, start_new_session=True,
                                 env={**os.environ, **self.environ, "PYTHONPATH": PYTHON})
        self.addCleanup(end, child)
        return child


def has_output(tool: Tool, run_id: str) -> bool:
    """Whether a run has written something."""
    try:
        return bool(tool.logs(run_id).stdout)
    except scidex_oci.CommandError:  # it has not started
        return False


def end(child: "subprocess.Popen[str]") -> None:
    """Leaves nothing of a Python that a failed test has left."""
    if child.poll() is None:
        child.send_signal(signal.SIGKILL)
    child.wait()
    assert child.stdout is not None
    child.stdout.close()


def only_thread() -> bool:
    """Whether this is the only thread, once those that are about to end have."""
    scidex_oci.close_engines()
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join()
    return threading.active_count() == 1


def engines() -> List[int]:
    """The processes of this one that are engines."""
    return [pid for pid in _all_children() if _is_engine(pid)]


def children() -> List[int]:
    """The processes of this one that are no engines, zombies among them."""
    return [pid for pid in _all_children() if not _is_engine(pid)]


def _is_engine(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().endswith(b"\0serve\0--stdio\0")
    except FileNotFoundError:  # it has been reaped
        return False


def _all_children() -> List[int]:
    found: List[int] = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children", encoding="ascii") as file:
                found += [int(pid) for pid in file.read().split()]
        except FileNotFoundError:  # the thread has ended
            pass
    return found


def descriptors() -> Dict[str, str]:
    """The open files of this process, once the threads that an earlier test left to end have closed theirs."""
    only_thread()
    found = {}
    for fd in os.listdir("/proc/self/fd"):
        try:
            found[fd] = os.readlink(f"/proc/self/fd/{fd}")
        except FileNotFoundError:  # that of listdir itself
            pass
    return found
