"""A change as hunks that a person chooses from, and as rows to look at."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.chat.edits import changes
from paceline.chat.edits.changes import Change
from paceline.chat.edits.review import accepted, side_by_side, unified
from paceline.workspace.differences import lines

TEXT = st.lists(
    st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "long line of words\n", "d\x0ce\n", "f\r"]), max_size=14
).map("".join)
MAYBE = st.none() | st.tuples(TEXT, st.sampled_from(["", "end", "x\u2028y"])).map("".join)


def change(before, after):
    return Change("a.py", before, after, "whole", True)


@settings(deadline=None)
@given(MAYBE, MAYBE)
def test_all_hunks_are_the_new_text_and_none_are_the_old_one(before, after):
    both = change(before, after)
    everything = {hunk.index for hunk in both.hunks}
    assert accepted(both, everything) == after
    assert accepted(both, set()) == before


@settings(deadline=None)
@given(TEXT, TEXT, st.data())
def test_some_hunks_have_lines_of_both_texts_only(before, after, data):
    both = change(before, after)
    chosen = {hunk.index for hunk in both.hunks if data.draw(st.booleans())}
    known = {line.rstrip("\r\n") for line in (*lines(before), *lines(after))}
    result = accepted(both, chosen)
    assert {line.rstrip("\r\n") for line in lines(result)} <= known
    for hunk in both.hunks:
        if hunk.index in chosen and len(chosen) == 1 and hunk.new:
            assert "".join(hunk.new).rstrip("\r\n") in result


ENDED = st.lists(st.tuples(st.sampled_from(["a", "b", "", "x\u2028y", "\x0c"]), st.sampled_from(["\n", "\r\n"])))


@settings(deadline=None)
@given(ENDED, ENDED, st.data())
def test_any_hunks_that_are_accepted_give_their_new_lines_and_the_others_their_old_ones(before, after, data):
    both = change("".join(map("".join, before)), "".join(map("".join, after)))
    chosen = {hunk.index for hunk in both.hunks if data.draw(st.booleans())}
    old, at, expected = lines(both.before), 0, ""
    for hunk in both.hunks:
        assert hunk.old == old[hunk.old_start : hunk.old_start + len(hunk.old)]
        expected += "".join(old[at : hunk.old_start]) + "".join(hunk.new if hunk.index in chosen else hunk.old)
        at = hunk.old_start + len(hunk.old)
    assert accepted(both, chosen) == expected + "".join(old[at:])


def endings(before, after):
    return [(row.kind, row.text, row.ending) for row in unified(change(before, after)) if row.kind != "same"]


def test_lines_that_differ_in_how_they_are_ended_say_so():
    assert endings("a\n", "a\r\n") == [("out", "a", "\n"), ("in", "a", "\r\n")]
    assert endings("a\n", "a") == [("out", "a", "\n"), ("in", "a", "")]
    assert endings("a\nb\n", "a\nb\nc\r\n") == [("in", "c", "\r\n")]
    assert endings(None, "a\nb") == [("in", "a", None), ("in", "b", "")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_that_are_ended_as_the_others_need_not_say_it(end):
    before, after = ("".join(line + end for line in text) for text in ("abc", "aBcd"))
    assert [ending for _, _, ending in endings(before, after)] == [None] * 3


def test_what_differs_is_found_once(monkeypatch):
    both = change("a\nb\n", "a\nc\n")
    found = both.hunks
    monkeypatch.setattr(changes, "differences", None)
    assert both.hunks is found
    assert accepted(both, {0}) == "a\nc\n" and unified(both) and side_by_side(both)


def test_of_two_edits_of_a_file_of_few_kinds_of_lines_one_can_be_accepted():
    before = [f"    row {at * at % 20},\n" for at in range(1500)]
    after = [*before[:5], "    NEW,\n", *before[6:1490], "    LAST,\n", *before[1491:]]
    both = change("".join(before), "".join(after))
    assert [(hunk.old_start, len(hunk.old), len(hunk.new)) for hunk in both.hunks] == [(5, 1, 1), (1490, 1, 1)]
    assert accepted(both, {1}) == "".join([*before[:1490], *after[1490:]])


def test_two_hunks_are_accepted_one_by_one():
    both = change("a\nb\nc\nd\n", "A\nb\nc\nD\n")
    assert accepted(both, {0}) == "A\nb\nc\nd\n"
    assert accepted(both, {1}) == "a\nb\nc\nD\n"


def test_lines_put_after_the_last_one_do_not_run_into_it():
    assert accepted(change("a\nx\nb", "A\nx\nb\nc\n"), {1}) == "a\nx\nb\nc\n"
    assert accepted(change("a\r\nx\r\nb", "b\r\nx\r\na"), {1}) == "a\r\nx\r\na"
    both = change("b\na", "a\nb")
    for chosen in ({0}, {1}):
        assert sorted(set(accepted(both, chosen).split("\n"))) in (["a"], ["b"], ["a", "b"])


def test_a_new_file_and_one_that_goes_are_one_hunk():
    assert [hunk.new for hunk in change(None, "a\nb\n").hunks] == [("a\n", "b\n")]
    assert accepted(change("a\n", None), {0}) is None
    assert len(change(None, "").hunks) == 1


@settings(deadline=None)
@given(MAYBE, MAYBE, st.integers(0, 3))
def test_rows_number_the_lines_of_both_texts(before, after, context):
    old = [line.rstrip("\r\n") for line in lines(before or "")]
    new = [line.rstrip("\r\n") for line in lines(after or "")]
    for row in unified(change(before, after), context):
        assert row.kind == "gap" or row.old is None or old[row.old - 1] == row.text
        assert row.kind == "gap" or row.new is None or new[row.new - 1] == row.text
        assert (row.hunk is not None) == (row.kind in ("in", "out"))
        assert row.other is None or row.other in (new if row.kind == "out" else old)


@settings(deadline=None)
@given(MAYBE, MAYBE)
def test_both_views_show_every_line_that_goes_or_comes(before, after):
    both = change(before, after)
    goes = [row.old for row in unified(both) if row.kind == "out"]
    comes = [row.new for row in unified(both) if row.kind == "in"]
    pairs = side_by_side(both)
    assert goes == [pair.left.old for pair in pairs if pair.left and pair.left.kind == "out"]
    assert comes == [pair.right.new for pair in pairs if pair.right and pair.right.kind == "in"]
    assert len(goes) == sum(len(hunk.old) for hunk in both.hunks)
    assert len(comes) == sum(len(hunk.new) for hunk in both.hunks)


def test_lines_know_which_ones_stand_in_their_place():
    first, second = side_by_side(change("price\n", "cost\ntax\n"))
    assert (first.left.other, first.right.other) == ("cost", "price")
    assert (second.left, second.right.other) == (None, None)


def test_lines_far_from_any_change_are_a_gap():
    text = "".join(f"line {number}\n" for number in range(30))
    rows = unified(change(text, text.replace("line 15\n", "LINE 15\n")))
    assert [(row.kind, row.text) for row in rows if row.kind == "gap"] == [("gap", "12 lines"), ("gap", "11 lines")]
    assert len(rows) == 2 + 2 + 6


@settings(deadline=None, max_examples=30)
@given(st.randoms(use_true_random=False), st.integers(0, 40))
def test_hunks_of_long_texts_are_what_differs_between_them(chance, changed):
    old = [f"value {chance.randrange(900)}\n" for _ in range(1500)]
    new = list(old)
    for _ in range(changed):
        at = chance.randrange(1200)
        new[at : at + chance.randrange(3)] = ["new\n"] * chance.randrange(3) + new[1300 : 1300 + chance.randrange(3)]
    both = change("".join(old), "".join(new))
    found = both.hunks
    assert accepted(both, {hunk.index for hunk in found}) == both.after
    assert sum(len(hunk.old) + len(hunk.new) for hunk in found) <= 8 * changed + 8
    assert all(one.old_start + len(one.old) < other.old_start for one, other in itertools.pairwise(found))


def test_a_long_file_that_changes_everywhere_is_compared_at_once():
    before = "".join(f"def f{at}():\n    return {at}\n\n" for at in range(6000))
    found = change(before, before.replace("return ", "yield ")).hunks
    assert len(found) == 6000
    assert all((len(hunk.old), len(hunk.new)) == (1, 1) for hunk in found)


def test_a_long_file_with_a_small_change_is_compared_at_once():
    text = "".join(f"value {number % 7}\n" for number in range(50_000))
    (hunk,) = change(text, text + "more\n").hunks
    assert hunk.new == ("more\n",)
