"""Drafting an edit: the answer reproduces a text with changes, so the text is the draft.

Follows the copy along its source. Where the answer departs from it, the way back is looked for: right behind the change
by the next token, anywhere else in the source by two. What was put in place of what is remembered, and put there again
the next time the same tokens come (a renamed variable comes many times).
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from paceline.engine.acceptance import Bucket, bucket
from paceline.engine.drafters.base import Drafter, Proposal, Worth

REACH = 8  # how far behind a change a single token may show the way back
COPYING = 4  # a run at least this long was copying, so that what broke it was a change and not a chance match
PATIENCE = 256  # tokens after which a change is taken for the end of the copy, where no original is known
CONFIRMED = 2  # tokens copied behind a change that show where it ended
LONGEST = 12  # tokens of a replacement that is remembered
UNBEGUN = 8  # tokens of an answer before which an original may still begin: a word, a fence
LOOKED_AT = 8  # places with the same two tokens that are compared


@dataclass
class Swap:
    """Tokens of the source and what the answer had instead."""

    old: tuple[int, ...]
    new: tuple[int, ...]
    seen: int = 1  # times it was made, less those it was not


@dataclass
class _Break:
    """A change that the answer is in, or has just left."""

    source: int  # where it began, in the source
    answer: int  # and in the answer
    back: tuple[int, int] | None = None  # where the copy went on, in both


class EditDrafter(Drafter):
    """Drafts from `original` or, where none is known, from the prompt and the answer so far."""

    name = "edit"

    def __init__(self, original: Sequence[int] = ()) -> None:
        self._known = bool(original)
        self._kind = "known" if original else "resume"
        self._said: list[int] = []  # all committed tokens
        self._source: list[int] = list(original) if original else self._said
        self._places: dict[tuple[int, int], list[int]] = {}  # by two tokens: indices behind them, rising
        self._swaps: dict[int, list[Swap]] = {}  # by the first replaced token
        self._at: int | None = 0 if original else None  # index of the source's token that comes next if copying goes on
        self._run = 0  # tokens copied since the source was entered or resumed
        self._resumed = self._known
        self._break: _Break | None = None
        self._begun = False  # the prompt has come
        self._answered = 0  # tokens of the answer
        self._entered = False  # some of the source has been copied
        self._index(0, len(original))

    def extend(self, tokens: Sequence[int]) -> None:
        """Follow the copy along. The first tokens are the prompt's."""
        if not self._begun:
            self._begun = True
            self._said.extend(tokens)
            if not self._known:
                self._index(0, len(self._said))
            return
        for token in tokens:
            self._said.append(token)
            self._answered += 1
            self._follow(token)
            self._entered = self._entered or self._run >= CONFIRMED
            if self._at is None and (self._break is None or self._known):
                self._enter()
            if not self._known:
                self._index(len(self._said) - 1, len(self._said))

    def propose(self, limit: int, worth: Worth) -> Sequence[Proposal]:
        """What may follow: the original's beginning, as long as it may still come; then `_along`."""
        if not self._known or self._entered or self._answered > UNBEGUN:
            return self._along(limit)
        tokens = self._source[:limit]
        keys = [bucket("begin", self._answered), *self._keys(1, len(tokens) - 1)]
        return (Proposal(self.name, tokens, keys), *(each for each in self._along(limit) if each.tokens != tokens))

    def _along(self, limit: int) -> Sequence[Proposal]:
        """The source from where the copy is, with the replacements made so far; and without, where that differs."""
        if self._at is not None:
            swapped, plain = self._written(self._at, self._run, limit), self._copied(self._at, self._run, limit)
            if swapped is not None:
                return (swapped, plain) if plain.tokens else (swapped,)
            return (plain,) if self._resumed and plain.tokens else ()
        if self._break is not None and len(self._said) - self._break.answer == 1:
            return tuple(each for each in self._behind_one(self._break.source, limit) if each.tokens)
        return ()

    def _behind_one(self, source: int, limit: int) -> list[Proposal]:
        """One token differed: the rest of a known replacement, or the source behind the token it stands for."""
        found: list[Proposal] = []
        if source < len(self._source):
            for swap in self._swaps.get(self._source[source], ()):
                if swap.new[0] == self._said[-1] and self._stands(swap.old, source):
                    rest = list(swap.new[1:])
                    start = source + len(swap.old)
                    tokens = (rest + self._source[start : start + limit])[:limit]
                    keys = [bucket("swap", max(0, swap.seen))] * max(1, len(rest)) + self._keys(1, limit)
                    found.append(Proposal(self.name, tokens, keys[: len(tokens)]))
                    break
        return found or [self._copied(source + 1, 0, limit)]

    def _copied(self, start: int, run: int, limit: int) -> Proposal:
        tokens = self._source[start : start + limit]
        return Proposal(self.name, tokens, self._keys(run, len(tokens)))

    def _written(self, start: int, run: int, limit: int) -> Proposal | None:
        """The source with what was replaced before replaced again; None where nothing is."""
        if not self._swaps:
            return None
        tokens: list[int] = []
        keys: list[Bucket] = []
        at, changed = start, False
        while len(tokens) < limit and at < len(self._source):
            swap = self._swap_at(at)
            if swap is None:
                keys.append(bucket(self._kind, run + len(tokens)))
                tokens.append(self._source[at])
                at += 1
                continue
            changed = True
            keys += [bucket("swap", swap.seen), *self._keys(run + len(tokens) + 1, len(swap.new) - 1)]
            tokens += swap.new
            at += len(swap.old)
        return Proposal(self.name, tokens[:limit], keys[:limit]) if changed else None

    def _swap_at(self, at: int) -> Swap | None:
        for swap in self._swaps.get(self._source[at], ()):
            if swap.seen > 0 and self._stands(swap.old, at):
                return swap
        return None

    def _stands(self, tokens: tuple[int, ...], at: int) -> bool:
        return tuple(self._source[at : at + len(tokens)]) == tokens

    def _follow(self, token: int) -> None:
        """Advance along the source, or note a departure from it and look for the way back."""
        if self._at is not None:
            if self._at < len(self._source) and self._source[self._at] == token:
                self._count_unmade(self._at)
                self._at += 1
                self._run += 1
                if self._break is not None and self._run >= CONFIRMED:
                    self._learn(self._break)
                if self._run >= COPYING:
                    self._break = None
                return
            # A resumed run that breaks again at once was chance: the first break still counts.
            if self._break is None or self._break.back is None or self._run >= COPYING:
                self._break = _Break(self._at, len(self._said) - 1)
            self._break.back = None
            self._at = None
        if self._break is not None:
            self._resume(token, self._break)

    def _resume(self, token: int, broken: _Break) -> None:
        """Go on in the source where it has the last two tokens; or, near the change, the last one."""
        since = len(self._said) - broken.answer
        if since > PATIENCE and not self._known:
            self._break = None
            return
        found = self._by_two(broken) if since >= 2 else None
        copied = 2
        if found is None and since <= REACH:
            found, copied = self._by_one(token, broken, since), 1
        if found is not None:
            self._at, self._run, self._resumed = found, copied, True
            broken.back = (found - copied, len(self._said) - copied)

    def _by_two(self, broken: _Break) -> int | None:
        """The place behind the last two tokens that agrees longest with what was said, nearest to the change."""
        places = self._places.get((self._said[-2], self._said[-1]), [])
        middle = bisect_left(places, broken.source)
        near = places[max(0, middle - LOOKED_AT // 4) : middle + LOOKED_AT]
        near = [place for place in near if place < len(self._source)]
        return max(near, key=lambda place: (self._agrees(place), -abs(place - broken.source)), default=None)

    def _by_one(self, token: int, broken: _Break, since: int) -> int | None:
        """The place behind this token nearest to where a change of equal length would end."""
        expected = broken.source + since - 1
        first = broken.source + (since == 1)  # the token that just differed cannot be the way back
        window = range(first, min(broken.source + REACH, len(self._source)))
        same = (at for at in window if self._source[at] == token)
        nearest = min(same, key=lambda at: abs(at - expected), default=None)
        return None if nearest is None else nearest + 1

    def _agrees(self, place: int) -> int:
        """Tokens before a place in the source that are the last said ones, up to COPYING of them."""
        n = 0
        while n < COPYING and n < place and n < len(self._said) and self._source[place - 1 - n] == self._said[-1 - n]:
            n += 1
        return n

    def _enter(self) -> None:
        """Start to follow where the source has the last few tokens."""
        if len(self._said) < 2:
            return
        places = self._places.get((self._said[-2], self._said[-1]), [])
        for place in reversed(places[-LOOKED_AT:]):
            if self._agrees(place) >= COPYING:
                self._at, self._run, self._resumed = place, COPYING, self._known
                self._break = None
                return

    def _learn(self, broken: _Break) -> None:
        """Remember what was replaced by what, now that the copy goes on behind it."""
        if broken.back is None:
            return
        (source, answer), broken.back = broken.back, None
        old, new = tuple(self._source[broken.source : source]), tuple(self._said[broken.answer : answer])
        if not (0 < len(old) <= LONGEST and 0 < len(new) <= LONGEST):
            return
        known = self._swaps.setdefault(old[0], [])
        for swap in known:
            if swap.old == old and swap.new == new:
                swap.seen += 1
                return
        known.insert(0, Swap(old, new))

    def _count_unmade(self, at: int) -> None:
        """A replacement that could have been made here was not."""
        swap = self._swap_at(at)
        if swap is not None:
            swap.seen -= 1

    def _index(self, start: int, end: int) -> None:
        for at in range(max(1, start), end):
            self._places.setdefault((self._source[at - 1], self._source[at]), []).append(at + 1)

    def _keys(self, run: int, count: int) -> list[Bucket]:
        return [bucket(self._kind, run + i) for i in range(count)]
