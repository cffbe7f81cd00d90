"""Tables the command line writes, block by block: CSV, Parquet, Arrow and NPZ.

The first block settles the columns; Parquet and Arrow have one type for each from then on.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import re
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING, BinaryIO, Protocol, cast

import numpy as np

from gstar_fast._base.arrays import DType, Values
from gstar_fast._cli.errors import CliError, pyarrow_missing
from gstar_fast._cli.tables import inputs
from gstar_fast._cli.tables.columns import is_arrow
from gstar_fast._cli.tables.inputs import Column, Columns, Written
from gstar_fast._cli.tables.types import CURE, as_arrow, plain_type, same_columns

if TYPE_CHECKING:
    import pyarrow as pa


class Writer(Protocol):
    """A table in the making."""

    def write(self, columns: Columns, rows: int, written: Written | None = None) -> None:
        """Append rows; columns are arrays of NumPy or Arrow, or lists of text.

        `written` has all columns but the last as they stand in the CSV file they come from.
        """
        ...

    def close(self) -> None:
        """Write what is left. The file itself is for the caller to close."""
        ...


class Tap:
    """A file that can be shut: a writer that is given up must not end the table as if it were whole."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._written = 0
        self.shut = False

    def write(self, data: bytes | memoryview) -> int:
        """Pass bytes on, or drop them once shut."""
        size = memoryview(data).nbytes
        if not self.shut:
            self._file.write(data)
        self._written += size
        return size

    def tell(self) -> int:
        """Bytes so far; a pipe does not know."""
        return self._written

    def flush(self) -> None:
        """Pass on what the file holds back."""
        if not self.shut:
            self._file.flush()

    def close(self) -> None:
        """Nothing: whoever opened the file closes it."""


def writer_for(kind: str, compression: str | None, out: Tap, *, delimiter: str | None = None) -> Writer:
    """A writer of this format to an open file."""
    if kind in ("csv", "tsv"):
        return _CsvWriter(out, compression, delimiter or ("\t" if kind == "tsv" else ","))
    if kind == "npz":
        return _NpzWriter(out)
    if not inputs.has_pyarrow():
        raise pyarrow_missing(f"writing {kind}")
    return _ArrowWriter(kind, out)


# ------------------------------------------------------------------------------------------------------------------ CSV


class _CsvWriter:
    """CSV; what comes from a CSV file of the same form is copied to the character."""

    def __init__(self, out: Tap, compression: str | None, delimiter: str) -> None:
        self._compressed = _compressing(out, compression)
        self._out: Tap | bz2.BZ2File | gzip.GzipFile | pa.NativeFile = out
        if self._compressed is not None:
            self._out = self._compressed
        self._delimiter = delimiter
        self._names: list[str] | None = None
        self._end = "\n"

    def write(self, columns: Columns, rows: int, written: Written | None = None) -> None:
        names = list(columns)
        if written is not None and written.delimiter != self._delimiter:
            written = None
        if self._names is None:
            self._names = names
            if written is None:
                self._out.write(self._lines([names]))
            else:
                self._end = written.end
                self._out.write(_extended(written, [written.header], names[-1], names[-1:]))
        same_columns(self._names, columns)
        if not rows:
            return
        if written is not None and self._names == names:
            self._out.write(_extended(written, written.lines, names[-1], _values(columns[names[-1]])))
            return
        ordered = [columns[name] for name in self._names]
        if any(map(is_arrow, ordered)):
            self._write_arrow(ordered)
        else:
            self._out.write(self._lines(zip(*map(_values, ordered), strict=True)))

    def _lines(self, rows: Iterable[Sequence[object]]) -> bytes:
        text = io.StringIO()
        csv.writer(text, delimiter=self._delimiter, lineterminator=self._end).writerows(rows)
        return text.getvalue().encode()

    def _write_arrow(self, columns: list[Column]) -> None:
        import pyarrow as pa
        import pyarrow.csv as pa_csv

        plain = [_without_dictionary(column) for column in columns]
        batch = pa.record_batch(plain, [str(i) for i in range(len(plain))])
        for style in ("none", "needed"):  # quotes only where a value of this block needs them
            options = pa_csv.WriteOptions(include_header=False, delimiter=self._delimiter, quoting_style=style)
            out = io.BytesIO()
            try:
                pa_csv.write_csv(batch, out, options)
                break
            except pa.ArrowInvalid as error:
                if style == "needed":
                    raise CliError(f"cannot be written as CSV: {error}") from None
            except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
                raise CliError(f"cannot be written as CSV: {error}; write Parquet or Arrow") from None
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
        raise pyarrow_missing(f"writing {compression}")
    import pyarrow as pa

    return pa.CompressedOutputStream(pa.PythonFile(out, "w"), compression)


def _extended(written: Written, lines: list[str], name: str, values: Sequence[object]) -> bytes:
    """Lines as they are written, with one more value at the end of each and without an older one of that name."""
    sign = re.escape(written.delimiter)
    field = re.compile(rf'("(?:[^"]|"")*"|[^{sign}]*)(?:{sign}|\Z)')
    old = written.names.index(name) if name in written.names else None
    out = []
    for line, value in zip(lines, values, strict=True):
        body = line.rstrip("\r\n")
        end = line[len(body) :] or written.end
        if old is not None:
            mark = "\ufeff" if body.startswith("\ufeff") else ""
            fields = field.findall(body.removeprefix(mark))[: len(written.names)]
            body = mark + written.delimiter.join(fields[:old] + fields[old + 1 :])
        out.append(f"{body}{written.delimiter}{value}{end}")
    return "".join(out).encode()


def _values(column: Column) -> list[object]:
    """What csv writes in full and no longer than it must; of float32 Python knows no short form, NumPy does."""
    if isinstance(column, list):
        return column
    exact = column.dtype.kind in "iu" or column.dtype == np.float64
    values: list[object] = (column if exact else column.astype(str)).tolist()
    return values


def _without_dictionary(column: Column) -> pa.Array:
    """An Arrow column of plain values, whatever it was."""
    array = as_arrow(column)
    return array.cast(array.type.value_type) if hasattr(array, "dictionary") else array


# ---------------------------------------------------------------------------------------------------------------- Arrow


class _ArrowWriter:
    """Parquet, or an Arrow file; the latter has one dictionary for a column at most, so it gets plain values."""

    def __init__(self, kind: str, out: Tap) -> None:
        self._kind = kind
        self._out = out
        self._schema: pa.Schema = None
        self._writer: pa.RecordBatchWriter = None

    def write(self, columns: Columns, rows: int, written: Written | None = None) -> None:  # noqa: ARG002
        import pyarrow as pa

        plain = as_arrow if self._kind == "parquet" else _without_dictionary
        arrays = {name: plain(column) for name, column in columns.items()}
        if self._schema is None:
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


# ------------------------------------------------------------------------------------------------------------------ NPZ


class _NpzWriter:
    """Arrays of unknown length and width: kept in temporary files until both are known."""

    def __init__(self, out: Tap) -> None:
        self._out = out
        self._parts: dict[str, IO[bytes]] = {}
        self._types: dict[str, _Widening] = {}
        self._blocks = self._rows = 0

    def write(self, columns: Columns, rows: int, written: Written | None = None) -> None:  # noqa: ARG002
        if not self._parts:
            self._parts = {name: tempfile.TemporaryFile() for name in columns}  # noqa: SIM115 (closed by close)
            self._types = {name: _Widening(name) for name in columns}
        same_columns(self._parts, columns)
        for name, column in columns.items():
            array = _numpy(column, name)
            self._types[name].add(column, array)
            np.save(self._parts[name], array, allow_pickle=False)
        self._blocks += 1
        self._rows += rows

    def close(self) -> None:
        with zipfile.ZipFile(cast(BinaryIO, self._out), "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, part in self._parts.items():
                kind = self._types[name].dtype
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    header = {
                        "descr": np.lib.format.dtype_to_descr(kind),
                        "fortran_order": False,
                        "shape": (self._rows,),
                    }
                    np.lib.format.write_array_header_1_0(member, header)
                    part.seek(0)
                    for _ in range(self._blocks):
                        block = np.load(part, allow_pickle=False)
                        nothing = kind.kind in "US" and block.dtype.kind == "f"  # nulls, of a column of text
                        member.write((np.zeros(len(block), kind) if nothing else block.astype(kind)).tobytes())
                part.close()


class _Widening:
    """The dtype of a column, wide enough for every value that came; a block that leaves none is refused."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._what: str | None = None
        self._dtypes: set[DType] = set()
        self._low = self._high = 0  # of whole numbers
        self.dtype: DType = np.dtype(np.float64)

    def add(self, column: Column, array: Values) -> None:
        """Take one more block in."""
        what = _what(column)
        if None not in (what, self._what) and what != self._what:
            raise CliError(f"column {self._name!r} holds {what}, and in another table {self._what}; {CURE}")
        self._what = self._what or what
        if array.dtype.kind == "U":
            self._dtypes = {np.result_type(array, *(one for one in self._dtypes if one.kind == "U"))}
        else:
            self._dtypes.add(array.dtype)
        if array.dtype.kind in "iu" and array.size:
            self._low, self._high = min(self._low, int(array.min())), max(self._high, int(array.max()))
        self.dtype = self._common()

    def _common(self) -> DType:
        dtypes = {one for one in self._dtypes if self._what != "text" or one.kind == "U"}  # a block of nulls is NaN
        wide: DType = np.result_type(*dtypes)
        if wide.kind != "f" or all(one.kind not in "iu" for one in dtypes):
            return wide
        if all(one.kind in "iu" for one in dtypes):  # NumPy has a float for signed and unsigned ones of 64 bits
            if self._high < 2**63:
                return np.dtype(np.int64)
            if self._low >= 0:
                return np.dtype(np.uint64)
        elif max(-self._low, self._high) <= 2 ** (np.finfo(wide).nmant + 1):
            return wide
        raise CliError(
            f"column {self._name!r} has {self._low if -self._low > self._high else self._high}, and other values for "
            f"which it must be {wide}, which cannot hold that; {CURE}"
        )


def _what(column: Column) -> str | None:
    """What a column holds, in a word: only columns of the same are put together. None: nothing but nulls."""
    if isinstance(column, list):
        return "text"
    if not is_arrow(column):
        return {"U": "text", "S": "bytes", "b": "truth values", "i": "numbers", "u": "numbers", "f": "numbers"}.get(
            column.dtype.kind, str(column.dtype)
        )
    import pyarrow as pa

    types, kind = pa.types, plain_type(column.type)
    if types.is_null(kind):
        return None
    if types.is_integer(kind) or types.is_floating(kind):
        return "numbers"
    words = {"bool": "truth values", "string": "text", "large_string": "text"}
    return words.get(str(kind), re.sub(r"\W.*", "", str(kind)))


def _numpy(column: Column, name: str) -> Values:
    """A column as an array of numbers, bools or text; nulls become NaN in numbers and empty in text."""
    if isinstance(column, list):
        return np.array(column, dtype=np.str_)
    if not is_arrow(column):
        return np.asarray(column)
    import pyarrow as pa

    plain = _without_dictionary(column)
    types, kind = pa.types, plain.type
    if types.is_null(kind):
        return np.full(len(plain), np.nan)
    if types.is_floating(kind) or ((types.is_integer(kind) or types.is_boolean(kind)) and not plain.null_count):
        return np.asarray(plain)
    try:
        if types.is_integer(kind) or types.is_boolean(kind):
            return np.asarray(plain.cast(pa.float64()))
        if types.is_decimal(kind):
            numbers = plain.cast(pa.float64())
            if not numbers.cast(kind).equals(plain):
                raise pa.ArrowInvalid("digits are lost")
            return np.asarray(numbers)
        texts = plain.cast(pa.string()).fill_null("").to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        nulls = " with nulls" * types.is_integer(kind)
        raise CliError(f"column {name!r} is {kind}{nulls}, which NPZ cannot hold; write Parquet or Arrow") from None
    return np.array(texts, dtype=np.str_)
