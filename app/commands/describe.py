"""Machine, plan and measurements in words: what `setup` and `doctor` tell a person."""

from collections.abc import Iterator, Mapping, Sequence

from paceline.console import aligned
from paceline.engine.controller import HOPE, MARGIN, Controller
from paceline.engine.costs import CostCurve, CostModel
from paceline.engine.pilot import LONGEST
from paceline.models.download import human
from paceline.models.fit import Plan
from paceline.models.hardware import Hardware, gpu_advice
from paceline.plan import Device


def machine(hardware: Hardware, devices: Sequence[Device], build_supports_gpu: bool) -> Iterator[str]:
    """Cores, memory, disk and graphics processors, with advice where one lies idle."""
    cores, physical = hardware.usable_cores, hardware.physical_cores
    some = f" of {physical}" if physical > cores else ""
    yield f"processor  {hardware.cpu}, {cores}{some} physical core{'s' * (cores != 1)} may be used"
    if hardware.memory_total:
        yield f"memory     {human(hardware.memory_total)}, {human(hardware.memory_available)} available"
    if hardware.disk_free:
        yield f"disk       {human(hardware.disk_free)} free where models are kept"
    for device in devices:
        yield (
            f"GPU        {device.description} ({device.name} of llama.cpp), "
            f"{human(device.memory_free)} of {human(device.memory_total)} free"
        )
    if not devices:
        for gpu in hardware.gpus:
            size = f", {human(gpu.memory_total)}" if gpu.memory_total else ""
            yield f"GPU        {gpu.name}{size}, seen by the system, not by llama.cpp"
        if not hardware.gpus:
            yield "GPU        none found"
    advice = gpu_advice(hardware, build_supports_gpu)
    if advice:
        yield f"           {advice}"


def plan(how: Plan) -> Iterator[str]:
    """How the pair is loaded: reasons, memory by place, warnings."""
    yield from (f"- {reason}" for reason in how.reasons)
    yield from (f"- {line}" for line in memory(how))
    yield from (f"warning: {warning}" for warning in how.warnings)


def memory(how: Plan) -> Iterator[str]:
    """A line for each place that memory is taken from."""
    for where in dict.fromkeys(item.where for item in how.memory):
        items = [item for item in how.memory if item.where == where]
        parts = ", ".join(f"{item.what} {human(item.bytes)}" for item in items)
        yield f"{where}: {parts}"


def curves(measured: Mapping[str, CostCurve]) -> str:
    """The cost curves as a table: tokens in one decode, milliseconds, relative to one token; for each model."""
    sizes = sorted({size for curve in measured.values() for size in curve.sizes})
    headers = ["tokens"] + [f"{role} {unit}" for role in measured for unit in ("ms", "relative")]
    rows = []
    for size in sizes:
        row = [str(size)]
        for curve in measured.values():
            known = size in curve.sizes
            row += [f"{curve.at(size):.1f}", f"{curve.at(size) / curve.at(1):.2f}"] if known else ["", ""]
        rows.append(row)
    return aligned(headers, rows, right=True)


def outlook(measured: Mapping[str, CostCurve]) -> Iterator[str]:
    """What follows from the curves, in sentences. Empty where the target was not measured."""
    target, draft = measured.get("target"), measured.get("draft")
    if target is None:
        return
    yield f"one token at a time, the target gives {1000 / target.at(1):.1f} tokens/s"
    gain, length = lookup_outlook(target)
    if gain > MARGIN:
        yield (
            f"drafting from the text itself (n-gram) can pay: where the text repeats, up to {gain:.2f}x "
            f"with {length} tokens checked at once"
        )
    else:
        yield f"drafting from the text itself (n-gram) cannot pay on this machine: {gain:.2f}x with all tokens accepted"
    if draft is None:
        return
    controller = Controller(CostModel(target), CostModel(draft))
    perfect, hopeful = controller.outlook(1.0), controller.outlook(HOPE)
    if perfect <= 1.0:
        yield (
            "the draft model does not pay on this machine: even if all its tokens were accepted "
            f"it would give {perfect:.2f}x"
        )
    elif hopeful <= MARGIN:
        yield (
            f"the draft model hardly pays on this machine: {perfect:.2f}x if all its tokens are accepted, "
            f"{hopeful:.2f}x at {HOPE:.0%}"
        )
    else:
        yield (
            f"the draft model pays where it guesses well: {controller.outlook(0.7):.2f}x with 70% of its "
            f"tokens accepted, {hopeful:.2f}x with {HOPE:.0%}"
        )


def lookup_outlook(target: CostCurve) -> tuple[float, int]:
    """(speed-up, tokens): the best that free drafts can give if all are accepted, (k + 1) t(1) / t(k + 1)."""
    best = max(range(1, LONGEST + 1), key=lambda k: (k + 1) / target.at(k + 1))
    return (best + 1) * target.at(1) / target.at(best + 1), best + 1
