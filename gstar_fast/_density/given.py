"""What users say of a density: the parameters of a known family, or a bandwidth; checked, and ready for a backend.

Rules for the bandwidth read the counts of one cell. They stand here for all backends, since a rule runs once a cell.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real

import numpy as np

from gstar_fast._base.arrays import Floats
from gstar_fast._base.refusals.place import bad_option, bad_option_type
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._density.cell import Cell, NoDensityError
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
RULES = ("scott", "silverman", "isj")
FAR = 64.0  # spreads beyond the quartiles from which rows are left out by isj
STEPS = 256.0  # that isj cuts a spread into, at least


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


# ----------------------------------------------------------------------------------------------------------- bandwidths


def bandwidth_of(cell: Cell, bandwidth: float | str) -> tuple[float, str | None]:
    """Return the bandwidth as a number, and the rule it came from."""
    wrong = f"bandwidth must be a number or one of {', '.join(RULES)}; got {bandwidth!r}"
    if isinstance(bandwidth, str):
        if bandwidth not in RULES:
            raise bad_option("bandwidth", wrong)
        return _by_rule(cell, bandwidth)
    try:
        number = float(bandwidth)
    except (TypeError, ValueError):
        raise bad_option_type("bandwidth", wrong) from None
    if not (number > 0.0 and math.isfinite(number)):
        raise bad_option("bandwidth", f"bandwidth must be above 0 and finite, got {number!r}")
    return number, None


def _by_rule(cell: Cell, rule: str) -> tuple[float, str]:
    spread = cell.deviation
    if not spread > 0.0:
        raise NoDensityError(
            f"{cell} {cell.spread_words}, so {rule!r} gives no bandwidth; "
            "give bandwidth a number, or use kind='empirical'"
        )
    n = cell.effective
    if rule == "scott":
        return spread * math.sqrt(n / max(n - 1.0, 1.0)) * n ** (-0.2), "scott"
    before = np.cumsum(cell.weights)
    lower, upper = (float(cell.points[np.searchsorted(before, p * before[-1])]) for p in (0.25, 0.75))
    if upper > lower:
        spread = min(spread, (upper - lower) / 1.3489795003921634)
    if rule == "isj":
        shares, span = _evenly(cell, lower - FAR * spread, upper + FAR * spread, spread)
        found = _improved_sheather_jones(shares, n)
        if found is not None:
            return found * span, "isj"
    return spread * (0.75 * n) ** (-0.2), "silverman" if rule == "silverman" else "silverman, isj found none"


def _evenly(cell: Cell, low: float, high: float, spread: float) -> tuple[Floats, float]:
    """Shares of the rows in equal steps of the scores, those beyond `low` and `high` left out; and how far it goes.

    Rows far out say nothing about how wide a kernel the others need, but would make the steps too long for them.
    """
    low, high = max(low, float(cell.edges[cell.used[0]])), min(high, float(cell.edges[cell.used[-1] + 1]))
    steps = 2.0 ** math.ceil(math.log2((high - low) / spread * STEPS))
    at = np.linspace(low, high, int(min(max(steps, 4096), 65_536)) + 1)
    before = np.concatenate((np.zeros(1), np.cumsum(cell.counts / cell.inside)))
    return np.diff(np.interp(at, cell.edges, before)), high - low


def _improved_sheather_jones(shares: Floats, n: float) -> float | None:
    """Botev, Grotowski and Kroese (2010), section 5: the bandwidth in units of the whole, or None.

    The plug-in estimate of each derivative's norm needs a bandwidth that depends on the norm of the next derivative;
    the fixed point of that chain is the answer. Norms come from the cosine transform of the shares.
    """
    from scipy import fft  # not at import: the package starts without scipy

    frequencies = (math.pi * np.arange(1.0, len(shares))) ** 2
    powers = 2.0 * (0.5 * fft.dct(shares)[1:]) ** 2
    spectra = {order: powers * frequencies**order for order in range(2, 8)}

    def norm(order: int, time: float) -> float:
        """Squared norm of the derivative of that order after smoothing for that time."""
        heard = int(np.searchsorted(frequencies, 750.0 / time))  # beyond, the exponential is 0
        return float(np.exp(-time * frequencies[:heard]) @ spectra[order][:heard])

    def miss(time: float) -> float:
        f = norm(7, time)
        for order in range(6, 1, -1):
            odd = float(np.prod(np.arange(1.0, 2 * order, 2.0))) / math.sqrt(2.0 * math.pi)
            shrink = (1.0 + 0.5 ** (order + 0.5)) / 3.0
            if not f > 0.0:
                return math.nan
            f = norm(order, (2.0 * shrink * odd / (n * f)) ** (2.0 / (3.0 + 2.0 * order)))
        return time - (2.0 * n * math.sqrt(math.pi) * f) ** (-0.4) if f > 0.0 else math.nan

    # The least time at which the chain returns what it was given: bracket it, then halve.
    times = np.geomspace((0.1 / len(shares)) ** 2, 0.1, 24)
    low = float(times[0])
    if not miss(low) < 0.0:
        return None
    for time in times[1:]:
        high = float(time)
        if miss(high) > 0.0:
            break
        low = high
    else:
        return None
    for _ in range(44):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if miss(middle) < 0.0 else (low, middle)
    return math.sqrt(high)
