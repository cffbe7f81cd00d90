"""The searches in C++: csrc/gstar/solve."""

from __future__ import annotations

import numpy as np

from gstar_fast import _core
from gstar_fast._backends.common.choices import refuse_bands
from gstar_fast._backends.interface import Arrays, Descent, Floats, Ints, SmoothProblem, Table
from gstar_fast._base.arrays import Flags


def _search(p: Arrays) -> _core.CountSearch | _core.ShareSearch:
    fields = p.start, p.cost, p.distance, p.rates, p.has, p.limit, p.ratio, p.penalty, p.unit, p.low, p.high, p.total
    return _core.CountSearch(*fields) if p.cost.dtype.kind == "i" else _core.ShareSearch(*fields)


def tabulate(rows: Ints, price_fp: int, price_fn: int) -> Table:
    """Accepted rows at every candidate worth looking at."""
    return Table(*_core.tabulate(rows, price_fp, price_fn))


def solve_limits(p: Arrays, node_limit: int, seconds: float = np.inf) -> tuple[Ints, int, bool, float]:
    """The cheapest choice that meets every limit; boxes opened; whether the search finished; a bound on the cost."""
    return _search(p).solve_limits(node_limit, seconds)


def solve_pair(p: Arrays) -> tuple[Ints, float, int]:
    """The least loss over all pairs of two groups' candidates."""
    refuse_bands(p)
    return _search(p).solve_pair()


def solve_penalties(p: Arrays, guess: Ints, node_limit: int, seconds: float = np.inf) -> tuple[Ints, float, float, int]:
    """The least loss: choice, loss, proven lower bound, nodes opened."""
    refuse_bands(p)
    return _search(p).solve_penalties(guess, node_limit, seconds)


def frontier(p: Arrays, swept: Flags, node_limit: int, added: bool = False) -> tuple[Ints, Floats, float]:
    """Every choice nobody dominates in (cost, gap), from the smallest gap to the least cost."""
    return _search(p).frontier(swept, node_limit, added)


def _smooth(p: SmoothProblem) -> _core.SmoothProblem:
    return _core.SmoothProblem(*p[:-1])  # which knows slopes, and needs no steps to estimate them


def alternate(p: SmoothProblem, start: Floats, shrink: float, limit: int, tolerance: float, trace: bool) -> Descent:
    """The paper's loop."""
    return _smooth(p).alternate(start, shrink, limit, tolerance, trace)


def newton(
    p: SmoothProblem, start: Floats, exact: bool, shared: bool, limit: int, tolerance: float, trace: bool
) -> Descent:
    """All thresholds at once, damped; `exact` uses the full Hessian, `shared` moves all thresholds together."""
    return _smooth(p).newton(start, exact, shared, limit, tolerance, trace)


def sweep(
    p: SmoothProblem, grid: Arrays, edges: Floats, penalties: Floats, tolerance: float
) -> tuple[Floats, Floats, int, int]:
    """Many penalties on the same smooth densities of two groups: thresholds, losses, Newton steps, restarts."""
    shares = _search(grid)
    assert isinstance(shares, _core.ShareSearch)  # costs of densities are never whole numbers
    return _smooth(p).sweep(shares, edges, penalties, tolerance)
