"""What notebooks show, of names and contents that mean harm."""

import base64
import struct
import sys
import unittest
import zlib
from html.parser import HTMLParser
from typing import Any, List, Optional, Tuple
from unittest import mock
from xml.etree import ElementTree

import scidex_oci
from scidex_oci import Batch, Image, Result, Table
from scidex_oci.images import image

from .support import Case

HOSTILE = ["<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "</code></td></table><style>*{}</style>", "&lt;b&gt;", "\x1b[31m\x00\x07",
           "\u202egnp.exe", "$\\href{javascript:alert(1)}{x}$", "\ud800", "a\r\nb", "{{7*7}}", "x" * 100000]
ALLOWED = {"div", "p", "b", "code", "pre", "table", "thead", "tbody", "tr", "th", "td"}


class Reader(HTMLParser):
    """The elements of a text, and what it shows."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: List[Tuple[str, Any]] = []
        self.cells: List[str] = []  # of code
        self.open: List[str] = []

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        self.elements.append((tag, attrs))
        self.open.append(tag)
        self.cells += [""] if tag == "code" else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["code"]:
            self.cells[-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(decl)


class NotebookTest(Case):
    def read(self, shown: Any) -> Reader:
        text: str = shown._repr_html_()
        reader = Reader()
        reader.feed(text)
        reader.close()
        self.assertEqual(reader.open, [])
        self.assertLessEqual({tag for tag, _ in reader.elements}, ALLOWED)
        self.assertEqual([one for one in reader.elements if one[1]], [("div", [("class", "tex2jax_ignore mathjax_ignore")])])
        self.assertTrue(text.replace("\n", "").isprintable(), ascii(text))
        self.assertLess(len(text), 200000)
        return reader

    def result(self, text: str) -> Result:
        return Result.from_json({"id": "a", "attempt": 1, "state": "failed", "reason": text, "message": text, "started_at": "2026-01-01T00:00:00Z",
                                 "usage": {"wall_ms": 1500}, "hints": [{"code": "x", "message": text}] * 9,
                                 "outputs": [{"path": text, "size": 3, "media_type": text, "partial": True}] * 10000, "outputs_total": 12345})

    def test_hostile(self) -> None:
        for text in HOSTILE:
            with self.subTest(text[:50]):
                reader = self.read(self.result(text))
                self.read(Table([{text: text, "b": [text], "c": {text: 1}}] * 1000, problems={text: text, "b": text}))
                shown = reader.cells[2]  # the message
                self.assertLessEqual(len(shown), 2600)
                if text.isprintable() and len(text) < 100:
                    self.assertEqual(shown, text)

    def test_result(self) -> None:
        text = self.result("it broke")._repr_html_()
        for part in ("<code>a@1</code>", "<b>failed</b>", "1.5 s", "<code>it broke</code>", "50 of 12345 rows", "<code>partial</code>"):
            self.assertIn(part, text)
        self.assertEqual(text.count("<code>partial</code>"), 50)
        self.assertIn("<th><code>note</code></th>", text)
        whole = Result.from_json({"id": "a", "attempt": 1, "state": "complete", "outputs": [{"path": "x", "size": 3, "media_type": "text/csv"}], "outputs_total": 1})
        self.assertEqual(self.read(whole).cells[-6:], ["output", "bytes", "media type", "x", "3", "text/csv"])
        refused = Result.from_json({"id": "", "state": "error", "reason": "request", "message": "memory: what?"})
        self.assertIn("<code>without a run</code>", refused._repr_html_())

    def test_logs(self) -> None:
        result = scidex_oci.run(code=f"import sys; print(*range(100), sep='\\n'); print('<b>\\x1b[31m ' + 'x' * {1 << 20}, file=sys.stderr)", tool=self.tool)
        text: str = result._repr_html_()
        self.read(result)
        self.assertIn("<p>standard output ends:</p><pre>80\n81\n", text)
        self.assertNotIn("79", text.partition("<pre>")[2].partition("</pre>")[0])
        self.assertIn("<p>standard error ends:</p><pre>x", text)
        self.assertLess(len(text), 2000)
        failed = scidex_oci.run(command=["sh", "-c", "printf '<i>\\033[31m' >&2; exit 1"], tool=self.tool)
        self.assertIn("<pre>&lt;i&gt;\\x1b[31m</pre>", failed._repr_html_())
        self.assertEqual((result.stdout("ascii")[:6], failed.stderr("utf-8")), ("0\n1\n2\n", "<i>\x1b[31m"))

    def test_control_characters_are_seen(self) -> None:
        cells = self.read(Table([{"a": "\x1b[31m\u202e\ud800\n.", "b": 1 / 3, "c": None}])).cells
        self.assertEqual(cells[3:], ["\\x1b[31m\\u202e\\ud800 .", "0.333333", ""])

    def test_large_tables(self) -> None:
        text = Table([{f"c{i}": "y" * 1000 for i in range(1000)}] * 200)._repr_html_()
        self.assertIn("<p>50 of 200 rows, 30 of 1000 columns</p>", text)
        self.assertEqual((text.count("<tr>"), text.count("<th>"), text.count("<td>")), (51, 30, 1500))

    def test_batch(self) -> None:
        lines = [{"id": f"b{i}", "command": ["sh", "-c", f"echo '<i>$x$' >&2; exit {i}"]} for i in range(9)]
        with Batch(lines, jobs=1, tool=self.tool) as batch:
            list(batch)
        reader = self.read(batch)
        rows = [reader.cells[i:i + 6] for i in range(6, len(reader.cells), 6)]
        self.assertEqual(len(rows), 5)  # of eight that failed: those that ended first, in any order
        for row in rows:
            code = row[0][1:-2]
            self.assertEqual(row[:4] + row[5:], [f"b{code}@1", "failed", "exit", f"the analysis exited with {code}: <i>$x$", "0"])
            self.assertGreater(float(row[4]), 0)
        self.assertIn("1 complete", batch._repr_html_())
        self.assertIn("8 failed", batch._repr_html_())


def png() -> bytes:
    """One red pixel."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0")) + chunk(b"IEND", b""))


SVG = (b'<?xml version="1.0"?><!-- c --><svg xmlns="http://www.w3.org/2000/svg" width="460.8pt" height="345.6pt" onload="alert(1)">'
       b'<script>alert(1)</script><image href="http://127.0.0.1:1/x"/></svg>')


class ImageTest(Case):
    def test_output(self) -> None:
        code = f"open('plot.png', 'wb').write({png()!r}); open('plot.svg', 'wb').write({SVG!r}); open('not.png', 'w').write('<html>')"
        result = scidex_oci.run(code=code, tool=self.tool, check=True)
        plot = result.image("plot.png")
        self.assertEqual((plot.media_type, plot.data, plot._repr_png_(), plot._repr_jpeg_(), plot._repr_svg_()),
                         ("image/png", png(), png(), None, None))
        self.assertEqual(repr(plot), f"<Image 'plot.png': image/png, {len(png())} bytes>")
        self.assertEqual(result.image("plot.svg").data, SVG)
        with self.assertRaisesRegex(ValueError, "'not.png' is no image that is known here: PNG, JPEG or SVG"):
            result.image("not.png")

    def test_kind_by_content(self) -> None:
        jpeg = image("a.png", b"\xff\xd8\xff\xe0")
        self.assertEqual((jpeg.media_type, jpeg._repr_png_(), jpeg._repr_jpeg_()), ("image/jpeg", None, b"\xff\xd8\xff\xe0"))

    def test_svg_is_an_image(self) -> None:
        shown = image("a.svg", SVG)._repr_svg_()
        assert shown is not None
        root = ElementTree.fromstring(shown)
        self.assertEqual([element.tag.split("}")[1] for element in root.iter()], ["svg", "image"])
        self.assertEqual(root.attrib, {"width": "460.8", "height": "345.6", "viewBox": "0 0 460.8 345.6"})
        self.assertEqual(base64.b64decode(root[0].attrib["href"].split(",")[1]), SVG)
        self.assertEqual(set(root[0].attrib), {"width", "height", "href"})

    def test_sizes_of_svg(self) -> None:
        for element, width, height in (("<svg >", "640", "480"), ('<svg viewBox="0 0 20 10">', "20", "10"), ('<svg width="100%" height=\'7\'>', "640", "7"),
                                       ('<svg width="9999999999" height="-1">', "10000", "480"), ('<svg width="1.1.1" height="&quot;">', "640", "480"),
                                       ('<svg width="1e999" height="0">', "640", "480"), ("<svg " + "width=" * 100000, "640", "480"),
                                       ('<svg\nviewBox="0,0,' + "9" * 300, "640", "480")):
            with self.subTest(element[:40]):
                root = ElementTree.fromstring(image("a.svg", element.encode())._repr_svg_() or "")
                self.assertEqual((root.attrib["width"], root.attrib["height"]), (width, height))

    def test_pillow(self) -> None:
        with mock.patch.dict("sys.modules", {"PIL": None, "PIL.Image": None}):
            with self.assertRaisesRegex(ImportError, r"needs Pillow: install it .*\(pip install pillow, in Debian python3-pil\); data has the bytes"):
                image("a.png", png()).pil()
        with self.assertRaisesRegex(ValueError, "Pillow reads no SVG"):
            image("a.svg", SVG).pil()

    @unittest.skipIf(sys.implementation.name == "pypy", "skipped: there is no Pillow for PyPy")
    def test_with_pillow(self) -> None:
        try:
            import PIL  # pylint: disable=unused-import # noqa: F401
        except ImportError:
            self.skipTest("skipped: there is no Pillow for this Python")
        self.assertEqual(image("a.png", png()).pil().getpixel((0, 0)), (255, 0, 0))
        with self.assertRaises(Exception):  # it is named as a JPEG, and no other kind is tried
            Image("a", "image/jpeg", png()).pil()
