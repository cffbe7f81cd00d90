"""What the counts say of the rates of new rows, and the chance that a gap on new rows is above its limit.

A rate of x accepted in n rows is taken to be Beta(x + 1/2, n - x + 1/2) (Jeffreys), and the rates of different groups
to be independent. If the group with the largest rate has it at t, all others must lie in a window below t: no further
than the limit, and not under the ratio. So for one rate

    Pr(limits hold) = sum over groups k of  integral of f_k(t) * product over j != k of [F_j(t) - F_j(low(t))] dt,
    low(t) = max(t - limit, ratio * t),

a sum over a grid of t. There is nothing to draw and no seed. tpr and fpr rest on different rows, so both hold with the
product of their chances, and the sum of both gaps is distributed as that of independent numbers; of other rates (which
share rows) the chances of being above are added: never too little.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from scipy import special

from gstar_fast._base.arrays import Bools, Floats, Ints
from gstar_fast._base.names import Name
from gstar_fast._criteria import TOLERANCE
from gstar_fast._question.question import Question
from gstar_fast._rates import SOLVER_RATES, rates_at
from gstar_fast._solver.cells import effective, effective_rows, hits_of
from gstar_fast._solver.mix import Mixture
from gstar_fast._solver.search import Search

PRIOR = 0.5
FINE = 2.5  # grid steps in the standard deviation of the best known rate; exact to 1e-4
FINER = 8.0  # the same where a density may be infinite at 0 or 1
SMOOTH = 4.0  # shapes from which it is smooth there
REACH = 8.0  # standard deviations that the grid covers
SHARPEST = 100.0  # a rate known to better than limit / SHARPEST is taken as known to that: the grid stays short
BY_SERIES = 30.0  # shapes from which the normal approximation is within 1e-5
OF_SUMS, REACH_OF_SUMS = 8.0, 5.5  # FINE and REACH for the sum of two gaps
FEWEST, MOST = 16, 400  # of them from 0 to the limit
LONGEST = 20_000  # steps over all rates; a limit that needs more is far below what is known of them


class Beliefs(NamedTuple):
    """What is known of the rates at some thresholds, each (R, K): Beta(a, b); or a value that is certain, else NaN."""

    a: Floats
    b: Floats
    sure: Floats
    has: Bools

    def times(self, factor: float | Floats) -> Beliefs:
        """The same with this many times the rows."""
        a, b = (np.maximum(shape - PRIOR, 0.0) * factor + PRIOR for shape in (self.a, self.b))
        return self._replace(a=a, b=b)


def beta_cdf(a: Floats, b: Floats, t: Floats) -> Floats:
    """Pr(X <= t) of Beta(a, b), for rows of shapes a, b (K, 1) and t (K, n) or (n,)."""
    large = np.minimum(a, b)[:, 0] >= BY_SERIES
    if large.all():
        return _normal_cdf(a, b, t)
    t = np.broadcast_to(t, np.broadcast_shapes(a.shape, np.shape(t)))
    out = np.empty(t.shape)
    out[~large] = special.betainc(a[~large], b[~large], np.clip(t[~large], 0.0, 1.0))
    if large.any():
        out[large] = _normal_cdf(a[large], b[large], t[large])
    return out


def _normal_cdf(a: Floats, b: Floats, t: Floats) -> Floats:
    """The normal approximation of Peizer and Pratt: elementary functions, ten times faster than the series."""
    p = np.minimum(np.maximum(t, 1e-300), 1 - 1e-16)
    q = 1.0 - p
    n = a + b - 1.0
    shift = b - 0.5 - n * q
    d = b - 1 / 3 - (n + 1 / 3) * q + 0.02 * (q / b - p / a + (q - 0.5) / (a + b))
    middle = n * p * q
    # twice the deviance in logarithms of p and q, which all groups share; over shift^2 it is 1 / middle in the middle
    deviance = (b - 0.5) * (np.log((b - 0.5) / n) - np.log(q)) + (a - 0.5) * (np.log((a - 0.5) / n) - np.log(p))
    square = shift * shift
    near = square < 1e-6 * middle
    slope = np.where(near, 1 / middle, 2 * np.maximum(deviance, 0.0) / np.where(near, 1.0, square))
    out: Floats = special.ndtr(d * np.sqrt(slope / (1 + 1 / (6 * n))))
    for beyond, certain in ((t <= 0, 0.0), (t >= 1, 1.0)):
        if beyond.any():
            out[np.broadcast_to(beyond, out.shape)] = certain
    return out


def holds(a: Floats, b: Floats, sure: Floats, limit: float, ratio: float) -> float:
    """Pr(largest - smallest <= limit, and smallest / largest >= ratio) of independent rates."""
    free = np.isnan(sure)
    a, b, certain = a[free], b[free], sure[~free]
    if len(certain) and not _close(float(certain.min()), float(certain.max()), limit, ratio):
        return 0.0
    if len(a) == 0:
        return 1.0
    order = np.lexsort((b, a))  # by counts and not by names: the same sum in the same order
    a, b = _blunted(a[order], b[order], limit, ratio)
    if len(certain):
        return _around(a, b, float(certain.min()), float(certain.max()), limit, ratio)
    if len(a) == 1:
        return 1.0
    total = a + b
    mean = a / total
    reach = REACH * np.sqrt(mean * (1 - mean) / (total + 1)) + 10 / total
    first = float((mean - reach).max())  # the largest rate is no less than this
    last = float((mean + reach).min())  # the smallest is no more, so the largest no more than
    last = min(last + limit, last / ratio if ratio > 0 else np.inf, 1.0)
    first = max(first, 0.0)
    if first >= last:
        return 0.0
    sd = float(np.sqrt(mean * (1 - mean) / (total + 1)).min())
    smooth = float(np.minimum(a, b).min()) >= SMOOTH
    fine = FINE if smooth else FINER
    t = np.linspace(first, last, min(int(np.ceil(fine * (last - first) / sd)), 4000) + 1)
    low = np.maximum(t - limit, ratio * t)
    both = beta_cdf(a[:, None], b[:, None], np.concatenate([t, low]))
    upper, lower = both[:, : len(t)], both[:, len(t) :]
    if not smooth:  # densities may be infinite at 0 or 1: with F(low) held still the integral is a difference
        lower = (lower[:, 1:] + lower[:, :-1]) / 2
        top, bottom = (np.prod(np.maximum(end - lower, 0.0), axis=0) for end in (upper[:, 1:], upper[:, :-1]))
        return float(np.clip((top - bottom).sum(), 0.0, 1.0))
    # the sum over points is exact for smooth densities that vanish at both ends
    window = np.maximum(upper - lower, 1e-200)
    t = np.minimum(np.maximum(t, 1e-300), 1 - 1e-16)
    log = (a - 1)[:, None] * np.log(t) + (b - 1)[:, None] * np.log1p(-t) - special.betaln(a, b)[:, None]
    density = np.exp(log) * (last - first) / (len(t) - 1)
    return float(min(((density / window).sum(axis=0) * np.prod(window, axis=0)).sum(), 1.0))


def _close(low: float, high: float, limit: float, ratio: float) -> bool:
    return high - low <= limit and (ratio <= 0 or high == 0 or low / high >= ratio)


def _blunted(a: Floats, b: Floats, limit: float, ratio: float) -> tuple[Floats, Floats]:
    """Rates known to much better than the width of the window, taken as known to width / SHARPEST."""
    total = a + b
    width = max(min(limit, (1 - ratio) * float((a / total).max())), 1e-6)
    most = a * b / total**2 / (width / SHARPEST) ** 2
    scale = np.minimum(1.0, np.maximum(most, 1.0) / total)
    return a * scale, b * scale


def _around(a: Floats, b: Floats, low: float, high: float, limit: float, ratio: float) -> float:
    """The same where some rates are certain, which are 0 or 1: all others must be near."""
    least = max(high - limit, ratio * high)
    most = min(low + limit, low / ratio if ratio > 0 and low > 0 else np.inf, 1.0)
    if ratio > 0 and low == 0:
        most = 0.0
    return float(np.prod(_between(a, b, least, most)))


def _between(a: Floats, b: Floats, least: float, most: float) -> Floats:
    """Pr(least <= X <= most) of each Beta(a, b)."""
    top = beta_cdf(a[:, None], b[:, None], np.array([min(most, 1.0)]))[:, 0]
    return top if least <= 0 else np.maximum(top - beta_cdf(a[:, None], b[:, None], np.array([least]))[:, 0], 0.0)


def sum_holds(beliefs: Beliefs, limit: Floats, total: float) -> float:
    """Pr(both gaps are within their limits, and their sum within `total`), of rows 0 and 1 of the beliefs.

    The first gap lies between two points of a grid, and the second is at most what is left at the one, or at the
    other: the mean of both.
    """
    parts = [(beliefs.a[i][has], beliefs.b[i][has], beliefs.sure[i][has]) for i, has in enumerate(beliefs.has[:2])]
    if total <= 0:
        return float(np.prod([holds(*part, 0.0, 0.0) for part in parts]))
    steps = max(_steps(*part, total) for part in parts)
    x = np.linspace(0.0, total, steps + 1)
    one, two = (np.interp(np.minimum(x, limit[i]), x, _spread(*parts[i], total, steps)) for i in (0, 1))
    left = two[::-1]
    inside = np.diff(one) * (left[1:] + left[:-1]) / 2
    return float(np.clip(one[0] * left[0] + inside.sum(), 0.0, 1.0))


def _steps(a: Floats, b: Floats, sure: Floats, widest: float) -> int:
    """Steps of the grid of a gap."""
    free = np.isnan(sure)
    if not free.any():
        return FEWEST
    a, b = _blunted(a[free], b[free], widest, 0.0)
    deviation = float((np.sqrt(a * b / (a + b + 1)) / (a + b)).min())
    return int(np.clip(np.ceil(OF_SUMS * widest / deviation), FEWEST, MOST))


def _spread(a: Floats, b: Floats, sure: Floats, widest: float, steps: int) -> Floats:
    """Pr(largest - smallest <= x) of independent rates, for x in so many steps from 0 to `widest`."""
    if not np.isnan(sure).all():
        return np.array([holds(a, b, sure, widest * m / steps, 0.0) for m in range(steps + 1)])
    if len(a) < 2:
        return np.ones(steps + 1)
    order = np.lexsort((b, a))
    a, b = _blunted(a[order], b[order], widest, 0.0)
    mean = a / (a + b)
    reach = REACH_OF_SUMS * np.sqrt(mean * (1 - mean) / (a + b + 1)) + 10 / (a + b)
    first, last = max(float((mean - reach).max()), 0.0), min(float((mean + reach).min()) + widest, 1.0)
    last = min(last, float((mean + reach).max()))
    step = widest / steps
    n = int(np.ceil((last - first) / step))
    if n < 1 or n > LONGEST:
        return np.zeros(steps + 1)
    # the gap lies between these two, so only there something is to be computed
    least, most = first - float((mean + reach).min()), float((mean + reach).max() - (mean - reach).min())
    begin, end = max(int(least / step), 1), min(int(most / step) + 2, steps)
    out: Floats = np.zeros(steps + 1)
    out[end:] = 1.0
    if begin > end:
        return out
    # F(t - x) for all t and x of the grid are the same numbers, shifted
    below = beta_cdf(a[:, None], b[:, None], first + step * np.arange(-end, n + 1, dtype=np.float64))
    held = (below[:, 1:] + below[:, :-1]) / 2  # F(low), held still from one t to the next, as in `holds`
    top, bottom = np.ones((2, end - begin + 1, n))
    for f, h in zip(below, held, strict=True):
        low = np.lib.stride_tricks.sliding_window_view(h, n)[end - begin :: -1]  # at t - begin * step, ... - end * step
        top *= np.maximum(f[end + 1 :] - low, 0.0)
        bottom *= np.maximum(f[end:-1] - low, 0.0)
    out[begin : end + 1] = np.clip((top - bottom).sum(axis=1), 0.0, 1.0)
    return out


def chance(
    beliefs: Beliefs, rates: list[int], limit: Floats, ratio: Floats, total: float = np.inf, most: float = 1.0
) -> float:
    """Chance that a limit is broken; row i of the beliefs is the rate `rates[i]` (positions in `SOLVER_RATES`).

    `total` limits the sum of the gaps of the first two rates, which are tpr and fpr then. A chance above `most` may be
    that of the first rates alone, which is no more.
    """
    apart, shared = 1.0, 0.0
    summed = 2 if total < np.inf else 0
    if summed:
        apart = sum_holds(beliefs, limit, total)
    independent = [SOLVER_RATES[r] for r in rates[:summed]]  # of rates on the same rows, chances are added
    for i, r in enumerate(rates):
        if (limit[i] == np.inf and ratio[i] < 0) or i < summed:
            continue
        if 1.0 - apart + shared > most:
            break
        has = beliefs.has[i]
        kept = holds(beliefs.a[i][has], beliefs.b[i][has], beliefs.sure[i][has], float(limit[i]), max(ratio[i], 0.0))
        if SOLVER_RATES[r].apart(independent):
            independent.append(SOLVER_RATES[r])
            apart *= kept
        else:
            shared += 1.0 - kept
    return min(1.0 - apart + shared, 1.0)


# -------------------------------------------------------------------------------------------- what the counts say


@dataclass(frozen=True)
class Ground:
    """What was asked of some rates, and the rows they rest on."""

    question: Question
    names: tuple[Name, ...]  # of the groups
    rows: float  # of all groups
    weighted: bool
    active: list[int]  # which rates, positions in SOLVER_RATES
    n: Floats  # (4, K) effective rows behind `SHARES`

    @property
    def limit(self) -> Floats:
        return self.question.windows.alone[self.active] - TOLERANCE

    @property
    def total(self) -> float:
        return self.question.windows.total - TOLERANCE

    @property
    def ratio(self) -> Floats:
        ratio = self.question.windows.ratio[self.active]
        return np.where(ratio >= 0, ratio + TOLERANCE, -1.0)

    def times(self, factor: float) -> Self:
        """The same rates with this many times the rows behind them."""
        return replace(self, n=self.n * factor)

    def chance(
        self,
        beliefs: Beliefs,
        limit: Floats | None = None,
        ratio: Floats | None = None,
        total: float | None = None,
        most: float = 1.0,
    ) -> float:
        """Chance that a limit is broken on new rows; one above `most` may be too small."""
        limit, ratio = self.limit if limit is None else limit, self.ratio if ratio is None else ratio
        return chance(beliefs, self.active, limit, ratio, self.total if total is None else total, most)


def of_two(r: int) -> bool:
    """Whether a rate of solvers is the mean of two shares: of tpr and 1 - fpr."""
    return len(SOLVER_RATES[r].shares) > 1


def active_rates(question: Question) -> list[int]:
    """Rates that have a limit, as positions in SOLVER_RATES."""
    return [int(r) for r in np.flatnonzero(question.windows.limited)]


@dataclass(frozen=True)
class Known(Ground):
    """Rates, and the rows they rest on, at every entry of a search."""

    search: Search
    parts: Floats  # (2, entries) tpr and fpr
    certain: Bools  # (entries,) accepts everybody or nobody, whatever the rows
    n_at: Floats | None  # (4, entries) as `n`, where rows have weights: those of accepted rows may be others

    @classmethod
    def of(cls, search: Search) -> Known:
        question, table = search.question, search.table
        parts = rates_at(table.accepted, table.totals, table.start, [0, 1])
        certain = np.isinf(search.thresholds(np.arange(len(table.candidate))))
        cells = search.cells
        ground = question, search.groups, float(cells.n_rows.sum()), cells.weighted, active_rates(question)
        return cls(*ground, effective_rows(cells), search, parts, certain, _effective_at(search))

    def times(self, factor: float) -> Self:
        n_at = None if self.n_at is None else self.n_at * factor
        return replace(self, n=self.n * factor, n_at=n_at)

    def rows_at(self, r: int, entries: Ints | slice, group: Ints | int) -> Floats:
        """Effective rows behind a rate at entries of these groups."""
        return np.asarray(self.n[r, group] if self.n_at is None else self.n_at[r, entries])

    def asked(self, question: Question) -> Known:
        """The same rates with other limits on them."""
        return replace(self, question=question, search=replace(self.search, question=question))

    @property
    def groups(self) -> Ints:
        """The group of each entry."""
        start = self.search.table.start
        return np.repeat(np.arange(len(start) - 1), np.diff(start))

    def bands(self, z: float) -> tuple[Floats, Floats]:
        """Wilson's limits of every active rate at every entry, z standard errors wide."""
        group, every = self.groups, slice(None)
        low, high = np.empty_like(self.search.arrays.rates), np.empty_like(self.search.arrays.rates)
        for i, r in enumerate(self.active):
            rate = self.search.arrays.rates[i]
            if of_two(r):
                tpr, fpr = (wilson(self.parts[part], self.rows_at(part, every, group), z) for part in (0, 1))
                low[i] = rate - np.hypot(self.parts[0] - tpr[0], fpr[1] - self.parts[1]) / 2
                high[i] = rate + np.hypot(tpr[1] - self.parts[0], self.parts[1] - fpr[0]) / 2
                continue
            low[i], high[i] = wilson(rate, self.rows_at(r, every, group), z)
            if SOLVER_RATES[r].falls:
                low[i], high[i] = np.where(self.certain, rate, low[i]), np.where(self.certain, rate, high[i])
        return low, high

    def at(self, entries: Ints) -> Beliefs:
        """What is known at one entry a group."""
        return Beliefs(*self.shapes(entries, np.arange(len(entries))), self.search.has[self.active])

    def shapes(self, entries: Ints, k: int | Ints) -> tuple[Floats, Floats, Floats]:
        """Of entries of one group, or of these: Beta(a, b) of every active rate, and what is certain, (R, entries)."""
        shape = (len(self.active), len(entries))
        a, b, sure = np.empty(shape), np.empty(shape), np.full(shape, np.nan)
        for i, r in enumerate(self.active):
            rate = self.search.arrays.rates[i, entries]
            if of_two(r):
                one, two = (moments(self.parts[part, entries], self.rows_at(part, entries, k)) for part in (0, 1))
                a[i], b[i] = matched((one[0] + 1 - two[0]) / 2, (one[1] + two[1]) / 4)
                continue
            n = self.rows_at(r, entries, k)
            a[i], b[i] = rate * n + PRIOR, (1 - rate) * n + PRIOR
            if SOLVER_RATES[r].falls:
                sure[i] = np.where(self.certain[entries], rate, np.nan)
        return a, b, sure

    def mixed(self, mixture: Mixture) -> Beliefs:
        """What is known of a mixture: Beta distributions with its mean and variance.

        A row counts with the probability v that it is accepted. Thresholds are nested, so the mean of v squared is the
        sum over pairs of parts of both weights times the smaller rate.
        """
        group = self.groups[mixture.entries]
        k_groups = self.n.shape[1]
        if len(mixture.entries) == k_groups:
            return self.at(mixture.entries)
        shape = (len(self.active), k_groups)
        a, b, sure = np.empty(shape), np.empty(shape), np.full(shape, np.nan)
        for k in range(k_groups):
            mine = group == k
            entries, weights = mixture.entries[mine], mixture.weights[mine]
            for i, r in enumerate(self.active):
                if of_two(r):
                    one, two = (self._part(self.parts[part], part, k, entries, weights) for part in (0, 1))
                    a[i, k], b[i, k] = matched((one[0] + 1 - two[0]) / 2, (one[1] + two[1]) / 4)
                    continue
                rates, n = self.search.arrays.rates[i], float(self.rows_at(r, entries, k).min())
                if len(entries) == 1:
                    rate = float(rates[entries[0]])
                    a[i, k], b[i, k] = rate * n + PRIOR, (1 - rate) * n + PRIOR
                    if SOLVER_RATES[r].falls and self.certain[entries[0]]:
                        sure[i, k] = rate
                elif not SOLVER_RATES[r].falls:  # not nested: rows of one class count when rejected
                    rate = float(weights @ rates[entries])
                    a[i, k], b[i, k] = rate * n + PRIOR, (1 - rate) * n + PRIOR
                else:
                    a[i, k], b[i, k] = matched(*self._part(rates, r, k, entries, weights))
        return Beliefs(a, b, sure, self.search.has[self.active])

    def _part(self, rates: Floats, r: int, k: int, entries: Ints, weights: Floats) -> tuple[float, float]:
        """Mean and variance of one rate of a group's mixture."""
        n = float(self.rows_at(r, entries, k).min())
        p = (rates[entries] * n + PRIOR) / (n + 2 * PRIOR)
        p = np.where(self.certain[entries], rates[entries], p)
        mean = float(weights @ p)
        square = float(weights @ np.minimum(p[:, None], p) @ weights)
        return mean, max(square - mean**2, 0.0) / (n + 2 * PRIOR + 1)


def _effective_at(search: Search) -> Floats | None:
    """Effective rows behind `SHARES` at every entry; None without weights."""
    cells, table = search.cells, search.table
    if not cells.weighted:
        return None
    group = np.repeat(np.arange(len(search.groups)), np.diff(table.start))
    squares = cells.squares
    upward = np.cumsum(squares[:, :, ::-1], axis=2)[:, :, ::-1]
    accepted = np.concatenate([upward, np.zeros((*upward.shape[:2], 1))], axis=2)[:, group, table.candidate]
    unit = cells.weight_unit
    hits = hits_of(table.accepted * unit, table.totals[:, group] * unit)
    return effective(*hits, *hits_of(accepted, squares.sum(axis=2)[:, group]))


def wilson(rate: Floats, n: Floats, z: float) -> tuple[Floats, Floats]:
    """Wilson's score interval of a rate of n rows; the rate itself where there are none."""
    n = np.maximum(n, 1e-9)
    middle = (rate * n + z * z / 2) / (n + z * z)
    reach = z / (n + z * z) * np.sqrt(rate * (1 - rate) * n + z * z / 4)
    return np.clip(middle - reach, 0.0, rate), np.clip(middle + reach, rate, 1.0)


def moments(rate: Floats, n: Floats | float) -> tuple[Floats, Floats]:
    mean = (rate * n + PRIOR) / (n + 2 * PRIOR)
    return mean, mean * (1 - mean) / (n + 2 * PRIOR + 1)


def matched(mean: Floats | float, variance: Floats | float) -> tuple[Floats, Floats]:
    """Beta(a, b) of this mean and variance."""
    total = np.maximum(mean * (1 - mean) / np.maximum(variance, 1e-16) - 1, 1e-3)
    return mean * total, (1 - mean) * total
