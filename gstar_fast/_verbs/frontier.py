"""The whole trade-off between error and a gap, in one computation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from gstar_fast._backends import room
from gstar_fast._backends.common.choices import extremes, loss_of
from gstar_fast._backends.interface import Arrays, Floats, Ints
from gstar_fast._base.arrays import Bools
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._criteria import CRITERION, Form
from gstar_fast._promise.curve import promised_curve
from gstar_fast._question.cut import Segments
from gstar_fast._question.options import Densities, ObjectiveLike, check_confidence, check_together, check_verb, name_of
from gstar_fast._question.question import Limits, Question, check_criterion, warn_of_ratios
from gstar_fast._question.roles import ColumnsLike
from gstar_fast._rates import SOLVER_RATES, rates_of
from gstar_fast._sketch.columns import warn_of_labels
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._sketch.view import look_at
from gstar_fast._solver.answer.points import Frontier, Listed, Points
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.cells import Cells
from gstar_fast._solver.finish import by_group, finish, finish_choice, finish_mixture, likeliest
from gstar_fast._solver.mix import Mixture, blended, corners_of
from gstar_fast._solver.search import Choice, Search, check_groups, choose, prepare
from gstar_fast._solver.segments.frontier import frontier_by_segment
from gstar_fast._solver.smooth.known import checked_densities
from gstar_fast._solver.smooth.smooth import Kind, Smooth, finish_smooth, prepare_smooth, solve_prepared
from gstar_fast._verbs.solve import question_about

Numbers = tuple[int, ...]  # one candidate a group
FRONTIER_LIMIT = 20_000_000  # boxes in all, for more than two groups


def frontier(
    sketch: Sketch | Densities,
    criterion: str,
    *,
    limits: Limits | None = None,
    by: str = "limits",
    penalties: ArrayLike | None = None,
    objective: ObjectiveLike = "error",
    density: Kind = "empirical",
    randomize: bool = False,
    confidence: float | None = None,
    fair_between: ColumnsLike | None = None,
    decide_by: ColumnsLike | Segments | None = None,
) -> Frontier:
    """Every non-dominated pair of gap and error, with its thresholds, in one computation.

    Parameters
    ----------
    sketch : Sketch, or dict of Density by (label, group)
        Counted scores. Or densities that say how many rows they stand for, as in `solve`; they need `penalties`.
    criterion : str
        Whose gap is traded against the error; `equalized_odds` is the larger of the tpr and the fpr gap,
        `equalized_odds_sum` their sum.
    limits : dict, optional
        Limits on other criteria that every point keeps.
    by : {"limits", "penalties"}
        `limits` gives every point that some limit makes optimal. `penalties` gives those that the paper's lambda form
        can reach, for all lambda at once: the corners of the lower hull of squared gap and squared error.
    penalties : array-like, optional
        With ``by="penalties"``: these lambdas instead of all, one point for each, heaviest first.
    objective
        As in `solve`.
    density : {"empirical", "kde", "normal", "student_t", "gamma", "best"} or what `density` returns of a sketch
        As in `solve`; smooth densities need `penalties`.
    randomize : bool
        Allow mixtures of thresholds: the frontier is then convex, and its corners are listed.
    confidence : float, optional
        The curve of promised limits instead: for each limit the least error, among the thresholds tried, at which it is
        promised to hold on new rows. Points hold one at a time, see `Frontier.confidence`.
    fair_between, decide_by
        As in `solve`. For thresholds by segment there are too many points to list: up to 40 limits are solved for,
        each with proof, where most is unknown between those before; `lower_bounds` says what lies between.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> sketch = gf.Sketch.from_rows([1, 2, 3, 4, 2, 3, 4, 5], [0, 1, 0, 1, 0, 0, 1, 1], list("aaaabbbb"))
    >>> print(gf.frontier(sketch, "demographic_parity"))
    frontier of demographic_parity: 2 points, gap 0 at error 0.25 to gap 0.25 at error 0.125
    """
    check_traded(criterion, by)
    if penalties is not None and by != "penalties":
        raise refusal("penalties_by", "penalties", value=by)
    given = {
        "limits": limits,
        "objective": objective,
        "density": density,
        "randomize": randomize,
        "fair_between": fair_between,
        "decide_by": decide_by,
        "evidence": 0.0,
    }
    question = question_about(sketch, "frontier", given)
    warn_of_ratios(question.limits)
    if confidence is not None:
        question = replace(question, confidence=check_confidence(confidence))
    traded = question.limited(CRITERION[criterion].limit(1.0))  # a promise is about this limit
    check_together(replace(traded, penalties={criterion: 1.0}) if by == "penalties" else traded)
    if question.smooth:
        check_verb(question, "frontier of densities")
        if penalties is None:
            raise refusal("needs", "density", value=name_of(question.density), limit="penalties")
    weights = None if penalties is None else _checked_penalties(penalties)
    if isinstance(sketch, Mapping):
        return _sweep(None, criterion, weights, checked_densities(sketch), question)
    look_at(sketch)
    warn_of_labels(sketch._core)
    cells = Cells.asked(sketch, question, wide=question.confidence is not None)
    question = cells.named(question)
    if question.smooth:
        return _sweep(sketch, criterion, weights, question.density, question, cells)
    if cells.by_segments or question.in_rows:
        check_verb(question, "frontier by segment")
        return frontier_by_segment(cells, criterion, question)
    return _by_group(cells, criterion, question, by, weights)


def check_traded(criterion: str, by: str) -> None:
    """Raise for a criterion without a gap that can be traded, or by something else than limits and penalties."""
    check_criterion(criterion, "criterion")
    if CRITERION[criterion].form is Form.RATIO:
        raise refusal("traded_ratio", "criterion", value=criterion)
    if by not in ("limits", "penalties"):
        raise refusal("by", "by", value=by)
    if by == "penalties" and CRITERION[criterion].form is Form.SUM:
        raise refusal("penalised_sum", "criterion", value=criterion)


def _by_group(cells: Cells, criterion: str, question: Question, by: str, penalties: Floats | None) -> Frontier:
    """The frontier of thresholds by group."""
    added = CRITERION[criterion].form is Form.SUM
    if question.confidence is not None:
        return promised_curve(cells, criterion, question, question.confidence)
    swept_rates = tuple(map(SOLVER_RATES.index, CRITERION[criterion].rates))
    search = prepare(cells, question, swept=swept_rates)
    check_groups(Question(limits=(CRITERION[criterion].limit(1.0),)), search.groups, search.has)
    asked = question.windows.limited.tolist()
    active = [r for r in range(len(SOLVER_RATES)) if asked[r] or r in swept_rates]
    swept = np.array([r in swept_rates for r in active])
    if question.randomize:
        return _randomised(search, criterion, swept, added)
    if by == "penalties":
        if penalties is not None:
            return _some_penalties(search, criterion, swept, penalties)
        return _penalised(search, criterion, swept)
    choices, gaps, proven_to = room("solver").frontier(search.arrays, swept.astype(np.uint8), FRONTIER_LIMIT, added)
    if len(gaps) == 0:
        raise refusal("infeasible", "limits", limit=question.asked_limits)
    return _made(search, criterion, choices, gaps, proven_to, None, Traced(*_kept(search, choices)))


@dataclass(frozen=True)
class Traced:
    """Points of a frontier by group as choices, of which results are made when they are asked for."""

    search: Search  # with the entries of the points alone
    numbers: Ints  # (points, K)

    def __getitem__(self, i: int, /) -> Result:
        return finish(self.search, self.numbers[i], "optimal", 0)

    def between(self, i: int, share: float) -> Result:
        """Choices are not mixed."""
        raise NotImplementedError


@dataclass(frozen=True)
class TracedPenalties(Traced):
    """The same, each with the best choice at a penalty; at that of a corner another one may be as good."""

    criterion: str
    swept: Bools
    penalties: Floats
    best: tuple[Choice, ...]
    corners: bool

    def __getitem__(self, i: int, /) -> Result:
        penalty, best, mine = float(self.penalties[i]), self.best[i], self.numbers[i]
        weighted = _weighted(self.search, self.criterion, self.swept, penalty)
        other = self.corners and penalty > 0
        return finish_choice(
            weighted, best.for_numbers(weighted.arrays, mine) if other else best._replace(numbers=mine)
        )


def _kept(search: Search, choices: Ints) -> tuple[Search, Ints]:
    """The search with the entries of some choices alone, and the choices in it."""
    entries = search.table.start[:-1] + choices
    used = np.unique(entries)
    small = search.only(used)
    return small, used.searchsorted(entries) - small.table.start[:-1]


@dataclass(frozen=True)
class TracedMixtures:
    """Corners of a randomised frontier as entries and weights."""

    search: Search  # with the entries of the corners alone
    mixtures: tuple[Mixture, ...]

    @classmethod
    def of(cls, search: Search, mixtures: tuple[Mixture, ...]) -> TracedMixtures:
        """Keep what results need."""
        kept = np.unique(np.concatenate([mixture.entries for mixture in mixtures]))
        moved = (replace(mixture, entries=np.searchsorted(kept, mixture.entries)) for mixture in mixtures)
        return cls(search.only(kept), tuple(moved))

    def __getitem__(self, i: int, /) -> Result:
        return finish_mixture(self.search, self.mixtures[i])

    def between(self, i: int, share: float) -> Result:
        """Both corners mixed."""
        return finish_mixture(self.search, blended(self.mixtures[i], self.mixtures[i + 1], share))


def _made(
    search: Search,
    criterion: str,
    choices: Ints,
    gaps: Floats,
    proven_to: float,
    penalty: Floats | None,
    points: Points,
) -> Frontier:
    at = search.table.start[:-1] + choices
    return Frontier(
        criterion=criterion,
        groups=search.groups,
        gaps=gaps,
        costs=search.table.cost[at].sum(axis=1) / search.scale.unit,
        thresholds=search.thresholds(at),
        randomized=False,
        weighted=search.question.weighted,
        proven_to=proven_to,
        penalty=penalty,
        _points=points,
    )


def _checked_penalties(penalties: ArrayLike) -> Floats:
    values = np.asarray(penalties, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0 or not (np.isfinite(values).all() and (values >= 0).all()):
        raise refusal("penalty_list", "penalties", value=penalties)
    return np.sort(values)[::-1]


def _weighted(search: Search, criterion: str, swept: Bools, penalty: float) -> Search:
    """The same search with this penalty on the criterion."""
    question = replace(search.question, penalties={criterion: penalty})
    return replace(_priced(search, swept, penalty), question=question)


def _priced(search: Search, swept: Bools, penalty: float) -> Search:
    """The same as far as a backend reads it."""
    return replace(search, arrays=replace(search.arrays, penalty=np.where(swept, penalty, 0.0)))


def _best_choice(search: Search) -> Choice:
    """What `choose` finds; raises if that is nothing."""
    choice = choose(search)
    if choice.numbers is None:
        limits = search.question.asked_limits
        if choice.proven:
            raise refusal("infeasible", "limits", limit=limits)
        raise refusal("not_found", "limits", value=choice.opened, limit=limits)
    return choice


def _some_penalties(search: Search, criterion: str, swept: Bools, penalties: Floats) -> Frontier:
    asked = [_weighted(search, criterion, swept, float(w)) for w in penalties]
    found = [_best_choice(one) for one in asked]
    choices = np.array([choice.numbers for choice in found], dtype=np.int64)
    gaps = np.array([_gap(search.arrays, swept, numbers) for numbers in choices])
    proven_to = 0.0 if all(choice.proven for choice in found) else 1.0
    points = TracedPenalties(*_kept(search, choices), criterion, swept, penalties, tuple(found), corners=False)
    return _made(search, criterion, choices, gaps, proven_to, penalties, points)


def _sweep(
    sketch: Sketch | None,
    criterion: str,
    penalties: Floats | None,
    density: Kind,
    question: Question,
    cells: Cells | None = None,
) -> Frontier:
    """The paper's lambda sweep on smooth densities; two groups in one call of the backend."""
    assert penalties is not None, "a frontier of smooth densities was checked to have penalties"
    asked = replace(question, penalties={criterion: 1.0})
    s = prepare_smooth(sketch, asked, density, cells=cells)
    p = s.problem
    weights = penalties[:, None] * (p.penalty > 0)

    def at(i: int) -> Smooth:
        weight = float(penalties[i])
        problem = p._replace(penalty=weights[i])
        return replace(s, question=replace(asked, penalties={criterion: weight}), problem=problem)

    if len(s.groups) == 2:
        tolerance = 1e-13 * (p.high - p.low)
        # the backend goes from light penalties to heavy ones, the frontier from heavy to light
        light_first = np.ascontiguousarray(weights[::-1])
        swept, _, _, _ = room("solver").sweep(p, s.grid(), s.candidates, light_first, tolerance)
        thresholds = np.ascontiguousarray(swept[::-1])
        solved = [finish_smooth(at(i), one, "optimal", 0, "") for i, one in enumerate(thresholds)]
    else:
        solved = [solve_prepared(at(i)) for i in range(len(penalties))]
        thresholds = np.array([list(result.thresholds.values()) for result in solved])
    shares = s.accepted_at(thresholds)
    totals = s.totals.astype(np.float64)
    rates = rates_of(shares.reshape(3, -1), np.tile(totals, len(penalties)), s.active).reshape(-1, *thresholds.shape)
    gaps = np.max([np.ptp(rate[:, has.astype(bool)], axis=1) for rate, has in zip(rates, p.has, strict=True)], axis=0)
    cost = s.scale.fp * shares[0].sum(axis=1) + s.scale.fn * (totals[1] - shares[1]).sum(axis=1)
    return Frontier(
        criterion=criterion,
        groups=s.groups,
        gaps=gaps,
        costs=cost / s.scale.unit,
        thresholds=thresholds,
        randomized=False,
        weighted=question.weighted,
        proven_to=0.0 if all(result.verdict == "optimal" for result in solved) else 1.0,
        penalty=penalties,
        _points=Listed(tuple(solved)),
    )


def _penalised(search: Search, criterion: str, swept: Bools) -> Frontier:
    """All lambdas at once: the lower hull of (sum of squared gaps, E^2), found chord by chord.

    For a chord between two corners, the lambda at which both are equally good either finds a corner below it or proves
    that there is none.
    """
    base = search.arrays
    found: dict[Numbers, tuple[float, float]] = {}

    @cache
    def ask(penalty: float) -> Choice:
        return _best_choice(_priced(search, swept, penalty))

    asked: list[Choice] = []

    def best(penalty: float) -> Numbers:
        asked.append(ask(penalty))
        choice = tuple(np.asarray(asked[-1].numbers).tolist())
        found.setdefault(choice, _squares(base, swept, choice))
        return choice

    ends = best(1e12), best(0.0)
    corners = list(dict.fromkeys([*_chords(best, found, *ends), ends[1]]))
    while len(corners) > 1 and found[corners[0]][0] >= found[corners[1]][0]:  # as fair, but dearer
        corners.pop(0)
    while len(corners) > 1 and found[corners[-1]][1] >= found[corners[-2]][1]:  # as cheap, but less fair
        corners.pop()
    choices = np.array(corners, dtype=np.int64)
    gaps = np.array([_gap(base, swept, numbers) for numbers in choices])
    squares = np.array([found[c] for c in corners])
    # a corner is best from the lambda of the chord to its cheaper neighbour upwards
    least = np.append((squares[:-1, 1] - squares[1:, 1]) / (squares[1:, 0] - squares[:-1, 0]), 0.0)

    proven_to = 0.0 if all(choice.proven for choice in asked) else 1.0
    at = tuple(ask(float(penalty)) for penalty in least)
    points = TracedPenalties(*_kept(search, choices), criterion, swept, least, at, corners=True)
    return _made(search, criterion, choices, gaps, proven_to, least, points)


def _chords(
    best: Callable[[float], Numbers], found: Mapping[Numbers, tuple[float, float]], fair: Numbers, cheap: Numbers
) -> list[Numbers]:
    """Corners from `fair` up to, not including, `cheap`."""
    pending, out = [(fair, cheap)], []
    while pending:
        fair, cheap = pending.pop()
        (gap_fair, error_fair), (gap_cheap, error_cheap) = found[fair], found[cheap]
        if fair == cheap or gap_cheap <= gap_fair or error_fair <= error_cheap:
            out.append(fair)
            continue
        penalty = (error_fair - error_cheap) / (gap_cheap - gap_fair)
        middle = best(penalty)
        gap, error = found[middle]
        level = error_fair + penalty * gap_fair
        if middle in (fair, cheap) or error + penalty * gap >= level * (1 - 1e-14):
            out.append(fair)
        else:
            pending += [(middle, cheap), (fair, middle)]
    return out


def _squares(p: Arrays, swept: Bools, numbers: Numbers) -> tuple[float, float]:
    """Sum over the swept rates of the mean squared gap, and E^2."""
    error = float(loss_of(replace(p, penalty=np.zeros(len(swept))), numbers))
    both = float(loss_of(replace(p, penalty=np.where(swept, 1.0, 0.0), cost=np.zeros_like(p.cost)), numbers))
    return both, error


def _gap(p: Arrays, swept: Bools, numbers: Ints) -> float:
    return float(max(high - low for r in np.flatnonzero(swept) for low, high in [extremes(p, int(r), numbers)]))


def _randomised(search: Search, criterion: str, swept: Bools, added: bool) -> Frontier:
    """The frontier of mixtures, by its corners."""
    points = corners_of(search.arrays, swept, added)
    if not points:
        raise refusal("infeasible_mixture", "limits", limit=search.question.asked_limits)
    gaps = np.array(sorted(points))
    mixtures = tuple(points[g][1] for g in gaps)
    return Frontier(
        criterion=criterion,
        groups=search.groups,
        gaps=gaps,
        costs=np.array([points[g][0] for g in gaps]),
        thresholds=np.array([list(likeliest(by_group(search, mixture)).values()) for mixture in mixtures]),
        randomized=True,
        weighted=search.question.weighted,
        proven_to=0.0,
        penalty=None,
        _points=TracedMixtures.of(search, mixtures),
    )
