"""Drafts that were not made because too much had been lost, played on paper to see when they would win again."""

from collections.abc import Sequence
from dataclasses import dataclass, field

SHORT = 8  # tokens of a draft that are played, so that its outcome is known soon


@dataclass
class Paper:
    """One draft at a time; what it would have won, in plain decodes."""

    _draft: list[int] = field(default_factory=list)
    _cost: float = 0.0
    _right: int = 0

    @property
    def busy(self) -> bool:
        """Whether a draft is being played."""
        return bool(self._draft)

    def begin(self, draft: Sequence[int], cost: float) -> None:
        """Play this draft, whose round would cost so many plain decodes."""
        self._draft, self._cost, self._right = list(draft), cost, 0

    def follow(self, committed: Sequence[int]) -> float:
        """These tokens came; what the draft won (or lost, below 0) when that is known now, 0.0 otherwise."""
        for token in committed if self._draft else ():
            right = token == self._draft[self._right]
            self._right += right
            if not right or self._right == len(self._draft):
                self._draft = []
                return self._right + 1 - self._cost
        return 0.0
