"""Small groups under one name: which they are, and what the groups are called then."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real

import numpy as np

from gstar_fast._backends.interface import SketchCore
from gstar_fast._base.names import Name, clean_name
from gstar_fast._base.refusals.place import bad_option
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._words import WEIGHT_UNIT


def checked_min_rows(min_rows: object) -> float:
    """Return the number of rows, or raise."""
    if isinstance(min_rows, (bool, np.bool_)) or not isinstance(min_rows, (Real, np.number)):
        raise refusal("min_rows_type", "min_rows", value=min_rows)
    number = float(min_rows)
    if not (math.isfinite(number) and number >= 0):
        raise refusal("min_rows", "min_rows", value=min_rows)
    return number


def small_groups(core: SketchCore, min_rows: float) -> tuple[Name, ...]:
    """Groups with fewer effective rows than this, labelled or not, in the order of the sketch.

    `core` must not change meanwhile. Rows with weights w are (sum w)^2 / (sum w^2) effective rows.
    """
    rows = sum(core.counts(label).sum(axis=1) for label in range(3)) + (core.below() + core.above()).sum(axis=0)
    if core.weighted:
        rows = (rows / WEIGHT_UNIT) ** 2 / np.maximum(core.squared_weights().sum(axis=0), 1e-300)
    return tuple(name for name, n in zip(core.groups, rows.tolist(), strict=True) if n < min_rows)


def names_with(groups: Sequence[Name], small: Sequence[Name], name: object) -> tuple[Name, ...]:
    """What each group is called once the small ones are called `name`."""
    shared, pooled = clean_name(name), set(small)
    if shared in groups and shared not in pooled:
        raise bad_option(
            "name",
            f"the sketch has a group {shared!r} that is not small, so small groups cannot be pooled under that name; "
            "choose another: name=...",
        )
    return tuple(shared if group in pooled else group for group in groups)
