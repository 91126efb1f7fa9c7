"""Log-probabilities of a chosen token and of the likeliest others."""

import numpy as np
from numpy.typing import NDArray

from paceline.engine.sampler import likeliest
from paceline.engine.sequence import Chosen


def chosen(row: NDArray[np.float32], token: int, n: int) -> Chosen:
    """The ln softmax of the raw logits (n_vocab,): the token's, and the `n` likeliest tokens', likeliest first.

    Nats, before bias, penalties, mask and temperature, in double precision; -inf where the logit is. Ties are in the
    order of ids.
    """
    top = float(row.max())
    log_total = top + float(np.log(np.exp(row.astype(np.float64) - top).sum()))
    ids, logits = likeliest(row, n)
    alternatives = zip(ids.tolist(), (logits - log_total).tolist(), strict=True)
    return Chosen(token, float(row[token]) - log_total, tuple(alternatives))
