"""What a line cannot sensibly begin with."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.prompts.beginnings import barred, is_indented
from paceline.prompts.healing import Constraint, VocabularyTrie
from support.toy_tokenizer import ToyTokenizer


def at(marked, filename="a.py"):
    before, after = marked.split("|")
    return barred(before, after, filename)


def test_where_the_block_goes_on_nobody_leaves_it():
    assert {"return", "raise", "break", "continue"} <= set(at("def f(x):\n    |\n    return x\n"))
    assert "return" not in at("def f(x):\n    if x:\n        |\n    return x\n")
    assert "return" not in at("def f(x):\n    |\n")
    assert "return" not in at("def f(x):\n    if x:\n        return 1\n    |\n    else:\n        pass\n")


def test_where_the_next_line_is_indented_more_a_block_is_opened():
    assert {"return", "pass", "import"} <= set(at("def f(x):\n    |\n        a()\n"))


def test_a_block_that_was_opened_just_now_does_not_end_at_once():
    assert {"else", "elif", "except"} <= set(at("if a:\n    |\n"))
    assert "else" not in at("if a:\n    b()\n|\n")
    assert "case" not in at("switch (a) {\n    |\n", "a.c")


def test_a_branch_goes_on_only_where_one_ends():
    assert "else" not in at("def f():\n    if a:\n        b()\n    |\n")
    assert "else" in at("def f():\n    if a:\n        b()\n    c()\n    |\n")
    assert "else" in at("def f():\n    if a:\n        b()\n        |\n")
    assert "else" not in at("f() {\n    if (a) {\n        b();\n    }\n    |\n", "a.c")


@pytest.mark.parametrize(
    ("marked", "filename", "mark"), [("a()\n|", "a.py", "#"), ("a();\n|", "a.js", "//"), ("a\n|", "a.lua", "--")]
)
def test_code_is_wanted_and_no_comment_unless_one_goes_on(marked, filename, mark):
    known = filename != "a.lua" or mark == "--"
    assert known and mark in at(marked, filename)
    assert mark not in at(f"{mark} a\n|", filename)
    assert mark not in at(marked, "")


def test_where_something_stands_on_the_line_nothing_is_barred():
    assert at("def f(x):\n    x|\n    return x\n") == ()
    assert at("def f(x):\n    |x\n    return x\n") == ()


def test_brackets_that_close_are_no_block_that_goes_on():
    assert "return" not in at("void f() {\n    |\n    }\n", "a.c")


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("def f():\n    |\n", True),
        ("    x = 1\n    |\n", True),
        ("        x = 1\n    |\n", True),
        ("def f():\n|\n", False),
        ("  def f():\n  |\n", False),
        ("x = f(\n    |\n", False),
        ("    x = 1 +\n    |\n", False),
        ("    x = 1\n    y|\n", False),
        ("    |", False),
    ],
)
def test_it_is_known_where_a_line_is_indented_as_far_as_it_can_be(marked, expected):
    before, after = marked.split("|")
    assert is_indented(before, after) is expected


# --- how it is kept from being chosen ---------------------------------------------------------------------------------

WORDS = [b"ret", b"urn", b"urns", b"return", b" return", b"returned", b"    ", b"#", b" #", b"x"]
TOKENIZER = ToyTokenizer(words=WORDS)
TRIE = VocabularyTrie(TOKENIZER.pieces)


def allowed(constraint):
    found = constraint.allowed()
    return None if found is None else {TRIE.piece(token) for token in found.tolist()}


def chosen(constraint, *pieces):
    for piece in pieces:
        constraint.advance(TOKENIZER.pieces.index(piece))
    return constraint


def test_a_barred_word_is_not_allowed_and_longer_ones_are():
    found = allowed(Constraint(TRIE, b"", [b"return"]))
    assert not {b"return", b" return"} & found
    assert {b"returned", b"ret", b"x"} <= found


def test_a_barred_word_is_not_allowed_in_pieces_either():
    found = allowed(chosen(Constraint(TRIE, b"", [b"return"]), b"ret"))
    assert b"urn" not in found
    assert b"urns" in found


def test_after_another_word_everything_is_allowed():
    assert allowed(chosen(Constraint(TRIE, b"", [b"return"]), b"x")) is None


def test_blanks_before_a_barred_word_make_no_difference():
    constraint = chosen(Constraint(TRIE, b"    ", [b"return", b"#"]), b"    ")
    assert not {b"return", b" return", b"#", b" #"} & allowed(constraint)
    assert not {b"return"} & allowed(chosen(constraint, b" ", b"\n", b"    "))


def test_where_the_line_is_indented_already_no_blank_may_follow():
    found = allowed(Constraint(TRIE, b"   ", flush=True))
    assert found == {b" "}  # one after the other
    constraint = chosen(Constraint(TRIE, b" ", flush=True), b" ")
    assert not {b" ", b"\t", b" return", b" #", b"    "} & allowed(constraint)
    assert {b"x", b"return", b"#", b"\n"} <= allowed(constraint)
    assert allowed(chosen(constraint, b"x")) is None
    assert b" return" in allowed(Constraint(TRIE, b" ", flush=True))


def test_where_nothing_else_could_be_chosen_the_word_is():
    trie = VocabularyTrie([b" return"])
    assert Constraint(trie, b" ", [b"return"]).allowed().tolist() == [0]


@given(
    st.sampled_from([b"", b" ", b"    "]),
    st.lists(st.sampled_from([b"return", b"#", b"if"]), max_size=2, unique=True),
    st.randoms(use_true_random=False),
)
def test_whatever_is_chosen_the_line_begins_with_no_barred_word(forced, words, choice):
    constraint, text = Constraint(TRIE, forced, words), b""
    for _ in range(12):
        ids = constraint.allowed()
        token = choice.choice(range(TRIE.everything.size) if ids is None else ids.tolist())
        assert ids is None or np.all(ids[1:] > ids[:-1])
        constraint.advance(token)
        text += TOKENIZER.pieces[token]
    line = text[len(forced) :].lstrip()
    assert text.startswith(forced)
    assert not any(line.startswith(word) and not line[len(word) : len(word) + 1].isalnum() for word in words)
