"""A suffix automaton over a growing list of tokens (Blumer et al. 1985), built online in O(1) amortised per token.

Each state stands for a set of substrings that end at the same places. The suffix link of the state of the whole list
leads to the longest suffix that has occurred before: just what prompt lookup searches for.
"""

from collections.abc import Iterable


class SuffixAutomaton:
    """Answers: how long is the longest suffix seen before, and where did it last end?"""

    LOOK_BACK = 32  # links followed to note a state's latest occurrence; bounds the cost on highly repetitive text

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self._next: list[dict[int, int]] = [{}]  # transitions of each state
        self._link: list[int] = [-1]
        self._length: list[int] = [0]  # of the longest substring of the state
        self._end: list[int] = [0]  # where its latest known occurrence ends: index of the token after it
        self._last = 0
        self._match: tuple[int, int] = (0, 0)

    def extend(self, tokens: Iterable[int]) -> None:
        """Append tokens."""
        for token in tokens:
            self._append(token)

    @property
    def match(self) -> tuple[int, int]:
        """(length, end) of the longest suffix that occurred before; `tokens[end]` followed it then. (0, 0): none."""
        return self._match

    def _append(self, token: int) -> None:
        self.tokens.append(token)
        position = len(self.tokens)
        state = self._new({}, self._length[self._last] + 1, position)
        at = self._last
        while at != -1 and token not in self._next[at]:
            self._next[at][token] = state
            at = self._link[at]
        if at == -1:
            self._link[state] = 0
        else:
            self._link[state] = self._split(at, token)
        self._last = state
        self._note(position)

    def _split(self, at: int, token: int) -> int:
        """The state of (longest of `at`) + token, cut out of a longer one's state where they were the same."""
        reached = self._next[at][token]
        if self._length[reached] == self._length[at] + 1:
            return reached
        clone = self._new(dict(self._next[reached]), self._length[at] + 1, self._end[reached])
        self._link[clone] = self._link[reached]
        self._link[reached] = clone
        while at != -1 and self._next[at].get(token) == reached:
            self._next[at][token] = clone
            at = self._link[at]
        return clone

    def _new(self, transitions: dict[int, int], length: int, end: int) -> int:
        self._next.append(transitions)
        self._link.append(-1)
        self._length.append(length)
        self._end.append(end)
        return len(self._length) - 1

    def _note(self, position: int) -> None:
        """Read the match off the suffix link, then let the suffixes know that they occurred again, here."""
        state = self._link[self._last]
        self._match = (self._length[state], self._end[state]) if state > 0 else (0, 0)
        for _ in range(self.LOOK_BACK):
            if state <= 0:
                break
            self._end[state] = position
            state = self._link[state]
