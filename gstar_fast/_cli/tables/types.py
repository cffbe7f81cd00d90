"""Types for the columns of several tables that are written as one: wide enough for all values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING

from gstar_fast._base.text import some
from gstar_fast._cli.errors import CliError
from gstar_fast._cli.tables.reader import Column, Columns

if TYPE_CHECKING:
    import pyarrow as pa

CURE = "give the column one type where the tables are made, or write CSV, which has no types"


def same_columns(first: Iterable[str], columns: Iterable[str]) -> None:
    """Raise if a table does not have the columns of the first one, in any order."""
    lacking, new = [n for n in first if n not in columns], [n for n in columns if n not in first]
    if lacking or new:
        said = [f"lacks {some(lacking)}"] * bool(lacking) + [f"has {some(new)} besides"] * bool(new)
        raise CliError(f"its columns are not those of the first table: it {' and '.join(said)}")


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of the values: of a dictionary that of its entries, of views of text plain text."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.string() if str(kind) == "string_view" else kind


def _family(kind: pa.DataType) -> str:
    """Types of one family have a common type: all numbers, all text, all decimals, all timestamps."""
    from pyarrow import types

    if types.is_nested(kind):
        return str(kind)
    number = types.is_integer(kind) or types.is_floating(kind)
    return "number" if number else re.sub(r"large_|\d.*|\W.*", "", str(kind))


def _wider(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The narrowest type for the values of both, None if there is none.

    Whether every value fits (a large integer may not be a float) is checked when values are cast.
    """
    import pyarrow as pa

    if a == b:
        return a
    a, b = _plain(a), _plain(b)
    if _family(a) != _family(b) and not pa.types.is_null(a) and not pa.types.is_null(b):
        return None
    try:
        schemas = [pa.schema([("column", kind)]) for kind in (a, b)]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return None


class CommonTypes:
    """The type of each column that holds the values of all tables."""

    def __init__(self) -> None:
        self._types: dict[str, pa.DataType] = {}
        self._tables: dict[str, dict[pa.DataType, str]] = {}  # of a column and type, the first table

    def add(self, table: str, columns: Columns) -> None:
        """Widen the types for one more table."""
        kinds = {name: column.type for name, column in columns.items()}
        same_columns(self._types or kinds, kinds)
        for name, kind in kinds.items():
            tables = self._tables.setdefault(name, {})
            other = next((one for one in tables if _wider(one, kind) is None), None)
            if other is not None:
                raise CliError(f"column {name!r} is {kind}, and {tables[other]} has {other}: no type fits both; {CURE}")
            tables.setdefault(kind, table)
            self._types[name] = reduce(_wider, sorted(tables, key=str))  # the order of the tables must not matter

    def widened(self, columns: Columns) -> dict[str, Column]:
        """The columns of one of the tables in the common types; raises if a value does not fit."""
        import pyarrow as pa

        out = dict(columns)
        for name, wide in self._types.items():
            array = columns[name]
            if array.type == wide:
                continue
            try:
                out[name] = array.cast(_plain(array.type)).cast(wide)
            except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
                tables = self._tables[name]
                other = next((kind for kind in tables if _wider(kind, array.type) != array.type), next(iter(tables)))
                raise CliError(
                    f"column {name!r} is {array.type}, and {tables[other]} has {other}: a value does not fit "
                    f"in {wide}, their common type ({' '.join(str(error).split())[:120]}); {CURE}"
                ) from None
        return out
