"""Other commands of Paceline, run beside the app in a process of their own: what they print, line by line."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from paceline import paths
from paceline.errors import PacelineError, ResourceError

PATIENCE = 5.0  # seconds that a command has to end by itself when it is no longer wanted
GRACE = 0.5  # seconds in which the last lines arrive
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
        last: list[str] = []
        async with _output() as (stream, write):
            try:
                process = self._process = await self._start(write)
            finally:
                os.close(write)  # the command's own end is the only one now
            ending = asyncio.create_task(_leave_nobody(process))
            try:
                while line := await _line(stream):
                    text = line.decode("utf-8", "replace").rstrip("\r\n")
                    last = [*last, text][-REMEMBERED:]
                    yield text
                code = await process.wait()
            finally:
                ending.cancel()
                await _end(process)
                self._process = None
        if code and not self._stopped:
            raise PacelineError(*_failure(self.title, last, code))

    def stop(self) -> None:
        """See Program.stop."""
        if self._process is not None and self._process.returncode is None and not self._stopped:
            self._stopped = True  # once: a second Ctrl-C would break off what it still does
            self._process.send_signal(signal.SIGINT)

    async def _start(self, output: int) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", *self._words),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=Path(sys.executable).anchor,  # `python -m` looks for modules in the current folder first
                env={**os.environ, **_named_files(), **VARIABLES, **self._environment},
                start_new_session=True,  # Ctrl-C on the terminal is for the app
            )
        except OSError as error:
            raise ResourceError(f"cannot start {self.title}: {error.strerror}", "end other programs") from error


def _named_files() -> dict[str, str]:
    """Files that the environment names from the current folder on: the command runs in another one."""
    return {CONFIG: str(paths.config_file().absolute())} if os.environ.get(CONFIG) else {}


@asynccontextmanager
async def _output() -> AsyncIterator[tuple[asyncio.StreamReader, int]]:
    """A pipe: what comes out of it, and where it goes in.

    Not asyncio's own: with those, a command is over only when whatever it has left behind lets go of its output.
    """
    read, write = os.pipe()
    stream = asyncio.StreamReader(limit=LONGEST)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(read, "rb", buffering=0)
    )
    try:
        yield stream, write
    finally:
        transport.close()


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


async def _leave_nobody(process: asyncio.subprocess.Process) -> None:
    """When a command is over, what it has started and left behind would hold its output open."""
    await process.wait()
    await asyncio.sleep(GRACE)
    _signal(process, signal.SIGKILL)


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
