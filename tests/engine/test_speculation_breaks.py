"""What drafting must survive: requests beside each other, drafters that fail, models that cannot take tokens back."""

import random
import subprocess
import sys

import numpy as np
import pytest

from paceline.engine.acceptance import AcceptanceTable
from paceline.engine.controller import Controller
from paceline.engine.costs import CostCurve, CostModel
from paceline.engine.drafters.base import Drafter, Proposal
from paceline.engine.drafters.team import Team
from paceline.engine.grammar import Grammar, GrammarConstraint, GrammarVocabulary
from paceline.engine.llama import LlamaBackend
from paceline.engine.pilot import Pilot
from paceline.engine.sampler import Distribution, SamplerSettings, distribution, tied
from paceline.engine.sequence import Finished, Request
from paceline.engine.speculate import TIE
from paceline.errors import InputError
from paceline.plan import LoadOptions
from paceline.prompts.healing import Constraint, VocabularyTrie
from support.by_hand import Steps, Watched, engine_on
from support.driving import CHEAP, FLAT, answer, collect, running
from support.fake_backend import FakeBackend, byte_vocabulary
from support.scripted import Scripted, vocabulary_of
from support.tree_paths import path_to

PROMPT = [1, 2, 3]
EVEN = Distribution(np.arange(4, dtype=np.int32), np.full(4, 0.25))


class Doing(Drafter):
    """Proposes the same tokens each time, and raises where it is told to. With costs it takes time to draft."""

    def __init__(self, tokens, *, name="ngram", raises="", hidden=False, drawn=False, costs=None, key=("copy", 24)):
        self.tokens, self.name, self.raises, self.needs_hidden = list(tokens), name, raises, hidden
        self.drawn, self.costs, self.key = drawn, costs, key

    def _may(self, what):
        if what == self.raises:
            raise ValueError(f"{what} is broken")

    def extend(self, tokens):
        self._may("extend")

    def propose(self, limit, worth):
        self._may("propose")
        tokens = self.tokens[:limit]
        spent = 5.0 if self.costs else 0.0
        return [
            Proposal(self.name, tokens, [self.key] * len(tokens), [EVEN] * len(tokens) if self.drawn else None, spent)
        ]

    def see(self, outcome):
        self._may("see")

    def close(self):
        self._may("close")


@pytest.fixture
def drafted_by(monkeypatch):
    """Makes every request that wants drafts have these drafters."""

    def use(make):
        monkeypatch.setattr(
            Team, "drafters", lambda team, request, stats: make() if request.speculation != "off" else []
        )

    return use


def test_of_a_drawn_draft_all_tokens_are_verified_however_unlikely_they_are():
    table = AcceptanceTable({("draft", 0): (1e4, 1e6)})
    drafter = Doing([1, 2, 3, 1], name="draft", drawn=True, costs=CostModel(CHEAP), key=("draft", 0))
    pilot = Pilot.of(Controller(CostModel(FLAT), CostModel(CHEAP), table), forced=True)
    assert list(pilot.choose([drafter], 4).tokens) == [1, 2, 3, 1]


def test_two_strict_requests_share_a_model_that_cannot_take_tokens_back():
    target = FakeBackend(8, n_seq_max=4, partial_removal=False)
    target.table = np.round(target.table * 2) / 2
    steps = Steps(engine_on(target))
    for name in range(2):
        steps.submit(name, Request([*PROMPT, name], 60, strict=True))
    for name in range(2):
        assert isinstance(steps.until(name), Finished), steps.ended[name]


def test_a_strict_request_leaves_alone_the_rows_of_one_that_looks_at_hidden_states(drafted_by):
    drafted_by(lambda: [Doing([1], hidden=True)])
    target = FakeBackend(8, n_seq_max=4)
    target.table = np.round(target.table)
    steps = Steps(engine_on(target))
    steps.submit("strict", Request(PROMPT, 30, strict=True, speculation="ngram"))
    steps.submit("other", Request([1, 2, 4], 30, speculation="ngram"))
    for name in ("strict", "other"):
        assert isinstance(steps.until(name), Finished), steps.ended[name]


def test_a_long_prompt_is_read_for_a_drafter_that_looks_at_hidden_states(drafted_by, tiny):
    drafted_by(lambda: [Doing([1], hidden=True)])
    target = LlamaBackend(tiny, LoadOptions(n_ctx=512, n_batch=32, n_threads=1), n_seq_max=2)
    with running(target) as engine:
        assert len(answer(engine, Request([97 + i % 20 for i in range(100)], 5, speculation="ngram")).tokens) == 5


OPENING = """
import sys
from pathlib import Path
from paceline.engine.llama import LlamaBackend
from paceline.errors import InputError
from paceline.plan import LoadOptions
LlamaBackend(Path(sys.argv[1]), LoadOptions(n_ctx=512, n_batch=32, n_threads=1), n_seq_max=33).close()
"""


def test_more_sequences_than_tokens_in_a_batch_end_no_process(tiny):
    ended = subprocess.run([sys.executable, "-c", OPENING, str(tiny)], capture_output=True, timeout=60)
    assert ended.returncode == 0


@pytest.mark.parametrize("where", ["propose", "see", "extend", "close"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_drafter_that_is_broken_costs_drafts_and_no_answer(drafted_by, where):
    drafted_by(lambda: [Doing([1, 2], raises=where)])
    with running(FakeBackend()) as engine:
        stream = engine.submit(Request(PROMPT, 8, speculation="ngram"))
        engine._thread.join(0.3)
        assert engine._thread.is_alive(), "nobody would be answered any more"
        assert len(collect(stream).tokens) == 8


def test_after_making_way_the_request_is_drafted_for_from_its_prompt_as_before():
    text = random.Random(0).sample(range(300), 300)

    def steps_taken(interrupt):
        pieces = [b"%d " % i for i in range(310)]
        target = Scripted(vocabulary_of(pieces), text, prompt=305, n_batch=512)
        steps = Steps(engine_on(target, parallel=1))
        steps.submit("it", Request([*text, *range(300, 305)], 250, speculation="ngram", priority="background"))
        steps.take(4)
        if interrupt:
            steps.submit("urgent", Request(PROMPT, 3, priority="completion", speculation="off"))
            steps.until("urgent")
        before = steps.count
        steps.until("it")
        return steps.count - before

    assert steps_taken(True) <= steps_taken(False) + 1


def test_the_time_that_a_draft_took_is_told_of_who_took_it(drafted_by):
    model = CostModel(CHEAP)
    drafted_by(lambda: [Doing([5]), Doing([6, 6], name="draft", costs=model, key=("draft", 3))])
    target = FakeBackend(8, n_seq_max=8)
    with running(target) as engine:
        engine._slots.spare, engine._slots.slots = range(1, 8), engine._slots.slots[:1]
        stats = answer(engine, Request(PROMPT, 40, speculation="auto")).stats
    assert stats.drafter("draft").milliseconds > 0
    assert stats.drafter("ngram").milliseconds == 0


@pytest.mark.parametrize(
    "wish",
    [
        {"original": [8] * 6},
        {"original": [-1] * 6},
        {"original": [2**31] * 6},
        {"references": (("file", [1, 2, 3, 2**31] * 3),)},
    ],
)
def test_a_text_with_tokens_that_the_model_has_not_is_refused(wish):
    with running(FakeBackend(8)) as engine:
        with pytest.raises(InputError, match="tokens that the model does not have"):
            engine.submit(Request([1, 2, 3, 1, 2, 3], 8, **wish))
        assert len(answer(engine, Request([1, 2, 3], 8)).tokens) == 8


# --- beside each other ---

N, END = 8, 7
LETTERS = byte_vocabulary(N, END)
GRAMMARS = GrammarVocabulary(LETTERS)
TRIE = VocabularyTrie(LETTERS.pieces)
GBNF = ("root ::= [a-f]*", 'root ::= ("ab" | "ba" | "c" | "d")+', 'root ::= [a-c]+ "d" [a-f]+')
CURVES = (FLAT, CostCurve((1, 2, 64), (10.0, 15.0, 400.0)), CostCurve((1, 64), (1.0, 3.0)))


class RandomTrees(Drafter):
    """Drafts that branch anyhow, right in more than half of their tokens; it is shown the rows of just these paths."""

    name = "lookahead"

    def __init__(self, model, seed):
        self.model, self.random, self.heard = model, random.Random(seed), []

    def extend(self, tokens):
        self.heard.extend(tokens)

    def propose(self, limit, worth):
        draw, tokens, parents = self.random, [], []
        for _ in range(draw.randint(0, 10)):
            parent = draw.randint(-1, len(tokens) - 1)
            before = [*self.heard, *(tokens[node] for node in path_to(parents, parent))]
            token = int(self.model.row(before).argmax()) if draw.random() < 0.6 else draw.randrange(N)
            if all((known, up) != (token, parent) for known, up in zip(tokens, parents, strict=True)):
                tokens.append(token)
                parents.append(parent)
        keys, whole = [("copy", 24)] * len(tokens), draw.random() < 0.3
        return [Proposal(self.name, tokens, keys, parents=parents, whole=whole, future=1.0)] if tokens else ()

    def see(self, outcome):
        draft = outcome.draft
        assert (outcome.rows[0] == self.model.row(self.heard)).all()
        for node in range(len(draft.tokens)):
            path = [draft.tokens[at] for at in path_to(draft.tree, node)]
            assert (outcome.rows[1 + node] == self.model.row([*self.heard, *path])).all()


def wishes(draw, n_ctx, common):
    """What one request asks for, as functions that make it anew."""
    prompt = [draw.randrange(END) for _ in range(draw.randint(1, 40))]
    prompt = ((common + prompt) if draw.random() < 0.6 else prompt)[: n_ctx - 2]
    kind, forced = draw.choice(["", "", "grammar", "word"]), bytes(97 + draw.randrange(END) for _ in range(3))
    gbnf, until = Grammar.gbnf(draw.choice(GBNF)), draw.choice(["", "bc", "dad"])
    fixed = {
        "prompt": prompt,
        "max_tokens": draw.choice([1, 2, 7, 30, 80]),
        "sampler": SamplerSettings(
            temperature=draw.choice([0.0, 0.8, 1.4]),
            top_k=draw.choice([0, 3]),
            repetition_penalty=draw.choice([1.0, 1.3]),
            presence_penalty=draw.choice([0.0, 0.3]),
            seed=draw.getrandbits(64),
        ),
        "seeded": True,
        "stop": draw.choice([(), ("ab",), ("abc", "ca")]),
        "logprobs": draw.choice([None, 2]),
        "priority": draw.choice(["completion", "chat", "chat", "background"]),
        "supersedes": draw.choice(["", "", "", "document"]),
        "original": draw.choice([(), tuple(prompt), tuple(draw.randrange(END) for _ in range(300))]),
        "references": draw.choice([(), (("file", common * 9),), (("file", prompt), ("other", [1] * 70))]),
        "strict": draw.random() < 0.3,
        "tell_drafts": draw.random() < 0.3,
    }

    def request(speculation):
        more = {"speculation": speculation}
        if kind:
            more["constraint"] = GrammarConstraint(gbnf, GRAMMARS) if kind == "grammar" else Constraint(TRIE, forced)
        if until:
            said = []
            more["until"] = lambda text: said.append(text) or until in "".join(said)
        return Request(**fixed, **more)

    return request


def counted_right(engine, target):
    """What is counted of the cache is what the backend holds, and no branch is left in it."""
    for slot in engine._slots.slots:
        assert target.cache[slot.seq] == slot.tokens
    assert not any(target.cache[seq] for seq in engine._slots.spare)
    held = {id(cell) for cells in target._cells.values() for cell in cells}
    assert engine._slots.cells.used == len(held)


def play(seed, trees):
    """A crowd of requests with every kind of wish, cancelled, superseded and interrupted in the middle of decodes."""
    draw = random.Random(seed)
    n_ctx, n_batch = draw.choice([48, 70, 150, 400]), draw.choice([1, 2, 5, 16, 64])
    shape = {"order": draw.choice([1, 2]), "seed": draw.randrange(50), "end": END, "n_ctx": n_ctx}
    target = Watched(N, **shape, n_batch=n_batch, n_seq_max=draw.choice([1, 4, 16]))
    draft = FakeBackend(N, **{**shape, "n_ctx": draw.choice([8, 400])}, noise=0.4, n_seq_max=draw.choice([1, 4]))
    curve, parallel = draw.choice(CURVES), draw.choice([1, 2, 4])
    steps = Steps(engine_on(target, draft=draft, curve=curve, parallel=parallel, parking=draw.choice([0, 300, 9999])))
    plain = Steps(engine_on(Watched(N, **shape), parallel=1))
    common, asked, streams = [draw.randrange(END) for _ in range(20)], {}, {}
    coming = list(range(draw.randint(1, 6)))
    while coming or len(steps.ended) < len(asked):
        if coming and (draw.random() < 0.3 or len(steps.ended) == len(asked)):
            name = coming.pop()
            asked[name] = wishes(draw, n_ctx, common)
            streams[name] = steps.submit(name, asked[name](draw.choice(["auto", "ngram", "draft", "lookahead", "off"])))
        some = draw.choice(list(streams.values()))
        if draw.random() < 0.03:
            some.cancel()
        if draw.random() < 0.06:
            target.meanwhile = draw.choice([some.cancel, lambda: steps.engine._abort(True)])
        steps.take()
        trees.append(any(span.parents for spans in target.spans[-1:] for span in spans))
        counted_right(steps.engine, target)
    for name, request in asked.items():
        got = steps.ended[name]
        assert isinstance(got, Finished), got
        plain.submit(name, request("off"))
        expected, whole = plain.until(name), got.reason not in ("cancelled", "superseded")
        assert got.tokens == (expected.tokens if whole else expected.tokens[: len(got.tokens)])
        if whole:
            assert (got.reason, steps.text[name]) == (expected.reason, plain.text[name])
            assert steps.chosen(name) == plain.chosen(name)


@pytest.mark.parametrize("more", [False, True], ids=["as it is", "with trees at random"])
def test_in_a_crowd_each_answer_is_the_plain_one_and_the_cache_is_what_was_counted(monkeypatch, more):
    usual, trees = Team.drafters, []

    def drafters(team, request, stats):
        extra = RandomTrees(team.target, request.sampler.seed)
        extra.extend(request.prompt)
        return [extra, *usual(team, request, stats)] if request.speculation != "off" else []

    if more:
        monkeypatch.setattr(Team, "drafters", drafters)
    for seed in range(150):
        play(seed, trees)
    assert sum(trees) > (100 if more else 3)


# --- near-ties ---


@pytest.mark.parametrize(
    "filters", [{"top_k": 3, "top_p": 1.0}, {"top_k": 0, "top_p": 0.9}, {"top_p": 1.0, "min_p": 0.1}]
)
def test_what_a_filter_nearly_keeps_is_a_rival_too(filters):
    random, flips = np.random.default_rng(0), 0
    for seed in range(3000):
        row = random.normal(0, 2, 200).astype(np.float32)
        near = row + random.uniform(-TIE / 4, TIE / 4, 200).astype(np.float32)
        how = SamplerSettings(temperature=1.0, seed=seed, **filters)
        if distribution(row, how).choose(seed, 5) != distribution(near, how).choose(seed, 5):
            flips += 1
            assert tied(row, how, TIE, 5)
    assert flips
