"""Which tree of drafted tokens to verify, out of what several drafters offer.

With R(v) the chance that token v of a tree is reached and accepted, a round brings 1 + sum of R(v) tokens and costs
t(number of tokens + 1). R falls along every path, so the best tree of m tokens consists of the m largest R, and
growing it token by token, largest first, finds the best of every size (as OPT-Tree, Wang et al. 2024, and Sequoia, Chen
et al. 2024, do for one drafter). A younger sibling stands only where its elders were wrong:

    R(v) = R(parent) * chance(v) * product over elder siblings u of (1 - chance(u))
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from paceline.engine.costs import Costs
from paceline.engine.drafters.base import Draft, Proposal
from paceline.engine.sampler import Distribution
from paceline.engine.tree import ROOT, Parents, is_chain

WORST = 4.0  # plain decodes by which a single draft may overdraw the stake, if nothing of it is accepted
EDGE = 0.15  # a draft may also be expected to lose this share of what it is expected to win
RISK = 0.5  # a draft must be expected to win this share of what it may be expected to lose: the estimates err
FAINT = 0.01  # tokens that are reached less often are not worth looking at


@dataclass
class Candidates:
    """A trie of everything that was offered. A token offered twice in one place is one candidate.

    Drawn tokens are all verified, as leaving one out for what it is would change what comes out (engine.verify).
    """

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)
    drafters: list[str] = field(default_factory=list)
    drawn: list[Distribution | None] = field(default_factory=list)
    children: dict[int, list[int]] = field(default_factory=dict)

    def add(self, offer: Proposal, chances: Sequence[float]) -> None:
        """Merge an offer, whose i-th token has chance i given that those it follows were accepted. Drawn ones first."""
        places: list[int] = []
        reaches: list[float] = []
        for i, (token, chance) in enumerate(zip(offer.tokens, chances, strict=False)):
            up = offer.parents[i] if offer.parents else i - 1
            parent = ROOT if up == ROOT else places[up]
            reach = chance * (1.0 if up == ROOT else reaches[up])
            drawn = offer.drawn_from[i] if offer.drawn_from is not None else None
            if reach < FAINT and drawn is None and not offer.parents:
                return
            places.append(self._place(token, parent, chance, offer.drafter, drawn))
            reaches.append(reach)

    def _place(self, token: int, parent: int, chance: float, drafter: str, drawn: Distribution | None) -> int:
        siblings = self.children.setdefault(parent, [])
        for node in siblings:
            if self.tokens[node] == token and (drawn is None or self.drawn[node] is None):
                if drawn is not None:  # what was drawn stays drawn
                    self.drawn[node], self.drafters[node] = drawn, drafter
                self.chances[node] = max(self.chances[node], chance)
                return node
        node = len(self.tokens)
        self.tokens.append(token)
        self.parents.append(parent)
        self.chances.append(chance)
        self.drafters.append(drafter)
        self.drawn.append(drawn)
        siblings.append(node)
        return node


@dataclass(frozen=True)
class Growth:
    """A tree and what it promises."""

    draft: Draft
    rate: float  # expected tokens per millisecond


def expected_loss(totals: Sequence[float], k: int, cost: float) -> float:
    """Plain decodes that a draft k tokens deep is expected to lose where it loses: E[max(0, cost - tokens)].

    `totals[j]`: tokens that a round brings when the draft is cut at depth j, totals[0] = 1. `cost` of the round in
    plain decodes. A round brings j + 1 tokens with probability S(j) - S(j + 1), where S(j) = totals[j] - totals[j - 1]
    is the chance that j are accepted, S(0) = 1.
    """
    loss = 0.0
    for j in range(min(k, math.ceil(cost) - 1) + 1):
        reached = totals[j] - totals[j - 1] if j else 1.0
        loss += (reached - (totals[j + 1] - totals[j] if j < k else 0.0)) * max(0.0, cost - j - 1)
    return loss


def affordable(totals: Sequence[float], k: int, cost: float, stake: float) -> bool:
    """Whether a draft k tokens deep that costs so many plain decodes puts no more than allowed at risk.

    It may be expected to lose `stake` plain decodes where it loses or, where that is more, EDGE of what it is expected
    to win; and WORST beyond the stake if nothing of it is accepted. And it must be expected to win RISK of what it is
    expected to lose where it loses, as the estimates err.
    """
    if cost - 1 > stake + WORST:
        return False
    loss, gain = expected_loss(totals, k, cost), totals[k] - cost
    return loss <= max(stake, EDGE * gain) and (gain >= RISK * loss or stake == math.inf)


def best_tree(
    candidates: Candidates,
    costs: Costs,
    *,
    depth: int,
    room: int,
    leaves: int,
    stake: float,
    spent: float = 0.0,
) -> Growth | None:
    """The tree with the most expected tokens per millisecond: so deep, of so many tokens, with so many ends at most.

    stake: plain decodes that may be lost (`affordable`). spent: milliseconds that went into making the offers.
    None: no tree is possible.
    """
    plain = costs.at(1)
    selected: list[int] = []
    place: dict[int, int] = {}
    ends = 0
    deep: dict[int, int] = {ROOT: 0}
    by_depth = [1.0]  # expected tokens at each depth
    expected, best, best_rate = 1.0, 0, 0.0
    must = {node for node, drawn_from in enumerate(candidates.drawn) if drawn_from is not None}
    drawn = bool(must)
    parents: set[int] = set()
    queue = [(-reach, node) for node, reach in _reaches(candidates, ROOT, 1.0)]
    heapq.heapify(queue)
    while queue and len(selected) < room:
        reach, node = _next(queue, must)
        parent = candidates.parents[node]
        if reach < FAINT and node not in must:
            break
        if parent in parents or not ends:
            if ends >= leaves:
                continue
            ends += 1
        parents.add(parent)
        must.discard(node)
        place[node] = len(selected)
        selected.append(node)
        deep[node] = deep[parent] + 1
        if deep[node] == len(by_depth):
            by_depth.append(0.0)
        by_depth[deep[node]] += reach
        expected += reach
        for child, reached in _reaches(candidates, node, reach) if deep[node] < depth else ():
            heapq.heappush(queue, (-reached, child))
        cost = costs.at(len(selected) + 1)
        if must or (best and expected <= best_rate * (cost + spent)):
            continue
        if drawn or affordable(list(accumulate(by_depth)), len(by_depth) - 1, cost / plain, stake):
            best, best_rate = len(selected), expected / (cost + spent)
    if not best:
        return None
    return Growth(_draft(candidates, selected[:best], place, spent), best_rate)


def _reaches(candidates: Candidates, parent: int, reach: float) -> list[tuple[int, float]]:
    """The children of a token, each with the chance that it is reached and accepted; drawn ones are tried first."""
    found: list[tuple[int, float]] = []
    nodes = candidates.children.get(parent, [])
    if len(nodes) > 1:
        nodes = sorted(
            nodes, key=lambda node: (1, -candidates.chances[node]) if candidates.drawn[node] is None else (0, 0)
        )
    for node in nodes:
        chance = candidates.chances[node]
        found.append((node, reach * chance))
        reach *= 1.0 - chance
    return found


def _next(queue: list[tuple[float, int]], must: set[int]) -> tuple[float, int]:
    """The likeliest candidate, (chance to be reached and accepted, token); before all, in their order, drawn ones."""
    due = min((at for at, (_, node) in enumerate(queue) if node in must), key=lambda at: queue[at][1], default=None)
    if due is None:
        negative, node = heapq.heappop(queue)
    else:
        negative, node = queue.pop(due)
        heapq.heapify(queue)
    return -negative, node


def _draft(candidates: Candidates, nodes: Sequence[int], place: dict[int, int], spent: float) -> Draft:
    parents: Parents = [ROOT if candidates.parents[node] == ROOT else place[candidates.parents[node]] for node in nodes]
    return Draft(
        [candidates.tokens[node] for node in nodes],
        [candidates.drafters[node] for node in nodes],
        [candidates.drawn[node] for node in nodes],
        () if is_chain(parents) else parents,
        spent,
    )
