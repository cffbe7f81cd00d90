"""A table -> its reader, and the errors of tables that cannot be read."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator, Mapping

from gstar_fast._base.text import near, some, without_secrets
from gstar_fast._cli.errors import CliError, pyarrow_missing
from gstar_fast._cli.tables import inputs
from gstar_fast._cli.tables.hive import partitioned
from gstar_fast._cli.tables.inputs import Input, Reader
from gstar_fast._cli.tables.places import is_url

# what readers raise at a file that is damaged; pyarrow's own errors are among them
READ_ERRORS = (OSError, ValueError, EOFError, zlib.error)


def open_table(source: Input, *, as_text: bool = False, whole: bool = False) -> Reader:
    """A reader for the table.

    `as_text` keeps every value of a CSV file as it is written; `whole` says that all columns are wanted, and with their
    own types. Whatever is wrong with the file is a CliError that names it.
    """
    try:
        reader = _open(source, as_text, whole)
        try:
            return partitioned(reader, source, as_text=as_text, whole=whole)
        except BaseException:
            reader.close()
            raise
    except CliError:
        raise
    except READ_ERRORS as error:
        raise unreadable(source, error) from _cause(source, error)


@contextlib.contextmanager
def reading(source: Input, *, as_text: bool = False, whole: bool = False) -> Iterator[Reader]:
    """`open_table` for a while; what goes wrong on the way is a CliError that names the file, too."""
    reader = open_table(source, as_text=as_text, whole=whole)
    try:
        yield reader
    except CliError:
        raise
    except READ_ERRORS as error:
        raise unreadable(source, error) from _cause(source, error)
    except Exception as error:  # stores have errors of their own kinds
        if _cause(source, error) is not None:
            raise
        raise unreadable(source, error) from None
    finally:
        reader.close()


def _cause(source: Input, error: Exception) -> Exception | None:
    """What --debug may show: errors of stores may repeat a password."""
    return None if source.path is not None and is_url(source.path) else error


def _open(source: Input, as_text: bool, whole: bool) -> Reader:
    if source.format == "npz":
        from gstar_fast._cli.tables.plain import NpzReader

        return NpzReader(source)
    if source.format in ("csv", "tsv") and (as_text or not inputs.has_pyarrow()):
        from gstar_fast._cli.tables.plain import CsvReader

        return CsvReader(source)
    if not inputs.has_pyarrow():
        raise pyarrow_missing(f"{source.name}: reading {source.format}")
    from gstar_fast._cli.tables import arrow

    if source.format in ("csv", "tsv"):
        return arrow.CsvReader(source, typed=whole)
    return arrow.ParquetReader(source, whole=whole) if source.format == "parquet" else arrow.IpcReader(source)


def unreadable(source: Input, error: Exception) -> CliError:
    """The error for a file that is not what it should be; only what the library said first is repeated."""
    if isinstance(error, FileNotFoundError):
        return CliError(f"{source.name} does not exist")
    if isinstance(error, PermissionError):
        return CliError(f"{source.name} may not be read: permission denied")
    words = {"npz": "an NPZ file", "arrow": "an Arrow or Feather file", "parquet": "a Parquet file"}
    what = words.get(source.format, "a CSV file")
    said = " ".join(without_secrets(str(error)).split())
    said = said[:200] + "..." if len(said) > 200 else said
    return CliError(
        f"{source.name} cannot be read as {what} to its end; it is another format (--format), damaged or cut short.\n"
        f"found: {said or type(error).__name__}"
    )


def check_columns(source: Input, names: list[str], wanted: Mapping[str, str | None]) -> None:
    """Refuse a table that lacks a column; `wanted` is option -> column."""
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
