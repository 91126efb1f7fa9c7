"""What stands in the prompt for a paste goes and comes with the paste."""

from contextlib import asynccontextmanager

import pytest

from paceline.chat.pastes import placeholder
from paceline.chat.turns import Attached
from paceline.tui.placeholders import Placeholders
from paceline.tui.widgets.prompt import Prompt
from support.app_driving import chat, until
from support.transcripts import Stage

LOG, OTHER, FILE = (
    Attached("paste", "pasted text, 60 lines", "a\n" * 60),
    Attached("paste", "pasted text, 60 lines (2)", "b\n" * 60),
    Attached("file", "app.py", "x = 1\n", "/w/app.py"),
)


class Held(Stage):
    """A prompt with attachments, as the conversation's screen has them."""

    def __init__(self, prompt):
        super().__init__(prompt)
        self.attached = ()
        self.placeholders = Placeholders(self)

    def attach(self, attached):
        self.attached = attached

    def on_text_area_changed(self):
        self.placeholders.changed()

    async def paste(self, pilot, attached):
        self.query_one(Prompt).put(placeholder(attached))
        self.attach((*self.attached, attached))
        await pilot.pause()


@asynccontextmanager
async def holding(*pasted, before="see ", after=" and"):
    prompt = Prompt()
    app = Held(prompt)
    async with app.run_test(size=(80, 12)) as pilot:
        prompt.focus()
        app.attach((FILE,))
        prompt.put(before)
        for each in pasted:
            await app.paste(pilot, each)
        end = prompt.cursor
        prompt.put(after)
        await pilot.pause()
        prompt.move_cursor((0, end))
        yield app, prompt, pilot


@pytest.mark.parametrize("keys", [["backspace"], ["left", "left", "backspace"], ["ctrl+w"], ["right", "ctrl+w"]])
async def test_backspace_takes_all_of_it_with_the_paste(keys):
    async with holding(LOG, OTHER) as (app, prompt, pilot):
        await pilot.press(*keys)
        assert prompt.text in ("see [pasted text, 60 lines] and", "see [pasted text, 60 lines]and")
        assert app.attached == (FILE, LOG)


async def test_delete_before_it_takes_it_and_the_next_one_stays():
    async with holding(LOG, OTHER) as (app, prompt, pilot):
        prompt.move_cursor((0, len("see ")))
        await pilot.press("delete")
        assert prompt.text == "see [pasted text, 60 lines (2)] and"
        assert app.attached == (FILE, OTHER)


async def test_beside_it_letters_go_one_by_one():
    async with holding(LOG) as (app, prompt, pilot):
        await pilot.press("delete")
        prompt.move_cursor((0, len("see ")))
        await pilot.press("backspace")
        assert prompt.text == "see[pasted text, 60 lines]and"
        assert app.attached == (FILE, LOG)


async def test_text_that_only_looks_like_one_is_text():
    async with holding(before="[pasted text, 7 lines]", after="") as (_, prompt, pilot):
        await pilot.press("backspace")
        assert prompt.text == "[pasted text, 7 lines"


@pytest.mark.parametrize("keys", [["end", "ctrl+u"], ["ctrl+a", "shift+end", "backspace"], ["home", "shift+end", "x"]])
async def test_what_is_cleared_takes_its_pastes_and_nothing_else(keys):
    async with holding(LOG, OTHER) as (app, prompt, pilot):
        await pilot.press(*keys)
        await pilot.pause()
        assert "pasted" not in prompt.text
        assert app.attached == (FILE,)


async def test_undo_brings_the_paste_back_with_its_placeholder_and_redo_takes_both():
    async with holding(LOG) as (app, prompt, pilot):
        await pilot.press("backspace")
        assert app.attached == (FILE,)
        prompt.undo()
        await pilot.pause()
        assert (prompt.text, app.attached) == ("see [pasted text, 60 lines] and", (FILE, LOG))
        prompt.redo()
        await pilot.pause()
        assert app.attached == (FILE,)


async def test_of_two_pastes_with_one_name_none_comes_back_in_the_place_of_the_other():
    again = Attached("paste", LOG.name, "c\n" * 60)
    async with holding(LOG) as (app, prompt, pilot):
        await pilot.press("backspace")
        assert app.placeholders.names == (LOG.name,)
        await app.paste(pilot, again)
        assert app.attached == (FILE, again)
        for _ in range(2):
            prompt.undo()
            await pilot.pause()
        assert "pasted" in prompt.text
        assert app.attached == (FILE,)


async def test_what_was_sent_does_not_come_back_with_the_same_words():
    async with holding(LOG) as (app, prompt, pilot):
        await pilot.press("backspace")
        app.attach(())
        prompt.replace_all("")
        prompt.history.clear()
        await pilot.pause()
        prompt.replace_all("see [pasted text, 60 lines] and")
        await pilot.pause()
        assert app.attached == ()


async def test_a_paste_that_is_taken_away_elsewhere_stays_away():
    async with holding(LOG) as (app, _, pilot):
        app.attach((FILE,))
        await pilot.press("x")
        await pilot.press("backspace", "backspace")
        assert app.attached == (FILE,)


async def test_a_paste_that_is_removed_goes_with_its_placeholder_and_both_come_back_in_one_step():
    async with holding(LOG, OTHER) as (app, prompt, pilot):
        assert app.placeholders.remove(LOG)
        await pilot.pause()
        assert (prompt.text, app.attached) == ("see [pasted text, 60 lines (2)] and", (FILE, OTHER))
        assert prompt.text[: prompt.cursor] == "see [pasted text, 60 lines (2)]"  # it stays where it was
        prompt.undo()
        await pilot.pause()
        assert prompt.text == "see [pasted text, 60 lines][pasted text, 60 lines (2)] and"
        assert app.attached == (FILE, OTHER, LOG)
        prompt.redo()
        await pilot.pause()
        assert (prompt.text, app.attached) == ("see [pasted text, 60 lines (2)] and", (FILE, OTHER))


async def test_a_placeholder_that_was_edited_is_text_and_stays():
    async with holding(LOG) as (app, prompt, pilot):
        prompt.replace_all("see my log")
        app.attach((FILE, LOG))  # as a message that is taken back brings it
        await pilot.pause()
        assert not app.placeholders.remove(LOG)
        assert prompt.text == "see my log"


async def test_a_placeholder_that_stands_for_another_paste_too_stays():
    again = Attached("paste", LOG.name, "c\n" * 60)
    async with holding(LOG) as (app, prompt, _):
        app.attach((*app.attached, again))
        assert not app.placeholders.remove(LOG)
        assert LOG.name in prompt.text


async def test_in_the_bar_a_paste_is_removed_from_the_prompt_as_well(app):
    async with app().run_test() as pilot:
        prompt = chat(pilot).query_one(Prompt)
        await pilot.press(*"why ")
        prompt.post_message(Prompt.Pasted(LOG.text))
        await until(pilot, lambda: chat(pilot).attached)
        await pilot.press("?", "shift+tab", "x")
        await until(pilot, lambda: not chat(pilot).attached)
        assert prompt.text == "why ?"
        assert pilot.app.focused is prompt
        await pilot.press("ctrl+z")
        await until(pilot, lambda: chat(pilot).attached)
        assert prompt.text == f"why {placeholder(chat(pilot).attached[0])}?"
        assert chat(pilot).attached[0].text == LOG.text
