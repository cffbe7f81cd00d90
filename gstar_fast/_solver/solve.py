"""Thresholds with a proof: `solve`."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

from gstar_fast._base.names import Name
from gstar_fast._density.density import Density
from gstar_fast._input.options import checked_flag
from gstar_fast._question.cut import Segments
from gstar_fast._sketch.columns import warn_of_labels
from gstar_fast._sketch.pooling import checked_min_rows
from gstar_fast._sketch.resolution import look_at
from gstar_fast._sketch.sketch import Sketch, check_sketch
from gstar_fast._solver.degenerate import warned
from gstar_fast._solver.evidence.by_group import settled_by_group
from gstar_fast._solver.finish import finish_choice, finish_mixture, infeasible, infeasible_mixture
from gstar_fast._solver.mix import mix
from gstar_fast._solver.noise import told_of_noise
from gstar_fast._solver.promise.choose import promised
from gstar_fast._solver.question import (
    Objective,
    check_confidence,
    check_densities,
    check_evidence,
    check_options,
    check_promise,
    question_limits,
)
from gstar_fast._solver.result import Result
from gstar_fast._solver.search import Search, choose, choose_unified, prepare
from gstar_fast._solver.segments.answer import Answer
from gstar_fast._solver.segments.promise import promised_by_segment
from gstar_fast._solver.segments.roles import (
    ColumnsLike,
    asked_roles,
    check_cut,
    check_monotone,
    check_segments,
    of_protected,
    protected_sketch,
)
from gstar_fast._solver.smooth.known import checked_densities
from gstar_fast._solver.smooth.smooth import solve_smooth
from gstar_fast._solver.snapshot import Snapshot
from gstar_fast._solver.spread import pooled_sketch, spread
from gstar_fast._solver.words.gaps import with_gap_notes


def solve(
    sketch: Sketch | Mapping[tuple[int, Name], Density],
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
    confidence: float | None = None,
    evidence: float = 0.95,
    fair_between: ColumnsLike | None = None,
    decide_by: ColumnsLike | None = None,
    monotone: bool | None = None,
    segments: Segments | None = None,
) -> Result:
    """Find one threshold for each group, with the least error while gaps stay within limits.

    Parameters
    ----------
    sketch : Sketch, or dict of Density by (label, group)
        Counted scores. Or densities that say how many rows they stand for, such as ``gf.density("normal", location=0.2,
        rows=500)``: no rows are needed then. Options that need counts are refused with these.
    limits : dict, optional
        Largest gap allowed, by criterion: ``{"equalized_odds": 0.02}``. ``disparate_impact`` is a least ratio.
        ``equalized_odds_sum``, the tpr gap plus the fpr gap, is from 0 to 2.
    penalties : dict, optional
        Weight of the squared gap, by criterion: the paper's lambda.
    method : {"exact", "alternating", "gauss_newton", "newton"}
        `exact` proves its answer. The others iterate on smooth densities and need penalties, not limits:
        `alternating` is the paper's loop with back-tracking, `gauss_newton` moves all thresholds with the full
        Jacobian, `newton` with the exact Hessian, both damped and from three starts.
    density : {"empirical", "kde", "normal", "student_t", "gamma", "best"} or what `density` returns of a sketch
        `empirical` is the counts themselves: exact at every bin edge. Pass ``gf.density(sketch, kind="kde",
        bandwidth=0.5)`` to choose more than the kind, or densities of your own by (label, group).
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
    confidence : float, optional
        Promise that the limits hold on new rows, with this confidence: 0.95. The error rises by as little as the family
        of thresholds that is tried allows. Where nothing can be promised, the verdict is "unpromised", the thresholds
        are those found without `confidence`, and the message says what is missing; see `Result.promise`.
    evidence : float
        From 0 to below 1. If the best unified threshold meets the limits, thresholds by group (or segment) are returned
        only if they cost less with this confidence. Otherwise every group gets the unified threshold, and the verdict
        is "unified". 0 always gives the least cost. It is not used with penalties, smooth densities or
        ``unified=True``.
    fair_between, decide_by : str, int or several, optional
        Group columns, by name or position, of a sketch that counts several. Gaps are measured between groups of
        `fair_between`; thresholds depend on `decide_by` alone, so that nobody needs the protected group to decide.
        ``decide_by=()`` is ``unified=True``; the same columns for both are thresholds by protected group.
    monotone : bool, optional
        With `decide_by`: thresholds rise along the segments, or fall, whichever has the lower error. For segments that
        are whole numbers with a meaning to their order. Without it thresholds are monotone if `segments` is given and
        was made for them, which is the default of `Segments`; else they are not.
    segments : Segments, optional
        The cut points that made the column of `decide_by`. They are saved with the thresholds, and the decider then
        takes the number that was cut, such as P(group | x), and finds its segment itself.

    Returns
    -------
    Result
        With a verdict also when the limits cannot be met.

    Warns
    -----
    DegenerateWarning
        If the thresholds hold what was asked by hardly deciding.
    LabelWarning
        If a positive label was given and no row has it, or every row.
    MissingClassWarning
        If a group is left out of a gap, for want of labels.
    NoiseWarning
        If a limit is below the gap that an exactly fair rule shows by chance on so few rows; not with `confidence`.
    ResolutionWarning
        If a bin next to a threshold holds many rows with different scores, so that a rate may be off.
    SentinelWarning
        As in `Sketch.update`, if the sketch has not given it yet.

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
    sure = check_evidence(evidence)
    unified, randomize = checked_flag("unified", unified), checked_flag("randomize", randomize)
    if isinstance(sketch, Mapping):
        asked_too = {"density": density != "empirical", "min_rows": min_rows != 0, "monotone": bool(monotone)}
        roles = {"fair_between": fair_between, "decide_by": decide_by, "segments": segments}
        asked_too |= {name: given is not None for name, given in roles.items()}
        check_densities(objective, asked_too, confidence=confidence)
        check_options(
            objective, method=method, density=sketch, unified=unified, randomize=randomize, max_seconds=max_seconds
        )
        question_limits(objective.limits)
        known = checked_densities(sketch)
        return warned(with_gap_notes(solve_smooth(None, objective, method=method, kind=known, unified=unified)))
    check_sketch(sketch)
    question_limits(objective.limits)
    check_options(
        objective, method=method, density=density, unified=unified, randomize=randomize, max_seconds=max_seconds
    )
    counts = isinstance(density, str) and density == "empirical"
    level = None if confidence is None else check_confidence(confidence)
    if level is not None:
        check_promise(objective, counted=counts, max_seconds=max_seconds)
    least = checked_min_rows(min_rows)
    asked = None
    if fair_between is not None or decide_by is not None:
        asked = asked_roles(sketch, fair_between, decide_by)
    cuts, monotone = check_cut(sketch, asked, segments, monotone)
    check_monotone(sketch, asked, monotone)
    look_at(sketch)
    warn_of_labels(sketch._core)
    whole = sketch
    if asked is not None and asked.by_segment:
        check_segments(objective, density=density, unified=unified, min_rows=least)
        answer = Answer(Snapshot.of(sketch), asked, objective, bool(monotone), cuts)
        seconds = math.inf if max_seconds is None else float(max_seconds)
        result = with_gap_notes(answer.mixed(sure) if randomize else answer.chosen(seconds, sure))
        if level is not None:
            return warned(with_gap_notes(promised_by_segment(answer, result, level, randomize)), whole)
        return warned(told_of_noise(result, answer.snapshot, asked.roles.protected), whole)
    if asked is not None:
        unified = unified or not asked.roles.decide_by
        check_options(
            objective, method=method, density=density, unified=unified, randomize=randomize, max_seconds=max_seconds
        )
        sketch = protected_sketch(sketch, asked)
    counted, name = sketch, ""
    if least > 0:
        sketch.digest()  # which the copy remembers too
        sketch = sketch.copy()  # others may go on updating it
        counted, name = pooled_sketch(sketch, least, objective, density)
    if counts:
        search = prepare(counted, objective, shared=unified, wide=level is not None)
        best = result = solve_exact(search, unified, randomize, max_seconds)
        if sure > 0 and not unified and not objective.penalties:
            result = settled_by_group(search, best, sure)
        if result.verdict == "unified":
            best = replace(best, evidence=result.evidence)
        else:
            best = result = with_gap_notes(result)
        if level is not None:
            result = promised(search, best, result, level, solve_exact, unified=unified, randomize=randomize)
            result = with_gap_notes(result)
        else:
            result = told_of_noise(result, search.snapshot)
    else:
        result = with_gap_notes(solve_smooth(counted, objective, method=method, kind=density, unified=unified))
        result = told_of_noise(result, Snapshot.of(counted))
    if least > 0:
        result = spread(result, sketch, counted, name, least)
    return warned(result if asked is None else of_protected(result, asked), whole)


def solve_exact(search: Search, unified: bool, randomize: bool, max_seconds: float | None) -> Result:
    """What `solve` does on the counts."""
    if randomize:
        mixture = mix(search.arrays)
        return infeasible_mixture(search) if mixture is None else finish_mixture(search, mixture)
    end = math.inf if max_seconds is None else time.monotonic() + float(max_seconds)
    choice = choose_unified(search) if unified else choose(search, end)
    if choice.numbers is None:
        return infeasible(search, choice, unified, end)
    return finish_choice(search, choice, unified)
