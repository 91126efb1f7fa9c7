"""From the configuration to a running engine: choose files, fetch them, plan, load, measure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from paceline import paths
from paceline.config import Config
from paceline.daemon.measurements import Measurements
from paceline.engine import llama
from paceline.engine.controller import Controller
from paceline.engine.costs import CostCurve, CostModel, measure
from paceline.engine.drafters.model import DraftModel
from paceline.engine.engine import Engine
from paceline.engine.pair import compare
from paceline.errors import ConfigError, ModelError
from paceline.models import catalogue, download
from paceline.models.catalogue import Catalogue, ModelFile
from paceline.models.fit import Plan, plan
from paceline.models.gguf import Header, read_header
from paceline.models.hardware import Hardware, detect
from paceline.models.progress import Progress
from paceline.models.store import Store
from paceline.plan import Device

Say = Callable[[str], None]
MakeProgress = Callable[[str], Progress]
QUICK = (1, 2, 3, 4, 6, 8, 16, 32)  # sizes measured when a curve is missing and somebody waits for an answer


@dataclass(frozen=True)
class PairFiles:
    """The model files that the configuration names."""

    target: ModelFile
    draft: ModelFile | None

    @property
    def files(self) -> tuple[ModelFile, ...]:
        """Target, then draft if there is one."""
        return (self.target,) if self.draft is None else (self.target, self.draft)


@dataclass(frozen=True)
class Installed:
    """A pair on this machine's disk, its headers read, and how it is going to be loaded."""

    target: Path
    draft: Path | None
    headers: tuple[Header, ...]
    hardware: Hardware
    devices: tuple[Device, ...]
    plan: Plan


def store_of(config: Config) -> Store:
    """The folder of models: `models.directory`, or `models` in our data folder."""
    folder = config.models.directory
    return Store(Path(folder).expanduser() if folder else paths.data_dir() / "models")


def pair_files(config: Config, known: Catalogue | None = None) -> PairFiles | None:
    """The files the configuration names; None when it names none yet. Raises ConfigError, ModelError."""
    known = known or catalogue.load()
    models = config.models
    if not (models.pair or models.target):
        return None
    pair = known.pair(models.pair) if models.pair else None
    target = known.resolve(models.target) if models.target else None
    if target is None:
        if pair is None:
            raise ConfigError("no model is chosen", "run `paceline setup`")
        target = known.model(pair.target)
    draft = models.draft or (pair.draft if pair and not models.target else "")
    return PairFiles(target, None if draft in ("", "none") else known.resolve(draft))


def fetch(files: PairFiles, config: Config, progress: MakeProgress, *, offline: bool = False) -> list[Path]:
    """The files' paths, downloaded where they are missing. Raises NetworkError, ModelError, ResourceError."""
    store = store_of(config)
    return [
        download.fetch(file, store, offline=offline or config.models.offline, progress=progress(file.id))
        for file in files.files
    ]


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
    return Engine(target, Controller(CostModel(curve), draft_curve and CostModel(draft_curve)), model)


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
            curves[role] = measure(backend, repetitions=5, progress=lambda share, role=role: progress(role, share))
        finally:
            backend.close()
        measurements.store_curve(path, options, llama.build_info(), curves[role])
    return curves


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
