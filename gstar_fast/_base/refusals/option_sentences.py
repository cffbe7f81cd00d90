"""Sentences on options that are refused, or on what they ask of a sketch: for each code its class and its words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gstar_fast._base.refusals.wording import Entry, Face, entries, kind_of
from gstar_fast._base.text import first_few, near
from gstar_fast._criteria import CRITERION, EXAMPLE, LEAST_RATIO, as_difference, not_offered
from gstar_fast.errors import (
    AssumptionWarning,
    DegenerateWarning,
    InfeasibleError,
    InputTypeError,
    InputValueError,
    InputWarning,
    LabelWarning,
    NoiseWarning,
    OptionTypeError,
    OptionValueError,
    OverfitWarning,
    RepeatedRowsWarning,
    ResolutionWarning,
    SentinelWarning,
)

OPTIONS: dict[str, Entry] = {}
TRUE = "True"


# ------------------------------------------------------------------------------------------------- options of a sketch


OPTIONS |= entries(
    OptionTypeError,
    bins_type=lambda e, say: f"{say.argument('bins')} must be an int, got {kind_of(e.value)}",
    range_type=lambda e, say: f"{say.argument('range')} must be a pair of numbers (lo, hi), got {e.value!r}",
    missing_type=lambda e, say: (
        f"{say.argument('missing')} must be a number that stands for no score, or several, got {e.value!r}"
    ),
    positive_type=lambda e, _: f"positive must be a label, that is a str, an int or a bool, got {e.value!r}",
    missing_group_type=lambda e, say: (
        f'{say.argument("missing_group")} must be "raise", "skip" or the name of a group, got {e.value!r}'
    ),
    panes_type=lambda e, _: f"panes must be an int, got {kind_of(e.value)}",
    flag=lambda e, say: f"{say.argument(e.argument)} must be True or False, got {e.value!r}",
    min_rows_type=lambda e, say: f"{say.argument('min_rows')} must be a number of rows; got {e.value!r}",
)
OPTIONS |= entries(
    OptionValueError,
    bins=lambda e, say: f"{say.argument('bins')} must be a power of two from 16 to 65536, got {e.value}",
    range_size=lambda e, say: f"{say.argument('range')} must be finite and lie within 2**1000, got {e.value!r}",
    range_order=lambda e, say: f"{say.argument('range')} must have lo < hi, got {e.value!r}",
    nan_policy=lambda e, _: f'nan must be "raise" or "skip", got {e.value!r}',
    missing_size=lambda e, say: f"{say.argument('missing')} is too large: no score can be {e.value!s:.40}",
    threads=lambda e, _: f"threads must be a whole number of at least 1, got {e.value!r}",
    memory_limit=lambda e, _: f"memory_limit must be a number of bytes, got {e.value!r}",
    panes=lambda e, _: f"panes must be {'at least 1' if e.value < 1 else f'at most {e.limit}'}, got {e.value}",
    positive_alone=lambda e, _: (
        f"positive={e.value!r} names a label, and no column of labels is named; pass label= too"
    ),
    positive_kind=lambda e, _: (
        f"positive={e.value!r} is no label here, because the labels are {e.limit}; pass positive= as the column has it"
    ),
    not_pushed_down=lambda e, _: (
        f"pushdown=True counts with queries that have no {e.argument}, got {e.value!r}; leave one of the two out"
    ),
    no_group_column=lambda _, __: "group must name a column, or several; got an empty list",
    min_rows=lambda e, say: f"{say.argument('min_rows')} must be finite and not negative; got {e.value!r}",
)


def _resolution(e: Any, say: Face) -> str:
    share, label, group, lo, hi, smallest, largest, bins = e.value
    which = "unlabelled rows" if label is None else f"rows with label {label}"
    finer = f"{say.option('bins', str(4 * bins))}, " if 4 * bins <= 65536 else ""
    return (
        f"one bin, from {lo:.9g} to {hi:.9g}, holds {share:.1%} of the {which} of group {group!r}, and their scores "
        f"differ: no threshold can tell them apart, so a rate may be off by up to {share:.2g}, or by less where most "
        f"of them are one and the same. Scores run from {smallest!r} to {largest!r}. {say.give.capitalize()} {finer}"
        f"{say.option('range', '(lo, hi)')} around the scores that matter, {say.option('missing', 'VALUE')} for a "
        "score that stands for none, or logits for probabilities near 1"
    )


def _sentinel(e: Any, say: Face) -> str:
    score, rows, lo, hi = e.value
    value = repr(score).removesuffix(".0")  # every digit: scores are compared with it
    return (
        f"{rows:.15g} rows have the score {score!r}, far from all others, which lie from {lo:.6g} to {hi:.6g}. If it "
        f"stands for a missing score, {say.give} {say.option('missing', value)}: such rows are then skipped, "
        "and their number is kept; else nothing is wrong"
    )


def _merged_integers(e: Any, _: Face) -> str:
    different, kept = e.value
    return (
        f"{e.argument} are whole numbers beyond 2**53, where float64 keeps {kept} of {different} different values "
        "apart. Subtract a constant to make them smaller"
    )


OPTIONS |= entries(
    ResolutionWarning,
    resolution=_resolution,
    merged_integers=_merged_integers,
    rounded_weights=lambda e, say: (
        f"{say.argument(e.argument)} are so small that rounding to multiples of 2**-20 changes them by more than 1 % "
        "on average. Multiply all of them by the same number, such as 2**20"
    ),
)
OPTIONS |= entries(SentinelWarning, sentinel=_sentinel)
OPTIONS |= entries(
    AssumptionWarning,
    assumption=lambda e, _: (
        "the counts contradict what unmixing assumes: shares of rows in score ranges are not linear in the "
        f"probabilities of the groups (chi-square {e.value[0]:.4g} with {e.value[1]} degrees of freedom, chance "
        f"{e.value[2]:.1g}), so gaps may be wrong by any amount. Use probabilities that do not come from the score, "
        "calibrate them for each label, and check them on rows with known groups"
    ),
)
OPTIONS |= entries(
    RepeatedRowsWarning,
    repeated_rows=lambda e, _: (
        f"{e.value} have the same digest, so their rows now count twice and promises are too confident; merge each "
        "sketch once"
    ),
)


# -------------------------------------------------------------------------------------------------- options of a solver


def _criterion(e: Any, _: Face) -> str:
    hint = not_offered(e.value) or near(str(e.value), e.limit)
    return f"{e.argument} must be among {', '.join(e.limit)}; got {e.value!r}{hint}"


def _penalised_ratio(_: Any, say: Face) -> str:
    instead = (
        say.entry("limits", LEAST_RATIO, "0.8"),
        say.entry("penalties", as_difference(CRITERION[LEAST_RATIO]).name, "..."),
    )
    return f"{LEAST_RATIO} is a ratio and cannot be a penalty; use {instead[0]}, or {instead[1]}"


def _penalised_sum(_: Any, say: Face) -> str:
    return (
        "equalized_odds_sum is a sum of gaps, and a penalty weighs squared gaps: as a penalty use "
        f"{say.entry('penalties', EXAMPLE, '...')}, which adds the squares of both"
    )


def _limit(e: Any, say: Face) -> str:
    what = "a least ratio" if CRITERION[e.argument].from_below else "a largest gap"
    return f"{say.item('limits', e.argument)} is {what} and must be from 0 to {e.limit:g}; got {e.value!r}"


def _labels(found: Any) -> str:
    """Texts of labels, as a sketch keeps them."""
    return ", ".join([*map(repr, found.texts), *["..."] * found.more]) or "no label"


def _one_label(e: Any, say: Face) -> str:
    label, positive = e.value
    if label:
        return (
            f"every labelled row has the positive label {positive!r} (labels found: {_labels(e.limit)}); count rows "
            "with other labels too"
        )
    return (
        f"no row has the positive label {positive!r} (labels found: {_labels(e.limit)}); count the rows again with "
        f"{say.option('positive', '...')} for the label that means 1"
    )


def _low_ratio(e: Any, say: Face) -> str:
    ratio = e.value
    times = f"{1 / ratio:.3g} times as often as another" if ratio > 0 else "and another not at all"
    rest = "" if f"{1 - ratio:g}" == "0.8" else f"{1 - ratio:g}, "
    return (
        f"{say.item('limits', LEAST_RATIO)} is a least ratio of selection rates; {ratio:g} lets one group be "
        f"accepted {times}; did you mean {rest}0.8 (the four-fifths rule), or "
        f"{say.entry('limits', as_difference(CRITERION[LEAST_RATIO]).name, f'{ratio:g}')}?"
    )


def _columns(named: tuple[str | int, ...]) -> str:
    return " and ".join(repr(one) if isinstance(one, str) else f"column {one}" for one in named)


def _needs_a_sketch(e: Any, _: Face) -> str:
    cures = {"Window": "pass window.sketch", "ProxySketch": "pass proxy.unmixed()"}
    cure = cures.get(kind_of(e.value), "count first: gf.Sketch.from_rows(...)")
    return f"sketch must be a gf.Sketch, got {kind_of(e.value)}; {cure}"


OPTIONS |= entries(
    InputTypeError,
    needs_a_sketch=_needs_a_sketch,
    sketch_last=lambda e, _: f"{e.value} takes the result first and the sketch last: {e.value}(result, sketch)",
)


def _shown(option: str, value: Any, say: Face) -> str:
    """An option with its value, or its name alone where messages do not show the value."""
    if value is None or isinstance(value, dict):
        return say.argument(option)
    return say.option(option, repr(value))


def _apart(e: Any, say: Face) -> str:
    option, value, why = e.limit
    one, other = _shown(e.argument, e.value, say), _shown(option, value, say)
    return f"{one} does not go with {other}: {why}; leave one of them out"


def _needs(e: Any, say: Face) -> str:
    return f"{_shown(e.argument, e.value, say)} needs {say.argument(e.limit)} too; {say.give} {_NEEDED[e.limit](say)}"


_NEEDED: dict[str, Callable[[Face], str]] = {
    "density": lambda say: f"a smooth one, such as {say.option('density', repr('kde'))}",
    "limits": lambda say: say.entry("limits", EXAMPLE, "0.05"),
    "penalties": lambda say: say.entry("penalties", EXAMPLE, "10"),
    "fair_between": lambda _: "the columns between whose groups gaps are measured",
}


_PLACES = {
    "solve of densities": "densities in the place of a sketch, which have no rows",
    "frontier of densities": "a frontier of smooth densities",
    "frontier of penalties": "by='penalties'",
    "frontier by segment": "a frontier of thresholds by segment",
}


def _not_here(e: Any, say: Face) -> str:
    return f"{_shown(e.argument, e.value, say)} does not go with {_PLACES[e.limit]}; leave it out"


OPTIONS |= entries(
    OptionTypeError,
    criteria_type=lambda e, say: (
        f"{say.argument(e.argument)} must be a dict such as {{'equalized_odds': 0.02}}; got {kind_of(e.value)}"
    ),
    criterion_number=lambda e, say: f"{say.item(*e.argument.split(':'))} must be a number; got {e.value!r}",
    role_type=lambda e, say: (
        f"{say.argument(e.argument)} must be the name of a group column, its position, or a list of them; got "
        + (f"{kind_of(e.value)}; count the column with the rows" if hasattr(e.value, "shape") else repr(e.value))
    ),
    segment_numbers_type=lambda *_: (
        "q must be one finite number for each row, such as P(group | x); got values that are no numbers"
    ),
    cuts_type=lambda e, _: f"cuts must be a list of numbers, got {e.value!r}",
    frontier_number=lambda e, _: f"{e.argument} must be a number, got {e.value!r}",
    seconds_type=lambda e, say: f"{say.argument('max_seconds')} must be a number of seconds or None; got {e.value!r}",
)
OPTIONS |= entries(
    OptionValueError,
    apart=_apart,
    needs=_needs,
    not_here=_not_here,
    objective=lambda e, say: (
        f"{say.argument('objective')} must be 'error', 'balanced_error' or prices such as {{'fp': 1, 'fn': 5}}, which "
        f"may have 'balanced': True beside them; got {e.value!r}"
    ),
    prices=lambda e, say: (
        f"prices of {say.argument('objective')} must be finite, not negative and not both 0; got {e.value!r}"
    ),
    no_role=lambda e, say: (
        f"{say.argument(e.argument)} names no column; name at least one, or leave it out (one threshold for everybody "
        f"is {say.option('unified', TRUE)})"
    ),
    segments_column=lambda e, say: (
        f"{say.argument(e.argument)} has segments of a column without a name; name it: segments.of('segment')"
    ),
    segments_empty=lambda _, __: (
        "Segments needs cuts, or column= with the name of a column of whole numbers that is in order already"
    ),
    no_cuts=lambda e, _: (
        f"these segments have no cut points, since the column {e.value!r} holds them already; there is nothing to cut"
    ),
    not_one_of=lambda e, say: f"{say.argument(e.argument)} must be one of {', '.join(e.limit)}; got {e.value!r}",
    density=lambda e, _: (
        f"density must be one of {', '.join(e.limit)}, or what gf.density(sketch, kind=...) returns; got {e.value!r}"
    ),
    by=lambda e, _: f"by must be 'limits' or 'penalties'; got {e.value!r}",
    criterion=_criterion,
    penalised_ratio=_penalised_ratio,
    penalised_sum=_penalised_sum,
    traded_ratio=lambda _, __: (
        f"{LEAST_RATIO} is a ratio and has no gap to trade; use {as_difference(CRITERION[LEAST_RATIO]).name!r}"
    ),
    penalty=lambda e, say: f"{say.item('penalties', e.argument)} must be finite and not negative; got {e.value!r}",
    penalties_by=lambda _, __: "penalties go with by='penalties'; leave them out, or pass by='penalties'",
    penalty_list=lambda e, _: (
        f"penalties must be a list of finite numbers, none negative, such as np.logspace(-2, 7, 50); got {e.value!r}"
    ),
    penalty_size=lambda e, say: (
        f"{say.item('penalties', e.argument)} must be at most 1e100; got {e.value!r}; limits can say 'no gap'"
    ),
    limit=_limit,
    seconds=lambda e, say: f"{say.argument('max_seconds')} must be above 0; got {e.value!r}; leave it out for no limit",
    role_name=lambda e, say: (
        f"{say.argument(e.argument)} names {e.value!r}, and "
        + (
            f"the sketch does not know the names of its {e.limit} group columns; name them by position, from 0"
            if isinstance(e.limit, int)
            else f"the group columns of the sketch are {', '.join(map(repr, e.limit))}"
        )
    ),
    role_position=lambda e, say: (
        f"{say.argument(e.argument)} has position {e.value}, and groups of this sketch have {e.limit} columns, 0 to "
        f"{e.limit - 1}"
    ),
    roles_elsewhere=lambda e, _: (
        f"these thresholds are fair between {_columns(e.value[0])} and decide by {_columns(e.value[1])}, and the "
        "sketch "
        + (
            f"does not know the names of its {e.limit} group columns"
            if isinstance(e.limit, int)
            else f"has the group columns {', '.join(map(repr, e.limit))}"
        )
        + "; count the rows with all the columns that were named, as for the search"
    ),
    role_twice=lambda e, say: f"{say.argument(e.argument)} names the column {e.value!r} twice",
    frontier_nan=lambda e, _: f"{e.argument} must be a number, got NaN",
    cuts=lambda e, _: f"cuts must be finite and ascending; got {e.value!r}",
    segments_alone=lambda e, say: (
        f"{say.argument('decide_by')} has segments of the column {e.value!r}, and {say.argument('fair_between')} names "
        "the same; name another column, or leave Segments out for thresholds by protected group"
    ),
    segments_other=lambda e, say: (
        f"{say.argument(e.argument)} has segments 0 to {e.limit}, and the sketch counted rows of {e.value!r}; "
        f"{say.give} the cut points by which the counted column was cut"
    ),
    monotone_segments=lambda e, say: (
        f"{say.argument('decide_by')} needs segments in an order for monotone thresholds, that is one column of whole "
        f"numbers; got {e.value!r}"
    ),
    exact_with=lambda e, say: f"{say.option('exact', TRUE)} needs whole rows, and {e.value}; leave it out",
    pooled_density=lambda _, say: (
        "densities that are ready made know nothing of pooled groups; with min_rows= pass "
        f"{say.option('density', repr('kde'))} or the like, or solve sketch.pooled(min_rows=...) with its own densities"
    ),
)
OPTIONS |= entries(InputWarning, low_ratio=_low_ratio)
OPTIONS |= entries(
    InputValueError,
    positive_absent=lambda e, say: (
        f"no row has the label {e.value!r} ({say.argument('positive')}); found {_labels(e.limit)}; {say.give} the one "
        "that means 1"
    ),
)
OPTIONS |= entries(LabelWarning, one_label=_one_label)
OPTIONS |= entries(
    DegenerateWarning,
    degenerate=lambda e, say: f"{e.value['found']}; what helps: {helps(e.value['ways'], say)}",
)
OPTIONS |= entries(
    OverfitWarning,
    overfit=lambda e, say: (
        f"{e.value['segments']} segments are more than these rows carry: {e.value['group']!r} has {e.value['rows']} "
        f"rows of label {e.value['label']}, enough for {e.value['enough']} at 64 a segment, so gaps on new rows may be "
        f"well above the limit; what helps: fewer segments, or {say.option('confidence', '0.95')}, which says what "
        "holds on new rows"
    ),
)


def _noise(e: Any, say: Face) -> str:
    name, of = e.value["criterion"], e.value
    ratio = CRITERION[name].from_below
    how = "closer to 1 than chance alone leaves it" if ratio else "below what chance alone shows"
    return (
        f"{say.item('limits', name)} is {of['limit']:g}, {how}: group {of['group']!r} has {of['rows']:,.4g} "
        f"{of['what']}, on which a rule of equal {of['rate']} has a gap of {of['gap']:.3g} on average; expect gaps "
        f"beyond the limit on new rows; what helps: {helps(of['ways'], say)}"
    )


OPTIONS |= entries(NoiseWarning, noise=_noise)


def helps(ways: list[Any], say: Face) -> str:
    """What to try: words, or an option as (name, value, words before and after it)."""
    said = [way if isinstance(way, str) else f"{way[2]}{say.option(*way[:2])}{way[3]}" for way in ways]
    return ", ".join(said[:-1]) + " or " + said[-1] if len(said) > 1 else said[0]


# ------------------------------------------------------------------------------------------ what is asked of the sketch


def _undefined_rate(e: Any, _: Face) -> str:
    rate, needed = e.limit
    which, verb = ("group", "has") if len(e.value) == 1 else ("groups", "have")
    return (
        f"{which} {first_few(map(repr, e.value))} {verb} no {needed}, so {rate} is undefined there; {e.argument} needs "
        f"{'two groups that have' if e.argument in CRITERION else 'a group that has'} some"
    )


OPTIONS |= entries(
    InputValueError,
    one_group=lambda e, _: (
        f"limits and penalties compare groups, but there is only one, {e.value!r}; {e.argument} needs two groups: "
        "count rows with their groups, or leave limits and penalties out"
    ),
    undefined_rate=_undefined_rate,
    roles_groups=lambda e, say: (
        f"{say.argument('fair_between')} and {say.argument('decide_by')} name columns of groups, and groups of this "
        f"sketch are not tuples of the same columns: there is {' and '.join(map(repr, e.value))}; count several "
        "columns, such as groups=[sex, segment]"
    ),
    in_file=lambda e, _: f"{e.argument!r}: {e.value}",
    segment_numbers=lambda e, say: (
        f"q must be one finite number for each row, such as P(group | x), got {e.value}{say.at(e.row)}; "
        + ("drop such rows, or give them a number" if e.row is not None else "pass proba[:, 1], or a column")
    ),
    frontier_sketch=lambda e, say: (
        f"a frontier by segment solves for {say.argument('gap')} again: pass the sketch that it was made from as "
        f"{say.argument('sketch')}" + ("" if e.value is None else "; this one has other rows")
    ),
    no_proof=lambda e, _: f"there is no proof to check: {e.value}",
    proof=lambda e, _: f"the proof does not hold on this sketch: {e.value}",
    no_rows=lambda e, say: f"the sketch has no rows; {say.count_rows.format(verb=e.argument)}",
    no_labels=lambda _, say: f"the sketch has no labelled rows, so no error can be computed; {say.count_labels}",
)
OPTIONS |= entries(
    OptionValueError,
    one_class=lambda e, say: (
        f"{say.argument('objective')} weighs both classes alike, and there are no {e.value} labels; count rows of both"
    ),
    all_pooled=lambda e, say: (
        f"{say.option('min_rows', f'{e.value:g}')} pools all {e.limit} groups into one; choose it lower"
    ),
)
OPTIONS |= entries(
    InfeasibleError,
    no_gap=lambda e, _: f"no thresholds have a gap of {e.value:g} or less; the smallest is {e.limit:.6g}",
    no_error=lambda e, _: f"no thresholds have an error of {e.value:g} or less; the smallest is {e.limit:.6g}",
    infeasible=lambda e, _: f"no thresholds meet the limits {e.limit}; loosen them",
    not_found=lambda e, _: f"no thresholds that meet the limits {e.limit} were found in {e.value} boxes; loosen them",
    no_promise=lambda e, _: (
        f"no limit on {e.limit} can be promised with {e.value:g} confidence: the groups have too few rows"
    ),
    infeasible_mixture=lambda e, _: f"no mixture meets the limits {e.limit}; loosen them",
)


# -------------------------------------------------------------------------------------------------- options of an audit


def _confidence(e: Any, say: Face) -> str:
    level = float(e.value)
    hint = f"; {level:g} % is {level / 100:g}" if 50 <= level <= 99.9 else ""
    return f"{say.argument('confidence')} must be from 0.5 to 0.999, got {e.value!r}{hint}"


def _evidence(e: Any, say: Face) -> str:
    level = float(e.value)
    hint = f"; {level:g} % is {level / 100:g}" if 1 < level < 100 else ""
    return f"{say.argument('evidence')} must be at least 0 and below 1, got {e.value!r}{hint}"


OPTIONS |= entries(
    OptionTypeError,
    confidence_type=lambda e, say: f"{say.argument('confidence')} must be a number such as 0.95, got {e.value!r}",
    evidence_type=lambda e, say: f"{say.argument('evidence')} must be a number such as 0.95, got {e.value!r}",
    whole_type=lambda e, say: f"{say.argument(e.argument)} must be a whole number, got {e.value!r}",
)
OPTIONS |= entries(
    OptionValueError,
    confidence=_confidence,
    evidence=_evidence,
    seed=lambda e, say: f"{say.argument('seed')} must be a whole number that is not negative, got {e.value!r}",
    replicates=lambda e, say: f"{say.argument(e.argument)} must be 0, or from {e.limit} to 1000000, got {e.value}",
)
OPTIONS |= entries(
    InputValueError,
    no_decisions=lambda _, __: (
        "there are no rows to audit: decisions is empty, all weights or repeats are 0, or no row has a group"
    ),
    decisions_missing=lambda e, say: f"decisions has a missing value{say.at(e.row)}; drop such rows",
    decisions_nan=lambda e, say: f"decisions has NaN{say.at(e.row)}; drop such rows",
    decisions=lambda e, say: f"decisions must be 0 or 1, got {e.value}{say.at(e.row)}; {_decisions_cure(e.value)}",
)
OPTIONS |= entries(
    InputTypeError,
    decisions_type=lambda e, say: (
        f"decisions must be 0 or 1, got {kind_of(e.value)}{say.at(e.row)}; pass decisions == <the accepting one>"
    ),
)


def _decisions_cure(value: object) -> str:
    return "for -1/+1 decisions pass decisions > 0" if value == -1 else "for scores count a Sketch, give thresholds"
