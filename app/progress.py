"""A transfer's progress for whoever looks at stderr: a bar on a terminal, a few plain lines elsewhere."""

import io
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_TENTHS = 10  # without a terminal: a line for each tenth,
_SECONDS = 30.0  # or when this long nothing was said


class ProgressBar:
    """Implements `paceline.models.progress.Progress`: bar, rate and time left. Never writes to stdout."""

    def __init__(self, label: str, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._label = label
        self._stream = stream or sys.stderr or io.StringIO()  # closed before the start: nobody listens
        self._clock = clock
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._lines = _Lines(label, self._say, clock)

    def start(self, total: int, done: int) -> None:
        """Begin, or begin anew: `done` of `total` bytes are here."""
        self.stop()
        if not self._stream.isatty():
            self._lines.start(total, done)
            return
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(file=self._stream),
            transient=False,
        )
        self._task = self._bar.add_task(self._label, total=total, completed=done)
        self._bar.start()

    def advance(self, count: int) -> None:
        """So many more bytes are here."""
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task, count)
        else:
            self._lines.advance(count)

    def note(self, text: str) -> None:
        """Print a line, above the bar where there is one."""
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            self._say(text)

    def stop(self) -> None:
        """End: the bar stays as it is, or one last line says how far it came. Harmless when nothing runs."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = self._task = None
        else:
            self._lines.stop()

    def _say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


class _Lines:
    """Plain lines: one at the start and the end, one for each tenth, one when half a minute was silent."""

    def __init__(self, label: str, say: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._label = label
        self._say = say
        self._clock = clock
        self._running = False
        self._total = self._done = self._first = self._tenth = 0
        self._began = self._said = 0.0

    def start(self, total: int, done: int) -> None:
        self._running = True
        self._total, self._done, self._first = total, done, done
        self._tenth = self._tenths()
        self._began = self._said = self._clock()
        already = f", {done / 1e6:.0f} MB are here" if done else ""
        self._say(f"{self._label}: {total / 1e6:.0f} MB{already}")

    def advance(self, count: int) -> None:
        self._done += count
        if not self._running:
            return
        now, tenth = self._clock(), self._tenths()
        if (tenth > self._tenth or now - self._said >= _SECONDS) and self._done < self._total:
            self._tenth, self._said = tenth, now
            rate = (self._done - self._first) / max(now - self._began, 1e-9)
            left = (self._total - self._done) / rate if rate > 0 else 0.0
            percent = 100 * self._done // max(self._total, 1)
            self._say(f"{self._label}: {percent} %, {rate / 1e6:.1f} MB/s, {left:.0f} s left")

    def stop(self) -> None:
        if not self._running:
            return
        self._running = False
        seconds = max(self._clock() - self._began, 0.0)
        how = "done" if self._done >= self._total else f"stopped at {self._done / 1e6:.0f} MB"
        self._say(f"{self._label}: {how} after {seconds:.0f} s")

    def _tenths(self) -> int:
        return _TENTHS * self._done // max(self._total, 1)
