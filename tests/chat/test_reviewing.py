"""What a person has accepted is what is written, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.chat.edits.changes import Change
from paceline.chat.edits.journal import Accepted
from paceline.chat.edits.review import accepted
from paceline.chat.reviewing import Reviewing, prepared

BEFORE = "".join(f"line {number}\n" for number in range(40))
AFTER = BEFORE.replace("line 3\n", "three\n").replace("line 20\n", "").replace("line 33\n", "line 33\nand more\n")


def change(path="a.py", before=BEFORE, after=AFTER, *, certain=True):
    return Change(path, before, after, "whole", certain)


def test_a_certain_change_begins_accepted():
    assert Reviewing([change()]).result() == (Accepted("a.py", BEFORE, AFTER),)


def test_an_uncertain_one_does_not():
    review = Reviewing([change(certain=False)])
    assert review.result() == ()
    assert review.total == 0


def test_a_hunk_is_left_out_and_taken_back():
    review = Reviewing([change()])
    review.toggle(0, 1)
    assert review.result() == (Accepted("a.py", BEFORE, accepted(change(), {0, 2})),)
    review.toggle(0, 1)
    assert review.result()[0].after == AFTER


def test_files_of_which_nothing_is_accepted_are_not_written():
    review = Reviewing([change("a.py"), change("b.py")])
    review.take(0, everything=False)
    assert [each.path for each in review.result()] == ["b.py"]


def test_everything_of_one_file_says_nothing_about_another():
    review = Reviewing([change("a.py", certain=False), change("b.py", certain=False)])
    review.take(1, everything=True)
    assert [each.path for each in review.result()] == ["b.py"]


def test_what_has_only_notes_is_never_written():
    review = Reviewing([change(after=BEFORE)])
    review.take(0, everything=True)
    assert review.result() == ()


def test_a_new_file_and_a_deleted_one_are_taken_whole():
    new, gone = change("new", before=None, after=""), change("gone", before="x\n", after=None)
    assert Reviewing([new, gone]).result() == (Accepted("new", None, ""), Accepted("gone", "x\n", None))


lines = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=12).map(lambda each: "\n".join(each))


@given(lines, lines, st.data())
def test_any_toggles_end_in_the_hunks_that_were_toggled_an_odd_number_of_times(before, after, data):
    made = change(before=before, after=after, certain=False)
    count = len(made.hunks)
    toggles = data.draw(st.lists(st.integers(0, count - 1), max_size=8)) if count else []
    review = Reviewing([made])
    for hunk in toggles:
        review.toggle(0, hunk)
    odd = {hunk for hunk in toggles if toggles.count(hunk) % 2}
    assert review.chosen(0) == odd
    assert [each.after for each in review.result()] == ([accepted(made, odd)] if odd else [])


@pytest.mark.parametrize(
    ("there", "before", "why"),
    [
        (lambda path: path.write_bytes("x = 1\n".encode("utf-16")), None, "not UTF-8"),
        (lambda path: path.mkdir(), None, "not a regular file"),
        (lambda path: (path.write_text("x\n"), path.chmod(0o444)), "x\n", "read-only"),
    ],
)
def test_of_a_file_that_cannot_be_changed_nothing_can_be_accepted_and_the_reason_is_said(tmp_path, there, before, why):
    there(tmp_path / "a.py")
    refused, fine = prepared(tmp_path, [change(before=before), change("b.py", None)])
    assert not refused.changes and not refused.certain
    assert any(why in note for note in refused.notes)
    assert fine == change("b.py", None)
    review = Reviewing([refused, fine])
    review.take(0, everything=True)
    assert [each.path for each in review.result()] == ["b.py"]
