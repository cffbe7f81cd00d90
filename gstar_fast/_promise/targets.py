"""More options: thresholds that aim at a box of rates.

If the rates of all groups lie in one box as wide as the limits, the limits hold. For a box and a weight, each group
alone takes the entry with the least

    error - weight * log Pr(its rates lie in the box),

a normal distribution with the mean and the variance of the Beta. Groups do not depend on each other once the box
stands, so this is exact for each box. Boxes are tried around the options of the first family, and once more around the
best of each weight; every weight gives one option. A limit on the sum of two gaps is shared out between them in three
ways, each of which gives boxes of its own.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from gstar_fast._backends.interface import Floats, Ints
from gstar_fast._base.arrays import Bools
from gstar_fast._promise.beliefs import Known

WEIGHTS = tuple(0.01 * 1000 ** (i / 11) for i in range(12))  # times the gain of plain thresholds
NEAR = (-0.25, 0.0, 0.25)  # of the limit: boxes around an option
FINER = (-0.125, 0.0, 0.125)
MOST_ENTRIES = 256  # of a group that are looked at
MOST_RATES = 2
SHARES = (0.25, 0.5, 0.75)  # of a sum, for the first of two gaps


def aimed(known: Known, near: list[Ints], gain: float) -> list[Ints]:
    """Entries, one a group, for each weight and box; none for ratios and for more than two rates.

    Boxes are tried around the rates of the entries in `near`.
    """
    alone, total = known.limit, known.total
    limits = [alone]
    if total < np.inf:
        limits = [np.minimum(alone, total * np.array([q, 1 - q])) for q in SHARES] if len(alone) == MOST_RATES else []
    return [entries for limit in limits for entries in _aimed(known, near, gain, limit)]


def _aimed(known: Known, near: list[Ints], gain: float, limit: Floats) -> list[Ints]:
    if len(limit) > MOST_RATES or (known.ratio >= 0).any() or (limit <= 0).any() or gain <= 0 or not near:
        return []
    rates = known.search.arrays.rates
    centres = np.array([_middle(rates[:, entries], known) for entries in near])
    groups = [_Group.of(known, k, centres, limit) for k in range(known.n.shape[1])]
    if any(len(group.entries) == 0 for group in groups):
        return []
    weights = gain * np.array(WEIGHTS)
    tried = _around(centres, NEAR, limit)
    value, chosen = _best(groups, tried, limit, weights)
    again = _around(tried[np.argmin(value, axis=0)], FINER, limit)
    value, chosen = _best(groups, again, limit, weights)
    at = np.argmin(value, axis=0)
    found = {tuple(chosen[:, at[i], i].tolist()) for i in range(len(weights))}
    return [np.array(entries) for entries in found]


def _middle(rates: Floats, known: Known) -> Floats:
    has = known.search.has[known.active]
    low = np.where(has, rates, np.inf).min(axis=1)
    high = np.where(has, rates, -np.inf).max(axis=1)
    middle: Floats = (low + high) / 2
    return middle


def _around(centres: Floats, steps: tuple[float, ...], limit: Floats) -> Floats:
    """Boxes beside these, each once; their middles are whole numbers of limit / 8."""
    unit = limit / 8
    offsets = np.stack(np.meshgrid(*[np.array(steps) * 8] * len(limit)), axis=-1).reshape(-1, len(limit))
    found = np.rint(centres / unit)[:, None, :] + offsets
    return np.unique(found.reshape(-1, len(limit)), axis=0) * unit


class _Group:
    """The entries of one group that are worth looking at: error, and mean and deviation of each rate."""

    def __init__(self, entries: Ints, error: Floats, mean: Floats, deviation: Floats, has: Bools) -> None:
        self.entries, self.error, self.mean, self.deviation, self.has = entries, error, mean, deviation, has

    @classmethod
    def of(cls, known: Known, k: int, centres: Floats, limit: Floats) -> _Group:
        search = known.search
        entries = np.arange(search.table.start[k], search.table.start[k + 1])
        a, b, sure = known.shapes(entries, k)
        has = search.has[known.active, k]
        mean = np.where(np.isnan(sure), a / (a + b), sure)
        deviation = np.where(np.isnan(sure), np.sqrt(a * b / (a + b + 1)) / (a + b), 1e-6)
        low, high = centres.min(axis=0) - limit, centres.max(axis=0) + limit
        near = ((mean >= low[:, None]) & (mean <= high[:, None]) | ~has[:, None]).all(axis=0)
        kept = np.flatnonzero(near)
        if len(kept) > MOST_ENTRIES:  # evenly along the way, measured in standard deviations
            length = (np.abs(np.diff(mean[:, kept], axis=1)) / deviation[:, kept][:, 1:]).max(axis=0)
            way = np.concatenate([[0.0], np.cumsum(length)])
            wanted = np.linspace(0.0, way[-1], MOST_ENTRIES)
            kept = kept[np.unique(np.searchsorted(way, wanted).clip(0, len(kept) - 1))]
        cost = search.arrays.cost[entries[kept]] / search.scale.unit
        return cls(entries[kept], cost, mean[:, kept], deviation[:, kept], has)

    def log_chance(self, i: int, middles: Floats, limit: float) -> Floats:
        """Of rate i lying in each box: (boxes, entries)."""
        if not self.has[i]:
            return np.zeros((len(middles), len(self.entries)))
        low, high = (
            special.ndtr((middles[:, None] + side * limit / 2 - self.mean[i]) / self.deviation[i]) for side in (-1, 1)
        )
        out: Floats = np.log(np.maximum(high - low, 1e-30))
        return out


def _best(groups: list[_Group], boxes: Floats, limit: Floats, weights: Floats) -> tuple[Floats, Ints]:
    """The value of each box and weight, and the entry each group takes: (boxes, weights), (K, boxes, weights)."""
    value = np.zeros((len(boxes), len(weights)))
    chosen = np.empty((len(groups), len(boxes), len(weights)), dtype=np.int64)
    parts = [np.unique(boxes[:, i], return_inverse=True) for i in range(len(limit))]
    for k, group in enumerate(groups):
        log = sum(group.log_chance(i, middles, limit[i])[at] for i, (middles, at) in enumerate(parts))
        for j, weight in enumerate(weights):
            total = group.error - weight * log
            best = np.argmin(total, axis=1)
            value[:, j] += total[np.arange(len(boxes)), best]
            chosen[k, :, j] = group.entries[best]
    return value, chosen
