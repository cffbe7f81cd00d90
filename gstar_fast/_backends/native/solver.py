"""The searches in C++: csrc/gstar/exact_limits.hpp, exact_pair.hpp, exact_targets.hpp, frontier.hpp, mixture.hpp."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ..._objective import Arrays, Floats, Ints, Table

__all__ = ["frontier", "solve_limits", "solve_pair", "solve_penalties", "tabulate"]


def _search(p: Arrays) -> Any:
    kind = _core.SearchArrays_counts if p.cost.dtype.kind == "i" else _core.SearchArrays_shares
    return kind(p.start, p.cost, p.distance, p.rates, p.has, p.limit, p.ratio, p.penalty, p.unit)


def tabulate(rows: Ints, price_fp: int, price_fn: int) -> Table:
    """Accepted rows at every candidate worth looking at."""
    return Table(*_core.tabulate(rows, price_fp, price_fn))


def solve_limits(p: Arrays, node_limit: int) -> tuple[Ints, int, bool, Any]:
    """The cheapest choice that meets every limit; boxes opened; whether the search finished; a bound on the cost."""
    return _search(p).solve_limits(node_limit)  # type: ignore[no-any-return]


def solve_pair(p: Arrays) -> tuple[Ints, float, int]:
    """The least loss over all pairs of two groups' candidates."""
    return _search(p).solve_pair()  # type: ignore[no-any-return]


def solve_penalties(p: Arrays, guess: Ints, node_limit: int) -> tuple[Ints, float, float, int]:
    """The least loss: choice, loss, proven lower bound, nodes opened."""
    return _search(p).solve_penalties(guess, node_limit)  # type: ignore[no-any-return]


def frontier(p: Arrays, swept: NDArray[np.uint8], node_limit: int) -> tuple[Ints, Floats, float]:
    """Every choice nobody dominates in (cost, gap), from the fairest to the cheapest."""
    return _search(p).frontier(swept, node_limit)  # type: ignore[no-any-return]
