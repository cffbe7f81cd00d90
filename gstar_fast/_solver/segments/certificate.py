"""The proof that comes with an answer about segments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gstar_fast._backends.common.segments import SMALLEST, Best, Mix
from gstar_fast._base.names import Name
from gstar_fast._base.refusals.place import bad_value
from gstar_fast._criteria import Limit
from gstar_fast._rates import RATES
from gstar_fast._solver.answer.proof import ALL, Certificate, Tree
from gstar_fast._solver.segments.problem import SegmentSearch


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
