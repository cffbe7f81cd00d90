"""The searches compiled by Numba: the reference's boxes and nodes, with the loops over candidates compiled.

See numpy/solver.py for what each function answers; the answers are the same to the last bit.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from gstar_fast._backends.common.choices import refuse_bands
from gstar_fast._backends.common.descent import alternate, newton
from gstar_fast._backends.common.descent import sweep as reference_sweep
from gstar_fast._backends.interface import Arrays, Floats, Ints, SmoothProblem
from gstar_fast._backends.numpy import solver as reference
from gstar_fast._backends.numpy import targets as reference_targets
from gstar_fast._backends.numpy.solver import tabulate
from gstar_fast._base.arrays import Flags, Values

__all__ = [
    "alternate",
    "frontier",
    "newton",
    "solve_limits",
    "solve_pair",
    "solve_penalties",
    "sweep",
    "tabulate",
]

compiled = njit(cache=True, nogil=True, error_model="numpy")


@compiled
def _within(low: float, high: float, limit: float, ratio: float) -> bool:
    return high - low <= limit and (ratio < 0 or high <= 0 or low / high >= ratio)


@compiled
def _settle(
    start: Ints,
    cost: Values,
    distance: Ints,
    low: Floats,
    high: Floats | None,  # None: `low` itself; Numba then compiles the code without bands
    has: Flags,
    limit: Floats,
    total: float,
    ratio: Floats,
    after: Floats,
    upto: Floats,
    numbers: Ints,
) -> bool:
    for k in range(len(numbers)):
        found = -1
        # a choice that was best among more candidates is still best, if it may stay
        one, last = start[k], start[k + 1]
        if numbers[k] >= 0:
            last = one + numbers[k] + 1
            one += numbers[k]
        for _ in range(2):
            for i in range(one, last):
                worse = found >= 0 and cost[i] >= cost[found]
                if worse and (cost[i] > cost[found] or distance[i] >= distance[found]):
                    continue
                fits, sums = True, 0.0
                for r in range(len(limit)):
                    if not has[r, k]:
                        continue
                    end = low[r, i]
                    most = upto[r]
                    if high is not None:
                        end = high[r, i]
                        most = min(most, low[r, i])
                        # t is no higher than any low end, so a band that is too wide by itself is never admitted
                        fits = _within(low[r, i], end, limit[r], ratio[r])
                    if not (fits and low[r, i] > after[r] and _within(upto[r], end, limit[r], ratio[r])):
                        fits = False
                        break
                    if r < 2:
                        sums += max(end - most, 0.0)
                if fits and sums <= total:
                    found = i
            if found >= 0 or numbers[k] < 0:
                break
            one, last = start[k], start[k + 1]
        if found < 0:
            return False
        numbers[k] = found - start[k]
    return True


def settle(p: Arrays, limit: Floats, total: float, after: Floats, upto: Floats, numbers: Ints) -> bool:
    low, high = p.bands
    ends = high if p.banded else None
    return bool(_settle(p.start, p.cost, p.distance, low, ends, p.has, limit, total, p.ratio, after, upto, numbers))


class Windows(reference.Windows):
    settle = staticmethod(settle)


def solve_limits(p: Arrays, node_limit: int, seconds: float = np.inf) -> tuple[Ints, int, bool, float]:
    """The cheapest choice that meets every limit; boxes opened; whether the search finished; a bound on the cost."""
    return reference.solve_limits(p, node_limit, seconds, Windows)


def frontier(p: Arrays, swept: Flags, node_limit: int, added: bool = False) -> tuple[Ints, Floats, float]:
    """Every choice nobody dominates in (cost, gap), from the smallest gap to the least cost."""
    if len(p.start) != 3:
        return reference.frontier(p, swept, node_limit, added, Windows)
    both = p.has.all(axis=1)
    low, high = (ends[both] for ends in p.bands)
    sums = int(p.has[:2].all(axis=1).sum())  # rates that `total` and `added` are about
    gaps, steps = _pair_frontier(
        *(int(p.start[1]), p.cost, p.distance, low, high, p.limit[both], p.ratio[both], swept[both]),
        *(sums, p.total, added),
    )
    return steps, gaps, 0.0


@compiled
def _pair_frontier(
    n: int,
    cost: Values,
    distance: Ints,
    low: Floats,
    high: Floats,
    limit: Floats,
    ratio: Floats,
    swept: Flags,
    sums: int,
    most_sum: float,
    added: bool,
) -> tuple[Floats, Ints]:
    total, block, n_rates = len(cost), 32, len(low)
    n_blocks = (total - n + block - 1) // block
    least = np.empty(n_blocks, cost.dtype)
    most, least_high = np.empty((n_rates, n_blocks)), np.empty((n_rates, n_blocks))  # greatest low end, least high end
    for b in range(n_blocks):
        at, end = n + b * block, min(total, n + (b + 1) * block)
        least[b] = cost[at:end].min()
        for r in range(n_rates):
            most[r, b], least_high[r, b] = low[r, at:end].max(), high[r, at:end].min()
    # the stairs: gaps rise, costs fall; room for one more is made as needed
    size, room = 0, 64
    gaps, costs, steps = np.empty(room), np.empty(room, cost.dtype), np.empty((room, 3), np.int64)
    for i in range(n):
        for b in range(n_blocks):
            bound = 0.0
            for r in range(n_rates):
                if swept[r]:
                    least_gap = max(least_high[r, b], high[r, i]) - min(most[r, b], low[r, i])
                    if added and r < sums:
                        bound += max(least_gap, 0.0)
                    elif not added:
                        bound = max(bound, least_gap)
            place = np.searchsorted(gaps[:size], bound, side="right") - 1
            if place >= 0 and costs[place] < cost[i] + least[b]:
                continue
            for j in range(n + b * block, min(total, n + (b + 1) * block)):
                gap, both_gaps, fits = 0.0, 0.0, True
                for r in range(n_rates):
                    small, large = min(low[r, i], low[r, j]), max(high[r, i], high[r, j])
                    if not _within(small, large, limit[r], ratio[r]):
                        fits = False
                    if r < sums:
                        both_gaps += large - small
                    if swept[r]:
                        gap = max(gap, large - small)
                if added:
                    gap = both_gaps
                if not fits or both_gaps > most_sum:
                    continue
                both, far = cost[i] + cost[j], distance[i] + distance[j]
                place = np.searchsorted(gaps[:size], gap, side="right") - 1
                if place >= 0:
                    if both > costs[place] or (both == costs[place] and gaps[place] < gap):
                        continue
                    if both == costs[place] and far >= steps[place, 0]:
                        continue  # pairs come in order of their numbers: the first of equals stays
                first = np.searchsorted(gaps[:size], gap, side="left")
                last = first
                while last < size and costs[last] >= both:
                    last += 1
                if size + 1 > room:
                    room *= 2
                    more = np.empty(room)
                    more[:size] = gaps[:size]
                    more_costs = np.empty(room, cost.dtype)
                    more_costs[:size] = costs[:size]
                    more_steps = np.empty((room, 3), np.int64)
                    more_steps[:size] = steps[:size]
                    gaps, costs, steps = more, more_costs, more_steps
                shift = int(first) + 1 - int(last)
                if shift > 0:
                    for s in range(size - 1, last - 1, -1):
                        gaps[s + 1], costs[s + 1] = gaps[s], costs[s]
                        steps[s + 1] = steps[s]
                elif shift < 0:
                    for s in range(last, size):
                        gaps[s + shift], costs[s + shift] = gaps[s], costs[s]
                        steps[s + shift] = steps[s]
                size += shift
                gaps[first], costs[first] = gap, both
                steps[first, 0], steps[first, 1], steps[first, 2] = far, i, j - n
    return gaps[:size].copy(), steps[:size, 1:].copy()


def solve_pair(p: Arrays) -> tuple[Ints, float, int]:
    """The least loss over all pairs of two groups' candidates."""
    refuse_bands(p)
    both = p.has.all(axis=1)
    numbers, loss, rows = _solve_pair(
        int(p.start[1]),
        np.argsort(p.cost[: p.start[1]], kind="stable"),
        p.cost,
        p.distance,
        p.rates[both],
        p.limit[both],
        p.ratio[both],
        p.penalty[both],
        p.unit,
        int(p.has[:2].all(axis=1).sum()),
        p.total,
    )
    return numbers, float(loss), int(rows)


@compiled
def _solve_pair(
    n: int,
    order: Ints,
    cost: Values,
    distance: Ints,
    rates: Floats,
    limit: Floats,
    ratio: Floats,
    penalty: Floats,
    unit: float,
    sums: int,
    most_sum: float,
) -> tuple[Ints, float, int]:
    cheapest = cost[n:].min()
    best, far, rows = np.inf, 0, 0
    numbers = np.full(2, -1, np.int64)
    for i in order:
        bound = (cost[i] + cheapest) / unit
        if bound * bound > best:
            break
        rows += 1
        for j in range(n, len(cost)):
            error = (cost[i] + cost[j]) / unit
            loss = error * error
            if loss > best:
                continue
            fits, both_gaps = True, 0.0
            for r in range(len(rates)):
                x, y = rates[r, i], rates[r, j]
                if r < sums:
                    both_gaps += max(x, y) - min(x, y)
                if not _within(min(x, y), max(x, y), limit[r], ratio[r]):
                    fits = False
                    break
                if penalty[r] > 0:
                    loss = loss + penalty[r] * ((x - y) * (x - y))
            if not fits or both_gaps > most_sum or loss > best:
                continue
            distant = distance[i] + distance[j]
            if loss == best and numbers[0] >= 0:
                if distant > far:
                    continue
                if distant == far and (i > numbers[0] or (i == numbers[0] and j - n >= numbers[1])):
                    continue
            best, far = loss, distant
            numbers[0], numbers[1] = i, j - n
    return numbers, best, rows


@compiled
def _price(
    entry: Ints,
    group: Ints,
    rates: Floats,
    has: Flags,
    limit: Floats,
    ratio: Floats,
    weight: Floats,
    leans: Floats,
    low: Floats,
    high: Floats,
    after: Floats,
    upto: Floats,
) -> Floats:
    value = np.zeros(len(entry))
    for r in range(len(weight)):
        bounded = limit[r] < np.inf or ratio[r] >= 0
        middle = low[r] + (high[r] - low[r]) / 2
        for i in range(len(entry)):
            k = group[i]
            if not has[r, k]:
                continue
            x = rates[r, entry[i]]
            if weight[r] > 0:
                lean = leans[r, k]
                moved = (x - middle) - lean
                distance, shift = lean, moved
                if moved < low[r] - middle:
                    distance, shift = x - low[r], low[r] - middle
                elif moved > high[r] - middle:
                    distance, shift = x - high[r], high[r] - middle
                value[i] = value[i] + weight[r] * (distance * distance + 2 * lean * shift)
            if bounded and not (x > after[r] and _within(upto[r], x, limit[r], ratio[r])):
                value[i] = np.inf
    return value


@compiled
def _cheapest(gap: Floats, share: Floats, group: Ints, n_groups: int, nu: float) -> Ints:
    at = np.full(n_groups, -1, np.int64)
    least = np.full(n_groups, np.inf)
    for i in range(len(gap)):
        value = gap[i] + nu * share[i]
        if value < least[group[i]]:
            at[group[i]], least[group[i]] = i, value
    return at


def price(p: Arrays, entry: Ints, group: Ints, weight: Floats, leans: Floats, node: reference_targets.Node) -> Floats:
    box = (node.low, node.high, node.after, node.upto)
    out: Floats = _price(entry, group, p.rates, p.has, node.limit, p.ratio, weight, leans, *box)
    return out


def cheapest(c: reference_targets.Candidates, nu: float) -> Ints:
    at: Ints = _cheapest(c.gap, c.share, c.group, len(c.first), nu)
    return at


class Targets(reference_targets.Targets):
    price = staticmethod(price)
    cheapest = staticmethod(cheapest)


def solve_penalties(p: Arrays, guess: Ints, node_limit: int, seconds: float = np.inf) -> tuple[Ints, float, float, int]:
    """The least loss: choice, loss, proven lower bound, nodes opened."""
    return reference_targets.solve_penalties(p, guess, node_limit, seconds, Targets)


def sweep(
    p: SmoothProblem, grid: Arrays, edges: Floats, penalties: Floats, tolerance: float
) -> tuple[Floats, Floats, int, int]:
    """Many penalties on the same smooth densities of two groups: thresholds, losses, Newton steps, restarts."""
    return reference_sweep(p, grid, edges, penalties, tolerance, solve_pair)
