"""A model's tokens: text to ids and back, and which ids mean something special."""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

# Texts of the markers (suffix, prefix, middle; "" for none) of models that read the suffix first: Seed-Coder
# (its technical report, arXiv:2506.03524) and Codestral (the library mistral-common, `encode_fim`).
_SEED, _CODESTRAL = ("<[fim-suffix]>", "<[fim-prefix]>", "<[fim-middle]>"), ("[SUFFIX]", "[PREFIX]", "")
_SUFFIX_FIRST = (_SEED, _CODESTRAL)
SHARED_MARKERS = frozenset({"[SUFFIX]", "[PREFIX]", "[MIDDLE]"})  # of a vocabulary that models have which cannot infill
# Codestral, CodeNinja, mistral-7b-code, MistralCode, x-FIM; not what is a part of another word, such as unicode
_FOR_CODE = re.compile(r"(?<![A-Za-z])(?i:code(?!cs?\b)|fim(?![a-z]))|(?<=[a-z])Code(?!c)|(?i:codestral)")


@dataclass(frozen=True)
class FimTokens:
    """Ids of the fill-in-the-middle markers; None where the model has none.

    suffix_first: the model was trained with the suffix in front: it goes on where the prefix ends, or behind `middle`.
    """

    prefix: int
    suffix: int
    middle: int | None
    pad: int | None = None
    repository: int | None = None
    separator: int | None = None
    suffix_first: bool = False

    @property
    def markers(self) -> frozenset[int]:
        """All of them. No answer goes on behind one, and none of them is text."""
        every = (self.prefix, self.suffix, self.middle, self.pad, self.repository, self.separator)
        return frozenset(token for token in every if token is not None)


def suffix_first(control: Mapping[str, int], names: Iterable[str] = ()) -> FimTokens | None:
    """The markers of a model that reads the suffix first, among its control tokens by their texts; None for others.

    names: what the model is called. Mistral's vocabulary of 2024 has Codestral's markers in all of its models, of which
    only those for code were trained to infill.
    """
    for markers in _SUFFIX_FIRST:
        suffix, prefix, middle = markers
        trained = markers is not _CODESTRAL or is_for_code(names)
        if trained and suffix in control and prefix in control and (not middle or middle in control):
            return FimTokens(control[prefix], control[suffix], control.get(middle), suffix_first=True)
    return None


def is_for_code(names: Iterable[str]) -> bool:
    """Whether a model's names say that it was made for code, or for infilling."""
    return any(_FOR_CODE.search(name) for name in names)


class Encoder(Protocol):
    """Text to token ids."""

    def __call__(self, text: str, special: bool, bos: bool) -> list[int]:
        """`special`: texts of control tokens become those tokens; `bos`: add what the model wants in front."""
        ...


@dataclass(frozen=True)
class Vocabulary:
    """Everything about tokens that does not need the weights.

    `read_piece` gives a token's bytes (none for control tokens), `read_text` its entry in the vocabulary.
    """

    n_tokens: int
    encoder: Encoder
    read_piece: Callable[[int], bytes]
    read_text: Callable[[int], str]
    end_of_generation: frozenset[int]
    control: frozenset[int]
    bos: int | None = None
    eos: int | None = None
    fim_tokens: FimTokens | None = None
    chat_template: str | None = None
    _pieces: dict[int, bytes] = field(default_factory=dict, repr=False, compare=False)

    def encode(self, text: str, *, special: bool = False, bos: bool = False) -> list[int]:
        """Token ids of the text."""
        return self.encoder(text, special, bos)

    def piece(self, token: int) -> bytes:
        """The token's bytes as they stand in the text; empty for control tokens."""
        known = self._pieces.get(token)
        if known is None:
            known = self._pieces[token] = self.read_piece(token)
        return known

    @cached_property
    def pieces(self) -> Sequence[bytes]:
        """Bytes of every token, by id."""
        return [self.piece(token) for token in range(self.n_tokens)]

    def least_tokens(self, texts: Iterable[str]) -> int:
        """Texts have at least so many tokens together, told without tokenizing: a token has no more than so many bytes,
        and a character has at least one.
        """
        size = sum(map(len, texts))
        return size if size == 0 else -(-size // self._longest)

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.pieces))

    def special_texts(self) -> Sequence[str]:
        """Texts of the control tokens, such as `<|im_end|>`."""
        return self._special_texts

    @cached_property
    def _special_texts(self) -> Sequence[str]:
        return [self.read_text(token) for token in sorted(self.control)]

    def fim(self) -> FimTokens | None:
        """The markers of fill-in-the-middle, or None: the model cannot infill."""
        return self.fim_tokens

    def text_of(self, token: int | None) -> str:
        """The vocabulary's entry for a token, empty for None."""
        return "" if token is None else self.read_text(token)

    def fingerprint(self) -> str:
        """A hash of every token's text in order: equal fingerprints mean that ids may be exchanged."""
        digest = hashlib.sha256()
        for token in range(self.n_tokens):
            text = self.read_text(token).encode()
            digest.update(len(text).to_bytes(4, "little") + text)
        return digest.hexdigest()
