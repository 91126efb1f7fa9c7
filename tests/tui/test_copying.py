"""Code blocks are copied and saved by number."""

import pytest

from paceline.errors import InputError
from paceline.tui.screens.naming import NamingScreen
from paceline.tui.widgets.transcript import Transcript
from support.app_driving import chat, told, until, write

TWO = "First:\n\n```python\na = 1\n```\n\nSecond:\n\n```python\nb = 2\n```\n"


@pytest.fixture
async def talk(app, client):
    """An answer with two blocks, one with one, one with none."""
    async with app(environ={"PATH": ""}).run_test(notifications=True) as pilot:
        for answer in (TWO, "```python\nc = 3\n```\n", "Nothing more."):
            client.says = lambda *_, answer=answer: [answer]
            await write(pilot, "Go on")
        yield pilot


async def command(pilot, line):
    await write(pilot, line, send=False)
    await pilot.press("escape", "enter")


async def copied(pilot, tmp_path):
    await until(pilot, lambda: "cache" in told(pilot) or "terminal" in told(pilot))
    return [each.read_text() for each in (tmp_path / "cache").rglob("*") if each.is_file()]


@pytest.mark.parametrize(("number", "code"), [("1", "c = 3\n"), ("2", "b = 2\n"), ("02", "b = 2\n")])
async def test_the_last_answer_that_has_the_block_is_meant(talk, tmp_path, number, code):
    await command(talk, f"/copy {number}")
    assert await copied(talk, tmp_path) == [code]


@pytest.mark.parametrize(("word", "why"), [("3", "no answer has a code block 3"), ("0", "'0'"), ("one", "'one'")])
async def test_what_no_answer_has_is_said(talk, word, why):
    await command(talk, f"/copy {word}")
    await until(talk, lambda: why in told(talk))


async def test_without_a_number_the_last_answer_is_copied(talk, tmp_path):
    await command(talk, "/copy")
    assert await copied(talk, tmp_path) == ["Nothing more."]


async def test_a_block_is_saved_by_number_under_a_name(talk):
    await command(talk, "/save 2 b.py")
    await until(talk, lambda: isinstance(talk.app.screen, NamingScreen))
    await talk.press("enter")
    await until(talk, lambda: talk.app.screen is not chat(talk) and not isinstance(talk.app.screen, NamingScreen))
    await talk.pause(0.6)
    await talk.press("y")
    await until(talk, lambda: (chat(talk).services.root / "b.py").exists())
    assert (chat(talk).services.root / "b.py").read_text() == "b = 2\n"


async def test_a_number_is_one_of_the_answer_that_is_selected(talk, monkeypatch):
    first = next(turn.id for turn in chat(talk).conversation.path if turn.text == TWO)
    transcript = chat(talk).query_one(Transcript)
    monkeypatch.setattr(type(transcript), "selected", (first, None))
    assert chat(talk).commands._chosen("1") == (first, 0)
    with pytest.raises(InputError, match="what is selected has no code block 3"):
        chat(talk).commands._chosen("3")
