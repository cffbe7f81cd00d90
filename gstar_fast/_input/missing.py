"""Scores that stand for no score: NaN, and numbers such as -999; which rows are passed over for theirs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from gstar_fast._base.arrays import Values
from gstar_fast._base.grid import as_float
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._input.options import checked_nan

Missing: TypeAlias = float | Iterable[float] | None


class Passing(NamedTuple):
    """Which rows are passed over: those whose score is NaN, and those whose score is one of `values`."""

    nan: bool = False
    values: tuple[float, ...] = ()

    @property
    def options(self) -> tuple[str, tuple[float, ...]]:
        """The same as options `nan` and `missing`."""
        return "skip" if self.nan else "raise", self.values

    def covers(self, score: float) -> bool:
        """Whether a row with this score is passed over."""
        return score in self.values or (self.nan and score != score)

    def marked(self, scores: Values) -> tuple[Values, bool]:
        """The scores with NaN for those that are missing, and whether to skip NaN.

        Where NaN is refused and there is one, the answer is scores that will be refused.
        """
        if not self.values:
            return scores, self.nan
        private = np.array(scores)  # one read of the caller's memory
        wide = private.astype(np.float64)
        refused = not self.nan and bool(np.isnan(wide).any())
        missing = np.zeros(len(wide), bool)
        for value in self.values:
            missing |= wide == value
        private[missing] = 0.0 if refused else np.nan
        return private, not refused


NOTHING: Final = Passing()


def checked_passing(nan: object, missing: object, own: Passing = NOTHING) -> Passing:
    """Which rows are passed over: as asked, and as `own` says where nothing is asked. NaN may be among `missing`."""
    skip_nan = own.nan if nan is None else checked_nan(nan)
    values = own.values if missing is None else _values(missing)
    numbers = tuple(value for value in values if value == value)
    return Passing(skip_nan or len(numbers) < len(values), numbers)


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
