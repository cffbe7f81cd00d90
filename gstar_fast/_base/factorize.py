"""Columns of names -> codes: the number of each row's name, and the names in the order they are numbered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from gstar_fast._base.arrays import Ints, Values
from gstar_fast._base.names import Name, Scalar, SortKey, as_tuple, clean_name, sort_key

if TYPE_CHECKING:
    from gstar_fast._base.distinct import Texts, number_strings
else:
    try:
        from gstar_fast._core import Texts, number_strings
    except ImportError:
        from gstar_fast._base.distinct import Texts, number_strings

__all__ = ["Texts", "clean_codes", "cross", "factorize", "number_strings", "unique_numbers"]


def factorize(values: Values) -> tuple[Values, tuple[Name, ...]]:
    """Replace each value by the number of its name; names stand in the order of their first row.

    `values` is a 1-D array of strings or of Python values.
    """
    if values.dtype.kind == "U":
        return clean_codes(*_factorize_fixed_width(values))
    if values.dtype == object and (numbered := number_strings(values)) is not None:
        return clean_codes(*numbered)
    return _factorize_objects(values.tolist())  # the one read of the user's array


def _factorize_objects(values: list[object]) -> tuple[Values, tuple[Name, ...]]:
    if values and set(map(type, values)) == {int}:
        unique = dict.fromkeys(values)  # equal values are the same name, so C speed all the way
        index = dict(zip(unique, range(len(unique)), strict=True))
        return clean_codes(np.fromiter(map(index.__getitem__, values), np.int64, len(values)), tuple(unique))
    found: dict[SortKey, int] = {}
    names: list[Name] = []
    codes = np.empty(len(values), np.int64)
    for row, value in enumerate(values):
        name = clean_name(value, row)
        code = found.setdefault(sort_key(name), len(names))
        if code == len(names):
            names.append(name)
        codes[row] = code
    return codes, tuple(names)


def _factorize_fixed_width(values: Values) -> tuple[Values, tuple[str, ...]]:
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    if not len(values) or not values.dtype.itemsize:
        return np.zeros(len(values), np.int64), ("",) * bool(len(values))
    texts = Texts()
    codes = texts.number_records(values)
    return codes, tuple(np.frombuffer(b"".join(texts.since(0)), values.dtype).tolist())


def clean_codes(codes: Values, names: Sequence[object]) -> tuple[Values, tuple[Name, ...]]:
    """Categories as names; one that is missing or impossible is refused only where a row has it."""
    if all(type(name) is str and name.isascii() for name in names):
        return codes, cast("tuple[str, ...]", tuple(names))
    clean: list[Name] = []
    for code, name in enumerate(names):
        try:
            clean.append(clean_name(name))
        except (TypeError, ValueError):
            private = np.array(codes)
            rows = np.flatnonzero(private == code)
            if len(rows):
                clean_name(name, int(rows[0]))
            codes = private
            clean.append("")  # no row has it
    return codes, tuple(clean)


def unique_numbers(values: Values) -> tuple[Values, Ints]:
    """Distinct whole numbers, ascending, and the place of each row's number among them."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, -1)
    if high - low >= max(len(values), 2**16):
        present, places = np.unique(values, return_inverse=True)
        return present, places.astype(np.int64)
    steps = values - values.dtype.type(low) if values.dtype.kind == "u" else values.astype(np.int64) - low
    there = np.zeros(high - low + 1, bool)  # no longer than the column, so cheaper than sorting it
    there[steps] = True
    places = np.cumsum(there) - 1
    return np.flatnonzero(there).astype(object) + low, places[steps]


def cross(columns: Sequence[tuple[Values, tuple[Name, ...]]]) -> tuple[Ints, tuple[Name, ...]]:
    """Several columns of groups -> one of tuples: codes, and the tuples that occur."""
    codes = np.zeros(len(columns[0][0]), np.int64)
    names: list[tuple[Scalar, ...]] = [()]
    for column, parts in columns:
        present, codes = unique_numbers(codes * max(len(parts), 1) + column)
        names = [(*names[p // len(parts)], *as_tuple(parts[p % len(parts)])) for p in present.tolist()]
    return codes, tuple(clean_name(name) for name in names)
