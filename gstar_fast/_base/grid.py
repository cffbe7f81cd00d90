"""The dyadic grid: which window a range of scores gets, and where its edges are.

At level `s` bin number `k` covers `[k * 2**s, (k + 1) * 2**s)`. Everything here is exact; `docs/sketch_format.md` has
the rules.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import Final, SupportsFloat

import numpy as np

from gstar_fast._base.arrays import Floats, Ints, Objects

LOWEST_LEVEL: Final = -1074
HIGHEST_LEVEL: Final = 1000
LARGEST_SCORE: Final = 2.0**1000
LARGEST_BIN: Final = 2**53  # bin numbers up to here are exact in float64, so every edge is a float64

# Sums of rounded scores are whole numbers of 2**-1097 (1074 for the smallest float64, 23 for the fraction of a bin),
# sums of their squares whole numbers of 2**-2148.
SUM_UNIT: Final = -1097
SQUARE_UNIT: Final = -2148


def scaled(x: float, exponent: int) -> tuple[int, int]:
    """Return `divmod(x, 2**exponent)` as whole numbers: the floor, and 1 if something is left over."""
    numerator, denominator = x.as_integer_ratio()
    if exponent >= 0:
        quotient, rest = divmod(numerator, denominator << exponent)
    else:
        quotient, rest = divmod(numerator << -exponent, denominator)
    return quotient, int(rest != 0)


def floor_bin(x: float, level: int) -> int:
    """Bin number of one score, exactly."""
    return scaled(x, level)[0]


def ceil_bin(x: float, level: int) -> int:
    """Least bin number that starts at or above `x`."""
    quotient, rest = scaled(x, level)
    return quotient + rest


def _least_level(fits: Callable[[int], bool]) -> int:
    levels = range(LOWEST_LEVEL, HIGHEST_LEVEL + 1)  # a level that fits is followed only by levels that fit
    return levels[bisect_left(levels, True, key=fits)]


def window_of_scores(smallest: float, largest: float, bins: int) -> tuple[int, int]:
    """Level and first bin number of the finest window that holds both scores."""

    def fits(level: int) -> bool:
        lo, hi = floor_bin(smallest, level), floor_bin(largest, level)
        return hi - lo < bins and max(abs(lo), abs(hi)) + bins <= LARGEST_BIN

    level = _least_level(fits)
    return level, floor_bin(smallest, level)


def window_of_range(lo: float, hi: float, bins: int) -> tuple[int, int]:
    """Level and first bin number of the finest window that covers `[lo, hi)`."""

    def fits(level: int) -> bool:
        first, last = floor_bin(lo, level), ceil_bin(hi, level)
        return last - first <= bins and max(abs(first), abs(last)) + bins <= LARGEST_BIN

    level = _least_level(fits)
    return level, floor_bin(lo, level)


def edges(level: int, first: int, bins: int) -> Floats:
    """All `bins + 1` edges, ascending."""
    numbers = np.arange(first, first + bins + 1, dtype=np.int64).astype(np.float64)
    return np.ldexp(numbers, level)


def bin_numbers(x: Floats, level: int) -> Ints:
    """Bin number of every score of an array whose scores lie inside some window of this level."""
    k = np.floor(np.ldexp(x, -level)).astype(np.int64)
    k[(k == 0) & (x < 0)] = -1  # the quotient of a tiny negative score may underflow to zero
    return k


def round24(x: Floats) -> Floats:
    """Round to 24 significant bits, ties to even; the rule that makes sums independent of the level."""
    u = np.ascontiguousarray(x).view(np.uint64)
    rounded = u + np.uint64(0x0FFFFFFF) + ((u >> np.uint64(29)) & np.uint64(1))
    return (rounded & np.uint64(0xFFFFFFFFE0000000)).view(np.float64)


def whole_sums(x: Floats) -> tuple[Objects, Objects]:
    """Each score and its square as whole numbers of 2**SUM_UNIT and 2**SQUARE_UNIT; `x` is already rounded."""
    mantissa, exponent = np.frexp(x)
    m = np.ldexp(mantissa, 24).astype(np.int64).astype(object)  # at most 24 bits, exact
    e = (exponent - 24).astype(object)  # at least -1068, since a rounded subnormal is a multiple of 2**-1045
    return m << (e - SUM_UNIT), (m * m) << (2 * e - SQUARE_UNIT)


def to_float(number: int, unit: int) -> float:
    """The float64 nearest to `number * 2**unit`, ties to even; infinite where it is too large for one."""
    try:
        return number / (1 << -unit) if unit < 0 else float(number << unit)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def as_float(value: SupportsFloat) -> float:
    """`float(value)`; OverflowError where it would make a finite value infinite, as it does with a Decimal."""
    number = float(value)
    if math.isinf(number) and value != number:
        raise OverflowError("too large for a float")
    return number


def memory_of(n_groups: int, bins: int) -> int:
    """Bytes that so many groups take: counts and sums of two cells' bins, and the wide sums beside them."""
    return n_groups * (bins * 64 + 4096)
