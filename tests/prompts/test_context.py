"""Files and standard input in front of a question."""

import re

from hypothesis import given
from hypothesis import strategies as st

from paceline.prompts.context import Attachment, language, with_files


def test_files_come_first_then_standard_input_then_the_question():
    message = with_files("Why?", [Attachment("a.py", "x = 1\n"), Attachment("notes", "hm")], "+x\n")
    assert message == (
        "File: a.py\n```python\nx = 1\n```\n\nFile: notes\n```\nhm\n```\n\nStandard input:\n```\n+x\n```\n\nWhy?"
    )


def test_a_question_alone_is_left_as_it_is():
    assert with_files("  Why?\n", [], None) == "  Why?\n"


def test_standard_input_alone_is_enough():
    assert with_files("", [], "text") == "Standard input:\n```\ntext\n```"


def test_empty_standard_input_is_not_mentioned():
    assert with_files("Why?", [], "\n") == "Why?"


@given(st.text("`a\n", max_size=40))
def test_no_text_can_close_its_own_fence(text):
    message = with_files("?", [Attachment("f", text)], None)
    fence = message.split("\n")[1]
    assert re.fullmatch("`{3,}", fence)
    assert fence not in text
    inside = message.removeprefix(f"File: f\n{fence}\n").removesuffix(f"{fence}\n\n?")
    assert inside in (text, text + "\n")


def test_another_question_about_the_same_files_shares_their_beginning():
    files = [Attachment("a.py", "x\n"), Attachment("b.py", "y\n")]
    first, second = with_files("One?", files, "in"), with_files("Two?", files, "in")
    assert first.removesuffix("One?") == second.removesuffix("Two?")


def test_a_file_given_twice_is_shown_once():
    message = with_files("?", [Attachment("a", "x"), Attachment("b", "y"), Attachment("a", "x")], None)
    assert message.count("File: a") == 1


def test_a_name_with_line_breaks_and_controls_stays_on_its_line():
    message = with_files("?", [Attachment("a\n```\x1b[2J.py", "x")], None)
    assert message.startswith("File: a ```.py\n```python\n")


def test_the_language_comes_from_the_name():
    names = ["a.py", "dir/B.PY", "x.tar.gz", "Makefile", "src/Dockerfile", "none", ".gitignore", "a.rs"]
    assert [language(name) for name in names] == ["python", "python", "", "makefile", "dockerfile", "", "", "rust"]
