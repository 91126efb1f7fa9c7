"""What the runs of a workload amount to: medians, ratios within repetitions, acceptance. Pure functions of the records.

The speed-up is the median over the repetitions of (speed with drafts) / (plain speed), both of one repetition.
"""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from paceline.bench.runner import PLAIN, Difference, Record, first_difference
from paceline.config import Speculation
from paceline.engine.sequence import Finished

SAME = 0.05  # a speed-up within this of 1 is none


@dataclass(frozen=True)
class DrafterFigures:
    """One drafter's part in all runs of a mode."""

    name: str
    rounds: int  # in which something of it was verified
    drafted: int
    accepted: int
    by_position: tuple[tuple[int, int], ...]  # (verified, accepted) of the first, second, ... tokens of its drafts

    @property
    def mean_length(self) -> float:
        """Tokens accepted of one of its drafts."""
        return self.accepted / self.rounds if self.rounds else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "rounds": self.rounds,
            "draft_n": self.drafted,
            "draft_n_accepted": self.accepted,
            "mean_accepted_length": round(self.mean_length, 3),
            "acceptance_by_position": [round(kept / verified, 3) for verified, kept in self.by_position],
        }


@dataclass(frozen=True)
class ModeFigures:
    """A workload in one mode, beside plain decoding."""

    mode: Speculation
    speed: float  # tokens per second, the median
    speed_ups: tuple[float, ...]  # one a repetition
    rounds: int
    drafters: tuple[DrafterFigures, ...]
    difference: Difference | None  # from what plain decoding said
    notes: tuple[str, ...]  # why something was not done

    @property
    def speed_up(self) -> float:
        """The median."""
        return statistics.median(self.speed_ups)

    @property
    def changes_speed(self) -> bool:
        """Whether the ratios say something: they are not near 1, and not on both sides of it."""
        return abs(self.speed_up - 1) > SAME and not min(self.speed_ups) <= 1 <= max(self.speed_ups)

    @property
    def mean_length(self) -> float:
        """Drafted tokens accepted in a round, those without a draft included."""
        return sum(each.accepted for each in self.drafters) / self.rounds if self.rounds else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "tokens_per_second": round(self.speed, 3),
            "speed_up": round(self.speed_up, 3),
            "speed_ups": [round(each, 3) for each in self.speed_ups],
            "rounds": self.rounds,
            "draft_n": sum(each.drafted for each in self.drafters),
            "draft_n_accepted": sum(each.accepted for each in self.drafters),
            "mean_accepted_length": round(self.mean_length, 3),
            "drafters": {each.name: each.to_json() for each in self.drafters},
            "first_difference": None if self.difference is None else asdict(self.difference),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class WorkloadFigures:
    """A workload, plain and in each mode that was measured."""

    name: str
    title: str
    prompt_tokens: int
    tokens: int  # of the plain answer
    plain: float  # tokens per second, the median
    modes: tuple[ModeFigures, ...]
    disturbed: bool

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "title": self.title,
            "prompt_n": self.prompt_tokens,
            "predicted_n": self.tokens,
            "plain_tokens_per_second": round(self.plain, 3),
            "busy": self.disturbed,
            "modes": {each.mode: each.to_json() for each in self.modes},
        }


def speed(run: Finished) -> float | None:
    """Tokens per second after the first one, which the prompt's decode brings. None: there was no second."""
    stats = run.stats
    if stats.predicted_tokens < 2 or stats.predicted_ms <= 0:
        return None
    return (stats.predicted_tokens - 1) / stats.predicted_ms * 1000


def figures(record: Record) -> WorkloadFigures | None:
    """The figures of a workload; None: no repetition is complete, or its answers are too short to be timed."""
    plain = [pace for run in record.runs.get(PLAIN, ()) if (pace := speed(run)) is not None]
    modes = [found for mode in record.runs if mode != PLAIN and (found := _mode(record, mode)) is not None]
    if not modes:
        return None
    workload, first = record.workload, record.runs[PLAIN][0]
    return WorkloadFigures(
        name=workload.name,
        title=workload.title,
        prompt_tokens=len(record.prompt),
        tokens=len(first.tokens),
        plain=statistics.median(plain),
        modes=tuple(modes),
        disturbed=record.disturbed,
    )


def acceptance(modes: Iterable[ModeFigures]) -> dict[str, list[float]]:
    """By drafter, over all these runs: the share of drafts of which the first, second, ... token was accepted."""
    parts: dict[str, list[DrafterFigures]] = {}
    for mode in modes:
        for drafter in mode.drafters:
            parts.setdefault(drafter.name, []).append(drafter)
    shares = {}
    for name, each in parts.items():
        verified, accepted = Counter[int](), Counter[int]()
        for drafter in each:
            for at, (seen, kept) in enumerate(drafter.by_position):
                verified[at] += seen
                accepted[at] += kept
        shares[name] = [accepted[at] / verified[at] for at in range(len(verified)) if verified[at]]
    return {name: found for name, found in shares.items() if found}


def _mode(record: Record, mode: Speculation) -> ModeFigures | None:
    pairs = list(record.pairs(mode))
    timed = [(fast, slow) for plain, other in pairs if (slow := speed(plain)) and (fast := speed(other)) is not None]
    if not timed:
        return None
    runs = [run for _, run in pairs]
    return ModeFigures(
        mode=mode,
        speed=statistics.median(fast for fast, _ in timed),
        speed_ups=tuple(fast / slow for fast, slow in timed),
        rounds=sum(run.stats.rounds for run in runs),
        drafters=_drafters(runs),
        difference=record.differences.get(mode) or _difference(pairs),
        notes=tuple(dict.fromkeys(note for run in runs for note in run.stats.notes)),
    )


def _difference(pairs: Iterable[tuple[Finished, Finished]]) -> Difference | None:
    """The first pair of answers that are not the same."""
    found = (first_difference(plain.tokens, other.tokens) for plain, other in pairs)
    return next((Difference(at) for at in found if at is not None), None)


def _drafters(runs: Sequence[Finished]) -> tuple[DrafterFigures, ...]:
    names = dict.fromkeys(name for run in runs for name in run.stats.drafters)
    return tuple(_drafter(name, [run.stats.drafters for run in runs]) for name in names)


def _drafter(name: str, runs: Sequence[Mapping[str, Any]]) -> DrafterFigures:
    parts = [stats[name] for stats in runs if name in stats]
    verified, accepted = Counter[int](), Counter[int]()
    for part in parts:
        verified.update(part.proposed_at)
        accepted.update(part.accepted_at)
    return DrafterFigures(
        name=name,
        rounds=sum(part.rounds for part in parts),
        drafted=sum(part.drafted for part in parts),
        accepted=sum(part.accepted for part in parts),
        by_position=tuple((verified[at], accepted[at]) for at in range(max(verified, default=-1) + 1) if verified[at]),
    )
