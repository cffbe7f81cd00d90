"""Densities in the place of a sketch: how many rows each stands for, and where thresholds are looked for."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from gstar_fast._backends.interface import Floats
from gstar_fast._base.names import Name, check_distinct, clean_name, sort_key
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._density.density import Density
from gstar_fast._solver.cells import Cells

WHOLE = 50  # all rows together are about 2 ** 50 units, so that shares of them are whole numbers too
QUANTILES, LEAST = 2048, 32  # that are candidates, of all cells together and of one
TAIL = np.geomspace(1e-9, 1.0, 32, endpoint=False)  # and quantiles in the tails of each, as parts of the first
EVEN = 1024  # candidates at equal steps over the middle

Densities = Mapping[tuple[int, Name], Density]


def checked_densities(given: object) -> dict[tuple[int, Name], Density]:
    """What stands in the place of a sketch; the error says which entry is wrong."""
    if not isinstance(given, Mapping):
        raise refusal("densities_type", "densities", value=type(given).__name__)
    if not given:
        raise refusal("no_densities", "densities")
    found: dict[tuple[int, Name], Density] = {}
    for key, one in given.items():
        if not (isinstance(key, tuple) and len(key) == 2):
            raise refusal("densities_type", "densities", value=f"the key {key!r}")
        label, name = key
        if isinstance(label, (bool, np.bool_)) or label not in (0, 1):
            raise refusal("densities_label", "densities", value=label)
        if not isinstance(one, Density):
            raise refusal("densities_type", "densities", value=f"{type(one).__name__} for {key!r}")
        if one.n_rows is None:
            raise refusal("densities_rows", "densities", value=key)
        found[int(label), clean_name(name)] = one
    check_distinct({name for _, name in found})
    return found


def expected_cells(cells: Densities) -> Cells:
    """What the solvers read of a sketch, as these densities expect it: counts between candidates, groups in order."""
    names = tuple(sorted({name for _, name in cells}, key=sort_key))
    edges = _edges(cells)
    exponent = WHOLE - math.ceil(math.log2(math.fsum(float(one.n_rows or 0.0) for one in cells.values())))
    rows = np.zeros((3, len(names), len(edges) + 1), dtype=np.int64)
    for (label, name), one in cells.items():
        total = max(round(math.ldexp(float(one.n_rows or 0.0), exponent)), 1)
        before = np.rint(total * np.maximum.accumulate(one.at(edges)[0])).astype(np.int64)
        rows[label, names.index(name)] = np.diff(before, prepend=0, append=total)
    unit = 2.0**-exponent
    expected = np.asarray(rows * unit, dtype=np.float64)
    return Cells(names, edges, rows, unit, numbers=expected.sum(axis=2), squared=expected)


def _edges(cells: Densities) -> Floats:
    """Quantiles of every cell, so that no rate changes by much from one candidate to the next, and even steps."""
    n = max(QUANTILES // len(cells), LEAST)
    levels = np.concatenate([TAIL / n, np.arange(1, n) / n, 1.0 - TAIL[::-1] / n])
    found = np.concatenate([np.asarray(one.quantile(levels)) for one in cells.values()])
    middle = np.concatenate([np.asarray(one.quantile([0.001, 0.999])) for one in cells.values()])
    found, middle = found[np.isfinite(found)], middle[np.isfinite(middle)]
    if middle.size:
        found = np.append(found, np.linspace(middle.min(), middle.max(), EVEN))
    edges = np.unique(found)
    if len(edges) < 2:  # one score, or none that is finite
        at = float(edges[0]) if len(edges) else 0.0
        edges = np.array([at, at + max(abs(at), 1.0)])
    return edges
