"""Runs unreviewed analyses in rootless containers, by calling scidex-oci.

    result = scidex_oci.run(script="fit.py", data="measurements", memory="1GiB")
    print(result.completion_notes)
"""

__version__ = "0.1.0"

from .async_executor import AsyncExecutor
from .batch import Batch
from .engines import close_engines
from .errors import (AnalysisCanceled, AnalysisError, AnalysisFailed, CommandError, EngineLost, Interrupted, NotFound,
                     NotInstalled, OutputNotFound, RequestError, ResultError, ScidexError)
from .executor import Executor
from .images import Image
from .manifest import Manifest
from .result import Hint, Output, Result, Status
from .run_events import Events
from .running import run
from .staging import StagingError, cleanup_analysis_temp_dir, create_analysis_temp_dir, run_python_script
from .submission import enqueue, wait
from .sweeps import Sweep, sweep
from .tables import Table, table
from .tool import RunLogs, Tool
from .aio import run as arun


def __dir__() -> "list[str]":
    return __all__


__all__ = [
    "AnalysisCanceled", "AnalysisError", "AnalysisFailed", "AsyncExecutor", "Batch", "CommandError", "EngineLost", "Events",
    "Executor", "Hint", "Image", "Interrupted", "Manifest", "NotFound", "NotInstalled", "Output", "OutputNotFound", "RequestError", "Result", "ResultError",
    "RunLogs", "ScidexError", "StagingError", "Status", "Sweep", "Table", "Tool", "arun", "cleanup_analysis_temp_dir", "close_engines",
    "create_analysis_temp_dir", "enqueue", "run", "run_python_script", "sweep", "table", "wait",
]
