"""CSV, Parquet and Arrow read by pyarrow."""

from __future__ import annotations

import itertools
import re
import shutil
import tempfile
from collections.abc import Iterator
from functools import cached_property

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.ipc

from gstar_fast._cli.errors import CliError
from gstar_fast._cli.tables.columns import MISSING, no_number, numbers_of
from gstar_fast._cli.tables.csv_file import CsvFile, cut_short, not_utf8
from gstar_fast._cli.tables.inputs import Input
from gstar_fast._cli.tables.places import is_url
from gstar_fast._cli.tables.plain import CsvReader as PlainReader
from gstar_fast._cli.tables.reader import Block, Columns, Kinds

BLOCK_ROWS = 1 << 18
CSV_BLOCK = 1 << 20  # bytes; a longer line cannot be read

# pyarrow compares exactly, so every spelling is listed
_NULLS = sorted(
    "".join(letters)
    for word in MISSING
    for letters in itertools.product(*({letter.lower(), letter.upper()} for letter in word))
)


def _blocks_of(batch: pa.RecordBatch, done: float | None, *, text: bool = False) -> Iterator[Block]:
    """A record batch in blocks, without copying."""
    for start in range(0, batch.num_rows, BLOCK_ROWS):
        part = batch.slice(start, BLOCK_ROWS)
        yield Block(dict(zip(part.schema.names, part.columns, strict=True)), part.num_rows, done, text)


def _after(batches: Iterator[pa.RecordBatch], skip: int) -> Iterator[pa.RecordBatch]:
    """The rows after the first `skip`."""
    for batch in batches:
        passed = min(skip, batch.num_rows)
        skip -= passed
        yield batch.slice(passed)


def _empty(schema: pa.Schema) -> Columns:
    return {field.name: pa.array([], field.type) for field in schema}


class ParquetReader:
    """A Parquet file; text comes as dictionaries, as the file has it, unless the table is wanted `whole`."""

    def __init__(self, source: Input, *, whole: bool) -> None:
        import pyarrow.parquet as pq

        self._opened = _seekable(source)
        schema = pq.read_schema(self._opened)
        texts = [] if whole else [field.name for field in schema if _is_text(field.type)]
        self._file = pq.ParquetFile(self._opened, read_dictionary=texts, pre_buffer=False)
        self.names: list[str] = list(schema.names)
        self._schema = schema

    def blocks(self, columns: list[str] | None, skip: int = 0) -> Iterator[Block]:
        """Blocks of rows after the first `skip`."""
        read, total = skip, self._file.metadata.num_rows
        for batch in _after(self._file.iter_batches(BLOCK_ROWS, columns=columns), skip):
            read += batch.num_rows
            yield from _blocks_of(batch, read / total if total else 1.0)

    def empty(self) -> Columns:
        """All columns without rows."""
        return _empty(self._schema)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._opened.close()


class ArrowReader:
    """An Arrow or Feather file, or a stream of record batches."""

    def __init__(self, source: Input) -> None:
        self._source = source
        whole = source.first(6) == b"ARROW1"
        self._opened = _seekable(source) if whole else pa.PythonFile(source.open(), "r")
        try:
            self._reader = pa.ipc.open_file(self._opened) if whole else pa.ipc.open_stream(self._opened)
        except BaseException:
            self._opened.close()
            raise
        self.names: list[str] = list(self._reader.schema.names)

    def blocks(self, columns: list[str] | None, skip: int = 0) -> Iterator[Block]:
        """Blocks of rows after the first `skip`."""
        size = self._source.size
        for batch in _after(self._batches(), skip):
            chosen = batch if columns is None else batch.select(columns)
            chosen.validate(full=True)  # pyarrow trusts these files; a code or an offset may point anywhere
            yield from _blocks_of(chosen, self._opened.tell() / size if size else None)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        if isinstance(self._reader, pa.RecordBatchReader):
            return iter(self._reader)
        return map(self._reader.get_batch, range(self._reader.num_record_batches))

    def empty(self) -> Columns:
        """All columns without rows."""
        return _empty(self._reader.schema)

    def close(self) -> None:
        """Close the file; a pipe stays open."""
        if self._source.path is not None or isinstance(self._reader, pa.RecordBatchFileReader):
            self._opened.close()


def _seekable(source: Input) -> pa.NativeFile:
    """The file; a pipe is copied to a temporary file."""
    if source.path is not None:
        return pa.PythonFile(source.open(), "r") if is_url(source.path) else pa.OSFile(source.path)
    copy = tempfile.TemporaryFile()  # noqa: SIM115 (the reader closes it)
    shutil.copyfileobj(source.open(), copy, 1 << 20)
    copy.seek(0)
    return pa.PythonFile(copy, "r")


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


class CsvReader:
    """A CSV file; pyarrow infers the types of the columns that `kinds` does not name."""

    def __init__(self, source: Input, kinds: Kinds, *, whole: bool) -> None:
        self._source = source
        # a dictionary is read faster than text, and what is counted has few distinct values
        words = pa.string() if whole else pa.dictionary(pa.int32(), pa.string())
        self._types = {name: pa.float64() if kind == "number" else words for name, kind in kinds.items()}
        self._columns: list[str] | None = None
        self._file = CsvFile(source)
        self.names = self._file.names

    @cached_property
    def _batches(self) -> pa_csv.CSVStreamingReader:
        """The stream of batches, which is opened once: a pipe cannot be read again."""
        try:
            return pa_csv.open_csv(
                pa.PythonFile(self._file, "r"),
                pa_csv.ReadOptions(block_size=CSV_BLOCK, column_names=self.names, skip_rows_after_names=1),
                pa_csv.ParseOptions(delimiter=self._file.delimiter, newlines_in_values=True),
                pa_csv.ConvertOptions(
                    column_types=self._types,
                    include_columns=self._columns,
                    strings_can_be_null=False,
                    null_values=_NULLS,
                ),
            )
        except pa.ArrowInvalid as error:
            raise _explained(self._source, self.names, error) from error

    def blocks(self, columns: list[str] | None, skip: int = 0) -> Iterator[Block]:
        """Blocks of rows after the first `skip`."""
        self._columns = columns
        rows = 0
        try:
            for batch in _after(self._batches, skip):
                rows += batch.num_rows
                yield from _blocks_of(batch, self._file.done(), text=True)
        except pa.ArrowInvalid as error:
            raise _explained(self._source, self.names, error) from error
        if self._file.ends_inside_quotes():
            raise cut_short(self._source, skip + rows - 1)

    def empty(self) -> Columns:
        """All columns without rows; their types are those of the first rows."""
        return _empty(self._batches.schema)

    def close(self) -> None:
        """Close the file; a pipe stays open."""
        self._file.close()


def _first_wrong(source: Input, number: str | None = None) -> CliError | None:
    """The error for the first bad row. The file is read again, because pyarrow does not give row numbers."""
    if source.path is None:  # a pipe cannot be read again
        return None
    reader = PlainReader(source)
    try:
        first_row = 0
        for block in reader.blocks(reader.names if number is None else [number]):
            if number is not None:
                numbers_of(block.columns[number], f"{source.name}: column {number!r}", first_row)
            first_row += block.rows
    except CliError as error:
        return error
    finally:
        reader.close()
    return None


def _explained(source: Input, names: list[str], error: Exception) -> CliError:
    """An error of pyarrow's CSV reader, with the name of the column, the row and what to do."""
    said = " ".join(str(error).split())
    wrong = re.search(r"column #(\d+).* conversion error to (\w+): invalid value (.*)", said)
    if wrong:
        name, kind, value = names[int(wrong[1])], wrong[2], wrong[3][:60]
        if kind == "double":
            return _first_wrong(source, name) or no_number(f"{source.name}: column {name!r}", value.strip("'"))
        return CliError(
            f"{source.name}: column {name!r} began as {kind}, and later has {value}; write CSV, which keeps it as it is"
        )
    if "UTF8" in said.replace("-", "").upper():
        return not_utf8(source)
    return _first_wrong(source) or CliError(f"{source.name} cannot be read as CSV: {said[:200]}")
