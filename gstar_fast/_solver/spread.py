"""Thresholds found with small groups pooled, given back to the original groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gstar_fast._backends.interface import Floats
from gstar_fast._base.names import Name, listed
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.thresholds import Mixture
from gstar_fast._question.question import Question
from gstar_fast._rates import has_rate
from gstar_fast._solver.answer.parts import Note
from gstar_fast._solver.answer.result import GroupRates, Result
from gstar_fast._solver.cells import Cells
from gstar_fast._solver.rates import rates_by_group, rates_of


def check_pooled(cells: Cells, question: Question) -> None:
    """Raise for densities by hand of groups that are pooled, and where all groups are."""
    if cells.own is None:
        return
    if isinstance(question.density, Mapping):
        raise refusal("pooled_density", "density")
    if len(cells.groups) == 1 and (question.limits or question.penalties):
        raise refusal("all_pooled", "min_rows", value=question.min_rows, limit=len(cells.own.groups))


def spread(result: Result, cells: Cells, min_rows: float) -> Result:
    """The result for the groups from before pooling: those that were pooled share a threshold.

    Rates are told for every group. Error, loss, gaps and proof are those of the question that was solved, in which the
    pooled groups are one.
    """
    if min_rows == 0:
        return result
    if (promise := result.promise) is not None:
        promise = replace(promise, plain=spread(promise.plain, cells, min_rows))
    own = cells.own
    if own is None:
        return replace(result, min_rows=min_rows, promise=promise)
    at = dict(zip(own.groups, cells.pool, strict=True))
    small = [group for group, name in at.items() if group != name]
    name = at[small[0]]
    if promise is not None and (needed := promise.rows_needed) is not None:
        needed = replace(needed, by_group={group: needed.by_group[at[group]] for group in at})
        needed = replace(needed, too_small=tuple(group for group in at if at[group] in needed.too_small))
        promise = replace(promise, rows_needed=needed)
    mixtures = result.mixtures
    shared = ((result.thresholds[name], 1.0),) if mixtures is None else mixtures[name]
    rates = _rates(own, dict.fromkeys(small, shared))
    rows = sum(rates[group].rows for group in small)
    text = (
        f"pooled, having fewer than {min_rows:g} rows: {listed(small)} ({rows:g} rows together); they "
        f"share one threshold, and gaps count them as one group, {name!r}"
    )
    values = {"groups": small, "min_rows": min_rows, "rows": rows, "name": name}
    return replace(
        result,
        thresholds={group: result.thresholds[at[group]] for group in at},
        mixtures=None if mixtures is None else {group: mixtures[at[group]] for group in at},
        rates={group: rates[group] if group in small else result.rates[group] for group in at},
        notes=(Note("pooled", text, values), *result.notes),
        min_rows=min_rows,
        promise=promise,
    )


def _rates(cells: Cells, mixtures: Mapping[Name, Mixture]) -> dict[Name, GroupRates]:
    """Rates of some groups, counted; rows of a bin that a threshold cuts are counted in proportion."""
    totals = cells.totals
    accepted: Floats = np.zeros(totals.shape)
    for k, group in enumerate(cells.groups):
        upward = np.cumsum(cells.rows[:, k, ::-1], axis=1)[:, ::-1]
        for threshold, weight in mixtures.get(group, ()):
            for label in range(3):
                everybody = threshold == -np.inf
                share = upward[label, 0] if everybody else np.interp(threshold, cells.edges, upward[label, 1:])
                accepted[label, k] += weight * share
    return rates_by_group(cells.groups, rates_of(accepted, totals), has_rate(totals), cells.n_rows.sum(axis=0))
