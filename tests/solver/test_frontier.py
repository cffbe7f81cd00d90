"""The frontier lists every point nobody dominates, and agrees with `solve` at each."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from helpers import brute_force
from helpers.problems import arrays_of, linear_program, random_rows, sketch_of
from hypothesis import example, given
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._backends import interface, room
from gstar_fast._criteria import CRITERION, Form
from gstar_fast._question.question import Question
from gstar_fast._rates import SOLVER_RATES
from gstar_fast._solver.cells import Cells
from gstar_fast._solver.search import prepare

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")  # few bins, to be quick


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


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")
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


@pytest.fixture
def four_groups():
    rng = np.random.default_rng(5)
    groups = rng.integers(0, 4, 4_000)
    labels = rng.integers(0, 2, 4_000)
    scores = rng.normal(labels * (1 + 0.3 * groups) + 0.4 * groups, 1 + 0.1 * groups)
    return gf.Sketch.from_rows(scores, labels, groups, bins=32)


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")
@pytest.mark.parametrize("nodes", [3, 20_000])
@pytest.mark.parametrize("criterion", ["equal_opportunity", "equalized_odds"])
def test_points_of_penalties_say_what_solve_says(backend, four_groups, monkeypatch, nodes, criterion):
    """Verdict, loss and bound are those of the penalty, also where the search ends before its proof."""
    monkeypatch.setattr(interface, "NODE_LIMIT", nodes)
    penalties = [100.0, 1.0, 0.0]
    some = gf.frontier(four_groups, criterion, by="penalties", penalties=penalties)
    verdicts = set()
    for i, penalty in enumerate(penalties):
        point, single = some.result(i), gf.solve(four_groups, penalties={criterion: penalty})
        for name in ("verdict", "loss", "lower_bound", "optimality_gap", "thresholds"):
            assert getattr(point, name) == getattr(single, name)
        assert replace(point.question, evidence=0.95) == single.question  # points are the best, whatever the evidence
        assert ("proven to within" in point.message) == (point.verdict == "not_converged")
        verdicts.add(point.verdict)
    assert ("not_converged" in verdicts) == (nodes == 3)
    assert (some.proven_to == 0) == (nodes > 3)
    swept = gf.frontier(four_groups, criterion, by="penalties")
    assert (swept.proven_to == 0) == (nodes > 3)
    for i in (0, len(swept) // 2, len(swept) - 1):
        point, penalty = swept.result(i), float(swept.penalty[i])
        single = gf.solve(four_groups, penalties={criterion: penalty})
        assert point.verdict == single.verdict
        assert list(point.thresholds.values()) == swept.thresholds[i].tolist()
        if nodes > 3:
            assert point.loss == pytest.approx(single.loss, rel=1e-12)
        assert point.lower_bound == pytest.approx(single.lower_bound, rel=1e-12)
        assert point.question.penalties == {criterion: penalty}


def test_points_on_smooth_densities_say_what_solve_says(backend, four_groups, monkeypatch):
    monkeypatch.setattr(interface, "NODE_LIMIT", 0)
    some = gf.frontier(four_groups, "equalized_odds", by="penalties", penalties=[1.0], density="normal")
    single = gf.solve(four_groups, penalties={"equalized_odds": 1.0}, density="normal")
    assert some.result(0).verdict == single.verdict == "not_converged"
    assert some.result(0).lower_bound == single.lower_bound < single.loss
    assert some.proven_to == 1


def test_randomised_frontier_is_convex_and_below(backend, sketch):
    mixed, single = (gf.frontier(sketch, "equalized_odds", randomize=r) for r in (True, False))
    slopes = np.diff(mixed.errors) / np.diff(mixed.gaps)
    assert (np.diff(slopes) > -1e-9).all()
    assert (np.interp(single.gaps, mixed.gaps, mixed.errors) <= single.errors + 1e-9).all()
    for gap in (0.0, 0.005, 0.03, 0.2):
        expected = gf.solve(sketch, limits={"equalized_odds": gap}, randomize=True).error
        assert mixed.at(gap=gap).error == pytest.approx(expected, abs=1e-9)
        assert mixed.at(gap=gap).gaps["equalized_odds"] <= gap + 1e-9


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gstar_fast.errors.MissingClassWarning")
@pytest.mark.filterwarnings("ignore:.*is a least ratio:UserWarning")
@given(
    seed=st.integers(0, 2**32),
    criterion=st.sampled_from([name for name in CRITERION if name != "disparate_impact"]),
    limits=st.dictionaries(st.sampled_from(list(CRITERION)), st.sampled_from([0.02, 0.05, 0.1, 0.3, 0.8]), max_size=2),
)
@example(seed=387, criterion="balanced_accuracy_parity", limits={"disparate_impact": 0.5})  # a corner off both tangents
@example(seed=319, criterion="equal_opportunity", limits={"equal_opportunity": 0.02})  # a fixed limit on a swept rate
def test_randomised_frontier_is_scipys_at_every_gap(backend, seed, criterion, limits):
    """Between its corners the frontier is a straight line, below its first one there is nothing."""
    rng = np.random.default_rng(seed)
    sketch = sketch_of(*random_rows(rng, int(rng.integers(2, 5)), 60), bins=int(rng.choice([16, 64])))
    asked = Question.of(limits=limits)
    swept = tuple(SOLVER_RATES.index(rate) for rate in CRITERION[criterion].rates)
    try:
        p = prepare(Cells.of(sketch), asked, swept).arrays
        points = gf.frontier(sketch, criterion, limits=limits, randomize=True)
    except ValueError as error:
        if "needs two groups" not in str(error) and linear_program(p).status == 0:
            raise
        return
    assert points.proven_to == 0
    active = [r for r in range(len(SOLVER_RATES)) if asked.windows.limited[r] or r in swept]
    moving = np.isin(active, swept)
    between = (points.gaps[1:] + points.gaps[:-1]) / 2
    for gap in np.concatenate([points.gaps, between, np.linspace(0, 1, 6) ** 2]):
        limit = np.where(moving, np.minimum(p.limit, gap), p.limit)
        total = min(p.total, gap) if CRITERION[criterion].form is Form.SUM else p.total
        answer = linear_program(replace(p, limit=limit, total=total))
        if gap < points.gaps[0] - 1e-7:
            assert answer.status != 0
        elif gap > points.gaps[0] + 1e-7 or points.gaps[0] == 0:
            assert np.interp(gap, points.gaps, points.errors) == pytest.approx(answer.fun, abs=1e-8)


def test_fixed_limits_hold_on_the_rates_that_are_swept(backend, sketch):
    points = gf.frontier(sketch, "equalized_odds", limits={"predictive_equality": 0.02}, randomize=True)
    for i in range(len(points)):
        assert points.result(i).gaps["predictive_equality"] <= 0.02 + 1e-9
    free = gf.solve(sketch, limits={"predictive_equality": 0.02}, randomize=True)
    assert points.errors[-1] == pytest.approx(free.error, abs=1e-9)


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
        ("equalized_odds", {"by": "penalties", "randomize": True}, "randomize=True does not go with penalties: mix"),
    ],
)
def test_wrong_options_say_what_to_write(sketch, criterion, options, words):
    with pytest.raises(ValueError, match=words):
        gf.frontier(sketch, criterion, **options)
