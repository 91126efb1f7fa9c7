"""Workloads are run in alternation, on warm models, without one run helping the next; an early end loses nothing."""

from dataclasses import dataclass, field, replace

import msgspec
import numpy as np
import pytest

from paceline.bench.figures import figures
from paceline.bench.runner import WARM, Difference, Plan, Runner, first_difference
from paceline.bench.workloads import Workload
from paceline.config import Config, EngineConfig
from paceline.daemon import assembly
from paceline.daemon.service import Service
from paceline.engine.acceptance import bucket
from paceline.engine.backend import Span
from paceline.engine.llama import LlamaBackend
from paceline.engine.sequence import Finished
from paceline.errors import ContextOverflowError, EngineError, ModelError
from paceline.plan import LoadOptions

ASK = Workload("ask", "a question", prompt="Why?", language="python", file="a = 1\nb = 2\n")
HOLE = Workload("hole", "a hole", before="def f():\n", after="\n\nf()\n")
CONFIG = msgspec.structs.replace(Config(), engine=EngineConfig(threads=1))


@pytest.fixture
def load(monkeypatch, measured):
    """Loads a pair; what was loaded is freed after the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(measured))
    services = []

    def load(target, draft=None, config=CONFIG):
        engine = assembly.load(assembly.inspect(target, draft, config), lambda _: None)
        services.append(Service(engine, config, "tiny"))
        return engine, services[-1]

    yield load
    for service in services:
        service.close()


@dataclass
class Watched:
    """A service that remembers in which order what was asked, and may do something of its own before an answer."""

    service: Service
    asked: list = field(default_factory=list)  # (workload, mode, tokens)
    before: object = lambda number: None  # called with the number of the request
    changed: object = lambda mode, end: end  # what an answer's end becomes

    def __getattr__(self, name):
        return getattr(self.service, name)

    def generate(self, prompt, overrides):
        return self._answer("ask", overrides, lambda: self.service.generate(prompt, overrides))

    def start_infill(self, infill, overrides):
        return self._answer("hole", overrides, lambda: self.service.start_infill(infill, overrides))

    def _answer(self, name, overrides, start):
        self.asked.append((name, overrides.speculation, overrides.max_tokens))
        self.before(len(self.asked))
        for event in start():
            yield self.changed(overrides.speculation, event) if isinstance(event, Finished) else event


def runner_of(engine, service, modes=("ngram",), tokens=9, repetitions=2, busy=lambda: False):
    return Runner(engine, service, Plan(modes, tokens, repetitions), busy=busy)


# --- the order --------------------------------------------------------------------------------------------------------


def test_all_modes_take_turns_and_the_turn_turns(load, tiny):
    engine, service = load(tiny.target)
    watched = Watched(service)
    runner = runner_of(engine, watched, modes=("auto", "ngram"), repetitions=3)
    runner.prepare([ASK], required=True)
    runner.run()
    timed = [mode for _, mode, tokens in watched.asked if tokens == 9]
    assert timed == ["off", "auto", "ngram", "ngram", "auto", "off", "off", "auto", "ngram"]
    assert {mode: len(each) for mode, each in runner.records[0].runs.items()} == {"off": 3, "auto": 3, "ngram": 3}


def test_every_workload_is_warmed_up_in_every_mode_before_it_is_timed(load, tiny):
    engine, service = load(tiny.target)
    watched = Watched(service)
    runner = runner_of(engine, watched, repetitions=1)
    runner.prepare([ASK, HOLE], required=True)
    runner.run()
    plain, drafted = "off", "ngram"
    for name in ("ask", "hole"):
        asked = [(mode, tokens) for each, mode, tokens in watched.asked if each == name and tokens > 1]
        assert asked == [(plain, WARM), (drafted, WARM), (plain, 9), (drafted, 9)]


def test_the_draft_model_is_loaded_before_anything_is_timed(load, tiny, monkeypatch):
    monkeypatch.setattr(assembly, "CLEARLY", float("inf"))  # as measured, it does not pay: left on the disk
    engine, service = load(tiny.target, tiny.draft)
    engine.controller.outlook = lambda *_, **__: 2.0  # it pays on this machine
    assert engine.draft.loading_ms > 0
    loaded = []
    watched = Watched(
        service, before=lambda number: loaded.append((watched.asked[-1][2], engine.draft.loading_ms == 0))
    )
    runner = runner_of(engine, watched, modes=("auto",), repetitions=1)
    runner.prepare([ASK], required=True)
    runner.run()
    assert [ready for tokens, ready in loaded if tokens == 9] == [True, True]


def test_no_run_can_quote_what_another_said(load, tiny):
    engine, service = load(tiny.target)
    kept = []
    watched = Watched(service, before=lambda number: kept.append(engine._team.library.n_tokens))
    runner = runner_of(engine, watched, repetitions=3)
    runner.prepare([ASK], required=True)
    runner.run()
    assert engine._team.library.n_tokens > 0  # what the last one said: without forgetting the next would find it
    assert set(kept) == {0}


def test_no_run_profits_from_what_another_learned_but_all_do_from_earlier_sessions(load, tiny):
    engine, service = load(tiny.target)
    key = bucket("copy", 4)
    engine.controller.acceptance.observe(key, True)
    before, seen = dict(engine.controller.acceptance.counts), []
    watched = Watched(service, before=lambda number: seen.append(dict(engine.controller.acceptance.counts)))
    runner = runner_of(engine, watched, tokens=40, repetitions=3)
    runner.prepare([ASK], required=True)
    runner.run()
    assert engine.controller.acceptance.counts != before  # the last one has learned something
    assert seen == [before] * len(watched.asked)


def test_answers_have_the_length_that_was_asked_for_and_are_those_of_plain_decoding(load, tiny):
    engine, service = load(tiny.target)
    runner = runner_of(engine, service, modes=("auto", "ngram"), tokens=30)
    runner.prepare([ASK, HOLE], required=True)
    runner.run()
    for record in runner.records:
        texts = {tuple(run.tokens) for runs in record.runs.values() for run in runs}
        assert len(texts) == 1 and len(texts.pop()) == 30
        assert record.differences == {}


def test_what_a_person_configured_does_not_change_what_is_measured(load, tiny):
    hot = msgspec.structs.replace(CONFIG.sampling, temperature=2.0, repetition_penalty=1.5)
    said = []
    for config in (CONFIG, msgspec.structs.replace(CONFIG, sampling=hot)):
        engine, service = load(tiny.target, config=config)
        runner = runner_of(engine, service, tokens=30, repetitions=1)
        runner.prepare([ASK], required=True)
        runner.run()
        said.append(runner.records[0].runs["off"][0].tokens)
    assert said[0] == said[1]


# --- what differs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plain", "other", "at"),
    [([1, 2, 3], [1, 2, 3], None), ([1, 2, 3], [1, 9, 3], 1), ([1, 2, 3], [1, 2], 2), ([], [1], 0), ([], [], None)],
)
def test_texts_part_at_their_first_difference(plain, other, at):
    assert first_difference(plain, other) == at


def test_where_texts_part_the_margin_is_that_of_plain_decoding(load, tiny):
    engine, service = load(tiny.target)

    def other_at_5(mode, end):
        return end if mode == "off" else replace(end, tokens=[*end.tokens[:5], -1, *end.tokens[6:]])

    runner = runner_of(engine, Watched(service, changed=other_at_5))
    runner.prepare([ASK], required=True)
    runner.run()
    record = runner.records[0]
    same = [*record.prompt, *record.runs["off"][0].tokens[:5]]
    alone = LlamaBackend(tiny.target, LoadOptions(n_ctx=2048, n_batch=512, n_threads=1))
    row = np.sort(alone.decode([Span(0, 0, same, 1)])[0])
    alone.close()
    found = record.differences["ngram"]
    assert found.token == 5
    assert found.margin == pytest.approx(float(row[-1] - row[-2]), abs=0.01)


# --- what a model cannot do -------------------------------------------------------------------------------------------


def test_what_the_model_cannot_do_is_left_out_with_the_reason(load, tiny):
    engine, service = load(tiny.without_fim)
    runner = runner_of(engine, service, repetitions=1)
    runner.prepare([ASK, HOLE], required=False)
    runner.run()
    assert [record.workload for record in runner.records] == [ASK]
    assert "cannot infill" in runner.left_out["hole"]


def test_what_was_asked_for_by_name_is_not_left_out(load, tiny):
    engine, service = load(tiny.without_fim)
    with pytest.raises(ModelError, match="cannot infill"):
        runner_of(engine, service).prepare([ASK, HOLE], required=True)


def test_a_model_that_can_do_nothing_is_an_error(load, tiny):
    engine, service = load(tiny.base)
    with pytest.raises(ModelError, match="chat template"):
        runner_of(engine, service).prepare([ASK], required=False)


def test_a_workload_that_does_not_fit_into_the_context_is_left_out(load, tiny):
    engine, service = load(tiny.target)
    long = Workload("long", "more than fits", prompt="word " * 3000)
    runner = runner_of(engine, service)
    runner.prepare([ASK, long], required=False)
    assert [record.workload for record in runner.records] == [ASK]
    assert "more than" in runner.left_out["long"]
    with pytest.raises(ContextOverflowError):
        runner_of(engine, service).prepare([long], required=True)


# --- a busy machine, an early end, progress ---------------------------------------------------------------------------


def test_a_workload_that_others_disturbed_is_marked(load, tiny):
    engine, service = load(tiny.target)
    answers = iter([False, True])
    runner = runner_of(engine, service, repetitions=1, busy=lambda: next(answers))
    runner.prepare([ASK, HOLE], required=True)
    runner.run()
    assert [record.disturbed for record in runner.records] == [False, True]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, EngineError("the model is gone")])
def test_an_early_end_keeps_what_was_measured(load, tiny, failure):
    engine, service = load(tiny.target)

    def fail_at(number):
        if number == 2 + 5:  # two to warm up, then the second of the third repetition's
            raise failure

    runner = runner_of(engine, Watched(service, before=fail_at), repetitions=4)
    runner.prepare([ASK, HOLE], required=True)
    with pytest.raises((KeyboardInterrupt, EngineError)):
        runner.run()
    ask, hole = runner.records
    assert len(figures(ask).modes[0].speed_ups) == 2
    assert figures(ask).modes[0].difference is None
    assert figures(hole) is None


def test_texts_that_an_early_end_left_uncompared_are_compared_without_a_margin(load, tiny):
    engine, service = load(tiny.target)

    def fail_at(number):
        if number == 2 + 5:
            raise KeyboardInterrupt

    watched = Watched(
        service, before=fail_at, changed=lambda mode, end: end if mode == "off" else replace(end, tokens=[-1])
    )
    runner = runner_of(engine, watched, repetitions=4)
    runner.prepare([ASK], required=True)
    with pytest.raises(KeyboardInterrupt):
        runner.run()
    assert figures(runner.records[0]).modes[0].difference == Difference(0)


def test_progress_rises_from_nothing_to_all_and_says_what_is_going_on(load, tiny):
    engine, service = load(tiny.target)
    told = []
    runner = runner_of(engine, service, tokens=40)
    runner.prepare([ASK, HOLE], required=True)
    runner.run(lambda label, share: told.append((label, share)))
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert len(set(shares)) > 2 * 2 * 2  # also within a run
    assert list(dict.fromkeys(label for label, _ in told))[:4] == [
        "ask, plain",
        "ask, ngram",
        "hole, plain",
        "hole, ngram",
    ]
