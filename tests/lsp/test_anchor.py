"""The part of a document that a model is shown holds while one types."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.lsp.anchor import FAR, TOO_FAR, Budget, Reach, behind, choose
from paceline.lsp.place import Place

LINES = "".join(f"line {number}\n" for number in range(2000))
ROOMY = Budget(4000, 1000)


def at(before: str, after: str = "") -> Place:
    return Place("file:///a.py", "python", 1, before, after)


def test_a_window_is_anchored_at_the_start_of_the_line():
    window = choose(at("one\ntwo th", "ree\nfour\n"), ROOMY)
    assert (window.prefix, window.suffix) == ("one\n", "ree\nfour\n")
    assert window.typed(at("one\ntwo th", "ree\nfour\n")) == "two th"


def test_it_holds_while_one_types_on_and_some_lines_further():
    window = choose(at("one\n", "\ntail\n"), ROOMY)
    for typed in ("t", "two", "two\n", "two\n    three\n"):
        assert window.typed(at("one\n" + typed, "\ntail\n")) == typed


def test_it_holds_while_one_deletes_behind_the_anchor():
    window = choose(at("one\ntwo", "\n"), ROOMY)
    assert window.typed(at("one\ntw", "\n")) == "tw"
    assert window.typed(at("on", "\n")) is None


def test_it_does_not_hold_when_the_text_before_the_anchor_changes():
    window = choose(at("one\ntwo", "\n"), ROOMY)
    assert window.typed(at("One\ntwo", "\n")) is None


def test_it_does_not_hold_when_the_suffix_changes():
    window = choose(at("one\ntwo", "\nthree\n"), ROOMY)
    assert window.typed(at("one\ntwo", "\nthree!\n")) is None


KEY = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF0PbnGcsqFvX8aBcDeFgHiJkLmNo\n"
BLOCK = "-----BEGIN PRIVATE " + "KEY-----\n" + KEY * 12 + "aBcDeFgH\n-----END PRIVATE " + "KEY-----\n"


@pytest.mark.parametrize("lines", range(12))
def test_a_key_that_an_edge_of_the_window_cuts_is_not_shown(lines: int):
    cut = len(KEY) * lines
    before, after = LINES[:3000] + BLOCK + "x = 1\n", "\n" + BLOCK + LINES[:3000]
    window = choose(at(before, after), Budget(len(BLOCK) - 20 - cut, 1 + cut + 40))
    assert 0 < len(window.prefix) < len(BLOCK)
    prefix, suffix = window.shown(at(before, after), "")
    assert (len(prefix), len(suffix)) == (len(window.prefix), len(window.suffix))
    assert not any(part in prefix + suffix for part in ("MIIE", "LmNo", "aBcDeFgH"))


def test_typing_does_not_change_what_is_shown_before_and_after():
    before, after = LINES[:9000] + BLOCK, "\n}\n" + BLOCK + LINES[:9000]
    window = choose(at(before, after), ROOMY)
    prefix, suffix = window.shown(at(before, after), "")
    typed = ""
    for char in "password = 'x' + \"Gr8!zebra\"\n    f(value":
        typed += char
        shown = window.shown(at(before + typed, after), typed)
        assert (shown[0][: len(prefix)], shown[1]) == (prefix, suffix)
        assert len(shown[0]) == len(prefix) + len(typed)


def test_closing_marks_behind_the_cursor_are_not_shown():
    window = choose(at("f(", ")\ntail\n"), ROOMY)
    assert window.shown(at("f(g(", "))\ntail\n"), "f(g(") == ("f(g(", "\ntail\n")


def test_closing_marks_that_an_editor_puts_behind_the_cursor_do_not_matter():
    window = choose(at("one\n", "\ntail\n"), ROOMY)
    assert window.typed(at("one\nprint(", ")\ntail\n")) == "print("
    assert window.typed(at("one\nif x {\n    ", "\n}\ntail\n")) == "if x {\n    "


def test_closing_marks_that_stand_there_already_do_not_matter():
    window = choose(at("f(", ")\ntail\n"), ROOMY)
    assert window.suffix == "\ntail\n"
    assert window.typed(at("f(g(", "))\ntail\n")) == "f(g("


@pytest.mark.parametrize(
    ("after", "suffix", "between"),
    [
        ("\ntail", "\ntail", ""),
        (")\ntail", "\ntail", ")"),
        ("\n    }\n\ntail", "\ntail", "\n    }\n"),
        ("x\ntail", "\ntail", None),
        ("", "", ""),
        (")", "", ")"),
        ("x", "", None),
        ("tail", "\ntail", None),
    ],
)
def test_what_stands_between_cursor_and_suffix(after: str, suffix: str, between: str | None):
    assert behind(after, suffix) == between


def test_a_long_document_is_cut_at_whole_lines():
    window = choose(at(LINES, LINES), ROOMY)
    assert len(window.prefix) <= ROOMY.prefix
    assert window.prefix.startswith("line ")
    assert len(window.suffix) <= ROOMY.suffix
    assert window.suffix.endswith("\n")


def test_the_head_stays_where_it_was_while_the_budget_allows_it():
    first = choose(at(LINES), ROOMY)
    second = choose(at(LINES + "another\n" * 3), ROOMY, last=None)
    kept = choose(at(LINES + "another\n" * 3), Budget(ROOMY.prefix + 100, ROOMY.suffix), last=first)
    assert second.head != first.head
    assert kept.head == first.head


def test_a_head_that_moves_leaves_room_for_many_lines():
    heads, last, text = set(), None, LINES
    for number in range(200):
        text += f"more {number}\n"
        last = choose(at(text), ROOMY, last=last)
        assert len(last.prefix) <= ROOMY.prefix
        heads.add(last.head)
    assert len(heads) <= 3


def test_a_very_long_line_is_anchored_within_it():
    window = choose(at("x" * 10_000), ROOMY)
    assert window.typed(at("x" * 10_000)) == "x" * FAR


def test_it_is_time_for_a_new_anchor_after_a_while_and_too_late_later():
    window = choose(at("one\n"), ROOMY)
    typed = window.typed(at("one\n" + "y" * (FAR + 1)))
    assert typed is not None
    assert window.far(typed)
    assert window.typed(at("one\n" + "y" * (TOO_FAR + 1))) is None


@given(st.text("ab\n(", max_size=40), st.text("ab\n)", max_size=40), st.integers(0, 30), st.integers(0, 30))
def test_a_window_always_holds_where_it_was_chosen(before: str, after: str, prefix: int, suffix: int):
    window = choose(at(before, after), Budget(prefix, suffix))
    typed = window.typed(at(before, after))
    if window.suffix or not after.strip():
        assert typed is not None
        assert before.endswith(window.prefix + typed)


def test_what_can_be_read_at_once_follows_from_the_speed_that_was_seen():
    slow, quick = Reach(), Reach()
    for _ in range(40):
        slow.read(100, 1.0)
        quick.read(100, 0.01)
    most = Budget(4000, 1000)
    assert slow.small(0.4, most).prefix == 200
    assert quick.small(0.4, most) == most


def test_an_engine_says_how_fast_it_reads_and_what_is_seen_counts_more():
    reach = Reach()
    reach.told(1500.0)
    assert reach.speed == 1500.0
    reach.read(100, 1.0)
    assert 100 < reach.speed < 1500
    seen = reach.speed
    reach.told(1500.0)
    assert reach.speed == seen


@pytest.mark.parametrize("nonsense", [0.0, -5.0, math.inf, math.nan])
def test_what_is_no_speed_is_not_believed(nonsense):
    reach = Reach()
    reach.told(nonsense)
    assert reach == Reach()


def test_few_tokens_say_nothing_about_speed():
    reach = Reach()
    before = reach.speed
    reach.read(3, 5.0)
    assert reach.speed == before
