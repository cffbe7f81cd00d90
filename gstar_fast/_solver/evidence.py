"""The comparison of thresholds by group with the best unified threshold.

Both rules decide most rows alike. The others lie between the two thresholds of a group: each is right under one rule
and wrong under the other. z is what thresholds by group save on these rows, divided by the root of the sum of squared
prices (McNemar's test, with prices and weights).

Thresholds by group are chosen on the same rows, so they save something by chance where groups do not differ, and more
with every group. Simulated for identical groups (benchmarks/studies/evidence.py), z of K groups has a mean of about
1.1 sqrt(K - 1) - 0.35 and a standard deviation of 0.4 to 0.55, for any number of rows. `needed_z` is larger, so that
mean gaps on fresh rows stay within 1.1 times those of the unified threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from gstar_fast._criteria import TOLERANCE
from gstar_fast._solver.answer.parts import Evidence
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.answer.words import is_weighted
from gstar_fast._solver.cells import Cells, Parts
from gstar_fast._solver.question import Scale

SLOPE, SHIFT, SPREAD = 1.1, -0.2, 0.5
MOST_DIGITS = 9


def needed_z(level: float, n_thresholds: int) -> float:
    """The z that thresholds by group must exceed; chance alone rarely does with this number of thresholds."""
    return SLOPE * math.sqrt(n_thresholds) + SHIFT + SPREAD * NormalDist().inv_cdf(level)


def parts_again(cells: Cells, result: Result) -> Parts:
    """Thresholds of a result as candidates."""
    each = ([(t, 1.0)] for t in result.thresholds.values()) if result.mixtures is None else result.mixtures.values()
    return [{int(np.searchsorted(cells.candidates, t)): w for t, w in part} for part in each]


def paired_z(cells: Cells, parts: Parts, unified: int, scale: Scale) -> float:
    """The saving of candidates over the unified one, in standard errors."""
    squares = cells.squares if cells.weighted else None
    gains, variances = [], []
    for k, part in enumerate(list(parts[j].items()) for j in cells.segment.tolist()):
        for low, high in pairwise(sorted({unified, *(candidate for candidate, _ in part)})):
            more = math.fsum([*(weight for candidate, weight in part if candidate <= low), -float(unified <= low)])
            negative, positive = cells.rows[:2, k, low:high].sum(axis=1).tolist()
            gains.append(more * (scale.fn * positive - scale.fp * negative) * cells.weight_unit)
            if squares is not None:  # of the weights of these rows
                negative, positive = squares[:2, k, low:high].sum(axis=1).tolist()
            variances.append(more**2 * (scale.fp**2 * negative + scale.fn**2 * positive))
    variance = math.fsum(variances)
    return math.fsum(gains) / math.sqrt(variance) if variance > 0 else 0.0


def settled(
    best: Result,
    level: float,
    n_thresholds: int,
    z_of: Callable[[], float],
    unified_of: Callable[[], Result],
) -> Result:
    """The best result, or the unified threshold if it meets the limits and there is no evidence against it.

    `z_of` computes the z of `best`, and `unified_of` the result of the unified threshold.
    """
    met = all(one.limit.met(one.before, TOLERANCE) is not False for one in best.gaps.held)
    used = set(best.thresholds.values())
    if best.mixtures is not None:
        used = {threshold for mixture in best.mixtures.values() for threshold, _ in mixture}
    if not met or used == {best.thresholds.default}:
        return best.but(evidence=Evidence(level))
    evidence = Evidence(level, best.cost, z_of(), needed_z(level, n_thresholds))
    assert evidence.z is not None
    assert evidence.needed is not None
    if evidence.z > evidence.needed:
        return best.but(evidence=evidence)
    unified = unified_of()
    return unified.but(
        verdict="unified",
        message=_message(unified, evidence),
        lower_bound=min(best.lower_bound, unified.loss),
        iterations=best.proof.iterations,
        evidence=evidence,
    )


def _message(unified: Result, evidence: Evidence) -> str:
    """Both costs, and why the difference is not enough."""
    assert evidence.cost is not None
    digits = 4
    while digits < MOST_DIGITS and f"{unified.cost:.{digits}f}" == f"{evidence.cost:.{digits}f}":
        digits += 1
    what = "cost" if is_weighted(unified) else "error"
    mixed = "mixtures of thresholds" if unified.randomized else "thresholds"
    own = f"{mixed} by {'group' if unified.rates.by_segment is None else 'segment'}"
    return (
        f"the best unified threshold {'meets the limits with' if unified.limits else 'has'} {what} "
        f"{unified.cost:.{digits}f}; {own} have {evidence.cost:.{digits}f}, which is not significantly lower "
        f"(z = {evidence.z:.2f}, {evidence.level:g} confidence needs {evidence.needed:.2f})"
    )
