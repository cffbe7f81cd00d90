"""The chance for many groups and two rates, where groups say something about each other.

With one threshold a group, the *place* of a group on its ROC curve is chosen: observed rates are made alike, and how
far the true ones lie from them is independent noise. Its *distance from the common curve* is found: it holds real
difference plus noise, and to draw the noise a second time (as `chance` does) says too much of it. Here the distances of
the groups are taken to be alike to some degree, which the groups themselves tell.

At the chosen thresholds let a and v be mean and variance of tpr (1) and fpr (2) of a group, and s the slope of the
common ROC curve there. The distance w = a1 - s a2, of variance V = v1 + s^2 v2, does not change along the curve. With
true distances N(w0, tau^2), w0 and tau flat, and h = tau^2 / (tau^2 + V),

    D   = clip((1 - h) (w0 - w), +- sqrt(V) / 2) + sqrt(h V) z1       for groups that share
    D   = sqrt(V) z1                                                  for those left out
    tpr = a1 + v1 / V D + s sqrt(v1 v2 / V) z2
    fpr = a2 - s v2 / V D + sqrt(v1 v2 / V) z2

with standard normal z1 and z2. Given w0 and tau the groups are independent, and the chance that a rate's limit holds is
the sum of `chance.py` with normal distributions. Both limits hold with at least the product of their chances, since tpr
and fpr of a group rise together. w0 and tau are summed over a small grid.

The chance is the largest over: each group left out, and the worst of these together with each other group. (A gap is a
matter of two groups: those two borrow nothing, so one or two odd small groups cannot hide behind the rest.) Divided by
LOOSENED it is held against the risk.

Tuned, on five settings of census and normal scores: the shift of half a standard error, LOOSENED, and the least number
of groups. Groups stand in the order of their counts, so that names and their order change nothing.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from gstar_fast._backends.interface import Floats
from gstar_fast._base.arrays import Bools
from gstar_fast._solver.promise.chance import Beliefs

LEAST_GROUPS = 5
SHIFT = 0.5  # standard errors that a group may be moved towards the others
LOOSENED = 1.2
TAUS = 9  # from 0 to three times what the groups or their errors show
LEVELS = ((-(3**0.5), 1 / 6), (0.0, 2 / 3), (3**0.5, 1 / 6))  # of w0: three points with the moments of a normal
RARE = 0.01  # pairs of tau and w0 that weigh less are left out
GRID = 32  # steps of a sum that is exact to 1e-4
SQRT_2_PI = (2 * np.pi) ** 0.5
SHARPEST = 24.0  # a rate known to better than limit / SHARPEST is taken as known to that


def shared_chance(beliefs: Beliefs, slope: float, limit: Floats, stop: float) -> float:
    """The chance that one of two limits is broken; rows of the beliefs are tpr and fpr, none of them certain.

    What is above `stop` may be a lower bound: it is not needed more exactly.
    """
    total = beliefs.a + beliefs.b
    mean = beliefs.a / total
    order = np.lexsort((*beliefs.a, *total))
    groups = _Groups(mean[:, order], (mean * (1 - mean) / (total + 1))[:, order], slope, limit)
    k = len(order)
    most = groups.broken(np.ones(k, dtype=bool))
    if most > stop:
        return most
    worst = 0
    for i in range(k):
        found = groups.broken(np.arange(k) != i)
        if found > most:
            most, worst = found, i
        if most > stop:
            return most
    for i in range(k):
        if i != worst:
            most = max(most, groups.broken((np.arange(k) != i) & (np.arange(k) != worst)))
            if most > stop:
                return most
    return most


class _Groups:
    """Mean and variance of tpr and fpr of each group, (2, K), and the slope of the common curve."""

    def __init__(self, mean: Floats, variance: Floats, slope: float, limit: Floats) -> None:
        (v1, v2), s = variance, slope
        self.mean, self.limit = mean, limit
        self.w = mean[0] - s * mean[1]
        self.v = v1 + s * s * v2
        self.lever = np.stack([v1, -s * v2]) / self.v  # how far D moves each rate
        self.along = np.stack([s * s * v1 * v2, v1 * v2]) / self.v  # variance along the curve

    def broken(self, inside: Bools) -> float:
        """The chance where these groups share."""
        weight, shift, h = self._moved(inside)
        kept = np.ones(len(weight))
        for i in (0, 1):
            mean = self.mean[i] + self.lever[i] * shift
            deviation = np.sqrt(self.lever[i] ** 2 * h * self.v + self.along[i])
            kept *= _hold(mean, np.maximum(deviation, self.limit[i] / SHARPEST), self.limit[i])
        return float(1 - weight @ kept) / LOOSENED

    def _moved(self, inside: Bools) -> tuple[Floats, Floats, Floats]:
        """Pairs of tau and w0: their weights (m,), how far they move the groups, and h, both (m, K)."""
        x, v = self.w[inside], self.v[inside]
        taus = np.linspace(0.0, 3 * max(float(np.std(x)), float(np.sqrt(v.mean()))), TAUS)
        precision = 1 / (v[:, None] + taus**2)
        total = precision.sum(axis=0)
        centre = (precision * x[:, None]).sum(axis=0) / total
        spread = (precision * (x[:, None] - centre) ** 2).sum(axis=0)
        log = 0.5 * np.log(precision).sum(axis=0) - 0.5 * np.log(total) - 0.5 * spread
        chance = np.exp(log - log.max())
        at, points, share = zip(
            *((i, centre[i] + z / np.sqrt(total[i]), chance[i] * q) for i in range(TAUS) for z, q in LEVELS),
            strict=True,
        )
        weight = np.array(share) / sum(share)
        common = weight >= RARE
        tau2, w0 = taus[list(at)][common, None] ** 2, np.array(points)[common, None]
        h = np.where(inside, tau2 / (tau2 + self.v), 1.0)
        reach = SHIFT * np.sqrt(self.v)
        shift = np.where(inside, np.clip((1 - h) * (w0 - self.w), -reach, reach), 0.0)
        return weight[common] / weight[common].sum(), shift, h


def _hold(mean: Floats, deviation: Floats, limit: float) -> Floats:
    """Pr(largest - smallest <= limit) of independent normal rates, rows of (m, K): as `holds` in chance.py."""
    first = (mean - 6 * deviation).max(axis=1)
    last = (mean + 6 * deviation).min(axis=1) + limit
    step = (last - first).clip(min=0.0) / GRID
    t = first[:, None] + step[:, None] * np.arange(1, GRID)  # at both ends there is nothing
    z = (t[:, None, :] - mean[:, :, None]) / deviation[:, :, None]
    window = np.maximum(special.ndtr(z) - special.ndtr(z - (limit / deviation)[:, :, None]), 1e-200)
    density = np.exp(-0.5 * z * z) / (deviation * SQRT_2_PI)[:, :, None]
    out: Floats = ((density / window).sum(axis=1) * np.prod(window, axis=1)).sum(axis=1) * step
    return np.minimum(out, 1.0)
