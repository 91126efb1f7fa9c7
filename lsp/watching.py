"""Whether the editor's process is still there: one that was killed does not say that it goes."""

import asyncio
import os
import sys
from collections.abc import Callable

INTERVAL = 10.0  # seconds between two looks


class Watch:
    """Looks now and then whether a process lives, and calls `gone` once it does not. Belongs to one event loop.

    Editors that see other numbers of processes than we do (in a container) may name one that there is not: that one is
    not watched.
    """

    def __init__(self, process: int, gone: Callable[[], None], interval: float = INTERVAL) -> None:
        self._process = process
        self._gone = gone
        self._interval = interval
        self._timer: asyncio.TimerHandle | None = None
        if is_alive(process):
            self._wait()

    def stop(self) -> None:
        """It does not matter any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._interval, self._look)

    def _look(self) -> None:
        if is_alive(self._process):
            self._wait()
        else:
            self._gone()


def is_alive(process: int) -> bool:
    """Whether there is a process with that number."""
    if process <= 0:  # these stand for groups of processes
        return False
    if sys.platform == "win32":  # where a signal would end it
        import psutil

        return psutil.pid_exists(process)
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
