"""Whatever drafts and whatever it costs, the answer is the one that plain decoding gives, token for token."""

from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.costs import CostCurve
from paceline.engine.sampler import SamplerSettings
from paceline.engine.sequence import Request
from support.driving import answer, running
from support.fake_backend import FakeBackend

SPECULATION = ("auto", "ngram", "draft")

milliseconds = st.floats(0.01, 100.0)


@st.composite
def curves(draw):
    sizes = draw(st.lists(st.integers(1, 70), min_size=1, max_size=6, unique=True).map(sorted))
    return CostCurve(tuple(sizes), tuple(draw(milliseconds) for _ in sizes))


@st.composite
def situations(draw):
    """A pair of models, and requests for them."""
    n_vocab = draw(st.integers(2, 8))
    shape = {"n_vocab": n_vocab, "order": draw(st.integers(1, 2)), "seed": draw(st.integers(0, 99))}
    end = draw(st.sampled_from([None, None, n_vocab - 1]))
    n_batch = draw(st.sampled_from([1, 2, 3, 5, 16, 64]))
    token = st.integers(0, n_vocab - 1)
    requests = [
        {
            "prompt": draw(st.lists(token, min_size=1, max_size=40)),
            "max_tokens": draw(st.integers(1, 40)),
            "sampler": SamplerSettings(
                temperature=draw(st.sampled_from([0.0, 0.0, 0.7, 1.3])),
                top_k=draw(st.sampled_from([0, 3])),
                repetition_penalty=draw(st.sampled_from([1.0, 1.4])),
                repetition_window=draw(st.integers(0, 9)),
                seed=draw(st.integers(0, 2**64 - 1)),
            ),
        }
        for _ in range(draw(st.integers(1, 3)))
    ]
    target = {**shape, "n_batch": n_batch, "end": end, "n_ctx": draw(st.sampled_from([48, 64, 4096]))}
    draft = {
        **shape,
        "end": end,
        "noise": draw(st.sampled_from([0.0, 0.3, 2.0])),
        "n_batch": draw(st.sampled_from([1, 4, 64])),
        "n_ctx": draw(st.sampled_from([8, 48, 4096])),
    }
    return target, draft, requests, draw(curves()), draw(curves())


def outcome(situation, speculation):
    target, draft, requests, curve, draft_curve = situation
    with running(FakeBackend(**target), FakeBackend(**draft), curve=curve, draft_curve=draft_curve) as engine:
        answers = [answer(engine, Request(**each, seeded=True, speculation=speculation)) for each in requests]
    for each in answers:
        assert not any("turned off" in note for note in each.stats.notes)
    return [(each.tokens, each.text, each.reason) for each in answers]


@settings(max_examples=120, deadline=None)
@given(situations())
def test_a_seed_gives_the_same_answers_with_every_drafter_and_every_cost(situation):
    plain = outcome(situation, "off")
    for speculation in SPECULATION:
        assert outcome(situation, speculation) == plain


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 99), st.lists(st.integers(0, 7), min_size=1, max_size=30), st.integers(1, 60))
def test_plain_greedy_decoding_takes_the_likeliest_token_each_time(seed, prompt, max_tokens):
    model = FakeBackend(seed=seed)
    expected = list(prompt)
    for _ in range(max_tokens):
        expected.append(int(model.row(expected).argmax()))
    with running(model) as engine:
        got = answer(engine, Request(prompt, max_tokens, speculation="off"))
    assert list(got.tokens) == expected[len(prompt) :]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 99), st.lists(st.integers(0, 7), min_size=1, max_size=30))
def test_an_answer_does_not_depend_on_what_was_asked_before(seed, prompt):
    how = SamplerSettings(temperature=0.9, seed=seed)
    request = Request(prompt, 20, how, seeded=True)
    with running(FakeBackend(), FakeBackend(noise=0.4)) as engine:
        answer(engine, Request(list(reversed(prompt)) * 2, 7))
        answer(engine, request)
        again = answer(engine, request)
    with running(FakeBackend()) as engine:
        assert again.tokens == answer(engine, request).tokens


def test_greedy_answers_are_the_same_with_and_without_a_chosen_seed():
    got = set()
    for seeded in (True, False):
        for speculation in ("off", *SPECULATION):
            with running(FakeBackend(), FakeBackend(noise=0.4)) as engine:
                request = Request([1, 2, 3], 60, seeded=seeded, speculation=speculation)
                got.add(answer(engine, request).tokens)
    assert len(got) == 1


def test_a_thousand_tokens_are_the_same_and_most_of_them_were_drafted():
    request = {"prompt": [3, 1, 2], "max_tokens": 1000, "sampler": SamplerSettings(temperature=0.6, seed=8)}
    with running(FakeBackend()) as engine:
        plain = answer(engine, Request(**request, speculation="off"))
    with running(FakeBackend(), FakeBackend(noise=0.2)) as engine:
        drafted = answer(engine, Request(**request, seeded=True, speculation="draft"))
    assert drafted.tokens == plain.tokens
    assert len(plain.tokens) == 1000
    assert drafted.stats.accepted > 500
