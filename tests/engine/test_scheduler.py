"""What the next decode holds: it follows from who runs, what a decode costs, and how much room there is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.controller import Controller
from paceline.engine.costs import CostCurve, CostModel
from paceline.engine.kv import Cells, Slot
from paceline.engine.pilot import Pilot
from paceline.engine.scheduler import ALONE, CHEAP, LEAST, LONE_LEAST, STARVED, Scheduler, Turn, chunk, power_of_two
from paceline.engine.sequence import RANKS, Generation, Request
from paceline.engine.stats import Stats
from support.by_hand import STEEP
from support.driving import FLAT
from support.fake_backend import FakeBackend

MODEL = FakeBackend(n_ctx=1 << 20)
PRIORITIES = list(RANKS)
BY_THE_TOKEN = CostCurve((1, 2, 4096), (1.0, 2.0, 4096.0))  # a token costs a millisecond

SLOW = CostCurve((1, 2, 64), (100.0, 150.0, 4000.0))


def someone(number, priority="chat", *, held=10, pending=1):
    """A request with so much of it in the cache, and so much that is not."""
    slot = Slot(MODEL, 0, Cells(1 << 20))
    slot.wrote([0] * held)
    request = Request([0] * (held + pending), 100, priority=priority)
    pilot = Pilot.of(Controller(CostModel(FLAT)))
    return Generation(request, MODEL.vocabulary, [], pilot, Stats(), 1 << 20, lambda event: None, number, slot)


def scheduler(*sequences, n_batch=512, curve=STEEP, target=100.0):
    made = Scheduler(n_batch, CostModel(curve), target)
    for each in sequences:
        made.add(each)
    return made


def parts(turns):
    """(number, tokens) of each."""
    return [(turn.sequence.number, turn.tokens) for turn in turns]


def carry_out(turns):
    """What the engine does with a decision."""
    for turn in turns:
        sequence, speaks = turn.sequence, turn.speaks
        sequence.place.wrote([0] * turn.tokens)
        if speaks:
            sequence.tokens.append(0)


# In any situation.


@st.composite
def situations(draw):
    curve = draw(st.sampled_from([STEEP, FLAT, BY_THE_TOKEN, CostCurve((1, 8, 9, 64), (5.0, 6.0, 30.0, 40.0))]))
    n_batch = draw(st.sampled_from([1, 7, 16, 64, 100, 512]))
    kinds = st.tuples(st.sampled_from(PRIORITIES), st.integers(0, 200), st.one_of(st.just(1), st.integers(1, 900)))
    people = [
        someone(number, priority, held=held, pending=pending)
        for number, (priority, held, pending) in enumerate(draw(st.lists(kinds, min_size=1, max_size=6)))
    ]
    made = scheduler(*draw(st.permutations(people)), n_batch=n_batch, curve=curve)
    rooms = draw(st.lists(st.tuples(st.sampled_from([0, 1, 3, 40, 4096]), st.booleans()), min_size=1, max_size=5))
    return made, people, curve, n_batch, rooms


@settings(deadline=None, max_examples=150)
@given(situations())
def test_steps_stay_within_their_room_and_whoever_rides_along_is_cheap_or_starved(situation):
    made, people, curve, n_batch, rooms = situation
    passed = dict.fromkeys(people, 0)  # steps since each one's last
    for step in range(3 * STARVED):
        cells, crowded = rooms[step % len(rooms)]
        pending = {each: len(each.pending) for each in people}
        ahead = min(people, key=lambda each: (each.rank, each.reading, each.number))
        turns = made.next(cells, crowded=crowded)
        total, room = sum(turn.tokens for turn in turns), min(n_batch, cells)
        assert total <= room
        served = {turn.sequence: turn for turn in turns}
        assert len(served) == len(turns), "nobody has two turns"
        for number, turn in enumerate(turns):
            base = sum(other.tokens for other in turns[:number])
            assert 1 <= turn.tokens <= pending[turn.sequence]
            assert turn.speaks == (turn.tokens == pending[turn.sequence])
            rider = turn.sequence.rank > min(each.rank for each in people)
            if rider and passed[turn.sequence] < STARVED:
                assert curve.at(base + turn.tokens) <= CHEAP * curve.at(base)
        if room:
            assert ahead in served, "the most urgent one is always served"
        if total < room:
            for each in people:
                assert each in served or passed[each] < STARVED, "there was room for one that starved"
                assert each in served or each.rank > ahead.rank, "there was room for one as urgent as any"
        for each in people:
            passed[each] = 0 if each in served else passed[each] + 1
        carry_out(turns)


@settings(deadline=None, max_examples=100)
@given(
    st.integers(0, 300),
    st.integers(2, 900),
    st.integers(0, 5),
    st.sampled_from([16, 64, 512]),
    st.sampled_from([STEEP, FLAT, BY_THE_TOKEN, SLOW]),
    st.booleans(),
)
def test_a_chunk_ends_at_a_border_and_takes_no_longer_than_may_be_waited_for(
    held, pending, speakers, n_batch, curve, crowded
):
    reader = someone(99, held=held, pending=pending)
    made = scheduler(reader, *(someone(number) for number in range(speakers)), n_batch=n_batch, curve=curve)
    turns = made.next(1 << 20, crowded=crowded)
    assert [turn.sequence.number for turn in turns] == [*range(speakers), 99]
    tokens, waited_for = turns[-1].tokens, crowded or speakers > 0
    least = LEAST if waited_for else LONE_LEAST
    if waited_for:
        limit = max(100.0, CHEAP * curve.at(max(speakers, 1)))
        fits = [size for size in powers(n_batch) if curve.at(speakers + size) <= limit]
    else:
        fits = [size for size in powers(n_batch) if curve.at(size) <= ALONE * 100.0]
    size = min(max([*fits, least]), n_batch)
    wanted, room = min(pending, size - held % size), n_batch - speakers
    smaller = max(size for size in powers(n_batch) if size <= room)
    assert tokens == (wanted if wanted <= room else smaller - held % smaller)


def powers(most):
    return [1 << i for i in range(20) if 1 << i <= most]


# One by one.


def test_the_running_are_in_the_order_of_their_class_and_then_of_their_arrival():
    people = [someone(number, priority) for number, priority in enumerate([*reversed(PRIORITIES), *PRIORITIES])]
    made = scheduler(*people)
    assert [each.number for each in made.running] == [3, 4, 2, 5, 1, 6, 0, 7]
    made.remove(people[4])
    assert [each.number for each in made.running] == [3, 2, 5, 1, 6, 0, 7]


def test_with_nobody_there_is_nothing_to_do():
    assert scheduler().next(100) == []


def test_equals_decode_together_whatever_it_costs():
    assert parts(scheduler(*map(someone, range(4)), curve=BY_THE_TOKEN).next(100)) == [(n, 1) for n in range(4)]


def test_one_that_decodes_goes_before_an_earlier_one_that_reads():
    made = scheduler(someone(1, pending=500), someone(2))
    assert parts(made.next(17))[0] == (2, 1)


def test_of_several_that_read_the_first_to_come_is_first_and_has_its_chunk_cut_by_nobody():
    made = scheduler(someone(2, held=0, pending=500), someone(1, held=0, pending=500), n_batch=64)
    assert parts(made.next(1000)) == [(1, 64)]


def test_a_less_urgent_one_rides_along_up_to_a_tenth_more():
    for second, rides in ((10.9, True), (11.0, True), (11.1, False)):
        curve = CostCurve((1, 2), (10.0, second))
        made = scheduler(someone(1, "completion"), someone(2, "chat"), curve=curve)
        assert parts(made.next(100)) == [(1, 1), (2, 1)][: 1 + rides]


def test_a_tenth_more_is_reckoned_from_all_that_go_before_it():
    curve = CostCurve((1, 2, 3), (10.0, 18.0, 19.0))
    made = scheduler(someone(1, "completion"), someone(2, "completion"), someone(3, "background"), curve=curve)
    assert parts(made.next(100)) == [(1, 1), (2, 1), (3, 1)]


def test_whoever_was_passed_over_sixteen_times_is_served_once_and_then_waits_again():
    made = scheduler(someone(1, "completion"), someone(2, "chat"))
    steps = []
    for _ in range(5 * (STARVED + 1)):
        turns = made.next(100)
        steps.append(len(turns) == 2)
        carry_out(turns)
    assert steps == ([False] * STARVED + [True]) * 5


def test_a_starved_reader_gets_a_small_chunk():
    reader = someone(2, "background", held=0, pending=900)
    made = scheduler(someone(1, "completion"), reader)
    for _ in range(STARVED):
        carry_out(made.next(1000))
    assert parts(made.next(1000)) == [(1, 1), (2, LEAST)]


def test_a_prompt_alone_is_read_in_chunks_of_eight_times_the_target():
    made = scheduler(someone(1, held=0, pending=900), curve=BY_THE_TOKEN, target=32.0, n_batch=512)
    assert parts(made.next(1000)) == [(1, 256)]
    assert parts(made.next(1000, crowded=True)) == [(1, 32)]


def test_however_slow_the_machine_a_chunk_is_no_smaller_than_is_worth_a_step():
    assert parts(scheduler(someone(1, held=0, pending=900), curve=SLOW).next(1000)) == [(1, LONE_LEAST)]
    assert parts(scheduler(someone(1, held=0, pending=900), curve=SLOW).next(1000, crowded=True)) == [(1, LEAST)]


def test_a_batch_that_is_no_power_of_two_is_filled_where_that_is_affordable():
    assert parts(scheduler(someone(1, held=0, pending=900), curve=FLAT, n_batch=100).next(1000)) == [(1, 100)]
    assert parts(scheduler(someone(1, held=70, pending=900), curve=FLAT, n_batch=100).next(1000)) == [(1, 30)]


def test_where_one_step_is_dear_a_chunk_may_add_a_tenth_to_it():
    curve = CostCurve((1, 64, 65, 512), (1000.0, 1099.0, 1101.0, 5000.0))
    made = scheduler(someone(1), someone(2, held=0, pending=900), curve=curve, target=50.0)
    assert parts(made.next(1000)) == [(1, 1), (2, 32)]


def test_little_room_cuts_the_last_one_and_serves_nobody_else():
    made = scheduler(*map(someone, range(3)), someone(3, pending=50))
    assert parts(made.next(2)) == [(0, 1), (1, 1)]
    assert parts(made.next(5)) == [(0, 1), (1, 1), (2, 1), (3, 2)]
    assert parts(made.next(0)) == []


def test_a_step_without_room_counts_as_one_that_passed_over_everybody():
    person = someone(1)
    made = scheduler(person)
    made.next(0)
    made.next(0)
    assert person.skipped == 2
    made.next(1)
    assert person.skipped == 0


@pytest.mark.parametrize("tokens", [1, 4, 5])
def test_a_turn_speaks_just_when_it_takes_all_that_is_pending(tokens):
    assert Turn(someone(1, pending=5), tokens).speaks == (tokens == 5)


@given(st.integers(0, 10_000), st.integers(1, 600))
def test_chunks_of_one_size_end_at_its_multiples(held, size):
    length = chunk(held, size)
    assert 1 <= length <= size
    assert (held + length) % size == 0


@given(st.integers(0, 100_000))
def test_the_power_of_two_is_the_largest_that_fits(n):
    found = power_of_two(n)
    assert bin(found).count("1") == 1
    assert found <= max(n, 1) < 2 * found
