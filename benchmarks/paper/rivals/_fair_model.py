"""What the rivals that train a model share: the rows they train on, and their answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.paper.method import Rows, Split

# CelebA alone has more fit rows than WHOLE, 106,000 or more. Adult has 34,189 in the paper's protocol.
WHOLE, MOST_ROWS = 40_000, 30_000


@dataclass(frozen=True)
class FairModel:
    """The decisions of a model that scores rows by itself: accept where its own logit is not negative."""

    score: Callable[[Rows], np.ndarray]  # rows -> float64 (n,)

    def __call__(self, rows: Rows, _base: np.ndarray) -> np.ndarray:
        return (self.score(rows) >= 0).astype(np.float64)


def training_rows(split: Split) -> Rows:
    """The fit rows; where there are more than `WHOLE`, `MOST_ROWS` of them, drawn by the split's seed."""
    return split.fit if len(split.fit) <= WHOLE else drawn(split.fit, MOST_ROWS, split.seed)


def drawn(rows: Rows, number: int, seed: int) -> Rows:
    some = np.sort(np.random.default_rng([seed, number]).choice(len(rows), number, replace=False))
    return Rows(rows.X[some], rows.y[some], rows.a[some], rows.score[some], rows.q[some])
