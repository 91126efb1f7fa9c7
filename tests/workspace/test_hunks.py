"""What differs between two texts, by lines."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.prompts.lines import normalise
from paceline.workspace.hunks import Hunk, hunks

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "", "d\x0ce", "f\u2028"])).map("\n".join)


def applied(text: str, changes: tuple[Hunk, ...]) -> str:
    for change in reversed(changes):
        text = text[: change.start] + change.text + text[change.end :]
    return text


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_hunks_make_the_new_text_of_the_old_one(old, new):
    assert applied(old, hunks(old, new)) == new


@settings(deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_offsets_count_from_where_the_old_text_begins(old, new, before):
    assert applied(before + old, hunks(old, new, len(before))) == before + new


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_lines_that_stay_keep_their_endings(old, new):
    old = old.replace("\n", "\r\n")
    changed = applied(old, hunks(old, new))
    assert normalise(changed) == new


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_hunks_rise_and_do_not_touch(old, new):
    ends = [end for change in hunks(old, new) for end in (change.start, change.end)]
    assert ends == sorted(ends)
    found = hunks(old, new)
    assert all(first.end < second.start for first, second in pairwise(found))


def test_a_text_that_stays_has_none():
    assert hunks("a\nb\n", "a\nb\n") == hunks("a\r\nb\r\n", "a\nb\n") == ()


def test_only_what_differs_is_touched():
    assert hunks("a\nb\nc\nd\n", "a\nB\nc\nd\ne\n") == (Hunk(2, 4, "B\n"), Hunk(8, 8, "e\n"))


def test_thousands_of_lines_that_are_all_the_same_are_compared_at_once():
    old = "    }\n" * 4000
    new = old.replace("}", "]", 1) + "end\n"
    assert applied(old, hunks(old, new)) == new
