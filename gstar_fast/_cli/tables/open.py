"""A table -> blocks of its rows, with the columns that folders give and errors that name the file."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from urllib.parse import unquote_to_bytes

import numpy as np

from gstar_fast._base.text import near, some, without_secrets
from gstar_fast._cli.errors import CliError, extra_missing
from gstar_fast._cli.tables import inputs
from gstar_fast._cli.tables.columns import name_of_text, numbers_of
from gstar_fast._cli.tables.csv_file import read_plain
from gstar_fast._cli.tables.inputs import Block, Column, Input, Wanted
from gstar_fast._cli.tables.places import is_url, partition_folders

NULL = "__HIVE_DEFAULT_PARTITION__"
READ_ERRORS = (OSError, ValueError, EOFError, zlib.error)  # of damaged files; pyarrow's own errors are among them


def blocks_of(source: Input, wanted: Wanted, skip: int = 0) -> Iterator[Block]:
    """An empty block, and the blocks of the rows after the first `skip`.

    Every error in opening and reading the table is a CliError that names the file.
    """
    far = source.path is not None and is_url(source.path)
    try:
        yield from _with_folders(source, wanted, skip)
    except CliError:
        raise
    except Exception as error:
        if not (far or isinstance(error, READ_ERRORS)):  # stores raise errors of any type
            raise
        raise _unreadable(source, error) from None if far else error  # errors of stores may repeat a password


def _read(source: Input, wanted: Wanted, skip: int) -> Iterator[Block]:
    if source.format in ("csv", "tsv") and (wanted.as_text or not inputs.has_pyarrow()):
        return read_plain(source, wanted, skip)
    if not inputs.has_pyarrow():
        raise extra_missing(f"{source.name}: reading {source.format}", "pyarrow")
    from gstar_fast._cli.tables import arrow

    readers = {"parquet": arrow.read_parquet, "arrow": arrow.read_arrow}
    return readers.get(source.format, arrow.read_csv)(source, wanted, skip)


def _unreadable(source: Input, error: Exception) -> CliError:
    """The error for a file that cannot be read, with the first words of the library's own."""
    for kind, why in ((FileNotFoundError, "does not exist"), (PermissionError, "may not be read: permission denied")):
        if isinstance(error, kind):
            return CliError(f"{source.name} {why}")
    what = {"arrow": "an Arrow or Feather file", "parquet": "a Parquet file"}.get(source.format, "a CSV file")
    said = " ".join(without_secrets(str(error)).split())
    said = said[:200] + "..." if len(said) > 200 else said
    return CliError(
        f"{source.name} cannot be read as {what} to its end; it is another format (--format), damaged or cut short.\n"
        f"found: {said or type(error).__name__}"
    )


def checked_columns(source: Input, names: list[str], wanted: Mapping[str, str | None]) -> list[str]:
    """The columns of `wanted` (option -> column), each once; raises if the table does not have one of them once."""
    for option, column in wanted.items():
        if column is None or names.count(column) == 1:
            continue
        if column in names:
            raise CliError(f"{source.name} has more than one column {column!r}; rename all but one")
        hint = near(column, names)
        if not hint and len(names) == 1 and source.format == "csv":
            for sign in filter(names[0].__contains__, "|\t;"):
                hint = f"; is it separated by {sign!r}? Then add --delimiter {sign!r}"
        raise CliError(f"{source.name} has no column {column!r} ({option}){hint}\nits columns: {some(names, 30)}")
    return list(dict.fromkeys(column for column in wanted.values() if column is not None))


def _with_folders(source: Input, wanted: Wanted, skip: int) -> Iterator[Block]:
    """The blocks with the columns of folders such as `sex=F`; a column of the file itself comes first."""
    given = _folders_of(source)
    added: dict[str, str] = {}

    def choose(names: list[str]) -> list[str]:
        chosen = wanted.choose([*names, *(name for name in given if name not in names)])
        added.update({name: given[name] for name in chosen if name not in names})
        # at least one column of the file, since its length is the number of rows
        return [name for name in chosen if name not in added] or names[:1]

    for block in _read(source, wanted._replace(choose=choose), skip):
        more = {name: _constant(source, name, raw, wanted, block.rows) for name, raw in added.items()}
        yield block._replace(columns={**block.columns, **more}, folders=tuple(more))


def _folders_of(source: Input) -> dict[str, str]:
    """Column -> value, as the folders write it."""
    found: dict[str, str] = {}
    for folder in [] if source.path is None else partition_folders(source.path):
        name, _, value = folder.partition("=")
        name = _decoded(name, f"{source.name}: the folder {without_secrets(folder)!r}")
        if found.setdefault(name, value) != value:
            raise CliError(f"{source.name} is in two folders for the column {name!r}; it can have one value only")
    return found


def _decoded(text: str, where: str) -> str:
    """Text that is percent-encoded UTF-8."""
    wrong = re.search(r"%(?![0-9A-Fa-f]{2}).{0,2}", text)
    if wrong:
        raise CliError(f"{where} has {wrong[0]!r}, which encodes no character; a percent sign is written %25")
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeError:
        raise CliError(f"{where} is not percent-encoded UTF-8; rename the folder") from None


def _constant(source: Input, name: str, raw: str, wanted: Wanted, rows: int) -> Column:
    """The value of a folder in every row: a number or text as `kinds` says, else of the type that it shows."""
    value = "" if raw == NULL else _decoded(raw, f"{source.name}: the folder {f'{name}={raw}'!r}")
    if wanted.as_text or not inputs.has_pyarrow():
        return [value] * rows
    import pyarrow as pa

    kind = wanted.kinds.get(name)
    if kind == "number":
        return pa.array(np.full(rows, numbers_of([value], source.column(name))[0]))
    if kind != "text" and isinstance(name_of_text(value), int):
        return pa.array(np.full(rows, int(value)))
    codes = pa.array(np.zeros(rows, np.int8), mask=np.full(rows, value == ""))
    column = pa.DictionaryArray.from_arrays(codes, pa.array([value]))
    return column.cast(pa.string()) if wanted.whole else column
