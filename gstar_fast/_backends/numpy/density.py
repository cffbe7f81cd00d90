"""Densities in NumPy: the reference, written as the paper writes them.

Every backend offers the same five makers - `empirical`, `kde`, `family`, `fit_student_t`, `fit_gamma` - over plain
arrays. A made density has `at(x) -> (cdf, pdf)` and `quantile(p)` for 1-D float64 arrays; cdf(x) is P(X < x).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from gstar_fast._backends.interface import Evaluator
from gstar_fast._backends.numpy import families
from gstar_fast._backends.numpy.families import fit_gamma, fit_student_t
from gstar_fast._base.arrays import Floats as Array

__all__ = ["empirical", "family", "fit_gamma", "fit_student_t", "kde"]

REACH = 8.5  # bandwidths after which a Gaussian kernel is nothing (1e-17)


class Empirical:
    """The counts: exact at every edge, linear inside a bin, a step where a bin's rows share one score.

    They come as a cdf at the bins + 1 edges; `atoms[b]` is the score all rows of bin b share, NaN where they do not.
    """

    def __init__(self, edges: Array, cdf: Array, atoms: Array) -> None:
        self._edges, self._cdf, self._atoms = edges, cdf, atoms

    def at(self, x: Array) -> tuple[Array, Array]:
        edges = self._edges
        b = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(self._atoms) - 1)
        lower, width, step = edges[b], edges[b + 1] - edges[b], self._cdf[b + 1] - self._cdf[b]
        atom = self._atoms[b]
        smooth = np.isnan(atom)
        share = (np.clip(x, edges[0], edges[-1]) - lower) / width
        cdf = np.minimum(self._cdf[b] + step * np.where(smooth, share, x > atom), self._cdf[b + 1])  # for rounding
        cdf = np.where(x >= edges[-1], self._cdf[-1], cdf)
        with np.errstate(over="ignore"):  # of bins next to zero
            pdf = np.where(smooth & (x > edges[0]) & (x < edges[-1]), step / width, 0.0)
        return _at_infinity(x, cdf, pdf)

    def quantile(self, p: Array) -> Array:
        """The least x with P(X <= x) >= p."""
        start, end = self._cdf[0], self._cdf[-1]
        reached = np.where(
            p > start, np.searchsorted(self._cdf, p, side="left"), np.searchsorted(self._cdf, p, side="right")
        )
        b = np.minimum(reached, len(self._atoms)) - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip((p - self._cdf[b]) / (self._cdf[b + 1] - self._cdf[b]), 0.0, 1.0)
        inside = self._edges[b] + share * (self._edges[b + 1] - self._edges[b])
        x = np.where(np.isnan(self._atoms[b]), inside, self._atoms[b])
        x = np.where(p > end, np.inf, np.where((p <= start) & (start > 0.0), -np.inf, x))
        return np.where((p >= 0.0) & (p <= 1.0), x, np.nan)


class Mixed:
    """A smooth density for the rows inside the window, and the shares of rows at -inf and +inf."""

    def __init__(self, below: float, above: float) -> None:
        self._below, self._above, self._inside = below, above, 1.0 - below - above

    def smooth(self, x: Array) -> tuple[Array, Array]:
        """Cdf and pdf of the rows inside, at finite x."""
        raise NotImplementedError

    def smooth_quantile(self, p: Array) -> Array:
        raise NotImplementedError

    def at(self, x: Array) -> tuple[Array, Array]:
        cdf, pdf = self.smooth(np.where(np.isfinite(x), x, 0.0))
        return _at_infinity(x, self._below + self._inside * cdf, self._inside * pdf, 1.0 - self._above)

    def quantile(self, p: Array) -> Array:
        allowed = (p >= 0.0) & (p <= 1.0)
        x = self.smooth_quantile(np.clip((np.where(allowed, p, 0.5) - self._below) / self._inside, 0.0, 1.0))
        x = np.where((p <= self._below) & (self._below > 0.0), -np.inf, x)
        x = np.where(p > 1.0 - self._above, np.inf, x)
        return np.where(allowed, x, np.nan)


class Kde(Mixed):
    """f(x) = sum over bins of w_b K(x - T_b), T ascending, K the normal density of standard deviation `bandwidth`."""

    def __init__(self, points: Array, weights: Array, bandwidth: float, below: float, above: float) -> None:
        super().__init__(below, above)
        self._points, self._weights, self._bandwidth = points, weights / weights.sum(), bandwidth
        self._low, self._high = points[0] - REACH * bandwidth, points[-1] + REACH * bandwidth

    def smooth(self, x: Array) -> tuple[Array, Array]:
        cdf, pdf = np.empty_like(x), np.empty_like(x)
        for block in range(0, len(x), 256):  # a block of x against all bins: 8 MB at 4096 bins
            part = slice(block, block + 256)
            z = (x[part, None] - self._points) / self._bandwidth
            cdf[part] = special.ndtr(z) @ self._weights
            pdf[part] = np.exp(-0.5 * z * z) @ self._weights
        return np.clip(cdf, 0.0, 1.0), pdf / (self._bandwidth * np.sqrt(2.0 * np.pi))

    def smooth_quantile(self, p: Array) -> Array:
        nodes = np.linspace(self._low, self._high, 513)
        place = np.clip(np.searchsorted(self.smooth(nodes)[0], p), 1, len(nodes) - 1)
        x = invert(self.smooth, p, nodes[place - 1], nodes[place])
        return np.where(p <= 0.0, self._low, np.where(p >= 1.0, self._high, x))


class Family(Mixed):
    """One of the paper's parametric densities."""

    def __init__(self, name: str, parameters: tuple[float, ...], below: float, above: float) -> None:
        super().__init__(below, above)
        self._evaluate: Callable[..., tuple[Array, Array]] = getattr(families, name)
        self._invert: Callable[..., Array] = getattr(families, f"{name}_quantile")
        self._parameters = parameters

    def smooth(self, x: Array) -> tuple[Array, Array]:
        return self._evaluate(x, *self._parameters)

    def smooth_quantile(self, p: Array) -> Array:
        return self._invert(p, *self._parameters)


empirical, kde = Empirical, Kde


def family(name: str, parameters: tuple[float, ...], below: float, above: float, low: float, high: float) -> Evaluator:  # noqa: ARG001
    """`normal`, `student_t` or `gamma`; low and high are where thresholds will be looked for."""
    return Family(name, parameters, below, above)


def invert(evaluate: Callable[[Array], tuple[Array, Array]], p: Array, low: Array, high: Array) -> Array:
    """Solve cdf(x) = p between low and high: Newton steps, a bisection where one leaves its bracket."""
    x, low, high = 0.5 * (low + high), low.copy(), high.copy()
    left = np.arange(len(p))  # each p is finished for itself, so that its answer does not depend on its neighbours
    for _ in range(200):
        if not left.size:
            break
        here = x[left]
        cdf, pdf = evaluate(here)
        miss = cdf - p[left]
        high[left] = np.where(miss > 0.0, here, high[left])
        low[left] = np.where(miss < 0.0, here, low[left])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            following = here - miss / pdf
        inside = (following > low[left]) & (following < high[left])
        following = np.where(miss == 0.0, here, np.where(inside, following, 0.5 * (low[left] + high[left])))
        x[left] = following
        left = left[np.abs(following - here) > 4e-16 * np.abs(here)]
    return x


def _at_infinity(x: Array, cdf: Array, pdf: Array, end: float | None = None) -> tuple[Array, Array]:
    """P(X < -inf) is 0, P(X < inf) leaves out what lies at +inf, and NaN stays NaN."""
    cdf = np.where(x == -np.inf, 0.0, cdf)
    if end is not None:
        cdf = np.where(x == np.inf, end, cdf)
    pdf = np.where(np.isinf(x), 0.0, pdf)
    nan = np.isnan(x)
    return np.where(nan, np.nan, cdf), np.where(nan, np.nan, pdf)
