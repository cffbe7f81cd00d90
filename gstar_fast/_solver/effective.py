"""Effective rows: how many rows of weight 1 carry as much information as rows with weights."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from gstar_fast._backends.interface import Floats, Ints
from gstar_fast._base.arrays import Values
from gstar_fast._rates import SHARES
from gstar_fast._solver.cells import Cells

CLOSE = 1e-9  # relative; two ways to compute one number differ by less


def kish(weights: Floats, squares: Floats) -> Floats:
    """(sum w)^2 / (sum w^2), from both sums; 0 without rows."""
    return np.asarray(weights**2 / np.maximum(squares, 1e-300))


def effective(hits: Floats, trials: Floats, hit_squares: Floats, squares: Floats) -> Floats:
    """Number of rows of weight 1 that estimate the rate hits / trials as precisely as rows with weights w.

    The first two are sums of w, the others of w^2. The rate p has the variance ((1 - p)^2 * (sum of w^2 of the hits) +
    p^2 * (sum of w^2 of the other rows)) / trials^2, and n rows of weight 1 have p (1 - p) / n. This is Kish's number
    if weights do not depend on the hits, and never more than that: a few light hits say little about heavy ones.
    """
    most = kish(trials, squares)
    p = hits / np.maximum(trials, 1e-300)
    spread = (1 - p) ** 2 * np.maximum(hit_squares, 0.0) + p**2 * np.maximum(squares - hit_squares, 0.0)
    own = p * (1 - p) * trials**2 / np.maximum(spread, 1e-300)
    return np.where((p > 0) & (p < 1) & (own < (1 - CLOSE) * most), own, most)


def hits_of(accepted: Values, totals: Values) -> tuple[Values, Values]:
    """Hits and trials of `SHARES`, (4, n), from rows of label 0, 1 and none, (3, n)."""
    hits, trials = zip(*(share.counted(accepted, totals) for share in SHARES), strict=True)
    return np.stack(hits), np.stack(trials)


def effective_rows(cells: Cells) -> Floats:
    """Rows behind `SHARES` of each group, (4, K), at any threshold."""
    totals = cells.totals * cells.weight_unit
    squares = cells.by_group(cells.squares.sum(axis=2)) if cells.weighted else totals
    return kish(hits_of(totals, totals)[1], hits_of(squares, squares)[1])


def resampled(random: Generator, rows: Ints, squares: Values, unit: float) -> Ints:
    """Resampled counts of bins: Poisson numbers of rows, each with the mean weight of its bin.

    `rows` are positive counts in units of `unit`, and `squares` sums of squared weights.
    """
    if unit == 1.0:
        return np.asarray(random.poisson(rows), dtype=np.int64)
    sums = rows * unit
    drawn = np.rint(random.poisson(sums**2 / squares) * (squares / sums / unit))
    return np.asarray(drawn, dtype=np.int64)
