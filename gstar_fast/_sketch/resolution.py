"""How many bins the bulk of the rows is spread over, and the warning when one far score left few."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gstar_fast._backends.interface import SketchCore
from gstar_fast._base.refusals.refusal import refusal

_PACKAGE = str(Path(__file__).parent.parent)


def _bulk(running: NDArray[np.int64]) -> tuple[int, int]:
    """Bins of the 0.5 % and the 99.5 % quantile."""
    n = int(running[-1])
    return int(np.searchsorted(running, -(-n // 200))), int(np.searchsorted(running, -(-199 * n // 200)))


def resolution_of(core: SketchCore) -> int:
    """Number of bins from the 0.5 % to the 99.5 % quantile; 0 without rows."""
    running = np.cumsum(core.pooled()[0])
    if not running[-1]:
        return 0
    lo, hi = _bulk(running)
    return hi - lo + 1


def warn_if_poor(core: SketchCore) -> bool:
    """Warn, and return True, when the bulk of the rows lies in few bins though there are scores further out."""
    counts, smallest, largest, leftmost, rightmost = core.pooled()
    running = np.cumsum(counts)
    if not running[-1]:
        return False
    lo, hi = _bulk(running)
    enough = min(64, core.bins // 4)
    if hi - lo + 1 >= enough or rightmost - leftmost + 1 <= enough:
        return False
    culprit = smallest if lo - leftmost > rightmost - hi else largest
    _warn(refusal("resolution", "scores", value=(culprit, hi - lo + 1, core.bins, bool(core.fixed))))
    return True


def _warn(warning: Warning) -> None:
    """Warn in the name of the first caller outside this package."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(warning, stacklevel=depth)
