"""Turns and their code blocks are gone through in order, from either end to the other and no further."""

from hypothesis import given
from hypothesis import strategies as st

from paceline.tui.widgets.column import Column
from paceline.tui.widgets.message import Entry
from paceline.tui.widgets.selection import Selection
from support.transcripts import answer


def column(blocks):
    return Column([Entry(answer("```\nx\n```\n\n" * count, at)) for at, count in enumerate(blocks)], 40)


def places(blocks):
    """All that can be selected, from top to bottom."""
    return [Selection(at, block) for at, count in enumerate(blocks) for block in (None, *range(count))]


many = st.lists(st.integers(0, 3), min_size=1, max_size=6)


@given(many)
def test_steps_down_come_by_everything_once(blocks):
    turns, found = column(blocks), [Selection(0)]
    while (following := found[-1].next(turns)) is not None:
        found.append(following)
    assert found == places(blocks)


@given(many)
def test_steps_up_come_by_the_same_in_reverse(blocks):
    turns, found = column(blocks), places(blocks)[-1:]
    while (before := found[-1].previous(turns)) is not None:
        found.append(before)
    assert found == places(blocks)[::-1]


def test_the_first_step_is_to_the_last_turn_and_of_an_empty_column_there_is_none():
    nothing = Selection()
    for turns, place in ((column([1, 2]), Selection(1)), (column([]), None)):
        assert nothing.next(turns) == nothing.previous(turns) == nothing.turn(turns, -1) == place


def test_a_block_covers_its_own_rows_and_a_turn_all_but_the_blank_one_below_it():
    turns = column([2])
    entry = turns.entries[0]
    entry.lay(40)
    rows = range(entry.height)
    assert [row for row in rows if Selection(0).covers(turns, entry, row)] == list(rows[:-1])
    assert [row for row in rows if Selection(0, 1).covers(turns, entry, row)] == list(entry.rows_of(1))
    assert not any(Selection().covers(turns, entry, row) for row in rows)


@given(many, st.data())
def test_what_is_selected_is_seen_and_nothing_moves_without_need(blocks, data):
    turns = column(blocks)
    at = data.draw(st.sampled_from(places(blocks)))
    before, height = data.draw(st.integers(0, 60)), data.draw(st.integers(1, 20))
    top = at.top(turns, before, height)
    entry = turns.entries[at.place]
    rows = range(entry.height) if at.block is None else entry.rows_of(at.block)
    first, last = turns.start(at.place) + rows.start, turns.start(at.place) + rows.stop - 1
    assert top <= first and (last < top + height or top == first)  # its beginning, where it has no room
    nearer = range(min(before, top) + 1, max(before, top)) if len(rows) < height else ()
    assert not any(each <= first and last < each + height for each in (before, *nearer) if each != top)


def test_where_nothing_is_selected_nothing_moves():
    assert Selection().top(column([1, 2]), 7, 10) == 7
