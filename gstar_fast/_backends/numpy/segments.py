"""The reference of the search over segments: columns for the mixture, branching for the best choice.

Multipliers turn the limits into prices, and every segment then chooses for itself: that bounds E from below (`bound`).
The mixture is the optimum of the linear program, whose columns come from such choices. The best choice comes from
cutting the range of a segment that the mixture of a node mixes. A node is closed only by its bound, never by giving up
a limit. csrc/gstar/solve/segments.hpp takes the same steps.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from gstar_fast._backends.common.segments import Best, Leaves, Mix, SegmentArrays
from gstar_fast._backends.numpy import segments_moves as moves
from gstar_fast._backends.numpy.segments_master import EPSILON, X, Master
from gstar_fast._base.arrays import Bools, Floats, Ints

__all__ = ["choose", "mix", "price"]

SCANS = 400  # for one node; it is closed, or cut, with the best bound so far
SMALLEST = 1e-12  # of E: what the search tells apart at most


def price(p: SegmentArrays, weights: Floats, low: Ints, high: Ints) -> tuple[Ints, Floats]:
    """The candidate of least value in each segment, from low to high, nearest of equals; and the values.

    A candidate's value is what its accepted rows weigh. With `rising`, the best choice that rises.
    """
    m = len(p.start) - 1
    if p.rising:
        return _price_rising(p, weights, low, high)
    numbers, values = np.empty(m, np.int64), np.empty(m)
    for j in range(m):
        at = slice(int(p.start[j] + low[j]), int(p.start[j] + high[j]) + 1)
        value = value_of(p, weights, at)
        least = value.min()
        equal = np.flatnonzero(value == least)
        best = int(equal[np.argmin(p.distance[at][equal])])
        numbers[j], values[j] = low[j] + best, least
    return numbers, values


def value_of(p: SegmentArrays, weights: Floats, at: slice) -> Floats:
    out = np.zeros(at.stop - at.start)
    for c in range(len(weights)):
        out += weights[c] * p.accepted[c, at]
    return out


def _price_rising(p: SegmentArrays, weights: Floats, low: Ints, high: Ints) -> tuple[Ints, Floats]:
    m = len(p.start) - 1
    size = int(p.start[1])
    best = np.zeros(size)  # of the segments so far, the last of them taking this candidate or a lower one
    chosen = np.zeros((m, size), np.int64)
    for j in range(m):
        value = np.full(size, np.inf)
        inside = slice(int(low[j]), int(high[j]) + 1)
        value[inside] = best[inside] + value_of(p, weights, slice(size * j + inside.start, size * j + inside.stop))
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


@dataclass
class Node:
    """A box of candidates, the best bound that was found for it, and how its linear program was solved."""

    low: Ints
    high: Ints
    multipliers: Floats  # (3, R, A)
    weight: float = 1.0  # of E in the bound
    bound: float = -np.inf  # rounding errors taken off
    columns: list[tuple[int, Ints]] | None = None  # of the basis: block, and numbers of all segments
    shares: Floats | None = None
    empty: bool = False  # whether the bound shows that no choice in it meets the limits
    place: int = 0  # in the tree


class Search:
    """One problem; `scan` is the backend's `price`."""

    scan: ClassVar = staticmethod(price)
    move_one: ClassVar = staticmethod(moves.move_one)
    move_two: ClassVar = staticmethod(moves.move_two)

    def __init__(self, p: SegmentArrays) -> None:
        self.p = p
        self.m = len(p.start) - 1
        self.n_blocks = 1 if p.rising else self.m
        self.group = p.cell // 3
        self.scans = 0
        self.step = max(1.0 / p.unit, SMALLEST)

    # ------------------------------------------------------------------------------------------------------- bounds

    def net(self, multipliers: Floats) -> Floats:
        """What one unit of each rate weighs (R, A)."""
        lower, upper, ratio = multipliers
        return upper + np.maximum(self.p.ratio, 0.0)[:, None] * ratio - lower

    def weights(self, net: Floats, weight: float) -> Floats:
        """What one accepted row of each cell weighs."""
        out = weight * self.p.price
        for r in range(len(self.p.rate)):
            out = out + net[r, self.group] * self.p.slope[r]
        return out

    def bound(self, multipliers: Floats, weight: float, low: Ints, high: Ints) -> tuple[float, Ints, Floats]:
        """A number that weight * E cannot be below in this box within the limits; the choices behind it, by segment."""
        p = self.p
        net = self.net(multipliers)
        weights = self.weights(net, weight)
        numbers, values = self.scan(p, weights, low, high)
        self.scans += 1
        total = weight * p.constant
        size = abs(total)
        for j in range(self.m):
            total += float(values[j])
        for r in range(len(p.rate)):
            window = 0.0
            for a in range(p.has.shape[1]):
                lower, upper, ratio = (float(x) for x in multipliers[:, r, a])
                total += float(net[r, a]) * float(p.base[r, a])
                size += abs(float(net[r, a])) * float(p.base[r, a])
                if upper > 0:
                    total -= float(p.limit[r]) * upper
                    size += float(p.limit[r]) * upper
                window += lower - upper - ratio
                size += lower + upper + ratio
            total += min(window, 0.0)
        for c in range(len(weights)):
            most = weight * abs(float(p.price[c]))
            for r in range(len(p.rate)):
                most += abs(float(net[r, self.group[c]])) * abs(float(p.slope[r, c]))
            size += most * float(p.totals[int(p.cell[c]) % 3, int(self.group[c])])
        return total - (len(weights) + self.m + 24) * 2.3e-16 * size, numbers, values

    def rates(self, block: int, numbers: Ints) -> tuple[float, Floats]:
        """What a block's choice adds to E and to every rate."""
        p = self.p
        mine = range(self.m) if p.rising else range(block, block + 1)
        sums = np.zeros(len(p.cell))
        cost = 0
        for j in mine:
            entry = int(p.start[j] + numbers[j])
            sums += p.accepted[:, entry]
            cost += int(p.cost[entry])
        out = np.zeros(p.base.shape)
        for c in range(len(p.cell)):
            out[:, self.group[c]] += p.slope[:, c] * sums[c]
        return cost / p.unit, out

    # ------------------------------------------------------------------------------------------------ one node's program

    def solve(self, node: Node, seeds: list[tuple[int, Ints]], enough: float) -> None:
        """Raise the node's bound to that of its linear program, or above `enough`."""
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
        for block in range(self.n_blocks):
            master.add(block, *self.rates(block, numbers))
            columns.append((block, numbers))
        for block, seed in seeds:
            mine = slice(0, self.m) if self.p.rising else slice(block, block + 1)
            inside = bool(np.all((seed[mine] >= low[mine]) & (seed[mine] <= high[mine])))
            if inside and not np.array_equal(seed[mine], numbers[mine]):
                master.add(block, *self.rates(block, seed))
                columns.append((block, seed))
        master.begin()
        for _ in range(SCANS):
            phase, dual = master.optimise()
            multipliers = self.multipliers(master, dual)
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
                if float(values[block]) - float(dual[block]) < -EPSILON + self.offset(weight, block):
                    master.add(block, *self.rates(block, numbers))
                    columns.append((block, numbers))
                    added = True
            if not added:
                break
        level = master.level()
        kept = [(columns[i], max(float(w), 0.0)) for (kind, i), w in zip(master.basis, level, strict=True) if kind == X]
        node.columns = [column for column, _ in kept]
        node.shares = np.array([w for _, w in kept])

    def offset(self, weight: float, block: int) -> float:
        """The cost of accepting nobody is part of a column's cost, not of its value."""
        return -weight * float(self.nobody[block])

    @property
    def nobody(self) -> Floats:
        """E of accepting nobody in each block: what `values` leave out."""
        if not hasattr(self, "_nobody"):
            p = self.p
            out = np.zeros(self.n_blocks)
            for j in range(self.m):
                first = int(p.start[j])
                value = 0.0
                for c in range(len(p.cell)):
                    value += float(p.price[c]) * float(p.accepted[c, first])
                out[0 if p.rising else j] += int(p.cost[first]) / p.unit - value
            self._nobody = out
        return self._nobody

    def multipliers(self, master: Master, dual: Floats) -> Floats:
        out = np.zeros((3, *self.p.base.shape))
        for i in range(master.size - master.n_blocks):
            value = float(dual[master.n_blocks + i])
            kind = int(master.row_kind[i])
            out[kind, master.row_rate[i], master.row_group[i]] = max(value if kind == 0 else -value, 0.0)
        return out

    # --------------------------------------------------------------------------------------------------------- mixture

    def whole(self) -> Node:
        sizes = np.diff(self.p.start)
        return Node(np.zeros(self.m, np.int64), sizes - 1, np.zeros((3, *self.p.base.shape)))

    def mix(self) -> Mix | None:
        node = self.whole()
        self.solve(node, [], np.inf)
        if node.empty or node.columns is None or node.shares is None:
            return None
        total = np.zeros(self.n_blocks)
        for (block, _), share in zip(node.columns, node.shares, strict=True):
            total[block] += share
        merged: dict[tuple[int, int], float] = {}
        value = 0.0
        for (block, numbers), share in zip(node.columns, node.shares, strict=True):
            if share <= 1e-12:
                continue
            weight = float(share) / float(total[block])
            for j in range(self.m) if self.p.rising else (block,):
                key = j, int(numbers[j])
                merged[key] = merged.get(key, 0.0) + weight
            value += weight * self.rates(block, numbers)[0]
        keys = sorted(merged)
        return Mix(
            np.array([j for j, _ in keys], np.int64),
            np.array([i for _, i in keys], np.int64),
            np.array([merged[key] for key in keys]),
            node.multipliers,
            node.bound,
            value,
            self.scans,
        )


class Tree(Search):
    """The search for the best choice."""

    def __init__(self, p: SegmentArrays, names: list[Ints] | None = None) -> None:
        super().__init__(p)
        self.names = names  # what candidates were called before some were left out
        self.best: Ints | None = None
        self.cost = 0
        self.enough = np.inf  # a bound above this closes a node

    def offer(self, numbers: Ints, miss: float) -> bool:
        """Keep a choice if it meets the limits and is better."""
        if miss > 0:
            return False
        cost = moves.cost_of(self.p, numbers)
        if self.best is not None and cost >= self.cost:
            return False
        self.best, self.cost = numbers.copy(), cost
        self.enough = cost / self.p.unit - self.step
        return True

    def rounded(self, node: Node) -> Ints:
        """The heaviest candidate of each segment."""
        assert node.columns is not None and node.shares is not None
        out = np.zeros(self.m, np.int64)
        heavy = np.full(self.m, -1.0)
        for (block, numbers), share in zip(node.columns, node.shares, strict=True):
            for j in range(self.m) if self.p.rising else (block,):
                if share > heavy[j] or (share == heavy[j] and numbers[j] < out[j]):
                    out[j], heavy[j] = numbers[j], share
        return out

    def values(self, node: Node) -> Floats:
        weights = self.weights(self.net(node.multipliers), node.weight)
        return value_of(self.p, weights, slice(0, int(self.p.start[-1])))

    def lists(self, node: Node) -> list[Ints]:
        """The candidates of each segment that the multipliers like best."""
        value = self.values(node)
        out = []
        for j in range(self.m):
            mine = value[self.p.start[j] : self.p.start[j + 1]]
            out.append(np.sort(np.argsort(mine, kind="stable")[: moves.SHORT]))
        return out

    def kept(self, node: Node) -> Bools:
        """Candidates that a choice better than the best one may have, by the bound of the root."""
        value = self.values(node)
        out = np.ones(len(value), bool)
        for j in range(self.m):
            at = slice(int(self.p.start[j]), int(self.p.start[j + 1]))
            out[at] = node.bound + (value[at] - value[at].min()) <= self.enough
        return out

    def spread(self, node: Node) -> tuple[int, int]:
        """Which segment to cut, and after which candidate; segment -1 where the box is one choice."""
        assert node.columns is not None and node.shares is not None
        p = self.p
        best, found, cut = 0.0, -1, 0
        norm = np.zeros(len(p.cell))
        for r in range(len(p.rate)):
            norm = norm + np.abs(p.slope[r])
        for j in range(self.m):
            mine = [
                (int(numbers[j]), float(share))
                for (block, numbers), share in zip(node.columns, node.shares, strict=True)
                if share > 1e-9 and (p.rising or block == j)
            ]
            low, high = min(i for i, _ in mine), max(i for i, _ in mine)
            if low == high:
                continue
            total = place = 0.0
            for i, share in mine:
                total += share
                place += share * i
            wide = 0.0
            for c in range(len(p.cell)):
                mean = 0.0
                for i, share in mine:
                    mean += share * float(p.accepted[c, p.start[j] + i])
                mean /= total
                for i, share in mine:
                    wide += float(norm[c]) * share * abs(float(p.accepted[c, p.start[j] + i]) - mean)
            if wide > best or found < 0:
                best, found = wide, j
                cut = min(max(int(place / total), low), high - 1)
        if found < 0:
            widths = node.high - node.low
            found = int(np.argmax(widths))
            if widths[found] == 0:
                return -1, 0
            cut = int(node.low[found] + node.high[found]) // 2
        return found, cut

    def polish(self, node: Node) -> None:
        numbers, miss = self.move_one(self.p, self.rounded(node))
        if not self.offer(numbers, miss) or self.p.rising:
            return
        self.offer(*self.move_two(self.p, numbers, self.lists(node)))

    def run(self, root: Node, node_limit: int, end: float) -> Best:
        """Branch until every node is closed; `root` has been solved, and choices were offered."""
        p = self.p
        tree: list[list[int]] = [[-1, 0, -1]]
        proofs: list[Node] = [root]
        queue: list[tuple[float, int]] = []
        nodes = 1
        if not root.empty and root.bound <= self.enough:
            queue.append((root.bound, 0))
        finished = True
        while queue:
            if queue[0][0] > self.enough:
                break
            if nodes >= node_limit or time.monotonic() > end:
                finished = False
                break
            _, place = heapq.heappop(queue)
            node = proofs[place]
            segment, cut = self.spread(node)
            if segment < 0:
                tree[place][0] = -2  # one choice, which breaks a limit or is no better
                continue
            tree[place] = [segment, int(self.names[segment][cut]) if self.names else cut, len(tree)]
            for side in range(2):
                low, high = node.low.copy(), node.high.copy()
                if side == 0:
                    high[segment] = cut
                else:
                    low[segment] = cut + 1
                if p.rising:  # the others have to follow
                    high = np.minimum.accumulate(high[::-1])[::-1].copy()
                    low = np.maximum.accumulate(low)
                child = Node(low, high, node.multipliers, place=len(tree))
                tree.append([-1, 0, -1])
                proofs.append(child)
                nodes += 1
                assert node.columns is not None
                self.solve(child, node.columns, self.enough)
                if child.empty or child.bound > self.enough:
                    continue
                self.polish(child)
                if child.bound <= self.enough:
                    heapq.heappush(queue, (child.bound, child.place))
            node.columns = None
        best = np.full(self.m, -1, np.int64) if self.best is None else self.best
        value = np.inf if self.best is None else self.cost / p.unit
        bound = value if finished else min(value, queue[0][0])
        return Best(
            best,
            nodes,
            finished,
            bound,
            Leaves(
                np.array([t[0] for t in tree], np.int64),
                np.array([t[1] for t in tree], np.int64),
                np.array([t[2] for t in tree], np.int64),
                np.array([node.weight for node in proofs]),
                np.stack([node.multipliers for node in proofs]),
            ),
        )


def choose(p: SegmentArrays, node_limit: int, seconds: float = np.inf, search: type[Tree] = Tree) -> Best:
    """The cheapest choice that meets every limit, with its proof."""
    end = time.monotonic() + seconds
    first = search(p)
    root = first.whole()
    first.offer(*first.move_one(p, root.low))
    first.solve(root, [], first.enough)
    if root.empty or root.bound > first.enough:
        return first.run(root, node_limit, end)
    first.polish(root)
    if p.rising:
        return first.run(root, node_limit, end)
    if first.best is not None:
        first.offer(*first.move_two(p, first.best, first.lists(root)))
    if first.best is None or root.bound > first.enough:
        return first.run(root, node_limit, end)
    keep = first.kept(root)
    for j in range(first.m):  # the best choice stays, so that moves may begin there
        keep[int(p.start[j] + first.best[j])] = True
    names = [np.flatnonzero(keep[p.start[j] : p.start[j + 1]]) for j in range(first.m)]
    small = replace(
        p,
        start=np.concatenate([[0], np.cumsum([len(x) for x in names])]).astype(np.int64),
        accepted=np.ascontiguousarray(p.accepted[:, keep]),
        cost=p.cost[keep],
        distance=p.distance[keep],
    )
    second = search(small, names)
    at = np.array([np.searchsorted(names[j], first.best[j]) for j in range(first.m)], dtype=np.int64)
    second.offer(at, 0.0)
    again = second.whole()
    again.multipliers = root.multipliers
    seeds = [
        (block, np.array([int(np.searchsorted(names[j], numbers[j])) for j in range(first.m)], dtype=np.int64))
        for block, numbers in root.columns or []
        if keep[p.start[block] + numbers[block]]
    ]
    second.solve(again, seeds, second.enough)
    found = Best(*_run_again(second, again, node_limit, end, root))
    numbers = np.array([names[j][found.numbers[j]] for j in range(first.m)], dtype=np.int64)
    return found._replace(numbers=numbers)


def _run_again(tree: Tree, root: Node, node_limit: int, end: float, first: Node) -> Best:
    """The search over the candidates that the first root left; its multipliers are the first entry of the proof."""
    found = tree.run(root, node_limit, end)
    leaves = found.leaves
    return found._replace(
        leaves=Leaves(
            np.concatenate([[-3], leaves.segment]),
            np.concatenate([[0], leaves.candidate]),
            np.concatenate([[1], np.where(leaves.child >= 0, leaves.child + 1, -1)]),
            np.concatenate([[first.weight], leaves.weight]),
            np.concatenate([first.multipliers[None], leaves.multipliers]),
        )
    )


def mix(p: SegmentArrays) -> Mix | None:
    """The cheapest mixture that meets every limit, or None."""
    return Search(p).mix()
