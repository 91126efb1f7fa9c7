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
        "int x() {",
        "  xs.each((x) => {",
        "\tf([",
        "x = ",
        "s = `a ${",
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
AFTER = st.sampled_from(
    [
        "",
        "}",
        " }",
        "});\n",
        "]);\n",
        ";\n",
        '");\n',
        "`;\n",
        ")",
        "))",
        '")',
        "]",
        " + b",
        "\n",
        "\n    return x\n",
        "\n}\n",
        "\r\nnext\r\n",
        ")\n)\n",
    ]
)
TEXT = st.lists(
    st.sampled_from(
        [
            *("x", "(", ")", '"', "]", "{", "}", ";", "'", "`", "${", " ", "    ", "\t", "\n", "\n    ", "\n\t"),
            *("return x", "\r\n", "+ b", "next", "```", "// c"),
        ]
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


# --- what stands open at the cursor and is closed right behind it -----------------------------------------------------


@pytest.mark.parametrize(
    ("marked", "text", "expected"),
    [
        ('print("|")\n', 'hello")  # greets', "hello"),
        ('foo("|");\n', 'x"); // c', "x"),
        ("foo('|');\n", "it\\'s'); // c", "it\\'s"),
        ('<div class="|">\n', 'box">hello</div>', "box"),
        ("s = `|`;\n", "a ${f(`b`)} c`; // d", "a ${f(`b`)} c"),
        ('s = "|"\n', '#{h["k"]} b" + c', '#{h["k"]} b'),
        ('s = """|"""\n', 'a "b" c"""\nprint(s)', 'a "b" c'),
        ("x = `\n  |`;\n", "a\n  b`;\ny = `c", "a\n  b"),
        # a quote that opens something is no end
        ('x = |"a"\n', '"b" + ', '"b" + '),
        ("x = 'a' + |'b'\n", "'c' + ", "'c' + "),
    ],
)
def test_a_string_that_is_closed_after_the_cursor_ends_there(marked, text, expected):
    assert trimmed(marked, text) == expected


@pytest.mark.parametrize(
    ("marked", "text", "expected"),
    [
        ("const x = |;\n", "5; // a comment", "5"),
        ("const x = |;\n", "5;\nconst y = 6;", "5"),
        ("SELECT name FROM users WHERE |;\n", "age > 30;  -- This query is", "age > 30"),
        ("SELECT name FROM users WHERE |;\n", "name = 'a;b' AND age > 3; -- c", "name = 'a;b' AND age > 3"),
        ("let x = |;\n", "[0; 4]; // c", "[0; 4]"),
        ("const f = |;\n", "() => {\n  a();\n  b();\n}; // c", "() => {\n  a();\n  b();\n}"),
        ("say(|;\n", "'it'); // isn't", "'it')"),
        ("for (i = 0|; i < n; i++) {\n", ", m = 1", ", m = 1"),
    ],
)
def test_a_statement_that_is_ended_after_the_cursor_ends_there(marked, text, expected):
    assert trimmed(marked, text) == expected


@pytest.mark.parametrize(
    ("marked", "text", "expected"),
    [
        ("  int x() {|}\n", "\n    return x;\n  }\n\n  int y() {", "\n    return x;\n  "),
        ("  int x() {|}\n", "\n    return x;", "\n    return x;\n  "),
        ("  int x() {|}\n", "\n    return x;\n}", "\n    return x;\n  "),
        ("\tint x() {|}\n", "\n\t\treturn x;\n\n\n", "\n\t\treturn x;\n\t"),
        ("int x() {|}\n", " return x; }", " return x; "),
        ("int x() {|}\n", " return x;", " return x; "),
        ("int x() { | }\n", "return x; }", "return x;"),
        ("xs.each((x) => {|});\n", "\n  f(x);\n});\n", "\n  f(x);\n"),
        ("import (|)\n", '\n\t"fmt"\n)', '\n\t"fmt"\n'),
        ("xs = [|]\n", "\n    1,\n    2,", "\n    1,\n    2,\n"),
        ("xs = [|]\n", "1, 2", "1, 2"),
        ("f(|)\n", "a,\n  b)", "a,\n  b"),
        ("f(|)\n", "g(1), ')', h)", "g(1), ')', h"),
        ("f {|}\n", "\n\n", ""),
        ("int x() {|}\r\n", "\n  y();\n}", "\r\n  y();\r\n"),
    ],
)
def test_between_brackets_that_stand_side_by_side_the_closing_one_gets_its_own_line(marked, text, expected):
    assert trimmed(marked, text) == expected


OPENING = st.sampled_from(["int x() {", "  f([", "\tg(", "    xs.each((x) => {"])


@given(OPENING, TEXT)
def test_what_comes_between_brackets_side_by_side_closes_no_more_than_it_opens(opening, text):
    closer = {"{": "}", "[": "]", "(": ")"}[opening[-1]]
    text = "".join(char for char in text if char not in "\"'`")
    once = trim(opening, f"{closer}\n", text)
    depth, least = 0, 0
    for char in once:
        depth += (char == opening[-1]) - (char == closer)
        least = min(least, depth)
    if not set(once) & (set("()[]{}") - {opening[-1], closer}):
        assert least == 0


@given(OPENING, TEXT)
def test_a_line_of_its_own_for_the_closing_bracket_is_indented_as_the_opening_one(opening, text):
    closer = {"{": "}", "[": "]", "(": ")"}[opening[-1]]
    once = trim(opening, f"{closer}\n", text)
    last = (opening + once).split("\n")[-1] if "\n" in once else ""
    assert last.strip() or not last or last == opening[: len(opening) - len(opening.lstrip())]
    assert once.strip() or not once


@pytest.mark.parametrize(
    ("marked", "text", "expected"),
    [
        ("  {xs.map((x) => |)}\n", "(", ""),
        ("f(|)\n", "g(", ""),
        ("  {xs.map((x) => |)}\n", "(\n    <b>{x}</b>\n  ))}\n</p>", "(\n    <b>{x}</b>\n  )"),
        ("f|)\n", "(", "("),
        ("for (x : xs) |\n", "{", "{"),
    ],
)
def test_no_bracket_is_left_open_before_a_closing_one(marked, text, expected):
    assert trimmed(marked, text) == expected


# --- what is no part of the language ----------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["python", "haskell", "sql", "typescriptreact"])
def test_a_fence_in_code_ends_the_text(language):
    assert trim("a = 1\n\n", "", "if b:\n    c()\n```\n\nThis code", language) == "if b:\n    c()"
    assert trim("a = 1\n\n", "", "```python\nb = 1\n```", language) == ""
    assert trim("a = 1\n\n", "", "b = 1\n~~~", language) == "b = 1"


@pytest.mark.parametrize(
    ("before", "language"),
    [
        ("# Title\n\n", "markdown"),
        ("Title\n=====\n\n", "restructuredtext"),
        ("a\n\n", ""),
        ('def f():\n    """Do.\n\n    ```\n', "python"),
        ('def f():\n    """Do.\n\n', "python"),
        ("/// ```\n/// f();\n", "rust"),
        ("const help = `\n", "javascript"),
    ],
)
def test_a_fence_stays_where_it_may_be_wanted(before, language):
    assert trim(before, "", "f(1)\n```", language) == "f(1)\n```"


def test_a_text_in_yaml_may_have_a_fence_and_the_file_may_not():
    assert trim("body: |\n", "", "  a\n  ```", "yaml") == "  a\n  ```"
    assert trim("body: |\n", "", "  a\n```", "yaml") == "  a"


@given(BEFORE, AFTER, TEXT, st.sampled_from(["python", "javascript", "html", "go", "yaml", "markdown"]))
def test_trimming_again_for_a_language_changes_nothing(before, after, text, language):
    once = trim(before, after, text, language)
    assert trim(before, after, once, language) == once
