"""One cell of a sketch, copied, and its moments."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gstar_fast._backends.interface import CellCopy
from gstar_fast._base.arrays import Values
from gstar_fast._base.public import lives_in
from gstar_fast._words import WEIGHT_UNIT


@lives_in("gstar_fast")
@dataclass(frozen=True, slots=True)
class Moments:
    """Moments of the finite scores of one cell that lie inside the window.

    `variance`, `skewness` and `kurtosis` are those of the rows themselves (divided by n, not n - 1); `kurtosis` is the
    excess, 0 for a normal distribution. What the rows do not define (all of it without rows, skewness and kurtosis of a
    constant) is NaN.

    Attributes
    ----------
    count : int or float
        Rows, or weight in a weighted sketch.
    mean, variance, skewness, kurtosis, min, max : float
        Of their scores.
    """

    count: int | float
    mean: float
    variance: float
    skewness: float
    kurtosis: float
    min: float
    max: float


class SketchCell:
    """Counts and mean scores of one cell's bins, at one moment.

    Attributes
    ----------
    counts, means : arrays of shape (bins,)
        Rows (in units of weight where the sketch is weighted) and mean score of each bin.
    below, above : int or float
        Rows beyond the window.
    first, width : float
        Lower edge of the first bin, and the width of all of them.
    smallest, largest : float
        Extreme scores inside the window; NaN where there is none.
    """

    def __init__(self, core: CellCopy) -> None:
        self._core = core
        raw: NDArray[np.int64] = core.counts
        self._raw = raw
        self.counts: Values = raw / WEIGHT_UNIT if core.weighted else raw
        self.below: int | float = core.below / WEIGHT_UNIT if core.weighted else core.below
        self.above: int | float = core.above / WEIGHT_UNIT if core.weighted else core.above
        self.means: NDArray[np.float64] = core.means
        self.first, self.width = float(core.first_edge), float(core.width)
        self.smallest, self.largest = float(core.min), float(core.max)

    def moments(self) -> Moments:
        """Moments of the rows inside the window; not free, since it sums squares in whole numbers."""
        core = self._core
        return moments_of(self._raw, self.means, core.within, self.smallest, self.largest, core.weighted)


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
