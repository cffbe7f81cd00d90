"""The search over segments in C++: csrc/gstar/solve/segments.hpp."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from gstar_fast import _core
from gstar_fast._backends.common.segments import Best, Leaves, Mix, SegmentArrays
from gstar_fast._base.arrays import Floats, Ints

__all__ = ["choose", "mix", "price"]


def _search(p: SegmentArrays) -> _core.SegmentSearch:
    return _core.SegmentSearch(*(getattr(p, field.name) for field in fields(p)))


def price(p: SegmentArrays, weights: Floats, low: Ints, high: Ints) -> tuple[Ints, Floats]:
    """The candidate of least value in each segment, and the values."""
    return _search(p).price(weights, low, high)


def mix(p: SegmentArrays) -> Mix | None:
    """The cheapest mixture that meets every limit, or None."""
    found = _search(p).mix()
    if found is None:
        return None
    segment, number, weight, multipliers, bound, value, scans = found
    return Mix(segment, number, weight, multipliers.reshape(3, *p.base.shape), bound, value, scans)


def choose(p: SegmentArrays, node_limit: int, seconds: float = np.inf) -> Best:
    """The cheapest choice that meets every limit, with its proof."""
    numbers, nodes, finished, bound, (segment, candidate, child, weight, multipliers) = _search(p).choose(
        node_limit, seconds
    )
    shaped = multipliers.reshape(len(segment), 3, *p.base.shape)
    return Best(numbers, nodes, finished, bound, Leaves(segment, candidate, child, weight, shaped))
