"""A doc string."""
from __future__ import annotations
import dataclasses
THRESHOLD = 3
import typing


@dataclasses.dataclass
class A:
    x: NotDefined = THRESHOLD


print(A(), A.__annotations__, __doc__)
