"""What every reader of a table gives: blocks of its rows, in the order of the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

Column: TypeAlias = Any  # one entry a row: an array of NumPy or Arrow, or a list of text
Columns: TypeAlias = Mapping[str, Column]
Kinds: TypeAlias = Mapping[str, Literal["number", "text"]]  # how columns of CSV files are read
NO_KINDS: Kinds = {}


class Block(NamedTuple):
    """Consecutive rows of a table."""

    columns: Columns
    rows: int
    done: float | None  # share of the file that was read; None if its size is not known
    text: bool = False  # whether the file is text, so that a group 7 may be a number
    folders: tuple[str, ...] = ()  # columns that come from names of folders, which are text too

    def is_text(self, name: str) -> bool:
        """Whether the values of a column were written as text."""
        return self.text or name in self.folders


class Reader(Protocol):
    """A table that is read from its first row to its last, block by block."""

    names: list[str]

    def blocks(self, columns: list[str] | None, skip: int = 0) -> Iterator[Block]:
        """Blocks of the rows after the first `skip`, with these columns (None: all)."""
        ...

    def empty(self) -> Columns:
        """All columns without rows, with their types."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...
