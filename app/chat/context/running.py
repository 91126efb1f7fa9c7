"""Commands that `!` runs: in a process group of their own, bounded in time and output, ended when nobody wants them."""

import asyncio
import os
import signal
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from paceline.chat.turns import Attached
from paceline.errors import InputError
from paceline.text import ControlFilter, Utf8Stream, replace_surrogates, strip_controls
from paceline.workspace.redaction import redact

How = Literal["exited", "signal", "late", "stopped"]
HEAD = TAIL = 32 * 1024  # bytes of an output that are kept of its beginning and its end
TOLD = 256 * 1024  # bytes that are told as they come; what floods a terminal is read by nobody
PIECE = 64 * 1024
PAUSE = 0.002  # seconds after each piece of a flood, so that the command waits and the screen does not
GRACE = 2.0  # seconds between asking a command to end and ending it
SHORT = 0.2  # and where everything that can be seen of it is over
LINGER = 0.3  # seconds in which the rest of an output is waited for once a command is over
_SHELLS = {"sh", "bash", "zsh", "dash", "ksh", "fish"}


@dataclass(frozen=True)
class Command:
    """A line for the shell, and where it runs."""

    line: str
    cwd: Path
    given: str = ""  # what it reads on its standard input


@dataclass(frozen=True)
class Ran:
    """What came of a command."""

    text: str  # stdout and stderr as they came, made safe to show
    how: How
    status: int  # exit status; of a signal: its number
    seconds: float
    attached: Attached  # as it goes with a message


def of_prompt(text: str) -> str:
    """The command line of a prompt such as "!pytest -q"; "" where it is none."""
    return text[1:].strip() if text.startswith("!") else ""


async def run(
    command: Command, seconds: float, told: Callable[[str], None] = lambda _: None, stop: asyncio.Event | None = None
) -> Ran:
    """Run a command for at most so long. Nobody is asked: whoever calls this has the person's yes.

    told: gets the beginning of the output as it comes, safe to show. stop: ends the command when it is set; so does
    cancelling the task, which leaves no result. Whatever the command has started in its process group ends with it.
    Raises InputError where it cannot be started.
    """
    begun = time.monotonic()
    output = _Output(told)
    process, reading = await _started(command)
    pump = asyncio.create_task(_pump(reading, output))
    try:
        how = await _waited(process, seconds, stop)
    finally:
        await asyncio.shield(_ended(process, pump))
        await asyncio.wait([pump], timeout=LINGER)
        pump.cancel()
        await asyncio.wait([pump])
    status = process.returncode or 0
    if how == "exited" and status < 0:
        how = "signal"
    return _ran(command, output, how, abs(status), time.monotonic() - begun, seconds)


async def _started(command: Command) -> tuple[asyncio.subprocess.Process, int]:
    """The process, and where its output is read. Its pipe is ours: no process that outlives it can hold us up."""
    if "\0" in command.line:
        raise InputError("a command cannot have NUL characters", "type it again")
    shell = os.environ.get("SHELL", "")
    shell = shell if os.path.basename(shell) in _SHELLS else "/bin/sh"  # noqa: PTH119 - may be empty
    reading, writing = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *(shell, "-c", command.line),
            cwd=command.cwd,
            env={**os.environ, "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"},
            stdin=asyncio.subprocess.PIPE if command.given else asyncio.subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
            start_new_session=True,  # and so without the terminal
        )
    except (OSError, ValueError) as error:
        os.close(reading)
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"cannot run it in {command.cwd}: {why}", "check the folder and the SHELL variable") from error
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    if process.stdin is not None:  # written as far as it is read, without us
        process.stdin.write(command.given.encode("utf-8", errors="replace"))
        process.stdin.close()
    return process, reading


async def _waited(process: asyncio.subprocess.Process, seconds: float, stop: asyncio.Event | None) -> How:
    """Why it is over, or is to be."""
    ends = asyncio.create_task(process.wait())
    stops = asyncio.create_task(stop.wait()) if stop is not None else None
    waiting = [ends] if stops is None else [ends, stops]
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return "exited" if ends.done() else "stopped" if stops is not None and stops.done() else "late"
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)


async def _ended(process: asyncio.subprocess.Process, pump: "asyncio.Task[None]") -> None:
    """End what is left of a process group: first it is asked, then it is made to.

    Whether somebody is left cannot be told from one that is over and that nobody has fetched; it can where the output
    is closed.
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not _signalled(process.pid, number):
            break
        asked, pause = time.monotonic(), 0.005
        while _signalled(process.pid, 0):
            waited = time.monotonic() - asked
            over = process.returncode is not None and (pump.done() or number == signal.SIGKILL)
            if waited >= (SHORT if over else GRACE):
                break
            await asyncio.sleep(pause)
            pause = min(0.1, pause * 2)
    # what runs as somebody else, as behind sudo, cannot be ended by us: it is not waited for either
    await asyncio.wait([asyncio.create_task(process.wait())], timeout=GRACE)


def _signalled(group: int, number: int) -> bool:
    """Whether somebody was there to get a signal."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


async def _pump(reading: int, output: "_Output") -> None:
    """Read until everybody has closed the other end."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=PIECE)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb"))
    try:
        while piece := await reader.read(PIECE):
            output.take(piece)
            if output.size > TOLD:
                await asyncio.sleep(PAUSE)
    finally:
        transport.close()
        output.end()


@dataclass
class _Output:
    """The beginning and the end of what a command prints."""

    told: Callable[[str], None]
    size: int = 0
    head: bytearray = field(default_factory=bytearray)
    tail: deque[bytes] = field(default_factory=deque)
    kept: int = 0  # bytes in the tail
    characters: Utf8Stream = field(default_factory=Utf8Stream)
    controls: ControlFilter = field(default_factory=ControlFilter)

    def take(self, piece: bytes) -> None:
        if self.size < TOLD:
            self._tell(self.controls.feed(self.characters.feed(piece)))
        self.size += len(piece)
        room = HEAD - len(self.head)
        self.head += piece[:room]
        if rest := piece[room:]:
            self.tail.append(rest)
            self.kept += len(rest)
        while self.kept - len(self.tail[0] if self.tail else b"") >= TAIL:
            self.kept -= len(self.tail.popleft())

    def end(self) -> None:
        self._tell(self.controls.feed(self.characters.flush()) + self.controls.flush())

    def _tell(self, text: str) -> None:
        if text:
            self.told(text)

    def text(self) -> tuple[str, str]:
        """What is kept, with a line where something is missing; and what that is, in words."""
        tail = b"".join(self.tail)
        left_out = self.size - len(self.head) - len(tail)
        if len(tail) > TAIL:
            left_out += len(tail) - TAIL
            tail = tail[-TAIL:]
        if left_out <= 0:
            return _clean(bytes(self.head) + tail), ""
        head = bytes(self.head)
        whole = head[: head.rfind(b"\n") + 1] or head  # whole lines, where there are any
        begin = tail.find(b"\n") + 1
        left_out += len(head) - len(whole) + begin
        said = f"{left_out:,} bytes in the middle are left out"
        return f"{_clean(whole)}\n[… {said} …]\n{_clean(tail[begin:])}", said


def _clean(data: bytes) -> str:
    text = data.decode("utf-8", errors="replace").replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(map(_last_written, text.split("\n")))
    return strip_controls(text)


def _last_written(line: str) -> str:
    """What is left of a line that was written over again and again, as progress bars do."""
    return next((part for part in reversed(line.split("\r")) if part), "")


def _ran(command: Command, output: _Output, how: How, status: int, seconds: float, most: float) -> Ran:
    text, cut = output.text()
    shown = redact(text)
    end = "\n" if shown and not shown.endswith("\n") else ""
    name = " ".join(strip_controls(replace_surrogates(command.line)).split())
    notes = [cut] if cut else []
    if shown != text:
        notes.append("secrets in it are replaced by asterisks")
    attached = Attached("output", f"$ {name}", f"{shown}{end}[{_said(how, status, most)}]", cut="; ".join(notes))
    return Ran(text, how, status, seconds, attached)


def _said(how: How, status: int, most: float) -> str:
    if how == "late":
        return f"ended after {most:g} s, the time that commands have"
    if how == "stopped":
        return "stopped before its end"
    if how == "signal":
        with suppress(ValueError):
            return f"ended by {signal.Signals(status).name}"
        return f"ended by signal {status}"
    return f"exit status {status}"
