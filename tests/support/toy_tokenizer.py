"""A small vocabulary with a token for every byte, some words, and control tokens; it takes the longest match."""

import re
from collections.abc import Sequence

from paceline.engine.vocabulary import FimTokens

WORDS = [
    b" return",
    b"return",
    b" x",
    b"    ",
    b"\n\n",
    b"def",
    b" def",
    b"print",
    b" self",
    b".",
    b"self",
    b"<|",
    b"|>",
]
CONTROLS = ["<|bos|>", "<|im_start|>", "<|im_end|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"]


class ToyTokenizer:
    """Ids: bytes, then words, then control tokens. `bos` is put in front where `wants_bos`."""

    def __init__(
        self, *, wants_bos: bool = False, infills: bool = True, controls: Sequence[str] = CONTROLS, words=WORDS
    ) -> None:
        self.pieces = [bytes([byte]) for byte in range(256)] + list(words) + [b"" for _ in controls]
        self.controls = list(controls)
        self.first_control = 256 + len(words)
        self.wants_bos = wants_bos
        self.infills = infills
        self._ids = {piece: token for token, piece in enumerate(self.pieces) if piece}
        self._longest = max(map(len, self._ids))

    @property
    def n_tokens(self) -> int:
        return len(self.pieces)

    def control(self, text: str) -> int:
        return self.first_control + self.controls.index(text)

    def encode(self, text: str, *, special: bool = False, bos: bool = False) -> list[int]:
        tokens = [self.control("<|bos|>")] if bos and self.wants_bos else []
        if special and self.controls:
            for part in re.split("(" + "|".join(map(re.escape, self.controls)) + ")", text):
                tokens += [self.control(part)] if part in self.controls else self._plain(part.encode())
            return tokens
        return tokens + self._plain(text.encode())

    def _plain(self, data: bytes) -> list[int]:
        tokens, at = [], 0
        while at < len(data):
            length = next(n for n in range(self._longest, 0, -1) if data[at : at + n] in self._ids)
            tokens.append(self._ids[data[at : at + length]])
            at += length
        return tokens

    def piece(self, token: int) -> bytes:
        return self.pieces[token]

    def special_texts(self) -> Sequence[str]:
        return self.controls

    def fim(self) -> FimTokens | None:
        if not self.infills:
            return None
        names = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
        repository, separator = (
            self.control(name) if name in self.controls else None for name in ("<|repo_name|>", "<|file_sep|>")
        )
        return FimTokens(*(self.control(name) for name in names), repository=repository, separator=separator)

    def shown(self, tokens: Sequence[int]) -> str:
        """The tokens as text, control tokens by their names in double angle brackets."""
        parts = [
            f"<<{self.controls[token - self.first_control]}>>".encode()
            if token >= self.first_control
            else self.pieces[token]
            for token in tokens
        ]
        return b"".join(parts).decode("utf-8", "replace")
