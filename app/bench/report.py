"""The outcome for people and for programs: tables, a sentence, an object."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from paceline.bench.figures import ModeFigures, WorkloadFigures, figures
from paceline.bench.runner import Runner
from paceline.config import Speculation
from paceline.daemon.assembly import Installed
from paceline.engine.costs import CostCurve

Table = tuple[tuple[str, ...], list[tuple[str, ...]]]  # headers, rows


@dataclass(frozen=True)
class Setting:
    """What was measured on what."""

    version: str  # of Paceline
    target: str  # names of files
    draft: str | None
    processor: str
    threads: int
    devices: tuple[str, ...]  # accelerators that hold layers of the target
    tokens: int  # of an answer, at most
    repetitions: int
    curves: Mapping[str, CostCurve]  # "target" and, where there is one, "draft"

    @property
    def machine(self) -> str:
        """In words."""
        threads = f"{self.threads} thread{'s' * (self.threads != 1)}"
        return ", ".join((self.processor, threads, *self.devices))


@dataclass(frozen=True)
class Report:
    """A whole benchmark, or what there is of it."""

    setting: Setting
    workloads: tuple[WorkloadFigures, ...]
    left_out: Mapping[str, str]  # workloads, and why
    complete: bool  # False: it was ended early
    warnings: tuple[str, ...] = ()  # why the figures are not to be trusted

    def to_json(self) -> dict[str, Any]:
        """Plain data: what `paceline bench --json` prints."""
        setting = self.setting
        return {
            "version": setting.version,
            "target": setting.target,
            "draft": setting.draft,
            "processor": setting.processor,
            "threads": setting.threads,
            "devices": list(setting.devices),
            "tokens": setting.tokens,
            "repetitions": setting.repetitions,
            "complete": self.complete,
            "curves": {role: curve.to_json() for role, curve in setting.curves.items()},
            "workloads": {each.name: each.to_json() for each in self.workloads},
            "left_out": dict(self.left_out),
            "warnings": list(self.warnings),
            "summary": self.summary,
        }

    def heading(self) -> Iterator[str]:
        """What was measured on what, in lines."""
        setting = self.setting
        yield f"target      {setting.target}"
        yield f"draft       {setting.draft or 'none'}"
        yield f"machine     {setting.machine}"
        done = max((len(mode.speed_ups) for each in self.workloads for mode in each.modes), default=0)
        times = "once" if done == 1 else f"{done} times"
        yield f"runs        {times} each, in alternation; answers of up to {setting.tokens} tokens, temperature 0"

    def speeds(self) -> Table:
        """A row for each workload and mode. `plain` and `drafts`: tokens per second."""
        rows: list[tuple[str, ...]] = []
        for each in self.workloads:
            for mode in each.modes:
                least, most = min(mode.speed_ups), max(mode.speed_ups)
                rows.append(
                    (
                        each.name,
                        mode.mode,
                        f"{each.plain:.1f}",
                        f"{mode.speed:.1f}",
                        f"{mode.speed_up:.2f}x",
                        f"{least:.2f}-{most:.2f}",
                        _apart(mode),
                    )
                )
        return ("workload", "mode", "plain", "drafts", "speed-up", "range", "differs"), rows

    def drafts(self) -> Table:
        """A row for each workload, mode and drafter."""
        rows: list[tuple[str, ...]] = []
        for each in self.workloads:
            for mode in each.modes:
                for drafter in mode.drafters:
                    share = f"{drafter.accepted / drafter.drafted:.0%}" if drafter.drafted else ""
                    kept, length = f"{drafter.accepted} of {drafter.drafted}", f"{drafter.mean_length:.1f}"
                    rows.append((each.name, mode.mode, drafter.name, kept, share, length, f"{mode.mean_length:.2f}"))
                if not mode.drafters:
                    rows.append((each.name, mode.mode, "nobody", "0 of 0", "", "", "0.00"))
        return ("workload", "mode", "drafter", "accepted", "share", "per draft", "per round"), rows

    def notes(self) -> Iterator[str]:
        """What else is to be known, in lines."""
        modes = [mode for each in self.workloads for mode in each.modes]
        if any(mode.difference for mode in modes):
            yield (
                "differs: at which token the text leaves that of plain decoding, and by how much the likeliest token's "
                "logit led there; where that is little, rounding decides"
            )
        for name, reason in self.left_out.items():
            yield f"{name} was left out: {reason}"
        # The same reason comes with other figures each time: one of them is enough.
        yield from {re.sub(r"[\d.]+", "", note): note for mode in modes for note in mode.notes}.values()
        if not self.complete:
            yield "ended early: these are the figures of what was measured until then"
        yield from (f"warning: {warning}" for warning in self.warnings)

    @property
    def summary(self) -> str:
        """One sentence: what drafting brings."""
        mode = self._telling
        if mode is None:
            return "Nothing was measured."
        found = {each.name: own for each in self.workloads for own in each.modes if own.mode == mode}
        changed = {name: own.speed_up for name, own in found.items() if own.changes_speed}
        same = {name: own.speed_up for name, own in found.items() if name not in changed}
        faster = [f"{name} {ratio:.2f}x" for name, ratio in changed.items() if ratio > 1]
        slower = {name: ratio for name, ratio in changed.items() if ratio < 1}
        parts = [f"makes {_listed(faster)} as fast"] if faster else []
        parts += [f"slows {_listed(list(slower))} down ({_ratios(slower)})"] if slower else []
        parts += [f"makes no clear difference to {_listed(list(same))} ({_ratios(same)})"] if same else []
        where = "On this machine"
        if any(each.disturbed for each in self.workloads):
            where = "As far as a busy machine can tell,"
        elif max(len(each.speed_ups) for each in found.values()) == 1:
            where = "As far as a single run can tell,"
        return f"{where} drafting{'' if mode == 'auto' else f' by {mode}'} {_listed(parts)}."

    @property
    def _telling(self) -> Speculation | None:
        """The mode that the sentence is about: the default one or, if that was not measured, the best."""
        ratios: dict[Speculation, list[float]] = {}
        for each in self.workloads:
            for mode in each.modes:
                ratios.setdefault(mode.mode, []).append(mode.speed_up)
        if "auto" in ratios or not ratios:
            return "auto" if ratios else None
        return max(ratios, key=lambda mode: math.prod(ratios[mode]) ** (1 / len(ratios[mode])))


def report_of(runner: Runner, installed: Installed, warnings: Sequence[str], *, complete: bool) -> Report:
    """What the runner has measured until now. warnings: what is known already to have disturbed it."""
    controller, how = runner.engine.controller, installed.plan.target
    draft_costs, draft = controller.draft_costs, installed.draft if runner.engine.draft is not None else None
    setting = Setting(
        version=version("paceline"),
        target=installed.target.name,
        draft=None if draft is None else draft.name,
        processor=installed.hardware.cpu,
        threads=how.n_threads,
        devices=tuple(each.description for each in installed.devices) if how.gpu_layers else (),
        tokens=runner.plan.tokens,
        repetitions=runner.plan.repetitions,
        curves={"target": controller.costs.curve} | ({"draft": draft_costs.curve} if draft_costs is not None else {}),
    )
    measured = tuple(found for record in runner.records if (found := figures(record)) is not None)
    disturbed = ", ".join(each.name for each in measured if each.disturbed)
    if disturbed:
        warnings = [*warnings, f"other programs used the processor when these were measured: {disturbed}"]
    return Report(setting, measured, runner.left_out, complete, tuple(warnings))


def _apart(mode: ModeFigures) -> str:
    """Where the text stops being plain decoding's, and by how much the likeliest token led there."""
    apart = mode.difference
    if apart is None:
        return "no"
    return f"at {apart.token}" if apart.margin is None else f"at {apart.token} by {apart.margin:.2f}"


def _ratios(of: Mapping[str, float]) -> str:
    return _listed([f"{ratio:.2f}x" for ratio in of.values()])


def _listed(words: Sequence[str]) -> str:
    """As in "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
