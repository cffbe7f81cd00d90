"""CSV: the bytes of a file, decompressed, with the names of its columns; errors for what is not CSV; a plain reader.

The plain reader needs no pyarrow, and keeps values as they are written: `apply` reads with it from CSV to CSV.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import csv
import gzip
import io
import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, Literal, cast

from gstar_fast._cli.errors import CliError, extra_missing
from gstar_fast._cli.tables import inputs
from gstar_fast._cli.tables.inputs import Block, Input, Wanted

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

TEXT_ROWS = 1 << 15  # rows of a block; text takes much more memory than numbers
LONGEST_HEADER = 1 << 20  # bytes; stops reading a file that has no line ends
TAIL = 1 << 20  # bytes at the end that are searched for an open quote
csv.field_size_limit(1 << 24)
_BLANK = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:[ \t]*[\r\n])*")  # byte order mark and blank lines before the header


class CsvFile(io.RawIOBase):
    """A CSV file as a stream that begins with its header."""

    def __init__(self, source: Input) -> None:
        self.source = source
        self.delimiter = source.delimiter or ("\t" if source.format == "tsv" else ",")
        self._size = source.size
        self._raw = self._stream = source.open()
        try:
            self._stream = through(source.compression, self._raw, "rb", f"{source.name}: reading")
            self._head = _header(self._stream)
            self.names = _names(self._head, source, self.delimiter)
        except BaseException:
            self.close()
            raise
        self._quotes, self._tail = 0, b""

    def readable(self) -> bool:
        """As every stream says."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read, and keep what shows whether the file ends inside quotes."""
        room = memoryview(buffer)
        data, self._head = self._head[: len(room)], self._head[len(room) :]
        data = data or self._stream.read(len(room))
        room[: len(data)] = data
        self._quotes += data.count(b'"')
        self._tail = data if len(data) >= TAIL else (self._tail + data)[-TAIL:]
        return len(data)

    def done(self) -> float | None:
        """Share of the file that was read; None if the size is not known."""
        return self._raw.tell() / self._size if self._size else None

    def ends_inside_quotes(self) -> bool:
        """Whether the last value begins with a quote that is never closed; pyarrow reads it without an error.

        An odd number of quotes proves nothing, since a quote in the middle of a value (a 5" pipe) stands for itself.
        """
        sign = re.escape(self.delimiter.encode())
        last = rb'(?:\A|[\r\n]|%s)"(?:[^"]|"")*+\Z' % sign
        return self._quotes % 2 == 1 and bool(re.search(last, self._tail))

    def close(self) -> None:
        """Close the file; a pipe stays open."""
        if self.source.path is not None:
            self._stream.close()
            self._raw.close()


def through(compression: str | None, file: BinaryIO, mode: Literal["rb", "wb"], what: str) -> BinaryIO:
    """The stream of what a compressed file holds; closing it leaves the file open."""
    if compression is None:
        return file
    if compression == "gzip":
        return cast(BinaryIO, gzip.GzipFile(fileobj=file, mode=mode, mtime=0))
    if compression == "bz2":
        return cast(BinaryIO, bz2.BZ2File(file, mode))
    if not inputs.has_pyarrow():
        raise extra_missing(f"{what} {compression}", "pyarrow")
    import pyarrow as pa

    if mode == "wb":
        return cast(BinaryIO, pa.CompressedOutputStream(pa.PythonFile(file, "w"), compression))
    return cast(BinaryIO, io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(file, "r"), compression)))


def _header(stream: BinaryIO) -> bytes:
    """Bytes from the beginning, with at least the header."""
    head = b""
    while line := stream.readline(LONGEST_HEADER):
        head = _BLANK.sub(b"", head + line)
        if len(head) >= LONGEST_HEADER or (head and head.count(b'"') % 2 == 0):
            break
    return head


def _names(head: bytes, source: Input, delimiter: str) -> list[str]:
    if not head.strip():
        raise CliError(f"{source.name} is empty; a CSV file begins with the names of its columns")
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        raise not_utf8(source) from None
    try:
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise malformed(source, error) from None
    if "\0" in "".join(names) or (len(head) >= LONGEST_HEADER and not re.search(r"[\r\n]", text)):
        raise CliError(f"{source.name} does not begin with a line of column names; if it is not CSV, give --format")
    return names


def read_plain(source: Input, wanted: Wanted, skip: int) -> Iterator[Block]:
    """Blocks of the rows after the first `skip`, as lists of text, one for each column."""
    with contextlib.closing(CsvFile(source)) as file:
        columns, width = wanted.choose(file.names), len(file.names)
        places = {name: file.names.index(name) for name in columns}
        yield Block({name: [] for name in columns}, 0, 0.0, text=True)
        text = io.TextIOWrapper(io.BufferedReader(file, 1 << 20), encoding="utf-8", newline="")  # closes the file
        records = itertools.islice(_records(file, text), skip, None)
        first = skip
        while rows := list(itertools.islice(records, TEXT_ROWS)):
            if set(map(len, rows)) != {width}:
                row, wrong = next((i, one) for i, one in enumerate(rows, first) if len(one) != width)
                raise CliError(
                    f"{source.name} has rows of different length: expected {width} columns, "
                    f"got {len(wrong)}{at_row(row)}: {file.delimiter.join(wrong)[:100]}"
                )
            first += len(rows)
            listed = {name: [row[i] for row in rows] for name, i in places.items()}
            yield Block(listed, len(rows), file.done(), text=True)


def _records(file: CsvFile, text: io.TextIOWrapper) -> Iterator[list[str]]:
    """Values of each record; blank lines and the header are left out."""
    read = -1
    try:
        for row in csv.reader(text, delimiter=file.delimiter, strict=True):
            if row:
                read += 1
                if read:
                    yield row
    except csv.Error as error:
        raise malformed(file.source, error, read) from None
    except UnicodeDecodeError:
        raise not_utf8(file.source) from None


def at_row(row: int) -> str:
    """Where a row of a file is, for a message."""
    return f" at row {row:,} (counted from 0)"


def not_utf8(source: Input) -> CliError:
    """The error for bytes that are not UTF-8."""
    return CliError(f"{source.name} is not UTF-8 text; convert it, for instance with iconv, or give its --format")


def cut_short(source: Input, row: int | None = None) -> CliError:
    """The error for a file that ends inside quotes, which begin in this row, or in the header."""
    where = " among the names of columns" if row is None else at_row(row)
    return CliError(
        f"{source.name} ends inside quotes: a value{where} begins with one and is never closed.\n"
        "if the file was cut short, write or copy it again; a quote inside a value is written as two, in quotes"
    )


def malformed(source: Input, error: csv.Error, row: int | None = None) -> CliError:
    """The error for text that is not CSV."""
    if "unexpected end of data" in str(error):
        return cut_short(source, row)
    return CliError(f"{source.name} cannot be read as CSV: {error}{'' if row is None else at_row(row)}")
