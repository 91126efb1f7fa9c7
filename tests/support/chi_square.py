"""Do samples agree with a distribution that is known exactly?"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping

from scipy.stats import chisquare

SMALLEST = 5.0  # the usual lower bound on a cell's expected count (Cochran 1954)
REFUSED = 1e-4  # with so small a p-value samples count as disagreeing; seeds are fixed, so a pass stays a pass


def agreement(samples: Iterable[Hashable], exact: Mapping[Hashable, float]) -> float:
    """The p-value of Pearson's test; 0 when something was sampled that has no probability.

    Outcomes that are expected fewer than five times are counted together.
    """
    counts = Counter(samples)
    n = sum(counts.values())
    assert abs(sum(exact.values()) - 1.0) < 1e-9, "the exact distribution sums to 1"
    if any(exact.get(outcome, 0.0) <= 0.0 for outcome in counts):
        return 0.0
    large = [outcome for outcome in exact if exact[outcome] * n >= SMALLEST]
    expected = [exact[outcome] * n for outcome in large]
    observed = [counts[outcome] for outcome in large]
    rest = n - sum(expected)
    if rest >= SMALLEST:
        expected.append(rest)
        observed.append(n - sum(observed))
    elif expected:
        expected[-1] += rest
        observed[-1] = n - sum(observed[:-1])
    if len(expected) < 2:
        return 1.0
    return float(chisquare(observed, expected).pvalue)
