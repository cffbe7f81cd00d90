"""What a choice of candidates costs, and whether it keeps its limits (csrc/gstar/solve/problem.hpp in C++)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from gstar_fast._backends.interface import Arrays, Floats, Ints
from gstar_fast._base.arrays import Values

Numbers: TypeAlias = Sequence[int | Ints] | Ints  # a candidate a group; or arrays of them, for many choices at once


def within(low: Values, high: Values, limit: float, ratio: float) -> Values:
    """Whether two rates, the smaller first, are close enough for one limit and one least ratio (below 0: none)."""
    close: Values = high - low <= limit
    if ratio < 0:
        return close
    with np.errstate(divide="ignore", invalid="ignore"):
        kept: Values = close & ((high <= 0) | (np.divide(low, high) >= ratio))
    return kept


def limited(p: Arrays) -> list[int]:
    return [r for r in range(len(p.limit)) if p.limit[r] < np.inf or p.ratio[r] >= 0]


def extremes(p: Arrays, r: int, numbers: Numbers) -> tuple[Values, Values]:
    """The smallest and largest value of rate r."""
    rates = [p.rates[r, p.start[k] + number] for k, number in enumerate(numbers) if p.has[r, k]]
    if not rates:
        return np.zeros(()), np.zeros(())
    low = high = rates[0]
    for rate in rates[1:]:
        low, high = np.minimum(low, rate), np.maximum(high, rate)
    return low, high


def allowed(p: Arrays, numbers: Numbers) -> Values:
    """Whether a choice meets every limit."""
    fits: Values = np.ones((), bool)
    for r in limited(p):
        fits = fits & within(*extremes(p, r, numbers), p.limit[r], p.ratio[r])
    return fits


def mean_square(rates: Sequence[Values]) -> Values:
    """Mean over pairs of squared differences; pairs in order, so that every backend adds in the same order."""
    if len(rates) < 2:
        return np.zeros(())
    x = np.stack(np.broadcast_arrays(*rates))
    total: Values = np.zeros(x.shape[1:])
    for a in range(len(x) - 1):
        difference = x[a] - x[a + 1 :]
        total = np.add.accumulate(np.concatenate([total[None], difference * difference]))[-1]
    return total / (len(x) * (len(x) - 1) // 2)


def loss_of(p: Arrays, numbers: Numbers) -> Values:
    """E^2 plus the penalties of a choice."""
    cost: Values = np.zeros((), p.cost.dtype)
    for k, number in enumerate(numbers):
        cost = cost + p.cost[p.start[k] + number]
    error = cost / p.unit
    loss = error * error
    for r in range(len(p.penalty)):
        if p.penalty[r] > 0:
            rates = [p.rates[r, p.start[k] + number] for k, number in enumerate(numbers) if p.has[r, k]]
            loss = loss + p.penalty[r] * mean_square(rates)
    return loss


def cut_of(p: Arrays, limit: Floats, numbers: Ints) -> tuple[int, float] | None:
    """The rate whose limit a choice breaks most, and where to cut its window so that the choice fits neither half."""
    found: tuple[int, float] | None = None
    worst = -np.inf
    for r in range(len(limit)):
        if not (limit[r] < np.inf or p.ratio[r] >= 0):
            continue
        low, high = extremes(p, r, numbers)
        if within(low, high, limit[r], p.ratio[r]):
            continue
        needed = max(high - limit[r], high * p.ratio[r])  # t must reach this to admit `high`
        if needed - low > worst:
            middle = low + (needed - low) / 2
            valid = middle >= low and not within(middle, high, limit[r], p.ratio[r])
            found, worst = (r, float(middle if valid else low)), needed - low
    return found
