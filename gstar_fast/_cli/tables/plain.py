"""CSV read by the standard library: without pyarrow, and by `apply` from CSV to CSV, which keeps values as written."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator

from gstar_fast._cli.errors import CliError
from gstar_fast._cli.tables.csv_file import CsvFile, at_row, malformed, not_utf8
from gstar_fast._cli.tables.inputs import Input
from gstar_fast._cli.tables.reader import Block, Columns

TEXT_ROWS = 1 << 15  # rows of text take much more memory than numbers
csv.field_size_limit(1 << 24)


class CsvReader:
    """A CSV file as lists of text, one for each column."""

    def __init__(self, source: Input) -> None:
        self._file = CsvFile(source)
        self._text = io.TextIOWrapper(io.BufferedReader(self._file, 1 << 20), encoding="utf-8", newline="")
        self.names = self._file.names

    def blocks(self, columns: list[str] | None, skip: int = 0) -> Iterator[Block]:
        """Blocks of rows after the first `skip`."""
        names = self.names if columns is None else columns
        places = [self.names.index(name) for name in names]
        records = itertools.islice(self._records(), skip, None)
        first, width = skip, len(self.names)
        while rows := list(itertools.islice(records, TEXT_ROWS)):
            if set(map(len, rows)) != {width}:
                row, wrong = next((i, one) for i, one in enumerate(rows, first) if len(one) != width)
                raise CliError(
                    f"{self._file.source.name} has rows of different length: expected {width} columns, "
                    f"got {len(wrong)}{at_row(row)}: {self._file.delimiter.join(wrong)[:100]}"
                )
            first += len(rows)
            listed = {name: [row[i] for row in rows] for name, i in zip(names, places, strict=True)}
            yield Block(listed, len(rows), self._file.done(), text=True)

    def _records(self) -> Iterator[list[str]]:
        """Values of each record; blank lines and the header are left out."""
        read = -1
        try:
            for row in csv.reader(self._text, delimiter=self._file.delimiter, strict=True):
                if row:
                    read += 1
                    if read:
                        yield row
        except csv.Error as error:
            raise malformed(self._file.source, error, read) from None
        except UnicodeDecodeError:
            raise not_utf8(self._file.source) from None

    def empty(self) -> Columns:
        """All columns without rows."""
        return {name: [] for name in self.names}

    def close(self) -> None:
        """Close the file."""
        self._file.close()
