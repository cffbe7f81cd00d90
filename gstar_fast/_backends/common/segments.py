"""Thresholds by segment while gaps are measured between protected groups: what is asked, what is answered.

A segment has candidates; a choice is one of them for each segment. All that matters of a choice is how many rows of
each cell (protected group, label) it accepts: cost and rates are linear in these sums. csrc/gstar/solve/segments.hpp
has the same in C++.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gstar_fast._base.arrays import Flags, Floats, Ints

SEGMENT_NODES = 20_000  # of the search for the best choice: hundreds of times what real data need


@dataclass(frozen=True)
class SegmentArrays:
    """Candidates of all segments end to end, in m segments, n candidates, C cells, A protected groups, R rates."""

    start: Ints  # (m + 1,) where each segment's candidates begin
    accepted: Floats  # (C, n) rows of a cell that a candidate accepts, whole numbers
    cell: Ints  # (C,) 3 * protected group + label of each cell, ascending
    cost: Ints  # (n,) E of a choice is the sum of one a segment / unit
    distance: Ints  # (n,) from the best unified threshold
    totals: Floats  # (3, A) rows of each label (2: unlabelled) and protected group
    price: Floats  # (C,) what one accepted row adds to E
    constant: float  # E of accepting nobody
    rate: Ints  # (R,) positions in RATES
    slope: Floats  # (R, C) what one accepted row adds to the rate of its group
    base: Floats  # (R, A) the rate of accepting nobody
    has: Flags  # (R, A)
    limit: Floats  # (R,) largest difference, tolerance included; inf where none
    ratio: Floats  # (R,) least ratio, tolerance included; -1 where none
    unit: float
    rising: bool  # candidates may not fall from one segment to the next; all segments have the same candidates then
    total: float  # largest sum of the gaps of the first two rates, tolerance included; inf where none


class Mix(NamedTuple):
    """The best mixture: one column is a candidate for each segment of its block."""

    segment: Ints  # (k,)
    number: Ints  # (k,) candidate, from 0 in its segment
    weight: Floats  # (k,) add up to one in each segment
    multipliers: Floats  # (3, R, A) that prove it: of lower rows, upper rows, ratio rows
    bound: float  # on E, from the multipliers; rounding errors taken off
    value: float  # E of the mixture
    scans: int  # looks at all candidates


class Leaves(NamedTuple):
    """A proof, as a tree: node i splits segment[i] after candidate[i], or is a leaf (segment -1, or -2: one choice)."""

    segment: Ints
    candidate: Ints
    child: Ints  # the left one, the right one follows; -1 for leaves
    weight: Floats  # of E in the bound of a leaf: 1, or 0 where no choice meets the limits
    multipliers: Floats  # (nodes, 3, R, A)


class Best(NamedTuple):
    """The best choice, and its proof."""

    numbers: Ints  # (m,) from 0 in each segment; -1 where none was found
    nodes: int
    finished: bool  # whether it is proven; without numbers: that no choice meets the limits
    bound: float  # on E of every choice
    leaves: Leaves


class Segments(Protocol):
    """The room `segments`."""

    def price(
        self, p: SegmentArrays, weights: Floats, low: Ints, high: Ints
    ) -> tuple[Ints, Floats]: ...  # best candidate of each segment between low and high, and its value
    def mix(self, p: SegmentArrays) -> Mix | None: ...  # None where no mixture meets the limits
    def choose(self, p: SegmentArrays, node_limit: int, seconds: float = ...) -> Best: ...
