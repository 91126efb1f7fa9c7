"""The curves show the last rounds, in as many steps as the characters have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.tui.widgets.rounds import ASCII_STEPS, STEPS, Rounds, curve
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
        assert "49.0 t/s" in drawn and "50% acc" in drawn
        rounds.clear()
        await pilot.pause()
        assert "t/s" not in "\n".join(seen(rounds)).replace("tokens/s", "")
