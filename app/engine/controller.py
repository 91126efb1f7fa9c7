"""Which drafter, how many tokens, or none: whatever promises the most tokens per second.

A round that verifies k drafted tokens costs draft time + t(k + 1) and brings one token more than are accepted:

    E(k) = 1 + a1 + a1 a2 + ... + a1 a2 ... ak        a_i: chance that token i is accepted, given the ones before it
    rate(k) = E(k) / (draft time + t(k + 1))          k = 0: plain decoding, 1 / t(1)

t is measured on this machine and kept current, the chances are learned from what the target does. Lookup drafts cost
nothing to make, so their chances are learned from every round, also from those that decode plainly.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from paceline.engine.acceptance import AcceptanceTable, Bucket, Forecast
from paceline.engine.costs import CostModel, Costs
from paceline.engine.drafters.base import NOTHING, Drafter, Proposal

MARGIN = 1.08  # a draft must promise this much more than plain decoding: estimates err, and nobody may get slower
LONGEST = 63  # drafted tokens; with the one before them a full verification of 64
GRANT = 1.0  # plain decodes that a request may lose on drafts before it has won any
ALLOWANCE = 0.0025  # and what is added per plain token
STALL = 1.5  # times the usual cost: more than that is somebody else's doing
WORST = 4.0  # and by how many a single draft may overdraw that, if nothing of it is accepted
CREDIT = 20.0  # winnings that may be put at stake
PROBE_SHARE = 0.01  # of the time may go into finding out whether the draft model pays
HOPE = 0.9  # the acceptance at which a draft model is still worth a probe
FIRST_TOKEN: Bucket = ("draft-mean", 0)


def expected_tokens(chances: Sequence[float]) -> list[float]:
    """E(0), E(1), ..., E(n): tokens a round brings when the first k of these n are verified."""
    totals, reached = [1.0], 1.0
    for chance in chances:
        reached *= chance
        totals.append(totals[-1] + reached)
    return totals


def expected_loss(totals: Sequence[float], k: int, cost: float) -> float:
    """Plain decodes that a draft of k tokens is expected to lose where it loses: E[max(0, cost - tokens)].

    `totals` as `expected_tokens` gives them; `cost` of the round in plain decodes. A round brings j + 1 tokens with
    probability S(j) - S(j + 1), where S(j) = totals[j] - totals[j - 1] is the chance that j are accepted, S(0) = 1.
    """
    loss = 0.0
    for j in range(min(k, math.ceil(cost) - 1) + 1):
        reached = totals[j] - totals[j - 1] if j else 1.0
        loss += (reached - (totals[j + 1] - totals[j] if j < k else 0.0)) * max(0.0, cost - j - 1)
    return loss


def best_length(chances: Sequence[float], costs: Costs, stake: float = math.inf) -> tuple[int, float]:
    """(k, rate): the length with the most expected tokens per millisecond, and that rate; (0, 0.0): none is possible.

    `stake`: plain decodes that a draft may be expected to lose where it loses, and (WORST more) at the very worst.
    """
    totals, plain = expected_tokens(chances), costs.at(1)
    best, best_rate = 0, 0.0
    for k in range(1, len(totals)):
        cost = costs.at(k + 1)
        if totals[k] <= best_rate * cost or cost / plain - 1 > stake + WORST:
            continue
        if expected_loss(totals, k, cost / plain) <= stake:
            best, best_rate = k, totals[k] / cost
    return best, best_rate


@dataclass
class Controller:
    """What is known of machine and models, shared by all requests: costs, acceptance, the budget for probes."""

    costs: CostModel
    draft_costs: CostModel | None = None
    acceptance: AcceptanceTable = field(default_factory=AcceptanceTable)
    decoding_ms: float = 0.0  # spent since start, and how much of it on probing the draft model
    probing_ms: float = 0.0

    def draft_outlook(self, chance: float, limit: int = 16, costs: Costs | None = None) -> float:
        """Speed-up over plain decoding with the draft model, if each of its tokens had this chance. 0: no model."""
        if self.draft_costs is None or limit < 1:
            return 0.0
        one, costs = self.draft_costs.at(1), costs or self.costs
        totals = expected_tokens([chance] * limit)
        return max(totals[k] / (k * one + costs.at(k + 1)) for k in range(1, limit + 1)) * costs.at(1)

    def may_probe(self) -> bool:
        """Whether there is time to find out if the draft model pays."""
        return self.draft_outlook(HOPE) > MARGIN and self.probing_ms < PROBE_SHARE * self.decoding_ms

    def pilot(self, *, forced: bool = False) -> "Pilot":
        """For one request. `forced`: always draft when there is a draft, as somebody asked for that drafter by name."""
        return Pilot(self, Forecast(self.acceptance), forced)


@dataclass
class Pilot:
    """Decides round by round for one request."""

    shared: Controller
    forecast: Forecast
    forced: bool = False
    balance: float = 0.0  # what drafting has gained in this request, in plain decodes
    _offers: list[Proposal] = field(default_factory=list)
    _probing: bool = False

    def __post_init__(self) -> None:
        self._costs: Costs = self.shared.costs

    def choose(self, drafters: Sequence[Drafter], limit: int, costs: Costs | None = None) -> Proposal:
        """The round's draft, at most `limit` tokens; NOTHING where plain decoding is better.

        costs: what a round costs this request, where others share the step.
        """
        limit = min(limit, LONGEST)
        self._costs = costs or self.shared.costs
        self._offers, self._probing = [], False
        if limit < 1:
            return NOTHING
        stake = math.inf if self.forced else GRANT + self.balance
        plain_rate = 1.0 / self._costs.at(1)
        best, best_rate = NOTHING, (0.0 if self.forced else plain_rate * MARGIN)
        for drafter in drafters:
            if drafter.name == "draft":
                continue
            for offer in drafter.propose(limit, lambda _: True):
                self._offers.append(offer)
                length, rate = best_length([self.forecast.chance(key) for key in offer.buckets], self._costs, stake)
                if rate > best_rate:
                    best, best_rate = offer.cut(length), rate
        affordable = self._affordable(limit, stake)
        for drafter in drafters:
            if drafter.name == "draft" and affordable and (self.forced or self._draft_may_pay(affordable, best_rate)):
                offers = drafter.propose(affordable, lambda so_far: self._worth_one_more(so_far, affordable))
                best = offers[0] if offers else best
                self._offers += offers
        return best

    def learn(self, chosen: Proposal, accepted: int, committed: Sequence[int], milliseconds: float) -> None:
        """A round ended: `committed` are its tokens, `milliseconds` what the target's decode took (of it, this
        request's part).
        """
        shared, costs = self.shared, self._costs
        # A stall of the machine is no reason to stop drafting: what exceeds the usual cost by far is not counted.
        usual = costs.at(len(chosen.tokens) + 1)
        spent = (min(milliseconds, STALL * usual) + chosen.milliseconds) / costs.at(1)
        if chosen.tokens:
            self.balance = min(self.balance + len(committed) - spent, CREDIT)
        else:
            self.balance = min(self.balance + ALLOWANCE, CREDIT)
        shared.decoding_ms += milliseconds + chosen.milliseconds
        if self._probing:
            shared.probing_ms += chosen.milliseconds + max(0.0, milliseconds - costs.at(1))
        if chosen.drafter == "draft":
            self.forecast.observe(FIRST_TOKEN, accepted > 0)
            if shared.draft_costs is not None:
                shared.draft_costs.observe(1, chosen.milliseconds / len(chosen.tokens))
        for offer in self._offers:
            drawn = offer.drawn_from is not None
            for i, token in enumerate(offer.tokens[: len(committed)]):
                right = i < accepted if drawn else token == committed[i]
                self.forecast.observe(offer.buckets[i], right)
                if not right:
                    break
        self._offers = []

    def _affordable(self, limit: int, stake: float) -> int:
        """How many tokens the draft model may draft so that losing all of them costs no more than the stake."""
        draft_costs, costs = self.shared.draft_costs, self._costs
        if draft_costs is None:
            return 0
        one, plain = draft_costs.at(1), costs.at(1)
        return max((k for k in range(1, limit + 1) if k * one + costs.at(k + 1) - plain <= stake * plain), default=0)

    def _draft_may_pay(self, limit: int, rate: float) -> bool:
        """By the learned acceptance it beats the rate, or, seldom, by a hopeful one it would."""
        shared = self.shared
        outlook = shared.draft_outlook(self.forecast.chance(FIRST_TOKEN), min(limit, 16), self._costs)
        if outlook / self._costs.at(1) > rate:
            return True
        self._probing = shared.may_probe()
        return self._probing

    def _worth_one_more(self, so_far: Sequence[Bucket], limit: int) -> bool:
        """Would one more drafted token raise the rate, supposing it is as good as a first token usually is?"""
        costs, draft_costs = self._costs, self.shared.draft_costs
        if len(so_far) >= limit or draft_costs is None:
            return False
        if self.forced and len(so_far) < 3:
            return True
        one, k = draft_costs.at(1), len(so_far)
        chances = [self.forecast.chance(key) for key in (*so_far, FIRST_TOKEN)]
        totals = expected_tokens(chances)
        now = totals[k] / (k * one + costs.at(k + 1))
        # A cost cliff may make the next token dear and the one at the next measured size cheap: look a little ahead.
        return any(
            (totals[k] + (totals[k + 1] - totals[k]) * j) / ((k + j) * one + costs.at(k + j + 1)) > now
            for j in (1, 2, 4)
        )
