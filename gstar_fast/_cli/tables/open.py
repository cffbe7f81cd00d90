"""A table -> its reader, with the columns that folders give and errors that name the file."""

from __future__ import annotations

import contextlib
import re
import zlib
from collections.abc import Iterator, Mapping
from urllib.parse import unquote_to_bytes

import numpy as np

from gstar_fast._base.text import near, some, without_secrets
from gstar_fast._cli.errors import CliError, extra_missing
from gstar_fast._cli.tables import inputs
from gstar_fast._cli.tables.columns import name_of_text, numbers_of
from gstar_fast._cli.tables.inputs import Input
from gstar_fast._cli.tables.places import is_url, partition_folders
from gstar_fast._cli.tables.plain import CsvReader
from gstar_fast._cli.tables.reader import NO_KINDS, Block, Column, Columns, Kinds, Reader

NULL = "__HIVE_DEFAULT_PARTITION__"
READ_ERRORS = (OSError, ValueError, EOFError, zlib.error)  # of damaged files; pyarrow's own errors are among them


@contextlib.contextmanager
def reading(source: Input, kinds: Kinds = NO_KINDS, *, as_text: bool = False, whole: bool = False) -> Iterator[Reader]:
    """A reader of the table; every error in opening and reading it is a CliError that names the file.

    `kinds` says how columns of text are read, `as_text` keeps all values of a CSV file as written, and `whole` gives
    columns their own types, for a reader of all columns.
    """
    far = source.path is not None and is_url(source.path)
    reader: Reader | None = None
    try:
        reader = _opened(source, kinds, as_text, whole)
        yield _with_folders(reader, source, kinds, as_text, whole)
    except CliError:
        raise
    except READ_ERRORS as error:
        raise unreadable(source, error) from None if far else error  # errors of stores may repeat a password
    except Exception as error:
        if not far:
            raise
        raise unreadable(source, error) from None  # stores raise errors of any type
    finally:
        if reader is not None:
            reader.close()


def _opened(source: Input, kinds: Kinds, as_text: bool, whole: bool) -> Reader:
    is_csv = source.format in ("csv", "tsv")
    if is_csv and (as_text or not inputs.has_pyarrow()):
        return CsvReader(source)
    if not inputs.has_pyarrow():
        raise extra_missing(f"{source.name}: reading {source.format}", "pyarrow")
    from gstar_fast._cli.tables import arrow

    if is_csv:
        return arrow.CsvReader(source, kinds, whole=whole)
    return arrow.ParquetReader(source, whole=whole) if source.format == "parquet" else arrow.ArrowReader(source)


def unreadable(source: Input, error: Exception) -> CliError:
    """The error for a file that cannot be read, with the first words of the library's own."""
    if isinstance(error, FileNotFoundError):
        return CliError(f"{source.name} does not exist")
    if isinstance(error, PermissionError):
        return CliError(f"{source.name} may not be read: permission denied")
    what = {"arrow": "an Arrow or Feather file", "parquet": "a Parquet file"}.get(source.format, "a CSV file")
    said = " ".join(without_secrets(str(error)).split())
    said = said[:200] + "..." if len(said) > 200 else said
    return CliError(
        f"{source.name} cannot be read as {what} to its end; it is another format (--format), damaged or cut short.\n"
        f"found: {said or type(error).__name__}"
    )


def check_columns(source: Input, names: list[str], wanted: Mapping[str, str | None]) -> None:
    """Raise if the table does not have each column once; `wanted` is option -> column."""
    for option, column in wanted.items():
        if column is None or names.count(column) == 1:
            continue
        if column in names:
            raise CliError(f"{source.name} has more than one column {column!r}; rename all but one")
        hint = near(column, names)
        if not hint and len(names) == 1 and source.format == "csv":
            sign = next((sign for sign in ";\t|" if sign in names[0]), None)
            if sign is not None:
                hint = f"; is it separated by {sign!r}? Then add --delimiter {sign!r}"
        raise CliError(f"{source.name} has no column {column!r} ({option}){hint}\nits columns: {some(names, 30)}")


# -------------------------------------------------------------------------------------------------------------- folders


def _with_folders(reader: Reader, source: Input, kinds: Kinds, as_text: bool, whole: bool) -> Reader:
    """The reader with the columns of folders such as `sex=F`; a column of the file itself comes first."""
    raw: dict[str, str] = {}
    for folder in [] if source.path is None else partition_folders(source.path):
        name, _, value = folder.partition("=")
        name = _decoded(name, f"{source.name}: the folder {without_secrets(folder)!r}")
        if raw.setdefault(name, value) != value:
            raise CliError(f"{source.name} is in two folders for the column {name!r}; it can have one value only")
    new = {name: value for name, value in raw.items() if name not in reader.names}
    return _Folders(reader, source, new, kinds, as_text=as_text, whole=whole) if new else reader


def _decoded(text: str, where: str) -> str:
    """Text that is percent-encoded UTF-8."""
    wrong = re.search(r"%(?![0-9A-Fa-f]{2}).{0,2}", text)
    if wrong:
        raise CliError(f"{where} has {wrong[0]!r}, which encodes no character; a percent sign is written %25")
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeError:
        raise CliError(f"{where} is not percent-encoded UTF-8; rename the folder") from None


class _Folders:
    """A reader with more columns, each of which has one value."""

    def __init__(
        self, reader: Reader, source: Input, raw: dict[str, str], kinds: Kinds, *, as_text: bool, whole: bool
    ) -> None:
        self._reader, self._source, self._raw = reader, source, raw
        self._kinds, self._as_text, self._whole = kinds, as_text, whole
        self.names = [*reader.names, *raw]

    def blocks(self, columns: list[str] | None, skip: int = 0) -> Iterator[Block]:
        wanted = list(self._raw) if columns is None else [name for name in self._raw if name in columns]
        own = columns
        if columns is not None:  # at least one, since its length is the number of rows
            own = [name for name in columns if name not in self._raw] or self._reader.names[:1]
        for block in self._reader.blocks(own, skip):
            added = {name: self._column(name, block.rows) for name in wanted}
            yield block._replace(columns={**block.columns, **added}, folders=tuple(added))

    def empty(self) -> Columns:
        return {**self._reader.empty(), **{name: self._column(name, 0) for name in self._raw}}

    def close(self) -> None:
        self._reader.close()

    def _column(self, name: str, rows: int) -> Column:
        """The value in every row: a number or text as `kinds` says, else of the type that it shows."""
        where = f"{self._source.name}: column {name!r}"
        raw, kind = self._raw[name], self._kinds.get(name)
        value = "" if raw == NULL else _decoded(raw, f"{self._source.name}: the folder {f'{name}={raw}'!r}")
        if self._as_text or not inputs.has_pyarrow():
            return [value] * rows
        import pyarrow as pa

        if kind == "number":
            return pa.array(np.full(rows, numbers_of([value], where)[0]))
        if kind != "text" and isinstance(name_of_text(value), int):
            return pa.array(np.full(rows, int(value)))
        codes = pa.array(np.zeros(rows, np.int8), mask=np.full(rows, value == ""))
        column = pa.DictionaryArray.from_arrays(codes, pa.array([value]))
        return column.cast(pa.string()) if self._whole else column
