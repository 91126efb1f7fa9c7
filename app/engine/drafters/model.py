"""Drafting with the pair's small model, whose cache is kept in step with the target's."""

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from paceline.engine.acceptance import Bucket, bucket, sureness
from paceline.engine.backend import Backend
from paceline.engine.costs import CostModel
from paceline.engine.drafters.base import Drafter, Proposal, Worth
from paceline.engine.kv import Slot, SlotTable
from paceline.engine.sampler import NEAR, Constraint, Distribution, SamplerSettings, distribution, likeliest
from paceline.engine.tree import ROOT
from paceline.engine.verify import CHOICE
from paceline.errors import EngineError, ModelError, PacelineError

LOADING_MS = 1500.0  # half a gigabyte, from a disk that has it in its cache
DRAW = 3  # stream of randomness for drafts that are drawn independently of the target's


class DraftModel:
    """The pair's draft model, loaded when it is first asked for. Its slots outlive the requests."""

    def __init__(self, load: Callable[[], Backend], universal: bool = False) -> None:
        """universal: its tokens are others than the target's, so that drafts go through text."""
        self.universal = universal
        self._load = load
        self._failure: PacelineError | None = None
        self._slots: SlotTable | None = None
        self._backend: Backend | None = None
        self._aborted = False

    @property
    def loading_ms(self) -> float:
        """About what loading it takes; 0 once its weights are in memory."""
        return LOADING_MS if self._backend is None else 0.0

    @property
    def backend(self) -> Backend:
        """The backend, loaded now if it was not. Raises ModelError, ResourceError, EngineError.

        What failed once is not tried again: a request would have to wait for it each time.
        """
        if self._failure is not None:
            raise self._failure
        if self._backend is None:
            try:
                self._backend = _able(self._load())
                self._backend.abort(self._aborted)  # somebody may have cancelled while it was loading
            except PacelineError as failure:
                self._failure = failure
                raise
        return self._backend

    def acquire(self, tokens: Sequence[int]) -> Slot:
        """A slot that shares the most with these tokens."""
        self._slots = self._slots or SlotTable(self.backend)
        return self._slots.acquire(tokens)[0]

    def make_room(self, count: int) -> None:
        """See to it that so many tokens can be decoded. Raises EngineError: other requests fill the cache."""
        if self._slots is not None and not self._slots.make_room(count):
            raise EngineError("the draft model's cache is full")

    def release(self, slot: Slot) -> None:
        """Give the slot back, cache and all."""
        if self._slots is not None:
            self._slots.release(slot)

    def abort(self, on: bool) -> None:
        """Stop its running decode too, or its first one if it is being loaded."""
        self._aborted = on
        if self._backend is not None:
            self._backend.abort(on)

    def close(self) -> None:
        """Free the memory."""
        if self._backend is not None:
            self._backend.close()
            self._backend, self._slots = None, None


class OnDraftModel(Drafter):
    """What drafters that decode with the draft model share: its costs, and a slot of its cache."""

    name = "draft"

    def __init__(self, model: DraftModel, costs: CostModel | None) -> None:
        self.costs: CostModel | None = costs
        self._model = model
        self._slot: Slot | None = None

    @property
    def loading_ms(self) -> float:
        """Of the model."""
        return self._model.loading_ms

    def rest(self) -> None:
        """Let others have the slot."""
        self.close()

    def close(self) -> None:
        """Give the slot back; its cache stays for the next request that begins alike."""
        if self._slot is not None:
            self._model.release(self._slot)
            self._slot = None


class ModelDrafter(OnDraftModel):
    """Drafts token by token for one request.

    With temperature 0, and whenever the request fixed its seed, the draft uses the very noise that the target will
    use at that position. It is then deterministic, and a seed gives the same answer with and without it (Daliri, Musco
    and Suresh 2024, drafter-invariant speculative decoding). Otherwise it draws from its own final distribution,
    which is accepted a little more often.
    """

    def __init__(
        self,
        model: DraftModel,
        settings: SamplerSettings,
        *,
        shared_noise: bool,
        n_tokens: int | None = None,
        costs: CostModel | None = None,
        constraint: Constraint | None = None,
        runners_up: bool = False,
    ) -> None:
        """`n_tokens`: size of the target's vocabulary; what the draft's has beyond it is padding, never drafted.

        costs: of a decode of the draft model, kept current. constraint: the request's, looked at and never advanced.
        runners_up: beside each token of a deterministic draft the one that nearly came, as a branch.
        """
        super().__init__(model, costs)
        self._settings = settings
        self._n_tokens = n_tokens
        self._shared_noise = shared_noise or settings.greedy
        self._constraint = constraint
        self._runners_up = runners_up and self._shared_noise
        self._tokens: list[int] = []

    def extend(self, tokens: Sequence[int]) -> None:
        """Committed tokens; the cache catches up when a draft is asked for."""
        self._tokens.extend(tokens)

    def propose(self, limit: int, worth: Worth) -> Sequence[Proposal]:
        """Draft until `worth` says that one more token does not pay. Raises EngineError, DecodeAborted."""
        limit = min(limit, self._model.backend.capabilities.n_ctx - len(self._tokens) - 1)
        began = time.perf_counter()  # loading the model is not what a draft costs
        if limit < 1:
            return ()
        row = self._catch_up()
        rules = self._constraint.copy() if self._constraint is not None else None
        found = _Drawing()
        assert self._slot is not None
        end = self._slot.backend.vocabulary.end_of_generation
        while True:
            chosen = self._distribution(row, found.tokens, rules)
            if chosen is None:
                break
            at = len(self._tokens) + len(found.tokens)
            first, *others = self._choice(chosen, row, at)
            found.add(first, chosen, confidence(row, first), [(each, confidence(row, each)) for each in others])
            if len(found.tokens) >= limit or first in end or not worth(found.buckets):
                break
            if rules is not None:
                rules.advance(first)
            row = self._decode(self._slot, [first])
        if not found.tokens:
            return ()
        spent = (time.perf_counter() - began) * 1000
        if self.costs is not None:
            self.costs.observe(1, spent / len(found.tokens))
        return (found.proposal(self.name, spent, drawn=not self._shared_noise),)

    @property
    def _stream(self) -> int:
        return CHOICE if self._shared_noise else DRAW

    @property
    def backlog(self) -> int:
        """Committed tokens that are not in its cache."""
        return len(self._tokens) - (0 if self._slot is None else min(len(self._slot.tokens), len(self._tokens)))

    def _choice(self, chosen: Distribution, row: NDArray[np.float32], at: int) -> list[int]:
        """The drafted token and, where they are wanted, the one that nearly came."""
        if not self._runners_up:
            return [chosen.choose(self._settings.seed, at, self._stream)]
        if self._settings.greedy:
            first = int(chosen.ids[0])
            return [first, *(int(each) for each in likeliest(row, 2)[0] if each != first)][:2]
        return chosen.likeliest(2, self._settings.seed, at, self._stream)

    def _catch_up(self) -> NDArray[np.float32]:
        """Bring the cache to all committed tokens, dropping drafts that were rejected; the last token's logits."""
        if self._slot is None:
            self._slot = self._model.acquire(self._tokens)
        same = self._slot.keep_prefix_of(self._tokens)
        return self._decode(self._slot, self._tokens[same:])

    def _decode(self, slot: Slot, tokens: Sequence[int]) -> NDArray[np.float32]:
        """The last token's logits, for the ids that the target has too."""
        self._model.make_room(len(tokens))
        return np.asarray(slot.decode(tokens, outputs=1)[-1][: self._n_tokens])

    def _distribution(
        self, row: NDArray[np.float32], drafted: Sequence[int], rules: Constraint | None
    ) -> Distribution | None:
        """The draft's final distribution; None where it has no token that may come next."""
        window = self._settings.repetition_window
        recent = (self._tokens[-window:] + list(drafted))[-window:] if window else []
        allowed = None if rules is None else rules.allowed()
        if allowed is not None:
            allowed = allowed[allowed < len(row)]
            if not len(allowed):
                return None
        return distribution(row, self._settings, recent, allowed)


class _Drawing:
    """A draft as it grows: a chain and, where there are any, the tokens that nearly came instead."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.buckets: list[Bucket] = []
        self._drawn: list[Distribution] = []
        self._beside: list[list[tuple[int, float]]] = []

    def add(self, token: int, chosen: Distribution, sure: float, beside: list[tuple[int, float]]) -> None:
        self.tokens.append(token)
        self.buckets.append(bucket("draft", sureness(sure)))
        self._drawn.append(chosen)
        self._beside.append(beside)

    def proposal(self, name: str, milliseconds: float, *, drawn: bool) -> Proposal:
        if not any(self._beside):
            drawn_from = self._drawn if drawn else None
            return Proposal(name, self.tokens, self.buckets, drawn_from, milliseconds)
        tokens, buckets, parents, last = list[int](), list[Bucket](), list[int](), ROOT
        for i, token in enumerate(self.tokens):
            here = len(tokens)
            for each, key in [(token, self.buckets[i])] + [
                (other, bucket("second", sureness(sure))) for other, sure in self._beside[i]
            ]:
                tokens.append(each)
                buckets.append(key)
                parents.append(last)
            last = here
        return Proposal(name, tokens, buckets, None, milliseconds, parents)


def _able(backend: Backend) -> Backend:
    """The backend, if it can draft. Raises ModelError, and closes it, if it cannot."""
    if not backend.capabilities.partial_removal:
        backend.close()
        raise ModelError("the draft model's memory cannot drop rejected tokens (recurrent or hybrid)")
    return backend


def confidence(row: NDArray[np.float32], token: int) -> float:
    """softmax(row)[token], leaving out logits so far below the maximum that they hardly add to the sum."""
    top = row.max()
    near = row[row > top - NEAR].astype(np.float64)
    return float(np.exp(float(row[token]) - float(top)) / np.exp(near - float(top)).sum())
