"""Rows without a score (NaN, or a number such as -999) or without a group: skipped, named or rejected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from gstar_fast._base.arrays import Bools, Values
from gstar_fast._base.grid import as_float
from gstar_fast._base.names import Name, clean_name, lacks_a_part
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._input.options import checked_nan

Missing: TypeAlias = float | Iterable[float] | None
RAISE, SKIP = "raise", "skip"  # values of `missing_group` that are not names


class Passing(NamedTuple):
    """Which rows are skipped: those whose score is NaN or one of `values`, and those without a group.

    `group` is the option `missing_group`: "raise", "skip", or the name that rows without a group get.
    """

    nan: bool = False
    values: tuple[float, ...] = ()
    group: Name = RAISE

    @property
    def options(self) -> tuple[str, tuple[float, ...], Name]:
        """The same as options `nan`, `missing` and `missing_group`."""
        return "skip" if self.nan else "raise", self.values, self.group

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

        Where NaN is refused and there is one, the answer is scores that will be refused.
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
