"""What happens in other threads, for an event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Callable, Optional

if TYPE_CHECKING:
    from .tool import Call


def soon(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    """Has a function called in the loop, unless that is closed."""
    try:
        loop.call_soon_threadsafe(call)
    except RuntimeError:  # it is closed
        pass


async def command_ended(call: Call) -> None:
    """Waits for the end of a command; a cancellation meanwhile ends it first."""
    await ended(lambda done: call.process.when_done(lambda: done(None)), call.process.signal)


async def ended(when_done: Callable[[Callable[[Any], None]], object], stop: Callable[[], object]) -> None:
    """Waits for the end of something that another thread waits for; a cancellation meanwhile stops it first."""
    loop, event = asyncio.get_running_loop(), asyncio.Event()
    when_done(lambda _: soon(loop, event.set))
    canceled: Optional[asyncio.CancelledError] = None
    while True:
        try:
            await event.wait()
            break
        except asyncio.CancelledError as error:
            canceled = canceled or error
            stop()
        except BaseException:  # the loop is gone, and no task can wait
            stop()
            raise
    if canceled is not None:
        raise canceled
