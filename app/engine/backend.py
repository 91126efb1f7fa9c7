"""What the engine needs of whatever runs a model: decode a batch, read logits, cut, copy, save, restore."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from paceline.engine.vocabulary import Vocabulary

Logits = NDArray[np.float32]  # (outputs, n_vocab)
State = bytes | memoryview  # what a backend saved of a sequence


class DecodeAborted(Exception):  # noqa: N818 - not an error: somebody asked for it
    """A decode was stopped by `Backend.abort`; the spans it was given are not in the cache."""


@dataclass(frozen=True)
class Span:
    """Consecutive tokens of one sequence, to be decoded together.

    The last `outputs` tokens get a row of logits each. `start` is the position of the first token and must be the
    number of tokens the sequence has in the cache.
    """

    seq: int
    start: int
    tokens: Sequence[int]
    outputs: int = 0


@dataclass(frozen=True)
class Capabilities:
    """What a backend can do, asked before work starts."""

    n_ctx: int  # tokens that fit into the cache, all sequences together
    n_batch: int  # tokens in one decode
    n_seq_max: int
    partial_removal: bool  # the tail of a sequence can be dropped (not so for recurrent and hybrid models)


class Backend(Protocol):
    """A model with its cache. Calls come from one thread; only `abort` may come from another."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The model's tokens."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        ...

    def decode(self, spans: Sequence[Span]) -> Logits:
        """Run the spans in one pass; the rows of logits, in the order of spans and tokens.

        The array is a view that the next decode overwrites. Raises DecodeAborted, or EngineError when the cache is
        full or a position does not follow on; in each case nothing of the spans stays in the cache, and where the
        model has no `partial_removal` nothing of their sequences.
        """
        ...

    def truncate(self, seq: int, length: int) -> None:
        """Keep the first `length` tokens of a sequence. Raises EngineError when the model cannot."""
        ...

    def copy(self, source: int, destination: int, length: int) -> None:
        """Make the destination sequence hold the first `length` tokens of the source."""
        ...

    def save(self, seq: int) -> State:
        """The cached state of a sequence."""
        ...

    def restore(self, seq: int, state: State) -> None:
        """Put a saved state back, replacing what the sequence held. Raises EngineError when it does not fit."""
        ...

    def abort(self, on: bool) -> None:
        """Stop the decode that is running and each one after it, until called with False. From any thread."""
        ...

    def close(self) -> None:
        """Free the memory."""
        ...
