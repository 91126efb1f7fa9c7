"""Which names a few typed letters mean: where they stand decides, not how many there are. Pure.

A name has a base: what stands behind its last separator. Letters that contain the separator are looked for in the whole
name, others in the base first. Ranks, the best first: the base (or it without its ending) is what was typed; it begins
so; a word in it begins so, or its words' first letters do; it contains it; the whole name contains it; the letters
stand in the base in this order, with gaps; and so in the whole name.
"""

import heapq
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

SAME, BEGINS, WORD, INSIDE, WHOLE, GAPS, FAR = range(7)
_WORD_START = re.compile(r"(?<![^\W_])[^\W_]|(?<=[a-z0-9])[A-Z]")

Key = tuple[int, int, int, int, str]  # rank, how well within it, kind, length, name: the smallest is the best


def folded(name: str) -> str:
    """In lower case, and as long as before, so that places in it are places in the name."""
    lower = name.lower()
    return lower if len(lower) == len(name) else "".join(c.lower() if len(c.lower()) == 1 else c for c in name)


class Names:
    """Names that are searched together, from any thread. `order` parts equal matches of several lots."""

    def __init__(self, names: Sequence[str], separator: str, order: int = 0) -> None:
        self.names = tuple(names)
        self._separator = separator
        self._order = order
        ends = [name.rstrip(separator).rfind(separator) + 1 for name in names]
        self._lower = [folded(name) for name in names]
        self._bases = [low[end:].rstrip(separator) for low, end in zip(self._lower, ends, strict=True)]
        self._initials = [_initials(name[end:]) for name, end in zip(names, ends, strict=True)]
        self._narrowed: tuple[str, Sequence[int]] = "", range(len(self.names))

    def best(self, query: str, limit: int) -> list[tuple[Key, int]]:
        """The best matches and their indices, in order. Looks no further down than it must."""
        typed = folded(query)
        deep = self._separator in typed
        subjects = self._lower if deep else self._bases
        pool = self._pool(typed)
        found: list[tuple[Key, int]] = []
        taken: set[int] = set()

        def take(candidates: Iterable[int]) -> bool:
            """Whether there are enough. Candidates: all of a rank, or of some, and none of a better one that is new."""
            fresh = [at for at in dict.fromkeys(candidates) if at not in taken]
            taken.update(fresh)
            keyed = ((self._key(at, typed, deep=deep), at) for at in fresh)
            found.extend(heapq.nsmallest(limit - len(found), keyed))
            return len(found) >= limit

        inside = [at for at in pool if typed in subjects[at]]
        if take([at for at in inside if subjects[at].startswith(typed)]):
            return found
        begun = re.compile(rf"[\W_]{re.escape(typed)}")
        words = [at for at in inside if begun.search(subjects[at])]
        if not deep and len(typed) > 1:
            words += [at for at in pool if self._initials[at].startswith(typed)]
        if take(words) or take(inside):
            return found
        if not deep and take([at for at in pool if typed in self._lower[at]]):
            return found
        gaps = _gaps(typed)
        if not deep and take([at for at in pool if gaps.match(self._bases[at])]):
            return found
        last = [at for at in pool if gaps.match(self._lower[at])]
        self._narrowed = typed, last
        take(last)
        return found

    def _pool(self, typed: str) -> Sequence[int]:
        """Where to look: names that have all the letters. As more is typed, there are fewer and fewer."""
        known, pool = self._narrowed
        if not typed.startswith(known):
            known, pool = "", range(len(self.names))
        for char in dict.fromkeys(typed[len(known) :]):
            pool = [at for at in pool if char in self._lower[at]]
        self._narrowed = typed, pool
        return pool

    def key(self, at: int, query: str) -> Key | None:
        """How well one name matches; None: not at all."""
        typed = folded(query)
        if not _gaps(typed).match(self._lower[at]):
            return None
        return self._key(at, typed, deep=self._separator in typed)

    def _key(self, at: int, typed: str, *, deep: bool) -> Key:
        """deep: the whole name is looked at, not the base first."""
        whole = self._lower[at]
        subject, initials = (whole, "") if deep else (self._bases[at], self._initials[at])
        rank, fine = _rank(typed, subject, whole, initials)
        return rank, fine, self._order, len(self.names[at]), self.names[at]


def positions(name: str, query: str, separator: str) -> tuple[int, ...]:
    """Places in the name of what was typed, for a name that matches; as good ones as there are."""
    typed, lower = folded(query), folded(name)
    base = 0 if separator in typed else name.rstrip(separator).rfind(separator) + 1
    starts = [base + found.start() for found in _WORD_START.finditer(name[base:])]
    if len(typed) > 1 and not lower.startswith(typed, base):
        word = next((at for at in starts if lower.startswith(typed, at)), None)
        if word is not None:
            return tuple(range(word, word + len(typed)))
        if "".join(lower[at] for at in starts).startswith(typed):
            return tuple(starts[: len(typed)])
    for begin in (base, 0):
        at = lower.find(typed, begin)
        if at >= 0:
            return tuple(range(at, at + len(typed)))
    found = _gaps(typed).match(lower, base) or _gaps(typed).match(lower)
    if found is None:
        return ()
    places: list[int] = []
    end = found.end(1)
    for char in reversed(typed):  # from the end, so that the stretch is as short as it can be there
        end = lower.rindex(char, 0, end)
        places.append(end)
    return tuple(reversed(places))


def _rank(typed: str, subject: str, whole: str, initials: str) -> tuple[int, int]:
    """The rank of a name that matches, and what parts those of one rank: the smaller the better."""
    at = subject.find(typed)
    if at == 0:
        stem = subject.rpartition(".")[0] or subject
        return (SAME if typed in (subject, stem) else BEGINS), 0
    if at > 0 and (begun := re.search(rf"[\W_]{re.escape(typed)}", subject)) is not None:
        return WORD, begun.start() + 1
    if len(typed) > 1 and initials.startswith(typed):
        return WORD, 0
    if at > 0:
        return INSIDE, at
    if (at := whole.find(typed)) >= 0:
        return WHOLE, len(whole) - at
    gaps = _gaps(typed)
    near = gaps.match(subject)
    if near is not None:
        return GAPS, near.end(1) - near.start(1)
    far = gaps.match(whole)
    assert far is not None
    return FAR, far.end(1) - far.start(1)


@lru_cache(maxsize=64)
def _gaps(typed: str) -> "re.Pattern[str]":
    """Matches at the start of what has the letters in this order; the group reaches from the first of them to the last.

    Each letter is sought up to its first place only, so that no name takes longer than its length.
    """
    first, *rest = [re.escape(char) for char in typed] or [""]
    return re.compile(rf"[^{first}]*({first}" + "".join(f"[^{char}]*{char}" for char in rest) + ")" if first else "()")


def _initials(base: str) -> str:
    return "".join(found[0] for found in _WORD_START.finditer(base)).lower()
