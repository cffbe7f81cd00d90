"""What the solvers of all backends read: plain arrays, nothing of where they came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gstar_fast._base.arrays import Values

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NODE_LIMIT = 20_000  # nodes of the search with penalties for up to fifty groups
BOX_LIMIT = 2_000_000  # boxes of the search with limits; thousands of times what real data need


def node_limit(n_groups: int) -> int:
    """Nodes of the search with penalties: fewer for many groups, where each costs more; the same on every backend."""
    return min(NODE_LIMIT, 50 * NODE_LIMIT // n_groups)


class Table(NamedTuple):
    """Accepted rows at the candidates worth looking at, groups end to end (see a backend's `tabulate`)."""

    start: Ints  # (K + 1,)
    candidate: Ints  # (n,) 0 is -inf, 1 + i is edges[i]
    accepted: Ints  # (3, n) label 0, label 1, unlabelled
    cost: Ints  # (n,)
    totals: Ints  # (3, K)
    at_unified: Ints  # (3, K) rows the best unified candidate accepts
    unified: int


@dataclass(frozen=True)
class Arrays:
    """Everything about a search over candidates, groups end to end; a choice is one candidate a group."""

    start: Ints  # (K + 1,) where each group's candidates begin
    cost: Values  # (n,) int64 from counts, float64 from densities; E = sum of one a group / unit
    distance: Ints  # (n,) from the best unified threshold, in candidates
    rates: Floats  # (R, n) the rates that are limited, penalised or swept
    has: NDArray[np.uint8]  # (R, K) whether a group has the rows a rate needs
    limit: Floats  # (R,) largest difference, tolerance included; inf where none
    ratio: Floats  # (R,) least ratio, tolerance included; -1 where none
    penalty: Floats  # (R,)
    unit: float


class SmoothProblem(NamedTuple):
    """The loss on densities. Rates and E are linear in the cdfs of a group's cells (label 0, label 1, unlabelled).

    rate = rate_base - sum of rate_coefficient * cdf,
    E = sum over groups of error_base + sum of error_coefficient * cdf.
    """

    cells: list[Any]  # 3 K evaluators with `at(x) -> (cdf, pdf)`; None where a cell has no rows
    error_base: Floats  # (K,)
    error_coefficient: Floats  # (K, 3)
    rate_base: Floats  # (R, K)
    rate_coefficient: Floats  # (R, K, 3)
    has: NDArray[np.uint8]  # (R, K)
    penalty: Floats  # (R,)
    low: float  # thresholds stay in here
    high: float
