"""Images that analyses have made."""

from __future__ import annotations

import base64
import importlib
import io
import re
from dataclasses import dataclass, field
from typing import Any, Optional, Tuple

_HEAD = 8 << 10  # bytes of an SVG in which its first element is looked for
_SVG = re.compile(rb"<svg[\s>][^>]*")
_BOX = re.compile(rb"""\bviewBox\s{0,9}=\s{0,9}["']\s{0,9}[-0-9.eE]{1,20}[\s,]{1,9}[-0-9.eE]{1,20}[\s,]{1,9}([0-9.]{1,20})[\s,]{1,9}([0-9.]{1,20})""")
_LARGEST = 10000  # pixels


@dataclass(frozen=True, repr=False)
class Image:
    """An image, which notebooks show: PNG, JPEG or SVG, by its first bytes and not by its name.

    ``data`` are the bytes as the analysis wrote them. Nothing of an SVG is executed when a notebook shows it.
    """

    name: str
    media_type: str
    data: bytes = field(repr=False)

    def __repr__(self) -> str:
        return f"<Image {self.name!r}: {self.media_type}, {len(self.data)} bytes>"

    def pil(self) -> Any:
        """The image as one of Pillow's. Raises ImportError if there is no Pillow, and ValueError for an SVG."""
        if self.media_type not in _PILLOW:
            raise ValueError(f"Pillow reads no SVG; {self.name!r} has its bytes in data")
        try:
            pillow = importlib.import_module("PIL.Image")
        except ImportError as error:
            raise ImportError("this needs Pillow: install it for this Python (pip install pillow, in Debian python3-pil); data has the bytes",
                              name="PIL") from error
        return pillow.open(io.BytesIO(self.data), formats=[_PILLOW[self.media_type]])

    def _repr_png_(self) -> Optional[bytes]:
        return self.data if self.media_type == "image/png" else None

    def _repr_jpeg_(self) -> Optional[bytes]:
        return self.data if self.media_type == "image/jpeg" else None

    def _repr_svg_(self) -> Optional[str]:
        """An SVG with this one as an image in it: a browser executes no script of an image, and fetches nothing for it."""
        if self.media_type != "image/svg+xml":
            return None
        width, height = _size(self.data)
        inner = base64.b64encode(self.data).decode()
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}">'
                f'<image width="100%" height="100%" href="data:image/svg+xml;base64,{inner}"/></svg>')


_PILLOW = {"image/png": "PNG", "image/jpeg": "JPEG"}


def image(name: str, data: bytes) -> Image:
    """The image with these bytes. Raises ValueError if they are none."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return Image(name, "image/png", data)
    if data.startswith(b"\xff\xd8\xff"):
        return Image(name, "image/jpeg", data)
    if _SVG.search(data[:_HEAD]):
        return Image(name, "image/svg+xml", data)
    raise ValueError(f"{name!r} is no image that is known here: PNG, JPEG or SVG")


def _size(svg: bytes) -> Tuple[float, float]:
    """Width and height of an SVG, as far as it says them."""
    first = _SVG.search(svg[:_HEAD])
    element = first.group() if first else b""
    box = _BOX.search(element)
    found = [_length(name, element) or _positive(box.group(i) if box else None) for i, name in ((1, b"width"), (2, b"height"))]
    return found[0] or 640, found[1] or 480


def _length(name: bytes, element: bytes) -> Optional[float]:
    found = re.search(rb"\s" + name + rb"""\s{0,9}=\s{0,9}["']\s{0,9}([0-9.]{1,20})\s{0,9}(?:px|pt|["'])""", element)
    return _positive(found.group(1)) if found else None


def _positive(digits: Optional[bytes]) -> Optional[float]:
    try:
        number = float(digits or b"")
    except ValueError:
        return None
    return min(number, _LARGEST) if number > 0 else None
