"""What the paper reports and what it overlooks: its loop, its failures, its slopes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast import datasets
from gstar_fast._backends import room
from gstar_fast._backends.common import descent
from gstar_fast._question.question import Question
from gstar_fast._solver.smooth.smooth import prepare_smooth

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")  # few bins, to be quick

BANDWIDTH = 0.5  # the paper's
FAILURES = [
    {"equal_opportunity": 0.01},
    {"equalized_odds": 1e4},
    {"equalized_odds": 1e4, "demographic_parity": 1e4},
]


@pytest.fixture(scope="module")
def table():
    return datasets.paper_synthetic(rows=8_000, seed=2)


@pytest.fixture
def sketch(table):
    return gf.Sketch.from_rows(table.scores, table.labels, table.groups, bins=512)


@pytest.fixture
def cells(backend, sketch):
    return gf.density(sketch, kind="kde", bandwidth=BANDWIDTH)


def global_minimum(sketch, cells, penalties):
    """The least loss on a grid of thresholds, refined three times: slow and sure."""
    n = {key: cell.n_rows for key, cell in cells.items()}
    total = sum(n.values())
    edges = sketch.edges
    lines = [np.linspace(edges[0], edges[-1], 401)] * 2
    for _ in range(6):
        f = {(y, a): np.asarray(cells[y, a].cdf(lines[a])) for y in (0, 1) for a in (0, 1)}
        wrong = [(n[0, a] * (1 - f[0, a]) + n[1, a] * f[1, a]) / total for a in (0, 1)]
        loss = (wrong[0][:, None] + wrong[1][None, :]) ** 2
        selected = [(n[0, a] * (1 - f[0, a]) + n[1, a] * (1 - f[1, a])) / (n[0, a] + n[1, a]) for a in (0, 1)]
        parts = {"equal_opportunity": [1], "equalized_odds": [1, 0]}
        for name, weight in penalties.items():
            if name == "demographic_parity":
                loss = loss + weight * (selected[0][:, None] - selected[1][None, :]) ** 2
            else:
                for y in parts[name]:
                    loss = loss + weight * (f[y, 0][:, None] - f[y, 1][None, :]) ** 2
        i, j = np.unravel_index(np.argmin(loss), loss.shape)
        half = [8 * (line[1] - line[0]) for line in lines]
        best = float(loss[i, j])
        lines = [np.linspace(lines[a][k] - half[a], lines[a][k] + half[a], 401) for a, k in ((0, i), (1, j))]
    return best


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")
@pytest.mark.parametrize("penalties", FAILURES)
def test_exact_finds_the_global_loss_where_the_published_update_fails(sketch, cells, penalties):
    result = gf.solve(sketch, penalties=penalties, density=cells)
    assert result.verdict == "optimal"
    assert result.loss <= global_minimum(sketch, cells, penalties) * (1 + 1e-6)


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")
@pytest.mark.parametrize("penalties", FAILURES)
def test_alternating_reports_what_it_is(sketch, cells, penalties):
    """Converged only if another step does not help; the gap is to the certified optimum."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = gf.solve(sketch, penalties=penalties, density=cells, method="alternating")
    best = gf.solve(sketch, penalties=penalties, density=cells)
    assert result.optimality_gap == pytest.approx(max(result.loss - best.loss, 0), abs=1e-15)
    assert list(result.proof.trace) == sorted(result.proof.trace, reverse=True)
    assert (result.verdict == "not_converged") == any(w.category is gf.errors.NotConvergedWarning for w in told)
    if result.verdict == "converged":
        at = np.array(list(result.thresholds.values()))
        for step in np.concatenate([np.eye(2), -np.eye(2), [[1, 1], [1, -1]]]) * 1e-4:
            assert loss_at(sketch, cells, penalties, at + step) >= result.loss * (1 - 1e-9)


def loss_at(sketch, cells, penalties, thresholds):
    s = prepare_smooth(sketch, Question.of(penalties=penalties), cells)
    return descent.loss_of(s.problem, descent.evaluate(s.problem, np.asarray(thresholds)))


def test_published_update_really_fails(sketch, cells):
    """Without shift-cutting the first step of the published loop leaves the range of the scores at lambda = 0.01."""
    s = prepare_smooth(sketch, Question.of(penalties={"equal_opportunity": 0.01}), cells)
    thresholds = np.zeros(2)
    far = 0.0
    for _ in range(20):
        for k in range(2):
            step = descent.alternating_step(s.problem, descent.evaluate(s.problem, thresholds), k)
            thresholds[k] += step
            far = max(far, abs(step))
        if far > sketch.edges[-1] - sketch.edges[0]:
            break
    ended = descent.loss_of(s.problem, descent.evaluate(s.problem, np.clip(thresholds, -50, 50)))
    assert ended > 2 * gf.solve(sketch, penalties={"equal_opportunity": 0.01}, density=cells).loss


@pytest.mark.parametrize("method", ["gauss_newton", "newton"])
@pytest.mark.parametrize("penalty", [0.01, 1.0, 100.0, 1e4])
def test_newton_methods_reach_the_optimum(sketch, cells, method, penalty):
    best = gf.solve(sketch, penalties={"equalized_odds": penalty}, density=cells)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = gf.solve(sketch, penalties={"equalized_odds": penalty}, density=cells, method=method)
    assert found.loss >= best.loss * (1 - 1e-9)
    if method == "newton":
        assert found.loss == pytest.approx(best.loss, rel=1e-9)


@pytest.mark.parametrize("method", ["alternating", "gauss_newton", "newton"])
def test_converged_means_near_the_least_loss(backend, sketch, method):
    """A method that comes to rest far from the certified optimum says so, with a warning and what to do."""
    normal = gf.density(sketch, kind="normal")
    far = 0
    for penalty in (0.01, 1.0, 100.0, 1e4):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", gf.errors.DegenerateWarning)
            result = gf.solve(sketch, penalties={"equal_opportunity": penalty}, density=normal, method=method)
        if result.verdict == "converged":
            assert result.optimality_gap <= 0.01 * result.loss
            assert not told
            continue
        assert result.verdict == "not_converged"
        [warning] = told
        assert warning.category is gf.errors.NotConvergedWarning
        if result.optimality_gap > 0.01 * result.loss:
            far += 1
            assert "method='exact' finds it" in str(warning.message)
    assert (far > 0) == (method == "gauss_newton")


def test_gradient_and_hessian_equal_finite_differences(backend, sketch, cells):
    penalties = {"equalized_odds": 3.0, "demographic_parity": 2.0, "accuracy_parity": 1.0}
    penalties["balanced_accuracy_parity"] = 0.5
    s = prepare_smooth(sketch, Question.of(penalties=penalties, objective={"fp": 1.0, "fn": 2.0}), cells)
    rng = np.random.default_rng(0)
    for at in rng.uniform(-4, 4, (5, 2)):
        if backend == "native":
            from gstar_fast import _core

            problem = _core.SmoothProblem(s.problem)
            loss, gradient, hessian = problem.slopes(at)
            assert loss == pytest.approx(descent.loss_of(s.problem, descent.evaluate(s.problem, at)), rel=1e-9)
        else:
            gradient, hessian = descent.slopes(s.problem, descent.evaluate(s.problem, at))
        h = 1e-4
        for k in range(2):
            step = h * np.eye(2)[k]
            up, down = (descent.evaluate(s.problem, at + sign * step) for sign in (1, -1))
            slope = (descent.loss_of(s.problem, up) - descent.loss_of(s.problem, down)) / (2 * h)
            assert gradient[k] == pytest.approx(slope, rel=1e-5, abs=1e-7)
            curve = (descent.slopes(s.problem, up)[0] - descent.slopes(s.problem, down)[0]) / (2 * h)
            assert hessian[k] == pytest.approx(curve, rel=1e-4, abs=1e-5)


@pytest.mark.slow
def test_smooth_answers_agree_between_backends(table):
    """To 1e-9 of the score range, for penalties and for limits."""
    questions = [{"penalties": {"equalized_odds": 10.0}}]
    questions += [{"limits": {"equalized_odds": 0.02}}, {"limits": {"demographic_parity": 0.05}}]
    answers = []
    for name in ("native", "numba", "numpy"):
        with gf.use_backend(name):
            sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups, bins=128)
            cells = gf.density(sketch, kind="kde", bandwidth=BANDWIDTH)
            answers.append([list(gf.solve(sketch, density=cells, **q).thresholds.values()) for q in questions])
    span = sketch.edges[-1] - sketch.edges[0]
    assert np.abs(np.array(answers) - np.array(answers[-1])).max() < 1e-9 * span


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")
@pytest.mark.parametrize(
    "question", [{"penalties": {"equalized_odds": 10.0}}, {"limits": {"equalized_odds": 0.02}}, {}]
)
def test_a_far_score_does_not_move_smooth_thresholds(backend, table, question):
    """Steps and grids follow the bins next to a threshold, not the range of all scores."""
    answers = []
    for far in ([], [3e5]):
        scores = np.concatenate((table.scores, far))
        labels, groups = (np.append(column, [1] * len(far)) for column in (table.labels, table.groups))
        sketch = gf.Sketch.from_rows(scores, labels.astype(int), groups.astype(int), bins=1024)
        answers.append(gf.solve(sketch, density=gf.density(sketch, kind="kde", bandwidth=BANDWIDTH), **question))
    alone, beside = answers
    assert beside.verdict == alone.verdict == "optimal"
    assert beside.error == pytest.approx(alone.error, abs=2e-3)
    for group, threshold in alone.thresholds.items():
        assert beside.thresholds[group] == pytest.approx(threshold, abs=0.1)


@pytest.mark.parametrize("limits", [{"equalized_odds": 0.02}, {"demographic_parity": 0.01}, {"disparate_impact": 0.95}])
def test_smooth_limits_hold_off_the_grid(sketch, cells, limits):
    result = gf.solve(sketch, limits=limits, density=cells)
    ((name, limit),) = limits.items()
    gap = result.gaps[name]
    assert gap >= limit - 1e-9 if name == "disparate_impact" else gap <= limit + 1e-9
    coarse = prepare_smooth(sketch, Question.of(limits=limits), cells)
    numbers = room("solver").solve_limits(coarse.grid(), 10**6)[0]
    at_edges = coarse.accepted(coarse.candidates[numbers])
    wrong = at_edges[0].sum() + (coarse.totals[1] - at_edges[1]).sum()
    assert result.error <= wrong / coarse.totals[:2].sum() + 1e-12


def test_three_groups_on_smooth_densities(backend):
    rng = np.random.default_rng(4)
    labels, groups = rng.integers(0, 2, 3000), rng.integers(0, 3, 3000)
    sketch = gf.Sketch.from_rows(rng.normal(labels * 1.5 + 0.4 * groups, 1.0), labels, groups, bins=128)
    result = gf.solve(sketch, penalties={"equalized_odds": 10.0}, density="normal")
    assert result.verdict == "optimal"
    at = np.array(list(result.thresholds.values()))
    cells = gf.density(sketch, kind="normal")
    for _ in range(30):
        moved = at + rng.normal(0, 0.05, 3)
        assert loss_at(sketch, cells, {"equalized_odds": 10.0}, moved) >= result.loss * (1 - 1e-12)


def test_unified_threshold_on_smooth_densities(sketch, cells):
    result = gf.solve(sketch, penalties={"equalized_odds": 1.0}, density=cells, unified=True)
    at = result.thresholds[0]
    assert result.thresholds == {0: at, 1: at}
    for step in (-0.01, 0.01, 1.0, -1.0):
        assert loss_at(sketch, cells, {"equalized_odds": 1.0}, [at + step] * 2) > result.loss


def test_lambda_sweep_follows_the_exact_optimum(backend, sketch, cells):
    """The paper's range of lambda in one call: every point is the optimum that `solve` finds."""
    penalties = np.logspace(-2, 7, 10)
    swept = gf.frontier(sketch, "equalized_odds", by="penalties", penalties=penalties, density=cells)
    for i in (0, 4, 9):
        single = gf.solve(sketch, penalties={"equalized_odds": float(penalties[i])}, density=cells)
        at = list(single.thresholds.values())
        where = np.flatnonzero(swept.penalty == penalties[i])[0]
        assert swept.thresholds[where].tolist() == pytest.approx(at, abs=1e-6)
