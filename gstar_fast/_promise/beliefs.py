"""What the counts say of the rates of new rows, for every candidate of a search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from gstar_fast._backends.interface import Floats, Ints
from gstar_fast._base.arrays import Bools
from gstar_fast._base.names import Name
from gstar_fast._criteria import TOLERANCE
from gstar_fast._promise.chance import PRIOR, Beliefs, chance
from gstar_fast._question.question import Question
from gstar_fast._rates import SOLVER_RATES, rates_at
from gstar_fast._solver.cells import effective, effective_rows, hits_of
from gstar_fast._solver.mix import Mixture
from gstar_fast._solver.search import Search


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
    ) -> float:
        """Chance that a limit is broken on new rows."""
        limit, ratio = self.limit if limit is None else limit, self.ratio if ratio is None else ratio
        return chance(beliefs, self.active, limit, ratio, self.total if total is None else total)


def of_two(r: int) -> bool:
    """Whether a rate of solvers is the mean of two shares: of tpr and 1 - fpr."""
    return len(SOLVER_RATES[r].shares) > 1


def active_rates(question: Question) -> list[int]:
    """Rates that have a limit, as positions in SOLVER_RATES."""
    return [int(r) for r in np.flatnonzero(question.windows.set)]


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
            if of_two(r):
                tpr, fpr = (wilson(self.parts[part], self.rows_at(part, every, group), z) for part in (0, 1))
                rate = self.search.arrays.rates[i]
                low[i] = rate - np.hypot(self.parts[0] - tpr[0], fpr[1] - self.parts[1]) / 2
                high[i] = rate + np.hypot(tpr[1] - self.parts[0], self.parts[1] - fpr[0]) / 2
                continue
            rate = self.search.arrays.rates[i]
            low[i], high[i] = wilson(rate, self.rows_at(r, every, group), z)
            if SOLVER_RATES[r].falls:
                low[i], high[i] = np.where(self.certain, rate, low[i]), np.where(self.certain, rate, high[i])
        return low, high

    def at(self, entries: Ints) -> Beliefs:
        """What is known at one entry a group."""
        shapes = [self.shapes(entries[k : k + 1], k) for k in range(len(entries))]
        a, b, sure = (np.concatenate(parts, axis=1) for parts in zip(*shapes, strict=True))
        return Beliefs(a, b, sure, self.search.has[self.active])

    def shapes(self, entries: Ints, k: int) -> tuple[Floats, Floats, Floats]:
        """Of entries of one group: Beta(a, b) of every active rate, and what is certain, each (R, entries)."""
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
