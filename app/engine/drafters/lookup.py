"""Lookup drafting: what followed the last time these tokens stood here, in the prompt or in the answer.

Prompt lookup (Saxena 2023) with the longest match instead of a fixed n-gram, and one thing more: when a copied text
departs from its source for a moment (a renamed variable), drafting resumes right behind the change, before a new match
has grown long enough to be trusted.
"""

from collections.abc import Sequence

from paceline.engine.acceptance import bucket
from paceline.engine.drafters.base import Proposal, Worth
from paceline.engine.drafters.suffix import SuffixAutomaton

REACH = 8  # how far behind a change the source is searched for the place to resume at
COPYING = 4  # a run at least this long was copying, so that what broke it was a change and not a chance match


class LookupDrafter:
    """Drafts from the request's own tokens. Costs microseconds."""

    name = "ngram"

    def __init__(self) -> None:
        self._index = SuffixAutomaton()
        self._prompt = 0  # tokens of the prompt: the first that are seen
        self._source: int | None = None  # index of the token that comes next if the copy goes on
        self._run = 0  # tokens copied since the source was entered or resumed
        self._resumed = False  # the run is one that continues behind a change
        self._broken: int | None = None  # index of the source token that was not copied
        self._since = 0  # tokens since then

    def extend(self, tokens: Sequence[int]) -> None:
        """Follow the copy along, then index the token."""
        self._prompt = self._prompt or len(tokens)
        for token in tokens:
            self._follow(token)
            self._index.extend((token,))
            if self._source is None and self._broken is None:
                self._enter()

    def propose(self, limit: int, worth: Worth) -> Sequence[Proposal]:
        """The continuation of the longest match and, near a change, of the source behind it."""
        proposals = []
        length, end = self._index.match
        if length:
            kind = "copy" if end <= self._prompt else "self"
            proposals.append(self._proposal(kind, length, end, limit))
        if self._source is not None and self._resumed and self._source != end:
            proposals.append(self._proposal("resume", self._run, self._source, limit))
        elif self._source is None and self._broken is not None and self._since == 1:
            proposals.append(self._proposal("resume", 0, self._broken + 1, limit))
        return [proposal for proposal in proposals if proposal.tokens]

    def close(self) -> None:
        """Nothing to free."""

    def _proposal(self, kind: str, strength: int, start: int, limit: int) -> Proposal:
        tokens = self._index.tokens[start : start + limit]
        period = len(tokens)
        while 0 < len(tokens) < limit:  # the text ends here: what repeats itself goes on repeating itself
            tokens.extend(tokens[-period:][: limit - len(tokens)])
        return Proposal(self.name, tokens, [bucket(kind, strength + i) for i in range(len(tokens))])

    def _enter(self) -> None:
        """Start to follow the longest match's continuation."""
        length, end = self._index.match
        if length >= COPYING:
            self._source, self._run, self._resumed = end, length, False

    def _follow(self, token: int) -> None:
        """Advance along the source, or note a departure from it and look for the way back."""
        tokens = self._index.tokens
        if self._source is not None:
            if self._source < len(tokens) and tokens[self._source] == token:
                self._source += 1
                self._run += 1
                if self._run >= COPYING:
                    self._broken = None
            else:
                # A resumed run that breaks again at once was chance: the first break still counts.
                if self._broken is None:
                    self._broken, self._since = self._source, 0
                self._source = None
        if self._broken is not None:
            self._since += 1
            if self._source is None:
                self._resume(token, self._broken)

    def _resume(self, token: int, broken: int) -> None:
        """Go on in the source where it has this token, nearest to a change of equal length first."""
        if self._since > REACH:
            self._broken = None
            return
        tokens = self._index.tokens
        expected = broken + self._since - 1
        first = broken + (self._since == 1)  # the token that just differed cannot be the way back
        window = range(first, min(broken + REACH, len(tokens)))
        for at in sorted(window, key=lambda index: abs(index - expected)):
            if tokens[at] == token:
                self._source, self._run, self._resumed = at + 1, 1, True
                return
