"""Columns as files have them -> columns as `Sketch.update` and a decider take them.

Scores become numbers, labels 0, 1 or nothing, groups names. Each text is read by itself, whatever the rows around it
are, so the answer does not depend on where a file was cut.
"""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gstar_fast._base.arrays import Values
from gstar_fast._base.names import Name
from gstar_fast._base.sections import LabelTexts
from gstar_fast._base.text import some
from gstar_fast._cli.errors import CliError
from gstar_fast._cli.tables.csv_file import at_row
from gstar_fast._cli.tables.inputs import Column
from gstar_fast._input.arrow import read_column
from gstar_fast._input.positive import label_text

if TYPE_CHECKING:
    import pyarrow as pa

# a missing score, weight or label, in upper or lower case; NA may be a group, and `none` may be a label
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null"})
TRUTH = {"true": 1, "false": 0}


def _pa() -> ModuleType:
    return import_module("pyarrow")


class _Texts(NamedTuple):
    """A column as its distinct values and, for each row, the index of its value; -1 for a null."""

    values: list[object]
    codes: Values


def _texts_of(column: Column) -> _Texts | None:
    """A list of text, or an Arrow column of text or of a dictionary; None for all others."""
    if isinstance(column, list):
        index = {value: i for i, value in enumerate(dict.fromkeys(column))}
        return _Texts(list(index), np.fromiter(map(index.__getitem__, column), np.int64, len(column)))
    encoded = _dictionary(column)
    return None if encoded is None else _by_code(encoded)


def _dictionary(column: Column) -> pa.DictionaryArray | None:
    """An Arrow column of text as a dictionary, a dictionary unchanged, None for all others."""
    types = _pa().types
    kind = column.type
    if types.is_dictionary(kind):
        return column
    if types.is_string(kind) or types.is_large_string(kind):
        return column.dictionary_encode()
    if str(kind) == "string_view":
        return column.cast(_pa().string()).dictionary_encode()
    return None


def _by_code(column: pa.DictionaryArray) -> _Texts:
    codes, valid, _ = read_column(column.indices, "codes")  # to_numpy of pyarrow would import pandas
    return _Texts(column.dictionary.to_pylist(), codes if valid is None else np.where(valid, codes, -1))


# -------------------------------------------------------------------------------------------------------------- numbers


def no_number(where: str, value: str, row: int | None = None) -> CliError:
    """The error for a text that is not a number."""
    at = "" if row is None else at_row(row)
    comma = re.fullmatch(r"\s*([-+]?\d+),(\d+)\s*", value)
    cure = f"; write numbers with a decimal point: {comma[1]}.{comma[2]}" if comma else ""
    return CliError(f"{where} must hold numbers, found {value[:60]!r}{at}{cure}")


def numbers_of(column: Column, where: str, first_row: int = 0) -> Column:
    """Scores or weights: numbers, with NaN for what is missing."""
    if isinstance(column, list):
        return _numbers_of_text(column, where, first_row)
    types = _pa().types
    kind = column.type
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if types.is_decimal(kind):
        return column.cast(_pa().float64())
    if types.is_null(kind):
        return np.full(len(column), np.nan)
    if not (types.is_integer(kind) or types.is_floating(kind)):
        hint = "; a decision is not a score: name the column it was made from" if types.is_boolean(kind) else ""
        raise CliError(f"{where} must hold numbers, found {kind}{hint}")
    return column


def _numbers_of_text(values: list[str], where: str, first_row: int) -> NDArray[np.float64]:
    every = "".join(values)
    if every.isascii() and "_" not in every:
        try:
            return np.array(list(map(float, values)))
        except ValueError:
            pass
    numbers = np.full(len(values), np.nan)
    for i, value in enumerate(values):
        if value.lower() not in MISSING:
            try:
                numbers[i] = _float(value)
            except ValueError:
                raise no_number(where, value, first_row + i) from None
    return numbers


def _float(text: str) -> float:
    """A number as pyarrow reads it; Python alone would take 1_000 and the digits of all scripts."""
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return float(text)


# --------------------------------------------------------------------------------------------------------------- labels


@dataclass
class Labels:
    """Labels, or decisions, as 0 and 1; keeps the values it saw, for the error when none was positive."""

    positive: str | None
    what: Literal["label", "decision"] = "label"
    seen: LabelTexts = field(default=LabelTexts(()))
    came: bool = False  # whether a row had the positive one

    def of(self, column: Column, where: str, first_row: int = 0) -> Column:
        """Labels of a column: a null, a NaN or an empty text is not a label."""
        texts = _texts_of(column)
        if texts is None:
            types, kind = _pa().types, column.type
            whole = types.is_integer(kind) or types.is_boolean(kind)
            if whole and not column.null_count and self.positive is None:
                return column
            if not (whole or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind)):
                raise CliError(f"{where} must hold {self.what}s 0 and 1, found {kind}")
            texts = _by_code((column.cast(_pa().float64()) if types.is_floating(kind) else column).dictionary_encode())
        values, codes = texts
        labels = np.array([*map(self._one, values), 2], np.uint8)[codes]
        ones, missing, wrong = (labels == code for code in (1, 2, 3))
        if self.positive is not None or wrong.any():
            present = [str(values[code]) for code in np.unique(codes[~missing]).tolist()]  # no row may have the others
            if wrong.any():
                raise self._wrong(where, present, first_row + int(wrong.argmax()))
            self.seen |= LabelTexts.of(label_text(text.strip()) for text in present)
            self.came |= bool(ones.any())
        return np.ma.MaskedArray(ones.view(np.uint8), mask=missing) if missing.any() else ones.view(np.uint8)

    def _one(self, value: object) -> int:
        """0, 1, 2 for a missing label, 3 for a value that is not a label."""
        text = str(value).strip()
        if value is None or text.lower() in MISSING:
            return 2
        if self.positive is not None:
            return int(text == self.positive or (_as_number(text) == _as_number(self.positive)))
        if text.lower() in TRUTH:
            return TRUTH[text.lower()]
        number = _as_number(text)
        return int(number) if number in (0, 1) else 3

    def never_came(self, option: str) -> CliError:
        """The error if no row has the value that an option names."""
        found = some(map(repr, self.seen.texts)) + ", ..." * self.seen.more
        return CliError(f"no row has the {self.what} {self.positive!r} ({option}); found {found}")

    def _wrong(self, where: str, found: Iterable[str], row: int) -> CliError:
        values = sorted(set(found))
        if self.what == "label":
            cure = f"say which one is positive: --positive {shlex.quote(values[-1])}"
        else:
            cure = "say which one accepts: --accepted VALUE, or audit scores with --thresholds"
        first = f"; the first that is neither is{at_row(row)}" if row else ""
        return CliError(f"{where} must hold {self.what}s 0 and 1, found {some(map(repr, values), 6)}{first}; {cure}")


def label_name(text: str) -> int | str:
    """A label as a sketch remembers it: the same for 1, 1.0 and true."""
    number = float(_as_number(text))
    if number != number:
        return text
    return int(number) if number.is_integer() and abs(number) < 2**63 else repr(number)


def _as_number(text: str) -> float:
    """The number of a text, NaN if it is not a number."""
    if text.lower() in TRUTH:
        return TRUTH[text.lower()]
    try:
        return _float(text)
    except ValueError:
        return float("nan")


# --------------------------------------------------------------------------------------------------------------- groups


def name_of_text(text: str, end: int = 2**63) -> int | str:
    """A whole number in its usual form becomes an int; other text, such as 007 and 1.0, stays text.

    So does a number of `end` or more, or under -2^63, which no column of numbers could hold.
    """
    digits = text[1:] if text.startswith("-") else text
    if digits.isascii() and digits.isdecimal() and len(digits) <= 20:
        number = int(text)
        if -(2**63) <= number < end and str(number) == text:
            return number
    return text


def keys_of(column: Column, where: str, first_row: int) -> Column:
    """Keys of a column: the text of a whole number is that number, in every format."""
    return groups_of(column, where, lambda text: name_of_text(text, 2**64), first_row, "key")


def known_names(names: Iterable[Name]) -> Callable[[str], Name]:
    """How a text is read where the groups are known: as the group that is written so."""
    table: dict[str, Name] = {}
    for name in sorted(names, key=lambda name: isinstance(name, str)):  # text last, so that it wins
        if isinstance(name, bool):
            table |= {str(name): name, str(name).lower(): name, str(name).upper(): name}
        else:
            table[str(name)] = name
    return lambda text: table.get(text, name_of_text(text))


def missing_group(text: str | None, columns: int, name_of: Callable[[str], Name] = name_of_text) -> Name:
    """The value of --missing-group: raise, skip, or a name, which is used for each of the group columns."""
    if text in (None, "raise", "skip"):
        return text or "raise"
    name = name_of(str(text))
    return name if columns == 1 or isinstance(name, tuple) else (name,) * columns


def groups_of(
    column: Column,
    where: str,
    name_of: Callable[[str], Name] | None,
    first_row: int = 0,
    what: str = "group",
    *,
    nulls: bool = False,
) -> Column:
    """Groups (or keys) of a column; `name_of` converts a text to a name, None keeps the text.

    With `nulls`, missing groups are null in the result; otherwise they are an error.
    """
    encoded = None if isinstance(column, list) else _dictionary(column)
    texts = _texts_of(column if encoded is None else encoded)
    if texts is None and not (_pa().types.is_integer(column.type) or _pa().types.is_boolean(column.type)):
        cure = "Bin the column first" if what == "group" else "Cast the column first"
        raise CliError(f"{where} is {column.type}; {what}s must be integers or text. {cure}.")
    if name_of is None or texts is None:
        if column.null_count and not nulls:
            raise _missing(column.is_null().to_numpy(zero_copy_only=False), where, first_row, what)
        return column if encoded is None else encoded
    names = [None if value in (None, "") else name_of(str(value)) for value in texts.values]
    names.append(None)  # for the code -1 of a null
    if not nulls:
        absent = np.array([name is None for name in names])[texts.codes]
        if absent.any():
            raise _missing(absent, where, first_row, what)
    if encoded is not None and names[:-1] == texts.values:
        return encoded
    if encoded is not None and all(name is None or type(name) is int for name in names):
        with contextlib.suppress(OverflowError):  # keys may be larger
            known = np.array([0 if name is None else name for name in names[:-1]], np.int64)
            there = np.packbits(np.array([name is not None for name in names[:-1]], bool), bitorder="little")
            buffers = [_pa().py_buffer(there), _pa().py_buffer(known)]  # pyarrow.array would import pandas
            dictionary = _pa().Array.from_buffers(_pa().int64(), len(known), buffers)
            return _pa().DictionaryArray.from_arrays(encoded.indices, dictionary)
    table = np.empty(len(names), object)
    table[:] = names
    return table[texts.codes]


def _missing(absent: NDArray[np.bool_], where: str, first_row: int, what: str) -> CliError:
    cure = "name a group for them with --missing-group" if what == "group" else "give them one of their own"
    return CliError(
        f"{where} is empty in {int(absent.sum()):,} of the {len(absent):,} rows from row {first_row:,} on (the first: "
        f"row {first_row + int(absent.argmax()):,}); every row needs a {what}, so drop these or {cure}"
    )
