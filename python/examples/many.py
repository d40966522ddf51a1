"""Runs analyses side by side, as many as memory and CPUs have room for, and counts why some of them failed."""

from collections import Counter
from typing import Iterable, Iterator

import scidex_oci


def lines(seeds: Iterable[int]) -> Iterator[scidex_oci.Manifest]:
    for seed in seeds:
        yield {"command": ["sh", "-c", f"echo {seed * seed} >square.txt; exit {int(seed % 3 == 0)}"], "labels": {"seed": seed}}


def count(manifests: Iterable[scidex_oci.Manifest]) -> "Counter[str]":
    """Results come in the order in which analyses end."""
    reasons: "Counter[str]" = Counter()
    with scidex_oci.Batch(manifests) as batch:
        for result in batch:
            reasons["complete" if result.ok else result.reason] += 1
    return reasons


if __name__ == "__main__":
    for reason, number in sorted(count(lines(range(1, 7))).items()):
        print(number, reason)
