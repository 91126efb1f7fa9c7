"""What of a text is worth inserting between two others, for whoever has the whole document."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.prompts.fim import Budget, build_between
from paceline.prompts.trim import finish, kept, trim
from support.toy_tokenizer import ToyTokenizer


def trimmed(marked, text):
    before, after = marked.split("|")
    return trim(before, after, text)


@pytest.mark.parametrize(
    ("marked", "text", "expected"),
    [
        # what stands after the cursor is not repeated
        ("print(|)\n", "name)", "name"),
        ("print(|)\n", "name):\n    pass", "name"),
        ("print(f(|))\n", "x)) + y", "x"),
        ("call(a, |, c)\n", "b, c)", "b"),
        ("    |\n    return x\n", "x = 1\n    return x\n", "x = 1"),
        ("    |\n    return x\n", "return x\n", ""),
        ("a(|\n", "1)\n", "1)"),
        # brackets are neither doubled nor taken away
        ("print(|\n", "name))", "name)"),
        ("f([|\n", "1, 2]))", "1, 2])"),
        ("x = f(|) + g(1)\n", "a, h(2)", "a, h(2)"),
        ("if x {\n    |\n}\n", "y();\n}", "y();"),
        ('say("|")\n', 'it")', "it"),
        # indentation
        ("def f():\n    |\n", "    return 1", "return 1"),
        ("def f():\n    |\n", "    if x:\n            y()\n        z()", "if x:\n        y()\n    z()"),
        ("def f():\n|\n", "    return 1", "    return 1"),
        ("    x = 1\n    |\n", "    y = 2", "y = 2"),
        ("f(\n    |\n", "    a,", "    a,"),
        ("if x:\n    y\n|\n", "    z", "    z"),
        # a line that holds blanks alone is no place to end on
        ("def f():\n    |\n", "\n    return totals", "return totals"),
        ("def f():\n    |\n", "\n\n    a = 1\n    \n    return a", "a = 1\n\n    return a"),
        ("def f():\n    |\n", "\n        return 1", "return 1"),
        ("f(\n    |\n", "\n        a,", "    a,"),
        ("\tif a {\n\t\t|\n\t}\n", "\n\t\tb()", "b()"),
        ("import os\n|\n", "\n\ndef f():\n    pass", "\n\ndef f():\n    pass"),
        ("x = 1|\n", "\n   \ny = 2", "\n\ny = 2"),
        ("x = |]\n", "[\n    1,\n   \n    2,\n  ", "[\n    1,\n\n    2,\n  "),
        # its style
        ("if a {\n\t|\n}\n", "if b {\n\t    c()\n\t}", "if b {\n\t\tc()\n\t}"),
        ("if a {\n\tb()\n}\n|", "if c {\n    d()\n}", "if c {\n\td()\n}"),
        ("if a {\n  b()\n}\n|", "if c {\n\td()\n}", "if c {\n  d()\n}"),
        ("a\n|", "if c {\n    d()\n}", "if c {\n    d()\n}"),
        # blanks and line endings
        ("x = |\n", "1  ", "1"),
        ("x = |\n", "1  \n\n", "1"),
        ("a\r\n|\r\nb\r\n", "x\ny\n", "x\r\ny"),
        ("a\n|\nb\n", "x\r\ny\r\n", "x\ny"),
    ],
)
def test_what_is_worth_inserting(marked, text, expected):
    assert trimmed(marked, text) == expected


def test_brackets_that_close_something_far_away_stay():
    before = "x = [\n" + "    1,\n" * 3000
    assert trim(before, "\n", "2]") == "2]"


BEFORE = st.sampled_from(
    [
        "",
        "    ",
        "\t",
        "if x:\n    ",
        "f() {\n\t",
        "x = fo",
        "    call(",
        "print(f(",
        'say("',
        "a = [",
        "\r\n  ",
        "if x:\n",
    ]
)
AFTER = st.sampled_from(["", ")", "))", '")', "]", " + b", "\n", "\n    return x\n", "\n}\n", "\r\nnext\r\n", ")\n)\n"])
TEXT = st.lists(
    st.sampled_from(
        ["x", "(", ")", '"', "]", "}", " ", "    ", "\t", "\n", "\n    ", "\n\t", "return x", "\r\n", "+ b", "next"]
    ),
    max_size=12,
).map("".join)


@given(BEFORE, AFTER, TEXT)
def test_trimming_again_changes_nothing(before, after, text):
    once = trim(before, after, text)
    assert trim(before, after, once) == once


@given(BEFORE, AFTER, TEXT)
def test_brackets_match_no_worse_than_with_the_whole_text(before, after, text):
    def open_at_the_end(whole):
        stack = []
        for char in whole:
            if char in "([{":
                stack.append(char)
            elif char in ")]}":
                if stack and stack[-1] + char in ("()", "[]", "{}"):
                    stack.pop()
                else:
                    stack.append("x")
        return len(stack)

    once = trim(before, after, text)
    assert open_at_the_end(before + once + after) <= open_at_the_end(before + text + after)


@given(BEFORE, AFTER, TEXT)
def test_nothing_is_made_up(before, after, text):
    once = trim(before, after, text)
    assert "".join("".join(text.split()).split()).startswith("".join(once.split()))


@given(BEFORE, AFTER, TEXT)
def test_where_the_line_ends_at_the_cursor_no_blanks_are_left_at_the_end(before, after, text):
    once = trim(before, after, text)
    assert after.split("\n")[0].strip() or once == once.rstrip()


@given(BEFORE, AFTER, TEXT)
def test_there_is_one_kind_of_line_ending(before, after, text):
    once = trim(before, after, text)
    ends = {"\r\n"} if "\r\n" in before + after else {"\n"}
    assert "\r" not in once.replace(*ends, "") if "\r\n" in ends else "\r" not in once


def prompt_for(marked):
    before, after = marked.split("|")
    return build_between(before, after, ToyTokenizer(), Budget(1000, 1000))


def test_of_an_answer_that_breaks_off_only_whole_lines_are_kept():
    prompt = prompt_for("if x:\n    |\n")
    assert finish(prompt, "    a()\n    b(", "block", unfinished=True) == "a()"
    assert finish(prompt, "    a(b", "block", unfinished=True) == "a(b"
    assert finish(prompt, "    a()\n    b(", "block") == "a()\n    b("
    assert finish(prompt, "    a()\nb()\n", "block", unfinished=True) == "a()"


@given(st.sampled_from(["x = fo|\n", "    |\n    return\n", "f(|)\n", "a|\r\nb\r\n"]), TEXT)
def test_what_is_kept_is_found_in_what_was_generated(marked, text):
    prompt = prompt_for(marked)
    text = (prompt.forced_text + text).replace("\r", "")
    final = finish(prompt, text)
    begin, end = kept(prompt, text, final)
    if "\t" not in text and not final.startswith(" "):
        assert text[begin:end].split() == final.split()


def test_what_the_next_line_does_anyway_is_not_done_further_inside():
    before, after = "for n in xs:\n    if n > top:\n        ", "\n\n    found.append(top)\n"
    assert trim(before, after, "top = n\n        found.append(top)") == "top = n"


@pytest.mark.parametrize("line", ["return f(x)", "raise Broken(x)", "x"])
def test_a_line_that_leaves_the_block_may_stand_in_it_too(line):
    before, after = "def g(x):\n    if not x:\n        ", f"\n    {line}\n"
    assert trim(before, after, f"log(x)\n        {line}") == f"log(x)\n        {line}"


@pytest.mark.parametrize(
    ("marked", "text", "expected"),
    [
        ("  res.|json(getCart(id));\n", 'status(200).send("done");', 'status(200).send("done")'),
        ("for (let i = 0|i < n; i++) {\n", "; ", "; "),
        ("|b();\n", "a(); ", "a(); "),
        ("a(); |b();\n", "c(); ", "c(); "),
        ("x = |  // of all\n", "y;", "y;"),
        ("f(|)\n", "x);", "x"),
    ],
)
def test_a_statement_that_goes_on_after_the_cursor_does_not_end_before_it(marked, text, expected):
    assert trimmed(marked, text) == expected
