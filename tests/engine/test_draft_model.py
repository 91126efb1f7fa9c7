"""The draft model's proposals: from its own final distribution, in step with what was committed, as far as it pays."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.backend import DecodeAborted
from paceline.engine.drafters.model import DraftModel, ModelDrafter, confidence
from paceline.engine.sampler import SamplerSettings
from paceline.engine.sequence import Request
from paceline.errors import EngineError, ModelError
from support.driving import answer, running
from support.fake_backend import FakeBackend
from support.naive_sampler import naive_distribution

PLAIN = SamplerSettings(temperature=1.0, top_k=0, top_p=1.0, seed=11)
PENALTY = replace(PLAIN, top_k=5, repetition_penalty=1.5, repetition_window=3)
PROMPT = [1, 2, 3, 4, 1, 2]


def drafter(backend=None, how=PLAIN, *, seen=PROMPT, **options):
    options = {"shared_noise": False, **options}
    made = ModelDrafter(DraftModel(lambda: backend or FakeBackend()), how, **options)
    made.extend(seen)
    return made


def draft(made, limit=5, worth=lambda _: True):
    (proposal,) = made.propose(limit, worth)
    return proposal


@pytest.mark.parametrize("how", [PLAIN, PENALTY, replace(PENALTY, repetition_window=0)], ids=str)
def test_each_token_is_drawn_from_the_drafts_final_distribution_at_its_place(how):
    backend = FakeBackend()
    proposal = draft(drafter(backend, how), limit=8)
    seen = list(PROMPT)
    for token, drawn in zip(proposal.tokens, proposal.drawn_from, strict=True):
        recent = seen[-how.repetition_window :] if how.repetition_window else []
        expected = naive_distribution(backend.row(seen), how, recent)
        assert dict(zip(drawn.ids.tolist(), drawn.probabilities, strict=True)) == pytest.approx(expected, rel=1e-5)
        assert drawn.of(token) > 0
        seen.append(token)


@pytest.mark.parametrize(("how", "shared"), [(PLAIN, True), (replace(PLAIN, temperature=0.0), False)])
def test_a_fixed_draft_says_that_it_is_one(how, shared):
    assert draft(drafter(how=how, shared_noise=shared)).drawn_from is None


def test_with_shared_noise_the_target_itself_drafts_just_what_it_will_say():
    """So every token is accepted: the draft uses the noise of the target's own choice."""
    proposal = draft(drafter(how=PENALTY, shared_noise=True), limit=6)
    with running(FakeBackend()) as engine:
        said = answer(engine, Request(PROMPT, 6, PENALTY, speculation="off"))
    assert tuple(proposal.tokens) == said.tokens


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(st.integers(0, 7), min_size=1, max_size=4), min_size=1, max_size=6), st.integers(1, 6))
def test_after_any_outcome_it_drafts_what_a_fresh_one_would(committed, limit):
    made, seen = drafter(shared_noise=True), list(PROMPT)
    for tokens in committed:
        draft(made, limit)
        made.extend(tokens)
        seen += tokens
    fresh = draft(drafter(shared_noise=True, seen=seen), limit)
    assert list(draft(made, limit).tokens) == list(fresh.tokens)


def test_only_what_is_new_is_decoded():
    backend = FakeBackend()
    made = drafter(backend, shared_noise=True)
    first = draft(made, 4)
    assert sum(backend.decoded) == len(PROMPT) + 3, "the last drafted token need not be decoded"
    backend.decoded.clear()
    made.extend([*first.tokens, 5])
    draft(made, 1)
    assert sum(backend.decoded) == 2


def test_it_stops_where_one_more_is_not_worth_it():
    asked = []

    def worth(buckets):
        asked.append(list(buckets))
        return len(buckets) < 3

    proposal = draft(drafter(), 9, worth)
    assert len(proposal.tokens) == len(proposal.buckets) == 3
    assert [len(buckets) for buckets in asked] == [1, 2, 3]
    assert all(b[: len(a)] == a for a, b in pairwise(asked))


def test_it_stops_at_the_end_of_generation():
    backend = FakeBackend(end=6)
    backend.table[..., 6] = 50.0
    proposal = draft(drafter(backend), 9)
    assert list(proposal.tokens) == [6]


@pytest.mark.parametrize(("n_ctx", "expected"), [(5, 0), (7, 0), (8, 1), (10, 3), (100, 9)])
def test_it_drafts_as_far_as_its_context_reaches(n_ctx, expected):
    proposals = drafter(FakeBackend(n_ctx=n_ctx)).propose(9, lambda _: True)
    assert sum(len(proposal.tokens) for proposal in proposals) == expected


@pytest.mark.parametrize("shared", [True, False])
def test_tokens_that_the_target_does_not_have_are_never_drafted(shared):
    backend = FakeBackend(n_vocab=8)
    backend.table[..., 6:] = 50.0
    proposal = draft(drafter(backend, shared_noise=shared, n_tokens=6), 9)
    assert max(proposal.tokens) < 6
    for drawn in proposal.drawn_from or ():
        assert drawn.ids.max() < 6


def test_confidence_is_the_models_own_probability_at_temperature_one():
    backend = FakeBackend()
    row = backend.row(PROMPT)
    exact = naive_distribution(row, PLAIN)
    assert [confidence(row, token) for token in range(8)] == pytest.approx([exact[token] for token in range(8)])


def test_confidence_decides_the_bucket():
    for probability, bucket in ((0.9995, 48), (0.96, 16), (0.51, 3), (0.31, 2), (0.15, 1)):
        backend = FakeBackend()
        backend.table[...] = 0.0  # the seven others share the rest
        backend.table[..., 2] = math.log(7 * probability / (1 - probability))
        proposal = draft(drafter(backend, replace(PLAIN, temperature=0.0)), 1)
        assert proposal.tokens[0] == 2
        assert proposal.buckets[0] == ("draft", bucket)


def test_loading_is_not_counted_as_what_a_draft_costs(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("paceline.engine.drafters.model.time.perf_counter", lambda: now[0])

    def load():
        now[0] += 60.0
        return FakeBackend()

    made = ModelDrafter(DraftModel(load), PLAIN, shared_noise=False)
    made.extend(PROMPT)
    assert draft(made).milliseconds == 0.0


def test_one_that_is_closed_gives_its_sequence_to_the_next_with_its_cache():
    backend = FakeBackend()
    model = DraftModel(lambda: backend)
    first, second = (ModelDrafter(model, PLAIN, shared_noise=True) for _ in range(2))
    for made in (first, second):
        made.extend(PROMPT)
    draft(first, 1)
    with pytest.raises(EngineError, match="in use"):
        draft(second, 1)
    first.close()
    first.close()
    backend.decoded.clear()
    draft(second, 1)
    assert sum(backend.decoded) == 1


def test_a_model_that_cannot_drop_tokens_is_closed_again():
    backend = FakeBackend(partial_removal=False)
    model = DraftModel(lambda: backend)
    for _ in range(2):
        with pytest.raises(ModelError, match="recurrent"):
            _ = model.backend
    assert backend.closed
    assert model.loading_ms > 0
    model.close()


def test_a_cancel_while_it_is_being_loaded_stops_its_first_decode():
    backend = FakeBackend()

    def load():
        model.abort(True)  # somebody presses Ctrl-C meanwhile
        return backend

    model = DraftModel(load)
    made = ModelDrafter(model, PLAIN, shared_noise=False)
    made.extend(PROMPT)
    with pytest.raises(DecodeAborted):
        made.propose(5, lambda _: True)
    assert backend.decoded == []
    model.abort(False)
    assert draft(made).tokens
