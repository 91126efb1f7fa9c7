"""What the backend's cache holds, sequence by sequence: reuse of common prefixes, cutting back, making room."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from paceline.engine.backend import Backend, Logits, Span
from paceline.engine.parking import Parked, ParkingLot, common_prefix
from paceline.engine.tree import Parents
from paceline.errors import EngineError

WORTH = 64  # tokens of somebody else's conversation that are not thrown away to reuse what stands before them


class Cells:
    """Counts the cells of the cache. One that several sequences share, as copies of a prefix do, counts once."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.used = 0
        self._next = 0
        self._more: dict[int, int] = {}  # by cell: holders beyond the first

    @property
    def free(self) -> int:
        """Tokens that may be added."""
        return self.size - self.used

    def take(self, count: int) -> range:
        """Names for so many new cells."""
        self.used += count
        self._next += count
        return range(self._next - count, self._next)

    def share(self, cells: Sequence[int]) -> None:
        """One more sequence holds these."""
        for cell in cells:
            self._more[cell] = self._more.get(cell, 0) + 1

    def give(self, cells: Sequence[int]) -> None:
        """One sequence less holds these; a cell that nobody holds is free."""
        for cell in cells:
            more = self._more.get(cell, 0)
            if not more:
                self.used -= 1
            elif more == 1:
                del self._more[cell]
            else:
                self._more[cell] = more - 1


@dataclass(eq=False)
class Slot:
    """One sequence of a backend and the tokens whose keys and values are in its cache."""

    backend: Backend
    seq: int
    cells: Cells
    tokens: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)  # the cell of each token
    busy: bool = False
    last_used: int = 0

    def span(self, tokens: Sequence[int], outputs: int = 0, parents: Parents = (), spare: Sequence[int] = ()) -> Span:
        """The next tokens, as a span to decode; the last ones a tree where it has parents."""
        return Span(self.seq, len(self.tokens), tokens, outputs, parents, spare)

    def wrote(self, tokens: Sequence[int]) -> None:
        """The span with these tokens was decoded."""
        self.tokens.extend(tokens)
        self.held.extend(self.cells.take(len(tokens)))

    def keep(self, span: Span, path: Sequence[int]) -> None:
        """The span was decoded: hold the tokens before its drafted ones, and of these the path. `path`: their indices.

        Raises EngineError.
        """
        drafted = span.outputs - 1
        known, draft = span.tokens[: len(span.tokens) - drafted], span.tokens[len(span.tokens) - drafted :]
        if span.parents:
            self.backend.keep(span, path)
            self.wrote([*known, *(draft[node] for node in path)])
        else:
            self.wrote(span.tokens)
            self.cut(len(self.tokens) - drafted + len(path))

    def cut(self, length: int) -> None:
        """Drop everything behind the first `length` tokens. Raises EngineError when the model cannot."""
        if length < len(self.tokens):
            self.backend.truncate(self.seq, length)
            self._forget(length)

    def clear(self) -> None:
        """Drop everything, which every model can, whatever the cache holds after a failure."""
        self.backend.truncate(self.seq, 0)
        self._forget(0)

    def copy_of(self, other: "Slot", length: int) -> None:
        """Hold the other's first `length` tokens and share their cells."""
        self.clear()
        self.backend.copy(other.seq, self.seq, length)
        self.tokens, self.held = other.tokens[:length], other.held[:length]
        self.cells.share(self.held)

    def restore(self, parked: Parked) -> None:
        """Hold what was parked. Raises EngineError when the backend cannot; the slot is empty then."""
        self.clear()
        try:
            self.backend.restore(self.seq, parked.state)
        except EngineError:
            self.clear()
            raise
        self.wrote(parked.tokens)

    def reusable(self, tokens: Sequence[int], *, leave: int = 1) -> int:
        """How much of the cache serves these tokens, of which the last `leave` are to be decoded in any case.

        A model that cannot drop the tail of a sequence can use all or nothing.
        """
        same = min(common_prefix(self.tokens, tokens), len(tokens) - leave)
        if same < len(self.tokens) and not self.backend.capabilities.partial_removal:
            return 0
        return same

    def keep_prefix_of(self, tokens: Sequence[int], *, leave: int = 1) -> int:
        """Cut to what is reusable; its length."""
        same = self.reusable(tokens, leave=leave)
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

    def _forget(self, length: int) -> None:
        self.cells.give(self.held[length:])
        del self.tokens[length:], self.held[length:]


class SlotTable:
    """The slots of a backend. A request gets what serves it best; what others may come back for is not thrown away."""

    def __init__(self, backend: Backend, *, parking: int = 0, spare: int = 0) -> None:
        """parking: bytes of main memory for conversations that have to leave the cache. spare: sequences that get no
        slot, as drafts that branch need them.
        """
        self._backend = backend
        self.cells = Cells(backend.capabilities.n_ctx)
        slots = max(1, backend.capabilities.n_seq_max - spare)
        self.slots = [Slot(backend, seq, self.cells) for seq in range(slots)]
        self.spare = range(slots, backend.capabilities.n_seq_max)
        self.lot = ParkingLot(parking)
        self._clock = 0

    @property
    def available(self) -> int:
        """Cells that are free or held only by sequences at rest. (Shared ones are left out: a lower bound.)"""
        busy = {cell for slot in self.slots if slot.busy for cell in slot.held}
        return self.cells.size - len(busy)

    def room(self, most: int) -> int:
        """Cells that could be had now, up to `most`."""
        return most if self.cells.free >= most else min(most, self.available)

    @property
    def idle(self) -> list[Slot]:
        """Slots at rest, the one that rested longest first, empty ones before all."""
        resting = (slot for slot in self.slots if not slot.busy)
        return sorted(resting, key=lambda slot: (bool(slot.tokens), slot.last_used))

    def acquire(self, tokens: Sequence[int]) -> tuple[Slot, int]:
        """A free slot that holds the longest known beginning of the tokens, and its length.

        Raises EngineError: none is free.
        """
        idle = self.idle
        if not idle:
            raise EngineError("every sequence of the model is in use")
        slot = max(idle, key=lambda each: each.reusable(tokens))
        donor = self._donor(tokens)
        copying = donor is not None and donor.reusable(tokens) > slot.reusable(tokens)
        if copying or len(slot.tokens) - slot.reusable(tokens) >= WORTH:
            slot = self._spare(slot, donor, tokens)
        parked, same = self.lot.best(tokens)
        if parked is not None and self._serves(parked, same) and same > slot.reusable(tokens):
            slot = self._restored(slot, parked, same)
        same = slot.keep_prefix_of(tokens)
        self._clock += 1
        slot.busy, slot.last_used = True, self._clock
        return slot, same

    def release(self, slot: Slot) -> None:
        """The request is over; what the slot holds stays for the next one that begins alike."""
        self._clock += 1
        slot.busy, slot.last_used = False, self._clock

    def make_room(self, count: int) -> bool:
        """Let sequences at rest leave until so many cells are free. False: there are not enough even then."""
        if self.cells.free < count and self.available >= count:
            for slot in self.idle:
                if self.cells.free >= count:
                    break
                self._evict(slot)
        return self.cells.free >= count

    def clear(self) -> None:
        """Empty every slot and the parking lot."""
        for slot in self.slots:
            slot.clear()
        self.lot.clear()

    def _donor(self, tokens: Sequence[int]) -> Slot | None:
        """The slot, at work or at rest, whose beginning is worth copying."""
        if not self._backend.capabilities.partial_removal:
            return None
        best = max(self.slots, key=lambda slot: slot.reusable(tokens))
        return best if best.reusable(tokens) else None

    def _spare(self, own: Slot, donor: Slot | None, tokens: Sequence[int]) -> Slot:
        """Another slot than `own`, with a copy of the donor's prefix; `own` with its contents parked if it is the only
        one at rest.
        """
        spare = next((slot for slot in self.idle if slot is not donor), None)
        if spare is None:
            self._park(own)
            return own
        self._evict(spare)
        if donor is not None:
            spare.copy_of(donor, donor.reusable(tokens))
        return spare

    def _serves(self, parked: Parked, same: int) -> bool:
        return same == len(parked.tokens) or self._backend.capabilities.partial_removal

    def _restored(self, slot: Slot, parked: Parked, same: int) -> Slot:
        """The parked sequence in a slot at rest; or the slot as it was, where there is no room."""
        self.lot.take(parked, leave=len(parked.tokens) - same >= WORTH)
        spare = slot if len(slot.tokens) < WORTH else self.idle[0]
        self._evict(spare)
        if not self.make_room(len(parked.tokens)):
            self.lot.put(parked.tokens, parked.state)
            return slot
        try:
            spare.restore(parked)
        except EngineError:
            return slot
        return spare

    def _evict(self, slot: Slot) -> None:
        self._park(slot)
        slot.clear()

    def _park(self, slot: Slot) -> None:
        """Save a conversation that is worth it and is not saved already."""
        if len(slot.tokens) < WORTH or not self.lot.has_room_for(1) or self.lot.holds(slot.tokens):
            return
        others = (other for other in self.slots if other is not slot)
        if any(common_prefix(other.tokens, slot.tokens) == len(slot.tokens) for other in others):
            return
        try:
            self.lot.put(slot.tokens, self._backend.save(slot.seq))
        except EngineError:  # it cannot be saved, so it is read again when it is needed
            return
