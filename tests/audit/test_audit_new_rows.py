"""What an audit expects of new rows is what new rows of that number show: the mean gap, and that of nine in ten."""

import dataclasses

import numpy as np
import pytest
from helpers.notes import texts
from helpers.results import changed

import gstar_fast as gf
from gstar_fast import datasets
from gstar_fast._audit import new_rows
from gstar_fast._audit.metrics import gap_of, shares_of, values_of
from gstar_fast._audit.new_rows import NewRows, clearly_over, new_rows_of
from gstar_fast._audit.replicates import solve_again, solved
from gstar_fast._criteria import MEASURED
from gstar_fast._question.question import Question
from gstar_fast._solver.cells import Cells
from gstar_fast._solver.search import Problem

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")  # few bins, to be quick

ODDS = {"equalized_odds": 0.02}


def synthetic(rows, bins=256):
    table = datasets.paper_synthetic(rows=rows, seed=2)
    return gf.Sketch.from_rows(table.scores, table.labels, table.groups, bins=bins)


@pytest.mark.slow
def test_nine_of_ten_samples_stay_under_the_value_and_their_mean_is_the_mean():
    """Samples of a known population: thresholds found on 600 rows, looked at on 300 new ones."""
    sketch = synthetic(400_000, bins=64)
    whole, best, random = Cells.of(sketch), gf.solve(sketch, limits=ODDS), np.random.default_rng(5)
    objective = Question.of(limits=ODDS)
    seen, expected, population = [], [], []
    for trial in range(60):
        here, new = (dataclasses.replace(whole, rows=random.poisson(whole.rows * (n / 400_000))) for n in (600, 300))
        candidates = solved(Problem.unchecked(here, objective), False)
        thresholds = dict(zip(whole.groups, here.thresholds(candidates).tolist(), strict=True))
        result = changed(best, thresholds=thresholds)
        again = solve_again(result, here, 40, trial)
        expected.append(again.expected(result, here, 300, trial)["equalized_odds"])
        population.append(again.expected(result, here, 10**12, trial)["equalized_odds"].mean)
        rates = values_of(*shares_of(accepted_of(new, candidates), new.rows.sum(axis=2)))
        seen.append(gap_of(MEASURED["equalized_odds"], rates))
    assert np.mean([there.mean for there in expected]) == pytest.approx(np.mean(seen), rel=0.15)
    above = sum(gap > there.nine_of_ten for gap, there in zip(seen, expected, strict=True))
    assert 1 <= above <= 12  # of 60; a tenth is 6, two standard errors are 5
    assert np.mean(population) < 0.75 * np.mean(seen)  # without the chance in the new rows it is far too low


def accepted_of(snapshot, candidates):
    """Rows that are accepted from these candidates on: (3, K)."""
    return np.stack([snapshot.rows[:, k, c:].sum(axis=1) for k, c in enumerate(candidates)], axis=1)


def test_an_accepted_share_of_a_replicate_needs_no_replicate_of_all_bins():
    """The short way, one Poisson count for a cell, has the mean and the tenth of drawing every bin."""
    snapshot = Cells.of(synthetic(2_000))
    totals, random = snapshot.rows.sum(axis=2), np.random.default_rng(0)
    candidates = np.array([100, 140])
    accepted = accepted_of(snapshot, candidates)
    one, counted, names = np.ones(totals.shape), int(totals.sum()), ["equalized_odds", "disparate_impact"]
    found = new_rows_of(accepted[:, None], totals, one, counted, names, 500, 0)
    gaps = {name: [] for name in found}
    for _ in range(2_000):
        drawn = dataclasses.replace(snapshot, rows=random.poisson(snapshot.rows * (500 / totals.sum())))
        rates = values_of(*shares_of(accepted_of(drawn, candidates), drawn.rows.sum(axis=2)))
        for name, values in gaps.items():
            values.append(gap_of(MEASURED[name], rates))
    assert found["equalized_odds"].mean == pytest.approx(np.mean(gaps["equalized_odds"]), rel=0.03)
    assert found["equalized_odds"].nine_of_ten == pytest.approx(np.quantile(gaps["equalized_odds"], 0.9), rel=0.05)
    assert found["disparate_impact"].nine_of_ten == pytest.approx(np.quantile(gaps["disparate_impact"], 0.1), rel=0.02)


@pytest.mark.every_backend
def test_the_same_on_every_backend_and_with_the_same_seed(backend):
    sketch = synthetic(3_000)
    audit = gf.audit(gf.solve(sketch, limits=ODDS), sketch, new_rows=300, threshold_replicates=100)
    again = gf.audit(gf.solve(sketch, limits=ODDS), sketch, new_rows=300, threshold_replicates=100)
    assert audit.new_rows == again.new_rows
    with gf.use_backend("numpy"):
        assert gf.audit(gf.solve(sketch, limits=ODDS), sketch, new_rows=300, threshold_replicates=100) == audit


@pytest.mark.slow
def test_without_a_number_new_rows_are_as_many_as_were_counted():
    sketch = synthetic(3_000)
    result = gf.solve(sketch, limits=ODDS)
    audit = gf.audit(result, sketch)
    assert audit.new_rows["equalized_odds"].rows == audit.n_rows == 3_000
    assert gf.audit(result, sketch, new_rows=3_000) == audit
    few, many = (gf.audit(result, sketch, new_rows=n).new_rows["equalized_odds"] for n in (300, 30_000))
    assert few.mean > audit.new_rows["equalized_odds"].mean > many.mean
    assert few.nine_of_ten > audit.new_rows["equalized_odds"].nine_of_ten > many.nine_of_ten


def test_rows_that_have_weights_are_rows():
    table = datasets.paper_synthetic(rows=3_000, seed=2)
    rows = table.scores, table.labels, table.groups
    halves = gf.Sketch.from_rows(*rows, weights=np.full(3_000, 0.5), bins=256)
    audit = gf.audit(gf.solve(halves, limits=ODDS), halves)
    plain = gf.Sketch.from_rows(*rows, bins=256)
    expected = gf.audit(gf.solve(plain, limits=ODDS), plain)
    assert audit.new_rows["equalized_odds"].rows == audit.n_rows == 3_000
    assert audit.new_rows == expected.new_rows
    assert audit.thresholds == expected.thresholds
    assert any("of 3 000 rows stay under" in note for note in texts(audit))


def test_notes_say_the_mean_the_tenth_and_what_scores_are_assumed():
    sketch = synthetic(3_000)
    audit = gf.audit(gf.solve(sketch, limits={**ODDS, "disparate_impact": 0.5}), sketch, new_rows=400)
    odds, ratio = audit.new_rows["equalized_odds"], audit.new_rows["disparate_impact"]
    assert ratio.nine_of_ten < ratio.mean < 1  # of a ratio, the far side from parity is the low one
    said = [note for note in texts(audit) if note.startswith("on new rows expect")]
    assert said[0].endswith(f"; nine of ten samples of 400 rows stay under {odds.nine_of_ten:.2g}")
    assert f"; nine of ten samples of 400 rows stay above {ratio.nine_of_ten:.2g}; this assumes out-of-fold" in said[1]
    assert said[0] in str(audit)


def test_a_sample_too_small_to_have_a_gap_promises_none():
    sketch = synthetic(3_000)
    audit = gf.audit(gf.solve(sketch, limits=ODDS), sketch, new_rows=1)
    assert audit.new_rows == {}
    assert any("audit rows that were set aside" in note for note in texts(audit))


def test_few_replicates_still_give_many_samples(monkeypatch):
    snapshot = Cells.of(synthetic(3_000))
    result = gf.solve(synthetic(3_000), limits=ODDS)
    drawn = []
    monkeypatch.setattr(new_rows, "gap_of", lambda *given: drawn.append(1) or gap_of(*given))
    for replicates in (10, 30):
        drawn.clear()
        found = solve_again(result, snapshot, replicates, 0).expected(result, snapshot, None, 0)
        assert isinstance(found["equalized_odds"], NewRows)
        assert len(drawn) >= 2_000


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"new_rows": 0}, ValueError, "new_rows must be from 1 to 10"),
        ({"new_rows": 2.5}, TypeError, "new_rows must be a whole number, got 2.5"),
        ({"new_rows": True}, TypeError, "new_rows must be a whole number, got True"),
        ({"new_rows": 300, "threshold_replicates": 0}, ValueError, "new_rows= needs solving again"),
    ],
)
def test_numbers_of_new_rows_that_make_no_sense_are_refused(options, error, words):
    sketch = synthetic(3_000)
    with pytest.raises(error, match=words):
        gf.audit(gf.solve(sketch, limits=ODDS), sketch, **options)


def test_only_a_result_has_new_rows():
    with pytest.raises(TypeError, match="new_rows= goes with audit"):
        gf.audit(0.0, synthetic(3_000), new_rows=300)


@pytest.mark.parametrize(
    ("criterion", "limit", "expected", "over"),
    [
        ("equalized_odds", 0.1, 0.124, False),
        ("equalized_odds", 0.1, 0.126, True),
        ("disparate_impact", 0.8, 0.95, False),  # parity is 1: 0.2 away is allowed, and 0.25 is a quarter more
        ("disparate_impact", 0.8, 0.751, False),
        ("disparate_impact", 0.8, 0.749, True),
        ("disparate_impact", 0.5, 0.38, False),
        ("disparate_impact", 0.5, 0.37, True),
    ],
)
def test_a_gap_is_clearly_over_its_limit_when_it_is_a_quarter_further_from_parity(criterion, limit, expected, over):
    assert clearly_over(criterion, limit, expected) is over
