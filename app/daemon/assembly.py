"""From model files on the disk to a running engine: plan, load, measure."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from paceline import paths
from paceline.config import Config
from paceline.daemon.measurements import Measurements
from paceline.daemon.selection import PairFiles as PairFiles
from paceline.daemon.selection import fetch as fetch
from paceline.daemon.selection import pair_files as pair_files
from paceline.daemon.selection import store_of as store_of
from paceline.engine import llama
from paceline.engine.controller import Controller
from paceline.engine.costs import CostCurve, CostModel, measure
from paceline.engine.drafters.model import DraftModel
from paceline.engine.engine import Engine
from paceline.engine.pair import compare
from paceline.errors import ModelError
from paceline.models.fit import Plan, plan
from paceline.models.gguf import Header, read_header
from paceline.models.hardware import Hardware, detect
from paceline.plan import Device

Say = Callable[[str], None]
QUICK = (1, 2, 3, 4, 6, 8, 16, 32)  # sizes measured when a curve is missing and somebody waits for an answer


@dataclass(frozen=True)
class Installed:
    """A pair on this machine's disk, its headers read, and how it is going to be loaded."""

    target: Path
    draft: Path | None
    headers: tuple[Header, ...]
    hardware: Hardware
    devices: tuple[Device, ...]
    plan: Plan


def inspect(target: Path, draft: Path | None, config: Config) -> Installed:
    """Read the headers and plan the loading. Raises ModelError, ResourceError, ConfigError."""
    headers = tuple(read_header(path) for path in (target, draft) if path is not None)
    hardware = detect(store_of(config).root)
    devices = tuple(llama.devices())
    how = plan(headers[0], headers[1] if draft else None, hardware, devices, config.engine)
    return Installed(target, draft if how.draft else None, headers, hardware, devices, how)


def load(installed: Installed, say: Say, *, speculation: str = "auto") -> Engine:
    """Load the target; the draft is loaded when the controller first sees use for it.

    Raises ModelError, ResourceError. A draft that does not fit the target is left out and `say` gets the reason,
    unless it was asked for by name.
    """
    measurements = Measurements(paths.state_dir() / "measurements")
    draft = installed.draft
    if speculation in ("off", "ngram"):
        draft = None
    if speculation == "draft" and draft is None:
        left_out = len(installed.headers) > 1
        say("no draft model: " + ("there is no memory for one" if left_out else "none is set (models.draft)"))
    target = llama.LlamaBackend(installed.target, installed.plan.target)
    try:
        if draft is not None:
            reason = _mismatch(target, installed.target, draft, measurements)
            if reason and speculation == "draft":
                raise ModelError(f"{draft.name} cannot draft for {installed.target.name}: {reason}", "choose a pair")
            if reason:
                say(f"no draft model: {draft.name} does not fit {installed.target.name}: {reason}")
                draft = None
        curve = measurements.curve(installed.target, installed.plan.target, llama.build_info())
        if curve is None:
            say("measuring what a decode costs on this machine, once")
            curve = measure(target, repetitions=3, sizes=QUICK, context=64)
            measurements.store_curve(installed.target, installed.plan.target, llama.build_info(), curve)
        model, draft_curve = _draft_model(installed, draft, measurements)
    except BaseException:
        target.close()
        raise
    return Engine(target, Controller(CostModel(curve), CostModel(draft_curve) if draft_curve else None), model)


def measure_costs(installed: Installed, progress: Callable[[str, float], None]) -> dict[str, CostCurve]:
    """Load each model once, measure its curve thoroughly and keep it: {"target": ..., "draft": ...}."""
    measurements = Measurements(paths.state_dir() / "measurements")
    curves: dict[str, CostCurve] = {}
    for role, path, options in (
        ("target", installed.target, installed.plan.target),
        ("draft", installed.draft, installed.plan.draft),
    ):
        if path is None or options is None:
            continue
        backend = llama.LlamaBackend(path, options)
        try:
            curves[role] = measure(backend, repetitions=5, progress=partial(progress, role))
        finally:
            backend.close()
        measurements.store_curve(path, options, llama.build_info(), curves[role])
    return curves


def known_costs(installed: Installed) -> dict[str, CostCurve]:
    """The curves that were measured for this pair, loaded this way: some of {"target": ..., "draft": ...}."""
    measurements = Measurements(paths.state_dir() / "measurements")
    curves: dict[str, CostCurve] = {}
    for role, path, options in (
        ("target", installed.target, installed.plan.target),
        ("draft", installed.draft, installed.plan.draft),
    ):
        curve = measurements.curve(path, options, llama.build_info()) if path and options else None
        if curve is not None:
            curves[role] = curve
    return curves


def vocabulary_fault(target: Path, draft: Path) -> str:
    """Why the draft's tokens are not the target's; "" when they are. Needs no weights. Raises ModelError."""
    measurements = Measurements(paths.state_dir() / "measurements")
    known = measurements.pair_verdict(target, draft)
    if known is None:
        found = compare(llama.read_vocabulary(target), llama.read_vocabulary(draft))
        known = found.reason if found else ""
        measurements.store_pair_verdict(target, draft, known)
    return known


def _mismatch(target: llama.LlamaBackend, target_path: Path, draft: Path, measurements: Measurements) -> str:
    """Why the draft's tokens are not the target's; "" when they are. Compared once per pair of files."""
    known = measurements.pair_verdict(target_path, draft)
    if known is None:
        found = compare(target.vocabulary, llama.read_vocabulary(draft))
        known = found.reason if found else ""
        measurements.store_pair_verdict(target_path, draft, known)
    return known


def _draft_model(
    installed: Installed, draft: Path | None, measurements: Measurements
) -> tuple[DraftModel | None, CostCurve | None]:
    options = installed.plan.draft
    if draft is None or options is None:
        return None, None
    model = DraftModel(lambda: llama.LlamaBackend(draft, options))
    curve = measurements.curve(draft, options, llama.build_info())
    if curve is None:
        curve = measure(model.backend, repetitions=3, sizes=(1, 2, 4), context=64)
        measurements.store_curve(draft, options, llama.build_info(), curve)
    return model, curve
