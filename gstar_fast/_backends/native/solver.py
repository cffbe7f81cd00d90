"""The searches in C++: csrc/gstar/frontier.hpp and csrc/gstar/solve."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gstar_fast import _core
from gstar_fast._backends.interface import Arrays, Floats, Ints, SmoothProblem, Table

__all__ = [
    "alternate",
    "frontier",
    "newton",
    "solve_limits",
    "solve_pair",
    "solve_penalties",
    "sweep",
    "tabulate",
]

Descent = tuple[Floats, float, int, bool, Floats]  # thresholds, loss, iterations, stalled, trace


def _search(p: Arrays) -> Any:
    kind = _core.CountSearch if p.cost.dtype.kind == "i" else _core.ShareSearch
    return kind(p.start, p.cost, p.distance, p.rates, p.has, p.limit, p.ratio, p.penalty, p.unit)


def tabulate(rows: Ints, price_fp: int, price_fn: int) -> Table:
    """Accepted rows at every candidate worth looking at."""
    return Table(*_core.tabulate(rows, price_fp, price_fn))


def solve_limits(p: Arrays, node_limit: int, seconds: float = np.inf) -> tuple[Ints, int, bool, Any]:
    """The cheapest choice that meets every limit; boxes opened; whether the search finished; a bound on the cost."""
    return _search(p).solve_limits(node_limit, seconds)  # type: ignore[no-any-return]


def solve_pair(p: Arrays) -> tuple[Ints, float, int]:
    """The least loss over all pairs of two groups' candidates."""
    return _search(p).solve_pair()  # type: ignore[no-any-return]


def solve_penalties(p: Arrays, guess: Ints, node_limit: int, seconds: float = np.inf) -> tuple[Ints, float, float, int]:
    """The least loss: choice, loss, proven lower bound, nodes opened."""
    return _search(p).solve_penalties(guess, node_limit, seconds)  # type: ignore[no-any-return]


def frontier(p: Arrays, swept: NDArray[np.uint8], node_limit: int) -> tuple[Ints, Floats, float]:
    """Every choice nobody dominates in (cost, gap), from the smallest gap to the least cost."""
    return _search(p).frontier(swept, node_limit)  # type: ignore[no-any-return]


def _smooth(p: SmoothProblem) -> Any:
    return _core.SmoothProblem(*p)


def alternate(p: SmoothProblem, start: Floats, shrink: float, limit: int, tolerance: float, trace: bool) -> Descent:
    """The paper's loop."""
    return _smooth(p).alternate(start, shrink, limit, tolerance, trace)  # type: ignore[no-any-return]


def newton(
    p: SmoothProblem, start: Floats, exact: bool, shared: bool, limit: int, tolerance: float, trace: bool
) -> Descent:
    """All thresholds at once, damped; `exact` uses the full Hessian, `shared` moves all thresholds together."""
    return _smooth(p).newton(start, exact, shared, limit, tolerance, trace)  # type: ignore[no-any-return]


def sweep(
    p: SmoothProblem, grid: Arrays, edges: Floats, penalties: Floats, tolerance: float
) -> tuple[Floats, Floats, int, int]:
    """Many penalties on the same smooth densities of two groups: thresholds, losses, Newton steps, restarts."""
    return _smooth(p).sweep(_search(grid), edges, penalties, tolerance)  # type: ignore[no-any-return]
