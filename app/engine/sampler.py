"""Logits -> final distribution -> token.

The final distribution is what acceptance compares: after penalties, mask, top-k, top-p, min-p and temperature, in
llama.cpp's order (common_sampler), so that settings mean the same in both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from paceline.engine.noise import gumbel
from paceline.errors import EngineError

Ids = NDArray[np.int32]
Probabilities = NDArray[np.float64]

# exp(-12) = 6e-6: almost always all that top-k and top-p can keep lies this near to the maximum. Where it does not,
# the whole row is looked at, so this bound decides about speed only, never about the result.
NEAR = np.float32(12.0)


@dataclass(frozen=True)
class SamplerSettings:
    """How a token is chosen. Temperature 0 is greedy; top_k 0, top_p 1, min_p 0 and penalty 1 mean off."""

    temperature: float = 0.0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    repetition_window: int = 64
    seed: int = 0

    @property
    def greedy(self) -> bool:
        """Whether the likeliest token is taken, always."""
        return self.temperature == 0.0


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
        with np.errstate(divide="ignore"):
            scores = np.log(self.probabilities) + gumbel(seed, position, self.ids, stream)
        return int(self.ids[int(np.argmax(scores))])


class Constraint(Protocol):
    """Which tokens may come next. Advanced token by token; copied to look ahead along a draft."""

    def allowed(self) -> Ids | None:
        """Ids that may come next, or None: any."""
        ...

    def advance(self, token: int) -> None:
        """A token was chosen."""
        ...


def distribution(
    logits: NDArray[np.float32], settings: SamplerSettings, recent: Sequence[int] = (), allowed: Ids | None = None
) -> Distribution:
    """The final distribution for one row of logits (n_vocab,). `recent` are the tokens the penalty looks at.

    Raises EngineError when the logits are not finite numbers, or no token is allowed.
    """
    if settings.repetition_penalty != 1.0 and len(recent):
        logits = penalised(logits, recent, settings.repetition_penalty)
    if allowed is not None:
        ids = np.sort(allowed)
        values = logits[ids]
    else:
        ids, values = None, logits
    best = int(np.argmax(values)) if len(values) else -1  # the first NaN, where there is one
    if best < 0 or not np.isfinite(values[best]):
        raise EngineError("the model's logits are not numbers" if len(values) else "no token is allowed to come next")
    if settings.greedy:
        return Distribution(np.array([best if ids is None else ids[best]], np.int32), np.ones(1))
    kept_ids, kept = _keep(values, settings)
    kept_ids = kept_ids if ids is None else ids[kept_ids]
    scaled = kept / settings.temperature
    weights = np.exp(scaled - scaled.max())
    order = np.argsort(kept_ids)
    return Distribution(kept_ids[order].astype(np.int32), (weights / weights.sum())[order])


def penalised(logits: NDArray[np.float32], recent: Sequence[int], penalty: float) -> NDArray[np.float32]:
    """A copy with recent tokens made less likely: positive logits divided, others multiplied (Keskar et al. 2019)."""
    row: NDArray[np.float32] = logits.copy()
    ids = np.unique(np.asarray(recent, np.int64))
    values = row[ids]
    row[ids] = np.where(values > 0, values / penalty, values * penalty)
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
    top = values.max()
    near = np.flatnonzero(values >= top - NEAR)
    if top_k:
        if len(near) < min(top_k, len(values)):
            near = np.argpartition(values, -min(top_k, len(values)))[-min(top_k, len(values)) :]
            near = np.flatnonzero(values >= values[near].min())
        ids, logits = _descending(values, near)
        ids, logits = ids[:top_k], logits[:top_k]
        return ids, logits, float(logits[0] + np.log(np.exp(logits - logits[0]).sum()))
    ids, logits = _descending(values, near)
    total = np.exp(values.astype(np.float64) - float(top)).sum()
    return ids, logits, float(top + np.log(total))


def _descending(values: NDArray[np.float32], at: NDArray[np.intp]) -> tuple[Ids, Probabilities]:
    """The given indices by falling logit, ties by rising index, with their logits in double precision."""
    order = np.lexsort((at, -values[at]))
    ids = at[order]
    return ids.astype(np.int32), values[ids].astype(np.float64)
