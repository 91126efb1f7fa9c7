"""What is pasted, and how a paste is told from typing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.chat.pastes import Burst, around, as_attachment, cleaned, line_count, placeholder, shown
from paceline.chat.turns import Attached

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
    """What each key is; the first comes after a long while."""
    burst, now = Burst(), 100.0
    found = []
    for at, gap in enumerate([5.0, *gaps]):
        now += gap
        found.append(burst.key("\r" if at in newline_at else "x", now))
    return found


def pasted(text, gap):
    """What a burst makes of a text: what stays in the prompt, what is taken back, what is pasted."""
    burst, typed, rest, now = Burst(), "", "", 100.0
    for character in text:
        now += gap
        what = burst.key(character, now)
        if what == "typed":
            typed += character
        elif what == "pasted":
            begun = burst.beginning()
            assert typed.endswith(begun.removesuffix("\n"))
            typed = typed[: len(typed) - len(begun.removesuffix("\n"))]
            rest += begun + character
    return typed, rest


def test_enter_after_typing_is_held_for_a_moment_and_nothing_is_a_paste():
    found = fed(TYPED * 3, newline_at={15})
    assert found[15] == "held"
    assert set(found) == {"typed", "held"}


def test_a_key_that_is_held_is_no_paste():
    assert set(fed([HELD] * 40)) == {"typed"}


@pytest.mark.parametrize("text", ["a\nb\nc\n", "\n\nx\n", "word\n" * 9, "ab", "one line only", "x\ny"])
@pytest.mark.parametrize("gap", [0.0, 0.002, 0.01])
def test_no_line_of_a_paste_is_sent_and_none_of_its_keys_is_lost(text, gap):
    typed, rest = pasted(text, gap)
    assert typed + rest == text.rstrip("\n") if not rest else typed + rest == text
    if "\n" in text[:-1]:
        assert rest == text


def test_keys_that_come_at_the_same_moment_are_a_paste():
    assert set(fed([0.0] * 20, newline_at={7})[3:]) == {"pasted"}


def test_a_newline_that_lags_behind_a_paste_is_text_and_one_a_moment_later_is_not():
    assert fed([*[0.001] * 10, 0.1], newline_at={11})[11] == "pasted"
    assert fed([*[0.001] * 10, 0.3], newline_at={11})[11] == "held"


def test_two_keys_pressed_at_once_are_typed():
    assert fed([0.1, 0.004, 0.1, 0.1], newline_at={4}) == ["typed"] * 4 + ["held"]


def test_after_a_paste_typing_is_typing_again():
    keys = fed([*[0.001] * 20, 0.3, *TYPED], newline_at={26})
    assert keys[20] == "pasted"
    assert keys[21] == "typed"
    assert keys[26] == "held"


WHOLES = ("[one]", "[one (2)]")


@pytest.mark.parametrize(
    ("text", "at", "before", "span"),
    [
        ("a [one] b", 7, True, (2, 7)),
        ("a [one] b", 2, False, (2, 7)),
        ("a [one] b", 4, True, (2, 7)),
        ("a [one] b", 4, False, (2, 7)),
        ("a [one] b", 7, False, None),
        ("a [one] b", 2, True, None),
        ("[one][one]", 5, True, (0, 5)),
        ("[one][one]", 5, False, (5, 10)),
        ("[one (2)]", 9, True, (0, 9)),
        ("[one", 4, True, None),
        ("[one]", 0, True, None),
        ("[one]", 5, False, None),
        ("", 0, True, None),
    ],
)
def test_a_placeholder_is_found_around_a_place(text, at, before, span):
    assert around(text, at, WHOLES, before=before) == span


@given(st.lists(st.sampled_from(["[one]", "[one (2)]", "x", "[on", "e]", "]"]), max_size=8), st.data())
@settings(deadline=None)
def test_it_is_found_wherever_the_place_is_in_it(parts, data):
    text = "".join(parts)
    at = data.draw(st.integers(0, len(text)))
    for before in (True, False):
        here = at - 1 if before else at
        spans = [
            (start, start + len(whole))
            for whole in WHOLES
            for start in range(len(text))
            if text.startswith(whole, start) and start <= here < start + len(whole)
        ]
        assert around(text, at, WHOLES, before=before) == (spans[0] if spans else None)


def test_only_pastes_have_placeholders_that_are_shown():
    paste, file = as_attachment("line\n" * 60, 30), Attached("file", "a.py", "")
    assert shown((file, paste), f"see {placeholder(paste)} and [a.py]") == (paste,)
    assert shown((file, paste), "see") == ()
