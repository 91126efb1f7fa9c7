"""Ctrl-Z takes back what this window has written; what others wrote is taken back after a yes."""

import pytest

from paceline.chat.edits.changes import Change
from paceline.chat.edits.journal import Accepted
from paceline.tui.screens.confirm import ConfirmScreen
from paceline.tui.screens.review import ReviewScreen
from support.app_driving import chat, told, until, write
from support.screens import Seen


@pytest.fixture
def here(app):
    made = app()
    for name in ("a.py", "b.py"):
        (made.services.root / name).write_text("old\n")
    return made


async def review(pilot, *names):
    """A review of a change of each of these files."""
    changes = [Change(name, "old\n", "mine\n", "whole", certain=True) for name in names]
    chat(pilot).do(as_task(chat(pilot).files.review(changes)))
    await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))


async def as_task(writes):
    await writes


async def written(pilot, name):
    await review(pilot, name)
    await pilot.press("enter")
    await until(pilot, lambda: "written" in told(pilot) and pilot.app.screen is chat(pilot))


def by_another_window(here, name):
    here.services.journal().apply(here.services.root, [Accepted(name, "old\n", "theirs\n")])


def texts(here):
    return [(here.services.root / name).read_text() for name in ("a.py", "b.py")]


async def test_control_z_takes_back_what_this_window_wrote_whatever_another_one_did_since(here):
    async with here.run_test(notifications=True) as pilot:
        await written(pilot, "a.py")
        by_another_window(here, "b.py")
        await pilot.press("ctrl+z")
        await until(pilot, lambda: "as it was: a.py" in told(pilot))
        assert texts(here) == ["old\n", "theirs\n"]


async def test_what_another_window_wrote_is_named_before_it_is_taken_back(here):
    async with here.run_test(notifications=True) as pilot:
        await written(pilot, "a.py")
        by_another_window(here, "b.py")
        await write(pilot, "/undo", send=False)
        await pilot.press("escape", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        assert "another window wrote" in pilot.app.screen._question.title
        assert pilot.app.screen._question.lines == ("b.py",)
        await pilot.press("n")
        await until(pilot, lambda: pilot.app.screen is chat(pilot))
        assert texts(here) == ["mine\n", "theirs\n"]


async def test_what_another_window_has_taken_back_is_not_taken_back_again(here):
    async with here.run_test(notifications=True) as pilot:
        await written(pilot, "a.py")
        journal = here.services.journal()
        journal.undo(journal.last(here.services.root))
        await pilot.press("ctrl+z")
        await until(pilot, lambda: "nothing of this window" in told(pilot))


async def test_a_file_that_cannot_be_written_costs_no_choice(here):
    async with here.run_test(notifications=True, size=(100, 30)) as pilot:
        await review(pilot, "a.py", "b.py")
        (here.services.root / "b.py").write_text("changed meanwhile\n")
        first = pilot.app.screen
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen) and pilot.app.screen is not first)
        seen = Seen(pilot, pilot.app)
        assert "b.py has been changed since the answer" in seen.text
        assert [pilot.app.screen._review.chosen(at) for at in (0, 1)] == [{0}, {0}]
        await pilot.press("tab", "n", "enter")
        await until(pilot, lambda: "written: a.py" in told(pilot))
        assert texts(here) == ["mine\n", "changed meanwhile\n"]


async def test_a_file_that_cannot_be_read_is_not_shown_as_a_new_one(here, client):
    (here.services.root / "c.py").write_bytes("x = 1\n".encode("utf-16"))
    client.says = lambda *_: ["```python c.py\nx = 2\n```\n"]
    async with here.run_test(size=(100, 30)) as pilot:
        await write(pilot, "Mend it")
        chat(pilot).do(chat(pilot).files.apply(chat(pilot).conversation.path[-1].id))
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        shown = Seen(pilot, pilot.app).text
        assert "new file" not in shown
        assert "c.py is not UTF-8" in shown
        assert pilot.app.screen._review.total == 0
