"""Limits on rates that are only known to lie in a band: searches, frontier, mixtures, and candidates for certain."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.banded import banded, wilson
from helpers.problems import arrays_of, linear_program, random_rows, sketch_of
from hypothesis import given, settings
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._backends import room
from gstar_fast._question.question import Question
from gstar_fast._solver.cells import Cells
from gstar_fast._solver.mix import corners_of, mix, mixed
from gstar_fast._solver.search import prepare

BOXES = 1_000_000


def with_bands(rng, p, falling=True):
    """Random bands around the rates, some without a width; falling ones where the rates fall."""
    below, above = rng.choice([0.0, 0.02, 0.1], (2, len(p.limit), 1))
    low = np.clip(p.rates - below * rng.random(p.rates.shape), 0, 1)
    high = np.clip(p.rates + above * rng.random(p.rates.shape), 0, 1)
    if falling:
        for k in range(len(p.start) - 1):
            mine = slice(p.start[k], p.start[k + 1])
            low[:3, mine] = np.minimum.accumulate(low[:3, mine], axis=1)
            high[:3, mine] = np.maximum.accumulate(high[:3, mine][:, ::-1], axis=1)[:, ::-1]
    return replace(p, low=low, high=high, penalty=np.zeros(len(p.limit)))


def both_answers(p, swept):
    """Of the search: choice, boxes, whether it finished. Of the frontier: choices, gaps, how far it is proven."""
    return *room("solver").solve_limits(p, BOXES)[:3], *room("solver").frontier(p, swept, BOXES)


def band_gaps(p, mixture):
    """Of each rate: the highest high end of a mixture's groups less the lowest low end."""
    return mixed(p.high, p, mixture).max(axis=1) - mixed(p.low, p, mixture).min(axis=1)


# --------------------------------------------------------------------------------------------------------- the searches


@given(problem=banded())
@settings(max_examples=100)
def test_the_optimum_is_that_of_trying_everything(backend, problem):
    numbers, _, finished, _ = room("solver").solve_limits(problem.arrays(), BOXES)
    expected = problem.best()
    assert finished
    assert tuple(numbers.tolist()) == ((-1,) * len(problem.groups) if expected is None else expected[2])


@given(problem=banded(), data=st.data())
@settings(max_examples=100)
def test_the_frontier_is_that_of_trying_everything(backend, problem, data):
    swept = data.draw(st.sets(st.sampled_from(range(len(problem.limit))), min_size=1))
    flags = np.isin(np.arange(len(problem.limit)), list(swept)).astype(np.uint8)
    choices, gaps, proven_to = room("solver").frontier(problem.arrays(), flags, BOXES)
    expected = problem.frontier(sorted(swept))
    assert list(zip(gaps.tolist(), map(tuple, choices.tolist()), strict=True)) == expected
    assert proven_to == 0


@pytest.mark.parametrize("n_groups", [2, 3, 5])
def test_backends_agree_on_larger_problems(fast_backend, n_groups):
    """To the last bit, and box by box; the reference has been compared with trying everything."""
    solved = 0
    for seed in range(14):
        rng = np.random.default_rng([n_groups, seed])
        p = with_bands(rng, arrays_of(rng, n_groups, 60), falling=seed % 3 > 0)
        swept = np.array([1, 1, 0, 0], dtype=np.uint8)
        ours = both_answers(p, swept)
        with gf.use_backend("numpy"):
            theirs = both_answers(p, swept)
        for one, two in zip(ours, theirs, strict=True):
            assert np.array_equal(one, two)
        solved += ours[0][0] >= 0
    assert solved > 1


@given(problem=banded())
def test_bands_without_a_width_change_nothing(backend, problem):
    plain = problem.arrays(plain=True)
    given_bands = replace(plain, low=plain.rates.copy(), high=plain.rates.copy())
    swept = np.ones(len(plain.limit), dtype=np.uint8)
    for p in (given_bands, replace(plain, high=plain.rates.copy())):
        for one, two in zip(both_answers(plain, swept), both_answers(p, swept), strict=True):
            assert np.array_equal(one, two)


@given(problem=banded(), widen=st.lists(st.integers(0, 3), min_size=1, max_size=20))
def test_wider_bands_never_lower_the_error(backend, problem, widen):
    p = problem.arrays()
    more = np.resize(np.array(widen) / 16, p.rates.shape)
    wider = replace(p, low=np.maximum(p.low - more, 0), high=np.minimum(p.high + more[:, ::-1], 1))
    costs = []
    for one in (problem.arrays(plain=True), p, wider):
        numbers, *_ = room("solver").solve_limits(one, BOXES)
        costs.append(math.inf if numbers[0] < 0 else int(one.cost[one.start[:-1] + numbers].sum()))
    assert costs == sorted(costs)


def test_a_band_too_wide_by_itself_costs_no_box(backend):
    """Hundreds of candidates whose own band breaks the limit are passed over in the first box."""
    rng = np.random.default_rng(0)
    p = replace(arrays_of(rng, 3, 400), limit=np.array([0.1, 0.1, np.inf, np.inf]), ratio=np.full(4, -1.0))
    wide = np.full(p.rates.shape, 0.06)
    wide[:, p.start[:-1]] = 0.0  # all but the first of each group
    p = replace(p, low=p.rates - wide, high=p.rates + wide, penalty=np.zeros(4))
    p.low[:2, p.start[:-1]] = p.high[:2, p.start[:-1]] = 0.9
    numbers, opened, finished, _ = room("solver").solve_limits(p, BOXES)
    assert (numbers.tolist(), opened, finished) == ([0, 0, 0], 1, True)


def test_penalties_refuse_bands(backend):
    rng = np.random.default_rng(1)
    pair, three = (with_bands(rng, arrays_of(rng, n_groups, 10)) for n_groups in (2, 3))
    with pytest.raises(ValueError, match="bands of rates go with limits alone"):
        room("solver").solve_pair(pair)
    with pytest.raises(ValueError, match="bands of rates go with limits alone"):
        room("solver").solve_penalties(three, np.zeros(3, dtype=np.int64), 100)


# ------------------------------------------------------------------------------------------------------------- mixtures


def test_mixtures_with_bands_equal_scipys_linear_program():
    met = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p = with_bands(rng, arrays_of(rng, int(rng.integers(1, 5)), 30))
        mixture, answer = mix(p), linear_program(p)
        assert (mixture is None) == (answer.status == 2)
        if mixture is not None:
            met += 1
            assert mixed(p.cost / p.unit, p, mixture).sum() == pytest.approx(answer.fun, abs=1e-8)
            assert (band_gaps(p, mixture) <= p.limit + 1e-8).all()
    assert 20 < met < 60


@pytest.mark.parametrize("seed", [16, 18])  # at the least gap there is, a step on rounding once left the limits behind
def test_corners_of_mixtures_with_bands(seed):
    rng = np.random.default_rng(seed)
    p = with_bands(rng, arrays_of(rng, 4, 30))
    swept = np.array([True, True, False, False])
    p = replace(p, limit=np.array([np.inf, np.inf, 0.05, 0.3]))
    corners = corners_of(p, swept)
    gaps, errors = list(corners), [error for error, _ in corners.values()]
    assert len(corners) > 2
    assert sorted(gaps) == gaps
    assert sorted(errors, reverse=True) == errors
    for gap, (error, mixture) in corners.items():
        assert band_gaps(p, mixture)[:2].max() <= gap + 1e-8
        assert mixed(p.cost / p.unit, p, mixture).sum() == error
        looser, tighter = (
            linear_program(replace(p, limit=np.where(swept, gap + slack, p.limit))) for slack in (2e-8, -2e-8)
        )
        assert looser.fun <= error + 1e-8
        assert tighter.fun is None or error <= tighter.fun + 1e-8


def test_mixtures_of_bands_without_a_width_are_those_of_rates():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        p = replace(arrays_of(rng, 3, 30), penalty=np.zeros(4))
        one, two = mix(p), mix(replace(p, low=p.rates.copy(), high=p.rates.copy()))
        assert (one is None) == (two is None)
        if one is not None:
            totals = [mixed(p.cost / p.unit, p, mixture).sum() for mixture in (one, two)]
            assert totals[0] == pytest.approx(totals[1], abs=1e-9)


# ---------------------------------------------------------------------------------------------------------- for certain


def wilson_bands(search, z):
    """Arrays with Wilson's bands for tpr and fpr; rates of infinite thresholds are known for certain."""
    table, p = search.table, search.arrays
    sure = np.isinf(search.thresholds(np.arange(len(table.cost))))
    group = np.repeat(np.arange(len(search.groups)), np.diff(table.start))
    low, high = p.rates.copy(), p.rates.copy()
    for r, label in enumerate((1, 0)):
        for i in np.flatnonzero(~sure):
            rows = int(table.totals[label, group[i]])
            if rows:
                low[r, i], high[r, i] = wilson(int(table.accepted[label, i]), rows, z)
    return replace(p, low=low, high=high)


def tried(scores, labels, groups, edges, limit, z):
    """The least number of errors over all thresholds, counted from rows: -inf, every edge, +inf."""
    options = []
    for name in np.unique(groups):
        mine = groups == name
        known = mine & (labels < 2)
        top = [] if (scores[mine] >= edges[-1]).any() else [math.inf]
        of_group = set()
        for threshold in [-math.inf, *edges.tolist(), *top]:
            accepted = scores >= threshold
            bands = []
            for label in (1, 0):
                cell = mine & (labels == label)
                x, n = int((cell & accepted).sum()), int(cell.sum())
                if n == 0:
                    bands.append(None)
                else:
                    bands.append((x / n, x / n) if math.isinf(threshold) else wilson(x, n, z))
            of_group.add((int((known & (accepted != (labels == 1))).sum()), *bands))
        options.append(sorted(of_group, key=lambda option: option[0]))
    best = math.inf
    for choice in itertools.product(*options):
        wrong = sum(option[0] for option in choice)
        if wrong < best:
            ends = [[option[r] for option in choice if option[r] is not None] for r in (1, 2)]
            if all(max(h for _, h in e) - min(low for low, _ in e) <= limit + 1e-12 for e in ends):
                best = wrong
    return best


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.MissingClassWarning")
def test_wilsons_bands_on_rows(backend):
    """Against thresholds tried on the rows themselves, with ties, infinite scores and unlabelled rows."""
    some = set()
    for seed in range(25):
        rng = np.random.default_rng(seed)
        scores, labels, groups = random_rows(rng, 2 + seed % 2, most=30 if seed % 2 else 60)
        labels[(labels == seed % 3) & (rng.random(len(labels)) < 0.8)] = (
            seed + 1
        ) % 3  # accept most, few, or ignore most
        if any(len(np.unique(groups[labels == y])) < 2 for y in (0, 1)):
            continue
        limit, z = float(rng.choice([0.1, 0.3, 0.5])), float(rng.choice([0.0, 0.5, 1.0, 2.0]))
        cells = Cells.of(sketch_of(scores, labels, groups))
        search = prepare(cells, Question.of(limits={"equalized_odds": limit}), certain=True)
        p = wilson_bands(search, z)
        numbers, *_ = room("solver").solve_limits(p, BOXES)
        expected = tried(scores, labels, groups, search.cells.edges, limit, z)
        assert p.cost[p.start[:-1] + numbers].sum() == expected
        some |= set(search.thresholds(p.start[:-1] + numbers).tolist()) & {-math.inf, math.inf}
    assert some == {-math.inf, math.inf}


def test_candidates_for_certain(backend):
    """-inf and +inf stand at the ends of each group; +inf is left out where a row has that score."""
    scores = np.array([0.1, 0.2, 0.9, 0.3, 0.6, np.inf])
    labels, groups = np.array([0, 0, 1, 0, 1, 1]), np.array(["a", "a", "a", "b", "b", "b"])
    sketch = gf.Sketch.from_rows(scores, labels, groups, bins=16)
    objective = Question.of(limits={"equalized_odds": 0.0})
    plain, certain = prepare(Cells.of(sketch), objective), prepare(Cells.of(sketch), objective, certain=True)
    by_group = np.split(certain.thresholds(np.arange(len(certain.table.cost))), certain.table.start[1:-1])
    assert [(x[0], x[-1] == np.inf, np.isinf(x).sum()) for x in by_group] == [(-np.inf, True, 2), (-np.inf, False, 1)]
    assert all((np.diff(x) > 0).all() for x in by_group)
    first, last = certain.table.start[:-1], certain.table.start[1:] - 1
    assert certain.table.accepted[:, first].tolist() == certain.table.totals.tolist()
    assert certain.table.accepted[:, last].tolist() == [[0, 0], [0, 1], [0, 0]]
    assert certain.arrays.rates[:, last[0]].tolist() == [0.0, 0.0]
    # what was there before is there still, and so is the answer
    kept = np.flatnonzero(np.isfinite(certain.thresholds(np.arange(len(certain.table.cost)))))
    finite = np.flatnonzero(plain.table.candidate > 0)
    assert certain.table.candidate[kept].tolist() == plain.table.candidate[finite].tolist()
    assert certain.table.cost[kept].tolist() == plain.table.cost[finite].tolist()
    costs = []
    for search in (plain, certain):
        numbers, *_ = room("solver").solve_limits(search.arrays, BOXES)
        costs.append(search.arrays.cost[search.arrays.start[:-1] + numbers].sum())
    assert costs[0] == costs[1]
