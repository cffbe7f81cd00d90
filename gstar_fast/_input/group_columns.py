"""Columns of groups, in every form people have them: which objects are several columns, and the codes of their names.

A frame, a 2-D array and a list of columns each hold several values for a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from gstar_fast._base.arrays import Bools, Ints, Values
from gstar_fast._base.names import LONGEST_TUPLE, Name, Scalar, SortKey, as_tuple, clean_name, lacks_a_part, sort_key
from gstar_fast._base.refusals.refusal import Words, refusal
from gstar_fast._input.arrow import Column, is_arrow
from gstar_fast._input.texts import Texts, number_strings


class Columns(NamedTuple):
    """Columns of one table, with their names where they have any."""

    columns: list[object]
    names: list[object] | None

    def labels(self, argument: str) -> list[str]:
        """What messages call each of them."""
        names = range(len(self.columns)) if self.names is None else self.names
        return [f"column {name!r} of {argument}" for name in names]


def columns_of(data: object, argument: str) -> Columns | None:
    """The columns of a frame, a 2-D or structured array, or a list of columns; None for a single column.

    A list whose entries are 1-D arrays or series is a list of columns. In a list of lists each list is a row, as NumPy
    reads it. A list of anything else, tuples among it, is a single column.
    """
    if isinstance(data, Mapping):
        raise refusal("mapping", argument, value=data)
    if (names := column_names(data)) is not None:
        found = Columns([column_at(data, place) for place in range(len(names))], names)
    elif isinstance(data, np.ndarray) and data.dtype.names is not None and data.ndim == 1:
        found = Columns([data[name] for name in data.dtype.names], list(data.dtype.names))
    elif isinstance(data, np.ndarray) and data.ndim == 2:
        found = Columns(list(data.T), None)
    elif isinstance(data, (list, tuple)) and data and (isinstance(data[0], list) or _is_column(data[0])):
        found = _columns_of_list(data, argument)
    elif hasattr(data, "collect"):
        raise refusal("lazy_frame", argument, value=data)
    else:
        return None
    if not found.columns:
        raise refusal("no_columns", argument)
    if len(found.columns) > LONGEST_TUPLE:
        raise refusal("too_many_columns", argument, value=len(found.columns), limit=LONGEST_TUPLE)
    return found


def _columns_of_list(data: Sequence[Iterable[object]], argument: str) -> Columns:
    if any(map(_is_column, data)):
        for place, column in enumerate(data):
            if not isinstance(column, (list, tuple)) and not _is_column(column):
                raise refusal("column_entry", argument, place, column)
        names = [getattr(column, "name", None) for column in data]
        return Columns([*data], names if all(isinstance(name, str) for name in names) else None)
    try:
        return Columns([list(column) for column in zip(*data, strict=True)], None)
    except (TypeError, ValueError):
        raise refusal("ragged_lists", argument) from None


def _is_column(value: object) -> bool:
    return getattr(value, "ndim", None) == 1 or (is_arrow(value) and column_names(value) is None)


def without_missing(column: Column) -> tuple[Column, Bools]:
    """A column of groups with placeholders for missing values, and which rows are missing.

    Floats must be whole numbers: pandas stores integers with missing values as floats.
    """
    values, valid, names = column
    lacking: Bools = np.zeros(len(values), bool) if valid is None else ~valid
    if names is not None:
        codes = values.astype(np.int64)
        absent = np.array([*map(lacks_a_part, names), True])  # the last is for codes of missing values
        lacking |= absent[np.where((codes >= 0) & (codes < len(names)), codes, -1)]
        if not lacking.any():
            return Column(codes, None, names), lacking
        return Column(np.where(lacking, len(names), codes), None, (*names, "")), lacking
    values = np.array(values)  # one read of the caller's memory
    if values.dtype == object:
        lacking |= np.fromiter(map(lacks_a_part, values.tolist()), bool, len(values))
    if values.dtype.kind == "f":
        values, lacking = _whole_numbers(values, lacking)
    if not lacking.any():
        return Column(values, None, None), lacking
    if values.dtype.kind not in "biu":
        values = values.astype(object)
        values[lacking] = ""
        return Column(values, None, None), lacking
    there = values[~lacking]
    numbers, codes = unique_numbers(there.astype(np.int64) if there.dtype.kind == "b" else there)
    known = [bool(number) for number in numbers] if there.dtype.kind == "b" else list(numbers)
    filled = np.full(len(values), len(known))
    filled[~lacking] = codes
    return Column(filled, None, (*known, "")), lacking


def _whole_numbers(values: Values, lacking: Bools) -> tuple[Values, Bools]:
    lacking = lacking | np.isnan(values)
    there = np.where(lacking, 0, values)
    wrong = (there != np.floor(there)) | (np.abs(there) > 2.0**53)
    if wrong.any():
        row = int(wrong.argmax())
        raise refusal("bad_group_type", "groups", row, values[row].item())
    return there.astype(np.int64), lacking


def check_one_length(lengths: Mapping[str, int]) -> None:
    """Raise for columns that differ in length, naming all of them."""
    if len(set(lengths.values())) > 1:
        raise refusal("lengths", next(iter(lengths)), value=dict(lengths))


# ------------------------------------------------------------------------------------------------------------- a table


def column_names(table: object) -> list[object] | None:
    """Names of the columns of a pandas, polars or pyarrow table; None for anything else."""
    if hasattr(table, "iloc") and hasattr(table, "columns"):
        return list(table.columns)
    if hasattr(table, "get_column") and hasattr(table, "columns"):
        return list(table.columns)
    if hasattr(table, "column_names") and hasattr(table, "select"):
        return list(table.column_names)
    return None


def column_at(table: Any, place: int) -> object:
    """One column, in the form the table has it."""
    if hasattr(table, "iloc"):
        return table.iloc[:, place]
    if hasattr(table, "get_column"):
        return table.get_column(table.columns[place])
    if hasattr(table, "column_names"):
        return table.column(place)
    if hasattr(table, "tocsc"):
        return table[:, [place]].toarray().reshape(-1)
    return table[:, place]


# ------------------------------------------------------------------------------------------------ codes of names


def factorize(values: Values) -> tuple[Values, tuple[Name, ...]]:
    """Replace each value by the number of its name; names stand in the order of their first row.

    `values` is a 1-D array of strings or of Python values.
    """
    if values.dtype.kind == "U":
        return clean_codes(*_factorize_fixed_width(values))
    if values.dtype == object and (numbered := number_strings(values)) is not None:
        return clean_codes(*numbered)
    return _factorize_objects(values.tolist())  # the one read of the user's array


def _factorize_objects(values: list[object]) -> tuple[Values, tuple[Name, ...]]:
    if values and set(map(type, values)) == {int}:
        unique = dict.fromkeys(values)  # equal values are the same name, so C speed all the way
        index = dict(zip(unique, range(len(unique)), strict=True))
        return clean_codes(np.fromiter(map(index.__getitem__, values), np.int64, len(values)), tuple(unique))
    found: dict[SortKey, int] = {}
    names: list[Name] = []
    codes = np.empty(len(values), np.int64)
    for row, value in enumerate(values):
        name = clean_name(value, row)
        code = found.setdefault(sort_key(name), len(names))
        if code == len(names):
            names.append(name)
        codes[row] = code
    return codes, tuple(names)


def _factorize_fixed_width(values: Values) -> tuple[Values, tuple[str, ...]]:
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    if not len(values) or not values.dtype.itemsize:
        return np.zeros(len(values), np.int64), ("",) * bool(len(values))
    texts = Texts()
    codes = texts.number_records(values)
    return codes, tuple(np.frombuffer(b"".join(texts.since(0)), values.dtype).tolist())


def clean_codes(codes: Values, names: Sequence[object]) -> tuple[Values, tuple[Name, ...]]:
    """Categories as names; one that is missing or impossible raises only where a row has it."""
    if all(type(name) is str and name.isascii() for name in names):
        return codes, cast("tuple[str, ...]", tuple(names))
    clean: list[Name] = []
    for code, name in enumerate(names):
        try:
            clean.append(clean_name(name))
        except (TypeError, ValueError):
            private = np.array(codes)
            rows = np.flatnonzero(private == code)
            if len(rows):
                clean_name(name, int(rows[0]))
            codes = private
            clean.append("")  # no row has it
    return codes, tuple(clean)


def unique_numbers(values: Values) -> tuple[Values, Ints]:
    """Distinct whole numbers, ascending, and the place of each row's number among them."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, -1)
    if high - low >= max(len(values), 2**16):
        present, places = np.unique(values, return_inverse=True)
        return present, places.astype(np.int64)
    steps = values - values.dtype.type(low) if values.dtype.kind == "u" else values.astype(np.int64) - low
    there = np.zeros(high - low + 1, bool)  # no longer than the column, so cheaper than sorting it
    there[steps] = True
    places = np.cumsum(there) - 1
    return np.flatnonzero(there).astype(object) + low, places[steps]


def cross(columns: Sequence[tuple[Values, tuple[Name, ...]]]) -> tuple[Ints, tuple[Name, ...]]:
    """Several columns of groups -> one of tuples: codes, and the tuples that occur."""
    codes = np.zeros(len(columns[0][0]), np.int64)
    names: list[tuple[Scalar, ...]] = [()]
    for column, parts in columns:
        present, codes = unique_numbers(codes * max(len(parts), 1) + column)
        names = [(*names[p // len(parts)], *as_tuple(parts[p % len(parts)])) for p in present.tolist()]
    return codes, tuple(clean_name(name) for name in names)


def as_groups(
    values: Values, valid: Bools | None, names: tuple[object, ...] | None
) -> tuple[Values, tuple[Name, ...] | None]:
    """Integer codes, and the names they index; names None says the integers are the names."""
    if valid is not None and not valid.all():
        raise refusal("missing_group", "groups", int((~valid).argmax()))
    if names is not None:
        return clean_codes(native(values), names)
    kind = values.dtype.kind
    if kind == "b":
        return values.view(np.uint8), (False, True)
    if kind in "iu":
        return native(values), None
    if kind in "USO" or not len(values):
        return factorize(values)
    if kind == "f":
        missing = np.isnan(values)  # pandas makes a column of floats of whole numbers where some are missing
        row = int(missing.argmax())
        if missing[row]:
            raise refusal("missing_group", "groups", row, Words("float"))
        raise refusal("bad_group_type", "groups", row, values[row].item())
    raise refusal("bad_group_type", "groups", 0, Words(values.dtype))


def named(values: Values, valid: Bools | None, names: tuple[object, ...] | None) -> tuple[Values, tuple[Name, ...]]:
    """Codes with names, also where the integers are the names, for crossing with other columns."""
    codes, clean = as_groups(values, valid, names)
    if clean is None:
        unique, codes = unique_numbers(codes)
        return codes, tuple(clean_name(name) for name in unique.tolist())
    private = np.array(codes, np.int64)
    wrong = (private < 0) | (private >= len(clean))
    if wrong.any():
        raise refusal("missing_group", "groups", int(wrong.argmax()))
    return private, clean


def native(values: Values) -> Values:
    """The same numbers in the byte order of the machine."""
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
