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
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.answer.note import Note
from gstar_fast._solver.rates import rates_by_group, rates_of
from gstar_fast._solver.result import GroupRates, Result
from gstar_fast._solver.snapshot import Snapshot


def pooled_sketch(sketch: Sketch, question: Question) -> tuple[Sketch, str]:
    """The sketch with its small groups pooled, and a name for them that no group has."""
    name = "other"
    while name in sketch.groups:
        name += "_"
    pooled = sketch.pooled(question.min_rows, name=name)
    pooled._stands_for(sketch)
    if pooled.pooled_groups and isinstance(question.density, Mapping):
        raise refusal("pooled_density", "density")
    if pooled.groups == (name,) and len(sketch.groups) > 1 and (question.limits or question.penalties):
        raise refusal("all_pooled", "min_rows", value=question.min_rows, limit=len(sketch.groups))
    return pooled, name


def spread(result: Result, sketch: Sketch, pooled: Sketch, name: str, min_rows: float) -> Result:
    """The result for the groups of `sketch`: those that were pooled share a threshold.

    Rates are told for every group. Error, loss, gaps and proof are those of the question that was solved, in which the
    pooled groups are one.
    """
    snapshot = Snapshot.of(sketch)
    small = set(pooled.pooled_groups)
    if not small:
        promise = result.promise
        if promise is not None:
            promise = replace(promise, plain=replace(promise.plain, min_rows=min_rows))
        return replace(result, min_rows=min_rows, promise=promise)
    at = {group: name if group in small else group for group in snapshot.groups}
    if (promise := result.promise) is not None:
        needed = promise.rows_needed
        if needed is not None:
            needed = replace(needed, by_group={group: needed.by_group[at[group]] for group in at})
            needed = replace(needed, too_small=tuple(group for group in at if at[group] in needed.too_small))
        plain = spread(promise.plain, sketch, pooled, name, min_rows)
        promise = replace(promise, plain=plain, rows_needed=needed)
    mixtures = result.mixtures
    rates = _rates(snapshot, {group: _mixture(result, name) for group in snapshot.groups if group in small})
    rows = sum(rates[group].rows for group in small)
    text = (
        f"pooled, having fewer than {min_rows:g} rows: {listed(pooled.pooled_groups)} ({rows:g} rows together); they "
        f"share one threshold, and gaps count them as one group, {name!r}"
    )
    values = {"groups": list(pooled.pooled_groups), "min_rows": min_rows, "rows": rows, "name": name}
    return replace(
        result,
        thresholds={group: result.thresholds[at[group]] for group in at},
        mixtures=None if mixtures is None else {group: mixtures[at[group]] for group in at},
        rates={group: rates[group] if group in small else result.rates[group] for group in at},
        notes=(Note("pooled", text, values), *result.notes),
        min_rows=min_rows,
        promise=promise,
        score_column=snapshot.score_column,
        group_column=snapshot.group_column,
    )


def _mixture(result: Result, name: str) -> Mixture:
    return ((result.thresholds[name], 1.0),) if result.mixtures is None else result.mixtures[name]


def _rates(snapshot: Snapshot, mixtures: Mapping[Name, Mixture]) -> dict[Name, GroupRates]:
    """Rates of some groups, counted; rows of a bin that a threshold cuts are counted in proportion."""
    edges = snapshot.edges
    totals = snapshot.rows.sum(axis=2)
    accepted: Floats = np.zeros(totals.shape)
    for k, group in enumerate(snapshot.groups):
        upward = np.cumsum(snapshot.rows[:, k, ::-1], axis=1)[:, ::-1]
        for threshold, weight in mixtures.get(group, ()):
            for label in range(3):
                everybody = threshold == -np.inf
                share = upward[label, 0] if everybody else np.interp(threshold, edges, upward[label, 1:])
                accepted[label, k] += weight * share
    rows = snapshot.n_rows.sum(axis=0)
    return rates_by_group(snapshot.groups, rates_of(accepted, totals), has_rate(totals), rows)
