"""A choice or a mixture as a `Result`: thresholds, rates, gaps and a verdict in words."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from gstar_fast._backends.common.choices import loss_of
from gstar_fast._backends.interface import Floats, Ints
from gstar_fast._base.names import Name, listed
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.thresholds import Mixture as MixtureParts
from gstar_fast._base.thresholds import most_probable
from gstar_fast._criteria import TOLERANCE
from gstar_fast._question.options import name_of
from gstar_fast._question.question import Question
from gstar_fast._rates import has_rate, rates_of
from gstar_fast._solver.answer.parts import (
    Evidence,
    Gaps,
    GroupRates,
    GroupThresholds,
    Held,
    Note,
    Origin,
    Proof,
    Rates,
    Slack,
)
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.cells import Cells, Outcome, Parts, Scale, rates_by_group
from gstar_fast._solver.mix import Mixture, mix, mixed
from gstar_fast._solver.search import (
    Choice,
    Problem,
    Search,
    cheapest_within,
    choose,
    choose_unified,
    loosened,
    looser,
    nearest,
)


def solved(search: Search, randomize: bool) -> Result:
    """What `solve` does on the counts."""
    if randomize:
        mixture = mix(search.arrays)
        return infeasible_mixture(search) if mixture is None else finish_mixture(search, mixture)
    end = time.monotonic() + search.question.seconds
    choice = choose_unified(search) if search.question.unified else choose(search, end)
    return infeasible(search, choice, end) if choice.numbers is None else finish_choice(search, choice)


def finish_choice(search: Search, choice: Choice) -> Result:
    """Put what `choose` found into words and numbers."""
    assert choice.numbers is not None
    return finish(
        search,
        choice.numbers,
        "optimal" if choice.proven else "not_converged",
        choice.opened,
        loss=choice.loss,
        lower_bound=choice.lower_bound,
    )


def finish(
    search: Search,
    numbers: Ints,
    verdict: str,
    opened: int,
    *,
    loss: float | None = None,
    lower_bound: float | None = None,
    message: str | None = None,
) -> Result:
    """Put a choice into words and numbers."""
    question, table = search.question, search.table
    after, before = Outcome.both(search.accepted(numbers), table.at_unified, table.totals, search.scale, search.has)
    if loss is None:
        weighed = any(w > 0 for w in search.arrays.penalty)
        loss = float(loss_of(search.arrays, numbers)) if weighed else after.weighted_error * after.weighted_error
    if lower_bound is None:
        lower_bound = max(after.weighted_error - search.scale.slack, 0.0) ** 2 if search.scale.slack else loss
    if message is None:
        if verdict == "optimal":
            others = "unified threshold at a bin edge has" if question.unified else "thresholds at bin edges have"
            message = f"no other {others} {question.lower}"
        else:
            message = ended_early(loss - lower_bound, opened)
    return made(
        search,
        dict(zip(search.groups, search.thresholds(table.start[:-1] + numbers).tolist(), strict=True)),
        after,
        before,
        Proof(verdict, message, loss, lower_bound, int(opened)),
        search.default,
        notes=search.cautions(after, before, can_mix=not question.unified and not question.penalties),
    )


def ended_early(left: float, boxes: int) -> str:
    """The message of a search that ended with so much of the loss unproven."""
    return f"proven to within {left:.2g} of the least possible loss; the search was ended after {boxes} boxes"


def none_found(slack: Slack, boxes: int, what: str = "thresholds") -> str:
    """The message of a search that ended without thresholds within the limits; `what` is shown instead."""
    return (
        f"no thresholds that meet these limits were found in {boxes} boxes, the most allowed, which does not prove "
        f"that there are none; {slack.words(what)}"
    )


def finish_mixture(search: Search, mixture: Mixture) -> Result:
    """Put a mixture into words and numbers: what `finish` does for a choice."""
    p, table = search.arrays, search.table
    after = Outcome.of(mixed(table.accepted, p, mixture), table.totals, search.scale)
    before = Outcome.of(table.at_unified, table.totals, search.scale)
    mixtures = by_group(search, mixture)
    loss = after.weighted_error**2
    message = f"no mixture of thresholds at bin edges has {search.question.lower}"
    proof = Proof("optimal", message, loss, loss, mixture.scans)
    asked = search, likeliest(mixtures), after, before, proof, search.default
    return made(*asked, mixtures=mixtures, notes=search.cautions(after, before))


def by_group(search: Search, mixture: Mixture) -> dict[Name, MixtureParts]:
    """The thresholds of each group and their weights."""
    thresholds = search.thresholds(mixture.entries).tolist()
    group = np.searchsorted(search.arrays.start, mixture.entries, side="right") - 1
    return {
        name: tuple((t, w) for t, w, g in zip(thresholds, mixture.weights.tolist(), group, strict=True) if g == k)
        for k, name in enumerate(search.groups)
    }


def likeliest(mixtures: Mapping[Name, MixtureParts]) -> dict[Name, float]:
    """The most probable threshold of each mixture."""
    return {name: most_probable(parts) + 0.0 for name, parts in mixtures.items()}


def made(
    problem: Problem,
    thresholds: Mapping[Name, float],
    after: Outcome,
    before: Outcome,
    proof: Proof,
    default: float,
    *,
    mixtures: dict[Name, MixtureParts] | None = None,
    by_segment: dict[Name, GroupRates] | None = None,
    notes: Iterable[Note] = (),
) -> Result:
    """Thresholds, what they do and what is proven, as a result; `default` is the best unified threshold."""
    cells, question = problem.cells, problem.question
    rows = cells.by_group(cells.n_rows).sum(axis=0)
    was = Rates(before.by_group(cells.groups, rows), before.error, before.weighted_error)
    held = (Held(one, *(rates.reached(one, cells.groups) for rates in (after, before))) for one in question.limits)
    # who decides gives the number that was cut, and not the counted column
    column = cells.group_column if question.cuts is None else None
    if not isinstance(question.density, str):
        question = replace(question, density=name_of(question.density))
    return Result(
        question,
        GroupThresholds(thresholds, default, mixtures),
        Rates(after.by_group(cells.groups, rows), after.error, after.weighted_error, was, by_segment),
        Gaps(after.gaps, before.gaps, tuple(held)),
        proof,
        Origin(float(cells.n_rows.sum()), cells.digest, cells.score_column, column),
        (*problem.notes, *notes),
    )


def infeasible(search: Search, choice: Choice, end: float) -> Result:
    """The thresholds that come closest to the limits, and how far the limits are out of reach.

    Finds the smallest slack at which the limits can be met, and returns the thresholds with the least error (with
    penalties, the least loss) under limits loosened by that slack. The search ends at the moment `end`.
    """
    unified = search.question.unified

    def find(slack: float) -> tuple[tuple[Search, Ints] | None, bool]:
        near = looser(search, slack)
        numbers, sure = (choose_unified(near).numbers, True) if unified else cheapest_within(near.arrays, end)
        return None if numbers is None else (near, numbers), sure

    near = nearest(find)
    easier, numbers = near.found
    p, asked = search.arrays, search.question
    own = replace(easier, question=asked, arrays=replace(easier.arrays, limit=p.limit, ratio=p.ratio, total=p.total))
    if not choice.proven:  # the looser question was easier, and its answer may meet the limits too
        met = finish(own, numbers, "not_converged", choice.opened, lower_bound=choice.lower_bound)
        if all(one.limit.met(one.reached, TOLERANCE) is not False for one in met.gaps.held):
            return met
    if not unified and any(w > 0 for w in p.penalty):
        weighed = choose(easier, end).numbers
        numbers = numbers if weighed is None else weighed
    verdict, message = "not_converged", none_found(near.slack, choice.opened)
    if choice.proven:
        verdict = "infeasible"
        message = f"no thresholds at bin edges meet these limits; {near.slack.words('thresholds')}"
    found = finish(own, numbers, verdict, choice.opened, lower_bound=0.0, message=message)
    return found.but(slack=near.slack)


def infeasible_mixture(search: Search) -> Result:
    """The mixture that comes closest to the limits; needed only where scores of +inf accept rows for good."""
    near = nearest(lambda slack: (mix(loosened(search.arrays, slack)), True))
    result = finish_mixture(search, near.found)
    message = f"no mixture of thresholds at bin edges meets these limits; {near.slack.words('mixtures')}"
    return result.but(verdict="infeasible", message=message, slack=near.slack, lower_bound=0.0)


def settled_by_group(search: Search, best: Result, level: float) -> Result:
    """The best thresholds by group, or the unified one if there is no evidence against it."""
    cells, table = search.cells, search.table

    def z() -> float:
        return paired_z(cells, parts_again(cells, best), table.unified, search.scale)

    def unified() -> Result:
        starts = table.start[:-1].tolist()
        own = np.split(table.candidate, table.start[1:-1])  # the unified one is among those of every group
        numbers = np.array([int(np.searchsorted(candidates, table.unified)) for candidates in own])
        if best.mixtures is None:
            return finish(search, numbers, "unified", best.proof.iterations)
        return finish_mixture(search, Mixture(starts + numbers, np.ones(len(numbers)), 0.0, best.proof.iterations))

    labelled = int((table.totals[:2].sum(axis=0) > 0).sum())
    return settled(best, level, labelled, z, unified)


# -------------------------------------------------------------- against the best unified threshold

# Both rules decide most rows alike. The others lie between the two thresholds of a group: each is right under one rule
# and wrong under the other. z is what thresholds by group save on these rows, divided by the root of the sum of squared
# prices (McNemar's test, with prices and weights).
#
# Thresholds by group are chosen on the same rows, so they save something by chance where groups do not differ, and more
# with every group. Simulated for identical groups (benchmarks/studies/evidence.py), z of K groups has a mean of about
# 1.1 sqrt(K - 1) - 0.35 and a standard deviation of 0.4 to 0.55, for any number of rows. `needed_z` is larger, so that
# mean gaps on fresh rows stay within 1.1 times those of the unified threshold.

SLOPE, SHIFT, SPREAD = 1.1, -0.2, 0.5
MOST_DIGITS = 9


def needed_z(level: float, n_thresholds: int) -> float:
    """The z that thresholds by group must exceed; chance alone rarely does with this number of thresholds."""
    return SLOPE * math.sqrt(n_thresholds) + SHIFT + SPREAD * NormalDist().inv_cdf(level)


def parts_again(cells: Cells, result: Result) -> Parts:
    """Thresholds of a result as candidates."""
    each = ([(t, 1.0)] for t in result.thresholds.values()) if result.mixtures is None else result.mixtures.values()
    return [{int(np.searchsorted(cells.candidates, t)): w for t, w in part} for part in each]


def paired_z(cells: Cells, parts: Parts, unified: int, scale: Scale) -> float:
    """The saving of candidates over the unified one, in standard errors."""
    squares = cells.squares if cells.weighted else None
    gains, variances = [], []
    for k, part in enumerate(list(parts[j].items()) for j in cells.segment.tolist()):
        for low, high in pairwise(sorted({unified, *(candidate for candidate, _ in part)})):
            more = math.fsum([*(weight for candidate, weight in part if candidate <= low), -float(unified <= low)])
            negative, positive = cells.rows[:2, k, low:high].sum(axis=1).tolist()
            gains.append(more * (scale.fn * positive - scale.fp * negative) * cells.weight_unit)
            if squares is not None:  # of the weights of these rows
                negative, positive = squares[:2, k, low:high].sum(axis=1).tolist()
            variances.append(more**2 * (scale.fp**2 * negative + scale.fn**2 * positive))
    variance = math.fsum(variances)
    return math.fsum(gains) / math.sqrt(variance) if variance > 0 else 0.0


def settled(
    best: Result,
    level: float,
    n_thresholds: int,
    z_of: Callable[[], float],
    unified_of: Callable[[], Result],
) -> Result:
    """The best result, or the unified threshold if it meets the limits and there is no evidence against it.

    `z_of` computes the z of `best`, and `unified_of` the result of the unified threshold.
    """
    met = all(one.limit.met(one.before, TOLERANCE) is not False for one in best.gaps.held)
    used = set(best.thresholds.values())
    if best.thresholds.mixtures is not None:
        used = {threshold for mixture in best.thresholds.mixtures.values() for threshold, _ in mixture}
    if not met or used == {best.thresholds.default}:
        return replace(best, evidence=Evidence(level))
    evidence = Evidence(level, best.cost, z_of(), needed_z(level, n_thresholds))
    assert evidence.z is not None
    assert evidence.needed is not None
    if evidence.z > evidence.needed:
        return replace(best, evidence=evidence)
    unified = unified_of()
    return unified.but(
        verdict="unified",
        message=_message(unified, evidence),
        lower_bound=min(best.lower_bound, unified.loss),
        iterations=best.proof.iterations,
        evidence=evidence,
    )


def _message(unified: Result, evidence: Evidence) -> str:
    """Both costs, and why the difference is not enough."""
    assert evidence.cost is not None
    digits = 4
    while digits < MOST_DIGITS and f"{unified.cost:.{digits}f}" == f"{evidence.cost:.{digits}f}":
        digits += 1
    what = "cost" if unified.question.weighted else "error"
    mixed = "mixtures of thresholds" if unified.randomized else "thresholds"
    own = f"{mixed} by {'group' if unified.rates.by_segment is None else 'segment'}"
    return (
        f"the best unified threshold {'meets the limits with' if unified.limits else 'has'} {what} "
        f"{unified.cost:.{digits}f}; {own} have {evidence.cost:.{digits}f}, which is not significantly lower "
        f"(z = {evidence.z:.2f}, {evidence.level:g} confidence needs {evidence.needed:.2f})"
    )


# -------------------------------------------------------------------------------------------- pooled groups


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


def _rates(cells: Cells, mixtures: Mapping[Name, MixtureParts]) -> dict[Name, GroupRates]:
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
