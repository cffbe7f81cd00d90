"""What the rivals that train a model share: the rows they train on, and their answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.paper.method import Rows, Split

MOST_ROWS = 30_000  # of CelebA's 106,000 fit rows or more; the other data sets have fewer


@dataclass(frozen=True)
class FairModel:
    """The decisions of a model that scores rows by itself: accept where its own logit is not negative."""

    score: Callable[[Rows], np.ndarray]  # rows -> float64 (n,)

    def __call__(self, rows: Rows, _base: np.ndarray) -> np.ndarray:
        return (self.score(rows) >= 0).astype(np.float64)


def training_rows(split: Split, most: int = MOST_ROWS) -> Rows:
    """The fit rows, or `most` of them drawn by the split's seed."""
    fit = split.fit
    if len(fit) <= most:
        return fit
    some = np.sort(np.random.default_rng([split.seed, most]).choice(len(fit), most, replace=False))
    return Rows(fit.X[some], fit.y[some], fit.a[some], fit.score[some], fit.q[some])
