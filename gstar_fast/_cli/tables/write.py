"""Tables that `apply` writes, block by block: CSV, Parquet and Arrow."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, BinaryIO, Protocol

import numpy as np

from gstar_fast._cli.errors import CliError, extra_missing
from gstar_fast._cli.tables import inputs
from gstar_fast._cli.tables.reader import Column, Columns
from gstar_fast._cli.tables.types import same_columns

if TYPE_CHECKING:
    import pyarrow as pa


class Writer(Protocol):
    """A table that is written; the first block gives its columns and their types."""

    def write(self, columns: Columns, rows: int) -> None:
        """Append rows; columns are arrays of NumPy or Arrow, or lists of text."""
        ...

    def close(self) -> None:
        """Write the end of the table; the file stays open."""
        ...


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


def writer_for(kind: str, compression: str | None, out: Tap, *, delimiter: str | None = None) -> Writer:
    """A writer of this format to an open file."""
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
        self._compressed = _compressing(out, compression)
        self._out = out if self._compressed is None else self._compressed
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
        if self._compressed is not None:
            self._compressed.close()


def _compressing(out: Tap, compression: str | None) -> bz2.BZ2File | gzip.GzipFile | pa.NativeFile | None:
    """A file that compresses what is written to it."""
    if compression is None:
        return None
    if compression == "bz2":
        return bz2.BZ2File(out, "wb")
    if compression == "gzip":
        return gzip.GzipFile(fileobj=out, mode="wb", mtime=0)
    if not inputs.has_pyarrow():
        raise extra_missing(f"writing {compression}", "pyarrow")
    import pyarrow as pa

    return pa.CompressedOutputStream(pa.PythonFile(out, "w"), compression)


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
            self._schema = pa.schema([(name, array.type) for name, array in arrays.items()])
            self._writer = self._open()
        same_columns(self._schema.names, arrays)
        if rows:
            ordered = [arrays[name] for name in self._schema.names]
            self._writer.write_batch(pa.record_batch(ordered, schema=self._schema))

    def _open(self) -> pa.RecordBatchWriter:
        if self._kind == "parquet":
            import pyarrow.parquet as pq

            return pq.ParquetWriter(self._out, self._schema)
        import pyarrow.ipc as ipc

        return ipc.new_file(self._out, self._schema)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
