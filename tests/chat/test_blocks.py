"""Code blocks of an answer: as CommonMark has them, and as small models write them."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from paceline.chat.blocks import blocks, texts


def only(answer):
    (block,) = blocks(answer)
    return block


def test_a_block_knows_where_it_stands_and_what_is_in_it():
    answer = "Look:\n\n```python\nx = 1\n```\nDone.\n"
    block = only(answer)
    assert (block.language, block.text, block.closed) == ("python", "x = 1\n", True)
    assert answer[block.start : block.end] == "```python\nx = 1\n```\n"
    assert answer[block.body_start : block.body_end] == "x = 1\n"


def test_a_block_that_is_still_being_written_has_all_that_has_come():
    block = only("```python\nx = 1\ny =")
    assert (block.text, block.closed) == ("x = 1\ny =", False)


def test_line_endings_of_windows_do_not_show():
    answer = "a\r\n```js\r\nf();\r\n```\r\nb"
    block = only(answer)
    assert block.text == "f();\n"
    assert answer[block.end :] == "b"


def test_tildes_and_longer_fences_close_only_themselves():
    assert only("~~~\n```\nx\n```\n~~~\n").text == "```\nx\n```\n"
    assert only("````md\n```\nx\n```\n````\n").text == "```\nx\n```\n"


@pytest.mark.parametrize("before", ["   ", "      ", "\t", "1. ", "- "])
def test_a_fence_in_a_list_takes_its_indentation_off_the_code(before):
    inner = " " * len(before.expandtabs(4))
    answer = f"{before}```py\n{inner}if x:\n{inner}    y\n{inner}```\n"
    assert only(answer).text == "if x:\n    y\n"


def test_a_fence_behind_a_sentence_opens_a_block():
    block = only("Put this into `app/x.py`: ```python\nx = 1\n```\n")
    assert (block.text, block.name) == ("x = 1\n", "app/x.py")


def test_a_fence_behind_code_closes_the_block_where_nothing_else_does():
    block = only("```python\nreturn x```\nThat is all.")
    assert (block.text, block.closed) == ("return x\n", True)


def test_code_within_a_line_is_no_block():
    assert blocks("Use ```x``` here.\n```y``` too.\n") == ()


README = "# Tally\n\n```\npip install tally\n```\n\n```python\nimport tally\n```\n\nMIT\n"


def test_blocks_within_a_block_of_markdown_belong_to_it():
    assert only(f"Here:\n```markdown\n{README}```\nThat is it.\n").text == README


def test_fences_in_a_search_replace_block_close_nothing():
    text = "<<<<<<< SEARCH\n```\npip\n```\n=======\n```\npipx\n```\n>>>>>>> REPLACE\n"
    assert only(f"```\n{text}```\n").text == text


def test_fences_among_the_context_of_a_diff_close_nothing():
    text = "@@ -1,3 +1,3 @@\n ```\n-pip\n+pipx\n ```\n"
    assert only(f"```diff\n{text}```\n").text == text


def test_quoted_blocks_lose_the_quotation():
    block = only("> ```py\n> x = 1\n> ```\nyes\n")
    assert block.text == "x = 1\n"


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("text\n> ```\nx\n\nmore\n", [("> ```\n", "")]),
        ("> ~~~\nx", [("> ~~~\n", "")]),
        ("> ```py\nx = 1\n```", [("> ```py\n", ""), ("```", "")]),
        ("> ```sh\nrm -rf x", [("> ```sh\n", "")]),
        ("> ```sh\n> a\nb", [("> ```sh\n> a\n", "a\n")]),
        ("> > ```sh\n> > a\n> b\n", [("> > ```sh\n> > a\n", "a\n")]),
        ("- a\n  ```sh\n  b\n\nc\n\n```py\nd\n```\n", [("  ```sh\n  b\n\n", "b\n\n"), ("```py\nd\n```\n", "d\n")]),
        ("- ```sh\n  b\n- c\n  ```\n", [("- ```sh\n  b\n", "b\n"), ("  ```\n", "")]),
        ("- > ```sh\n  > a\n  > ```\nb", [("- > ```sh\n  > a\n  > ```\n", "a\n")]),
        ("> - ```sh\n>   a\n>   ```\n> b", [("> - ```sh\n>   a\n>   ```\n", "a\n")]),
        ("1. - ```sh\n     a\n     ```\nb", [("1. - ```sh\n     a\n     ```\n", "a\n")]),
    ],
)
def test_a_block_ends_with_the_quotation_or_the_item_that_it_is_in(answer, found):
    assert [(answer[each.start : each.end], each.text) for each in blocks(answer)] == found
    for each in blocks(answer):
        assert each.start < each.body_start <= each.body_end <= each.end


@pytest.mark.parametrize("answer", ["- a\n  ```py\n  x\ny\n  ```\n", "- ```py\n  x\ny\n```\n", "- ```py\nx\ny\n```\n"])
def test_code_that_is_not_indented_as_its_item_is_belongs_to_the_block_that_a_fence_closes(answer):
    assert only(answer).text == "x\ny\n"


@pytest.mark.parametrize(
    ("opening", "name"),
    [
        ("```python app/x.py", "app/x.py"),
        ("```app/x.py", "app/x.py"),
        ("```python:app/x.py", "app/x.py"),
        ('```python title="app/x.py"', "app/x.py"),
        ("```python filename=x.py", "x.py"),
        ("```python {file='./app/x.py'}", "app/x.py"),
        ("`app/x.py`:\n```python", "app/x.py"),
        ("**app/x.py**\n\n```python", "app/x.py"),
        ("### app/x.py (updated)\n```python", "app/x.py"),
        ("1. File: `app/x.py`\n```python", "app/x.py"),
        ("Here is the new `app/x.py`:\n```python", "app/x.py"),
        ("Change app/x.py like this:\n```", "app/x.py"),
        ("```python\n# app/x.py", "app/x.py"),
        ("```html\n<!-- web/index.html -->", "web/index.html"),
        ("```js\n// File: src/a.js", "src/a.js"),
        ("```dockerfile\n# Dockerfile", "Dockerfile"),
    ],
)
def test_a_block_knows_the_file_that_it_is_for(opening, name):
    assert only(f"{opening}\ncode()\n```\n").name == name


@pytest.mark.parametrize(
    "opening",
    [
        "```python",
        "Here it is:\n```python",
        "Run `app/x.py`:\n```bash",  # a sentence about a file in another language
        "Compare `a.py` with `b.py`:\n```python",
        "e.g. version 1.2:\n```python",
        "```python\n# a comment about x.py and more",
    ],
)
def test_a_block_for_no_file_has_no_name(opening):
    assert only(f"{opening}\ncode()\n```\n").name == ""


def test_the_language_follows_from_the_name_where_it_is_not_said():
    assert only("```src/a.rs\nfn f() {}\n```\n").language == "rust"


# the slow twin

WORDS = st.text("ab `~.#>-", max_size=8)
PROSE = WORDS.filter(lambda line: "```" not in line and "~~~" not in line)
CODE = st.lists(st.sampled_from(["x", "  y", "", "# z", "    deep", "a `b` c"]), max_size=4)
LANGUAGE = st.sampled_from(["", "python", "js", "text"])


@st.composite
def documents(draw):
    """Paragraphs and blocks, as they should be written."""
    lines = []
    for _ in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            lines += ["plain " + draw(st.text("abc. ", max_size=10)), ""]
        else:
            fence = draw(st.sampled_from(["`", "~"])) * draw(st.integers(3, 5))
            lines += [fence + draw(LANGUAGE), *draw(CODE), fence, ""]
    return "\n".join(lines) + "\n"


@settings(deadline=None)
@given(documents())
def test_well_formed_documents_are_read_as_a_full_parser_reads_them(answer):
    tokens = [each for each in MarkdownIt("commonmark").parse(answer) if each.type == "fence"]
    assert [(each.info.strip(), each.content) for each in tokens] == [(each.info, each.text) for each in blocks(answer)]


def quoted(lines):
    return [f"> {line}" if line else ">" for line in lines]


def listed(mark, lines):
    """An item; after a mark with a tab, all of it is behind tabs."""
    blank = "\t" if mark.endswith("\t") else " " * len(mark)
    return [mark + lines[0], *(blank + line if line else "" for line in lines[1:])]


BLOCKS = st.builds(
    lambda fence, info, code, closed: [fence + info, *code, *([fence] if closed else [])],
    st.sampled_from(["```", "~~~", "````"]),
    st.sampled_from(["py", "sh", "js x"]),
    st.lists(st.sampled_from(["x", "\ty", "    z", "", "`a`", "# b"]), min_size=1, max_size=3).filter(
        lambda code: code[0]
    ),
    st.booleans(),
)
PARTS = st.one_of(BLOCKS, st.sampled_from([["words"], ["two", "lines"], ["# head"]]))
NESTED = st.recursive(
    st.lists(PARTS, min_size=1, max_size=3).map(lambda parts: separated(parts)),
    lambda inner: st.lists(
        st.one_of(PARTS, inner.map(quoted), st.builds(listed, st.sampled_from(["- ", "* ", "1. "]), inner)),
        min_size=1,
        max_size=3,
    ).map(lambda parts: separated(parts)),
    max_leaves=8,
)


def separated(parts):
    """Parts with a blank line between two. What follows a block that nothing closes would belong to it, or be code."""
    lines = []
    for part in parts:
        lines += ["", *part] if lines else part
        if part[0][:3] in ("```", "~~~") and part[-1] != part[0][: len(part[-1])]:
            break
    return lines


def places(answer):
    """Where a full parser finds fences: the first line, the one after the last, and what is in them."""
    tokens = MarkdownIt("commonmark").parse(answer)
    return [(*each.map, each.info, each.content) for each in tokens if each.type == "fence"]


def read_places(answer):
    """The same as they are read."""
    found = []
    for each in blocks(answer):
        first, last = (answer[:at].count("\n") for at in (each.start, each.end))
        found.append((first, last, each.info, each.text))
    return found


def bare(found):
    """Without blanks, which tabs can be."""
    return [(*at, info, "".join(text.split())) for *at, info, text in found]


@settings(deadline=None, max_examples=500)
@given(
    NESTED | NESTED.map(lambda lines: listed("-\t", lines)),
    st.sampled_from([None, "```js\nend\n```", "words"]),
    st.booleans(),
)
def test_nested_blocks_begin_and_end_where_a_full_parser_has_them(lines, after, blank):
    answer = "\n".join([*lines, *([""] if blank else []), *([after] if after else [])]) + "\n"
    found = read_places(answer)
    assert bare(found) == bare(places(answer))
    if "\t" not in answer:
        assert found == places(answer)


@settings(deadline=None, max_examples=150)
@given(NESTED, st.sampled_from([None, "```js\nend\n```", "words", "- words"]))
def test_whatever_has_come_is_read_as_a_full_parser_reads_it(lines, after):
    answer = ""
    for line in [*lines, *([after] if after else [])]:
        answer += f"{line}\n"
        assert bare(read_places(answer)) == bare(places(answer))


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "```",
                "```py",
                "~~~",
                "- ",
                "1. ",
                ">",
                "\t",
                "a",
                " ",
                "    ",
                "> ",
                "\n",
                "\r\n",
                "```x```",
                "<<<<<<< S",
                ">>>>>>>",
            ]
        )
    )
)
def test_blocks_and_what_stands_between_them_are_the_answer(pieces):
    answer = "".join(pieces)
    found = blocks(answer)
    between = texts(found, answer)
    pieces = itertools.zip_longest(between, (answer[each.start : each.end] for each in found), fillvalue="")
    assert "".join(itertools.chain.from_iterable(pieces)) == answer
    for each in found:
        assert each.start <= each.body_start <= each.body_end <= each.end


@settings(deadline=None, max_examples=50)
@given(documents(), st.data())
def test_blocks_that_are_complete_stay_as_they_are_while_more_comes(answer, data):
    cut = data.draw(st.integers(0, len(answer)))
    early = [each for each in blocks(answer[:cut]) if each.closed and each.end < cut]
    assert early == list(blocks(answer))[: len(early)]


@pytest.mark.parametrize(
    "line",
    [
        "```\n",
        "- ```\n  a\nb\n",
        "- > - ```\n",
        "a```\n",
        "```md\n",
        "> ```\n",
        "~~~\n",
        "<<<<<<<\n```\n",
        "`a` `\n",
        "```x\ny```\n",
    ],
)
def test_nonsense_is_read_in_linear_time(line):
    short, long = (work(line * count) for count in (500, 2000))
    assert long < 6 * short


def work(answer):
    """How many lines of Python run while an answer is read: a measure that no other process disturbs."""
    import sys

    count = 0

    def step(frame, event, argument):
        nonlocal count
        count += 1
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        blocks(answer)
    finally:
        sys.settrace(before)
    return count
