"""Positions and the index of lines, against twins that encode and split the whole text."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.lsp.positions import BLOCK, LineIndex, column, offset_of, position_of, units

ENCODINGS = ("utf-8", "utf-16", "utf-32")
CODECS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
WIDTH = {"utf-8": 1, "utf-16": 2, "utf-32": 4}
encodings = st.sampled_from(ENCODINGS)
ENDINGS = ["\n", "\r\n", "\r", "\n\r"]
NO_ENDINGS = ["\f", "\x85", "\u2028", "\u2029", "\x0b", "\x1c", "\x00", "\t"]
CHARACTERS = ["a", "b c", "é", "e\u0301", "中", "𝄞", "😀", "👩\u200d👩\u200d👧", "\ud83d", "\ude00", "\u0600\u0301"]
pieces = st.sampled_from([*ENDINGS, *NO_ENDINGS, *CHARACTERS])
texts = st.lists(pieces, max_size=30).map("".join)


def split(text):
    """Lines with their endings, the slow way."""
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)
    return lines if len(lines) < 2 or lines[-1] or text[-1:] in "\r\n" else lines[:-1]


def size(text, encoding):
    """Code units, one character at a time."""
    return sum(len(char.encode(CODECS[encoding], "surrogatepass")) // WIDTH[encoding] for char in text)


def slow_offset(text, line, character, encoding):
    lines = split(text)
    if line >= len(lines):
        return len(text)
    content = lines[line].rstrip("\r\n") if lines[line][-2:] == "\r\n" else lines[line]
    content = content[:-1] if content[-1:] in ("\r", "\n") else content
    at = 0
    while at < len(content) and size(content[: at + 1], encoding) <= character:
        at += 1
    return sum(map(len, lines[:line])) + at


@settings(deadline=None)
@given(texts, st.integers(0, 12), st.integers(0, 20), encodings)
def test_a_position_is_the_offset_that_counting_characters_gives(text, line, character, encoding):
    assert offset_of(text, LineIndex(text), line, character, encoding) == slow_offset(text, line, character, encoding)


@settings(deadline=None)
@given(texts, st.data(), encodings)
def test_an_offset_comes_back_from_its_position_unless_it_is_inside_of_a_line_ending(text, data, encoding):
    offset = data.draw(st.integers(0, len(text)))
    index = LineIndex(text)
    line, character = position_of(text, index, offset, encoding)
    expected = offset - 1 if text[offset - 1 : offset + 1] == "\r\n" and offset else offset
    assert offset_of(text, index, line, character, encoding) == expected


@settings(deadline=None)
@given(texts, encodings)
def test_units_are_the_sum_of_the_characters_units(text, encoding):
    assert units(text, encoding) == size(text, encoding)


@pytest.mark.parametrize(("character", "expected"), [(0, 0), (1, 1), (2, 1), (3, 2), (4, 3), (9, 3), (-3, 0)])
def test_a_position_inside_of_a_surrogate_pair_is_the_characters_beginning(character, expected):
    assert column("a😀b", character, "utf-16") == expected


@pytest.mark.parametrize(("character", "expected"), [(1, 1), (2, 1), (3, 1), (4, 1), (5, 2), (6, 3), (7, 3)])
def test_a_position_inside_of_a_multibyte_character_is_its_beginning(character, expected):
    assert column("a😀b", character, "utf-8") == expected


def test_two_surrogates_that_are_no_pair_are_two_characters():
    assert [column("\ud83d\ude00", units, "utf-16") for units in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("breaker", ["\f", "\x0b", "\x1c", "\x85", "\u2028", "\u2029"])
def test_only_the_protocols_line_endings_end_lines(breaker):
    text = f"one{breaker}two\nthree"
    assert LineIndex(text).count == 2
    assert offset_of(text, LineIndex(text), 1, 0, "utf-16") == len(text) - 5


def test_a_position_beyond_a_lines_end_is_before_its_ending():
    text = "ab\r\ncd\ref\n"
    assert [offset_of(text, LineIndex(text), line, 99, "utf-16") for line in range(5)] == [2, 6, 9, 10, 10]


def test_positions_before_the_beginning_are_the_beginning():
    text = "ab\ncd"
    assert offset_of(text, LineIndex(text), -1, 5, "utf-16") == 0
    assert offset_of(text, LineIndex(text), 1, -5, "utf-16") == 3
    assert position_of(text, LineIndex(text), -7, "utf-8") == (0, 0)
    assert position_of(text, LineIndex(text), 99, "utf-8") == (1, 2)


edits = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 12), st.lists(pieces, max_size=6).map("".join)), max_size=12
)


@settings(deadline=None)
@given(texts, edits)
def test_the_index_follows_edits_as_if_it_were_made_anew(text, edits):
    index = LineIndex(text)
    for at, length, inserted in edits:
        start = min(at, len(text))
        end = min(start + length, len(text))
        text = text[:start] + inserted + text[end:]
        index.replace(text, start, end, len(inserted))
        assert index.starts() == LineIndex(text).starts()
        assert index.count == len(split(text))


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 5 * BLOCK),
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(0, 3 * BLOCK)), max_size=4),
)
def test_the_index_follows_edits_of_many_lines(lines, edits):
    text = "x\n" * lines
    index = LineIndex(text)
    for at, length, added in edits:
        start = int(at * len(text))
        end = start + int(length * (len(text) - start))
        inserted = "yy\r\n" * added
        text = text[:start] + inserted + text[end:]
        index.replace(text, start, end, len(inserted))
        fresh = LineIndex(text)
        assert index.starts() == fresh.starts()
        for line in {0, fresh.count // 2, fresh.count - 1}:
            assert index.span(line) == fresh.span(line)
            assert index.line_at(index.span(line)[0]) == line
