"""Scalar options -> values that can be worked with, or a refusal."""

from __future__ import annotations

from typing import Any

import numpy as np

from gstar_fast._base.grid import LARGEST_SCORE, as_float, window_of_range
from gstar_fast._base.refusals.refusal import refusal


def checked_bins(bins: object) -> int:
    """A power of two from 16 to 65,536."""
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)):
        raise refusal("bins_type", "bins", value=bins)
    if not 16 <= bins <= 65_536 or bins & (bins - 1):
        raise refusal("bins", "bins", value=bins)
    return int(bins)


def checked_window(limits: Any, bins: int) -> tuple[int, int]:
    """Level and first bin number of a range."""
    try:
        lo, hi = (as_float(limit) for limit in limits)
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
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise refusal("threads", "threads", value=threads)
    return min(int(threads), 1024)


def checked_limit(memory_limit: object) -> int:
    """A number of bytes."""
    if isinstance(memory_limit, bool) or not isinstance(memory_limit, (int, np.integer)) or memory_limit < 0:
        raise refusal("memory_limit", "memory_limit", value=memory_limit)
    return int(memory_limit)
