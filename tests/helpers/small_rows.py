"""A few rows for tests of how columns come in, and of bytes and files."""

from __future__ import annotations

from fractions import Fraction

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


def golden_rows() -> list[tuple[float, int, object, Fraction]]:
    """Rows of `tests/old_sketches/version_1.gstar`: score, label (2: none), group, weight."""
    rng = np.random.default_rng(20261116)
    x = np.concatenate([rng.normal(size=300), [np.inf, -np.inf, 0.0, 5e-324, -1e-9]])
    y = [2, 0, 1] * 101 + [0, 1]
    g = ["F", "M", ("ä", 1, True)] * 101 + [-7, 2**40]
    rows = [(score, label, group, Fraction(1)) for score, label, group in zip(x.tolist(), y, g, strict=True)]
    return [*rows, (0.5, 1, "F", Fraction(0.1))]
