"""code and files, against the real scidex-oci."""

import asyncio
import gzip
import io
import json
import os
import signal
import subprocess
import tarfile
import tempfile
import unittest
from typing import Any, List
from unittest import mock

import scidex_oci

from .support import Case, until

try:
    import numpy
    import pandas
except ImportError:  # PyPy has none
    numpy = None  # type: ignore[assignment]
    pandas = None  # type: ignore[assignment]


def engine_of(pid: int) -> int:
    """The engine of another Python."""
    found: List[int] = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            found += [int(child) for child in file.read().split()]
    return found[0]


def ended(pid: int) -> bool:
    """Whether a process is dead, and its files are closed."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(") ")[2][0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


class ContentTest(Case):
    def setUp(self) -> None:
        super().setUp()
        (self.dir / "content").mkdir()
        self.environ["TMPDIR"] = str(self.dir / "content")
        patch = mock.patch.object(tempfile, "tempdir", str(self.dir / "content"))
        patch.start()
        self.addCleanup(patch.stop)

    def assert_nothing_left(self) -> None:
        super().assert_nothing_left()
        self.assertEqual(os.listdir(self.dir / "content"), [])

    def run_code(self, code: str, **fields: Any) -> scidex_oci.Result:
        return scidex_oci.run(code=code, tool=self.tool, check=True, **fields)

    def test_code(self) -> None:
        self.assertEqual(self.run_code("import sys; print('grün', sys.argv[1:])", args=["a"]).stdout().decode(), "grün ['a']\n")
        result = asyncio.run(scidex_oci.arun(code="print(1)", tool=self.tool, check=True))
        self.assertEqual((result.stdout(), result.script is not None and result.script.name), (b"1\n", "/analysis/analysis.py"))

    def test_files(self) -> None:
        files = {"a.bin": b"\xff\0", "b.txt": "grün\n", "tables/größe.csv": "x\n1\n", " $(x)\n'": "odd", "-f": ""}
        result = self.run_code("""
            import os
            for directory, _, names in os.walk("."):
                for name in names:
                    path = os.path.relpath(os.path.join(directory, name))
                    print(ascii(path), open(path, "rb").read())
        """.replace("\n            ", "\n"), files=files)
        want = sorted(f"{name!a} {data if isinstance(data, bytes) else data.encode()!r}" for name, data in files.items())
        self.assertEqual(sorted(result.stdout().decode().splitlines()), want)

    def test_stdin(self) -> None:
        path = self.dir / "in.txt"
        path.write_bytes(b"first\nsecond\n")
        reader, writer = os.pipe()
        os.write(writer, b"a pipe")
        os.close(writer)
        with tarfile.open(self.dir / "in.tar", "w") as archive:
            archive.add(path, "in.txt")
        with gzip.open(self.dir / "in.gz", "wb") as packed:
            packed.write(b"unpacked")
        with open(path, "rb", buffering=0) as file, open(reader, "rb") as pipe, open(path, encoding="ascii") as text, \
                tarfile.open(self.dir / "in.tar") as tar, gzip.open(self.dir / "in.gz") as unpacked, tempfile.NamedTemporaryFile() as named:
            file.readline()
            named.write(b"named")
            named.flush()
            named.seek(0)
            for given, want in (("grün", "grün".encode()), (b"\xff\0", b"\xff\0"), (bytearray(b"x"), b"x"), ("", b""), (path, b"first\nsecond\n"),
                                (io.StringIO("text"), b"text"), (io.BytesIO(b"bytes"), b"bytes"), (file, b"second\n"), (pipe, b"a pipe"),
                                (text, b"first\nsecond\n"), (tar.extractfile("in.txt"), b"first\nsecond\n"), (unpacked, b"unpacked"), (named, b"named")):
                with self.subTest(given):
                    self.assertEqual(scidex_oci.run(command=["cat"], stdin=given, tool=self.tool, check=True).stdout(), want)
        result = asyncio.run(scidex_oci.arun(code="print(input())", stdin="x", tool=self.tool, check=True))
        self.assertEqual(result.stdout(), b"x\n")
        again = scidex_oci.run(again=result.id, stdin="another", tool=self.tool, check=True)
        self.assertEqual((again.attempt, again.stdout()), (2, b"another\n"))

    def test_hint_at_stdin(self) -> None:
        hint, = scidex_oci.run(code="input()", tool=self.tool).hints
        self.assertEqual((hint.code, hint.message), ("no_input", "nothing was at standard input: give it as stdin"))

    def test_paths_with_stdin(self) -> None:
        (self.dir / "d").mkdir()
        (self.dir / "d" / "a").write_text("data\n")
        (self.dir / "s.sh").write_text("cat /data/a /inputs/a -\n")
        result = scidex_oci.run("s.sh", data="d", inputs=["d/a"], stdin="in\n", tool=self.tool, check=True)
        self.assertEqual(result.stdout(), b"data\ndata\nin\n")

    def test_wrong_stdin(self) -> None:
        with self.assertRaisesRegex(TypeError, r"stdin is text, bytes, the path of a file \(pathlib.Path\) or an open file, not 7"):
            scidex_oci.run(command=["cat"], stdin=7, tool=self.tool)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
        with self.assertRaises(FileNotFoundError):
            scidex_oci.run(command=["cat"], stdin=self.dir / "none", tool=self.tool)

    def test_with_a_command(self) -> None:
        result = scidex_oci.run(command=["cat", "a"], files={"a": "b"}, tool=self.tool)
        self.assertEqual(result.stdout(), b"b")
        self.assertEqual(result.outputs, [])  # what was given is no output

    @unittest.skipIf(pandas is None, "skipped: there is no pandas for this Python")
    def test_data_frames(self) -> None:
        frame = pandas.DataFrame({"x": [1, 2], "y": ["a", "ü"]})
        named = frame.set_index("y")
        result = scidex_oci.run(command=["cat", "a.csv", "b.csv"], files={"a.csv": frame, "b.csv": named}, tool=self.tool)
        self.assertEqual(result.stdout().decode(), "x,y\n1,a\n2,ü\ny,x\na,1\nü,2\n")

    def test_parquet_by_name(self) -> None:
        class Frame:
            def to_csv(self, path: str) -> None:
                raise AssertionError(path)

            def to_parquet(self, path: str) -> None:
                with open(path, "wb") as file:
                    file.write(b"PAR1")

        result = scidex_oci.run(command=["cat", "a.parquet"], files={"a.parquet": Frame()}, tool=self.tool)
        self.assertEqual(result.stdout(), b"PAR1")

    def start(self, run_id: str, options: str = "") -> "subprocess.Popen[str]":
        """A Python that runs code on a file until it is told to end, once that has started."""
        child = self.python(f"""
            import scidex_oci
            scidex_oci.run(code="import time; print(open('private.csv').read(), flush=True); time.sleep(600)",
                           files={{"private.csv": "secret"}}, id={run_id!r}, {options})
        """)
        self.wait_for_output(run_id)
        return child

    def test_client_is_killed(self) -> None:
        elsewhere = "tool=scidex_oci.Tool(environ={'TMPDIR': '/'})"
        for options in ("", "on_output=print", elsewhere, f"on_output=print, {elsewhere}"):  # by an engine, by a command
            for number in (signal.SIGTERM, signal.SIGKILL):
                with self.subTest(options=options, number=number):
                    run_id = f"{number.name}-{len(options)}"
                    child = self.start(run_id, options)
                    child.send_signal(number)
                    self.assertEqual(child.wait(), -number)
                    self.assertEqual(self.tool.show(run_id, wait=True).state, "canceled")
                    until("nothing that was given is left", lambda: not os.listdir(self.dir / "content"))

    def test_kinds_of_files(self) -> None:
        tree = self.dir / "tree"
        (tree / "below").mkdir(parents=True)
        (tree / "below" / "b.txt").write_text("b", encoding="ascii")
        (tree / "link").symlink_to("below/b.txt")
        given: Any = {"one.txt": tree / "below" / "b.txt", "tree": tree, "a.json": {"x": [1, None]}, "b.json": [1.5, "ü"]}
        result = self.run_code("import json; print(open('one.txt').read(), open('tree/link').read(), json.load(open('a.json')), json.load(open('b.json')))",
                               files=given)
        self.assertEqual((result.stdout().decode(), result.outputs), ("b b {'x': [1, None]} [1.5, 'ü']\n", []))

    def test_language(self) -> None:
        for language, code in (("sh", "echo $0"), (None, "print(__file__)"), ("python", "print(__file__)")):
            result = scidex_oci.run(code=code, language=language, tool=self.tool, check=True)
            self.assertEqual(result.stdout().decode(), f"/analysis/analysis{'.sh' if language == 'sh' else '.py'}\n")
        with self.assertRaisesRegex(ValueError, "language 'bash': it is one of 'python', 'r', 'julia', 'sh'; for another one begin the code"):
            scidex_oci.run(code="echo", language="bash", tool=self.tool)
        with self.assertRaisesRegex(TypeError, "language is that of code, and there is none"):
            scidex_oci.run("a.py", language="r", tool=self.tool)

    @unittest.skipIf(numpy is None, "there is no numpy")
    def test_array(self) -> None:
        result = self.run_code("import numpy; print(numpy.load('a.npy').sum())", files={"a.npy": numpy.arange(4)})
        self.assertEqual(result.stdout(), b"6\n")
        with self.assertRaisesRegex(TypeError, r"files\['a.csv'\]: an array is written as numpy.save does: give it a name that ends in .npy"):
            self.run_code("", files={"a.csv": numpy.arange(4)})

    def test_public_names(self) -> None:
        self.assertEqual(dir(scidex_oci), sorted(scidex_oci.__all__))

    def test_all_are_killed(self) -> None:
        child = self.start("r")
        given = [str(path) for path in (self.dir / "content").iterdir()]
        self.assertEqual(len(given), 1)
        removed = json.loads(self.tool.call("gc", "--json"))["removed"]
        self.assertEqual(removed, [])  # it is in use
        engine = engine_of(child.pid)
        os.killpg(engine, signal.SIGSTOP)  # else either sees the other's end
        child.kill()
        child.wait()
        os.killpg(engine, signal.SIGKILL)
        until("the engine's end", lambda: ended(engine))  # until then it holds the lock of its run
        removed = json.loads(self.tool.call("gc", "--json"))["removed"]
        self.assertEqual([path for path in removed if path in given], given)

    def test_refused_names(self) -> None:
        for name in ("", ".", "..", "../a", "a/../b", "/etc/passwd", "a//b", "a/", "a\0b", "x" * 256, 1, None, b"a"):
            with self.subTest(name), self.assertRaisesRegex(ValueError, r"\Afiles\[.*\]: a name is a relative path") as raised:
                scidex_oci.run(command=["true"], files={name: "x"}, tool=self.tool)  # type: ignore[dict-item]
            self.assertNotIn("\n", str(raised.exception))
        with self.assertRaisesRegex(ValueError, "'a' is a file, and cannot be a directory too"):
            scidex_oci.run(command=["true"], files={"a": "x", "a/b": "y"}, tool=self.tool)

    def test_refused_values(self) -> None:
        run: Any = scidex_oci.run
        for fields, message in (({"files": {"a": 1}}, r"files\['a'\]: a file holds bytes, text, a path, a dict or list, an array or a DataFrame, not 1"),
                                ({"files": {"a": {}}}, r"files\['a'\]: a dict is written as JSON: give it a name that ends in .json"),
                                ({"files": {"a.json": [b""]}}, r"files\['a.json'\] cannot be written as JSON: "),
                                ({"files": ["a"]}, "files is a mapping of names to contents"),
                                ({"files": {"a": ""}, "stage": "d"}, "both files and stage"),
                                ({"code": b"x"}, "code is the text of a script"), ({"code": "x"}, "both code and a script or command")):
            with self.subTest(fields), self.assertRaisesRegex(TypeError, message):
                run(command=["true"], tool=self.tool, **fields)
        with self.assertRaisesRegex(TypeError, 'run.* has no field "fils"; did you mean "files"'):
            run(code="1", fils={}, tool=self.tool)
