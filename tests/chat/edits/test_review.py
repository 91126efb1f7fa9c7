"""A change as hunks that a person chooses from, and as rows to look at."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.chat.edits.changes import Change
from paceline.chat.edits.review import accepted, hunks, lines, side_by_side, unified

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
    everything = {hunk.index for hunk in hunks(both)}
    assert accepted(both, everything) == after
    assert accepted(both, set()) == before


@settings(deadline=None)
@given(TEXT, TEXT, st.data())
def test_some_hunks_have_lines_of_both_texts_only(before, after, data):
    both = change(before, after)
    chosen = {hunk.index for hunk in hunks(both) if data.draw(st.booleans())}
    known = {line.rstrip("\r\n") for line in (*lines(before), *lines(after))}
    result = accepted(both, chosen)
    assert {line.rstrip("\r\n") for line in lines(result)} <= known
    for hunk in hunks(both):
        if hunk.index in chosen and len(chosen) == 1 and hunk.new:
            assert "".join(hunk.new).rstrip("\r\n") in result


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
    assert [hunk.new for hunk in hunks(change(None, "a\nb\n"))] == [("a\n", "b\n")]
    assert accepted(change("a\n", None), {0}) is None
    assert len(hunks(change(None, ""))) == 1


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
    assert len(goes) == sum(len(hunk.old) for hunk in hunks(both))
    assert len(comes) == sum(len(hunk.new) for hunk in hunks(both))


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
    found = hunks(both)
    assert accepted(both, {hunk.index for hunk in found}) == both.after
    assert sum(len(hunk.old) + len(hunk.new) for hunk in found) <= 8 * changed + 8
    assert all(one.old_start + len(one.old) < other.old_start for one, other in itertools.pairwise(found))


def test_a_long_file_that_changes_everywhere_is_compared_at_once():
    before = "".join(f"def f{at}():\n    return {at}\n\n" for at in range(6000))
    found = hunks(change(before, before.replace("return ", "yield ")))
    assert len(found) == 6000
    assert all((len(hunk.old), len(hunk.new)) == (1, 1) for hunk in found)


def test_a_long_file_with_a_small_change_is_compared_at_once():
    text = "".join(f"value {number % 7}\n" for number in range(50_000))
    (hunk,) = hunks(change(text, text + "more\n"))
    assert hunk.new == ("more\n",)
