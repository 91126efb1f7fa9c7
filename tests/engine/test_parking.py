"""What leaves the cache, in which order, and what is kept of it: against twins that do the same without cleverness."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from paceline.engine.kv import WORTH, Cells, SlotTable
from paceline.engine.parking import ParkingLot
from paceline.errors import EngineError
from support.by_hand import Watched

# Cells.


class CellsAgainstSets(RuleBasedStateMachine):
    """Holders of cells that take, copy a beginning, and drop an end; a twin keeps the union of what they hold."""

    def __init__(self):
        super().__init__()
        self.cells = Cells(100)
        self.holders = [[] for _ in range(4)]

    @rule(who=st.integers(0, 3), count=st.integers(0, 5))
    def take(self, who, count):
        new = self.cells.take(count)
        assert len(new) == count
        assert not {cell for holder in self.holders for cell in holder} & set(new), "a new cell is nobody's"
        self.holders[who].extend(new)

    @rule(source=st.integers(0, 3), to=st.integers(0, 3), length=st.integers(0, 20))
    def copy(self, source, to, length):
        if source != to:
            self.cells.give(self.holders[to])
            self.holders[to] = self.holders[source][:length]
            self.cells.share(self.holders[to])

    @rule(who=st.integers(0, 3), length=st.integers(0, 20))
    def cut(self, who, length):
        self.cells.give(self.holders[who][length:])
        del self.holders[who][length:]

    @invariant()
    def counts_each_once(self):
        used = {cell for holder in self.holders for cell in holder}
        assert self.cells.used == len(used)
        assert self.cells.free == 100 - len(used)
        assert self.cells._more.keys() <= used, "nothing is remembered of cells that are gone"


TestCellsAgainstSets = CellsAgainstSets.TestCase
TestCellsAgainstSets.settings = settings(deadline=None, max_examples=60, stateful_step_count=25)


# The lot.


class LotAgainstList(RuleBasedStateMachine):
    """A twin keeps (tokens, size) in the order of their last use."""

    budget = 30

    def __init__(self):
        super().__init__()
        self.lot = ParkingLot(self.budget)
        self.twin = []

    @rule(tokens=st.lists(st.integers(0, 1), min_size=1, max_size=6), size=st.integers(1, 33))
    def put(self, tokens, size):
        self.lot.put(tokens, bytes(size))
        if size <= self.budget:
            self.twin = [each for each in self.twin if tokens[: len(each[0])] != each[0]]
            while sum(each[1] for each in self.twin) + size > self.budget:
                self.twin.pop(0)
            self.twin.append((tokens, size))

    @rule(tokens=st.lists(st.integers(0, 1), min_size=1, max_size=6))
    def look(self, tokens):
        parked, same = self.lot.best(tokens)
        shared = [common(each[0], tokens) for each in self.twin]
        assert same == max(shared, default=0)
        assert (parked is None) == (same == 0)
        if parked is not None:
            assert common(parked.tokens, tokens) == same
        assert self.lot.holds(tokens) == (len(tokens) in shared)

    @precondition(lambda self: self.twin)
    @rule(tokens=st.lists(st.integers(0, 1), min_size=1, max_size=6), leave=st.booleans())
    def take(self, tokens, leave):
        parked, _ = self.lot.best(tokens)
        if parked is not None:
            state = self.lot.take(parked, leave=leave)
            mine = next(each for each in self.twin if each == (list(parked.tokens), len(state)))
            self.twin.remove(mine)
            self.twin.extend([mine] if leave else [])

    @rule()
    def clear(self):
        self.lot.clear()
        self.twin = []

    @invariant()
    def is_the_same(self):
        assert [(list(each.tokens), len(each.state)) for each in self.lot._parked] == self.twin
        assert len(self.lot) == len(self.twin)
        assert self.lot.bytes == sum(size for _, size in self.twin) <= self.budget


def common(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


TestLotAgainstList = LotAgainstList.TestCase
TestLotAgainstList.settings = settings(deadline=None, max_examples=80, stateful_step_count=20)


def test_a_conversation_that_went_on_takes_the_place_of_its_beginning():
    lot = ParkingLot(100)
    lot.put([1, 2, 3], bytes(10))
    lot.put([1, 2, 3, 4], bytes(12))
    assert (len(lot), lot.bytes) == (1, 12)
    assert lot.holds([1, 2, 3])


def test_one_that_branched_off_stays_beside_the_other():
    lot = ParkingLot(100)
    lot.put([1, 2, 3], bytes(10))
    lot.put([1, 2, 4], bytes(10))
    assert len(lot) == 2


def test_what_is_larger_than_the_budget_drives_nobody_out():
    lot = ParkingLot(20)
    lot.put([1], bytes(20))
    lot.put([2], bytes(21))
    assert lot.holds([1])
    assert not lot.holds([2])


# The table: who leaves the cache first.


def table_of(*conversations, parking=1 << 20, n_ctx=4096, partial_removal=True):
    """A table whose slots hold these, the first at rest for longest; and the backend."""
    backend = Watched(n_seq_max=len(conversations), n_ctx=n_ctx, partial_removal=partial_removal)
    table = SlotTable(backend, parking=parking)
    for tokens in conversations:
        slot, same = table.acquire([*tokens, 0])
        assert same == 0
        slot.decode(tokens, outputs=0)
        table.release(slot)
    return table, backend


def conversation(first, length=100):
    return [first, *[(first + 1) % 8] * (length - 1)]


def test_the_one_that_rested_longest_leaves_first_and_no_more_leave_than_must():
    table, _ = table_of(conversation(1), conversation(2), conversation(3), n_ctx=300)
    assert table.make_room(100)
    assert [len(slot.tokens) for slot in table.slots] == [0, 100, 100]
    assert table.make_room(101)
    assert [len(slot.tokens) for slot in table.slots] == [0, 0, 100]


def test_use_makes_young_again():
    table, _ = table_of(conversation(1), conversation(2), conversation(3), n_ctx=400)
    slot, _ = table.acquire([*conversation(1), 5])
    table.release(slot)
    table.make_room(200)
    assert [len(slot.tokens) for slot in table.slots] == [100, 0, 100]


def test_rest_begins_with_the_end_of_a_request():
    table, _ = table_of(conversation(1), conversation(2), n_ctx=400)
    slots = [table.acquire([*conversation(first), 5])[0] for first in (1, 2)]
    for slot in reversed(slots):
        table.release(slot)
    table.make_room(300)
    assert [len(slot.tokens) for slot in table.slots] == [100, 0]


def test_those_at_work_never_leave_and_nobody_leaves_in_vain():
    table, _ = table_of(conversation(1), conversation(2), n_ctx=250)
    slot, _ = table.acquire([*conversation(2), 5])
    assert table.available == 150
    assert table.room(64) == 64
    assert table.room(500) == 150
    assert not table.make_room(151)
    assert [len(each.tokens) for each in table.slots] == [100, 100]
    assert table.make_room(150)
    assert slot.tokens == conversation(2)


def test_an_empty_slot_is_taken_before_a_conversation_is_given_up():
    table, backend = table_of(conversation(1), [3], conversation(2))
    table.slots[1].clear()
    slot, same = table.acquire(conversation(5))
    assert (slot, same) == (table.slots[1], 0)
    assert backend.saves == 0


# The table: what is parked, and comes back.


def test_a_conversation_that_makes_way_is_parked_and_comes_back_whole():
    table, backend = table_of(conversation(1))
    slot, same = table.acquire([*conversation(2), 0])
    assert (same, table.lot.holds(conversation(1))) == (0, True)
    slot.decode(conversation(2), outputs=0)
    table.release(slot)
    slot, same = table.acquire([*conversation(1), 7, 7])
    assert (same, slot.tokens, backend.cache[0]) == (100, conversation(1), conversation(1))
    assert not table.lot.holds(conversation(1)), "it is in the cache now"
    assert table.lot.holds(conversation(2))
    assert table.cells.used == 100


def test_another_that_begins_like_a_parked_one_uses_its_beginning_and_leaves_it_parked():
    table, _ = table_of(conversation(1, 200))
    table.release(table.acquire([*conversation(2), 0])[0])
    slot, same = table.acquire([*conversation(1, 200 - WORTH), 7, 7])
    assert (same, slot.tokens) == (200 - WORTH, conversation(1, 200 - WORTH))
    assert table.lot.holds(conversation(1, 200)), "whose end was worth keeping"


def test_a_parked_one_of_which_nearly_all_is_used_is_not_kept_twice():
    table, _ = table_of(conversation(1, 200))
    table.release(table.acquire([*conversation(2), 0])[0])
    _, same = table.acquire([*conversation(1, 201 - WORTH), 7, 7])
    assert same == 201 - WORTH
    assert len(table.lot) == 0


def test_the_end_of_a_conversation_that_is_worth_it_survives_a_shorter_one_that_begins_alike():
    table, _ = table_of(conversation(1, 200))
    slot, same = table.acquire([*conversation(1, 200 - WORTH), 7])
    assert same == 200 - WORTH
    assert slot.tokens == conversation(1, 200 - WORTH)
    assert table.lot.holds(conversation(1, 200))


def test_an_end_that_is_short_is_dropped_without_being_saved():
    table, backend = table_of(conversation(1, 200))
    _, same = table.acquire([*conversation(1, 201 - WORTH), 7])
    assert (same, backend.saves) == (201 - WORTH, 0)


def test_a_copy_of_the_beginning_goes_where_it_costs_the_longer_conversation_nothing():
    table, backend = table_of(conversation(1, 200), conversation(2))
    slot, same = table.acquire([*conversation(1), 7])
    assert (slot, same, slot.tokens) == (table.slots[1], 100, conversation(1))
    assert table.slots[0].tokens == backend.cache[0] == conversation(1, 200)
    assert table.lot.holds(conversation(2))


@pytest.mark.parametrize(("length", "saved"), [(WORTH - 1, 0), (WORTH, 1)])
def test_only_what_is_worth_it_is_parked(length, saved):
    table, backend = table_of(conversation(1, length), n_ctx=200)
    assert table.make_room(200)
    assert (len(table.lot), backend.saves) == (saved, saved)


def test_what_another_slot_holds_too_is_not_saved():
    table, backend = table_of([1], [2])
    first, _ = table.acquire([*conversation(3), 0])
    first.decode(conversation(3), outputs=0)
    second, same = table.acquire([*conversation(3), 4])
    assert same == 100
    second.decode([4], outputs=0)
    table.release(first)
    table.release(second)
    backend.saves = 0
    table._evict(first)
    assert backend.saves == 0
    table._evict(second)
    assert backend.saves == 1


def test_what_is_parked_already_is_not_saved_again():
    table, backend = table_of(conversation(1, 200))
    table.release(table.acquire([*conversation(2), 0])[0])
    slot, _ = table.acquire([*conversation(1, 100), 7])
    table.release(slot)
    backend.saves = 0
    table._evict(slot)
    assert backend.saves == 0
    assert table.lot.holds(conversation(1, 200))


def test_without_a_budget_nothing_is_saved():
    table, backend = table_of(conversation(1), parking=0)
    table.acquire([*conversation(2), 0])
    assert (len(table.lot), backend.saves) == (0, 0)


def test_a_parked_one_for_which_there_is_no_room_stays_parked():
    table, _ = table_of([3], [4], n_ctx=150)
    slot, _ = table.acquire([*conversation(1), 0])
    slot.decode(conversation(1), outputs=0)
    table.release(slot)
    table._evict(slot)
    busy, _ = table.acquire([*conversation(2), 0])
    busy.decode(conversation(2), outputs=0)
    _, same = table.acquire([*conversation(1), 5])
    assert same == 0
    assert table.lot.holds(conversation(1))


def test_what_the_cache_holds_is_not_fetched_from_the_lot():
    table, _ = table_of(conversation(1), [2])
    table.lot.put(conversation(1), b"what nobody should read")
    slot, same = table.acquire([*conversation(1), 5])
    assert (slot, same) == (table.slots[0], 100)
    assert table.lot.holds(conversation(1))


def test_a_model_that_cannot_drop_its_tail_gets_a_parked_one_back_only_whole():
    table, _ = table_of(conversation(1), partial_removal=False)
    table.release(table.acquire([*conversation(2), 0])[0])
    slot, same = table.acquire([*conversation(1, 90), 7])
    assert (same, slot.tokens) == (0, [])
    assert table.lot.holds(conversation(1))
    table.release(slot)
    slot, same = table.acquire([*conversation(1), 7])
    assert (same, slot.tokens) == (100, conversation(1))


def test_a_model_that_cannot_drop_its_tail_parks_what_it_cannot_use_even_where_it_is_the_only_one():
    table, _ = table_of(conversation(1), partial_removal=False)
    _, same = table.acquire([*conversation(1, 50), 7])
    assert same == 0
    assert table.lot.holds(conversation(1))


def test_a_state_that_cannot_be_saved_is_given_up_and_one_that_cannot_be_restored_leaves_an_empty_slot():
    class Stubborn(Watched):
        def save(self, seq):
            raise EngineError("cannot")

        def restore(self, seq, state):
            self.cache[seq] = [7, 7]
            raise EngineError("cannot")

    table = SlotTable(Stubborn(), parking=1 << 20)
    slot, _ = table.acquire(conversation(1))
    slot.decode(conversation(1), outputs=0)
    table.release(slot)
    slot, same = table.acquire(conversation(2))
    assert (same, len(table.lot)) == (0, 0)
    table.release(slot)
    table.lot.put(conversation(3), b"state")
    slot, same = table.acquire([*conversation(3), 1])
    assert (same, slot.tokens, slot.backend.cache[0]) == (0, [], [])


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 150), st.integers(0, 3), st.booleans()), max_size=14),
    st.booleans(),
    st.sampled_from([0, 900, 1 << 20]),
    st.integers(1, 3),
)
def test_whatever_comes_and_goes_the_books_agree_with_the_cache(visits, partial_removal, parking, slots):
    backend = Watched(n_seq_max=slots, n_ctx=400, partial_removal=partial_removal)
    table, busy = SlotTable(backend, parking=parking), []
    for first, length, branch, stays in visits:
        if len(busy) == slots:
            table.release(busy.pop(0))
        tokens = [*conversation(first, length), *[branch] * 3]
        slot, same = table.acquire(tokens)
        assert same < len(tokens)
        assert slot.tokens == backend.cache[slot.seq] == tokens[:same]
        if table.make_room(len(tokens) - same):
            slot.decode(tokens[same:], outputs=0)
        (busy.append if stays else table.release)(slot)
        assert backend.cache == {each.seq: each.tokens for each in table.slots}
        assert table.cells.used == len({cell for each in table.slots for cell in each.held}) <= 400
        assert table.lot.bytes <= parking
    table.clear()
    assert (table.cells.used, len(table.lot), table.lot.bytes) == (0, 0, 0)
    assert not any(backend.cache.values())
