"""Vocabularies of any pieces, with a tokenizer that takes the longest piece that fits."""

import re
from collections.abc import Sequence

import numpy as np

from paceline.engine.vocabulary import FimTokens, Vocabulary
from support.fake_backend import FakeBackend

BYTES = [bytes([byte]) for byte in range(256)]


def text_vocabulary(
    pieces: Sequence[str | bytes],
    control: Sequence[str] = ("<end>",),
    *,
    bos: str | None = None,
    fim: FimTokens | None = None,
    space: bool = False,
) -> Vocabulary:
    """A token for each piece, then the control tokens, of which the first ends an answer.

    space: the tokenizer puts a space in front of each text. What no piece begins with is left out.
    """
    texts = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
    ids = {text: token for token, text in reversed(list(enumerate(texts)))}
    longest = max(map(len, texts))
    ends = range(len(texts), len(texts) + len(control))

    def cut(data: bytes) -> list[int]:
        found, at = [], 0
        while at < len(data):
            length = next((n for n in range(longest, 0, -1) if data[at : at + n] in ids), 0)
            if length:
                found.append(ids[data[at : at + length]])
            at += length or 1
        return found

    def encode(text: str, special: bool, bos: bool) -> list[int]:
        names = "|".join(map(re.escape, control)) if special and control else "(?!)"
        found: list[int] = []
        for part in re.split(f"({names})", text):
            if special and part in control:
                found.append(ends[control.index(part)])
            elif part:
                found += cut((" " if space else "").encode() + part.encode())
        return found

    return Vocabulary(
        n_tokens=len(texts) + len(control),
        encoder=encode,
        read_piece=lambda token: b"" if token in ends else texts[token],
        read_text=lambda token: control[token - len(texts)] if token in ends else texts[token].decode("latin-1"),
        end_of_generation=frozenset(ends[:1]),
        control=frozenset(ends),
        bos=None if bos is None else ends[control.index(bos)],
        eos=ends[0] if control else None,
        fim_tokens=fim,
    )


class Reciter(FakeBackend):
    """Knows a text by heart: whatever part of it stands in the cache, it goes on with the longest piece that fits."""

    def __init__(self, vocabulary: Vocabulary, text: str, *, then: int | None = None, **how: object) -> None:
        """then: the token behind the text; the end of an answer, unless another is given."""
        super().__init__(vocabulary.n_tokens, order=0, vocabulary=vocabulary, n_ctx=512, **how)
        self.text = text.encode()
        self.then = vocabulary.eos if then is None else then
        self.logits = np.zeros(vocabulary.n_tokens, np.float32)  # of all but the one token that it wants to say

    def row(self, tokens: Sequence[int]) -> np.ndarray:
        said = b"".join(map(self.vocabulary.piece, tokens))
        rest = self.text[len(said) :] if self.text.startswith(said) else b""
        fitting = [token for token, piece in enumerate(self.vocabulary.pieces) if piece and rest.startswith(piece)]
        row = self.logits.copy()
        row[max(fitting, key=lambda token: len(self.vocabulary.piece(token)), default=self.then)] = 50.0
        return row
