"""Where the replay touches the product: the drafters of a request, its controller, a round's decision and lesson.

Everything is the product's own but the clock: what a decode takes is read off a machine's curves.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

from bench.replay.curves import Machine
from bench.replay.recording import Trace
from bench.replay.traced import TracedBackend
from paceline.engine.acceptance import AcceptanceTable
from paceline.engine.controller import Controller
from paceline.engine.costs import CostModel
from paceline.engine.drafters import Draft, Drafter, Proposal
from paceline.engine.drafters.base import Worth
from paceline.engine.drafters.model import DraftModel, ModelDrafter
from paceline.engine.drafters.team import Team
from paceline.engine.pilot import Pilot
from paceline.engine.sequence import Request
from paceline.engine.stats import Stats

REPLAYABLE = ("ngram", "edit", "draft")  # others look at what the target computed, which no trace has


class TracedDrafter(Drafter):
    """The draft model's drafter, on a recording. What a proposal takes is read off the curve."""

    name = "draft"

    def __init__(self, drafter: ModelDrafter, backend: TracedBackend, costs: CostModel | None) -> None:
        drafter.costs = None  # it would learn from the clock
        self.costs = costs
        self._drafter = drafter
        self._backend = backend

    @property
    def backlog(self) -> int:
        return self._drafter.backlog

    def extend(self, tokens: Sequence[int]) -> None:
        self._drafter.extend(tokens)

    def propose(self, limit: int, worth: Worth) -> Sequence[Proposal]:
        before = self._backend.spent
        made = self._drafter.propose(limit, worth)
        spent = self._backend.spent - before
        if made and self.costs is not None:
            self.costs.observe(1, spent / max(1, len(set(made[0].parents) or made[0].tokens)))
        return [replace(proposal, milliseconds=spent) for proposal in made]

    def close(self) -> None:
        self._drafter.close()


@dataclass
class Lineup:
    """The drafters of a request for a trace's answer, fed with its prompt; `draft`: the recorded draft model."""

    drafters: Sequence[Drafter]
    draft: TracedBackend


def new_controller(machine: Machine, acceptance: AcceptanceTable | None = None) -> Controller:
    """One that has measured this machine. `acceptance`: what it has learned before, which is left as it is."""
    target, draft = machine.measured(machine.target), machine.measured(machine.draft)
    return Controller(CostModel(target), CostModel(draft), deepcopy(acceptance) or AcceptanceTable())


def lineup(
    trace: Trace,
    ends: frozenset[int],
    machine: Machine,
    controller: Controller,
    speculation: str = "auto",
    leaves: int = 1,
) -> Lineup:
    """As the engine makes it for a request, without what cannot be replayed. leaves: ends that a draft may have."""
    backend = TracedBackend(trace, ends, machine.draft)
    target = TracedBackend(trace, ends, machine.target)
    request = Request(trace.prompt, trace.wanted, speculation=speculation, original=trace.original)
    made = Team(target, controller, DraftModel(lambda: backend), leaves).drafters(request, Stats())
    drafters: list[Drafter] = []
    for drafter in made:
        if isinstance(drafter, ModelDrafter):
            drafters.append(TracedDrafter(drafter, backend, controller.draft_costs))
        elif drafter.name in REPLAYABLE:
            drafters.append(drafter)
    return Lineup(drafters, backend)


def new_pilot(controller: Controller) -> Pilot:
    """For one request."""
    return Pilot.of(controller)


def choose(pilot: Pilot, drafters: Sequence[Drafter], limit: int, leaves: int) -> Draft:
    """The round's draft."""
    return pilot.choose(drafters, limit, None, leaves)


def considered(pilot: Pilot) -> list[tuple[Proposal, list[float]]]:
    """The offers of the round that was just decided, each with the chances of its tokens as they were estimated."""
    return [(offer, [pilot.forecast.chance(key) for key in offer.buckets]) for offer in pilot._offers]


def learn(pilot: Pilot, draft: Draft, path: Sequence[int], committed: Sequence[int], milliseconds: float) -> None:
    """What the engine tells after a round: the decode's cost and what was accepted."""
    pilot.shared.costs.observe(1 + len(draft.tokens), milliseconds)
    pilot.learn(draft, path, committed, milliseconds)
