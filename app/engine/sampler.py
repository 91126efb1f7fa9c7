"""Logits -> final distribution -> token.

The final distribution is what acceptance compares: after bias, penalties, mask, top-k, top-p, min-p and temperature,
in llama.cpp's order (common_sampler), so that settings mean the same in both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from paceline.engine.noise import gumbel
from paceline.errors import EngineError

Ids = NDArray[np.int32]
Probabilities = NDArray[np.float64]

# exp(-12) = 6e-6: almost always all that top-k and top-p can keep lies this near to the maximum. Where it does not,
# the whole row is looked at, so this bound decides about speed only, never about the result.
COLD = 1e-4  # a lower temperature is none
NEAR = np.float32(12.0)
MANY = 1024  # so many are not sorted to find a few


@dataclass(frozen=True)
class SamplerSettings:
    """How a token is chosen. Temperature 0 is greedy; top_k 0, top_p 1, min_p 0, repetition_penalty 1 mean off.

    All three penalties look at the last `repetition_window` tokens, the prompt's included (0: none of them acts).
    `logit_bias`: (token, what is added to its logit); a finite number, or -inf, which bans the token. Ids outside the
    vocabulary are ignored, as llama.cpp does; several entries for one token add up.
    """

    temperature: float = 0.0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    repetition_window: int = 64
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    seed: int = 0

    @property
    def greedy(self) -> bool:
        """Whether the likeliest token is taken, always. So cold, nothing else could be drawn but by rounding."""
        return self.temperature < COLD

    @cached_property
    def biases(self) -> tuple[Ids, NDArray[np.float32]]:
        """The ids of `logit_bias`, and what is added to each."""
        ids, values = zip(*self.logit_bias, strict=True) if self.logit_bias else ((), ())
        return np.asarray(ids, np.int32), np.asarray(values, np.float32)

    @property
    def looks_back(self) -> bool:
        """Whether the distribution depends on `recent`, the last `repetition_window` tokens."""
        on = self.repetition_penalty != 1.0 or self.presence_penalty != 0.0 or self.frequency_penalty != 0.0
        return on and self.repetition_window > 0


@dataclass(frozen=True)
class Distribution:
    """Tokens that can be chosen and how likely each is. `ids` (n,) ascending, `probabilities` (n,) sum to 1."""

    ids: Ids
    probabilities: Probabilities

    def of(self, token: int) -> float:
        """The probability of one token."""
        at = int(np.searchsorted(self.ids, token))
        return float(self.probabilities[at]) if at < len(self.ids) and self.ids[at] == token else 0.0

    def choose(self, seed: int, position: int, stream: int = 0) -> int:
        """The token that this seed draws at this position: argmax(log p + Gumbel noise)."""
        if len(self.ids) == 1:
            return int(self.ids[0])
        return int(self.ids[int(np.argmax(self.scores(seed, position, stream)))])

    def likeliest(self, n: int, seed: int, position: int, stream: int = 0) -> list[int]:
        """The token that this seed draws, then those it would draw if the ones before were not there; at most n."""
        order = np.argsort(-self.scores(seed, position, stream), kind="stable")
        return [int(token) for token in self.ids[order[:n]]]

    def scores(self, seed: int, position: int, stream: int = 0) -> NDArray[np.float64]:
        """Log p + Gumbel noise of each id."""
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities) + gumbel(seed, position, self.ids, stream)


class Constraint(Protocol):
    """Which tokens may come next. Advanced token by token; copied to look ahead along a draft."""

    def copy(self) -> "Constraint":
        """An independent one in the same state."""
        ...

    def allowed(self) -> Ids | None:
        """Ids that may come next, or None: any."""
        ...

    def advance(self, token: int) -> None:
        """A token was chosen."""
        ...


def tied(
    logits: NDArray[np.float32],
    settings: SamplerSettings,
    within: float,
    position: int,
    recent: Sequence[int] = (),
    allowed: Ids | None = None,
) -> bool:
    """Whether logits that differ by less than `within` could have led to another token at this position.

    Greedy: the two highest, after bias, penalties and mask, are that near to each other. Otherwise the same of
    logit / temperature + noise, of which the highest is drawn.
    """
    logits = adjusted(logits, settings, recent)
    ids = np.arange(len(logits), dtype=np.int32) if allowed is None else allowed
    values = logits[ids]
    if settings.greedy:
        return int(np.count_nonzero(values > values.max() - np.float32(within))) > 1
    return _drawn_tie(values, ids, settings, within, position)


def _drawn_tie(values: NDArray[np.float32], ids: Ids, settings: SamplerSettings, within: float, position: int) -> bool:
    """`tied` for a token that is drawn: a rival may also come from just outside of what top-k, top-p or min-p keep,
    and the drawn one may itself be so near to that border that it would have fallen out.
    """
    kept, _ = _keep(values, settings)
    border = float(values[kept].min())
    if settings.min_p > 0.0:
        border = min(border, float(values.max()) + float(np.log(settings.min_p)))
    near = np.flatnonzero(values >= border - 2 * within)
    scores = values[near].astype(np.float64) / settings.temperature + gumbel(settings.seed, position, ids[near])
    chosen = int(np.argmax(np.where(np.isin(near, kept), scores, -np.inf)))
    if len(kept) < len(values) and values[near[chosen]] < border + 2 * within:
        return True
    return int(np.count_nonzero(scores > scores[chosen] - within / settings.temperature)) > 1


def distribution(
    logits: NDArray[np.float32], settings: SamplerSettings, recent: Sequence[int] = (), allowed: Ids | None = None
) -> Distribution:
    """The final distribution for one row of logits (n_vocab,). `recent` are the tokens the penalties look at.

    Raises EngineError when the logits are not finite numbers, or no token is allowed.
    """
    logits = adjusted(logits, settings, recent)
    if allowed is not None:
        ids = allowed if (allowed[1:] > allowed[:-1]).all() else np.sort(allowed)
        values = logits[ids]
    else:
        ids, values = None, logits
    best = int(np.argmax(values)) if len(values) else -1  # the first NaN, where there is one
    if best < 0 or not np.isfinite(values[best]):
        banned = settings.logit_bias and best >= 0 and values[best] == -np.inf
        if banned or best < 0:
            raise EngineError("no token is allowed to come next", "logit_bias may ban too much" if banned else "")
        raise EngineError("the model's logits are not numbers")
    if settings.greedy:
        return Distribution(np.array([best if ids is None else ids[best]], np.int32), np.ones(1))
    kept_ids, kept = _keep(values, settings)
    kept_ids = kept_ids if ids is None else ids[kept_ids]
    scaled = kept / settings.temperature
    weights = np.exp(scaled - scaled.max())
    order = np.argsort(kept_ids)
    return Distribution(kept_ids[order].astype(np.int32), (weights / weights.sum())[order])


def adjusted(logits: NDArray[np.float32], settings: SamplerSettings, recent: Sequence[int]) -> NDArray[np.float32]:
    """With biases and penalties; the row itself where there are none."""
    if settings.logit_bias:
        logits = biased(logits, settings.biases)
    if len(recent) and settings.looks_back:
        logits = penalised(logits, recent, settings)
    return logits


def biased(logits: NDArray[np.float32], biases: tuple[Ids, NDArray[np.float32]]) -> NDArray[np.float32]:
    """A copy with each bias added to its token's logit; those of one token add up, tokens that are none are ignored."""
    row: NDArray[np.float32] = logits.copy()
    ids, values = biases
    known = (ids >= 0) & (ids < len(row))
    np.add.at(row, ids[known], values[known])
    return row


def penalised(logits: NDArray[np.float32], recent: Sequence[int], settings: SamplerSettings) -> NDArray[np.float32]:
    """A copy with recent tokens made less likely, as llama_sampler_penalties does.

    Repetition: positive logits divided, others multiplied (Keskar et al. 2019). Then `frequency_penalty` for each time
    the token came and `presence_penalty` once are taken off (the formula in OpenAI's documentation).
    """
    row: NDArray[np.float32] = logits.copy()
    ids, counts = np.unique(np.asarray(recent, np.int64), return_counts=True)
    values, penalty = row[ids], settings.repetition_penalty
    values = np.where(values > 0, values / penalty, values * penalty)
    row[ids] = values - (counts.astype(np.float32) * settings.frequency_penalty + settings.presence_penalty)
    return row


def _keep(values: NDArray[np.float32], settings: SamplerSettings) -> tuple[Ids, Probabilities]:
    """Indices and logits that survive top-k, top-p and min-p."""
    everything = settings.top_k == 0 and settings.top_p >= 1.0 and settings.min_p <= 0.0
    if everything:
        return np.arange(len(values), dtype=np.int32), values.astype(np.float64)
    ids, logits, log_total = _top(values, settings.top_k)
    kept = len(ids)
    if settings.top_p < 1.0:
        mass = np.cumsum(np.exp(logits - log_total))
        if mass[-1] < settings.top_p and len(ids) < len(values) and not settings.top_k:
            ids, logits = _descending(values, np.arange(len(values)))
            mass = np.cumsum(np.exp(logits - log_total))
        # llama_sampler_top_p: the smallest set that reaches top_p
        kept = min(int(np.searchsorted(mass, settings.top_p)) + 1, len(ids))
    if settings.min_p > 0.0:
        floor = logits[0] + np.log(settings.min_p)
        if floor < logits[0] - NEAR and settings.top_p >= 1.0 and not settings.top_k:
            ids, logits = _descending(values, np.arange(len(values)))
            kept = len(ids)
        kept = min(kept, int(np.count_nonzero(logits >= floor)))
    return ids[:kept].astype(np.int32), logits[:kept]


def _top(values: NDArray[np.float32], top_k: int) -> tuple[Ids, Probabilities, float]:
    """Likeliest first: the top k, or (k = 0) all near the maximum; with log of the sum of exponentials.

    The sum is over what top-k keeps, or over the whole row where top-k is off.
    """
    if top_k:
        ids, logits = likeliest(values, top_k)
        return ids, logits, float(logits[0] + np.log(np.exp(logits - logits[0]).sum()))
    top = values.max()
    ids, logits = _descending(values, np.flatnonzero(values >= top - NEAR))
    total = np.exp(values.astype(np.float64) - float(top)).sum()
    return ids, logits, float(top + np.log(total))


def likeliest(values: NDArray[np.float32], n: int) -> tuple[Ids, Probabilities]:
    """The n highest of a row (fewer where it is shorter), highest first, ties by rising index: indices and values."""
    n = min(n, len(values))
    near = np.flatnonzero(values >= values.max() - NEAR)
    if len(near) < n:
        near = np.argpartition(values, -n)[-n:]
        near = np.flatnonzero(values >= values[near].min())
    elif len(near) > MANY:
        heights = values[near]
        near = near[heights >= np.partition(heights, -n)[-n]] if n else near[:0]
    ids, found = _descending(values, near)
    return ids[:n], found[:n]


def _descending(values: NDArray[np.float32], at: NDArray[np.intp]) -> tuple[Ids, Probabilities]:
    """The given indices by falling logit, ties by rising index, with their logits in double precision."""
    order = np.lexsort((at, -values[at]))
    ids = at[order]
    return ids.astype(np.int32), values[ids].astype(np.float64)
