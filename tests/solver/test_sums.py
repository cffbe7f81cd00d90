"""Limits on the sum of the tpr gap and the fpr gap, the paper's EOd: the optimum, its laws, and what is refused."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from helpers import brute_force
from helpers.problems import ACCURACIES, CRITERIA, arrays_of, linear_program, random_rows, sketch_of
from hypothesis import given, settings
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._backends import room
from gstar_fast._backends.common.choices import allowed, loss_of
from gstar_fast._solver import search as searching
from gstar_fast._solver.mix import corners_of, mix, mixed

pytestmark = pytest.mark.filterwarnings(
    "ignore::gstar_fast.errors.DegenerateWarning",
    "ignore::gstar_fast.errors.MissingClassWarning",
    "ignore::gstar_fast.errors.ResolutionWarning",
)

SUM = "equalized_odds_sum"


def random_question(rng, kind):
    """A limit on the sum, often with others."""
    limits = {SUM: float(rng.choice([0.0, 0.02, 0.1, 0.25, 0.6, 1.2]))}
    penalties = {}
    if rng.random() < 0.4:
        limits[str(rng.choice(CRITERIA + ACCURACIES))] = float(rng.choice([0.05, 0.1, 0.3]))
    if "penalties" in kind:
        penalties[str(rng.choice(CRITERIA + ACCURACIES))] = float(10.0 ** rng.integers(-2, 5))
    return limits, penalties


def asked_of(rng, n_groups, n, total):
    """Arrays as `arrays_of`, with a limit on the sum of the first two gaps."""
    p = arrays_of(rng, n_groups, n)
    return replace(p, limit=np.concatenate([np.minimum(p.limit[:2], total), p.limit[2:]]), total=total)


def solved(sketch, *args, **options):
    """The optimum; None where a rate is defined in fewer than two groups."""
    try:
        return gf.solve(sketch, *args, evidence=0, **options)
    except ValueError as error:
        if "needs two groups" not in str(error):
            raise
        return None


# --------------------------------------------------------------------------------------------------------- the optimum


@pytest.mark.parametrize("kind", ["limits", "limits and penalties"])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_equals_brute_force_to_the_threshold(backend, kind, n_groups):
    """The unique optimum, ties included: nearest to the best unified threshold, then lower thresholds."""
    rng = np.random.default_rng([n_groups, len(kind), 7])
    tried = 0
    for _ in range(40 if n_groups < 3 else 8):
        scores, labels, groups = random_rows(rng, n_groups, 40 if n_groups < 3 else 12)
        sketch = sketch_of(scores, labels, groups)
        rows = brute_force.Rows(scores, labels, groups, sketch.edges)
        limits, penalties = random_question(rng, kind)
        prices = tuple(int(x) for x in rng.integers(1, 4, 2))
        result = solved(
            sketch, limits=limits, penalties=penalties, objective=dict(zip(("fp", "fn"), prices, strict=True))
        )
        if result is None:
            continue
        expected = brute_force.solve(rows, limits, penalties, prices)
        if expected is None:
            assert result.verdict == "infeasible"
            continue
        tried += 1
        assert result.verdict == "optimal"
        wanted = [rows.candidates[name][c] for name, c in zip(rows.names, expected[2], strict=True)]
        assert list(result.thresholds.values()) == wanted
        assert result.gaps[SUM] <= limits[SUM] + 1e-12
        assert result.meets_limits
    assert tried > 4


def test_unified_equals_brute_force(backend):
    rng = np.random.default_rng(5)
    for _ in range(30):
        scores, labels, groups = random_rows(rng, int(rng.integers(2, 4)))
        sketch = sketch_of(scores, labels, groups)
        rows = brute_force.Rows(scores, labels, groups, sketch.edges)
        limits, penalties = random_question(rng, rng.choice(["limits", "limits and penalties"]))
        result = solved(sketch, limits=limits, penalties=penalties, unified=True)
        if result is None:
            continue
        expected = brute_force.solve(rows, limits, penalties, unified=True)
        if expected is None:
            assert result.verdict == "infeasible"
            continue
        assert set(result.thresholds.values()) == {rows.candidates[rows.names[0]][expected[2][0]]}


@pytest.mark.parametrize("n_groups", [2, 3, 6])
def test_backends_search_alike(fast_backend, n_groups):
    """Bit for bit: choice, boxes, bound and frontier, on problems with hundreds of candidates."""
    rng = np.random.default_rng(n_groups)
    here, reference = room("solver"), room("solver", "numpy")
    for total in (0.01, 0.05, 0.3, 1.1):
        p = asked_of(rng, n_groups, 150, total)
        one, two = here.solve_limits(p, 3_000), reference.solve_limits(p, 3_000)
        assert one[0].tolist() == two[0].tolist()
        assert one[1:3] == two[1:3]
        guess = one[0]
        if n_groups == 2:
            pairs = here.solve_pair(p), reference.solve_pair(p)
            assert pairs[0][0].tolist() == pairs[1][0].tolist()
            assert pairs[0][1] == pairs[1][1]
        one, two = here.solve_penalties(p, guess, 60), reference.solve_penalties(p, guess, 60)
        assert one[0].tolist() == two[0].tolist()
        assert one[1:] == two[1:]
        swept = np.array([1, 1, 0, 0], dtype=np.uint8)
        if n_groups < 6:
            p = asked_of(rng, n_groups, 40, total)
            p = replace(p, limit=np.where(swept, np.inf, p.limit), total=np.inf)
            one, two = (solver.frontier(p, swept, 10**6, True) for solver in (here, reference))
            assert one[0].tolist() == two[0].tolist()
            assert one[1].tolist() == two[1].tolist()
            assert one[2] == two[2] == 0
            for solver in (here, reference):  # they open other boxes, and so end elsewhere
                some, gaps, proven_to = solver.frontier(p, swept, 40, True)
                assert proven_to == gaps[0] or (proven_to == 0 and len(some) == len(one[0]))
                assert some[1:].tolist() == one[0][len(one[0]) - len(some) + 1 :].tolist()


def test_a_sum_alone_is_proven_beside_penalties(backend):
    p = arrays_of(np.random.default_rng(5), 4, 60)
    nothing = np.full(4, np.inf), np.full(4, -1.0), np.array([0.01, 0, 0, 0])
    p = replace(p, **dict(zip(("limit", "ratio", "penalty"), nothing, strict=True)), total=0.02)
    numbers, loss, bound, opened = room("solver").solve_penalties(p, np.full(4, -1), 1000)
    assert numbers.tolist() == [1, 1, 0, 0]
    assert loss == bound
    assert opened < 50


@pytest.mark.parametrize("total", [0.05, 0.4])
def test_penalties_equal_trying_everything(backend, total):
    """More choices than are tried one by one: the search splits targets, windows, candidates and the sum."""
    rng = np.random.default_rng(int(100 * total))
    for _ in range(6 if backend == "native" else 2):
        p = asked_of(rng, 3, 70, total)
        p = replace(p, penalty=p.penalty * (rng.random(4) < 0.7) + [0.01, 0, 0, 0])
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
        assert numbers.tolist() == min(zip(distance.tolist(), choices.tolist(), strict=True))[1]
        assert least == loss.min()
        assert least - bound <= 1e-12 * max(least, 1.0)


def test_bands_count_as_wide_as_they_are(backend):
    """Of rates known to lie in bands, the sum is that of the widest gaps."""
    rng = np.random.default_rng(3)
    for _ in range(8):
        p = asked_of(rng, 2, 30, float(rng.choice([0.1, 0.3])))
        half = rng.random(p.rates.shape) * 0.05
        p = replace(p, low=np.clip(p.rates - half, 0, 1), high=np.clip(p.rates + half, 0, 1))
        grid = [g.ravel() for g in np.meshgrid(*map(np.arange, np.diff(p.start)), indexing="ij")]
        cost = np.where(allowed(p, grid), sum(p.cost[s + g] for s, g in zip(p.start, grid, strict=False)), np.inf)
        numbers, _, finished, _ = room("solver").solve_limits(p, 100_000)
        assert finished
        assert (numbers[0] < 0) == (cost.min() == np.inf)
        if numbers[0] >= 0:
            assert p.cost[p.start[:-1] + numbers].sum() == cost.min()


# -------------------------------------------------------------------------------------------------------------- laws


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), n_groups=st.integers(2, 4), limit=st.sampled_from([0.02, 0.1, 0.3, 0.8]))
def test_lies_between_two_limits_on_the_larger_gap(backend, seed, n_groups, limit):
    """Never worse than the max form with half the limit, never better than with the whole."""
    rng = np.random.default_rng(seed)
    sketch = sketch_of(*random_rows(rng, n_groups, 60), bins=64)
    found = solved(sketch, limits={SUM: limit})
    if found is None:
        return
    half, whole = (solved(sketch, limits={"equalized_odds": by}) for by in (limit / 2, limit))
    assert whole.error <= found.error <= half.error
    names = rng.permutation(n_groups)
    rows = random_rows(np.random.default_rng(seed), n_groups, 60)
    other = gf.solve(sketch_of(rows[0], rows[1], names[rows[2]], bins=64), limits={SUM: limit}, evidence=0)
    assert other.error == found.error
    mixture = gf.solve(sketch, limits={SUM: limit}, randomize=True, evidence=0)
    assert mixture.error <= found.error + 1e-9
    assert mixture.gaps[SUM] <= limit + 1e-9


def test_finer_bins_are_never_worse(backend, table):
    rows = table.scores, table.labels, table.groups
    for limit in (0.0, 0.03, 0.2):
        errors = [
            gf.solve(gf.Sketch.from_rows(*rows, range=(-8, 8), bins=bins), limits={SUM: limit}).error
            for bins in (16, 64, 256, 1024)
        ]
        assert errors == sorted(errors, reverse=True)


def test_a_limit_on_both_gaps_holds_beside_that_on_the_sum(backend, sketch):
    """The tpr gap alone has a smaller limit than the sum."""
    both = gf.solve(sketch, limits={SUM: 0.1, "equal_opportunity": 0.01})
    assert both.gaps["equal_opportunity"] <= 0.01 + 1e-12
    assert both.gaps[SUM] <= 0.1 + 1e-12
    assert both.error >= gf.solve(sketch, limits={SUM: 0.1}).error
    free = gf.solve(sketch, limits={SUM: 2.0})
    assert free.error == gf.solve(sketch).error


def test_costs_and_classes_weigh_as_ever(backend, sketch):
    for options in (
        {"objective": {"fp": 1, "fn": 5}},
        {"objective": "balanced_error"},
        {"objective": {"fp": 2.5, "fn": 1, "balanced": True}},
    ):
        found = gf.solve(sketch, limits={SUM: 0.06}, **options)
        half, whole = (gf.solve(sketch, limits={"equalized_odds": by}, **options) for by in (0.03, 0.06))
        assert found.verdict == "optimal"
        assert whole.loss <= found.loss <= half.loss


# ----------------------------------------------------------------------------------------------------------- mixtures


@pytest.mark.parametrize("n_groups", [2, 3, 5])
def test_mixtures_equal_scipys_linear_program(n_groups):
    rng = np.random.default_rng(n_groups + 40)
    for total in (0.0, 0.02, 0.1, 0.5):
        p = asked_of(rng, n_groups, 40, total + 1e-12)
        expected, found = linear_program(p), mix(p)
        assert (found is None) == (expected.status == 2)
        if found is not None:
            assert mixed(p.cost / p.unit, p, found).sum() == pytest.approx(expected.fun, abs=1e-8)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_the_frontier_of_mixtures_is_scipys_at_every_gap(n_groups):
    rng = np.random.default_rng(n_groups)
    p = replace(asked_of(rng, n_groups, 30, np.inf), limit=np.full(4, np.inf), ratio=np.full(4, -1.0))
    corners = corners_of(p, np.array([True, True, False, False]), added=True)
    gaps = np.array(sorted(corners))
    errors = np.array([corners[gap][0] for gap in gaps])
    assert (np.diff(errors) < 0).all()
    for gap in np.linspace(0, 1.2, 13):
        least = linear_program(replace(p, limit=np.array([gap, gap, np.inf, np.inf]), total=gap)).fun
        assert np.interp(gap, gaps, errors) == pytest.approx(least, abs=1e-8)


# ---------------------------------------------------------------------------------------------------------- frontiers


@pytest.mark.parametrize("n_groups", [2, 3])
def test_the_frontier_equals_brute_force(backend, n_groups):
    rng = np.random.default_rng(n_groups + 20)
    for _ in range(10 if n_groups == 2 else 2):
        scores, labels, groups = random_rows(rng, n_groups, 30 if n_groups == 2 else 10)
        sketch = sketch_of(scores, labels, groups)
        rows = brute_force.Rows(scores, labels, groups, sketch.edges)
        if solved(sketch, limits={SUM: 0.1}) is None:
            continue
        found, expected = gf.frontier(sketch, SUM), _undominated(rows)
        assert found.gaps.tolist() == [gap for gap, _ in expected]
        assert (found.errors * (labels < 2).sum()).round(6).tolist() == [errors for _, errors in expected]
        assert found.proven_to == 0


def _undominated(rows):
    """All (gap, errors) that no choice beats."""
    rates = {name: [rows.rates(name, t) for t in rows.candidates[name]] for name in rows.names}
    wrong = {name: [sum(rows.wrong(name, t)) for t in rows.candidates[name]] for name in rows.names}
    points = []
    for choice in itertools.product(*(range(len(rows.candidates[name])) for name in rows.names)):
        chosen = [rates[name][c] for name, c in zip(rows.names, choice, strict=True)]
        gap = brute_force.spread("tpr", chosen) + brute_force.spread("fpr", chosen)
        points.append((sum(wrong[name][c] for name, c in zip(rows.names, choice, strict=True)), gap))
    best, out = np.inf, []
    for errors, gap in sorted(points):
        if gap < best:
            best = gap
            out.append((gap, errors))
    return out[::-1]


def test_every_point_of_the_frontier_is_what_solve_finds(backend, sketch):
    found = gf.frontier(sketch, SUM)
    for i in np.linspace(0, len(found) - 1, 8).astype(int):
        again = gf.solve(sketch, limits={SUM: float(found.gaps[i])})
        assert again.error == pytest.approx(found.errors[i], abs=1e-12)
        assert found.result(int(i)).gaps[SUM] == pytest.approx(found.gaps[i], abs=1e-12)
    assert found.at(gap=0.05).gaps[SUM] <= 0.05 + 1e-12
    randomised = gf.frontier(sketch, SUM, randomize=True)
    assert randomised.at(gap=0.05).error <= found.at(gap=0.05).error + 1e-9
    beside = gf.frontier(sketch, "demographic_parity", limits={SUM: 0.1})
    assert all(beside.result(i).gaps[SUM] <= 0.1 + 1e-12 for i in (0, len(beside) - 1))


# ---------------------------------------------------------------------------------------- limits out of reach, budgets


def test_what_cannot_be_met_is_missed_by_the_least(backend):
    """The message names the slack that would do; the thresholds are the answer to the looser question."""
    rng = np.random.default_rng(6)
    seen = 0
    while seen < 8:
        scores, labels, groups = random_rows(rng, 2, 20)
        sketch, unified = sketch_of(scores, labels, groups), bool(rng.random() < 0.3)
        rows = brute_force.Rows(scores, labels, groups, sketch.edges)
        limits = {SUM: 0.02, "accuracy_parity": 0.0}
        result = solved(sketch, limits=limits, unified=unified)
        if result is None or result.verdict != "infeasible":
            continue
        seen += 1
        assert brute_force.solve(rows, limits, unified=unified) is None
        assert not result.meets_limits
        slack = result.proof.slack.each
        looser = {name: limit + slack for name, limit in limits.items()}
        expected = brute_force.solve(rows, looser, unified=unified)
        assert result.error == expected[0] / (labels < 2).sum()
        assert brute_force.solve(rows, {n: v - 1.1e-5 for n, v in looser.items()}, unified=unified) is None


def test_a_search_cut_short_says_so_and_its_bound_holds(backend, monkeypatch, sketch):
    whole = gf.solve(sketch, limits={SUM: 0.03})
    monkeypatch.setattr(searching, "BOX_LIMIT", 4)
    short = gf.solve(sketch, limits={SUM: 0.03})
    assert short.verdict == "not_converged"
    assert short.lower_bound <= whole.loss <= short.loss
    assert short.meets_limits


# ----------------------------------------------------------------------------------------------------- smooth densities


@pytest.mark.parametrize("density", ["kde", "normal"])
def test_smooth_densities_keep_the_sum_too(backend, table, density):
    if density == "kde" and backend != "native":
        pytest.skip("the same text, and slow")
    sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups, bins=64)
    found = gf.solve(sketch, limits={SUM: 0.05}, density=density)
    half, whole = (gf.solve(sketch, limits={"equalized_odds": by}, density=density) for by in (0.025, 0.05))
    assert found.verdict == "optimal"
    assert found.gaps[SUM] <= 0.05 + 1e-9
    assert whole.error - 1e-6 <= found.error <= half.error + 1e-6
    together = gf.solve(sketch, limits={SUM: 0.05}, penalties={"demographic_parity": 1.0}, density=density)
    assert together.gaps[SUM] <= 0.05 + 1e-9
    one = gf.solve(sketch, limits={SUM: 0.3}, density=density, unified=True)
    assert one.gaps[SUM] <= 0.3 + 1e-9


# ------------------------------------------------------------------------------------------------------------ refusals


def test_the_sum_is_no_penalty_and_at_most_two(sketch):
    with pytest.raises(ValueError, match=r"as a penalty use penalties=\{'equalized_odds': ...\}"):
        gf.solve(sketch, penalties={SUM: 1.0})
    with pytest.raises(ValueError, match="as a penalty use"):
        gf.frontier(sketch, SUM, by="penalties")
    for wrong in (-0.01, 2.01, float("nan")):
        with pytest.raises(ValueError, match="is a largest gap and must be from 0 to 2"):
            gf.solve(sketch, limits={SUM: wrong})
    with pytest.raises(ValueError, match="must be from 0 to 1"):
        gf.solve(sketch, limits={"equalized_odds": 1.5})
