"""Columns as files have them -> columns as `Sketch.update` and a decider take them.

Scores become numbers, labels 0, 1 or nothing, groups names. What a text stands for is decided value by value, never by
the rows around it, so that the answer does not depend on where a file was cut.
"""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from gstar_fast._base.arrays import Values
from gstar_fast._base.names import Name
from gstar_fast._base.sketch_parts.sections import LabelTexts
from gstar_fast._base.text import some
from gstar_fast._cli.errors import CliError
from gstar_fast._cli.tables.inputs import Column
from gstar_fast._cli.tables.plain import at_row
from gstar_fast._input.positive import label_text

if TYPE_CHECKING:
    import pyarrow as pa

# what stands for "not there" as a score, a weight or a label, in upper or lower case; names of groups are spared, since
# NA may be one, and `none` is a word like others: it may be the label of those who have none of what is looked for
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null"})
TRUTH = {"true": 1, "false": 0}


def is_arrow(column: Column) -> bool:
    """Whether a column came from pyarrow."""
    return type(column).__module__.startswith("pyarrow")


def _pa() -> ModuleType:
    return import_module("pyarrow")


def _dictionary(column: Column) -> pa.DictionaryArray | None:
    """A column of text as a dictionary, one that is a dictionary as it is, None for all others."""
    types = _pa().types
    kind = column.type
    if types.is_dictionary(kind):
        return column
    if types.is_string(kind) or types.is_large_string(kind):
        return column.dictionary_encode()
    if str(kind) == "string_view":
        return column.cast(_pa().string()).dictionary_encode()
    return None


def _codes(column: Column) -> Values:
    """Codes of a dictionary column, -1 for nulls."""
    indices = column.indices
    if indices.null_count:
        indices = indices.cast(_pa().int64()).fill_null(-1)
    codes: Values = indices.to_numpy(zero_copy_only=False)
    return codes


# -------------------------------------------------------------------------------------------------------------- numbers


def no_number(where: str, value: str, row: int | None = None) -> CliError:
    """The error for a text that is no number."""
    at = "" if row is None else at_row(row)
    comma = re.fullmatch(r"\s*([-+]?\d+),(\d+)\s*", value)
    cure = f"; write numbers with a decimal point: {comma[1]}.{comma[2]}" if comma else ""
    return CliError(f"{where} must hold numbers, found {value[:60]!r}{at}{cure}")


def numbers_of(column: Column, where: str, first_row: int = 0) -> Column:
    """Scores or weights: numbers, with NaN for what is missing."""
    if isinstance(column, list):
        return _numbers_of_text(column, where, first_row)
    if not is_arrow(column):
        if column.dtype.kind in "US":
            return _numbers_of_text([str(value) for value in column.astype(str).tolist()], where, first_row)
        if column.dtype.kind not in "biuf":
            raise CliError(f"{where} must hold numbers, found {column.dtype}")
        return column
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
        hint = "; a decision is no score: name the column it was made from" if types.is_boolean(kind) else ""
        raise CliError(f"{where} must hold numbers, found {kind}{hint}")
    return column


def _numbers_of_text(values: list[str], where: str, first_row: int) -> NDArray[np.float64]:
    every = "".join(values)
    if every.isascii() and "_" not in every:
        try:
            return np.array(list(map(float, values)))
        except ValueError:
            pass
    return np.array([_number_of_text(value, where, row) for row, value in enumerate(values, first_row)])


def _number_of_text(value: str, where: str, row: int) -> float:
    if value.lower() in MISSING:
        return float("nan")
    try:
        return _float(value)
    except ValueError:
        raise no_number(where, value, row) from None


def _float(text: str) -> float:
    """A number as pyarrow reads it; Python alone would take 1_000 and the digits of all scripts."""
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return float(text)


# --------------------------------------------------------------------------------------------------------------- labels


@dataclass
class Labels:
    """Labels, or decisions, as 0 and 1; remembers what it saw, for the message when nothing was positive."""

    positive: str | None
    what: Literal["label", "decision"] = "label"
    seen: LabelTexts = field(default=LabelTexts(()))

    def of(self, column: Column, where: str, first_row: int = 0) -> Column:
        """Labels of a column: a null, a NaN or an empty text is no label."""
        if isinstance(column, list):
            index: dict[str, int] = {value: i for i, value in enumerate(dict.fromkeys(column))}
            codes = np.fromiter(map(index.__getitem__, column), np.int64, len(column))
            return self._by_value(list(index), codes, where, first_row)
        if is_arrow(column):
            encoded = _dictionary(column)
            if encoded is not None:
                return self._by_value(encoded.dictionary.to_pylist(), _codes(encoded), where, first_row)
            types = _pa().types
            kind = column.type
            plain = types.is_integer(kind) or types.is_boolean(kind)
            if plain and not column.null_count and self.positive is None:
                return column
            if types.is_boolean(kind):
                column = column.cast(_pa().int8())
            elif types.is_decimal(kind):
                column = column.cast(_pa().float64())
            elif types.is_null(kind):
                column = np.full(len(column), np.nan)
            elif not (plain or types.is_floating(kind)):
                raise CliError(f"{where} must hold {self.what}s 0 and 1, found {kind}")
            return self._of_numbers(np.asarray(column), where, first_row)
        if column.dtype.kind in "US":
            values, codes = np.unique(column, return_inverse=True)
            return self._by_value(values.astype(str).tolist(), codes, where, first_row)
        if column.dtype.kind in "biu" and self.positive is None:
            return column
        if column.dtype.kind not in "biuf":
            raise CliError(f"{where} must hold {self.what}s 0 and 1, found {column.dtype}")
        return self._of_numbers(column, where, first_row)

    def _of_numbers(self, values: Values, where: str, first_row: int) -> Column:
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
        if self.positive is not None:
            self._see(np.unique(values[~missing]).tolist())
            ones = values == _as_number(self.positive)
        else:
            ones = values == 1
            wrong = ~(ones | (values == 0) | missing)
            if wrong.any():
                raise self._wrong(where, np.unique(values[~missing]).tolist(), first_row + int(wrong.argmax()))
        return _masked(ones, missing)

    def _by_value(self, values: list[object], codes: Values, where: str, first_row: int) -> Column:
        """Labels of codes by the value each stands for; a dictionary may have values that no row has."""
        table = np.array([*map(self._one, values), 2], np.uint8)
        labels = table[codes]
        if (labels == 3).any():
            present = [values[code] for code in np.unique(codes[labels != 2]).tolist()]
            raise self._wrong(where, present, first_row + int((labels == 3).argmax()))
        if self.positive is not None:
            self._see(str(values[code]).strip() for code in np.unique(codes[labels != 2]).tolist())
        return _masked(labels == 1, labels == 2)

    def _see(self, labels: Iterable[object]) -> None:
        self.seen |= LabelTexts.of(map(label_text, labels))

    def _one(self, value: object) -> int:
        """0, 1, 2 for no label, 3 for what is no label at all."""
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
        """The error for a value named by an option that no row has."""
        found = some(map(repr, self.seen.texts)) + ", ..." * self.seen.more
        return CliError(f"no row has the {self.what} {self.positive!r} ({option}); found {found}")

    def _wrong(self, where: str, found: Iterable[object], row: int) -> CliError:
        values = sorted({str(value) for value in found})
        if self.what == "label":
            cure = f"say which one is positive: --positive {shlex.quote(values[-1])}"
        else:
            cure = "say which one accepts: --accepted VALUE, or audit scores with --thresholds"
        first = f"; the first that is neither is{at_row(row)}" if row else ""
        return CliError(f"{where} must hold {self.what}s 0 and 1, found {some(map(repr, values), 6)}{first}; {cure}")


def label_name(text: str) -> int | str:
    """A label as a sketch remembers it: the same for all texts that `Labels` takes for the same, such as 1 and true."""
    number = float(_as_number(text))
    if number != number:
        return text
    return int(number) if number.is_integer() and abs(number) < 2**63 else repr(number)


def _as_number(text: str) -> float:
    """NaN, which equals nothing, where it is none."""
    if text.lower() in TRUTH:
        return TRUTH[text.lower()]
    try:
        return _float(text)
    except ValueError:
        return float("nan")


def _masked(ones: NDArray[np.bool_], missing: NDArray[np.bool_]) -> Column:
    labels = ones.view(np.uint8)
    return np.ma.MaskedArray(labels, mask=missing) if missing.any() else labels


# --------------------------------------------------------------------------------------------------------------- groups


def name_of_text(text: str, end: int = 2**63) -> int | str:
    """A whole number written as numbers usually are becomes an int; all else, 007 and 1.0 among it, stays text.

    So does a number of `end` or more, or under -2^63: no column of numbers could hold it.
    """
    digits = text[1:] if text.startswith("-") else text
    if digits.isascii() and digits.isdecimal() and len(digits) <= 20:
        number = int(text)
        if -(2**63) <= number < end and str(number) == text:
            return number
    return text


def keys_of(column: Column, where: str, first_row: int) -> Column:
    """Keys of a column: a text that is written as a whole number is that number, in whatever format the file is."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "US":
        column = (np.char.decode(column, "utf-8") if column.dtype.kind == "S" else column).tolist()
    return groups_of(column, where, lambda text: name_of_text(text, 2**64), first_row, "key")


def known_names(names: Iterable[Name]) -> Callable[[str], Name]:
    """How a text in a CSV file is understood where the groups are known: as the one that is written so."""
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
    if isinstance(column, list):
        assert name_of is not None
        empty = 0 if nulls else column.count("")
        _refuse_missing(empty, lambda: column.index(""), len(column), where, first_row, what)
        names = {text: _named(text, name_of, nulls) for text in dict.fromkeys(column)}
        return list(map(names.__getitem__, column))
    if not is_arrow(column):
        if column.dtype.kind not in "biuUS":
            raise _no_name(where, what, column.dtype)
        return column
    if column.null_count and not nulls:
        _refuse_missing(
            column.null_count, lambda: column.is_null().to_numpy(False).argmax(), len(column), where, first_row, what
        )
    encoded = _dictionary(column)
    if encoded is None:
        types = _pa().types
        if not (types.is_integer(column.type) or types.is_boolean(column.type)):
            raise _no_name(where, what, column.type)
        return column
    if name_of is None:
        return encoded
    texts = ["" if value is None else str(value) for value in encoded.dictionary.to_pylist()]
    if "" in texts and not nulls:
        empty = _codes(encoded) == texts.index("")
        _refuse_missing(int(empty.sum()), lambda: empty.argmax(), len(column), where, first_row, what)
    understood = [_named(text, name_of, nulls) for text in texts]
    if understood == texts:
        return encoded
    if all(name is None or type(name) is int for name in understood):
        with contextlib.suppress(OverflowError):  # keys may be larger
            return _pa().DictionaryArray.from_arrays(encoded.indices, _pa().array(understood, _pa().int64()))
    understood.append(None)  # for the code -1 of a null
    return [understood[code] for code in _codes(encoded).tolist()]


def _named(text: str, name_of: Callable[[str], Name], nulls: bool) -> Name | None:
    return None if nulls and not text else name_of(text)


def _no_name(where: str, what: str, kind: object) -> CliError:
    cure = "cut it into ranges" if what == "group" else "cast it"
    return CliError(
        f"{where} must hold whole numbers or text to be a {what}, found {kind}; {cure} where the table is made"
    )


def _refuse_missing(count: int, first: Callable[[], int], rows: int, where: str, first_row: int, what: str) -> None:
    if count:
        cure = "name a group for them with --missing-group" if what == "group" else "give them one of their own"
        raise CliError(
            f"{where} is empty in {count:,} of the {rows:,} rows from row {first_row:,} on (the first of them: row "
            f"{first_row + int(first()):,}); every row needs a {what}, so drop these or {cure}"
        )
