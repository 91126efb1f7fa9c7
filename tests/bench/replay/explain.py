"""One answer round by round: what was drafted, what the oracle would have done, and what was on offer where it hurt."""

from collections.abc import Iterator, Sequence

from bench.replay import product
from bench.replay.gaps import mistakes
from bench.replay.player import Adaptive
from bench.replay.policies import Stage
from bench.replay.recording import Trace
from paceline.engine.drafters import Draft, Proposal

Offers = list[tuple[Proposal, list[float]]]
SHOWN = 8  # tokens of an offer


class Watched(Adaptive):
    """Keeps what each round was offered."""

    def __init__(self, lineup: product.Lineup, controller: product.Controller, leaves: int) -> None:
        super().__init__(lineup, controller, leaves)
        self.offers: list[tuple[Offers, float]] = []

    def choose(self, limit: int) -> Draft:
        draft = super().choose(limit)
        self.offers.append((product.considered(self._pilot), self._pilot.balance))
        return draft


def explain(stage: Stage, trace: Trace, least: float) -> Iterator[str]:
    """Lines for people. least: share of the answer's time that a mistake must have cost for its offers to be shown."""
    controller, oracle = product.new_controller(stage.machine), stage.oracle(trace)
    policy = Watched(stage.lineup(trace, controller), controller, stage.leaves)
    run = stage.play(trace, policy)
    regrets = {mistake.decision.position: mistake for mistake in mistakes(run, oracle)}
    plain = stage.plain(trace)
    yield (
        f"{trace.name} on {stage.machine.name}: {len(trace.answer)} tokens, plain {plain:.0f} ms, "
        f"oracle {plain / oracle.total:.2f}x, here {plain / run.milliseconds:.2f}x"
    )
    for decision, (offers, balance) in zip(run.decisions, policy.offers, strict=False):
        best, mistake = oracle.best(decision.position, decision.missing[0]), regrets.get(decision.position)
        cost = f"{mistake.kind}, {mistake.regret:.1f} ms" if mistake else "right"
        by = "+".join(dict.fromkeys(decision.drafters)) or "plain"
        done = f"{decision.position:4} {by:12} {decision.accepted:2}/{decision.drafted:2}"
        yield f"{done}  best {best.means} {best.tokens:2}  balance {balance:6.2f}  {cost}"
        if mistake and mistake.regret > least * run.milliseconds:
            yield from (f"       {line}" for line in shown(offers, trace.answer[decision.position :]))


def shown(offers: Offers, answer: Sequence[int]) -> Iterator[str]:
    """Each offer: who made it, how much of it is right, its first buckets and what they were thought to be worth."""
    for offer, chances in offers:
        right = next(
            (i for i, (a, b) in enumerate(zip(offer.tokens, answer, strict=False)) if a != b), len(offer.tokens)
        )
        first = zip(offer.buckets[:SHOWN], chances, strict=False)
        told = " ".join(f"{kind}{strength}:{chance:.2f}" for (kind, strength), chance in first)
        yield f"{offer.drafter:6} {'' if offer.parents else right:2}/{len(offer.tokens):2} {told}"
