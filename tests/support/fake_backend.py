"""A model made of NumPy: logits are a fixed random function of the last few tokens. The engine cannot tell."""

from collections.abc import Sequence

import numpy as np

from paceline.engine.backend import Capabilities, DecodeAborted, Logits, Span
from paceline.engine.vocabulary import Vocabulary
from paceline.errors import EngineError


def byte_vocabulary(n_tokens: int, end: int | None = None) -> Vocabulary:
    """Token i is the letter chr(97 + i); `end` ends generation."""
    control = frozenset() if end is None else frozenset({end})
    return Vocabulary(
        n_tokens=n_tokens,
        encoder=lambda text, special, bos: [ord(c) - 97 for c in text],
        read_piece=lambda token: b"" if token in control else chr(97 + token).encode(),
        read_text=lambda token: chr(97 + token),
        end_of_generation=control,
        control=control,
    )


class FakeBackend:
    """Keeps each sequence's tokens as its cache. `noise` moves the logits a little: a draft of the same family."""

    def __init__(
        self,
        n_vocab: int = 8,
        *,
        order: int = 2,
        seed: int = 1,
        spread: float = 1.5,
        noise: float = 0.0,
        n_ctx: int = 4096,
        n_batch: int = 64,
        n_seq_max: int = 1,
        end: int | None = None,
        partial_removal: bool = True,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        self.vocabulary = vocabulary or byte_vocabulary(n_vocab, end)
        self.capabilities = Capabilities(n_ctx, n_batch, n_seq_max, partial_removal)
        table = np.random.default_rng(seed).normal(0, spread, (n_vocab + 1,) * order + (n_vocab,))
        self.table = (table + np.random.default_rng(seed + 1).normal(0, noise, table.shape)).astype(np.float32)
        self.order = order
        self.cache: dict[int, list[int]] = {seq: [] for seq in range(n_seq_max)}
        self._cells: dict[int, list[object]] = {seq: [] for seq in range(n_seq_max)}  # one for each token, or shared
        self.decoded: list[int] = []  # tokens in each decode
        self.closed = False
        self._stop = False
        self._buffer = np.zeros((n_batch, n_vocab), np.float32)

    def row(self, tokens: Sequence[int]) -> np.ndarray:
        """Logits after these tokens."""
        context = [len(self.table) - 1] * self.order + list(tokens)
        return self.table[tuple(context[len(context) - self.order :])]

    def decode(self, spans: Sequence[Span]) -> Logits:
        assert not self.closed
        if self._stop:
            raise DecodeAborted
        self.decoded.append(sum(len(span.tokens) for span in spans))
        if self.decoded[-1] > self.capabilities.n_batch:
            raise EngineError("batch too large")
        used = {id(cell) for cells in self._cells.values() for cell in cells}
        if len(used) + self.decoded[-1] > self.capabilities.n_ctx:
            raise EngineError("cache full")
        if any(not 0 <= token < self.vocabulary.n_tokens for span in spans for token in span.tokens):
            raise EngineError("a token outside the vocabulary")
        self._buffer[:] = np.nan  # rows of the decode before are gone, as llama.cpp's are
        n = 0
        for span in spans:
            cache = self.cache[span.seq]
            if span.start != len(cache):
                raise EngineError(f"position {span.start} after {len(cache)} tokens")
            for i, token in enumerate(span.tokens):
                cache.append(int(token))
                self._cells[span.seq].append(object())
                if i >= len(span.tokens) - span.outputs:
                    self._buffer[n] = self.row(cache)
                    n += 1
        return self._buffer[:n]

    def truncate(self, seq: int, length: int) -> None:
        if 0 < length < len(self.cache[seq]) and not self.capabilities.partial_removal:
            raise EngineError("cannot drop the tail")
        del self.cache[seq][length:], self._cells[seq][length:]

    def copy(self, source: int, destination: int, length: int) -> None:
        self.cache[destination] = self.cache[source][:length]
        self._cells[destination] = self._cells[source][:length]

    def save(self, seq: int) -> bytes:
        return np.asarray(self.cache[seq], np.int32).tobytes()

    def restore(self, seq: int, state: bytes) -> None:
        self.cache[seq] = np.frombuffer(state, np.int32).tolist()
        self._cells[seq] = [object() for _ in self.cache[seq]]

    def abort(self, on: bool) -> None:
        self._stop = on

    def close(self) -> None:
        self.closed = True
