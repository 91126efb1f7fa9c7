"""What of the generated text is inserted at the cursor."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.prompts.fim import Budget, build
from paceline.prompts.stops import Stop, around
from paceline.prompts.trim import finish
from support.toy_tokenizer import ToyTokenizer

TOKENIZER = ToyTokenizer()


def prompt_at(marked):
    at = marked.index("|")
    before = marked[:at].replace("\r\n", "\n").split("\n")
    return build(marked[:at] + marked[at + 1 :], len(before), len(before[-1]) + 1, TOKENIZER, Budget(1000, 1000))


def inserted(marked, typed_on, *, single_line):
    """What is inserted when the model goes on from the cursor with this text."""
    prompt = prompt_at(marked)
    return finish(prompt, prompt.forced.decode() + typed_on, stop_at="line" if single_line else "")


@pytest.mark.parametrize(
    ("marked", "typed_on", "expected"),
    [
        ("x = fo|\n", "o(1)\nmore", "o(1)"),
        ("x = fo|\n", "o(1)  \n", "o(1)"),
        ("x = fo|\n", "\n", ""),
        ("print(|)\n", "name)", "name"),
        ("print(|)\n", "foo(bar)", "foo(bar)"),
        ("print(|)\n", "foo(bar))", "foo(bar)"),
        ("foo(bar(|)\n", "x)", "x)"),
        ('print("|")\n', 'hello")', "hello"),
        ("x = [|]\n", "1, 2]  # list", "1, 2"),
        ("for i in |:\n", "range(3):\n    pass", "range(3)"),
        ("pri|nt(x)\n", "nt(x)", ""),
        ("x = |foo()\n", "bar + foo", "bar + "),
        ("x = |foo()\n", "buff", "buff"),
        ("self.|fer\n", "buf", "buf"),
        ("def f():\n    |\n", "return 1\n", "return 1"),
        ("def f():\n    |\n", "    return 1\n", "return 1"),
        ("def f():\n    |\n", "\n    return 1\n", "return 1"),
        ("def f():\n    |\n", "\n\n        return 1\n", "return 1"),
        ("def f():\n        |\n", "\n    return 1\n", ""),
        ("\t|\n", "\n\treturn\n", "return"),
        ("|\n", "\n\nimport os\n", "import os"),
        ("    |\n    return x\n", "return x\n", ""),
        ("if a:\n    |\n}\n", "b()\n", "b()"),
        ("x = 1|  \n", "  \n", ""),
        ("x =| y\n", " ", ""),
    ],
)
def test_a_single_line(marked, typed_on, expected):
    assert inserted(marked, typed_on, single_line=True) == expected


@pytest.mark.parametrize(
    ("marked", "typed_on", "expected"),
    [
        ("def f(x):\n    |\n    return x\n", "x += 1\n    return x\n", "x += 1"),
        ("def f(x):\n    |\n    return x\n", "x += 1\n\n    return x", "x += 1"),
        ("def f(x):\n    |\n    y = 2\n    return x\n", "x += 1\n    y = 2\n    ret", "x += 1"),
        ("foo(a, |\n)\n", "b,\n    c,\n)\n", "b,\n    c,"),
        ("void f() {\n    |\n}\n", "if (x) {\n        y();\n    }\n}\n", "if (x) {\n        y();\n    }"),
        ("void f() {\n|\n}\n", "if (x) {\ny();\n}\n", "if (x) {\ny();\n}"),
        ("foo(|)\nbar()\n", "a,\n    b)\nbar()", "a,\n    b"),
        ("a\n|", "b\nc\n", "b\nc"),
        ("a\n|\nd\n", "b\n\nc\n\n", "b\n\nc"),
        ("def f():|\n", "\n    return 1\n", "\n    return 1"),
        ("a = 1\n|\nb = 2\n", "c = 3\nb = 22\n", "c = 3\nb = 22"),
    ],
)
def test_several_lines(marked, typed_on, expected):
    assert inserted(marked, typed_on, single_line=False) == expected


def test_line_endings_are_the_documents_own():
    assert inserted("a\r\nb = |\r\nc\r\n", "[\n  1,\r\n]\n", single_line=False) == "[\r\n  1,\r\n]"
    assert inserted("a\nb = |\nc\n", "[\r\n  1,\r\n]\r\n", single_line=False) == "[\n  1,\n]"


def test_text_that_does_not_begin_as_forced_gives_nothing():
    prompt = prompt_at("x = fo|\n")
    assert finish(prompt, " bar", stop_at="line") == ""
    assert finish(prompt, " f", stop_at="line") == ""


MARKED = st.tuples(
    st.sampled_from(["", "    ", "\t", "x = fo", "    call(", "print(f(", 'say("', "a = [", "if x {"]),
    st.sampled_from(["", ")", "))", '")', "]", " + b", "fer", "  ", "}"]),
    st.sampled_from(["", "\n", "\n\n    return x\n", "\n}\n", "\r\nnext\r\n", "\n)\n"]),
).map(lambda three: f"first(\n{three[0]}|{three[1]}{three[2]}")
GENERATED = st.lists(
    st.sampled_from(
        ["x", "fer", "(", ")", '"', "]", "}", " ", "    ", "\n", "return x", "\r\n", "+ b", "next", "foo(1)"]
    ),
    max_size=12,
).map("".join)


@given(MARKED, GENERATED, st.booleans())
def test_finishing_again_changes_nothing(marked, typed_on, single_line):
    once = inserted(marked, typed_on, single_line=single_line)
    assert inserted(marked, once, single_line=single_line) == once


@given(MARKED, GENERATED)
def test_a_single_line_never_holds_a_line_ending(marked, typed_on):
    assert not set(inserted(marked, typed_on, single_line=True)) & {"\n", "\r"}


@given(MARKED, GENERATED)
def test_several_lines_are_cut_at_their_end_only(marked, typed_on):
    whole = typed_on.replace("\r\n", "\n").replace("\r", "\n")
    kept = inserted(marked, typed_on, single_line=False).replace("\r\n", "\n")
    assert "".join(whole.split()).startswith("".join(kept.split()))  # indentation may be made anew


@given(MARKED, GENERATED)
def test_no_blanks_are_left_where_the_line_ends_anyway(marked, typed_on):
    rest = marked.split("|")[1]
    kept = inserted(marked, typed_on, single_line=False)
    assert rest.split("\n")[0].strip() or kept == kept.rstrip()


@given(
    st.sampled_from(["alpha", "alpha.beta", "1 + 2", "f(x)", "[a, b]", '"s"']),
    st.sampled_from([")", "):", "])", ")  # end"]),
)
def test_a_middle_followed_by_what_stands_after_the_cursor_gives_the_middle(middle, rest):
    opening = "call([" if rest.startswith("]") else "call("
    assert inserted(f"{opening}|{rest}\nnext\n", middle + rest, single_line=True) == middle


@given(
    st.lists(st.sampled_from(["a = 1", "b()", "c[0]"]), min_size=1, max_size=3, unique=True),
    st.lists(st.sampled_from(["return x", "done()", "if y:", "    z"]), min_size=1, max_size=3, unique=True),
    st.integers(1, 3),
)
def test_lines_followed_by_the_lines_after_the_cursor_give_the_lines(middle, following, repeated):
    after = "".join(f"\n{line}" for line in following)
    generated = "\n".join([*middle, *following[:repeated]])
    assert inserted(f"start\n|{after}\n", generated, single_line=False) == "\n".join(middle)


def line_stop(prompt):
    return Stop(prompt.forced_text, around(prompt.before, prompt.after), "line")


def stopped_after(marked, pieces):
    """How many pieces are taken until the answer is complete; None if it never is."""
    stop = line_stop(prompt_at(marked))
    return next((count for count, piece in enumerate(pieces, 1) if stop.feed(piece)), None)


def test_a_line_is_complete_at_its_newline():
    assert stopped_after("x = fo|\n", [" f", "oo", "\nbar"]) == 3
    assert stopped_after("x = fo|\n", [" f", "oo"]) is None


def test_before_the_first_text_on_a_blank_line_newlines_complete_nothing():
    assert stopped_after("    |\n", ["    ", "\n", "\n    ", "return", " 1", "\n"]) == 6


def test_endless_newlines_are_not_waited_for():
    assert stopped_after("|\n", ["\n"] * 20) == 5


def test_text_that_cannot_become_what_was_forced_is_complete_at_once():
    assert stopped_after("x = fo|\n", [" b"]) == 1
    assert stopped_after("x = fo|\n", [" ", "f", "x"]) == 3


@given(MARKED, GENERATED, st.integers(1, 5))
def test_nothing_after_the_stop_changes_the_answer(marked, typed_on, size):
    prompt = prompt_at(marked)
    text, stop = prompt.forced.decode() + typed_on + "\n", line_stop(prompt)
    taken = ""
    for at in range(0, len(text), size):
        taken += text[at : at + size]
        if stop.feed(text[at : at + size]):
            assert finish(prompt, taken, "line") == finish(prompt, text, "line")
            return
