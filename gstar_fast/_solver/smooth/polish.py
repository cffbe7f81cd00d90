"""Thresholds off the grid: the optimum next to the best edges, on smooth densities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gstar_fast._backends import room
from gstar_fast._backends.common.choices import allowed, loss_of
from gstar_fast._backends.common.descent import evaluate, slopes
from gstar_fast._backends.interface import BOX_LIMIT, Floats, node_limit
from gstar_fast._criteria import TOLERANCE

if TYPE_CHECKING:
    from gstar_fast._solver.smooth.smooth import Smooth

LOOSE = 1e-7  # how close to its limit a rate must be to count as held there


def polish(s: Smooth, thresholds: Floats, unified: bool) -> Floats:
    """The local optimum next to the best edges: Newton for penalties, finer and finer grids for limits."""
    p = s.problem
    if not np.isfinite(thresholds).all():
        return thresholds
    if not s.question.limits:
        if not (p.penalty > 0).any() and not unified:
            return _own_minima(s, thresholds)
        tolerance = 1e-13 * p.bulk
        found, _, _, _, _ = room("solver").newton(p, thresholds, True, unified, 100, tolerance, False)
        return np.asarray(found)
    fine = _zoom(s, thresholds, unified)
    held = None if unified else hold_limits(s, fine, s.loss(fine))
    return fine if held is None else held


def _own_minima(s: Smooth, thresholds: Floats) -> Floats:
    """Without limits or penalties each group minimises its own error: where prices times pdfs cross."""
    out = thresholds.copy()
    p = s.problem
    next_to = s.around(thresholds, np.array([-1.0, 1.0]))
    for k in range(len(s.groups)):

        def slope(x: float, k: int = k) -> float:
            return sum(
                float(p.error_coefficient[k, c] * p.cells[3 * k + c].at(np.array([x]))[1][0])
                for c in range(2)
                if p.cells[3 * k + c] is not None
            )

        low, high = next_to[k].tolist()
        if slope(low) < 0 < slope(high):
            for _ in range(80):
                middle = (low + high) / 2
                low, high = (middle, high) if slope(middle) < 0 else (low, middle)
            out[k] = (low + high) / 2
    return out


def _zoom(s: Smooth, thresholds: Floats, unified: bool) -> Floats:
    """Solve again on a fine grid around the answer, and again around that; limits hold at every stage."""
    backend = room("solver")
    half = 16.0  # bins
    while half > 1e-7:
        grids = s.around(thresholds, np.linspace(-half, half, 129))
        lines = [np.unique(np.append(grid, x)) for grid, x in zip(grids, thresholds, strict=True)]
        shares = []
        for k, line in enumerate(lines):
            share = np.zeros((3, len(line)))
            for c in range(3):
                cell = s.problem.cells[3 * k + c]
                if cell is not None:
                    share[c] = s.totals[c, k] * (1.0 - np.maximum.accumulate(cell.at(line)[0]))
            shares.append(share)
        arrays = s.arrays(lines, shares, float(thresholds[0]))
        if unified:
            together = [np.arange(len(lines[0]))] * len(lines)
            value = np.where(allowed(arrays, together), loss_of(arrays, together), np.inf)
            numbers = np.full(len(lines), int(np.argmin(value)))
        elif (arrays.penalty > 0).any():
            guess, _, _, _ = backend.solve_limits(arrays, BOX_LIMIT)
            if len(lines) == 2:
                numbers = backend.solve_pair(arrays)[0]
            else:
                numbers = backend.solve_penalties(arrays, guess, node_limit(len(lines)))[0]
        else:
            numbers = backend.solve_limits(arrays, BOX_LIMIT)[0]
        if numbers[0] < 0:
            break
        thresholds = np.array([line[i] for line, i in zip(lines, numbers, strict=True)])
        half /= 8
    return thresholds


def hold_limits(s: Smooth, thresholds: Floats, most: float | None) -> Floats | None:
    """Newton on the conditions of optimality, with the limits that are reached or broken kept at equality.

    None if it leads nowhere: to a broken limit, or to a loss above `most` where one is given.
    """
    p = s.problem
    rows = _reached(s, evaluate(p, thresholds).rate)
    if not rows:
        return None
    n = len(thresholds)
    current = thresholds.copy()
    for _ in range(30):
        at = evaluate(p, current)
        gradient, hessian = slopes(p, at)
        jacobian, residual = np.zeros((len(rows), n)), np.zeros(len(rows))
        for i, (terms, offset) in enumerate(rows):
            residual[i] = sum(by * at.rate[r, k] for r, k, by in terms) - offset
            for r, k, by in terms:
                jacobian[i, k] += by * at.d_rate[r, k]
        multipliers, *_ = np.linalg.lstsq(jacobian.T, -gradient, rcond=None)
        for i, (terms, _) in enumerate(rows):
            for r, k, by in terms:
                hessian[k, k] += multipliers[i] * by * at.dd_rate[r, k]
        system = np.block([[hessian, jacobian.T], [jacobian, np.zeros((len(rows), len(rows)))]])
        step, *_ = np.linalg.lstsq(system, np.concatenate([-gradient, -residual]), rcond=None)
        current = np.clip(current + step[:n], p.low, p.high)
        if np.abs(step[:n]).max() < 1e-14 * p.bulk:
            break
    near = np.abs(current - thresholds).max() < 0.05 * (p.high - p.low)
    if near and s.allows(current) and (most is None or s.loss(current) <= most + 1e-10):
        return current
    return None


Equation = tuple[list[tuple[int, int, float]], float]  # the sum of factor * rate over (rate, group, factor) is this


def _reached(s: Smooth, rates: Floats) -> list[Equation]:
    """Equations that hold where limits are reached: rate[up] = factor * rate[down] + offset, or sums of gaps."""
    windows = s.question.windows
    limit, ratio, total = windows.most[s.active], windows.ratio[s.active], windows.total - TOLERANCE
    rows: list[Equation] = []
    ends: list[tuple[int, int, float]] = []  # of the two rates that have a limited sum
    gaps = 0.0
    for r, x in enumerate(rates):
        members = [int(k) for k in np.flatnonzero(s.problem.has[r])]
        if len(members) < 2:
            continue
        down = min(members, key=lambda k: x[k])
        others = [k for k in members if k != down]

        def apart(k: int, factor: float, offset: float, r: int = r, down: int = down) -> Equation:
            return [(r, k, 1.0), (r, down, -factor)], offset

        if limit[r] < np.inf:
            offset = max(float(limit[r]) - TOLERANCE, 0.0)
            held = [apart(k, 1.0, offset) for k in others if x[k] - x[down] > offset - LOOSE]
            rows += held
            if offset > LOOSE and held:
                rows += [apart(k, 1.0, 0.0) for k in others if x[k] - x[down] < LOOSE]
        if ratio[r] > 0:
            factor = 1.0 / (float(ratio[r]) + TOLERANCE)
            rows += [apart(k, factor, 0.0) for k in others if x[down] * factor - x[k] < LOOSE]
        if r < 2 and total < np.inf:
            up = max(members, key=lambda k: x[k])
            ends += [(r, up, 1.0), (r, down, -1.0)]
            gaps += float(x[up] - x[down])
    if LOOSE < total < gaps + LOOSE:
        rows.append((ends, total))
    return rows
