"""A llama_batch over arrays of our own, filled through NumPy instead of element by element."""

import ctypes
from collections.abc import Sequence

import llama_cpp as llama
import numpy as np
from numpy.typing import NDArray

from paceline.engine.backend import Span
from paceline.engine.tree import branches, depths, leaves
from paceline.errors import EngineError


class LlamaBatch:
    """Room for `size` tokens. `struct` is what llama_decode takes, valid until the next `fill`."""

    def __init__(self, size: int) -> None:
        self._token = np.zeros(size, np.int32)
        self._pos = np.zeros(size, np.int32)
        self._n_seq = np.ones(size, np.int32)
        self._seq = np.zeros(size, np.int32)
        self._outputs = np.zeros(size, np.int8)
        step, base = self._seq.itemsize, self._seq.ctypes.data
        self._own = np.array([base + step * i for i in range(size)], np.uintp)  # each token's place in _seq
        self._seq_pointers = self._own.copy()
        self._shared: list[NDArray[np.int32]] = []  # sequences of tokens that belong to several
        self.struct = llama.llama_batch(
            n_tokens=0,
            token=self._token.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)),
            embd=None,
            pos=self._pos.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)),
            n_seq_id=self._n_seq.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)),
            seq_id=self._seq_pointers.ctypes.data_as(ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
            logits=self._outputs.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )

    def fill(self, spans: Sequence[Span], n_vocab: int) -> int:
        """Write the spans; how many rows of logits they ask for. Raises EngineError."""
        at = outputs = 0
        if self._shared:
            self._shared.clear()
            self._n_seq[:] = 1
            self._seq_pointers[:] = self._own
        for span in spans:
            n = len(span.tokens)
            if n == 0 or at + n > len(self._token):
                raise EngineError(f"a batch of {at + n} tokens where 1 to {len(self._token)} fit")
            if not 0 <= span.outputs <= n:
                raise EngineError(f"{span.outputs} rows of logits for {n} tokens")
            try:
                self._token[at : at + n] = span.tokens
            except OverflowError:
                raise EngineError(f"a token outside the vocabulary of {n_vocab}") from None
            self._pos[at : at + n] = np.arange(span.start, span.start + n)
            self._seq[at : at + n] = span.seq
            self._outputs[at : at + n] = 0
            self._outputs[at + n - span.outputs : at + n] = 1
            if span.parents:
                self._branch(span, at)
            at += n
            outputs += span.outputs
        if not at:
            raise EngineError("a batch of no tokens")
        ids = self._token[:at]
        if ids.min() < 0 or ids.max() >= n_vocab:
            raise EngineError(f"a token outside the vocabulary of {n_vocab}")
        self.struct.n_tokens = at
        return outputs

    def _branch(self, span: Span, at: int) -> None:
        """Positions and sequences of a span that ends in a tree: a token is in the sequence of every leaf behind it."""
        trunk = len(span.tokens) - len(span.parents)
        if trunk < 1:
            raise EngineError("a tree needs a token before it")
        sequences = [span.seq, *span.spare]
        if len(leaves(span.parents)) > len(sequences):
            raise EngineError(f"{len(leaves(span.parents))} branches where there are {len(sequences)} sequences")
        tree = at + trunk
        self._pos[tree : at + len(span.tokens)] = span.start + trunk - 1 + np.array(depths(span.parents))
        members = branches(span.parents)
        everybody = sorted({number for each in members for number in each})
        for i, numbers in enumerate([everybody] * trunk + members, at):
            ids = np.array([sequences[number] for number in numbers], np.int32)
            self._shared.append(ids)
            self._n_seq[i] = len(ids)
            self._seq_pointers[i] = ids.ctypes.data


def output_rows(spans: Sequence[Span]) -> list[int]:
    """Which of a batch's tokens were asked for logits."""
    rows: list[int] = []
    at = 0
    for span in spans:
        at += len(span.tokens)
        rows += range(at - span.outputs, at)
    return rows
