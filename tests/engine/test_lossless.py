"""Every drafter changes no probability: with penalties, grammars and stop strings, in chains and in trees.

Answers of the whole engine are compared with the exact distribution, multiplied out token by token, by a chi-square
test (p > 1e-4, fixed seeds); on the fake model and on real llama.cpp.
"""

from dataclasses import replace

import numpy as np
import pytest

from paceline.engine.backend import Span
from paceline.engine.grammar import Grammar, GrammarConstraint, GrammarVocabulary
from paceline.engine.llama import LlamaBackend
from paceline.engine.sampler import SamplerSettings
from paceline.engine.sequence import Request
from paceline.engine.tree import ROOT
from paceline.engine.verify import verify
from paceline.plan import LoadOptions
from support.chi_square import REFUSED, agreement
from support.driving import answer, branching_engine
from support.fake_backend import FakeBackend
from support.naive_sampler import exact_continuations, naive_distribution

PROMPT = [0, 1, 2, 0, 1, 2, 3, 0, 1, 4, 0, 1]
ORIGINAL = [2, 0, 1, 3, 2, 1, 0, 4]
TOKENS = 3
SAMPLES = 1200
PLAIN = SamplerSettings(temperature=1.0, top_k=0, top_p=1.0)
PENALTIES = SamplerSettings(1.2, 5, 0.95, 0.0, 1.4, 6, 0.3, 0.2)
SETTINGS = {"plain": PLAIN, "penalties": PENALTIES}
# name: (speculation, seeded, other fields of the request)
WAYS = {
    "texts": ("ngram", True, {}),
    "an original": ("ngram", True, {"original": ORIGINAL}),
    "lookahead": ("lookahead", True, {}),
    "a fixed draft": ("draft", True, {}),
    "a drawn draft": ("draft", False, {}),
    "all together, fixed": ("auto", True, {"original": ORIGINAL}),
    "all together, drawn": ("auto", False, {"original": ORIGINAL}),
}


def fakes(**how):
    return FakeBackend(6, seed=4, n_seq_max=8, **how), FakeBackend(6, seed=4, noise=0.8, **how)


def answers(engine, way, how, samples, **more):
    """Tokens of each answer, and how many tokens were drafted and accepted, by whom."""
    speculation, seeded, fields = WAYS[way]
    out, drafters = [], {}
    for seed in range(samples):
        wish = {"speculation": speculation, "seeded": seeded, **fields}
        wish |= {name: value() if callable(value) else value for name, value in more.items()}
        request = Request(PROMPT, wish.pop("max_tokens", TOKENS + 3), replace(how, seed=seed), **wish)
        got = answer(engine, request)
        assert not any("turned off" in note for note in got.stats.notes), got.stats.notes
        out.append(got)
        for name, each in got.stats.drafters.items():
            drafted, accepted = drafters.get(name, (0, 0))
            drafters[name] = (drafted + each.drafted, accepted + each.accepted)
    return out, drafters


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("way", WAYS)
def test_answers_have_the_models_distribution(way, name):
    engine = branching_engine(*fakes())
    out, drafters = answers(engine, way, SETTINGS[name], SAMPLES)
    engine.close()
    exact = exact_continuations(engine.target.row, PROMPT, TOKENS, SETTINGS[name])
    assert agreement([each.tokens[:TOKENS] for each in out], exact) > REFUSED
    drafted, accepted = (sum(figures) for figures in zip(*drafters.values(), strict=True))
    assert 0 < accepted < drafted, "some were accepted and some were not"


@pytest.mark.parametrize("way", [way for way in WAYS if WAYS[way][1]])
def test_where_the_seed_was_chosen_the_answer_is_the_same_as_without_drafts(way):
    engine = branching_engine(*fakes())
    out, _ = answers(engine, way, PENALTIES, 150, max_tokens=30)
    plain, none = answers(engine, way, PENALTIES, 150, max_tokens=30, speculation="off")
    engine.close()
    assert [each.tokens for each in out] == [each.tokens for each in plain]
    assert not none


def test_where_the_curve_is_flat_drafts_branch_and_branches_other_than_the_first_are_accepted(monkeypatch):
    target, draft = fakes()
    kept = []
    keep = target.keep
    monkeypatch.setattr(target, "keep", lambda span, path: (kept.append((span, list(path))), keep(span, path)))
    engine = branching_engine(target, draft)
    answers(engine, "all together, drawn", PLAIN, 60, max_tokens=30)
    engine.close()
    assert len(kept) > 50
    aside = [path for span, path in kept if path and path != list(range(len(path)))]
    assert len(aside) > 10
    assert not any(target.cache[seq] for seq in range(1, 8))


# Grammars and stop strings.

LETTERS = 'root ::= (("a" | "b") "c")* [d-e]+ "f"?'


def vocabulary():
    return GrammarVocabulary(FakeBackend(7, end=6).vocabulary)


def exact_with(constraint, row, prompt, length, how):
    """The probability of each text that the grammar allows, up to so many tokens or its end."""
    chances = {(): (1.0, constraint)}
    done = {}
    for _ in range(length):
        longer = {}
        for tokens, (chance, at) in chances.items():
            whole = [*prompt, *tokens]
            found = naive_distribution(row(whole), how, whole[-how.repetition_window :], at.allowed().tolist())
            for token, next_chance in found.items():
                if token == 6:
                    done[(*tokens, token)] = chance * next_chance
                    continue
                after = at.copy()
                after.advance(token)
                longer[(*tokens, token)] = (chance * next_chance, after)
        chances = longer
    return {**{tokens: chance for tokens, (chance, _) in chances.items()}, **done}


@pytest.mark.parametrize("way", WAYS)
def test_answers_within_a_grammar_have_the_models_distribution_within_it(way):
    shared, grammar = vocabulary(), Grammar.gbnf(LETTERS)
    target = FakeBackend(7, seed=4, n_seq_max=8, end=6)
    engine = branching_engine(target, FakeBackend(7, seed=4, noise=0.8, end=6))
    how = replace(PENALTIES, temperature=1.5)
    make = lambda: GrammarConstraint(grammar, shared)  # noqa: E731
    out, drafters = answers(engine, way, how, 700, constraint=make)
    engine.close()
    exact = exact_with(make(), target.row, PROMPT, TOKENS, how)
    assert agreement([each.tokens[:TOKENS] for each in out], exact) > REFUSED
    assert sum(accepted for _, accepted in drafters.values()) > 0, "drafting goes on within a grammar"


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_ends_at_a_stop_string_wherever_the_draft_went_on_to(way):
    engine = branching_engine(*fakes())
    out, _ = answers(engine, way, PLAIN, SAMPLES, stop=("ba",), max_tokens=TOKENS)
    engine.close()
    exact = {}
    for tokens, chance in exact_continuations(engine.target.row, PROMPT, TOKENS, PLAIN).items():
        text = "".join(chr(97 + token) for token in tokens).split("ba")[0]
        exact[text] = exact.get(text, 0.0) + chance
    assert agreement([each.text for each in out], exact) > REFUSED
    assert any(each.reason == "stop" for each in out)


# The rule itself, on trees of drawn and fixed tokens in any mixture.


def drawn_tree(random, q, depth, width):
    """A tree whose tokens are drawn from q(path) without replacement, or fixed: tokens, parents, what they were drawn
    from. Which of the two, and how many, does not depend on what is drawn.
    """
    tokens, parents, drawn = [], [], []

    def grow(parent, path):
        if len(path) == depth:
            return
        left = dict(enumerate(q(path)))
        for number in range(width):
            if not left:
                break
            fixed = number == width - 1
            ids = np.array(sorted(left), np.int32)
            chances = np.array([left[int(token)] for token in ids])
            chances = chances / chances.sum()
            token = int(ids[-1]) if fixed else int(random.choice(ids, p=chances))
            node = len(tokens)
            tokens.append(token)
            parents.append(parent)
            drawn.append(None if fixed else made(ids, chances))
            del left[token]
            grow(node, (*path, token))

    grow(ROOT, ())
    return tokens, parents, drawn


def made(ids, chances):
    from paceline.engine.sampler import Distribution

    kept = chances > 0
    return Distribution(ids[kept], chances[kept] / chances[kept].sum())


@pytest.mark.parametrize("width", [1, 2, 3])
def test_the_rule_for_trees_keeps_the_targets_distribution(width):
    random = np.random.default_rng(7)
    tables = {
        name: {path: random.dirichlet([0.7] * 4) for path in [(), *[(a,) for a in range(4)]]} for name in ("p", "q")
    }

    def p(path):
        return made(np.arange(4, dtype=np.int32), tables["p"][path[:1]])

    out, deep = [], 0
    for seed in range(4000):
        tokens, parents, drawn = drawn_tree(random, lambda path: tables["q"][path[:1]], 2, width)
        if width == 1:
            drawn = [made(np.arange(4, dtype=np.int32), tables["q"][()]), None]
            tokens[0] = int(random.choice(4, p=tables["q"][()]))
        verdict = verify(tokens, parents, drawn, lambda path, t=tokens: p(tuple(t[i] for i in path)), seed, 3)
        said = (*(tokens[node] for node in verdict.path), verdict.token)
        deep += len(verdict.path) == 2
        while len(said) < 2:
            said = (*said, verify((), (), (), lambda path, s=said: p(s), seed, 3 + len(said)).token)
        out.append(said[:2])
    exact = {(a, b): tables["p"][()][a] * tables["p"][(a,)][b] for a in range(4) for b in range(4)}
    assert agreement(out, exact) > REFUSED
    assert deep > 100


# Real llama.cpp.


@pytest.fixture(scope="module")
def real(tiny, tiny_draft):
    def backend(path, n_seq_max):
        return LlamaBackend(path, LoadOptions(n_ctx=512, n_batch=64, n_threads=1), n_seq_max=n_seq_max)

    engine = branching_engine(backend(tiny, 8), backend(tiny_draft, 1))
    yield engine
    engine.close()


def real_rows(engine):
    """The model's logits after any tokens, remembered."""
    known = {}

    def row(tokens):
        key = tuple(tokens)
        if key not in known:
            engine.target.truncate(0, 0)
            engine._slots.slots[0].clear()
            known[key] = engine.target.decode([Span(0, 0, list(tokens), 1)])[0].copy()
            engine.target.truncate(0, 0)
        return known[key]

    return row


@pytest.mark.parametrize("way", WAYS)
def test_on_real_llama_cpp_answers_have_the_models_distribution(real, way):
    how = SamplerSettings(1.3, 4, 0.98, 0.0, 1.2, 8)
    prompt = real.target.vocabulary.encode("for row in the reader:\n" * 3)
    exact = exact_continuations(real_rows(real), prompt, 2, how)
    speculation, seeded, fields = WAYS[way]
    if "original" in fields:
        fields = {"original": real.target.vocabulary.encode("the reader for row in\n")}
    out, accepted = [], 0
    for seed in range(700):
        request = Request(prompt, 6, replace(how, seed=seed), speculation=speculation, seeded=seeded, **fields)
        got = answer(real, request)
        out.append(got.tokens[:2])
        accepted += got.stats.accepted
    assert agreement(out, exact) > REFUSED
    assert accepted > 0
