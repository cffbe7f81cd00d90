"""Warnings that point at the user's own line."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

_PACKAGE = os.path.join(Path(__file__).parent.parent, "")  # noqa: PTH118 (with a separator at its end)


def warn(message: Warning | str, category: type[Warning] | None = None) -> None:
    """Warn at the line of the first caller outside this package."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)
