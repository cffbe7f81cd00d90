"""Rows to decide: columns of any kind -> clean arrays of one length, as a core takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from gstar_fast import _backends
from gstar_fast._backends.interface import Key
from gstar_fast._base.arrays import Hashes, Values
from gstar_fast._base.names import Name
from gstar_fast._base.refusals.place import bad_type, bad_value
from gstar_fast._base.refusals.refusal import Words, refusal
from gstar_fast._base.thresholds import Thresholds
from gstar_fast._input.columns import as_scores, column_of, crossed, group_columns
from gstar_fast._input.group_columns import as_groups, check_one_length
from gstar_fast._input.options import checked_flag, checked_threads

# Arguments of a core's `decide` and `margins`: scores, codes, names, as_codes, keys, threads. Codes are positions in
# names, whole numbers that are names themselves, or (as codes) positions in the groups of the decider. With cut points
# they are floats that stand for groups.
Rows: TypeAlias = "tuple[Values, Values | None, tuple[Name, ...] | None, bool, Hashes | None, int]"


def rows_of(
    thresholds: Thresholds,
    backend: str,
    scores: ArrayLike,
    groups: ArrayLike | None,
    keys: ArrayLike | None,
    codes: bool,
    threads: object,
) -> Rows:
    """Read the columns of a batch that these thresholds need."""
    if isinstance(scores, (int, float, np.number)) or (isinstance(scores, np.ndarray) and scores.ndim == 0):
        raise bad_value("scores", "scores must be 1-D, got a single number; for one row use decider.one(score, group)")
    threads, codes = checked_threads(threads), checked_flag("codes", codes)
    clean = as_scores(*column_of(scores, "scores"))
    names: tuple[Name, ...] | None = None
    places: Values | None = None
    if groups is not None and thresholds.cuts is not None and not codes:
        places = _numbers_of(groups)
    elif groups is not None:
        places, names = _group_codes(groups, codes)
    elif not thresholds.unified:
        raise refusal("needs_groups", "groups")
    hashes = None
    if thresholds.mixtures is not None:
        if keys is None:
            raise refusal("needs_keys", "keys")
        hashes = hashes_of(keys, backend)
    lengths = {"scores": clean, "groups": places, "keys": hashes}
    check_one_length({name: len(array) for name, array in lengths.items() if array is not None})
    return clean, places, names, codes, hashes, threads


def check_out(out: object, n: int) -> None:
    if not isinstance(out, np.ndarray) or out.dtype != np.bool_:
        kind = out.dtype if isinstance(out, np.ndarray) else type(out).__name__
        raise bad_type("out", f"out must be an array of bool, got {kind}; use numpy.empty(n, bool)")
    if out.shape != (n,):
        raise bad_value("out", f"out must have shape ({n},) as scores has, got {out.shape}")
    if not out.flags.writeable:
        raise bad_value("out", "out is read-only")


def _group_codes(groups: ArrayLike, codes: bool) -> tuple[Values, tuple[Name, ...] | None]:
    columns, called = group_columns(groups)
    if not codes:
        return crossed(columns, called)
    if len(columns) > 1:
        raise bad_type("groups", "codes=True needs one column, the positions of groups; leave it out to pass several")
    column = columns[0]
    if column.names is not None or (column.values.dtype.kind not in "iu" and len(column.values)):
        raise bad_type("groups", "codes=True needs whole numbers, the positions of groups; leave it out to pass names")
    values, _ = as_groups(column.values, column.valid, None) if len(column.values) else (np.zeros(0, np.int64), None)
    return values, None


def _numbers_of(groups: ArrayLike) -> Values:
    """Numbers that stand for groups, as float32 or float64; a null is NaN.

    Whole numbers are rejected: they may be the segments themselves, which would be cut once more.
    """
    column = column_of(groups, "groups")
    if column.names is not None or (column.values.dtype.kind not in ("f", "O") and len(column.values)):
        raise refusal("needs_numbers", "groups", value=Words("names" if column.names else str(column.values.dtype)))
    if column.values.dtype == object:
        for row, value in enumerate(column.values.tolist()):
            if isinstance(value, (int, str, bytes, np.integer, np.bool_)):
                raise refusal("needs_numbers", "groups", row, value)
    return as_scores(column.values, column.valid, None, "groups")


def hashes_of(keys: ArrayLike | Sequence[Key], backend: str) -> Hashes:
    """Hash of each row's key; docs/guide/decide.md says how."""
    if type(keys) is np.ndarray and keys.dtype.kind in "iu" and keys.ndim == 1:
        return _hash_numbers(keys.astype(np.int64 if keys.dtype.kind == "i" else np.uint64).view(np.uint64))
    if isinstance(keys, (list, tuple)):
        values = list(keys)
    else:
        column = column_of(keys, "keys")
        there = np.ones(len(column.values), bool) if column.valid is None else column.valid
        if column.names is not None:
            there = there & (column.values >= 0) & (column.values < len(column.names))
        if not there.all():
            raise refusal("key_missing", "keys", int((~there).argmax()))
        values = column.values.tolist()
        if column.names is not None:
            values = [column.names[code] for code in values]
    return _backends.room("decide", backend).hash_keys(values)


def _hash_numbers(numbers: Hashes) -> Hashes:
    """SplitMix64's step, wrapping around as C does."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
