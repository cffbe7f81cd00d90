"""Sentences on rows, groups and decisions that are rejected: a table, and the parts that depend on the case."""

from __future__ import annotations

import numpy as np

from gstar_fast._base.grid import memory_of
from gstar_fast._base.refusals.refusal import Words
from gstar_fast._base.refusals.wording import Face, Sentence, Told, kind_of
from gstar_fast._base.text import first_few
from gstar_fast._words import UNLABELLED

ROWS = """
InputValueError
    nan_score: {subject} has NaN{at}; drop such rows or {say.give} {option:nan="skip"}
    nan_label: {subject:labels} has NaN{at}; pass labels=None if no row has a label, or a null where one has none:
        labels.astype('Int64') for a pandas column, else None or a masked array
    bad_weight: {subject:weights} must be finite and not negative, got {value!r}{at}
    bad_repeats: {subject:repeats} must be whole numbers that are not negative, got {value!r}{at}; for weights of rows
        use {say.weights}
    frame_shape: {subject} must be 1-D, got a DataFrame of shape {value}; pass one of its columns
    no_columns: {subject} has no columns; pass at least one
    too_many_columns: {subject} has {value} columns, and at most {limit} make a group; an entry of a list of lists or
        of a 2-D array is one row: pass columns as a frame, or as a list of arrays
    ragged_lists: {subject} is a list of lists, one for each row, which differ in length
    different_bins: cannot merge sketches with different bins: {limit} and {value}; count one of them again with
        {say.same_bins}
    different_positive: cannot merge sketches with different positive labels: {limit} and {value}, so 1 has two
        meanings; count one of them again with {option:positive={limit}}
    cannot_merge: sketch {row} of those to merge (counted from 0): {value}
    nothing_to_merge: there are no sketches to merge; pass at least one
    different_groups: cannot merge sketches with different groups: {limit} and {value}; count one of them again with the
        groups of the other, or both without given groups
    panes_need_too_much_memory: {value[0]} panes need {value[1]} bytes of memory together, more than the {limit}
        allowed; check where these bytes come from
    other_checkpoint: batch {value} comes after {limit} was written, so that file is from another checkpoint of the
        stream; use a new {argument} for a new checkpoint
    sql_rows: execute must return the rows of its SELECT, one of them here, got {value}
    sql_width: execute returned rows of {value} values, and its SELECT has {limit}
    sql_extent: extent must be the row of five values that the first query gave, got {value!r}
    sql_changed: scores of the table changed while it was counted; run both queries in one transaction, or on a copy
    sql_self_test: the answer of {limit} differs from one pass over the same scores in {value}; check that numbers have
        17 digits, and report it
    sql_most_rows: {value} rows lie in one bin of one group, and the sums of a database hold {limit}; count parts of the
        table and add their sketches
    null_character: SQL has no string with a null character, as in {value!r}
    column_name: a {argument} must have a name, got {value!r}
    bad_bin: row {row} of rows {value}
    bins_level: the rows were made for level {value}, and their scores have level {limit}; count them again: some may
        have been added while they were counted
    group_not_there: group {value!r} is not in the sketch; its groups are {limit}
    label_not_there: label must be 0, 1 or None (unlabelled), got {value!r}
    no_such_column: {argument} has no column {value!r}; its columns are {limit}
    struct_field: {argument} has no column {value!r}, but a column {limit!r}; make its field a column of its own first
    column_twice: {argument} has more than one column {value!r}; its columns are {limit}
    null_rows: {argument} has rows that are null as a whole; drop them first
    arrow_format: {argument} comes from an Arrow producer that gives no format; report it to its maintainers
    arrow_array: {argument} is not a valid Arrow array: it has {value}; check what produced it
    arrow_offsets: an Arrow column of strings has offsets that run backwards
    arrow_view: an Arrow column of strings has a view of bytes outside its data
    too_large_group: {column}group {value}{at} does not fit into 64 bits; use a string instead
    bad_unicode: {column}group name {value!r}{at} is not valid Unicode; replace its lone surrogates
    unknown_group: group {value!r}{at} is not one of the given groups {limit}; add it to groups= or leave groups= out
        to learn them
    indistinct_groups: groups has both {value[0]!r} and {value[1]!r}, which Python cannot tell apart; use one kind
    undecided_nan: {subject:scores} has NaN{at}; drop such rows, or {say.choose} {option:nan=False} or
        {option:nan=True}
    no_threshold: group {value!r}{at} has no threshold; there are {limit}; {say.choose} {option:unknown="default"} or
        {other:unknown=a number} to decide for others
    no_such_position: code {value}{at} is not a position among the {limit} groups; they are numbered from 0
    segment_nan: {subject:groups} has NaN{at}, which lies in no segment; drop such rows, or {say.choose}
        {option:unknown="default"} or {other:unknown=a number} to decide for them
    empty_segment: segment {value}{at} has no threshold, since no row that was counted lies in it; there are {limit};
        {say.choose} {option:unknown="default"} or {other:unknown=a number} to decide for others
    needs_groups: {argument} must be given: each group has a threshold of its own
    needs_key: these thresholds are randomised; pass the row's key as well
    needs_keys: these thresholds are randomised; {say.keys}
    key_size: key {value} does not fit into 64 bits; pass it as a string
    swap_expired: these thresholds expired on {value}, so the current ones stay in use; solve again and swap to the new
        result
    proxy_groups: groups must be at least two names, one for each column of probabilities; got {value}
    proxy_row: group_probabilities must be from 0 to 1 and add up to 1 in every row, got {few}{at}
    bad_label: {subject:labels} must be 0 or 1, got {value}{at}{case}
    too_large: {subject} has {case}{at}; finite {argument} must lie within 2**1000
    lengths: arrays differ in length: {case}
    shape: {subject} must be 1-D, got shape {value}; {case}
    different_range: cannot merge sketches with different ranges: {case}; count one of them again with {say.same_bins}
    not_valid: not {case}valid {argument}: {value}
    bytes_need_too_much_memory: {case}
    bad_tuple: {column}a group name may be a tuple of 1 to {limit} values, got {case}{at}; join some of them into one
        string
    too_many_groups: {case}
    expired: {case}these thresholds expired on {value}; solve again, or {say.give} {option:allow_expired=True}
    proxy_shape: group_probabilities must have a row for each score and a column for each of {limit} groups, got shape
        {value}{case}
    proxy_columns: group_probabilities has the columns {few}, and the groups are {case}; give columns of these names, or
        an array
    proxy_weak: group_probabilities cannot tell the groups apart among {case}: they say less about some group than one
        row of known group would; use more rows, probabilities from columns that say more about the group, or leave a
        group out
InputTypeError
    not_an_array: {subject} must be an array with one value per row, got {value!r}
    unreadable_array: {subject} must be an array, got {kind}: {limit}
    categories: {subject} must be numbers, got strings or categories
    label_of_row: label must be 0, 1 or None, got {kind}
    score_of_row: score must be a number, got {kind}
    mapping: {subject} must be an array, a frame or a list of columns, got {kind}
    lazy_frame: {subject} is a {kind}, which has no rows yet; pass {argument}.collect()
    column_name_type: a {argument} must be given by its name, got {kind}
    sql_execute: execute must be a cursor, a connection, or a function that runs a SELECT and returns its rows; got
        {kind}
    sql_no_rows: execute must return the rows of its SELECT, got {kind}; pass the cursor or the connection itself
    sql_row: execute must return rows as tuples, got {kind}; for a data frame return its rows:
        frame.itertuples(index=False)
    not_a_bin: row {row} of rows must be a tuple (group, label, count, min, max, sum, unit), got {kind}
    not_a_sketch: can only merge a Sketch, got {kind}
    not_mergeable: sketches must be sketches, bytes of such, or paths of saved ones, got {kind} at position {row}
    not_several: sketches must be a list or the like, got {kind}; for one pass a list of one
    not_bytes: {argument} must be bytes, got {kind}; for a file use {limit}
    not_a_table: {argument} must be a table or a stream of record batches, got a column of {kind}
    no_arrow: {argument} must offer __arrow_c_stream__, as tables and readers of pyarrow, polars, pandas and duckdb do;
        got {kind}{limit}
    arrow_type: {argument} must hold numbers, bools or strings, got the Arrow type {kind}
    engine_frame: {argument} must be a {limit}, got {kind}; count a table in memory with Sketch.update_table
    not_partitions: {argument} must be a Dask data frame, or a list of Delayed that each give a table; got {kind}
    column_entry: {subject} is a list of columns, but its entry {row} is a {kind}; pass arrays or series of one length
    key_type: a key must be an int, a str or bytes, got {kind}
    key_missing: {subject:keys} has a missing value{at}
    score_to_decide: score must be a number, got {kind}; for many rows call decider(scores, groups)
    proxy_type: group_probabilities must be an array of numbers, got {value}
    proxy_merge: a ProxySketch takes the rows of another one of the same groups; got {value}
    not_numbers: {subject} must be real numbers, got {kind}{at}{case}
    bad_label_type: {subject} must be 0 or 1, got {kind}{at}{case}
    missing_group: {column}{subject:groups} has a missing value{at}; drop such rows or {say.own_group}{case}
    bad_group_type: {column}group names must be int, str, bool or tuples of these, got {case}
    needs_numbers: {subject} must be given as floats that stand for the group, such as P(group | x), since these
        thresholds have cut points{case}{at}; pass the numbers themselves, not their segments
InputOverflowError
    too_many_rows: the sketch would hold 2**63 rows or more, or a weight of 2**43 or more; nothing was counted
OptionValueError
    groups_empty: groups= is empty; name at least one group, or leave groups= out to learn them
    group_twice: group {value!r} appears twice in groups=; give each name once
OptionTypeError
    groups_text: groups must be a list of names, got {value!r}; pass groups=[{value!r}]
ExpiredWarning
    decides_expired: the thresholds expired on {value} and are still in use (this warning is given once). Solve again
        and swap to the new result
InputMemoryError
    too_much_memory: {case}
    solving_needs_too_much_memory: {case}
"""


def _shape(e: Told, _: Face) -> str:
    if not e.value:
        return "for a single row use update_one(score, label, group)"
    if e.argument == "scores" and len(e.value) == 2 and e.value[1] == 2:
        return "pass proba[:, 1], not proba"
    if e.argument == "groups":
        return "for intersections pass a frame, or a list of columns"
    return f"pass one column, such as {e.argument}[:, 0]"


def _not_numbers(e: Told, _: Face) -> str:
    decided = e.argument == "scores" and isinstance(e.value, Words) and e.value == "bool"
    return "; pass the scores before they were thresholded" if decided else ""


def _memory(e: Told, say: Face) -> str:
    n_groups, bins, weighted = e.value
    need = memory_of(n_groups, bins, bool(weighted))
    return say.too_many_groups(n_groups) or (
        f"{n_groups} groups of {bins} bins need {need / 2**30:.1f} GiB; memory_limit is {e.limit / 2**30:.1f} GiB: "
        "use fewer bins or groups, or pass a larger memory_limit"
    )


def _memory_to_solve(e: Told, _: Face) -> str:
    limit, n_groups, bins = e.limit
    return (
        f"solving for {n_groups} groups of {bins} bins needs about {e.value / 2**30:.1f} GiB; the sketch's "
        f"memory_limit is {limit / 2**30:.1f} GiB: count with fewer bins, or pass a larger memory_limit to Sketch or "
        "Sketch.load"
    )


def _group_type(e: Told, say: Face) -> str:
    kind, cure = kind_of(e.value), ""
    if isinstance(e.value, (float, np.floating)):
        kind, cure = "float", "; pass whole numbers as int, such as column.astype(int), and cut others into ranges"
    elif isinstance(e.value, bytes):
        cure = "; decode bytes first: name.decode(), or np.char.decode(groups)"
    elif isinstance(e.value, Words):
        cure = "; convert them, for instance with groups.astype(str)"
    return f"{kind}{say.at(e.row, e.argument)}{cure}"


ROW_CASES: dict[str, Sentence] = {
    "bad_label": lambda e, say: say.label_hint(e.value),
    "too_large": lambda e, _: f"{e.value!r}" if e.row is None else f"{e.value!s}",
    "lengths": lambda e, say: ", ".join(f"{say.argument(name)} has {n}" for name, n in e.value.items()),
    "shape": _shape,
    "different_range": lambda e, _: f"{e.limit or 'none'} and {e.value or 'none'}",
    "not_valid": lambda e, _: "" if e.argument == "thresholds" else "a ",
    "bytes_need_too_much_memory": _memory,
    "too_much_memory": _memory,
    "solving_needs_too_much_memory": _memory_to_solve,
    "not_numbers": _not_numbers,
    "bad_label_type": lambda e, say: "" if e.row is not None else f"; {say.words_as_labels}",
    "missing_group": lambda e, _: ", then pass groups.astype(int)" if e.value == "float" else "",
    "bad_group_type": _group_type,
    "bad_tuple": lambda e, _: str(len(e.value)),
    "too_many_groups": lambda e, say: (
        say.too_many_groups(e.value) or f"{e.value} groups; at most {e.limit} are supported"
    ),
    "expired": lambda e, _: e.argument or "",
    "needs_numbers": lambda e, _: "" if e.value is None else f"; got {kind_of(e.value)}",
    "proxy_shape": lambda e, _: "; pass np.column_stack([1 - p, p])" if len(e.value) == 1 and e.limit == 2 else "",
    "proxy_columns": lambda e, _: first_few(map(repr, e.limit)),
    "proxy_weak": lambda e, _: "unlabelled rows" if e.value == UNLABELLED else f"rows of label {e.value}",
}
