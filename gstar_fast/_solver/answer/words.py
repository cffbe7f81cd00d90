"""A result as text: the verdict, a row for each group or segment, and what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gstar_fast._base.text import aligned, printable, printable_name, row_count, short_number, threshold_number
from gstar_fast._criteria import CRITERION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gstar_fast._base.names import Name
    from gstar_fast._solver.answer.parts import GroupRates
    from gstar_fast._solver.answer.result import Result


def is_weighted(r: Result) -> bool:
    """Whether errors have prices, so that the cost is not the error rate."""
    return r.question.weighted


def cost_words(r: Result) -> str:
    """How the cost of a result is measured."""
    c_fp, c_fn = (f"{c:g} x " if c != 1 else "" for c in r.question.costs)
    if r.question.balanced:
        return f"({c_fp}fpr + {c_fn}fnr) / 2 of all labelled rows"
    return f"({c_fp}false positives + {c_fn}false negatives) / labelled rows"


def loss_words(r: Result) -> str:
    """What the loss of a result is made of."""
    asked = r.question
    return (
        f"the square of the {'cost' if asked.weighted else 'error rate'}{' plus the penalties' * bool(asked.penalties)}"
    )


def text_of(r: Result, most: int = 50) -> str:
    """The verdict, a row for each group, and what changed."""
    question, by_segment = r.question, r.rates.by_segment
    lines = [f"{r.verdict}: {r.message}"]
    lines += [f"note: {note}" for note in r.notes]
    asked = [_weighing(r)] if is_weighted(r) else []
    asked += [limit.show() for limit in question.limits]
    asked += [f"{v:g} x {n}" for n, v in question.penalties.items()]
    if asked:
        lines.append(f"asked: {', '.join(asked)}")
    if (
        question.penalties or r.verdict == "not_converged" or question.method != "exact"
    ):  # the message speaks of the loss
        lines.append(f"loss: {r.loss:.6g}, {loss_words(r)}")
    lines.append("")
    of = threshold_number if not question.smooth else short_number  # smooth thresholds lie anywhere, not at edges
    by_name: Mapping[Name, GroupRates]
    what, by_name = ("group", r.rates) if by_segment is None else ("segment", by_segment)
    rows = [[what, "rows", "threshold", "tpr", "fpr", "selected"]]
    for name, threshold in list(r.thresholds.items())[:most]:
        mixture = r.mixtures[name] if r.mixtures is not None else ()
        shown = " | ".join(f"{p:.0%} {of(t)}" for t, p in mixture) if len(mixture) > 1 else of(threshold)
        rows.append([printable_name(name), row_count(by_name[name].rows), shown, *_shown_rates(by_name[name])])
    lines += aligned(rows)
    if len(r.thresholds) > most:
        lines.append(f"... and {len(r.thresholds) - most} more {what}s")
    if question.cuts is not None:
        lines.append(f"segments are cut at {', '.join(map(short_number, question.cuts[:most])) or 'no point'}")
    if by_segment is not None:
        between = [["group", "rows", "tpr", "fpr", "selected"]]
        between += [
            [printable_name(k), row_count(at.rows), *_shown_rates(at)] for k, at in list(r.rates.items())[:most]
        ]
        lines += ["", *aligned(between)]
        if len(r.rates) > most:
            lines.append(f"... and {len(r.rates) - most} more groups")
    lines.append("")
    changes = [["", "before", "after", ""]]
    if is_weighted(r):
        changes.append(["cost", short_number(r.before_cost), short_number(r.cost), cost_words(r)])
    changes.append(["error", short_number(r.before_error), short_number(r.error), ""])
    changes += [
        [
            one.limit.show(),
            short_number(one.before),
            short_number(one.reached),
            one.limit.criterion.measured,
        ]
        for one in r.gaps.held
        if not one.limit.criterion.compares
    ]
    for name, gap in r.gaps.items():
        changes.append([name, short_number(r.gaps.before.get(name)), short_number(gap), CRITERION[name].measured])
    table = aligned([row[:3] for row in changes])
    lines += [f"{line}  {row[3]}".rstrip() for line, row in zip(table, changes, strict=True)]
    lines.append(f"before: the best unified threshold, {of(r.thresholds.default)}")
    return printable("\n".join(lines))


def _weighing(r: Result) -> str:
    """The objective in the line of what was asked."""
    c_fp, c_fn = r.question.costs
    parts = [f"a false positive costs {c_fp:g}, a false negative {c_fn:g}"] if r.question.costs != (1.0, 1.0) else []
    parts += ["both classes count alike"] if r.question.balanced else []
    return f"least {'loss' if r.question.penalties else 'cost'} ({'; '.join(parts)})"


def _shown_rates(at: GroupRates) -> list[str]:
    return [short_number(x) for x in (at.tpr, at.fpr, at.selection_rate)]
