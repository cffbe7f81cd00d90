"""The reference of the search over segments; csrc/gstar/solve/segments/segments.hpp takes the same steps."""

from __future__ import annotations

from gstar_fast._backends.common.segments import Mix, Program
from gstar_fast._backends.numpy.segments_bounds import Search, price
from gstar_fast._backends.numpy.segments_tree import choose

__all__ = ["choose", "mix", "price"]


def mix(p: Program) -> Mix | None:
    """The cheapest mixture that meets every limit, or None."""
    return Search(p).mix()
