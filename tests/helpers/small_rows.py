"""A few rows for tests of how columns come in, and of bytes and files."""

from __future__ import annotations

import numpy as np

import gstar_fast as gf

SCORES = [0.1, 0.9, -0.5, 0.3]
LABELS = [0, 1, 1, 0]
GROUPS = ["F", "M", "F", "M"]


def small() -> gf.Sketch:
    """A sketch with every kind of field, in few bytes."""
    sketch = gf.Sketch(bins=16)
    sketch.update([0.25, -0.5, 1e-3, np.inf, 0.75], [0, 1, 1, 0, None], ["F", "M", "F", "F", ("M", 3)])
    return sketch.update([np.nan], [1], ["M"], nan="skip")
