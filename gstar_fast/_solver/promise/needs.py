"""Planning before collecting: `rows_needed`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._input.options import checked_flag
from gstar_fast._question.cut import Segments
from gstar_fast._sketch.columns import warn_of_labels
from gstar_fast._sketch.pooling import checked_min_rows
from gstar_fast._sketch.sketch import Sketch, check_sketch
from gstar_fast._solver.promise.choose import ask
from gstar_fast._solver.promise.record import RowsNeeded
from gstar_fast._solver.question import Objective, check_confidence, check_options, question_limits
from gstar_fast._solver.search import prepare
from gstar_fast._solver.segments.answer import Answer
from gstar_fast._solver.segments.promise import ask as ask_segments
from gstar_fast._solver.segments.roles import (
    ColumnsLike,
    asked_roles,
    check_cut,
    check_monotone,
    check_segments,
    protected_sketch,
)
from gstar_fast._solver.snapshot import Snapshot
from gstar_fast._solver.solve import solve_exact
from gstar_fast._solver.spread import pooled_sketch


def rows_needed(
    sketch: Sketch,
    *,
    limits: Mapping[str, float],
    confidence: float = 0.95,
    costs: Iterable[float] = (1, 1),
    balanced: bool = False,
    unified: bool = False,
    randomize: bool = False,
    min_rows: float = 0,
    fair_between: ColumnsLike | None = None,
    decide_by: ColumnsLike | None = None,
    segments: Segments | None = None,
    monotone: bool | None = None,
) -> RowsNeeded:
    """How many rows, drawn like these, `solve` would need to promise the limits.

    At the number named a promise comes in about four of five samples. Small groups are named that cannot support the
    limits whatever the other groups have.

    Parameters
    ----------
    sketch : Sketch
        Counted scores.
    limits, confidence, costs, balanced, unified, randomize, min_rows, fair_between, decide_by, segments, monotone
        As in `solve`. With `min_rows`, groups are those after pooling; with `decide_by`, the protected ones.

    Returns
    -------
    RowsNeeded
        In all and by group; print it.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> from gstar_fast.datasets import paper_synthetic
    >>> table = paper_synthetic(rows=2_000, seed=1)
    >>> sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
    >>> gf.rows_needed(sketch, limits={"equalized_odds": 0.05}).times > 1
    True
    """
    check_sketch(sketch)
    objective = Objective.of(limits, None, costs, balanced)
    unified, randomize = checked_flag("unified", unified), checked_flag("randomize", randomize)
    question_limits(objective.limits)
    if not objective.limits:
        raise refusal("no_limits", "limits", value="rows_needed")
    check_options(objective, method="exact", density="empirical", unified=unified, randomize=randomize)
    level = check_confidence(confidence)
    least = checked_min_rows(min_rows)
    asked = None
    if fair_between is not None or decide_by is not None:
        asked = asked_roles(sketch, fair_between, decide_by)
    _, monotone = check_cut(sketch, asked, segments, monotone)
    check_monotone(sketch, asked, monotone)
    warn_of_labels(sketch._core)
    if asked is not None and asked.by_segment:
        check_segments(objective, density="empirical", unified=unified, min_rows=least)
        answer = Answer(Snapshot.of(sketch), asked, objective, bool(monotone))
        found = answer.mixed() if randomize else answer.chosen(math.inf)
        return ask_segments(answer, found, level, randomize).needed()
    if asked is not None:
        unified = unified or not asked.roles.decide_by
        check_options(objective, method="exact", density="empirical", unified=unified, randomize=randomize)
        sketch = protected_sketch(sketch, asked)
    if least > 0:
        sketch, _ = pooled_sketch(sketch.copy(), least, objective, "empirical")
    search = prepare(sketch, objective, shared=unified, wide=True)
    plain = solve_exact(search, unified, randomize, None)
    return ask(search, plain, level, unified, randomize).needed()
