"""The chance that a gap is above its limit: against draws from NumPy's Beta distribution, and its laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gstar_fast._promise.chance import Beliefs, Known, beta_cdf, chance, holds
from gstar_fast._question.question import Question
from gstar_fast._solver.cells import Cells
from gstar_fast._solver.search import prepare
from tests.helpers.promise_rows import normal_sketch

DRAWS = 100_000


def drawn(x, n, seed=0):
    return np.random.default_rng(seed).beta(np.array(x) + 0.5, np.array(n) - np.array(x) + 0.5, (DRAWS, len(x)))


def kept(x, n, limit, ratio=0.0, sure=None):
    x, n = np.array(x, float), np.array(n, float)
    sure = np.full(len(x), np.nan) if sure is None else np.array(sure)
    return holds(x + 0.5, n - x + 0.5, sure, limit, ratio)


CASES = [
    ([30, 35], [100, 100], 0.15),
    ([300, 320], [1000, 1100], 0.05),
    ([0, 1], [20, 200], 0.05),
    ([0, 0, 0], [15, 400, 3], 0.1),
    ([95, 108, 231, 57, 1460], [100, 114, 231, 57, 1460], 0.1),
    ([3000, 31, 290], [10_000, 100, 1000], 0.12),
    ([500_000, 50_100], [1_000_000, 100_000], 0.005),
    (list(range(40, 50)), [100] * 10, 0.25),
]


@pytest.mark.parametrize(("x", "n", "limit"), CASES)
def test_chance_of_a_difference_is_that_of_draws(x, n, limit):
    of_draws = (np.ptp(drawn(x, n), axis=1) <= limit).mean()
    assert kept(x, n, limit) == pytest.approx(of_draws, abs=5 * np.sqrt(0.25 / DRAWS))


@pytest.mark.parametrize("ratio", [0.5, 0.8, 0.95])
@pytest.mark.parametrize(("x", "n", "limit"), CASES[:3] + CASES[5:])
def test_chance_of_a_ratio_is_that_of_draws(x, n, limit, ratio):
    rates = drawn(x, n)
    both = (rates.min(axis=1) >= ratio * rates.max(axis=1)) & (np.ptp(rates, axis=1) <= limit)
    assert kept(x, n, limit, ratio) == pytest.approx(both.mean(), abs=5 * np.sqrt(0.25 / DRAWS))


def test_certain_rates_leave_no_room():
    """Nobody is accepted in one group for certain: the other must lie within the limit of 0."""
    only = stats.beta(3.5, 97.5).cdf(0.05)
    assert kept([0, 3], [50, 100], 0.05, sure=[0.0, np.nan]) == pytest.approx(only, abs=1e-6)
    assert kept([50, 97], [50, 100], 0.05, sure=[1.0, np.nan]) == pytest.approx(only, abs=1e-6)
    assert kept([0, 50], [50, 50], 0.05, sure=[0.0, 1.0]) == 0.0
    assert kept([0, 0], [50, 50], 0.05, sure=[0.0, 0.0]) == 1.0


@pytest.mark.parametrize(
    ("a", "b"), [(30.5, 30.5), (30.5, 5000.5), (400.5, 700.5), (9e4, 3e5), (0.5, 40.5), (7.5, 2.5)]
)
def test_beta_cdf_is_that_of_scipy(a, b):
    t = stats.beta(a, b).ppf(np.linspace(0.001, 0.999, 200))
    found = beta_cdf(np.array([[a]]), np.array([[b]]), t)[0]
    assert np.abs(found - stats.beta(a, b).cdf(t)).max() < 1e-4


cells = st.lists(st.tuples(st.integers(0, 300), st.integers(1, 300)), min_size=2, max_size=6)


@given(cells, st.sampled_from([0.02, 0.05, 0.1, 0.3]), st.permutations(range(6)))
def test_order_of_groups_changes_nothing(pairs, limit, order):
    n = np.array([accepted + rejected for accepted, rejected in pairs], float)
    x = np.array([accepted for accepted, _ in pairs], float)
    shuffled = [i for i in order if i < len(pairs)]
    assert kept(x, n, limit) == kept(x[shuffled], n[shuffled], limit)


@given(st.lists(st.integers(5, 500), min_size=2, max_size=5), st.floats(0, 1), st.integers(2, 30), st.data())
def test_more_rows_never_raise_the_chance(n, rate, times, data):
    """For chances up to a quarter, in which promises are made; the gap is within the limit."""
    limit = data.draw(st.sampled_from([0.05, 0.1, 0.2]))
    rates = [min(max(rate + data.draw(st.floats(-0.45, 0.45)) * limit, 0.0), 1.0) for _ in n]
    n = np.array(n, float)
    x = np.rint(n * rates)
    if np.ptp(x / n) > limit:
        return
    few, many = 1 - kept(x, n, limit), 1 - kept(times * x, times * n, limit)
    assert few > 0.25 or many <= few + 2e-4


def test_two_rates_hold_together_and_others_are_added():
    x, n = np.array([[300.0, 330.0], [100.0, 120.0]]), np.full((2, 2), 1000.0)
    beliefs = Beliefs(x + 0.5, n - x + 0.5, np.full((2, 2), np.nan), np.ones((2, 2), bool))
    one, two = (kept(x[i], n[i], 0.05) for i in (0, 1))
    limit, ratio = np.full(2, 0.05), np.full(2, -1.0)
    assert chance(beliefs, [0, 1], limit, ratio) == pytest.approx(1 - one * two)
    assert chance(beliefs, [2, 3], limit, ratio) == pytest.approx(2 - one - two)


def test_mixture_has_the_variance_of_its_rows():
    """Against draws from the Dirichlet distribution of the counts between the thresholds of a mixture."""
    search = prepare(Cells.of(normal_sketch(3000, 1)), Question.of(limits={"equal_opportunity": 0.1}))
    known = Known.of(search)
    from gstar_fast._solver.mix import Mixture

    start = search.table.start
    entries = np.array([start[0] + 40, start[0] + 90, start[1] + 60])
    found = known.mixed(Mixture(entries, np.array([0.3, 0.7, 1.0]), 0.0, 0))
    total = search.table.totals[1, 0]
    accepted = search.table.accepted[1, entries[:2]]
    parts = [accepted[1], accepted[0] - accepted[1], total - accepted[0]]
    shares = np.random.default_rng(0).dirichlet(np.array(parts) + 1 / 3, DRAWS)
    rate = shares[:, 0] + 0.3 * shares[:, 1]
    a, b = found.a[0, 0], found.b[0, 0]
    assert a / (a + b) == pytest.approx(rate.mean(), abs=2e-3)
    assert np.sqrt(a * b / (a + b + 1)) / (a + b) == pytest.approx(rate.std(), rel=0.03)
