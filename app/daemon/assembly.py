"""From model files on the disk to a running engine: plan, load, measure."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from paceline import paths
from paceline.config import Config
from paceline.daemon.learned import Learned
from paceline.daemon.measurements import Measurements
from paceline.daemon.routing import Route, called, route
from paceline.daemon.selection import store_of
from paceline.engine import llama
from paceline.engine.acceptance import AcceptanceTable
from paceline.engine.backend import Backend
from paceline.engine.controller import Controller
from paceline.engine.costs import CostCurve, CostModel, Measuring, implausible, measure
from paceline.engine.drafters.model import DraftModel
from paceline.engine.engine import Engine, Limits
from paceline.engine.pair import Fit, fit
from paceline.engine.turnstile import Turnstile
from paceline.engine.vocabulary import Vocabulary
from paceline.errors import ModelError, PacelineError, ResourceError
from paceline.models.fit import Plan, plan
from paceline.models.gguf import Header, read_header
from paceline.models.hardware import Hardware, busy, detect
from paceline.plan import Device, LoadOptions

Say = Callable[[str], None]
MEASURING = "measuring what a decode costs on this machine"  # how a note begins that is over once models are loaded
logger = logging.getLogger(__name__)
LEAST_CONTEXT = 2048  # tokens; below that nothing useful can be asked
REPETITIONS = 5
PATIENCE = 60.0  # seconds; on an idle machine of two cores the 1.5B with its draft takes about 20
TOY = 1.0  # milliseconds a token: nothing depends on the costs of a model as small as that, and they are mostly noise
GLANCE = 0.2  # seconds between looks whether somebody pressed Ctrl-C
DRIFT = 1.6  # a change of the machine's pace beyond this is worth a new measurement
THROUGH_TEXT = "its drafts go through text, and about one in five ends in a token that the target cuts otherwise"
BUSY = "other programs kept the machine busy"
# Sizes measured when a curve is missing and somebody waits for an answer. Kernels work in blocks of sixteen tokens: on
# a CPU fifteen cost up to a fourth more than sixteen, and seventeen a fifth.
LIKELY, CLEARLY = 0.8, 1.2  # an acceptance that drafts mostly have, and a gain that is worth loading for
QUICK = (1, 2, 3, 4, 6, 8, 12, 15, 16, 17, 32)


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
    """An engine for one request after the other; the draft is loaded when the controller first sees use for it.

    Raises ModelError, ResourceError. A draft that cannot serve the target is left out and `say` gets the reason,
    unless it was asked for by name.
    """
    return _load(installed, say, speculation, Limits(parallel=1, parking=0)).engine


def load_shared(installed: Installed, say: Say, config: Config) -> "Shared":
    """An engine for many requests at a time, and the policy for completions. Raises ModelError, ResourceError."""
    settings = config.engine
    parking = parking_bytes(settings.parking_mb << 20, installed)
    limits = Limits(settings.parallel, settings.queue, settings.step_ms, parking)
    loaded = _load(installed, say, settings.speculation, limits)
    target, model = loaded.engine, loaded.draft
    curve = target.controller.draft_costs
    # One with other tokens does not complete: whoever reads the answer's tokens takes them for the target's.
    infills = model is not None and not loaded.universal and llama.can_infill(model.path)
    names = called(installed.target.stem, installed.draft.stem if installed.draft else "")
    doubt = known_costs(installed).doubt
    way = route(config.complete, target.controller.costs, curve, infills=infills, names=names, doubt=doubt)
    return Shared(target, way, lambda: _draft_engine(loaded, limits), loaded.fault, _learning(target, installed))


def parking_bytes(wanted: int, installed: Installed) -> int:
    """Main memory for parked conversations: as configured, but no more than half of what loading will leave."""
    hardware = installed.hardware
    planned = sum(item.bytes for item in installed.plan.memory if item.where == "CPU" or hardware.unified_memory)
    left = max(0, hardware.memory_available - planned)
    return min(wanted, left // 2) if hardware.memory_available else wanted


@dataclass(frozen=True)
class Shared:
    """What a service for many needs."""

    engine: Engine
    route: Route
    draft_engine: Callable[[], Engine]  # makes an engine on which the draft answers for itself
    draft_fault: str  # why there is no draft model that could be asked for by name
    learned: Learned | None = None  # stores what the engine learns; to be closed before it


@dataclass(frozen=True)
class _Draft:
    """The draft's file, opened as often as there are uses for it; the weights are in memory once."""

    path: Path
    options: LoadOptions
    opened: list[llama.LlamaBackend] = field(default_factory=list)

    def open(self, n_seq_max: int) -> llama.LlamaBackend:
        """A context on it. Raises ModelError, ResourceError."""
        weights = self.opened[0].weights if self.opened else None
        self.opened.append(_open(self.path, self.options, n_seq_max, weights=weights))
        return self.opened[-1]


@dataclass(frozen=True)
class _Loaded:
    engine: Engine
    draft: _Draft | None
    turnstile: Turnstile
    fault: str = ""  # of the draft, where one is set and is not used
    universal: bool = False  # the draft's tokens are others than the target's


def _load(installed: Installed, say: Say, speculation: str, limits: Limits) -> _Loaded:
    path = installed.draft
    if speculation not in ("auto", "draft"):
        path = None
    if speculation == "draft" and path is None:
        left_out = len(installed.headers) > 1
        say("no draft model: " + ("there is no memory for one" if left_out else "none is set (models.draft)"))
    target, options = _open_smaller(installed, limits.parallel + limits.branches, say)
    how = Fit()
    try:
        if path is not None:
            how = pair_fit(installed.target, path, target.vocabulary)
        fault = f"{path.name} does not fit {installed.target.name}: {how.fault}" if path and how.fault else ""
        curve = _curve(lambda: target, installed.target, options, say, QUICK)
        draft = _Draft(path, installed.plan.draft) if path and not fault and installed.plan.draft else None
        try:
            model, draft_curve = _draft_model(draft, limits.parallel, how)
        except PacelineError as error:
            if speculation == "draft":
                raise
            fault = error.message
            draft, model, draft_curve = None, None, None
        if fault and speculation == "draft":
            raise ModelError(fault, "choose a pair")
        if fault:
            say(f"no draft model: {fault}")
        elif path and how.universal:
            say(f"{path.name} has other tokens than {installed.target.name} ({how.difference}): {THROUGH_TEXT}")
    except BaseException:
        target.close()
        raise
    turnstile = Turnstile()
    draft_costs = CostModel(draft_curve) if draft_curve else None
    controller = Controller(CostModel(curve), draft_costs, _acceptance(installed))
    if model is not None and controller.outlook(LIKELY) > CLEARLY:
        with suppress(PacelineError):  # who asks for it is told
            _ = model.backend  # loaded now, as somebody would have to wait for it in the middle of an answer
    return _Loaded(Engine(target, controller, model, limits, turnstile), draft, turnstile, fault, how.universal)


def _draft_engine(loaded: _Loaded, limits: Limits) -> Engine:
    """The draft as a target of its own. It takes turns with the pair, as both compute on the same processor."""
    draft, costs = loaded.draft, loaded.engine.controller.draft_costs
    assert draft is not None and costs is not None, "the route leads to a draft only where there is one"
    backend = draft.open(limits.parallel + limits.branches)
    return Engine(backend, Controller(CostModel(costs.curve)), None, limits, loaded.turnstile)


def _open_smaller(installed: Installed, n_seq_max: int, say: Say) -> tuple[llama.LlamaBackend, LoadOptions]:
    """The target as planned or, where memory is short, with less context, then with fewer layers on accelerators."""
    wanted = installed.plan.target
    steps = list(_smaller(wanted))
    for at, options in enumerate(steps):
        try:
            backend = _open(installed.target, options, n_seq_max)
        except ResourceError as error:
            if at == len(steps) - 1:
                raise
            logger.warning("%s", error.message)
            continue
        if options != wanted:
            layers = f" and {options.gpu_layers} layers on accelerators" if wanted.gpu_layers else ""
            say(f"memory is short: loaded with {options.n_ctx} tokens of context{layers}, not {wanted.n_ctx}")
        return backend, options
    raise AssertionError("the last step returns or raises")


def _smaller(options: LoadOptions) -> Iterator[LoadOptions]:
    """The options, and ways to load that need less and less memory."""
    yield options
    n_ctx = options.n_ctx
    while n_ctx // 2 >= LEAST_CONTEXT:
        n_ctx //= 2
        yield replace(options, n_ctx=n_ctx)
    layers = options.gpu_layers
    while layers:
        layers //= 2
        yield replace(options, n_ctx=n_ctx, gpu_layers=layers)


@dataclass(frozen=True)
class Measured:
    """A pair's cost curves ({"target": ..., "draft": ...}), and why they are to be doubted, or ""."""

    curves: Mapping[str, CostCurve]
    doubt: str = ""


def measure_costs(installed: Installed, progress: Callable[[float], None]) -> Measured:
    """Load both models, measure them in alternation and keep the curves: both or, where it is interrupted, neither.

    Ends early on a machine so slow or busy that more readings would try a person's patience.
    """
    disturbed = busy()
    measuring: dict[str, Measuring] = {}
    with ExitStack() as opened:
        for role, path, options in _models(installed):
            backend = _open(path, options)
            opened.callback(backend.close)
            measuring[role] = Measuring(backend)
        began = time.monotonic()
        for repetition in range(REPETITIONS):
            for number, each in enumerate(measuring.values(), 1):
                each.repeat()
                progress((repetition * len(measuring) + number) / (REPETITIONS * len(measuring)))
            if time.monotonic() - began > PATIENCE:
                break
    curves = {role: each.curve() for role, each in measuring.items()}
    doubt = _doubt(disturbed, curves["target"], curves.get("draft"))
    for role, path, options in _models(installed):
        _measurements().store_curve(path, options, llama.build_info(), curves[role], doubt)
    progress(1.0)
    return Measured(curves, doubt)


def review(engine: Engine, installed: Installed) -> None:
    """Keep what the engine has learned, and doubt the target's curve where decoding has contradicted it: on an idle
    machine it is then measured again.
    """
    drift, path, options = engine.controller.costs.drift, installed.target, installed.plan.target
    if engine.controller.costs.curve.at(1) < TOY:
        return
    _keep_acceptance(engine.controller.acceptance, installed)
    kept, build = _measurements(), llama.build_info()
    if not 1 / DRIFT < drift < DRIFT and not kept.doubt(path, options, build):
        doubt = f"a token now takes {drift:.1f} times as long as when it was measured"
        kept.store_curve(path, options, build, engine.controller.costs.curve, doubt)


def known_costs(installed: Installed) -> Measured:
    """What was measured for this pair, loaded this way; a curve that was not is missing."""
    curves: dict[str, CostCurve] = {}
    doubts: list[str] = []
    for role, path, options in _models(installed):
        curve = _measurements().curve(path, options, llama.build_info())
        if curve is not None:
            curves[role] = curve
            doubts.append(_measurements().doubt(path, options, llama.build_info()))
    return Measured(curves, next(filter(None, doubts), ""))


def _open(
    path: Path, options: LoadOptions, n_seq_max: int = 1, *, weights: llama.Model | None = None
) -> llama.LlamaBackend:
    """Load in a thread of its own, so that Ctrl-C reaches this one at once and ends the loading."""
    stop = threading.Event()

    loaded: Future[llama.LlamaBackend] = Future()

    def load() -> None:
        try:
            loaded.set_result(
                llama.LlamaBackend(
                    path, options, n_seq_max=n_seq_max, keep_going=lambda: not stop.is_set(), weights=weights
                )
            )
        except BaseException as error:
            loaded.set_exception(error)

    thread = threading.Thread(target=load, name="paceline-load", daemon=True)
    try:
        thread.start()
        while not wait((loaded,), GLANCE).done:  # a signal that comes just before a wait does not end it
            pass
        return loaded.result()
    except BaseException:
        stop.set()
        if thread.ident is not None:
            thread.join()
        raise


def _doubt(disturbed: bool, target: CostCurve, draft: CostCurve | None = None) -> str:
    """Why to measure again, or ""."""
    return implausible(target, draft) or (BUSY if disturbed and target.at(1) >= TOY else "")


def _models(installed: Installed) -> Iterator[tuple[str, Path, LoadOptions]]:
    """(role, file, how to load it) of the models that will be loaded."""
    yield "target", installed.target, installed.plan.target
    if installed.draft is not None and installed.plan.draft is not None:
        yield "draft", installed.draft, installed.plan.draft


def _measurements() -> Measurements:
    return Measurements(paths.state_dir() / "measurements")


def _curve(load: Callable[[], Backend], path: Path, options: LoadOptions, say: Say, sizes: Sequence[int]) -> CostCurve:
    """The curve that is kept; measured now, quickly, where there is none or a doubtful one and the machine is idle."""
    kept, build = _measurements(), llama.build_info()
    curve = kept.curve(path, options, build)
    if curve is not None and not kept.doubt(path, options, build):
        return curve
    disturbed = busy()
    if curve is None or not disturbed:
        say(MEASURING + (", once" if curve is None else " again, now it is idle"))
        curve = measure(load(), repetitions=3, sizes=sizes, context=64)
        kept.store_curve(path, options, build, curve, _doubt(disturbed, curve))
    return curve


def pair_fit(target: Path, draft: Path, loaded: Vocabulary | None = None) -> Fit:
    """How the draft can serve the target: by its tokens, through text, or not at all. Found once per pair of files.

    Needs no weights; `loaded` is the target's vocabulary where it has been read already. Raises ModelError.
    """
    known = _measurements().fit(target, draft)
    if known is None:
        known = fit(loaded or llama.read_vocabulary(target), llama.read_vocabulary(draft))
        _measurements().store_fit(target, draft, known)
    return known


def vocabulary_fault(target: Path, draft: Path) -> str:
    """Why the draft cannot serve the target at all, or "". Raises ModelError."""
    return pair_fit(target, draft).fault


def _draft_model(draft: _Draft | None, n_seq_max: int, how: Fit) -> tuple[DraftModel | None, CostCurve | None]:
    if draft is None:
        return None, None
    model = DraftModel(lambda: draft.open(n_seq_max), universal=how.universal)
    return model, _curve(lambda: model.backend, draft.path, draft.options, lambda _: None, (1, 2, 4))


def _acceptance(installed: Installed) -> AcceptanceTable:
    """What earlier runs learned about this pair's drafts."""
    return _measurements().acceptance(installed.target, installed.draft) or AcceptanceTable()


def _keep_acceptance(table: AcceptanceTable, installed: Installed) -> None:
    if table.counts:
        _measurements().store_acceptance(installed.target, installed.draft, table)


def _learning(engine: Engine, installed: Installed) -> Learned | None:
    """Keeps what the engine learns from now on. Of toys nothing is kept: there is nothing to gain."""
    if engine.controller.costs.curve.at(1) < TOY:
        return None
    return Learned(engine.controller.acceptance, lambda table: _keep_acceptance(table, installed))
