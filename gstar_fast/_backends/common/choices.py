"""What a choice of candidates costs, and whether it keeps its limits (csrc/gstar/solve/problem.hpp in C++)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce
from typing import TypeAlias

import numpy as np

from gstar_fast._backends.interface import Arrays, Floats, Ints
from gstar_fast._base.arrays import Values
from gstar_fast._base.refusals.place import bad_value

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
    """The smallest and largest value that rate r may have in any group."""
    low, high = p.bands
    lows = [low[r, p.start[k] + number] for k, number in enumerate(numbers) if p.has[r, k]]
    if not lows:
        return np.zeros(()), np.zeros(())
    highs = lows
    if high is not low:
        highs = [high[r, p.start[k] + number] for k, number in enumerate(numbers) if p.has[r, k]]
    return reduce(np.minimum, lows), reduce(np.maximum, highs)


def allowed(p: Arrays, numbers: Numbers) -> Values:
    """Whether a choice meets every limit."""
    fits: Values = np.ones((), bool)
    for r in limited(p):
        fits = fits & within(*extremes(p, r, numbers), p.limit[r], p.ratio[r])
    if p.total < np.inf:
        one, two = both_gaps(p, numbers)
        fits = fits & (one + two <= p.total)
    return fits


def both_gaps(p: Arrays, numbers: Numbers) -> tuple[Values, Values]:
    """The differences of the first two rates, which `total` is about."""
    (low_one, high_one), (low_two, high_two) = (extremes(p, r, numbers) for r in (0, 1))
    return high_one - low_one, high_two - low_two


def limits_of(limit: Floats, total: float) -> Floats:
    """The limits of single rates, given those and the limit on the sum of the first two."""
    if total == np.inf:
        return limit
    return np.concatenate([np.minimum(limit[:2], total), limit[2:]])


def refuse_bands(p: Arrays) -> None:
    """Penalties weigh rates that are known."""
    if p.banded:
        raise bad_value("bands", "bands of rates go with limits alone; this search has penalties")


MOST_AT_ONCE = 512  # groups whose pairs are laid out at once: a few MiB


@lru_cache(maxsize=8)
def _pairs(n: int) -> tuple[Ints, Ints]:
    """All pairs of n, in order."""
    return np.triu_indices(n, 1)


def mean_square(rates: Sequence[Values] | Floats) -> Values:
    """Mean over pairs of squared differences; pairs in order, so that every backend adds in the same order.

    The rates of one choice are an array of numbers, those of many choices a list of arrays.
    """
    if len(rates) < 2:
        return np.zeros(())
    if isinstance(rates, np.ndarray) and len(rates) <= MOST_AT_ONCE:
        one, two = _pairs(len(rates))
        difference = rates[one] - rates[two]
        return np.asarray(np.add.accumulate(difference * difference)[-1] / len(one))
    x = np.stack(np.broadcast_arrays(*rates))
    total: Values = np.zeros(x.shape[1:])
    for a in range(len(x) - 1):
        difference = x[a] - x[a + 1 :]
        total = np.add.accumulate(np.concatenate([total[None], difference * difference]))[-1]
    return total / (len(x) * (len(x) - 1) // 2)


def loss_of(p: Arrays, numbers: Numbers) -> Values:
    """E^2 plus the penalties of a choice; each entry of `numbers` may be an array."""
    if (at := _one_choice(numbers)) is not None:
        return _loss_of_one(p, p.start[:-1] + at)
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


def _one_choice(numbers: Numbers) -> Ints | None:
    """The numbers as one array, if each of them is one number."""
    if isinstance(numbers, np.ndarray):
        return numbers if numbers.ndim == 1 else None
    return None if any(isinstance(number, np.ndarray) for number in numbers) else np.array(numbers, dtype=np.int64)


def _loss_of_one(p: Arrays, entries: Ints) -> Values:
    error = np.add.accumulate(p.cost[entries])[-1] / p.unit
    loss: Values = error * error
    for r in range(len(p.penalty)):
        if p.penalty[r] > 0:
            loss = loss + p.penalty[r] * mean_square(p.rates[r, entries[p.has[r].astype(bool)]])
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


def total_cut(p: Arrays, total: float, numbers: Ints) -> tuple[float, float] | None:
    """Two limits, one on each of the first two gaps, that a choice breaks whose gaps have too large a sum; else None.

    Every choice that keeps the sum keeps one of them: two gaps above both have a sum above `total`, rounding included.
    """
    if total == np.inf:
        return None
    one, two = (float(gap) for gap in both_gaps(p, numbers))
    if one + two <= total:
        return None
    by = 0.499 * (one + two - total)
    halves = one - by, two - by
    if halves[0] < one and halves[1] < two and halves[0] + halves[1] > total:
        return halves
    return float(np.nextafter(one, -1.0)), float(np.nextafter(two, -1.0))
