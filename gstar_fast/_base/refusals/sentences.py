"""Sentences on rows, groups and decisions that are refused: for each code its class and its words."""

from __future__ import annotations

from typing import Any

import numpy as np

from gstar_fast._base.grid import memory_of
from gstar_fast._base.refusals.wording import Entry, Face, Words, entries, kind_of
from gstar_fast._base.text import first_few
from gstar_fast._words import UNLABELLED
from gstar_fast.errors import (
    ExpiredWarning,
    InputMemoryError,
    InputOverflowError,
    InputTypeError,
    InputValueError,
    OptionTypeError,
    OptionValueError,
)

ROWS: dict[str, Entry] = {}
SKIP = '"skip"'
DEFAULT = '"default"'


# ----------------------------------------------------------------------------------------------------------------- rows


def _lengths(found: dict[str, int], say: Face) -> str:
    return ", ".join(f"{say.argument(name)} has {n}" for name, n in found.items())


def _size(e: Any, say: Face) -> str:
    shown = f"{e.value!r}" if e.row is None else f"{e.value!s}"
    return f"{say.argument(e.argument)} has {shown}{say.at(e.row)}; finite {e.argument} must lie within 2**1000"


def _shape(e: Any, say: Face) -> str:
    shape = e.value
    if not shape:
        hint = "for a single row use update_one(score, label, group)"
    elif e.argument == "scores" and len(shape) == 2 and shape[1] == 2:
        hint = "pass proba[:, 1], not proba"
    elif e.argument == "groups":
        hint = "for intersections pass a frame, or a list of columns"
    else:
        hint = f"pass one column, such as {e.argument}[:, 0]"
    return f"{say.argument(e.argument)} must be 1-D, got shape {shape}; {hint}"


def _not_numbers(e: Any, say: Face) -> str:
    decided = e.argument == "scores" and isinstance(e.value, Words) and e.value == "bool"
    hint = "; pass the scores before they were thresholded" if decided else ""
    return f"{say.argument(e.argument)} must be real numbers, got {kind_of(e.value)}{say.at(e.row)}{hint}"


def _label_type(e: Any, say: Face) -> str:
    hint = "" if e.row is not None else f"; {say.words_as_labels}"
    return f"{say.argument(e.argument)} must be 0 or 1, got {kind_of(e.value)}{say.at(e.row)}{hint}"


def _memory(e: Any, say: Face) -> str:
    n_groups, bins, weighted = e.value
    need = memory_of(n_groups, bins, bool(weighted))
    return say.too_many_groups(n_groups) or (
        f"{n_groups} groups of {bins} bins need {need / 2**30:.1f} GiB; memory_limit is {e.limit / 2**30:.1f} GiB: "
        "use fewer bins or groups, or pass a larger memory_limit"
    )


ROWS |= entries(
    InputValueError,
    nan_score=lambda e, say: (
        f"{say.argument(e.argument)} has NaN{say.at(e.row)}; drop such rows or {say.give} {say.option('nan', SKIP)}"
    ),
    too_large=_size,
    bad_label=lambda e, say: (
        f"{say.argument('labels')} must be 0 or 1, got {e.value}{say.at(e.row)}{say.label_hint(e.value)}"
    ),
    nan_label=lambda e, say: (
        f"{say.argument('labels')} has NaN{say.at(e.row)}; pass labels=None if no row has a label, or a null where one "
        "has none: labels.astype('Int64') for a pandas column, else None or a masked array"
    ),
    bad_weight=lambda e, say: (
        f"{say.argument('weights')} must be finite and not negative, got {e.value!r}{say.at(e.row)}"
    ),
    bad_repeats=lambda e, say: (
        f"{say.argument('repeats')} must be whole numbers that are not negative, got {e.value!r}{say.at(e.row)}; "
        f"for weights of rows use {say.weights}"
    ),
    lengths=lambda e, say: f"arrays differ in length: {_lengths(e.value, say)}",
    shape=_shape,
    frame_shape=lambda e, say: (
        f"{say.argument(e.argument)} must be 1-D, got a DataFrame of shape {e.value}; pass one of its columns"
    ),
    no_columns=lambda e, say: f"{say.argument(e.argument)} has no columns; pass at least one",
    too_many_columns=lambda e, say: (
        f"{say.argument(e.argument)} has {e.value} columns, and at most {e.limit} make a group; an entry of a list of "
        "lists or of a 2-D array is one row: pass columns as a frame, or as a list of arrays"
    ),
    ragged_lists=lambda e, say: (
        f"{say.argument(e.argument)} is a list of lists, one for each row, which differ in length"
    ),
    different_bins=lambda e, say: (
        f"cannot merge sketches with different bins: {e.limit} and {e.value}; count one of them anew with "
        f"{say.same_bins}"
    ),
    different_range=lambda e, say: (
        f"cannot merge sketches with different ranges: {e.limit or 'none'} and {e.value or 'none'}; count one of them "
        f"anew with {say.same_bins}"
    ),
    different_positive=lambda e, say: (
        f"cannot merge sketches with different positive labels: {e.limit} and {e.value}, so 1 has two meanings; "
        f"count one of them anew with {say.option('positive', str(e.limit))}"
    ),
    cannot_merge=lambda e, _: f"sketch {e.row} of those to merge (counted from 0): {e.value}",
    nothing_to_merge=lambda _, __: "there are no sketches to merge; pass at least one",
    different_groups=lambda e, _: (
        f"cannot merge sketches with different groups: {e.limit} and {e.value}; count one of them anew with the groups "
        "of the other, or both without given groups"
    ),
    not_valid=lambda e, _: f"not {'' if e.argument == 'thresholds' else 'a '}valid {e.argument}: {e.value}",
    bytes_need_too_much_memory=_memory,
    panes_need_too_much_memory=lambda e, _: (
        f"{e.value[0]} panes need {e.value[1]} bytes of memory together, more than the {e.limit} allowed; check where "
        "these bytes come from"
    ),
    other_checkpoint=lambda e, _: (
        f"batch {e.value} comes after {e.limit} was written, so that file is from another checkpoint of the stream; "
        f"use a new {e.argument} for a new checkpoint"
    ),
    sql_rows=lambda e, _: f"execute must return the rows of its SELECT, one of them here, got {e.value}",
    sql_width=lambda e, _: f"execute returned rows of {e.value} values, and its SELECT has {e.limit}",
    sql_extent=lambda e, _: f"extent must be the row of five values that the first query gave, got {e.value!r}",
    sql_changed=lambda _, __: (
        "scores of the table changed while it was counted; run both queries in one transaction, or on a copy"
    ),
    sql_most_rows=lambda e, _: (
        f"{e.value} rows lie in one bin of one group, and the sums of a database hold {e.limit}; count parts of the "
        "table and add their sketches"
    ),
    null_character=lambda e, _: f"SQL has no string with a null character, as in {e.value!r}",
    column_name=lambda e, _: f"a {e.argument} must have a name, got {e.value!r}",
    bad_bin=lambda e, _: f"row {e.row} of rows {e.value}",
    bins_level=lambda e, _: (
        f"the rows were made for level {e.value}, and their scores have level {e.limit}; count them again: some may "
        "have been added while they were counted"
    ),
    group_not_there=lambda e, _: f"group {e.value!r} is not in the sketch; its groups are {e.limit}",
    label_not_there=lambda e, _: f"label must be 0, 1 or None (unlabelled), got {e.value!r}",
    no_such_column=lambda e, _: f"{e.argument} has no column {e.value!r}; its columns are {e.limit}",
    column_twice=lambda e, _: f"{e.argument} has more than one column {e.value!r}; its columns are {e.limit}",
    null_rows=lambda e, _: f"{e.argument} has rows that are null as a whole; drop them first",
    arrow_format=lambda e, _: (
        f"{e.argument} comes from an Arrow producer that gives no format; report it to whoever made it"
    ),
    arrow_array=lambda e, _: f"{e.argument} is not a valid Arrow array: it has {e.value}; check what produced it",
    arrow_offsets=lambda _, __: "an Arrow column of strings has offsets that run backwards",
    arrow_view=lambda _, __: "an Arrow column of strings has a view of bytes outside its data",
)
ROWS |= entries(
    InputTypeError,
    not_an_array=lambda e, say: f"{say.argument(e.argument)} must be an array with one value per row, got {e.value!r}",
    unreadable_array=lambda e, say: f"{say.argument(e.argument)} must be an array, got {kind_of(e.value)}: {e.limit}",
    categories=lambda e, say: f"{say.argument(e.argument)} must be numbers, got strings or categories",
    not_numbers=_not_numbers,
    bad_label_type=_label_type,
    label_of_row=lambda e, _: f"label must be 0, 1 or None, got {kind_of(e.value)}",
    score_of_row=lambda e, _: f"score must be a number, got {kind_of(e.value)}",
    mapping=lambda e, say: (
        f"{say.argument(e.argument)} must be an array, a frame or a list of columns, got {kind_of(e.value)}"
    ),
    lazy_frame=lambda e, say: (
        f"{say.argument(e.argument)} is a {kind_of(e.value)}, which has no rows yet; pass {e.argument}.collect()"
    ),
    column_name_type=lambda e, _: f"a {e.argument} must be given by its name, got {kind_of(e.value)}",
    sql_row=lambda e, _: (
        f"execute must return rows as tuples, got {kind_of(e.value)}; for a data frame return its rows: "
        "frame.itertuples(index=False)"
    ),
    not_a_bin=lambda e, _: (
        f"row {e.row} of rows must be a tuple (group, label, count, min, max, sum, unit), got {kind_of(e.value)}"
    ),
    not_a_sketch=lambda e, _: f"can only merge a Sketch, got {kind_of(e.value)}",
    not_mergeable=lambda e, _: (
        f"sketches must be sketches, bytes of such, or paths of saved ones, got {kind_of(e.value)} at position {e.row}"
    ),
    not_several=lambda e, _: f"sketches must be a list or the like, got {kind_of(e.value)}; for one pass a list of one",
    not_bytes=lambda e, _: f"{e.argument} must be bytes, got {kind_of(e.value)}; for a file use {e.limit}",
    not_a_table=lambda e, _: (
        f"{e.argument} must be a table or a stream of record batches, got a column of {kind_of(e.value)}"
    ),
    no_arrow=lambda e, _: (
        f"{e.argument} must offer __arrow_c_stream__, as tables and readers of pyarrow, polars, pandas and duckdb do; "
        f"got {kind_of(e.value)}{e.limit}"
    ),
    arrow_type=lambda e, _: f"{e.argument} must hold numbers, bools or strings, got the Arrow type {kind_of(e.value)}",
    engine_frame=lambda e, _: f"{e.argument} must be a {e.limit}, got {kind_of(e.value)}",
    not_partitions=lambda e, _: (
        f"{e.argument} must be a Dask data frame, or a list of Delayed that each give a table; got {kind_of(e.value)}"
    ),
    column_entry=lambda e, say: (
        f"{say.argument(e.argument)} is a list of columns, but its entry {e.row} is a {kind_of(e.value)}; pass arrays "
        "or series of one length"
    ),
)
ROWS |= entries(
    InputMemoryError,
    too_much_memory=_memory,
    solving_needs_too_much_memory=lambda e, _: (
        f"solving for {e.limit[1]} groups of {e.limit[2]} bins needs about {e.value / 2**30:.1f} GiB; the sketch's "
        f"memory_limit is {e.limit[0] / 2**30:.1f} GiB: count with fewer bins, or pass a larger memory_limit to Sketch "
        "or Sketch.load"
    ),
)
ROWS |= entries(
    InputOverflowError,
    too_many_rows=lambda _, __: (
        "the sketch would hold 2**63 rows or more, or a weight of 2**43 or more; nothing was counted"
    ),
)


# --------------------------------------------------------------------------------------------------------------- groups


def _group_type(e: Any, say: Face) -> str:
    kind, cure = kind_of(e.value), ""
    if isinstance(e.value, (float, np.floating)):
        kind, cure = "float", "; pass whole numbers as int, such as column.astype(int), and cut others into ranges"
    elif isinstance(e.value, bytes):
        kind, cure = "bytes", "; decode bytes first: name.decode(), or np.char.decode(groups)"
    elif isinstance(e.value, Words):
        cure = "; convert them, for instance with groups.astype(str)"
    return (
        f"{say.column(e.argument)}group names must be int, str, bool or tuples of these, got {kind}"
        f"{say.at(e.row, e.argument)}{cure}"
    )


def _group_missing(e: Any, say: Face) -> str:
    then = ", then pass groups.astype(int)" if e.value == "float" else ""
    return (
        f"{say.column(e.argument)}{say.argument('groups')} has a missing value{say.at(e.row, e.argument)}; drop such "
        f"rows or {say.own_group}{then}"
    )


ROWS |= entries(InputTypeError, missing_group=_group_missing, bad_group_type=_group_type)
ROWS |= entries(
    InputValueError,
    too_large_group=lambda e, say: (
        f"{say.column(e.argument)}group {e.value}{say.at(e.row, e.argument)} does not fit into 64 bits; use a string "
        "instead"
    ),
    bad_unicode=lambda e, say: (
        f"{say.column(e.argument)}group name {e.value!r}{say.at(e.row, e.argument)} is not valid Unicode; replace its "
        "lone surrogates"
    ),
    bad_tuple=lambda e, say: (
        f"{say.column(e.argument)}a group name may be a tuple of 1 to {e.limit} values, got {len(e.value)}"
        f"{say.at(e.row, e.argument)}; join some of them into one string"
    ),
    unknown_group=lambda e, say: (
        f"group {e.value!r}{say.at(e.row)} is not one of the given groups {e.limit}; add it to groups= or leave "
        "groups= out to learn them"
    ),
    indistinct_groups=lambda e, _: (
        f"groups has both {e.value[0]!r} and {e.value[1]!r}, which Python cannot tell apart; use one kind"
    ),
    too_many_groups=lambda e, say: say.too_many_groups(e.value) or f"{e.value} groups; at most {e.limit} are supported",
)
ROWS |= entries(
    OptionValueError,
    groups_empty=lambda _, __: "groups= is empty; name at least one group, or leave groups= out to learn them",
    group_twice=lambda e, _: f"group {e.value!r} appears twice in groups=; give each name once",
)
ROWS |= entries(
    OptionTypeError,
    groups_text=lambda e, _: f"groups must be a list of names, got {e.value!r}; pass groups=[{e.value!r}]",
)


# ------------------------------------------------------------------------------------------------------------- deciding


def _decide_nan(e: Any, say: Face) -> str:
    policies = f"{say.option('nan', 'False')} or {say.option('nan', 'True')}"
    return f"{say.argument('scores')} has NaN{say.at(e.row)}; drop such rows, or {say.choose} {policies}"


ROWS |= entries(
    InputValueError,
    undecided_nan=_decide_nan,
    no_threshold=lambda e, say: (
        f"group {e.value!r}{say.at(e.row)} has no threshold; there are {e.limit}; {say.choose} "
        f"{say.option('unknown', DEFAULT)} or {say.other('unknown', 'a number')} to decide for others"
    ),
    no_such_position=lambda e, say: (
        f"code {e.value}{say.at(e.row)} is not a position among the {e.limit} groups; they are numbered from 0"
    ),
    segment_nan=lambda e, say: (
        f"{say.argument('groups')} has NaN{say.at(e.row)}, which lies in no segment; drop such rows, or {say.choose} "
        f"{say.option('unknown', DEFAULT)} or {say.other('unknown', 'a number')} to decide for them"
    ),
    empty_segment=lambda e, say: (
        f"segment {e.value}{say.at(e.row)} has no threshold, since no row that was counted lies in it; there are "
        f"{e.limit}; {say.choose} {say.option('unknown', DEFAULT)} or {say.other('unknown', 'a number')} to decide "
        "for others"
    ),
    needs_groups=lambda e, _: f"{e.argument} must be given: each group has a threshold of its own",
    needs_key=lambda _, __: "these thresholds are randomised; pass the row's key as well",
    needs_keys=lambda _, say: f"these thresholds are randomised; {say.keys}",
    key_size=lambda e, _: f"key {e.value} does not fit into 64 bits; pass it as a string",
    expired=lambda e, say: (
        f"{e.argument or ''}these thresholds expired on {e.value}; solve again, or {say.give} "
        f"{say.option('allow_expired', 'True')}"
    ),
    swap_expired=lambda e, _: (
        f"these thresholds expired on {e.value}, so the current ones stay in use; solve again and swap to the new "
        "result"
    ),
)
ROWS |= entries(
    ExpiredWarning,
    decides_expired=lambda e, _: (
        f"the thresholds expired on {e.value} and are still in use (this warning is given once). Solve again and swap "
        "to the new result"
    ),
)
ROWS |= entries(
    InputTypeError,
    key_type=lambda e, _: f"a key must be an int, a str or bytes, got {kind_of(e.value)}",
    key_missing=lambda e, say: f"{say.argument('keys')} has a missing value{say.at(e.row)}",
    needs_numbers=lambda e, say: (
        f"{say.argument(e.argument)} must be given as floats that stand for the group, such as P(group | x), since "
        f"these thresholds have cut points{'' if e.value is None else f'; got {kind_of(e.value)}'}{say.at(e.row)}; "
        "pass the numbers themselves, not their segments"
    ),
    score_to_decide=lambda e, _: (
        f"score must be a number, got {kind_of(e.value)}; for many rows call decider(scores, groups)"
    ),
)


# ------------------------------------------------------------------------------------------- probabilities of the group


ROWS |= entries(
    InputTypeError,
    proxy_type=lambda e, _: f"group_probabilities must be an array of numbers, got {e.value}",
    proxy_merge=lambda e, _: f"a ProxySketch takes the rows of another one of the same groups; got {e.value}",
)
ROWS |= entries(
    InputValueError,
    proxy_groups=lambda e, _: f"groups must be at least two names, one for each column of probabilities; got {e.value}",
    proxy_shape=lambda e, _: (
        f"group_probabilities must have a row for each score and a column for each of {e.limit} groups, got shape "
        f"{e.value}" + ("; pass np.column_stack([1 - p, p])" if len(e.value) == 1 and e.limit == 2 else "")
    ),
    proxy_columns=lambda e, _: (
        f"group_probabilities has the columns {first_few(map(repr, e.value))}, and the groups are "
        f"{first_few(map(repr, e.limit))}; give columns of these names, or an array"
    ),
    proxy_row=lambda e, say: (
        f"group_probabilities must be from 0 to 1 and add up to 1 in every row, got {first_few(map(repr, e.value))}"
        f"{say.at(e.row)}"
    ),
    proxy_weak=lambda e, _: (
        "group_probabilities cannot tell the groups apart among "
        + ("unlabelled rows" if e.value == UNLABELLED else f"rows of label {e.value}")
        + ": they say less about some group than one row of known group would; use more rows, probabilities from "
        "columns that say more about the group, or leave a group out"
    ),
)
