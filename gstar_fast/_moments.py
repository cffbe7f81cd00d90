"""Moments of one cell, from its bins.

Reads from: numpy. Read by: the sketch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WEIGHT_UNIT = 2**20


@dataclass(frozen=True, slots=True)
class Moments:
    """Moments of the finite scores of one cell that lie inside the window.

    `variance`, `skewness` and `kurtosis` are those of the rows themselves (divided by n, not n - 1); `kurtosis` is the
    excess, 0 for a normal distribution. What the rows do not define (all of it without rows, skewness and kurtosis of a
    constant) is NaN.
    """

    count: int | float
    mean: float
    variance: float
    skewness: float
    kurtosis: float
    min: float
    max: float


def moments_of(
    counts: NDArray[np.int64],
    means: NDArray[np.float64],
    within: float,
    smallest: float,
    largest: float,
    weighted: bool,
) -> Moments:
    """Moments from the counts and means of the bins, and the sum of squares inside them."""
    used = counts > 0
    n, x = counts[used].astype(np.float64), means[used]
    rows = math.fsum(n)
    if not rows:
        return Moments(0, *[math.nan] * 6)
    # a power of two brings every score to at most 1, so that no fourth power overflows or vanishes
    exponent = max(math.frexp(smallest)[1], math.frexp(largest)[1])
    x = np.ldexp(x, -exponent)
    mean = math.fsum(n * x) / rows
    d = x - mean if smallest < largest else np.zeros(len(x))
    # pooled variance inside the bins, where rows are taken to lie evenly; it overflows for scores beyond 2**511 only
    spread = _times_two_to(within / rows, -2 * exponent) if within < math.inf else 0.0
    second = math.fsum(n * d**2) / rows + spread
    third = math.fsum(n * (d**3 + 3 * d * spread)) / rows
    fourth = math.fsum(n * (d**4 + 6 * d**2 * spread + 1.8 * spread**2)) / rows
    tell_apart = second**2 > 0
    skewness = third / second**1.5 if tell_apart else math.nan
    kurtosis = fourth / second**2 - 3 if tell_apart else math.nan
    count = rows / WEIGHT_UNIT if weighted else int(counts.sum())
    mean, variance = _times_two_to(mean, exponent), _times_two_to(second, 2 * exponent)
    return Moments(count, mean, variance, skewness, kurtosis, smallest, largest)


def _times_two_to(x: float, exponent: int) -> float:
    try:
        return math.ldexp(x, exponent)
    except OverflowError:
        return math.inf
