"""Planning before collecting: `rows_needed`."""

from __future__ import annotations

from dataclasses import replace

from gstar_fast._promise.by_group import AskedByGroup
from gstar_fast._promise.by_segment import AskedBySegment
from gstar_fast._question.cut import Segments
from gstar_fast._question.options import ObjectiveLike, check_confidence
from gstar_fast._question.question import Limits, Question, warn_of_ratios
from gstar_fast._question.roles import ColumnsLike
from gstar_fast._sketch.columns import warn_of_labels
from gstar_fast._sketch.sketch import Sketch, check_sketch
from gstar_fast._solver.answer.parts import RowsNeeded
from gstar_fast._solver.cells import Cells
from gstar_fast._solver.finish import check_pooled, solved
from gstar_fast._solver.search import prepare
from gstar_fast._solver.segments.answer import Answer


def rows_needed(
    sketch: Sketch,
    *,
    limits: Limits,
    confidence: float = 0.95,
    objective: ObjectiveLike = "error",
    unified: bool = False,
    randomize: bool = False,
    min_rows: float = 0,
    fair_between: ColumnsLike | None = None,
    decide_by: ColumnsLike | Segments | None = None,
) -> RowsNeeded:
    """How many rows, drawn like these, `solve` would need to promise the limits.

    At the number named a promise comes in about four of five samples. Small groups are named that cannot support the
    limits whatever the other groups have.

    Parameters
    ----------
    sketch : Sketch
        Counted scores.
    limits, confidence, objective, unified, randomize, min_rows, fair_between, decide_by
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
    level = check_confidence(confidence)
    question = Question.of(
        limits=limits,
        confidence=level,
        objective=objective,
        unified=unified,
        randomize=randomize,
        min_rows=min_rows,
        fair_between=fair_between,
        decide_by=decide_by,
    )
    warn_of_ratios(question.limits)
    warn_of_labels(sketch._core)
    cells = Cells.asked(sketch, question, wide=True)
    if cells.own is not None:
        check_pooled(cells, question)
    question = replace(cells.named(question), confidence=None)
    if cells.by_segments:
        answer = Answer(cells, question)
        best = answer.solved(question.randomize)
        return AskedBySegment.of(answer, best, level, question.randomize).needed()
    search = prepare(cells, question, shared=question.unified)
    best = solved(search, question.randomize)
    return AskedByGroup.of(search, best, level, question.randomize).needed()
