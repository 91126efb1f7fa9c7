"""One measurement, in a terminal; see __main__.py. Writes what it found to the file that is named last."""

import asyncio
import json
import random
import resource
import sys
import time
from pathlib import Path

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Markdown

from paceline.chat.turns import Turn
from paceline.tui.themes import THEMES, defaults
from paceline.tui.widgets.transcript import Transcript

STARTED = time.perf_counter()
CODE = [
    "def total(values: list[int], start: int = 0) -> int:",
    '    """The sum of the values, and of what they begin with."""',
    "    for value in values:",
    "        if value % 2 == 0:  # even ones count twice",
    "            start += value * 2",
    "    return start",
    "",
]
PROSE = [
    "The **values** are summed by `total`, which looks at each of them once; see [the page](https://example.org/sum).",
    "",
    "- even ones count *twice*,",
    "- odd ones once.",
    "",
    "A paragraph of plain words that goes on for longer than the terminal is wide, so that it has to be wrapped once.",
    "",
]


def answer(kind: str, lines: int) -> list[str]:
    """The lines of an answer: one long fence, no fence, or both in turn."""
    if kind == "fence":
        return ["```python", *(CODE[at % len(CODE)] for at in range(lines - 2)), "```"]
    if kind == "prose":
        return [PROSE[at % len(PROSE)] for at in range(lines)]
    mixed = [*PROSE, "```python", *CODE * 6, "```", ""]
    return [mixed[at % len(mixed)] for at in range(lines)]


def tokens(text: str) -> list[str]:
    """The text in pieces as long as tokens of code are."""
    chance, pieces, at = random.Random(1), [], 0
    while at < len(text):
        size = chance.choice((1, 2, 3, 4, 4, 5, 6))
        pieces.append(text[at : at + size])
        at += size
    return pieces


class Measured(App):
    """The widget alone on a screen."""

    def __init__(self, task: str, widget: str, kind: str, lines: int, begin: int, rate: float, found: Path) -> None:
        super().__init__()
        self.job, self.widget, self.kind, self.found = task, widget, kind, found
        self.lines, self.begin, self.rate = lines, begin, rate

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return defaults()

    def compose(self) -> ComposeResult:
        if self.widget == "ours":
            yield Transcript()
        else:
            with VerticalScroll():
                yield Markdown()

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = "paceline-dark"
        self.call_after_refresh(lambda: self.run_worker(self.measure()))

    async def measure(self) -> None:
        tasks = {"stream": self.stream, "open": self.opened, "turns": self.turns, "idle": self.idle}
        found = await tasks[self.job]()
        self.found.write_text(json.dumps(found))
        self.exit()

    async def stream(self) -> dict:
        lines = answer(self.kind, self.lines)
        before = "".join(line + "\n" for line in lines[: self.begin])
        pieces = tokens("".join(line + "\n" for line in lines[self.begin :]))
        append, finish = await self.sink(before)
        await asyncio.sleep(2)
        lags, cpu, began = [], time.process_time(), time.perf_counter()
        for at, piece in enumerate(pieces):
            due = began + at / self.rate
            if (wait := due - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
                lags.append(time.perf_counter() - due)
            await append(piece)
        cpu, took = time.process_time() - cpu, time.perf_counter() - began
        await finish()
        return {
            "tokens": len(pieces),
            "seconds": round(took, 1),
            "share_of_a_core": round(cpu / took, 3),
            "longest_wait_ms": round(max(lags, default=0) * 1000, 1),
            "memory_mb": memory(),
        }

    async def sink(self, before: str):
        if self.widget == "textual":
            markdown = self.query_one(Markdown)
            self.query_one(VerticalScroll).anchor()
            await markdown.update(before)
            stream = Markdown.get_stream(markdown)
            return stream.write, stream.stop
        transcript = self.query_one(Transcript)
        transcript.show([Turn(1, None, "user", "Write it."), Turn(2, 1, "assistant", before, state="streaming")])

        async def append(text: str) -> None:
            transcript.append(2, text)

        async def finish() -> None:
            await asyncio.sleep(0.5)

        return append, finish

    async def opened(self) -> dict:
        text = "\n".join(answer("mixed", 40))
        turns = [
            Turn(at, None, "user", f"Question {at}?") if at % 2 == 0 else Turn(at, None, "assistant", text)
            for at in range(2000)
        ]
        transcript = self.query_one(Transcript)
        began = time.perf_counter()
        transcript.show(turns)
        shown = time.perf_counter() - began
        await self.drawn()
        opened = time.perf_counter() - began
        found = {"show_ms": round(shown * 1000, 1), "open_ms": round(opened * 1000, 1)}
        for name in ("page_up", "page_down", "scroll_home", "scroll_end"):
            took = []
            for _ in range(10):
                began = time.perf_counter()
                getattr(transcript, f"action_{name}")()
                await self.drawn()
                took.append(time.perf_counter() - began)
            found[f"{name}_ms"] = round(max(took) * 1000, 1)
        return {**found, "memory_mb": memory()}

    async def turns(self) -> dict:
        """Memory after every hundred turns, as people go on talking."""
        transcript = self.query_one(Transcript)
        text = "\n".join(answer("mixed", 60))
        found = {}
        for at in range(0, 1000, 2):
            transcript.add(Turn(at, None, "user", f"Question {at}?"))
            transcript.add(Turn(at + 1, None, "assistant", "", state="streaming"))
            for start in range(0, len(text), 400):
                transcript.append(at + 1, text[start : start + 400])
                await asyncio.sleep(0)
            transcript.update_turn(Turn(at + 1, None, "assistant", text))
            await self.drawn()
            if at % 200 == 198:
                found[f"after {at // 2 + 1} answers"] = memory()
        return found

    async def idle(self) -> dict:
        self.query_one(Transcript).show([Turn(1, None, "assistant", "\n".join(answer("mixed", 200)))])
        await asyncio.sleep(2)
        cpu = time.process_time()
        await asyncio.sleep(5)
        return {"share_of_a_core": round((time.process_time() - cpu) / 5, 4)}

    async def drawn(self) -> None:
        """Until the screen has been drawn."""
        done = asyncio.Event()
        self.call_after_refresh(done.set)
        await done.wait()


def memory() -> float:
    """Megabytes that the process has needed at most."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


if __name__ == "__main__":
    task, widget, kind, lines, begin, rate, found = sys.argv[1:]
    Measured(task, widget, kind, int(lines), int(begin), float(rate), Path(found)).run()
