"""The paper's loop and Newton's method on continuous densities: the reference.

csrc/gstar/solve/smooth/smooth.hpp, alternating.hpp, newton.hpp and sweep.hpp are the same in C++.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gstar_fast._backends.interface import Descent, Floats, SmoothProblem


class Point(NamedTuple):
    """Each group's share of E (K,) and its rates (R, K) at its threshold, with first and second derivatives."""

    error: Floats
    d_error: Floats
    dd_error: Floats
    rate: Floats
    d_rate: Floats
    dd_rate: Floats


def evaluate(p: SmoothProblem, thresholds: Floats) -> Point:
    """Everything at once; the slope of a pdf is a central difference, which only steers the step."""
    n_groups = len(p.error_base)
    cdf, pdf, slope = np.zeros((n_groups, 3)), np.zeros((n_groups, 3)), np.zeros((n_groups, 3))
    width = 2e-5 * p.bulk
    for k, x in enumerate(thresholds):
        for c in range(3):
            cell = p.cells[3 * k + c]
            if cell is not None:
                at, height = cell.at(np.array([x - width, x, x + width]))
                cdf[k, c], pdf[k, c], slope[k, c] = at[1], height[1], (height[2] - height[0]) / (2 * width)
    sums = [(p.error_coefficient * f).sum(axis=1) for f in (cdf, pdf, slope)]
    rates = [(p.rate_coefficient * f).sum(axis=2) for f in (cdf, pdf, slope)]
    return Point(p.error_base + sums[0], sums[1], sums[2], p.rate_base - rates[0], -rates[1], -rates[2])


def loss_of(p: SmoothProblem, at: Point) -> float:
    total = at.error.sum() ** 2
    for r in penalised(p):
        has = p.has[r].astype(bool)
        rates = at.rate[r][has]
        total += 2 * p.penalty[r] / (len(rates) - 1) * ((rates - rates.mean()) ** 2).sum()
    return float(total)


def penalised(p: SmoothProblem) -> list[int]:
    return [r for r in range(len(p.penalty)) if p.penalty[r] > 0 and p.has[r].sum() > 1]


def slopes(p: SmoothProblem, at: Point, second: bool = True) -> tuple[Floats, Floats]:
    """Gradient and Hessian of the loss; without `second` the Gauss-Newton matrix 2 J^T J."""
    error = at.error.sum()
    gradient = 2 * error * at.d_error
    hessian = 2 * np.outer(at.d_error, at.d_error)
    if second:
        hessian += np.diag(2 * error * at.dd_error)
    for r in penalised(p):
        has = p.has[r].astype(bool)
        members = int(has.sum())
        weight = 4 * p.penalty[r] / (members - 1)
        apart = np.where(has, at.rate[r] - at.rate[r][has].mean(), 0.0)
        slope = np.where(has, at.d_rate[r], 0.0)
        gradient = gradient + weight * apart * slope
        hessian += weight * (np.diag(slope**2) - np.outer(slope, slope) / members)
        if second:
            hessian += np.diag(weight * apart * at.dd_rate[r])
    return gradient, hessian


def alternating_step(p: SmoothProblem, at: Point, k: int) -> float:
    """-(alpha eta + sum lambda beta epsilon) / (alpha^2 + sum lambda beta^2): the paper's supplement, for K groups."""
    eta, alpha = at.error.sum(), at.d_error[k]
    slope, curve = alpha * eta, alpha**2
    for r in penalised(p):
        if p.has[r, k]:
            members = int(p.has[r].sum())
            weight = p.penalty[r] / (members * (members - 1) / 2)
            beta = at.d_rate[r, k]
            epsilon = (at.rate[r, k] - at.rate[r][p.has[r].astype(bool)]).sum()
            slope += weight * beta * epsilon
            curve += weight * (members - 1) * beta**2
    return float(-slope / curve) if curve > 0 else 0.0


def alternate(p: SmoothProblem, start: Floats, shrink: float, limit: int, tolerance: float, trace: bool) -> Descent:
    """Cycle through the groups; cut each step by halves until it lowers the loss and stays in the score range.

    A tolerance below 0 runs all rounds. After a round without a move the next one is the same, so it evaluates the
    first trial of each group only.
    """
    thresholds = np.array(start, dtype=np.float64)
    at = evaluate(p, thresholds)
    loss = loss_of(p, at)
    losses: list[float] = []
    cuts = 40
    for iteration in range(1, limit + 1):
        moved = 0.0
        for k in range(len(thresholds)):
            step = shrink * alternating_step(p, at, k)
            for _ in range(cuts):
                to = thresholds[k] + step
                if p.low <= to <= p.high:
                    if to == thresholds[k]:
                        break
                    trial = thresholds.copy()
                    trial[k] = to
                    there = evaluate(p, trial)
                    if loss_of(p, there) < loss:
                        thresholds, at, loss = trial, there, loss_of(p, there)
                        moved = max(moved, abs(step))
                        break
                step /= 2
        cuts = 40 if moved > 0 else 1
        if trace:
            losses.append(loss)
        if not moved > tolerance:
            return thresholds, loss, iteration, True, np.array(losses)
    return thresholds, loss, limit, False, np.array(losses)


def newton(
    p: SmoothProblem, start: Floats, exact: bool, shared: bool, limit: int, tolerance: float, trace: bool
) -> Descent:
    """All thresholds at once, damped; `exact` uses the full Hessian, `shared` moves all thresholds together.

    A tolerance below 0 runs all rounds.
    """
    thresholds = np.array(start, dtype=np.float64)
    at = evaluate(p, thresholds)
    loss = loss_of(p, at)
    losses: list[float] = []
    damping = 0.0

    def combined(point: Point, second: bool) -> tuple[Floats, Floats]:
        gradient, hessian = slopes(p, point, second)
        return (np.array([gradient.sum()]), np.array([[hessian.sum()]])) if shared else (gradient, hessian)

    for iteration in range(1, limit + 1):
        gradient, hessian = combined(at, exact)
        scale = np.abs(np.diag(hessian)).max()
        if not scale > 0 and tolerance >= 0:
            return thresholds, loss, iteration, True, np.array(losses)
        better, moved = False, 0.0
        for _ in range(40):
            shifted = hessian + damping * scale * np.eye(len(gradient))
            try:
                np.linalg.cholesky(shifted)
            except np.linalg.LinAlgError:
                damping = max(10 * damping, 1e-6)
                continue
            trial = np.clip(thresholds - np.linalg.solve(shifted, gradient), p.low, p.high)
            moved = float(np.abs(trial - thresholds).max())
            there = evaluate(p, trial)
            new = loss_of(p, there)
            # next to the optimum the loss is flat to the last bit, but its slope still tells better from worse
            flatter = (
                exact
                and new <= loss * (1 + 1e-13)
                and np.abs(combined(there, True)[0]).max() < 0.5 * np.abs(gradient).max()
            )
            if new < loss or flatter:
                thresholds, at, loss, better = trial, there, min(new, loss), True
                damping = 0.0 if damping < 1e-9 else damping / 10
                break
            if moved <= tolerance:
                break
            damping = max(10 * damping, 1e-6)
        if trace:
            losses.append(loss)
        if tolerance < 0:
            damping = damping if better else 0.0
        elif not better or moved <= tolerance:
            return thresholds, loss, iteration, True, np.array(losses)
    return thresholds, loss, limit, False, np.array(losses)
