"""The sampler once more, slow and plain: sort everything, one step after the other, in double precision."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from paceline.engine.sampler import SamplerSettings


def naive_distribution(
    logits: Sequence[float], settings: SamplerSettings, recent: Sequence[int] = (), allowed: Iterable[int] | None = None
) -> dict[int, float]:
    """Every token with a positive probability, in llama.cpp's order of steps."""
    scores = {token: float(value) for token, value in enumerate(np.asarray(logits).tolist())}
    single = np.float32  # biases and penalties are in the precision of the logits
    for token, bias in settings.logit_bias:
        if token in scores:
            scores[token] = float(single(scores[token]) + single(bias))
    if settings.repetition_window:
        penalty = single(settings.repetition_penalty)
        for token, count in Counter(recent).items():
            score = single(scores[token])
            score = score / penalty if score > 0 else score * penalty
            taken_off = single(count) * single(settings.frequency_penalty) + single(settings.presence_penalty)
            scores[token] = float(score - taken_off)
    if allowed is not None:
        scores = {token: scores[token] for token in set(allowed)}
    order = sorted(scores, key=lambda token: (-scores[token], token))
    if settings.temperature == 0:
        return {order[0]: 1.0}
    if settings.top_k:
        order = order[: settings.top_k]
    chances = softmax([scores[token] for token in order])
    if settings.top_p < 1:
        reached = list(itertools.accumulate(chances))
        order = order[: 1 + sum(mass < settings.top_p for mass in reached[:-1])]
    if settings.min_p > 0:
        order = [token for token, chance in zip(order, chances, strict=False) if chance >= settings.min_p * chances[0]]
    final = softmax([scores[token] / settings.temperature for token in order])
    return {token: chance for token, chance in zip(order, final, strict=True) if chance > 0}


def softmax(values: Sequence[float]) -> list[float]:
    """exp(values), summing to 1."""
    top = max(values)
    weights = [math.exp(value - top) for value in values]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def exact_continuations(
    row: Callable[[Sequence[int]], Sequence[float]], prompt: Sequence[int], length: int, settings: SamplerSettings
) -> dict[tuple[int, ...], float]:
    """The probability of each continuation of so many tokens, multiplied out token by token."""
    chances: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(length):
        longer: dict[tuple[int, ...], float] = {}
        for tokens, chance in chances.items():
            whole = [*prompt, *tokens]
            recent = whole[-settings.repetition_window :] if settings.repetition_window else []
            for token, next_chance in naive_distribution(row(whole), settings, recent).items():
                longer[(*tokens, token)] = chance * next_chance
        chances = longer
    return chances
