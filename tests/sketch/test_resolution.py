"""How finely bins divide the rows: what spoils a sketch, what does not, and the warnings that say so."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast._sketch.view import warn_if_coarse

pytestmark = pytest.mark.usefixtures("backend")


@pytest.fixture
def logits():
    return np.random.default_rng(0).normal(size=2000)


def count(scores, **options):
    """One group, no labels."""
    return gf.Sketch.from_rows(scores, None, np.zeros(len(scores), int), **options)


def warned(scores, **options):
    """The warnings that counting gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        count(scores, **options)
    return [w.message for w in caught]


# ---------------------------------------------------------------------------------------------------- what does no harm


@pytest.mark.parametrize("wild", [1e6, -1e9, 1e12, -1e-30])
def test_one_wild_score_leaves_the_others_apart(logits, wild):
    wide = count(np.append(logits, wild))
    assert wide.resolution > 300
    assert wide.coarseness.share < 0.03
    assert warned(np.append(logits, wild)) == []


@pytest.mark.parametrize(
    "scores",
    [
        [0.3] * 1000,
        [0.0, 1.0] * 500,
        [0.1, 0.2, 1e9],
        [np.inf] * 1000,
        np.arange(1000) % 7,
        [-5, 1] * 500,
        np.round(np.random.default_rng(0).random(5000), 2),  # decimals: many rows to a bin, one value in each
        np.random.default_rng(0).integers(300, 850, 5000),
        1 + 1e-12 * np.random.default_rng(0).normal(size=5000),
        np.linspace(0, 1, 1000),
    ],
    ids=[
        *("constant", "two", "few rows", "infinite", "few whole numbers", "two sides", "decimals", "credit"),
        *("12th digit", "even"),
    ],
)
def test_values_that_bins_tell_apart_do_not_warn(scores):
    assert warned(scores) == []


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")
def test_coarseness_names_the_fullest_bin_with_different_scores():
    scores = np.concatenate([np.full(500, 3.0), 3.0 + np.arange(1, 101) / 1000, np.arange(0, 16, 0.04)])
    sketch = gf.Sketch(bins=16, range=(0, 16)).update(scores, np.ones(1000, int), ["x"] * 1000)
    found = sketch.coarseness
    assert found == (0.625, 1, "x", 3.0, 4.0)  # 500 + 100 and 25 of the last, of 1000
    alone = gf.Sketch(bins=16, range=(0, 16)).update(np.full(1000, 3.0), np.ones(1000, int), ["x"] * 1000)
    assert alone.coarseness.share == 0
    assert gf.Sketch().coarseness.share == 0


def test_coarseness_is_that_of_the_rows():
    """Against counting by hand, at edges that numpy searches."""
    random = np.random.default_rng(3)
    scores, labels, groups = random.normal(size=3000), random.integers(0, 2, 3000), random.integers(0, 3, 3000)
    sketch = gf.Sketch.from_rows(scores, labels, groups, bins=64)
    bins = np.searchsorted(sketch.edges, scores, side="right") - 1
    shares = {
        np.bincount(bins[(labels == y) & (groups == g)]).max() / ((labels == y) & (groups == g)).sum()
        for y in (0, 1)
        for g in range(3)
    }
    assert sketch.coarseness.share == max(shares)


# ------------------------------------------------------------------------------------------------------------- warnings


def close_scores(center, n=4000):
    """Scores of two groups around a center, so close that they share a bin when a score of 3e6 comes."""
    rows = np.arange(n)
    scores = center + np.random.default_rng(1).normal(rows % 2, 1, n) / 1000
    return np.append(scores, [1e-3, 3e6]), np.append(rows % 2, [0, 1]), np.append(rows // 2 % 2, [0, 1])


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")
def test_a_threshold_next_to_a_bin_that_may_cost_something_warns_and_says_how_much():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # counting does not warn: no threshold is asked for yet
        sketch = gf.Sketch.from_rows(*close_scores(1004))
    assert sketch.coarseness.share > 0.99
    match = r"one bin, from .* holds 100\.0% of the rows with label . of group .*off by up to 1, .*range=\(lo, hi\)"
    with pytest.warns(gf.errors.ResolutionWarning, match=match) as caught:
        gf.solve(sketch)
    assert {w.filename for w in caught} == {__file__}
    assert caught[0].message.code == "resolution"


@pytest.mark.parametrize(
    "ask", [{}, {"unified": True}, {"randomize": True, "limits": {"equal_opportunity": 0.1}}, {"min_rows": 10}]
)
def test_a_coarse_bin_far_from_the_thresholds_does_not_warn(ask):
    """Most positive scores lie at 0.999, and everything that is hard to decide lies at 0.6."""
    rng = np.random.default_rng(2)
    labels, groups = rng.integers(0, 2, 20_000), rng.integers(0, 2, 20_000)
    sure = (labels == 1) & (rng.random(20_000) < 0.8)
    scores = np.where(sure, 0.999 + rng.random(20_000) * 1e-5, rng.normal(0.55 + 0.1 * labels, 0.05))
    sketch = gf.Sketch.from_rows(scores, labels, groups)
    assert sketch.coarseness.share > 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = gf.solve(sketch, **ask)
    assert max(result.thresholds.values()) < 0.9
    prices = {"fp": 1e4, "fn": 1.0}  # so dear are false positives that thresholds go up to 0.999
    with pytest.warns(gf.errors.ResolutionWarning, match=r"from 0\.99\d* to"):
        gf.solve(sketch, objective=prices)


@pytest.mark.parametrize(
    ("threshold", "next_to_it"),
    [(3.0, False), (3.5, True), (4.0, True), (7.0, True), (7.5, True), (8.0, True), (12.0, True), (12.5, False)],
)
def test_the_bins_next_to_a_threshold_are_those_with_rows_on_either_side(threshold, next_to_it):
    """Rows lie in the bins from 3, 7 and 12 on, and only those of the bin from 7 on differ."""
    scores = np.concatenate((np.full(900, 3.25), np.random.default_rng(0).uniform(7.1, 7.9, 2000), np.full(900, 12.25)))
    sketch = gf.Sketch.from_rows(scores, np.ones(len(scores), int), ["a"] * len(scores), bins=64, range=(0, 64))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_if_coarse(sketch, {"a": [threshold]})
    assert [w.category.__name__ for w in caught] == ["ResolutionWarning"] * next_to_it


def test_bins_of_one_score_do_not_warn():
    rows = np.arange(4000)
    sketch = gf.Sketch.from_rows(np.round(np.sin(rows), 1), rows % 2, rows // 2 % 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gf.solve(sketch, limits={"equal_opportunity": 0.2})


def test_a_sentinel_is_named_with_its_rows_and_the_way_out(logits):
    (message,) = warned(np.append(1 / (1 + np.exp(-logits)), [-999.0] * 20))
    assert isinstance(message, gf.errors.SentinelWarning)
    assert str(message).startswith("20 rows have the score -999.0, far from all others, which lie from 0.0")
    assert "pass missing=-999" in str(message)
    assert message.value[:2] == (-999.0, 20)


@pytest.mark.parametrize(
    "scores", [[-999.0] * 3, [-999.0, -998.0] * 10, np.full(2000, 50.0)], ids=["few", "two", "most"]
)
def test_other_far_scores_are_no_sentinel(logits, scores):
    assert warned(np.append(logits, scores)) == []


def test_a_sentinel_above_and_one_in_a_weighted_sketch(logits):
    assert "9999.0" in str(warned(np.append(logits, [9999.0] * 20))[0])
    scores = np.append(logits, [-999.0] * 20)
    with pytest.warns(gf.errors.SentinelWarning, match=r"^20 rows have the score -999\.0"):
        gf.Sketch().update(scores, None, [0] * len(scores), weights=np.full(len(scores), 0.5))


def test_a_sentinel_is_named_with_every_digit_and_all_its_rows():
    scores = np.concatenate([np.random.default_rng(0).uniform(0, 1e5, 2000), np.full(20, 9999999.0)])
    with pytest.warns(gf.errors.SentinelWarning, match=r"^20000000 rows .* pass missing=9999999: "):
        gf.Sketch().update(scores, None, [0] * len(scores), repeats=np.where(scores > 1e6, 10**6, 10**5))


def labelled(scores):
    """Two groups, both labels."""
    rows = np.arange(len(scores))
    return gf.Sketch.from_rows(scores, rows % 2, rows // 2 % 2)


def late(scores):
    """Rows that come last and in small batches, so that the sketch itself does not look again."""
    sketch = labelled(scores)
    for _ in range(5):
        sketch.update([-1.0] * 4, [0, 1, 0, 1], [0, 0, 1, 1])
    return sketch


@pytest.mark.parametrize("ask", [gf.solve, lambda sketch: gf.frontier(sketch, "equal_opportunity")])
def test_sentinels_that_come_last_are_named_once_by_whoever_asks_for_thresholds(logits, ask):
    sketch = late(1 / (1 + np.exp(-logits)))
    with pytest.warns(gf.errors.SentinelWarning, match=r"^20 rows have the score -1\.0") as caught:
        ask(sketch)
    assert [w.filename for w in caught if isinstance(w.message, gf.errors.SentinelWarning)] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error", gf.errors.SentinelWarning)
        for again in (sketch, sketch.copy()):
            ask(again)


def test_rows_that_a_file_brought_are_looked_at_when_thresholds_are_asked_for(logits):
    read = gf.Sketch.from_bytes(late(1 / (1 + np.exp(-logits))).to_bytes())
    with pytest.warns(gf.errors.SentinelWarning):
        gf.solve(read)


def test_range_keeps_the_resolution_and_sentinels_out(logits):
    scores = np.append(logits, [1e9] * 20)
    assert count(scores, range=(-8, 8)).resolution > 1000
    assert warned(scores, range=(-8, 8)) == []


class Reads:
    """A core that notes which of its methods are called."""

    def __init__(self, core):
        self.core, self.called = core, []

    def copy(self):
        return self

    def __getattr__(self, name):
        self.called.append(name)
        return getattr(self.core, name)


def test_looking_for_coarse_bins_reads_the_counts_once_for_all_groups(logits):
    """Each read copies the counts of every group."""
    rows = np.arange(len(logits))
    sketch = gf.Sketch.from_rows(logits, rows % 2, rows % 50)
    reads = Reads(sketch._core)
    warn_if_coarse(SimpleNamespace(_core=reads), {group: [0.5] for group in range(50)})
    assert reads.called.count("counts") == 2
    assert reads.called.count("means") <= 2


def test_rows_beyond_the_range_are_read_before_and_after_the_sums():
    for settle in (repr, gf.Sketch.to_bytes):
        sketch = gf.Sketch(range=(0, 1), groups=["b", "a", "none"])
        sketch.update([-1.0, -2.0, 0.5], [0, 1, 1], ["a", "a", "b"])
        settle(sketch)  # some backends keep new rows apart until then
        sketch.update([3.0, -4.0], [1, 0], ["b", "a"])
        assert sketch._core.below().tolist() == [[0, 2, 0], [0, 1, 0], [0, 0, 0]]
        assert sketch._core.above().tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
