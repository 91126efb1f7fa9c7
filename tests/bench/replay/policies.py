"""The policies that are compared, and how each plays all traces on a machine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.replay import product
from bench.replay.curves import Machine
from bench.replay.oracle import Oracle, Prospects
from bench.replay.player import Adaptive, Fixed, Policy, Run, play, prospects
from bench.replay.recording import Recording, Trace

Play = Callable[["Stage", Sequence[Trace]], list[Run]]


@dataclass
class Stage:
    """Traces and a machine to play them on. `known`: what the traces offer, which no machine changes."""

    recording: Recording
    machine: Machine
    leaves: int = 1
    known: dict[str, Prospects] = field(default_factory=dict)

    def oracle(self, trace: Trace) -> Oracle:
        """The best that could be done."""
        if trace.name not in self.known:
            everybody = self.lineup(trace, product.new_controller(self.machine))
            self.known[trace.name] = prospects(trace, everybody)
        return Oracle(len(trace.prompt), self.known[trace.name], self.machine)

    def lineup(self, trace: Trace, controller: product.Controller, speculation: str = "auto") -> product.Lineup:
        """The drafters for a trace."""
        return product.lineup(trace, self.recording.ends, self.machine, controller, speculation, self.leaves)

    def play(self, trace: Trace, policy: Policy) -> Run:
        """One answer."""
        return play(trace, self.recording.ends, self.machine, policy)

    def plain(self, trace: Trace) -> float:
        """Milliseconds of plain decoding."""
        return self.machine.target.at(1) * (len(trace.answer) - 1)

    def adaptive(self, trace: Trace, controller: product.Controller) -> Run:
        """One answer by the product's controller."""
        return self.play(trace, Adaptive(self.lineup(trace, controller), controller, self.leaves))


def fixed(speculation: str, name: str, length: int) -> Play:
    """Always so many tokens of one drafter."""

    def run(stage: Stage, traces: Sequence[Trace]) -> list[Run]:
        found = []
        for trace in traces:
            lineup = stage.lineup(trace, product.new_controller(stage.machine), speculation)
            found.append(stage.play(trace, Fixed(lineup, name, length)))
        return found

    return run


def fresh(stage: Stage, traces: Sequence[Trace]) -> list[Run]:
    """The controller, each time as on the first request after the set-up."""
    return [stage.adaptive(trace, product.new_controller(stage.machine)) for trace in traces]


def warm(stage: Stage, traces: Sequence[Trace]) -> list[Run]:
    """The controller with what it has learned on the other half of the traces, each time."""
    halves = traces[::2], traces[1::2]
    runs: dict[str, Run] = {}
    for mine, others in (halves, halves[::-1]):
        school = product.new_controller(stage.machine)
        for trace in others:
            stage.adaptive(trace, school)
        for trace in mine:
            learned = product.new_controller(stage.machine, school.acceptance)
            learned.decoding_ms, learned.probing_ms = school.decoding_ms, school.probing_ms
            runs[trace.name] = stage.adaptive(trace, learned)
    return [runs[trace.name] for trace in traces]


def hindsight(stage: Stage, traces: Sequence[Trace]) -> list[Run]:
    """The controller on each trace for the third time: what better estimates alone could bring."""
    found = []
    for trace in traces:
        controller = product.new_controller(stage.machine)
        for _ in range(2):
            stage.adaptive(trace, controller)
        found.append(stage.adaptive(trace, controller))
    return found


POLICIES: Mapping[str, Play] = {
    "ngram-4": fixed("ngram", "ngram", 4),
    "ngram-16": fixed("ngram", "ngram", 16),
    "draft-4": fixed("draft", "draft", 4),
    "fresh": fresh,
    "warm": warm,
    "hindsight": hindsight,
}
