"""What the engine needs of whatever runs a model: decode a batch, read logits, cut, copy, save, restore."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from paceline.engine.tree import Parents, leaves
from paceline.engine.vocabulary import Vocabulary

Logits = NDArray[np.float32]  # (outputs, n_vocab)
Hidden = NDArray[np.float32]  # (outputs, n_embd)
State = bytes | memoryview  # what a backend saved of a sequence


class DecodeAborted(Exception):  # noqa: N818 - not an error: somebody asked for it
    """A decode was stopped by `Backend.abort`; the spans it was given are not in the cache."""


@dataclass(frozen=True)
class Span:
    """Tokens of one sequence, to be decoded together: consecutive ones and, where `parents` is given, a tree behind.

    The last `outputs` tokens get a row of logits each. `start` is the position of the first token and must be the
    number of tokens the sequence has in the cache. The last len(parents) tokens are the tree (engine.tree); its root
    is the token before them. Each of its leaves beyond the first needs an empty sequence of its own from `spare`.
    """

    seq: int
    start: int
    tokens: Sequence[int]
    outputs: int = 0
    parents: Parents = ()
    spare: Sequence[int] = ()

    @property
    def branches(self) -> Sequence[int]:
        """The spare sequences that its leaves take."""
        return self.spare[: len(leaves(self.parents)) - 1] if self.parents else ()


@dataclass(frozen=True)
class Capabilities:
    """What a backend can do, asked before work starts."""

    n_ctx: int  # tokens that fit into the cache, all sequences together
    n_batch: int  # tokens in one decode
    n_seq_max: int
    partial_removal: bool  # the tail of a sequence can be dropped (not so for recurrent and hybrid models)
    n_embd: int = 0  # numbers in a hidden state; 0: the backend gives none


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

    def decode(self, spans: Sequence[Span], *, hidden: bool = False) -> Logits:
        """Run the spans in one pass; the rows of logits, in the order of spans and tokens.

        The array is a view that the next decode overwrites. hidden: keep the hidden states of the same rows too, which
        `hidden_states` returns. Raises DecodeAborted, or EngineError when the cache is full or a position does not
        follow on; in each case nothing of the spans stays in the cache, and where the model has no `partial_removal`
        nothing of their sequences.

        After a span with a tree comes `keep`, before anything else is done with its sequence.
        """
        ...

    def hidden_states(self) -> Hidden:
        """The target's last hidden states (rows of the last decode, n_embd), after the final norm; a view.

        Raises EngineError when the decode was not asked to keep them.
        """
        ...

    def keep(self, span: Span, path: Sequence[int]) -> None:
        """Of a decoded span's tree keep the path: tokens by index, from the root down. Its spare sequences are empty
        again. Raises EngineError.
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
