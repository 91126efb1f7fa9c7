"""What ends a completion while it is generated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.prompts.stops import IndentStop, Stop, around, block_end, within_indent


def place(marked, language=""):
    at = marked.index("|")
    return around(marked[:at], marked[at + 1 :], language)


def block(marked, text, language="", **more):
    """What of the text belongs to the block at the cursor."""
    return text[: block_end(text, place(marked, language), **more)]


ELSE = "if x:\n        y = 1\n    else:\n        y = 2"
PROPERTY = "@property\n    def f(self):\n        pass"


@pytest.mark.parametrize(
    ("marked", "text", "expected"),
    [
        # an indented line: up to the first one that is indented less
        (
            "def f(x):\n    |\n",
            "if x:\n        y()\n    return x\n\n\ndef g():",
            "if x:\n        y()\n    return x\n\n",
        ),
        ("for a in b:\n    if a:\n        |\n", "c()\n    d()\n", "c()"),
        ("for a in b:\n    if a:\n        |\n", "c()\n    else:\n        d()\n", "c()"),
        (
            "def merged(a):\n    for b in a:\n        |\n",
            "if b:\n            c(b)\n    return a\n\n\ndef main():\n    merged([])\n",
            "if b:\n            c(b)",
        ),
        # a typed statement: it and its body
        ("def f(x):|\n", "\n    return x\n\ndef g():\n", "\n    return x\n"),
        ("def f(|\n", "x):\n    return x\nf(1)\n", "x):\n    return x"),
        ("    x = |\n", "1\n    y = 2\n", "1"),
        ("x = |\n", "[\n    1,\n    2,\n]\ny = 3\n", "[\n    1,\n    2,\n]"),
        ("if n |\nreturn 2\n", "== 1:\n    return 1\nreturn 3\n", "== 1:\n    return 1"),
        ("if n |\n    return 2\n", "== 1:\n    return 2\n", "== 1:"),
        # where the block goes on after the cursor: one statement, with what belongs to it
        ("def f(x):\n    |\n    return y\n", "y = x\n    y += 1\n", "y = x"),
        ("def f(x):\n    |\n    return y\n", "if x:\n        y = x\n    y += 1\n", "if x:\n        y = x"),
        ("def f(x):\n    |\n    return y\n", "if x:\n        y = 1\n    else:\n        y = 2\n    z", ELSE),
        ("def f(x):\n    |\n    return y\n", "y = g(\n        x,\n    )\n    z = y\n", "y = g(\n        x,\n    )"),
        ("def f(x):\n    |\n        y = 1\n", "if x:\n        y = 1\n        z\n", "if x:"),
        ("class A:\n    |\n    def g(self):\n", "@property\n    def f(self):\n        pass\n    x\n", PROPERTY),
        ("if a:\n    |\nelse:\n    d()\n", "b()\n    c()\nelse:\n", "b()\n    c()"),
        # brackets: what closes what stood open before the cursor is not wanted where it stands already
        ("void f() {\n    |\n}\n", "a();\n    b();\n}\nvoid g() {\n", "a();\n    b();"),
        ("void f() {\n    |\n", "a();\n}\nvoid g() {\n", "a();\n}"),
        ("void f() {|\n", "\n    a();\n}\nvoid g() {\n", "\n    a();\n}"),
        ("f(\n    |\n)\n", "a,\n    [\n        b\n    ],\n)\n", "a,\n    [\n        b\n    ],"),
        # at the top, one definition after another would never end
        ("import a\n\n|\n", "def f():\n    a()\n\n\ndef g():\n    b()\n", "def f():\n    a()\n\n"),
        ("|\n", "import a\nimport b\n", "import a\nimport b\n"),
    ],
)
def test_a_block_ends_with_its_indentation_or_its_bracket(marked, text, expected):
    assert block(marked, text) == expected


@pytest.mark.parametrize(
    ("marked", "text", "expected"),
    [
        ("def f(x):\n    |\n    return x\n", "x += 1\n    return x\n    more()\n", "x += 1"),
        ("a\n|\nb()\nc()\n", "x()\nb()\nc()\n", "x()"),
        ("    |\n    b()\n", "b()\n    c()\n", ""),
        ("if a {\n    |\n}\n", "b()\n}\n}\n", "b()"),
        ("if a {\n    if b {\n        |\n}\n", "b()\n    }\n    c()", "b()\n    }\n    c()"),
    ],
)
def test_the_next_line_of_the_document_ends_every_answer(marked, text, expected):
    assert block(marked, text, stop_at="") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\na\na\nb", "a"),
        ("a\nb\na\nb\na\nb\n", "a\nb"),
        ("x\na\na\na\n", "x\na"),
        ("a\na\nb\na\na\n", "a\na\nb\na\na\n"),
        ("\n\n\n\n\na\n", "\n\n\n\n\na\n"),
    ],
)
def test_going_round_in_circles_ends_every_answer(text, expected):
    assert block("f(\n|\n", text, stop_at="") == expected


def test_a_block_has_no_more_lines_than_are_wanted():
    text = "".join(f"a{n}()\n    " for n in range(20))
    assert block("if x:\n    |\n", text, max_lines=3).count("\n") == 2


@pytest.mark.parametrize(("newlines", "expected"), [(3, "\n\n\nb()"), (4, "")])
def test_text_after_too_many_newlines_comes_too_late(newlines, expected):
    assert block("a()\n|", "\n" * newlines + "b()") == expected


def test_nothing_but_newlines_is_not_waited_for():
    assert block("    |\n", "\n" * 9) == ""
    assert block("    |\n", " " * 300) == ""


LINE = st.sampled_from(
    [
        *("a()", "    b()", "        c()", "", "}", "    }", "if x:", "for (;;) {", "f(", ")", "\tt", "else:", "@a"),
        *("it's)", '"x" }', "`", "```py", '    """', "- a:", "def f"),
    ]
)
LINES = st.lists(LINE, max_size=9).map("\n".join)
MARKED = st.sampled_from(
    [
        *("|\n", "if x:\n    |\n    a()\n", "f() {\n    |\n}\n", "x = |\ny\n", "if a:|\n", "\t|", "g(|", "|\n    b\n"),
        *("f() {|}\n", "  g(|);\n", "x = [|]\n"),
    ]
)
LANGUAGE = st.sampled_from(["", "python", "javascript", "ruby", "yaml", "markdown"])


@given(MARKED, LINES, LINES, LANGUAGE)
def test_what_comes_later_never_changes_where_a_block_has_ended(marked, text, more, language):
    end = block_end(text, place(marked, language))
    if end is not None:
        assert block_end(text + "\n" + more, place(marked, language)) == end


@given(MARKED, LINES, st.integers(1, 7), LANGUAGE)
def test_a_block_fed_in_pieces_ends_where_the_whole_text_does(marked, text, size, language):
    here = place(marked, language)
    stop, taken = Stop("", here, "block"), ""
    for at in range(0, len(text), size):
        taken += text[at : at + size]
        if stop.feed(text[at : at + size]):
            assert taken[: block_end(taken, here)] == text[: block_end(text, here)]
            return
    assert block_end(text, here) is None


@given(MARKED, LINES, LANGUAGE)
def test_a_block_that_was_cut_is_not_cut_again(marked, text, language):
    once = block(marked, text, language)
    assert block(marked, once, language) == once


@pytest.mark.parametrize(
    ("marked", "text", "expected"),
    [
        ("f(|)\n", "a, g(b)); c", "a, g(b)"),
        ("f(|)\n", "')', b)", "')', b"),
        ("f(|)\n", "'it", "'it"),
        ("  int x() {|}\n", "\n    y();\n  }\n\n  int z", "\n    y();"),
        ("int x() {|}\n", " return y; }", " return y; "),
        ("x = [|]\n", "1, 2] + [3", "1, 2"),
    ],
)
def test_between_brackets_that_stand_side_by_side_the_closing_one_ends_the_block(marked, text, expected):
    assert block(marked, text) == expected


@pytest.mark.parametrize("stop_at", ["", "block"])
def test_a_fence_in_code_ends_every_answer_at_its_first_marks(stop_at):
    assert block("a()\n\n|", "b()\n```", "python", stop_at=stop_at) == "b()"
    assert block("a()\n\n|", "```", "python", stop_at=stop_at) == ""
    assert block("a()\n\n|", "b()\n``", "python", stop_at=stop_at) == "b()\n``"
    assert block("a\n\n|", "b\n```", "markdown", stop_at=stop_at) == "b\n```"


@pytest.mark.parametrize(
    ("marked", "text", "language", "expected"),
    [
        ("  db:\n    image: a\n    |\n", "redis:\n    image: b\n", "yaml", ""),
        ("  db:\n    image: a\n    |\n", "ports:\n    - 1\n", "yaml", "ports:\n    - 1\n"),
        ("  db:\n    image: a\n    |\n", "env:\n      a: 1\n", "yaml", "env:\n      a: 1\n"),
        ("def f():\n    |\n", "if x:\n    y()\n", "python", ""),
        ("def f():\n    |\n", "# so:\n    y()\n", "python", "# so:\n    y()\n"),
        ("  def a(b)\n    |\n  end\n", "def c(d)\n    @b -= d\n  end\n", "ruby", ""),
        ("class A\n  |\nend\n", "def c(d)\n    @b -= d\n  end\n", "ruby", "def c(d)\n    @b -= d\n  end\n"),
    ],
)
def test_a_head_whose_block_is_not_indented_was_meant_for_another_column(marked, text, language, expected):
    assert block(marked, text, language) == expected


def test_a_line_that_is_indented_less_than_is_wanted_ends_an_answer():
    stop = IndentStop("    ", 4)
    assert [stop.feed(piece) for piece in ("a", "\n    b\n", "\n  ", "c")] == [False, False, False, True]
    assert within_indent("a\n    b\n\n  c\n", 4) == "a\n    b\n"
