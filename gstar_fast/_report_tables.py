"""The sections of a report that are words and tables: verdict, question, thresholds, before and after, evidence.

Reads from: _report_contents.  Read by: _report_page.
"""

from __future__ import annotations

from collections.abc import Iterable

from gstar_fast import _report_figures as figures
from gstar_fast._audit_metrics import METRIC_DEFINITIONS
from gstar_fast._groups import Name
from gstar_fast._objective import DEFINITIONS
from gstar_fast._report_contents import (
    Contents,
    asked,
    bound_word,
    confidence,
    estimate_cell,
    gap_word,
    is_met,
    limits_of,
    percent,
    plain,
    section,
    sentence_list,
    threshold_text,
    who,
)
from gstar_fast._report_html import TALL, Html, details, framed, html, join, table, tag
from gstar_fast._result import _count, _number

METRICS = tuple(name for name in METRIC_DEFINITIONS if name != "rows")

_SIGNS = {"good": "M4 8.5l3 3 6-7", "warn": "M8.5 3v6.5M8.5 13v.2", "bad": "M4 4l9 9M13 4l-9 9"}


# ---------------------------------------------------------------------------------------------------------- verdict


def tone_and_headline(contents: Contents) -> tuple[str, str]:
    """good, warn or bad, and the verdict in a few words. Good means that what was asked for holds, with proof."""
    r = contents.result
    if r.verdict == "infeasible":
        return "bad", "The limits cannot be met" if len(r.limits) > 1 else "The limit cannot be met"
    broken = [name for name, limit in r.limits.items() if is_met(name, limit, r.gaps.get(name)) is False]
    if broken:
        return "bad", f"A limit is not met: {', '.join(map(plain, broken))}"
    if r.verdict == "not_converged":
        return "warn", "Thresholds found, but not proven to be the best"
    met = "The limits are met" if len(r.limits) > 1 else "The limit is met"
    if trivial := _all_alike(contents):
        return "warn", f"{met}, but only by {trivial}" if r.limits else f"Least loss, by {trivial}"
    if r.limits:
        return "good", met
    return "good", "Best balance of error and gaps" if r.penalties else "Least error"


def _all_alike(contents: Contents) -> str | None:
    """Whether the thresholds decide nothing: everybody is accepted, or nobody."""
    rates = {at["selection_rate"].value for at in contents.audit.rates.values()}
    return {0.0: "rejecting everybody", 1.0: "accepting everybody"}.get(rates.pop() or 0.0) if len(rates) == 1 else None


def verdict_section(contents: Contents) -> Html:
    """What a reader in a hurry should know."""
    r = contents.result
    tone, headline = tone_and_headline(contents)
    mark = tag("path", d=_SIGNS[tone], class_="mark")
    mark = tag("svg", mark, viewBox="0 0 17 17", class_="sign", aria_hidden="true")
    criteria = asked(r) or (["equalized_odds"] if len(r.thresholds) > 1 else [])
    criteria = [name for name in criteria if name in r.gaps]
    lines = [
        tag("p", tag("strong", f"{r.verdict.replace('_', ' ').capitalize()}: "), f"{r.message}."),
        tag("p", *_outcome(contents, criteria)),
        *(tag("p", words) for words in _caution(contents, criteria)),
        *(tag("p", tag("strong", "Note: "), f"{note}.") for note in r.notes),
        *_more_notes(contents),
    ]
    banner = tag("div", tag("h2", mark, headline, id="verdict-name"), *lines, class_=f"verdict {tone}")
    return tag("section", banner, _key_figures(contents, criteria), id="verdict", aria_labelledby="verdict-name")


def _more_notes(contents: Contents) -> list[Html]:
    """A pointer to what the audit had to say, which may be long."""
    n = len(contents.notes) - len(contents.result.notes)
    link = tag("a", f"{n} {'note' if n == 1 else 'notes'} of the audit", href="#notes")
    return [tag("p", "Before relying on this, read the ", link, ".")] if n else []


def _outcome(contents: Contents, criteria: list[str]) -> list[object]:
    """What the thresholds change, in a sentence or two."""
    r = contents.result
    unified = f"the best single threshold for everybody, {_number(r.default_threshold)}"
    if r.verdict == "infeasible":  # nothing changes
        gaps = [f"the {gap_word(name)} {_number(r.gaps[name])}" for name in criteria]
        return [f"At {unified}, the error rate is {percent(r.error)}, ", sentence_list(gaps), "."]
    kind = "one threshold for everybody" if r.unified else "one threshold for each group"
    if r.randomized:
        kind = "thresholds that are mixed by chance in each group"
    said: list[object] = [f"With {kind} the error rate goes from {percent(r.before_error)} to {percent(r.error)}"]
    if criteria:
        said += ["; ", sentence_list([_change(contents, name) for name in criteria])]
    return [*said, f". “Before” is {unified}."]


def _change(contents: Contents, name: str) -> str:
    was = contents.result.before_gaps.get(name)
    start = f" from {_number(was)}" if was is not None else ""
    return f"the {gap_word(name)}{start} to {_number(contents.result.gaps[name])}"


def _caution(contents: Contents, criteria: list[str]) -> list[str]:
    """What the numbers do not promise."""
    words = []
    intervals = {name: limits_of(contents.audit.gaps.get(name)) for name in criteria}
    known = [f"the {gap_word(name)} lies between {i.replace(' to ', ' and ')}" for name, i in intervals.items() if i]
    if known:
        words.append(
            f"With {confidence(contents.audit)}, {', '.join(known)}. A limit holds exactly on the rows that were "
            "counted; on new rows it holds as far as they are alike."
        )
    if contents.result.density != "empirical":
        words.append(
            f"The thresholds were found on {contents.result.density} densities. Gaps and rates in the tables below are "
            "counted on the rows themselves and differ a little."
        )
    return words


def _key_figures(contents: Contents, criteria: list[str]) -> Html:
    r = contents.result
    cards = [("error rate", percent(r.error), f"before {percent(r.before_error)}")]
    for name in criteria[:3]:
        parts = [f"before {_number(r.before_gaps[name])}"] if name in r.before_gaps else []
        parts += [f"{bound_word(name)} {r.limits[name]:g} asked"] if name in r.limits else []
        cards.append((gap_word(name), _number(r.gaps[name]), ", ".join(parts)))
    n = len(contents.audit.groups)
    count = "one for everybody" if r.unified else f"one for each of {n} groups" if n > 1 else "one group"
    low, high = min(r.thresholds.values()), max(r.thresholds.values())
    cards.append(("thresholds", _number(low) if low == high else f"{_number(low)} to {_number(high)}", count))
    items = (
        tag("li", tag("span", a, class_="name"), tag("span", b, class_="value"), tag("span", c, class_="was"))
        for a, b, c in cards
    )
    return tag("ul", *items, class_="key")


# ------------------------------------------------------------------------------------------------------------ asked


def asked_section(contents: Contents) -> Html:
    """The question, criterion by criterion, and how it was answered."""
    r = contents.result
    rows: list[list[object]] = []
    for name, limit in r.limits.items():
        met = is_met(name, limit, r.gaps.get(name))
        word = "-" if met is None else "yes" if met else "no"
        rows.append(
            [plain(name), f"{bound_word(name)} {limit:g}", *_both(contents, name), tag("td", word, class_=word)]
        )
    for name, weight in r.penalties.items():
        rows.append([plain(name), f"penalty {weight:g}", *_both(contents, name), tag("td", "weighed")])
    for row, name in zip(rows, [*r.limits, *r.penalties], strict=True):
        row.append(DEFINITIONS[name])
    head = ["criterion", "asked", "before", "after", "met", "how it is measured"]
    asked_for = (
        table("Criteria", head, rows, words=[5], quiet=True)
        if rows
        else tag("p", "No limit and no penalty: the thresholds with the least error, group by group.")
    )
    fp, fn = r.costs
    kind = "a mixture for each group" if r.randomized else "one for each group"
    where = "the counts themselves" if r.density == "empirical" else f"{r.density} densities"
    proof = f"least possible loss {r.lower_bound:.6g}, reached {r.loss:.6g}, left open {r.optimality_gap:.2g}"
    if r.verdict == "infeasible":
        proof = "none: no thresholds meet the limits"
    facts = [
        (
            "cost of an error",
            f"false positive {fp:g}, false negative {fn:g}" + ("; classes alike" if r.balanced else ""),
        ),
        ("thresholds", "one for everybody" if r.unified else kind),
        ("method", f"{r.method}, on {where}"),
        ("proof", proof),
    ]
    return section("asked", "What was asked", asked_for, _facts(facts))


def _both(contents: Contents, name: str) -> list[str]:
    return [_number(contents.result.before_gaps.get(name)), _number(contents.result.gaps.get(name))]


def _facts(facts: Iterable[tuple[str, object]]) -> Html:
    return tag("dl", *(join([tag("dt", a), tag("dd", b)]) for a, b in facts))


# ------------------------------------------------------------------------------------------------------- thresholds


def thresholds_section(contents: Contents) -> Html:
    """One row for each group: what is accepted from now on."""
    r, audit = contents.result, contents.audit
    found = audit.thresholds or {}
    intervals = {g: limits_of(found.get(g)) for g in contents.listed}
    has_limits = any(intervals.values())
    head = ["group", contents.unit, "threshold", *(["interval"] if has_limits else []), "selected", "tpr", "fpr"]
    rows = []
    for group in contents.listed:
        at = audit.rates[group]
        threshold = tag("td", threshold_text(r, group), class_="n wrap")
        row = [who(contents, group), _count(at["rows"].value or 0.0), threshold]
        row += [intervals[group] or "-"] if has_limits else []
        rows.append([*row, *(_number(at[metric].value) for metric in ("selection_rate", "tpr", "fpr"))])
    words = "Accepted is every score at or above the threshold of its group."
    if r.unified:
        words = "Accepted is every score at or above the threshold; no group is needed to decide."
    if r.randomized:
        words += " Where a group has several thresholds, each row draws one by its key, with the probability shown."
    if has_limits:
        words += f" The interval is where the threshold falls when the rows are drawn anew, with {confidence(audit)}."
    exact = ([who(contents, g), tag("code", _exact(contents, g))] for g in contents.listed)
    return section(
        "thresholds",
        "Thresholds",
        tag("p", words),
        table("Thresholds and what they do", head, rows, quiet=True),
        contents.not_listed,
        details("To the last digit", table("Exact thresholds", ["group", "threshold"], exact, quiet=True)),
    )


def _exact(contents: Contents, group: Name) -> str:
    r = contents.result
    if r.mixtures is None:
        return repr(r.thresholds[group])
    return ", ".join(f"{t!r} with probability {p!r}" for t, p in r.mixtures[group])


# ------------------------------------------------------------------------------------------------- before and after


def gaps_section(contents: Contents) -> Html:
    """Every gap under its own definition."""
    audit, before, title = contents.audit, contents.before, "Gaps before and after"
    if len(audit.groups) == 1:
        return section("gaps", title, tag("p", "With one group there is nobody to compare with: every gap is 0."))
    rows = [
        [plain(name), estimate_cell(before.gaps.get(name)), estimate_cell(estimate), audit.definitions[name]]
        for name, estimate in audit.gaps.items()
    ]
    words = (
        f"Each gap is counted on the rows of the sketch; small numbers are intervals, with {confidence(audit)}. Names "
        "that sound alike measure different things: read the definition before comparing with another tool."
    )
    if not contents.is_unified:
        words += " “Before” is the audit that was given to the report, not the best unified threshold."
    limits = {name: v for name, v in contents.result.limits.items() if name != "disparate_impact"}
    caption = tag("figcaption", "Gaps that are differences: 0 is parity. Lines are intervals.")
    return section(
        "gaps",
        title,
        tag("p", words),
        tag("figure", figures.gaps(before, audit, limits, contents.before_words), caption),
        table("All gaps", ["gap", "before", "after", "how it is measured"], rows, words=[3], quiet=True),
    )


def rates_section(contents: Contents) -> Html:
    """Every metric of every group, before and after."""
    audit, before = contents.audit, contents.before
    each = [(who(contents, g), before.rates[g], audit.rates[g]) for g in contents.listed]
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
        contents.not_listed,
        details("What the words mean", table("Words", ["word", "meaning"], words, words=[1], quiet=True)),
    )


# --------------------------------------------------------------------------------------------------------- evidence


def notes_section(contents: Contents) -> Html:
    """What solve and audit had to say."""
    if not contents.notes:
        return section("notes", "Notes", tag("p", "Nothing to note: every group has enough rows of both labels."))
    return section("notes", "Notes", tag("ul", *(tag("li", note) for note in contents.notes), class_="notes"))


def reproduce_section(contents: Contents) -> Html:
    """Digest, versions, and the command that makes this page again."""
    s, audit, r = contents.sketch, contents.audit, contents.result
    edges = s.edges
    skipped = f"; {s.skipped} NaN skipped" if s.skipped else ""
    window = f"{s.bins} bins of {2.0**s.level:g} from {edges[0]:g} to {edges[-1]:g}"
    facts = [
        ("sketch (SHA-256)", tag("code", contents.digest)),
        ("counted", f"{_count(s.n_rows)} {contents.unit}, {window}{skipped}"),
        ("intervals", f"{confidence(audit)}, {_count(audit.replicates)} replicates, seed {audit.seed}"),
        ("versions", ", ".join(f"{name} {version}" for name, version in contents.versions)),
        ("made", contents.made),
    ]
    same = "bit for bit" if r.density == "empirical" else "to 1e-9 of the score range"
    where = "beside the saved sketch, here called scores.gstar, " if contents.is_python else ""
    words = (
        f"The same sketch gives the same thresholds, {same}, on every backend. Run this {where}to make the page again:"
    )
    kept = (
        "The whole result is inside this file as JSON, in the element with the id “result”: Result.from_json reads it."
    )
    return section(
        "reproduce",
        "Reproduce",
        _facts(facts),
        tag("p", words),
        tag("pre", tag("code", contents.command), tabindex=0, role="region", aria_label="Command"),
        tag("p", kept, class_="soft small"),
    )
