"""Recorded answers are replayed exactly, and the oracle that they are compared with is one."""

from collections.abc import Sequence
from itertools import product as combinations
from pathlib import Path

import pytest

from bench.replay import gaps, product
from bench.replay.curves import MACHINES, Machine
from bench.replay.explain import explain
from bench.replay.oracle import PLAIN, Action, Oracle, Prospects
from bench.replay.player import Fixed, Policy, Run, accepted, play, prospects
from bench.replay.policies import Stage
from bench.replay.recording import TRACES, Guess, Recording, Trace, read, read_all, write
from bench.replay.report import measured
from bench.replay.traced import TracedBackend
from paceline.engine.backend import Span
from paceline.engine.costs import CostCurve
from paceline.engine.drafters import Draft
from paceline.engine.drafters.model import confidence

END = 99
SOURCE = list(range(20, 60))
COPY = [*SOURCE[:12], 70, *SOURCE[13:30], 71, 72, *SOURCE[31:], END]  # the source with two changes
FLAT = Machine("flat", "", CostCurve((1, 64), (10.0, 16.3)), CostCurve((1, 64), (1.0, 2.0)))
STEEP = Machine("steep", "", CostCurve((1, 64), (10.0, 640.0)), CostCurve((1, 64), (9.0, 576.0)))


def trace(name: str = "edit", answer: Sequence[int] = COPY, wrong: Sequence[int] = (5, 13, 14, 40)) -> Trace:
    """An answer; the draft model is wrong at some of its tokens."""
    guesses, astray = [], {}
    for at, token in enumerate(answer):
        guesses.append(Guess([80, token], [0.6, 0.3]) if at in wrong else Guess([token, 81], [0.9, 0.05]))
        if at in wrong:
            astray[at] = [Guess([82 + i, 81], [0.5, 0.1]) for i in range(7)]
    prompt, margins = [1, 2, 3, *SOURCE, 4], [1.0] * len(answer)
    return Trace(name, "edit", prompt, answer, guesses, astray, margins, original=SOURCE, wanted=len(answer) + 20)


def stage(machine: Machine = FLAT, *traces: Trace) -> Stage:
    return Stage(Recording("target", "draft", frozenset([END]), traces or (trace(),)), machine)


def adaptively(machine: Machine, recorded: Trace) -> Run:
    return stage(machine).adaptive(recorded, product.new_controller(machine))


@pytest.mark.parametrize("machine", [FLAT, STEEP, MACHINES["here"], MACHINES["mi50"]], ids=lambda each: each.name)
def test_replaying_twice_from_the_same_state_decides_the_same(machine: Machine):
    first, second = adaptively(machine, trace()), adaptively(machine, trace())
    assert first.decisions == second.decisions
    assert sum(decision.committed for decision in first.decisions) == len(COPY) - 1


def test_a_state_that_has_learned_decides_otherwise():
    """Else the test above would pass for a controller that looks at nothing."""
    controller = product.new_controller(STEEP)
    for key in [("resume", 0), ("resume", 1), ("resume", 2), ("copy", 2), ("copy", 3), ("swap", 1)] + [
        (kind, n) for kind in ("known", "edited", "begin") for n in (0, 1, 2, 3, 4, 6, 8, 12, 16, 24)
    ]:
        for _ in range(200):
            controller.acceptance.observe(key, False)
    learned = stage(FLAT).adaptive(trace(), product.new_controller(FLAT, controller.acceptance))
    assert learned.decisions != adaptively(FLAT, trace()).decisions


def test_what_a_policy_learns_stays_out_of_the_state_it_was_given():
    controller = product.new_controller(FLAT)
    stage(FLAT).adaptive(trace(), product.new_controller(FLAT, controller.acceptance))
    assert not controller.acceptance.counts


def test_plain_decoding_takes_a_decode_for_each_token_but_the_first():
    recorded = trace()
    line = product.lineup(recorded, frozenset([END]), FLAT, product.new_controller(FLAT), "off")
    run = play(recorded, frozenset([END]), FLAT, Policy(line))
    assert run.milliseconds == pytest.approx(10.0 * (len(COPY) - 1))
    assert stage().plain(recorded) == pytest.approx(run.milliseconds)


def test_a_draft_is_accepted_as_far_as_the_answer_goes_along_with_it():
    chain = Draft([5, 6, 7], ["x"] * 3, [None] * 3)
    assert accepted(chain, [5, 6, 8, 9]) == [0, 1]
    assert accepted(chain, [5, 6, 7]) == [0, 1, 2]
    assert accepted(chain, [4]) == []
    tree = Draft([5, 6, 7, 8], ["x"] * 4, [None] * 4, parents=[-1, -1, 1, 1])
    assert accepted(tree, [6, 8, 5]) == [1, 3]


def test_the_fixed_policy_pays_for_what_is_rejected():
    recorded = trace()
    line = product.lineup(recorded, frozenset([END]), FLAT, product.new_controller(FLAT), "draft")
    run = play(recorded, frozenset([END]), FLAT, Fixed(line, "draft", 4))
    first = run.decisions[0]
    # The draft model reads the prompt and the first token, then drafts three more tokens.
    assert (first.drafted, first.accepted) == (4, 4)
    read = FLAT.draft.at(len(recorded.prompt) + 1)
    assert first.milliseconds == pytest.approx(FLAT.target.at(5) + read + 3 * FLAT.draft.at(1))
    assert first.missing == (len(recorded.prompt) + 1, 2)
    rejected = [decision for decision in run.decisions if decision.accepted < decision.drafted]
    assert rejected and all(decision.missing[1] == 1 for decision in rejected)


def test_the_traced_model_guesses_what_was_recorded():
    recorded = trace()
    backend = TracedBackend(recorded, frozenset([END]), FLAT.draft)
    n = len(recorded.prompt)
    row = backend.decode([Span(0, 0, [*recorded.prompt, *COPY[:5]], 1)])[0]
    assert row.argmax() == 80
    assert confidence(row, 80) == pytest.approx(0.6, abs=0.01)
    row = backend.decode([Span(0, n + 5, [80, 82], 1)])[0]  # along its own wrong way
    assert row.argmax() == 83
    assert backend.shared_with([*recorded.prompt, *COPY]) == n + 5
    backend.truncate(0, n + 5)
    row = backend.decode([Span(0, n + 5, [COPY[5]], 1)])[0]  # and back
    assert row.argmax() == COPY[6]
    assert confidence(row, COPY[6]) == pytest.approx(0.9, abs=0.01)


def test_prospects_are_what_lookup_and_the_draft_model_would_get_accepted():
    recorded = trace()
    line = product.lineup(recorded, frozenset([END]), FLAT, product.new_controller(FLAT), "auto")
    found = prospects(recorded, line)
    assert found.draft[1:6] == [4, 3, 2, 1, 0]
    assert found.lookup[13] >= 17  # behind the first change, up to the second
    assert all(found.lookup[at] <= len(COPY) - at for at in range(1, len(COPY)))


def cheapest(machine: Machine, prompt: int, seen: Prospects) -> float:
    """The oracle's slow twin: all ways through a short answer, each with what it really costs."""
    n, best = len(seen.lookup), float("inf")

    def walk(at: int, cached: int, spent: float) -> None:
        nonlocal best
        if at >= n:
            best = min(best, spent)
            return
        walk(at + 1, cached, spent + machine.target.at(1))
        for k in range(1, min(seen.lookup[at], n - at - 1) + 1):
            walk(at + k + 1, cached, spent + machine.target.at(k + 1))
        for k in range(1, min(seen.draft[at], n - at - 1) + 1):
            made = machine.draft.at(prompt + at - cached) + (k - 1) * machine.draft.at(1)
            walk(at + k + 1, prompt + at + k - 1, spent + made + machine.target.at(k + 1))

    walk(1, 0, 0.0)
    return best


@pytest.mark.parametrize(
    "lookup, draft",
    list(combinations([[0] * 9, [0, 3, 2, 1, 0, 0, 3, 2, 1]], [[0] * 9, [0, 1, 0, 4, 3, 2, 1, 0, 0]])),
)
@pytest.mark.parametrize("machine", [FLAT, STEEP, MACHINES["rtx3090"]], ids=lambda each: each.name)
def test_the_oracle_finds_the_cheapest_way(machine: Machine, lookup: list[int], draft: list[int]):
    seen = Prospects(lookup, draft)
    linear = machine.draft.at(2) - machine.draft.at(1)
    oracle = Oracle(4, seen, machine)
    if all(machine.draft.at(m) == pytest.approx(machine.draft.at(1) + (m - 1) * linear) for m in range(2, 129)):
        assert oracle.total == pytest.approx(cheapest(machine, 4, seen))
    else:  # catching up is taken for cheaper than it is
        assert oracle.total <= cheapest(machine, 4, seen)


def test_the_oracle_stays_with_plain_decoding_where_nothing_pays():
    oracle = Oracle(4, Prospects([0, 3, 2, 1, 0], [0, 3, 2, 1, 0]), STEEP)
    assert all(oracle.best(at, 4 + at) == PLAIN for at in range(1, 5))
    assert oracle.total == pytest.approx(40.0)


def test_the_oracle_takes_all_that_it_can_get_where_drafts_cost_next_to_nothing():
    assert Oracle(4, Prospects([0, 3, 2, 1, 0], [0] * 5), FLAT).best(1, 5) == Action("lookup", 3)


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_regrets_add_up_to_what_was_taken_longer_than_the_oracle(machine: Machine):
    here = stage(machine)
    run, oracle = adaptively(machine, trace()), here.oracle(trace())
    found = gaps.mistakes(run, oracle)
    assert sum(mistake.regret for mistake in found) == pytest.approx(run.milliseconds - oracle.total, abs=1e-3)
    assert set(gaps.by_kind(found)) <= set(gaps.KINDS)


def test_a_decision_that_does_nothing_is_regretted_where_a_draft_would_have_stood():
    recorded = trace()
    line = product.lineup(recorded, frozenset([END]), FLAT, product.new_controller(FLAT), "off")
    run = play(recorded, frozenset([END]), FLAT, Policy(line))
    assert set(gaps.by_kind(gaps.mistakes(run, stage().oracle(recorded)))) == {"missed"}


def test_the_report_says_what_share_of_the_oracles_gain_was_reached():
    here = stage(FLAT, trace("a"), trace("b", [*COPY[::-1][1:], END]))
    runs = {"fresh": [here.adaptive(each, product.new_controller(FLAT)) for each in here.recording.traces]}
    found = measured(here, runs)
    assert 0.0 < found["fresh"]["of_the_oracles_gain"] <= 1.0
    assert found["oracle"]["speed_up"] >= found["fresh"]["speed_up"] >= 1.0
    lost = sum(one["share"] for one in found["fresh"]["gap"].values())
    assert lost == pytest.approx(1.0 - found["fresh"]["of_the_oracles_gain"], abs=0.001)


def test_an_explanation_shows_each_round_and_what_was_on_offer_where_it_hurt():
    here = stage(FLAT)
    lines = list(explain(here, trace(), least=0.0))
    rounds = [line for line in lines[1:] if not line.startswith("  " * 3)]
    assert len(rounds) == len(adaptively(FLAT, trace()).decisions)
    hurt = [line for line in rounds if not line.endswith("right")]
    assert hurt and len(lines) > 1 + len(rounds)
    assert list(explain(here, trace(), least=2.0)) == [lines[0], *rounds]


def test_a_recording_comes_back_as_it_was_written(tmp_path: Path):
    written = Recording("target", "draft", frozenset([END, 98]), [trace(), trace("b", wrong=())])
    write(written, tmp_path / "a.json.gz")
    assert read(tmp_path / "a.json.gz") == written


def test_the_recorded_traces_are_whole():
    recordings = read_all(TRACES)
    assert recordings, "no recording is in the repository"
    for recording in recordings:
        assert sum(each.stat().st_size for each in TRACES.iterdir()) < 20_000_000
        for one in recording.traces:
            assert len(one.guesses) == len(one.answer) == len(one.margins)
            assert all(0 <= at < len(one.answer) for at in one.astray)
            for at, guess in enumerate(one.guesses):
                assert (guess.tokens[0] != one.answer[at]) == (at in one.astray)
