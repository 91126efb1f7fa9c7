"""What a policy's decisions cost beside the oracle's, by kind of mistake."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bench.replay.oracle import Action, Oracle
from bench.replay.player import Decision, Run

KINDS = {
    "missed": "decoded plainly where a draft would have paid",
    "too short": "all of the draft stood, and more would have",
    "too long": "the draft's beginning stood, its end was for nothing",
    "wasted": "nothing of the draft stood",
    "other offer": "another drafter had more that would have stood",
    "draft model": "asked the draft model where that did not pay",
}


@dataclass(frozen=True)
class Mistake:
    """A round that took longer than it had to. `regret`: by so many milliseconds, over the whole answer."""

    kind: str
    regret: float
    decision: Decision
    best: Action


def mistakes(run: Run, oracle: Oracle) -> list[Mistake]:
    """Of a run; their regrets add up to the time that it took longer than the oracle."""
    found = []
    for decision in run.decisions:
        after = decision.position + decision.committed
        best = oracle.best(decision.position, decision.missing[0])
        now, then = oracle.least(decision.position, decision.missing[0]), oracle.least(after, decision.missing[1])
        regret = decision.milliseconds + then - now
        if regret > 1e-6:
            found.append(Mistake(kind_of(decision, best, oracle), regret, decision, best))
    return found


def kind_of(decision: Decision, best: Action, oracle: Oracle) -> str:
    """The word for it."""
    target = oracle.machine.target.at(1 + decision.drafted)
    if decision.milliseconds > target and best.means != "draft":
        return "draft model"
    if not decision.drafted:
        return "missed"
    if best.tokens > decision.accepted:
        return "too short" if decision.accepted == decision.drafted else "other offer"
    return "too long" if decision.accepted else "wasted"


def by_kind(found: Iterable[Mistake]) -> Mapping[str, float]:
    """Milliseconds of regret by kind of mistake, worst first."""
    sums: dict[str, float] = {}
    for mistake in found:
        sums[mistake.kind] = sums.get(mistake.kind, 0.0) + mistake.regret
    return dict(sorted(sums.items(), key=lambda item: -item[1]))
