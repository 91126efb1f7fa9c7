"""Turns stand one below the other, whatever their heights turn out to be."""

from hypothesis import given
from hypothesis import strategies as st

from paceline.tui.widgets.column import Column
from paceline.tui.widgets.heights import Heights
from paceline.tui.widgets.message import Entry
from support.transcripts import question

changes = st.lists(st.tuples(st.sampled_from(["set", "append"]), st.integers(0, 20), st.integers(0, 9)), max_size=25)


@given(st.lists(st.integers(0, 9), max_size=20), changes, st.integers(-3, 200))
def test_heights_are_sums_of_what_stands_above(heights, changes, row):
    kept, quick = list(heights), Heights(heights)
    for what, at, height in changes:
        quick.find(row)
        if what == "append":
            kept.append(height)
            quick.append(height)
        elif at < len(kept):
            assert quick.set(at, height) == height - kept[at]
            kept[at] = height
    assert [quick.start(at) for at in range(len(kept) + 1)] == [sum(kept[:at]) for at in range(len(kept) + 1)]
    found = next((at for at in range(len(kept)) if row < sum(kept[: at + 1])), len(kept))
    assert quick.find(row) == found


def turns(count, words=30):
    return [Entry(question(f"{at} " + "words " * (at % words), at)) for at in range(count)]


@given(st.integers(1, 40), st.integers(5, 60), st.lists(st.integers(0, 400), max_size=8), st.integers(1, 30))
def test_what_is_in_view_is_laid_out_exactly(count, width, tops, height):
    column = Column(turns(count), width)
    for top in tops:
        top = column.visible(min(top, max(0, column.height - 1)), height)
        assert 0 <= top <= max(0, column.height - height)
        for entry, start in column.seen(top, height):
            assert entry.width == width
            assert column.at(start) == (entry, 0)


@given(st.integers(1, 40), st.integers(5, 60), st.integers(1, 30))
def test_the_end_shows_the_last_row(count, width, height):
    column = Column(turns(count), width)
    top = column.end(height)
    assert column.at(column.height - 1)[0] is column.entries[-1]
    assert top == max(0, column.height - height)


def test_a_resize_keeps_the_turn_at_the_top():
    column = Column(turns(50), 40)
    top = column.visible(column.start(20) + 1, 10)
    turn = column.at(top)[0].turn.id
    top = column.resize(17, top)
    assert column.at(top)[0].turn.id == turn
