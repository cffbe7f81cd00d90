"""Tables that `apply` writes, block by block: CSV, Parquet and Arrow, and the types of several written as one."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from gstar_fast._base.text import some
from gstar_fast._cli.errors import CliError, extra_missing
from gstar_fast._cli.tables import inputs
from gstar_fast._cli.tables.csv_file import through
from gstar_fast._cli.tables.inputs import Column, Columns

if TYPE_CHECKING:
    import pyarrow as pa


CURE = "give the column one type where the tables are made, or write CSV, which has no types"


class Tap:
    """A file that can be shut, so that closing a writer after an error does not complete its table."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._written = 0
        self.shut = False

    def write(self, data: bytes | memoryview) -> int:
        """Write bytes, or drop them once shut."""
        size = memoryview(data).nbytes
        if not self.shut:
            self._file.write(data)
        self._written += size
        return size

    def tell(self) -> int:
        """Bytes so far; a pipe does not know."""
        return self._written

    def flush(self) -> None:
        """Flush the file."""
        if not self.shut:
            self._file.flush()

    def close(self) -> None:
        """Do nothing: the caller closes the file."""


def writer_for(
    kind: str, compression: str | None, out: Tap, *, delimiter: str | None = None
) -> _CsvWriter | _ArrowWriter:
    """A writer of this format to an open file; the first block gives the columns and their types."""
    if kind in ("csv", "tsv"):
        return _CsvWriter(out, compression, delimiter or ("\t" if kind == "tsv" else ","))
    if not inputs.has_pyarrow():
        raise extra_missing(f"writing {kind}", "pyarrow")
    return _ArrowWriter(kind, out)


def table_bytes(kind: str, columns: Columns, rows: int) -> bytes:
    """A small table as a file of this format."""
    out = io.BytesIO()
    writer = writer_for(kind, None, Tap(out))
    writer.write(columns, rows)
    writer.close()
    return out.getvalue()


class _CsvWriter:
    """CSV with quotes only where they are needed."""

    def __init__(self, out: Tap, compression: str | None, delimiter: str) -> None:
        self._out = through(compression, cast("BinaryIO", out), "wb", "writing")
        self._compressed = compression is not None
        self._delimiter = delimiter
        self._names: list[str] = []

    def write(self, columns: Columns, rows: int) -> None:
        if not self._names:
            self._names = list(columns)
            self._write_rows([self._names])
        same_columns(self._names, columns)
        ordered = [columns[name] for name in self._names]
        if any(hasattr(column, "type") for column in ordered):
            self._write_arrow(ordered, rows)
        else:
            self._write_rows(zip(*(c.tolist() if isinstance(c, np.ndarray) else c for c in ordered), strict=True))

    def _write_rows(self, rows: Iterable[Iterable[object]]) -> None:
        text = io.StringIO()
        csv.writer(text, delimiter=self._delimiter, lineterminator="\n").writerows(rows)
        self._out.write(text.getvalue().encode())

    def _write_arrow(self, columns: list[Column], rows: int) -> None:
        import pyarrow as pa
        import pyarrow.csv as pa_csv

        batch = pa.record_batch([_plain(column) for column in columns], [str(i) for i in range(len(columns))])
        for style in ("none", "needed"):  # pyarrow's "needed" quotes every text, so it is the second choice
            out = io.BytesIO()
            try:
                options = pa_csv.WriteOptions(include_header=False, delimiter=self._delimiter, quoting_style=style)
                pa_csv.write_csv(batch, out, options)
                break
            except pa.ArrowInvalid as error:
                if style == "needed":
                    raise CliError(f"cannot be written as CSV: {error}") from None
            except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
                raise CliError(f"cannot be written as CSV: {error}; write Parquet or Arrow") from None
        if rows:
            self._out.write(out.getvalue())

    def close(self) -> None:
        if self._compressed:
            self._out.close()


def _arrow(column: Column) -> pa.Array:
    import pyarrow as pa

    return column if hasattr(column, "type") else pa.array(column)


def _plain(column: Column) -> pa.Array:
    """An Arrow array of the values, also of a dictionary."""
    array = _arrow(column)
    return array.cast(array.type.value_type) if hasattr(array, "dictionary") else array


class _ArrowWriter:
    """A Parquet or an Arrow file."""

    def __init__(self, kind: str, out: Tap) -> None:
        self._kind = kind
        self._out = out
        self._schema: pa.Schema = None
        self._writer: pa.RecordBatchWriter = None

    def write(self, columns: Columns, rows: int) -> None:
        import pyarrow as pa

        plain = _arrow if self._kind == "parquet" else _plain  # Arrow files have one dictionary for a column at most
        arrays = {name: plain(column) for name, column in columns.items()}
        if self._writer is None:
            import pyarrow.ipc as ipc
            import pyarrow.parquet as pq

            self._schema = pa.schema([(name, array.type) for name, array in arrays.items()])
            self._writer = (pq.ParquetWriter if self._kind == "parquet" else ipc.new_file)(self._out, self._schema)
        same_columns(self._schema.names, arrays)
        if rows:
            ordered = [arrays[name] for name in self._schema.names]
            self._writer.write_batch(pa.record_batch(ordered, schema=self._schema))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def same_columns(first: Iterable[str], columns: Iterable[str]) -> None:
    """Raise if a table does not have the columns of the first one, in any order."""
    lacking, new = [n for n in first if n not in columns], [n for n in columns if n not in first]
    if lacking or new:
        said = [f"lacks {some(lacking)}"] * bool(lacking) + [f"has {some(new)} besides"] * bool(new)
        raise CliError(f"its columns are not those of the first table: it {' and '.join(said)}")


def _plain_type(kind: pa.DataType) -> pa.DataType:
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
    a, b = _plain_type(a), _plain_type(b)
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
        self._tables: dict[str, dict[pa.DataType, str]] = {}  # of a column and type, the first table

    def add(self, table: str, columns: Columns) -> None:
        """Widen the types for one more table."""
        same_columns(self._tables or columns, columns)
        for name, column in columns.items():
            kind, tables = column.type, self._tables.setdefault(name, {})
            other = next((one for one in tables if _wider(one, kind) is None), None)
            if other is not None:
                raise CliError(f"column {name!r} is {kind}, and {tables[other]} has {other}: no type fits both; {CURE}")
            tables.setdefault(kind, table)

    def widened(self, columns: Columns) -> dict[str, Column]:
        """The columns of one of the tables in the common types; raises if a value does not fit."""
        import pyarrow as pa

        out = dict(columns)
        for name, tables in self._tables.items():
            array, wide = columns[name], reduce(_wider, sorted(tables, key=str))  # whatever the order of the tables
            if array.type == wide:
                continue
            try:
                out[name] = array.cast(_plain_type(array.type)).cast(wide)
            except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
                other = next((kind for kind in tables if _wider(kind, array.type) != array.type), next(iter(tables)))
                raise CliError(
                    f"column {name!r} is {array.type}, and {tables[other]} has {other}: a value does not fit "
                    f"in {wide}, their common type ({' '.join(str(error).split())[:120]}); {CURE}"
                ) from None
        return out
