"""Small searches whose rates have bands, and their answers by trying everything."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from gstar_fast._backends.interface import Arrays


class Candidate(NamedTuple):
    """What one candidate costs, how far it is from the unified one, and (low, rate, high) of each rate."""

    cost: int
    distance: int
    bands: tuple[tuple[float, float, float], ...]


class Banded(NamedTuple):
    """Candidates of each group; `has[r][k]` says whether group k has rate r."""

    groups: list[list[Candidate]]
    has: list[list[bool]]
    limit: list[float]
    ratio: list[float]

    def arrays(self, *, plain=False):
        """What the backends read; `plain` leaves the bands out."""
        entries = [c for group in self.groups for c in group]
        low, rates, high = np.moveaxis(np.array([c.bands for c in entries]), -1, 0).transpose(0, 2, 1)
        return Arrays(
            start=np.concatenate([[0], np.cumsum([len(group) for group in self.groups])]),
            cost=np.array([c.cost for c in entries], dtype=np.int64),
            distance=np.array([c.distance for c in entries], dtype=np.int64),
            rates=np.ascontiguousarray(rates),
            has=np.array(self.has, dtype=np.uint8),
            limit=np.array(self.limit),
            ratio=np.array(self.ratio),
            penalty=np.zeros(len(self.limit)),
            unit=100.0,
            low=None if plain else np.ascontiguousarray(low),
            high=None if plain else np.ascontiguousarray(high),
        )

    def ends(self, r, choice):
        """The lowest low end and the highest high end of a rate."""
        mine = [
            group[i].bands[r] for k, (group, i) in enumerate(zip(self.groups, choice, strict=True)) if self.has[r][k]
        ]
        return min(low for low, _, _ in mine), max(high for _, _, high in mine)

    def allows(self, choice):
        for r, (limit, ratio) in enumerate(zip(self.limit, self.ratio, strict=True)):
            low, high = self.ends(r, choice)
            if high - low > limit or (ratio >= 0 and high > 0 and low / high < ratio):
                return False
        return True

    def key(self, choice):
        """What is compared: cost, distance, thresholds."""
        chosen = [group[i] for group, i in zip(self.groups, choice, strict=True)]
        return sum(c.cost for c in chosen), sum(c.distance for c in chosen), choice

    def choices(self):
        return filter(self.allows, itertools.product(*(range(len(group)) for group in self.groups)))

    def best(self):
        """The least key of all allowed choices, or None."""
        return min(map(self.key, self.choices()), default=None)

    def frontier(self, swept):
        """Gap and choice of every point that nobody dominates, from the smallest gap to the least cost."""
        points = []
        for choice in self.choices():
            widths = [high - low for r in swept for low, high in [self.ends(r, choice)]]
            points.append((self.key(choice)[0], max(widths), self.key(choice)[1], choice))
        kept = []
        for point in sorted(points):
            if not kept or point[1] < kept[-1][1]:
                kept.append(point)
        return [(gap, choice) for _, gap, _, choice in reversed(kept)]


@st.composite
def banded(draw, most_groups=4):
    """Whole sixteenths, so that ties are common; rates that fall with the threshold and others; many limits."""
    n_groups, n_rates = draw(st.integers(1, most_groups)), draw(st.integers(1, 3))
    falls = draw(st.lists(st.booleans(), min_size=n_rates, max_size=n_rates))
    size = st.integers(1, {1: 6, 2: 7, 3: 5, 4: 3}[n_groups])
    groups = []
    for _ in range(n_groups):
        n = draw(size)
        # one draw of bytes a group: many small draws take longer than the searches
        raw = np.frombuffer(draw(st.binary(min_size=n * (3 * n_rates + 2), max_size=n * (3 * n_rates + 2))), np.uint8)
        cost, distance, *rest = raw.reshape(-1, n).astype(int)
        by_rate = []
        for r in range(n_rates):
            rate = rest[3 * r] % 17
            below, above = (np.array([0, 0, 1, 2, 5])[rest[3 * r + end] % 5] for end in (1, 2))
            ends = np.stack([np.maximum(rate - below, 0), rate, np.minimum(rate + above, 16)])
            if falls[r]:  # each end by itself: sorted rows keep low <= rate <= high
                ends = np.sort(ends, axis=1)[:, ::-1]
            by_rate.append([tuple(band) for band in (ends.T / 16).tolist()])
        listed = zip((cost % 7).tolist(), (distance % 7).tolist(), zip(*by_rate, strict=True), strict=True)
        groups.append([Candidate(*fields) for fields in listed])
    has = [[True] * n_groups for _ in range(n_rates)]
    if n_groups > 2 and draw(st.booleans()):
        has[0][draw(st.integers(0, n_groups - 1))] = False
    limits = st.sampled_from([0.0, 1 / 16, 3 / 16, 0.5, math.inf])
    ratios = st.sampled_from([-1.0, -1.0, -1.0, 0.5, 0.8 - 1e-12])
    listed = {"min_size": n_rates, "max_size": n_rates}
    return Banded(groups, has, draw(st.lists(limits, **listed)), draw(st.lists(ratios, **listed)))


def wilson(accepted, rows, z):
    """The ends of Wilson's interval of z standard errors, from the roots of (rate - p)^2 = z^2 p (1 - p) / rows."""
    if z == 0:
        return accepted / rows, accepted / rows
    a, b, c = 1 + z * z / rows, -(2 * accepted / rows + z * z / rows), (accepted / rows) ** 2
    root = math.sqrt(max(b * b - 4 * a * c, 0.0))
    return max((-b - root) / (2 * a), 0.0), min((-b + root) / (2 * a), 1.0)
