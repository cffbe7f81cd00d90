"""Thresholds by segment while limits hold between protected groups: what is asked, what is answered.

A segment has candidates; a choice is one of them for each segment. A candidate has features: rows of a cell (protected
group, label) that it accepts, or rates of a group. Cost and measures (a rate of a group) are linear in sums of features
over segments, and limits are rows over measures. csrc/gstar/solve/segments/segments.hpp has the same in C++.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from gstar_fast._base.arrays import Bools, Floats, Ints

SMALLEST = 1e-12  # of E: what the search tells apart at most
SEGMENT_NODES = 20_000  # of the search for the best choice: hundreds of times what real data need

# Kinds of rows. t is the low end of the row's window: the least of the measures that a limit compares.
LOW = 0  # t - measure <= 0
HIGH = 1  # measure - t <= right
RATIO = 2  # scale * measure - t <= 0
SHARE = 3  # measure - t - d <= 0 in one window, measure - t + d <= right in another: their gaps have a limited sum
LEAST = 4  # -measure <= right
MOST = 5  # measure <= right


class Row(NamedTuple):
    """A limit on one measure: scale * measure + its window + share * d <= right."""

    kind: int
    measure: int
    window: int  # from 0; -1 where the limit compares nothing
    scale: float
    right: float
    share: float = 0.0


@dataclass(frozen=True)
class Rows:
    """All rows, those of a window and of a measure side by side."""

    kind: Ints
    measure: Ints
    window: Ints
    scale: Floats
    right: Floats  # tolerance included
    share: Floats

    @classmethod
    def of(cls, rows: list[Row]) -> Rows:
        whole = np.array([row[:3] for row in rows], dtype=np.int64).reshape(-1, 3)
        real = np.array([row[3:] for row in rows], dtype=np.float64).reshape(-1, 3)
        return cls(whole[:, 0], whole[:, 1], whole[:, 2], real[:, 0], real[:, 1], real[:, 2])

    def kept(self, keep: Bools) -> list[Row]:
        """Some of the rows, one by one."""
        columns = (column[keep].tolist() for column in vars(self).values())
        return [Row(*row) for row in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def n_windows(self) -> int:
        return int(self.window.max(initial=-1)) + 1

    @property
    def limits(self) -> Bools:
        """Rows whose right side is a limit."""
        return np.asarray((self.kind == HIGH) | (self.share > 0) | (self.kind >= LEAST))

    def looser(self, slack: float, least: float = -np.inf) -> Rows:
        """The same rows with every limit looser; differences and sums stay at least `least`."""
        moved = np.where(self.kind >= LEAST, self.right + slack, np.maximum(self.right + slack, least))
        ratio = self.kind == RATIO
        scale = np.where(ratio, np.maximum(self.scale - slack, 0.0), self.scale)
        keep = ~ratio | (scale > 0)
        out = replace(self, right=np.where(self.limits, moved, self.right), scale=scale)
        return out if keep.all() else out.at(keep)

    def at(self, keep: Bools) -> Rows:
        """Some of the rows."""
        return Rows(*(column[keep] for column in vars(self).values()))


def rows_of(
    limit: Floats, ratio: Floats, total: float, has: Bools, others: Sequence[Row] = (), *, apart: int = 0
) -> Rows:
    """The rows for rates (R, A): differences (inf: any), least ratios (-1: any), the sum of the first two gaps.

    Measure r * A + a is the low end of rate r of group a, and `apart` after it is the high end. The other rows follow.
    """
    found: list[Row] = []
    for r, a in np.argwhere(has).tolist():
        low, most, least, summed = r * has.shape[1] + a, float(limit[r]), float(ratio[r]), total < np.inf and r < 2
        above = []
        if most < np.inf and not (summed and most >= total):
            above.append(Row(HIGH, low + apart, r, 1.0, most))
        if summed:  # the first gap is d at most, the second what is left
            above.append(Row(SHARE, low + apart, r, 1.0, total if r else 0.0, 1.0 if r else -1.0))
        if least > 0:
            above.append(Row(RATIO, low + apart, r, least, 0.0))
        if above:
            found += [Row(LOW, low, r, -1.0, 0.0), *above]
    return Rows.of([*found, *others])


def excess(rows: Rows, measures: Floats) -> float:
    """By how much measures break the worst of some rows; 0 where there are none."""
    low, above = rows.kind == LOW, rows.kind != LOW
    least = np.full(rows.n_windows, np.inf)
    np.minimum.at(least, rows.window[low], measures[rows.measure[low]])
    over = (rows.scale * measures[rows.measure] - least[rows.window])[above]
    right, share = rows.right[above], rows.share[above]
    gaps = sum(float(over[share * sign > 0].max(initial=0.0)) for sign in (-1, 1))
    total = float(right[share > 0].max(initial=np.inf if not share.any() else -np.inf))
    return max(float((over - right)[share == 0].max(initial=0.0)), gaps - total)


@dataclass(frozen=True)
class Program:
    """Candidates of all segments end to end: m segments, n candidates, C slots, T terms, Q measures.

    A measure is the mean of one or two quotients (given + hits) / trials; slopes and bases say the same as a linear
    form. A segment has the features that occur in it alone.
    """

    start: Ints  # (m + 1,) where each segment's candidates begin
    begin: Ints  # (m + 1,) where each segment's features begin
    slot: Ints  # of each feature, ascending in a segment
    values: Floats  # by segment, feature and candidate
    cost: Ints  # (n,) E of a choice is the sum of one a segment / unit
    distance: Ints  # (n,) from the best unified threshold
    price: Floats  # (C,) what one adds to E
    most: Floats  # (C,) the largest sum over segments
    constant: float  # E where all sums are 0
    term: Ints  # (C + 1,) where each slot's terms begin
    measure: Ints  # (T,)
    slope: Floats  # (T,) what one adds to the measure
    hits: Floats  # (T, 2) what one adds to its quotients
    base: Floats  # (Q,) measures where all sums are 0
    given: Floats  # (Q, 2)
    trials: Floats  # (Q, 2); 0 in the second place: there is one quotient
    rows: Rows
    unit: float
    rising: bool  # candidates may not fall from one segment to the next; all segments have the same candidates then

    @cached_property
    def features(self) -> list[tuple[Ints, Floats]]:
        """Of each segment: slots, and their values (F, n_j)."""
        sizes, begin = np.diff(self.start), self.begin.tolist()
        parts = np.split(self.values, np.cumsum(sizes * np.diff(self.begin))[:-1])
        slots = [self.slot[a:b] for a, b in pairwise(begin)]
        return [(at, part.reshape(len(at), n)) for at, part, n in zip(slots, parts, sizes, strict=True)]

    @cached_property
    def parts(self) -> list[dict[int, list[tuple[int, Floats]]]]:
        """Of each segment: its measures, their features there, and what one adds to both quotients."""
        out = []
        for slots, _ in self.features:
            mine: dict[int, list[tuple[int, Floats]]] = {}
            for f, slot in enumerate(slots.tolist()):
                for k in range(int(self.term[slot]), int(self.term[slot + 1])):
                    mine.setdefault(int(self.measure[k]), []).append((f, self.hits[k]))
            out.append(mine)
        return out

    @cached_property
    def terms(self) -> tuple[Ints, list[Ints]]:
        """The slot of each term; and all first terms of a slot, all second ones, and so on."""
        many = np.diff(self.term)
        slot = np.repeat(np.arange(len(many)), many)
        place = np.arange(len(slot)) - self.term[slot]
        return slot, [np.flatnonzero(place == i) for i in range(int(many.max(initial=0)))]


class Mix(NamedTuple):
    """The best mixture: one column is a candidate for each segment of its block."""

    segment: Ints  # (k,)
    number: Ints  # (k,) candidate, from 0 in its segment
    weight: Floats  # (k,) add up to one in each segment
    multipliers: Floats  # of each row, that prove it
    bound: float  # on E, from the multipliers; rounding errors taken off
    value: float  # E of the mixture
    scans: int  # looks at all candidates


class Leaves(NamedTuple):
    """A proof, as a tree: node i splits segment[i] after candidate[i], or is a leaf (segment -1, or -2: one choice)."""

    segment: Ints
    candidate: Ints
    child: Ints  # the left one, the right one follows; -1 for leaves
    weight: Floats  # of E in the bound of a leaf: 1, or 0 where no choice meets the limits
    multipliers: Floats  # (nodes, rows)


class Best(NamedTuple):
    """The best choice, and its proof."""

    numbers: Ints  # (m,) from 0 in each segment; -1 where none was found
    nodes: int
    finished: bool  # whether it is proven; without numbers: that no choice meets the limits
    bound: float  # on E of every choice
    leaves: Leaves


class Segments(Protocol):
    """The room `segments`."""

    def mix(self, p: Program) -> Mix | None: ...  # None where no mixture meets the limits
    def choose(self, p: Program, node_limit: int, seconds: float = ...) -> Best: ...
