"""What is typed or pasted is in the prompt, and only a person's Enter sends it."""

from contextlib import asynccontextmanager

import pytest
from textual import events

from paceline.tui.widgets.prompt import Prompt
from support.transcripts import Stage, seen


@asynccontextmanager
async def typing(size=(40, 12), **more):
    prompt = Prompt(**more)
    app = Stage(prompt)
    async with app.run_test(size=size, message_hook=app.keep) as pilot:
        prompt.focus()
        await pilot.pause()
        yield prompt, pilot, app


def paste(prompt, text):
    prompt.post_message(events.Paste(text))


async def test_enter_sends_what_is_written_and_leaves_it_there():
    async with typing() as (prompt, pilot, app):
        await pilot.press("h", "i", "enter")
        await pilot.pause(0.1)
        assert [sent.text for sent in app.kept(Prompt.Submitted)] == ["hi"]
        assert prompt.text == "hi"


@pytest.mark.parametrize("key", ["shift+enter", "alt+enter", "ctrl+j"])
async def test_these_keys_begin_a_line_and_send_nothing(key):
    async with typing() as (prompt, pilot, app):
        await pilot.press("a", key, "b")
        assert prompt.text == "a\nb"
        assert not app.kept(Prompt.Submitted)


async def test_a_short_paste_is_put_at_the_cursor_without_what_could_steer_a_terminal():
    async with typing() as (prompt, pilot, app):
        await pilot.press("a", "b", "left")
        paste(prompt, "1\r\n\x1b[2J2\r3")
        await pilot.pause()
        assert prompt.text == "a1\n2\n3b"
        assert not app.kept(Prompt.Submitted)


async def test_a_long_paste_is_handed_on():
    async with typing(paste_lines=30) as (prompt, pilot, app):
        text = "".join(f"line {at}\n" for at in range(5000))
        paste(prompt, text)
        await pilot.pause()
        assert [pasted.text for pasted in app.kept(Prompt.Pasted)] == [text]
        assert prompt.text == ""
        await pilot.press("x", "enter")
        await pilot.pause(0.1)
        assert [sent.text for sent in app.kept(Prompt.Submitted)] == ["x"]


async def test_a_paste_of_5000_lines_fits_into_the_prompt_where_that_is_wanted():
    async with typing(paste_lines=10_000) as (prompt, pilot, app):
        paste(prompt, "word\n" * 5000)
        await pilot.pause()
        await pilot.press("x", "enter")
        await pilot.pause(0.1)
        assert app.kept(Prompt.Submitted)[0].text == "word\n" * 5000 + "x"


async def test_a_paste_without_brackets_sends_nothing_and_comes_as_one():
    async with typing() as (prompt, pilot, app):
        for line in range(40):
            for character in f"line {line}":
                prompt.post_message(events.Key("space" if character == " " else character, character))
            prompt.post_message(events.Key("enter", "\r"))
        await pilot.pause(0.5)
        assert not app.kept(Prompt.Submitted)
        pasted = prompt.text + "".join(each.text for each in app.kept(Prompt.Pasted))
        assert pasted == "".join(f"line {line}\n" for line in range(40))
        assert len(app.kept(Prompt.Pasted)) == 1
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert len(app.kept(Prompt.Submitted)) == 1


@pytest.mark.parametrize("lines", [2, 40])
async def test_an_enter_right_before_a_paste_is_a_part_of_it(lines):
    async with typing() as (prompt, pilot, app):
        await pilot.press("a")
        prompt.post_message(events.Key("enter", "\r"))
        paste(prompt, "word\n" * lines)
        await pilot.pause(0.2)
        assert not app.kept(Prompt.Submitted)
        assert prompt.text + "".join(each.text for each in app.kept(Prompt.Pasted)) == "a\n" + "word\n" * lines


async def test_up_and_down_go_through_earlier_inputs_only_at_the_edges():
    earlier = ["second", "first"]
    later = ["second", "two\nlines"]
    options = {"previous": lambda now: earlier.pop(0), "following": lambda: later.pop(0)}
    async with typing(**options) as (prompt, pilot, _):
        prompt.replace_all("two\nlines")
        await pilot.press("up")
        assert prompt.text == "two\nlines" and prompt.cursor_location[0] == 0
        await pilot.press("up")
        assert prompt.text == "second"
        await pilot.press("up")
        assert prompt.text == "first"
        await pilot.press("down", "down")
        assert prompt.text == "two\nlines"


async def test_what_was_replaced_can_be_had_again():
    async with typing() as (prompt, pilot, _):
        await pilot.press(*"mine")
        prompt.replace_all("history")
        prompt.put("!")
        await pilot.press("ctrl+z", "ctrl+z")
        assert prompt.text == "mine"
        await pilot.press("ctrl+y")
        assert prompt.text == "history"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("look at @src", ["@", "@s", "@sr", "@src"]),
        ("/th", ["/", "/t", "/th"]),
        ("a/b", []),
        ("x@y", []),
        ("/theme d", ["/", "/t", "/th", "/the", "/them", "/theme", "/theme ", "/theme d"]),
    ],
)
async def test_a_word_that_something_may_be_offered_for_is_told_as_it_is_typed(text, words):
    async with typing() as (_, pilot, app):
        await pilot.press(*("space" if character == " " else character for character in text))
        assert [typed.word for typed in app.kept(Prompt.Typing)] == words


async def test_the_word_is_gone_when_the_cursor_leaves_it():
    async with typing() as (_, pilot, app):
        await pilot.press("@", "a", "home")
        assert app.kept(Prompt.Typing)[-1].word == ""


async def test_what_is_chosen_takes_the_place_of_the_word():
    async with typing() as (prompt, pilot, _):
        await pilot.press(*"see", "space", *"@sr", "x", "left")
        prompt.complete("@src/a.py ")
        assert prompt.text == "see @src/a.py x"


async def test_an_open_list_gets_the_keys_that_move_in_it():
    async with typing() as (prompt, pilot, app):
        await pilot.press("@")
        prompt.popup_open = True
        await pilot.press("down", "up", "tab", "enter", "escape", "a")
        assert [key.key for key in app.kept(Prompt.Popup)] == ["down", "up", "tab", "enter", "escape"]
        assert prompt.text == "@a" and prompt.has_focus
        assert not app.kept(Prompt.Submitted)


async def test_it_grows_with_its_lines_to_a_third_of_the_screen():
    async with typing(size=(40, 24)) as (prompt, pilot, _):
        prompt.styles.max_height = "33%"
        heights = []
        for _ in range(14):
            heights.append(prompt.size.height)
            await pilot.press("ctrl+j")
        assert heights[:4] == [1, 2, 3, 4]
        assert prompt.outer_size.height <= 8


async def test_the_cursor_is_told_in_characters():
    async with typing() as (prompt, _, _):
        prompt.replace_all("ab\ncd\nef", 4)
        assert prompt.cursor == 4 and prompt.cursor_location == (1, 1)


async def test_pages_and_the_editor_are_left_to_the_screen():
    async with typing() as (_, pilot, app):
        await pilot.press("pageup", "pagedown", "ctrl+g")
        assert [paged.by for paged in app.kept(Prompt.Paged)] == [-1, 1]
        assert len(app.kept(Prompt.EditorWanted)) == 1


async def test_the_cursor_does_not_blink():
    async with typing() as (prompt, pilot, _):
        await pilot.press("a")
        assert all(not timer._active.is_set() for timer in prompt._timers)
        assert seen(prompt)[1].strip() == "a"


async def test_a_blank_gives_way_to_what_is_typed_right_behind_it():
    async with typing() as (prompt, pilot, _):
        prompt.put("@a.py ")
        prompt.blank_gives_way(":")
        await pilot.press("colon", "f")
        assert prompt.text == "@a.py:f"
        assert prompt.word == "@a.py:f"


@pytest.mark.parametrize("keys", [["x", "backspace"], ["left", "right"], ["left", "end"]])
async def test_a_blank_that_was_passed_by_stays(keys):
    async with typing() as (prompt, pilot, _):
        prompt.put("@a.py ")
        prompt.blank_gives_way(":")
        await pilot.press(*keys, "colon")
        assert prompt.text == "@a.py :"


async def test_a_blank_that_the_person_typed_stays():
    async with typing() as (prompt, pilot, _):
        await pilot.press(*"@a.py", "space", "colon")
        assert prompt.text == "@a.py :"
