"""CSV, Parquet and Arrow read by pyarrow."""

from __future__ import annotations

import contextlib
import itertools
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.ipc

from gstar_fast._cli.errors import CliError
from gstar_fast._cli.tables.columns import MISSING, no_number, numbers_of
from gstar_fast._cli.tables.csv_file import CsvFile, cut_short, not_utf8, read_plain
from gstar_fast._cli.tables.inputs import Block, Input, Wanted
from gstar_fast._cli.tables.places import is_url

BLOCK_ROWS = 1 << 18
CSV_BLOCK = 1 << 20  # bytes; a longer line cannot be read

# pyarrow compares exactly, so every spelling is listed
_NULLS = sorted(
    "".join(letters)
    for word in MISSING
    for letters in itertools.product(*({letter.lower(), letter.upper()} for letter in word))
)


def _blocks(
    schema: pa.Schema, columns: list[str], batches: Iterable[tuple[pa.RecordBatch, float | None]], skip: int
) -> Iterator[Block]:
    """An empty block of these columns, and those of the rows after the first `skip`, without copying."""
    types = {name: schema.field(schema.names.index(name)).type for name in columns}
    yield Block({name: pa.nulls(0, kind) for name, kind in types.items()}, 0, 0.0)
    for batch, done in batches:
        passed = min(skip, batch.num_rows)
        skip -= passed
        for start in range(passed, batch.num_rows, BLOCK_ROWS):
            part = batch.slice(start, BLOCK_ROWS)
            yield Block(dict(zip(part.schema.names, part.columns, strict=True)), part.num_rows, done)


def read_parquet(source: Input, wanted: Wanted, skip: int) -> Iterator[Block]:
    """A Parquet file; text comes as dictionaries, as the file has it, unless the table is wanted `whole`."""
    import pyarrow.parquet as pq

    def batches() -> Iterator[tuple[pa.RecordBatch, float]]:
        read, total = 0, file.metadata.num_rows
        for batch in file.iter_batches(BLOCK_ROWS, columns=columns):
            read += batch.num_rows
            yield batch, read / max(total, 1)

    with _seekable(source) as opened:
        schema = pq.read_schema(opened)
        columns = wanted.choose(list(schema.names))
        is_text = [pa.types.is_string(field.type) or pa.types.is_large_string(field.type) for field in schema]
        texts = [] if wanted.whole else list(itertools.compress(schema.names, is_text))
        with pq.ParquetFile(opened, read_dictionary=texts, pre_buffer=False) as file:
            yield from _blocks(schema, columns, batches(), skip)


def read_arrow(source: Input, wanted: Wanted, skip: int) -> Iterator[Block]:
    """An Arrow or Feather file, or a stream of record batches."""

    def batches() -> Iterator[tuple[pa.RecordBatch, float | None]]:
        size = source.size
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader:
            chosen = batch.select(columns)
            chosen.validate(full=True)  # pyarrow trusts these files; a code or an offset may point anywhere
            yield chosen, opened.tell() / size if size else None

    is_file = source.first(6) == b"ARROW1"
    opened = _seekable(source) if is_file else pa.PythonFile(source.open(), "r")
    with contextlib.nullcontext() if source.path is None and not is_file else opened:  # a pipe stays open
        reader = pa.ipc.open_file(opened) if is_file else pa.ipc.open_stream(opened)
        columns = wanted.choose(list(reader.schema.names))
        yield from _blocks(reader.schema, columns, batches(), skip)


def _seekable(source: Input) -> pa.NativeFile:
    """The file; a pipe is copied to a temporary file."""
    if source.path is not None:
        return pa.PythonFile(source.open(), "r") if is_url(source.path) else pa.OSFile(source.path)
    copy = tempfile.TemporaryFile()  # noqa: SIM115 (the reader closes it)
    shutil.copyfileobj(source.open(), copy, 1 << 20)
    copy.seek(0)
    return pa.PythonFile(copy, "r")


def read_csv(source: Input, wanted: Wanted, skip: int) -> Iterator[Block]:
    """A CSV file; pyarrow infers the types of the columns that `kinds` does not name."""
    rows = 0

    def batches() -> Iterator[tuple[pa.RecordBatch, float | None]]:
        nonlocal rows
        for batch in reader:
            rows += batch.num_rows
            yield batch, file.done()

    # a dictionary is read faster than text, and what is counted has few distinct values
    words = pa.string() if wanted.whole else pa.dictionary(pa.int32(), pa.string())
    with contextlib.closing(CsvFile(source)) as file:
        columns = wanted.choose(file.names)
        types = {name: pa.float64() if kind == "number" else words for name, kind in wanted.kinds.items()}
        try:
            reader = pa_csv.open_csv(
                pa.PythonFile(file, "r"),
                pa_csv.ReadOptions(block_size=CSV_BLOCK, column_names=file.names, skip_rows_after_names=1),
                pa_csv.ParseOptions(delimiter=file.delimiter, newlines_in_values=True),
                pa_csv.ConvertOptions(
                    column_types=types, include_columns=columns, strings_can_be_null=False, null_values=_NULLS
                ),
            )
            for block in _blocks(reader.schema, columns, batches(), skip):
                yield block._replace(text=True)
        except pa.ArrowInvalid as error:
            raise _explained(source, file.names, error) from error
        if file.ends_inside_quotes():
            raise cut_short(source, rows - 1)


def _first_wrong(source: Input, number: str | None = None) -> CliError | None:
    """The error for the first bad row. The file is read again, because pyarrow does not give row numbers."""
    first_row = 0
    try:
        again = Wanted(lambda names: names if number is None else [number], {})
        for block in read_plain(source, again, 0) if source.path is not None else ():  # not a pipe
            if number is not None:
                numbers_of(block.columns[number], source.column(number), first_row)
            first_row += block.rows
    except CliError as error:
        return error
    return None


def _explained(source: Input, names: list[str], error: Exception) -> CliError:
    """An error of pyarrow's CSV reader, with the name of the column, the row and what to do."""
    said = " ".join(str(error).split())
    wrong = re.search(r"column #(\d+).* conversion error to (\w+): invalid value (.*)", said)
    if wrong:
        name, kind, value = names[int(wrong[1])], wrong[2], wrong[3][:60]
        if kind == "double":
            return _first_wrong(source, name) or no_number(source.column(name), value.strip("'"))
        return CliError(
            f"{source.column(name)} began as {kind}, and later has {value}; write CSV, which keeps it as it is"
        )
    if "UTF8" in said.replace("-", "").upper():
        return not_utf8(source)
    return _first_wrong(source) or CliError(f"{source.name} cannot be read as CSV: {said[:200]}")
