"""The search over segments with its loops over candidates compiled by Numba; the answers are the reference's.

See numpy/segments.py for what each function answers.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gstar_fast._backends.common.segments import Best, Mix, SegmentArrays
from gstar_fast._backends.numba.solver import compiled
from gstar_fast._backends.numpy import segments_bounds as reference
from gstar_fast._backends.numpy import segments_tree as reference_tree
from gstar_fast._backends.numpy.segments_moves import ROUNDS, sums_of
from gstar_fast._base.arrays import Flags, Floats, Ints

__all__ = ["choose", "mix", "price"]


@compiled
def _price(
    start: Ints, accepted: Floats, distance: Ints, weights: Floats, low: Ints, high: Ints
) -> tuple[Ints, Floats]:
    m = len(start) - 1
    numbers, values = np.empty(m, np.int64), np.empty(m)
    for j in range(m):
        best, least = -1, 0.0
        for i in range(start[j] + low[j], start[j] + high[j] + 1):
            value = 0.0
            for c in range(len(weights)):
                value += weights[c] * accepted[c, i]
            if best < 0 or value < least or (value == least and distance[i] < distance[best]):
                best, least = i, value
        numbers[j], values[j] = best - start[j], least
    return numbers, values


def price(p: SegmentArrays, weights: Floats, low: Ints, high: Ints) -> tuple[Ints, Floats]:
    """The candidate of least value in each segment, and the values."""
    if p.rising:
        return reference.price(p, weights, low, high)
    return _price(p.start, p.accepted, p.distance, weights, low, high)


@compiled
def _missed(
    sums: Floats,
    cell: Ints,
    totals: Floats,
    rate: Ints,
    has: Flags,
    limit: Floats,
    ratio: Floats,
    most: float,
    parts: Floats,
) -> float:
    for a in range(has.shape[1]):
        for label in range(3):
            parts[a, label] = 0.0
    for c in range(len(cell)):
        parts[cell[c] // 3, cell[c] % 3] = sums[c]
    out, total = 0.0, 0.0
    for r in range(len(rate)):
        low, high, seen = 0.0, 0.0, False
        for a in range(has.shape[1]):
            if not has[r, a]:
                continue
            neg, pos, spare = parts[a, 0], parts[a, 1], parts[a, 2]
            n_neg, n_pos, n_spare = totals[0, a], totals[1, a], totals[2, a]
            if rate[r] == 0:
                value = pos / n_pos
            elif rate[r] == 1:
                value = neg / n_neg
            elif rate[r] == 2:
                value = (neg + pos + spare) / (n_neg + n_pos + n_spare)
            elif rate[r] == 3:
                value = (pos + (n_neg - neg)) / (n_neg + n_pos)
            else:
                value = (pos / n_pos + (n_neg - neg) / n_neg) / 2
            low = value if not seen or value < low else low
            high = value if not seen or value > high else high
            seen = True
        if not (high - low <= limit[r] and (ratio[r] < 0 or high <= 0 or low / high >= ratio[r])):
            out += max(max(high - low - limit[r], ratio[r] * high - low), 1e-300)
        if r < 2:
            total += high - low
    if not total <= most:
        out += max(total - most, 1e-300)
    return out


@compiled
def _move_one(
    start: Ints,
    accepted: Floats,
    cell: Ints,
    cost: Ints,
    distance: Ints,
    totals: Floats,
    rate: Ints,
    has: Flags,
    limit: Floats,
    ratio: Floats,
    most: float,
    rising: bool,
    numbers: Ints,
    sums: Floats,
) -> float:
    m, parts = len(numbers), np.zeros((has.shape[1], 3))
    others, tried = np.empty(len(cell)), np.empty(len(cell))
    miss = _missed(sums, cell, totals, rate, has, limit, ratio, most, parts)
    for _ in range(ROUNDS):
        moved = False
        for j in range(m):
            mine, begin, end = start[j] + numbers[j], start[j], start[j + 1]
            if rising and j > 0:
                begin = start[j] + numbers[j - 1]
            if rising and j + 1 < m:
                end = start[j] + numbers[j + 1] + 1
            for c in range(len(cell)):
                others[c] = sums[c] - accepted[c, mine]
            best, least = mine, miss
            for i in range(begin, end):
                if least == 0.0 and cost[i] > cost[best]:
                    continue
                for c in range(len(cell)):
                    tried[c] = others[c] + accepted[c, i]
                away = _missed(tried, cell, totals, rate, has, limit, ratio, most, parts)
                if away > least or (away == least and cost[i] > cost[best]):
                    continue
                if away < least or cost[i] < cost[best] or distance[i] < distance[best]:
                    best, least = i, away
            if best != mine:
                numbers[j], miss, moved = best - start[j], least, True
                for c in range(len(cell)):
                    sums[c] = others[c] + accepted[c, best]
        if not moved:
            break
    return miss


def move_one(p: SegmentArrays, numbers: Ints) -> tuple[Ints, float]:
    """Move one segment after the other to its best candidate until none moves."""
    numbers = numbers.copy()
    fields = p.start, p.accepted, p.cell, p.cost, p.distance, p.totals, p.rate, p.has, p.limit, p.ratio
    return numbers, float(_move_one(*fields, p.total, p.rising, numbers, sums_of(p, numbers)))


class Search(reference.Search):
    scan: ClassVar = staticmethod(price)


class Tree(reference_tree.Tree):
    scan: ClassVar = staticmethod(price)
    move_one: ClassVar = staticmethod(move_one)


def mix(p: SegmentArrays) -> Mix | None:
    """The cheapest mixture that meets every limit, or None."""
    return Search(p).mix()


def choose(p: SegmentArrays, node_limit: int, seconds: float = np.inf) -> Best:
    """The cheapest choice that meets every limit, with its proof."""
    return reference_tree.choose(p, node_limit, seconds, Tree)
