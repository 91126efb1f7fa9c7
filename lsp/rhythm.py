"""How long to wait for the next key before computing: as long as it pays, and no longer.

A person who types on has no use for what was computed for the key before. Whether the next key will come before the
answer is told by how fast they type and how long answers take here; both are observed.
"""

from collections import deque
from dataclasses import dataclass, field

PAUSE = 1.0  # seconds between two keys, from which on the person has stopped to think
SEEN = 24  # intervals that are looked at
LONGEST = 0.1  # seconds that anybody waits for the sake of the processor
SHORTEST = 0.05  # seconds; no person types faster, and what does has not finished
QUICK = 0.5  # of an interval: an answer that is there so soon is never waited for
WEIGHT = 0.2  # of a new observation of the latency


@dataclass
class Rhythm:
    """One document's typing, and one engine's latency. Times are in seconds of any steady clock."""

    latency: float = 0.3  # of an answer that has to be computed
    _intervals: deque[float] = field(default_factory=lambda: deque(maxlen=SEEN))
    _last: float | None = None

    def typed(self, now: float) -> None:
        """A change came from the person."""
        if self._last is not None and 0 < now - self._last < PAUSE:
            self._intervals.append(now - self._last)
        self._last = now

    def answered(self, seconds: float) -> None:
        """A computed answer took so long."""
        self.latency += WEIGHT * (seconds - self.latency)

    @property
    def interval(self) -> float | None:
        """The usual time between two keys; None before anything is known."""
        if len(self._intervals) < 3:
            return None
        return sorted(self._intervals)[len(self._intervals) // 2]

    def wait(self, now: float) -> float:
        """How long from now to wait before anything is computed."""
        since = now - self._last if self._last is not None else PAUSE
        return max(0.0, patience(self.interval, self.latency) - since)


def patience(interval: float | None, latency: float) -> float:
    """Seconds after a key, before computing pays.

    Nothing where the answer is there long before the next key. Otherwise a little more than the usual interval: by
    then half of the keys have come that come at all, and whoever has not typed on is likely to be waiting.
    """
    if interval is None:
        return 0.0 if latency < 0.05 else min(LONGEST, latency / 2)
    if latency < QUICK * interval:
        return 0.0
    return min(LONGEST, max(SHORTEST, 1.1 * interval), latency)
