"""Which drafter, how many tokens, or none: whatever promises the most tokens per second.

A round that verifies k drafted tokens costs draft time + t(k + 1) and brings one token more than are accepted:

    E(k) = 1 + a1 + a1 a2 + ... + a1 a2 ... ak        a_i: chance that token i is accepted, given the ones before it
    rate(k) = E(k) / (draft time + t(k + 1))          k = 0: plain decoding, 1 / t(1)

t is measured on this machine and kept current, the chances are learned from what the target does. Lookup drafts cost
nothing to make, so their chances are learned from every round, also from those that decode plainly.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from paceline.engine.acceptance import AcceptanceTable, Bucket
from paceline.engine.costs import CostModel
from paceline.engine.drafters.base import NOTHING, Drafter, Proposal

MARGIN = 1.03  # a draft must promise this much more than plain decoding: estimates err, and nobody may get slower
LONGEST = 63  # drafted tokens; with the one before them a full verification of 64
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


def best_length(chances: Sequence[float], costs: CostModel, draft_ms: float = 0.0) -> tuple[int, float]:
    """(k, rate): the length with the most expected tokens per millisecond, and that rate. k >= 1 if there is any."""
    totals = expected_tokens(chances)
    rates = [totals[k] / (draft_ms + costs.at(k + 1)) for k in range(1, len(totals))]
    if not rates:
        return 0, 0.0
    best = max(range(len(rates)), key=rates.__getitem__)
    return best + 1, rates[best]


@dataclass
class Controller:
    """Decides for one model and machine; what it learns outlives the requests."""

    costs: CostModel
    draft_costs: CostModel | None = None
    acceptance: AcceptanceTable = field(default_factory=AcceptanceTable)
    decoding_ms: float = 0.0  # spent since start, and how much of it on probing the draft model
    probing_ms: float = 0.0
    _offers: list[Proposal] = field(default_factory=list)
    _probing: bool = False

    def choose(self, drafters: Sequence[Drafter], limit: int, *, forced: bool = False) -> Proposal:
        """This round's draft, at most `limit` tokens; NOTHING where plain decoding is better.

        `forced`: always draft when there is a draft (somebody asked for that drafter by name).
        """
        limit = min(limit, LONGEST)
        self._offers, self._probing = [], False
        if limit < 1:
            return NOTHING
        best, best_rate = NOTHING, (0.0 if forced else self._plain_rate * MARGIN)
        for drafter in drafters:
            if drafter.name == "draft":
                continue
            for offer in drafter.propose(limit, lambda _: True):
                self._offers.append(offer)
                length, rate = best_length(self._chances(offer), self.costs)
                if rate > best_rate:
                    best, best_rate = offer.cut(length), rate
        for drafter in drafters:
            if drafter.name == "draft" and (forced or self._draft_may_pay(limit, best_rate)):
                offers = drafter.propose(limit, lambda so_far: self._worth_one_more(so_far, limit, forced))
                best = offers[0] if offers else best
                self._offers += offers
        return best

    def learn(self, chosen: Proposal, accepted: int, committed: Sequence[int], milliseconds: float) -> None:
        """A round ended: `committed` are its tokens, `milliseconds` what the target's decode took."""
        self.costs.observe(len(chosen.tokens) + 1, milliseconds)
        self.decoding_ms += milliseconds + chosen.milliseconds
        if self._probing:
            self.probing_ms += chosen.milliseconds + max(0.0, milliseconds - self.costs.at(1))
        if chosen.drafter == "draft":
            self.acceptance.observe(FIRST_TOKEN, accepted > 0)
        for offer in self._offers:
            drawn = offer.drawn_from is not None
            for i, token in enumerate(offer.tokens[: len(committed)]):
                right = i < accepted if drawn else token == committed[i]
                self.acceptance.observe(offer.buckets[i], right)
                if not right:
                    break
        self._offers = []

    def draft_outlook(self, chance: float, limit: int = 16) -> float:
        """Speed-up over plain decoding with the draft model, if each of its tokens had this chance. 0: no model."""
        if self.draft_costs is None:
            return 0.0
        one = self.draft_costs.at(1)
        totals = expected_tokens([chance] * limit)
        return max(totals[k] / (k * one + self.costs.at(k + 1)) for k in range(1, limit + 1)) / self._plain_rate

    @property
    def _plain_rate(self) -> float:
        return 1.0 / self.costs.at(1)

    def _chances(self, offer: Proposal) -> list[float]:
        return [self.acceptance.chance(key) for key in offer.buckets]

    def _draft_may_pay(self, limit: int, rate: float) -> bool:
        """By the learned acceptance it beats the rate, or, seldom, by a hopeful one it would."""
        outlook = self.draft_outlook(self.acceptance.chance(FIRST_TOKEN), min(limit, 16))
        if outlook * self._plain_rate > rate:
            return True
        hope = self.draft_outlook(HOPE, min(limit, 16))
        self._probing = hope > MARGIN and self.probing_ms < PROBE_SHARE * self.decoding_ms
        return self._probing

    def _worth_one_more(self, so_far: Sequence[Bucket], limit: int, forced: bool) -> bool:
        """Would one more drafted token raise the rate, supposing it is as good as a first token usually is?"""
        assert self.draft_costs is not None
        if len(so_far) >= limit:
            return False
        if forced and len(so_far) < 3:
            return True
        one = self.draft_costs.at(1)
        totals = expected_tokens([*(self.acceptance.chance(key) for key in so_far), self.acceptance.chance(FIRST_TOKEN)])
        k = len(so_far)
        now = totals[k] / (k * one + self.costs.at(k + 1))
        # A cost cliff may make the next token dear and the one at the next measured size cheap: look a little ahead.
        return any(
            (totals[k] + (totals[k + 1] - totals[k]) * j) / ((k + j) * one + self.costs.at(k + j + 1)) > now
            for j in (1, 2, 4)
        )
