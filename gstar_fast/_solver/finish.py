"""A choice or a mixture as a `Result`: thresholds, rates, gaps and a verdict in words."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from gstar_fast._backends.common.choices import loss_of
from gstar_fast._backends.interface import Ints
from gstar_fast._base.names import Name
from gstar_fast._base.thresholds import Mixture as MixtureParts
from gstar_fast._criteria import TOLERANCE
from gstar_fast._question.question import name_of
from gstar_fast._solver.answer.parts import Gaps, GroupRates, GroupThresholds, Held, Note, Origin, Proof, Rates
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.evidence import paired_z, parts_again, settled
from gstar_fast._solver.mix import Mixture, mix, mixed
from gstar_fast._solver.question import Problem
from gstar_fast._solver.rates import Outcome
from gstar_fast._solver.search import (
    Choice,
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
        loss = float(loss_of(search.arrays, numbers))
    if lower_bound is None:
        lower_bound = max(after.weighted_error - search.scale.slack, 0.0) ** 2 if search.scale.slack else loss
    if message is None:
        if verdict == "optimal":
            others = (
                "no other unified threshold at a bin edge has"
                if question.unified
                else "no other thresholds at bin edges have"
            )
            message = f"{others} {question.lower}"
        else:
            left = f"{loss - lower_bound:.2g}"
            message = f"proven to within {left} of the least possible loss; the search was ended after {opened} boxes"
    return made(
        search,
        dict(zip(search.groups, search.thresholds(table.start[:-1] + numbers).tolist(), strict=True)),
        after,
        before,
        Proof(verdict, message, loss, lower_bound, int(opened)),
        search.default,
        notes=search.cautions(after, before, can_mix=not question.unified and not question.penalties),
    )


def finish_mixture(search: Search, mixture: Mixture) -> Result:
    """Put a mixture into words and numbers: what `finish` does for a choice."""
    p, table = search.arrays, search.table
    after = Outcome.of(mixed(table.accepted, p, mixture), table.totals, search.scale)
    before = Outcome.of(table.at_unified, table.totals, search.scale)
    thresholds = search.thresholds(mixture.entries).tolist()
    group = np.searchsorted(p.start, mixture.entries, side="right") - 1
    mixtures: dict[Name, tuple[tuple[float, float], ...]] = {
        name: tuple((t, w) for t, w, g in zip(thresholds, mixture.weights.tolist(), group, strict=True) if g == k)
        for k, name in enumerate(search.groups)
    }
    loss = after.weighted_error**2
    message = f"no mixture of thresholds at bin edges has {search.question.lower}"
    proof = Proof("optimal", message, loss, loss, mixture.scans)
    asked = search, likeliest(mixtures), after, before, proof, search.default
    return made(*asked, mixtures=mixtures, notes=search.cautions(after, before))


def likeliest(mixtures: Mapping[Name, MixtureParts]) -> dict[Name, float]:
    """The most probable threshold of each mixture; of equal ones the lowest."""
    return {name: max((w, -t) for t, w in parts)[1] * -1.0 + 0.0 for name, parts in mixtures.items()}


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
    """Thresholds that miss the limits by the least, and how far the limits are out of reach.

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
    if choice.proven:
        verdict, message = (
            "infeasible",
            f"no thresholds at bin edges meet these limits; {near.slack.words('thresholds')}",
        )
    else:
        verdict = "not_converged"
        message = (
            f"no thresholds that meet these limits were found in {choice.opened} boxes, the most allowed, which does "
            f"not prove that there are none; {near.slack.words('thresholds')}"
        )
    found = finish(own, numbers, verdict, choice.opened, lower_bound=0.0, message=message)
    return found.but(slack=near.slack)


def infeasible_mixture(search: Search) -> Result:
    """The mixture that misses the limits by the least; needed only where scores of +inf accept rows for good."""
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
