"""Starts an analysis that goes on without this program, which may be killed and started again: the catalog knows the rest."""

import sys

import scidex_oci


def ensure(executor: scidex_oci.Executor, run_id: str, analysis: scidex_oci.Manifest) -> scidex_oci.Result:
    """Starts the analysis unless it was started before, and waits for its end."""
    try:
        executor.check_status(run_id)
    except scidex_oci.NotFound:
        executor.run_analysis({**analysis, "id": run_id})
    return executor.wait(run_id)


if __name__ == "__main__":
    with scidex_oci.Executor(memory="256MiB") as executor:
        result = ensure(executor, sys.argv[1], {"command": ["sh", "-c", "date >started.txt"]})
    print(result.state, result.attempt, [output.path for output in result.outputs])
