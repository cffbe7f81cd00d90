"""What a choice of candidates costs, and whether it keeps its limits (csrc/gstar/solve/problem.hpp in C++)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from gstar_fast._backends.interface import Arrays
from gstar_fast._base.arrays import Floats, Ints, Values
from gstar_fast._base.refusals.place import bad_value

Numbers: TypeAlias = "Sequence[int | Ints] | Ints"  # a candidate a group; or arrays of them, for many choices at once


def within(low: Values, high: Values, limit: float, ratio: float) -> Values:
    """Whether two rates, the smaller first, are close enough for one limit and one least ratio (below 0: none)."""
    close: Values = high - low <= limit
    if ratio < 0:
        return close
    with np.errstate(divide="ignore", invalid="ignore"):
        kept: Values = close & ((high <= 0) | (np.divide(low, high) >= ratio))
    return kept


def entries(p: Arrays, numbers: Numbers) -> Ints:
    """Where the candidates of a choice stand, (K,); of many choices, (K, ...)."""
    at = numbers if isinstance(numbers, np.ndarray) else np.stack(np.broadcast_arrays(*numbers))
    return np.asarray((p.start[:-1] + at.T).T)


def extremes(p: Arrays, r: int, numbers: Numbers) -> tuple[Values, Values]:
    """The smallest and largest value that rate r may have in any group."""
    at = entries(p, numbers)[p.has[r] > 0]
    if not len(at):
        return np.zeros(()), np.zeros(())
    low, high = p.bands
    return low[r, at].min(axis=0), high[r, at].max(axis=0)


def allowed(p: Arrays, numbers: Numbers) -> Values:
    """Whether a choice meets every limit."""
    fits: Values = np.ones((), bool)
    for r in np.flatnonzero((p.limit < np.inf) | (p.ratio >= 0)).tolist():
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


MOST_AT_ONCE = 2**18  # squared differences that are laid out at once: a few MiB


@lru_cache(maxsize=8)
def _pairs(n: int) -> tuple[Ints, Ints]:
    """All pairs of n, in order."""
    return np.triu_indices(n, 1)


def mean_square(rates: Floats) -> Values:
    """Mean over pairs of squared differences, (...) of rates (K, ...); in order, so that every backend adds alike."""
    n = len(rates)
    if n < 2:
        return np.zeros(())
    total: Values = np.zeros((1, *rates.shape[1:]))
    few = n * rates.size <= MOST_AT_ONCE
    for one, two in [_pairs(n)] if few else ((a, slice(a + 1, None)) for a in range(n - 1)):
        difference = rates[one] - rates[two]
        total = np.add.accumulate(np.concatenate([total, difference * difference]))[-1:]
    return np.asarray(total[0] / (n * (n - 1) // 2))


def loss_of(p: Arrays, numbers: Numbers) -> Values:
    """E^2 plus the penalties of a choice, or of many."""
    at = entries(p, numbers)
    error = np.add.accumulate(p.cost[at])[-1] / p.unit
    loss: Values = error * error
    for r in np.flatnonzero(p.penalty > 0):
        loss = loss + p.penalty[r] * mean_square(p.rates[r, at[p.has[r] > 0]])
    return loss


class Windows(NamedTuple):
    """What a search by boxes splits: each rate's smallest value t has after < t <= upto, and its gap this limit.

    A limit on a sum of gaps makes the limits of a box narrower than those of the problem.
    """

    after: Floats
    upto: Floats
    limit: Floats

    @classmethod
    def of(cls, p: Arrays) -> Windows:
        """The windows of all choices."""
        n = len(p.limit)
        return cls(np.full(n, -np.inf), np.full(n, np.inf), limits_of(p.limit, p.total))

    def split(self, p: Arrays, total: float, numbers: Ints) -> list[Windows]:
        """Two narrower ones that leave out a choice, but none that meets the limits; nothing if the choice does."""
        if (cut := self._cut(p, numbers)) is not None:
            r, at = cut
            after, upto = self.after.copy(), self.upto.copy()
            after[r], upto[r] = max(after[r], at), min(upto[r], at)
            return [self._replace(upto=upto), self._replace(after=after)]
        parts = []
        for r, half in enumerate(_halves(p, total, numbers)):
            limit = self.limit.copy()
            limit[r] = half
            parts.append(self._replace(limit=limit))
        return parts

    def _cut(self, p: Arrays, numbers: Ints) -> tuple[int, float] | None:
        """The rate whose limit a choice breaks most, and where to cut its window so that it fits neither half."""
        found: tuple[int, float] | None = None
        worst = -np.inf
        for r, limit in enumerate(self.limit.tolist()):
            if limit == np.inf and p.ratio[r] < 0:
                continue
            low, high = extremes(p, r, numbers)
            if within(low, high, limit, p.ratio[r]):
                continue
            needed = max(high - limit, high * p.ratio[r])  # t must reach this to admit `high`
            if needed - low > worst:
                middle = low + (needed - low) / 2
                valid = middle >= low and not within(middle, high, limit, p.ratio[r])
                found, worst = (r, float(middle if valid else low)), needed - low
        return found


def _halves(p: Arrays, total: float, numbers: Ints) -> tuple[float, ...]:
    """Two limits, one on each of the first two gaps, that a choice breaks whose gaps have too large a sum.

    Every choice that keeps the sum keeps one of them: two gaps above both have a sum above `total`, rounding included.
    """
    if total == np.inf:
        return ()
    one, two = (float(gap) for gap in both_gaps(p, numbers))
    if one + two <= total:
        return ()
    by = 0.499 * (one + two - total)
    halves = one - by, two - by
    if halves[0] < one and halves[1] < two and halves[0] + halves[1] > total:
        return halves
    return float(np.nextafter(one, -1.0)), float(np.nextafter(two, -1.0))
