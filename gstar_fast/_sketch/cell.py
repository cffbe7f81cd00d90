"""One cell of a sketch, copied, and its moments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gstar_fast._base.arrays import Floats, Ints, Values
from gstar_fast._base.public import lives_in
from gstar_fast._words import WEIGHT_UNIT

if TYPE_CHECKING:
    from gstar_fast._backends.interface import CellCopy

ALONE = 1 + 1e-9  # effective rows of a bin that has one


@lives_in("gstar_fast.results")
@dataclass(frozen=True, slots=True)
class Moments:
    """Moments of the finite scores of one cell that lie inside the window.

    `count`, `min` and `max` are exact, and `mean` is that of the scores rounded to 24 bits. `variance` (divided by n,
    not n - 1), `skewness` and `kurtosis` (the excess, 0 for a normal distribution) are derived from the bins. What the
    rows do not define (all of it without rows, skewness and kurtosis of a constant) is NaN.

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
    """Counts and mean scores of one cell's bins, at one moment; `below` and `above` are beyond the window."""

    def __init__(self, core: CellCopy, has_means: bool, squares: Floats | None = None, n_rows: int = 0) -> None:
        raw: Ints = core.counts
        self._raw, self.weighted = raw, core.weighted
        # rows, or weight where the sketch is weighted
        self.counts: Values = raw / WEIGHT_UNIT if core.weighted else raw
        self.below: int | float = core.below / WEIGHT_UNIT if core.weighted else core.below
        self.above: int | float = core.above / WEIGHT_UNIT if core.weighted else core.above
        # effective rows of each bin, (sum w)^2 / (sum w^2); and the number of rows, regardless of weights
        self.each: Values = self.counts if squares is None else self.counts**2 / np.maximum(squares, 1e-300)
        self.n_rows = n_rows if core.weighted else int(raw.sum() + core.below + core.above)
        self.edges: Floats = core.edges
        self.has_means = has_means  # else they are NaN
        self.means: Floats = core.means if has_means else np.full(len(raw), math.nan)
        self.smallest, self.largest = float(core.min), float(core.max)  # inside the window; NaN where there is none

    @cached_property
    def used(self) -> UsedBins:
        """The bins that have rows."""
        return UsedBins.of(self)

    def moments(self) -> Moments:
        """Moments of the rows inside the window."""
        used = self.used
        n = self._raw[used.places].astype(np.float64)
        rows = math.fsum(n)
        if not rows:
            return Moments(0, *[math.nan] * 6)
        count = rows / WEIGHT_UNIT if self.weighted else int(self._raw.sum())
        if not self.has_means:
            return Moments(count, math.nan, math.nan, math.nan, math.nan, self.smallest, self.largest)
        # a power of two brings every score to at most 1, so that no fourth power overflows or vanishes
        exponent = max(math.frexp(self.smallest)[1], math.frexp(self.largest)[1])
        mean = math.fsum(n * np.ldexp(self.means[used.places], -exponent)) / rows
        x = np.ldexp(used.points, -exponent)
        d = x - math.fsum(n * x) / rows if self.smallest < self.largest else np.zeros(len(x))
        v = np.ldexp(used.deviations, -exponent) ** 2
        second = math.fsum(n * (d**2 + v)) / rows
        third = math.fsum(n * (d**3 + 3 * d * v)) / rows
        fourth = math.fsum(n * (d**4 + 6 * d**2 * v + 1.8 * v**2)) / rows
        tell_apart = second**2 > 0
        skewness = third / second**1.5 if tell_apart else math.nan
        kurtosis = fourth / second**2 - 3 if tell_apart else math.nan
        mean, variance = _times_two_to(mean, exponent), _times_two_to(second, 2 * exponent)
        mean = min(max(mean, self.smallest), self.largest)  # of rounded scores it may lie just outside
        return Moments(count, mean, variance, skewness, kurtosis, self.smallest, self.largest)


@dataclass(frozen=True, slots=True)
class UsedBins:
    """The bins of a cell that have rows, and what their rows look like: where they lie, and how far apart."""

    places: Ints  # which bins
    lower: Floats  # rows lie between these: the edges, or the extreme scores of the cell
    upper: Floats
    points: Floats  # mean score, or the middle of a bin that is finer than 24 bits tell, or whose mean is not known
    deviations: Floats  # of the rows of one bin around their mean, as if they lay evenly, as far as there is room

    @classmethod
    def of(cls, cell: SketchCell) -> UsedBins:
        places = np.flatnonzero(cell.counts)
        lower = np.maximum(cell.edges[places], cell.smallest)
        upper = np.minimum(np.nextafter(cell.edges[places + 1], -np.inf), cell.largest)  # a bin lacks its upper edge
        means = cell.means[places]
        told_apart = (spacing24(means) < upper - lower) & cell.has_means
        points = np.clip(np.where(told_apart, means, lower / 2 + upper / 2), lower, upper)
        alone = cell.each[places] <= ALONE
        # the even spread, or less next to an edge; a root at a time, since squares of huge scores are no numbers
        room = np.sqrt(points - lower) * np.sqrt(upper - points)
        deviations = np.where(alone, 0.0, np.minimum((upper - lower) / math.sqrt(12), room))
        return cls(places, lower, upper, points, deviations)


def spacing24(x: Floats) -> Floats:
    """Distance of neighbouring numbers of 24 bits, which a sketch rounds scores to before it adds them up."""
    out: Floats = np.ldexp(1.0, np.where(x == 0.0, -1045, np.maximum(np.frexp(x)[1] - 24, -1045)))
    return out


def _times_two_to(x: float, exponent: int) -> float:
    try:
        return math.ldexp(x, exponent)
    except OverflowError:
        return math.inf
