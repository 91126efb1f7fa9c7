"""Which window answers now, and which one is read for later."""

from paceline.client.events import Extra
from paceline.lsp.anchor import FAR, Budget
from paceline.lsp.place import Place
from paceline.lsp.windows import Windows

SMALL, FULL = Budget(100, 40), Budget(2000, 400)
TEXT = "".join(f"line {number}\n" for number in range(100))
OTHER = (Extra("other.py", "def f(): ..."),)


def at(before: str, after: str = "\n" + TEXT) -> Place:
    return Place("file:///a.py", "python", 1, before, after)


def read(windows: Windows, place: Place, extras: tuple[Extra, ...] = ()) -> None:
    """As if the engine had read what should be read."""
    window = windows.wanted(place, FULL, extras)
    assert window is not None
    windows.began(window)
    windows.ended(window, read=True)


def test_the_first_answer_comes_from_a_small_window():
    chosen = Windows().choose(at(TEXT), SMALL, FULL)
    assert not chosen.full
    assert len(chosen.prefix) <= SMALL.prefix


def test_the_same_small_window_serves_the_next_keys():
    windows = Windows()
    assert windows.choose(at(TEXT), SMALL, FULL) is windows.choose(at(TEXT + "abc"), SMALL, FULL)


def test_the_large_one_takes_over_when_it_has_been_read():
    windows = Windows()
    windows.choose(at(TEXT), SMALL, FULL)
    read(windows, at(TEXT), OTHER)
    chosen = windows.choose(at(TEXT + "abc"), SMALL, FULL)
    assert chosen.full
    assert chosen.extra == OTHER


def test_one_that_is_being_read_is_not_used_and_not_read_twice():
    windows = Windows()
    window = windows.wanted(at(TEXT), FULL, ())
    assert window is not None
    windows.began(window)
    assert not windows.choose(at(TEXT), SMALL, FULL).full
    assert windows.wanted(at(TEXT), FULL, ()) is None


def test_one_whose_reading_was_stopped_is_wanted_again():
    windows = Windows()
    window = windows.wanted(at(TEXT), FULL, ())
    assert window is not None
    windows.began(window)
    windows.ended(window, read=False)
    assert windows.wanted(at(TEXT), FULL, ()) == window


def test_nothing_is_wanted_while_the_large_one_holds():
    windows = Windows()
    read(windows, at(TEXT))
    assert windows.wanted(at(TEXT + "some more"), FULL, ()) is None


def test_far_from_the_anchor_the_next_one_is_read_while_the_old_one_still_serves():
    windows = Windows()
    read(windows, at(TEXT))
    old, here = windows.ready, at(TEXT + "word\n" * (FAR // 5 + 10))
    following = windows.wanted(here, FULL, ())
    assert following is not None
    assert following.anchor > old.anchor
    windows.began(following)
    assert windows.choose(here, SMALL, FULL) is old
    windows.ended(following, read=True)
    assert windows.choose(here, SMALL, FULL) is following


def test_a_short_document_needs_no_second_window():
    windows = Windows()
    windows.choose(at("x = 1\n", "\n"), SMALL, FULL)
    assert windows.wanted(at("x = 1\ny", "\n"), FULL, ()) is None
    assert windows.choose(at("x = 1\ny", "\n"), SMALL, FULL).full


def test_a_machine_that_reads_everything_at_once_starts_with_the_large_one():
    assert Windows().choose(at(TEXT), FULL, FULL).full


def test_a_jump_starts_with_a_small_one_again():
    windows = Windows()
    read(windows, at(TEXT))
    assert not windows.choose(at(TEXT[:200], TEXT[200:]), SMALL, FULL).full
