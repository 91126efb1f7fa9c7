"""A model made of NumPy: logits are a fixed random function of the last few tokens. The engine cannot tell."""

from collections.abc import Sequence

import numpy as np

from paceline.engine.backend import Capabilities, DecodeAborted, Hidden, Logits, Span
from paceline.engine.tree import leaves
from paceline.engine.vocabulary import Vocabulary
from paceline.errors import EngineError
from support.tree_paths import path_to


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
        self.capabilities = Capabilities(n_ctx, n_batch, n_seq_max, partial_removal, n_embd=order)
        table = np.random.default_rng(seed).normal(0, spread, (n_vocab + 1,) * order + (n_vocab,))
        self.table = (table + np.random.default_rng(seed + 1).normal(0, noise, table.shape)).astype(np.float32)
        self.order = order
        self.cache: dict[int, list[int]] = {seq: [] for seq in range(n_seq_max)}
        self._cells: dict[int, list[object]] = {seq: [] for seq in range(n_seq_max)}  # one for each token, or shared
        self.decoded: list[int] = []  # tokens in each decode
        self.closed = False
        self._stop = False
        self._buffer = np.zeros((n_batch, n_vocab), np.float32)
        self._hidden: list[list[int]] | None = None

    def row(self, tokens: Sequence[int]) -> np.ndarray:
        """Logits after these tokens."""
        context = [len(self.table) - 1] * self.order + list(tokens)
        return self.table[tuple(context[len(context) - self.order :])]

    def decode(self, spans: Sequence[Span], *, hidden: bool = False) -> Logits:
        assert not self.closed
        self._hidden = None
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
        told: list[list[int]] = []
        for span in spans:
            told += self._write(span)
        for n, tokens in enumerate(told):
            self._buffer[n] = self.row(tokens)
        if hidden:
            self._hidden = [([-1] * self.order + tokens)[-self.order :] if self.order else [] for tokens in told]
        return self._buffer[: len(told)]

    def _write(self, span: Span) -> list[list[int]]:
        """Put a span into the cache; what stands before each of its rows."""
        cache, cells = self.cache[span.seq], self._cells[span.seq]
        if span.start != len(cache):
            raise EngineError(f"position {span.start} after {len(cache)} tokens")
        n = len(span.tokens) - len(span.parents)
        before: list[list[int]] = []
        for token in span.tokens[:n]:
            cache.append(int(token))
            cells.append(object())
            before.append(list(cache))
        root, names = list(cache), list(cells)
        tree = [int(token) for token in span.tokens[n:]]
        new = [object() for _ in tree]
        before += [root + [tree[i] for i in path_to(span.parents, node)] for node in range(len(tree))]
        for number, leaf in enumerate(leaves(span.parents)):
            seq = span.seq if number == 0 else span.spare[number - 1]
            assert number == 0 or not self.cache[seq], "a branch's sequence is empty before"
            path = path_to(span.parents, leaf)
            self.cache[seq] = root + [tree[i] for i in path]
            self._cells[seq] = names + [new[i] for i in path]
        return before[len(before) - span.outputs :]

    def hidden_states(self) -> Hidden:
        """The last tokens before each row, as numbers."""
        assert self._hidden is not None, "the decode was asked to keep them"
        return np.array(self._hidden, np.float32).reshape(len(self._hidden), self.order)

    def keep(self, span: Span, path: Sequence[int]) -> None:
        root = span.start + len(span.tokens) - len(span.parents)
        sequences = [span.seq, *span.spare]
        number = next(
            (n for n, leaf in enumerate(leaves(span.parents)) if not path or path[-1] in path_to(span.parents, leaf)), 0
        )
        held, cells = self.cache[sequences[number]], self._cells[sequences[number]]
        self.cache[span.seq], self._cells[span.seq] = held[: root + len(path)], cells[: root + len(path)]
        for seq in span.spare:
            self.cache[seq], self._cells[seq] = [], []

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
