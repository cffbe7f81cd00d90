"""Columns of names -> codes: the number of each row's name, and the names in the order they are numbered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from gstar_fast._base.arrays import Ints, Values
from gstar_fast._base.names import Name, Scalar, SortKey, as_tuple, clean_name, sort_key

unique_rows: Callable[[NDArray[np.uint8]], tuple[Values, Ints]] | None
try:
    from gstar_fast import _core
except ImportError:
    unique_rows = None  # `unique_words` does the same in NumPy
else:
    unique_rows = _core.unique_rows


def factorize(values: Values | Sequence[object]) -> tuple[Values, tuple[Name, ...]]:
    """Replace each value by the number of its name; names stand in the order of their first row.

    `values` is a 1-D array of strings, or a sequence of Python values.
    """
    return _factorize_fixed_width(values) if isinstance(values, np.ndarray) else _factorize_objects(values)


def _factorize_objects(values: Iterable[object]) -> tuple[Values, tuple[Name, ...]]:
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
    found: dict[SortKey, int] = {}
    names = []
    codes = np.empty(len(values), np.int64)
    for row, value in enumerate(values):
        name = clean_name(value, row)
        code = found.setdefault(sort_key(name), len(names))
        if code == len(names):
            names.append(name)
        codes[row] = code
    return codes, tuple(names)


def _factorize_fixed_width(values: Values) -> tuple[Values, tuple[Name, ...]]:
    private = np.array(values, dtype=values.dtype.newbyteorder("="), order="C")  # the one read of the user's array
    if not len(private) or not private.dtype.itemsize:
        return np.zeros(len(private), np.int64), ("",) * bool(len(private))
    raw = private.view(np.uint8).reshape(len(private), -1)
    codes, firsts = unique_rows(raw) if unique_rows is not None else unique_words(_as_words(private, raw))
    names = []
    for row in firsts.tolist():
        names.append(clean_name(private[row], row))
    return codes, tuple(names)


def _as_words(values: Values, raw: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Fixed-width strings, whose bytes are `raw`, as rows of 64-bit words."""
    chars = values.view(np.uint32).reshape(len(values), -1)
    if chars.max() < 256:  # most names need one byte a character, and then often fit into one word
        raw = chars.astype(np.uint8)
    words = np.zeros((len(raw), -(-raw.shape[1] // 8) * 8), np.uint8)
    words[:, : raw.shape[1]] = raw
    return words.view(np.uint64)


def unique_words(words: NDArray[np.uint64]) -> tuple[Values, Ints]:
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


def unique_keys(keys: NDArray[np.uint64]) -> tuple[Values, Ints]:
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


def _by_appearance(first: Values, inverse: Values) -> tuple[Ints, Ints]:
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[inverse], first[order].astype(np.int64)


def cross(columns: Sequence[tuple[Values, tuple[Name, ...]]]) -> tuple[Ints, tuple[Name, ...]]:
    """Several columns of groups -> one of tuples: codes, and the tuples that occur."""
    codes = np.zeros(len(columns[0][0]), np.int64)
    names: list[tuple[Scalar, ...]] = [()]
    for column, parts in columns:
        pair = codes * max(len(parts), 1) + column
        present, codes = np.unique(pair, return_inverse=True)
        names = [(*names[p // len(parts)], *as_tuple(parts[p % len(parts)])) for p in present.tolist()]
    return codes.astype(np.int64), tuple(clean_name(name) for name in names)
