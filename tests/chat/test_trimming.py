"""Attachments made shorter."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.chat.context.trimming import trimmed
from paceline.chat.turns import Attached

LINES = "".join(f"line {at}\n" for at in range(1, 1001))
KINDS = ("file", "folder", "symbol", "diff", "output", "paste")


def numbers(text):
    return [int(found) for found in re.findall(r"^line (\d+)$", text, re.MULTILINE)]


def test_what_is_short_enough_stays():
    attached = Attached("file", "a.py", LINES)
    assert trimmed(attached, len(LINES)) is attached


def test_a_file_keeps_its_head_and_its_end():
    kept = numbers(trimmed(Attached("file", "a.py", LINES), 2000).text)
    assert kept[0] == 1 and kept[-1] == 1000
    assert sum(number < 500 for number in kept) > sum(number > 500 for number in kept) > 0


def test_an_output_keeps_mostly_its_end():
    kept = numbers(trimmed(Attached("output", "$ make", LINES), 2000).text)
    assert sum(number > 500 for number in kept) > 2 * sum(number < 500 for number in kept) > 0


@pytest.mark.parametrize(
    "question", ["why does app/a.py:500 fail?", 'File "x/a.py", line 500', "in a.py, line 500", '@"app/a.py":500']
)
def test_a_line_that_the_question_names_is_kept_with_what_is_around_it(question):
    kept = numbers(trimmed(Attached("file", "app/a.py", LINES), 1000, question).text)
    assert kept == list(range(kept[0], kept[-1] + 1))
    assert kept[0] < 500 < kept[-1]
    assert abs((500 - kept[0]) - (kept[-1] - 500)) <= 2


def test_lines_of_a_part_are_numbered_as_in_its_file():
    part = Attached("file", "a.py:101-1100", LINES)
    assert 400 in numbers(trimmed(part, 500, "see a.py:500").text)


@pytest.mark.parametrize("question", ["b.py:500", "a.py:5000", "a.py", "aXpy:500", "500"])
def test_a_question_about_something_else_changes_nothing(question):
    attached = Attached("file", "a.py", LINES)
    assert trimmed(attached, 1000, question) == trimmed(attached, 1000)


def test_what_is_left_out_is_said_in_its_place_and_beside_it():
    short = trimmed(Attached("paste", "pasted", LINES, cut="secrets"), 900)
    gap = 1000 - len(numbers(short.text))
    assert f"[… {gap} lines left out …]" in short.text
    assert short.cut == f"secrets; {gap} of 1,000 lines left out"


def test_one_long_line_is_cut_within():
    short = trimmed(Attached("file", "a.json", "x" * 5000), 1000)
    assert short.text.count("x") == 1000
    assert "4,000 characters left out" in short.text
    assert "4,000 of 5,000 characters" in short.cut


@given(
    st.sampled_from(KINDS),
    st.lists(st.text(alphabet="ab\r \u2028é", max_size=12), max_size=30).map("\n".join),
    st.integers(0, 200),
)
@settings(deadline=None)
def test_nothing_is_made_up_and_nothing_is_missing_in_silence(kind, text, characters):
    attached = Attached(kind, "a.py", text)
    short = trimmed(attached, characters)
    if short is attached:
        assert len(text) <= characters
        return
    parts = re.split(r"\n?\[… \d+ (?:lines|characters) left out …\]\n", short.text)
    assert len("".join(parts)) <= max(characters, 0)
    assert text.startswith(parts[0]) and text.endswith(parts[-1])
    assert short.cut
