"""The frontier lists every point nobody dominates, and agrees with `solve` at each."""

from __future__ import annotations

import itertools

import brute_force
import numpy as np
import pytest
from test_solver import arrays_of, random_rows, sketch_of

import gstar_fast as gf
from gstar_fast import datasets
from gstar_fast._backends import room


@pytest.fixture(scope="module")
def table():
    return datasets.paper_synthetic(rows=4_000, seed=3)


@pytest.fixture
def sketch(table):
    return gf.Sketch.from_rows(table.scores, table.labels, table.groups, bins=128)


def undominated(rows, criterion):
    """All (gap, errors, distance, thresholds) that no choice of candidates beats, by trying everything."""
    rates = {name: [rows.rates(name, t) for t in rows.candidates[name]] for name in rows.names}
    wrong = {name: [sum(rows.wrong(name, t)) for t in rows.candidates[name]] for name in rows.names}
    shared = min(len(c) for c in rows.candidates.values())
    pooled = [sum(wrong[name][c] for name in rows.names) for c in range(shared)]
    centre = pooled.index(min(pooled))
    points = []
    for choice in itertools.product(*(range(len(rows.candidates[name])) for name in rows.names)):
        chosen = [rates[name][c] for name, c in zip(rows.names, choice, strict=True)]
        gap = max(brute_force.spread(rate, chosen) for rate in brute_force.RATES[criterion])
        errors = sum(wrong[name][c] for name, c in zip(rows.names, choice, strict=True))
        points.append((errors, gap, sum(abs(c - centre) for c in choice), choice))
    points.sort()
    best, out = np.inf, []
    for errors, gap, _, choice in points:
        if gap < best:
            best = gap
            out.append((gap, errors, [rows.candidates[n][c] for n, c in zip(rows.names, choice, strict=True)]))
    return out[::-1]


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.MissingClassWarning")
@pytest.mark.parametrize("n_groups", [2, 3])
def test_equals_brute_force(backend, n_groups):
    rng = np.random.default_rng(n_groups)
    for _ in range(25 if n_groups == 2 else 5):
        scores, labels, groups = random_rows(rng, n_groups, 30 if n_groups == 2 else 10)
        sketch = sketch_of(scores, labels, groups)
        rows = brute_force.Rows(scores, labels, groups, sketch.edges)
        criterion = str(rng.choice(list(brute_force.RATES)))
        try:
            found = gf.frontier(sketch, criterion)
        except ValueError as error:
            if "needs two groups" not in str(error):
                raise
            continue
        expected = undominated(rows, criterion)
        assert found.proven_to == 0
        assert found.gaps.tolist() == [gap for gap, _, _ in expected]
        assert found.errors.tolist() == [errors / (labels < 2).sum() for _, errors, _ in expected]
        assert found.thresholds.tolist() == [thresholds for _, _, thresholds in expected]


@pytest.mark.parametrize("n_groups", [2, 3])
def test_backends_list_the_same_points(fast_backend, n_groups):
    rng = np.random.default_rng(7)
    for _ in range(4):
        p = arrays_of(rng, n_groups, 60)
        swept = np.array([1, 1, 0, 0], dtype=np.uint8)
        for a, b in zip(
            room("solver").frontier(p, swept, 10**6), room("solver", "numpy").frontier(p, swept, 10**6), strict=True
        ):
            assert np.array_equal(a, b)


@pytest.mark.filterwarnings("ignore::gstar_fast.DegenerateWarning")
@pytest.mark.parametrize("criterion", ["equalized_odds", "demographic_parity", "accuracy_parity"])
def test_every_point_is_what_solve_finds(backend, sketch, criterion):
    points = gf.frontier(sketch, criterion)
    for i in np.linspace(0, len(points) - 1, 7).astype(int):
        single = gf.solve(sketch, limits={criterion: float(points.gaps[i])})
        assert single.error == pytest.approx(points.errors[i], abs=1e-15)
        assert list(single.thresholds.values()) == points.thresholds[i].tolist()


def test_gaps_rise_and_errors_fall(backend, sketch):
    points = gf.frontier(sketch, "equalized_odds")
    assert (np.diff(points.gaps) > 0).all()
    assert (np.diff(points.errors) < 0).all()


def test_other_limits_hold_at_every_point(backend, sketch):
    points = gf.frontier(sketch, "equal_opportunity", limits={"demographic_parity": 0.1})
    for i in (0, len(points) // 2, len(points) - 1):
        assert points.result(i).gaps["demographic_parity"] <= 0.1 + 1e-12


def test_penalties_trace_corners_of_the_frontier(backend, sketch):
    """Each corner is the optimum at its penalty, and every penalty in the paper's range ends at a corner."""
    corners = gf.frontier(sketch, "equal_opportunity", by="penalties")
    thresholds = {tuple(t) for t in corners.thresholds.tolist()}
    for penalty in 10.0 ** np.arange(-2, 8):
        found = gf.solve(sketch, penalties={"equal_opportunity": penalty})
        assert tuple(found.thresholds.values()) in thresholds
    assert (np.diff(corners.penalty) < 0).all()


def test_randomised_frontier_is_convex_and_below(backend, sketch):
    mixed, single = (gf.frontier(sketch, "equalized_odds", randomize=r) for r in (True, False))
    slopes = np.diff(mixed.errors) / np.diff(mixed.gaps)
    assert (np.diff(slopes) > -1e-9).all()
    assert (np.interp(single.gaps, mixed.gaps, mixed.errors) <= single.errors + 1e-9).all()
    for gap in (0.0, 0.005, 0.03, 0.2):
        expected = gf.solve(sketch, limits={"equalized_odds": gap}, randomize=True).error
        assert mixed.at(gap=gap).error == pytest.approx(expected, abs=1e-9)
        assert mixed.at(gap=gap).gaps["equalized_odds"] <= gap + 1e-9


def test_at_and_knee(backend, sketch):
    points = gf.frontier(sketch, "equalized_odds")
    fair = points.at(gap=0.02)
    assert fair.gaps["equalized_odds"] <= 0.02
    assert fair.error == gf.solve(sketch, limits={"equalized_odds": 0.02}).error
    cheap = points.at(error=float(points.errors[2]))
    assert cheap.gaps["equalized_odds"] == points.gaps[2]
    knee = points.knee()
    assert points.gaps[0] <= knee.gaps["equalized_odds"] <= points.gaps[-1]
    with pytest.raises(ValueError, match="either gap= or error="):
        points.at()
    with pytest.raises(ValueError, match="no thresholds have an error of 0 or less"):
        points.at(error=0.0)


def test_frame_and_plot(sketch):
    points = gf.frontier(sketch, "equalized_odds")
    frame = points.to_dataframe()
    assert list(frame.columns) == ["gap", "error", "threshold_0", "threshold_1"]
    assert len(frame) == len(points)
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    assert points.plot().get_xlabel() == "equalized odds gap"


@pytest.mark.parametrize(
    ("criterion", "options", "words"),
    [
        ("equalised_odds", {}, "did you mean"),
        ("disparate_impact", {}, "has no gap to trade"),
        ("equalized_odds", {"by": "luck"}, "by must be"),
        ("equalized_odds", {"by": "penalties", "randomize": True}, "drop by='penalties'"),
    ],
)
def test_wrong_words_get_right_ones(sketch, criterion, options, words):
    with pytest.raises(ValueError, match=words):
        gf.frontier(sketch, criterion, **options)
