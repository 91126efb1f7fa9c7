"""Noise that is keyed, not drawn: even, and unrelated wherever a key differs."""

import itertools

import numpy as np
import pytest
from scipy import stats

from paceline.engine.noise import gumbel, uniform, uniforms

IDS = np.arange(20_000, dtype=np.int32)
SMALLEST_P = 1e-4


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1, -1, 123456789])
@pytest.mark.parametrize("position", [0, 1, 4095])
def test_the_noise_of_one_position_is_uniform_over_the_ids(seed, position):
    drawn = uniforms(seed, position, IDS)
    assert (drawn > 0).all()
    assert (drawn < 1).all()
    assert stats.kstest(drawn, "uniform").pvalue > SMALLEST_P


@pytest.mark.parametrize("token", [0, 1, 151_935])
def test_the_noise_of_one_token_is_uniform_over_positions_and_over_seeds(token):
    ids = np.array([token], np.int32)
    along = np.array([uniforms(5, position, ids)[0] for position in range(4000)])
    across = np.array([uniforms(seed, 5, ids)[0] for seed in range(4000)])
    assert stats.kstest(along, "uniform").pvalue > SMALLEST_P
    assert stats.kstest(across, "uniform").pvalue > SMALLEST_P


def test_one_number_for_a_position_is_uniform_in_every_stream():
    for stream in range(4):
        drawn = [uniform(11, position, stream) for position in range(3000)]
        assert stats.kstest(drawn, "uniform").pvalue > SMALLEST_P


def test_the_largest_and_the_smallest_noise_there_can_be_are_finite(monkeypatch):
    for bits in (0, 2**64 - 1):
        monkeypatch.setattr("paceline.engine.noise._mix_array", lambda value, bits=bits: np.full_like(value, bits))
        assert 0.0 < uniform(0, 0, 0) < 1.0
        assert np.isfinite(gumbel(0, 0, IDS[:3])).all()


def test_seeds_positions_streams_and_ids_that_differ_by_one_have_unrelated_noise():
    base = uniforms(7, 40, IDS)
    others = {
        "seed": uniforms(8, 40, IDS),
        "position": uniforms(7, 41, IDS),
        "stream": uniforms(7, 40, IDS, 1),
        "id": uniforms(7, 40, IDS + 1),
        "seed and position exchanged": uniforms(40, 7, IDS),
    }
    for name, other in others.items():
        assert stats.spearmanr(base, other).pvalue > SMALLEST_P, name
        cells = np.histogram2d(base, other, bins=8, range=[[0, 1], [0, 1]])[0].ravel()
        assert stats.chisquare(cells).pvalue > SMALLEST_P, name


def test_no_two_of_many_keys_meet():
    keys = itertools.product(range(6), range(30), range(4))
    firsts = [uniforms(seed, position, IDS[:20], stream).tolist() for seed, position, stream in keys]
    numbers = [number for row in firsts for number in row]
    assert len(set(numbers)) == len(numbers)


def test_a_number_does_not_depend_on_which_others_are_asked_for():
    some = np.array([3, 17, 4096, 19_999], np.int32)
    assert (uniforms(9, 2, IDS)[some] == uniforms(9, 2, some)).all()


def test_the_likeliest_with_gumbel_noise_is_a_sample():
    chances = np.array([0.5, 0.25, 0.15, 0.07, 0.03])
    ids = np.arange(5, dtype=np.int32)
    drawn = [int(np.argmax(np.log(chances) + gumbel(1, position, ids))) for position in range(6000)]
    assert stats.chisquare(np.bincount(drawn, minlength=5), chances * 6000).pvalue > SMALLEST_P
