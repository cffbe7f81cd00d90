"""The sections of a report that are words and tables: question, thresholds, before and after, how to make it again."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gstar_fast._audit.metrics import METRIC_DEFINITIONS
from gstar_fast._base.names import Name
from gstar_fast._base.text import row_count, short_number
from gstar_fast._criteria import CRITERION, Form, is_met
from gstar_fast._question.question import Question
from gstar_fast._report import figures
from gstar_fast._report.contents import (
    Contents,
    asked,
    bound_word,
    confidence,
    estimate_cell,
    limits_of,
    plain,
    section,
    threshold_text,
    who,
)
from gstar_fast._report.html import TALL, Html, details, framed, html, join, table, tag
from gstar_fast._sketch.columns import in_words
from gstar_fast._sketch.show import window_words
from gstar_fast._solver.answer.parts import Held
from gstar_fast._solver.answer.result import Result, loss_words
from gstar_fast._words import GIVEN

if TYPE_CHECKING:
    from gstar_fast._audit.audit import Audit
    from gstar_fast._solver.answer.points import Frontier

MOST_THRESHOLDS = 12  # spelled out in the code that makes the page again
METRICS = tuple(name for name in METRIC_DEFINITIONS if name != "rows")


def asked_section(contents: Contents) -> Html:
    """The question, and how it was answered."""
    r = contents.result
    asked_for = [f"{plain(name)} {_asked_of(contents, name)}" for name in asked(r)]
    asked_for += [one.limit.show() for one in _of_rates(contents)]
    fp, fn = r.question.costs
    kind = f"{'a mixture' if r.randomized else 'one'} for each {contents.kind}"
    if r.evidence is not None:
        kind += f" if that costs less than one for everybody, with {r.evidence.level:g} confidence"
    if r.question.by_segment:
        columns = (", ".join(map(str, names or ())) for names in (r.question.columns, r.question.fair_between))
        kind += " ({}); gaps are between groups ({})".format(*columns)
        kind += "; thresholds rise, or fall, along the segments" * r.question.monotone
    where = "the counts themselves" if r.question.density == "empirical" else f"{r.question.density} densities"
    proof = f"least possible loss {r.lower_bound:.6g}, reached {r.loss:.6g}, left open {r.optimality_gap:.2g}"
    proof += f"; the loss is {loss_words(r)}"
    if r.verdict == "infeasible":
        proof = "none: no thresholds meet the limits"
    if r.verdict == "promised" and r.promise is not None:
        least = short_number(r.promise.plain.cost)
        proof = f"none that the {contents.measure} is the least; with plain thresholds it is {least}"
    least_of_all = f"none: the thresholds with the least {contents.measure}, {contents.kind} by {contents.kind}"
    facts = [
        ("limits and penalties", ", ".join(asked_for) or least_of_all),
        ("cost of an error", f"false positive {fp:g}, false negative {fn:g}{'; classes alike' * r.question.balanced}"),
        ("thresholds", "one for everybody" if r.question.unified else kind),
        ("method", f"{r.question.method}, on {where}"),
        ("proof", proof),
    ]
    if r.evidence is not None and r.evidence.z is not None and r.evidence.needed is not None:
        said = (
            f"the {contents.measure} of thresholds by {contents.kind} is {short_number(r.evidence.cost)}, that of one "
        )
        said += f"for everybody {short_number(r.before_cost)}; z = {r.evidence.z:.2f}, needed {r.evidence.needed:.2f}"
        facts.append(("evidence", said))
    return section("asked", "What was asked", _facts(facts))


def _asked_of(contents: Contents, name: str) -> str | None:
    """What was asked of a criterion, if anything."""
    limits, penalties = contents.result.question.gap_limits, contents.result.question.penalties
    if name in limits:
        return f"{bound_word(name)} {limits[name]:g}"
    return f"penalty {penalties[name]:g}" if name in penalties else None


def _facts(facts: Iterable[tuple[str, object]]) -> Html:
    return tag("dl", *(join([tag("dt", a), tag("dd", b)]) for a, b in facts))


def thresholds_section(contents: Contents) -> Html:
    """One row for each group, or segment: what is accepted from now on."""
    r, audit, listed = contents.result, contents.deciding.audit, contents.deciding.listed
    found = audit.thresholds or {}
    intervals = {g: limits_of(found.get(g)) for g in listed}
    has_limits = any(intervals.values())
    head = [contents.kind, "rows", "threshold", *(["interval"] if has_limits else []), "selected", "tpr", "fpr"]
    rows = []
    for group in listed:
        at = audit.rates[group]
        threshold = tag("td", threshold_text(r, group), tag("small", _exact(contents, group)), class_="n wrap")
        row = [who(contents, group), row_count(at["rows"].value or 0.0), threshold]
        row += [intervals[group] or "-"] if has_limits else []
        rows.append([*row, *(short_number(at[metric].value) for metric in ("selection_rate", "tpr", "fpr"))])
    words = f"Accepted is every score at or above the threshold of its {contents.kind}."
    if r.question.by_segment:
        words += " The protected group is not needed to decide."
    if r.question.unified:
        words = "Accepted is every score at or above the threshold; no group is needed to decide."
    if r.randomized:
        words += f" Where a {contents.kind} has several thresholds, each row draws one by its key, "
        words += "with the probability shown."
    if has_limits:
        words += f" The interval is where the threshold falls when the rows are drawn again, with {confidence(audit)}."
    return section(
        "thresholds",
        "Thresholds",
        tag("p", words),
        table("Thresholds and what they do", head, rows, quiet=True),
        contents.deciding.not_listed,
    )


def _exact(contents: Contents, group: Name) -> str:
    r = contents.result
    if r.mixtures is None:
        return repr(r.thresholds[group])
    return ", ".join(f"{t!r} with probability {p!r}" for t, p in r.mixtures[group])


def gaps_section(contents: Contents) -> Html:
    """Every gap under its own definition, those that were asked for first."""
    audit, before, title = contents.audit, contents.before, "Gaps before and after"
    if len(audit.groups) == 1:
        return section("gaps", title, tag("p", "There is only one group, so every gap is 0."))
    names = dict.fromkeys([*(name for name in asked(contents.result) if name in audit.gaps), *audit.gaps])
    head = ["gap", "asked", "before", "after", "expected on new rows", "how it is measured"]
    words = (
        "Each gap is counted on the rows of the sketch, which the thresholds were fitted to; small numbers are "
        f"intervals, with {confidence(audit)}, for thresholds fixed beforehand. Names that sound alike "
        "measure different things: read the definition before comparing with another tool."
    )
    if not contents.is_unified:
        words += " “Before” is the audit that was given to the report, not the best unified threshold."
    limits = contents.result.question.gap_limits
    limits = {name: limit for name, limit in limits.items() if CRITERION[name].form is not Form.RATIO}
    rows = [*map(_held_row, _of_rates(contents)), *(_gap_row(contents, name) for name in names)]
    caption = tag("figcaption", "Gaps that are differences: 0 is parity. Lines are intervals.")
    return section(
        "gaps",
        title,
        tag("p", words),
        tag("figure", figures.gaps(before, audit, limits, contents.before_words), caption),
        table("Gaps", head, rows, words=[5], quiet=True),
    )


def _of_rates(contents: Contents) -> list[Held]:
    """What was reached of limits on a rate itself, of groups or of all rows."""
    return [one for one in contents.result.gaps.held if one.limit.gap() is None]


def _held_row(one: Held) -> list[object]:
    asked_for = tag("td", one.limit.show(), _met(one.met), class_="n")
    numbers = (tag("td", short_number(value), class_="n") for value in (one.before, one.reached))
    return [plain(one.limit.criterion.name), asked_for, *numbers, "-", one.limit.criterion.measured]


def _met(met: bool | None) -> Html | None:
    return None if met is None else tag("small", "met" if met else "not met", class_="yes" if met else "no")


def _gap_row(contents: Contents, name: str) -> list[object]:
    r, audit = contents.result, contents.audit
    limits = r.question.gap_limits
    word = _met(is_met(name, limits[name], r.gaps.get(name))) if name in limits else None
    expected = audit.new_rows.get(name) if name in asked(r) else None
    within = None if expected is None else tag("small", f"9 of 10 within {short_number(expected.nine_of_ten)}")
    return [
        plain(name),
        tag("td", _asked_of(contents, name) or "-", word, class_="n"),
        estimate_cell(contents.before.gaps.get(name)),
        estimate_cell(audit.gaps[name]),
        tag("td", short_number(None if expected is None else expected.mean), within, class_="n"),
        audit.definitions[name],
    ]


def rates_section(contents: Contents) -> Html:
    """Every metric of every group, before and after."""
    audit, before = contents.audit, contents.before
    each = [(who(contents, g), before.rates[g], audit.rates[g]) for g in contents.protected.listed]
    bodies = []
    for name, was, now in [*each, (html("all"), before.overall, audit.overall)]:
        title = tag("th", name, scope="rowgroup", rowspan=2)
        one = tag("tr", title, tag("td", "before"), *(estimate_cell(was[m]) for m in METRICS))
        two = tag("tr", tag("td", "after"), *(estimate_cell(now[m]) for m in METRICS), class_="after")
        bodies.append(tag("tbody", one, two))
    words = ((plain(m), METRIC_DEFINITIONS[m]) for m in METRICS)
    return section(
        "rates",
        "Rates of each group",
        tag("p", f"Small numbers are intervals, with {confidence(audit)}, each by itself."),
        framed(
            "Rates before and after",
            ["group", "", *map(plain, METRICS)],
            bodies,
            left=[0, 1],
            quiet=True,
            tall=len(bodies) > TALL // 2,
            dense=True,
        ),
        contents.protected.not_listed,
        details("What the words mean", table("Words", ["word", "meaning"], words, words=[1], quiet=True)),
    )


def notes_section(contents: Contents) -> Html:
    """What solve and audit had to say."""
    said = tag("ul", *(tag("li", note.text) for note in contents.notes), class_="notes")
    none = tag("p", "Nothing to note: every group has enough rows of both labels.")
    return section("notes", "Notes", said if contents.notes else none)


def reproduce_section(contents: Contents) -> Html:
    """Digest, versions, and the command that makes this page again."""
    s, audit, r = contents.sketch, contents.audit, contents.result
    skipped = f"; {s.skipped} without a score or a group skipped" if s.skipped else ""
    weight = f" of weight {s.weight:.10g}" if s.weighted else ""
    columns = in_words(s.columns, s.positive)
    facts = [
        ("sketch (SHA-256)", tag("code", contents.digest)),
        ("counted", f"{row_count(s.n_rows)} rows{weight}, {window_words(s)}{skipped}"),
        *([("columns", columns)] if columns else []),
        ("intervals", f"{confidence(audit)}, {row_count(audit.replicates)} replicates, seed {audit.seed}"),
        ("versions", ", ".join(f"{name} {version}" for name, version in contents.versions.items())),
        ("made", contents.made),
    ]
    same = "bit for bit" if r.question.density == "empirical" else "to 1e-9 of the score range"
    where = "beside the saved sketch, here called scores.gstar, " if contents.is_python else ""
    words = (
        f"The same sketch gives the same thresholds, {same}, on every backend. Run this {where}to make the page again:"
    )
    kept = "The whole result is inside this file as JSON, in the element with the id “result”: "
    return section(
        "reproduce",
        "Reproduce",
        _facts(facts),
        tag("p", words),
        tag("pre", tag("code", contents.command), tabindex=0, role="region", aria_label="Command"),
        tag("p", f"{kept}Result.from_json reads it.", class_="soft small"),
    )


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
