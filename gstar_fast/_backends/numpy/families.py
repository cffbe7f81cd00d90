"""The paper's families in NumPy: pdf and cdf, and maximum likelihood from weighted points.

The reference for `families.hpp`, `fit_gamma.hpp` and `special.hpp` in `csrc/gstar/density/`: the same formulas and the
same algorithms, so that all backends find the same parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from gstar_fast._backends.interface import Fitted
from gstar_fast._base.arrays import Floats as Array

# Beyond these a density cannot be told from a normal one (4e-6 in the log-likelihood a row).
LARGEST_DF = LARGEST_SHAPE = 1e5
SMALLEST_DF = 0.1  # below, one row could outweigh all others
SMALLEST_SHAPE = 1e-3  # below, most rows would lie closer to the pole than numbers tell apart
NOTHING = 1e-200  # of a standard deviation: the least distance from a pole
LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


# ---------------------------------------------------------------- evaluation


def normal(x: Array, location: float, scale: float) -> tuple[Array, Array]:
    """Cdf and pdf of the normal density."""
    z = (x - location) / scale
    with np.errstate(over="ignore", under="ignore"):
        return special.ndtr(z), np.exp(-0.5 * z * z - LOG_SQRT_2PI) / scale


def normal_quantile(p: Array, location: float, scale: float) -> Array:
    """Inverse of the normal cdf."""
    return np.asarray(location + scale * special.ndtri(p))


def student_t(x: Array, df: float, location: float, scale: float) -> tuple[Array, Array]:
    """Cdf and pdf of Student's t."""
    t = (x - location) / scale
    with np.errstate(divide="ignore", under="ignore"):
        log1p_square = np.logaddexp(0.0, 2.0 * np.log(np.abs(t)) - math.log(df))
        log_pdf = log_gamma_half_ratio(0.5 * df)[0] - 0.5 * math.log(math.pi * df) - 0.5 * (df + 1.0) * log1p_square
        pdf = np.exp(log_pdf)
    # next to the middle `stdtr` of one degree of freedom loses digits
    return np.where(np.abs(t) < 1e-5, 0.5 + t * pdf, special.stdtr(df, t)), pdf / scale


def gamma(x: Array, shape: float, location: float, scale: float, mirrored: bool) -> tuple[Array, Array]:
    """Cdf and pdf of the gamma density with a shift; mirrored, its long tail is on the left."""
    y = (location - x if mirrored else x - location) / scale
    inside = np.maximum(y, 0.0)
    below, above = special.gammainc(shape, inside), special.gammaincc(shape, inside)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        # y**shape exp(-y) / Gamma(shape + 1) is what one more in the shape changes; the smaller tail has all its digits
        right = special.gammaincc(shape + 1.0, inside) - above
        change = np.where(y > shape, right, below - special.gammainc(shape + 1.0, inside))
        pdf = np.where(np.isfinite(inside), change * shape / inside, 0.0)
    at_pole = math.inf if shape < 1.0 else float(shape == 1.0)
    return above if mirrored else below, np.where(y > 0.0, pdf, np.where(y == 0.0, at_pole, 0.0)) / scale


def gamma_quantile(p: Array, shape: float, location: float, scale: float, mirrored: bool) -> Array:
    """Inverse of the gamma cdf."""
    if mirrored:
        return np.asarray(location - scale * special.gammainccinv(shape, p))
    return np.asarray(location + scale * special.gammaincinv(shape, p))


def student_t_quantile(p: Array, df: float, location: float, scale: float) -> Array:
    """Inverse of Student's cdf; far out the tail is a pure power, which may reach beyond the largest number."""
    tail = np.minimum(p, 1.0 - p)
    with np.errstate(divide="ignore", over="ignore"):
        log_tail = np.log(tail) + 0.5 * math.log(math.pi) + math.log(df)
        far = np.exp((log_gamma_half_ratio(0.5 * df)[0] - log_tail) / df)
        t = np.where(far > 1e8, far * math.sqrt(df), np.abs(special.stdtrit(df, tail)))
    return location + scale * np.where(p < 0.5, -t, t)


# ---------------------------------------------------------------- pieces of the gamma function


def stirling_error(a: float) -> float:
    """Log Gamma(a + 1) minus Stirling's formula."""
    shift, b = 0.0, a
    if b < 15.0:
        product = 1.0
        while b < 15.0:
            b += 1.0
            product *= b
        shift = (b + 0.5) * math.log(b) - b - (a + 0.5) * math.log(a) + a - math.log(product)
    r = 1.0 / (b * b)
    series = 1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r * (1 / 1188 - r * (691 / 360360)))))
    return shift + series / b


def log_minus_digamma(a: float) -> tuple[float, float]:
    """Log a - digamma(a), and its derivative."""
    value = slope = 0.0
    while a < 15.0:
        value += 1.0 / a - math.log1p(1.0 / a)
        slope += 1.0 / (a * (a + 1.0)) - 1.0 / (a * a)
        a += 1.0
    r = 1.0 / (a * a)
    value += 0.5 / a + r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * (691 / 32760))))))
    slope -= r * (0.5 + (1 / 6 - r * (1 / 30 - r * (1 / 42 - r * (1 / 30 - r * (5 / 66 - r * (691 / 2730)))))) / a)
    return value, slope


def log_gamma_half_ratio(x: float) -> tuple[float, float, float]:
    """Log Gamma(x + 1/2) - log Gamma(x), with two derivatives."""
    product, slope, curvature = 1.0, 0.0, 0.0
    while x < 15.0:
        y = x + 0.5
        product *= x / y
        slope += 0.5 / (x * y)
        curvature -= 0.5 * (x + y) / (x * x * y * y)
        x += 1.0
    r = 1.0 / (x * x)
    value = 0.5 * math.log(x) + math.log(product)
    value -= (1 / 8 - r * (1 / 192 - r * (1 / 640 - r * (17 / 14336 - r * (31 / 18432 - r * (691 / 180224)))))) / x
    slope += 0.5 / x + r * (
        1 / 8 - r * (3 / 192 - r * (5 / 640 - r * (119 / 14336 - r * (279 / 18432 - r * (7601 / 180224)))))
    )
    curvature -= r * (
        0.5
        + (2 / 8 - r * (12 / 192 - r * (30 / 640 - r * (952 / 14336 - r * (2790 / 18432 - r * (91212 / 180224)))))) / x
    )
    return value, slope, curvature


# ---------------------------------------------------------------- maximum likelihood


def fit_normal(points: Array, weights: Array) -> tuple[float, float, float]:
    """Location, scale and mean log-likelihood."""
    location = float(points[0] + weights @ (points - points[0]))  # a mean far from zero keeps its last digits
    scale = math.sqrt(float(weights @ (points - location) ** 2))
    return location, scale, -LOG_SQRT_2PI - math.log(scale) - 0.5


def fit_student_t(points: Array, weights: Array, smallest_scale: float) -> Fitted:
    """df, location, scale, mean log-likelihood, and whether the likelihood still rose at a bound.

    Newton's method with Levenberg damping in (location, log scale, log df), from two starts.
    """
    mean, sd, _ = fit_normal(points, weights)
    before = np.cumsum(weights)
    places = np.minimum(np.searchsorted(before, [0.25, 0.5, 0.75]), len(points) - 1)
    lower, middle, upper = points[places].tolist()
    spread = max(0.6 * (upper - lower), 0.01 * sd, smallest_scale)
    best = (LARGEST_DF, mean, max(sd, smallest_scale))
    found = (*best, _student_t_slopes(points, weights, *best)[0], False)
    for df in (1.5, 8.0):
        climbed = _climb(points, weights, df, middle, spread, smallest_scale)
        if climbed[3] > found[3] + 1e-13:
            found = climbed
    return found


def _student_t_slopes(
    points: Array, weights: Array, df: float, location: float, scale: float
) -> tuple[float, Array, Array]:
    """Mean log-likelihood, gradient and minus the Hessian in (location / scale, log scale, log df)."""
    z = (points - location) / scale
    q = z * z
    r = 1.0 / (df + q)
    wr = weights * r
    wrr = wr * r
    sum_log = float(weights @ np.log1p(q / df))
    sum_q = float(wr @ q)
    value, slope, curvature = log_gamma_half_ratio(0.5 * df)
    d_n = 0.5 * slope - 0.5 / df - 0.5 * sum_log + 0.5 * (df + 1.0) / df * sum_q
    nn = float(wrr @ (q * (df * (df + q) - (df + 1.0) * (2.0 * df + q))))
    d_nn = 0.25 * curvature + 0.5 / df**2 + 0.5 * sum_q / df + 0.5 * nn / df**2
    h_mm = (df + 1.0) * float(wrr @ (df - q))
    h_ms = 2.0 * df * (df + 1.0) * float(wrr @ z)
    h_ss = 2.0 * df * (df + 1.0) * float(wrr @ q)
    h_mn = -df * float(wrr @ (z * (q - 1.0)))
    h_sn = -df * float(wrr @ (q * (q - 1.0)))
    h_nn = -(df * df * d_nn + df * d_n)
    log_likelihood = value - 0.5 * math.log(math.pi * df) - math.log(scale) - 0.5 * (df + 1.0) * sum_log
    gradient = np.array([(df + 1.0) * float(wr @ z), (df + 1.0) * sum_q - 1.0, df * d_n])
    return log_likelihood, gradient, np.array([[h_mm, h_ms, h_mn], [h_ms, h_ss, h_sn], [h_mn, h_sn, h_nn]])


def _climb(points: Array, weights: Array, df: float, location: float, scale: float, smallest_scale: float) -> Fitted:
    value, gradient, curvature = _student_t_slopes(points, weights, df, location, scale)
    damping = 0.0
    for _ in range(200):
        push, matrix = gradient.copy(), curvature.copy()
        # A bound that the likelihood pushes against holds its parameter still.
        stuck_df = (df >= LARGEST_DF and push[2] > 0.0) or (df <= SMALLEST_DF and push[2] < 0.0)
        for k, stuck in ((1, scale <= smallest_scale and push[1] < 0.0), (2, stuck_df)):
            if stuck:
                matrix[k, :] = matrix[:, k] = push[k] = 0.0
                matrix[k, k] = 1.0
        if np.max(np.abs(push)) < 1e-13:
            break
        # Along log df the likelihood is convex far out; its size is still the right length of a step.
        matrix[np.diag_indices(3)] = np.abs(np.diag(matrix)) + damping
        try:
            np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            damping = max(4.0 * damping, 1e-3)
            continue
        step = np.clip(np.linalg.solve(matrix, push), -2.0, 2.0)
        length = float(np.max(np.abs(step)))
        next_df = min(max(df * math.exp(step[2]), SMALLEST_DF), LARGEST_DF)
        next_location = location + scale * float(step[0])
        next_scale = max(scale * math.exp(step[1]), smallest_scale)
        there = _student_t_slopes(points, weights, next_df, next_location, next_scale)
        flat = there[0] < value and length < 1e-8  # the last Newton step is then the better guess
        if there[0] >= value or flat:
            df, location, scale = next_df, next_location, next_scale
            value, gradient, curvature = there
            damping = damping * 0.1 if damping >= 1e-8 else 0.0
        else:
            damping = max(8.0 * damping, 1e-3)
        if flat or length < 1e-14:
            break
    return df, location, scale, value, scale <= 1.001 * smallest_scale or df <= 1.001 * SMALLEST_DF


def fit_gamma(points: Array, weights: Array, mirrored: bool, end: float, reach: float, rows: float) -> Fitted:
    """Shape, location, scale, mean log-likelihood, and whether the maximum lies on a bound (an exponential, a normal).

    The likelihood is profiled down to the location, at a distance q (in standard deviations) from the mean. A shape
    below 1 has a pole at its location, which `_fit_pole` places next to `end`, the score where the density begins.
    Points up to `reach` stand for rows that may lie anywhere between; where it is `end`, there is to be no pole.
    """
    mean, sd, _ = fit_normal(points, weights)
    z = (mean - points if mirrored else points - mean) / sd
    left_over = float(weights @ z)  # what rounding left in the mean, which counts if it is far from zero
    z -= left_over
    nearest = (end - mean if mirrored else mean - end) / sd + left_over  # q is larger: no row may lie outside
    tried = [(nearest, (1.0, -math.log(nearest) - 1.0, 0.0))]  # the exponential from the last row
    farthest = max(math.sqrt(LARGEST_SHAPE), 10.0 * nearest)
    steps = 24
    start = 1e-4 * nearest
    left = nearest + start
    at_left = _gamma_profile(z, weights, left)
    while at_left[2] > 0.0 and start > 1e-9 * nearest:  # falling already: the maximum may be nearer
        start *= 0.1
        left = nearest + start
        at_left = _gamma_profile(z, weights, left)
    ratio = ((farthest - nearest) / start) ** (1.0 / steps)
    tried.append((left, at_left))
    for i in range(1, steps + 1):
        right = nearest + start * ratio**i
        at_right = _gamma_profile(z, weights, right)
        if at_left[2] < 0.0 < at_right[2]:  # rising on the left, falling on the right: a maximum between
            q = _root(lambda q: _gamma_profile(z, weights, q)[2], left, right)
            tried.append((q, _gamma_profile(z, weights, q)))
        left, at_left = right, at_right
    tried.append((left, at_left))
    best_q, (best_shape, best_value, _) = max(tried, key=lambda one: one[1][1])
    best_value -= math.log(sd)
    if reach != end:
        sign = -1.0 if mirrored else 1.0
        pole = _fit_pole(sign * (points - end), weights, sign * (mean - end), sign * (reach - end), rows)
        if pole is not None and pole[3] > best_value:
            return pole[0], _before(end, end - sign * pole[1], sd, mirrored), pole[2], pole[3], False
    shift = sd * (best_q - left_over)
    location = _before(end, mean + shift if mirrored else mean - shift, sd, mirrored)
    return best_shape, location, sd * best_q / best_shape, best_value, best_q in (nearest, left)


def _before(end: float, location: float, sd: float, mirrored: bool) -> float:
    """The location, or what comes just before the last row: there the density is a number, and no row is outside."""
    if mirrored:
        return max(location, math.nextafter(end, math.inf), end + NOTHING * sd)
    return min(location, math.nextafter(end, -math.inf), end - NOTHING * sd)


def _fit_pole(
    x: Array, weights: Array, mean: float, reach: float, rows: float
) -> tuple[float, float, float, float] | None:
    """Shape below 1, how far below 0 the pole lies, scale and mean log-likelihood; None where the shape is not below 1.

    Points, their mean and the reach are distances from the last row. The likelihood of the rows grows without end as
    the pole nears that row, so the pole stands where it would be expected: a distance from it at which a share of
    1 / rows is left. Rows within reach count as lying anywhere there: as `x**(shape - 1)` has it, the mean of their
    logarithms is `log(reach) - 1 / shape`. Their sum is known, so the best scale is still the mean over the shape.
    """
    near = x < reach
    share, x, weights = float(weights[near].sum()), x[~near], weights[~near]
    shift = shape = logs = 0.0
    for _ in range(8):  # the shift is far below the reach: each round leaves it a small part of its error
        logs = share * math.log(reach + shift) + float(weights @ np.log(x + shift))
        shape = _pole_shape(math.log(mean + shift) - logs, share)
        if not shape < 1.0:
            return None
        shift = (mean + shift) / shape * math.exp((math.lgamma(shape + 1.0) - math.log(max(rows, 2.0))) / shape)
    scale = (mean + shift) / shape
    value = (shape - 1.0) * (logs - share / shape) - shape - shape * math.log(scale) - math.lgamma(shape)
    return shape, shift, scale, value


def _pole_shape(s: float, share: float) -> float:
    """The least shape that solves log a - digamma(a) - share / a = s; 1 where none below that does."""

    def miss(a: float) -> float:
        return log_minus_digamma(a)[0] - share / a - s

    steps = 80
    low = SMALLEST_SHAPE
    if not miss(low) > 0.0:
        return 1.0
    for i in range(1, steps + 1):
        high = float(SMALLEST_SHAPE ** (1.0 - i / steps))
        if miss(high) <= 0.0:
            break
        low = high
    else:
        return 1.0
    return _root(miss, low, high)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function is 0 between two places at which it has different signs."""
    from scipy import optimize  # slow, and needed here only

    return float(optimize.brentq(function, low, high, xtol=1e-15 * low, rtol=1e-15))


def _gamma_profile(z: Array, weights: Array, q: float) -> tuple[float, float, float]:
    """Best shape for this q, its log-likelihood, and minus the sign of the likelihood's slope in q."""
    s = -float(weights @ np.log1p(z / q))
    inverse = float(weights @ (1.0 / (q + z)))
    a = 1.0  # below 1 the density has a pole, and the likelihood no maximum; see _fit_pole
    if s < log_minus_digamma(1.0)[0]:
        a = 0.5 / s
        for _ in range(50):
            value, slope = log_minus_digamma(a)
            following = a / (1.0 + (value - s) / (slope * a))  # Newton in 1 / a: nearly linear
            step, a = abs(following - a), following
            if step <= 1e-15 * a:
                break
        a = min(max(a, 1.0), LARGEST_SHAPE)
    log_likelihood = 0.5 * math.log(a) - LOG_SQRT_2PI - stirling_error(a) - math.log(q) - (a - 1.0) * s
    return a, log_likelihood, a - (a - 1.0) * q * inverse
