"""Where two answers of a tiny model on real llama.cpp part, and how near to a tie the choice was there."""

import numpy as np

from paceline.engine.backend import Span
from paceline.engine.llama import LlamaBackend
from paceline.plan import LoadOptions


def backend(path, **options):
    return LlamaBackend(path, LoadOptions(**{"n_ctx": 1024, "n_batch": 64, "n_threads": 1, **options}))


def margin(path, tokens):
    """How far apart the two best logits are after these tokens, decoded one by one."""
    model = backend(path)
    for i, token in enumerate(tokens):
        row = model.decode([Span(0, i, [token], 1)])[-1].copy()
    model.close()
    second, first = np.sort(row)[-2:]
    return float(first - second)


def first_difference(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
