"""Thresholds with a proof: `solve`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from gstar_fast._backends.common.choices import allowed, loss_of
from gstar_fast._backends.interface import Arrays, Ints
from gstar_fast._base.names import Name
from gstar_fast._density.density import Density
from gstar_fast._sketch.pooling import checked_min_rows
from gstar_fast._sketch.resolution import look_at
from gstar_fast._sketch.sketch import Sketch, check_sketch
from gstar_fast._solver.degenerate import warn_if_degenerate
from gstar_fast._solver.mixture import Mixture, mix, mixed
from gstar_fast._solver.question import Objective, check_options, question_limits
from gstar_fast._solver.rates import Outcome
from gstar_fast._solver.result import Result
from gstar_fast._solver.search import (
    Choice,
    Search,
    cheapest_within,
    choose,
    choose_unified,
    loosened,
    nearest,
    prepare,
)
from gstar_fast._solver.smooth import solve_smooth
from gstar_fast._solver.spread import pooled_sketch, spread

MOST_MIXED = 16  # groups for which a verdict says what mixing would save: the linear program slows down with more


def solve(
    sketch: Sketch,
    *,
    limits: Mapping[str, float] | None = None,
    penalties: Mapping[str, float] | None = None,
    method: str = "exact",
    density: str | Mapping[tuple[int, Name], Density] = "empirical",
    costs: Iterable[float] = (1, 1),
    balanced: bool = False,
    unified: bool = False,
    randomize: bool = False,
    min_rows: float = 0,
    max_seconds: float | None = None,
) -> Result:
    """Find one threshold for each group, with the least error while gaps stay within limits.

    Parameters
    ----------
    sketch : Sketch
        Counted scores.
    limits : dict, optional
        Largest gap allowed, by criterion: ``{"equalized_odds": 0.02}``. ``disparate_impact`` is a least ratio.
    penalties : dict, optional
        Weight of the squared gap, by criterion: the paper's lambda.
    method : {"exact", "alternating", "gauss_newton", "newton"}
        `exact` proves its answer. The others iterate on smooth densities and need penalties, not limits:
        `alternating` is the paper's loop with back-tracking, `gauss_newton` moves all thresholds with the full
        Jacobian, `newton` with the exact Hessian, both damped and from three starts.
    density : {"empirical", "kde", "normal", "student_t", "gamma", "best"} or what `densities` returns
        `empirical` is the counts themselves: exact at every bin edge. Pass ``gf.densities(sketch, kind="kde",
        bandwidth=0.5)`` to choose more than the kind.
    costs : (float, float)
        Price of a false positive and of a false negative.
    balanced : bool
        Weigh both classes alike.
    unified : bool
        One threshold for everybody: no group is needed at decision time.
    randomize : bool
        Allow a mixture of thresholds in a group where that lowers the error; with limits only.
    min_rows : float
        Groups of fewer rows are pooled, see `Sketch.pooled`: they share a threshold, and gaps count them as one group.
    max_seconds : float, optional
        End the exact search after this time, with the best thresholds found and a verdict that says so. The answer then
        depends on the machine. Without it a search ends after a fixed number of boxes, the same everywhere.

    Returns
    -------
    Result
        With a verdict also when the limits cannot be met.

    Warns
    -----
    DegenerateWarning
        If the thresholds hold what was asked by hardly deciding.
    MissingClassWarning
        If a group is left out of a gap, for want of labels.
    ResolutionWarning, SentinelWarning
        As when rows are counted, if the sketch has not given them yet.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> sketch = gf.Sketch.from_rows([1, 2, 3, 4, 2, 3, 4, 5], [0, 0, 1, 1, 0, 0, 1, 1], list("aaaabbbb"))
    >>> result = gf.solve(sketch, limits={"equalized_odds": 0.02})
    >>> result.thresholds
    {'a': 2.001953125, 'b': 3.001953125}
    >>> result.error, result.verdict
    (0.0, 'optimal')
    """
    check_sketch(sketch)
    objective = Objective.of(limits, penalties, costs, balanced)
    question_limits(objective.limits)
    check_options(
        objective, method=method, density=density, unified=unified, randomize=randomize, max_seconds=max_seconds
    )
    least = checked_min_rows(min_rows)
    look_at(sketch)
    counted, name = sketch, ""
    if least > 0:
        sketch = sketch.copy()  # others may go on updating it
        counted, name = pooled_sketch(sketch, least, objective, density)
    if isinstance(density, str) and density == "empirical":
        result = _solve_exact(prepare(counted, objective, shared=unified), unified, randomize, max_seconds)
    else:
        result = solve_smooth(counted, objective, method=method, kind=density, unified=unified)
    return warn_if_degenerate(result if least == 0 else spread(result, sketch, counted, name, least))


def _solve_exact(search: Search, unified: bool, randomize: bool, max_seconds: float | None) -> Result:
    """What `solve` does on the counts."""
    if randomize:
        mixture = mix(search.arrays)
        return infeasible_mixture(search) if mixture is None else finish_mixture(search, mixture)
    choice = choose_unified(search) if unified else choose(search, max_seconds)
    if choice.numbers is None:
        return infeasible(search, choice, unified)
    result = finish_choice(search, choice, unified)
    asked = search.objective
    if unified or asked.penalties or not asked.limits or len(search.groups) > MOST_MIXED:
        return result
    return replace(result, _mixing=lambda: _saved_by_mixing(search, result))


def _saved_by_mixing(search: Search, plain: Result) -> float | None:
    """How much lower E would be with `randomize=True`; None if the linear program gives no answer."""
    try:
        mixture = mix(search.arrays)
    except RuntimeError:  # out of pivots
        return None
    if mixture is None:
        return None
    least = float(mixed(search.arrays.cost / search.arrays.unit, search.arrays, mixture).sum())
    return max(math.sqrt(plain.loss) - least, 0.0)


def finish_choice(search: Search, choice: Choice, unified: bool = False) -> Result:
    """Put what `choose` found into words and numbers."""
    assert choice.numbers is not None
    return finish(
        search,
        choice.numbers,
        "optimal" if choice.proven else "not_converged",
        choice.opened,
        loss=choice.loss,
        lower_bound=choice.lower_bound,
        unified=unified,
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
    unified: bool = False,
) -> Result:
    """Put a choice into words and numbers."""
    objective, table = search.objective, search.table
    after, before = Outcome.both(search.accepted(numbers), table.at_unified, table.totals, search.scale, search.has)
    if loss is None:
        loss = float(loss_of(search.arrays, numbers))
    if lower_bound is None:
        lower_bound = max(after.weighted_error - search.scale.slack, 0.0) ** 2 if search.scale.slack else loss
    can_mix = not unified and not objective.penalties
    notes = [*search.notes, *search.cautions(after, before, unified, can_mix)]
    if message is None:
        what = "lower loss" if objective.penalties else "lower error"
        where = " within the limits" if objective.limits else ""
        if verdict == "optimal":
            message = f"no other thresholds at bin edges have a {what}{where}"
        else:
            left = f"{loss - lower_bound:.2g}"
            message = f"proven to within {left} of the least possible loss; the search was ended after {opened} boxes"
    return Result(
        thresholds=dict(zip(search.groups, search.thresholds(table.start[:-1] + numbers).tolist(), strict=True)),
        error=after.error,
        loss=loss,
        gaps=after.gaps,
        rates=after.by_group(search.groups, table.totals.sum(axis=0) * search.snapshot.weight_unit),
        verdict=verdict,
        message=message,
        lower_bound=lower_bound,
        optimality_gap=loss - lower_bound,
        method="exact",
        density="empirical",
        iterations=int(opened),
        default_threshold=float(search.snapshot.thresholds(np.array(table.unified))),
        before_error=before.error,
        before_gaps=before.gaps,
        n_rows=float(table.totals.sum() * search.snapshot.weight_unit),
        score_column=search.snapshot.score_column,
        group_column=search.snapshot.group_column,
        _digest=search.snapshot.digest,
        limits=objective.limits,
        penalties=objective.penalties,
        costs=objective.costs,
        balanced=objective.balanced,
        unified=unified,
        notes=tuple(notes),
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
    most = np.array([max(((w, -t) for t, w in mixtures[name])) for name in search.groups])
    loss = after.weighted_error**2
    plain = finish(search, np.zeros(len(search.groups), dtype=np.int64), "optimal", mixture.pivots)
    return replace(
        plain,
        thresholds=dict(zip(search.groups, (-most[:, 1] + 0.0).tolist(), strict=True)),
        mixtures=mixtures,
        error=after.error,
        loss=loss,
        gaps=after.gaps,
        rates=after.by_group(search.groups, table.totals.sum(axis=0) * search.snapshot.weight_unit),
        message=f"no mixture of thresholds at bin edges has a lower error within the limits ({mixture.pivots} pivots)",
        lower_bound=loss,
        optimality_gap=0.0,
        notes=(*search.notes, *search.cautions(after, before)),
    )


def infeasible(search: Search, choice: Choice, unified: bool) -> Result:
    """Thresholds that miss the limits by the least, and how far the limits are out of reach.

    Of all that miss them by no more, those with the least error, or loss: the answer to the looser question.
    """

    def best_for_all(p: Arrays) -> tuple[Ints | None, bool]:
        return choose_unified(replace(search, arrays=p)).numbers, True

    near = nearest(search.arrays, best_for_all if unified else cheapest_within)
    numbers = near.found
    if not choice.proven and allowed(search.arrays, numbers):  # the looser question was easier, and met the limits too
        return finish(search, numbers, "not_converged", choice.opened, lower_bound=choice.lower_bound, unified=unified)
    if not unified and any(w > 0 for w in search.arrays.penalty):
        weighed = choose(replace(search, arrays=loosened(search.arrays, near.slack))).numbers
        numbers = numbers if weighed is None else weighed
    if choice.proven:
        verdict, message = "infeasible", f"no thresholds at bin edges meet these limits; {near.words('thresholds')}"
    else:
        verdict = "not_converged"
        message = (
            f"no thresholds that meet these limits were found in {choice.opened} boxes, the most allowed, which does "
            f"not prove that there are none; {near.words('thresholds')}"
        )
    return finish(search, numbers, verdict, choice.opened, lower_bound=0.0, message=message, unified=unified)


def infeasible_mixture(search: Search) -> Result:
    """The mixture that misses the limits by the least; needed only where scores of +inf accept rows for good."""
    near = nearest(search.arrays, lambda p: (mix(p), True))
    result = finish_mixture(search, near.found)
    message = f"no mixture of thresholds at bin edges meets these limits; {near.words('mixtures')}"
    return replace(result, verdict="infeasible", message=message, lower_bound=0.0, optimality_gap=result.loss)
