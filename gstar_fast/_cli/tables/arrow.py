"""Parquet, Arrow, Feather and CSV, read by pyarrow in constant memory."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, cast

import pyarrow as pa

from gstar_fast._cli.errors import CliError
from gstar_fast._cli.tables.columns import MISSING, no_number, numbers_of
from gstar_fast._cli.tables.inputs import BLOCK_ROWS, NO_KINDS, Block, Input, Kinds, spooled
from gstar_fast._cli.tables.places import is_url
from gstar_fast._cli.tables.plain import CsvReader as PlainReader
from gstar_fast._cli.tables.plain import Rewound, cut_short, delimiter_of, header_of, text_of

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CSV_BLOCK = 1 << 20  # bytes; a longer line cannot be read
CSV_PIECE = 1 << 23  # several blocks, for several threads


# pyarrow has a list of its own and minds the case
_NULLS = sorted(
    "".join(letters)
    for word in MISSING
    for letters in itertools.product(*({letter.lower(), letter.upper()} for letter in word))
)


def _blocks_of(batch: pa.RecordBatch, done: float | None) -> Iterator[Block]:
    """A record batch, in pieces if it is large; no bytes are copied."""
    for start in range(0, batch.num_rows, BLOCK_ROWS):
        part = batch.slice(start, BLOCK_ROWS)
        yield Block(dict(zip(part.schema.names, part.columns, strict=True)), part.num_rows, done)


def _no_rows(schema: pa.Schema) -> Block:
    return Block({field.name: pa.array([], field.type) for field in schema}, 0, 1.0)


class _Skipper:
    """Passes over the first rows of a sequence of batches."""

    def __init__(self, rows: int) -> None:
        self.left = rows

    def rest_of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        passed = min(self.left, batch.num_rows)
        self.left -= passed
        return batch.slice(passed) if passed else batch


class ParquetReader:
    """A Parquet file; unless it is wanted `whole`, text comes as dictionaries, which is how the file has it."""

    text = False

    def __init__(self, source: Input, *, whole: bool = False) -> None:
        import pyarrow.parquet as pq

        self._place = spooled(source)
        with pq.ParquetFile(self._place) as file:
            schema = file.schema_arrow
        self.names: list[str] = list(schema.names)
        self._schema = schema
        strings = [] if whole else [field.name for field in schema if _is_text(field.type)]
        self._file = pq.ParquetFile(self._place, read_dictionary=strings, pre_buffer=False)

    def blocks(self, columns: list[str] | None, *, skip: int = 0, kinds: Kinds = NO_KINDS) -> Iterator[Block]:  # noqa: ARG002
        about = self._file.metadata
        total, first, passed = about.num_rows, 0, 0
        while first < about.num_row_groups and passed + about.row_group(first).num_rows <= skip:
            passed += about.row_group(first).num_rows
            first += 1
        skipper, read = _Skipper(skip - passed), passed
        groups = range(first, about.num_row_groups)
        for batch in self._file.iter_batches(BLOCK_ROWS, row_groups=groups, columns=columns, use_threads=True):
            read += batch.num_rows
            yield from _blocks_of(skipper.rest_of(batch), read / total if total else 1.0)

    def nothing(self, kinds: Kinds = NO_KINDS) -> Block:  # noqa: ARG002
        return _no_rows(self._schema)

    def close(self) -> None:
        self._file.close()
        if not isinstance(self._place, str):
            self._place.close()


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


class IpcReader:
    """An Arrow or Feather file, or a stream of record batches."""

    text = False

    def __init__(self, source: Input) -> None:
        import pyarrow.ipc as ipc

        self._ipc = ipc
        local = source.path is not None and not is_url(source.path)
        self._file: pa.NativeFile = pa.OSFile(source.path) if local else pa.PythonFile(source.open(), "r")
        self._source = source
        seekable = source.path is not None
        if seekable:
            whole = self._file.read(6) == b"ARROW1"
            self._file.seek(0)
        else:
            assert source.stream is not None
            peek = cast("io.BufferedReader", source.stream)
            whole = peek.peek(6)[:6] == b"ARROW1"
        if whole and not seekable:
            self._file = pa.PythonFile(spooled(source), "r")
        self._whole = whole
        self._reader = ipc.open_file(self._file) if whole else ipc.open_stream(self._file)
        self.names: list[str] = list(self._reader.schema.names)

    def blocks(self, columns: list[str] | None, *, skip: int = 0, kinds: Kinds = NO_KINDS) -> Iterator[Block]:  # noqa: ARG002
        size = self._source.size
        skipper = _Skipper(skip)
        for place, batch in enumerate(self._batches(columns)):
            batch.validate(full=True)  # pyarrow trusts such files; a code or an offset may point anywhere
            if columns is not None:
                batch = batch.select(columns)
            if self._whole:
                done: float | None = (place + 1) / self._reader.num_record_batches
            else:
                done = self._file.tell() / size if size else None
            yield from _blocks_of(skipper.rest_of(batch), done)

    def _batches(self, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
        if self._whole:
            if columns is not None:  # read and decompress these only
                fields = [self.names.index(name) for name in columns]
                self._reader = self._ipc.open_file(
                    self._file, options=self._ipc.IpcReadOptions(included_fields=sorted(fields))
                )
            for place in range(self._reader.num_record_batches):
                yield self._reader.get_batch(place)
        else:
            yield from self._reader

    def nothing(self, kinds: Kinds = NO_KINDS) -> Block:  # noqa: ARG002
        return _no_rows(self._reader.schema)

    def close(self) -> None:
        self._file.close()


class _Quoted(Rewound):
    """Remembers whether the text ended inside quotes, of which pyarrow says nothing."""

    def __init__(self, stream: BinaryIO, head: bytes) -> None:
        super().__init__(stream, head)
        self._quotes = 0
        self._tail = b""

    def readinto(self, buffer: WriteableBuffer) -> int:
        size = super().readinto(buffer)
        read = bytes(memoryview(buffer)[:size])
        self._quotes += read.count(b'"')
        self._tail = read if size >= CSV_BLOCK else (self._tail + read)[-CSV_BLOCK:]
        return size

    def is_open(self, delimiter: str) -> bool:
        """Whether the last value begins with a quote and has no other; pyarrow itself refuses one longer than a block.

        A quote in the middle of a value (a pipe of 5") stands for itself, so that an odd number alone proves nothing.
        """
        sign = re.escape(delimiter.encode())
        return self._quotes % 2 == 1 and bool(re.search(rb'(?:\A|[\r\n]|%s)"(?:[^"]|"")*+\Z' % sign, self._tail))


class CsvReader:
    """A CSV file; pyarrow finds out the types of columns that are not asked for as numbers or as text.

    pyarrow reads a stream in one thread, and a text that is there as a whole in all. So pieces of some megabytes are
    read as wholes, as long as no quotes come that could hide the end of a line; after that, the rest as a stream.
    """

    text = True

    def __init__(self, source: Input, *, typed: bool = False) -> None:
        self._source = source
        self._typed = typed
        self._delimiter = delimiter_of(source)
        self._raw, self._stream = text_of(source)
        self._open: tuple[_Quoted, pa.csv.CSVStreamingReader] | None = None
        try:
            self.names, _, self._rest = header_of(self._stream, self._delimiter, source)
        except BaseException:
            self.close()
            raise

    def blocks(self, columns: list[str] | None, *, skip: int = 0, kinds: Kinds = NO_KINDS) -> Iterator[Block]:
        import pyarrow.csv as csv

        options = self._options(columns, kinds)
        size = self._source.size
        skipper, rows = _Skipper(skip), 0
        try:
            # types that are to be found out are those of the first piece, which a stream keeps to the end
            for piece in [] if self._typed else self._pieces():
                table = csv.read_csv(pa.BufferReader(piece), **options)
                rows += table.num_rows
                for batch in table.to_batches():
                    yield from _blocks_of(skipper.rest_of(batch), self._raw.tell() / size if size else None)
            opened = self._opened(options)
            if opened is None:
                return
            rest, batches = opened
            for batch in batches:
                rows += batch.num_rows
                yield from _blocks_of(skipper.rest_of(batch), self._raw.tell() / size if size else None)
            if rest.is_open(self._delimiter):
                raise cut_short(self._source, rows - 1)
        except pa.ArrowInvalid as error:
            raise _explained(self._source, self.names, error) from error

    def _types(self, kinds: Kinds) -> dict[str, object]:
        # few distinct values are the rule in what is counted, and a dictionary is read faster than text
        words = pa.string() if self._typed else pa.dictionary(pa.int32(), pa.string())
        return {name: pa.float64() if kind == "number" else words for name, kind in kinds.items()}

    def _options(self, columns: list[str] | None, kinds: Kinds) -> dict[str, object]:
        import pyarrow.csv as csv

        return {
            "read_options": csv.ReadOptions(block_size=CSV_BLOCK, column_names=self.names),
            "parse_options": csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            "convert_options": csv.ConvertOptions(
                column_types=self._types(kinds), include_columns=columns, strings_can_be_null=False, null_values=_NULLS
            ),
        }

    def _opened(self, options: dict[str, object]) -> tuple[_Quoted, pa.csv.CSVStreamingReader] | None:
        """What is left, as a stream of batches that is opened once; None where nothing is, which pyarrow refuses."""
        import pyarrow.csv as csv

        if self._open is None:
            self._rest = self._rest or self._stream.read(CSV_PIECE)
            if self._rest.strip():
                rest = _Quoted(self._stream, self._rest)
                self._open = rest, csv.open_csv(pa.PythonFile(rest, "r"), **options)
        return self._open

    def _pieces(self) -> Iterator[bytes]:
        """Whole lines, as long as there are no quotes; what is left is in `_rest` and the stream."""
        while True:
            read = self._stream.read(CSV_PIECE)
            self._rest += read
            if b'"' in read:
                return
            end = self._rest.rfind(b"\n") + 1 if read else len(self._rest)
            if not end:  # the end of the file, or a line that is longer than a piece
                return
            piece, self._rest = self._rest[:end], self._rest[end:]
            if piece.strip():
                yield piece

    def nothing(self, kinds: Kinds = NO_KINDS) -> Block:
        """Of types that are found out as `blocks` does, which may go on from here."""
        try:
            opened = self._opened(self._options(None, kinds))
        except pa.ArrowInvalid as error:
            raise _explained(self._source, self.names, error) from error
        if opened is not None:
            return _no_rows(opened[1].schema)
        types = self._types(kinds)
        return Block({name: pa.array([], types.get(name, pa.null())) for name in self.names}, 0, 1.0)

    def close(self) -> None:
        if self._source.path is not None:
            self._stream.close()
            self._raw.close()


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
    """What pyarrow says of a CSV file, with the name of the column and what to do."""
    said = " ".join(str(error).split())
    wrong = re.search(r"column #(\d+).* conversion error to (\w+): invalid value (.*)", said)
    if wrong:
        name, kind, value = names[int(wrong[1])], wrong[2], wrong[3][:60]
        if kind == "double":
            return _first_wrong(source, name) or no_number(f"{source.name}: column {name!r}", value.strip("'"))
        return CliError(
            f"{source.name}: column {name!r} began as {kind}, and later has {value}; write CSV, which keeps it as it is"
        )
    if "Expected" in said and "columns, got" in said:
        what = said.split("parse error: ")[-1][:160].lower()
        return _first_wrong(source) or CliError(f"{source.name} has rows of different length: {what}")
    if "UTF8" in said.replace("-", "").upper():
        return CliError(f"{source.name} is not UTF-8 text; convert it, for instance with iconv")
    return _first_wrong(source) or CliError(f"{source.name} cannot be read as CSV: {said[:200]}")
