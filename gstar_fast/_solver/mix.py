"""Randomised thresholds: the mixture of candidates of each group that costs the least within the limits.

Each group is a segment of the linear program in `_backends/common/segments.py`. A candidate's features are its cost and
its rates; where rates have bands, the low and the high ends of these: the band of a mixture is the mean of its
candidates' bands. Several mixtures may cost the same; which of them is found is the backend's business.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gstar_fast._backends import room
from gstar_fast._backends.common.segments import HIGH, Program, Rows, excess, rows_of
from gstar_fast._backends.interface import Arrays, Floats, Ints
from gstar_fast._base.arrays import Bools, Values
from gstar_fast._criteria import TOLERANCE

SPARE = 1e-9  # of a limit: what rounding may add to a mixture's gap
CLOSE = 1e-7  # of the largest E, or of 1: a mixture that is not proven to be this good has not been found


@dataclass(frozen=True)
class Mixture:
    """The optimal weights: entries of the arrays, their weights, and how fast E falls as the swept limits rise."""

    entries: Ints
    weights: Floats
    slope: float
    scans: int  # looks at all candidates


def program_of(p: Arrays, rows: Rows) -> Program:
    """The linear program over mixtures: slots 0, 1, ... of a group are its cost, and the ends of its rates."""
    many = len(p.start) - 1
    features = np.concatenate([p.cost[None] / p.unit, *(p.bands if p.banded else (p.rates,))])
    per_group = len(features)
    measure = np.arange(many)[:, None] + many * np.arange(per_group - 1)  # of each group: low ends, then high ends
    one = np.zeros((per_group, 2))
    one[:, 0] = 1.0
    at_cost = np.arange(many * per_group) % per_group == 0
    return Program(
        start=p.start,
        begin=np.arange(many + 1) * per_group,
        slot=np.arange(many * per_group),
        values=np.concatenate([part.reshape(-1) for part in np.split(features, p.start[1:-1], axis=1)]),
        cost=p.cost,
        distance=p.distance,
        price=np.where(at_cost, 1.0, 0.0),
        most=np.where(at_cost, np.repeat(np.maximum.reduceat(features[0], p.start[:-1]), per_group), 1.0),
        constant=0.0,
        term=np.concatenate([[0], np.cumsum(~at_cost)]),
        measure=measure.reshape(-1),
        slope=np.ones(measure.size),
        hits=np.tile([1.0, 0.0], (measure.size, 1)),
        base=np.zeros(measure.size),
        given=np.zeros((measure.size, 2)),
        trials=np.tile([1.0, 0.0], (measure.size, 1)),
        rows=rows,
        unit=p.unit,
        rising=False,
    )


def mix(p: Arrays) -> Mixture | None:
    """The cheapest mixture that meets every limit, or None."""
    return _found(p, program_of(p, _asked(p)))


def _asked(p: Arrays, gap: float = np.inf, swept: Bools | None = None, added: bool = False) -> Rows:
    """The limits of the arrays as rows, those of the swept rates at most `gap`; with `added`, that of the sum."""
    limit = np.maximum(p.limit - TOLERANCE, 0.0)
    if swept is not None and not added:
        limit[swept] = np.minimum(limit[swept], gap)
    total = max(p.total - TOLERANCE, 0.0)
    ratio = np.where(p.ratio >= 0, p.ratio + TOLERANCE, -1.0)
    apart = p.has.size if p.banded else 0
    return rows_of(limit, ratio, min(total, gap) if added else total, p.has.astype(bool), apart=apart)


def _found(p: Arrays, program: Program, moving: Bools | None = None) -> Mixture | None:
    """The optimum, or None if no mixture meets the limits; `moving` are the rows whose limits are swept."""
    best = room("segments").mix(program)
    if best is None:
        return None
    slope = 0.0 if moving is None else -float(best.multipliers[moving].sum())
    mixture = Mixture(p.start[best.segment] + best.number, best.weight, slope, best.scans)
    ends = np.concatenate([mixed(each, p, mixture).reshape(-1) for each in (p.bands if p.banded else (p.rates,))])
    if not excess(program.rows, ends) <= SPARE:  # nothing meets the limits, but for rounding
        return None
    if not best.value - best.bound <= CLOSE * program.most.max(initial=1.0):
        raise RuntimeError("the linear program did not finish")
    return mixture


def mixed(values: Values, p: Arrays, mixture: Mixture) -> Floats:
    """Average of values (..., n) over each group's mixture: (..., K)."""
    n_groups = len(p.start) - 1
    group = np.searchsorted(p.start, mixture.entries, side="right") - 1
    out = np.zeros((*np.shape(values)[:-1], n_groups))
    for i, k, w in zip(mixture.entries, group, mixture.weights, strict=True):
        out[..., k] += w * np.asarray(values)[..., i]
    return out


def corners_of(p: Arrays, swept: Bools, added: bool = False) -> dict[float, tuple[float, Mixture]]:
    """Gap -> least E and its mixture, at the corners of that convex, piecewise linear function.

    `swept` are the rates whose gap it is, the largest of theirs or, with `added`, their sum. Solves at both ends, then
    where tangents meet. Empty where no mixture meets the limits.
    """
    widest = 2.0 if added else 1.0
    program = program_of(p, _asked(p))

    def solve(gap: float) -> tuple[float, float, Mixture] | None:
        rows = _asked(p, gap, swept, added)
        moving = rows.share > 0 if added else (rows.kind == HIGH) & swept[rows.window]
        moving &= gap < (p.total if added else p.limit[rows.window]) - TOLERANCE  # others are held by a fixed limit
        mixture = _found(p, replace(program, rows=rows), moving)
        if mixture is None:
            return None
        return float(mixed(p.cost / p.unit, p, mixture).sum()), mixture.slope, mixture

    def spread(mixture: Mixture) -> float:
        lows, highs = (mixed(ends, p, mixture) for ends in p.bands)
        has = p.has.astype(bool)
        gaps = [float(highs[r][has[r]].max() - lows[r][has[r]].min()) for r in np.flatnonzero(swept)]
        return sum(gaps) if added else max(gaps)

    cheapest = solve(widest)
    if cheapest is None:
        return {}
    least_gap = solve(0.0)
    low = 0.0
    if least_gap is None:  # fixed limits rule out a gap of 0: find the smallest there is
        low, high = 0.0, widest
        while high - low > 1e-12:
            half = (low + high) / 2
            low, high = (low, half) if solve(half) is not None else (half, high)
        low, least_gap = high, solve(high)
        assert least_gap is not None
    points: dict[float, tuple[float, Mixture]] = {low: (least_gap[0], least_gap[2])}
    pending = [(low, least_gap, widest, cheapest)]
    while pending:
        a, left, b, right = pending.pop()
        if left[0] - right[0] <= 1e-13 or left[1] >= right[1] - 1e-13:
            continue
        meet = (right[0] - left[0] + left[1] * a - right[1] * b) / (left[1] - right[1])
        if not a + 1e-12 < meet < b - 1e-12:  # one tangent is the chord: nothing lies between
            continue
        middle = solve(meet)
        assert middle is not None
        points[meet] = (middle[0], middle[2])
        if middle[0] > left[0] + left[1] * (meet - a) + 1e-12:  # above the tangents: there may be more on both sides
            pending += [(a, left, meet, middle), (meet, middle, b, right)]
    points.setdefault(spread(cheapest[2]), (cheapest[0], cheapest[2]))
    return {gap: points[gap] for gap in _corners([(gap, error) for gap, (error, _) in sorted(points.items())])}


def _corners(points: list[tuple[float, float]]) -> list[float]:
    """Which points, given in order of gap, are corners of their lower hull: their gaps."""
    kept: list[tuple[float, float]] = []
    for gap, error in points:
        if kept and error >= kept[-1][1] - 1e-13:
            continue
        while len(kept) > 1:
            (a, first), (b, second) = kept[-2:]
            if second < first + (error - first) * (b - a) / (gap - a) - 1e-13:
                break
            kept.pop()
        kept.append((gap, error))
    return [gap for gap, _ in kept]


def blended(one: Mixture, two: Mixture, share: float) -> Mixture:
    """A share of one mixture replaced by another."""
    entries = np.concatenate([one.entries, two.entries])
    weights = np.concatenate([(1 - share) * one.weights, share * two.weights])
    merged = np.unique(entries)
    total = np.array([weights[entries == e].sum() for e in merged])
    return Mixture(merged, total, 0.0, 0)
