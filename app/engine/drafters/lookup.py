"""Lookup drafting: what usually followed these tokens, in the request's own text or in others at hand.

Prompt lookup (Saxena 2023) with the longest match instead of a fixed n-gram, and with continuations weighed by how
often they followed (SuffixDecoding, Oliaro et al. 2024).
"""

from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from paceline.engine.acceptance import STRENGTHS, Bucket, bucket
from paceline.engine.drafters.base import Drafter, Proposal, Worth
from paceline.engine.drafters.library import AT_ONCE, PORTION, Library, Reference
from paceline.engine.drafters.suffix import Cursor, Step, SuffixIndex, Walk

LOOK_IN = 64  # of the prompt's last tokens, that the place in other texts is found by
LEAST = 2  # a match in another text that is worth a proposal
OTHERS = 2  # proposals from other texts, at most
RIVAL = 0.12  # chance of a second continuation that is worth a proposal
NEAR = 4  # and how far ahead it may stand
ALIKE = 8  # proposals that begin with so many equal tokens are the same
LOYALTY = 4.0  # in its own text an answer goes on like the last time, unless something else is so much more usual

PARTS = 16  # of a chance, in its bucket
UNSEEN = 1.5  # times that something else would have followed: not all continuations are known
REPEATED = (0, 0, 1, 4)  # tokens by which a match counts as longer, when it was followed alike once, twice, three times


class Place(NamedTuple):
    """Where an answer stands in a text. `length`: tokens that match; `kind`: evidence of which kind that is."""

    source: SuffixIndex
    state: int
    length: int
    kind: str
    own: bool = False  # the request's own text

    def walk(self, state: int, limit: int) -> Walk:
        """The usual continuation."""
        return self.source.walk(state, limit, loyalty=LOYALTY if self.own else 1.0, beyond=self.own)


class LookupDrafter(Drafter):
    """Drafts from texts. Costs microseconds. A long prompt is indexed piece by piece, as others wait for each step's
    end; until it has been, only other texts are drafted from.
    """

    name = "ngram"

    def __init__(
        self, library: Library | None = None, references: Sequence[Reference] = (), *, editing: bool = False
    ) -> None:
        """library: where other texts are, and where this request's own is left for those that go on with it.
        references: (name, tokens) of texts that the answer may quote. editing: the prompt is known to hold a text that
        the answer changes.
        """
        self._library = Library() if library is None else library
        self._references = references
        self._copy = "edited" if editing else "copy"
        self._index: SuffixIndex | None = None
        self._unread = array("i")  # committed tokens that are not yet indexed
        self._prompt = 0  # tokens in the index before the answer's
        self._others: list[tuple[str, Cursor]] = []  # kind of the text, place in it

    def extend(self, tokens: Sequence[int]) -> None:
        """Index the tokens and follow them in the other texts."""
        if self._index is None:
            self._index = self._library.checkout(tokens, AT_ONCE)
            self._unread = array("i", tokens[len(self._index.text) :])
            self._prompt = len(self._index.tokens) + len(self._unread)
            self._others = [(kind, Cursor(text)) for kind, text in self._library.sources(self._references)]
            tokens = tokens[-LOOK_IN:]
        else:
            self._unread.extend(tokens)
            if len(self._unread) == len(tokens):
                self._read(len(tokens))
        for _, cursor in self._others:
            for token in tokens:
                cursor.advance(token)

    def catch_up(self) -> None:
        """Index a portion of the text that was put off, its own first."""
        if self._unread:
            self._read(PORTION)
        else:
            self._library.read_on()

    def _read(self, most: int) -> None:
        if self._index is not None:
            self._index.extend(self._unread[:most])
            del self._unread[:most]

    def propose(self, limit: int, worth: Worth) -> Sequence[Proposal]:
        """The usual continuation of the longest match, its strongest rival, and those of longer matches elsewhere."""
        if self._index is None or limit < 1:
            return ()
        offers: list[Proposal] = []
        length = 0 if self._unread else self._index.match[0]
        if length:
            own = Place(self._index, self._index.matched, length, "self", own=True)
            walk = own.walk(own.state, limit)
            self._offer(offers, own if walk.place >= self._prompt else own._replace(kind="copy"), walk, limit)
        found = [Place(at.index, at.state, at.length, kind) for kind, at in self._others if at.length >= LEAST]
        found.sort(key=lambda place: place.length, reverse=True)
        for place in found[:OTHERS]:
            if place.length >= length:
                self._offer(offers, place, place.walk(place.state, limit), limit)
        return offers

    def close(self) -> None:
        """Leave the text to the library, as far as it has been indexed."""
        if self._index is not None:
            self._library.give_back(self._index)
            self._index = None

    def _offer(self, offers: list[Proposal], place: Place, walk: Walk, limit: int) -> None:
        """Add a walk and, where it soon had a strong rival, that too, unless the same was proposed already."""
        if not walk.tokens or any(offer.tokens[:ALIKE] == walk.tokens[:ALIKE] for offer in offers):
            return
        buckets = _buckets(walk, place.kind, place.length)
        offers.append(Proposal(self.name, walk.tokens, buckets))
        if walk.fork is None or walk.fork[0] >= NEAR or len(offers) > 1:
            return
        at, state = walk.fork
        rival = next(each for each in place.source.followers(state) if each.token != walk.tokens[at])
        if _chance(rival.step) < RIVAL:
            return
        behind = place.walk(rival.state, limit - at - 1)
        tokens = [*walk.tokens[:at], rival.token, *behind.tokens]
        rest = _buckets(behind, place.kind, place.length + at + 1)
        offers.append(Proposal(self.name, tokens, [*buckets[:at], _fork(rival.step), *rest]))


def _buckets(walk: Walk, kind: str, length: int) -> list[Bucket]:
    """What each token of a walk behind a match of that length is estimated by."""
    levels = rising(kind)
    most = len(levels) - 1
    found = [
        _fork(step)
        if step.share < 1.0
        else levels[min(length + i + REPEATED[min(step.times, len(REPEATED) - 1)], most)]
        for i, step in enumerate(walk.steps)
    ]
    n = len(walk.tokens)
    found += levels[length + len(found) : length + n]
    return found + [levels[most]] * (n - len(found))


@lru_cache(maxsize=32)
def rising(kind: str) -> list[Bucket]:
    """The buckets for strengths from 0 to the greatest there is; not to be changed."""
    return [bucket(kind, strength) for strength in range(STRENGTHS[-1] + 1)]


def _chance(step: Step) -> float:
    """Of a token that has rivals, supposing that one more is still unknown."""
    return step.times / (step.times / step.share + UNSEEN)


def _fork(step: Step) -> Bucket:
    return rising("fork")[int(_chance(step) * PARTS)]
