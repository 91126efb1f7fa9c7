"""Who runs this step. One request at a time, in the order of arrival; a long prompt goes in chunks."""

from collections import deque

from paceline.engine.sequence import Generation
from paceline.engine.speculate import Prefill, Round

Work = Prefill | Round


class Scheduler:
    """Holds the running request and those that wait; says what the next decode contains."""

    def __init__(self, n_batch: int) -> None:
        self._n_batch = n_batch
        self._running: deque[Generation] = deque()

    @property
    def running(self) -> list[Generation]:
        """Requests that have a sequence."""
        return list(self._running)

    def add(self, sequence: Generation) -> None:
        """A request got its sequence."""
        self._running.append(sequence)

    def remove(self, sequence: Generation) -> None:
        """A request is over."""
        self._running.remove(sequence)

    def next(self) -> list[Work]:
        """What to decode in this step; empty when there is nothing to do."""
        if not self._running:
            return []
        sequence = self._running[0]
        pending = sequence.pending
        # Chunk borders lie at fixed positions: where a prompt is cut changes its logits in the last digits.
        chunk = self._n_batch - len(sequence.slot.tokens) % self._n_batch
        if len(pending) > chunk:
            return [Prefill(sequence, pending[:chunk])]
        return [Round(sequence, self._n_batch)]
