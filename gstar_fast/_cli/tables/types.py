"""Types for the columns of several tables that are written as one: wide enough for all values, or refused."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import starmap
from typing import TYPE_CHECKING

from gstar_fast._base.text import some
from gstar_fast._cli.errors import CliError
from gstar_fast._cli.tables.columns import is_arrow
from gstar_fast._cli.tables.inputs import Column, Columns

if TYPE_CHECKING:
    import pyarrow as pa

CURE = "give the column one type where the tables are made, or write CSV, which has no types"


def same_columns(first: Iterable[str], columns: Iterable[str]) -> None:
    """Refuse a table whose columns are not those of the first one, in whatever order."""
    lacking, new = [n for n in first if n not in columns], [n for n in columns if n not in first]
    if lacking or new:
        said = [f"lacks {some(lacking)}"] * bool(lacking) + [f"has {some(new)} besides"] * bool(new)
        raise CliError(f"its columns are not those of the first table: it {' and '.join(said)}")


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values: that of a dictionary's entries, and plain text for views of text."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.string() if str(kind) == "string_view" else kind


def wider(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The narrowest type of Arrow that both widen to, None where there is none.

    Numbers stay numbers, text stays text. A decimal is exact and a float is not, so neither becomes the other. Whether
    every value survives (a large integer as a float) only a safe cast can tell.
    """
    import pyarrow as pa

    if a == b:
        return a
    a, b = plain_type(a), plain_type(b)
    if pa.types.is_decimal(a) != pa.types.is_decimal(b):  # pyarrow counts one digit too few
        a, b = _as_decimal(a), _as_decimal(b)
    pairs = list(zip(_leaves(a), _leaves(b), strict=False))
    if any(starmap(lambda x, y: _differ_in_kind(x, y) or _differ_in_kind(y, x), pairs)):
        return None
    try:
        schemas = [pa.schema([("column", kind)]) for kind in (a, b)]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return None


def _as_decimal(kind: pa.DataType) -> pa.DataType:
    """Whole numbers as decimals of so many digits; all else as it is."""
    import pyarrow as pa

    if not pa.types.is_integer(kind):
        return kind
    return pa.decimal128(len(str(2 ** (kind.bit_width - pa.types.is_signed_integer(kind)))), 0)


def _leaves(kind: pa.DataType) -> list[pa.DataType]:
    """Types inside lists and structs."""
    import pyarrow as pa

    if not pa.types.is_nested(kind):
        return [kind]
    return [leaf for i in range(kind.num_fields) for leaf in _leaves(kind.field(i).type)]


def _differ_in_kind(a: pa.DataType, b: pa.DataType) -> bool:
    """Pairs that pyarrow would promote, and not without loss."""
    from pyarrow import types

    text = types.is_string(a) or types.is_large_string(a)
    data = types.is_binary(b) or types.is_large_binary(b) or types.is_fixed_size_binary(b)
    return bool((types.is_decimal(a) and types.is_floating(b)) or (text and data))


class CommonTypes:
    """The type of each column that holds what every table has in it."""

    def __init__(self) -> None:
        self._types: dict[str, pa.DataType] = {}
        self._tables: dict[str, dict[pa.DataType, str]] = {}  # of a column and type, the first table

    def add(self, table: str, columns: Columns) -> None:
        """Widen for one more table, of which `columns` has no rows."""
        kinds = {name: as_arrow(column).type for name, column in columns.items()}
        same_columns(self._types or kinds, kinds)
        for name, kind in kinds.items():
            tables = self._tables.setdefault(name, {})
            other = next((one for one in tables if wider(one, kind) is None), None)
            if other is not None:
                raise CliError(
                    f"column {name!r} is {kind}, and {tables[other]} has {other}: no type holds both; {CURE}"
                )
            tables.setdefault(kind, table)
            # decimals first, to take in each type of whole numbers by itself: the order of the tables must not matter
            self._types[name] = reduce(wider, sorted(tables, key=lambda one: ("decimal" not in str(one), str(one))))

    def widened(self, columns: Columns) -> dict[str, Column]:
        """Columns of one of the tables in the common types; a value that these cannot hold is an error."""
        import pyarrow as pa

        out = dict(columns)
        for name, wide in self._types.items():
            array = as_arrow(columns[name])
            if array.type == wide:
                continue
            try:
                out[name] = array.cast(plain_type(array.type)).cast(wide)
            except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
                tables = self._tables[name]
                other = next((kind for kind in tables if wider(kind, array.type) != array.type), next(iter(tables)))
                raise CliError(
                    f"column {name!r} is {array.type}, and {tables[other]} has {other}: {wide}, which is for both, "
                    f"cannot hold all of it ({' '.join(str(error).split())[:120]}); {CURE}"
                ) from None
        return out


def as_arrow(column: Column) -> pa.Array:
    """A column of NumPy or Arrow as one of Arrow."""
    import pyarrow as pa

    return column if is_arrow(column) else pa.array(column)
