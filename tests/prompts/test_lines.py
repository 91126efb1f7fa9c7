"""Lines and positions as editors count them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.errors import ExitCode, InputError
from paceline.prompts.lines import find_position, first_line, last_line_start, line_ending, normalise

DOCUMENT = st.text(st.sampled_from("ab \t\n\r\f\v\x85\u2028\u2029\x1c😀e\u0301中"), max_size=40)


def naive_lines(document):
    lines, line, at = [], "", 0
    while at < len(document):
        step = 2 if document[at : at + 2] == "\r\n" else 1
        if document[at] in "\r\n":
            lines.append(line)
            line = ""
        else:
            line += document[at]
        at += step
    return [*lines, line]


@given(DOCUMENT)
def test_the_last_line_begins_where_a_walk_finds_it(document):
    assert document[last_line_start(document) :] == naive_lines(document)[-1]


@given(DOCUMENT, st.data())
def test_every_position_inside_is_found_where_a_walk_finds_it(document, data):
    lines = naive_lines(document)
    line = data.draw(st.integers(1, len(lines)))
    column = data.draw(st.integers(1, len(lines[line - 1]) + 1))
    start, cursor = find_position(document, line, column)
    assert document[start:cursor] == lines[line - 1][: column - 1]
    assert len(naive_lines(document[:start])) == line
    assert first_line(document[cursor:]) == lines[line - 1][column - 1 :]


@given(DOCUMENT, st.integers(-1, 60), st.integers(-1, 60))
def test_every_position_outside_is_refused(document, line, column):
    lines = naive_lines(document)
    if 1 <= line <= len(lines) and 1 <= column <= len(lines[line - 1]) + 1:
        return
    with pytest.raises(InputError) as caught:
        find_position(document, line, column)
    assert caught.value.exit_code == ExitCode.INPUT
    assert caught.value.hint


@pytest.mark.parametrize(
    ("document", "line", "column", "message"),
    [
        ("a\nb\n", 5, 1, "line 5 is outside of the document, which has 3 lines"),
        ("a\nb\n", 0, 1, "line 0 is outside of the document, which has 3 lines"),
        ("", 2, 1, "line 2 is outside of the document, which has 1 line"),
        ("", 0, 1, "line 0 is outside of the document, which has 1 line"),
        ("a\r\nbcd\r\n", 2, 6, "column 6 is outside of line 2, which has 3 characters"),
        ("x", 1, 0, "column 0 is outside of line 1, which has 1 character"),
    ],
)
def test_a_refusal_says_how_much_there_is(document, line, column, message):
    with pytest.raises(InputError) as caught:
        find_position(document, line, column)
    assert caught.value.message == message


def test_separators_that_only_python_takes_for_line_ends_are_characters():
    document = "a\fb\x85c\u2028d"
    assert find_position(document, 1, 8) == (0, 7)
    assert first_line(document) == document
    with pytest.raises(InputError, match="1 line"):
        find_position(document, 2, 1)


def test_an_emoji_is_one_column():
    assert find_position("😀x", 1, 2) == (0, 1)


@given(DOCUMENT)
def test_normalised_text_has_newlines_only_and_the_same_lines(document):
    assert "\r" not in normalise(document)
    assert naive_lines(normalise(document)) == naive_lines(document)


@pytest.mark.parametrize(
    ("document", "ending"),
    [("", "\n"), ("a\r\nb\nc\r\n", "\r\n"), ("a\nb\r\nc\n", "\n"), ("a\rb", "\r"), ("a\r\nb\n", "\n")],
)
def test_the_line_ending_is_the_one_used_most(document, ending):
    assert line_ending(document) == ending
