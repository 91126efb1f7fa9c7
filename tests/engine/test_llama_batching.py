"""Several requests in one context of real llama.cpp: the same answers, shared and parked caches, cancelling."""

import numpy as np
import pytest

from paceline.engine.backend import DecodeAborted, Span
from paceline.engine.controller import Controller
from paceline.engine.costs import CostModel
from paceline.engine.engine import Engine, Limits
from paceline.engine.llama import LlamaBackend
from paceline.engine.sampler import SamplerSettings
from paceline.engine.sequence import Finished, Request
from paceline.plan import LoadOptions
from support.driving import FLAT, answer, collect, running

PRIORITIES = ["completion", "chat", "prefetch", "background"]
TEXTS = [
    "def add(a, b):\n    return",
    "for row in the reader:\n" * 6,
    "The rest of the",
    "x = [1, 2, 3]\n",
    "in the in the in the",
    "class A:\n    def f(self):\n",
    "return 1\n" * 9,
    "# what this does\n",
]


def backend(path, **options):
    n_seq_max = options.pop("n_seq_max", 8)
    settings = {"n_ctx": 2048, "n_batch": 64, "n_threads": 1, **options}
    return LlamaBackend(path, LoadOptions(**settings), n_seq_max=n_seq_max)


@pytest.fixture
def shared(tiny):
    engine = Engine(backend(tiny), Controller(CostModel(FLAT)), None, Limits())
    yield engine
    engine.close()


def requests(engine, count, **how):
    encode = engine.target.vocabulary.encode
    return [Request(encode(TEXTS[i % len(TEXTS)]), 80, priority=PRIORITIES[i % 4], **how) for i in range(count)]


@pytest.mark.parametrize("count", [1, 4, 8, 12])
@pytest.mark.parametrize("speculation", ["off", "ngram"])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_concurrent_requests_get_the_answers_of_one_after_another(tiny, shared, count, speculation, temperature):
    sampler = SamplerSettings(temperature=temperature, seed=3)
    wishes = requests(shared, count, speculation=speculation, sampler=sampler, seeded=True)
    together = [collect(stream) for stream in [shared.submit(wish) for wish in wishes]]
    with running(backend(tiny, n_seq_max=1)) as engine:
        for got, wish in zip(together, wishes, strict=True):
            expected = answer(engine, wish)
            same = next((i for i, (a, b) in enumerate(zip(got.tokens, expected.tokens, strict=True)) if a != b), None)
            assert same is None or (temperature == 0.0 and gap(tiny, wish, expected.tokens[:same]) < 0.01)


def gap(path, wish, tokens):
    """How far apart the two best logits are behind these tokens."""
    model = backend(path)
    row = model.decode([Span(0, 0, [*wish.prompt, *tokens], 1)])[-1]
    second, first = np.sort(row)[-2:]
    model.close()
    return float(first - second)


def test_a_shared_beginning_is_read_once_and_means_the_same(tiny, shared):
    encode = shared.target.vocabulary.encode
    text = "def first(values):\n    return values[0]\n" * 3
    first = shared.submit(Request(encode(text + "x"), 200, speculation="off"))
    for event in first:
        if type(event).__name__ == "Delta":
            break
    wish = Request(encode(text + "y = "), 30, speculation="off")
    got = answer(shared, wish)
    assert got.stats.cached_tokens >= len(encode(text)) - 2
    with running(backend(tiny, n_seq_max=1)) as engine:
        assert got.text == answer(engine, wish).text


def test_a_parked_conversation_goes_on_as_if_it_had_never_left(tiny):
    engine = Engine(backend(tiny, n_ctx=256, n_seq_max=2), Controller(CostModel(FLAT)), None, Limits())
    encode = engine.target.vocabulary.encode
    prompt = encode("def add(a, b):\n    return a\n" * 6)
    first = answer(engine, Request(prompt, 20, speculation="off"))
    for text in ("x = 1\n" * 30, "y = 2\n" * 30):
        answer(engine, Request(encode(text), 20, speculation="off"))
    assert engine.status().parked >= 1
    second = Request([*prompt, *first.tokens, *encode("\n# and then\n")], 20, speculation="off")
    got = answer(engine, second)
    assert got.stats.cached_tokens >= len(prompt) + 19
    with running(backend(tiny, n_ctx=256, n_seq_max=1)) as alone:
        assert got.text == answer(alone, second).text
    engine.close()


def test_an_aborted_decode_of_many_sequences_leaves_none_of_it(tiny):
    model = backend(tiny)
    for seq in range(3):
        model.decode([Span(seq, 0, [1, 2, 3], 0)])
    model.abort(True)
    with pytest.raises(DecodeAborted):
        model.decode([Span(seq, 3, [4] * 10, 1) for seq in range(3)])
    model.abort(False)
    rows = model.decode([Span(seq, 3, [4, 5], 1) for seq in range(3)])
    alone = backend(tiny, n_seq_max=1)
    expected = alone.decode([Span(0, 0, [1, 2, 3, 4, 5], 1)])
    for row in rows:
        assert np.allclose(row, expected[0], atol=2e-2)
    model.close()
    alone.close()


def test_weights_are_freed_with_their_last_context(tiny):
    first = backend(tiny)
    second = LlamaBackend(tiny, LoadOptions(n_ctx=512, n_batch=64), n_seq_max=1, weights=first.weights)
    expected = first.decode([Span(0, 0, [1, 2, 3], 1)]).copy()
    first.close()
    assert np.allclose(second.decode([Span(0, 0, [1, 2, 3], 1)]), expected, atol=1e-4)
    second.close()
    assert second.weights.handle is None


def test_everything_is_given_back_after_many_requests_that_come_and_go(tiny, shared):
    encode = shared.target.vocabulary.encode
    for i in range(60):
        stream = shared.submit(Request(encode(TEXTS[i % 8]) * (1 + i % 3), 50, priority=PRIORITIES[i % 4]))
        if i % 3:
            for seen, _ in enumerate(stream):
                if seen > i % 5:
                    break
        else:
            assert isinstance(list(stream)[-1], Finished)
    answer(shared, Request(encode("x"), 1))
    status = shared.status()
    assert (status.running, status.waiting) == (0, 0)
    held = {cell for slot in shared._slots.slots for cell in slot.held}
    assert status.cells_used == len(held) <= status.cells
