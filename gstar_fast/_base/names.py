"""Names of groups: what may be a name, which order they stand in, and arrays of names -> codes."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gstar_fast._base.refusals import refusal

unique_rows: Callable[[NDArray[np.uint8]], tuple[NDArray[Any], NDArray[np.int64]]] | None
try:
    from gstar_fast import _core
except ImportError:
    unique_rows = None  # `unique_words` does the same in NumPy
else:
    unique_rows = _core.unique_rows

Scalar: TypeAlias = int | str | bool
Name: TypeAlias = Scalar | tuple[Scalar, ...]

MOST_GROUPS = 65_535
LONGEST_TUPLE = 16


def sort_key(name: Name) -> tuple[int, Any]:
    """Key of the canonical order: bools, ints, strings by code point, tuples element by element.

    It also tells True from 1, which `==` does not.
    """
    if isinstance(name, bool):
        return (0, name)
    if isinstance(name, int):
        return (1, name)
    if isinstance(name, str):
        return (2, name)
    return (3, tuple(map(sort_key, name)))


def canonical(names: Iterable[Name]) -> list[Name]:
    """The names in canonical order."""
    return sorted(names, key=sort_key)


def is_missing(value: object) -> bool:
    """Whether a value of a column stands for "not known": None, NaN, pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(value != value)


def clean_name(value: object, row: int | None = None, argument: str = "groups") -> Name:
    """Return the name as a plain Python value, or raise; errors say in which row of what it stands."""
    if isinstance(value, tuple):
        if not 1 <= len(value) <= LONGEST_TUPLE:
            raise refusal("bad_tuple", argument, row, value, LONGEST_TUPLE)
        return tuple(_clean_scalar(part, row, argument) for part in value)
    return _clean_scalar(value, row, argument)


def _clean_scalar(value: object, row: int | None, argument: str) -> Scalar:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        number = int(value)
        if not -(2**63) <= number < 2**63:
            raise refusal("too_large_group", argument, row, number)
        return number
    if isinstance(value, str):
        text = str(value)
        if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
            raise refusal("bad_unicode", argument, row, text)
        return text
    if is_missing(value):
        raise refusal("missing_group", argument, row)
    raise refusal("bad_group_type", argument, row, value)


def check_distinct(names: Iterable[Name]) -> None:
    """Refuse names Python could not tell apart in a dict, such as True and 1."""
    seen: dict[Name, Name] = {}
    for name in names:
        other = seen.setdefault(name, name)
        if other is not name and sort_key(other) != sort_key(name):
            raise refusal("indistinct_groups", "groups", value=tuple(canonical((other, name))))


def given_names(groups: Iterable[object]) -> tuple[Name, ...]:
    """Check what the user passed as `groups=` of a sketch."""
    if isinstance(groups, (str, bytes)):
        raise refusal("groups_text", "groups=", value=groups)
    names = tuple(clean_name(value, i, "groups=") for i, value in enumerate(groups))
    if not names:
        raise refusal("groups_empty", "groups=")
    check_distinct(names)
    seen: set[Name] = set()
    for name in names:
        if name in seen:
            raise refusal("group_twice", "groups=", value=name)
        seen.add(name)
    return names


def listed(names: Sequence[Name]) -> str:
    """Names as they appear in messages: at most ten."""
    return ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")


def joined_columns(names: Sequence[str]) -> str:
    """Names of group columns as one text, for the thresholds file: a line of CSV where there are several."""
    if len(names) == 1:
        return str(names[0])
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


# ---------------------------------------------------------------------------------------------------- columns -> codes


def factorize(values: NDArray[Any] | Sequence[object]) -> tuple[NDArray[Any], tuple[Name, ...]]:
    """Replace each value by the number of its name; names stand in the order of their first row.

    `values` is a 1-D array of strings, or a sequence of Python values.
    """
    return _factorize_fixed_width(values) if isinstance(values, np.ndarray) else _factorize_objects(values)


def _factorize_objects(values: Iterable[object]) -> tuple[NDArray[Any], tuple[Name, ...]]:
    values = list(values)  # the one read of the user's container
    kinds = set(map(type, values))
    if kinds <= {str} or kinds <= {int}:
        unique = dict.fromkeys(values)  # equal values are the same name, so C speed all the way
        index = dict(zip(unique, range(len(unique)), strict=True))
        names: list[Name] = []
        for value in unique:
            try:
                names.append(clean_name(value))
            except (TypeError, ValueError):
                clean_name(value, values.index(value))
        codes = np.fromiter(map(index.__getitem__, values), np.int64, len(values))
        return codes, tuple(names)
    found: dict[tuple[int, Any], int] = {}
    names = []
    codes = np.empty(len(values), np.int64)
    for row, value in enumerate(values):
        name = clean_name(value, row)
        code = found.setdefault(sort_key(name), len(names))
        if code == len(names):
            names.append(name)
        codes[row] = code
    return codes, tuple(names)


def _factorize_fixed_width(values: NDArray[Any]) -> tuple[NDArray[Any], tuple[Name, ...]]:
    private = np.array(values, dtype=values.dtype.newbyteorder("="), order="C")  # the one read of the user's array
    if not len(private) or not private.dtype.itemsize:
        return np.zeros(len(private), np.int64), ("",) * bool(len(private))
    raw = private.view(np.uint8).reshape(len(private), -1)
    codes, firsts = unique_rows(raw) if unique_rows is not None else unique_words(_as_words(private, raw))
    names = []
    for row in firsts.tolist():
        names.append(clean_name(private[row], row))
    return codes, tuple(names)


def _as_words(values: NDArray[Any], raw: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Fixed-width strings, whose bytes are `raw`, as rows of 64-bit words."""
    chars = values.view(np.uint32).reshape(len(values), -1)
    if chars.max() < 256:  # most names need one byte a character, and then often fit into one word
        raw = chars.astype(np.uint8)
    words = np.zeros((len(raw), -(-raw.shape[1] // 8) * 8), np.uint8)
    words[:, : raw.shape[1]] = raw
    return words.view(np.uint64)


def unique_words(words: NDArray[np.uint64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Number the distinct rows of a matrix in order of appearance; also the first row of each."""
    if unique_rows is not None:
        return unique_rows(words.view(np.uint8))
    codes, firsts = unique_keys(_mix(words))
    if words.shape[1] > 1 and not np.array_equal(words, words[firsts[codes]]):  # two rows with one key
        _, first, inverse = np.unique(words, axis=0, return_index=True, return_inverse=True)
        return _by_appearance(first, inverse.reshape(-1))
    return codes, firsts


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    keys: NDArray[np.uint64] = words[:, 0].copy()
    for column in range(1, words.shape[1]):
        keys = (keys ^ (keys >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15) + words[:, column]
    return keys


def unique_keys(keys: NDArray[np.uint64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Number the distinct keys in order of appearance; also the first row of each."""
    codes = np.full(len(keys), -1, np.int8)
    firsts: list[int] = []
    row = 0
    # Few groups are the rule: one sweep for each beats sorting. Give up where they turn out to be many.
    while len(firsts) < 32:
        codes[keys == keys[row]] = len(firsts)
        firsts.append(row)
        left = codes[row:] < 0
        step = int(left.argmax())
        if not left[step]:
            return codes, np.array(firsts, np.int64)
        row += step
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return _by_appearance(first, inverse)


def _by_appearance(first: NDArray[Any], inverse: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[inverse], first[order].astype(np.int64)


def cross(columns: Sequence[tuple[NDArray[Any], tuple[Name, ...]]]) -> tuple[NDArray[np.int64], tuple[Name, ...]]:
    """Several columns of groups -> one of tuples: codes, and the tuples that occur."""
    codes = np.zeros(len(columns[0][0]), np.int64)
    names: list[tuple[Scalar, ...]] = [()]
    for column, parts in columns:
        pair = codes * max(len(parts), 1) + column
        present, codes = np.unique(pair, return_inverse=True)
        names = [(*names[p // len(parts)], *as_tuple(parts[p % len(parts)])) for p in present.tolist()]
    return codes.astype(np.int64), tuple(clean_name(name) for name in names)


def as_tuple(name: Name) -> tuple[Scalar, ...]:
    """The parts of a name; a plain one is its only part."""
    return name if isinstance(name, tuple) else (name,)
