"""`solve` finds the optimum of docs/reference/problem.md on every backend: brute force and a linear program agree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers import brute_force
from helpers.problems import arrays_of, linear_program, random_question, random_rows, sketch_of

import gstar_fast as gf
from gstar_fast._backends import room
from gstar_fast._backends.common.choices import allowed, loss_of

# a few rows and limits of 0 make degenerate answers; test_degenerate.py is about their warning
pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.MissingClassWarning")
@pytest.mark.parametrize("kind", ["limits", "penalties", "limits and penalties"])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_equals_brute_force_to_the_threshold(backend, kind, n_groups):
    """Every answer is the unique optimum, ties included; a question nobody can meet is called infeasible."""
    rng = np.random.default_rng([n_groups, len(kind)])
    solved = 0
    for _ in range(60 if n_groups < 3 else 12):
        scores, labels, groups = random_rows(rng, n_groups, 40 if n_groups < 3 else 12)
        sketch = sketch_of(scores, labels, groups)
        rows = brute_force.Rows(scores, labels, groups, sketch.edges)
        limits, penalties = random_question(rng, kind)
        prices = tuple(int(x) for x in rng.integers(1, 4, 2))
        try:
            result = gf.solve(
                sketch,
                limits=limits,
                penalties=penalties,
                objective=dict(zip(("fp", "fn"), prices, strict=True)),
                evidence=0,
            )
        except ValueError as error:
            if "needs two groups" not in str(error):
                raise
            continue
        expected = brute_force.solve(rows, limits, penalties, prices)
        if expected is None:
            assert result.verdict == "infeasible"
            continue
        solved += 1
        assert result.verdict == "optimal"
        wanted = [rows.candidates[name][c] for name, c in zip(rows.names, expected[2], strict=True)]
        assert list(result.thresholds.values()) == wanted
        value = expected[0] if any(penalties.values()) else (expected[0] / int((labels < 2).sum())) ** 2
        assert result.loss == pytest.approx(value, abs=1e-12, rel=1e-12)
        assert result.optimality_gap <= 1e-12 * max(1.0, result.loss)
        for name, limit in limits.items():
            gap = result.gaps[name]
            assert gap >= limit - 1e-12 if name == "disparate_impact" else gap <= limit + 1e-12
    assert solved > 5


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.MissingClassWarning")
def test_unified_equals_brute_force(backend):
    rng = np.random.default_rng(5)
    for _ in range(60):
        scores, labels, groups = random_rows(rng, int(rng.integers(1, 4)))
        sketch = sketch_of(scores, labels, groups)
        rows = brute_force.Rows(scores, labels, groups, sketch.edges)
        limits, penalties = random_question(rng, rng.choice(["limits", "penalties"]))
        try:
            result = gf.solve(sketch, limits=limits, penalties=penalties, unified=True)
        except ValueError as error:
            if "needs two groups" not in str(error):
                raise
            continue
        expected = brute_force.solve(rows, limits, penalties, unified=True)
        if expected is None:
            assert result.verdict == "infeasible"
            continue
        assert set(result.thresholds.values()) == {rows.candidates[rows.names[0]][expected[2][0]]}
        assert result.question.unified


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [2, 3, 6])
def test_backends_choose_alike(fast_backend, n_groups):
    """Bit for bit: same choice, same loss, same bound, on problems with hundreds of candidates."""
    rng = np.random.default_rng(n_groups)
    here, reference = room("solver"), room("solver", "numpy")
    for _ in range(10):
        p = arrays_of(rng, n_groups, 200)
        for_limits = [s.solve_limits(p, 100_000) for s in (here, reference)]
        assert np.array_equal(for_limits[0][0], for_limits[1][0])
        if n_groups == 2:
            one, two = here.solve_pair(p), reference.solve_pair(p)
            assert np.array_equal(one[0], two[0])
            assert one[1] == two[1]
        guess = for_limits[0][0]
        one, two = here.solve_penalties(p, guess, 200), reference.solve_penalties(p, guess, 200)
        assert np.array_equal(one[0], two[0])
        assert one[1:] == two[1:]


@pytest.mark.parametrize("n_groups", [30, 100])
def test_backends_search_many_groups_alike(fast_backend, n_groups):
    """The same nodes, choice and bound, whether the search ends early or not."""
    rng = np.random.default_rng(n_groups)
    p = arrays_of(rng, n_groups, 40)
    p = replace(p, limit=np.full(4, np.inf), ratio=np.full(4, -1.0), penalty=np.array([1.0, 10.0, 0.0, 0.0]))
    guess = np.zeros(n_groups, dtype=np.int64)
    for nodes in (0, 7, 60):
        here, reference = (room("solver", name).solve_penalties(p, guess, nodes) for name in (None, "numpy"))
        assert np.array_equal(here[0], reference[0])
        assert here[1:] == reference[1:]
        assert here[2] <= here[1]


@pytest.mark.parametrize("limited", [False, True])
def test_penalties_equal_trying_everything(backend, limited):
    """More choices than are tried one by one: the search splits targets, windows and candidates, and loses nothing."""
    rng = np.random.default_rng(11 + limited)
    for _ in range(12 if backend == "native" else 4):
        p = arrays_of(rng, 3, 70)
        p = replace(
            p, penalty=p.penalty * (rng.random(4) < 0.7) + [0.01, 0, 0, 0], has=p.has * (rng.random((4, 3)) < 0.9)
        )
        if not limited:
            p = replace(p, limit=np.full(4, np.inf), ratio=np.full(4, -1.0))
        sizes = np.diff(p.start)
        assert np.prod(sizes) > 40_000
        grid = [g.ravel() for g in np.meshgrid(*map(np.arange, sizes), indexing="ij")]
        loss = np.where(allowed(p, grid), loss_of(p, grid), np.inf)
        numbers, least, bound, _ = room("solver").solve_penalties(p, np.full(3, -1), 20_000)
        if loss.min() == np.inf:
            assert numbers[0] == -1
            assert bound == np.inf
            continue
        tied = np.flatnonzero(loss == loss.min())
        choices = np.array(grid)[:, tied].T
        distance = p.distance[p.start[:-1] + choices].sum(axis=1)
        best = min(zip(distance.tolist(), choices.tolist(), strict=True))[1]
        assert numbers.tolist() == best
        assert least == loss.min()
        assert least - bound <= 1e-12 * max(least, 1.0)


def test_tables_agree(fast_backend):
    """Counting what candidates accept gives the same arrays on every backend."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        rows = rng.integers(0, 3, (3, int(rng.integers(1, 5)), int(rng.integers(3, 40))))
        for a, b in zip(room("solver").tabulate(rows, 2, 3), room("solver", "numpy").tabulate(rows, 2, 3), strict=True):
            assert np.array_equal(a, b)


@pytest.mark.parametrize("unified", [False, True])
def test_one_group_is_solved_as_brute_force_does(backend, unified):
    rng = np.random.default_rng(6)
    for _ in range(40):
        scores, labels, groups = random_rows(rng, 1)
        sketch = sketch_of(scores, labels, groups)
        rows = brute_force.Rows(scores, labels, groups, sketch.edges)
        expected = brute_force.solve(rows, {}, {}, unified=unified)
        result = gf.solve(sketch, unified=unified)
        assert list(result.thresholds.values()) == [rows.candidates[rows.names[0]][expected[2][0]]]


@pytest.mark.parametrize("n_groups", [2, 3, 100, 513])
def test_the_loss_of_one_choice_is_that_of_many(n_groups):
    """One choice is added up at once, many one pair of groups after the other: in the same order, to the last bit."""
    p = arrays_of(np.random.default_rng(n_groups), n_groups, 5 if n_groups > 3 else 40)
    p = replace(p, penalty=np.linspace(0.5, 2, len(p.penalty)))
    sizes = np.diff(p.start)
    for i in range(3):
        numbers = np.minimum(i, sizes - 1)
        many = loss_of(p, [np.array([number, 0]) for number in numbers])
        assert float(loss_of(p, numbers)) == float(loss_of(p, numbers.tolist())) == many[0]


def test_mixtures_equal_scipys_linear_program(backend):
    rng = np.random.default_rng(4)
    from gstar_fast._solver.mix import mix, mixed

    feasible = 0
    for _ in range(40):
        p = arrays_of(rng, int(rng.integers(2, 5)), 30)
        answer = linear_program(p)
        mixture = mix(p)
        assert (mixture is None) == (answer.status != 0)
        if mixture is not None:
            feasible += 1
            assert float(mixed(p.cost / p.unit, p, mixture).sum()) == pytest.approx(answer.fun, abs=1e-9)
    assert feasible > 10
