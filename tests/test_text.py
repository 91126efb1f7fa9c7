"""Bytes to characters, stop strings, and what never reaches a terminal."""

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paceline.errors import InputError
from paceline.text import SEQUENCE_LIMIT, ControlFilter, StopStrings, Utf8Stream, replace_surrogates, strip_controls


def cut(whole, points):
    """The whole in pieces, cut at these points."""
    edges = [0, *sorted(point % (len(whole) + 1) for point in points), len(whole)]
    return [whole[a:b] for a, b in pairwise(edges)]


POINTS = st.lists(st.integers(0, 10_000), max_size=12)


def decoded(pieces):
    stream = Utf8Stream()
    return "".join([*map(stream.feed, pieces), stream.flush()])


@given(st.one_of(st.binary(), st.text().map(lambda text: text.encode())), POINTS)
@example("a😀b".encode()[:-2], [1, 2, 3, 4])
@example(b"\xf0\x9f\x41\xff\xc3", [1, 2, 3])
def test_bytes_in_any_pieces_decode_like_all_at_once(data, points):
    assert decoded(cut(data, points)) == data.decode("utf-8", "replace")


def test_half_a_character_waits_for_its_other_half():
    stream = Utf8Stream()
    first, second = "é".encode()[:1], "é".encode()[1:]
    assert [stream.feed(first), stream.feed(second), stream.flush()] == ["", "é", ""]


def test_a_character_that_is_never_finished_becomes_a_replacement_character():
    stream = Utf8Stream()
    assert stream.feed("😀".encode()[:3]) == ""
    assert stream.flush() == "\ufffd"
    assert stream.feed(b"ok") == "ok"


def naively_stopped(text, stops):
    for end in range(1, len(text) + 1):
        ended = [stop for stop in stops if text[:end].endswith(stop)]
        if ended:
            return text[: end - max(map(len, ended))], True
    return text, False


def stopped(pieces, stops):
    stream, shown = StopStrings(stops), ""
    for piece in pieces:
        text, met = stream.feed(piece)
        shown += text
        if met:
            return shown, True
    return shown + stream.flush(), False


@given(
    st.text("ab\n", max_size=40),
    st.lists(st.text("ab\n", min_size=1, max_size=5), max_size=4),
    st.lists(st.integers(0, 40)),
)
@example("abcd", ["abcd", "bc"], [])
def test_stop_strings_in_any_pieces_end_where_the_first_one_is_complete(text, stops, points):
    assert stopped(cut(text, points), stops) == naively_stopped(text, stops)


@given(st.text("abc", max_size=30), st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=3))
def test_nothing_is_held_back_that_cannot_become_a_stop_string(text, stops):
    stream = StopStrings(stops)
    shown, met = stream.feed(text)
    held = stream.flush()
    assert met or shown + held == text
    assert not held or any(stop.startswith(held) for stop in stops)


def test_a_stop_string_across_pieces_never_shows_its_beginning():
    stream = StopStrings(["</s>"])
    assert [stream.feed(piece) for piece in ("one <", "/s", "x <", "/", "s> two", "three")] == [
        ("one ", False), ("", False), ("</sx ", False), ("", False), ("", True), ("", True),
    ]  # fmt: skip
    assert stream.stopped
    assert stream.flush() == ""


def test_without_stop_strings_text_passes_at_once():
    assert StopStrings([]).feed("as it is") == ("as it is", False)


def test_an_empty_stop_string_is_refused():
    with pytest.raises(InputError, match="empty"):
        StopStrings(["\n", ""])


DROPPED = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"


def naively_stripped(text):
    """All at once, with one pattern for each kind, where no sequence is too long."""
    string = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x18\x1a\x1b\x80-\x9f]*"
    kinds = [
        r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]",
        string + r"(?:\x07|\x18|\x1a|\x9c|\x1b\\)",
        string + r"(?=\x1b[^\\]|[\x80-\x9f])",
        r"\x1b[ -/]*[0-OQ-WYZ\\`-~]",
    ]
    keep = re.compile(r"(\r\n)|" + "|".join(kinds) + "|" + DROPPED)
    return keep.sub(lambda found: found[1] or "", text)


def streamed(pieces):
    stream = ControlFilter()
    return "".join([*map(stream.feed, pieces), stream.flush()])


NASTY = st.text(
    st.sampled_from("a;0[]m\\P(7\r\n\t\x1b\x07\x9b\x9c\x9d\x90\x18\u202e\u200f\U000e0041\x00é"), max_size=40
)


@given(st.one_of(NASTY, st.text()), POINTS)
@example("\x1b]0;title\x1b[2Jafter", [5, 10, 11])
@example("\r\r\n\r", [1, 2, 3])
def test_text_in_any_pieces_loses_what_it_loses_at_once(text, points):
    assert streamed(cut(text, points)) == strip_controls(text) == naively_stripped(text)


@given(st.one_of(NASTY, st.text()))
def test_what_is_left_has_no_controls_and_stays_as_it_is(text):
    left = strip_controls(text)
    assert not re.search(DROPPED, left.replace("\r\n", "\n"))
    assert strip_controls(left) == left


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("red \x1b[31mtext\x1b[0m", "red text"),
        ("clear\x1b[2J\x1b[H", "clear"),
        ("copy \x1b]52;c;c2VjcmV0\x07done", "copy done"),
        ("link \x1b]8;;http://evil\x1b\\here\x1b]8;;\x1b\\", "link here"),
        ("\x1bPq#0;2;0;0;0\x1b\\picture", "picture"),
        ("\x9b31meight bits\x9d0;title\x9c", "eight bits"),
        ("reset\x1bc and charset\x1b(0", "reset and charset"),
        ("\x1b]0;abandoned\x1b[1mbold", "bold"),
        ("progress\rhidden", "progresshidden"),
        ("dos\r\nline", "dos\r\nline"),
        ("user\u202etxt.exe", "usertxt.exe"),
        ("flag\U000e0061\U000e007f", "flag"),
        ("bell\x07 back\x08space del\x7f nul\x00", "bell backspace del nul"),
        ("tab\tnewline\n", "tab\tnewline\n"),
        ("👩‍💻 ﬁ עברית", "👩‍💻 ﬁ עברית"),
        ("cut \x1b[31", "cut [31"),
    ],
)
def test_known_tricks(hostile, shown):
    assert strip_controls(hostile) == shown


@pytest.mark.parametrize("opener", ["\x1b]", "\x1bP", "\x9d", "\x1b_"])
def test_an_unfinished_sequence_swallows_nothing_but_waits_for_so_long_only(opener):
    stream, answer = ControlFilter(), "x" * (SEQUENCE_LIMIT + 1)
    assert stream.feed("before " + opener) == "before "
    assert stream.feed(answer[:-1]) == ""
    assert stream.feed(answer[-1:]).endswith(answer)
    assert stream.feed(" after") == " after"


def test_a_sequence_cut_between_every_two_characters_is_removed():
    stream = ControlFilter()
    assert "".join(map(stream.feed, "a\x1b]52;c;eA==\x1b\\b\x1b[31mc")) == "abc"


def test_lone_surrogates_become_replacement_characters_and_nothing_moves():
    assert replace_surrogates("a\ud83db") == "a\ufffdb"
    assert replace_surrogates("😀") == "😀"
