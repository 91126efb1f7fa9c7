"""An event loop whose clock jumps to whatever comes next: seconds of a scenario take no time, and nothing races."""

import asyncio
from collections.abc import Coroutine
from typing import Any


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time passes while everybody sleeps, and only then."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self._now = max(self._now, self._scheduled[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def run(scenario: Coroutine[Any, Any, None]) -> None:
    """A scenario from beginning to end, in virtual time."""
    loop = VirtualLoop()
    try:
        loop.run_until_complete(scenario)
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
