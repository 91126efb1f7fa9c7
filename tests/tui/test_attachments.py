"""What goes with a message can be seen, and taken away again."""

from contextlib import asynccontextmanager

import pytest

from paceline.chat.turns import Attached
from paceline.tui.widgets.attachments import ROWS, AttachmentBar
from support.transcripts import Stage, seen


def things(count):
    return [Attached("file", f"folder/file{at}.py", "x\n" * (at + 1)) for at in range(count)]


@asynccontextmanager
async def showing(attached, size=(40, 12)):
    bar = AttachmentBar()
    app = Stage(bar)
    async with app.run_test(size=size, message_hook=app.keep) as pilot:
        bar.show(attached)
        await pilot.pause()
        yield bar, pilot, app


async def test_each_has_a_line():
    async with showing([*things(2), Attached("paste", "\x1b[2J[b]x", "y", cut="the rest")]) as (bar, _, _):
        assert [line.strip() for line in seen(bar)] == [
            "+ folder/file0.py (1 line) x",
            "+ folder/file1.py (2 lines) x",
            "+ [b]x (1 line), the rest x",
        ]


async def test_it_takes_no_room_while_there_are_none():
    async with showing([]) as (bar, pilot, _):
        assert bar.outer_size.height == 0
        bar.show(things(1))
        await pilot.pause()
        assert bar.outer_size.height == 1
        bar.show([])
        await pilot.pause()
        assert not bar.display


@pytest.mark.parametrize(
    ("keys", "index"), [(["delete"], 0), (["down", "x"], 1), (["down"] * 9 + ["backspace"], 6), (["up", "x"], 0)]
)
async def test_keys_choose_and_remove(keys, index):
    async with showing(things(7)) as (bar, pilot, app):
        bar.focus()
        await pilot.press(*keys)
        (removed,) = app.kept(AttachmentBar.Removed)
        assert (removed.index, removed.attached) == (index, things(7)[index])


async def test_many_are_scrolled_to():
    async with showing(things(7)) as (bar, pilot, _):
        assert len(seen(bar)) == ROWS
        bar.focus()
        await pilot.press(*["down"] * 6)
        assert "file6" in seen(bar)[-1]


async def test_a_click_on_the_mark_removes_and_beside_it_does_not():
    async with showing(things(3)) as (bar, pilot, app):
        end = len(seen(bar)[1])
        await pilot.click(AttachmentBar, offset=(5, 1))
        assert not app.kept(AttachmentBar.Removed)
        await pilot.click(AttachmentBar, offset=(end - 1, 1))
        assert [removed.index for removed in app.kept(AttachmentBar.Removed)] == [1]


async def test_long_names_are_shortened_so_that_the_mark_stays():
    async with showing([Attached("file", "日本語/" * 20, "")], size=(30, 5)) as (bar, _, _):
        assert seen(bar)[0].endswith("… x")
