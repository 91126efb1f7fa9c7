"""The footer says the most important things first, and never more than there is room for."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from paceline.tui.widgets.footer import Figures, Footer, line, reading
from support.transcripts import Stage, seen

FULL = Figures("qwen2.5-coder-1.5b", "writing", 42.42, 0.713, 1.84, 3100, 8192, False, 2, "? keys")


@given(st.integers(1, 200), st.booleans())
def test_it_fits(width, ascii_only):
    told = line(FULL, width, ascii_only=ascii_only)
    assert cell_len(told) <= width
    assert told.isascii() or not ascii_only


def test_with_room_everything_is_said():
    assert line(FULL, 140) == (
        "qwen2.5-coder-1.5b · writing · 42.4 tokens/s · 71% accepted · 1.84x speed-up · "
        "███░░░░░ 3,100/8,192 · 2 waiting · ? keys"
    )


@pytest.mark.parametrize(
    ("width", "kept", "gone"),
    [
        (70, ["writing", "42 t/s", "38%", "2 waiting", "qwen"], ["? keys"]),
        (40, ["writing", "38% full", "42 t/s", "2 waiting"], ["accepted", "? keys"]),
        (8, ["writing"], ["42"]),
    ],
)
def test_the_least_important_goes_first(width, kept, gone):
    told = line(FULL, width)
    assert all(each in told for each in kept) and not any(each in told for each in gone)


@pytest.mark.parametrize("width", range(1, 150))
def test_no_percentage_stands_without_a_word_that_says_of_what(width):
    for part in line(FULL, width).split(" · "):
        assert "%" not in part or any(word in part for word in ("accepted", "full", "context", "█", "…")), part


@pytest.mark.parametrize(
    ("width", "said"), [(140, "message (Esc: never mind)"), (112, "editing an earlier message"), (24, "editing")]
)
def test_what_the_next_message_replaces_is_said_beside_what_is_done_now(width, said):
    told = line(replace(FULL, replaces=True, rate=None), width)
    assert said in told
    assert "writing" in told


def test_nothing_known_is_nothing_said():
    assert line(Figures(), 80) == ""


@pytest.mark.parametrize(
    ("used", "about", "told"),
    [(0, False, "░░░░░░░░ 0/100"), (1, False, "█░░░░░░░ 1/100"), (100, True, "████████ ~100/100")],
)
def test_the_bar_shows_how_full_the_context_is(used, about, told):
    assert line(Figures(used=used, size=100, about=about), 80) == told


def test_too_much_is_said_in_words():
    assert "over" in line(Figures(used=120, size=100), 80)


@pytest.mark.parametrize(
    ("left", "told"),
    [(None, "reading 1,200 of 3,400 tokens"), (11.6, "reading 1,200 of 3,400 tokens, 12 s left"), (0.1, ", 1 s left"),
     (600, ", 10 min left")],
)  # fmt: skip
def test_reading_says_how_long_it_takes(left, told):
    assert reading(1200, 3400, left).endswith(told)


LONG = Figures("Qwen2.5-Coder 1.5B", "", 10.2, 0.24, 0.91, 2100, 8192, False, 0, "? keys")
READS = replace(LONG, state=reading(256, 2012, 6.0))


@pytest.mark.parametrize("state", [READS.state, reading(1_234, 12_345), f"summarising: {reading(1_024, 2_012, 70.0)}"])
def test_how_much_of_a_prompt_is_read_is_said_in_whole_numbers_or_not_at_all(state):
    whole = re.findall(r"[\d,]*\d", state)
    for width in range(len("reading"), 150):
        (told,) = (each for each in line(replace(LONG, state=state), width).split(" · ") if "reading" in each)
        assert re.findall(r"[\d,]*\d", told) in (whole, whole[:2], []), width


def test_at_eighty_columns_it_says_of_what_so_much_is_read_and_how_long_it_takes():
    assert "reading 256 of 2,012 tokens, 6 s left" in line(READS, 78)
    assert "reading 256 of 2,012, 6 s left" in line(READS, 60)
    assert line(READS, 38).startswith("reading 256 of 2,012 · ")


@pytest.mark.parametrize("width", range(40, 150))
def test_while_a_prompt_is_read_the_figures_of_the_answer_before_take_nobodys_room(width):
    told, alone = line(READS, width), line(replace(READS, rate=None, acceptance=None, speedup=None), width)
    parts = told.split(" · ")
    assert [each for each in parts if not re.search("tokens/s|t/s|accepted|x$|speed-up", each)] == alone.split(" · ")


def test_an_edit_that_is_computed_may_be_said_in_short():
    assert line(Figures(state="editing, 12 tokens", used=1, size=100), 20) == "editing · context 1%"


async def test_it_draws_what_it_was_shown_last_and_steers_no_terminal():
    footer = Footer()
    async with Stage(footer).run_test(size=(60, 3)) as pilot:
        footer.show(Figures(model="a\x1b[2J[b]\nb", state="writing"))
        await pilot.pause()
        assert seen(footer)[0].strip() == "a[b] b · writing"
