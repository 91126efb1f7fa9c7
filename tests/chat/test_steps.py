"""Figures of a whole answer, told again and again, become those of its single rounds."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from paceline.chat.happenings import Working
from paceline.chat.steps import Step, Steps


def so_far(tokens, milliseconds, drafted=0, accepted=0):
    return Working("writing", tokens=tokens, milliseconds=milliseconds, drafted=drafted, accepted=accepted)


def steps(*told):
    found = Steps()
    return [step for step in map(found.add, [*told, Working()]) if step is not None]


def test_a_round_is_what_came_since_the_one_before():
    told = [so_far(1, 0.0), so_far(5, 200.0, 4, 3), so_far(6, 300.0, 4, 3), so_far(16, 400.0, 14, 12)]
    assert steps(*told) == [Step(20.0, 0.75), Step(10.0, None), Step(100.0, 0.9)]


def test_tokens_that_come_at_once_are_of_one_round():
    told = [so_far(1, 0.0), so_far(2, 100.0, 3, 2), so_far(3, 100.05, 3, 2), so_far(4, 100.1, 3, 2), so_far(5, 200.1)]
    assert [round(each.per_second, 6) for each in steps(*told)] == [round(3 / 0.1001, 6), 10.0]


def test_another_answer_begins_anew():
    told = [so_far(8, 400.0, 4, 4), Working("waiting"), so_far(9, 500.0, 8, 4), so_far(10, 600.0, 8, 4)]
    assert steps(*told) == [Step(10.0, None)]
    assert steps(so_far(8, 400.0), so_far(1, 0.0), so_far(2, 50.0)) == [Step(20.0, None)]


def test_what_is_told_without_a_time_is_no_round():
    assert steps(so_far(1, 0.0), so_far(2, None), so_far(3, 100.0)) == [Step(20.0, None)]
    assert steps(so_far(1, None)) == []


rounds = st.lists(st.tuples(st.integers(1, 20), st.integers(2, 500), st.integers(0, 9)), min_size=1, max_size=30)


@given(rounds)
def test_the_rounds_together_are_the_answer(written):
    told, drafted = [so_far(1, 0.0)], 0
    for (tokens, _, drafts), after in zip(written, itertools.accumulate(ms for _, ms, _ in written), strict=True):
        drafted += drafts
        told.append(so_far(told[-1].tokens + tokens, float(after), drafted, drafted))
    found = steps(*told)
    assert [round(each.per_second * ms / 1000) for each, (_, ms, _) in zip(found, written, strict=True)] == [
        tokens for tokens, _, _ in written
    ]
    assert [each.acceptance for each in found] == [1.0 if drafts else None for _, _, drafts in written]
