"""Thresholds by segment from HiGHS: a linear or a mixed-integer program with one variable for each candidate."""

from __future__ import annotations

import numpy as np


def highs(rows: np.ndarray, limit: float, *, whole: bool) -> float | None:
    """Least error with equalized odds within the limit, None where nothing meets it.

    `rows` counts label, protected group, segment and bin, (2, 2, m, bins). `whole` asks for one threshold for each
    segment, otherwise for mixtures. Constraints are sparse, as a careful user would pass them.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, kron, vstack

    accepted = np.cumsum(rows[..., ::-1], axis=3, dtype=np.float64)[..., ::-1]
    _, _, m, bins = rows.shape
    totals = rows.sum(axis=(2, 3))
    negative, positive = accepted.sum(axis=1)
    cost = (negative + positive[:, :1] - positive).reshape(-1) / rows.sum()
    gaps = [(accepted[y, 1] / totals[y, 1] - accepted[y, 0] / totals[y, 0]).reshape(1, -1) for y in (0, 1)]
    one_each = kron(csr_array(np.eye(m)), csr_array(np.ones((1, bins))))
    low = np.concatenate([np.ones(m), np.full(2, -limit - 1e-12)])
    high = np.concatenate([np.ones(m), np.full(2, limit + 1e-12)])
    found = milp(
        cost,
        constraints=LinearConstraint(vstack([one_each, *map(csr_array, gaps)]), low, high),
        integrality=np.full(m * bins, int(whole)),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0.0},
    )
    return None if found.x is None else float(found.fun)
