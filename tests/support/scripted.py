"""Models that say what a test wants to hear, in pieces of its choosing, and wait where it wants them to."""

import threading
from collections.abc import Sequence

import numpy as np

from paceline.engine.backend import DecodeAborted, Logits, Span
from paceline.engine.vocabulary import Vocabulary
from support.fake_backend import FakeBackend


def vocabulary_of(pieces: Sequence[bytes], *, end: int | None = None) -> Vocabulary:
    """A token for each piece; `end`, a control token, ends an answer."""
    control = frozenset() if end is None else frozenset({end})
    return Vocabulary(
        n_tokens=len(pieces),
        encoder=lambda text, special, bos: [pieces.index(bytes([byte])) for byte in text.encode()],
        read_piece=lambda token: b"" if token in control else pieces[token],
        read_text=lambda token: pieces[token].decode("latin-1"),
        end_of_generation=control,
        control=control,
    )


class Scripted(FakeBackend):
    """Answers a prompt of `prompt` tokens, whatever it says, with the script and then, over and over, `then`."""

    def __init__(
        self, vocabulary: Vocabulary, script: Sequence[int], *, prompt: int, then: int | None = None, **how: object
    ) -> None:
        super().__init__(vocabulary.n_tokens, order=0, vocabulary=vocabulary, **how)
        self.script = list(script)
        self.prompt = prompt
        self.then = self.script[-1] if then is None else then

    def row(self, tokens: Sequence[int]) -> np.ndarray:
        at = len(tokens) - self.prompt
        row = np.zeros(self.vocabulary.n_tokens, np.float32)
        row[self.script[at] if 0 <= at < len(self.script) else self.then] = 50.0
        return row


class Gated(FakeBackend):
    """Every decode waits until the test lets it through, or until somebody aborts it."""

    def __init__(self, *arguments: object, **how: object) -> None:
        super().__init__(*arguments, **how)
        self._gate = threading.Condition()
        self._passes = 0
        self._open = False
        self._waiting = False

    def decode(self, spans: Sequence[Span], *, hidden: bool = False) -> Logits:
        with self._gate:
            self._waiting = True
            self._gate.notify_all()
            self._gate.wait_for(lambda: self._passes or self._open or self._stop)
            self._waiting = False
            if self._stop:
                raise DecodeAborted
            self._passes -= not self._open
        return super().decode(spans, hidden=hidden)

    def abort(self, on: bool) -> None:
        with self._gate:
            super().abort(on)
            self._gate.notify_all()

    def let_through(self, decodes: int = 1) -> None:
        """Allow so many decodes, and return when one more has come to the gate."""
        with self._gate:
            self._passes += decodes
            self._gate.notify_all()
            assert self._gate.wait_for(lambda: self._waiting and not self._passes, 20), "no decode came to the gate"

    def arrive(self) -> None:
        """Return when a decode stands at the gate."""
        self.let_through(0)

    def open(self) -> None:
        """From now on nothing waits."""
        with self._gate:
            self._open = True
            self._gate.notify_all()


class Failing(FakeBackend):
    """Raises the error in the decodes with these numbers, counted from 0, before anything is in the cache."""

    def __init__(self, error: Exception, decodes: Sequence[int], *arguments: object, **how: object) -> None:
        super().__init__(*arguments, **how)
        self.error = error
        self.failures = list(decodes)
        self.calls = 0

    def decode(self, spans: Sequence[Span], *, hidden: bool = False) -> Logits:
        self.calls += 1
        if self.calls - 1 in self.failures:
            raise self.error
        return super().decode(spans, hidden=hidden)
