"""What the daemon says of itself: its models, memory and slots."""

from pathlib import Path
from typing import TYPE_CHECKING

from paceline.daemon.host import Host
from paceline.daemon.protocol import MemoryReport, ModelReport, SlotReport

if TYPE_CHECKING:
    from paceline.engine.status import EngineStatus


def models(host: Host) -> tuple[ModelReport, ...]:
    """The pair that is in memory or being loaded."""
    service = host.loaded
    if service is None:
        return (ModelReport("", "loading"),) if host.loading else ()
    route = service.route
    loaded = ModelReport(
        service.model, "loaded", service.n_ctx, service.loaded_at, service.notes, route.model, route.reason, route.name
    )
    return (loaded,)


def memory(engine: "EngineStatus | None") -> MemoryReport:
    """What this process has of the memory, what is left (of a container's share too), and the context's cells."""
    import psutil

    from paceline.models.hardware import memory_limit

    machine, resident = psutil.virtual_memory(), psutil.Process().memory_info().rss
    total, left = memory_limit(Path("/")) or (machine.total, machine.available)
    shares = resident, min(left, machine.available), min(total, machine.total)
    if engine is None:
        return MemoryReport(*shares)
    return MemoryReport(*shares, engine.parked_bytes, engine.parked, engine.cells, engine.cells_used)


def slots(engine: "EngineStatus | None") -> tuple[SlotReport, ...]:
    """The context's sequences; none where no models are loaded."""
    if engine is None:
        return ()
    return tuple(
        SlotReport(each.id, each.state, each.tokens, each.prompt_tokens, each.produced, each.priority)
        for each in engine.slots
    )
