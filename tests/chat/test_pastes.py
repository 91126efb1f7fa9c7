"""What is pasted, and how a paste is told from typing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.chat.pastes import Burst, as_attachment, cleaned, line_count, placeholder

TYPED = [0.09, 0.13, 0.2, 0.07, 0.05]  # seconds between keys of a quick typist
HELD = 1 / 30  # a key that repeats


@pytest.mark.parametrize(
    ("pasted", "clean"),
    [
        ("a\r\nb\rc\n", "a\nb\nc\n"),
        ("\x1b[31mred\x1b[0m\tx", "red\tx"),
        ("a\x1b]52;c;ZXZpbA==\x07b", "ab"),
        ("a\u202eb", "ab"),
        ("", ""),
    ],
)
def test_a_paste_is_made_clean(pasted, clean):
    assert cleaned(pasted) == clean


@given(st.text())
@settings(deadline=None)
def test_a_clean_paste_stays_as_it_is(text):
    assert cleaned(cleaned(text)) == cleaned(text)
    assert not set(cleaned(text)) & set("\r\x1b\x07\x00\x9b\u202e")


@given(st.lists(st.text(alphabet="ab "), max_size=40))
@settings(deadline=None)
def test_lines_are_counted_as_an_editor_counts_them(lines):
    assert line_count("".join(f"{line}\n" for line in lines)) == len(lines)


def test_a_long_paste_becomes_an_attachment():
    attached = as_attachment("line\r\n" * 412, 30)
    assert (attached.kind, attached.name, attached.text) == ("paste", "pasted text, 412 lines", "line\n" * 412)
    assert placeholder(attached) == "[pasted text, 412 lines]"


def test_a_short_paste_stays_in_the_prompt():
    assert as_attachment("line\n" * 30, 30) is None
    assert as_attachment("line\n" * 31, 30) is not None


def test_a_very_long_line_becomes_an_attachment_too():
    assert as_attachment("x" * 100_000, 30).name == "pasted text, 100,000 characters"


def test_two_pastes_of_one_length_have_two_names():
    first = as_attachment("a\n" * 40, 30)
    second = as_attachment("b\n" * 40, 30, [first.name])
    third = as_attachment("c\n" * 40, 30, [first.name, second.name])
    assert len({first.name, second.name, third.name}) == 3


def fed(gaps, newline_at=()):
    """For each key whether it is a part of a burst; the first comes after a long while."""
    burst, now = Burst(), 100.0
    found = []
    for at, gap in enumerate([5.0, *gaps]):
        now += gap
        found.append(burst.key(now, newline=at in newline_at))
    return found


def test_enter_after_typing_sends():
    assert not any(fed(TYPED * 3, newline_at={15}))


def test_a_key_that_is_held_is_no_paste():
    assert not any(fed([HELD] * 40, newline_at=range(41)))


def test_a_newline_within_a_paste_is_text():
    gaps = [0.0005] * 60
    assert fed(gaps, newline_at={10, 30, 60})[10] is True
    assert all(fed(gaps, newline_at={10, 30, 60})[5:])


def test_keys_that_come_at_the_same_moment_are_a_paste():
    assert all(fed([0.0] * 20, newline_at={7})[4:])


def test_a_newline_that_lags_behind_a_paste_is_text_and_one_a_moment_later_is_not():
    assert fed([*[0.001] * 10, 0.04], newline_at={11})[11] is True
    assert fed([*[0.001] * 10, 0.3], newline_at={11})[11] is False


def test_two_keys_pressed_at_once_do_not_hold_enter_back():
    assert fed([0.1, 0.004, 0.1, 0.1], newline_at={4})[4] is False


def test_after_a_paste_typing_is_typing_again():
    keys = fed([*[0.001] * 20, *TYPED], newline_at={25})
    assert keys[20] is True
    assert keys[25] is False
