"""The few lines of Python that make a report again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gstar_fast._question.question import Question
from gstar_fast._solver.answer.result import Result
from gstar_fast._words import GIVEN

if TYPE_CHECKING:
    from gstar_fast._audit.audit import Audit
    from gstar_fast._solver.answer.points import Frontier

MOST_THRESHOLDS = 12  # spelled out in the check


def python_command(
    result: Result,
    digest: str,
    audit: Audit | None,
    frontier: Frontier | bool | None,
    criterion: str | None,
    title: str | None,
) -> str:
    """Code that loads the sketch, checks it, solves again, checks the answer and writes the page.

    `audit` and `frontier` are those the caller made; what the report computed by itself it computes again.
    """
    lines = ["import gstar_fast as gf", "", 'sketch = gf.Sketch.load("scores.gstar")']
    lines.append(f'assert sketch.digest() == "{digest}"')
    if result.question.density == GIVEN:
        lines.append("# densities: those that were given by hand, by (label, group)")
    lines.append(f"result = gf.solve({', '.join(['sketch', *result.question.as_python()])})")
    if result.question.density == "empirical":
        lines.append(f"assert {_check(result)}")
    options = []
    if audit is not None:
        settings = f"confidence={audit.confidence!r}, replicates={audit.replicates}, seed={audit.seed}"
        sizes = {there.rows for there in audit.new_rows.values()} - {audit.n_rows}  # one size, or none that was chosen
        settings += "".join(f", new_rows={rows}" for rows in sizes)
        lines.append(f"audit = gf.audit(result, sketch, {settings})")
        options.append("audit=audit")
    if isinstance(frontier, bool):
        options.append(f"frontier={frontier}")
    elif frontier is not None:
        asked, kind = result.question, ", randomize=True" if frontier.randomized else ""
        columns = Question(fair_between=asked.fair_between, decide_by=asked.decide_by or asked.fair_between)
        kind += "".join(f", {one}" for one in columns.as_python())
        if frontier.penalty is not None:
            kind += ', by="penalties"'
        lines.append("# the frontier was given by hand; its options, such as limits or prices, are not known")
        lines.append(f'frontier = gf.frontier(sketch, "{frontier.criterion}"{kind})')
        options.append("frontier=frontier")
    if criterion is not None:
        options.append(f"criterion={criterion!r}")
    if title is not None:
        options.append(f"title={title!r}")
    lines.append(f'gf.report({", ".join(["result", "sketch", *options])}).save("report.html")')
    return "\n".join(lines)


def _check(r: Result) -> str:
    """The thresholds, spelled out where they are few and numbers Python can write down."""
    plain = all(math.isfinite(t) for t in r.thresholds.values())
    if r.randomized or len(r.thresholds) > MOST_THRESHOLDS or not plain:
        return f"result.error == {r.error!r}"
    return f"result.thresholds == {r.thresholds!r}"
