"""A turn's rows do not depend on the pieces its text came in, nor on when somebody looked at it."""

from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from paceline.chat.blocks import blocks
from paceline.chat.turns import Turn
from paceline.tui.widgets.message import Entry
from support.transcripts import answer, pieces

LINES = [
    *(
        "",
        "",
        "text",
        "a **b** `c",
        "```",
        "```python",
        "~~~",
        "````md",
        "  ```js",
        "   ",
        "- item",
        "  - under",
        "1. one",
    ),
    *(
        "2) two",
        "> said",
        "# Head",
        "---",
        "===",
        "| a | b |",
        "|---|--:|",
        "| 1 | 2 |",
        "    deep",
        "\tx = 1",
        "def f():",
    ),
    *(
        "/* open",
        "close */",
        '"""doc',
        "日本語 " * 9,
        "👩‍👩‍👧" * 9,
        "x" * 70,
        "[a](b) <c> &#27;[2J",
        "\x1b]52;c;eA==\x07",
    ),
    *("<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "+ ```", "see: ```sh", "```\r", "\r"),
    *(
        "> ```",
        "> ~~~sh",
        "> x",
        "> > ```py",
        "> > x",
        "> - ```",
        ">   x",
        "- > ~~~",
        "  > x",
        "1. - ```sh",
        "     x",
        ">",
    ),
    *("\t```", ">\t```", "-\t```js", "\t\tx", "- ```", "  ```", "  x"),
]
texts = st.lists(st.sampled_from(LINES), max_size=14).map("\n".join)
sizes = st.lists(st.integers(1, 30), min_size=1, max_size=5)


def rows(entry, width):
    entry.lay(width)
    while entry.uncoloured:
        entry.colour()
    assert not entry.faults
    return [entry.row(at) for at in range(entry.height)]


def streamed(text, sizes, width, looked, drafts):
    entry = Entry(answer("", state="streaming"), drafts=drafts)
    for at, piece in enumerate(pieces(text, sizes)):
        entry.append(piece)
        if at % looked == 0:
            entry.lay(width)
            [entry.row(at) for at in range(entry.height)]
    assert not entry.faults
    entry.update(answer(text))
    return entry


@settings(max_examples=150, deadline=None)
@given(texts, sizes, st.integers(1, 60), st.integers(1, 4), st.booleans())
@example("```\na\n", [1], 40, 1, False)
@example("see: ```sh\nls\n```\n", [3], 40, 1, False)
@example("text\n> ```\nx\n\nmore\n", [3], 40, 1, False)
@example("> ~~~\nx", [1], 40, 1, True)
@example("- a\n  > ```py\n  > x\ny", [1], 40, 1, True)
@example("````md\n```py\nx\n```\n````\nend", [2], 40, 1, False)
def test_rows_are_those_of_the_whole_text(text, sizes, width, looked, drafts):
    whole = Entry(answer(text), drafts=drafts)
    assert rows(streamed(text, sizes, width, looked, drafts), width) == rows(whole, width)


@settings(max_examples=100, deadline=None)
@given(texts, st.integers(12, 60), st.integers(12, 60))
def test_rows_are_the_same_after_a_look_at_another_width(text, width, other):
    looked = Entry(answer(text))
    rows(looked, other)
    assert rows(looked, width) == rows(Entry(answer(text)), width)


@settings(max_examples=150, deadline=None)
@given(texts, st.integers(10, 60))
def test_no_row_is_wider_than_there_is_room(text, width):
    for row in rows(Entry(answer(text)), width):
        assert cell_len("".join(part for part, _ in row.spans)) <= width


@settings(max_examples=150, deadline=None)
@given(texts)
def test_its_code_blocks_are_those_that_actions_find(text):
    entry = Entry(answer(text))
    entry.lay(60)
    assert entry.blocks() == len(blocks(text.replace("\x1b]52;c;eA==\x07", "")))


@settings(max_examples=100, deadline=None)
@given(texts)
def test_all_of_the_code_is_there(text):
    entry = Entry(answer(text))
    entry.lay(2000)
    shown = "\n".join("".join(part for part, _ in entry.row(at).spans) for at in range(entry.height))
    for block in blocks(text):
        for line in block.text.splitlines():
            if "\x1b" not in line and "\t" not in line:
                assert line.strip() in shown


def test_what_stands_is_not_laid_out_again():
    entry = Entry(answer("", state="streaming"))
    for at in range(40):
        entry.append(f"paragraph {at}\n\n")
        entry.lay(40)
    before = list(entry._sections)
    entry.append("one more\n")
    changed = entry.lay(40)
    assert entry._sections[1:40] == before[1:40]  # the same objects: sections have no equality of their own
    assert changed >= 38 * 2


def test_a_fence_that_grows_keeps_its_rows():
    entry = Entry(answer("", state="streaming"))
    entry.append("```\n" + "x\n" * 500)
    entry.lay(40)
    fence = entry._sections[1]
    entry.append("y\n")
    assert entry.lay(40) >= 500
    assert entry._sections[1] is fence


def test_a_partial_answer_that_is_loaded_goes_on_with_what_comes():
    entry = Entry(answer("It is", state="streaming"))
    entry.append(" so")
    entry.update(answer("It is so."))
    assert "It is so." in "".join(part for at in [1] for part, _ in (entry.lay(40), entry.row(at))[1].spans)


def test_an_answer_that_turns_out_another_is_shown_as_that():
    entry = Entry(answer("It was so", state="streaming"))
    entry.lay(40)
    entry.update(answer("No."))
    entry.lay(40)
    assert [part for part, _ in entry.row(1).spans] == ["", "", "No."] or "No." in str(entry.row(1))
    assert entry.height == 3


def test_another_name_above_an_answer_is_drawn_although_nothing_else_has_changed():
    entry = Entry(Turn(1, None, "assistant", "one\n\ntwo\n\nthree", state="streaming"))
    entry.lay(40)
    entry.update(replace(entry.turn, model="qwen2.5-coder-1.5b-instruct"))
    assert entry.lay(40) == 0
    assert "Qwen2.5" in "".join(text for text, _ in entry.row(0).spans)
    assert entry.lay(40) > 0
