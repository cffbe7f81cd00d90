"""Sentences on options that are rejected, or on what they ask of a sketch: a table, and what depends on the case."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gstar_fast._base.refusals.wording import Face, Sentence, Told, kind_of
from gstar_fast._base.text import first_few, near
from gstar_fast._criteria import CRITERION, EXAMPLE, not_offered

OPTIONS = """
ResolutionWarning
    merged_integers: {argument} are whole numbers beyond 2**53, where float64 keeps {value[1]} of {value[0]} different
        values apart. Subtract a constant to make them smaller
    rounded_weights: {subject} are so small that rounding to multiples of 2**-20 changes them by more than 1 % on
        average. Multiply all of them by the same number, such as 2**20
    resolution: {case}
AssumptionWarning
    assumption: the counts contradict what unmixing assumes: shares of rows in score ranges are not linear in the
        probabilities of the groups (chi-square {value[0]:.4g} with {value[1]} degrees of freedom, chance
        {value[2]:.1g}), so gaps may be wrong by any amount. Use probabilities that do not come from the score,
        calibrate them for each label, and check them on rows with known groups
RepeatedRowsWarning
    repeated_rows: {value} have the same digest, so their rows now count twice and promises are too confident; merge
        each sketch once
InputTypeError
    sketch_last: {value} takes the result first and the sketch last: {value}(result, sketch)
    decisions_type: decisions must be 0 or 1, got {kind}{at}; pass decisions == <the accepting one>
    needs_a_sketch: sketch must be a gf.Sketch, got {kind}; {case}
OptionTypeError
    bins_type: {subject:bins} must be an int, got {kind}
    range_type: {subject:range} must be a pair of numbers (lo, hi), got {value!r}
    missing_type: {subject:missing} must be a number that stands for no score, or several, got {value!r}
    positive_type: positive must be a label, that is a str, an int or a bool, got {value!r}
    missing_group_type: {subject:missing_group} must be "raise", "skip" or the name of a group, got {value!r}
    panes_type: panes must be an int, got {kind}
    flag: {subject} must be True or False, got {value!r}
    min_rows_type: {subject:min_rows} must be a number of rows; got {value!r}
    criteria_type: {subject} must be a dict such as {{'equalized_odds': 0.02}}; got {kind}
    segment_numbers_type: q must be one finite number for each row, such as P(group | x); got values that are no numbers
    cuts_type: cuts must be a list of numbers, got {value!r}
    frontier_number: {argument} must be a number, got {value!r}
    seconds_type: {subject:max_seconds} must be a number of seconds or None; got {value!r}
    confidence_type: {subject:confidence} must be a number such as 0.95, got {value!r}
    evidence_type: {subject:evidence} must be a number such as 0.95, got {value!r}
    whole_type: {subject} must be a whole number, got {value!r}
    criterion_number: {case} must be a number; got {value!r}
    role_type: {subject} must be the name of a group column, its position, or a list of them; got {case}
OptionValueError
    bins: {subject:bins} must be a power of two from 16 to 65536, got {value}
    range_size: {subject:range} must be finite and lie within 2**1000, got {value!r}
    range_order: {subject:range} must have lo < hi, got {value!r}
    nan_policy: nan must be "raise" or "skip", got {value!r}
    missing_size: {subject:missing} is too large: no score can be {value!s:.40}
    threads: threads must be a whole number of at least 1, got {value!r}
    memory_limit: memory_limit must be a number of bytes, got {value!r}
    positive_alone: positive={value!r} names a label, and no column of labels is named; pass label= too
    positive_kind: positive={value!r} is no label here, because the labels are {limit}; pass positive= as the column
        has it
    not_pushed_down: pushdown=True counts with queries that have no {argument}, got {value!r}; leave one of the two out
    no_group_column: group must name a column, or several; got an empty list
    min_rows: {subject:min_rows} must be finite and not negative; got {value!r}
    objective: {subject:objective} must be 'error', 'balanced_error' or prices such as {{'fp': 1, 'fn': 5}}, which may
        have 'balanced': True beside them; got {value!r}
    prices: prices of {subject:objective} must be finite, not negative and not both 0; got {value!r}
    no_role: {subject} names no column; name at least one, or leave it out (one threshold for everybody is
        {option:unified=True})
    segments_column: {subject} has segments of a column without a name; name it: segments.of('segment')
    segments_empty: Segments needs cuts, or column= with the name of a column of whole numbers that is in order already
    no_cuts: these segments have no cut points, since the column {value!r} holds them already; there is nothing to cut
    not_one_of: {subject} must be one of {all}; got {value!r}
    density: density must be one of {all}, or what gf.density(sketch, kind=...) returns; got {value!r}
    by: by must be 'limits' or 'penalties'; got {value!r}
    penalised_sum: equalized_odds_sum is a sum of gaps, and a penalty weighs squared gaps: as a penalty use
        {entry:penalties,equalized_odds,...}, which adds the squares of both
    penalty: {item:penalties,{argument}} must be finite and not negative; got {value!r}
    penalties_by: penalties go with by='penalties'; leave them out, or pass by='penalties'
    penalty_list: penalties must be a list of finite numbers, none negative, such as np.logspace(-2, 7, 50); got
        {value!r}
    penalty_size: {item:penalties,{argument}} must be at most 1e100; got {value!r}; limits can say 'no gap'
    seconds: {subject:max_seconds} must be above 0; got {value!r}; leave it out for no limit
    rounds: {subject:rounds} must be from 1 to {limit:,}; got {value!r}
    role_position: {subject} has position {value}, and groups of this sketch have {limit} columns, counted from 0
    role_twice: {subject} names the column {value!r} twice
    frontier_nan: {argument} must be a number, got NaN
    cuts: cuts must be finite and ascending; got {value!r}
    segments_alone: {subject:decide_by} has segments of the column {value!r}, and {subject:fair_between} names the same;
        name another column, or leave Segments out for thresholds by protected group
    segments_other: {subject} has segments 0 to {limit}, and the sketch counted rows of {value!r}; {say.give} the cut
        points by which the counted column was cut
    monotone_segments: {subject:decide_by} needs segments in an order for monotone thresholds, that is one column of
        whole numbers; got {value!r}
    exact_with: {option:exact=True} needs whole rows, and {value}; leave it out
    pooled_density: densities that are ready made know nothing of pooled groups; with min_rows= pass
        {option:density='kde'} or the like, or solve sketch.pooled(min_rows=...) with its own densities
    one_class: {subject:objective} weighs both classes alike, and there are no {value} labels; count rows of both
    all_pooled: {option:min_rows={value:g}} pools all {limit} groups into one; choose it lower
    seed: {subject:seed} must be a whole number that is not negative, got {value!r}
    replicates: {subject} must be 0, or from {limit} to 1000000, got {value}
    panes: panes must be {case}, got {value}
    apart: {case}; leave one of them out
    needs: {option} needs {subject:{limit}} too; {say.give} {case}
    not_here: {option} does not go with {case}; leave it out
    criterion: {argument} must be among {all}; got {value!r}{case}
    penalised_ratio: disparate_impact is a ratio and cannot be a penalty; use {entry:limits,disparate_impact,0.8}, or
        {entry:penalties,demographic_parity,...}
    traded_ratio: disparate_impact is a ratio and has no gap to trade; use 'demographic_parity'
    limit: {item:limits,{argument}} is {case} and must be from 0 to {limit:g}; got {value!r}
    role_name: {subject} names {value!r}, and {case}
    roles_elsewhere: these thresholds are fair between {case}; count the rows with all the columns that were named, as
        for the search
    confidence: {subject:confidence} must be from 0.5 to 0.999, got {value!r}{case}
    evidence: {subject:evidence} must be at least 0 and below 1, got {value!r}{case}
OverfitWarning
    overfit: {value[segments]} segments are more than these rows carry: {value[group]!r} has {value[rows]} rows of label
        {value[label]}, enough for {value[enough]} at 64 a segment, so gaps on new rows may be well above the limit;
        what helps: fewer segments, or {option:confidence=0.95}, which says what holds on new rows
InputValueError
    one_group: limits and penalties compare groups, but there is only one, {value!r}; {argument} needs two groups: count
        rows with their groups, or leave limits and penalties out
    in_file: {argument!r}: {value}
    no_proof: there is no proof to check: {value}
    proof: the proof does not hold on this sketch: {value}
    no_labels: the sketch has no labelled rows, so no error can be computed; {say.count_labels}
    no_decisions: there are no rows to audit: decisions is empty, all weights or repeats are 0, or no row has a group
    decisions_missing: decisions has a missing value{at}; drop such rows
    decisions_nan: decisions has NaN{at}; drop such rows
    positive_absent: no row has the label {value!r} ({subject:positive}); found {case}; {say.give} the one that means 1
    undefined_rate: {case} some
    roles_groups: {subject:fair_between} and {subject:decide_by} name columns of groups, and groups of this sketch are
        not tuples of the same columns: there is {case}; count several columns, such as groups=[sex, segment]
    segment_numbers: q must be one finite number for each row, such as P(group | x), got {value}{at}; {case}
    frontier_sketch: a frontier by segment solves for {subject:gap} again: pass the sketch that it was made from as
        {subject:sketch}{case}
    no_rows: the sketch has no rows; {case}
    decisions: decisions must be 0 or 1, got {value}{at}; {case}
InfeasibleError
    no_gap: no thresholds have a gap of {value:g} or less; the smallest is {limit:.6g}
    no_error: no thresholds have an error of {value:g} or less; the smallest is {limit:.6g}
    infeasible: no thresholds meet the limits {limit}; loosen them
    not_found: no thresholds that meet the limits {limit} were found in {value} boxes; loosen them
    no_promise: no limit on {limit} can be promised with {value:g} confidence: the groups have too few rows
    infeasible_mixture: no mixture meets the limits {limit}; loosen them
SentinelWarning
    sentinel: {value[1]:.15g} rows have the score {value[0]!r}, far from all others, which lie from {value[2]:.6g} to
        {value[3]:.6g}. If it stands for a missing score, {say.give} {case}: such rows are then skipped, and their
        number is kept; else nothing is wrong
InputWarning
    low_ratio: {item:limits,disparate_impact} is a least ratio of selection rates; {value:g} lets one group be accepted
        {case}, or {entry:limits,demographic_parity,{value:g}}?
LabelWarning
    one_label: {case}
NoiseWarning
    noise: {case}
DegenerateWarning
    degenerate: {value[found]}; what helps: {case}
OptionTypeError
    family_number: {argument} must be a number, got {value!r}
    mirrored_type: mirrored must be True or False, got {value!r}
    family_needs: {value} needs the parameter {argument}; it has {all}
    family_with: {argument} is for a density of a sketch; density({value!r}, ...) takes the parameters of the family,
        rows, below and above
    cell_of_sketch: density(sketch, label, group) needs {argument} too; density(sketch) has every cell
    parameter_of_sketch: {argument}={value!r} is for a family, as in density('normal', location=0, scale=1); the
        density of a sketch takes kind and bandwidth
    densities_type: densities must be gf.results.Density by (label, group):
        {{(0, 'a'): gf.density('normal', rows=500)}}; got {value}
    family_parameter: {value} has the parameters {all}; got {argument}{case}
OptionValueError
    family: a density without a sketch must be one of {all}; got {value!r}{near}
    family_location: location must be finite and within 1e100, got {value!r}
    family_scale: scale must be above 0 and at most 1e100, got {value!r}
    family_shape: shape must be from {limit[0]:g} to {limit[1]:g}, got {value!r}
    family_share: {argument} is a share of the rows, from 0 to less than 1; got {value!r}
    family_ends: below and above are shares of the rows and must leave some for scores; got {value[0]:g} + {value[1]:g}
    family_rows: rows must be a number above 0, got {value!r}
    no_counts: this {value} density was given by its parameters, so there are no counts to compare it with;
        gf.density(sketch, label, group, kind=...) has them
    no_densities: there are no densities to solve on: the mapping is empty
    densities_label: the label of a density must be 0 or 1, got {value!r}; keys are (label, group)
    densities_rows: the density of label {value[0]}, group {value[1]!r} does not say how many rows it stands for;
        without a sketch the error needs it: gf.density(..., rows=500), or shares of all rows
    family_df: df must be from {limit[0]:g} to {limit[1]:g}, got {value!r}{case}
"""


def _resolution(e: Told, say: Face) -> str:
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


def _labels(found: tuple[Sequence[str], bool]) -> str:
    """Texts of labels as a sketch keeps them, and whether there are more."""
    return ", ".join([*map(repr, found[0]), *["..."] * found[1]]) or "no label"


def _one_label(e: Told, say: Face) -> str:
    label, positive = e.value
    found = f"has the positive label {positive!r} (labels found: {_labels(e.limit)}); count"
    if label:
        return f"every labelled row {found} rows with other labels too"
    return f"no row {found} the rows again with {say.option('positive', '...')} for the label that means 1"


def _low_ratio(e: Told, _: Face) -> str:
    ratio = e.value
    times = f"{1 / ratio:.3g} times as often as another" if ratio > 0 else "and another not at all"
    rest = "" if f"{1 - ratio:g}" == "0.8" else f"{1 - ratio:g}, "
    return f"{times}; did you mean {rest}0.8 (the four-fifths rule)"


SKETCH_OF = {"Window": "pass window.sketch", "ProxySketch": "pass proxy.unmixed()"}


def _needs(e: Told, say: Face) -> str:
    return {
        "density": f"a smooth one, such as {say.option('density', repr('kde'))}",
        "method": f"an iterative one, such as {say.option('method', repr('alternating'))}",
        "limits": say.entry("limits", EXAMPLE, "0.05"),
        "penalties": say.entry("penalties", EXAMPLE, "10"),
        "fair_between": "the columns between whose groups gaps are measured",
    }[e.limit]


PLACES = {
    "solve of densities": "densities in the place of a sketch, which have no rows",
    "frontier of densities": "a frontier of smooth densities",
    "frontier by segment": "a frontier of thresholds by segment",
}


def _apart(e: Told, say: Face) -> str:
    option, value, why = e.limit
    return f"{say.shown(e.argument, e.value)} does not go with {say.shown(option, value)}: {why}"


def _role_name(e: Told, _: Face) -> str:
    if isinstance(e.limit, int):
        return f"the sketch does not know the names of its {e.limit} group columns; name them by position, from 0"
    return f"the group columns of the sketch are {', '.join(map(repr, e.limit))}"


def _roles_elsewhere(e: Told, _: Face) -> str:
    fair, decide = (
        " and ".join(repr(one) if isinstance(one, str) else f"column {one}" for one in named) for named in e.value
    )
    known = (
        f"does not know the names of its {e.limit} group columns"
        if isinstance(e.limit, int)
        else f"has the group columns {', '.join(map(repr, e.limit))}"
    )
    return f"{fair} and decide by {decide}, and the sketch {known}"


def _percent(low: float, high: float) -> Sentence:
    """A hint for a level that was given in per cent, between these."""
    return lambda e, _: f"; {e.value:g} % is {e.value / 100:g}" if low <= float(e.value) <= high else ""


def _noise(e: Told, say: Face) -> str:
    name, of = e.value["criterion"], e.value
    ratio = CRITERION[name].from_below
    how = "closer to 1 than chance alone leaves it" if ratio else "below what chance alone shows"
    return (
        f"{say.item('limits', name)} is {of['limit']:g}, {how}: group {of['group']!r} has {of['rows']:,.4g} "
        f"{of['what']}, on which a rule of equal {of['rate']} has a gap of {of['gap']:.3g} on average; expect gaps "
        f"beyond the limit on new rows; what helps: {helps(of['ways'], say)}"
    )


def helps(ways: Sequence[str | tuple[str, str, str, str]], say: Face) -> str:
    """What to try: words, or an option as (name, value, words before and after it)."""
    said = [way if isinstance(way, str) else f"{way[2]}{say.option(way[0], way[1])}{way[3]}" for way in ways]
    return ", ".join(said[:-1]) + " or " + said[-1] if len(said) > 1 else said[0]


def _undefined_rate(e: Told, _: Face) -> str:
    which = "group" if len(e.value) == 1 else "groups"
    verb = "has" if len(e.value) == 1 else "have"
    needed = "two groups that have" if e.argument in CRITERION else "a group that has"
    return (
        f"{which} {first_few(map(repr, e.value))} {verb} no {e.limit[1]}, so {e.limit[0]} is undefined there; "
        f"{e.argument} needs {needed}"
    )


MEANT = {  # by words of other libraries
    **dict.fromkeys(("mean", "mu", "loc", "median"), "location"),
    **dict.fromkeys(("std", "sigma", "deviation", "sd"), "scale"),
    **dict.fromkeys(("nu", "degrees"), "df"),
    **dict.fromkeys(("a", "alpha", "k"), "shape"),
}


def _family_parameter(e: Told, _: Face) -> str:
    meant = MEANT.get(str(e.argument))
    return f"; did you mean {meant}?" if meant in e.limit else near(str(e.argument), e.limit)


OPTION_CASES: dict[str, Sentence] = {
    "resolution": _resolution,
    # every digit: scores are compared with it
    "sentinel": lambda e, say: say.option("missing", repr(e.value[0]).removesuffix(".0")),
    "needs_a_sketch": lambda e, _: SKETCH_OF.get(kind_of(e.value), "count first: gf.Sketch.from_rows(...)"),
    "criterion_number": lambda e, say: say.item(*str(e.argument).split(":")),
    "role_type": lambda e, _: (
        f"{kind_of(e.value)}; count the column with the rows" if hasattr(e.value, "shape") else repr(e.value)
    ),
    "panes": lambda e, _: "at least 1" if e.value < 1 else f"at most {e.limit}",
    "apart": _apart,
    "needs": _needs,
    "not_here": lambda e, _: PLACES[e.limit],
    "criterion": lambda e, _: not_offered(e.value) or near(str(e.value), e.limit),
    "limit": lambda e, _: "a least ratio" if CRITERION[str(e.argument)].from_below else "a largest gap",
    "role_name": _role_name,
    "roles_elsewhere": _roles_elsewhere,
    "confidence": _percent(50, 99.9),
    "evidence": _percent(math.nextafter(1, 2), math.nextafter(100, 0)),
    "low_ratio": _low_ratio,
    "one_label": _one_label,
    "noise": _noise,
    "degenerate": lambda e, say: helps(e.value["ways"], say),
    "positive_absent": lambda e, _: _labels(e.limit),
    "undefined_rate": _undefined_rate,
    "roles_groups": lambda e, _: " and ".join(map(repr, e.value)),
    "segment_numbers": lambda e, _: (
        "pass proba[:, 1], or a column" if e.row is None else "drop such rows, or give them a number"
    ),
    "frontier_sketch": lambda e, _: "" if e.value is None else "; this one has other rows",
    "no_rows": lambda e, say: say.count_rows.format(verb=e.argument),
    "decisions": lambda e, _: (
        "for -1/+1 decisions pass decisions > 0" if e.value == -1 else "for scores count a Sketch, give thresholds"
    ),
    "family_parameter": _family_parameter,
    "family_df": lambda e, _: "; use 'normal', which it equals by then" if float(e.value) > e.limit[1] else "",
}
