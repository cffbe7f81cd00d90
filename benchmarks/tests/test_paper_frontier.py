"""The test at equal gap: knows a difference that is known, does not invent one, and corrects for looking often."""

import importlib

import numpy as np
import pytest
from paper_records import line_of, record
from scipy import stats

frontier = importlib.import_module("benchmarks.paper.frontier")
records_of = importlib.import_module("benchmarks.paper.records")


def test_a_known_difference_is_found():
    """Half a point along the whole line, whatever the split does to both."""
    rng = np.random.default_rng(3)
    records = line_of("exact", shared=0.02, noise=1e-3, rng=rng)
    records += line_of("rival", lead=-0.005, gaps=(0.03, 0.08), shared=0.02, noise=1e-3, rng=rng)
    (found,) = frontier.comparisons(records)
    assert found.splits == 10
    assert found.difference == pytest.approx(0.005, abs=1e-3)
    assert found.low < 0.005 < found.high
    assert found.p == found.p_holm < 0.01  # one comparison: nothing to correct
    assert found.steady


def test_asking_for_another_gap_is_no_difference():
    """Points along one line are equal, also where a rival has a single setting."""
    for gaps in [(0.03, 0.07), (0.05,)]:
        records = line_of("exact") + line_of("rival", gaps=gaps)
        (found,) = frontier.comparisons(records)
        assert found.difference == pytest.approx(0, abs=1e-12)
        assert found.overlap == 1


def test_where_lines_have_no_gap_in_common_the_smaller_gap_is_not_rewarded():
    mine = np.array([0.02, 0.04]), np.array([0.20, 0.18])
    theirs = np.array([0.1, 0.2]), np.array([0.16, 0.15])
    assert frontier.at_equal_gap(mine, theirs) == (pytest.approx(-0.02), pytest.approx(0.06))
    assert frontier.at_equal_gap(theirs, mine) == (pytest.approx(0.02), pytest.approx(0.06))


def test_lines_that_never_meet_are_not_tested():
    """A model whose gap is far from all of ours is no comparison at equal gap; within the noise floor it is one."""
    near, far = line_of("near", gaps=(0.101,)), line_of("far", gaps=(0.5,))
    records = line_of("exact", noise=1e-4) + near + far + line_of("baseline", seeds=5, protocol="paper")
    found = {one.rival: one for one in frontier.comparisons(records)}
    assert found["near"].tested
    assert found["near"].p_holm == found["near"].p  # the only one that is tested
    assert not found["far"].tested
    assert found["far"].apart == pytest.approx(0.4, abs=0.01)
    assert np.isnan(found["far"].p)


def test_swapping_turns_the_sign():
    rng = np.random.default_rng(5)
    for _ in range(50):
        one, two = ((rng.uniform(0, 0.2, k), rng.uniform(0.1, 0.3, k)) for k in rng.integers(1, 6, 2))
        forth, back = frontier.at_equal_gap(one, two), frontier.at_equal_gap(two, one)
        assert forth[0] == pytest.approx(-back[0])
        assert forth[1] == back[1] >= 0


def test_settings_are_chosen_on_validation_rows():
    """The test rows of a setting that validation does not choose are not looked at."""
    good = record(gap=0.02, accuracy=0.84)
    tempting = record(gap=0.04, accuracy=0.80, setting={"limit": 1})
    tempting["test"] = {**tempting["test"], "accuracy": 0.99, "eod_sum": 0.0}
    assert frontier.choose([good, tempting], "equalized_odds", [0.03, 0.1]) == [good]
    assert frontier.choose([good, tempting], "equalized_odds", [0.001]) == [good]  # none within: the smallest gap


def test_classes_meet_their_like():
    """Rules with coins are compared with ours with coins; blind ones with both forms of ours."""
    records = line_of("exact") + line_of("randomised", randomised=True) + line_of("unified", uses_group=False)
    records += line_of("a") + line_of("b", randomised=True) + line_of("c", uses_group=False)
    found = frontier.comparisons(records)
    assert {(one.ours, one.rival) for one in found} == {
        ("exact", "a"),
        ("randomised", "b"),
        ("exact", "c"),
        ("unified", "c"),
    }


def test_boosted_trees_meet_boosted_trees():
    """FairGBM is compared with ours on the same kind of model, where that was run."""
    records = line_of("exact") + line_of("fairgbm", lead=0.02)
    (found,) = frontier.comparisons(records)
    assert (found.model, found.difference) == ("lr", pytest.approx(-0.02))
    records += [{**one, "model": "hgb"} for one in line_of("exact", lead=0.03)]
    (found,) = frontier.comparisons(records)
    assert (found.model, found.difference) == ("hgb", pytest.approx(0.01))


def test_failed_records_and_other_protocols_are_left_out():
    records = line_of("exact") + line_of("rival") + line_of("late", seeds=2)
    records += [{**one, "error": "no"} for one in line_of("broken")]
    records += line_of("elsewhere", protocol="paper")
    assert [one.rival for one in frontier.comparisons(records)] == ["rival"]


def test_holm_by_hand():
    """p of .01, .04, .03 and .005: times 3, 1, 2 and 4, and never below one before."""
    assert frontier.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert frontier.holm([0.9, 0.8]) == [1, 1]
    assert frontier.holm([]) == []
    pairs = importlib.import_module("benchmarks.studies.quality_pairs")
    p = np.random.default_rng(1).beta(0.2, 2, 30)
    np.testing.assert_array_equal(np.array(frontier.holm(p)) <= 0.05, pairs.holm(list(p)))


def test_t_is_the_corrected_one():
    values = [0.01, 0.03, -0.01, 0.02, 0.00, 0.02, 0.01, 0.03, 0.02, 0.01]
    error, half, p = frontier.corrected_t(values)
    s = np.std(values, ddof=1)
    assert error == pytest.approx(s * np.sqrt(1 / 10 + 3 / 7))
    assert half == pytest.approx(2.262157 * error, rel=1e-6)  # t quantile of nine degrees, from a table
    assert p == pytest.approx(2 * stats.t.sf(np.mean(values) / error, 9))
    plain = frontier.corrected_t(values, ratio=0)
    assert plain[2] == pytest.approx(stats.ttest_1samp(values, 0).pvalue)


def test_size_under_the_null():
    """Random splits of rows on which two rules of equal worth disagree: the corrected test rejects about as often as
    it says, the plain one far too often."""
    rng = np.random.default_rng(11)
    draws, rows, splits = 1500, 300, 10
    rejected = np.zeros(2)
    for _ in range(draws):
        order = rng.permuted(np.tile(np.arange(rows), (splits, 1)), axis=1)[:, :90]
        values = rng.choice([-1, 0, 1], p=[0.05, 0.9, 0.05], size=rows)[order].mean(1)
        rejected += [frontier.corrected_t(values)[2] <= 0.05, frontier.corrected_t(values, ratio=0)[2] <= 0.05]
    assert 0.03 <= rejected[0] / draws <= 0.07
    assert rejected[1] / draws >= 0.2


def test_visible_differences_are_seen():
    """A shift of the smallest visible size is found in about 80 % of samples."""
    rng = np.random.default_rng(2)
    seen = 0
    for _ in range(400):
        values = rng.normal(size=10)
        shift = frontier.visible(1 / np.sqrt(10), 10)
        seen += frontier.corrected_t(values + shift, ratio=0)[2] <= 0.05
    assert 0.72 <= seen / 400 <= 0.9


def test_noise_floor_is_what_a_fair_rule_shows():
    """By simulation: binomial counts of each cell at rates that are equal in both groups."""
    one = record(accuracy=0.8)
    one["counts"] = {"test": [[300, 500], [150, 250]]}
    one["test"] |= {"accuracy": (800 * 0.9 + 400 * 0.6) / 1200, "balanced_accuracy": 0.75}
    assert records_of.rates(one) == pytest.approx((0.6, 0.1))
    rng = np.random.default_rng(0)
    tpr = abs(rng.binomial(150, 0.6, 20_000) / 150 - rng.binomial(250, 0.6, 20_000) / 250)
    fpr = abs(rng.binomial(300, 0.1, 20_000) / 300 - rng.binomial(500, 0.1, 20_000) / 500)
    assert records_of.noise_floor(one) == pytest.approx(np.mean(tpr + fpr), rel=0.03)
    assert records_of.noise_floor(one, "equal_opportunity") == pytest.approx(np.mean(tpr), rel=0.03)


def test_the_last_record_of_a_key_counts(tmp_path):
    import gzip
    import json

    lines = [record(accuracy=0.1), record(seed=1), record(accuracy=0.9)]
    with gzip.open(tmp_path / "r.jsonl.gz", "wt") as out:
        out.write("\n".join(map(json.dumps, lines)) + "\n")
    found = records_of.load(tmp_path / "r.jsonl.gz")
    assert [one["test"]["accuracy"] for one in found] == [0.9, 0.85]
