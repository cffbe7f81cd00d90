"""How many rows each rate rests on: counted rows, or effective ones where rows have weights."""

from __future__ import annotations

import numpy as np

from gstar_fast._backends.interface import Floats
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._solver.snapshot import Snapshot

LABELS = {0: (1,), 1: (0,), 2: (0, 1, 2), 3: (0, 1)}  # rate -> labels of its rows: tpr, fpr, selection rate, accuracy


def effective_rows(snapshot: Snapshot) -> Floats:
    """Rows behind tpr, fpr, selection rate and accuracy of each group, (4, K).

    Weights w say as much as (sum w)^2 / (sum w^2) rows of weight 1 (Kish). Without weights that is the number of rows.
    """
    squares = snapshot.squares()
    if squares is None:
        raise refusal("no_squares", "sketch")
    return effective(snapshot.rows.sum(axis=2) * snapshot.weight_unit, squares)


def effective(totals: Floats, squares: Floats) -> Floats:
    """The same from the sums of weights and of squared weights of each label and group, (3, K)."""
    out = np.empty((4, totals.shape[1]))
    for r, labels in LABELS.items():
        out[r] = totals[list(labels)].sum(axis=0) ** 2 / np.maximum(squares[list(labels)].sum(axis=0), 1e-300)
    return out
