"""Densities in C++: the makers of `gstar_fast._core`, behind the interface every backend shares."""

from __future__ import annotations

from gstar_fast import _core
from gstar_fast._core import fit_gamma, fit_student_t

__all__ = ["empirical", "family", "fit_gamma", "fit_student_t", "kde"]

empirical = _core.Density.empirical
kde = _core.Density.kde


def family(
    name: str, parameters: tuple[float, ...], below: float, above: float, low: float, high: float
) -> _core.Density:
    """`normal`, `student_t` or `gamma`; low and high are where thresholds will be looked for."""
    made: _core.Density = getattr(_core.Density, name)(*parameters, below, above, low, high)
    return made
