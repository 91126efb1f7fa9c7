"""The recorded draft model as a backend, on which the real drafter is replayed: what it costs comes from a curve."""

import math
from collections.abc import Sequence

import numpy as np

from bench.replay.recording import Guess, Trace
from paceline.engine.backend import Capabilities, Hidden, Logits, Span, State
from paceline.engine.costs import Costs
from paceline.engine.vocabulary import Vocabulary

N_TOKENS = 152_064
FAR = -30.0  # logit of tokens that nobody guesses
OTHERS = 64  # tokens that share what is left of the probability
UNKNOWN = Guess((0, 1), (0.3, 0.1))  # so far behind a wrong draft nothing was recorded


def vocabulary(ends: frozenset[int]) -> Vocabulary:
    """Tokens that are numbers and nothing else."""
    return Vocabulary(
        n_tokens=N_TOKENS,
        encoder=lambda text, special, bos: [],
        read_piece=lambda token: b"",
        read_text=str,
        end_of_generation=ends,
        control=frozenset(),
        bos=None,
        eos=None,
        fim_tokens=None,
        chat_template=None,
    )


class TracedBackend:
    """Answers as the draft model did when the trace was recorded. `spent`: milliseconds that its decodes took."""

    def __init__(self, trace: Trace, ends: frozenset[int], costs: Costs) -> None:
        self.vocabulary = vocabulary(ends)
        self.capabilities = Capabilities(n_ctx=1 << 16, n_batch=1 << 16, n_seq_max=1, partial_removal=True)
        self.spent = 0.0
        self._trace = trace
        self._costs = costs
        self._tokens: list[int] = []  # in the cache
        self._row = np.full((1, N_TOKENS), FAR, np.float32)
        self._raised: list[int] = []  # tokens whose logits are not FAR

    def decode(self, spans: Sequence[Span], *, hidden: bool = False) -> Logits:
        """The recorded guess behind the last token, as a row of logits."""
        (span,) = spans
        assert span.start == len(self._tokens) and span.outputs <= 1, "one sequence, one row"
        self._tokens.extend(span.tokens)
        self.spent += self._costs.at(len(span.tokens))
        return self._logits(self._guess())

    def truncate(self, seq: int, length: int) -> None:
        """Forget the tail."""
        del self._tokens[length:]

    def shared_with(self, committed: Sequence[int]) -> int:
        """How many of the committed tokens the cache holds."""
        held = self._tokens
        if held[: len(held)] == list(committed[: len(held)]):
            return len(held)
        pairs = enumerate(zip(held, committed, strict=False))
        return next((i for i, (a, b) in pairs if a != b), min(len(held), len(committed)))

    def _guess(self) -> Guess:
        trace, drafted = self._trace, self._tokens[len(self._trace.prompt) :]
        if list(trace.answer[: len(drafted)]) == drafted:
            return trace.guesses[len(drafted)] if len(drafted) < len(trace.guesses) else UNKNOWN
        wrong = next((i for i, (a, b) in enumerate(zip(drafted, trace.answer, strict=False)) if a != b), len(drafted))
        further = trace.astray.get(wrong, ())
        behind = len(drafted) - wrong - 1
        first = wrong < len(drafted) and drafted[wrong] == trace.guesses[wrong].tokens[0]
        return further[behind] if first and 0 <= behind < len(further) else UNKNOWN

    def _logits(self, guess: Guess) -> Logits:
        row = self._row[0]
        row[self._raised] = FAR
        others = [token for token in range(OTHERS + len(guess.tokens)) if token not in guess.tokens][:OTHERS]
        self._raised = [*guess.tokens, *others]
        rest = max(1.0 - sum(guess.probabilities), 1e-6)
        row[others] = math.log(min(rest / OTHERS, 0.999 * max(guess.probabilities[-1], 1e-6)))
        for token, probability in zip(guess.tokens, guess.probabilities, strict=True):
            row[token] = math.log(max(probability, 1e-6))
        return self._row

    def hidden_states(self) -> Hidden:
        raise NotImplementedError

    def keep(self, span: Span, path: Sequence[int]) -> None:
        raise NotImplementedError

    def copy(self, source: int, destination: int, length: int) -> None:
        raise NotImplementedError

    def save(self, seq: int) -> State:
        raise NotImplementedError

    def restore(self, seq: int, state: State) -> None:
        raise NotImplementedError

    def abort(self, on: bool) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Nothing is held."""
