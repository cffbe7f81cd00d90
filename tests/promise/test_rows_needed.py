"""Planning, and the curve of promised limits."""

from __future__ import annotations

import numpy as np
import pytest

import gstar_fast as gf
from tests.helpers.promise_rows import normal_sketch

ODDS = {"equalized_odds": 0.06}


@pytest.mark.slow
def test_promises_come_at_the_number_named_and_hardly_at_half_of_it():
    """On pilots of 1,000 rows; the goals are four of five, and at most three of five."""
    at, half = [], []
    for seed in range(6):
        needed = gf.rows_needed(normal_sketch(1_000, seed), limits=ODDS)
        assert needed.times > 1
        assert needed.rows == pytest.approx(1_000 * needed.times)
        for share, found in ((1.0, at), (0.4, half)):
            for again in range(3):
                fresh = normal_sketch(int(needed.rows * share), 100 + 10 * seed + again)
                found.append(gf.solve(fresh, limits=ODDS, confidence=0.95).verdict == "promised")
    assert np.mean(at) >= 0.7
    assert np.mean(half) < np.mean(at)


def test_more_rows_need_fewer_times():
    times = [gf.rows_needed(normal_sketch(rows, 1), limits=ODDS).times for rows in (500, 2000, 200_000)]
    assert times[0] > 1 > times[2]
    assert times[0] > times[1] > times[2]


def test_small_group_is_named(backend):
    needed = gf.rows_needed(normal_sketch(20_000, 2, shares=(0.99, 0.01)), limits=ODDS)
    assert needed.too_small == (1,)
    assert needed.times > 2
    assert needed.by_group[0] is None
    assert needed.by_group[1] is not None
    text = str(needed)
    assert "times the rows" in text
    assert "too small for these limits" in text
    enough = gf.rows_needed(normal_sketch(200_000, 2), limits=ODDS)
    assert enough.too_small == ()
    assert str(enough).startswith("the rows are enough")


def test_planning_without_limits_is_refused():
    with pytest.raises(ValueError, match=r"confidence=0.95 needs limits too"):
        gf.rows_needed(normal_sketch(500, 1), limits={})


@pytest.mark.parametrize("randomize", [False, True])
def test_curve_of_promised_limits(randomize):
    sketch = normal_sketch(8_000, 3)
    curve = gf.frontier(sketch, "equalized_odds", confidence=0.9, randomize=randomize)
    plain = gf.frontier(sketch, "equalized_odds", randomize=randomize)
    assert len(curve) > 3
    assert curve.confidence == 0.9
    assert plain.confidence is None
    assert (np.diff(curve.gaps) > 0).all()
    assert (np.diff(curve.errors) < 0).all()
    for gap, error in zip(curve.gaps, curve.errors, strict=True):
        assert error >= plain.at(gap=gap).error - 1e-9
    point = curve.result(1)
    assert point.verdict == "promised"
    assert point.limits == {"equalized_odds": curve.gaps[1]}
    assert point.promise.chance <= 0.1
    assert point.gaps["equalized_odds"] < curve.gaps[1]
    assert gf.Result.from_json(point.to_json()) == point
    assert "promised (0.9 confidence)" in str(curve)


def test_curve_takes_no_penalties():
    with pytest.raises(ValueError, match=r"confidence=0.9 does not go with penalties: only limits can be promised"):
        gf.frontier(normal_sketch(500, 1), "equalized_odds", by="penalties", confidence=0.9)


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.OverfitWarning")
def test_cut_points_ask_for_monotone_thresholds_as_in_solve():
    rng = np.random.default_rng(3)
    sex, label = rng.integers(0, 2, 2_000), rng.integers(0, 2, 2_000)
    q, score = rng.normal(sex), rng.normal(1.5 * label + 0.4 * sex)
    cut = gf.Segments(tuple(np.quantile(q, [0.25, 0.5, 0.75]).tolist()))
    sketch = gf.Sketch.from_rows(score, label, [sex, cut.cut(q)], bins=64)
    options = {"limits": {"equalized_odds": 0.1}, "fair_between": 0, "decide_by": 1}
    needed = gf.rows_needed(sketch, **options | {"decide_by": cut.of(1)})
    assert needed == gf.rows_needed(sketch, **options | {"decide_by": gf.Segments(column=1)})
    assert needed != gf.rows_needed(sketch, **options)
    with pytest.raises(ValueError, match="decide_by has segments 0 to 1"):
        gf.rows_needed(sketch, **options | {"decide_by": gf.Segments((0.5,), column=1)})
