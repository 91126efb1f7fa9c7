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

from paceline.engine.acceptance import AcceptanceTable
from paceline.engine.costs import CostModel, Costs
from paceline.engine.growth import affordable

MARGIN = 1.03  # a draft must promise this much more than plain decoding: estimates err, and nobody may get slower
PROBE_SHARE = 0.01  # of the time may go into finding out whether the draft model pays
HOPE = 0.9  # the acceptance at which a draft model is still worth a probe


def expected_tokens(chances: Sequence[float]) -> list[float]:
    """E(0), E(1), ..., E(n): tokens a round brings when the first k of these n are verified."""
    totals, reached = [1.0], 1.0
    for chance in chances:
        reached *= chance
        totals.append(totals[-1] + reached)
    return totals


def best_length(chances: Sequence[float], costs: Costs, stake: float = math.inf) -> tuple[int, float]:
    """(k, rate): the length with the most expected tokens per millisecond, and that rate; (0, 0.0): none is possible.

    `stake`: plain decodes that may be lost (`affordable`).
    """
    totals, plain = expected_tokens(chances), costs.at(1)
    best, best_rate = 0, 0.0
    for k in range(1, len(totals)):
        cost = costs.at(k + 1)
        if totals[k] > best_rate * cost and affordable(totals, k, cost / plain, stake):
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

    def __post_init__(self) -> None:
        if self.draft_costs is not None:  # what slows one down slows both, and the draft may not have run for long
            self.draft_costs.beside = self.costs

    def outlook(self, chance: float, draft: Costs | None = None, limit: int = 16, costs: Costs | None = None) -> float:
        """Speed-up over plain decoding with a drafter that decodes at these costs (the draft model's, if none are
        given), if each of its tokens had this chance. 0: there is none.
        """
        draft, costs = draft or self.draft_costs, costs or self.costs
        if draft is None or limit < 1:
            return 0.0
        one, totals = draft.at(1), expected_tokens([chance] * limit)
        return max(totals[k] / (k * one + costs.at(k + 1)) for k in range(1, limit + 1)) * costs.at(1)

    def may_probe(self, draft: Costs, reading_ms: float = 0.0) -> bool:
        """Whether there is time to find out if a drafter that decodes at these costs pays.

        reading_ms: what it takes to read what it has not read.
        """
        budget = PROBE_SHARE * self.decoding_ms
        return (
            self.outlook(HOPE, draft) > MARGIN and self.probing_ms < budget and self.probing_ms + reading_ms <= budget
        )
