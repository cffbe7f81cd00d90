"""CSV read by the standard library: without pyarrow, and by `apply` from CSV to CSV, which keeps values as written."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
from collections.abc import Iterator

from gstar_fast._cli.errors import CliError
from gstar_fast._cli.tables.csv_file import CsvFile, at_row, malformed, not_utf8
from gstar_fast._cli.tables.inputs import Input
from gstar_fast._cli.tables.reader import Block, Wanted

TEXT_ROWS = 1 << 15  # rows of text take much more memory than numbers
csv.field_size_limit(1 << 24)


def read_csv(source: Input, wanted: Wanted, skip: int) -> Iterator[Block]:
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
