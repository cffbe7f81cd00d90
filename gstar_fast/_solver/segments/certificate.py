"""What proves an answer about segments: plain numbers, to be checked by `check` against the counts alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gstar_fast._backends.common.segments import SMALLEST, Best, Mix
from gstar_fast._base.arrays import Floats, Ints
from gstar_fast._base.names import Name
from gstar_fast._base.refusals.place import bad_value
from gstar_fast._criteria import Limit
from gstar_fast._rates import RATES
from gstar_fast._solver.segments.problem import SegmentSearch

ALL = -1  # in the place of a group: all rows together

# rate, protected group or ALL, kind of row (as in common/segments.py), value
Multiplier = tuple[str, int, int, float]


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

    limits: tuple[Limit, ...]  # the group of one on a single group is a number
    prices: tuple[int, int]  # of a false positive and of a false negative
    unit: float
    order: tuple[int, ...] | None  # segments along which candidates may not fall; None where they may
    choice: tuple[int, ...] | None  # a candidate for each segment; None where no choice meets the limits
    mixture: tuple[tuple[tuple[int, float], ...], ...] | None = None  # of each segment: candidates and weights
    within: int = 1
    first: Leaf | None = None  # candidates that its bound rules out are left out of all boxes
    steps: tuple[Leaf | Cut | Single, ...] = field(default=(), repr=False)


@dataclass(frozen=True, eq=False)
class Tree:
    """The steps of a certificate as arrays, which are made much faster."""

    order: tuple[int, ...] | None
    segment: Ints  # (nodes,) that a node cuts; -1 for a bound, -2 for one choice, -3 for the bound before all steps
    after: Ints  # (nodes,) candidate
    child: Ints  # (nodes,) node of the lower box, the higher one follows
    weight: Floats  # (nodes,)
    multipliers: Floats  # (nodes, rows)
    rows: tuple[tuple[str, int, int], ...]  # rate, protected group and kind of each row

    def certificate(self) -> Certificate:
        """The steps one by one; question and answer are left out."""
        skip = int(self.segment[0] == -3)
        steps = tuple(self._step(i, skip) for i in range(skip, len(self.segment)))
        first = self._leaf(0) if skip else None
        return Certificate((), (0, 0), 0.0, self.order, choice=None, first=first, steps=steps)

    def _step(self, i: int, skip: int) -> Leaf | Cut | Single:
        j, low = int(self.segment[i]), int(self.child[i]) - skip
        if j >= 0:
            return Cut(j, int(self.after[i]), low, low + 1)
        return Single() if j == -2 else self._leaf(i)

    def _leaf(self, i: int) -> Leaf:
        at = np.flatnonzero(self.multipliers[i]).tolist()
        values = self.multipliers[i, at].tolist()
        return Leaf(int(self.weight[i]), tuple((*self.rows[r], value) for r, value in zip(at, values, strict=True)))


def tree_of(search: SegmentSearch, best: Best) -> Tree:
    """The proof that came with the best choice; raises where the search was ended early."""
    if not best.finished:
        raise bad_value("best", "a search that was ended early has no proof")
    leaves = best.leaves
    cut = leaves.segment >= 0
    at = np.where(cut, leaves.segment, 0)
    after = search.last[np.where(cut, search.arrays.start[at] + leaves.candidate, 0)]
    segment = np.where(cut, np.array(search.order)[at], leaves.segment)
    return Tree(_order(search), segment, after, leaves.child, leaves.weight, leaves.multipliers, _rows(search))


def tree_of_mix(search: SegmentSearch, mix: Mix) -> Tree:
    """The proof of a mixture: one bound for all."""
    leaf = np.array([-1])
    return Tree(_order(search), leaf, leaf, leaf, np.ones(1), mix.multipliers[None], _rows(search))


def certificate_of(search: SegmentSearch, best: Best) -> Certificate:
    """The certificate of the best choice, with its question."""
    found = int(best.numbers[0]) >= 0
    return replace(
        tree_of(search, best).certificate(),
        **_question(search),
        choice=tuple(search.candidates(best.numbers).tolist()) if found else None,
        within=max(1, int(np.ceil(SMALLEST * search.arrays.unit))),
    )


def certificate_of_mix(search: SegmentSearch, mix: Mix) -> Certificate:
    """The certificate of a mixture, with its question."""
    p = search.arrays
    parts: list[list[tuple[int, float]]] = [[] for _ in search.order]
    for j, number, weight in zip(mix.segment.tolist(), mix.number.tolist(), mix.weight.tolist(), strict=True):
        parts[search.order[j]].append((int(search.candidate[p.start[j] + number]), weight))
    return replace(tree_of_mix(search, mix).certificate(), **_question(search), mixture=tuple(map(tuple, parts)))


def _question(search: SegmentSearch) -> dict[str, Any]:
    limits = numbered(search.question.limits, search.cells.groups)
    return {"limits": limits, "prices": (search.scale.fp, search.scale.fn), "unit": search.scale.unit}


def numbered(limits: tuple[Limit, ...], protected: tuple[Name, ...]) -> tuple[Limit, ...]:
    """The limits as a certificate has them: groups are numbers."""
    return tuple(
        limit if limit.group is None else limit._replace(group=protected.index(limit.group)) for limit in limits
    )


def _order(search: SegmentSearch) -> tuple[int, ...] | None:
    return search.order if search.arrays.rising else None


def _rows(search: SegmentSearch) -> tuple[tuple[str, int, int], ...]:
    rows, groups, protected = search.arrays.rows, search.measured.shape[1], len(search.cells.groups)
    found = []
    for measure, kind in zip(rows.measure.tolist(), rows.kind.tolist(), strict=True):
        r, a = divmod(measure, groups)
        found.append((RATES[search.rates[r]], a if a < protected else ALL, kind))
    return tuple(found)
