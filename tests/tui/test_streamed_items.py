"""A block of code in an item of a list ends with the item, also while the answer is still being written."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from paceline.tui.widgets.markdown import Reader

CODE = st.lists(st.sampled_from(["x", "  y", "", "- z", "# c", "a `b`"]), min_size=1, max_size=4).filter(
    lambda lines: lines[0]
)
AFTER = st.lists(st.sampled_from(["words", "more", "", "## head", "- item"]), max_size=4)


@st.composite
def answers(draw):
    """Items with code in them, which nothing need close, and what follows them."""
    lines = ["Steps:", ""]
    for _ in range(draw(st.integers(1, 2))):
        mark = draw(st.sampled_from(["- ", "* ", "1. "]))
        inner = " " * len(mark)
        code = [f"{inner}{line}" if line else "" for line in draw(CODE)]
        close = [f"{inner}```"] if draw(st.booleans()) else []
        lines += [f"{mark}step", f"{inner}```sh", *code, *close, *draw(AFTER)]
    return lines


def expected(answer):
    """What a full parser has in fences."""
    tokens = MarkdownIt("commonmark").parse(answer)
    return [each.content.removesuffix("\n").strip("\n") for each in tokens if each.type == "fence"]


@settings(deadline=None, max_examples=300)
@given(answers())
def test_at_each_line_a_fence_has_what_a_full_parser_has_in_it(lines):
    reader, answer = Reader(), ""
    for line in lines:
        answer += f"{line}\n"
        reader.feed(f"{line}\n")
        found = ["\n".join(each.lines).strip("\n") for each in reader.blocks if each.kind == "fence"]
        assert found == expected(answer)


@pytest.mark.parametrize("after", ["words", "- next", "## head"])
def test_a_line_that_is_not_complete_is_shown_where_it_will_stand(after):
    reader = Reader()
    reader.feed(f"- step\n  ```sh\n  make\n{after}")
    text, _, block = reader.hanging()
    assert text == ""
    assert block is not None
    reader.feed("\n")
    assert reader.blocks[-1].kind == block.kind
    assert [each.lines for each in reader.blocks if each.kind == "fence"] == [["make"]]


def test_an_unfinished_line_of_the_code_is_code():
    reader = Reader()
    reader.feed("- step\n  ```sh\n  make\n  ins")
    assert reader.hanging()[0].strip() == "ins"


def test_code_that_never_was_within_the_item_is_not_ended_by_it():
    reader = Reader()
    reader.feed("- step\n  ```py\nx = 1\ny = 2\n")
    assert [each.lines for each in reader.blocks if each.kind == "fence"] == [["x = 1", "y = 2"]]
