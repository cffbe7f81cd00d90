"""Densities in Numba: kernel sums are compiled; counts and families are array work already and come from NumPy."""

from __future__ import annotations

import math

import numpy as np

from gstar_fast._backends.numba.jit import jit
from gstar_fast._backends.numpy.density import REACH, Kde, empirical, family, fit_gamma, fit_student_t
from gstar_fast._base.arrays import Floats as Array

__all__ = ["empirical", "family", "fit_gamma", "fit_student_t", "kde"]


@jit()
def _kernel_sums(
    points: Array, weights: Array, before: Array, bandwidth: float, x: Array, cdf: Array, pdf: Array
) -> None:
    """Sum the kernels within reach of each x; points further left count whole, further right not at all."""
    reach = REACH * bandwidth
    for i in range(x.size):
        start = np.searchsorted(points, x[i] - reach)
        below, height = before[start], 0.0
        for b in range(start, points.size):
            z = (x[i] - points[b]) / bandwidth
            if z < -REACH:
                break
            below += weights[b] * 0.5 * math.erfc(-z * math.sqrt(0.5))
            height += weights[b] * math.exp(-0.5 * z * z)
        cdf[i] = min(below, 1.0)
        pdf[i] = height / (bandwidth * math.sqrt(2.0 * math.pi))


class CompiledKde(Kde):
    """As the NumPy one, but each x meets only the kernels in its reach."""

    def __init__(self, points: Array, weights: Array, bandwidth: float, below: float, above: float) -> None:
        super().__init__(points, weights, bandwidth, below, above)
        self._before = np.concatenate(([0.0], np.cumsum(self._weights)))

    def smooth(self, x: Array) -> tuple[Array, Array]:
        cdf, pdf = np.empty_like(x), np.empty_like(x)
        _kernel_sums(self._points, self._weights, self._before, self._bandwidth, x, cdf, pdf)
        return cdf, pdf


kde = CompiledKde
