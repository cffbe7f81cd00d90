"""Thresholds with a proof: `solve`."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from gstar_fast._backends import room
from gstar_fast._backends.common.choices import allowed, loss_of
from gstar_fast._backends.interface import BOX_LIMIT, Arrays, Floats, Ints, Table, node_limit
from gstar_fast._base.refusals import refusal
from gstar_fast._density.density import KINDS
from gstar_fast._sketch.pooling import checked_min_rows
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.degenerate import cautions, warn_if_degenerate
from gstar_fast._solver.mixture import Mixture, mix, mixed
from gstar_fast._solver.nearest import cheapest_within, loosened, nearest
from gstar_fast._solver.outcome import Outcome
from gstar_fast._solver.question import (
    RATES,
    TOLERANCE,
    Objective,
    Scale,
    Snapshot,
    check_groups,
    has_rate,
    question_limits,
    rates_at,
    scale_of,
)
from gstar_fast._solver.result import Result
from gstar_fast._solver.smooth import solve_smooth
from gstar_fast._solver.spread import pooled_sketch, spread

MOST_MIXED = 16  # groups for which a verdict says what mixing would save: the linear program slows down with more
METHODS = ("exact", "alternating", "gauss_newton", "newton")


@dataclass(frozen=True)
class Search:
    """A problem ready for a backend, and the way back from its numbers to thresholds."""

    snapshot: Snapshot
    objective: Objective
    scale: Scale
    table: Table
    arrays: Arrays
    has: Any  # (5, K) which groups have the rows each rate needs
    notes: tuple[str, ...]

    @property
    def groups(self) -> tuple[Any, ...]:
        return self.snapshot.groups

    @property
    def n_candidates(self) -> int:
        return int(self.snapshot.rows.shape[2])

    def thresholds(self, entries: Ints) -> Floats:
        """Thresholds that entries of the arrays stand for."""
        return self.snapshot.thresholds(self.table.candidate[entries])

    def accepted(self, numbers: Ints) -> Ints:
        return self.table.accepted[:, self.table.start[:-1] + numbers]

    def cautions(self, after: Outcome, before: Outcome, unified: bool = False, can_mix: bool = False) -> list[str]:
        """Notes on an outcome that hardly decides."""
        unit = self.snapshot.weight_unit
        totals, scale, objective = self.table.totals, self.scale, self.objective
        ways = {"unified": unified, "can_mix": can_mix}
        return cautions(self.groups, after, before, totals, scale, objective, weight_unit=unit, **ways)


def prepare(sketch: Sketch, objective: Objective, swept: tuple[int, ...] = (), shared: bool = False) -> Search:
    """Count what every candidate accepts, and lay out the rates that matter.

    `swept` are rates wanted besides those asked for; `shared` keeps all candidates of all groups.
    """
    snapshot = Snapshot.of(sketch)
    totals = snapshot.rows.sum(axis=2)
    scale = scale_of(objective, int(totals[0].sum()), int(totals[1].sum()))
    has = has_rate(totals)
    notes = check_groups(objective, snapshot.groups, has)
    return lay_out(snapshot, objective, totals, scale, has, tuple(notes), swept, shared)


def lay_out(
    snapshot: Snapshot,
    objective: Objective,
    totals: Ints,
    scale: Scale,
    has: Any,
    notes: tuple[str, ...] = (),
    swept: tuple[int, ...] = (),
    shared: bool = False,
) -> Search:
    """What `prepare` does once the counts are there and checked."""
    rows = snapshot.rows
    table: Table = every_candidate(rows, scale) if shared else room("solver").tabulate(rows, scale.fp, scale.fn)
    limit, ratio, penalty = objective.limit, objective.ratio, objective.penalty
    active = [r for r in range(len(RATES)) if limit[r] < np.inf or ratio[r] >= 0 or penalty[r] > 0 or r in swept]
    arrays = Arrays(
        start=table.start,
        cost=table.cost,
        distance=np.abs(table.candidate - table.unified),
        rates=rates_at(table.accepted, totals, table.start, active),
        has=has[active].astype(np.uint8),
        limit=limit[active],
        ratio=ratio[active],
        penalty=penalty[active],
        unit=scale.unit,
    )
    return Search(snapshot, objective, scale, table, arrays, has, notes)


def solve(
    sketch: Sketch,
    *,
    limits: Mapping[str, float] | None = None,
    penalties: Mapping[str, float] | None = None,
    method: str = "exact",
    density: str | Mapping[Any, Any] = "empirical",
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
    objective = Objective.of(limits, penalties, costs, balanced)
    question_limits(objective.limits)
    check_options(
        objective, method=method, density=density, unified=unified, randomize=randomize, max_seconds=max_seconds
    )
    least = checked_min_rows(min_rows)
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


def check_options(
    objective: Objective,
    *,
    method: str,
    density: str | Mapping[Any, Any],
    unified: bool,
    randomize: bool,
    max_seconds: float | None = None,
) -> None:
    """Refuse options of `solve` that do not go together; needs no sketch, so that nobody counts or trains in vain."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    if not isinstance(density, Mapping) and density not in KINDS:
        raise ValueError(f"density must be one of {', '.join(KINDS)}, or what gf.densities returns; got {density!r}")
    counted = isinstance(density, str) and density == "empirical"
    if randomize and (objective.penalties or unified or method != "exact" or not counted):
        raise refusal("randomize", "randomize")
    if max_seconds is not None:
        _check_seconds(max_seconds)
        if randomize or unified or not counted:
            raise refusal("seconds_with", "max_seconds", value=max_seconds)
    if method == "exact":
        return
    if counted:
        raise refusal("method_density", "method", value=method)
    if objective.limits or not objective.penalties:
        raise refusal("method_penalties", "method", value=method)
    if unified and method == "alternating":
        raise refusal("method_unified", "method", value=method)


def _check_seconds(given: object) -> None:
    if isinstance(given, bool) or not isinstance(given, (Real, np.number)):
        raise refusal("seconds_type", "max_seconds", value=given)
    if not float(given) > 0:
        raise refusal("seconds", "max_seconds", value=given)


class Choice(NamedTuple):
    """One candidate a group, and what was proven of it."""

    numbers: Ints | None  # None where no choice meets the limits, or none was found and `proven` is False
    opened: int
    loss: float | None = None
    lower_bound: float | None = None
    proven: bool = True

    def for_numbers(self, p: Arrays, numbers: Ints) -> Choice:
        """What is proven of another choice in the same search with penalties."""
        loss = float(loss_of(p, numbers))
        lower = min(float(self.lower_bound or 0.0), loss)
        return self._replace(numbers=numbers, loss=loss, lower_bound=lower, proven=_meets(loss, lower))


def choose(search: Search, max_seconds: float | None = None) -> Choice:
    """The best choice within the limits."""
    p = search.arrays
    end = math.inf if max_seconds is None else time.monotonic() + float(max_seconds)
    backend = room("solver")
    if not any(w > 0 for w in p.penalty):
        numbers, opened, finished, bound = backend.solve_limits(p, BOX_LIMIT, _left(end))
        if numbers[0] < 0 and not finished:  # give what is mostly allowed, with what was proven
            lower = max(float(bound) / search.scale.unit - search.scale.slack, 0.0) ** 2
            return Choice(_first_allowed(p), opened, lower_bound=lower, proven=False)
        return Choice(None if numbers[0] < 0 else numbers, opened)
    if len(search.groups) == 2:
        numbers, loss, _ = backend.solve_pair(p)
        lower, opened = loss, 1  # one pass over all pairs; how it skips most of them is the backend's business
    else:
        guess, _, finished, _ = backend.solve_limits(p, BOX_LIMIT, _left(end))
        if guess[0] < 0 and finished:
            return Choice(None, 0)
        if guess[0] < 0 and (everybody := _first_allowed(p)) is not None:
            guess = everybody
        numbers, loss, lower, opened = backend.solve_penalties(p, guess, node_limit(len(search.groups)), _left(end))
    if numbers[0] < 0:  # without a choice the bound is finite where nodes are left
        return Choice(None, opened, lower_bound=lower, proven=lower == np.inf)
    return Choice(numbers, opened, loss, lower, proven=_meets(loss, lower))


def _left(end: float) -> float:
    """Seconds left until a moment; infinitely many where it never comes."""
    return max(end - time.monotonic(), 0.0) if end < math.inf else math.inf


def _meets(loss: float, lower: float) -> bool:
    """Whether a loss is proven to be the least."""
    return loss - lower <= TOLERANCE * max(1.0, loss)


def choose_unified(search: Search) -> Choice:
    """The best candidate for all groups: every one is looked at."""
    p = search.arrays
    shared = [np.arange(search.n_candidates)] * len(search.groups)
    penalised = any(w > 0 for w in p.penalty)
    value: Any = loss_of(p, shared) if penalised else p.cost.reshape(len(search.groups), -1).sum(axis=0)
    open_ = np.flatnonzero(np.broadcast_to(allowed(p, shared), search.n_candidates))
    if len(open_) == 0:
        return Choice(None, search.n_candidates)
    order = np.lexsort((open_, np.abs(open_ - search.table.unified), value[open_]))
    return Choice(np.full(len(search.groups), open_[order[0]], dtype=np.int64), search.n_candidates)


def _first_allowed(p: Arrays) -> Ints | None:
    """Accepting everybody, which limits on tpr, fpr and selection rate always allow; None where limits forbid it."""
    everybody = np.zeros(len(p.start) - 1, dtype=np.int64)
    return everybody if allowed(p, everybody) else None


def every_candidate(rows: Ints, scale: Scale) -> Table:
    """A table of all candidates of all groups, none left out, so that groups can share one."""
    accepted = np.cumsum(rows[:, :, ::-1], axis=2)[:, :, ::-1]
    n_groups, n = accepted.shape[1:]
    totals = accepted[:, :, 0].copy()
    cost = scale.fp * accepted[0] + scale.fn * (totals[1][:, None] - accepted[1])
    best = int(np.argmin(cost.sum(axis=0)))
    return Table(
        start=np.arange(n_groups + 1) * n,
        candidate=np.tile(np.arange(n), n_groups),
        accepted=accepted.reshape(3, -1),
        cost=cost.reshape(-1),
        totals=totals,
        at_unified=accepted[:, :, best],
        unified=best,
    )


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
    mixtures: dict[Any, tuple[tuple[float, float], ...]] = {
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
