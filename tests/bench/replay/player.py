"""Plays a trace: round by round what a policy drafts, what of it the recorded answer accepts, and what that costs."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.replay import product
from bench.replay.curves import Machine
from bench.replay.oracle import Prospects
from bench.replay.recording import Trace
from paceline.engine.drafters import NO_DRAFT, Draft, Drafter
from paceline.engine.tree import ROOT, children

LONGEST = 63


@dataclass(frozen=True)
class Decision:
    """A round: so many tokens were known, `drafters` drafted, the first `accepted` of a path stood.

    `missing`: committed tokens that the draft model's cache lacked before and after the round.
    """

    position: int
    drafters: Sequence[str]
    accepted: int
    committed: int
    milliseconds: float
    missing: tuple[int, int]

    @property
    def drafted(self) -> int:
        """Tokens verified."""
        return len(self.drafters)


@dataclass
class Run:
    """A whole answer."""

    trace: Trace
    decisions: list[Decision] = field(default_factory=list)

    @property
    def milliseconds(self) -> float:
        """From the first token to the last."""
        return sum(decision.milliseconds for decision in self.decisions)


class Policy:
    """Decides rounds of one answer."""

    def __init__(self, lineup: product.Lineup) -> None:
        self.lineup = lineup

    def choose(self, limit: int) -> Draft:
        """What is drafted now, at most so many tokens."""
        return NO_DRAFT

    def learn(self, draft: Draft, path: Sequence[int], committed: Sequence[int], milliseconds: float) -> None:
        """How it went: milliseconds of the target's decode."""


class Fixed(Policy):
    """The first offer of the drafters of one kind, always, and so many tokens of it."""

    def __init__(self, lineup: product.Lineup, name: str, length: int) -> None:
        super().__init__(lineup)
        self._drafters = [drafter for drafter in lineup.drafters if drafter.name == name]
        self._length = length

    def choose(self, limit: int) -> Draft:
        for drafter in self._drafters:
            offers = drafter.propose(min(limit, self._length), lambda so_far: len(so_far) < self._length)
            for offer in offers:
                if not offer.parents:
                    return Draft.of(offer, self._length)
        return NO_DRAFT


class Adaptive(Policy):
    """The product's own controller."""

    def __init__(self, lineup: product.Lineup, controller: product.Controller, leaves: int) -> None:
        super().__init__(lineup)
        self._pilot = product.new_pilot(controller)
        self._leaves = leaves

    def choose(self, limit: int) -> Draft:
        return product.choose(self._pilot, self.lineup.drafters, limit, self._leaves)

    def learn(self, draft: Draft, path: Sequence[int], committed: Sequence[int], milliseconds: float) -> None:
        product.learn(self._pilot, draft, path, committed, milliseconds)


def play(trace: Trace, ends: frozenset[int], machine: Machine, policy: Policy) -> Run:
    """The whole answer. Its first token comes with the prompt; nothing is drafted for it."""
    run, answer, drafters = Run(trace), trace.answer, policy.lineup.drafters
    known = [*trace.prompt, answer[0]]
    feed(drafters, answer[:1])
    at = 1
    while at < len(answer):
        before = len(known) - policy.lineup.draft.shared_with(known)
        limit = trace.wanted - at - 1
        draft = NO_DRAFT if limit < 1 else clip(policy.choose(limit), ends)
        path = accepted(draft, answer[at:])
        committed = answer[at : at + len(path) + 1]
        cost = machine.target.at(1 + len(draft.tokens))
        policy.learn(draft, path, committed, cost)
        known.extend(committed)
        feed(drafters, committed)
        missing = before, len(known) - policy.lineup.draft.shared_with(known)
        run.decisions.append(
            Decision(at, tuple(draft.drafters), len(path), len(committed), cost + draft.milliseconds, missing)
        )
        at += len(committed)
    return run


def accepted(draft: Draft, future: Sequence[int]) -> list[int]:
    """The drafted tokens that the target chooses too, from the root on."""
    if not draft.parents:
        pairs = enumerate(zip(draft.tokens, future, strict=False))
        return list(range(next((i for i, (a, b) in pairs if a != b), min(len(draft.tokens), len(future)))))
    followers, path, last = children(draft.parents), list[int](), ROOT
    for token in future:
        node = next((node for node in followers.get(last, ()) if draft.tokens[node] == token), None)
        if node is None:
            break
        path.append(node)
        last = node
    return path


def clip(draft: Draft, ends: frozenset[int]) -> Draft:
    """Without what stands behind the end of the answer, as a round does it."""
    if draft.parents:
        return draft
    return draft.cut(next((i + 1 for i, token in enumerate(draft.tokens) if token in ends), len(draft.tokens)))


def feed(drafters: Sequence[Drafter], tokens: Sequence[int]) -> None:
    for drafter in drafters:
        drafter.extend(tokens)


def prospects(trace: Trace, lineup: product.Lineup) -> Prospects:
    """What each position offers to who knows the answer. The lookup drafters must not look at how rounds went."""
    answer, lookup = trace.answer, [0]
    free = [drafter for drafter in lineup.drafters if drafter.costs is None and drafter.name != "draft"]
    right = [guess.tokens[0] == token for guess, token in zip(trace.guesses, answer, strict=False)]
    draft = [0] * len(answer)
    for i in range(len(answer) - 1, 0, -1):
        draft[i] = 1 + (draft[i + 1] if i + 1 < len(answer) else 0) if i < len(right) and right[i] else 0
    feed(free, answer[:1])
    for i in range(1, len(answer)):
        limit = min(trace.wanted - i - 1, LONGEST)
        offers = [offer for drafter in free for offer in drafter.propose(limit, lambda _: True)] if limit > 0 else []
        paths = [accepted(Draft.of(offer), answer[i:]) for offer in offers]
        lookup.append(max((len(path) for path in paths), default=0))
        feed(free, answer[i : i + 1])
    return Prospects(lookup, draft)
