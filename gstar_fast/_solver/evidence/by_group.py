"""Evidence for thresholds by group."""

from __future__ import annotations

import numpy as np

from gstar_fast._solver.evidence.rule import paired_z, parts_again, settled
from gstar_fast._solver.finish import finish, finish_mixture
from gstar_fast._solver.mix import Mixture
from gstar_fast._solver.result import Result
from gstar_fast._solver.search import Search


def settled_by_group(search: Search, best: Result, level: float) -> Result:
    """The best thresholds by group, or the unified one if there is no evidence against it."""
    cells, table = search.cells, search.table

    def z() -> float:
        return paired_z(cells, parts_again(cells, best), table.unified, search.scale)

    def unified() -> Result:
        starts = table.start[:-1].tolist()
        own = np.split(table.candidate, table.start[1:-1])  # the unified one is among those of every group
        numbers = np.array([int(np.searchsorted(candidates, table.unified)) for candidates in own])
        if best.mixtures is None:
            return finish(search, numbers, "unified", best.iterations)
        return finish_mixture(search, Mixture(starts + numbers, np.ones(len(numbers)), 0.0, best.iterations))

    labelled = int((table.totals[:2].sum(axis=0) > 0).sum())
    return settled(best, level, labelled, z, unified)
