"""Other commands of Paceline, run beside the app in a process of their own: what they print, line by line."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Protocol

from paceline import paths
from paceline.errors import PacelineError, ResourceError

PATIENCE = 5.0  # seconds that a command has to end by itself when it is no longer wanted
LONGEST = 1 << 16  # bytes of a line; what is longer comes in pieces
CONFIG = "PACELINE_CONFIG"
VARIABLES = {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"}
REMEMBERED = 3  # last lines of one that failed that say why


class Program(Protocol):
    """A command whose output is shown while it runs."""

    @property
    def title(self) -> str:
        """What it is called."""
        ...

    def lines(self) -> AsyncGenerator[str, None]:
        """Run it; each line that it prints. Raises PacelineError where it fails.

        Closing the generator, or cancelling whoever waits for it, ends the command.
        """
        ...

    def stop(self) -> None:
        """Ask it to end, as Ctrl-C does: what it has to say by then still comes. Harmless when it is over."""
        ...


class OwnCommand:
    """`paceline WORDS`, run by this Python, with nobody to ask. A Program."""

    def __init__(self, *words: str, module: str = "paceline", environment: Mapping[str, str] | None = None) -> None:
        """module: what `python -m` runs. environment: variables besides those of this process."""
        self._words = (module, *words)
        self._environment = dict(environment or {})
        self._process: asyncio.subprocess.Process | None = None
        self._stopped = False

    @property
    def title(self) -> str:
        """As one would type it."""
        return " ".join(self._words)

    async def lines(self) -> AsyncGenerator[str, None]:
        """Run it; each line of its output and messages, in the order in which they come. See Program.lines."""
        self._stopped = False
        process = await self._start()
        self._process = process
        assert process.stdout is not None, "it is a pipe"
        last: list[str] = []
        try:
            while line := await _line(process.stdout):
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                last = [*last, text][-REMEMBERED:]
                yield text
            code = await process.wait()
        finally:
            await _end(process)
            self._process = None
        if code and not self._stopped:
            raise PacelineError(*_failure(self.title, last, code))

    def stop(self) -> None:
        """See Program.stop."""
        if self._process is not None and self._process.returncode is None:
            self._stopped = True
            _signal(self._process, signal.SIGINT)

    async def _start(self) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", *self._words),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                limit=LONGEST,
                cwd=Path(sys.executable).anchor,  # `python -m` looks for modules in the current folder first
                env={**os.environ, **_named_files(), **VARIABLES, **self._environment},
                start_new_session=True,  # Ctrl-C on the terminal is for the app
            )
        except OSError as error:
            raise ResourceError(f"cannot start {self.title}: {error.strerror}", "end other programs") from error


def _named_files() -> dict[str, str]:
    """Files that the environment names from the current folder on: the command runs in another one."""
    return {CONFIG: str(paths.config_file().absolute())} if os.environ.get(CONFIG) else {}


async def _line(stream: asyncio.StreamReader) -> bytes:
    """The next line, or as much of a very long one as fits; nothing at the end."""
    try:
        return await stream.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        return error.partial
    except asyncio.LimitOverrunError as error:
        return await stream.readexactly(error.consumed)


def _failure(title: str, last: list[str], code: int) -> tuple[str, str]:
    """What a command that failed said last: our own commands end with an error and a hint."""
    told = dict(line.split(": ", 1) for line in last if line.startswith(("error: ", "hint: ")))
    return told.get("error", f"{title} ended with exit code {code}"), told.get("hint", "")


def _signal(process: asyncio.subprocess.Process, which: signal.Signals) -> None:
    """To the command and what it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, which)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End it and what it has started, gently first."""
    if process.returncode is not None:
        return
    _signal(process, signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), PATIENCE)
    except asyncio.TimeoutError:
        _signal(process, signal.SIGKILL)
        await process.wait()
