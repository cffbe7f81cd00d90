"""Options of counting -> values that can be worked with, or an error; which rows are skipped, named or rejected."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Real
from typing import Final, NamedTuple, TypeAlias, cast

import numpy as np

from gstar_fast._base.arrays import Bools, Values
from gstar_fast._base.grid import LARGEST_SCORE, as_float, window_of_range
from gstar_fast._base.names import Name, clean_name, lacks_a_part
from gstar_fast._base.refusals.refusal import refusal

Missing: TypeAlias = float | Iterable[float] | None
RAISE, SKIP = "raise", "skip"  # values of `missing_group` that are not names


def checked_bins(bins: object) -> int:
    """A power of two from 16 to 65,536."""
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)):
        raise refusal("bins_type", "bins", value=bins)
    if not 16 <= bins <= 65_536 or bins & (bins - 1):
        raise refusal("bins", "bins", value=bins)
    return int(bins)


def checked_window(limits: tuple[float, float] | None, bins: int) -> tuple[int, int]:
    """Level and first bin number of a range."""
    try:
        lo, hi = (as_float(limit) for limit in cast("tuple[float, float]", limits))
    except (TypeError, ValueError):
        raise refusal("range_type", "range", value=limits) from None
    except OverflowError:
        raise refusal("range_size", "range", value=limits) from None
    if not (abs(lo) <= LARGEST_SCORE and abs(hi) <= LARGEST_SCORE):
        raise refusal("range_size", "range", value=(lo, hi))
    if not lo < hi:
        raise refusal("range_order", "range", value=(lo, hi))
    return window_of_range(lo, hi, bins)


def checked_flag(argument: str, value: object) -> bool:
    """Return a flag that is True or False. A text such as "no" would otherwise count as True."""
    if not isinstance(value, (bool, np.bool_)):
        raise refusal("flag", argument, value=value)
    return bool(value)


def checked_nan(nan: object) -> bool:
    """Whether NaN rows are skipped."""
    if nan not in ("raise", "skip"):
        raise refusal("nan_policy", "nan", value=nan)
    return bool(nan == "skip")


def checked_threads(threads: object) -> int:
    """A number of threads."""
    return min(_whole("threads", threads, 1), 1024)


def checked_limit(memory_limit: object) -> int:
    """A number of bytes."""
    return _whole("memory_limit", memory_limit, 0)


def _whole(name: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise refusal(name, name, value=value)
    return int(value)


def checked_min_rows(min_rows: object) -> float:
    """A number of rows that groups have which are not pooled."""
    if isinstance(min_rows, (bool, np.bool_)) or not isinstance(min_rows, (Real, np.number)):
        raise refusal("min_rows_type", "min_rows", value=min_rows)
    number = float(min_rows)
    if not (math.isfinite(number) and number >= 0):
        raise refusal("min_rows", "min_rows", value=min_rows)
    return number


# ---------------------------------------------------------------------------------------- rows without score or group


class Passing(NamedTuple):
    """Which rows are skipped: those whose score is NaN or one of `values`, and those without a group.

    `group` is the option `missing_group`: "raise", "skip", or the name that rows without a group get.
    """

    nan: bool = False
    values: tuple[float, ...] = ()
    group: Name = RAISE

    def covers(self, score: float) -> bool:
        """Whether a row with this score is passed over."""
        return score in self.values or (self.nan and score != score)

    def lacks(self, group: object) -> bool:
        """Whether a row with this group is skipped."""
        return self.group == SKIP and lacks_a_part(group)

    def named(self, group: Name) -> Name:
        """The group, or the name for a missing group."""
        given = self.group not in (RAISE, SKIP)
        return self.group if given and lacks_a_part(group) else group

    def marked(self, scores: Values, absent: Bools | None = None) -> tuple[Values, bool]:
        """The scores with NaN for skipped rows, and whether to skip NaN; `absent` rows have no group.

        Where NaN is rejected and there is one, the answer is scores that will be rejected.
        """
        if not self.values and absent is None:
            return scores, self.nan
        private = np.array(scores)  # one read of the caller's memory
        wide = private.astype(np.float64)
        missing = np.zeros(len(wide), bool) if absent is None else absent.copy()
        refused = not self.nan and bool(np.isnan(wide[~missing]).any())
        for value in self.values:
            missing |= wide == value
        private[missing] = 0.0 if refused else np.nan
        return private, not refused


NOTHING: Final = Passing()


def checked_passing(nan: object, missing: object, own: Passing = NOTHING, missing_group: object = None) -> Passing:
    """Which rows are passed over: as asked, and as `own` says where nothing is asked. NaN may be among `missing`."""
    skip_nan = own.nan if nan is None else checked_nan(nan)
    values = own.values if missing is None else _values(missing)
    numbers = tuple(value for value in values if value == value)
    group = own.group if missing_group is None else checked_missing_group(missing_group)
    return Passing(skip_nan or len(numbers) < len(values), numbers, group)


def checked_reading(
    nan: object = RAISE, missing: object = None, memory_limit: object = 2**30, missing_group: object = RAISE
) -> tuple[Passing, int]:
    """The options of a sketch that are not saved with it: which rows are passed over, and the memory limit."""
    return checked_passing(nan, missing, missing_group=missing_group), checked_limit(memory_limit)


def checked_batch(
    own: Passing, nan: object = None, missing: object = None, threads: object = 1, missing_group: object = None
) -> tuple[Passing, int]:
    """Options of one call that counts rows: which are passed over, and the number of threads."""
    return checked_passing(nan, missing, own, missing_group), checked_threads(threads)


def checked_missing_group(missing_group: object) -> Name:
    """What to do with a row without a group: "raise", "skip", or the name of its group."""
    try:
        return clean_name(missing_group)
    except (TypeError, ValueError):
        raise refusal("missing_group_type", "missing_group", value=missing_group) from None


def _values(missing: object) -> tuple[float, ...]:
    if isinstance(missing, np.ndarray):
        missing = missing.tolist()  # of one without axes a number
    several = missing if isinstance(missing, Iterable) and not isinstance(missing, (str, bytes)) else (missing,)
    return tuple(dict.fromkeys(_value(one) for one in several))


def _value(one: object) -> float:
    if isinstance(one, (bool, np.bool_, str, bytes, complex)) or not hasattr(one, "__float__"):
        raise refusal("missing_type", "missing", value=one)
    try:
        return as_float(one)
    except OverflowError:
        raise refusal("missing_size", "missing", value=one) from None
