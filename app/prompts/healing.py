"""How an answer begins. Token healing: let the model choose any tokens whose text begins with what was typed.

A prompt that ends in the middle of a word ends in tokens the model has hardly ever seen at that place. So the prompt
stops before the word, and the word's bytes become a constraint on the first tokens of the answer.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
NOTHING: Ids = np.zeros(0, dtype=np.int32)
BLANKS = (b"", b" ", b"\t")  # that a token of a word may begin with


class VocabularyTrie:
    """Finds tokens by the beginning of their bytes.

    Not a tree: in the sorted list of pieces all that begin with the same bytes stand together, so two binary
    searches find them. Tokens with empty pieces (control tokens) are in no answer.
    """

    def __init__(self, pieces: Sequence[bytes]) -> None:
        """`pieces[token]` are the bytes of that token."""
        order = sorted((token for token, piece in enumerate(pieces) if piece), key=pieces.__getitem__)
        self._pieces = pieces
        self._sorted = [pieces[token] for token in order]
        self._ids: Ids = np.array(order, dtype=np.int32)
        self._longest = max(map(len, self._sorted), default=0)
        self._all: Ids = np.arange(len(pieces), dtype=np.int32)

    @property
    def everything(self) -> Ids:
        """Ascending ids of all tokens."""
        return self._all

    def piece(self, token: int) -> bytes:
        """Bytes of the token; empty for a control token and for an id outside of the vocabulary."""
        return self._pieces[token] if 0 <= token < len(self._pieces) else b""

    def starting_with(self, prefix: bytes) -> Ids:
        """Ids (n,) of the tokens whose bytes begin with the prefix, itself included."""
        first = bisect_left(self._sorted, prefix)
        after = _after(prefix)
        last = len(self._sorted) if after is None else bisect_left(self._sorted, after, lo=first)
        return self._ids[first:last]

    def beginnings_of(self, text: bytes) -> Ids:
        """Ids (n,) of the tokens whose bytes are a beginning of the text, shorter than it."""
        found = [self.exactly(text[:length]) for length in range(1, min(len(text) - 1, self._longest) + 1)]
        return np.concatenate(found) if found else self._ids[:0]

    def exactly(self, piece: bytes) -> Ids:
        """Ids (n,) of the tokens with these bytes."""
        first = bisect_left(self._sorted, piece)
        return self._ids[first : bisect_right(self._sorted, piece, lo=first)]


def _after(prefix: bytes) -> bytes | None:
    """The least byte string above all that begin with the prefix; None when there is none."""
    head = prefix.rstrip(b"\xff")
    return head[:-1] + bytes([head[-1] + 1]) if head else None


class Constraint:
    """How an answer has to begin: with the forced bytes, consumed token by token, and then with none of some words.

    Where no token fits, which cannot happen in a vocabulary with a token for every byte, and after a token that does
    not fit, the constraint gives up: everything is allowed, and `gave_up` says so.
    """

    def __init__(
        self, trie: VocabularyTrie, forced: bytes, barred: Sequence[bytes] = (), *, flush: bool = False
    ) -> None:
        """barred: words, or marks, that the first line with text must not begin with.

        flush: no blank may follow right behind the forced bytes, which are all the indentation that is wanted.
        """
        self._trie = trie
        self._forced = forced
        self._at = 0
        self._barred = tuple(barred)
        self._flush = flush
        self._begun = b""  # the answer behind the forced bytes, as long as it may become a barred word
        self.gave_up = False

    @property
    def remaining(self) -> bytes:
        """What the next tokens still have to spell."""
        return b"" if self.gave_up else self._forced[self._at :]

    def allowed(self) -> Ids | None:
        """Ascending ids (n,) of the tokens that may come next, n > 0; None when any may.

        A token fits when its bytes begin with what remains, or what remains begins with its bytes.
        """
        remaining = self.remaining
        if not remaining:
            barred = self._not_next(b"")
            return np.delete(self._trie.everything, barred) if barred.size else None
        ids = np.concatenate([self._trie.beginnings_of(remaining), self._trie.starting_with(remaining)])
        fitting = np.setdiff1d(ids, self._not_next(remaining))
        if fitting.size == 0:
            self.gave_up = ids.size == 0
            return None if self.gave_up else np.sort(ids)
        return fitting

    def advance(self, token: int) -> None:
        """The token has been chosen."""
        remaining, piece = self.remaining, self._trie.piece(token)
        if remaining and not (piece and (piece.startswith(remaining) or remaining.startswith(piece))):
            self.gave_up = True
        if self.gave_up:
            return
        self._at += min(len(piece), len(remaining))
        if self.remaining:
            return
        self._flush = self._flush and len(piece) == len(remaining)
        self._begun = (self._begun + piece[len(remaining) :]).lstrip()
        if not piece or not any(word.startswith(self._begun) for word in self._barred):
            self._barred = ()

    def copy(self) -> "Constraint":
        """An independent constraint in the same state, for tokens that may be taken back."""
        twin = Constraint(self._trie, self._forced, self._barred, flush=self._flush)
        twin._at, twin._begun, twin.gave_up = self._at, self._begun, self.gave_up
        return twin

    def _not_next(self, remaining: bytes) -> Ids:
        """Ascending ids of the tokens that would complete a barred word, or bring a blank where none is wanted."""
        if self.gave_up or not (self._barred or self._flush):
            return NOTHING
        blanks = (b"",) if self._begun else BLANKS
        found = [
            token
            for word in self._barred
            if word.startswith(self._begun)
            for blank in blanks
            for token in self._complete(remaining + blank + word[len(self._begun) :])
        ]
        wide = [self._trie.starting_with(remaining + blank) for blank in (b" ", b"\t") if self._flush]
        if self._flush and remaining:  # vocabularies have words with the blank before them: it is not for another token
            wide.append(self._trie.exactly(remaining))
        return np.unique(np.concatenate([np.array(found, dtype=np.int32), *wide]))

    def _complete(self, text: bytes) -> list[int]:
        """Tokens that begin with the text and do not go on with its last word."""
        ids = [int(token) for token in self._trie.starting_with(text)]
        if not _is_word(text[-1:]):
            return ids
        return [token for token in ids if not _is_word(self._trie.piece(token)[len(text) : len(text) + 1])]


def _is_word(byte: bytes) -> bool:
    return byte.isalnum() or byte == b"_" or byte > b"\x7f"
