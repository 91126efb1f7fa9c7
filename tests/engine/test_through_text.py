"""A draft of another vocabulary in the engine: the same answers, the same probabilities, on the fake and on llama.cpp.

Greedy answers on llama.cpp may leave the plain ones where the plain run's two best logits nearly tie, and nowhere else.
"""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from paceline.engine.backend import Span
from paceline.engine.controller import Controller
from paceline.engine.costs import CostModel
from paceline.engine.drafters.model import DraftModel
from paceline.engine.engine import Engine
from paceline.engine.pair import fit
from paceline.engine.sampler import SamplerSettings
from paceline.engine.sequence import Request
from paceline.errors import EngineError, ResourceError
from support.chi_square import REFUSED, agreement
from support.driving import CHEAP, FLAT, answer
from support.fake_backend import FakeBackend
from support.naive_sampler import exact_continuations, naive_distribution
from support.near_ties import backend, first_difference, margin
from support.scripted import Failing, Scripted
from support.text_vocabulary import BYTES, Reciter, text_vocabulary
from support.tiny_model import MERGES, write_tiny_model

TIE = 0.01
PLAIN = SamplerSettings(temperature=1.0, top_k=0, top_p=1.0)
SETTINGS = {
    "plain": PLAIN,
    "everything": SamplerSettings(1.3, 5, 0.9, 0.05, 1.3, 5, 0.2, 0.1),
}
TARGET = text_vocabulary(["a", "b", "ab", "ba", "c"])
DRAFT = text_vocabulary(["c", "bc", "b", "a", "aa"])


@contextmanager
def running(target, draft):
    """An engine whose draft speaks through text and always pays."""
    controller = Controller(CostModel(FLAT), CostModel(CHEAP))
    engine = Engine(target, controller, DraftModel(draft if callable(draft) else lambda: draft, universal=True))
    try:
        yield engine
    finally:
        engine.close()


def fakes(**how):
    target = FakeBackend(TARGET.n_tokens, seed=3, vocabulary=TARGET, **how)
    return target, FakeBackend(DRAFT.n_tokens, seed=5, vocabulary=DRAFT, spread=3.0, **how)


# --- on the fake ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "seeded"), [("plain", False), ("everything", True)])
def test_answers_have_the_models_distribution(name, seeded):
    target, draft = fakes()
    prompt, out, drafted, accepted = [0, 1, 4, 2], [], 0, 0
    with running(target, draft) as engine:
        for seed in range(1000):
            how = replace(SETTINGS[name], seed=seed)
            got = answer(engine, Request(prompt, 6, how, seeded=seeded, speculation="draft"))
            out.append((*got.tokens[:3],))
            drafted, accepted = drafted + got.stats.drafted, accepted + got.stats.accepted
    exact = exact_continuations(target.row, prompt, 3, SETTINGS[name])
    ends = {}
    for tokens, chance in exact.items():  # nothing comes behind the end of an answer
        cut = tokens[: tokens.index(TARGET.eos) + 1] if TARGET.eos in tokens else tokens
        ends[cut] = ends.get(cut, 0.0) + chance
    assert agreement(out, ends) > REFUSED
    assert 0 < accepted < drafted


def test_a_chosen_seed_gives_the_same_answer_with_and_without_a_draft():
    for seed in range(30):
        target, draft = fakes()
        how = SamplerSettings(temperature=0.8, seed=seed)
        with running(target, draft) as engine:
            plain = answer(engine, Request([0, 1], 40, how, seeded=True, speculation="off"))
            drafted = answer(engine, Request([0, 1], 40, how, seeded=True, speculation="draft"))
        assert drafted.tokens == plain.tokens
        assert drafted.stats.drafted or len(plain.tokens) < 3


@pytest.mark.parametrize("text", ["naïve 🚀🚀 世界!", "a👩‍💻b" * 4, "¿😀?" * 5], ids=ascii)
def test_characters_that_the_target_says_byte_by_byte_are_drafted_whole(text):
    bytewise = text_vocabulary(BYTES)
    script = [*text.encode(), bytewise.eos]
    target = Scripted(bytewise, script, prompt=1)
    draft = Reciter(text_vocabulary([*sorted(set(text)), *BYTES]), ">" + text)
    with running(target, draft) as engine:
        got = answer(engine, Request(b">", 200, speculation="draft"))
    assert got.text == text
    assert got.stats.accepted > len(script) / 2


def test_a_draft_with_a_small_context_stops_drafting_and_nothing_else():
    bytewise, text = text_vocabulary(BYTES), "abcdefgh" * 20
    target = Scripted(bytewise, [*text.encode()], prompt=1)
    draft = Reciter(bytewise, ">" + text)
    draft.capabilities = replace(draft.capabilities, n_ctx=40)
    with running(target, draft) as engine:
        got = answer(engine, Request(b">", 100, speculation="draft"))
    assert got.text == text[:100]
    assert 30 < got.stats.accepted < 42
    assert not got.stats.notes


@pytest.mark.parametrize("failure", ["loading", "decoding"])
def test_a_draft_that_fails_turns_itself_off_and_the_answer_goes_on(failure):
    target, _ = fakes()

    def load():
        if failure == "loading":
            raise ResourceError("no memory for it", "end other programs")
        return Failing(EngineError("its cache is broken"), range(4, 99), DRAFT.n_tokens, vocabulary=DRAFT, seed=5)

    how = SamplerSettings(temperature=0.9, seed=4)
    with running(target, load) as engine:
        plain = answer(engine, Request([0, 1, 2], 60, how, seeded=True, speculation="off"))
        got = answer(engine, Request([0, 1, 2], 60, how, seeded=True, speculation="draft"))
    assert got.tokens == plain.tokens
    (note,) = got.stats.notes
    assert "turned off" in note and ("no memory" in note or "broken" in note)


def test_several_requests_draft_side_by_side():
    bytewise, text = text_vocabulary(BYTES), "the quick brown fox " * 3
    target = Reciter(bytewise, ">" + text, n_seq_max=3)
    draft = Reciter(text_vocabulary([*text.split(), *BYTES]), ">" + text, n_seq_max=3)
    with running(target, draft) as engine:
        streams = [engine.submit(Request(b">", 50 + i, speculation="draft")) for i in range(3)]
        ends = [list(stream)[-1] for stream in streams]
    assert [bytes(end.tokens).decode() for end in ends] == [text[: 50 + i] for i in range(3)]
    assert all(end.stats.accepted > 20 for end in ends)


# --- on llama.cpp -----------------------------------------------------------------------------------------------------

PROMPTS = ["def add(a, b):\n    return", "for row in the reader:\n" * 6, "Grüße 世界 🚀: ", "x = [1, 2, 3]\n"]


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """Drafts with the target's weights and other tokens."""
    folder = tmp_path_factory.mktemp("others")
    kinds = {"few": MERGES[:3], "some": MERGES[::2], "most": [*MERGES[:-1]]}
    return {
        name: write_tiny_model(folder / f"{name}.gguf", merges=merges, specials_first=name != "most")
        for name, merges in kinds.items()
    }


@pytest.mark.parametrize("kind", ["few", "some", "most"])
@pytest.mark.parametrize("text", PROMPTS, ids=ascii)
def test_greedy_answers_differ_from_plain_ones_only_at_a_tie(tiny, others, kind, text, record_property):
    with running(backend(tiny), lambda: backend(others[kind])) as engine:
        prompt = engine.target.vocabulary.encode(text)
        plain = answer(engine, Request(prompt, 200, speculation="off"))
        drafted = answer(engine, Request(prompt, 200, speculation="draft"))
    assert drafted.stats.accepted > 20
    assert not drafted.stats.notes
    at = first_difference(plain.tokens, drafted.tokens)
    if at is None:
        assert (plain.text, plain.reason) == (drafted.text, drafted.reason)
    else:
        gap = margin(tiny, [*prompt, *plain.tokens[:at]])
        record_property("margin", gap)
        assert gap < TIE


def test_a_conversation_is_read_with_its_control_tokens(tiny, others):
    """Those of the draft have other ids; with them in their places it agrees as it does on plain text."""
    with running(backend(tiny), lambda: backend(others["most"])) as engine:
        encode = engine.target.vocabulary.encode
        prompt = encode("<|im_start|>user\nWhy? <|im_end|>\n<|im_start|>assistant\n", special=True)
        got = answer(engine, Request(prompt, 120, speculation="draft")).stats
    assert got.accepted / got.drafted > 0.25


@pytest.mark.parametrize("kind", ["few", "most"])
def test_sampled_answers_have_the_models_distribution(tiny, others, kind):
    how, samples = SamplerSettings(temperature=0.7, top_k=4, top_p=1.0), 500
    with running(backend(tiny), lambda: backend(others[kind])) as engine:
        prompt = engine.target.vocabulary.encode("for row in")
        wishes = [Request(prompt, 4, replace(how, seed=seed), speculation="draft") for seed in range(samples)]
        answers = [answer(engine, wish) for wish in wishes]
    assert sum(got.stats.accepted for got in answers) > samples / 10
    model = backend(tiny)

    def row(tokens):
        model.truncate(0, 0)
        return model.decode([Span(0, 0, tokens, 1)])[-1].copy()

    exact = {}
    for first, chance in naive_distribution(row(prompt), how).items():
        for second, next_chance in naive_distribution(row([*prompt, first]), how).items():
            exact[first, second] = chance * next_chance
    model.close()
    assert agreement([got.tokens[:2] for got in answers], exact) > REFUSED


def test_the_vocabularies_fit_through_text_only(tiny, others):
    target = backend(tiny)
    for path in others.values():
        draft = backend(path)
        assert fit(target.vocabulary, draft.vocabulary).universal
        draft.close()
    target.close()
