"""One request's decisions, round by round: what is drafted, and what is learned from how it went."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from paceline.engine.acceptance import Bucket, Forecast
from paceline.engine.backend import DecodeAborted
from paceline.engine.controller import MARGIN, Controller, best_length, expected_tokens
from paceline.engine.costs import Costs
from paceline.engine.drafters.base import NO_DRAFT, Draft, Drafter, Proposal, Worth
from paceline.engine.growth import FAINT, Candidates, best_tree
from paceline.engine.paper import SHORT, Paper
from paceline.engine.rivals import marked
from paceline.engine.tree import ROOT
from paceline.engine.tree import leaves as ends_of

LONGEST = 63  # drafted tokens; with the one before them a full verification of 64
GRANT = 1.0  # plain decodes that a request may lose on drafts before it has won any
ALLOWANCE = 0.0025  # and what is added per plain token
STALL = 1.5  # times the usual cost: more than that is somebody else's doing
CREDIT = 20.0  # winnings that may be put at stake
FIRST_TOKEN: Bucket = ("draft-mean", 0)


FEW = 8  # committed tokens that a draft model reads with the next draft
TRUST = 1.2  # what the outlook of a draft model is worth that has won more than it may lose
EXTRA = 2.0  # plain decodes that a draft model may lose beyond that, as much of its cost is its own time
HORIZON = 128  # tokens that an answer may be expected to go on for


def always(so_far: Sequence[Bucket]) -> bool:
    """One more token costs nothing."""
    return True


class Remembered:
    """Costs that are looked up once for each size: a round asks for the same ones many times."""

    def __init__(self, costs: Costs) -> None:
        self._costs = costs
        self._known: dict[int, float] = {}

    def at(self, m: int) -> float:
        """Milliseconds."""
        found = self._known.get(m)
        if found is None:
            found = self._known[m] = self._costs.at(m)
        return found


@dataclass(frozen=True)
class Failure:
    """A drafter that could not go on."""

    drafter: Drafter
    error: Exception


@dataclass
class Pilot:
    """Decides round by round for one request. `failed`: drafters that are not asked again.

    `forced`: it always drafts when there is a draft, as somebody asked for that drafter by name.
    """

    shared: Controller
    forecast: Forecast
    forced: bool = False
    balance: float = 0.0  # what drafting has gained in this request, in plain decodes
    on_paper: float = 0.0  # what drafts that were not made for what had been lost would have gained
    failed: list[Failure] = field(default_factory=list)
    _offers: list[Proposal] = field(default_factory=list)
    _probing: bool = False
    _paper: Paper = field(default_factory=Paper)
    _room: int = LONGEST

    def __post_init__(self) -> None:
        self._costs: Costs = self.shared.costs

    @classmethod
    def of(cls, shared: Controller, *, forced: bool = False) -> "Pilot":
        """For a new request."""
        return cls(shared, Forecast(shared.acceptance), forced)

    def choose(
        self,
        drafters: Sequence[Drafter],
        limit: int,
        costs: Costs | None = None,
        leaves: int = 1,
        room: int = LONGEST,
    ) -> Draft:
        """The round's draft; NO_DRAFT where plain decoding is better. Raises DecodeAborted.

        limit: how far it may reach. leaves: how many ends it may have. room: and tokens, where it branches.
        costs: what a round costs this request, where others share the step.
        """
        wanted, limit, self._room = limit, min(limit, LONGEST), min(room, LONGEST)
        self._costs = Remembered(costs or self.shared.costs)
        self._offers, self._probing = [], False
        if limit < 1:
            return NO_DRAFT
        stake = math.inf if self.forced else GRANT + self.balance
        best, rate, whole, maker = NO_DRAFT, (0.0 if self.forced else MARGIN / self._costs.at(1)), False, ""
        free = [offer for drafter in drafters if not drafter.costs for offer in self._ask(drafter, limit, always)]
        self._offers = marked(free)
        for offer in self._offers:
            length, promised = self._length(offer, stake, leaves)
            if promised > rate:
                best, rate, whole = Draft.of(offer, length), promised, offer.whole
        if not best.tokens and self.balance < 0:
            self._play_on_paper()
        for drafter in drafters:
            affordable = self._affordable(drafter.costs, limit, stake + EXTRA) if drafter.costs else 0
            if drafter.costs and affordable and (self.forced or self._may_pay(drafter, affordable, rate, wanted)):
                made = self._ask(drafter, affordable, self._worth_one_more(drafter.costs, affordable))
                self._offers[:0] = made  # drawn tokens come before others
                if made:
                    best, whole, maker = Draft.of(made[0]), False, drafter.name
        if best.milliseconds:
            return replace(self._grown(best, rate, limit, leaves, stake), maker=maker)
        if leaves > 1 and not whole and self._may_branch(best, rate):
            return self._grown(best, rate, limit, leaves, stake)
        return best

    def learn(self, chosen: Draft, path: Sequence[int], committed: Sequence[int], milliseconds: float) -> None:
        """A round ended: the draft's tokens on `path` stood, `committed` are the round's tokens, `milliseconds` what
        the target's decode took (of it, this request's part).
        """
        shared, costs = self.shared, self._costs
        # A stall of the machine is no reason to stop drafting: what exceeds the usual cost by far is not counted.
        usual = costs.at(len(chosen.tokens) + 1)
        spent = (min(milliseconds, STALL * usual) + chosen.milliseconds) / costs.at(1)
        if chosen.tokens:
            self.balance = min(self.balance + len(committed) - spent, CREDIT)
        else:
            self.balance = min(self.balance + ALLOWANCE, CREDIT)
        won = self._paper.follow(committed)
        self.on_paper += max(0.0, won)
        self.balance = min(self.balance + max(0.0, won), max(self.balance, 0.0))  # what was lost can be won back
        shared.decoding_ms += milliseconds + chosen.milliseconds
        if self._probing:
            shared.probing_ms += chosen.milliseconds + max(0.0, milliseconds - costs.at(1))
        for offer in self._offers:
            right = self._score_drawn(offer, path, chosen) if offer.drawn_from else self._score(offer, committed)
            if offer.milliseconds:
                self.forecast.observe(FIRST_TOKEN, right)
        self._offers = []

    def _play_on_paper(self) -> None:
        """Note the draft that the stake forbids, if there is one, to see whether the text has turned for the better."""
        if self._paper.busy:
            return
        best, rate = NO_DRAFT, MARGIN / self._costs.at(1)
        for offer in self._offers:
            if not (offer.whole or offer.parents):
                length, promised = best_length(self._chances(offer), self._costs)
                if promised > rate:
                    best, rate = Draft.of(offer, min(length, SHORT)), promised
        if best.tokens:
            self._paper.begin(best.tokens, self._costs.at(len(best.tokens) + 1) / self._costs.at(1))

    def _ask(self, drafter: Drafter, limit: int, worth: Worth) -> list[Proposal]:
        """A drafter's offers. One that fails is not asked again."""
        if any(failure.drafter is drafter for failure in self.failed):
            return []
        try:
            return list(drafter.propose(limit, worth))
        except DecodeAborted:
            raise
        except Exception as error:  # whatever it is, the answer goes on without it
            self.failed.append(Failure(drafter, error))
            return []

    def _chances(self, offer: Proposal) -> list[float]:
        """Of an offer's tokens; those so far back that they are hardly ever reached are left out of a chain."""
        found: list[float] = []
        reached = 1.0
        for key in offer.buckets:
            chance = self.forecast.chance(key)
            reached *= chance
            if reached < FAINT and found and not (offer.parents or offer.whole or offer.drawn_from):
                break
            found.append(chance)
        return found

    def _length(self, offer: Proposal, stake: float, leaves: int) -> tuple[int, float]:
        """(tokens to verify of this offer alone, rate); (0, 0.0): it does not pay."""
        if offer.whole:
            return self._whole(offer, stake, leaves)
        if offer.parents:
            return 0, 0.0  # `_grown` looks at it
        return best_length(self._chances(offer), self._costs, stake)

    def _whole(self, offer: Proposal, stake: float, leaves: int) -> tuple[int, float]:
        """The same for an offer that is verified as it is, for the sake of what it brings later too."""
        n, plain = len(offer.tokens), self._costs.at(1)
        cost = self._costs.at(n + 1)
        if n > self._room or len(ends_of(offer.parents)) > leaves or cost / plain - 1 > stake:
            return 0, 0.0
        expected, reaches = 1.0 + offer.future, list[float]()
        for i, chance in enumerate(self._chances(offer)):
            parent = offer.parents[i] if offer.parents else i - 1
            reaches.append(chance * (1.0 if parent == ROOT else reaches[parent]))
            expected += reaches[-1]
        return n, expected / cost

    def _grown(self, best: Draft, rate: float, limit: int, leaves: int, stake: float) -> Draft:
        """The best of all trees that can be made of the offers, or the best chain where that promises more.

        Time that went into a draft is gone: it is compared with plain decoding from there on.
        """
        candidates = Candidates()
        for offer in self._offers:
            if not offer.whole:
                candidates.add(offer, self._chances(offer))
        spent, room = best.milliseconds, self._room
        grown = best_tree(candidates, self._costs, depth=limit, room=room, leaves=leaves, stake=stake, spent=spent)
        if spent:
            best, rate = (
                Draft((), (), (), milliseconds=spent),
                0.0 if self.forced else 1.0 / (self._costs.at(1) + spent),
            )
        drawn = any(each is not None for each in candidates.drawn)
        return grown.draft if grown is not None and (grown.rate > rate or drawn) else best

    def _may_branch(self, best: Draft, rate: float) -> bool:
        """Whether any other token could be worth its place beside the best chain: an upper bound, quickly."""
        k = len(best.tokens)
        more = self._costs.at(k + 2) - self._costs.at(k + 1)
        likely = 0.0
        for offer in self._offers:
            if offer.whole:
                continue
            if offer.parents:
                likely = 1.0
            elif list(offer.tokens[:k]) != list(best.tokens[: len(offer.tokens)]):
                likely = max(likely, self.forecast.chance(offer.buckets[0]))
        return likely > 0.0 and likely > rate * more

    def _score(self, offer: Proposal, committed: Sequence[int]) -> bool:
        """Tell the estimates which tokens of an offer were right; whether the first of them was."""
        right: dict[int, bool] = {ROOT: True}
        depth: dict[int, int] = {ROOT: 0}
        for i, token in enumerate(offer.tokens):
            parent = offer.parents[i] if offer.parents else i - 1
            if not right.get(parent):
                if not offer.parents:
                    break
                continue
            depth[i] = depth[parent] + 1
            if depth[i] <= len(committed):
                right[i] = token == committed[depth[i] - 1]
                self.forecast.observe(offer.buckets[i], right[i])
        return right.get(0, False)

    def _score_drawn(self, offer: Proposal, path: Sequence[int], chosen: Draft) -> bool:
        """The same where a token can be rejected and chosen all the same: what was accepted counts."""
        accepted = [chosen.tokens[node] for node in path]
        for i, token in enumerate(offer.tokens):
            right = i < len(accepted) and accepted[i] == token
            self.forecast.observe(offer.buckets[i], right)
            if not right:
                break
        return accepted[:1] == list(offer.tokens[:1])

    def _affordable(self, draft: Costs, limit: int, stake: float) -> int:
        """How many tokens may be drafted at these costs so that losing all of them costs no more than the stake."""
        costs, one, plain = self._costs, draft.at(1), self._costs.at(1)
        return max((k for k in range(1, limit + 1) if k * one + costs.at(k + 1) - plain <= stake * plain), default=0)

    def _may_pay(self, drafter: Drafter, limit: int, rate: float, wanted: int) -> bool:
        """By the learned acceptance it beats the rate, or, seldom, by a hopeful one it would.

        What it has to read first must come in again before the answer ends, or within `HORIZON` tokens. It is loaded
        once as much time has been lost without it as loading takes.
        """
        shared, draft, plain = self.shared, drafter.costs, self._costs.at(1)
        assert draft is not None, "only drafters that decode are weighed like this"
        reading = draft.at(drafter.backlog) if drafter.backlog > FEW else 0.0
        outlook = shared.outlook(self.forecast.chance(FIRST_TOKEN), draft, min(limit, 16), self._costs)
        if not reading and self.balance > GRANT:  # it knows best when to stop, which the outlook does not reckon with
            outlook *= TRUST
        loading = drafter.loading_ms
        gain = 1 - 1 / outlook if outlook else 0.0  # of the time
        pays = outlook / plain > rate and min(wanted, HORIZON) * plain * gain > reading
        if pays and (not loading or shared.decoding_ms * gain > loading):
            return True
        self._probing = shared.may_probe(draft, reading + loading)
        return self._probing

    def _worth_one_more(self, draft: Costs, limit: int) -> Worth:
        """Would one more drafted token raise the rate, supposing it is as good as a first token usually is?"""
        costs, one = self._costs, draft.at(1)

        def worth(so_far: Sequence[Bucket]) -> bool:
            k = len(so_far)
            if k >= limit:
                return False
            if self.forced and k < 3:
                return True
            totals = expected_tokens([self.forecast.chance(key) for key in (*so_far, FIRST_TOKEN)])
            now = totals[k] / (k * one + costs.at(k + 1))
            # A cost cliff may make the next token dear and the one at the next measured size cheap: look ahead.
            return any(
                (totals[k] + (totals[k + 1] - totals[k]) * j) / ((k + j) * one + costs.at(k + j + 1)) > now
                for j in (1, 2, 4)
            )

        return worth
