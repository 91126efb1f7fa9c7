"""A yes is only what somebody meant as one, and everything that is going to happen can be read."""

import pytest

from paceline.tui.screens.confirm import ConfirmScreen, Question, about_command, about_files
from support.screens import showing

LONG = Question("Do it?", tuple(f"line {number}" for number in range(60)))


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["y"], True),
        (["n"], False),
        (["escape"], None),
        (["enter"], False),
        (["right", "enter"], True),
        (["tab", "enter"], True),
        (["right", "left", "enter"], False),
        (["right", "escape"], None),
        (["l", "h", "enter"], False),
        (["ctrl+c"], None),
    ],
)
async def test_keys_answer(keys, answer):
    async with showing(ConfirmScreen(Question("Do it?"))) as seen:
        await seen.press(*keys)
        assert seen.result is answer


@pytest.mark.parametrize(("button", "answer"), [("Write", True), ("Don't write", False)])
async def test_the_mouse_answers(button, answer):
    async with showing(ConfirmScreen(about_files("Really?", ["a.py"], yes="Write"))) as seen:
        await seen.click(button)
        assert seen.result is answer


async def test_other_keys_are_no_answer():
    async with showing(ConfirmScreen(LONG)) as seen:
        for key in ("space", "a", "j", "x", "1", "down"):
            await seen.press(key)
            assert not seen.gone, key


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (200, 60)])
async def test_buttons_and_keys_are_in_sight_however_much_there_is_to_read(size):
    async with showing(ConfirmScreen(LONG), size) as seen:
        assert "line 0" in seen.text
        assert "60 lines" in seen.text
        assert "Yes" in seen.lines[seen.column_of("y Yes")[1] - 1]


async def test_everything_can_be_scrolled_to():
    async with showing(ConfirmScreen(LONG), (40, 12)) as seen:
        read = set()
        for _ in range(10):
            read |= {line.strip("│ ▁▂▃▄▅▆▇█\u2002") for line in seen.lines}
            await seen.press("pagedown")
        assert {f"line {number}" for number in range(60)} <= read


async def test_a_command_is_shown_whole_with_its_folder_and_limit():
    command = "rm -rf build && \\\n  make " + "very-" * 30 + "long"
    async with showing(ConfirmScreen(about_command(command, "/work/here", 120))) as seen:
        shown = "".join(line.strip("│ ") for line in seen.lines)
        assert "rm -rf build && \\" in shown
        assert "very-" * 30 + "long" in shown
        assert "in /work/here" in shown
        assert "ended after 120 s" in shown


async def test_files_outside_of_the_workspace_are_pointed_out_in_words():
    async with showing(ConfirmScreen(about_files("Write?", ["a.py", "/etc/passwd"], ["/etc/passwd"]))) as seen:
        assert "1 of these files lies OUTSIDE of the workspace" in seen.text
        assert "/etc/passwd  (outside of the workspace)" in seen.text
        assert "a.py  (outside" not in seen.text


async def test_files_inside_are_not():
    async with showing(ConfirmScreen(about_files("Write?", ["a.py", "b.py"]))) as seen:
        assert "utside" not in seen.text


async def test_neither_markup_nor_control_characters_do_anything():
    hostile = "echo \x1b[2J[bold]x[/bold] [@click=app.quit]y[/] \x1b]0;title\x07\u202eend"
    async with showing(ConfirmScreen(about_command(hostile, "/tmp"))) as seen:
        shown = "".join(line.strip("│ ") for line in seen.lines)
        assert "echo ␛[2J[bold]x[/bold] [@click=app.quit]y[/] ␛]0;title␇<U+202E>end" in shown
        assert "characters that cannot be seen" in seen.text
        assert "\x1b" not in seen.text
        assert "\u202e" not in seen.text


async def test_a_name_shows_what_would_not_be_seen_of_it():
    async with showing(ConfirmScreen(about_files("Write?", ["a\u202eyp.py"]))) as seen:
        assert "a<U+202E>yp.py" in seen.text
        assert "characters that cannot be seen" in seen.text
