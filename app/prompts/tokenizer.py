"""What prompts need to know of a model's vocabulary, and nothing more."""

from collections.abc import Sequence
from typing import Protocol


class FimMarkers(Protocol):
    """Ids of the control tokens for filling in the middle, as prompts read them."""

    @property
    def prefix(self) -> int:
        """Before the text that precedes."""
        ...

    @property
    def suffix(self) -> int:
        """Before the text that follows."""
        ...

    @property
    def middle(self) -> int | None:
        """Before the text that is wanted; None where that goes on behind the prefix."""
        ...

    @property
    def suffix_first(self) -> bool:
        """Whether the text that follows is shown before the one that precedes."""
        ...

    @property
    def repository(self) -> int | None:
        """Before the name of a repository; None where the model has none."""
        ...

    @property
    def separator(self) -> int | None:
        """Before each file of a repository; None where the model has none."""
        ...


class Tokenizer(Protocol):
    """A vocabulary that turns text into tokens and back."""

    @property
    def n_tokens(self) -> int:
        """Size of the vocabulary; ids are below it."""
        ...

    def encode(self, text: str, *, special: bool = False, bos: bool = False) -> list[int]:
        """Tokens of the text, to which nothing is added.

        special: texts of control tokens become those tokens; otherwise they are spelt out like any text.
        bos: put in front what the model wants at the beginning of a sequence, which may be nothing.
        """
        ...

    def piece(self, token: int) -> bytes:
        """Bytes of a token; empty for a control token."""
        ...

    def special_texts(self) -> Sequence[str]:
        """Texts of all control and user-defined tokens, such as `<|im_end|>`."""
        ...

    def fim(self) -> FimMarkers | None:
        """Tokens for filling in the middle; None for a model that cannot."""
        ...
