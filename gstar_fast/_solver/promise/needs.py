"""Planning before collecting: `rows_needed`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._sketch.pooling import checked_min_rows
from gstar_fast._sketch.sketch import Sketch, check_sketch
from gstar_fast._solver.promise.choose import ask
from gstar_fast._solver.promise.planning import plan
from gstar_fast._solver.promise.record import RowsNeeded
from gstar_fast._solver.question import Objective, check_confidence, check_options, question_limits
from gstar_fast._solver.search import prepare
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
) -> RowsNeeded:
    """How many rows, drawn like these, `solve` would need to promise the limits.

    At the number named a promise comes in about four of five samples. Small groups are named that cannot support the
    limits whatever the other groups have.

    Parameters
    ----------
    sketch : Sketch
        Counted scores.
    limits, confidence, costs, balanced, unified, randomize, min_rows
        As in `solve`. With `min_rows`, groups are those after pooling.

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
    question_limits(objective.limits)
    if not objective.limits:
        raise refusal("no_limits", "limits", value="rows_needed")
    check_options(objective, method="exact", density="empirical", unified=unified, randomize=randomize)
    level = check_confidence(confidence)
    least = checked_min_rows(min_rows)
    if least > 0:
        sketch, _ = pooled_sketch(sketch.copy(), least, objective, "empirical")
    search = prepare(sketch, objective, shared=unified)
    plain = solve_exact(search, unified, randomize, None)
    asked = ask(search, plain, level, unified, randomize)
    return plan(asked.known, asked.options, level, asked.aimed)
