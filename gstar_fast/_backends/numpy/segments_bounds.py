"""What no choice in a box can be below: multipliers, and the linear program that finds the best of them.

Multipliers turn the limits into prices, and every segment then chooses for itself: that bounds E from below. The
columns of the linear program are such choices; its optimum is the best mixture.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import TypeAlias

import numpy as np

from gstar_fast._backends.common.segments import HIGH, LOW, RATIO, SHARE, SMALLEST, Mix, Program
from gstar_fast._backends.numpy.segments_master import EPSILON, Master
from gstar_fast._base.arrays import Floats, Ints

SCANS = 400  # for one node; it is closed, or cut, with the best bound so far


def price(p: Program, weights: Floats, low: Ints, high: Ints) -> tuple[Ints, Floats]:
    """The candidate of least value in each segment, from low to high, nearest of equals; and the values.

    A candidate's value is what its accepted rows weigh. With `rising`, the best choice that rises.
    """
    m = len(p.start) - 1
    if p.rising:
        return _price_rising(p, weights, low, high)
    numbers, values = np.empty(m, np.int64), np.empty(m)
    for j in range(m):
        inside = slice(int(low[j]), int(high[j]) + 1)
        value = value_of(p, weights, j, inside)
        least = value.min()
        equal = np.flatnonzero(value == least)
        best = int(equal[np.argmin(p.distance[p.start[j] + low[j] + equal])])
        numbers[j], values[j] = low[j] + best, least
    return numbers, values


def value_of(p: Program, weights: Floats, j: int, inside: slice) -> Floats:
    """What the features of some candidates of segment j weigh, one feature after the other."""
    out = np.zeros(inside.stop - inside.start)
    slots, values = p.features[j]
    for weight, each in zip(weights[slots].tolist(), values[:, inside], strict=True):
        out += weight * each
    return out


def _price_rising(p: Program, weights: Floats, low: Ints, high: Ints) -> tuple[Ints, Floats]:
    m = len(p.start) - 1
    size = int(p.start[1])
    best = np.zeros(size)  # of the segments so far, the last of them taking this candidate or a lower one
    chosen = np.zeros((m, size), np.int64)
    for j in range(m):
        value = np.full(size, np.inf)
        inside = slice(int(low[j]), int(high[j]) + 1)
        value[inside] = best[inside] + value_of(p, weights, j, inside)
        best = np.minimum.accumulate(value)
        new = np.ones(size, bool)  # where the least value so far falls: the lowest candidate of equals
        new[1:] = value[1:] < best[:-1]
        chosen[j] = np.maximum.accumulate(np.where(new, np.arange(size), 0))
    numbers = np.empty(m, np.int64)
    at = size - 1
    for j in range(m - 1, -1, -1):
        at = int(chosen[j, at])
        numbers[j] = at
    values = np.zeros(m)
    values[0] = best[-1]
    return numbers, values


Column: TypeAlias = tuple[int, Ints, float]  # block, numbers of all segments, share


@dataclass
class Node:
    """A box of candidates, the best bound that was found for it, and how its linear program was solved."""

    low: Ints
    high: Ints
    multipliers: Floats  # of each row
    weight: float = 1.0  # of E in the bound
    bound: float = -np.inf  # rounding errors taken off
    columns: list[Column] = field(default_factory=list)  # of the basis
    empty: bool = False  # whether the bound shows that no choice in it meets the limits
    split: tuple[int, int, int] = (-1, 0, -1)  # segment, candidate and first child, as in `Leaves`


class Search:
    """One problem."""

    def __init__(self, p: Program) -> None:
        self.p = p
        self.m = len(p.start) - 1
        self.n_blocks = 1 if p.rising else self.m
        self.scans = 0
        self.step = max(1.0 / p.unit, SMALLEST)
        rows = p.rows
        self.widest = np.full(rows.n_windows, np.inf)  # the largest gap of each window
        self.widest[rows.window[rows.kind == HIGH]] = rows.right[rows.kind == HIGH]
        self.total = float(rows.right[rows.share > 0].max(initial=-np.inf))  # the largest sum of two gaps
        self.summed: list[int] = []  # these two windows
        if self.total > -np.inf:
            self.summed = [int(rows.window[rows.share * sign > 0][0]) for sign in (-1, 1)]
            self.widest[self.summed] = np.minimum(self.widest[self.summed], self.total)

    # ------------------------------------------------------------------------------------------------------- bounds

    def net(self, multipliers: Floats) -> Floats:
        """What one unit of each measure weighs."""
        rows, out = self.p.rows, np.zeros(len(self.p.base))
        for some in (rows.scale > 0, rows.scale <= 0):  # rows of low ends last
            np.add.at(out, rows.measure[some], rows.scale[some] * multipliers[some])
        return out

    def weights(self, net: Floats, weight: float) -> Floats:
        """What one unit of each slot weighs."""
        p = self.p
        out = weight * p.price
        slot, turns = p.terms
        for at in turns:
            out[slot[at]] += net[p.measure[at]] * p.slope[at]
        return out

    def bound(self, multipliers: Floats, weight: float, low: Ints, high: Ints) -> tuple[float, Ints, Floats]:
        """A number that weight * E cannot be below in this box within the limits; the choices behind it, by segment."""
        p, rows = self.p, self.p.rows
        net = self.net(multipliers)
        numbers, values = price(p, self.weights(net, weight), low, high)
        self.scans += 1
        total = weight * p.constant
        size = abs(total)
        for value in values.tolist():
            total += value
        uppers = [0.0, 0.0]  # of the windows whose gaps have a limited sum
        window, seen = 0.0, set[int]()
        columns = (rows.measure, rows.window, rows.kind, rows.right, multipliers)
        of_measure = groupby(zip(*(column.tolist() for column in columns), strict=True), key=lambda row: row[:2])
        last = -1
        for (q, w), mine in of_measure:
            if w != last:
                total += min(window, 0.0)
                window, last = 0.0, w
            given = {LOW: 0.0, HIGH: 0.0, RATIO: 0.0}
            fixed = 0.0  # of rows without a window
            for _, _, kind, right, value in mine:
                if w < 0:
                    fixed += right * value
                else:
                    given[HIGH if kind == SHARE else kind] += value
            if q not in seen:
                total += float(net[q]) * float(p.base[q])
                size += abs(float(net[q])) * abs(float(p.base[q]))
                seen.add(q)
            total -= fixed
            size += abs(fixed)
            lower, upper, ratio = given.values()
            if upper > 0:
                if w in self.summed:
                    uppers[self.summed.index(w)] += upper
                else:
                    total -= float(self.widest[w]) * upper
                size += float(self.widest[w]) * upper
            window += lower - upper - ratio
            size += lower + upper + ratio
        total += min(window, 0.0)
        if self.summed:
            total -= self.most_paid(uppers)
        most = weight * np.abs(p.price)
        slot, turns = p.terms
        for at in turns:
            most[slot[at]] += np.abs(net[p.measure[at]]) * np.abs(p.slope[at])
        for each in (most * p.most).tolist():
            size += each
        return total - (len(most) + self.m + 24) * 2.3e-16 * size, numbers, values

    def most_paid(self, prices: list[float]) -> float:
        """What two gaps within their limits, and with a sum within theirs, cost at most at these prices.

        The dearer one takes what it may, the other what is left.
        """
        dear = 0 if prices[0] >= prices[1] else 1
        first = min(float(self.widest[self.summed[dear]]), self.total)
        second = min(float(self.widest[self.summed[1 - dear]]), self.total - first)
        return prices[dear] * first + prices[1 - dear] * second

    def measures(self, block: int, numbers: Ints) -> tuple[float, Floats]:
        """What a block's choice adds to E and to every measure."""
        p = self.p
        sums, cost = np.zeros(len(p.price)), 0
        for j in range(self.m) if p.rising else range(block, block + 1):
            slots, values = p.features[j]
            sums[slots] += values[:, numbers[j]]
            cost += int(p.cost[p.start[j] + numbers[j]])
        out = np.zeros(len(p.base))
        np.add.at(out, p.measure, p.slope * sums[p.terms[0]])
        return cost / p.unit, out

    # ----------------------------------------------------------------------------------------------- one node's program

    def solve(self, node: Node, seeds: list[Column], enough: float, end: float = np.inf, exact: bool = False) -> None:
        """Raise the node's bound to that of its linear program, or above `enough`; at the moment `end` it stops.

        Shares are `exact` for a mixture, which has to meet the limits; the others only say where to cut.
        """
        low, high = node.low, node.high
        bound, numbers, _ = self.bound(node.multipliers, node.weight, low, high)
        node.bound = bound
        if node.weight > 0 and bound > enough:
            return
        node.empty = node.weight == 0 and bound > 0
        if node.empty:
            return
        if node.weight == 0:
            node.weight, node.bound = 1.0, -np.inf
        master = Master(self.p, self.n_blocks)
        columns: list[tuple[int, Ints]] = []

        def add(block: int, numbers: Ints) -> None:
            master.add(block, *self.measures(block, numbers))
            columns.append((block, numbers))

        for block in range(self.n_blocks):
            add(block, numbers)
        for block, seed, _ in seeds:
            mine = self.own(block)
            inside = bool(np.all((seed[mine] >= low[mine]) & (seed[mine] <= high[mine])))
            if inside and not np.array_equal(seed[mine], numbers[mine]):
                add(block, seed)
        master.begin()
        for _ in range(SCANS):
            phase, dual = master.optimise(end)
            if not np.all(np.isfinite(dual)):  # rounding made the basis singular
                break
            multipliers = np.maximum(-dual[self.n_blocks :], 0.0)
            weight = 1.0 if phase == 2 else 0.0
            bound, numbers, values = self.bound(multipliers, weight, low, high)
            if phase == 2 and bound > node.bound:
                node.bound, node.multipliers, node.weight = bound, multipliers, 1.0
            if phase == 1 and bound > 0:
                node.empty, node.bound, node.multipliers, node.weight = True, bound, multipliers, 0.0
                return
            if node.weight > 0 and node.bound > enough:
                return
            added = False
            for block in range(self.n_blocks):
                mine = self.own(block)
                improves = float(values[block] - dual[block]) < -EPSILON - weight * float(self.nobody[block])
                # a program that ended early may ask for a column it has
                if improves and not any(
                    b == block and np.array_equal(given[mine], numbers[mine]) for b, given in columns
                ):
                    add(block, numbers)
                    added = True
            if not added or time.monotonic() > end:
                break
        if exact:
            master.factor()
        level = zip(master.basis, master.level().tolist(), strict=True)
        node.columns = [(*columns[i], max(share, 0.0)) for i, share in level if i >= 0]

    def own(self, block: int) -> slice:
        """The segments of a block."""
        return slice(0, self.m) if self.p.rising else slice(block, block + 1)

    @cached_property
    def nobody(self) -> Floats:
        """E of accepting nobody in each block: part of a column's cost, which `values` leave out."""
        p, out = self.p, np.zeros(self.n_blocks)
        for j in range(self.m):
            value = 0.0
            for slot, rows in zip(p.features[j][0].tolist(), p.features[j][1][:, 0].tolist(), strict=True):
                value += float(p.price[slot]) * rows
            out[0 if p.rising else j] += int(p.cost[p.start[j]]) / p.unit - value
        return out

    def whole(self) -> Node:
        """All candidates."""
        return Node(np.zeros(self.m, np.int64), np.diff(self.p.start) - 1, np.zeros(len(self.p.rows)))


def mix(p: Program) -> Mix | None:
    """The cheapest mixture that meets every limit, or None."""
    search = Search(p)
    node = search.whole()
    search.solve(node, [], np.inf, exact=True)
    if node.empty or not node.columns:
        return None
    shares = [column for column in node.columns if column[2] > 1e-12]
    total = np.zeros(search.n_blocks)
    for block, _, share in shares:
        total[block] += share
    merged: dict[tuple[int, int], float] = {}
    value = 0.0
    for block, numbers, share in shares:
        weight = share / float(total[block])
        for j in range(search.m) if p.rising else (block,):
            key = j, int(numbers[j])
            merged[key] = merged.get(key, 0.0) + weight
        value += weight * search.measures(block, numbers)[0]
    segment, number = np.array(sorted(merged), np.int64).T
    weights = np.array([merged[key] for key in sorted(merged)])
    return Mix(segment, number, weights, node.multipliers, node.bound, value, search.scans)
