"""Who runs this step, and with how many tokens: priorities, short steps, bounded starvation. Pure decisions."""

from collections.abc import Sequence
from dataclasses import dataclass

from paceline.engine.costs import Costs
from paceline.engine.sequence import Generation

CHEAP = 1.1  # a less urgent request may ride along where the step costs no more than this many times as much
STARVED = 16  # steps that others may have before a less urgent request is served too
LEAST = 16  # tokens of a prompt that are always worth a step
ALONE = 8.0  # times the target: how long a step may take where nobody waits for its end; a newcomer stops it
LONE_LEAST = 64  # tokens; smaller chunks read slower


@dataclass(frozen=True)
class Turn:
    """A request's part of a step: so many of its pending tokens. All of them means that it says what comes next."""

    sequence: Generation
    tokens: int

    @property
    def speaks(self) -> bool:
        """Whether this ends in a new token; otherwise it is a chunk of a prompt."""
        return self.tokens == len(self.sequence.tokens) - len(self.sequence.place.tokens)


def urgency(sequence: Generation) -> tuple[int, int]:
    """Sorts the most urgent first; of equals, who came first."""
    return sequence.rank, sequence.number


def chunk(held: int, size: int) -> int:
    """Tokens up to the next border. Borders lie at fixed positions, as where a prompt is cut changes its logits in the
    last digits.
    """
    return size - held % size


def power_of_two(n: int) -> int:
    """The largest that is not above n, at least 1."""
    return 1 << max(0, n.bit_length() - 1)


class Scheduler:
    """Holds the running requests; says what the next decode contains."""

    def __init__(self, n_batch: int, costs: Costs, target_ms: float) -> None:
        """target_ms: how long a step may take while somebody waits for its end."""
        self._n_batch = n_batch
        self._costs = costs
        self._target = target_ms
        self._running: list[Generation] = []

    @property
    def running(self) -> list[Generation]:
        """Requests that have a sequence, the most urgent first."""
        return list(self._running)

    def add(self, sequence: Generation) -> None:
        """A request got its sequence."""
        self._running.append(sequence)
        self._running.sort(key=urgency)

    def remove(self, sequence: Generation) -> None:
        """A request is over, or has to wait again."""
        self._running.remove(sequence)

    def next(self, cells: int, *, crowded: bool = False) -> list[Turn]:
        """What to decode in this step, within so many cells; empty when there is nothing to do.

        crowded: another engine waits for the step's end.

        Requests that decode come before those that read, as their one token costs little and is waited for. Less
        urgent ones ride along where that is cheap, or where they have been passed over for too long.
        """
        room = min(self._n_batch, cells)
        turns: list[Turn] = []
        top = self._running[0].rank if self._running else 0
        for sequence in sorted(self._running, key=lambda each: (each.rank, each.reading, each.number)):
            base = sum(turn.tokens for turn in turns)
            tokens = self._wanted(sequence, turns, room - base, crowded)
            if tokens > 0 and (sequence.rank == top or self._may_ride(sequence, base, tokens)):
                turns.append(Turn(sequence, tokens))
        served = {turn.sequence for turn in turns}
        for sequence in self._running:
            sequence.skipped = 0 if sequence in served else sequence.skipped + 1
        return turns

    def _wanted(self, sequence: Generation, turns: Sequence[Turn], room: int, crowded: bool) -> int:
        """Pending tokens that may go into this step: one, or a chunk whose size follows from who waits for its end."""
        held, pending = len(sequence.place.tokens), len(sequence.tokens) - len(sequence.place.tokens)
        if pending == 1 or room < 1:
            return min(1, room)
        base = sum(turn.tokens for turn in turns)
        if crowded or turns:
            size = self._affordable(base, max(self._target, CHEAP * self._costs.at(max(base, 1))), LEAST)
        else:
            size = self._affordable(0, ALONE * self._target, LONE_LEAST)
        wanted = min(pending, chunk(held, size))
        return wanted if wanted <= room else chunk(held, power_of_two(room))

    def _affordable(self, base: int, milliseconds: float, least: int) -> int:
        """The largest power of two of tokens that, beside `base` others, keeps a step below that; no fewer than
        `least`.
        """
        size = power_of_two(self._n_batch)
        while size > least and self._costs.at(base + size) > milliseconds:
            size //= 2
        return size if size < power_of_two(self._n_batch) else self._n_batch

    def _may_ride(self, sequence: Generation, base: int, tokens: int) -> bool:
        return sequence.skipped >= STARVED or self._costs.at(base + tokens) <= CHEAP * self._costs.at(base)
