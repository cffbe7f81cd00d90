"""Confidence intervals of rates and gaps, from counts.

Why these and no others: docs/reference/intervals.md.

A share of rows gets Wilson's interval. A difference of two rates gets its limits from theirs (Newcombe: the squares of
the distances add up). A gap is the largest of many such differences, and chance makes the largest look larger still:

- its low end is the largest low end of any pair, with a critical value that holds for all pairs at once (see
  `ranges_of`), so that equal groups are taken for unequal in no more than 1 - confidence of all cases;
- its high end is the largest high end of any pair, with the usual critical value: the pair that is truly furthest apart
  is one of them.

Ratios are differences of logarithms.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gstar_fast._audit.metrics import MEANS, shares_of, values_of
from gstar_fast._backends.interface import Floats
from gstar_fast._base.arrays import Values
from gstar_fast._criteria import MEASURED, Criterion, Form
from gstar_fast._solver.cells import effective

AT_ONCE = 2**18  # numbers drawn in one go, for the sake of memory; part of what a seed means
COMPARED = tuple(dict.fromkeys(rate for gap in MEASURED.values() for rate in gap.names))  # between groups

Distances = tuple[Floats, Floats]  # how far each group's limits lie below and above its rate


def wilson(hits: Floats, trials: Floats, z: float) -> tuple[Floats, Floats]:
    """Wilson's score interval for a share; NaN where there are no trials. Inside [0, 1], and never empty."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = hits / trials
        middle = (hits + z * z / 2) / (trials + z * z)
        reach = z / (trials + z * z) * np.sqrt(hits * (1 - p) + z * z / 4)
    # at the ends the limit is the share itself, which rounding must not miss
    low = np.where(hits == 0, 0.0, np.clip(middle - reach, 0.0, p))
    high = np.where(hits == trials, 1.0, np.clip(middle + reach, p, 1.0))
    return np.where(np.isnan(p), np.nan, low), np.where(np.isnan(p), np.nan, high)


def two_sided(confidence: float) -> float:
    """Normal critical value: 1.96 for 0.95."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


class Rates:
    """The rates of all groups and the distances of their limits, by name of the rate and critical value."""

    def __init__(self, accepted: Values, totals: Values, squares: tuple[Values, Values] | None = None) -> None:
        hits, trials = shares_of(accepted, totals)
        self.values = values_of(hits, trials)
        if squares is not None:  # effective rows
            hit_squares, of_trials = shares_of(*squares)
            for name, n in trials.items():
                rows = effective(hits[name], n, hit_squares[name], of_trials[name])
                hits[name] = np.where(hits[name] == n, rows, hits[name] * rows / np.maximum(n, 1e-300))
                trials[name] = rows
        self._hits, self.trials = hits, trials
        self._kept: dict[tuple[str, float], tuple[Floats, Floats]] = {}

    def limits(self, name: str, z: float) -> tuple[Floats, Floats]:
        """Low and high limits of every group's rate."""
        if (name, z) not in self._kept:
            self._kept[name, z] = self._limits(name, z)
        return self._kept[name, z]

    def _limits(self, name: str, z: float) -> tuple[Floats, Floats]:
        if name not in MEANS:
            return wilson(self._hits[name], self.trials[name], z)
        (down_1, up_1), (down_2, up_2) = (self.distances(part, z) for part in MEANS[name])
        value = self.values[name]
        return value - np.hypot(down_1, down_2) / 2, value + np.hypot(up_1, up_2) / 2

    def distances(self, name: str, z: float) -> Distances:
        """How far the limits lie from the rates."""
        low, high = self.limits(name, z)
        return self.values[name] - low, high - self.values[name]


# ----------------------------------------------------------------------------------------------------------------- gaps


class Band(NamedTuple):
    """What is known of one rate's gap: the pair of groups that shows it best, and the most it can be."""

    size: float  # difference of the pair
    reach: float  # how much of it may be chance
    high: float

    @property
    def low(self) -> float:
        return self.size - self.reach


def gap_interval(gap: Criterion, rates: Rates, value: float, single: float, every: float) -> tuple[float, float]:
    """Low and high end of a gap; `single` is the critical value of one pair, `every` of all pairs and rates at once."""
    band = _ratio if gap.form is Form.RATIO else _difference
    bands = [band(rates, name, single, every) for name in gap.names]
    low, high = max(b.low for b in bands), max(b.high for b in bands)
    if gap.form is Form.SUM:
        low = max(low, sum(b.size for b in bands) - math.hypot(*(b.reach for b in bands)))
        sizes = [float(np.nanmax(rates.values[name]) - np.nanmin(rates.values[name])) for name in gap.names]
        high = sum(sizes) + math.hypot(*(b.high - size for b, size in zip(bands, sizes, strict=True)))
    low = max(low, 0.0)
    if gap.form is not Form.RATIO:
        return min(gap.reported(low), value), max(gap.reported(min(high, gap.largest)), value)
    one, two = gap.reported(math.exp(-high)), gap.reported(math.exp(-low))
    return min(one, two, value), max(one, two, value)


def _difference(rates: Rates, name: str, single: float, every: float) -> Band:
    known = ~np.isnan(rates.values[name])
    value = rates.values[name][known]
    down, up = (side[known] for side in rates.distances(name, single))
    size, reach = furthest(value, up, down, 1.0)
    high = size + reach
    down, up = (side[known] for side in rates.distances(name, every))
    return Band(*furthest(value, down, up, -1.0), high)


def _ratio(rates: Rates, name: str, single: float, every: float) -> Band:
    """The same for minus the logarithm of the ratio."""
    known = ~np.isnan(rates.values[name])
    value = rates.values[name][known]
    if not value.any():
        return Band(0.0, 0.0, math.inf)
    low_1, high_1 = (side[known] for side in rates.limits(name, single))
    low_2, high_2 = (side[known] for side in rates.limits(name, every))
    # a rate of 0 has no logarithm: its own upper limit stands in for it, which can only widen the interval
    nobody = value == 0
    with np.errstate(divide="ignore"):
        log = np.log(np.where(nobody, high_2, value))
        size, reach = furthest(log, log - np.log(low_2), np.log(high_2) - log, -1.0)
        high = math.inf if nobody.any() else sum(furthest(log, np.log(high_1) - log, log - np.log(low_1), 1.0))
    return Band(size, reach, high)


def furthest(value: Floats, one: Floats, two: Floats, sign: float) -> tuple[float, float]:
    """The groups i and j with the largest `value_i - value_j + sign * hypot(one_i, two_j)`: both terms."""
    i, j = _outer(value, sign * one), _outer(-value, sign * two)
    size = value[i][:, None] - value[j]
    reach = np.hypot(one[i][:, None], two[j])
    best = np.argmax(np.where(i[:, None] == j, -np.inf, size + sign * reach))
    return float(size.flat[best]), float(reach.flat[best])


def _outer(value: Floats, reach: Floats) -> NDArray[np.intp]:
    """Groups that at most one other group beats in both: no other can be part of the pair that is furthest apart."""
    left = np.lexsort((-reach, -value))  # from the largest value on, ties by reach
    kept = []
    for _ in range(2):
        best = np.maximum.accumulate(reach[left])
        front = np.append(True, reach[left][1:] > best[:-1])
        kept.append(left[front])
        left = left[~front]
        if not len(left):
            break
    return np.concatenate(kept)


# ------------------------------------------------------------------------------------------------ differences by chance


def ranges_of(
    accepted: Values, totals: Values, replicates: int, seed: int, squares: tuple[Values, Values] | None = None
) -> dict[str, Floats]:
    """For each rate and replicate, the range over the groups of (replicate - rate) / standard error, over sqrt(2).

    Over the square root of 2, so that for two groups it is the size of a standard normal. Drawing rows with replacement
    gives every cell of accepted or rejected rows a count that is nearly Poisson, so a replicate of a million rows costs
    a few numbers a group. A cell with weights w is drawn as a Poisson number of rows of one weight, whose sum has the
    mean sum w and the variance sum w^2. Each replicate's rates are measured in standard errors from the rates of the
    rows themselves; the range over the groups then says how large a difference comes from nothing.
    """
    random = np.random.default_rng(seed)
    # One accepted and one rejected row more in each cell (Laplace): where all rows agree, redrawing them would show no
    # chance at all, and two rows would be as good as a million.
    there = totals > 0
    row = there if squares is None else there * (squares[1] / np.maximum(totals, 1e-300))  # weight of one
    accepted, totals = accepted + row, totals + 2 * row
    if squares is not None:
        squares = squares[0] + row**2, squares[1] + 2 * row**2
    rates = Rates(accepted, totals, squares)
    centre = {name: rates.values[name][:, None] for name in COMPARED}
    error = {name: np.subtract(*rates.limits(name, 1.0)[::-1])[:, None] / 2 for name in COMPARED}
    used = there.any(axis=1)  # without unlabelled rows there is nothing to draw for them
    cells = np.stack([accepted, totals - accepted])[:, used, :, None]
    weight = np.ones(cells.shape)
    if squares is not None:
        weight = np.stack([squares[0], squares[1] - squares[0]])[:, used, :, None] / np.maximum(cells, 1e-300)
        cells = cells / np.maximum(weight, 1e-300)
    found: dict[str, list[Floats]] = {name: [] for name in COMPARED}
    at_once = max(AT_ONCE // cells.size, 1)
    for first in range(0, replicates, at_once):
        n = min(at_once, replicates - first)
        drawn = np.zeros((2, 3, totals.shape[1], n))
        drawn[:, used] = random.poisson(cells, (*cells.shape[:-1], n)) * weight
        values = values_of(*shares_of(drawn[0], drawn.sum(axis=0)))
        for name in COMPARED:
            t = np.nan_to_num((values[name] - centre[name]) / error[name])  # a group without the rows has no say
            found[name].append((t.max(axis=0) - t.min(axis=0)) / math.sqrt(2))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def critical(gap: Criterion, ranges: dict[str, Floats], confidence: float, least: float) -> float:
    """How many standard errors two groups of this gap may differ by chance, for all pairs and rates at once."""
    parts = np.stack([ranges[name] for name in gap.names])
    joint = np.sqrt((parts**2).sum(axis=0)) if gap.form is Form.SUM else parts.max(axis=0)
    return max(float(np.quantile(joint, confidence, method="higher")), least)
