"""The least loss with penalties for any number of groups, with a proven bound (docs/reference/problem.md)."""

from __future__ import annotations

import heapq
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gstar_fast._backends.common.choices import Windows, allowed, entries, loss_of, refuse_bands, within
from gstar_fast._backends.interface import Arrays
from gstar_fast._base.arrays import Floats, Ints, Values

FEW = 50_000  # choices that are tried one by one from the start
SMALL = 512  # choices of a node that are tried rather than split further
PRICES = 30_000  # rates of candidates in a node that counts as one; larger ones count as several


class Node(NamedTuple):
    """Choices with targets in [low, high], some windows, and candidates first <= number < last."""

    bound: float
    serial: int
    low: Floats
    high: Floats
    windows: Windows
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


class Candidates(NamedTuple):
    """The candidates of a node, groups end to end."""

    group: Ints
    first: Ints  # (K,) where each group begins
    gap: Floats  # prices, the error aside; inf where a limit window shuts one out
    share: Floats  # of the error


def running_sum(values: Floats) -> float:
    """The sum from left to right, as a loop would add."""
    return float(np.add.accumulate(values)[-1]) if len(values) else 0.0


def away(x: Floats, lean: Floats, low: float, high: float) -> Floats:
    """The least over targets t in a box of (x - t)^2 + 2 lean (t - middle): what a rate costs a group that leans so.

    Differences from the middle are taken first, so that rounding is small where the box and the lean are.
    """
    middle = low + (high - low) / 2
    moved = (x - middle) - lean
    below, above = moved < low - middle, moved > high - middle
    distance = np.where(below, x - low, np.where(above, x - high, lean))
    shift = np.where(below, low - middle, np.where(above, high - middle, moved))
    paid: Floats = distance * distance + 2 * lean * shift
    return paid


def price(p: Arrays, entry: Ints, group: Ints, weight: Floats, leans: Floats, node: Node) -> Floats:
    """Prices of candidates, the error aside; inf where a limit window shuts one out."""
    value = np.zeros(len(entry))
    for r in range(len(weight)):
        has = p.has[r].astype(bool)[group]
        x = p.rates[r, entry]
        if weight[r] > 0:
            low, high = float(node.low[r]), float(node.high[r])
            value = np.where(has, value + weight[r] * away(x, leans[r, group], low, high), value)
        after, upto, limit = (each[r] for each in node.windows)
        if limit < np.inf or p.ratio[r] >= 0:
            open_ = (x > after) & within(upto, x, limit, p.ratio[r])
            value[has & ~open_] = np.inf
    return value


def cheapest(c: Candidates, nu: float) -> Ints:
    """Where in the list each group's first cheapest candidate at nu stands."""
    value = c.gap + nu * c.share
    least = np.minimum.reduceat(value, c.first)
    found = np.flatnonzero(value == least[c.group])
    return found[np.searchsorted(c.group[found], np.arange(len(c.first)))]


MARGIN = 1e-12  # how far the two losses below may be from `loss_of`, as a share


def about(p: Arrays, grid: list[Ints]) -> Floats:
    """The losses of many choices, an array of numbers for each group; inf where a limit forbids one.

    The squared differences over pairs are the number of groups times the squared distances to the mean. That is
    `loss_of` but for rounding, and spares it all choices that are not within MARGIN of the best.
    """
    at = entries(p, grid)
    error = p.cost[at].sum(axis=0) / p.unit
    loss = error * error
    for r in np.flatnonzero(p.penalty > 0):
        x = p.rates[r, at[p.has[r] > 0]]
        if len(x) > 1:
            loss = loss + p.penalty[r] * (((x - x.mean(axis=0)) ** 2).sum(axis=0) * 2 / (len(x) - 1))
    return np.where(allowed(p, grid), loss, np.inf)


class Neighbours:
    """`about` for every choice that differs in one group, a few operations each (csrc/gstar/solve/neighbours.hpp)."""

    def __init__(self, p: Arrays, numbers: Sequence[int] | Ints, group: int) -> None:
        """Sum up all groups of a choice but one."""
        self.p, self.group = p, group
        entries = p.start[:-1] + np.asarray(numbers)
        rest = np.arange(len(entries)) != group
        cost = p.cost[entries[rest]]
        self.cost = int(cost.sum()) if cost.dtype.kind == "i" else running_sum(cost)
        self.rates = [p.rates[r, entries[rest & p.has[r].astype(bool)]] for r in range(len(p.limit))]

    def losses(self, numbers: int | Ints) -> Floats:
        """The losses if the group left out takes these candidates; inf where a limit forbids one."""
        p = self.p
        at = p.start[self.group] + numbers
        error = (self.cost + p.cost[at]) / p.unit
        loss: Floats = error * error
        total: Values | float = 0.0
        for r, others in enumerate(self.rates):
            members = float(len(others))
            mean = running_sum(others) / members if members > 0 else 0.0
            spread: Values | float = running_sum((others - mean) * (others - mean))
            low, high = others.min(initial=np.inf), others.max(initial=-np.inf)
            if p.has[r, self.group]:
                x = p.rates[r, at]
                spread = spread + (x - mean) * (x - mean) * (members / (members + 1))
                members += 1
                low, high = np.minimum(low, x), np.maximum(high, x)
            if members < 2:
                continue
            if r < 2:
                total = total + (high - low)
            if p.penalty[r] > 0:
                loss = loss + p.penalty[r] * (spread * 2 / (members - 1))
            if p.limit[r] < np.inf or p.ratio[r] >= 0:
                loss = np.where(within(low, high, p.limit[r], p.ratio[r]), loss, np.inf)
        return np.where(total <= p.total, loss, np.inf)


class Targets:
    """Branch and bound; one object for one problem, with the steps of csrc/gstar/solve/exact_targets.hpp in order."""

    def __init__(self, p: Arrays) -> None:
        self.p = p
        self.n_groups = len(p.start) - 1
        members = p.has.sum(axis=1)
        self.weight = np.array([2 * w / (m - 1) if m > 1 else 0.0 for w, m in zip(p.penalty, members, strict=True)])
        self.best: tuple[float, int, tuple[int, ...]] = (np.inf, 0, ())
        self.leans = np.zeros((len(p.limit), self.n_groups))
        self.rounding = np.zeros(len(p.limit))
        self.leaned: tuple[int, ...] = ()  # the choice that gave the leans
        self.heap: list[Node] = []
        self.serial = 0

    def lean(self) -> None:
        """Let each group lean as far as its rate is from the mean in the best choice.

        The leans of a rate add up to zero, so all groups together pay nothing for moving the target: any leans give a
        bound, and these make it the loss itself at the best choice. What rounding can add is kept for `relax` to
        subtract.
        """
        if self.leaned == self.best[2]:
            return
        self.leaned = self.best[2]
        entries = self.p.start[:-1] + np.array(self.leaned)
        for r in np.flatnonzero(self.weight > 0):
            has = np.flatnonzero(self.p.has[r])
            x = self.p.rates[r, entries[has]]
            lean = x - running_sum(x) / len(x)
            lean[-1] = -running_sum(lean[:-1])
            self.leans[r, has] = lean
            self.rounding[r] = 4.5e-16 * self.weight[r] * len(x) * running_sum(np.abs(lean))

    def candidates(self, node: Node) -> Candidates | None:
        """A node's candidates, priced; None if a group has none left."""
        p = self.p
        size = node.last - node.first
        first = np.cumsum(size) - size
        group = np.repeat(np.arange(self.n_groups), size)
        entry = np.arange(len(group)) + np.repeat(p.start[:-1] + node.first - first, size)
        gap = price(p, entry, group, self.weight, self.leans, node)
        if not (np.minimum.reduceat(gap, first) < np.inf).all():
            return None
        return Candidates(group, first, gap, p.cost[entry] / p.unit)

    def bounded(self, node: Node) -> tuple[Candidates, Relaxed] | None:
        """A node's candidates and their relaxation; None if they cannot hold a better choice."""
        c = self.candidates(node)
        if c is None:
            return None
        relaxed = self.relax(node, c)
        return None if relaxed.bound > self.cutoff() else (c, relaxed)

    def relax(self, node: Node, c: Candidates) -> Relaxed:
        """Maximise over nu the sum of each group's cheapest candidate."""
        rounding = running_sum(self.rounding * (node.high - node.low))
        best: Relaxed | None = None
        nu = node.nu
        below: tuple[float, float, Ints] | None = None  # (E, gap, choice) at a nu that is too small
        above: tuple[float, float, Ints] | None = None  # and at one that is too large
        for _ in range(6):
            at = cheapest(c, nu)
            numbers = node.first + at - c.first
            gaps, shares = c.gap[at], c.share[at]
            error, gap = running_sum(shares), running_sum(gaps)
            bound = running_sum(gaps + nu * shares) - nu * nu / 4 - rounding
            if best is None or bound > best.bound:
                best = Relaxed(bound, nu, numbers, numbers)
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

    def key(self, numbers: Sequence[int] | Ints) -> tuple[float, int, tuple[int, ...]]:
        chosen = np.array(numbers, dtype=np.int64)
        distance = int(self.p.distance[self.p.start[:-1] + chosen].sum())
        return float(loss_of(self.p, chosen)), distance, tuple(chosen.tolist())

    def promising(self, numbers: Sequence[int] | Ints) -> bool:
        """Whether a choice may be better than the best, as far as its neighbourhood tells."""
        loss = float(Neighbours(self.p, numbers, 0).losses(numbers[0]))
        return loss < np.inf and loss <= self.best[0] * (1 + MARGIN)

    def offer(self, numbers: Sequence[int] | Ints) -> None:
        """Descend from an allowed choice, one group at a time, and keep the result if it is the best so far."""
        current = self.key(numbers)
        for _ in range(20):
            before = current
            for k in range(self.n_groups):
                loss = Neighbours(self.p, current[2], k).losses(np.arange(self.p.start[k + 1] - self.p.start[k]))
                trial = list(current[2])
                for i in np.flatnonzero((loss < np.inf) & (loss <= loss.min() * (1 + MARGIN))):
                    if i != current[2][k]:
                        trial[k] = int(i)
                        current = min(current, self.key(trial))
            if current == before:
                break
        self.best = min(self.best, current)

    def cutoff(self) -> float:
        """Bounds above this cannot hold a better choice; the margin covers rounding in the bound."""
        return float(self.best[0] * (1 + 1e-13) + 1e-18)

    def push(self, node: Node) -> None:
        found = self.bounded(node)
        if found is None:
            return
        c, relaxed = found
        if self.promising(relaxed.numbers) and self.key(relaxed.numbers) < self.best:
            self.offer(relaxed.numbers)
        value = c.gap + relaxed.nu * c.share
        others = relaxed.bound - value[c.first + relaxed.numbers - node.first]
        # drop candidates too dear even with the others at their cheapest
        kept = np.flatnonzero(others[c.group] + value <= self.cutoff())
        count = np.bincount(c.group[kept], minlength=self.n_groups)
        if not count.all():
            return
        end = np.cumsum(count)
        first = node.first + kept[end - count] - c.first
        last = node.first + kept[end - 1] - c.first + 1
        bound = max(node.bound, relaxed.bound)
        self.serial += 1
        heapq.heappush(self.heap, node._replace(bound=bound, serial=self.serial, first=first, last=last, nu=relaxed.nu))

    def enumerate(self, node: Node) -> None:
        """Try every choice of a small node."""
        sizes = (node.last - node.first).tolist()
        grid, left = [], np.arange(int(np.prod(sizes)))
        for size, first in zip(reversed(sizes), reversed(node.first.tolist()), strict=True):
            grid.append(left % size + first)
            left = left // size
        grid.reverse()
        loss = about(self.p, grid)
        near = np.flatnonzero((loss < np.inf) & (loss <= min(loss.min(), self.best[0]) * (1 + MARGIN)))
        for i in near:
            self.best = min(self.best, self.key([numbers[i] for numbers in grid]))

    def open(self, node: Node) -> None:
        """Split a node where its relaxation is furthest from the truth."""
        p = self.p
        if choices(node) <= SMALL:
            self.enumerate(node)
            return
        if self.best[2]:
            self.lean()
        found = self.bounded(node)
        if found is None:
            return
        relaxed = found[1]
        numbers = relaxed.numbers
        parts = node.windows.split(p, p.total, numbers)
        if parts:  # a broken limit: as in the search for limits
            for part in parts:
                self.push(node._replace(windows=part))
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
        error = running_sum(p.cost[p.start[:-1] + relaxed.numbers] / p.unit)
        slack = (error - relaxed.nu / 2) * (error - relaxed.nu / 2)
        found = None
        for r in range(len(self.weight)):
            low, high = float(node.low[r]), float(node.high[r])
            # a box this narrow hides next to nothing: splitting candidates gets further
            if not self.weight[r] * (high - low) * (high - low) > 1e-11 * self.best[0]:
                continue
            has = np.flatnonzero(p.has[r])
            x = p.rates[r, p.start[has] + relaxed.numbers[has]]
            mean = running_sum(x) / len(x)
            true = running_sum((x - mean) * (x - mean))
            seen = running_sum(away(x, self.leans[r, has], low, high))
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


def solve_penalties(p: Arrays, guess: Ints, node_limit: int, seconds: float = np.inf) -> tuple[Ints, float, float, int]:
    """The least loss: choice, loss, proven lower bound, nodes opened; -1s if the limits forbid every choice.

    `guess` is an allowed choice to begin with, or -1s. A node with many candidates counts as several towards
    `node_limit`, so that the limit bounds the work.
    """
    refuse_bands(p)
    end = time.monotonic() + seconds
    search = Targets(p)
    n_rates = len(p.limit)
    if guess[0] >= 0:
        search.offer([int(i) for i in guess])
    root = Node(
        bound=0.0,
        serial=0,
        low=np.zeros(n_rates),
        high=np.ones(n_rates),
        windows=Windows.of(p),
        first=np.zeros(search.n_groups, dtype=np.int64),
        last=np.diff(p.start),
        nu=2 * float(np.sqrt(search.best[0])) if search.best[0] < np.inf else 1.0,
    )
    if choices(root) <= FEW:
        search.enumerate(root)
    else:
        if search.best[2]:
            search.lean()
        search.push(root)
    opened = spent = 0
    while search.heap and search.heap[0].bound <= search.cutoff() and spent < node_limit and time.monotonic() < end:
        opened += 1
        node = heapq.heappop(search.heap)
        spent += 1 + int((node.last - node.first).sum()) * n_rates // PRICES
        search.open(node)
    loss = float(search.best[0])
    bound = min(loss, search.heap[0].bound) if search.heap else loss
    numbers = search.best[2] if search.best[2] else (-1,) * search.n_groups
    return np.array(numbers, dtype=np.int64), loss, bound, opened
