"""An index of every substring of a growing text, and how often each was followed by what.

A suffix automaton (Blumer et al. 1985), built online in O(1) amortised per token. Each state stands for a set of
substrings that end at the same places; the suffix link of the state of the whole text leads to the longest suffix that
has occurred before: just what prompt lookup searches for. States count their occurrences, so that a continuation is
weighed by how often it followed, as SuffixDecoding does with a suffix tree (Oliaro et al. 2024).

States and transitions are numbers in arrays, as millions of small objects would fill gigabytes: a token of source code
takes about 100 bytes.
"""

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

NONE = -1
ROOT = 0
WIDE = 6  # transitions beyond which a state keeps them in a dict
HOPELESS = 0.02  # chance of a continuation that is not followed further
ENTRY_BYTES = 90  # of such a dict: the entry and its two numbers


class Step(NamedTuple):
    """How well one token of a continuation is known: it followed so often, in this share of the cases."""

    share: float
    times: int


class Follower(NamedTuple):
    """A token that followed somewhere."""

    token: int
    step: Step
    state: int  # behind it


class Walk(NamedTuple):
    """How a text may go on. `steps`: one for each of the first tokens; all after those followed once, and nothing else
    did. `place`: where the first token stood last. `fork`: the first token that had rivals, and the state before it.
    """

    tokens: list[int]
    steps: list[Step]
    place: int
    fork: tuple[int, int] | None


class SuffixIndex:
    """What followed where: over all tokens it was given, looked at from the end of its text or by a `Cursor`."""

    LOOK_BACK = 32  # suffixes of the text that learn of each token; bounds the cost on highly repetitive text
    LOOK_ASIDE = 64  # followers of a state that are compared
    OVERLAP = 32  # tokens before a change in the text that its new ending is read with

    def __init__(self, tokens: Iterable[int] = ()) -> None:
        self.tokens = array("i")  # all that were indexed, in order
        self._breaks: list[int] = []  # where in them another ending of the text begins
        self._kept = array("i")  # the text's tokens before the last of these
        self._from = 0  # and where in `tokens` it goes on
        # of each state: the longest of its substrings, where it occurred last (index of the token behind), how often
        self._link = array("i", [NONE])
        self._length = array("i", [0])
        self._end = array("i", [0])
        self._count = array("i", [0])
        self._first = array("i", [-2])  # its first transition; NONE; -2 - k: they are in _wide[k]
        # of each transition
        self._token = array("i")
        self._target = array("i")
        self._next = array("i")  # another of the same state
        self._wide: list[dict[int, int]] = [{}]  # the root has one for each token
        self._entries = 0
        self._last = ROOT
        self._matched = ROOT
        self._match = (0, 0)
        self.extend(tokens)

    def extend(self, tokens: Iterable[int]) -> None:
        """Append tokens."""
        for token in tokens:
            self._append(token)

    @property
    def text(self) -> "array[int]":
        """The text that `extend` appends to, as a copy."""
        return self._kept + self.tokens[self._from :]

    @property
    def match(self) -> tuple[int, int]:
        """(length, end) of the text's longest suffix that occurred before; `tokens[end]` stood behind it the last
        time. (0, 0): none.
        """
        return self._match

    @property
    def matched(self) -> int:
        """The state of that suffix; ROOT: none."""
        return self._matched

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        arrays = (
            *(self.tokens, self._kept, self._link, self._length, self._end, self._count, self._first),
            *(self._token, self._target, self._next),
        )
        return sum(map(sys.getsizeof, arrays)) + self._entries * ENTRY_BYTES

    def rewrite(self, text: Sequence[int]) -> None:
        """Make this the text. What was indexed stays; of the new text only what differs is indexed."""
        new, old = array("i", text), self.text
        same = common_prefix(old, new)
        if same < len(old):
            same = max(0, same - self.OVERLAP)
            self._breaks.append(len(self.tokens))
            self._kept, self._from = new[:same], len(self.tokens)
            self._last = self._matched = ROOT
            self._match = (0, 0)
        self.extend(new[same:])

    def followers(self, state: int) -> list[Follower]:
        """What followed the state's substrings, most frequent first; of equals the one that did so last comes first."""
        count, end = self._count, self._end
        options, total = self._options(state)
        ranked = sorted(options, key=lambda option: (count[option[1]], end[option[1]]), reverse=True)
        return [Follower(token, Step(count[target] / total, count[target]), target) for token, target in ranked]

    def walk(self, state: int, limit: int, *, loyalty: float = 1.0, beyond: bool = False) -> Walk:
        """The usual continuation of a state's substrings, token by token, at most `limit` of them, until it is
        hopeless: the one of the last time, unless another followed more than `loyalty` times as often.

        beyond: where the text ends, what repeats itself goes on repeating itself.
        """
        tokens: list[int] = []
        steps: list[Step] = []
        place, fork, hope = 0, None, 1.0
        while len(tokens) < limit and state != ROOT:
            if self._first[state] == NONE:
                if not beyond or state != self._last:
                    break
                state = self._followed(self._matched)
                continue
            before = state
            token, state, share = self._usual(state, loyalty)
            hope *= share
            if hope < HOPELESS:
                break
            if not tokens:
                place = self._end[state] - 1
            if share < 1.0 and fork is None:
                fork = (len(tokens), before)
            if len(steps) == len(tokens):
                steps.append(Step(share, self._count[state]))
            tokens.append(token)
            if self._count[state] == 1 and len(tokens) < limit:
                rest = self._only(state, limit - len(tokens))
                tokens.extend(rest)
                if self._end[state] + len(rest) < len(self.tokens):
                    break
                state = self._last
        return Walk(tokens, steps, place, fork)

    def target(self, state: int, token: int) -> int:
        """The state behind a token, NONE: it never followed."""
        edge = self._first[state]
        if edge < NONE:
            return self._wide[-2 - edge].get(token, NONE)
        tokens, following = self._token, self._next
        while edge != NONE:
            if tokens[edge] == token:
                return self._target[edge]
            edge = following[edge]
        return NONE

    def longest(self, state: int, length: int) -> tuple[int, int]:
        """(state, length) for a suffix of that length of a state's substrings."""
        while state != ROOT and length <= self._length[self._link[state]]:
            state = self._link[state]
        return state, length

    def shorter(self, state: int) -> tuple[int, int]:
        """(state, length): the longest suffix of a state's substrings that occurred elsewhere too."""
        link = self._link[state]
        return link, self._length[link]

    def _followed(self, state: int) -> int:
        """The state of the longest suffix of a state's substrings that has followers; ROOT: none has."""
        while state != ROOT and self._first[state] == NONE:
            state = self._link[state]
        return state

    def _usual(self, state: int, loyalty: float) -> tuple[int, int, float]:
        """(token, state behind it, share) of what usually followed."""
        first, count, end = self._first[state], self._count, self._end
        if first >= 0 and self._next[first] == NONE:
            return self._token[first], self._target[first], 1.0
        options, total = self._options(state)
        token, target = max(options, key=lambda option: (count[option[1]], end[option[1]]))
        if loyalty > 1.0:
            last, latest = max(options, key=lambda option: end[option[1]])
            if count[target] <= loyalty * count[latest]:
                token, target = last, latest
        return token, target, count[target] / total

    def _options(self, state: int) -> tuple[list[tuple[int, int]], int]:
        """(token, state behind it) of what followed a state's substrings, and how often they were followed at all."""
        first, count = self._first[state], self._count
        if first < NONE:
            wide = self._wide[-2 - first]
            options = list(islice(wide.items(), self.LOOK_ASIDE))  # in the order of their first time: rare ones last
            total = sum([count[target] for _, target in options])
            return options, total if len(options) == len(wide) else max(total, count[state])
        options = []
        while first != NONE:
            options.append((self._token[first], self._target[first]))
            first = self._next[first]
        return options, sum([count[target] for _, target in options])

    def _only(self, state: int, most: int) -> "array[int]":
        """What stands behind the only occurrence of a state's substrings, at most so many tokens."""
        start = self._end[state]
        stop = start + most
        if self._breaks:
            later = bisect_left(self._breaks, start)
            if later < len(self._breaks):
                stop = min(stop, self._breaks[later])
        return self.tokens[start:stop]

    def _append(self, token: int) -> None:
        self.tokens.append(token)
        last = self._last
        known = self.target(last, token) if self._first[last] != NONE else NONE
        if known != NONE:  # behind a rewriting: this ending, too, stood there before
            state = matched = self._ending_at(last, known, token)
        else:
            state, link, target, links = self._new(self._length[last] + 1), NONE, self.target, self._link
            at = last
            while at != NONE and (link := target(at, token)) == NONE:
                self._add(at, token, state)
                at = links[at]
            matched = ROOT if link == NONE else self._ending_at(at, link, token)
            links[state] = matched
        self._last, self._matched = state, matched
        self._note(state, matched)

    def _note(self, state: int, matched: int) -> None:
        """Read the match off, then let the suffixes know that they occurred again, here."""
        link, end, count, position = self._link, self._end, self._count, len(self.tokens)
        self._match = (self._length[matched], end[matched]) if matched != ROOT else (0, 0)
        for _ in range(self.LOOK_BACK):
            end[state] = position
            count[state] += 1
            state = link[state]
            if state <= ROOT:
                break

    def _ending_at(self, state: int, reached: int, token: int) -> int:
        """The state of (longest of `state`) + token, cut out of a longer one's state where they were the same."""
        length = self._length[state] + 1
        if self._length[reached] == length:
            return reached
        clone = self._new(length)
        self._end[clone], self._count[clone] = self._end[reached], self._count[reached]
        self._link[clone] = self._link[reached]
        self._link[reached] = clone
        self._copy_transitions(reached, clone)
        while state != NONE and self.target(state, token) == reached:
            self._redirect(state, token, clone)
            state = self._link[state]
        return clone

    def _new(self, length: int) -> int:
        self._link.append(ROOT)
        self._length.append(length)
        self._end.append(0)
        self._count.append(0)
        self._first.append(NONE)
        return len(self._first) - 1

    def _add(self, state: int, token: int, target: int) -> None:
        first = self._first[state]
        if first < NONE:
            self._wide[-2 - first][token] = target
            self._entries += 1
            return
        self._token.append(token)
        self._target.append(target)
        self._next.append(first)
        self._first[state] = len(self._token) - 1
        if first != NONE:
            self._widen(state)

    def _widen(self, state: int) -> None:
        """Put a state's transitions into a dict if they are many; what they took in the arrays is left unused."""
        edge, found = self._first[state], []
        while edge != NONE:
            found.append((self._token[edge], self._target[edge]))
            edge = self._next[edge]
        if len(found) > WIDE:
            self._wide.append(dict(reversed(found)))
            self._entries += len(found)
            self._first[state] = -1 - len(self._wide)

    def _copy_transitions(self, source: int, destination: int) -> None:
        edge = self._first[source]
        if edge < NONE:
            copied = dict(self._wide[-2 - edge])
            self._wide.append(copied)
            self._entries += len(copied)
            self._first[destination] = -1 - len(self._wide)
            return
        while edge != NONE:
            self._token.append(self._token[edge])
            self._target.append(self._target[edge])
            self._next.append(self._first[destination])
            self._first[destination] = len(self._token) - 1
            edge = self._next[edge]

    def _redirect(self, state: int, token: int, target: int) -> None:
        edge = self._first[state]
        if edge < NONE:
            self._wide[-2 - edge][token] = target
            return
        while self._token[edge] != token:
            edge = self._next[edge]
        self._target[edge] = target


class Cursor:
    """Follows a text that another index may know: which of its suffixes stands in there?"""

    def __init__(self, index: SuffixIndex) -> None:
        self.index = index
        self.state = ROOT
        self.length = 0  # of the longest suffix of what was advanced that occurs in the index

    def advance(self, token: int) -> None:
        """The text goes on with this token. O(1) amortised; the index may have grown in between."""
        index = self.index
        state, length = index.longest(self.state, self.length)
        while (reached := index.target(state, token)) == NONE:
            if state == ROOT:
                self.state, self.length = ROOT, 0
                return
            state, length = index.shorter(state)
        self.state, self.length = reached, length + 1


def common_prefix(one: "array[int]", other: "array[int]") -> int:
    """How many tokens two texts have in common at their beginning."""
    n = min(len(one), len(other))
    if not n:
        return 0
    differing = np.frombuffer(one, np.intc, n) != np.frombuffer(other, np.intc, n)
    first = int(differing.argmax())
    return first if differing[first] else n
