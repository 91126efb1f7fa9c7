"""Titles are one line, short, and nothing but words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.chat import titles
from paceline.chat.turns import Attached, Turn
from paceline.text import strip_controls
from support.written_turns import TEXTS


def made(text: str, *attached: str) -> str:
    return titles.made_of(Turn(0, None, "user", text, tuple(Attached("file", name, "") for name in attached)))


@given(TEXTS | st.text(alphabet=st.characters(exclude_categories=()), min_size=50, max_size=300))
def test_any_text_makes_a_title_that_can_be_shown(text):
    for title, longest in ((made(text), titles.MADE), (titles.given(text), titles.LONGEST)):
        assert len(title) <= longest
        assert title == strip_controls(title) == " ".join(title.split())
        title.encode()
    assert made(text)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("How do I sort a list?", "How do I sort a list?"),
        ("\n\n  ## Sort\tthis:\n```py\nx\n```", "Sort this:"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("> quoted\nreply", "quoted"),
        ("- a point", "a point"),
        ("#include <stdio.h>", "#include <stdio.h>"),
        ("\x1b]0;evil\x07\u202eWhy?\rOver", "Why?"),
        ("a\0b", "ab"),
        ("\ud800", "\ufffd"),
        ("", titles.UNTITLED),
        ("word " * 30, "word " * 11 + "word…"),
        ("x" * 100, "x" * 59 + "…"),
        ("日本" * 50, ("日本" * 50)[:59] + "…"),
    ],
)
def test_a_title_is_the_first_line_with_words(text, title):
    assert made(text) == title


def test_a_message_of_files_alone_is_called_after_the_first():
    assert made(" \n", "app/x.py", "y.py") == "app/x.py"


@pytest.mark.parametrize("person", ["👩‍👩‍👧‍👦", "👍🏽", "e\u0301", "❤️"])
def test_no_character_of_several_parts_is_cut(person):
    for before in range(50, 62):
        title = made("x" * before + person + "y" * 30)
        assert title.startswith("x" * min(before, 50))
        rest = title.rstrip("…").lstrip("x").rstrip("y")
        assert rest in ("", person)


def test_a_fork_says_so_once():
    assert titles.of_fork("Sorting") == "Sorting (fork)"
    assert titles.of_fork("Sorting (fork)") == "Sorting (fork)"
    assert titles.of_fork("") == "Untitled (fork)"
    assert len(titles.of_fork("x" * 500)) <= titles.LONGEST
