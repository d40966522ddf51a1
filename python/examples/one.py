"""Passes values to an analysis, and reads a value from what it made."""

import json
from typing import Dict

import scidex_oci

CODE = """
import json
sizes = json.load(open("sizes.json"))
json.dump({"mean": sum(sizes.values()) / len(sizes)}, open("summary.json", "w"))
"""


def mean(sizes: Dict[str, float]) -> float:
    """What went wrong is raised: scidex_oci.AnalysisFailed says what to do about it."""
    result = scidex_oci.run(code=CODE, files={"sizes.json": sizes}, memory="256MiB", timeout=60, check=True)
    summary: Dict[str, float] = json.loads(result.read("summary.json"))
    return summary["mean"]


if __name__ == "__main__":
    print(mean({"Adelie": 38.8, "Chinstrap": 48.8, "Gentoo": 47.4}))
