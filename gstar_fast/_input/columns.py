"""Columns of any kind -> clean arrays, or an error.

Values of rows are checked by the core while it counts; here only kinds, shapes and nulls are settled, without a Python
step per row for any column type.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gstar_fast._base.arrays import Bools, DType, Floats, Ints, Values
from gstar_fast._base.grid import as_float
from gstar_fast._base.names import Name, is_missing
from gstar_fast._base.refusals.refusal import Words, about, refusal
from gstar_fast._base.warn import warn
from gstar_fast._input.arrow import Column, is_arrow, read_column
from gstar_fast._input.group_columns import (
    as_groups,
    check_one_length,
    columns_of,
    cross,
    named,
    native,
    without_missing,
)
from gstar_fast._input.options import RAISE, SKIP
from gstar_fast._input.texts import number_strings
from gstar_fast._words import UNLABELLED, WEIGHT_UNIT

Mask: TypeAlias = "Bools | None"

MOST_LOST = 0.01  # of the sum of weights, by rounding them
SMALL_WEIGHT = 1 / (2 * WEIGHT_UNIT * MOST_LOST)  # larger ones do not lose so much


class Batch(NamedTuple):
    """What a core takes: see `SketchCore.update` in `_backends.interface`."""

    scores: Values
    labels: Values | None
    codes: Values
    names: tuple[Name, ...] | None
    weights: Values | None
    unlabelled_code: bool
    repeats: Values | None = None
    absent: Mask = None  # rows without a group, which are skipped; the last name is their placeholder


def as_batch(
    scores: object, labels: object, groups: object, weights: object, repeats: object = None, missing_group: Name = RAISE
) -> Batch:
    """Clean the arrays of one `update`."""
    return batch_of_columns(
        column_of(scores, "scores"),
        None if labels is None else column_of(labels, "labels"),
        *group_columns(groups),
        None if weights is None else column_of(weights, "weights"),
        None if repeats is None else column_of(repeats, "repeats"),
        missing_group,
    )


def batch_of_columns(
    score: Column,
    label: Column | None,
    group: Sequence[Column],
    called: Sequence[str],
    weight: Column | None,
    repeat: Column | None = None,
    missing_group: Name = RAISE,
) -> Batch:
    """Clean columns that belong together; several group columns make tuples, and messages name them as `called`."""
    labels, unlabelled_code = (None, False) if label is None else as_labels(*label)
    codes, names, absent = grouped(group, called, missing_group)
    weights = None if weight is None else as_weights(*weight, "weights")
    repeats = None if repeat is None else as_weights(*repeat, "repeats")
    scores = as_scores(*score)
    given = {"scores": scores, "labels": labels, "groups": codes, "weights": weights, "repeats": repeats}
    check_one_length({name: len(array) for name, array in given.items() if array is not None})
    _warn_of_merged(score.values)
    if weights is not None:
        _warn_of_rounded(weights)
    return Batch(scores, labels, codes, names, weights, unlabelled_code, repeats, absent)


def column_of(data: object, name: str) -> Column:
    """A column of any kind: values, which of them are there, and names where the values are codes."""
    if isinstance(data, np.ndarray):
        column = _numpy_column(data)
    elif type(data).__module__.split(".")[0] == "pandas":
        column = _pandas_column(data, name)
    elif isinstance(data, (list, tuple)):
        column = _list_column(data)
    elif is_arrow(data):
        column = read_column(data, name)
    elif isinstance(data, (str, bytes)) or data is None:
        raise refusal("not_an_array", name, value=data)
    else:
        column = _numpy_column(_as_array(data, name))
    shape = column.values.shape
    if len(shape) != 1:
        raise refusal("shape", name, value=shape)
    return column


def _as_array(data: object, name: str) -> Values:
    try:
        return np.asarray(data)
    except (TypeError, ValueError, RuntimeError) as error:
        raise refusal("unreadable_array", name, value=data, limit=error) from error


def _numpy_column(data: Values) -> Column:
    valid = None
    if isinstance(data, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(data)
        valid = ~mask if mask.any() else None
        data = data.data
    return Column(np.asarray(data), valid, None)


def _list_column(data: Sequence[object]) -> Column:
    """A list becomes an array of numbers where it holds numbers, else an array of objects, one per row."""
    kinds = set(map(type, data))
    mixed = bool in kinds and len(kinds) > 1  # numpy would make True a 1
    others = kinds & {str, bytes, tuple, type(None), np.str_}
    if not mixed and not others and not any(kind.__name__ in ("NAType", "NaTType") for kind in kinds):
        try:
            values = np.asarray(data) if data else np.empty(0)
        except (ValueError, OverflowError):  # rows of different length, or integers beyond 64 bits
            values = np.empty(0, object)
        if values.dtype != object and not (values.dtype.kind == "f" and _has_long_int(data, kinds)):
            return Column(values, None, None)
    objects = np.empty(len(data), object)
    objects[:] = data if not kinds & {tuple, list, np.ndarray} else [*data]
    return Column(objects, None, None)


def _has_long_int(data: Sequence[object], kinds: set[type]) -> bool:
    """Whether a list holds an int that numpy rounds when it makes a float of it."""
    if not any(issubclass(kind, (int, np.integer)) for kind in kinds):
        return False
    return any(isinstance(v, (int, np.integer)) and not -(2**53) <= v <= 2**53 for v in data)


def _pandas_column(data: Any, name: str) -> Column:
    pandas = sys.modules["pandas"]
    if isinstance(data, pandas.DataFrame):
        if data.shape[1] == 1:
            return _pandas_column(data.iloc[:, 0], name)
        raise refusal("frame_shape", name, value=data.shape)
    dtype = data.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        values = getattr(data, "cat", data)
        names = tuple(values.categories.tolist())
        return Column(np.asarray(values.codes), None, names)
    if isinstance(dtype, np.dtype):
        return _numpy_column(data.to_numpy())
    kind = getattr(dtype, "kind", "O")
    if kind in "iufb":  # nullable numbers
        absent = np.asarray(data.isna())
        if not absent.any():
            return _numpy_column(data.to_numpy(dtype=_plain_dtype(dtype)))
        return Column(data.to_numpy(dtype=_plain_dtype(dtype), na_value=0), ~absent, None)
    return _pandas_strings(data, name)


def _pandas_strings(data: Any, name: str) -> Column:
    """Codes, -1 for a null, of strings and the like, whatever holds them."""
    pandas = sys.modules["pandas"]
    if isinstance(data.dtype, pandas.StringDtype) or getattr(data.dtype, "kind", "O") == "U":
        if data.dtype.storage == "pyarrow" and is_arrow(data):
            codes, valid, names = read_column(data, name)
            return Column(codes if valid is None else np.where(valid, codes, -1), None, names or ())
        if (numbered := number_strings(np.asarray(data, object))) is not None:
            return Column(numbered[0], None, numbered[1])
    codes, unique = pandas.factorize(data)
    return Column(np.asarray(codes), None, tuple(unique.tolist()))


def _plain_dtype(dtype: object) -> DType:
    plain = getattr(dtype, "numpy_dtype", None)
    return plain if isinstance(plain, np.dtype) and plain.kind in "iufb" else np.dtype(np.float64)


# -------------------------------------------------------------------------------------------------------------- scores


def as_scores(values: Values, valid: Mask, names: tuple[object, ...] | None, argument: str = "scores") -> Values:
    """Float32 or float64; a null becomes NaN, which the core rejects or skips."""
    if names is not None:
        raise refusal("categories", argument)
    if values.dtype == object:
        values = _numbers(values, argument)
    kind = values.dtype.kind
    if kind not in "fiu":
        what = {"b": "bool", "c": "complex", "U": "strings", "S": "strings", "M": "dates", "m": "time spans"}
        raise refusal("not_numbers", argument, value=Words(what.get(kind, str(values.dtype))))
    if values.dtype not in (np.float32, np.float64):
        values = _narrowed(values, valid, argument)
    values = native(values)
    if valid is not None:
        values = np.where(valid, values, np.nan).astype(values.dtype)
    return values


def _warn_of_merged(values: Values) -> None:
    """Warn if different whole numbers become one float64."""
    if values.dtype == object:
        values = np.array([v for v in values.tolist() if isinstance(v, (int, np.integer))], object)
    elif values.dtype.kind not in "iu" or values.dtype.itemsize < 8:
        return
    large = np.unique(values[(values >= 2**53) | (values <= -(2**53))])
    kept = len(np.unique(large.astype(np.float64)))
    if kept < len(large):
        warn(refusal("merged_integers", "scores", value=(len(large), kept)))


def _warn_of_rounded(weights: Values) -> None:
    """Warn where weights are small beside the unit that they are counted in, such as shares of one in many rows."""
    if weights.dtype.kind != "f" or not weights.size or weights.min() >= SMALL_WEIGHT:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        lost = np.abs(np.rint(weights * WEIGHT_UNIT) / WEIGHT_UNIT - weights)
        much = lost.sum() > MOST_LOST * weights.sum()  # not with NaN or infinity, which the core rejects
    if much:
        warn(refusal("rounded_weights", "weights"))


def _narrowed(values: Values, valid: Mask, argument: str) -> Values:
    """Numbers of other kinds as float32 or float64; a finite one that is too large for it is rejected."""
    with np.errstate(over="ignore"):
        out = values.astype(np.float32 if values.dtype == np.float16 else np.float64)
    beyond = np.isinf(out) & np.isfinite(values) & (True if valid is None else valid)
    if beyond.any():
        row = int(beyond.argmax())
        raise refusal("too_large", argument, row, values[row])
    return out


def as_weights(values: Values, valid: Mask, names: tuple[object, ...] | None, argument: str) -> Values:
    """Float64, or whole numbers, which are exact also beyond 2**53; a null becomes NaN, which the core rejects."""
    if names is not None:
        raise refusal("categories", argument)
    if values.dtype == object or (values.dtype.kind == "f" and values.dtype.itemsize > 8):
        whole = _whole_numbers(values.tolist())
        values = whole if whole is not None else _numbers(values, argument)
    if values.dtype.kind not in "fiu":
        raise refusal("not_numbers", argument, value=Words(values.dtype))
    if values.dtype.kind != "f" and valid is None:
        return native(values)
    values = values.astype(np.float64, copy=False)
    return values if valid is None else np.where(valid, values, np.nan)


def _whole_numbers(values: list[Any]) -> Ints | None:
    """Whole numbers of any kind as they are; None if one is not whole, or none at all, or too large."""
    if not all(_is_number(value) for value in values):
        return None
    try:
        return np.array([int(value) for value in values], np.int64) if all(v % 1 == 0 for v in values) else None
    except (OverflowError, ArithmeticError):  # beyond 64 bits, or infinite
        return None


def _is_number(value: object) -> bool:
    no_number = isinstance(value, (bool, np.bool_, str, bytes, complex)) or not hasattr(value, "__float__")
    return not no_number and not is_missing(value)


def _numbers(values: Values, name: str) -> Floats:
    """An object array of numbers -> float64, with NaN for what is missing."""
    private = values.tolist()
    out = np.empty(len(private))
    for row, value in enumerate(private):
        if is_missing(value):
            out[row] = np.nan
        elif not _is_number(value):
            raise refusal("not_numbers", name, row, value)
        else:
            try:
                out[row] = as_float(value)
            except OverflowError:
                raise refusal("too_large", name, row, value) from None
    return out


# -------------------------------------------------------------------------------------------------------------- labels


def as_labels(values: Values, valid: Mask, names: tuple[object, ...] | None) -> tuple[Values, bool]:
    """Bools or integers, and whether 2 stands for unlabelled."""
    if names is not None:
        values, valid = _named_labels(values, valid, names)
    if values.dtype == object:
        values, valid = _object_labels(values)
    kind = values.dtype.kind
    if kind not in "biuf":
        words = {"U": "strings", "S": "strings", "c": "complex numbers"}.get(kind, str(values.dtype))
        raise refusal("bad_label_type", "labels", value=Words(words))
    if not len(values):
        return np.zeros(0, np.uint8), False
    if kind == "f" or valid is not None:
        private = np.array(values)  # one read; the checks below are on our own copy
        there = np.ones(len(private), bool) if valid is None else valid
        good = (private == 0) | (private == 1) | ~there
        if not good.all():
            row = int((~good).argmax())
            value = private[row].item()
            if value != value:
                raise refusal("nan_label", "labels", row)
            raise refusal("bad_label", "labels", row, value)
        return np.where(there, private == 1, UNLABELLED).astype(np.uint8), valid is not None
    return native(values), False


def _named_labels(codes: Values, valid: Mask, names: tuple[object, ...]) -> tuple[Values, Mask]:
    """Labels in a categorical or dictionary column, where the categories are 0 and 1."""
    if any(isinstance(name, str) for name in names):
        raise refusal("bad_label_type", "labels", value=Words("strings"))
    private = np.array(codes, np.int64)
    there = (private >= 0) & (private < len(names))
    if valid is not None:
        there &= valid
    table = np.empty(len(names) + 1, object)
    table[:-1] = names
    return _object_labels(table[np.where(there, private, -1)])


def _object_labels(values: Values) -> tuple[Values, Mask]:
    private = values.tolist()
    out, valid = np.zeros(len(private)), np.ones(len(private), bool)
    for row, value in enumerate(private):
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            valid[row] = False
        elif isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
            if value == value and value not in (0, 1):
                raise refusal("bad_label", "labels", row, value)
            out[row] = value
        else:
            raise refusal("bad_label_type", "labels", row, value)
    return out, None if valid.all() else valid


# -------------------------------------------------------------------------------------------------------------- groups


def group_columns(groups: object) -> tuple[list[Column], list[str]]:
    """What was passed as `groups`: one column, or those of a frame or a list; and what messages call them."""
    found = columns_of(groups, "groups")
    if found is None:
        return [group_column(groups, "groups")], ["groups"]
    labels = found.labels("groups")
    columns = [group_column(column, label) for column, label in zip(found.columns, labels, strict=True)]
    check_one_length({label: len(column.values) for label, column in zip(labels, columns, strict=True)})
    return columns, labels


def group_column(data: object, name: str) -> Column:
    """One column of groups: as `column_of` has it, but strings in a list come as codes at once."""
    numbered = number_strings(data) if isinstance(data, (list, tuple)) else None
    return column_of(data, name) if numbered is None else Column(numbered[0], None, numbered[1])


def grouped(
    columns: Sequence[Column], called: Sequence[str], missing_group: Name
) -> tuple[Values, tuple[Name, ...] | None, Mask]:
    """Codes and names of the rows' groups, and which rows are skipped because they have none."""
    if missing_group == RAISE:
        return (*crossed(columns, called), None)
    filled = []
    for column, label in zip(columns, called, strict=True):
        try:
            filled.append(without_missing(column))
        except (TypeError, ValueError) as error:
            raise error if len(columns) == 1 else about(error, label) from None
    absent = np.logical_or.reduce([lacking for _, lacking in filled])
    codes, names = crossed([column for column, _ in filled], called)
    if names is None or not absent.any():
        return codes, names, None
    skip = missing_group == SKIP
    codes = np.where(absent, len(names), codes.astype(np.int64))
    return codes, (*names, "" if skip else missing_group), absent if skip else None


def crossed(columns: Sequence[Column], called: Sequence[str]) -> tuple[Values, tuple[Name, ...] | None]:
    """One column of groups as `as_groups` has it; several as one of tuples."""
    if len(columns) == 1:
        return as_groups(*columns[0])
    read = []
    for column, label in zip(columns, called, strict=True):
        try:
            read.append(named(*column))
        except (TypeError, ValueError) as error:
            raise about(error, label) from None
    return cross(read)
