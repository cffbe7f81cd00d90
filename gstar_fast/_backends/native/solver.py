"""The searches in C++: csrc/gstar/solve."""

from __future__ import annotations

import numpy as np

from gstar_fast import _core
from gstar_fast._backends.common.choices import refuse_bands
from gstar_fast._backends.interface import Arrays, Descent, Floats, Ints, SmoothProblem, Table
from gstar_fast._base.arrays import Flags


def tabulate(rows: Ints, price_fp: int, price_fn: int) -> Table:
    """Accepted rows at every candidate worth looking at."""
    return Table(*_core.tabulate(rows, price_fp, price_fn))


def solve_limits(p: Arrays, node_limit: int, seconds: float = np.inf) -> tuple[Ints, int, bool, float]:
    """The cheapest choice that meets every limit; boxes opened; whether the search finished; a bound on the cost."""
    return _core.solve_limits(p, node_limit, seconds)


def solve_pair(p: Arrays) -> tuple[Ints, float, int]:
    """The least loss over all pairs of two groups' candidates."""
    refuse_bands(p)
    return _core.solve_pair(p)


def solve_penalties(p: Arrays, guess: Ints, node_limit: int, seconds: float = np.inf) -> tuple[Ints, float, float, int]:
    """The least loss: choice, loss, proven lower bound, nodes opened."""
    refuse_bands(p)
    return _core.solve_penalties(p, guess, node_limit, seconds)


def frontier(p: Arrays, swept: Flags, node_limit: int, added: bool = False) -> tuple[Ints, Floats, float]:
    """Every choice nobody dominates in (cost, gap), from the smallest gap to the least cost."""
    return _core.frontier(p, swept, node_limit, added)


def alternate(p: SmoothProblem, start: Floats, shrink: float, limit: int, tolerance: float, trace: bool) -> Descent:
    """The paper's loop."""
    return _core.SmoothProblem(p).alternate(start, shrink, limit, tolerance, trace)


def newton(
    p: SmoothProblem, start: Floats, exact: bool, shared: bool, limit: int, tolerance: float, trace: bool
) -> Descent:
    """All thresholds at once, damped; `exact` uses the full Hessian, `shared` moves all thresholds together."""
    return _core.SmoothProblem(p).newton(start, exact, shared, limit, tolerance, trace)


def sweep(
    p: SmoothProblem, grid: Arrays, edges: Floats, penalties: Floats, tolerance: float
) -> tuple[Floats, Floats, int, int]:
    """Many penalties on the same smooth densities of two groups: thresholds, losses, Newton steps, restarts."""
    return _core.SmoothProblem(p).sweep(grid, edges, penalties, tolerance)
