"""Coroutines in tests, and whether a process is still there."""

import asyncio
import os
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def awaited(what: Coroutine[Any, Any, T], seconds: float = 30) -> T:
    """What comes of it, on a loop of its own."""
    return asyncio.run(asyncio.wait_for(what, seconds))


def pid_in(path: Path, seconds: float = 20) -> int:
    """A process id that somebody writes into a file."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if path.exists() and (text := path.read_text().strip()):
            return int(text)
        time.sleep(0.01)
    raise AssertionError(f"nobody wrote {path}")


def gone(pid: int, seconds: float = 20) -> bool:
    """Whether a process ends within a while. One that is over and not fetched counts as gone."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        status = Path(f"/proc/{pid}/stat")
        if status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.01)
    return False
