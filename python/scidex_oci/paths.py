"""Where a catalog's root is, and what a relative path means to an engine that has a directory of its own."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, Optional

_PATHS = ("script", "data", "docs", "project", "stage", "export")


def root(given: Optional[str], directory: str, env: Mapping[str, str]) -> Optional[str]:
    """The directory of catalog, blobs and locks as scidex-oci finds it without a config file; None where there is none."""
    named = given or env.get("SCIDEX_OCI_ROOT")
    if named:
        return os.path.join(directory, named)
    if os.geteuid() == 0:
        return "/var/lib/scidex-oci"
    for base, below in ((env.get("XDG_DATA_HOME", ""), "scidex-oci"), (env.get("HOME", ""), ".local/share/scidex-oci")):
        if os.path.isabs(base):
            return os.path.join(base, below)
    return None


def absolute(fields: Mapping[str, Any], directory: str) -> Dict[str, Any]:
    """The fields of a manifest for an engine in another directory."""
    request = dict(fields)
    for name in _PATHS:
        if isinstance(request.get(name), str) and request[name] not in ("", "none"):
            request[name] = os.path.join(directory, request[name])
    if isinstance(request.get("rootfs"), str) and request["rootfs"].startswith("."):
        request["rootfs"] = os.path.join(directory, request["rootfs"])
    if isinstance(request.get("runtime"), str) and "/" in request["runtime"]:
        request["runtime"] = os.path.join(directory, request["runtime"])
    if isinstance(request.get("inputs"), list):
        request["inputs"] = [_source(one, directory) for one in request["inputs"]]
    return request


def _source(text: Any, directory: str) -> Any:
    """An input, "SRC" or "SRC:DST"."""
    if not isinstance(text, str) or text.startswith(("sha256:", "s3://")):
        return text
    scheme = "file://" if text.startswith("file://") else ""
    return scheme + os.path.join(directory, text[len(scheme) :])
