"""The verdict of a report: one colour, a few sentences, the key figures.

Thresholds fit the rows they were found on, so a limit that holds there may not hold on new rows. Green is therefore for
limits that are met here and may be expected to hold, roughly, on new rows too.
"""

from __future__ import annotations

from gstar_fast._audit.new_rows import OUT_OF_FOLD, clearly_over
from gstar_fast._base.text import counted, short_number, threshold_number
from gstar_fast._criteria import EXAMPLE, TOLERANCE, is_met
from gstar_fast._report.contents import (
    Contents,
    asked,
    bound_word,
    confidence,
    gap_word,
    limits_of,
    percent,
    plain,
    sentence_list,
)
from gstar_fast._report.html import Html, tag
from gstar_fast._solver.answer.parts import has
from gstar_fast._solver.answer.result import Result

_SIGNS = {"good": "M4 8.5l3 3 6-7", "warn": "M8.5 3v6.5M8.5 13v.2", "bad": "M4 4l9 9M13 4l-9 9"}


def verdict_section(contents: Contents) -> Html:
    """What a reader in a hurry should know."""
    r = contents.result
    tone, headline = tone_and_headline(contents)
    mark = tag("path", d=_SIGNS[tone], class_="mark")
    mark = tag("svg", mark, viewBox="0 0 17 17", class_="sign", aria_hidden="true")
    criteria = asked(r) or ([EXAMPLE] if len(r.rates) > 1 else [])
    criteria = [name for name in criteria if name in r.gaps]
    more = len(contents.notes) - len(r.notes)  # of the audit; they may be long
    link = tag("a", f"{counted(more, 'note')} of the audit", href="#notes")
    lines = [
        *_promise(contents),
        tag("p", tag("strong", f"{r.verdict.replace('_', ' ').capitalize()}: "), f"{r.message}."),
        tag("p", *_outcome(contents, criteria)),
        *_on_new_rows(contents),
        *(tag("p", words) for words in _caution(contents, criteria)),
        *(tag("p", tag("strong", "Note: "), f"{note}.") for note in r.notes),
        *([tag("p", "Before relying on this, read the ", link, ".")] if more else []),
    ]
    banner = tag("div", tag("h2", mark, headline, id="verdict-name"), *lines, class_=f"verdict {tone}")
    return tag("section", banner, _key_figures(contents, criteria), id="verdict", aria_labelledby="verdict-name")


def tone_and_headline(contents: Contents) -> tuple[str, str]:
    """good, warn or bad, and the verdict in a few words. Good means that what was asked for holds, with proof."""
    r = contents.result
    if r.verdict == "infeasible":
        return "bad", "The limits cannot be met" if len(r.limits) > 1 else "The limit cannot be met"
    broken = [one.limit.criterion.name for one in r.gaps.held if one.limit.met(one.reached, TOLERANCE) is False]
    if broken:
        return "bad", f"A limit is not met: {', '.join(map(plain, broken))}"
    asked = r.question.gap_limits
    counted = {name: contents.audit.gaps[name].value for name in asked}
    missed = [name for name, limit in asked.items() if is_met(name, limit, counted[name]) is False]
    if missed and r.question.min_rows:
        return "warn", f"Met with small groups pooled, but not between all groups: {', '.join(map(plain, missed))}"
    if missed:  # by thresholds of smooth densities, which know the rows only roughly
        by = f"the {r.question.density} densities"
        return "warn", f"Met by {by}, but not on the counted rows: {', '.join(map(plain, missed))}"
    if r.verdict == "unpromised":
        return "warn", f"The {_limits(r)} met on the counted rows, but not promised for new ones"
    if r.verdict not in ("optimal", "unified", "promised"):
        return "warn", "Thresholds found, but not proven to be the best"
    met = f"The {_limits(r)} met"
    least = f"Least {'loss' if r.question.penalties else contents.measure}"
    if r.verdict == "unified":
        least = f"No evidence of a lower {contents.measure} than with one threshold for everybody"
    rates = {at["selection_rate"].value or 0.0 for at in contents.audit.rates.values()}
    if rates in ({0.0}, {1.0}):  # the thresholds decide nothing
        trivial = f"{'accepting' if 1.0 in rates else 'rejecting'} everybody"
        return "warn", f"{met}, but only by {trivial}" if r.limits else f"{least}, by {trivial}"
    if has(r.notes, "degenerate"):
        return "warn", f"{met if r.limits else least}, but the thresholds hardly decide"
    if has(r.notes, "assumption"):
        new = f"promised for new rows, {_sure(r)}" if r.promised else "met"
        return "warn", f"{f'The {_limits(r)} {new}' if r.limits else least}, if the groups were estimated correctly"
    if r.promised:
        return "good", f"The {_limits(r)} promised for new rows, {_sure(r)}"
    if r.limits:
        doubt = _doubt(contents)
        return ("warn", f"{met} on the counted rows; {doubt}") if doubt else ("good", met)
    return "good", "Best balance of error and gaps" if r.question.penalties else least


def _limits(r: Result) -> str:
    return "limits are" if len(r.limits) > 1 else "limit is"


def _sure(r: Result) -> str:
    assert r.promise is not None
    return f"with {100 * r.promise.confidence:.6g}\u00a0% confidence"


def _doubt(contents: Contents) -> str | None:
    """What speaks against limits that are met here holding on new rows; None if nothing does."""
    limits, expected = contents.result.question.gap_limits, contents.audit.new_rows
    if len(contents.result.rates) == 1:  # no gap, here or elsewhere
        return None
    if any(name not in expected for name in limits):
        return "what to expect on new ones is not known"
    over = [name for name, limit in limits.items() if clearly_over(name, limit, expected[name].mean)]
    if not over:
        return None
    which = {name: f"the {gap_word(name)} to be " if len(limits) > 1 else "" for name in over}
    about = [f"{which[name]}about {expected[name].mean:.2g}" for name in over]
    return f"expect {sentence_list(about)} on new ones"


def _outcome(contents: Contents, criteria: list[str]) -> list[object]:
    """What the thresholds change, in a sentence or two."""
    r = contents.result
    unified = f"the best single threshold for everybody, {threshold_number(r.thresholds.default)}"
    alike = r.question.unified or r.verdict == "unified"
    kind = "one threshold for everybody" if alike else f"one threshold for each {contents.kind}"
    if r.randomized and not alike:
        kind = f"thresholds that are mixed by chance in each {contents.kind}"
    what = "the error rate goes"
    if contents.costly:
        what = f"the cost goes from {short_number(r.before_cost)} to {short_number(r.cost)}, the error rate"
    said: list[object] = [f"With {kind} {what} from {percent(r.before_error)} to {percent(r.error)}"]
    before = {name: f" from {short_number(r.gaps.before[name])}" for name in criteria if name in r.gaps.before}
    if criteria:
        changes = [f"the {gap_word(name)}{before.get(name, '')} to {short_number(r.gaps[name])}" for name in criteria]
        said += ["; ", sentence_list(changes)]
    return [*said, f". “Before” is {unified}."]


def _promise(contents: Contents) -> list[Html]:
    """What is promised of new rows, and at what price; nothing where no promise was made."""
    r = contents.result
    if r.promise is None or not r.promised:
        return []
    limits = [f"{gap_word(name)} {bound_word(name)} {limit:g}" for name, limit in r.question.gap_limits.items()]
    price = percent(r.promise.cost) + " of error"
    if contents.costly:
        price = f"{short_number(max(r.cost - r.promise.plain.cost, 0.0))} in cost"
    at_best = [f"{bound_word(name)} {short_number(upper)}" for name, upper in r.promise.upper.items()]
    said = (
        f"{sentence_list(limits)} on new rows, {_sure(r)}. Given the counts, the chance of more is "
        f"{percent(r.promise.chance)}; {sentence_list(at_best)} could have been promised as well. The promise costs "
        f"{price}. It is about people drawn as the counted ones were, with right labels and "
        "out-of-fold scores. It does not cover drift."
    )
    return [tag("p", tag("strong", "Promise: "), said)]


def _on_new_rows(contents: Contents) -> list[Html]:
    """The gaps to expect where the thresholds will be used, each beside its limit."""
    r, expected = contents.result, contents.audit.new_rows
    if r.verdict == "infeasible" or r.promised or len(r.rates) == 1 or not asked(r):
        return []
    words = []
    for name in asked(r):
        if name in expected:
            limit = f" ({bound_word(name)} {r.limits[name]:g} asked)" if name in r.limits else ""
            there = expected[name]
            words.append(f"the {gap_word(name)} to be about {there.mean:.2g}{limit}; {there.tenth(name)}")
    said = "what to expect is not known; audit the thresholds on rows that were set aside."
    if words:
        said = f"expect {'. Expect '.join(words)}. {OUT_OF_FOLD.capitalize()}."
    return [tag("p", tag("strong", "On new rows: "), said)]


def _caution(contents: Contents, criteria: list[str]) -> list[str]:
    """What the numbers do not promise."""
    words = []
    intervals = {name: limits_of(contents.audit.gaps.get(name), " and ") for name in criteria}
    known = [f"the {gap_word(name)} between {i}" for name, i in intervals.items() if i]
    if known:
        words.append(
            f"For thresholds fixed beforehand, these rows would put {', '.join(known)}, with "
            f"{confidence(contents.audit)}; the interval does not allow for thresholds that were found on the same "
            "rows. A limit holds exactly only on the rows that were counted."
        )
    if contents.result.question.density != "empirical":
        words.append(
            f"The thresholds were found on {contents.result.question.density} densities. Gaps and rates in the tables "
            "below are counted on the rows themselves and differ a little."
        )
    return words


def _key_figures(contents: Contents, criteria: list[str]) -> Html:
    r = contents.result
    cards = [("error rate", percent(r.error), f"before {percent(r.before_error)}")]
    if contents.costly:
        cards.insert(0, ("cost", short_number(r.cost), f"before {short_number(r.before_cost)}"))
    for name in criteria[:3]:
        parts = [f"before {short_number(r.gaps.before[name])}"] if name in r.gaps.before else []
        parts += [f"{bound_word(name)} {r.limits[name]:g} asked"] if name in r.limits else []
        expected = contents.audit.new_rows.get(name)
        parts += [f"about {expected.mean:.2g} on new rows"] if expected is not None else []
        cards.append((gap_word(name), short_number(r.gaps[name]), ", ".join(parts)))
    cards.append(("thresholds", *_threshold_card(contents)))
    items = (
        tag("li", tag("span", a, class_="name"), tag("span", b, class_="value"), tag("span", c, class_="was"))
        for a, b, c in cards
    )
    return tag("ul", *items, class_="key")


def _threshold_card(contents: Contents) -> tuple[str, str]:
    """From the lowest threshold that is used to the highest, and how many there are."""
    r, n = contents.result, len(contents.result.thresholds)
    used = list(r.thresholds.values())
    if r.mixtures is not None:
        used = [threshold for mixture in r.mixtures.values() for threshold, _ in mixture]
    count = f"one for each of {n} {contents.kind}s" if n > 1 else f"one {contents.kind}"
    if r.randomized and r.verdict != "unified":
        count = f"mixed by chance in each of {n} {contents.kind}s" if n > 1 else "mixed by chance"
    elif r.question.unified or r.verdict == "unified":
        count = "one for everybody"
    low, high = threshold_number(min(used)), threshold_number(max(used))
    return low if low == high else f"{low} to {high}", count
