"""Runs of workloads as if they had been measured, and what is made of them."""

from collections.abc import Sequence

from paceline.bench.figures import WorkloadFigures, figures
from paceline.bench.report import Report, Setting
from paceline.bench.runner import PLAIN, Difference, Record
from paceline.bench.workloads import Workload
from paceline.engine.costs import CostCurve
from paceline.engine.sequence import Finished
from paceline.engine.stats import DrafterStats, Stats

TARGET_CURVE = CostCurve((1, 2, 4, 8, 16), (50.0, 90.0, 160.0, 200.0, 280.0))
DRAFT_CURVE = CostCurve((1, 2, 4), (20.0, 35.0, 60.0))


def ran(
    speed: float, tokens: Sequence[int] = range(101), notes: Sequence[str] = (), **drafts: Sequence[tuple[int, int]]
) -> Finished:
    """An answer at so many tokens per second. drafts: (drafted, accepted) of each draft, by drafter; all chains."""
    drafters: dict[str, DrafterStats] = {}
    for name, each in drafts.items():
        own = drafters[name] = DrafterStats(rounds=len(each))
        for drafted, accepted in each:
            own.drafted += drafted
            own.accepted += accepted
            own.proposed_at.update(range(drafted))
            own.accepted_at.update(range(accepted))
    stats = Stats(
        predicted_tokens=len(tokens),
        predicted_ms=(len(tokens) - 1) / speed * 1000,
        rounds=len(tokens) - sum(each.accepted for each in drafters.values()),
        drafters=drafters,
        notes=list(notes),
    )
    return Finished("length", stats, list(tokens))


def record(name: str, plain: Sequence[Finished], disturbed: bool = False, **modes: Sequence[Finished]) -> Record:
    """A workload whose runs were these, by mode."""
    runs = {PLAIN: list(plain), **{mode: list(each) for mode, each in modes.items()}}
    return Record(Workload(name, f"about {name}", prompt="?"), [1, 2, 3], runs, disturbed=disturbed)


def measured(name: str, *speed_ups: float, mode: str = "auto", **how) -> WorkloadFigures:
    """The figures of a workload at 20 tokens per second, sped up like that in its repetitions."""
    difference = how.pop("difference", None)
    own = record(name, [ran(20.0)] * len(speed_ups), **{mode: [ran(20.0 * each, **how) for each in speed_ups]})
    if difference is not None:
        own.differences[mode] = Difference(*difference)
    found = figures(own)
    assert found is not None
    return found


def report(*workloads: WorkloadFigures, complete: bool = True, **more) -> Report:
    """A report of these."""
    setting = Setting(
        version="1.2.3",
        target="big.gguf",
        draft="small.gguf",
        processor="a processor",
        threads=2,
        devices=(),
        tokens=400,
        repetitions=3,
        curves={"target": TARGET_CURVE, "draft": DRAFT_CURVE},
    )
    return Report(setting, workloads, more.pop("left_out", {}), complete, tuple(more.pop("warnings", ())))
