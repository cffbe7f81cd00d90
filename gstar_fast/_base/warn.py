"""Warnings that point at the user's own line."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from types import FrameType

_PACKAGE = os.path.join(Path(__file__).parent.parent, "")  # noqa: PTH118 (with a separator at its end)
_CALLERS = frozenset(("sklearn", "joblib"))  # which call an estimator for the user: pipelines, searches


def warn(message: Warning | str, category: type[Warning] | None = None) -> None:
    """Warn at the line of the user, who calls this package directly or through scikit-learn."""
    depth, outside = 0, 0
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        depth += 1
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            outside = outside or depth
            if str(frame.f_globals.get("__name__")).partition(".")[0] not in _CALLERS:
                outside = depth
                break
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=outside or depth)
