"""Strict requests: what a larger batch might have turned is decided by a decode of one token."""

from dataclasses import replace

import numpy as np
import pytest

from paceline.engine.backend import DecodeAborted
from paceline.engine.sampler import SamplerSettings, tied
from paceline.engine.sequence import Request
from paceline.engine.speculate import TIE
from support.by_hand import Steps, engine_on
from support.driving import answer, branching_engine
from support.fake_backend import FakeBackend

PROMPT = [1, 2, 3, 1, 2, 3, 1, 2]
WAYS = ["ngram", "draft", "lookahead", "auto"]
GREEDY = SamplerSettings()


class Rounding(FakeBackend):
    """Logits differ a little with the number of tokens in the decode, as those of other kernels do."""

    def decode(self, spans, *, hidden=False):
        rows = super().decode(spans, hidden=hidden)
        batch = self.decoded[-1]
        if batch > 1:
            rows += np.random.default_rng(batch).normal(0, TIE / 8, rows.shape).astype(np.float32)
        return rows


def models(seed=1):
    """The target's table has few different values, so that near-ties are frequent."""
    target = Rounding(8, seed=seed, n_seq_max=8)
    target.table = np.round(target.table * 2) / 2
    return target, FakeBackend(8, seed=seed, noise=0.3)


def said(speculation, *, strict, seed=1, tokens=200, how=GREEDY, **more):
    engine = branching_engine(*models(seed))
    got = answer(engine, Request(PROMPT, tokens, how, speculation=speculation, strict=strict, seeded=True, **more))
    engine.close()
    return got


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("speculation", WAYS)
def test_a_strict_answer_is_the_plain_one_where_a_loose_one_is_another(speculation, temperature):
    how = SamplerSettings(temperature=temperature, top_k=0, top_p=1.0, seed=5)
    plain = [said("off", strict=False, seed=seed, how=how).tokens for seed in range(6)]
    strict = [said(speculation, strict=True, seed=seed, how=how) for seed in range(6)]
    loose = [said(speculation, strict=False, seed=seed, how=how).tokens for seed in range(6)]
    assert [each.tokens for each in strict] == plain
    assert loose != plain, "otherwise this test shows nothing"
    assert sum(each.stats.strict_ties for each in strict) > 5
    assert sum(each.stats.accepted for each in strict) > 100


def test_a_plain_strict_answer_decides_nothing_twice():
    assert said("off", strict=True).stats.strict_ties == 0


def test_beside_others_a_strict_request_without_drafts_is_strict_too():
    wish = Request(PROMPT, 60, speculation="off", strict=True)
    alone = Steps(engine_on(Rounding(8, n_seq_max=4)))
    alone.submit("it", wish)
    expected = alone.until("it").tokens
    steps = Steps(engine_on(Rounding(8, n_seq_max=4)))
    for number in range(3):
        steps.submit(number, Request([number, 1, 2], 80, speculation="off"))
    steps.submit("it", wish)
    assert steps.until("it").tokens == expected
    for number in range(3):
        assert len(steps.until(number).tokens) == 80


def test_a_decode_that_is_stopped_while_it_decides_is_simply_done_again():
    class Stopping(Rounding):
        """The second decode of one token behind a larger one is aborted, once."""

        stops = 0

        def decode(self, spans, *, hidden=False):
            single = sum(len(span.tokens) for span in spans) == 1
            if single and self.decoded and self.decoded[-1] > 1 and Stopping.stops < 3:
                Stopping.stops += 1
                raise DecodeAborted
            return super().decode(spans, hidden=hidden)

    target = Stopping(8, n_seq_max=4)
    target.table = np.round(target.table * 2) / 2
    steps = Steps(engine_on(target))
    steps.submit("it", Request(PROMPT, 120, speculation="ngram", strict=True))
    got = steps.until("it")
    assert Stopping.stops == 3
    assert got.tokens == said("off", strict=False, tokens=120).tokens


ROW = np.array([3.0, 1.0, 2.9, 0.0], np.float32)


def test_two_logits_are_tied_when_noise_could_change_their_order():
    assert tied(ROW, GREEDY, 0.25, 0)
    assert not tied(ROW, GREEDY, 0.05, 0)


def test_what_bias_penalties_and_grammar_take_away_is_no_rival():
    assert not tied(ROW, replace(GREEDY, logit_bias=((2, -5.0),)), 0.25, 0)
    assert not tied(ROW, replace(GREEDY, repetition_penalty=2.0), 0.25, 0, recent=[2])
    assert not tied(ROW, GREEDY, 0.25, 0, allowed=np.array([0, 1, 3], np.int32))
    assert tied(ROW, replace(GREEDY, logit_bias=((1, 1.95),)), 0.06, 0)


def test_a_drawn_choice_is_tied_when_its_noise_would_have_to_differ_by_little():
    how = SamplerSettings(temperature=1.0, top_k=0, top_p=1.0)
    for seed in range(50):
        settings = replace(how, seed=seed)
        choices = {
            int(np.argmax(ROW + bump + _noise(seed)))
            for bump in np.random.default_rng(seed).uniform(-0.1, 0.1, (200, len(ROW)))
        }
        if len(choices) > 1:
            assert tied(ROW, settings, 0.2, 7)
        assert not tied(ROW, settings, 0.0, 7)


def _noise(seed):
    from paceline.engine.noise import gumbel

    return gumbel(seed, 7, np.arange(len(ROW), dtype=np.int32))
