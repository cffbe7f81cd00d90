"""The few lines of Python that make a report again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gstar_fast._solver.result import Result
from gstar_fast._words import GIVEN

if TYPE_CHECKING:
    from gstar_fast._audit.audit import Audit
    from gstar_fast._solver.words.points import Frontier

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
    if result.density == GIVEN:
        lines.append("# densities: those that were given by hand, by (label, group)")
    lines.append(f"result = gf.solve({', '.join(['sketch', *_question(result)])})")
    if result.density == "empirical":
        lines.append(f"assert {_check(result)}")
    options = []
    if audit is not None:
        settings = f"confidence={audit.confidence!r}, replicates={audit.replicates}, seed={audit.seed}"
        sizes = {there.rows for there in audit.new_rows.values()} - {audit.n_rows}  # one size, or none that was chosen
        settings += "".join(f", new_rows={rows}" for rows in sizes)
        lines.append(f"audit = gf.audit(result, sketch, {settings})")
        options.append("audit=audit")
    if frontier is False:
        options.append("frontier=False")
    elif frontier is True:
        options.append("frontier=True")
    elif frontier is not None:
        kind = ", randomize=True" if frontier.randomized else ""
        if result.decide_by is not None:
            kind += f", fair_between={list(result.fair_between or ())!r}, decide_by={list(result.decide_by)!r}"
            kind += ", monotone=True" * result.monotone
        elif result._between is not None:
            kind += f", fair_between={list(result._between)!r}, decide_by={list(result._between)!r}"
        if frontier.penalty is not None:
            kind += ', by="penalties"'
        lines.append(
            "# the frontier was given by hand; options it was made with, such as limits or costs, are not known"
        )
        lines.append(f'frontier = gf.frontier(sketch, "{frontier.criterion}"{kind})')
        options.append("frontier=frontier")
    if criterion is not None:
        options.append(f"criterion={criterion!r}")
    if title is not None:
        options.append(f"title={title!r}")
    lines.append(f'gf.report({", ".join(["result", "sketch", *options])}).save("report.html")')
    return "\n".join(lines)


def _question(r: Result) -> list[str]:
    """The arguments of `solve`, those that are not as by default."""
    out = []
    if r.limits:
        out.append(f"limits={dict(r.limits)!r}")
    if r.penalties:
        out.append(f"penalties={dict(r.penalties)!r}")
    if r.method != "exact":
        out.append(f"method={r.method!r}")
    if r.density == GIVEN:
        out.append("density=densities")
    elif r.density != "empirical":
        out.append(f"density={r.density!r}")
    if r.costs != (1.0, 1.0):
        out.append(f"costs={r.costs!r}")
    if r.min_rows:
        out.append(f"min_rows={r.min_rows:g}")
    if r.promise is not None:
        out.append(f"confidence={r.promise.confidence!r}")
    if r.evidence is not None and r.evidence.level != 0.95:
        out.append(f"evidence={r.evidence.level!r}")
    elif r.evidence is None and r.density == "empirical" and not r.penalties and not r.unified:
        out.append("evidence=0")
    if r.decide_by is not None:
        out += [f"fair_between={list(r.fair_between or ())!r}", f"decide_by={list(r.decide_by)!r}"]
    elif r._between is not None:
        out += [f"fair_between={list(r._between)!r}", f"decide_by={[] if r.unified else list(r._between)!r}"]
    if r.cuts is not None:
        out.append(f"segments=gf.Segments({r.cuts!r}, monotone={r.monotone})")
    switches = {
        "monotone": r.monotone and r.cuts is None,
        "balanced": r.balanced,
        "unified": r.unified and r._between is None,
        "randomize": r.randomized,
    }
    return out + [f"{name}=True" for name, on in switches.items() if on]


def _check(r: Result) -> str:
    """The thresholds, spelled out where they are few and numbers Python can write down."""
    plain = all(math.isfinite(t) for t in r.thresholds.values())
    if r.randomized or len(r.thresholds) > MOST_THRESHOLDS or not plain:
        return f"result.error == {r.error!r}"
    return f"result.thresholds == {r.thresholds!r}"
