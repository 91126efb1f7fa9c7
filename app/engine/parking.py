"""Conversations that had to leave the context, kept in main memory until they are continued."""

from collections.abc import Sequence
from dataclasses import dataclass

from paceline.engine.backend import State


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """How many tokens both begin with."""
    shorter = min(len(a), len(b))
    if list(a[:shorter]) == list(b[:shorter]):
        return shorter
    return next(i for i in range(shorter) if a[i] != b[i])


@dataclass(frozen=True, eq=False)
class Parked:
    """A sequence's tokens and what the backend saved of it."""

    tokens: Sequence[int]
    state: State


class ParkingLot:
    """Saved sequences within a budget of bytes; the one that was not used for longest leaves first."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._parked: list[Parked] = []  # least recently used first
        self.bytes = 0

    def __len__(self) -> int:
        """Number of sequences."""
        return len(self._parked)

    def has_room_for(self, size: int) -> bool:
        """Whether so many bytes could be parked at all."""
        return size <= self._budget

    def holds(self, tokens: Sequence[int]) -> bool:
        """Whether these tokens, or more of the same conversation, are parked."""
        return any(common_prefix(each.tokens, tokens) == len(tokens) for each in self._parked)

    def put(self, tokens: Sequence[int], state: State) -> None:
        """Park a sequence. What it continues is no longer needed; where it is too large, nothing happens."""
        if not self.has_room_for(len(state)):
            return
        for each in list(self._parked):
            if common_prefix(each.tokens, tokens) == len(each.tokens):
                self._remove(each)
        while self.bytes + len(state) > self._budget:
            self._remove(self._parked[0])
        self._parked.append(Parked(list(tokens), state))
        self.bytes += len(state)

    def best(self, tokens: Sequence[int]) -> tuple[Parked | None, int]:
        """The parked sequence that shares the most with the tokens, and how much."""
        best, most = None, 0
        for each in self._parked:
            same = common_prefix(each.tokens, tokens)
            if same > most:
                best, most = each, same
        return best, most

    def take(self, parked: Parked, *, leave: bool) -> State:
        """Its state; it leaves the lot, unless `leave` keeps it for another that begins alike."""
        self._remove(parked)
        if leave:
            self._parked.append(parked)
            self.bytes += len(parked.state)
        return parked.state

    def clear(self) -> None:
        """Give the memory back."""
        self._parked.clear()
        self.bytes = 0

    def _remove(self, parked: Parked) -> None:
        self._parked.remove(parked)
        self.bytes -= len(parked.state)
