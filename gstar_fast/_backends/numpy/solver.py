"""The certified optimum over all candidates: the reference, to be read next to docs/reference/problem.md.

`solve_limits` opens boxes of windows, `solve_pair` scans all pairs of two groups, `solve_penalties` (targets.py) bounds
many groups through a common target, `frontier` lists what nobody dominates. All read `interface.Arrays`; candidates are
numbered from 0 in each group, and a choice is one number a group.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gstar_fast._backends.common.choices import (
    Windows,
    allowed,
    both_gaps,
    extremes,
    limits_of,
    loss_of,
    refuse_bands,
    within,
)
from gstar_fast._backends.common.descent import alternate as alternate
from gstar_fast._backends.common.descent import newton as newton
from gstar_fast._backends.interface import Arrays, SmoothProblem, Table
from gstar_fast._backends.numpy.targets import solve_penalties as solve_penalties
from gstar_fast._base.arrays import Bools, Flags, Floats, Ints


def tabulate(rows: Ints, price_fp: int, price_fn: int) -> Table:
    """Accepted rows at every candidate worth looking at.

    `rows` is (3, K, C): for label 0, label 1 and unlabelled, the rows of each group below, in each bin, and above.
    """
    accepted = np.cumsum(rows[:, :, ::-1], axis=2)[:, :, ::-1]
    totals = accepted[:, :, 0].copy()
    cost = price_fp * accepted[0] + price_fn * (totals[1][:, None] - accepted[1])
    unified = int(np.argmin(cost.sum(axis=0)))
    # candidates that accept the same rows are alike: of each run keep the one nearest to the unified threshold
    new = np.ones(cost.shape, dtype=bool)
    new[:, 1:] = (accepted[:, :, 1:] != accepted[:, :, :-1]).any(axis=0)
    group, first = np.nonzero(new)
    last = np.append(first[1:], 0) - 1
    last[last < first] = cost.shape[1] - 1
    kept = np.clip(unified, first, last)
    start = np.concatenate([[0], np.cumsum(new.sum(axis=1))])
    return Table(start, kept, accepted[:, group, kept], cost[group, kept], totals, accepted[:, :, unified], unified)


# ---------------------------------------------------------------------------------------------- limits and frontier


class Box(NamedTuple):
    """All choices in some windows, with the best choice that these allow.

    Where rates have bands, the windows are about the smallest low end.
    """

    cost: float
    distance: int
    numbers: tuple[int, ...]
    serial: int
    windows: Windows
    total: float


def settle(p: Arrays, windows: Windows, total: float, numbers: Ints) -> bool:
    """Write each group's best admissible candidate into `numbers`; False if a group has none.

    Best is by cost, then distance, then number. On entry `numbers` holds the choice of a wider box, or -1s. A candidate
    that was best in a wider box is still best if it may stay.
    """
    stays = (numbers >= 0) & _admitted(p, windows, total, p.start[:-1] + np.maximum(numbers, 0), p.has)
    for k in np.flatnonzero(~stays):
        at = slice(p.start[k], p.start[k + 1])
        left = np.flatnonzero(_admitted(p, windows, total, at, p.has[:, k, None]))
        if len(left) == 0:
            return False
        numbers[k] = left[np.lexsort((left, p.distance[at][left], p.cost[at][left]))[0]]
    return True


def _admitted(p: Arrays, windows: Windows, total: float, at: slice | Ints, has: Flags) -> Bools:
    """Whether candidates lie in the windows of a box; `has` tells for each rate whether their groups have it."""
    lows, highs = (ends[:, at] for ends in p.bands)
    admitted, sums = np.ones(lows.shape[1], dtype=bool), np.zeros(lows.shape[1])
    for r, (after, upto, limit) in enumerate(zip(*windows, strict=True)):
        # t is no higher than any low end, so a band that is too wide by itself is never admitted
        most = np.minimum(upto, lows[r]) if p.banded else upto
        fits = (lows[r] > after) & within(most, highs[r], limit, p.ratio[r])
        admitted &= fits | (has[r] == 0)
        if r < 2:
            sums += np.where(has[r], np.maximum(highs[r] - most, 0.0), 0.0)
    admitted &= sums <= total
    return admitted


class Search:
    """Boxes of windows, opened best bound first.

    The limits may become narrower between two runs: a box in the heap that has the wider ones is settled again when it
    comes first, and until then its bound holds.
    """

    def __init__(self, p: Arrays) -> None:
        self.p, self.limit, self.total = p, p.limit, p.total
        self.heap: list[Box] = []
        self.opened = 0
        self.push(Windows.of(p), np.full(len(p.start) - 1, -1, dtype=np.int64))

    def push(self, windows: Windows, numbers: Ints) -> None:
        if settle(self.p, windows, self.total, numbers):
            at = self.p.start[:-1] + numbers
            cost, distance = sum(self.p.cost[at].tolist()), sum(self.p.distance[at].tolist())
            self.opened += 1
            heapq.heappush(self.heap, Box(cost, distance, tuple(numbers.tolist()), self.opened, windows, self.total))

    def run(self, node_limit: int, seconds: float = np.inf) -> tuple[Ints | None, bool, float]:
        """The optimum, or None; whether the search finished; a bound on the cost of all that is left."""
        end = time.monotonic() + seconds
        while self.heap:
            if self.opened > node_limit or (self.opened > 1 and time.monotonic() >= end):
                return None, False, self.heap[0].cost
            box = heapq.heappop(self.heap)
            numbers = np.array(box.numbers, dtype=np.int64)
            limit = np.minimum(box.windows.limit, limits_of(self.limit, self.total))
            if box.total > self.total or (limit < box.windows.limit).any():
                self.push(box.windows._replace(limit=limit), numbers)
                continue
            parts = box.windows.split(self.p, self.total, numbers)
            if not parts:
                heapq.heappush(self.heap, box)
                return numbers, True, box.cost
            for part in parts:
                self.push(part, numbers.copy())
        return None, True, 0


def solve_limits(p: Arrays, node_limit: int, seconds: float = np.inf) -> tuple[Ints, int, bool, float]:
    """The cheapest choice that meets every limit; boxes opened; whether the search finished; a bound on the cost."""
    search = Search(p)
    numbers, finished, bound = search.run(node_limit, seconds)
    if numbers is None:
        numbers = np.full(len(p.start) - 1, -1, dtype=np.int64)
    return numbers, search.opened, finished, bound


def frontier(p: Arrays, swept: Flags, node_limit: int, added: bool = False) -> tuple[Ints, Floats, float]:
    """Every choice nobody dominates in (cost, gap), from the smallest gap to the least cost.

    The gap is the largest difference over the swept rates, from the lowest low end to the highest high end where they
    have bands; with `added`, the sum of the differences of the first two. Returns the choices (n, K), their gaps, and
    the gap down to which the list is proven complete (0 unless the node limit was reached).
    """
    search = Search(p)
    points: list[tuple[float, float, Ints]] = []
    proven_to = 0.0
    while True:
        numbers, finished, cost = search.run(node_limit)
        if numbers is None:
            if not finished:
                proven_to = points[-1][1] if points else 1.0 + added
            break
        gap = gap_of(p, swept, added, numbers)
        if points and points[-1][0] == cost:  # as cheap and fairer: the last point was dominated
            points.pop()
        points.append((cost, gap, numbers))
        if gap <= 0:
            break
        below = float(np.nextafter(gap, -1.0))
        if added:
            search.total = min(search.total, below)
        else:
            search.limit = np.where(swept, np.minimum(search.limit, below), search.limit)
    points.reverse()
    choices = np.array([numbers for _, _, numbers in points], dtype=np.int64).reshape(-1, len(p.start) - 1)
    return choices, np.array([gap for _, gap, _ in points]), proven_to


def gap_of(p: Arrays, swept: Flags, added: bool, numbers: Ints) -> float:
    """The gap of a choice that a frontier is about."""
    if added:
        one, two = both_gaps(p, numbers)
        return float(one + two)
    ends = [extremes(p, int(r), numbers) for r in np.flatnonzero(swept)]
    return max(float(high - low) for low, high in ends)


# ------------------------------------------------------------------------------------------------------- two groups


def solve_pair(p: Arrays) -> tuple[Ints, float, int]:
    """The least loss over all pairs of two groups' candidates; row by row, cheapest rows first.

    A pair whose error alone costs more than the best pair is left out.
    """
    refuse_bands(p)
    n_first = int(p.start[1])
    second = np.argsort(p.cost[n_first:], kind="stable")
    costs = p.cost[n_first:][second]
    best: tuple[float, int, int, int] = (np.inf, 0, -1, -1)
    rows = 0
    for first in np.argsort(p.cost[:n_first], kind="stable"):
        error = (p.cost[first] + costs) / p.unit
        near = second[: np.searchsorted(error * error, best[0], side="right")]
        if len(near) == 0:
            break
        rows += 1
        loss = np.where(allowed(p, (first, near)), loss_of(p, (first, near)), np.inf)
        for i in np.flatnonzero(loss == loss.min()):
            j = int(near[i])
            key = (loss[i], int(p.distance[first] + p.distance[n_first + j]), int(first), j)
            if np.isfinite(key[0]):
                best = min(best, key)
    return np.array(best[2:], dtype=np.int64), float(best[0]), rows


def sweep(
    p: SmoothProblem, grid: Arrays, edges: Floats, penalties: Floats, tolerance: float
) -> tuple[Floats, Floats, int, int]:
    """Many penalties, light ones first, on the same densities of two groups.

    Newton follows the valleys met so far; the best pair of edges may show another. Returns thresholds (n, 2), losses,
    Newton steps and restarts.
    """
    thresholds, losses, steps, restarts = np.empty((len(penalties), 2)), np.empty(len(penalties)), 0, 0
    tracks: list[Floats] = []
    for i, penalty in enumerate(penalties):
        here = p._replace(penalty=penalty)
        best, at = np.inf, np.zeros(2)
        for j, track in enumerate(tracks):
            tracks[j], loss, taken, _, _ = newton(here, track, True, False, 100, tolerance, False)
            steps += taken
            if loss < best:
                best, at = loss, tracks[j]
        numbers, on_grid, _ = solve_pair(replace(grid, penalty=penalty))
        if on_grid < best * (1 - 1e-12):
            restarts += 1
            start = np.clip(edges[numbers], p.low, p.high)
            found, loss, taken, _, _ = newton(here, start, True, False, 100, tolerance, False)
            steps += taken
            if loss < best:
                best, at = loss, found
                tracks = [*tracks[-7:], found]
        thresholds[i], losses[i] = at, best
    return thresholds, losses, steps, restarts
