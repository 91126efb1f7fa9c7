"""A conversation stays readable while it is written, however long it is, and whatever somebody writes into it."""

import gc

import pytest
from textual import events

from paceline.chat.turns import Attached, Run
from paceline.tui.widgets.column import KEPT
from paceline.tui.widgets.frames import FRAME
from paceline.tui.widgets.transcript import Transcript
from support.transcripts import answer, pieces, question, seen, talking

ANSWER = """# Sums

Two **ways**, see [here](https://example.org):

1. With a loop:
   ```python
   total = 0
   for value in values:
   \ttotal += value  # 日本語 👩‍👩‍👧
   ```
2. With `sum`:

```python
total = sum(values)
```

| way  | speed |
|------|------:|
| loop | 1     |
| sum  | 5     |

> It depends.
"""
HOSTILE = "a \x1b]52;c;ZXZpbA==\x07b [bold]c[/] \x1b[2Jd \u202ee &#27;[31m f\x9b1mg"


def without_bar(transcript: Transcript) -> list[str]:
    """What is on the screen beside the scroll bar."""
    width = transcript.scrollable_content_region.width
    return [line[:width].rstrip() for line in seen(transcript)]


async def finish(transcript: Transcript, pilot, turn) -> None:
    transcript.update_turn(turn)
    await pilot.pause()
    while transcript._colouring or transcript._frames.due:
        await pilot.pause(FRAME)


async def test_an_answer_is_shown_as_markdown():
    async with talking(question("How?"), answer(ANSWER), size=(60, 40)) as (transcript, _):
        shown = seen(transcript)
        assert "  You" in shown and "  a-model" in shown
        assert "  Two ways, see here (https://example.org):" in shown
        assert "  2. With sum:" in shown
        assert "  way   speed" in shown
        assert "  sum       5" in shown
        assert "  │ It depends." in shown


async def test_code_has_a_number_and_a_line_of_what_can_be_done_with_it():
    async with talking(answer(ANSWER), size=(60, 40)) as (transcript, _):
        shown = seen(transcript)
        first = next(at for at, line in enumerate(shown) if line.strip().startswith("─ 1 python"))
        assert shown[first + 1 : first + 4] == [
            "     total = 0",
            "     for value in values:",
            "         total += value  # 日本語 👩‍👩‍👧",
        ]
        assert "c copy ─ s save ─ o open ─ r run ─ a apply" in shown[first + 4]
        assert any(line.strip().startswith("─ 2 python") for line in shown)


@pytest.mark.parametrize("drafts", [False, True])
@pytest.mark.parametrize("size", [3, 11, 200])
async def test_in_whatever_pieces_it_comes_the_picture_is_the_same(size, drafts):
    turn = answer(ANSWER)
    async with talking(turn, size=(50, 45), drafts=drafts) as (transcript, pilot):
        await finish(transcript, pilot, turn)
        at_once = transcript.app.screen._compositor.render_strips()
    async with talking(answer("", state="streaming"), size=(50, 45), drafts=drafts) as (transcript, pilot):
        for piece in pieces(ANSWER, [size]):
            transcript.append(2, piece)
            transcript._frames.draw()
        await finish(transcript, pilot, turn)
        assert transcript.app.screen._compositor.render_strips() == at_once


async def test_a_fence_is_never_blank_while_it_is_written():
    async with talking(answer("", state="streaming"), size=(60, 30)) as (transcript, pilot):
        written = ""
        for piece in pieces("See:\n\n```python\n" + "x = 1  # one\n" * 12, [5]):
            written += piece
            transcript.append(2, piece)
            transcript._frames.draw()
            await pilot.pause()
            lines = written.partition("```python\n")[2].splitlines()
            assert sum("x = 1" in line for line in seen(transcript)) >= sum("x = 1" in line for line in lines[:-1])


async def test_text_that_comes_within_a_frame_is_drawn_at_once():
    async with talking(answer("", state="streaming")) as (transcript, pilot):
        drawn = []
        frame = transcript._frames.draw
        transcript._frames.draw = lambda: (drawn.append(1), frame())[1]
        for _ in range(500):
            transcript.append(2, "word ")
        await pilot.pause(FRAME * 2)
        assert 1 <= len(drawn) <= 3
        assert "word" in "".join(seen(transcript))


async def test_nothing_is_drawn_and_no_timer_runs_while_nothing_comes():
    async with talking(question("Hi"), answer(ANSWER)) as (transcript, pilot):
        await finish(transcript, pilot, answer(ANSWER))
        assert not [timer for timer in transcript._timers if timer._task is not None and not timer._task.done()]
        assert not transcript._frames.due and not transcript._colouring


async def test_nothing_that_steers_a_terminal_and_no_markup_gets_through():
    async with talking(question(HOSTILE), answer(HOSTILE), answer(f"```\n{HOSTILE}\n```", 3)) as (transcript, _):
        drawn = "".join(seen(transcript))
        assert not set(drawn) & {"\x1b", "\x9b", "\x07", "\u202e"}
        assert drawn.count("[bold]c[/]") == 3
        assert "ZXZpbA" not in drawn


async def test_the_end_is_followed_until_somebody_scrolls_up():
    async with talking(answer("", state="streaming"), size=(40, 8)) as (transcript, pilot):
        for at in range(30):
            transcript.append(2, f"line {at}\n\n")
        await pilot.pause(FRAME * 2)
        assert "line 29" in "".join(seen(transcript))
        transcript.focus()
        await pilot.press("pageup")
        before = without_bar(transcript)
        for at in range(30, 60):
            transcript.append(2, f"line {at}\n\n")
        await pilot.pause(FRAME * 2)
        assert without_bar(transcript) == before
        await pilot.press("end")
        transcript.append(2, "the last\n")
        await pilot.pause(FRAME * 2)
        assert "the last" in "".join(seen(transcript))


def long_session(turns: int):
    return [
        question(f"question {at}?", at) if at % 2 == 0 else answer(f"{ANSWER}\nanswer {at}\n", at)
        for at in range(turns)
    ]


async def test_of_a_long_session_only_what_is_seen_is_laid_out():
    async with talking(*long_session(2000), size=(80, 30)) as (transcript, pilot):
        entries = transcript._column.entries
        assert "answer 1999" in "".join(seen(transcript))
        assert sum(bool(entry.width) for entry in entries) < 10
        transcript.focus()
        await pilot.press("home")
        assert "question 0?" in "".join(seen(transcript))
        await pilot.press("pagedown", "pageup", "end")
        assert "answer 1999" in "".join(seen(transcript))
        assert sum(bool(entry.width) for entry in entries) < 30


async def test_scrolling_through_everything_keeps_few_turns_in_memory():
    async with talking(*long_session(600), size=(80, 30)) as (transcript, pilot):
        for at in range(0, 600, 3):
            transcript.select(at)
        await pilot.pause()
        gc.collect()
        assert sum(bool(entry.width) for entry in transcript._column.entries) <= 4 * KEPT


async def test_going_up_line_by_line_shows_every_line_once():
    turns = [question(f"q{at}\n" + "words that have to be wrapped somewhere " * (at % 4), at) for at in range(12)]
    async with talking(*turns, size=(30, 12)) as (transcript, pilot):
        transcript.focus()
        whole = without_bar(transcript)
        while transcript.scroll_offset.y > 0:
            before = whole[:11]
            transcript.action_scroll_up()
            await pilot.pause()
            now = without_bar(transcript)
            assert now[1:12] == before
            whole = [now[0], *whole]
        assert [line.strip() for line in whole if line.strip().startswith("q")] == [f"q{at}" for at in range(12)]


async def test_a_resize_keeps_the_place_and_fills_the_new_width():
    turns = [question(f"q{at} " + "words " * 40, at) for at in range(30)]
    async with talking(*turns, size=(80, 20)) as (transcript, pilot):
        transcript.select(10)
        await pilot.pause()
        assert "q10" in "".join(seen(transcript)[0:20])
        await pilot.resize_terminal(40, 12)
        await pilot.pause()
        shown = seen(transcript)
        assert any("q10" in line or "q9" in line for line in shown)
        assert all(len(line) <= 40 for line in shown)


async def test_following_survives_a_resize():
    async with talking(*[question(f"q{at} " + "words " * 40, at) for at in range(30)]) as (transcript, pilot):
        for size in [(40, 12), (120, 40), (10, 3), (60, 20)]:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert transcript.following
            assert transcript.scroll_offset.y == transcript.max_scroll_y
        assert "q29" in "".join(seen(transcript))


async def test_keys_go_through_turns_and_their_blocks():
    async with talking(question("q"), answer(ANSWER), question("again", 3), size=(60, 40)) as (transcript, pilot):
        transcript.focus()
        places = []
        for key in "kkkkkjjJK":
            await pilot.press(key)
            places.append(transcript.selected)
        assert places == [
            *[(3, None), (2, 1), (2, 0), (2, None), (1, None), (2, None), (2, 0), (3, None), (2, None)],
        ]
        marked = [line for line in seen(transcript) if line.startswith("▌")]
        assert "▌ a-model" in marked and len(marked) > 10


async def test_a_selected_block_is_asked_to_be_copied():
    async with talking(answer(ANSWER), size=(60, 40)) as (transcript, pilot):
        transcript.select(2, 1)
        transcript.action_offer("copy")
        await pilot.pause()
        (asked,) = transcript.app.kept(Transcript.BlockAction)
        assert (asked.turn, asked.block, asked.action) == (2, 1, "copy")


async def test_a_turn_with_several_blocks_is_not_taken_for_one_of_them():
    async with talking(answer(ANSWER)) as (transcript, pilot):
        transcript.select(2)
        transcript.action_offer("run")
        await pilot.pause()
        assert not transcript.app.kept(Transcript.BlockAction)


@pytest.mark.parametrize("word", ["copy", "save", "open", "run", "apply"])
async def test_what_is_offered_below_a_block_can_be_clicked(word):
    async with talking(answer(ANSWER), size=(70, 40)) as (transcript, pilot):
        shown = seen(transcript)
        row = max(at for at, line in enumerate(shown) if "c copy" in line)
        await pilot.click(Transcript, offset=(shown[row].index(word) + 1, row))
        (asked,) = transcript.app.kept(Transcript.BlockAction)
        assert (asked.block, asked.action) == (1, word)


async def test_a_branch_is_told_and_can_be_clicked():
    async with talking(answer("x"), branches={2: (2, 3)}, size=(40, 6)) as (transcript, pilot):
        head = seen(transcript)[0]
        assert "< 2/3 >" in head
        await pilot.click(Transcript, offset=(head.index("<"), 0))
        await pilot.click(Transcript, offset=(head.index(">"), 0))
        assert [asked.action for asked in transcript.app.kept(Transcript.TurnAction)] == ["left", "right"]


@pytest.mark.parametrize(
    ("state", "error", "told"),
    [("stopped", "", "stopped"), ("length", "", "token limit"), ("failed", "no \x1b[31mmodel", "failed: no model")],
)
async def test_how_an_answer_ended_is_told(state, error, told):
    async with talking(answer("It is", state=state, error=error)) as (transcript, _):
        assert told in "".join(seen(transcript))


async def test_attachments_are_a_line_each_and_can_be_unfolded():
    attached = (Attached("file", "a.py", "one\ntwo\n", cut="the end was left out"), Attached("paste", "b\x1b[2J", "x"))
    async with talking(question("Look", attached=attached)) as (transcript, pilot):
        assert "  + a.py (2 lines), the end was left out" in seen(transcript)
        assert "  + b (1 line)" in seen(transcript)
        assert "two" not in "".join(seen(transcript))
        transcript.select(1)
        transcript.focus()
        await pilot.press("space")
        assert "▌   two" in seen(transcript)


async def test_a_click_on_what_is_left_out_shows_how_it_was_summed_up():
    async with talking(question("And now?", skipped=1, summary="They talked about sums.")) as (transcript, pilot):
        assert "They talked" not in "".join(seen(transcript))
        await pilot.click(Transcript, offset=(4, 1))
        assert "▌   They talked about sums." in seen(transcript)


async def test_drafts_keep_the_layout_and_are_underlined_by_drafter():
    turn = answer("# plain **drafted** rest", runs=(Run("", 8), Run("ngram", 11), Run("draft", 5)))
    async with talking(turn, drafts=True) as (transcript, pilot):
        assert "  plain drafted rest" in seen(transcript)
        looks = {
            segment.text: segment.style
            for strip in transcript.app.screen._compositor.render_strips()
            for segment in strip
        }
        assert looks["drafted"].underline and not looks["drafted"].bold
        assert looks[" rest"].underline and looks[" rest"].bold
        assert not looks["plain "].underline and not looks["plain "].bold
        transcript.drafts = False
        await pilot.pause()
        assert "  plain drafted rest" in seen(transcript)


async def test_what_greets_is_gone_with_the_first_turn():
    async with talking(greeting="Ask [something]") as (transcript, pilot):
        assert "Ask [something]" in seen(transcript)[0]
        transcript.add(question("Hi"))
        await pilot.pause()
        assert "Ask" not in "".join(seen(transcript))


@pytest.mark.parametrize("theme", ["paceline-light", "paceline-contrast", "paceline-ansi", "paceline-plain", "nord"])
async def test_it_is_drawn_in_every_theme(theme):
    async with talking(answer(ANSWER), theme=theme) as (transcript, _):
        assert any("c copy" in line for line in seen(transcript))


async def test_the_wheel_scrolls_and_the_end_is_followed_again_once_it_is_reached():
    async with talking(*long_session(20), size=(60, 15)) as (transcript, pilot):
        transcript.app.animation_level = "none"
        for _ in range(4):
            wheel(transcript, events.MouseScrollUp)
        await pilot.pause()
        assert not transcript.following and transcript.scroll_offset.y < transcript.max_scroll_y
        for _ in range(9):
            wheel(transcript, events.MouseScrollDown)
        await pilot.pause()
        assert transcript.following


def wheel(transcript: Transcript, kind) -> None:
    x, y = transcript.region.offset
    transcript.post_message(kind(transcript, 1, 1, 0, 0, 0, False, False, False, x + 1, y + 1))


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (5, 2), (9, 40)])
async def test_a_tiny_terminal_breaks_nothing(size):
    async with talking(question("q" * 50), answer(ANSWER), size=size) as (transcript, pilot):
        transcript.focus()
        await pilot.press("home", "k", "k", "pagedown", "end")
        assert len(seen(transcript)) == size[1]


async def test_another_conversation_shows_nothing_of_the_one_before():
    async with talking(question("first"), answer("of the first")) as (transcript, pilot):
        transcript.select(2)
        transcript.show([question("second"), answer("of the second", state="streaming")])
        transcript.append(2, ", and more")
        await pilot.pause(FRAME * 2)
        drawn = "\n".join(seen(transcript))
        assert "first" not in drawn and "of the second, and more" in drawn
        assert transcript.selected == (None, None)


async def test_another_branch_keeps_what_was_laid_out_of_the_same_turns():
    async with talking(question("q"), answer(ANSWER)) as (transcript, pilot):
        before = transcript._column.entries[1]
        transcript.show([question("q"), answer(ANSWER), question("new", 3)], {2: (1, 2)})
        await pilot.pause()
        assert transcript._column.entries[1] is before
        assert "new" in "".join(seen(transcript))
