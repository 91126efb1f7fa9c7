"""How a pair is loaded on this machine: context, threads, layers on accelerators, and whether it fits at all.

Pure: the headers of the files, the hardware and the configuration go in, a plan with its reasons comes out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from paceline.config import EngineConfig
from paceline.errors import ConfigError, ResourceError
from paceline.models.choose import Candidate, Choice, choose
from paceline.models.hardware import Hardware
from paceline.models.header import Header
from paceline.models.offload import Costs, arrange, costs, fits, most_layers, room, spread, usage
from paceline.plan import Device, LoadOptions

__all__ = ["Candidate", "Choice", "MemoryItem", "Plan", "choose", "plan"]

_CONTEXTS: Final = (4096, 8192, 16384, 32768)  # tokens
_CONTEXT_LEAST: Final = 2048
_CONTEXT_MINIMUM: Final = 256  # llama.cpp's context grows in steps of this size
_CONTEXT_ON_CPU: Final = 8192  # a CPU takes minutes to prefill more
_KV_SHARE: Final = 0.05  # of the memory where it lives
_SMALLER: Final = "take a smaller pair (`paceline setup` recommends one)"


@dataclass(frozen=True)
class MemoryItem:
    """One thing that takes memory, estimated."""

    what: str  # "target weights", "draft KV cache", ...
    where: str  # "CPU" or the device's name
    bytes: int


@dataclass(frozen=True)
class Plan:
    """How to load the pair, what it will take, and why."""

    target: LoadOptions
    draft: LoadOptions | None
    memory: tuple[MemoryItem, ...]
    reasons: tuple[str, ...]  # sentences for people
    warnings: tuple[str, ...]  # likewise: what they asked for and may regret


@dataclass(frozen=True)
class _Machine:
    """Where things can go: main memory and devices in llama.cpp's order."""

    hardware: Hardware
    devices: tuple[Device, ...]
    order: tuple[int, ...]  # the devices' positions, the one to fill first at the front

    def free(self, where: str) -> int:
        sizes = {device.name: device.memory_free for device in self.devices}
        return sizes.get(where, self.hardware.memory_available)


@dataclass(frozen=True)
class _Layout:
    """One way to load: the models with the layers each device gets, and the context."""

    models: tuple[Costs, ...]
    given: tuple[tuple[int, ...], ...]  # for each model, for each device
    n_ctx: int
    warnings: tuple[str, ...] = ()


def plan(
    target: Header, draft: Header | None, hardware: Hardware, devices: Sequence[Device], engine: EngineConfig
) -> Plan:
    """Decide how target and draft are loaded.

    Devices are filled with the target first, then with the draft. Where main memory is short, the context is made
    smaller (unless the configuration sets it), then the draft is left out. Raises ResourceError where even that is
    not enough, ModelError where a file holds no language model, ConfigError where the configuration contradicts
    itself.
    """
    machine = _machine(hardware, devices, engine)
    _check(engine, machine)
    first = costs("target", target, engine, engine.batch)
    both = (first, costs("draft", draft, engine, engine.batch)) if draft else (first,)
    wanted = _context(both, machine, engine)
    steps: list[str] = []
    for models in (both, both[:1]) if draft else (both,):
        for n_ctx in _contexts(wanted, engine):
            layout = _place(models, machine, engine, n_ctx)
            memory = tuple(item for item in _memory(layout, machine) if item.bytes)
            needed = _host_bytes(memory, hardware)
            if needed <= hardware.memory_available or not hardware.memory_available:
                reasons = (*steps, *_reasons(layout, machine, engine, memory))
                warnings = (*_shards(target, draft), *_warnings(layout, machine, engine), *layout.warnings)
                options = [_options(layout, at, machine, engine) for at in range(len(models))]
                return Plan(options[0], options[1] if len(options) > 1 else None, memory, reasons, warnings)
            with_what = " and ".join(model.role for model in models)
            steps.append(
                f"not {with_what} with {n_ctx} tokens of context: that takes {_gb(needed)} of memory, "
                f"and {_gb(hardware.memory_available)} are available"
            )
    lower = f"lower engine.context from {engine.context}, or " if engine.context > _CONTEXT_LEAST else ""
    raise ResourceError(
        f"{target.name} needs {_gb(needed)} of memory, and {_gb(hardware.memory_available)} are available",
        f"{lower}{_SMALLER}, or end other programs",
    )


def _machine(hardware: Hardware, devices: Sequence[Device], engine: EngineConfig) -> _Machine:
    """Most free memory first, so that few devices are used; a main_gpu that was named (not 0) before all."""
    ordered = tuple(sorted(devices, key=lambda device: device.index))
    named = engine.main_gpu or None
    order = sorted(range(len(ordered)), key=lambda at: (at != named, -room(ordered[at])))
    return _Machine(hardware, ordered, tuple(order))


def _check(engine: EngineConfig, machine: _Machine) -> None:
    """Raise ConfigError for settings that llama.cpp would refuse or read past."""
    if engine.kv_type != "f16" and not engine.flash_attention:
        raise ConfigError(
            f"engine.kv_type {engine.kv_type} needs flash attention", "set engine.flash_attention = true, or f16"
        )
    if 0 < engine.context < _CONTEXT_MINIMUM:
        raise ConfigError(
            f"engine.context is {engine.context}, and {_CONTEXT_MINIMUM} is the least", "0 lets memory decide"
        )
    split = engine.tensor_split
    if split and (not all(0 <= share < float("inf") for share in split) or not sum(split)):
        raise ConfigError("engine.tensor_split must be shares of 0 or more, not all 0", "for example [3, 1]")
    if split and machine.devices and len(split) != len(machine.devices):
        names = ", ".join(device.name for device in machine.devices)
        raise ConfigError(
            f"engine.tensor_split has {len(split)} shares for {len(machine.devices)} devices", f"one each for {names}"
        )


def _context(models: Sequence[Costs], machine: _Machine, engine: EngineConfig) -> int:
    """Tokens of context: as configured, or the largest of 4096 to 32768 that costs little.

    It stays within the target's trained context; its KV cache takes at most 5 % of each memory it lives in; it
    never drives a layer off an accelerator; and without one it is at most 8192. The smallest needs no permission.
    """
    if engine.context:
        return engine.context
    trained = models[0].trained
    fitting = [size for size in _CONTEXTS if size <= trained]
    least = fitting[0] if fitting else min(trained or _CONTEXTS[0], _CONTEXTS[0])
    base = _place(models, machine, engine, least)
    for n_ctx in reversed(fitting[1:]):
        if n_ctx > _CONTEXT_ON_CPU and not any(base.given[0]):
            continue
        layout = _place(models, machine, engine, n_ctx)
        same = [sum(given) for given in layout.given] == [sum(given) for given in base.given]
        if same and all(_kv(layout, machine, where) <= _KV_SHARE * machine.free(where) for where in _places(machine)):
            return n_ctx
    return least


def _contexts(wanted: int, engine: EngineConfig) -> list[int]:
    """Contexts to try, largest first; a configured one is not touched."""
    smaller = [size for size in (*reversed(_CONTEXTS), _CONTEXT_LEAST) if size < wanted]
    return [wanted] if engine.context else [wanted, *smaller]


def _place(models: Sequence[Costs], machine: _Machine, engine: EngineConfig, n_ctx: int) -> _Layout:
    """Layers of each model onto the devices, one model after the other.

    A context below 4096 leaves room for 4096 all the same, so that a shortage of main memory moves no layers.
    """
    reserve = n_ctx if engine.context else max(n_ctx, min(models[0].trained or _CONTEXTS[0], _CONTEXTS[0]))
    rooms = [room(device) for device in machine.devices]
    every: list[tuple[int, ...]] = []
    warnings: list[str] = []
    for model in models:
        layers, fixed = model.device_layers(reserve), model.compute(reserve)
        given = most_layers(layers, rooms, fixed, machine.order, engine.tensor_split if rooms else ())
        if engine.gpu_layers != "auto" and rooms:
            most = sum(given)
            given = _as_told(min(engine.gpu_layers, model.layers), layers, rooms, fixed, machine, engine)
            if not fits(layers, given, rooms, fixed):
                over = sum(max(0, use - free) for use, free in zip(usage(layers, given, fixed), rooms, strict=True))
                warnings.append(
                    f"{sum(given)} layers of the {model.role}, as configured, take about {_gb(over)} more than "
                    f"{_names(machine.devices)} can give with a margin left; {most} would fit"
                )
        used = usage(layers, given, fixed)
        rooms = [max(0, space - taken) for space, taken in zip(rooms, used, strict=True)]
        every.append(given)
    return _Layout(tuple(models), tuple(every), n_ctx, tuple(warnings))


def _as_told(
    count: int, layers: Sequence[int], rooms: Sequence[int], fixed: int, machine: _Machine, engine: EngineConfig
) -> tuple[int, ...]:
    """A configured number of layers over the devices: so that they fit if they can, else by free memory."""
    if engine.tensor_split:
        return spread(count, engine.tensor_split)
    given = arrange(layers[len(layers) - count :], rooms, fixed, machine.order)
    if given is not None:
        return given
    return spread(count, rooms if sum(rooms) else [1.0] * len(rooms))


def _memory(layout: _Layout, machine: _Machine) -> Iterator[MemoryItem]:
    """All that is allocated, model by model, CPU first."""
    for model, given in zip(layout.models, layout.given, strict=True):
        count, n_ctx = sum(given), layout.n_ctx
        yield MemoryItem(f"{model.role} weights", "CPU", model.host_weights(count))
        yield MemoryItem(f"{model.role} KV cache", "CPU", model.host_kv(count, n_ctx))
        yield MemoryItem(f"{model.role} compute buffers", "CPU", model.compute(n_ctx, with_output=not count))
        at = model.layers - count
        for device, layers in zip(machine.devices, given, strict=True):
            yield MemoryItem(f"{model.role} weights", device.name, sum(model.device_layers(0)[at : at + layers]))
            yield MemoryItem(f"{model.role} KV cache", device.name, n_ctx * sum(model.kv[at : at + layers]))
            yield MemoryItem(f"{model.role} compute buffers", device.name, model.compute(n_ctx) if layers else 0)
            at += layers


def _host_bytes(memory: Sequence[MemoryItem], hardware: Hardware) -> int:
    """Bytes of main memory; all of them where accelerators share it."""
    return sum(item.bytes for item in memory if item.where == "CPU" or hardware.unified_memory)


def _kv(layout: _Layout, machine: _Machine, where: str) -> int:
    return sum(item.bytes for item in _memory(layout, machine) if "KV" in item.what and item.where == where)


def _options(layout: _Layout, at: int, machine: _Machine, engine: EngineConfig) -> LoadOptions:
    """One model's decided numbers. The split is in layers, which llama.cpp deals out exactly (see `spread`)."""
    given = layout.given[at]
    count = sum(given)
    options = LoadOptions(
        n_ctx=layout.n_ctx,
        n_batch=min(engine.batch, layout.n_ctx),
        n_threads=engine.threads or machine.hardware.usable_cores,
        gpu_layers=count,
        flash_attention=engine.flash_attention,
        kv_type=engine.kv_type,
    )
    if not count:
        return options
    main = engine.main_gpu if engine.main_gpu < len(given) and given[engine.main_gpu] else given.index(max(given))
    split = tuple(float(share) for share in given) if len(given) > 1 else ()
    return replace(options, main_gpu=main, tensor_split=engine.tensor_split or split)


def _reasons(layout: _Layout, machine: _Machine, engine: EngineConfig, memory: Sequence[MemoryItem]) -> Iterator[str]:
    for model, given in zip(layout.models, layout.given, strict=True):
        yield from _layer_reasons(model, given, machine, engine, memory)
    kind = "as configured" if engine.context else f"of the {layout.models[0].trained} the target was trained on"
    kv = sum(item.bytes for item in memory if "KV" in item.what)
    yield f"{layout.n_ctx} tokens of context, {kind}; its KV cache takes {_gb(kv)}"
    cores = machine.hardware.usable_cores
    yield (
        f"{engine.threads} threads, as configured"
        if engine.threads
        else f"{cores} thread{'s' * (cores != 1)}, one for each physical core that may be used"
    )
    needed = _host_bytes(memory, machine.hardware)
    yield f"{_gb(needed)} of the {_gb(machine.hardware.memory_available)} of memory available"


def _layer_reasons(
    model: Costs, given: Sequence[int], machine: _Machine, engine: EngineConfig, memory: Sequence[MemoryItem]
) -> Iterator[str]:
    """Where each part of one model goes."""
    for device, layers in zip(machine.devices, given, strict=True):
        taken = sum(i.bytes for i in memory if i.where == device.name and i.what.startswith(model.role))
        if layers:
            yield (
                f"{layers} of {model.layers} layers of the {model.role} on {device.name} "
                f"({_gb(taken)} of {_gb(device.memory_free)} free)"
            )
    rest = model.layers - sum(given)
    if not rest:
        return
    if not machine.devices:
        why = "there is no accelerator that this build of llama.cpp can use"
    elif engine.gpu_layers != "auto":
        why = f"engine.gpu_layers is {engine.gpu_layers}"
    else:
        why = f"no more fits on {_names(machine.devices)}"
    yield f"{rest} of {model.layers} layers of the {model.role} on the CPU: {why}"


def _warnings(layout: _Layout, machine: _Machine, engine: EngineConfig) -> Iterator[str]:
    for model in layout.models:
        if model.trained and layout.n_ctx > model.trained:
            yield (
                f"{layout.n_ctx} tokens of context are more than the {model.trained} that the {model.role} was "
                "trained on: beyond those its answers get worse"
            )
    if isinstance(engine.gpu_layers, int) and engine.gpu_layers and not machine.devices:
        yield "engine.gpu_layers is set, but there is no accelerator that this build of llama.cpp can use"
    if engine.main_gpu and engine.main_gpu >= len(machine.devices):
        yield f"engine.main_gpu is {engine.main_gpu}, but there are {len(machine.devices)} devices, counted from 0"
    cores = machine.hardware.usable_cores
    if engine.threads > cores:
        yield f"engine.threads is {engine.threads}, but only {cores} physical cores may be used: more are slower"
    if not machine.hardware.memory_available:
        yield "how much memory is available could not be found out, so nobody checked that the models fit"


def _shards(*headers: Header | None) -> Iterator[str]:
    for header in headers:
        if header and header.shards > 1:
            yield f"{header.name} is split over {header.shards} files, and only the first is counted here"


def _places(machine: _Machine) -> list[str]:
    return ["CPU", *(device.name for device in machine.devices)]


def _names(devices: Sequence[Device]) -> str:
    return " and ".join(device.name for device in devices)


def _gb(count: float) -> str:
    return f"{count / 1e9:.1f} GB"
