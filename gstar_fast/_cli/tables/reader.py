"""What every reader of a table gives: blocks of its rows, in the order of the file.

A reader is a generator. Its first block has no rows: it shows the columns, and their types, before any row is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

Column: TypeAlias = Any  # one entry a row: an array of NumPy or Arrow, or a list of text
Columns: TypeAlias = Mapping[str, Column]
Kinds: TypeAlias = Mapping[str, Literal["number", "text"]]  # how columns of CSV files are read


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


class Wanted(NamedTuple):
    """Which columns of a table are read, and how."""

    choose: Callable[[list[str]], list[str]]  # the names that a table has -> those to read; raises if one is missing
    kinds: Kinds  # of the other columns of a CSV file, the type shows in their values
    as_text: bool = False  # keep all values of a CSV file as they are written
    whole: bool = False  # for a reader of all columns: text is not encoded as dictionaries
