"""The paper's comparison: its metrics are those of others, and its runner goes on where it was."""

import json
import logging
import math

import numpy as np
import pytest

from benchmarks.paper import data, metrics, ours, run, splits

LABELS = np.array([1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0])
GROUPS = np.array([1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0])


def test_metrics_of_decisions_are_those_counted_by_hand():
    accepted = np.array([1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0])
    found = metrics.judge(accepted, LABELS, GROUPS)  # tpr 3/4 and 1/2, fpr 1/4 and 2/4, accepted 4/8 and 3/6
    assert found == pytest.approx(
        {
            "accuracy": 9 / 14,
            "balanced_accuracy": (4 / 6 + 5 / 8) / 2,
            "eop": 0.25,
            "eod_sum": 0.5,
            "bd": 0.5,
            "dimp": 0.0,
            "eod_max": 0.25,
            "dp": 0.0,
            "pe": 0.25,
        }
    )
    assert metrics.halved(found) == {"eod_half": 0.25, "bd_half": 0.25}
    assert set(found) == set(metrics.DEFINITIONS)
    assert metrics.counts(LABELS, GROUPS) == [[4, 4], [2, 4]]


def test_the_sum_of_the_balanced_difference_lets_gaps_cancel():
    accepted = np.array([1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0])  # group 1 has more of both
    found = metrics.judge(accepted, LABELS, GROUPS)
    assert (found["eod_sum"], found["bd"]) == (1.0, 0.0)
    assert found["dimp"] == pytest.approx(abs(1 - (6 / 8) / (1 / 6)))


def test_a_coin_counts_as_its_mean():
    rng = np.random.default_rng(3)
    label, group = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    chance = np.round(rng.random(400), 1)
    expected = metrics.judge(chance, label, group)
    tossed = metrics.judge(np.tile(chance, 4000) > rng.random(1_600_000), np.tile(label, 4000), np.tile(group, 4000))
    assert tossed == pytest.approx(expected, abs=0.005)


def test_what_is_undefined_is_none_and_no_probability_is_refused():
    found = metrics.judge(np.zeros(4), np.array([1, 1, 1, 1]), np.array([0, 0, 1, 1]))
    assert found["eop"] == 0.0
    assert found["eod_sum"] is found["pe"] is found["dimp"] is found["balanced_accuracy"] is None
    assert metrics.halved(found) == {"eod_half": None, "bd_half": None}
    with pytest.raises(ValueError, match=r"0 to 1, got 0\.0 to 2\.0"):
        metrics.judge(np.array([0.0, 2.0]), np.array([0, 1]), np.array([0, 1]))
    with pytest.raises(ValueError, match="need 2 probabilities"):
        metrics.judge(np.zeros(3), np.array([0, 1]), np.array([0, 1]))


def test_metrics_are_those_of_fairlearn():
    from fairlearn import metrics as theirs

    rng = np.random.default_rng(5)
    label, group, accepted = (rng.integers(0, 2, 500) for _ in range(3))
    found = metrics.judge(accepted, label, group)
    for name, function in (
        ("eod_max", theirs.equalized_odds_difference),
        ("dp", theirs.demographic_parity_difference),
        ("eop", theirs.equal_opportunity_difference),
    ):
        assert found[name] == pytest.approx(function(label, accepted, sensitive_features=group)), name
    mean = theirs.equalized_odds_difference(label, accepted, sensitive_features=group, agg="mean")
    assert metrics.halved(found)["eod_half"] == pytest.approx(mean)


def test_metrics_are_those_of_aif360():
    pandas = pytest.importorskip("pandas")
    logging.disable(logging.WARNING)  # it tells of optional packages on the root logger
    try:
        datasets = pytest.importorskip("aif360.datasets")
        from aif360.metrics import ClassificationMetric
    finally:
        logging.disable(logging.NOTSET)
    rng = np.random.default_rng(6)
    label, group, accepted = (rng.integers(0, 2, 500) for _ in range(3))
    truth, decided = (
        datasets.BinaryLabelDataset(
            df=pandas.DataFrame({"group": group, "label": column}, dtype=float),
            label_names=["label"],
            protected_attribute_names=["group"],
        )
        for column in (label, accepted)
    )
    theirs = ClassificationMetric(truth, decided, [{"group": 0}], [{"group": 1}])
    found = metrics.judge(accepted, label, group)
    assert metrics.halved(found)["eod_half"] == pytest.approx(theirs.average_abs_odds_difference())
    assert found["eop"] == pytest.approx(abs(theirs.equal_opportunity_difference()))
    assert found["dp"] == pytest.approx(abs(theirs.statistical_parity_difference()))
    assert found["dimp"] == pytest.approx(abs(1 - 1 / theirs.disparate_impact()))  # they divide the other way
    assert found["accuracy"] == pytest.approx(theirs.accuracy())


def test_limits_of_randomised_thresholds_hold_in_the_metrics():
    """What `solve` promises of the rows that it counted is what the comparison measures on them."""
    table = data.synthetic()
    kept = splits.make(table, "lr", "paper", 0)
    score, y, a = kept["score_fit"], table.y[kept["fit"]], table.a[kept["fit"]]
    rows = splits.Rows(table.X[kept["fit"]], y, a, score, score)
    for question in ({"randomize": True}, {}):
        decide = ours.found(score, y, a, limits={"equalized_odds": 0.03}, **question)
        found = metrics.judge(decide(rows, score), y, a)
        assert found["eod_max"] <= 0.03 + 1e-9
        assert decide.verdict == "optimal"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("paper")
    run.prepare(where, ["synthetic"], "lr", ["paper", "frontier"], [0])
    return where


def test_splits_are_disjoint_and_read_as_written(folder):
    table = data.load(folder, "synthetic")
    paper = splits.load(folder, "synthetic", "lr", "paper", 0)
    whole = splits.load(folder, "synthetic", "lr", "frontier", 0)
    assert (len(paper.fit), len(paper.validation), len(paper.test)) == (1400, 0, 600)
    assert (len(whole.fit), len(whole.validation), len(whole.test)) == (1050, 350, 600)
    with np.load(splits.file_of(folder, "synthetic", "lr", "frontier", 0)) as kept:
        rows = np.concatenate([kept[part] for part in splits.PARTS])
    assert sorted(rows) == list(range(len(table.y)))
    assert np.array_equal(paper.test.y, whole.test.y)
    assert np.abs(whole.fit.X.mean(axis=0)).max() < 1e-6
    assert np.array_equal(paper.oof, paper.fit.score)  # as in the paper: in-sample
    assert not np.array_equal(whole.oof, whole.fit.score)
    apart = splits.load(folder, "synthetic", "lr", "paper_oof", 0)
    assert np.array_equal(apart.fit.score, paper.fit.score)
    assert not np.array_equal(apart.oof, paper.oof)
    assert np.mean((whole.test.score >= 0) == whole.test.y) > 0.75


def test_the_runner_goes_on_where_it_was(folder, tmp_path):
    records = tmp_path / "records.jsonl"
    call = ["--synthetic", "--folder", str(folder), "--records", str(records), "--seeds", "0", "--jobs", "1"]
    call += ["--methods", "exact,loop"]
    first = run.main([*call, "--protocol", "paper"])
    expected = 4 * (len(ours.LIMITS) + len(ours.PENALTIES))  # four criteria, the paper's DP+EOd among them
    assert first == {"done": expected}
    before = records.read_text()
    found = [json.loads(line) for line in before.splitlines()]
    assert {record["verdict"] for record in found} <= {"optimal", "converged", "not_converged"}
    assert all(record["error"] is None and record["validation"] is None for record in found)
    assert all(math.isfinite(value) for record in found for value in record["test"].values())
    assert run.main([*call, "--protocol", "paper"]) == {}
    assert records.read_text() == before

    records.write_text(
        before[: before.rindex("\n", 0, -1) - 40]
    )  # killed while it wrote: one and a half lines are lost
    assert run.main([*call, "--protocol", "paper"]) == {"done": 2}
    again = {run.key_of(json.loads(line)): json.loads(line)["test"] for line in records.read_text().splitlines()}
    assert again == {run.key_of(record): record["test"] for record in found}
    limit = {
        record["setting"]["limit"]: record
        for record in found
        if record["criterion"] == "equalized_odds" and "limit" in record["setting"]
    }
    assert all(record["fit"]["eod_max"] <= value + 1e-9 for value, record in limit.items())


def test_a_worker_that_ends_is_a_record_and_can_be_tried_again(folder, tmp_path):
    records = tmp_path / "records.jsonl"
    call = ["--synthetic", "--folder", str(folder), "--records", str(records), "--seeds", "0", "--jobs", "2"]
    call += ["--methods", "unified", "--protocol", "frontier"]
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    expected = 3 * len(ours.UNIFIED_LIMITS)
    assert run.main([*call, "--python", f"main={broken}"]) == {"failed": expected}
    assert {record["error"] for record in run.read(records).values()} == {"the worker ended"}
    assert run.main(call) == {}
    assert run.main([*call, "--retry"]) == {"done": expected}
    assert {record["error"] for record in run.read(records).values()} == {None}


def test_a_budget_that_is_over_starts_nothing(folder, tmp_path):
    call = ["--synthetic", "--folder", str(folder), "--records", str(tmp_path / "records.jsonl"), "--minutes", "0"]
    assert run.main(call) == {}


def test_a_short_budget_leaves_as_many_splits_for_each_method():
    seeds = [
        task.seed
        for task in run.plan(
            ours.METHODS, data=["adult", "compas"], model="lr", protocols=["frontier"], seeds=None, there=set()
        )
    ]
    assert seeds == sorted(seeds)
    assert set(seeds) == set(range(10))
