"""Which engine a Tool asks: that of its root's socket, else a child for its program, directory and environment."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Dict, FrozenSet, Mapping, NamedTuple, Optional, Sequence, Tuple

from . import transport
from .channel import Channel, Job, Lost
from .errors import EngineLost
from .paths import root
from .transport import Transport

if TYPE_CHECKING:
    from .tool import Tool

_SWITCH = "SCIDEX_OCI_ENGINE"  # off: each call is a command
_OURS = (_SWITCH, "SCIDEX_OCI_BIN", "SCIDEX_OCI_ROOT", "SCIDEX_OCI_STAGING")  # of no meaning to an engine that runs
_SO_PEERCRED = 17  # PyPy has no name for it


class Key(NamedTuple):
    """What an engine is for. A child keeps the directory and the environment that it was started with."""

    argv: Tuple[str, ...]
    directory: str
    environment: FrozenSet[Tuple[str, str]]
    root: Optional[str]
    alone: bool = False  # whether it is to be a child, which has this interpreter's secrets

    @property
    def env(self) -> Dict[str, str]:
        """The environment."""
        return dict(self.environment)


def key_of(tool: Tool) -> Optional[Key]:
    """The key of a tool's engine, or None where its calls are commands."""
    env = tool.env()
    if env.get(_SWITCH) == "off":
        return None
    try:
        directory = os.path.abspath(tool.cwd or os.getcwd())
    except OSError:  # it was removed
        return None
    given = None if tool.root is None else os.fspath(tool.root)
    return Key(tuple(tool.argv()), directory, frozenset(env.items()), root(given, directory, env))


def child(key: Key) -> Channel:
    """An engine as a child."""
    argv = [*key.argv, "serve", "--stdio"]
    return Channel(lambda: transport.start(argv, key.directory, key.env), _lost(argv))


def socket_of(key: Key) -> Optional[str]:
    """The socket of an engine that serves the root and has the same settings, if there is one."""
    if key.root is None or len(key.argv) > (3 if "--root" in key.argv else 1):
        return None  # other flags: its own may be different
    try:
        with open(os.path.join(key.root, "engine.lock"), encoding="utf-8") as file:
            path = file.read().strip()
        return path if path and _agrees(key.env, _environment(path)) else None
    except (OSError, ValueError):
        return None


def connected(path: str) -> Channel:
    """The engine of a socket."""
    return Channel(lambda: transport.connect(path), _lost([path]), remote=True)


def _agrees(ours: Mapping[str, str], its: Mapping[str, str]) -> bool:
    """Whether an engine with another environment takes no other defaults than a command would."""
    settings = {name: value for name, value in ours.items() if name.startswith("SCIDEX_OCI_") and name not in _OURS}
    return all(its.get(name) == value for name, value in settings.items())


def _environment(path: str) -> Dict[str, str]:
    """The environment of the process that listens at a socket (unix(7)); for another uid's it cannot be read."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.connect(path)
        pid = int.from_bytes(probe.getsockopt(socket.SOL_SOCKET, _SO_PEERCRED, 12)[:4], "little")
    with open(f"/proc/{pid}/environ", "rb") as file:
        pairs = (os.fsdecode(one).partition("=") for one in file.read().split(b"\0"))
    return {name: value for name, _, value in pairs}


def _lost(argv: Sequence[str]) -> Lost:
    """Makes the exception for a request whose engine has ended."""

    def lost(job: Job, ended: Transport, said: str) -> Exception:
        code = None if ended.child is None else ended.child.returncode
        how = f"was killed by signal {-code}" if code is not None and code < 0 else "has ended"
        ids = [job.params["id"]] if "id" in job.params else []
        return EngineLost(f"the engine {how} before it answered{': ' + said.splitlines()[-1] if said else ''}", argv, code, ids)

    return lost
