"""Columns that the names of folders give, as Hive, Spark and DuckDB write them: `sex=F/part-0.parquet`.

Such a column has one value for all rows of a file. What its text stands for is decided as in a CSV file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

import numpy as np

from gstar_fast._base.text import without_secrets
from gstar_fast._cli.errors import CliError
from gstar_fast._cli.tables import inputs
from gstar_fast._cli.tables.columns import name_of_text, numbers_of
from gstar_fast._cli.tables.inputs import NO_KINDS, Block, Column, Input, Kinds, Reader
from gstar_fast._cli.tables.places import partition_folders

NULL = "__HIVE_DEFAULT_PARTITION__"


def partitioned(reader: Reader, source: Input, *, as_text: bool, whole: bool) -> Reader:
    """The reader, with the columns of the folders that its file is in; columns of the file itself come first."""
    if source.path is None:
        return reader
    raw: dict[str, str] = {}
    for folder in partition_folders(source.path):
        name, _, value = folder.partition("=")
        name = _decoded(name, f"{source.name}: the folder {without_secrets(folder)!r}")
        if name in raw and raw[name] != value:
            raise CliError(f"{source.name} is in two folders for the column {name!r}; it can have one value only")
        raw[name] = value
    new = {name: value for name, value in raw.items() if name not in reader.names}
    return Partitioned(reader, source, new, as_text=as_text, whole=whole) if new else reader


def _decoded(text: str, where: str) -> str:
    """Text that is percent-encoded UTF-8."""
    wrong = re.search(r"%(?![0-9A-Fa-f]{2}).{0,2}", text)
    if wrong:
        raise CliError(f"{where} has {wrong[0]!r}, which encodes no character; a percent sign is written %25")
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeError:
        raise CliError(f"{where} is not percent-encoded UTF-8; rename the folder") from None


class Partitioned:
    """A table with more columns, each of one value."""

    def __init__(self, reader: Reader, source: Input, raw: dict[str, str], *, as_text: bool, whole: bool) -> None:
        self._reader = reader
        self._source = source
        self._raw = raw
        self._as_text = as_text
        self._whole = whole
        self.text = reader.text
        self.names = [*reader.names, *raw]

    def blocks(self, columns: list[str] | None, *, skip: int = 0, kinds: Kinds = NO_KINDS) -> Iterator[Block]:
        own = None
        if columns is not None:  # at least one, since its length is the number of rows
            own = [name for name in columns if name not in self._raw] or self._reader.names[:1]
        for block in self._reader.blocks(own, skip=skip, kinds=kinds):
            yield self._extended(block, columns, kinds)

    def nothing(self, kinds: Kinds = NO_KINDS) -> Block:
        return self._extended(self._reader.nothing(kinds), None, kinds)

    def close(self) -> None:
        self._reader.close()

    def _extended(self, block: Block, columns: list[str] | None, kinds: Kinds) -> Block:
        wanted = [name for name in self._raw if columns is None or name in columns]
        added = {name: self._column(name, block.rows, kinds) for name in wanted}
        return block._replace(columns={**block.columns, **added}, folders=tuple(added))

    def _column(self, name: str, rows: int, kinds: Kinds) -> Column:
        """The value in every row: text where text is asked for, else of the type that it shows."""
        where = f"{self._source.name}: column {name!r}"
        raw = self._raw[name]
        value = "" if raw == NULL else _decoded(raw, f"{self._source.name}: the folder {f'{name}={raw}'!r}")
        kind = kinds.get(name)
        if self._as_text:
            return [value] * rows
        if kind == "number":
            return np.full(rows, numbers_of([value], where)[0])
        if kind != "text" and isinstance(name_of_text(value), int):
            return np.full(rows, int(value))
        if not inputs.has_pyarrow():
            return [value] * rows
        import pyarrow as pa

        codes = pa.array(np.zeros(rows, np.int8), mask=np.full(rows, value == ""))
        column = pa.DictionaryArray.from_arrays(codes, pa.array([value]))
        return column.cast(pa.string()) if self._whole else column
