"""Promises, certificates and audits of rows with weights count effective rows."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.notes import texts
from scipy import stats

import gstar_fast as gf
from gstar_fast._promise.chance import Known
from gstar_fast._question.question import Question
from gstar_fast._solver.cells import Cells
from gstar_fast._solver.search import prepare

ODDS = {"equalized_odds": 0.12}
THRESHOLDS = {"a": 0.25, "b": 0.75, "c": 0.5}
SIZES = {"a": 900, "b": 700, "c": 500}
AXIS = {"bins": 128, "range": (-8, 8)}


def drawn(seed=1):
    """Scores, labels and groups; one row in twenty has no label."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(list(SIZES), list(SIZES.values()))
    labels = rng.integers(0, 2, len(groups))
    scores = np.round(rng.normal(labels * 1.5, 1.0), 3)
    known = [None if i % 20 == 7 else int(y) for i, y in enumerate(labels)]
    return scores, known, groups


def counted(weights=None, seed=1, **more):
    scores, labels, groups = drawn(seed)
    return gf.Sketch.from_rows(scores, labels, groups, weights=weights, **more, **AXIS)


def numbers_of(found):
    """Every number of an audit, in one order."""
    estimates = [*found.gaps.values(), *found.overall.values()]
    estimates += [one for at in found.rates.values() for one in at.values()]
    estimates += list((found.thresholds or {}).values())
    return [(one.value, one.low, one.high) for one in estimates]


def everything(sketch):
    """All numbers that the library gives for one sketch."""
    promised = gf.solve(sketch, limits=ODDS, confidence=0.8)
    needed = gf.rows_needed(sketch, limits={"equalized_odds": 0.05})
    certificate = gf.certify(THRESHOLDS, sketch, limits=ODDS)
    result = gf.solve(sketch, limits=ODDS)
    audit = gf.audit(result, sketch, replicates=200, threshold_replicates=100)
    return {
        "promise": (promised.verdict, promised.promise.chance, promised.promise.upper, promised.thresholds),
        "rows": (promised.n_rows, {name: at.rows for name, at in promised.rates.items()}, audit.n_rows),
        "needed": (needed.times, needed.rows, needed.by_group),
        "certificate": (certificate.upper, certificate.gaps, certificate.n_rows),
        "audit": numbers_of(gf.audit(THRESHOLDS, sketch, replicates=200)),
        "again": (numbers_of(audit), audit.new_rows),
        "pooled": sketch.pooled(min_rows=600).pooled_groups,
    }


# ---------------------------------------------------------------------------------------------------------------- laws


@pytest.mark.parametrize("weight", [10, 0.5, 240])
def test_one_weight_for_all_rows_changes_nothing_but_the_weight(backend, weight):
    plain, heavy = counted(), counted(np.full(2100, weight))
    assert (heavy.n_rows, heavy.weight) == (2100, 2100 * weight)
    assert everything(heavy) == everything(plain)


@pytest.mark.slow
def test_scaling_all_weights_changes_nothing(backend):
    weights = np.ceil(np.random.default_rng(3).lognormal(0, 1, 2100) * 64) / 64
    one, two = everything(counted(weights)), everything(counted(weights * 2.0**9))
    assert one == two
    thrice = everything(counted(weights * 3))
    assert thrice["promise"][0] == one["promise"][0]
    assert np.array(thrice["audit"], float) == pytest.approx(np.array(one["audit"], float), rel=1e-9, nan_ok=True)
    assert thrice["certificate"][0] == pytest.approx(one["certificate"][0], rel=1e-9)


def test_repeats_are_rows_everywhere(backend):
    repeats = np.random.default_rng(4).integers(0, 4, 2100)
    scores, labels, groups = drawn()
    rows = np.repeat(np.arange(2100), repeats)
    often, written = counted(repeats=repeats), gf.Sketch(**AXIS)
    written.update(scores[rows], [labels[i] for i in rows], groups[rows])
    assert often.to_bytes() == written.to_bytes()
    assert everything(often) == everything(written)
    decisions, known = scores > 0.5, [labels[i] for i in rows]
    one = gf.audit(decisions=decisions, labels=labels, groups=groups, repeats=repeats)
    assert one == gf.audit(decisions=decisions[rows], labels=known, groups=groups[rows])
    weights = 1.0 + np.arange(2100) % 3
    both = gf.audit(decisions=decisions, labels=labels, groups=groups, weights=weights, repeats=repeats)
    assert both == gf.audit(decisions=decisions[rows], labels=known, groups=groups[rows], weights=weights[rows])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:3 segments are more:gstar_fast.errors.OverfitWarning")
def test_thresholds_by_segment_take_weights_alike(backend):
    scores, labels, groups = drawn()
    segments = np.arange(2100) % 3
    roles = {"fair_between": 0, "decide_by": 1}

    def found(weights):
        sketch = gf.Sketch.from_rows(scores, labels, [groups, segments], weights=weights, **AXIS)
        plain = gf.solve(sketch, limits=ODDS, **roles)
        promised = gf.solve(sketch, limits={"equalized_odds": 0.3}, confidence=0.9, **roles)
        audit = gf.audit(plain, sketch, replicates=100, threshold_replicates=100)
        certificate = gf.certify(plain, sketch)
        told = promised.verdict, promised.promise.chance, promised.thresholds
        return told, plain.thresholds, numbers_of(audit), audit.new_rows, certificate.upper, plain.n_rows

    expected = found(None)
    assert found(np.full(2100, 10)) == expected
    uneven = found(np.random.default_rng(5).lognormal(0, 1, 2100))
    assert uneven[4]["equalized_odds"] > expected[4]["equalized_odds"]


# ------------------------------------------------------------------------------------------------------- effective rows


def by_hand(hit, weights):
    """A rate and its effective rows: by its variance, at most Kish's number."""
    p = weights[hit].sum() / weights.sum()
    variance = ((1 - p) ** 2 * (weights[hit] ** 2).sum() + p**2 * (weights[~hit] ** 2).sum()) / weights.sum() ** 2
    return p, min(p * (1 - p) / variance, weights.sum() ** 2 / (weights**2).sum())


def wilson(p, n, z):
    middle, reach = (
        (p + z * z / 2 / n) / (1 + z * z / n),
        z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / 4 / n**2),
    )
    return middle - reach, middle + reach


def weights_of(kind, scores):
    rng = np.random.default_rng(6)
    lognormal = np.ceil(rng.lognormal(0, 1, len(scores)) * 2**10) / 2**10
    return {
        "whole": np.round(rng.lognormal(5, 1, len(scores))),
        "lognormal": lognormal,
        "heavier accepted": lognormal * np.where(scores >= 0.5, 16, 1),
        "lighter accepted": lognormal * np.where(scores >= 0.5, 1, 16),
    }[kind]


@pytest.mark.parametrize("kind", ["whole", "lognormal", "heavier accepted", "lighter accepted"])
def test_intervals_are_those_of_effective_rows(backend, kind):
    scores, labels, groups = drawn()
    weights = weights_of(kind, scores)
    found = gf.audit(THRESHOLDS, counted(weights))
    z = stats.norm.ppf(0.975)
    label = np.array([-1 if y is None else y for y in labels])
    for name, threshold in THRESHOLDS.items():
        mine, accepted = groups == name, scores >= threshold
        shares = {
            "tpr": (mine & (label == 1), accepted),
            "fpr": (mine & (label == 0), accepted),
            "selection_rate": (mine, accepted),
            "accuracy": (mine & (label >= 0), accepted == (label == 1)),
            "ppv": (mine & (label >= 0) & accepted, label == 1),
            "base_rate": (mine & (label >= 0), label == 1),
        }
        for rate, (rows, hit) in shares.items():
            p, n = by_hand(hit[rows], weights[rows])
            estimate = found.rates[name][rate]
            assert estimate.value == pytest.approx(p, rel=1e-12)
            assert (estimate.low, estimate.high) == pytest.approx(wilson(p, n, z), rel=1e-9)


@pytest.mark.parametrize("kind", ["whole", "heavier accepted"])
def test_certificates_are_those_of_effective_rows(backend, kind):
    scores, labels, groups = drawn()
    weights = weights_of(kind, scores)
    sketch = counted(weights)
    found = gf.certify(THRESHOLDS, sketch, limits={"equal_opportunity": 0.5})
    ends = []
    for name, threshold in THRESHOLDS.items():
        rows = (groups == name) & (np.array([y == 1 for y in labels]))
        p, n = by_hand(scores[rows] >= threshold, weights[rows])
        low, high = stats.beta.ppf(0.05, p * n, n - p * n + 1), stats.beta.ppf(0.95, p * n + 1, n - p * n)
        ends.append((p, p - low, high - p))
    worst = max(a[0] - b[0] + np.hypot(a[2], b[1]) for a in ends for b in ends if a is not b)
    assert found.upper["equal_opportunity"] == pytest.approx(worst, rel=1e-9)
    assert found.n_rows == 2100
    (note,) = [note for note in texts(found) if "weight" in note]
    assert f"{weights.sum() ** 2 / (weights**2).sum():.4g} rows of weight 1" in note
    with pytest.raises(ValueError, match=r"exact=True needs whole rows, and rows have weights; leave it out"):
        gf.certify(THRESHOLDS, sketch, limits=ODDS, exact=True)


@pytest.mark.parametrize("kind", ["whole", "heavier accepted", "lighter accepted"])
def test_promises_rest_on_the_effective_rows_of_each_threshold(backend, kind):
    scores, labels, groups = drawn()
    weights = weights_of(kind, scores)
    known = Known.of(prepare(Cells.of(counted(weights)), Question.of(limits=ODDS)))
    entries = known.search.thresholds(np.arange(len(known.search.table.candidate)))
    label = np.array([-1 if y is None else y for y in labels])
    for at in range(0, len(entries), 7):
        mine, accepted = groups == known.names[known.groups[at]], scores >= entries[at]
        rows = (mine & (label == 1), mine & (label == 0), mine, mine & (label >= 0))
        hits = (accepted, accepted, accepted, accepted == (label == 1))
        for r in range(4):
            p = weights[rows[r] & hits[r]].sum() / weights[rows[r]].sum()
            if 0 < p < 1:
                assert known.n_at[r, at] == pytest.approx(by_hand(hits[r][rows[r]], weights[rows[r]])[1], rel=1e-8)


def test_an_unpromised_result_counts_rows_and_names_effective_ones(backend):
    sketch = counted(weights_of("whole", drawn()[0]))
    result = gf.solve(sketch, limits={"equalized_odds": 0.02}, confidence=0.95)
    assert result.verdict == "unpromised"
    assert "effective" in result.message
    assert result.n_rows == 2100
    assert result.promise.rows_needed.times is None or result.promise.rows_needed.rows > 2100
    assert any(note.startswith(f"rows have a total weight of {sketch.weight:.10g}") for note in texts(result))
    result.check(sketch)


def test_an_audit_of_unmixed_groups_allows_for_the_chance_of_unmixing(backend):
    rng = np.random.default_rng(7)
    group, labels = rng.integers(0, 2, 4000), rng.integers(0, 2, 4000)
    scores = rng.normal(labels, 1.0)
    sure = np.where(group[:, None] == [0, 1], 0.8, 0.2)
    proxy = gf.ProxySketch(["a", "b"], bins=256).update(scores, labels, sure)
    rate = gf.audit(0.5, proxy.unmixed()).rates["a"]["tpr"]
    effective = proxy.effective_rows[1, "a"]
    low, high = wilson(rate.value, effective, stats.norm.ppf(0.975))
    assert (rate.low, rate.high) == pytest.approx((low, high), abs=2e-3)
