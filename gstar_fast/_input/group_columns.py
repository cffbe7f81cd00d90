"""Several columns of groups, in every form people have them: which objects are several columns, and what these are.

A frame, a 2-D array and a list of columns each hold several values for a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gstar_fast._base.arrays import Bools, Values
from gstar_fast._base.factorize import unique_numbers
from gstar_fast._base.names import LONGEST_TUPLE, lacks_a_part
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._input.arrow import Column, is_arrow


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


def _columns_of_list(data: Sequence[Any], argument: str) -> Columns:
    if any(map(_is_column, data)):
        for place, column in enumerate(data):
            if not isinstance(column, (list, tuple)) and not _is_column(column):
                raise refusal("column_entry", argument, place, column)
        names = [getattr(column, "name", None) for column in data]
        return Columns(list(data), names if all(isinstance(name, str) for name in names) else None)
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
    """Refuse columns that differ in length, naming all of them."""
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
