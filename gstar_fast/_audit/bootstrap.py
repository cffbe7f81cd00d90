"""How far apart chance alone puts the groups: critical values of gaps, by Poisson bootstrap on the counts.

Drawing rows with replacement gives every cell of accepted or rejected rows a count that is nearly Poisson, so a
replicate of a million rows costs a few numbers a group. Each replicate's rates are measured in standard errors from the
rates of the rows themselves; the range over the groups then says how large a difference comes from nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gstar_fast._audit.intervals import Rates
from gstar_fast._audit.metrics import GAPS, Gap, shares_of, values_of
from gstar_fast._backends.interface import Floats

AT_ONCE = 2**18  # numbers drawn in one go, for the sake of memory; part of what a seed means

RATES = tuple(dict.fromkeys(rate for gap in GAPS.values() for rate in gap.rates))


def ranges_of(accepted: NDArray[Any], totals: NDArray[Any], replicates: int, seed: int) -> dict[str, Floats]:
    """For each rate and replicate, the range over the groups of (replicate - rate) / standard error, over sqrt(2).

    Over the square root of 2, so that for two groups it is the size of a standard normal.
    """
    random = np.random.default_rng(seed)
    # One accepted and one rejected row more in each cell (Laplace): where all rows agree, redrawing them would show no
    # chance at all, and two rows would be as good as a million.
    there = totals > 0
    accepted, totals = accepted + there, totals + 2 * there
    rates = Rates(accepted, totals)
    centre = {name: rates.values[name][:, None] for name in RATES}
    error = {name: np.subtract(*rates.limits(name, 1.0)[::-1])[:, None] / 2 for name in RATES}
    used = there.any(axis=1)  # without unlabelled rows there is nothing to draw for them
    cells = np.stack([accepted, totals - accepted])[:, used, :, None]
    found: dict[str, list[Floats]] = {name: [] for name in RATES}
    at_once = max(AT_ONCE // cells.size, 1)
    for first in range(0, replicates, at_once):
        n = min(at_once, replicates - first)
        drawn = np.zeros((2, 3, totals.shape[1], n))
        drawn[:, used] = random.poisson(cells, (*cells.shape[:-1], n))
        values = values_of(*shares_of(drawn[0], drawn.sum(axis=0)))
        for name in RATES:
            t = np.nan_to_num((values[name] - centre[name]) / error[name])  # a group without the rows has no say
            found[name].append((t.max(axis=0) - t.min(axis=0)) / math.sqrt(2))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def critical(gap: Gap, ranges: dict[str, Floats], confidence: float, least: float) -> float:
    """How many standard errors two groups of this gap may differ by chance, for all pairs and rates at once."""
    parts = np.stack([ranges[name] for name in gap.rates])
    joint = np.sqrt((parts**2).sum(axis=0)) if gap.over == "sum" else parts.max(axis=0)
    return max(float(np.quantile(joint, confidence, method="higher")), least)
