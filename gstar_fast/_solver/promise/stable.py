"""`prefer="stable"`: the fairest thresholds that hardly cost more, without a promise.

The error on the counted rows is itself known only to within a standard error, sqrt(e (1 - e) / n). Of all points of the
frontier whose error is within half of that from the least, the one with the smallest gap is taken. It keeps a limit on
new rows more often than the point right at the limit, and promises nothing.
"""

from __future__ import annotations

import numpy as np

from gstar_fast._backends import room
from gstar_fast._backends.interface import Ints
from gstar_fast._criteria import ADDED
from gstar_fast._solver.result import Result
from gstar_fast._solver.search import Search

WITHIN = 0.5  # standard errors
SIGN = "the smallest gap whose "  # how the message begins
POINTS = 20_000_000  # boxes


def fairest(search: Search, plain: Result) -> Ints | None:
    """The choice of the smallest gap with nearly the error of `plain`; None where the frontier has none."""
    p = search.arrays
    swept = np.ones(len(p.limit), dtype=np.uint8)
    choices, _, _ = room("solver").frontier(p, swept, POINTS, ADDED in search.objective.limits)
    if len(choices) == 0:
        return None
    cost = p.cost[p.start[:-1] + choices].sum(axis=1) / p.unit
    snapshot = search.snapshot
    labelled = float(search.table.totals[:2].sum()) * snapshot.weight_unit
    rows = labelled**2 / float(snapshot.squares()[:2].sum()) if snapshot.weighted else labelled
    within = WITHIN * float(np.sqrt(plain.error * (1 - plain.error) / rows))
    near = np.flatnonzero(cost <= cost.min() + within + 1e-15)
    numbers: Ints = choices[int(near[0])]  # gaps rise along the frontier
    return numbers
