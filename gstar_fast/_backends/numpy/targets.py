"""The least loss with penalties for any number of groups, with a proven bound (docs/guide/solver.md, "more groups")."""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gstar_fast._backends._search import Arrays, Floats, Ints
from gstar_fast._backends.numpy.choices import allowed, cut_of, limited, loss_of, within

FEW = 50_000  # choices that are tried one by one from the start
SMALL = 512  # choices of a node that are tried rather than split further


class Node(NamedTuple):
    """Choices with targets in [low, high], limit windows (after, upto] and candidates first <= number < last."""

    bound: float
    serial: int
    low: Floats
    high: Floats
    after: Floats
    upto: Floats
    first: Ints
    last: Ints
    nu: float


def choices(node: Node) -> float:
    """How many choices a node has."""
    return float(np.prod((node.last - node.first).astype(np.float64)))


class Relaxed(NamedTuple):
    """The best lower bound found for a node, the nu and choice that give it, and a choice from the other side of nu."""

    bound: float
    nu: float
    numbers: Ints
    other: Ints
    values: list[Floats]  # each group's candidates, priced at nu


def price(
    p: Arrays, k: int, first: int, last: int, weight: Floats, low: Floats, high: Floats, after: Floats, upto: Floats
) -> Floats:
    """Weighted squared distances of a group's candidates to the target box; inf where a limit window shuts one out."""
    at = slice(p.start[k] + first, p.start[k] + last)
    value = np.zeros(last - first)
    for r in range(len(weight)):
        if not p.has[r, k]:
            continue
        x = p.rates[r, at]
        if weight[r] > 0:
            short = np.maximum(np.maximum(low[r] - x, x - high[r]), 0.0)
            value = value + weight[r] * (short * short)
        if p.limit[r] < np.inf or p.ratio[r] >= 0:
            value[~((x > after[r]) & within(upto[r], x, p.limit[r], p.ratio[r]))] = np.inf
    return value


def cheapest(gap: Floats, cost: NDArray[Any], unit: float, nu: float) -> tuple[Floats, int]:
    """Candidates priced at nu, and the first cheapest."""
    value = gap + nu * (cost / unit)
    return value, int(np.argmin(value))


class Targets:
    """Branch and bound; one object for one problem. The order of operations is that of csrc/gstar/exact_targets.hpp."""

    price = staticmethod(price)
    cheapest = staticmethod(cheapest)

    def __init__(self, p: Arrays) -> None:
        self.p = p
        self.n_groups = len(p.start) - 1
        members = p.has.sum(axis=1)
        self.weight = np.array([2 * w / (m - 1) if m > 1 else 0.0 for w, m in zip(p.penalty, members, strict=True)])
        self.limited = limited(p)
        self.best: tuple[Any, ...] = (np.inf, 0, ())
        self.heap: list[Node] = []
        self.serial = 0

    def relax(self, node: Node) -> Relaxed | None:
        """Maximise over nu the sum of each group's cheapest candidate; None if a group has none."""
        p = self.p
        gaps = []
        for k in range(self.n_groups):
            box = (node.low, node.high, node.after, node.upto)
            gaps.append(self.price(p, k, int(node.first[k]), int(node.last[k]), self.weight, *box))
            if not gaps[k].min() < np.inf:
                return None
        best: Relaxed | None = None
        nu = node.nu
        below: tuple[float, float, Ints] | None = None  # (E, gap, choice) at a nu that is too small
        above: tuple[float, float, Ints] | None = None  # and at one that is too large
        for _ in range(6):
            values, numbers = [], np.empty(self.n_groups, dtype=np.int64)
            total = error = gap = 0.0
            for k in range(self.n_groups):
                at = p.start[k] + node.first[k]
                value, i = self.cheapest(gaps[k], p.cost[at : p.start[k] + node.last[k]], p.unit, nu)
                values.append(value)
                numbers[k] = node.first[k] + i
                total = total + float(value[i])
                error = error + float(p.cost[at + i] / p.unit)
                gap = gap + float(gaps[k][i])
            bound = total - nu * nu / 4
            if best is None or bound > best.bound:
                best = Relaxed(bound, nu, numbers, numbers, values)
            if error > nu / 2:
                below = (error, gap, numbers)
            else:
                above = (error, gap, numbers)
            if below is None or above is None:
                following = 2 * error
            elif below[0] <= above[0]:
                break
            else:
                crossing = (above[1] - below[1]) / (below[0] - above[0])
                following = min(max(crossing, 2 * above[0]), 2 * below[0])
            if following == nu:
                break
            nu = following
        assert best is not None
        for side in (below, above):
            if side is not None and not np.array_equal(side[2], best.numbers):
                best = best._replace(other=side[2])
        return best

    def key(self, numbers: Any) -> tuple[float, int, tuple[int, ...]]:
        distance = sum(int(self.p.distance[self.p.start[k] + i]) for k, i in enumerate(numbers))
        return float(loss_of(self.p, numbers)), distance, tuple(int(i) for i in numbers)

    def offer(self, numbers: Any) -> None:
        """Descend from an allowed choice, one group at a time, and keep the result if it is the best so far."""
        current = self.key(numbers)
        for _ in range(20):
            before = current
            for k in range(self.n_groups):
                trial: list[Any] = list(current[2])
                trial[k] = np.arange(self.p.start[k + 1] - self.p.start[k])
                loss = np.where(allowed(self.p, trial), loss_of(self.p, trial), np.inf)
                for i in np.flatnonzero(loss == loss.min()):
                    trial[k] = int(i)
                    current = min(current, self.key(trial))
            if current == before:
                break
        self.best = min(self.best, current)

    def cutoff(self) -> float:
        """Bounds above this cannot hold a better choice; the margin covers rounding in the bound."""
        return float(self.best[0] * (1 + 1e-13) + 1e-18)

    def push(self, node: Node) -> None:
        relaxed = self.relax(node)
        if relaxed is None or relaxed.bound > self.cutoff():
            return
        if allowed(self.p, relaxed.numbers) and self.key(relaxed.numbers) < self.best:
            self.offer(relaxed.numbers)
        first, last = node.first.copy(), node.last.copy()
        for k, value in enumerate(relaxed.values):  # drop candidates too dear even with the others at their cheapest
            others = relaxed.bound - float(value[relaxed.numbers[k] - node.first[k]])
            kept = np.flatnonzero(others + value <= self.cutoff())
            if len(kept) == 0:
                return
            first[k], last[k] = node.first[k] + kept[0], node.first[k] + kept[-1] + 1
        self.serial += 1
        heapq.heappush(
            self.heap, node._replace(bound=relaxed.bound, serial=self.serial, first=first, last=last, nu=relaxed.nu)
        )

    def enumerate(self, node: Node) -> None:
        """Try every choice of a small node."""
        sizes = (node.last - node.first).tolist()
        grid, left = [], np.arange(int(np.prod(sizes)))
        for size, first in zip(reversed(sizes), reversed(node.first.tolist()), strict=True):
            grid.append(left % size + first)
            left = left // size
        grid.reverse()
        loss = np.where(allowed(self.p, grid), loss_of(self.p, grid), np.inf)
        if loss.min() < np.inf:
            ties = np.flatnonzero(loss == loss.min())
            self.best = min(self.best, *(self.key([numbers[i] for numbers in grid]) for i in ties))

    def open(self, node: Node) -> None:
        """Split a node where its relaxation is furthest from the truth."""
        p = self.p
        if choices(node) <= SMALL:
            self.enumerate(node)
            return
        relaxed = self.relax(node)
        if relaxed is None:
            return
        numbers = relaxed.numbers
        cut = cut_of(p, p.limit, numbers) if self.limited else None
        if cut is not None:  # a broken limit: cut its window, as in the search for limits
            rate, at = cut
            upto, after = node.upto.copy(), node.after.copy()
            upto[rate], after[rate] = min(upto[rate], at), max(after[rate], at)
            self.push(node._replace(upto=upto))
            self.push(node._replace(after=after))
            return
        split = self.widest_target(node, relaxed)
        if split is not None:  # a target box too wide: the penalty it sees is far below the true one
            rate, at = split
            below, above = node.high.copy(), node.low.copy()
            below[rate] = above[rate] = at
            self.push(node._replace(high=below))
            self.push(node._replace(low=above))
            return
        k, middle = self.most_apart(node, relaxed)
        last, first = node.last.copy(), node.first.copy()
        last[k] = first[k] = middle + 1
        self.push(node._replace(last=last))
        self.push(node._replace(first=first))

    def widest_target(self, node: Node, relaxed: Relaxed) -> tuple[int, float] | None:
        """The rate whose penalty is most underrated, if by more than the error term, and where to cut its box."""
        p = self.p
        error = 0.0
        for k, i in enumerate(relaxed.numbers):
            error = error + float(p.cost[p.start[k] + i] / p.unit)
        slack = (error - relaxed.nu / 2) * (error - relaxed.nu / 2)
        found = None
        for r in range(len(self.weight)):
            low, high = float(node.low[r]), float(node.high[r])
            # a box this narrow hides next to nothing: splitting candidates gets further
            if not self.weight[r] * (high - low) * (high - low) > 1e-11 * self.best[0]:
                continue
            rates = [float(p.rates[r, p.start[k] + i]) for k, i in enumerate(relaxed.numbers) if p.has[r, k]]
            mean = 0.0
            for x in rates:
                mean = mean + x
            mean = mean / len(rates)
            true = seen = 0.0
            for x in rates:
                short = max(low - x, x - high, 0.0)
                true, seen = true + (x - mean) * (x - mean), seen + short * short
            if self.weight[r] * (true - seen) > slack:
                slack = float(self.weight[r] * (true - seen))
                margin = 0.1 * (high - low)
                found = (r, mean if low + margin < mean < high - margin else low + (high - low) / 2)
        return found

    def most_apart(self, node: Node, relaxed: Relaxed) -> tuple[int, int]:
        """The group to split, and the last number of its lower half."""
        p = self.p
        k, apart, middle = -1, 0.0, 0
        for a in range(self.n_groups):
            i, j = int(relaxed.numbers[a]), int(relaxed.other[a])
            difference = abs(float(p.cost[p.start[a] + i]) - float(p.cost[p.start[a] + j]))
            if i != j and (k < 0 or difference > apart):
                k, apart, middle = a, difference, (i + j) // 2
        if k < 0:
            k = int(np.argmax(node.last - node.first))
            chosen = int(relaxed.numbers[k])
            middle = chosen if chosen < node.last[k] - 1 else chosen - 1
        return k, middle


def solve_penalties(
    p: Arrays, guess: Ints, node_limit: int, targets: type[Targets] = Targets
) -> tuple[Ints, float, float, int]:
    """The least loss: choice, loss, proven lower bound, nodes opened; -1s if the limits forbid every choice.

    `guess` is an allowed choice to begin with, or -1s.
    """
    search = targets(p)
    n_rates = len(p.limit)
    if guess[0] >= 0:
        search.offer([int(i) for i in guess])
    root = Node(
        bound=0.0,
        serial=0,
        low=np.zeros(n_rates),
        high=np.ones(n_rates),
        after=np.full(n_rates, -np.inf),
        upto=np.full(n_rates, np.inf),
        first=np.zeros(search.n_groups, dtype=np.int64),
        last=np.diff(p.start),
        nu=2 * float(np.sqrt(search.best[0])) if search.best[0] < np.inf else 1.0,
    )
    if choices(root) <= FEW:
        search.enumerate(root)
    else:
        search.push(root)
    opened = 0
    while search.heap and search.heap[0].bound <= search.cutoff() and opened < node_limit:
        opened += 1
        search.open(heapq.heappop(search.heap))
    loss = float(search.best[0])
    bound = min(loss, search.heap[0].bound) if search.heap else loss
    numbers = search.best[2] if search.best[2] else (-1,) * search.n_groups
    return np.array(numbers, dtype=np.int64), loss, bound, opened
