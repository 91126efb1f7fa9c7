"""The best that could be done on a trace with these drafters by who knows the future.

At position i of an answer (i tokens are known) the lookup drafters offer what depends on i alone, so that a(i), the
longest beginning of an offer that the target will accept, is known for each i; d(i) is the same for the draft model.
The least time T(i) from there to the end is found backwards (dynamic programming, exact for chains):

    T(i) = min of  t(1) + T(i + 1)                                plain decoding
                   t(k + 1) + T(i + k + 1),  1 <= k <= a(i)       k tokens of an offer
                   D(k) + t(k + 1) + T(i + k + 1), 1 <= k <= d(i) k tokens of the draft model

The draft model's cache has to catch up with what was decoded without it. Its first decode of a round reads all the m
tokens that it lacks, which takes no less than d(1) + (m - 1) s, for the largest slope s that stays below its curve. So
each token that the draft model lacks is charged s if the draft model is used again (T1), and nothing if it is not (T0).
That makes T a lower bound of what any policy can reach, and the sum over the rounds of a policy of

    regret = cost of the round + T(after it) - T(before it)  >=  0

is what the policy takes longer than the oracle: a round's regret says what that decision cost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from bench.replay.curves import Machine

LONGEST = 63
Means = Literal["plain", "lookup", "draft"]


class Action(NamedTuple):
    """What is done in a round: so many tokens are drafted by these means."""

    means: Means
    tokens: int


PLAIN = Action("plain", 0)


@dataclass(frozen=True)
class Prospects:
    """For each position of an answer: drafted tokens that would be accepted, from lookup and from the draft model."""

    lookup: Sequence[int]
    draft: Sequence[int]


class _Solution(NamedTuple):
    """By position: the least time to the end and the best action, without the draft model and with it used again."""

    never: list[float]
    again: list[float]
    never_action: list[Action]
    again_action: list[Action]


@dataclass(frozen=True)
class Oracle:
    """The best decisions on one trace. `prompt`: its tokens. Positions: tokens of the answer that are known, from 1."""

    prompt: int
    prospects: Prospects
    machine: Machine

    @property
    def total(self) -> float:
        """Milliseconds from the first token of the answer to its last."""
        return self.least(1, self.prompt + 1)

    def least(self, position: int, missing: int) -> float:
        """Milliseconds to the end, when the draft model's cache lacks so many of the tokens known by now."""
        return min(self._solution.never[position], missing * self.slope + self._solution.again[position])

    def best(self, position: int, missing: int) -> Action:
        """The best thing to do there."""
        solution = self._solution
        used = missing * self.slope + solution.again[position] < solution.never[position]
        return solution.again_action[position] if used else solution.never_action[position]

    def actions(self) -> list[Action]:
        """What it does, round by round."""
        found, at, missing = list[Action](), 1, self.prompt + 1
        while at < len(self.prospects.lookup):
            found.append(self.best(at, missing))
            at += found[-1].tokens + 1
            missing = 2 if found[-1].means == "draft" else missing + found[-1].tokens + 1
        return found

    @cached_property
    def slope(self) -> float:
        """Milliseconds that a token which the draft model lacks adds to its next decode, at the least."""
        curve = self.machine.draft
        return min(max(0.0, curve.at(m) - curve.at(1)) / (m - 1) for m in range(2, 129))

    @cached_property
    def _solution(self) -> _Solution:
        n, one, s = len(self.prospects.lookup), self.machine.draft.at(1), self.slope
        t = [0.0, *(self.machine.target.at(m) for m in range(1, LONGEST + 2))]
        found = _Solution([0.0] * (n + 1), [float("inf")] * (n + 1), [PLAIN] * (n + 1), [PLAIN] * (n + 1))
        never, again, never_action, again_action = found
        for i in range(n - 1, 0, -1):
            left = min(n - i - 1, LONGEST)
            never[i], again[i] = t[1] + never[i + 1], t[1] + s + again[i + 1]
            for k in range(1, min(self.prospects.lookup[i], left) + 1):
                j = i + k + 1
                if t[k + 1] + never[j] < never[i]:
                    never[i], never_action[i] = t[k + 1] + never[j], Action("lookup", k)
                if t[k + 1] + (k + 1) * s + again[j] < again[i]:
                    again[i], again_action[i] = t[k + 1] + (k + 1) * s + again[j], Action("lookup", k)
            for k in range(1, min(self.prospects.draft[i], left) + 1):
                j = i + k + 1
                cost = k * one - s + t[k + 1] + min(never[j], 2 * s + again[j])
                if cost < again[i]:
                    again[i], again_action[i] = cost, Action("draft", k)
        return found
