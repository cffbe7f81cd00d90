"""How far apart chance alone puts the groups: critical values of gaps, by Poisson bootstrap on the counts.

Reads from: the audit's metrics and rates.  Read by: the audit.

Drawing rows with replacement gives every cell of accepted or rejected rows a count that is nearly Poisson, so a
replicate of a million rows costs a few numbers a group. Each replicate's rates are measured in standard errors from the
rates of the rows themselves; the range over the groups then says how large a difference comes from nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gstar_fast._audit_intervals import Rates
from gstar_fast._audit_metrics import GAPS, Gap, shares_of, values_of
from gstar_fast._backends._search import Floats

AT_ONCE = 2**18  # numbers drawn in one go, for the sake of memory; part of what a seed means

RATES = tuple(dict.fromkeys(rate for gap in GAPS.values() for rate in gap.rates))


def ranges_of(
    accepted: NDArray[Any], totals: NDArray[Any], rates: Rates, replicates: int, seed: int
) -> dict[str, Floats]:
    """For each rate and replicate, the range over the groups of (replicate - rate) / standard error, over sqrt(2).

    Over the square root of 2, so that for two groups it is the size of a standard normal.
    """
    random = np.random.default_rng(seed)
    used = totals.any(axis=1)  # without unlabelled rows there is nothing to draw for them
    cells = np.stack([accepted, totals - accepted])[:, used, :, None]
    errors = {name: _standard_error(rates, name)[:, None] for name in RATES}
    found: dict[str, list[Floats]] = {name: [] for name in RATES}
    at_once = max(AT_ONCE // cells.size, 1)
    for first in range(0, replicates, at_once):
        n = min(at_once, replicates - first)
        drawn = np.zeros((2, 3, totals.shape[1], n))
        drawn[:, used] = random.poisson(cells, (*cells.shape[:-1], n))
        values = values_of(*shares_of(drawn[0], drawn.sum(axis=0)))
        for name in RATES:
            with np.errstate(divide="ignore", invalid="ignore"):
                t = np.nan_to_num((values[name] - rates.values[name][:, None]) / errors[name])
            found[name].append((t.max(axis=0) - t.min(axis=0)) / math.sqrt(2))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _standard_error(rates: Rates, name: str) -> Floats:
    """Half the width of the interval at z = 1, which is above 0 also where all rows agree; NaN without rows."""
    low, high = rates.limits(name, 1.0)
    return (high - low) / 2


def critical(gap: Gap, ranges: dict[str, Floats], confidence: float) -> float:
    """How many standard errors two groups of this gap may differ by chance, for all pairs and rates at once."""
    parts = np.stack([ranges[name] for name in gap.rates])
    joint = np.sqrt((parts**2).sum(axis=0)) if gap.over == "sum" else parts.max(axis=0)
    return float(np.quantile(joint, confidence, method="higher"))
