"""The quick comparison: from counts alone, as recorded, and a difference is found."""

import copy
import importlib
import json

import numpy as np
import pytest

import gstar_fast as gf

quick = importlib.import_module("benchmarks.paper.quick")
bundle = importlib.import_module("benchmarks.paper.bundle")


@pytest.fixture(scope="module")
def recorded():
    return json.loads(quick.RECORDED.read_text())


def test_one_data_set_is_as_recorded_and_a_change_is_noticed(recorded):
    found = {"compas": quick.measure("compas")}
    assert quick.differences(found, recorded) == []
    changed = copy.deepcopy(found)
    changed["compas"]["Eq.Odds"]["eod_sum"] += 1e-4
    changed["compas"]["new"] = {"accuracy": 0.5}
    assert len(quick.differences(changed, recorded)) == 2


def test_every_data_set_is_recorded(recorded):
    assert set(recorded) == set(bundle.WINDOWS)
    assert all(set(methods) == set(quick.METHODS) for methods in recorded.values())


def test_the_table_says_that_its_counts_are_coarse(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["quick", "--data", "german"])
    assert quick.main() == 0
    said = capsys.readouterr().out
    assert (
        "The bundled counts are coarse. Width of a bin in logits: german 0.5 (beyond a logit of 2: german 2)." in said
    )
    assert "differ from those of `make paper`" in said


def test_what_must_be_equal_is(recorded):
    """Flipping hard labels within a gap of 1e-4 is Eq.Odds to the third digit, whatever weighs the errors."""
    for methods in recorded.values():
        fact, odds = methods["FACT, eps .0001"], methods["Eq.Odds"]
        assert fact["accuracy"] == pytest.approx(odds["accuracy"], abs=1e-3)
        assert fact["eod_sum"] == pytest.approx(odds["eod_sum"], abs=1e-3)


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")
def test_shares_are_those_of_the_audit():
    """Accuracy and EOd from bins, and from the library's own audit."""
    train, test = bundle.load("compas", 0)
    result = gf.solve(train, limits={"equalized_odds": 0.05})
    found = quick.judged(quick.accepted(test, quick.parts_of(result)), quick.sizes(test))
    audit = gf.audit(result.thresholds, test)
    assert found["eod_sum"] == pytest.approx(audit.gaps["equalized_odds_sum"].value)
    assert found["accuracy"] == pytest.approx(audit.overall["accuracy"].value)


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")
def test_sketches_have_no_single_scores():
    """All scores of a bin were moved to one place, so that means, smallest and largest are those of the bins."""
    rng = np.random.default_rng(4)
    scores, labels, groups = rng.normal(0, 2, 300), rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    sketch = bundle.counted("german", scores, labels, groups)
    assert sketch.n_rows == 300
    places = sketch.means[~np.isnan(sketch.means) & (sketch.counts > 0)]
    np.testing.assert_array_equal(places * 4, np.round(places * 4))  # quarters: middles of bins of one half, or of two
    below = (scores < 0) & (labels == 0) & (groups == 1)
    edges = np.asarray(sketch.edges)[:-1]
    assert sketch.counts[0, 1][edges < 0].sum() == below.sum()
    with pytest.raises(ValueError, match="beyond 8"):
        bundle.counted("german", np.array([9.0]), labels[:1], groups[:1])


@pytest.mark.parametrize("data", sorted(bundle.WINDOWS))
def test_bundled_sketches_are_small_and_whole(data):
    """Five splits; the test rows are three tenths."""
    for seed in bundle.SEEDS:
        train, test = bundle.load(data, seed)
        assert test.n_rows / (train.n_rows + test.n_rows) == pytest.approx(0.3, abs=1e-3)
    assert sum(path.stat().st_size for path in bundle.FOLDER.iterdir()) < 750_000
