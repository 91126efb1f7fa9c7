"""How fast an answer goes from one round to the next, out of figures that are told of all of it so far. Pure."""

from dataclasses import dataclass

from paceline.chat.happenings import Working

TOGETHER = 1.0  # milliseconds; tokens that come closer to each other are of one round


@dataclass(frozen=True)
class Step:
    """What was written in one round."""

    per_second: float  # tokens
    acceptance: float | None  # share of what was drafted for it; None: nothing was


class Steps:
    """Of one answer after the other."""

    def __init__(self) -> None:
        self._begin: Working | None = None  # what the round before ended with
        self._last: Working | None = None

    def add(self, work: Working) -> Step | None:
        """The round that is known to be over by this. None: none is; the first round of an answer has no beginning."""
        if work.what in ("waiting", "idle"):  # between two answers
            step, self._begin, self._last = self._step(), None, None
            return step
        if work.what != "writing" or work.milliseconds is None:
            return None
        last = self._last
        if last is None or last.milliseconds is None or work.tokens < last.tokens:
            self._begin, self._last = None, work
            return None
        if work.milliseconds - last.milliseconds < TOGETHER:
            self._last = work
            return None
        step, self._begin, self._last = self._step(), last, work
        return step

    def _step(self) -> Step | None:
        begin, last = self._begin, self._last
        if begin is None or last is None or begin.milliseconds is None or last.milliseconds is None:
            return None
        tokens, took = last.tokens - begin.tokens, last.milliseconds - begin.milliseconds
        if tokens <= 0 or took <= 0:
            return None
        drafted, accepted = last.drafted - begin.drafted, last.accepted - begin.accepted
        return Step(tokens / took * 1000, accepted / drafted if drafted > 0 else None)
