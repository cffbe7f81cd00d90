"""Formulas of the solver, against oracles that share no code: enumeration, scipy and closed forms of normal scores."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helpers.problems import arrays_of
from scipy import optimize, stats

import gstar_fast as gf
from gstar_fast._backends import room

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")

# ------------------------------------------------------------------------------------------------------- exact limits


def cheapest(p):
    """Of all pairs of candidates within the limits: the cheapest, then the nearest, then the lowest numbers."""
    one, two = (np.arange(a, b) for a, b in itertools.pairwise(p.start))
    i, j = (grid.ravel() for grid in np.meshgrid(one, two, indexing="ij"))
    high, low = np.maximum(p.rates[:, i], p.rates[:, j]), np.minimum(p.rates[:, i], p.rates[:, j])
    kept = (high - low <= p.limit[:, None]).all(axis=0) & (low >= p.ratio[:, None] * high).all(axis=0)
    kept &= (high - low)[:2].sum(axis=0) <= p.total
    if not kept.any():
        return [-1, -1]
    i, j = i[kept], j[kept]
    best = np.lexsort((j, i, p.distance[i] + p.distance[j], p.cost[i] + p.cost[j]))[0]
    return [int(i[best]) - int(p.start[0]), int(j[best]) - int(p.start[1])]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("cost", ["rising and falling", "many ties", "random"])
def test_limits_over_hundreds_of_candidates_are_those_of_trying_every_pair(seed, cost):
    """Blocks of 64 candidates are skipped by their least cost; here each group has several blocks."""
    rng = np.random.default_rng(seed)
    p = arrays_of(rng, 2, 300)
    costs = {"rising and falling": p.cost, "many ties": p.cost // 400, "random": rng.integers(0, 50, len(p.cost))}
    p.cost[:] = costs[cost]
    if seed % 3 == 1:  # a limit on the sum of two gaps
        object.__setattr__(p, "total", 0.1)
    numbers, _, finished, *_ = room("solver").solve_limits(p, 1_000_000)
    assert finished
    assert numbers.tolist() == cheapest(p)


# ------------------------------------------------------------------------------------------------- smooth frontiers


def normal_sketch(n=4000, seed=2):
    rng = np.random.default_rng(seed)
    labels, groups = (rng.random(n) < 0.35).astype(int), (rng.random(n) < 0.4).astype(int)
    scores = rng.normal(np.array([1.2, 1.8])[groups] * labels + 0.4 * groups, np.array([1.0, 1.3])[groups])
    return gf.Sketch.from_rows(scores, labels, groups, bins=256)


@pytest.fixture(scope="module")
def normal():
    """A sketch, its normal densities as scipy has them, and the rows of each cell (label, group)."""
    sketch = normal_sketch()
    cells = gf.density(sketch, kind="normal")
    laws = {
        key: stats.norm(cells[key].parameters["location"], cells[key].parameters["scale"])
        for key in itertools.product((0, 1), (0, 1))
    }
    rows = np.array([[sketch.counts[label, group].sum() for group in (0, 1)] for label in (0, 1)], dtype=float)
    return sketch, cells, laws, rows


def errors_of(laws, rows, thresholds):
    """False positives and false negatives as shares of all rows."""
    false = [rows[0, k] * laws[0, k].sf(thresholds[k]) for k in (0, 1)]
    missed = [rows[1, k] * laws[1, k].cdf(thresholds[k]) for k in (0, 1)]
    return sum(false) / rows.sum(), sum(missed) / rows.sum()


def test_points_of_a_smooth_frontier_are_the_least_losses(normal):
    """The error of each point is that of its thresholds, and no thresholds on a grid have a lower loss."""
    sketch, cells, laws, rows = normal
    penalties = [0.1, 1.0, 10.0, 1000.0]
    found = gf.frontier(sketch, "equal_opportunity", by="penalties", penalties=penalties, density=cells)
    grid = np.linspace(-2, 4, 401)
    one, two = np.meshgrid(grid, grid, indexing="ij")
    for i in range(len(found)):
        penalty, at = float(found.penalty[i]), found.thresholds[i]
        false, missed = errors_of(laws, rows, at)
        gap = abs(laws[1, 0].sf(at[0]) - laws[1, 1].sf(at[1]))
        assert found.errors[i] == pytest.approx(false + missed, abs=1e-9)
        assert found.gaps[i] == pytest.approx(gap, abs=1e-9)
        everywhere = sum(errors_of(laws, rows, (one, two))) ** 2
        everywhere += penalty * (laws[1, 0].sf(one) - laws[1, 1].sf(two)) ** 2
        assert (false + missed) ** 2 + penalty * gap**2 <= everywhere.min() + 1e-12


@pytest.mark.parametrize("limit", [0.0, 0.03])
def test_smooth_thresholds_within_a_limit_are_those_where_the_derivative_vanishes(normal, limit):
    """With both tpr a limit apart the error has one variable, and its derivative is a ratio of pdfs."""
    sketch, cells, laws, rows = normal

    def thresholds(q, sign):
        return [laws[1, k].ppf(q + k * sign * limit) for k in (0, 1)]

    def derivative(q, sign):
        at = thresholds(q, sign)
        return sum(rows[1, k] - rows[0, k] * laws[0, k].pdf(at[k]) / laws[1, k].pdf(at[k]) for k in (0, 1))

    found = []
    for sign in (1, -1):
        root = optimize.brentq(derivative, 0.11, 0.89, args=(sign,), xtol=1e-15)
        found.append((sum(errors_of(laws, rows, thresholds(root, sign))), thresholds(root, sign)))
    error, expected = min(found)
    result = gf.solve(sketch, limits={"equal_opportunity": limit}, density=cells, evidence=0)
    assert result.error == pytest.approx(error, abs=1e-12)
    assert list(result.thresholds.values()) == pytest.approx(expected, abs=1e-10)


# ----------------------------------------------------------------------------------------------------------- theorems


def peak(law, low, high):
    """The largest pdf between two scores."""
    return float(law.pdf(np.clip(law.mean(), low, high)))


def stretch(law, low, high):
    """One over the smallest pdf between two scores."""
    return 1 / float(min(law.pdf(low), law.pdf(high)))


def test_the_constant_of_theorem_three_is_the_one_of_the_paper(normal):
    """C = 2 sqrt(L*) (r_1 / 2 + r_0 f_01 M_11 / 2 + n_00/N (f_00 M_10 + slope M_11 / 2) + n_10/N)."""
    sketch, cells, laws, rows = normal
    result = gf.solve(sketch, limits={"equal_opportunity": 0.06})
    gamma = result.gaps["equal_opportunity"]
    assert gamma > 0.02

    def fair(q):
        """Both groups miss this share of their positives."""
        return [laws[1, k].ppf(q) for k in (0, 1)]

    least = optimize.minimize_scalar(
        lambda q: sum(errors_of(laws, rows, fair(q))), bounds=(0.01, 0.99), method="bounded", options={"xatol": 1e-10}
    )
    reach = {0: 1.5 * gamma, 1: gamma / 2}
    ends = {k: [laws[1, k].ppf(least.x + sign * reach[k]) for sign in (-1, 1)] for k in (0, 1)}
    f01, f00, f11 = peak(laws[0, 1], *ends[1]), peak(laws[0, 0], *ends[0]), peak(laws[1, 1], *ends[1])
    m11, m10 = stretch(laws[1, 1], *ends[1]), stretch(laws[1, 0], *ends[0])
    r0, r1 = rows.sum(axis=1) / rows.sum()
    slope = f01 + f00 * m10 * f11
    inner = r1 / 2 + r0 * f01 * m11 / 2 + rows[0, 0] / rows.sum() * (f00 * m10 + slope * m11 / 2)
    inner += rows[1, 0] / rows.sum()
    third = gf.bounds(result, sketch, density=cells)[3]
    expected = {"r_0": r0, "r_1": r1, "f_00": f00, "f_01": f01, "M_10": m10, "M_11": m11, "slope": slope}
    for name, value in expected.items():
        assert third.constants[name] == pytest.approx(value, rel=5e-3), name
    assert third.constants["sqrt(L*)"] == pytest.approx(least.fun, rel=1e-6)
    assert third.constants["C"] == pytest.approx(2 * least.fun * inner, rel=5e-3)
    assert third.right == pytest.approx(third.constants["C"] * gamma)
    # what is gained: each threshold moves on its own as far as gamma / 2 of its false negatives
    error = 0.0
    for k in (0, 1):
        x = np.linspace(*(laws[1, k].ppf(np.clip(least.x + s * gamma / 2, 1e-9, 1 - 1e-9)) for s in (-1, 1)), 20_001)
        error += (rows[1, k] * laws[1, k].cdf(x) + rows[0, k] * laws[0, k].sf(x)).min() / rows.sum()
    assert third.left == pytest.approx(least.fun**2 - error**2, rel=0.02)


# ------------------------------------------------------------------------------------------------------------- noise


@pytest.mark.parametrize(("accepted", "totals"), [((15, 8), (15, 8)), ((6, 6), (9, 9)), ((15, 9, 8), (15, 9, 8))])
def test_the_gap_of_chance_is_that_of_simulated_rows(accepted, totals):
    """Rates of equal groups with a common rate of (accepted + 1) / (rows + 2) differ by so much on average."""
    sketch = gf.Sketch(bins=16, range=(-4, 4))
    for group, (yes, n) in enumerate(zip(accepted, totals, strict=True)):
        rows = np.repeat([3.0, -3.0, 0.0], [yes, n - yes, 50])
        sketch.update(rows, np.repeat([1, 0], [n, 50]), np.full(n + 50, group))
    with pytest.warns(gf.errors.NoiseWarning) as told:
        result = gf.solve(sketch, limits={"equal_opportunity": 0.01}, evidence=0)
    assert [rates.tpr for rates in result.rates.values()] == [a / n for a, n in zip(accepted, totals, strict=True)]
    said = float(str(told[0].message).split("has a gap of ")[1].split(" ")[0])
    common = (sum(accepted) + 1) / (sum(totals) + 2)
    deviations = np.sqrt(common * (1 - common) / np.array(totals))
    drawn = np.random.default_rng(0).normal(0, deviations, (400_000, len(totals)))
    assert said == pytest.approx(np.ptp(drawn, axis=1).mean(), rel=6e-3)
