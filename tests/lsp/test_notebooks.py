"""What a notebook's cells are to each other."""

import pytest

from paceline.lsp.notebooks import Cell, around


def code(text, language="python"):
    return Cell(text, language)


def prose(text):
    return Cell(text, "markdown", prose=True)


def test_earlier_cells_stand_before_and_later_ones_after():
    assert around([code("a\n"), code("b"), code("c")], 1) == ("a\n\n", "\n\nc")


def test_a_single_cell_stands_alone():
    assert around([code("a")], 0) == ("", "")


def test_prose_is_a_comment_before_and_nothing_after():
    assert around([prose("# Head\n\ntext"), code("x"), prose("more")], 1) == ("# # Head\n#\n# text\n\n", "")


def test_prose_is_left_out_where_no_comments_are_known():
    assert around([prose("text"), code("x", "brainfuck")], 1) == ("", "")


def test_cells_in_other_languages_are_left_out():
    assert around([code("select 1", "sql"), code("a"), code("x")], 2) == ("a\n\n", "")


@pytest.mark.parametrize("empty", ["", "\n", "  \n\t"])
def test_empty_cells_leave_no_trace(empty):
    assert around([code(empty), code("x"), code(empty)], 1) == ("", "")
    assert around([prose(empty), code("x")], 1) == ("", "")


def test_the_cells_line_endings_are_those_of_its_surroundings():
    assert around([code("a\nb"), code("x\r\ny"), code("c")], 1) == ("a\r\nb\r\n\r\n", "\r\n\r\nc")


def test_prose_is_seen_by_later_prose():
    assert around([prose("one"), code("x"), prose("two")], 2) == ("one\n\n", "")
