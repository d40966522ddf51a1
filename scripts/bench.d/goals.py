"""What scripts/bench measures, beside whom, and which figure is to be reached."""

from typing import NamedTuple, Optional


class Goal(NamedTuple):
    relation: str  # "at most" or "at least"
    bound: float
    aim: Optional[float] = None

    def reached(self, value):
        return value <= self.bound if self.relation == "at most" else value >= self.bound

    def words(self):
        return f"{self.relation} {self.bound:g}" + (f", aim {self.aim:g}" if self.aim else "")


class Figure(NamedTuple):
    line: str  # of scripts/bench: the program scripts/bench.d/<line> makes its samples
    what: str  # with {n} and {files}, what N and FILES of the caller are
    ours: str  # the way that is ours, as it stands in the samples
    peer: Optional[str]  # the way beside it; without one the figure is ours alone, and the goal is in its unit
    unit: str  # "s", "/s" or "MiB"; samples of memory are in bytes
    goal: Optional[Goal] = None


def at_most(bound):
    return Goal("at most", bound)


def at_least(bound, aim):
    return Goal("at least", bound, aim)


TRUE, BATCH = "run -- true", "batch of {n:,} true, 2 jobs"
ONE, SMALL = "harvest of one file of 1 GiB", "harvest of 10,000 files of 4 KiB"

FIGURES = (
    Figure("run", TRUE, "scidex-oci run", "runc run", "s", at_most(0.8)),
    Figure("run", TRUE, "scidex-oci run", "podman run --rm", "s", at_most(0.15)),
    Figure("run", TRUE, "scidex-oci run", "bwrap", "s", at_most(3)),
    Figure("run", TRUE, "scidex-oci run", "crun run", "s"),
    Figure("batch", BATCH, "batch", "xargs -P2 runc run", "/s", at_least(1.5, aim=2)),
    Figure("batch", BATCH, "batch", "xargs -P2 bwrap", "/s", at_least(0.3, aim=0.5)),
    Figure("start", "release to first instruction", "release", "bwrap", "s", at_most(1)),
    Figure("numpy", "numpy for 5 s on one core", "scidex-oci run", "outside", "s", at_most(1.01)),
    Figure("memory", "memory of one sleeping run", "one run", None, "MiB", at_most(15)),
    Figure("memory", "memory of each further one of a batch", "each further run of a batch", None, "MiB", at_most(2)),
    Figure("harvest", ONE, "one", "one: cp, sha256sum, sync", "s", at_most(0.25)),
    Figure("harvest", ONE, "one", "one: restic backup", "s", at_most(1)),
    Figure("harvest", "the digest of that file alone", "one: digests", "one: cp, sha256sum, sync", "s"),
    Figure("harvest", SMALL, "small", "small: cp, sha256sum, sync", "s", at_most(1)),
    Figure("harvest", SMALL, "small", "small: restic backup", "s", at_most(1)),
    Figure("harvest", "harvest of {files:,} small files", "many", "a tenth of them", "s", at_most(10)),
    Figure("harvest", "show of that run", "show", None, "s", at_most(0.05)),
    Figure("harvest", "first line of its outputs ls", "first line of outputs ls", None, "s"),
)
