"""Token healing: let the model choose any tokens whose text begins with what was typed.

A prompt that ends in the middle of a word ends in tokens the model has hardly ever seen at that place. So the prompt
stops before the word, and the word's bytes become a constraint on the first tokens of the answer.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]


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
        found = [self._exactly(text[:length]) for length in range(1, min(len(text) - 1, self._longest) + 1)]
        return np.concatenate(found) if found else self._ids[:0]

    def _exactly(self, piece: bytes) -> Ids:
        first = bisect_left(self._sorted, piece)
        return self._ids[first : bisect_right(self._sorted, piece, lo=first)]


def _after(prefix: bytes) -> bytes | None:
    """The least byte string above all that begin with the prefix; None when there is none."""
    head = prefix.rstrip(b"\xff")
    return head[:-1] + bytes([head[-1] + 1]) if head else None


class Constraint:
    """The bytes with which an answer has to begin, consumed token by token.

    Where no token fits, which cannot happen in a vocabulary with a token for every byte, and after a token that does
    not fit, the constraint gives up: everything is allowed, and `gave_up` says so.
    """

    def __init__(self, trie: VocabularyTrie, forced: bytes) -> None:
        self._trie = trie
        self._forced = forced
        self._at = 0
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
            return None
        ids = np.concatenate([self._trie.beginnings_of(remaining), self._trie.starting_with(remaining)])
        if ids.size == 0:
            self.gave_up = True
            return None
        ids.sort()
        return ids

    def advance(self, token: int) -> None:
        """The token has been chosen."""
        remaining = self.remaining
        if not remaining:
            return
        piece = self._trie.piece(token)
        if piece and (piece.startswith(remaining) or remaining.startswith(piece)):
            self._at += min(len(piece), len(remaining))
        else:
            self.gave_up = True

    def copy(self) -> "Constraint":
        """An independent constraint in the same state, for tokens that may be taken back."""
        twin = Constraint(self._trie, self._forced)
        twin._at, twin.gave_up = self._at, self.gave_up
        return twin
