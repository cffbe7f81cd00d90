"""The verdict of a report reassures only where it may: what holds on the counted rows need not hold on new ones."""

import json

import numpy as np
import pytest
from helpers.report_reader import read, synthetic
from helpers.results import changed

import gstar_fast as gf
from gstar_fast._audit.new_rows import clearly_over


def page_of(result, sketch, **options):
    page = read(gf.report(result, sketch, **{"frontier": False} | options).html)
    box = page.one(id="verdict").one("div", class_="verdict")
    return page, box.attributes["class"].split()[1], box


def alike(groups, seed=0):
    """Rows whose scores have the same distribution in every group."""
    random = np.random.default_rng(seed)
    labels = (random.random(len(groups)) < 0.25) * 1
    scores = 1 / (1 + np.exp(-(1.5 * labels - 1.2 + random.normal(size=len(groups)))))
    return gf.Sketch.from_rows(scores.round(2), labels, groups)


MANY = np.minimum(np.random.default_rng(1).geometric(0.08, 60_000), 40)
ONE_SMALL = np.repeat(np.arange(6), [4_000] * 5 + [30])


@pytest.mark.slow
@pytest.mark.parametrize("groups", [MANY, ONE_SMALL])
def test_a_limit_that_will_not_hold_on_new_rows_is_not_green(groups):
    sketch = alike(groups)
    result = gf.solve(sketch, limits={"equalized_odds": 0.05})
    expected = gf.audit(result, sketch).new_rows["equalized_odds"].mean
    assert expected > 0.1
    page, tone, box = page_of(result, sketch)
    assert tone == "warn"
    assert box.one("h2").text == f"The limit is met on the counted rows; expect about {expected:.2g} on new ones"
    assert f"On new rows: expect the equalized odds gap to be about {expected:.2g} (at most 0.05 asked)" in box.text
    cards = [card.text for card in page.one("ul", class_="key").all("li")]
    assert any(f"at most 0.05 asked, about {expected:.2g} on new rows" in card for card in cards)


@pytest.mark.slow
def test_a_limit_that_will_hold_is_green_and_says_what_to_expect():
    sketch = synthetic(40_000)
    result = gf.solve(sketch, limits={"equalized_odds": 0.05})
    _, tone, box = page_of(result, sketch)
    assert (tone, box.one("h2").text) == ("good", "The limit is met")
    there = gf.audit(result, sketch).new_rows["equalized_odds"]
    said = f"about {there.mean:.2g} (at most 0.05 asked); nine of ten samples of 40 000 rows stay under "
    assert f"On new rows: expect the equalized odds gap to be {said}{there.nine_of_ten:.2g}. " in box.text
    assert "This assumes out-of-fold scores" in box.text


def test_intervals_are_said_to_be_those_of_thresholds_fixed_beforehand():
    sketch = synthetic()
    page, _, box = page_of(gf.solve(sketch, limits={"equalized_odds": 0.02}), sketch)
    assert "for thresholds fixed beforehand" in page.one(id="gaps").text
    assert "With 95" not in box.text
    assert "does not allow for thresholds that were found on the same rows" in box.text


def test_not_knowing_what_to_expect_is_not_green():
    sketch = synthetic()
    result = gf.solve(sketch, limits={"equalized_odds": 0.1})
    _, tone, box = page_of(result, sketch, audit=gf.audit(result, sketch, threshold_replicates=0))
    assert tone == "warn"
    assert box.one("h2").text == "The limit is met on the counted rows; what to expect on new ones is not known"
    assert "audit the thresholds on rows that were set aside" in box.text


@pytest.mark.slow
def test_the_page_speaks_of_as_many_new_rows_as_its_audit():
    sketch = synthetic()
    result = gf.solve(sketch, limits={"equalized_odds": 0.02, "disparate_impact": 0.5})
    audit = gf.audit(result, sketch, new_rows=300)
    page, _, box = page_of(result, sketch, audit=audit)
    odds, ratio = audit.new_rows["equalized_odds"], audit.new_rows["disparate_impact"]
    assert f"nine of ten samples of 300 rows stay under {odds.nine_of_ten:.2g}. Expect the disparate" in box.text
    assert f"nine of ten samples of 300 rows stay above {ratio.nine_of_ten:.2g}. This assumes" in box.text
    assert f"{odds.nine_of_ten:.4f}" in page.one(id="gaps").text
    assert "new_rows=300" in page.one(id="reproduce").text
    assert "new_rows=" not in page_of(result, sketch, audit=gf.audit(result, sketch))[0].one(id="reproduce").text


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"limits": {"equalized_odds": 0.02}}, "the loss is the square of the error rate"),
        ({"penalties": {"equalized_odds": 1.0}}, "the loss is the square of the error rate plus the penalties"),
        ({"objective": {"fp": 1, "fn": 3}}, "the loss is the square of the cost"),
        ({"objective": "balanced_error"}, "the loss is the square of the cost"),
    ],
)
def test_the_loss_is_told_from_the_error(asked, words):
    sketch = synthetic()
    page, _, _ = page_of(gf.solve(sketch, **asked), sketch)
    [proof] = [fact.text for fact in page.one(id="asked").all("dd") if "least possible loss" in fact.text]
    assert proof.endswith(f"; {words}")


def test_several_limits_are_named():
    sketch = synthetic(2_000)
    result = gf.solve(sketch, limits={"equal_opportunity": 0.001, "demographic_parity": 0.9})
    _, tone, box = page_of(result, sketch)
    assert tone == "warn"
    assert (
        "The limits are met on the counted rows; expect the equal opportunity gap to be about 0.0" in box.one("h2").text
    )
    assert "demographic parity" not in box.one("h2").text


@pytest.mark.parametrize(
    ("name", "limit", "expected", "over"),
    [
        ("equalized_odds", 0.04, 0.05, False),
        ("equalized_odds", 0.04, 0.051, True),
        ("equalized_odds", 0.0, 0.001, True),
        ("disparate_impact", 0.8, 0.75, False),
        ("disparate_impact", 0.8, 0.74, True),
        ("disparate_impact", 0.8, 0.9, False),
    ],
)
def test_clearly_is_by_a_quarter(name, limit, expected, over):
    assert clearly_over(name, limit, expected + (1e-9 if name == "disparate_impact" else -1e-9)) is over


def test_mixed_thresholds_are_shown_from_the_lowest_to_the_highest_in_use():
    sketch = synthetic(2_000)
    result = gf.solve(sketch, limits={"equalized_odds": 0.001}, randomize=True)
    used = [t for mixture in result.mixtures.values() for t, _ in mixture]
    assert min(used) < min(result.thresholds.values())
    page, _, box = page_of(result, sketch)
    card = page.one("ul", class_="key").all("li")[-1]
    assert card.one("span", class_="value").text == f"{min(used):.4f} to {max(used):.4f}"
    assert card.one("span", class_="was").text == "mixed by chance in each of 2 groups"
    assert "scans" not in box.text


def test_thresholds_are_told_from_their_neighbours():
    rows = np.linspace(0, 1, 4_000, endpoint=False)
    sketch = gf.Sketch.from_rows(rows, (rows > 0.5) * 1, np.arange(4_000) % 2, bins=65_536)
    result = gf.solve(sketch)
    exact = dict.fromkeys(result.thresholds, 0.5 + 2.0**-16)
    moved = changed(result, thresholds=exact)
    page, _, _ = page_of(moved, sketch)
    for part in ("thresholds", "scores", "verdict"):
        assert "0.50002" in page.one(id=part).text


def test_the_slider_says_where_a_point_decides_nothing():
    names = ("tab\there", "b")
    random = np.random.default_rng(0)
    groups, labels = random.integers(0, 2, 400), random.integers(0, 2, 400)
    scores = np.where(groups == 0, random.normal(2.0 * labels), random.normal(size=400))
    sketch = gf.Sketch.from_rows(scores, labels, np.array(names)[groups])
    result = gf.solve(sketch, limits={"equalized_odds": 0.2})
    page, _, _ = page_of(result, sketch, frontier=True)
    points = [point.split("\t") for point in json.loads(page.one("script", id="points").text)]
    assert len({len(point) for point in points}) == 1
    frontier = gf.frontier(sketch, "equalized_odds")
    words = {0.0: "rejects", 1.0: "accepts"}
    alike = {at.selection_rate for at in frontier.result(0).rates.values()}
    assert alike <= {0.0, 1.0}
    assert points[0][0].endswith(f"; {words[alike.pop()]} everybody in every group")
    assert "everybody" not in points[-1][0]


def test_a_limit_that_counted_rows_break_is_not_green():
    """Smooth densities know the rows only roughly: what they promise may not hold even here."""
    table = gf.datasets.paper_synthetic(20_000, seed=1)
    sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
    result = gf.solve(sketch, density="normal", limits={"equalized_odds": 0.02})
    assert result.gaps["equalized_odds"] <= 0.02 + 1e-12 < gf.audit(result, sketch).gaps["equalized_odds"].value
    page = gf.report(result, sketch, frontier=False).html
    assert "Met by the normal densities, but not on the counted rows: equalized odds" in page
    assert 'class="verdict warn"' in page


def test_what_is_not_proven_is_not_green():
    table = gf.datasets.paper_synthetic(4_000, seed=1)
    sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
    result = gf.solve(sketch, density="kde", method="newton", penalties={"equalized_odds": 1.0})
    assert result.verdict == "converged"
    assert 'class="verdict warn"' in gf.report(result, sketch, frontier=False).html


@pytest.mark.slow
def test_a_unified_threshold_for_lack_of_evidence_is_told(backend):
    rng = np.random.default_rng(1)
    labels = (rng.random(6_000) < 0.4).astype(int)
    sketch = gf.Sketch.from_rows(rng.normal(size=6_000) + 1.2 * labels, labels, rng.integers(0, 2, 6_000))
    result = gf.solve(sketch)
    assert result.verdict == "unified"
    page = gf.report(result, sketch).html
    assert "No evidence of a lower error than with one threshold for everybody" in page
    assert "With one threshold for everybody the error rate goes from" in page
    assert f"z = {result.evidence.z:.2f}, needed {result.evidence.needed:.2f}" in page
    assert "evidence=" not in page
    assert "evidence=0)" in gf.report(gf.solve(sketch, evidence=0), sketch).html
