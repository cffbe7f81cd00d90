"""Thresholds with a proof: `solve`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._question.cut import Segments
from gstar_fast._question.options import Densities, ObjectiveLike, check_verb
from gstar_fast._question.question import Limits, Question, warn_of_ratios
from gstar_fast._question.roles import ColumnsLike
from gstar_fast._sketch.columns import warn_of_labels
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._sketch.view import look_at
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.cells import Cells
from gstar_fast._solver.finish import check_pooled, settled_by_group, solved, spread
from gstar_fast._solver.notes import told_of_noise, warned, with_gap_notes
from gstar_fast._solver.search import prepare
from gstar_fast._solver.segments.answer import Answer
from gstar_fast._solver.smooth.known import checked_densities
from gstar_fast._solver.smooth.smooth import solve_smooth


def solve(
    sketch: Sketch | Densities,
    *,
    limits: Limits | None = None,
    penalties: Mapping[str, float] | None = None,
    objective: ObjectiveLike = "error",
    method: str = "exact",
    density: str | Densities = "empirical",
    unified: bool = False,
    randomize: bool = False,
    min_rows: float = 0.0,
    max_seconds: float | None = None,
    confidence: float | None = None,
    evidence: float = 0.95,
    fair_between: ColumnsLike | None = None,
    decide_by: ColumnsLike | Segments | None = None,
    rounds: int | None = None,
) -> Result:
    """Find one threshold for each group, with the least error while gaps stay within limits.

    Parameters
    ----------
    sketch : Sketch, or dict of Density by (label, group)
        Counted scores. Or densities that say how many rows they stand for, such as ``gf.density("normal", location=0.2,
        rows=500)``: no rows are needed then. Options that need counts raise ValueError with these.
    limits : dict, optional
        Largest gap allowed, by criterion: ``{"equalized_odds": 0.02}``. ``disparate_impact`` is a least ratio.
        ``equalized_odds_sum``, the tpr gap plus the fpr gap, is from 0 to 2. Or what a rate is in every group:
        ``{"tpr": {"at_least": 0.7}}``; also `fpr`, `selection_rate`, `accuracy` and `balanced_accuracy`, and
        ``at_most``. ``{"selected": {"at_most": 0.1}}`` is a share of all rows, unlabelled ones included.
    penalties : dict, optional
        Weight of the squared gap, by criterion: the paper's lambda.
    objective : {"error", "balanced_error"} or dict
        What is minimised: the error rate, the error rate with both classes weighed alike, or the price of the errors,
        such as ``{"fp": 1, "fn": 5}`` for false negatives that cost five times a false positive. ``"balanced": True``
        beside the prices weighs both classes alike.
    method : {"exact", "alternating", "gauss_newton", "newton"}
        `exact` proves its answer. The others iterate on smooth densities and need penalties, not limits:
        `alternating` is the paper's loop with back-tracking, `gauss_newton` moves all thresholds with the full
        Jacobian, `newton` with the exact Hessian, both damped and from three starts.
    density : {"empirical", "kde", "normal", "student_t", "gamma", "best"} or what `density` returns of a sketch
        `empirical` is the counts themselves: exact at every bin edge. Pass ``gf.density(sketch, kind="kde",
        bandwidth=0.5)`` to choose more than the kind, or densities of your own by (label, group).
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
        `fair_between`; thresholds depend on `decide_by` alone, so the protected group is not needed to decide. The same
        columns for both are thresholds by protected group. Without `decide_by` thresholds depend on all columns
        together, or on none with ``unified=True``. For a column of segments whose order has a meaning, `decide_by` is a
        `Segments`: thresholds then rise along the segments, or fall, whichever has the lower error. If it has cut
        points they are saved with the thresholds, and the decider takes the number that was cut, such as P(group | x).
    rounds : int, optional
        Run exactly so many rounds of an iterative `method`, converged or not, instead of ending when no step helps. A
        round updates every threshold once, and its cost does not depend on the number of rows.

    Returns
    -------
    Result
        It has a verdict even if the limits cannot be met.

    Warns
    -----
    DegenerateWarning
        If the thresholds meet the limits only by accepting or rejecting almost everybody.
    LabelWarning
        If a positive label was given and no row, or every row, has it.
    MissingClassWarning
        If a group is left out of a gap because it has no rows with the label.
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
    given = {
        "limits": limits,
        "penalties": penalties,
        "objective": objective,
        "method": method,
        "density": density,
        "unified": unified,
        "randomize": randomize,
        "min_rows": min_rows,
        "max_seconds": max_seconds,
        "confidence": confidence,
        "evidence": evidence,
        "fair_between": fair_between,
        "decide_by": decide_by,
        "rounds": rounds,
    }
    return solve_question(sketch, question_about(sketch, "solve", given))


def question_about(sketch: object, verb: str, given: Mapping[str, object]) -> Question:
    """Check the options of a verb, which may get densities in the place of a sketch."""
    if isinstance(sketch, Sketch):
        return Question.of(**given)
    if not isinstance(sketch, Mapping):
        raise refusal("needs_a_sketch", "sketch", value=sketch)
    if given["density"] != "empirical":
        raise refusal("not_here", "density", value=given["density"], limit=f"{verb} of densities")
    question = Question.of(**{**given, "density": sketch})
    check_verb(question, f"{verb} of densities")
    return question


def solve_question(sketch: Sketch | Densities, question: Question) -> Result:
    """What `solve` does with a question that was checked."""
    warn_of_ratios(question.limits)
    if isinstance(sketch, Mapping):
        return warned(_smooth(None, replace(question, density=checked_densities(sketch))))
    look_at(sketch)
    if sketch._core.sections:  # where labels have texts
        warn_of_labels(sketch._core)
    return warned(_solved(sketch, question), sketch)


def _solved(sketch: Sketch, question: Question) -> Result:
    cells = Cells.asked(sketch, question, wide=question.unified or question.confidence is not None)
    if cells.own is not None:
        check_pooled(cells, question)
    question = cells.named(question)
    if question.smooth:
        result = _smooth(sketch, question, cells)
    else:
        result = (_by_rows if cells.by_segments or question.in_rows else _by_group)(cells, question)
    return result if cells.own is None else spread(result, cells)


def _smooth(sketch: Sketch | None, question: Question, cells: Cells | None = None) -> Result:
    """Thresholds on smooth densities; without a sketch the question has the densities."""
    result = with_gap_notes(solve_smooth(sketch, question, cells))
    return result if cells is None else told_of_noise(result, cells)


def _by_rows(cells: Cells, question: Question) -> Result:
    """Thresholds by segment, or by group where limits are on rates of several groups together."""
    answer, randomize = Answer(cells, plain_of(question)), question.randomize
    result = with_gap_notes(answer.solved(randomize, question.evidence))
    if question.confidence is None:
        return told_of_noise(result, cells)
    best = result
    if result.verdict == "unified":
        best = answer.solved(randomize).but(evidence=result.evidence)
    from gstar_fast._promise.by_segment import AskedBySegment  # not at import: promises need SciPy
    from gstar_fast._promise.choose import promised

    asked = AskedBySegment.of(answer, best, question.confidence, randomize)
    return with_gap_notes(promised(asked, best, result))


def _by_group(cells: Cells, question: Question) -> Result:
    """Thresholds on the counts."""
    randomize = question.randomize
    search = prepare(cells, plain_of(question), shared=question.unified)
    best = result = solved(search, randomize)
    if question.evidence > 0 and not question.unified and not question.penalties:
        result = settled_by_group(search, best, question.evidence)
    if result.proof.verdict == "unified":
        best = replace(best, evidence=result.evidence)
    else:
        best = result = with_gap_notes(result)
    if question.confidence is None:
        return told_of_noise(result, cells)
    from gstar_fast._promise.by_group import AskedByGroup
    from gstar_fast._promise.choose import promised

    return with_gap_notes(promised(AskedByGroup.of(search, best, question.confidence, randomize), best, result))


def plain_of(question: Question) -> Question:
    """The question without a promise."""
    return question if question.confidence is None else replace(question, confidence=None)
