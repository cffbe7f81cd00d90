"""Deciding for machines without the compiled extension: the reference, with its two hot loops compiled by Numba."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gstar_fast._backends.interface import Key
from gstar_fast._backends.numba.jit import jit
from gstar_fast._backends.numpy import decide as reference
from gstar_fast._base.arrays import Bools, Floats, Hashes, Ints, Values
from gstar_fast._base.names import Name

if TYPE_CHECKING:
    from gstar_fast._base.thresholds import Thresholds

__all__ = ["Core", "hash_keys"]

LARGEST_TABLE = 65_536


@jit()
def _compare(scores: Values, codes: Values, table: Floats, beyond: float, out: Bools) -> bool:
    """`out = scores >= table[codes]`; False if something was NaN."""
    usual = True
    for i in range(len(scores)):
        score = np.float64(scores[i])
        code = np.int64(codes[i])
        threshold = table[code] if 0 <= code < len(table) else beyond
        out[i] = score >= threshold
        if not (score >= threshold or score < threshold):
            usual = False
    return usual


@jit()
def _cut(numbers: Values, cuts: Floats, out: Ints) -> None:
    """How many cut points each number reaches; -1 for NaN."""
    for i in range(len(numbers)):
        number = np.float64(numbers[i])
        low, n = 0, len(cuts)
        while n > 1:
            half = n // 2
            low += half if cuts[low + half - 1] <= number else 0
            n -= half
        out[i] = low + (n == 1 and cuts[low] <= number) if number == number else -1


@jit()
def _mixed(number: np.uint64) -> np.uint64:
    """SplitMix64's step, as the reference's `hash_key` takes it."""
    number += np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@jit()
def _hash_bytes(data: NDArray[np.uint8], ends: Ints, out: Hashes) -> None:
    start = 0
    for i in range(len(ends)):
        number = np.uint64(0xCBF29CE484222325)
        for at in range(start, ends[i]):
            number = (number ^ np.uint64(data[at])) * np.uint64(0x100000001B3)
        start = ends[i]
        out[i] = _mixed(number)


def hash_keys(keys: list[Key]) -> Hashes:
    """Hash the keys of rows as the reference does."""
    texts = [key.encode("utf-8") if isinstance(key, str) else key for key in keys if isinstance(key, (str, bytes))]
    if len(texts) < len(keys):
        return reference.hash_keys(keys)
    out = np.empty(len(texts), np.uint64)
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    _hash_bytes(np.frombuffer(b"".join(texts), np.uint8), ends, out)
    return out


class Core(reference.Core):
    """One set of thresholds, ready."""

    def __init__(self, thresholds: Thresholds) -> None:
        super().__init__(thresholds)
        numbers = [int(name) for name in self._names if isinstance(name, int)]  # True is 1
        self._large = any(not 0 <= name < LARGEST_TABLE for name in numbers)
        self._table = np.full(1 + max(numbers, default=-1) if not self._large else 0, self._values[-1])
        if not self._large:
            self._table[numbers] = [self._values[self._places[name]] for name in numbers]

    def decide(
        self,
        scores: Values,
        codes: Values | None,
        names: tuple[Name, ...] | None,
        as_codes: bool,
        keys: Hashes | None,
        threads: int,
        out: Bools | None,
    ) -> Bools:
        """Decide clean arrays of one length; whatever is unusual goes to the reference."""
        given = codes
        if self._set.cuts is not None and not as_codes and codes is not None:
            codes = self._segments_of(codes)
        beyond = float(self._values[-1])
        if as_codes:
            table = self._values[:-1]
        elif names is not None:
            table = self._values[[self._places.get(name, -1) for name in names]] if names else self._values[:0]
            beyond = np.nan  # a missing group
        else:
            table = self._table
        plain = not self._set.unified and self._set.mixtures is None and not (self._large and names is None)
        if plain and codes is not None:
            answers = np.empty(len(scores), np.bool_) if out is None else out
            if _compare(scores, codes, table, beyond, answers):
                return answers
        return super().decide(scores, given, names, as_codes, keys, threads, out)

    def _segments_of(self, numbers: Values) -> Ints:
        if numbers.dtype.kind != "f":
            return super()._segments_of(numbers)
        out = np.empty(len(numbers), np.int64)
        _cut(numbers, np.array(self._set.cuts, np.float64), out)
        return out
