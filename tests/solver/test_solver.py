"""`solve` finds the optimum of docs/reference/problem.md: against brute force, then its laws, edges and words."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers import brute_force
from helpers.problems import ACCURACIES, CRITERIA, arrays_of, linear_program, random_question, random_rows, sketch_of

import gstar_fast as gf
from gstar_fast import datasets
from gstar_fast._backends import interface, room
from gstar_fast._backends.common.choices import allowed, loss_of
from gstar_fast._solver import search, smooth

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
            result = gf.solve(sketch, limits=limits, penalties=penalties, costs=prices)
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
        assert result.unified


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


# ------------------------------------------------------------------------------------------------------------ laws


@pytest.fixture(scope="module")
def table():
    return datasets.paper_synthetic(rows=8_000, seed=3)


@pytest.fixture
def sketch(table):
    return gf.Sketch.from_rows(table.scores, table.labels, table.groups, bins=512)


QUESTIONS = [
    {"limits": {"equalized_odds": 0.02}},
    {"limits": {"demographic_parity": 0.05, "accuracy_parity": 0.1}},
    {"penalties": {"equal_opportunity": 1.0}},
    {"limits": {"disparate_impact": 0.9}, "penalties": {"equalized_odds": 100.0}},
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_promised_rates_are_those_of_the_rows(backend, sketch, table, question):
    """The confusion matrix read from the sketch at the thresholds is the one of the rows."""
    result = gf.solve(sketch, **question)
    accepted = np.array([s >= result.thresholds[g] for s, g in zip(table.scores, table.groups.tolist(), strict=True)])
    assert result.error == np.mean(accepted != table.labels)
    for name, rates in result.rates.items():
        mine = table.groups == name
        assert rates.tpr == accepted[mine & (table.labels == 1)].mean()
        assert rates.fpr == accepted[mine & (table.labels == 0)].mean()
        assert rates.selection_rate == accepted[mine].mean()


@pytest.mark.parametrize("question", QUESTIONS)
def test_order_of_groups_and_rows_does_not_matter(backend, sketch, table, question):
    order = np.random.default_rng(0).permutation(len(table.scores))
    other = gf.Sketch(bins=512, groups=[1, 0])
    other.update(table.scores[order], table.labels[order], table.groups[order])
    assert gf.solve(other, **question).thresholds == gf.solve(sketch, **question).thresholds


@pytest.mark.parametrize("question", QUESTIONS)
def test_renamed_groups_keep_their_thresholds(backend, sketch, table, question):
    swapped = gf.Sketch.from_rows(table.scores, table.labels, 1 - table.groups, bins=512)
    one, two = gf.solve(sketch, **question).thresholds, gf.solve(swapped, **question).thresholds
    assert one == {0: two[1], 1: two[0]}


@pytest.mark.parametrize("question", QUESTIONS)
def test_thresholds_follow_shift_and_scale(backend, sketch, table, question):
    """Scores moved by whole bins or scaled by a power of two: thresholds follow exactly."""
    width = sketch.edges[1] - sketch.edges[0]
    rounded = np.floor(table.scores / width) * width  # so that moving a score is exact
    base = gf.solve(gf.Sketch.from_rows(rounded, table.labels, table.groups, bins=512), **question)
    moved = gf.Sketch.from_rows(rounded + 64 * width, table.labels, table.groups, bins=512)
    scaled = gf.Sketch.from_rows(rounded * 0.25, table.labels, table.groups, bins=512)
    assert gf.solve(moved, **question).thresholds == {k: t + 64 * width for k, t in base.thresholds.items()}
    assert gf.solve(scaled, **question).thresholds == {k: t * 0.25 for k, t in base.thresholds.items()}


@pytest.mark.parametrize("criterion", [*CRITERIA, *ACCURACIES])
def test_looser_limits_never_raise_the_error(backend, sketch, criterion):
    errors = [gf.solve(sketch, limits={criterion: limit}).error for limit in (0.02, 0.05, 0.1, 0.2, 1.0)]
    assert errors == sorted(errors, reverse=True)


def test_heavier_penalties_never_widen_the_gap(backend, sketch):
    weights = 10.0 ** np.arange(-2, 8)
    gaps = [gf.solve(sketch, penalties={"equal_opportunity": w}).gaps["equal_opportunity"] for w in weights]
    assert gaps == sorted(gaps, reverse=True)


def test_penalty_of_zero_is_no_penalty(backend, sketch):
    assert gf.solve(sketch, penalties={"equalized_odds": 0.0}).thresholds == gf.solve(sketch).thresholds


def test_costs_are_read_as_written(backend, sketch):
    """(0.3, 0.7) is (3, 7) tenths: the same optimum, and E a tenth."""
    one, two = gf.solve(sketch, costs=(0.3, 0.7)), gf.solve(sketch, costs=(3, 7))
    assert one.thresholds == two.thresholds
    assert one.loss == pytest.approx(two.loss / 100)
    expected = (0.3 * _false(sketch, one, 0) + 0.7 * _false(sketch, one, 1)) / sketch.n_rows
    assert math.sqrt(one.loss) == pytest.approx(expected)


def _false(sketch, result, label):
    """False positives (0) or negatives (1), from the rates and the counts."""
    out = 0.0
    for k, name in enumerate(sketch.groups):
        rows = sketch.counts[label, k].sum()
        out += rows * (result.rates[name].fpr if label == 0 else 1 - result.rates[name].tpr)
    return out


def test_balanced_error_weighs_classes_alike(backend):
    """Repeating all negative rows ten times leaves balanced thresholds where they were."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 600)
    scores, groups = rng.normal(labels, 1.0), rng.integers(0, 2, 600)
    weights = np.where(labels == 0, 10, 1)
    plain = gf.Sketch.from_rows(scores, labels, groups, bins=64)
    skewed = gf.Sketch.from_rows(scores, labels, groups, bins=64, weights=weights)
    limits = {"equalized_odds": 0.05}
    assert (
        gf.solve(plain, limits=limits, balanced=True).thresholds
        == gf.solve(skewed, limits=limits, balanced=True).thresholds
    )
    assert gf.solve(plain, limits=limits).thresholds != gf.solve(skewed, limits=limits).thresholds


def test_weighted_sketch_equals_repeated_rows(backend):
    rng = np.random.default_rng(2)
    labels, groups = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    scores, weights = rng.normal(labels, 1.0), rng.integers(1, 5, 400)
    repeated = gf.Sketch.from_rows(*(np.repeat(x, weights) for x in (scores, labels, groups)), bins=64)
    halves = gf.Sketch.from_rows(scores, labels, groups, bins=64, weights=weights / 4)
    one, two = (gf.solve(s, limits={"equalized_odds": 0.05}) for s in (repeated, halves))
    assert halves.weighted
    assert one.thresholds == two.thresholds
    assert two.error == pytest.approx(one.error, abs=1e-12)
    assert two.n_rows == pytest.approx(one.n_rows / 4)


# ----------------------------------------------------------------------------------------------------------- edges


def test_accepting_everybody_is_found_and_said(backend):
    """When only the corners of two ROC curves meet, a limit of 0 accepts or rejects everybody, in plain words."""
    sketch = gf.Sketch.from_rows([1, 2, 3, 4, 1, 2, 3, 4, 5], [0, 1, 0, 1, 1, 0, 1, 0, 1], list("aaaabbbbb"), bins=16)
    result = gf.solve(sketch, limits={"equalized_odds": 0.0})
    assert result.gaps["equalized_odds"] == 0
    assert "everybody" in str(result)


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


def test_one_group_has_no_gaps(backend):
    sketch = gf.Sketch.from_rows([1.0, 2.0, 3.0], [0, 1, 1], ["a", "a", "a"], bins=16)
    result = gf.solve(sketch)
    assert result.error == 0
    assert set(result.gaps.values()) == {0.0, 1.0}


@pytest.mark.parametrize(
    "asked",
    [
        {"limits": {"equalized_odds": 0.0}},
        {"limits": {"demographic_parity": 0.1}, "randomize": True},
        {"limits": {"disparate_impact": 0.8}, "unified": True},
        {"penalties": {"equal_opportunity": 5.0}},
        {"penalties": {"equal_opportunity": 5.0}, "density": "kde"},
    ],
)
def test_one_group_cannot_be_compared(backend, asked):
    """As in the estimator: a column of groups that was forgotten must not pass for gaps of 0."""
    rng = np.random.default_rng(0)
    sketch = gf.Sketch.from_rows(rng.normal(size=50), rng.integers(0, 2, 50), ["everybody"] * 50)
    words = r"limits and penalties compare groups, but there is only one, 'everybody'; \w+ needs two groups"
    with pytest.raises(ValueError, match=words):
        gf.solve(sketch, **asked)
    with pytest.raises(ValueError, match=words):
        gf.frontier(sketch, "equalized_odds")


def test_predictive_parity_is_not_taken_for_predictive_equality(backend):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2], [0, 1, 0, 1], list("aabb"), bins=16)
    for ask in (
        lambda: gf.solve(sketch, limits={"predictive_parity": 0.02}),
        lambda: gf.solve(sketch, penalties={"predictive_parity": 1.0}),
        lambda: gf.frontier(sketch, "predictive_parity"),
    ):
        with pytest.raises(ValueError, match=r"equal ppv\) is not offered.*audit reports it.*equalized_odds") as error:
            ask()
        assert "did you mean" not in str(error.value)


@pytest.mark.parametrize("name", ["predictive_value_parity", "Predictive-Parity", "predictive_partiy", "ppv_parity"])
def test_other_words_for_predictive_parity_are_understood(name):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2], [0, 1, 0, 1], list("aabb"), bins=16)
    with pytest.raises(ValueError, match=r"equal ppv\) is not offered") as error:
        gf.solve(sketch, limits={name: 0.02})
    assert "did you mean" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("statistical_parity", "demographic_parity"),
        ("true_positive_rate_parity", "equal_opportunity"),
        ("false_positive_rate_parity", "predictive_equality"),
        ("predictive_equalty", "predictive_equality"),
        ("equalised_odds", "equalized_odds"),
    ],
)
def test_names_of_other_libraries_and_slips_get_the_right_hint(name, meant):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2], [0, 1, 0, 1], list("aabb"), bins=16)
    with pytest.raises(ValueError, match=f"; did you mean '{meant}'\\?$"):
        gf.solve(sketch, limits={name: 0.02})


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (
            0.02,
            r"0.02 lets one group be accepted 50 times as often as another; did you mean 0.98, 0.8 \(the four-fifths",
        ),
        (0.2, r"5 times as often as another; did you mean 0.8 \(the four-fifths rule\), or limits=\{'demographic"),
        (0.0, r"accepted and another not at all; did you mean 1, "),
    ],
)
def test_a_disparate_impact_limit_that_looks_like_a_gap_warns(backend, ratio, words):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2], [0, 1, 0, 1], list("aabb"), bins=16)
    with pytest.warns(UserWarning, match=words):
        assert gf.solve(sketch, limits={"disparate_impact": ratio}).verdict == "optimal"
    with pytest.warns(UserWarning, match=words):
        gf.frontier(sketch, "equal_opportunity", limits={"disparate_impact": ratio})


def test_ratios_that_are_asked_for_are_not_questioned(backend):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2], [0, 1, 0, 1], list("aabb"), bins=16)
    for ratio in (0.25, 0.5, 0.8, 1.0):
        gf.solve(sketch, limits={"disparate_impact": ratio})


def test_group_without_a_class_is_left_out_with_a_warning(backend):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2, 1, 2], [0, 1, 0, 1, 0, 0], list("aabbcc"), bins=16)
    with pytest.warns(gf.errors.MissingClassWarning, match="having no positive labels: 'c'"):
        result = gf.solve(sketch, limits={"equal_opportunity": 0.0})
    assert "left out of the tpr gap" in str(result)
    assert result.rates["c"].tpr is None


def test_too_few_groups_for_a_criterion_raises(backend):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2], [0, 1, 0, 0], list("aabb"), bins=16)
    with pytest.raises(ValueError, match=r"group 'b' has no positive labels.*equal_opportunity needs two groups"):
        gf.solve(sketch, limits={"equal_opportunity": 0.1})


def test_infeasible_says_how_far(backend):
    """Two groups with perfectly separated accuracies: no thresholds make them equal."""
    sketch = gf.Sketch.from_rows([1] * 4 + [1] * 4, [1, 1, 1, 0, 1, 0, 0, 1], list("aaaabbbb"), bins=16)
    result = gf.solve(sketch, limits={"accuracy_parity": 0.1})
    assert result.verdict == "infeasible"
    assert "0.15" in result.message
    assert set(result.thresholds.values()) == {result.default_threshold}


def three_uneven_groups():
    """Accuracies that no pair of edges brings together easily."""
    rng = np.random.default_rng(2)
    groups = rng.integers(0, 3, 900)
    labels = rng.integers(0, 2, 900)
    scores = rng.normal(labels * np.array([0.2, 1.0, 3.0])[groups], 1.0)
    return gf.Sketch.from_rows(scores, labels, groups, bins=256)


@pytest.mark.parametrize("density", ["empirical", "normal"])
def test_a_search_cut_short_proves_nothing(backend, monkeypatch, density):
    """Out of boxes without a choice is not `infeasible`."""
    sketch = three_uneven_groups()
    limits, penalties = {"accuracy_parity": 0.0005}, {"equal_opportunity": 1.0}
    assert gf.solve(sketch, limits={"accuracy_parity": 0.01}, penalties=penalties).verdict == "optimal"
    for module in (search, smooth):
        monkeypatch.setattr(module, "BOX_LIMIT", 1)
    monkeypatch.setattr(interface, "NODE_LIMIT", 1)
    monkeypatch.setattr(search, "BOXES", 50)
    result = gf.solve(sketch, limits=limits, penalties=penalties, density=density)
    assert result.verdict == "not_converged"
    assert "does not prove that there are none" in result.message
    assert result.lower_bound == 0


def test_a_search_cut_short_accepts_everybody_where_that_is_allowed(backend, monkeypatch):
    monkeypatch.setattr(search, "BOX_LIMIT", 1)
    monkeypatch.setattr(interface, "NODE_LIMIT", 1)
    result = gf.solve(three_uneven_groups(), limits={"equalized_odds": 0.001}, penalties={"demographic_parity": 1.0})
    assert result.verdict == "not_converged"
    assert result.gaps["equalized_odds"] <= 0.001
    assert result.lower_bound <= result.loss


def hundred_groups(rows, bins=256):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 100, rows)
    shift, apart, base = rng.normal(0, 0.5, 100), rng.uniform(1.2, 2.5, 100), rng.uniform(0.2, 0.6, 100)
    labels = (rng.random(rows) < base[groups]).astype(np.uint8)
    scores = rng.normal(shift[groups] + apart[groups] * (labels - 0.5))
    return gf.Sketch.from_rows(scores, labels, groups, bins=bins)


@pytest.mark.parametrize("penalty", [0.1, 1.0, 10.0])
def test_penalties_of_a_hundred_groups_are_proven(fast_backend, penalty):
    """Targets and tangents prove it in hundreds of nodes, where the first bound left a gap after twenty thousand."""
    result = gf.solve(hundred_groups(4_000), penalties={"equalized_odds": penalty})
    assert result.verdict == "optimal"
    assert result.iterations < 2_000


def test_a_search_ends_after_a_number_of_nodes(backend, monkeypatch):
    """Fewer for more groups; the answer is then the best found, with its bound, the same on every backend."""
    assert [interface.node_limit(n) for n in (3, 50, 100, 1000)] == [20_000, 20_000, 10_000, 1_000]
    monkeypatch.setattr(interface, "NODE_LIMIT", 200)
    sketch = hundred_groups(4_000)
    result = gf.solve(sketch, penalties={"equalized_odds": 1.0})
    assert result.verdict == "not_converged"
    assert result.iterations == 100
    assert 0 < result.lower_bound < result.loss < gf.solve(sketch).loss + 0.1
    assert result.optimality_gap < 0.05 * result.loss
    assert "the search was ended after 100 boxes" in result.message
    with gf.use_backend("numpy"):
        again = gf.solve(sketch, penalties={"equalized_odds": 1.0})
    assert (again.thresholds, again.loss, again.lower_bound) == (result.thresholds, result.loss, result.lower_bound)


def test_nodes_with_many_candidates_count_as_several(backend, monkeypatch):
    """So that the limit bounds the work, which grows with the candidates and the rates of a node."""
    monkeypatch.setattr(interface, "NODE_LIMIT", 200)
    sketch = hundred_groups(60_000, bins=1024)
    asked = {"equalized_odds": 10.0, "demographic_parity": 3.0, "accuracy_parity": 5.0}
    result = gf.solve(sketch, penalties=asked)
    assert result.verdict == "not_converged"
    assert 5 < result.iterations < 50
    assert 0 < result.lower_bound < result.loss
    with gf.use_backend("numpy"):
        again = gf.solve(sketch, penalties=asked)
    assert (again.thresholds, again.lower_bound) == (result.thresholds, result.lower_bound)
    assert again.iterations == result.iterations


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


def test_max_seconds_ends_a_search(backend):
    sketch = hundred_groups(4_000)
    for asked in ({"penalties": {"equalized_odds": 1.0}}, {"limits": {"equalized_odds": 0.01}}):
        result = gf.solve(sketch, **asked, max_seconds=1e-9)
        assert result.verdict == "not_converged"
        assert result.meets_limits
        assert result.lower_bound <= result.loss
    patient = gf.solve(sketch, penalties={"demographic_parity": 0.1}, max_seconds=1e6)
    assert patient.thresholds == gf.solve(sketch, penalties={"demographic_parity": 0.1}).thresholds


def test_groups_far_beyond_two(backend):
    rng = np.random.default_rng(8)
    labels, groups = rng.integers(0, 2, 3000), rng.integers(0, 30, 3000)
    scores = rng.normal(labels * 1.5 + 0.1 * groups, 1.0)
    sketch = gf.Sketch.from_rows(scores, labels, groups, bins=64)
    result = gf.solve(sketch, limits={"demographic_parity": 0.1})
    assert result.verdict == "optimal"
    assert result.gaps["demographic_parity"] <= 0.1 + 1e-12


def test_tuple_and_mixed_names(backend):
    names = [("f", 1), ("f", 2), 7, "x"]
    sketch = gf.Sketch(bins=16)
    for name in names:
        sketch.update([1.0, 2.0, 3.0], [0, 1, 1], [name] * 3)
    assert gf.solve(sketch, limits={"equalized_odds": 0}).groups == (7, "x", ("f", 1), ("f", 2))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"limits": {"equalised_odds": 0.1}}, "did you mean 'equalized_odds'"),
        ({"limits": {"equalized_odds": -0.1}}, r"limits\['equalized_odds'\] is a largest gap and must be from 0 to 1"),
        ({"limits": {"equalized_odds": math.nan}}, "got nan"),
        ({"limits": {"disparate_impact": 1.2}}, "is a least ratio and must be from 0 to 1"),
        ({"penalties": {"disparate_impact": 1}}, "is a ratio and cannot be a penalty"),
        ({"penalties": {"equalized_odds": -1}}, "must be finite and not negative"),
        ({"penalties": {"equalized_odds": math.inf}}, "must be finite"),
        ({"costs": (1,)}, "two numbers"),
        ({"costs": (0, 0)}, "not both 0"),
        ({"costs": (-1, 1)}, "not negative"),
        ({"costs": 3}, "two numbers"),
        ({"method": "magic"}, "method must be one of exact, alternating"),
        ({"method": "alternating", "penalties": {"equalized_odds": 1}}, "needs a smooth density"),
        ({"randomize": True, "penalties": {"equalized_odds": 1}}, "works with limits"),
        ({"max_seconds": 0}, "max_seconds must be above 0; got 0; leave it out for no limit"),
        ({"max_seconds": float("nan")}, "max_seconds must be above 0"),
        ({"max_seconds": 1, "unified": True}, "max_seconds ends the search for one threshold a group"),
    ],
)
def test_wrong_options_say_what_to_write(options, words):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2], [0, 1, 0, 1], list("aabb"), bins=16)
    with pytest.raises(ValueError, match=words):
        gf.solve(sketch, **options)


@pytest.mark.parametrize("limits", [[("equalized_odds", 0.1)], {"equalized_odds": "low"}, {"equalized_odds": True}])
def test_wrong_types_are_refused_with_the_right_one(limits):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2], [0, 1, 0, 1], list("aabb"), bins=16)
    with pytest.raises(TypeError, match="limits"):
        gf.solve(sketch, limits=limits)


@pytest.mark.parametrize("given", ["1", True, [1]])
def test_max_seconds_is_a_number(given):
    sketch = gf.Sketch.from_rows([1, 2, 1, 2], [0, 1, 0, 1], list("aabb"), bins=16)
    with pytest.raises(TypeError, match="max_seconds must be a number of seconds or None"):
        gf.solve(sketch, max_seconds=given)


def test_empty_and_unlabelled_sketches_say_so():
    with pytest.raises(ValueError, match="the sketch has no rows"):
        gf.solve(gf.Sketch())
    sketch = gf.Sketch()
    sketch.update([1.0, 2.0], None, ["a", "b"])
    with pytest.raises(ValueError, match="no labelled rows"):
        gf.solve(sketch, limits={"demographic_parity": 0.1})
    with pytest.raises(ValueError, match="balanced=True needs rows of both classes; the sketch has no negative"):
        gf.solve(gf.Sketch.from_rows([1, 2], [1, 1], ["a", "b"]), balanced=True)


# -------------------------------------------------------------------------------------------------------- mixtures


def test_mixtures_meet_the_limits_and_beat_single_thresholds(backend, sketch):
    questions = [
        {"equalized_odds": 0.0},
        {"equalized_odds": 0.02},
        {"demographic_parity": 0.01, "disparate_impact": 0.99},
    ]
    for limits in questions:
        mixed, single = gf.solve(sketch, limits=limits, randomize=True), gf.solve(sketch, limits=limits)
        assert mixed.error <= single.error + 1e-12
        for name, limit in limits.items():
            gap = mixed.gaps[name]
            assert gap >= limit - 1e-12 if name == "disparate_impact" else gap <= limit + 1e-12
        for mixture in mixed.mixtures.values():
            assert math.fsum(p for _, p in mixture) == pytest.approx(1, abs=1e-12)
            assert 1 <= len(mixture) <= 3


def test_mixtures_equal_scipys_linear_program(backend):
    rng = np.random.default_rng(4)
    from gstar_fast._solver.mixture import mix, mixed

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
