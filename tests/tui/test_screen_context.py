"""What does not fit is shown with what can be done about it; nothing is left out that was not chosen."""

from dataclasses import replace

import pytest

from paceline.chat.context.budget import Draft, Part, Sizes, sizes, summarised
from paceline.chat.turns import Attached, Turn
from paceline.client.counting import Counted
from paceline.errors import NetworkError
from paceline.tui.screens.context import ContextScreen
from paceline.tui.screens.fitting import FittingScreen
from paceline.tui.widgets.meter import aligned, bar, slices, summary, table
from support.screens import showing

FULL = Sizes(
    system=120,
    attachments=(Part("app/cli.py", 1200), Part("$ pytest -q", 300)),
    history=(Part("you: hi", 20), Part("answer", 800)),
    message=33,
    frame=4,
    reserve=1024,
    context=4096,
    cached=900,
)
TURNS = tuple(
    Turn(number, number - 1 or None, "user" if number % 2 else "assistant", f"turn {number} " * 40)
    for number in range(1, 9)
)
WORDY = Draft(
    "Be brief.",
    TURNS,
    "What now?",
    (
        Attached("file", "big.py", "x = 1\n" * 900, "/w/big.py"),
        Attached("file", "small.py", "y = 2\n" * 30, "/w/small.py"),
    ),
)


async def count(messages):
    """A token for each word."""
    return Counted(tuple(len(message.content.split()) + 3 for message in messages), 2)


async def measure(draft, context=1000):
    return await sizes(draft, count, context, 100)


async def fitting(draft=WORDY, *, measure=measure, summarise=None):
    async def told(draft, choice):
        return summarised(draft, choice, "They talked.")

    return FittingScreen(draft, await measure(draft), measure, summarise or told)


async def test_what_is_too_much_is_said_with_what_each_choice_frees():
    async with showing(await fitting(), (90, 30)) as seen:
        assert "does not fit" in seen.lines[seen.column_of("does not fit")[1]]
        assert "too many" in seen.text
        assert "big.py" in seen.text
        assert "frees" in seen.text


async def test_enter_sends_nothing_that_does_not_fit():
    async with showing(await fitting()) as seen:
        await seen.press("enter")
        assert not seen.gone
        assert "still" in seen.text


async def test_leaving_sends_nothing():
    async with showing(await fitting()) as seen:
        await seen.press("space", "escape")
        await seen.settle()
        assert seen.result is None


async def test_choices_are_done_one_after_the_other_until_it_fits_and_are_what_comes_back():
    async with showing(await fitting(), (90, 30)) as seen:
        for _ in range(20):
            if "It fits" in seen.text:
                break
            await seen.press("space")
            await seen.settle()
        assert "It fits" in seen.text
        await seen.press("enter")
        assert (await measure(seen.result)).fits
        assert seen.result.question == WORDY.question


async def test_a_choice_is_taken_back():
    screen = await fitting()
    async with showing(screen, (90, 30)) as seen:
        before = summary(await measure(WORDY))
        await seen.press("space")
        await seen.settle()
        assert "1 done" in seen.text
        assert before not in seen.text
        await seen.press("u")
        assert before in seen.text
        assert "1 done" not in seen.text


async def test_a_summary_stands_for_what_it_replaces_and_an_error_changes_nothing():
    calls = []

    async def summarise(draft, choice):
        calls.append(choice)
        if len(calls) == 1:
            raise NetworkError("the engine went away", "try again")
        return summarised(draft, choice, "They talked.")

    chatty = Draft("Be brief.", tuple(replace(turn, text=turn.text * 20) for turn in TURNS), "What now?")

    async def narrow(draft):
        return await measure(draft, 6000)

    async with showing(await fitting(chatty, measure=narrow, summarise=summarise), (100, 30)) as seen:
        kinds = [choice.kind for choice in seen.app.screen._offered]
        for _ in range(kinds.index("summarise")):
            await seen.press("down")
        await seen.press("space")
        await seen.settle()
        assert "the engine went away" in seen.text
        await seen.press("space")
        await seen.settle()
        assert seen.app.screen._steps[-1][0].summary == "They talked."


async def test_it_can_be_used_on_a_small_terminal():
    async with showing(await fitting(), (40, 12)) as seen:
        assert "too many" in seen.text
        assert "frees" in seen.text
        assert "Send" in seen.text


async def test_the_meter_in_full_has_a_line_for_everything():
    async with showing(ContextScreen(FULL)) as seen:
        for word in ("system prompt", "app/cli.py", "$ pytest -q", "you: hi", "kept for the answer", "595 free", "900"):
            assert word in seen.text
        await seen.press("escape")
        assert seen.gone


async def test_it_scrolls_on_a_small_terminal():
    async with showing(ContextScreen(FULL), (40, 12)) as seen:
        await seen.press("end")
        for _ in range(100):  # it glides there
            if "already read" in seen.text:
                break
            await seen.pilot.pause(0.05)
        assert "already read" in seen.text


@pytest.mark.parametrize("width", [1, 7, 20, 38, 76, 200])
def test_a_bar_has_its_width_and_shows_every_part_that_is_there_as_far_as_there_is_room(width):
    drawn = bar(FULL, width)
    assert len(drawn) == width
    if width >= 20:
        assert {part.sign for part in slices(FULL) if part.tokens} <= set(drawn)


def test_the_parts_are_the_whole():
    assert sum(part.tokens for part in slices(FULL)) == FULL.used
    assert sum(tokens for name, tokens in table(FULL, details=False)) == FULL.context


def test_what_is_kept_for_the_answer_is_told_apart_and_no_line_is_too_long():
    assert summary(FULL) == "2,477 + 1,024 kept for the answer, of 4,096 tokens; 595 free"
    signs = [part.sign for part in slices(FULL)]
    assert len(set(signs)) == len(signs)


def test_what_is_not_known_is_said():
    unknown = Sizes(1, (), (), 1, 1, 10, 0, estimated=True)
    assert "not known yet" in summary(unknown)
    assert "about" in summary(unknown)


async def test_a_summary_and_files_of_earlier_turns_are_told_apart():
    earlier = (replace(TURNS[0], attached=WORDY.attached[1:]), *TURNS[1:])
    whole = Draft("Be brief.", earlier, "What now?", (), 0, "")
    measured = await measure(whole, 6000)
    assert measured.files == (await measure(whole, 6000)).prompt - (await measure(replace(whole, path=TURNS))).prompt
    assert ("    of these, files", measured.files) in table(measured, details=True)
    shorter = await measure(replace(whole, skipped=2, summary="They talked a lot."), 6000)
    assert shorter.files == 0
    assert 0 < shorter.summary < shorter.system
    rows = dict(table(shorter, details=False))
    assert rows["▚ summary of turns that are not sent"] == shorter.summary
    assert rows["█ system prompt"] == shorter.system - shorter.summary
    assert sum(rows.values()) == 6000


def test_names_are_cut_to_the_width_and_hold_no_control_characters():
    lines = aligned([("日本語" * 20, 5), ("a\x1b[2J\nb", 12345)], 24).splitlines()
    assert len(lines) == 2
    assert "\x1b" not in "".join(lines)
    assert lines[0].endswith("     5")
