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
from gstar_fast._solver.answer.parts import GroupRates, GroupThresholds, Note, Rates
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.cells import Cells
from gstar_fast._solver.rates import rates_by_group, rates_of


def check_pooled(cells: Cells, question: Question) -> None:
    """Raise for densities by hand of groups that are pooled, and where all groups are."""
    assert cells.own is not None, "nothing was pooled"
    if isinstance(question.density, Mapping):
        raise refusal("pooled_density", "density")
    if len(cells.groups) == 1 and (question.limits or question.penalties):
        raise refusal("all_pooled", "min_rows", value=question.min_rows, limit=len(cells.own.groups))


def spread(result: Result, cells: Cells) -> Result:
    """The result for the groups from before pooling: those that were pooled share a threshold.

    Rates are told for every group. Error, loss, gaps and proof are those of the question that was solved, in which the
    pooled groups are one.
    """
    own = cells.own
    assert own is not None, "nothing was pooled"
    if (promise := result.promise) is not None:
        promise = replace(promise, plain=spread(promise.plain, cells))
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
    before = _rates(own, dict.fromkeys(small, ((result.thresholds.default, 1.0),)))
    min_rows, was = result.question.min_rows, result.rates.before
    assert was is not None
    rows = sum(rates[group].rows for group in small)
    text = (
        f"pooled, having fewer than {min_rows:g} rows: {listed(small)} ({rows:g} rows together); they "
        f"share one threshold, and gaps count them as one group, {name!r}"
    )
    values = {"groups": small, "min_rows": min_rows, "rows": rows, "name": name}
    return result.but(
        thresholds=GroupThresholds(
            {group: result.thresholds[at[group]] for group in at},
            result.thresholds.default,
            None if mixtures is None else {group: mixtures[at[group]] for group in at},
        ),
        rates=_spread(result.rates, rates, at, _spread(was, before, at)),
        notes=(Note("pooled", text, values), *result.notes),
        promise=promise,
    )


def _spread(
    rates: Rates, small: Mapping[Name, GroupRates], at: Mapping[Name, Name], before: Rates | None = None
) -> Rates:
    """Rates of all groups; `small` are those of groups that were pooled."""
    own = {group: small[group] if group != name else rates[group] for group, name in at.items()}
    return Rates(own, rates.error, rates.cost, before)


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
