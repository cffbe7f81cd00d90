"""The search over segments in C++: csrc/gstar/solve/segments/segments.hpp."""

from __future__ import annotations

import numpy as np

from gstar_fast import _core
from gstar_fast._backends.common.segments import Best, Leaves, Mix, Program


def mix(p: Program) -> Mix | None:
    """The cheapest mixture that meets every limit, or None."""
    found = _core.mix_segments(p)
    return None if found is None else Mix(*found)


def choose(p: Program, node_limit: int, seconds: float = np.inf) -> Best:
    """The cheapest choice that meets every limit, with its proof."""
    numbers, nodes, finished, bound, (segment, candidate, child, weight, multipliers) = _core.choose_segments(
        p, node_limit, seconds
    )
    shaped = multipliers.reshape(len(segment), len(p.rows))
    return Best(numbers, nodes, finished, bound, Leaves(segment, candidate, child, weight, shaped))
