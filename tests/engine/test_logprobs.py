"""Log-probabilities: ln softmax of the raw row, and the likeliest others in order."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.logprobs import chosen

# Ties are common among the steps of a half; a few logits are -inf.
rows = st.lists(
    st.one_of(st.integers(-60, 60).map(lambda step: step / 2), st.just(-math.inf)), min_size=1, max_size=60
).filter(lambda row: max(row) > -math.inf)


def slowly(row):
    """ln softmax, each with a sum of its own."""
    return [-math.inf if x == -math.inf else -math.log(math.fsum(math.exp(y - x) for y in row)) for x in row]


@settings(max_examples=300, deadline=None)
@given(rows, st.data())
def test_any_row_gives_what_the_definition_gives(row, data):
    token = data.draw(st.integers(0, len(row) - 1))
    n = data.draw(st.integers(0, 70))
    expected = slowly(row)
    found = chosen(np.array(row, np.float32), token, n)
    assert found.token == token
    assert found.logprob == pytest.approx(expected[token], abs=1e-12)
    order = sorted(range(len(row)), key=lambda i: (-row[i], i))[:n]
    assert [i for i, _ in found.alternatives] == order
    assert [x for _, x in found.alternatives] == pytest.approx([expected[i] for i in order], abs=1e-12)


@pytest.mark.parametrize("spread", [0.01, 3.0, 30.0])
def test_a_large_vocabulary_gives_the_same_as_sorting_all_of_it(spread):
    row = np.random.default_rng(5).normal(0, spread, 30_000).astype(np.float32)
    found = chosen(row, 123, 20)
    order = np.argsort(-row, kind="stable")[:20].tolist()
    assert [i for i, _ in found.alternatives] == order
    exact = row.astype(np.float64) - row.max()
    exact -= math.log(math.fsum(np.exp(exact)))
    assert found.logprob == pytest.approx(exact[123], abs=1e-11)
    assert [x for _, x in found.alternatives] == pytest.approx(exact[order].tolist(), abs=1e-11)


@pytest.mark.parametrize("shift", [-1e4, 0.0, 1e4])
def test_logits_far_from_zero_neither_overflow_nor_vanish(shift):
    found = chosen(np.array([shift, shift, shift - 500], np.float32), 2, 2)
    assert found.logprob == pytest.approx(-500 - math.log(2))
    assert [x for _, x in found.alternatives] == pytest.approx([-math.log(2)] * 2)


def test_the_row_stays_as_it_was():
    row = np.array([1.0, 2.0, 3.0], np.float32)
    chosen(row, 0, 3)
    assert row.tolist() == [1.0, 2.0, 3.0]
