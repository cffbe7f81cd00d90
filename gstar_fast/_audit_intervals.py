"""Confidence intervals of rates and gaps, from counts.

Reads from: the audit's metrics.  Read by: the audit.  Why these and no others: docs/guide/audit.md.

A share of rows gets Wilson's interval. A difference of two rates gets its limits from theirs (Newcombe: the squares of
the distances add up). A gap is the largest of many such differences, and chance makes the largest look larger still:

- its low end is the largest low end of any pair, with a critical value that holds for all pairs at once, so that equal
  groups are taken for unequal in no more than 1 - confidence of all cases;
- its high end is the largest high end of any pair, with the usual critical value: the pair that is truly furthest apart
  is one of them.

Ratios are differences of logarithms.
"""

from __future__ import annotations

import functools
import math
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gstar_fast._audit_metrics import MEANS, Gap, shaped, shares_of, values_of
from gstar_fast._backends._search import Floats

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


@functools.lru_cache(maxsize=256)
def for_all_pairs(n_groups: int, confidence: float) -> float:
    """Critical value that holds for the differences of all pairs of so many groups at once (Tukey, Kramer).

    The studentised range over the square root of 2, for known variances; with two groups it is `two_sided`.
    """
    from scipy.special import ndtr  # slow to import, and needed here only

    x = np.linspace(-9.0, 9.0, 2401)
    pdf = np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * (x[1] - x[0])
    upto = ndtr(x)

    def cdf(q: float) -> float:
        return float(n_groups * np.sum(pdf * (upto - ndtr(x - q)) ** (n_groups - 1)))

    low, high = 0.0, 20.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if cdf(middle) < confidence else (low, middle)
    return high / math.sqrt(2)


class Rates:
    """The rates of all groups and the distances of their limits, by name of the rate and critical value."""

    def __init__(self, accepted: NDArray[Any], totals: NDArray[Any]) -> None:
        self._hits, self._trials = shares_of(accepted, totals)
        self.values = values_of(self._hits, self._trials)
        self._kept: dict[tuple[str, float], tuple[Floats, Floats]] = {}

    def limits(self, name: str, z: float) -> tuple[Floats, Floats]:
        """Low and high limits of every group's rate."""
        if (name, z) not in self._kept:
            self._kept[name, z] = self._limits(name, z)
        return self._kept[name, z]

    def _limits(self, name: str, z: float) -> tuple[Floats, Floats]:
        if name not in MEANS:
            return wilson(self._hits[name], self._trials[name], z)
        (down_1, up_1), (down_2, up_2) = (self.distances(part, z) for part in MEANS[name])
        value = self.values[name]
        return value - np.hypot(down_1, down_2) / 2, value + np.hypot(up_1, up_2) / 2

    def distances(self, name: str, z: float) -> Distances:
        """How far the limits lie from the rates."""
        low, high = self.limits(name, z)
        return self.values[name] - low, high - self.values[name]


# ----------------------------------------------------------------------------------------------------------------- gaps


def gap_interval(gap: Gap, rates: Rates, value: float, confidence: float) -> tuple[float, float]:
    """Low and high end of a gap whose value is known."""
    single = two_sided(confidence)
    family = confidence ** (1 / len(gap.rates))  # several rates, of different rows
    spans = []
    for name in gap.rates:
        known = ~np.isnan(rates.values[name])
        if len(known) == 1:  # nobody to compare with
            return value, value
        every = for_all_pairs(int(known.sum()), family)
        band = _difference if gap.is_difference else _ratio
        spans.append(band(rates, name, known, single, every))
    if gap.over == "sum":
        sizes = [float(np.nanmax(rates.values[name]) - np.nanmin(rates.values[name])) for name in gap.rates]
        down = math.hypot(*(size - low for size, (low, _) in zip(sizes, spans, strict=True)))
        up = math.hypot(*(high - size for size, (_, high) in zip(sizes, spans, strict=True)))
        low, high = sum(sizes) - down, sum(sizes) + up
    else:
        low, high = max(low for low, _ in spans), max(high for _, high in spans)
    low = max(low, 0.0)
    if gap.is_difference:
        most = 2.0 if gap.over == "sum" else 1.0
        return min(gap.scale * low, value), max(gap.scale * min(high, most), value)
    one, two = shaped(gap, math.exp(-high)), shaped(gap, math.exp(-low))
    return min(one, two, value), max(one, two, value)


def _difference(rates: Rates, name: str, known: NDArray[np.bool_], single: float, every: float) -> tuple[float, float]:
    value = rates.values[name][known]
    down, up = (side[known] for side in rates.distances(name, single))
    high = _largest(value, up, down, 1.0)
    down, up = (side[known] for side in rates.distances(name, every))
    return _largest(value, down, up, -1.0), high


def _ratio(rates: Rates, name: str, known: NDArray[np.bool_], single: float, every: float) -> tuple[float, float]:
    """The same for minus the logarithm of the ratio."""
    value = rates.values[name][known]
    if not value.any():
        return 0.0, math.inf
    low_1, high_1 = (side[known] for side in rates.limits(name, single))
    low_2, high_2 = (side[known] for side in rates.limits(name, every))
    # a rate of 0 has no logarithm: its own upper limit stands in for it, which can only widen the interval
    nobody = value == 0
    with np.errstate(divide="ignore"):
        log = np.log(np.where(nobody, high_2, value))
        down, up = log - np.log(low_2), np.log(np.where(nobody, 1.0, high_2)) - np.where(nobody, 0.0, log)
        low = _largest(log, np.where(nobody, np.inf, down), np.where(nobody, 0.0, up), -1.0)
        high = math.inf if nobody.any() else _largest(log, np.log(high_1) - log, log - np.log(low_1), 1.0)
    return low, high


def _largest(value: Floats, one: Floats, two: Floats, sign: float) -> float:
    """Largest `value_i - value_j + sign * hypot(one_i, two_j)` of two groups i and j."""
    i, j = _outer(value, sign * one), _outer(-value, sign * two)
    with np.errstate(invalid="ignore"):
        found = value[i][:, None] - value[j] + sign * np.hypot(one[i][:, None], two[j])
    return float(np.max(np.where(i[:, None] == j, -np.inf, found)))


def _outer(value: Floats, reach: Floats) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
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
