"""The curves show the last rounds, in as many steps as the characters have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.tui.widgets.rounds import ASCII_STEPS, STEPS, Rounds, curve, usual
from support.transcripts import Stage, seen

values = st.lists(st.none() | st.floats(0, 100), max_size=50)


@given(values, st.integers(1, 4), st.sampled_from([STEPS, ASCII_STEPS]))
def test_a_higher_value_is_never_lower(values, height, steps):
    rows = curve(values, 100, height, steps)
    assert len(rows) == height and all(len(row) == len(values) for row in rows)
    levels = [sum(" ".join(steps).replace(" ", "").find(row[at]) + 1 for row in rows) for at in range(len(values))]
    known = sorted((value, level) for value, level in zip(values, levels, strict=True) if value is not None)
    assert [level for _, level in known] == sorted(level for _, level in known)


def test_the_highest_fills_the_height_and_what_is_not_known_is_empty():
    assert curve([0, None, 50, 100], 100, 1) == ["▁ ▄█"]
    assert curve([0, 50, 100], 100, 2) == ["  █", "▁██"]


def test_one_burst_does_not_make_all_other_rounds_look_alike():
    rates = [20.0, 30.0, None, 40.0, 5444.0, 25.0, 35.0]
    assert usual(rates) == 40.0
    drawn = curve(rates, usual(rates), 1)[0]
    assert drawn[4] == drawn[3] == "█" and drawn[0] != drawn[1] != drawn[3]


@given(st.lists(st.floats(0, 100), min_size=1, max_size=300))
def test_at_most_a_few_rounds_are_above_the_scale(rates):
    assert min(rates) <= usual(rates) <= max(rates)
    assert sum(rate > usual(rates) for rate in rates) <= 1 + len(rates) // 20


@pytest.mark.parametrize("height", [2, 4, 6])
async def test_it_draws_the_last_rounds(height):
    rounds = Rounds(kept=20)
    rounds.styles.height = height
    async with Stage(rounds).run_test(size=(30, 10)) as pilot:
        assert "once an answer is written" not in "".join(seen(rounds)) or seen(rounds)
        for at in range(50):
            rounds.add(float(at), None if at % 2 else 0.5)
        await pilot.pause()
        drawn = "\n".join(seen(rounds))
        assert "49.0 tokens/s" in drawn and "50% accepted" in drawn
