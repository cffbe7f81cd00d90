"""A family and its parameters as a user gives them: checked, and what a backend needs to make the density."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real

import numpy as np

from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._words import FAMILIES

PARAMETERS = {
    "normal": ("location", "scale"),
    "student_t": ("df", "location", "scale"),
    "gamma": ("shape", "location", "scale", "mirrored"),
}
DEFAULTS = {"location": 0.0, "scale": 1.0, "mirrored": False}
TINY = math.ulp(0.0)  # the least number above 0
WITHIN = {  # df and shape: where all backends evaluate them to the last digits
    "df": (0.1, 1e5),
    "shape": (1e-3, 1e5),
    "location": (-1e100, 1e100),  # tails of a Student t reach 1e90 scales further
    "scale": (TINY, 1e100),
    "share": (0.0, math.nextafter(1.0, 0.0)),
    "rows": (TINY, sys.float_info.max),
}


@dataclass(frozen=True)
class Given:
    """A density that was not counted; it takes the place of a cell."""

    kind: str
    values: tuple[float, ...]  # in the order of PARAMETERS
    below: float  # shares of the rows at -inf and +inf
    above: float
    rows: float | None  # that it stands for

    label = None
    group = None

    @property
    def parameters(self) -> dict[str, float]:
        """Every parameter by its name, then the shares beyond all scores where there are any."""
        return dict(zip(PARAMETERS[self.kind], self.values, strict=True)) | {
            name: share for name, share in (("below", self.below), ("above", self.above)) if share
        }

    def span(self) -> tuple[float, float]:
        """Where most thresholds will be looked for; a backend may tabulate the density there."""
        named = self.parameters
        location, scale = named["location"], named["scale"]
        if self.kind == "gamma":
            reach = scale * (named["shape"] + 12.0 * math.sqrt(named["shape"]) + 40.0)
            return (location - reach, location) if named["mirrored"] else (location, location + reach)
        reach = scale * (40.0 if self.kind == "normal" else 200.0)
        return location - reach, location + reach


def given(
    kind: str, parameters: Mapping[str, object], below: object = 0.0, above: object = 0.0, rows: object = None
) -> Given:
    """Check what a user says of a density; the error says which word or number is wrong."""
    if kind not in FAMILIES:
        raise refusal("family", "family", value=kind, limit=FAMILIES)
    names = PARAMETERS[kind]
    for name in parameters:
        if name not in names:
            raise refusal("family_parameter", name, value=kind, limit=names)
    for name in names:
        if name not in parameters and name not in DEFAULTS:
            raise refusal("family_needs", name, value=kind, limit=names)
    values = tuple(_checked(name, parameters.get(name, DEFAULTS.get(name))) for name in names)
    ends = _checked("below", below, "share"), _checked("above", above, "share")
    if not sum(ends) < 1.0:
        raise refusal("family_ends", "below", value=ends)
    return Given(kind, values, *ends, None if rows is None else _checked("rows", rows))


def _checked(name: str, value: object, kind: str = "") -> float:
    """A parameter within its bounds; `kind` is what it is, where that is not its name."""
    kind = kind or name
    if kind == "mirrored":
        if not isinstance(value, (bool, np.bool_)):
            raise refusal("mirrored_type", "mirrored", value=value)
        return bool(value)
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (Real, np.number)):
        raise refusal("family_number", name, value=value)
    if not WITHIN[kind][0] <= float(value) <= WITHIN[kind][1]:
        raise refusal(f"family_{kind}", name, value=value, limit=WITHIN[kind])
    return float(value)
