"""Thresholds by segment, gaps between protected groups: the best choice, the best mixture, and their proofs."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from helpers.cells import cells_of, problem_of

import gstar_fast as gf
from gstar_fast._backends import room
from gstar_fast._backends.numpy.segments_bounds import price
from gstar_fast._criteria import CRITERION, Criterion, Form, Limit
from gstar_fast._question.question import Question
from gstar_fast._question.roles import Roles, part
from gstar_fast._rates import RATE, has_rate, rates_of
from gstar_fast._solver.answer.proof import Cut, Leaf, decode, encode
from gstar_fast._solver.cells import gaps_of
from gstar_fast._solver.search import Problem
from gstar_fast._solver.segments.check import check
from gstar_fast._solver.segments.search import (
    certificate_of,
    certificate_of_mix,
    choose_by_segment,
    lay_out,
    loosened,
    mix_by_segment,
)
from tests.helpers.segment_oracle import least_cost

pytestmark = pytest.mark.filterwarnings(
    "ignore::gstar_fast.errors.DegenerateWarning",
    "ignore::gstar_fast.errors.MissingClassWarning",
    "ignore::gstar_fast.errors.OverfitWarning",
)

CRITERIA = (
    "demographic_parity",
    "equal_opportunity",
    "predictive_equality",
    "equalized_odds",
    "accuracy_parity",
    "balanced_accuracy_parity",
)


def random_question(rng):
    """Few rows in few bins: ties, cells without rows, unlabelled rows, scores above all edges."""
    n_groups, m, bins = int(rng.integers(2, 4)), int(rng.integers(1, 5)), int(rng.integers(3, 9))
    rows = rng.integers(0, rng.choice([2, 5, 20]), size=(3, n_groups, m, bins))
    slant = np.linspace(0.3, 1.3, bins)
    rows[1], rows[0] = np.rint(rows[1] * slant), np.rint(rows[0] * slant[::-1])
    rows[2] *= rng.random() < 0.3
    if rng.random() < 0.5:
        rows *= rng.random((3, n_groups, m, 1)) < 0.8
    rows[:, :, :, -1] *= rng.random() < 0.7
    rows[:2, 0, 0, 0] += 1  # both labels are there
    names = rng.choice(CRITERIA, size=int(rng.integers(1, 3)), replace=False).tolist()
    limits = {name: float(rng.choice([0, 0.01, 0.05, 0.1, 0.3])) for name in names}
    if rng.random() < 0.3:
        limits["disparate_impact"] = float(rng.choice([0.8, 0.95, 1.0]))
    costs = [(1, 1), (1, 5), (2.5, 1)][rng.integers(3)]
    order = [None, None, "rising", "falling"][rng.integers(4)]
    return asked(rows, limits, costs, bool(rng.random() < 0.2), order)


def asked(rows, limits, costs=(1, 1), balanced=False, order=None):
    objective = Question.of(limits=limits, objective={"fp": costs[0], "fn": costs[1], "balanced": balanced})
    return lay_out(Problem.unchecked(cells_of(rows), objective), order), order


def chosen_cost(search, best):
    """What a choice costs, counted from the rows; checks that it meets the limits and its order."""
    candidates = search.candidates(best.numbers)
    cells, totals = search.cells, search.totals
    accepted = cells.by_group(cells.accepted([{t: 1.0} for t in candidates.tolist()]))
    gaps = gaps_of(rates_of(accepted, totals), has_rate(totals))
    for name, limit in search.question.gap_limits.items():
        if name in gaps:
            assert gaps[name] >= limit - 1e-12 if name == "disparate_impact" else gaps[name] <= limit + 1e-12
    if search.arrays.rising:
        along = candidates[list(search.order)]
        assert np.all(np.diff(along) >= 0)
    return int(search.scale.fp * accepted[0].sum() + search.scale.fn * (totals[1].sum() - accepted[1].sum()))


def random_sketch(seed=0, rows=1500, segments=3, bins=64):
    rng = np.random.default_rng(seed)
    group, label = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    segment = np.clip(rng.integers(0, segments, rows) + (rng.random(rows) < 0.4) * group, 0, segments - 1)
    score = rng.normal(label * 1.5 + 0.6 * group - 0.3 * segment, 1.0)
    return score, label, group, segment, gf.Sketch.from_rows(score, label, [group, segment], bins=bins)


# ------------------------------------------------------------------------------------------------------- the optimum


@pytest.mark.slow
def test_the_best_choice_and_the_best_mixture_are_those_of_highs(backend):
    """Every criterion, ratios, costs, three groups, monotone thresholds."""
    rng = np.random.default_rng(20)
    without = branched = 0
    for _ in range(120 if backend == "native" else 40):
        search, order = random_question(rng)
        prices, limits = (search.scale.fp, search.scale.fn), search.question.gap_limits
        expected = least_cost(search.cells.dense(), prices, limits, whole=True, order=order)
        best = room("segments").choose(search.arrays, 20_000)
        assert best.finished
        assert (best.numbers[0] < 0) == (expected is None)
        branched += best.nodes > 1
        if expected is None:
            without += 1
        else:
            assert chosen_cost(search, best) == pytest.approx(expected, rel=1e-7)
        least = least_cost(search.cells.dense(), prices, limits, whole=False, order=order)
        mix = room("segments").mix(search.nominal())
        assert (mix is None) == (least is None)
        if mix is not None:
            assert mix.value * search.scale.unit == pytest.approx(least, rel=1e-6, abs=1e-6)
            assert mix.bound <= mix.value <= mix.bound + 1e-9
    assert without > 2
    assert branched > 10


def test_all_backends_take_the_same_steps(fast_backend):
    """To the last bit: choices, weights, and every multiplier of every leaf."""
    rng = np.random.default_rng(21)
    for _ in range(40):
        search, _ = random_question(rng)
        for one, two in (
            (room("segments", "numpy").choose(search.arrays, 300), room("segments").choose(search.arrays, 300)),
            (room("segments", "numpy").mix(search.nominal()), room("segments").mix(search.nominal())),
        ):
            if one is None:
                assert two is None
                continue
            leaves = [] if not hasattr(one, "leaves") else list(zip(one.leaves, two.leaves, strict=True))
            for a, b in [*zip(one[:-1], two[:-1], strict=True), *leaves]:
                np.testing.assert_array_equal(a, b)


def test_price_finds_the_cheapest_candidate_of_a_range():
    rng = np.random.default_rng(22)
    for order in (None, "rising"):
        search, _ = asked(rng.integers(0, 9, (3, 2, 3, 6)), {"equalized_odds": 0.1}, order=order)
        p = search.arrays
        weights = rng.integers(-3, 4, len(p.price)).astype(float)
        low, high = np.array([1, 0, 2]), np.array([4, 3, 5])
        numbers, values = price(p, weights, low, high)
        value = np.concatenate([weights[slots] @ values for slots, values in p.features])
        ranges = [range(a, b + 1) for a, b in zip(low, high, strict=True)]
        every = np.array(np.meshgrid(*ranges, indexing="ij")).reshape(3, -1).T
        if order:
            every = every[np.all(np.diff(every, axis=1) >= 0, axis=1)]
        sums = value[p.start[:-1] + every].sum(axis=1)
        assert values.sum() == sums.min() == value[p.start[:-1] + numbers].sum()
        assert numbers.tolist() in every.tolist()


def test_a_search_cut_short_says_so_and_its_bound_holds(backend):
    rng = np.random.default_rng(23)
    stopped = 0
    for _ in range(40):
        search, _ = random_question(rng)
        best = room("segments").choose(search.arrays, 2)
        if best.finished:
            continue
        stopped += 1
        full = room("segments").choose(search.arrays, 20_000)
        if full.numbers[0] >= 0:
            assert best.bound <= chosen_cost(search, full) / search.scale.unit + 1e-12
        with pytest.raises(ValueError, match="no proof"):
            certificate_of(search, best)
    assert stopped > 3
    _, _, _, _, sketch = random_sketch()
    late = choose_by_segment(problem_of(sketch, Question.of(limits={"equalized_odds": 0.0})), seconds=0.0)
    assert not late.finished
    assert late.bound <= late.cost / late.search.scale.unit


def test_bounds_of_one_rate_are_held_as_by_highs(backend):
    """Floors and ceilings of every group and of one, and a share of all rows, with a limit between groups or alone."""
    rng = np.random.default_rng(27)
    kinds = {"tpr": "tpr", "fpr": "fpr", "selection_rate": "selection", "accuracy": "accuracy"}
    without = proved = 0
    for n in range(60 if backend == "native" else 20):
        search, order = random_question(rng)
        many, given, bounds = len(search.cells.groups), [], []
        for name in rng.choice(list(kinds), size=2, replace=False).tolist():
            form, low = [(Form.BOUND, 0.0), (Form.TOTAL, 0.1)][rng.integers(2)], float(rng.choice([0.1, 0.4, 0.6]))
            least, most = (low, 1.0) if rng.random() < 0.5 else (form[1], low + 0.2)
            alone = int(rng.integers(many)) if form[0] is Form.BOUND and rng.random() < 0.3 else None
            given.append(Limit(Criterion(name, (RATE[name],), form[0]), least, most, alone))
            some = [alone] if alone is not None else [None] if form[0] is Form.TOTAL else range(many)
            bounds += [(kinds[name], a, least, most) for a in some]
        gaps = search.question.limits if n % 3 else ()
        asked = replace(search.question, limits=(*gaps, *given))
        search = lay_out(replace(search, question=asked), order)
        prices, rows = (search.scale.fp, search.scale.fn), search.cells.dense()
        question = {"order": order, "bounds": bounds}
        of_gaps = {limit.criterion.name: limit.asked for limit in gaps}
        expected = least_cost(rows, prices, of_gaps, whole=True, **question)
        best = room("segments").choose(search.arrays, 20_000)
        assert best.finished
        assert (best.numbers[0] < 0) == (expected is None)
        without += expected is None
        if expected is not None:
            cost = int(search.arrays.cost[search.arrays.start[:-1] + best.numbers].sum())
            assert cost == pytest.approx(expected, rel=1e-7)
        certificate = certificate_of(search, best)
        assert check(certificate, rows.tolist()) is None
        assert decode(encode((certificate,)))[0].steps == certificate.steps
        mix = room("segments").mix(search.nominal())
        least = least_cost(rows, prices, of_gaps, whole=False, **question)
        assert (mix is None) == (least is None)
        if mix is not None:
            proved += 1
            assert mix.value * search.scale.unit == pytest.approx(least, rel=1e-6, abs=1e-6)
            assert check(certificate_of_mix(search, mix), rows.tolist()) is None
    assert without > 2
    assert proved > 5


# ------------------------------------------------------------------------------------------------------------- laws


@pytest.mark.parametrize("monotone", [False, True])
def test_order_of_groups_and_segments_changes_nothing(backend, monotone):
    """Rows in any order give the same answer; other names for groups and segments the same error."""
    score, label, group, segment, sketch = random_sketch(1)
    objective = Question.of(limits={"equalized_odds": 0.01})
    first = choose_by_segment(problem_of(sketch, objective, monotone=monotone))
    shuffled = np.random.default_rng(0).permutation(len(score))
    again = gf.Sketch.from_rows(score[shuffled], label[shuffled], [group[shuffled], segment[shuffled]], bins=64)
    second = choose_by_segment(problem_of(again, objective, monotone=monotone))
    assert second.candidates == first.candidates
    renamed = np.array([2, 1, 0] if monotone else [1, 2, 0])[segment]
    other = gf.Sketch.from_rows(score, label, [renamed, 1 - group], bins=64)
    third = choose_by_segment(problem_of(other, objective, Roles((1,), (0,)), monotone=monotone))
    assert third.cost == first.cost
    assert third.finished
    assert first.finished


def test_finer_bins_are_never_worse(backend):
    """Every edge of a coarse grid is an edge of a fine one."""
    rng = np.random.default_rng(24)
    for _ in range(25):
        search, _ = random_question(rng)
        rows = search.cells.dense()
        coarse = np.concatenate([rows[..., :1], rows[..., 1:-1].sum(axis=3, keepdims=True), rows[..., -1:]], axis=3)
        objective = search.question
        of_coarse, _ = asked(coarse, objective.gap_limits, objective.costs, objective.balanced)
        of_fine, _ = asked(rows, objective.gap_limits, objective.costs, objective.balanced)
        one, two = (room("segments").choose(s.arrays, 20_000) for s in (of_coarse, of_fine))
        if one.numbers[0] >= 0:
            assert chosen_cost(of_fine, two) <= chosen_cost(of_coarse, one)
        one_mix, two_mix = (room("segments").mix(s.nominal()) for s in (of_coarse, of_fine))
        if one_mix is not None:
            assert two_mix.value <= one_mix.value + 1e-9


def test_looser_limits_are_never_worse(backend):
    _, _, _, _, sketch = random_sketch(2)
    search = lay_out(problem_of(sketch, Question.of(limits={"equalized_odds": 0.0})))
    costs = [
        chosen_cost(search, room("segments").choose(search.arrays, 20_000))
        if slack == 0
        else int(
            search.arrays.cost[
                search.arrays.start[:-1] + room("segments").choose(loosened(search.arrays, slack), 20_000).numbers
            ].sum()
        )
        for slack in (0, 0.005, 0.02, 0.1, 1.0)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-1]


def test_segments_that_are_the_groups_cost_what_today_costs(backend):
    """decide_by = fair_between is today's question."""
    rng = np.random.default_rng(3)
    group, label = rng.integers(0, 3, 900), rng.integers(0, 2, 900)
    score = rng.normal(label * 1.5 + 0.4 * group, 1.0)
    sketch = gf.Sketch.from_rows(score, label, group, bins=64)
    for limits in ({"equalized_odds": 0.03}, {"demographic_parity": 0.01, "equal_opportunity": 0.05}):
        today = gf.solve(sketch, limits=limits)
        objective = Question.of(limits=limits)
        here = choose_by_segment(problem_of(sketch, objective, Roles((0,), (0,))))
        assert here.finished
        assert here.cost / here.search.scale.unit == pytest.approx(today.error, abs=1e-12)
        mixed = gf.solve(sketch, limits=limits, randomize=True)
        mixture = mix_by_segment(problem_of(sketch, objective, Roles((0,), (0,))))
        assert mixture.best[1].value == pytest.approx(mixed.error, abs=1e-9)


def test_no_segment_is_one_threshold_for_all(backend):
    """decide_by = () is `unified`."""
    _, _, _, _, sketch = random_sketch(4)
    limits = {"equalized_odds": 0.05}
    whole = gf.Sketch.from_rows(*random_sketch(4)[:3], bins=64)
    unified = gf.solve(whole, limits=limits, unified=True)
    here = choose_by_segment(problem_of(sketch, Question.of(limits=limits), Roles((0,), ())))
    assert here.search.cells.segments == ("",)
    assert here.cost / here.search.scale.unit == pytest.approx(unified.error, abs=1e-12)


def test_monotone_is_the_better_of_two_orders_and_never_better_than_free(backend):
    _, _, _, _, sketch = random_sketch(5)
    objective = Question.of(limits={"equal_opportunity": 0.02})
    free, monotone = (choose_by_segment(problem_of(sketch, objective, monotone=m)) for m in (False, True))
    steps = np.diff(monotone.candidates)
    assert np.all(steps >= 0) or np.all(steps <= 0)
    assert free.cost <= monotone.cost
    costs = [int(s.arrays.cost[s.arrays.start[:-1] + b.numbers].sum()) for s, b in monotone.parts]
    assert monotone.cost == min(costs)
    mixtures = [mix_by_segment(problem_of(sketch, objective, monotone=m)).best[1].value for m in (False, True)]
    assert mixtures[0] <= mixtures[1] + 1e-12
    assert mixtures[1] <= monotone.cost / monotone.search.scale.unit + 1e-9


def test_weighted_rows_and_parts_of_names(backend):
    """Weights count in small units; several columns may play one role."""
    rng = np.random.default_rng(60)
    score, label, group, segment, _ = random_sketch(6)
    more = rng.integers(0, 2, len(score))
    weights = rng.integers(1, 4, len(score)).astype(float)
    sketch = gf.Sketch.from_rows(score, label, [group, more, segment], weights=weights, bins=64)
    repeated = gf.Sketch.from_rows(
        *(np.repeat(x, weights.astype(int)) for x in (score, label)),
        [np.repeat(x, weights.astype(int)) for x in (group, more, segment)],
        bins=64,
    )
    roles, objective = Roles((0, 1), (2,)), Question.of(limits={"equal_opportunity": 0.05})
    one, two = (choose_by_segment(problem_of(s, objective, roles)) for s in (sketch, repeated))
    assert one.search.cells.groups == ((0, 0), (0, 1), (1, 0), (1, 1))
    assert one.cost / one.search.scale.unit == pytest.approx(two.cost / two.search.scale.unit, abs=1e-12)
    assert part(("a", 1, "b"), (2,)) == "b"
    assert part("a", (0,)) == "a"


# ------------------------------------------------------------------------------------------------------ certificates


def test_every_answer_has_a_proof_that_holds(backend):
    rng = np.random.default_rng(25)
    kinds = set()
    for _ in range(60):
        search, _ = random_question(rng)
        rows = search.cells.dense().tolist()
        certificate = certificate_of(search, room("segments").choose(search.arrays, 20_000))
        kinds |= {type(step) for step in certificate.steps} | {certificate.choice is None, certificate.first is None}
        assert check(certificate, rows) is None
        mix = room("segments").mix(search.nominal())
        if mix is not None:
            assert check(certificate_of_mix(search, mix), rows) is None
    assert {Cut, Leaf, True, False} <= kinds


def proven(limits=None, monotone=False):
    _, _, _, _, sketch = random_sketch(7, segments=4)
    objective = Question.of(limits={"equalized_odds": 0.004} if limits is None else limits)
    choice = choose_by_segment(problem_of(sketch, objective, monotone=monotone))
    certificates = tuple(certificate_of(*part) for part in choice.parts)
    rows = choice.search.cells.dense().tolist()
    assert all(check(c, rows) is None for c in certificates)
    return certificates[0], rows


def test_a_wrong_answer_is_rejected():
    certificate, rows = proven()
    assert len(certificate.steps) > 1  # it took branching
    worse = tuple(max(t - 20, 0) for t in certificate.choice)
    beside = {
        j: replace(certificate, choice=(*certificate.choice[:j], t, *certificate.choice[j + 1 :]))
        for j, t in ((0, certificate.choice[0] + 3), (1, certificate.choice[1] - 3))
    }
    everybody = replace(certificate, choice=(0,) * len(certificate.choice))
    for wrong in (*beside.values(), replace(certificate, choice=worse), everybody):
        assert check(wrong, rows) in {"the answer breaks a limit", "the bounds do not prove that nothing is better"}
    assert "nothing is better" in check(everybody, rows)
    assert "no candidate" in check(replace(certificate, choice=certificate.choice[:-1]), rows)
    assert "no candidate" in check(replace(certificate, choice=(10_000, *certificate.choice[1:])), rows)
    assert check(replace(certificate, choice=None), rows) is not None


def test_a_wrong_proof_is_rejected():
    certificate, rows = proven()
    leaves = [i for i, step in enumerate(certificate.steps) if isinstance(step, Leaf)]
    cuts = [i for i, step in enumerate(certificate.steps) if isinstance(step, Cut)]

    def with_step(i, step):
        return replace(certificate, steps=(*certificate.steps[:i], step, *certificate.steps[i + 1 :]))

    at = leaves[0]
    leaf = certificate.steps[at]
    assert check(with_step(at, replace(leaf, multipliers=())), rows) is not None
    assert check(with_step(at, replace(leaf, weight=0, multipliers=())), rows) is not None
    turned = tuple((rate, a, kind, -value) for rate, a, kind, value in leaf.multipliers)
    assert "well formed" in check(with_step(at, replace(leaf, multipliers=turned)), rows)
    foreign = (("selection_rate", 0, 1, 0.5),)
    assert "belongs to no limit" in check(with_step(at, replace(leaf, multipliers=foreign)), rows)
    cut = certificate.steps[cuts[0]]
    assert check(with_step(cuts[0], replace(cut, low=cuts[0])), rows) is not None
    assert check(with_step(cuts[0], replace(cut, high=10_000)), rows) is not None
    only = replace(certificate, steps=(leaf,))
    assert check(only, rows) is not None
    # the proof of a loose question does not prove a tight one
    tight = replace(certificate, limits=(CRITERION["equalized_odds"].limit(0.0),))
    assert check(tight, rows) == "the answer breaks a limit"
    # nor does it hold for other rows
    other = [[[bins[::-1] for bins in segments] for segments in groups] for groups in rows]
    assert check(certificate, other) is not None


def test_a_proof_that_claims_more_is_rejected():
    """No answer at all, thresholds that fall, weights that do not add up."""
    certificate, rows = proven(monotone=True)
    assert certificate.order is not None
    assert "fall along" in check(replace(certificate, choice=(9, 5, 9, 9)), rows)
    _, _, _, _, sketch = random_sketch(7, segments=4)
    objective = Question.of(limits={"equalized_odds": 0.004})
    mixed = mix_by_segment(problem_of(sketch, objective))
    search, mix = mixed.best
    certificate = certificate_of_mix(search, mix)
    assert check(certificate, rows) is None
    (t, weight), *others = certificate.mixture[0]
    short = replace(certificate, mixture=(((t, weight / 2), *others), *certificate.mixture[1:]))
    assert "add up" in check(short, rows)
    plain = replace(certificate, mixture=(((0, 1.0),),) * len(certificate.mixture))
    assert "nothing is better" in check(plain, rows)


def test_a_proof_survives_json():
    """Multipliers are floats, which JSON carries exactly."""
    certificate, _ = proven()
    leaf = next(step for step in certificate.steps if isinstance(step, Leaf) and step.multipliers)
    assert json.loads(json.dumps(leaf.multipliers)) == [list(m) for m in leaf.multipliers]


def test_the_table_does_not_grow_with_groups_times_segments():
    """100 groups that are their own segments: a segment has the rows of its own group alone."""
    rng = np.random.default_rng(41)
    group, label = np.arange(30_000) % 100, rng.integers(0, 2, 30_000)
    sketch = gf.Sketch.from_rows(rng.normal(label + 0.01 * group), label, group)
    objective = Question.of(limits={"equalized_odds": 0.05})
    search = lay_out(problem_of(sketch, objective, Roles((0,), (0,))))
    table = [*vars(search.arrays).values(), *vars(search.cells).values(), search.candidate, search.last]
    assert sum(getattr(array, "nbytes", 0) for array in table) < 50e6
    assert len(search.arrays.values) <= 2 * len(search.arrays.cost)
