"""What the backend's cache holds, sequence by sequence: reuse of common prefixes, and cutting back."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from paceline.engine.backend import Backend, Logits, Span
from paceline.errors import EngineError


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """How many tokens both begin with."""
    shorter = min(len(a), len(b))
    if list(a[:shorter]) == list(b[:shorter]):
        return shorter
    return next(i for i in range(shorter) if a[i] != b[i])


@dataclass
class Slot:
    """One sequence of a backend and the tokens whose keys and values are in its cache."""

    backend: Backend
    seq: int
    tokens: list[int] = field(default_factory=list)
    busy: bool = False
    last_used: int = 0

    def span(self, tokens: Sequence[int], outputs: int = 0) -> Span:
        """The next tokens, as a span to decode."""
        return Span(self.seq, len(self.tokens), tokens, outputs)

    def wrote(self, tokens: Sequence[int]) -> None:
        """The span with these tokens was decoded."""
        self.tokens.extend(tokens)

    def cut(self, length: int) -> None:
        """Drop everything behind the first `length` tokens. Raises EngineError when the model cannot."""
        if length < len(self.tokens):
            self.backend.truncate(self.seq, length)
            del self.tokens[length:]

    def clear(self) -> None:
        """Drop everything, which every model can, whatever the cache holds after a failure."""
        self.backend.truncate(self.seq, 0)
        self.tokens.clear()

    def keep_prefix_of(self, tokens: Sequence[int], *, leave: int = 1) -> int:
        """Cut to the longest common prefix, but leave the last `leave` tokens to be decoded; its length.

        A model that cannot drop the tail of a sequence keeps all or nothing.
        """
        same = min(common_prefix(self.tokens, tokens), len(tokens) - leave)
        if same < len(self.tokens) and not self.backend.capabilities.partial_removal:
            same = 0
        self.cut(same)
        return same

    def decode(self, tokens: Sequence[int], outputs: int) -> Logits:
        """Decode tokens of this sequence alone, in chunks; the last chunk's rows."""
        n_batch = self.backend.capabilities.n_batch
        for start in range(0, len(tokens), n_batch):
            chunk = tokens[start : start + n_batch]
            last = start + n_batch >= len(tokens)
            rows = self.backend.decode([self.span(chunk, outputs if last else 0)])
            self.wrote(chunk)
        return rows


class SlotTable:
    """The slots of a backend. A request gets the one that shares the most with its prompt."""

    def __init__(self, backend: Backend) -> None:
        self._slots = [Slot(backend, seq) for seq in range(backend.capabilities.n_seq_max)]
        self._clock = 0

    def acquire(self, tokens: Sequence[int]) -> tuple[Slot, int]:
        """A free slot, cut to what it shares with the tokens, and how much that is. Raises EngineError: none free."""
        free = [slot for slot in self._slots if not slot.busy]
        if not free:
            raise EngineError("every sequence of the model is in use")
        slot = max(free, key=lambda slot: (common_prefix(slot.tokens, tokens), -slot.last_used))
        same = slot.keep_prefix_of(tokens)
        self._clock += 1
        slot.busy, slot.last_used = True, self._clock
        return slot, same

    def release(self, slot: Slot) -> None:
        """The request is over; what the slot holds stays for the next one that begins alike."""
        slot.busy = False
