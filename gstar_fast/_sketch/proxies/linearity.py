"""Tests that the shares of rows in a score range are linear in the probabilities of the groups, as unmixing assumes.

`docs/reference/proxies.md` has the formulas, the level and the power.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gstar_fast._base.arrays import Floats, Ints

LEVEL = 0.01  # how often the test warns if the assumptions hold
RANGES = 5  # score ranges, with about equal numbers of rows
POWERS = (2, 3)  # of the probabilities; under the assumptions they explain nothing
FEWEST = 100  # rows of a label for each group
LEAST_WORTH = 50  # effective rows that a contrast needs
STEPS = 8  # probabilities of the likeliest group are cut at 4/8, 5/8, 6/8 and 7/8
LEVELS = 5


def segments_of(probabilities: Floats) -> Ints:
    """Segment of each row: its likeliest group, and one of `LEVELS` levels of that group's probability."""
    likeliest = probabilities.argmax(axis=1)
    level = np.ceil(STEPS * probabilities.max(axis=1)).astype(np.int64) - STEPS // 2
    out: Ints = LEVELS * likeliest + np.clip(level, 0, LEVELS - 1)
    return out


class Fit(NamedTuple):
    """How far counts are from linear ones: a chi-square and its degrees of freedom."""

    chi_square: float
    degrees: int

    @property
    def chance(self) -> float:
        """The chance of a chi-square this large if the assumptions hold."""
        from scipy.special import chdtrc  # not at import: the package starts without scipy

        return float(chdtrc(self.degrees, self.chi_square)) if self.degrees else 1.0

    @property
    def contradicts(self) -> bool:
        """Whether the assumptions are rejected."""
        return self.chance < LEVEL


def fit_of(counts: Ints, sums: Floats) -> Fit:
    """Fit of one label's rows, from (segments, bins) counts and (segments, groups) sums of probabilities."""
    used = counts.sum(axis=1) > 0
    seen, rows = _in_ranges(counts[used]), counts[used].sum(axis=1).astype(np.float64)
    n_groups = sums.shape[1]
    if len(rows) <= n_groups or rows.sum() < FEWEST * n_groups or seen.shape[1] < 2:
        return Fit(0.0, 0)
    mean = sums[used] / rows[:, None]
    weighted = (rows[:, None] * mean).T
    more = np.hstack([mean**power for power in POWERS])
    solved = np.linalg.lstsq(weighted @ mean, np.hstack([weighted @ more, mean.T @ seen]), rcond=None)[0]
    share = np.clip(mean @ solved[:, more.shape[1] :], 1e-3, None)
    share /= share.sum(axis=1, keepdims=True)
    contrasts = _contrasts(more - mean @ solved[:, : more.shape[1]], rows)
    found = (contrasts.T @ seen)[:, :-1].ravel()
    if not len(found):
        return Fit(0.0, 0)
    share = share[:, :-1]
    # each row falls into one range: variances share (1 - share), covariances -share share
    each = rows[:, None, None] * (
        np.einsum("sa,ab->sab", share, np.eye(share.shape[1])) - share[:, :, None] * share[:, None, :]
    )
    covariance = np.einsum("sc,sab,sd->cadb", contrasts, each, contrasts).reshape(len(found), len(found))
    return Fit(float(found @ np.linalg.solve(covariance, found)), len(found))


def _in_ranges(counts: Ints) -> Floats:
    """The same rows in a few ranges of neighbouring bins, with about equal numbers of rows."""
    below = np.cumsum(counts.sum(axis=0))
    ends = np.unique(np.searchsorted(below, below[-1] * np.arange(1, RANGES + 1) / RANGES)) + 1
    starts = np.concatenate([[0], ends[:-1]])
    return np.add.reduceat(counts, starts, axis=1).astype(np.float64)


def _contrasts(left: Floats, rows: Floats) -> Floats:
    """Orthogonal contrasts of the residuals `left`, without those that are nearly zero or depend on few rows."""
    _, sizes, turned = np.linalg.svd(np.sqrt(rows)[:, None] * left, full_matrices=False)
    turned = turned[sizes > 1e-6 * math.sqrt(rows.sum())]
    out: Floats = left @ turned.T
    squares = rows[:, None] * out**2
    worth = squares.sum(axis=0) ** 2 / (squares * out**2).sum(axis=0)
    return out[:, worth >= LEAST_WORTH]
