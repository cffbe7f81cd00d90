"""CSV and NPZ, read with the standard library and NumPy alone, in constant memory."""

from __future__ import annotations

import bz2
import contextlib
import csv
import gzip
import io
import itertools
import re
import zipfile
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, BinaryIO, cast

import numpy as np

from gstar_fast._base.arrays import DType, Values
from gstar_fast._cli.errors import CliError, pyarrow_missing
from gstar_fast._cli.tables import inputs
from gstar_fast._cli.tables.inputs import BLOCK_ROWS, NO_KINDS, Block, Input, Kinds, Written, spooled

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LONGEST_HEADER = 1 << 20  # bytes; a file without line ends should not be read whole to find that out
TEXT_ROWS = 1 << 15  # rows of text take much more memory than numbers
csv.field_size_limit(1 << 24)


def delimiter_of(source: Input) -> str:
    """What stands between the values of a line."""
    return source.delimiter or ("\t" if source.format == "tsv" else ",")


def text_of(source: Input) -> tuple[BinaryIO, BinaryIO]:
    """The bytes of a CSV file as they lie on disk, which tell how far one is, and as they are read."""
    raw = source.open()
    try:
        return raw, _decompressed(raw, source)
    except BaseException:
        if source.path is not None:
            raw.close()
        raise


def _decompressed(raw: BinaryIO, source: Input) -> BinaryIO:
    """The bytes behind a compressed file; closing it leaves the compressed one open."""
    if source.compression == "gzip":
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if source.compression == "bz2":
        return cast(BinaryIO, bz2.BZ2File(raw))
    if source.compression is None:
        return raw
    if not inputs.has_pyarrow():
        raise pyarrow_missing(f"{source.name}: reading {source.compression}")
    import pyarrow as pa

    codec = pa.CompressedInputStream(pa.PythonFile(Rewound(raw, b""), "r"), source.compression)
    return cast(BinaryIO, io.BufferedReader(codec, 1 << 20))


def header_of(stream: BinaryIO, delimiter: str, source: Input) -> tuple[list[str], str, bytes]:
    """Names in the first record of a CSV file, that record as it is written, and what was read of those after it."""
    head, rest = b"", b""
    while line := stream.readline(LONGEST_HEADER):
        # blank lines are passed over; a tab that begins the header is the end of a name that is empty
        head = re.sub(rb"\A(?:[ \t]*[\r\n])+", b"", head + line)
        if len(head) >= LONGEST_HEADER or (head and head.count(b'"') % 2 == 0):
            break
    if not head.strip():
        raise CliError(f"{source.name} is empty; a CSV file begins with the names of its columns")
    end = head.find(b"\r")
    while end >= 0 and head.count(b'"', 0, end) % 2:
        end = head.find(b"\r", end + 1)
    if 0 <= end < len(head.rstrip(b"\r\n")):  # lines that end as on old Macs
        head, rest = head[: end + 1], head[end + 1 :]
    try:
        text = head.decode()
    except UnicodeDecodeError:
        raise CliError(
            f"{source.name} is not UTF-8 text; give its --format, or convert it, for instance with iconv"
        ) from None
    if len(head) >= LONGEST_HEADER or "\0" in text:
        raise CliError(f"{source.name} does not begin with a line of column names; is it CSV? Else give --format")
    plain = io.StringIO(text.removeprefix("\ufeff"), newline="")
    try:
        names = next(row for row in csv.reader(plain, delimiter=delimiter, strict=True) if row)
    except csv.Error as error:
        raise malformed(source, error) from None
    return names, text, rest


def at_row(row: int) -> str:
    """Where a row of a file is, for a message."""
    return f" at row {row:,} (counted from 0)"


def cut_short(source: Input, row: int | None = None) -> CliError:
    """The error for a file that ends inside quotes, which begin in this row, or among the names of columns."""
    where = " among the names of columns" if row is None else at_row(row)
    return CliError(
        f"{source.name} ends inside quotes: a value{where} begins with one and is never closed.\n"
        "if the file was cut short, write or copy it again; a quote inside a value is written as two, in quotes"
    )


def malformed(source: Input, error: csv.Error, row: int | None = None) -> CliError:
    """The error for text that is no CSV."""
    if "unexpected end of data" in str(error):
        return cut_short(source, row)
    return CliError(f"{source.name} cannot be read as CSV: {error}{'' if row is None else at_row(row)}")


class Rewound(io.RawIOBase):
    """A stream with bytes put back that were read from it."""

    def __init__(self, stream: BinaryIO, head: bytes) -> None:
        self._stream = stream
        self._head = head

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        room = memoryview(buffer)
        data = self._head[: len(room)]
        if data:
            self._head = self._head[len(data) :]
        else:
            data = self._stream.read(len(room))
        room[: len(data)] = data
        return len(data)


class CsvReader:
    """A CSV file as lists of text, one for each column."""

    text = True

    def __init__(self, source: Input) -> None:
        self._source = source
        self.delimiter = delimiter_of(source)
        self._raw, self._stream = text_of(source)
        try:
            self.names, self._header, rest = header_of(self._stream, self.delimiter, source)
        except BaseException:
            self.close()
            raise
        self._body = io.BufferedReader(Rewound(self._stream, rest), 1 << 20)

    def blocks(self, columns: list[str] | None, *, skip: int = 0, kinds: Kinds = NO_KINDS) -> Iterator[Block]:  # noqa: ARG002
        names = self.names if columns is None else columns
        places = [self.names.index(name) for name in names]
        for rows, lines, done in self.rows(skip):
            yield Block(
                {name: [row[i] for row in rows] for name, i in zip(names, places, strict=True)},
                len(rows),
                done,
                self._written(lines) if columns is None else None,
            )

    def nothing(self, kinds: Kinds = NO_KINDS) -> Block:  # noqa: ARG002
        return Block({name: [] for name in self.names}, 0, 1.0, self._written([]))

    def _written(self, lines: list[str]) -> Written:
        return Written(self._header, lines, self.names, self.delimiter)

    def rows(self, skip: int = 0) -> Iterator[tuple[list[list[str]], list[str], float | None]]:
        """Records, some at a time, the same as they are written, and the share of the file that is read by then."""
        size = self._source.size
        width, read = len(self.names), skip
        try:
            text = io.TextIOWrapper(self._body, encoding="utf-8", newline="")
            records = itertools.islice(_records(text, self.delimiter, self._source), skip, None)
            while some := list(itertools.islice(records, TEXT_ROWS)):
                rows = [row for row, _ in some]
                if set(map(len, rows)) != {width}:
                    at, wrong = next((i, row) for i, row in enumerate(rows, read) if len(row) != width)
                    raise CliError(
                        f"{self._source.name} has rows of different length: expected {width} columns, "
                        f"got {len(wrong)}{at_row(at)}: {self.delimiter.join(wrong)[:100]}"
                    )
                read += len(rows)
                yield rows, [line for _, line in some], self._raw.tell() / size if size else None
        except UnicodeDecodeError:
            raise CliError(f"{self._source.name} is not UTF-8 text; convert it, for instance with iconv") from None

    def close(self) -> None:
        if self._source.path is not None:
            self._stream.close()
            self._raw.close()


def _records(text: io.TextIOWrapper, delimiter: str, source: Input) -> Iterator[tuple[list[str], str]]:
    """Values of each record, and its line as it is written: several lines where quotes hide a line end."""
    taken: list[str] = []
    read = 0

    def lines() -> Iterator[str]:
        for line in text:
            taken.append(line)
            yield line

    try:
        for row in csv.reader(lines(), delimiter=delimiter, strict=True):
            if row:  # a blank line is no record
                read += 1
                yield row, taken[0] if len(taken) == 1 else "".join(taken)
            taken.clear()
    except csv.Error as error:
        raise malformed(source, error, read) from None


class NpzReader:
    """The 1-D arrays of an NPZ file, read in step. Nothing is unpickled."""

    text = False

    def __init__(self, source: Input) -> None:
        self._source = source
        self._place = spooled(source)
        try:
            self._zip = zipfile.ZipFile(self._place)
        except zipfile.BadZipFile as error:
            raise ValueError(str(error)) from None
        self._members = {name.removesuffix(".npy"): name for name in self._zip.namelist() if name.endswith(".npy")}
        self.names = list(self._members)

    def blocks(self, columns: list[str] | None, *, skip: int = 0, kinds: Kinds = NO_KINDS) -> Iterator[Block]:  # noqa: ARG002
        try:
            yield from self._blocks(self.names if columns is None else columns, skip)
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:  # damaged, encrypted, unknown method
            raise ValueError(str(error)) from None

    def _blocks(self, columns: list[str], skip: int) -> Iterator[Block]:
        with contextlib.ExitStack() as stack:
            streams = {name: stack.enter_context(self._zip.open(self._members[name])) for name in columns}
            headers = {name: self._header(streams[name], name) for name in columns}
            lengths = {name: length for name, (_, length) in headers.items()}
            if len(set(lengths.values())) > 1:
                shown = ", ".join(f"{name} has {length}" for name, length in lengths.items())
                raise CliError(f"{self._source.name}: arrays differ in length: {shown}")
            total = next(iter(lengths.values()), 0)
            start = 0
            while start < total:
                # the rows to skip are read, since a member cannot be entered in its middle, and dropped
                rows = min(BLOCK_ROWS, total - start, skip - start if start < skip else BLOCK_ROWS)
                block = {name: self._read(streams[name], headers[name][0], rows) for name in columns}
                start += rows
                if start > skip:
                    yield Block(block, rows, start / total)

    def nothing(self, kinds: Kinds = NO_KINDS) -> Block:  # noqa: ARG002
        empty = {}
        for name, member in self._members.items():
            with self._zip.open(member) as stream:
                empty[name] = np.empty(0, self._header(stream, name)[0])
        return Block(empty, 0, 1.0)

    def _header(self, stream: IO[bytes], name: str) -> tuple[DType, int]:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
        if dtype.hasobject:
            raise CliError(
                f"{self._source.name}: array {name!r} holds Python objects, which are never unpickled; save it as "
                "numbers or text, for instance with array.astype(str)"
            )
        if len(shape) != 1:
            raise CliError(f"{self._source.name}: array {name!r} must be 1-D, got shape {shape}")
        return dtype, int(shape[0])

    def _read(self, stream: IO[bytes], dtype: DType, rows: int) -> Values:
        wanted = rows * dtype.itemsize
        parts = []
        while wanted and (part := stream.read(wanted)):
            parts.append(part)
            wanted -= len(part)
        if wanted:
            raise ValueError("an array ends before its last row")
        if not dtype.itemsize:
            return np.zeros(rows, dtype)
        return np.frombuffer(b"".join(parts), dtype)

    def close(self) -> None:
        self._zip.close()
        if not isinstance(self._place, str):
            self._place.close()
