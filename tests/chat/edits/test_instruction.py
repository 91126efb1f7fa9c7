"""A whole file by an instruction."""

import pytest

from paceline.chat.edits.instruction import LARGEST, change_of, instruction, is_complete
from paceline.errors import InputError

TEXT = "\ufeffdef f():\r\n\treturn 1\r\n\r\n\r\ndef g():\r\n\treturn 2"


def test_the_model_is_shown_the_file_and_drafts_from_it():
    asked = instruction("a/b.py", TEXT, "rename f to h")
    assert asked.original == "def f():\n\treturn 1\n\n\ndef g():\n\treturn 2"
    assert f"```python\n{asked.original}\n```" in asked.messages[1].content
    assert "rename f to h" in asked.messages[1].content
    assert asked.max_tokens > len(asked.original)


def test_the_answer_becomes_the_file_in_its_own_ways():
    asked = instruction("a/b.py", TEXT, "rename f to h")
    answer = "Here:\n```python\n" + asked.original.replace("f()", "h()").replace("\t", "    ") + "\n```\nDone."
    change = change_of(asked, answer)
    assert change.after == TEXT.replace("f()", "h()")
    assert (change.path, change.before, change.certain) == ("a/b.py", TEXT, True)
    assert is_complete(asked, answer)
    assert not is_complete(asked, answer.partition("\n```\nDone")[0])


def test_lost_functions_are_pointed_out():
    change = change_of(instruction("b.py", TEXT, "x"), "```python\ndef f():\n\treturn 1\n```\n")
    assert not change.certain
    assert "lost" in change.notes[0]


def test_an_answer_that_was_cut_is_in_doubt():
    change = change_of(instruction("b.py", TEXT, "x"), "```python\ndef f():\n\treturn 3\n\n\ndef g():\n\tret", cut=True)
    assert not change.certain
    assert "cut" in change.notes[0]


def test_an_answer_without_text_is_no_change():
    assert change_of(instruction("b.py", TEXT, "x"), "  \n") is None


@pytest.mark.parametrize(("text", "wish"), [(TEXT, " "), ("x" * (LARGEST + 1), "y")])
def test_what_cannot_be_asked_is_refused(text, wish):
    with pytest.raises(InputError):
        instruction("a.py", text, wish)
