"""A command's lines are shown while it runs; it can be stopped, and does not outlive its screen."""

import asyncio

from textual.widgets import Log

from paceline.errors import ModelError
from paceline.tui.screens.report import ReportScreen
from support.screens import showing


class Scripted:
    """A Program that says what a test tells it to."""

    title = "paceline bench"

    def __init__(self):
        self.steps = asyncio.Queue()
        self.stops = self.ended = 0

    async def lines(self):
        try:
            while (step := await self.steps.get()) is not None:
                if isinstance(step, Exception):
                    raise step
                yield step
        finally:
            self.ended += 1

    def stop(self):
        self.stops += 1
        self.steps.put_nowait("what was measured until then")
        self.steps.put_nowait(None)


async def give(seen, program, *steps):
    for step in steps:
        program.steps.put_nowait(step)
    for _ in range(3):
        await seen.pilot.pause()


async def test_lines_are_shown_as_they_come():
    program = Scripted()
    async with showing(ReportScreen(program)) as seen:
        assert "paceline bench (running)" in seen.text
        await give(seen, program, "one", "two")
        assert "one" in seen.text
        assert "two" in seen.text
        await give(seen, program, None)
        assert "paceline bench (done)" in seen.text
        assert "Stop" not in seen.text


async def test_it_is_stopped_and_what_it_then_says_is_still_shown():
    program = Scripted()
    async with showing(ReportScreen(program)) as seen:
        await seen.press("s")
        await give(seen, program)
        assert program.stops == 1
        assert "what was measured until then" in seen.text


async def test_a_failure_is_said():
    program = Scripted()
    async with showing(ReportScreen(program)) as seen:
        await give(seen, program, "loading", ModelError("no models are chosen yet", "run `paceline setup`"))
        assert "no models are chosen yet" in seen.text
        assert "run `paceline setup`" in seen.text
        assert "(failed)" in seen.text


async def test_leaving_ends_it():
    program = Scripted()
    async with showing(ReportScreen(program)) as seen:
        await seen.press("escape")
        await seen.settle_quietly()
        assert seen.gone
        assert program.ended == 1


async def test_lines_are_neither_markup_nor_able_to_steer_the_terminal():
    program = Scripted()
    async with showing(ReportScreen(program), (40, 12)) as seen:
        await give(seen, program, "[red]x[/red]\x1b[2J\ty\x1b]52;c;eA==\x07")
        assert "[red]x[/red]    y" in seen.text
        assert "\x1b" not in "".join(seen.app.screen.query_one(Log).lines)


async def test_what_was_stopped_and_what_failed_say_so():
    program = Scripted()
    async with showing(ReportScreen(program)) as seen:
        await seen.press("s")
        await give(seen, program)
        assert "paceline bench (stopped)" in seen.text


async def test_long_lines_are_broken_and_broken_anew_when_the_terminal_changes():
    program = Scripted()
    words = " ".join(f"word{number}" for number in range(30))
    async with showing(ReportScreen(program), (40, 24)) as seen:
        await give(seen, program, words, "  indented")
        for columns in (40, 70):
            await seen.pilot.resize_terminal(columns, 24)
            await seen.pilot.pause()
            shown = " ".join(line.strip("│ ") for line in seen.lines[1:-2])
            assert words in shown
            assert "  indented" in seen.text
            assert all(len(line) <= columns for line in seen.lines)
