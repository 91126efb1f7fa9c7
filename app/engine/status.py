"""What an engine is doing, as plain data."""

from dataclasses import dataclass
from typing import Literal

from paceline.engine.kv import Slot
from paceline.engine.sequence import Generation


@dataclass(frozen=True)
class SlotStatus:
    """A sequence of the cache and the request that it serves."""

    id: int
    state: Literal["idle", "prefill", "decode"]
    tokens: int  # in the cache
    prompt_tokens: int = 0
    produced: int = 0  # tokens of the answer so far
    priority: str = ""

    @classmethod
    def of(cls, slot: Slot, sequence: Generation | None) -> "SlotStatus":
        """The slot as it is now."""
        if sequence is None:
            return cls(slot.seq, "idle", len(slot.tokens))
        state: Literal["prefill", "decode"] = "decode" if sequence.first_token_at else "prefill"
        request = sequence.request
        return cls(slot.seq, state, len(slot.tokens), len(request.prompt), sequence.produced, request.priority)


@dataclass(frozen=True)
class EngineStatus:
    """All of an engine."""

    slots: tuple[SlotStatus, ...]
    running: int
    waiting: int
    cells_used: int  # of the cache
    cells: int
    parked: int  # conversations in main memory
    parked_bytes: int
    parallel: int  # requests that may run at the same time
