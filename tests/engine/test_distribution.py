"""Speculation changes no probability: short answers of the whole engine against the model's exact distribution.

The fake model is a table, so the probability of every continuation can be multiplied out. A few thousand answers with
fixed seeds must agree with it by a chi-square test (p > 1e-4), for every way of sampling and of drafting.
"""

from dataclasses import replace

import pytest

from paceline.engine.sampler import SamplerSettings
from paceline.engine.sequence import Request
from support.chi_square import REFUSED, agreement
from support.driving import answer, running
from support.fake_backend import FakeBackend
from support.naive_sampler import exact_continuations

PROMPT = [0, 1, 2, 0, 1, 2, 3, 0, 1]  # lookup finds "0 1" and drafts from there
TOKENS = 3  # whose joint distribution is compared
SAMPLES = 1200

PLAIN = SamplerSettings(temperature=1.0, top_k=0, top_p=1.0)
SETTINGS = {
    "temperature 0.5": replace(PLAIN, temperature=0.5),
    "temperature 1": PLAIN,
    "temperature 1.5": replace(PLAIN, temperature=1.5),
    "top-k": replace(PLAIN, top_k=3),
    "top-p": replace(PLAIN, top_p=0.8),
    "min-p": replace(PLAIN, min_p=0.15),
    "penalty": replace(PLAIN, repetition_penalty=1.6, repetition_window=4),
    "penalty over everything": replace(PLAIN, repetition_penalty=0.7, repetition_window=64),
    "all at once": SamplerSettings(1.3, 5, 0.9, 0.05, 1.3, 5),
}
# How drafts are made: what speculation is asked for, and whether the person chose the seed.
DRAFTING = {"none": ("off", True), "ngram": ("ngram", True), "fixed draft": ("draft", True), "drawn": ("draft", False)}


def models():
    """A target and a draft that agrees with it more often than not."""
    return FakeBackend(6, seed=4), FakeBackend(6, seed=4, noise=1.0)


def answers(drafting, how, samples, prompt=PROMPT):
    """(token tuples, drafted, accepted). One token more is asked for, so that a draft can reach past the third."""
    speculation, seeded = DRAFTING[drafting]
    target, draft = models()
    out, drafted, accepted = [], 0, 0
    with running(target, draft) as engine:
        answer(engine, Request(prompt, 1))  # so that the prompt is in the cache and the first token can be drafted
        for seed in range(samples):
            request = Request(
                prompt, TOKENS + 1, replace(how, seed=seed), seeded=seeded, speculation=speculation, stop=()
            )
            got = answer(engine, request)
            out.append(got.tokens[:TOKENS])
            drafted += got.stats.drafted
            accepted += got.stats.accepted
    return out, drafted, accepted


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("drafting", ["none", "drawn"])
def test_answers_have_the_models_distribution(drafting, name):
    out, drafted, accepted = answers(drafting, SETTINGS[name], SAMPLES)
    exact = exact_continuations(models()[0].row, PROMPT, TOKENS, SETTINGS[name])
    assert agreement(out, exact) > REFUSED
    if drafting == "drawn":
        assert drafted >= 3 * SAMPLES, "drafts reached over all the tokens that are compared"
        assert 0.05 * drafted < accepted < 0.97 * drafted, "some were accepted and some were not"


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("drafting", ["ngram", "fixed draft"])
def test_with_a_fixed_drafter_each_seed_gives_the_answer_it_gives_without(drafting, name):
    """So the distribution is that of plain decoding, which is compared with the exact one above."""
    out, drafted, accepted = answers(drafting, SETTINGS[name], 300)
    plain, none, _ = answers("none", SETTINGS[name], 300)
    assert out == plain
    assert none == 0
    assert 0 < accepted < drafted


@pytest.mark.parametrize("drafting", ["ngram", "fixed draft"])
def test_with_a_fixed_drafter_answers_have_the_models_distribution(drafting):
    out, *_ = answers(drafting, SETTINGS["all at once"], SAMPLES)
    assert agreement(out, exact_continuations(models()[0].row, PROMPT, TOKENS, SETTINGS["all at once"])) > REFUSED


def test_the_answers_of_a_seed_and_the_next_are_unrelated():
    out, *_ = answers("drawn", PLAIN, SAMPLES)
    first = dict.fromkeys(range(6), 0.0)
    for tokens, chance in exact_continuations(models()[0].row, PROMPT, 1, PLAIN).items():
        first[tokens[0]] = chance
    pairs = [(a[0], b[0]) for a, b in zip(out[::2], out[1::2], strict=True)]
    assert agreement(pairs, {(a, b): first[a] * first[b] for a in first for b in first}) > REFUSED


def test_a_draft_drawn_from_another_models_tokens_does_not_bend_the_answer():
    """Its vocabulary may be longer by padding, and be said to be likely."""
    target, draft = FakeBackend(6, seed=4), FakeBackend(9, seed=5, spread=2.0)
    how, out = replace(PLAIN, temperature=1.2), []
    with running(target, draft) as engine:
        for seed in range(SAMPLES):
            got = answer(engine, Request(PROMPT, TOKENS + 1, replace(how, seed=seed), speculation="draft"))
            assert not got.stats.notes
            out.append(got.tokens[:TOKENS])
    assert agreement(out, exact_continuations(target.row, PROMPT, TOKENS, how)) > REFUSED
