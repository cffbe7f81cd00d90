"""What proves an answer about segments: plain numbers, to be checked by `check` against the counts alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from gstar_fast._backends.common.segments import SMALLEST, Best, Mix
from gstar_fast._base.arrays import Floats
from gstar_fast._criteria import RATES
from gstar_fast._solver.segments.problem import SegmentSearch

Multiplier = tuple[str, int, int, float]  # rate, protected group, kind of row (as in common/segments.py), value


@dataclass(frozen=True)
class Leaf:
    """A bound: in its box, weight * cost / unit plus the multipliers' terms; see `check`."""

    weight: int
    multipliers: tuple[Multiplier, ...]


@dataclass(frozen=True)
class Cut:
    """Two boxes: candidates of a segment up to `after`, and above."""

    segment: int
    after: int
    low: int  # which step of the proof is about the lower box
    high: int


@dataclass(frozen=True)
class Single:
    """A box of one choice, which breaks a limit or is no better."""


@dataclass(frozen=True)
class Certificate:
    """The question, the answer, and why no choice within the limits costs less by `within`, or more.

    Candidate 0 is -inf, candidate 1 + i is edge i.
    """

    limits: Mapping[str, float]  # by criterion
    prices: tuple[int, int]  # of a false positive and of a false negative
    unit: float
    order: tuple[int, ...] | None  # segments along which candidates may not fall; None where they may
    choice: tuple[int, ...] | None  # a candidate for each segment; None where no choice meets the limits
    mixture: tuple[tuple[tuple[int, float], ...], ...] | None = None  # of each segment: candidates and weights
    within: int = 1
    first: Leaf | None = None  # candidates that its bound rules out are left out of all boxes
    steps: tuple[Leaf | Cut | Single, ...] = field(default=(), repr=False)


def certificate_of(search: SegmentSearch, best: Best) -> Certificate:
    """The proof that came with the best choice; raises where the search was ended early."""
    if not best.finished:
        raise ValueError("a search that was ended early has no proof")
    p, leaves = search.arrays, best.leaves
    begins_with_bound = int(leaves.segment[0]) == -3
    skip = int(begins_with_bound)
    steps: list[Leaf | Cut | Single] = []
    for i in range(skip, len(leaves.segment)):
        j, child = int(leaves.segment[i]), int(leaves.child[i]) - skip
        if j >= 0:
            after = int(search.last[p.start[j] + leaves.candidate[i]])
            steps.append(Cut(search.order[j], after, child, child + 1))
        elif j == -2:
            steps.append(Single())
        else:
            steps.append(_leaf(search, float(leaves.weight[i]), leaves.multipliers[i]))
    found = int(best.numbers[0]) >= 0
    return replace(
        _question(search),
        choice=tuple(search.candidates(best.numbers).tolist()) if found else None,
        within=max(1, int(np.ceil(SMALLEST * p.unit))),
        first=_leaf(search, float(leaves.weight[0]), leaves.multipliers[0]) if begins_with_bound else None,
        steps=tuple(steps),
    )


def certificate_of_mix(search: SegmentSearch, mix: Mix) -> Certificate:
    """The proof of a mixture: one bound for all."""
    p = search.arrays
    parts: list[list[tuple[int, float]]] = [[] for _ in search.order]
    for j, number, weight in zip(mix.segment.tolist(), mix.number.tolist(), mix.weight.tolist(), strict=True):
        parts[search.order[j]].append((int(search.candidate[p.start[j] + number]), weight))
    steps = (_leaf(search, 1.0, mix.multipliers),)
    return replace(_question(search), mixture=tuple(map(tuple, parts)), steps=steps)


def _question(search: SegmentSearch) -> Certificate:
    """The question alone."""
    prices, order = (search.scale.fp, search.scale.fn), search.order if search.arrays.rising else None
    return Certificate(dict(search.objective.limits), prices, search.scale.unit, order, choice=None)


def _leaf(search: SegmentSearch, weight: float, multipliers: Floats) -> Leaf:
    rows, groups = search.arrays.rows, len(search.counts.protected)
    entries = []
    for i in np.flatnonzero(multipliers).tolist():
        r, a = divmod(int(rows.measure[i]), groups)
        entries.append((RATES[search.rates[r]], a, int(rows.kind[i]), float(multipliers[i])))
    return Leaf(int(weight), tuple(entries))
