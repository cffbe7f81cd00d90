"""Laws of `solve`: what is promised holds on the rows, and the answer follows rows, scores, costs and limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.problems import ACCURACIES, CRITERIA

import gstar_fast as gf
from gstar_fast import datasets

# a few rows and limits of 0 make degenerate answers; test_degenerate.py is about their warning
pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")


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
    """Scores scaled by a power of two, or moved by whole bins with their range: thresholds follow exactly."""
    scaled = gf.Sketch.from_rows(table.scores * 0.25, table.labels, table.groups, bins=512)
    base = gf.solve(sketch, **question).thresholds
    assert gf.solve(scaled, **question).thresholds == {k: t * 0.25 for k, t in base.items()}
    rounded = np.floor(table.scores * 1024) / 1024  # so that moving a score is exact
    there, moved = (
        gf.Sketch.from_rows(rounded + by, table.labels, table.groups, bins=512, range=(by - 16, by + 16))
        for by in (0.0, 4.0)
    )
    base = gf.solve(there, **question).thresholds
    assert gf.solve(moved, **question).thresholds == {k: t + 4.0 for k, t in base.items()}


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
    one, two = gf.solve(sketch, objective={"fp": 0.3, "fn": 0.7}), gf.solve(sketch, objective={"fp": 3, "fn": 7})
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
    """Negative rows of weight ten leave balanced thresholds where they were."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 600)
    scores, groups = rng.normal(labels, 1.0), rng.integers(0, 2, 600)
    weights = np.where(labels == 0, 10, 1)
    plain = gf.Sketch.from_rows(scores, labels, groups)
    skewed = gf.Sketch.from_rows(scores, labels, groups, weights=weights)
    limits = {"equalized_odds": 0.05}
    assert (
        gf.solve(plain, limits=limits, objective="balanced_error").thresholds
        == gf.solve(skewed, limits=limits, objective="balanced_error").thresholds
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
    assert (one.n_rows, two.n_rows) == (weights.sum(), 400)


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
