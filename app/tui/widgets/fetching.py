"""A download as it goes on: a bar, what was told, and a way to stop and go on."""

from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static
from textual.worker import Worker

from paceline.chat.models_port import Models, Told, Transfer
from paceline.chat.pace import Pace
from paceline.chat.words import duration, size
from paceline.errors import PacelineError
from paceline.text import strip_controls
from paceline.tui.widgets.notes import Notes

CELLS = 20  # of the bar
NOTES = 3  # lines that stay in sight


class Fetching(Vertical):
    """Fetches a pair, then writes it into the configuration. Nothing moves but when bytes arrive."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text("utf-8")

    @dataclass
    class Done(Message):
        """The pair is here, and is the configured one now."""

        pair: str

    @dataclass
    class Stopped(Message):
        """It ended early: what has arrived is kept. error: why; None: the person wanted it."""

        pair: str
        error: PacelineError | None

    def __init__(self, models: Models, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._models = models
        self._pace = Pace()
        self._notes: list[str] = []
        self._worker: Worker[None] | None = None
        self._last: Transfer | None = None  # how far it was
        self.pair = ""  # that is being fetched now; "": none
        self.halted = ""  # that was being fetched before, and ended early

    def compose(self) -> ComposeResult:
        """The bar, and what was told."""
        yield Static(id="bar", markup=False)
        yield Notes(id="notes")

    def start(self, pair: str) -> None:
        """Fetch it, or go on with it."""
        if not self.pair:
            self.pair, self.halted, self._last = pair, "", None
            self._pace = Pace()  # the pause does not count
            self._notes = []
            self._say(f"{pair}: asking …")
            self._worker = self._fetch(pair)

    def stop(self) -> None:
        """End the download; what has arrived is kept."""
        if self._worker is not None and self.pair:
            self._worker.cancel()
            self._halt("paused", None)

    @work
    async def _fetch(self, pair: str) -> None:
        try:
            async with aclosing(self._models.fetch(pair)) as events:
                async for event in events:
                    self._show(event)
            await self._models.choose(pair)
        except PacelineError as error:
            self._halt("stopped", error)
        else:
            self.pair, self._worker = "", None
            self.post_message(self.Done(pair))

    def _halt(self, how: str, error: PacelineError | None) -> None:
        self.halted, self.pair, self._worker = self.pair, "", None
        self._say(standing(self._last, how) if self._last else how)
        self.post_message(self.Stopped(self.halted, error))

    def _show(self, event: Transfer | Told) -> None:
        if isinstance(event, Told):
            self._notes = [*self._notes, event.text][-NOTES:]
            self.query_one("#notes", Notes).say("\n".join(self._notes))
        else:
            self._last = event
            self._say(line(event, self._pace))

    def _say(self, text: str) -> None:
        self.query_one("#bar", Static).update(strip_controls(text))


def line(transfer: Transfer, pace: Pace) -> str:
    """The bar and the figures of a download that runs."""
    done, total = transfer.done, max(transfer.total, 1)
    rate, left = pace.at(transfer.label, done, total)
    return standing(transfer, f"{size(int(rate))}/s, {duration(left)} left" if rate > 0 and done < total else "")


def standing(transfer: Transfer, how: str) -> str:
    """The bar and the figures, with a word on how it goes. What matters most stands first: narrow screens cut."""
    done, total = transfer.done, max(transfer.total, 1)
    full = CELLS * done // total
    bar = "█" * full + "░" * (CELLS - full)
    goes = f"  {how}" if how else ""
    return f"{bar} {100 * done // total:3d} %{goes}\n{transfer.label}: {size(done)} of {size(total)}"
