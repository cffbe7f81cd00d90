"""Families fitted to the counts of one cell by maximum likelihood."""

from __future__ import annotations

import math

from gstar_fast._backends.interface import Densities
from gstar_fast._density.cell import Cell, NoDensityError

SMALLEST_DF = 0.1  # as in the backends: it decides which ties leave the Student-t likelihood without a maximum


def fit(cell: Cell, kind: str, room: Densities) -> tuple[tuple[float, ...], float]:
    """Parameters of largest likelihood and its mean logarithm, or NoDensityError."""
    if not (cell.deviation > 0.0 and math.isfinite(cell.deviation)):
        raise NoDensityError(f"{cell} {cell.spread_words}, so no {kind} density can be fitted; use kind='empirical'")
    points, weights = cell.sample
    if kind == "normal":
        log_likelihood = -0.5 * math.log(2.0 * math.pi) - math.log(cell.deviation) - 0.5
        return (cell.mean, cell.deviation), log_likelihood
    if kind == "student_t":
        # The likelihood grows without end as the scale shrinks onto a tie of share m where m / (1 - m) > df.
        tie = float(cell.atom_shares[0]) if cell.atom_shares.size else 0.0
        if tie >= SMALLEST_DF * (1.0 - tie):
            raise NoDensityError(
                f"{tie:.0%} of the rows of {cell} share one score, so the Student-t likelihood has no maximum; "
                "use kind='empirical' or 'kde'"
            )
        df, location, scale, log_likelihood, at_bound = room.fit_student_t(points, weights, cell.typical_width / 8.0)
        if at_bound:
            raise NoDensityError(
                f"the Student-t likelihood of {cell} has no maximum: it still rises at df={df:.3g}, scale={scale:.3g} "
                f"(a bin is {cell.typical_width:.3g} wide); use kind='empirical' or 'kde'"
            )
        return (df, location, scale), log_likelihood
    upright, mirrored = (
        room.fit_gamma(points, weights, side, *cell.end(side), cell.effective) for side in (False, True)
    )
    better = mirrored if mirrored[3] > upright[3] else upright
    return (*better[:3], better is mirrored), better[3]
