"""Reports of every kind of result: verdicts, few and many groups, missing classes, infinities, mixtures, weights."""

import dataclasses
import warnings

import numpy as np
import pytest
from helpers.notes import texts
from helpers.report_reader import head_of, read, rows_of, synthetic
from helpers.results import changed

import gstar_fast as gf
from gstar_fast._base.text import short_number
from gstar_fast._report.data import featured

# ---------------------------------------------------------------------------------------------------------- verdicts


def banner(result, sketch, **options):
    node = (
        read(gf.report(result, sketch, frontier=False, **options).html).one(id="verdict").one("div", class_="verdict")
    )
    return node.attributes["class"].split()[1], node.one("h2").text


@pytest.mark.slow
def test_only_what_holds_and_is_proven_is_green(sketch, result):
    assert banner(gf.solve(sketch, limits={"equalized_odds": 0.05}), sketch) == ("good", "The limit is met")
    there = gf.audit(result, sketch).new_rows["equalized_odds"]  # as many new rows have their own chance
    words = f"The limit is met on the counted rows; expect about {there.mean:.2g} on new ones"
    assert banner(result, sketch) == ("warn", words)
    unproven = changed(result, verdict="not_converged")
    assert banner(unproven, sketch) == ("warn", "Thresholds found, but not proven to be the best")
    broken = changed(result, limits={"equalized_odds": 0.001})
    assert banner(broken, sketch) == ("bad", "A limit is not met: equalized odds")
    ratio = gf.solve(sketch, limits={"disparate_impact": 0.8, "equalized_odds": 0.1})
    assert banner(ratio, sketch) == ("good", "The limits are met")
    assert banner(changed(ratio, limits={"disparate_impact": 0.999}), sketch)[0] == "bad"
    assert banner(gf.solve(sketch, penalties={"equalized_odds": 1.0}), sketch)[1] == "Best balance of error and gaps"
    assert banner(gf.solve(sketch), sketch) == ("good", "Least error")


def test_limits_out_of_reach_are_said_first():
    random = np.random.default_rng(0)
    labels, groups = random.integers(0, 2, 400), random.integers(0, 2, 400)
    scores = np.where(groups == 0, random.normal(3.0 * labels), random.normal(size=400))
    sketch = gf.Sketch.from_rows(scores, labels, groups)
    result = gf.solve(sketch, limits={"accuracy_parity": 0.0, "predictive_equality": 0.01}, unified=True)
    assert result.verdict == "infeasible"
    page = read(gf.report(result, sketch).html)
    node = page.one(id="verdict").one("div", class_="verdict")
    assert node.attributes["class"] == "verdict bad"
    assert node.one("h2").text == "The limits cannot be met"
    assert result.message in node.text
    assert "With one threshold for everybody the error rate goes from" in node.text
    assert any(row[1].endswith("not met") for row in rows_of(page, "Gaps"))


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")
def test_meeting_a_limit_by_deciding_nothing_is_not_green():
    sketch = gf.Sketch.from_rows([1, 2, 1, 2] * 10, [0, 1, 1, 0] * 10, ["a", "a", "b", "b"] * 10)
    result = gf.solve(sketch, limits={"equalized_odds": 0.0}, objective={"fp": 1, "fn": 50})
    tone, headline = banner(result, sketch)
    assert (tone, headline) == ("warn", "The limit is met, but only by accepting everybody")
    assert all(at.selection_rate == 1.0 for at in result.rates.values())


# ------------------------------------------------------------------------------------------------------------ shapes


def test_one_group_has_no_gaps_and_no_trade_off():
    sketch = gf.Sketch.from_rows([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], ["only"] * 4)
    page = read(gf.report(gf.solve(sketch), sketch).html)
    assert "every gap is 0" in page.one(id="gaps").text
    assert "With one group there is no gap" in page.one(id="frontier").text
    assert not page.all("input")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gstar_fast.errors.MissingClassWarning")
def test_missing_classes_constant_scores_and_infinities_are_drawn():
    scores = [-np.inf, np.inf, 1.0, 1.0, 1.0, 2.0, 0.5, 3.0, 4.0, 5.0]
    labels = [0, 1, 0, 0, 0, 1, 1, 1, 1, 0]
    groups = ["mixed"] * 2 + ["constant"] * 4 + ["positive"] * 2 + ["mixed"] * 2
    sketch = gf.Sketch.from_rows(scores, labels, groups)
    result = gf.solve(sketch, limits={"equal_opportunity": 0.5})
    page = read(gf.report(result, sketch).html)
    rows = {row[0]: row for row in rows_of(page, "Thresholds and what they do")}
    assert rows["positive"][-1] == "-"  # no negative labels, no fpr
    notes = [node.text for node in page.one(id="notes").all("li")]
    assert set(notes) == {*texts(result), *texts(gf.audit(result, sketch))}
    assert any("'positive'" in note for note in notes)
    assert "No curve: label 0, group 'constant'" in page.one(id="scores").text
    legend = [entry.text for entry in page.one(id="roc").one("ul", class_="legend").all("li")]
    assert legend == ["constant", "mixed", "empty sign: at the unified threshold"]
    assert "No curve, because there are no rows of one label: positive." in page.one(id="roc").text
    assert "nan" not in page.one("main").text.lower().replace("nan skipped", "")


def test_accepting_everybody_is_drawn_at_the_edge(sketch):
    result = gf.solve(sketch, limits={"equalized_odds": 0.02}, objective={"fp": 1, "fn": 10_000})
    everybody = changed(result, thresholds=dict.fromkeys(result.thresholds, -np.inf))
    page = read(gf.report(everybody, sketch, frontier=False).html)
    assert page.one(id="scores").text.count("-inf: accepts all") == 2
    assert gf.Result.from_json(page.one("script", id="result").text).thresholds["men"] == -np.inf


def test_a_mixture_is_shown_with_its_probabilities():
    sketch = synthetic(2_000)
    result = gf.solve(sketch, limits={"equalized_odds": 0.001}, randomize=True)
    assert any(len(mixture) > 1 for mixture in result.mixtures.values())
    page = read(gf.report(result, sketch).html)
    rows = {row[0]: row[2] for row in rows_of(page, "Thresholds and what they do")}
    for name, mixture in result.mixtures.items():
        for threshold, probability in mixture:
            assert short_number(threshold) in rows[name]
            if len(mixture) > 1:
                assert f"{100 * probability:.3g}\u00a0%\u00a0{short_number(threshold)}" in rows[name]
    assert "The chosen thresholds are a point of the curve" in page.one(id="frontier").text


def test_rows_with_weights_are_rows_and_their_weight_is_named():
    table = gf.datasets.paper_synthetic(rows=2_000, seed=1)
    weights = np.random.default_rng(0).uniform(0.5, 2, 2_000)
    sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups, weights=weights)
    page = read(gf.report(gf.solve(sketch, limits={"equalized_odds": 0.02}), sketch).html)
    assert head_of(page, "Thresholds and what they do")[1] == "rows"
    assert "2 000 rows in 2 groups" in page.one("header").text.replace("\u00a0", " ")
    assert f"2 000 rows of weight {sketch.weight:.10g}" in page.one(id="reproduce").text.replace("\u00a0", " ")
    assert "rows have a total weight of" in page.one(id="notes").text


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gstar_fast.errors.MissingClassWarning")
def test_fifty_groups_show_the_extreme_ones_and_list_all():
    random = np.random.default_rng(3)
    groups, labels = random.integers(0, 50, 5_000), random.integers(0, 2, 5_000)
    scores = random.normal(labels + random.normal(0, 0.5, 50)[groups])
    sketch = gf.Sketch.from_rows(scores, labels, groups)
    result = gf.solve(sketch, limits={"demographic_parity": 0.1})
    audit = gf.audit(result, sketch, threshold_replicates=0)
    page = read(gf.report(result, sketch, audit=audit).html)
    assert len(page.all("div", class_="panel")) == 8
    assert len(rows_of(page, "Thresholds and what they do")) == 50
    assert len(rows_of(page, "Rates before and after")) == 2 * 51
    drawn = featured(audit)
    for metric in ("tpr", "fpr", "selection_rate"):
        values = {g: audit.rates[g][metric].value for g in audit.groups}
        assert min(values, key=values.get) in drawn
        assert max(values, key=values.get) in drawn
    assert "takes long to compute" in page.one(id="frontier").text
    asked = read(gf.report(result, sketch, audit=audit, frontier=gf.frontier(sketch, "demographic_parity")).html)
    assert len(rows_of(asked, "Groups at this point")) == 50


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")  # groups of eight rows
def test_more_groups_than_tables_can_hold_are_counted():
    groups = np.repeat(np.arange(250), 8)
    random = np.random.default_rng(0)
    labels = np.tile([0, 1], 1_000)
    sketch = gf.Sketch.from_rows(random.normal(labels), labels, groups)
    result = gf.solve(sketch, limits={"demographic_parity": 0.9})
    page = read(gf.report(result, sketch, audit=gf.audit(result, sketch, threshold_replicates=0)).html)
    assert len(rows_of(page, "Thresholds and what they do")) == 200
    assert "50 more groups are not listed" in page.one(id="thresholds").text


@pytest.mark.slow
def test_a_loaded_result_gives_the_same_page(sketch, result, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1893456000")
    result.save(tmp_path / "thresholds.json")
    loaded = gf.Result.load(tmp_path / "thresholds.json")
    assert gf.report(loaded, sketch).html == gf.report(result, sketch).html


@pytest.mark.slow
def test_where_the_result_is_not_on_the_curve_the_page_says_why(sketch):
    together = gf.solve(sketch, limits={"equalized_odds": 0.02}, penalties={"demographic_parity": 3.0})
    for result, why in (
        (
            gf.solve(sketch, limits={"equalized_odds": 0.1}, unified=True),
            "one threshold for everybody is a narrower choice",
        ),
        (gf.solve(sketch, penalties={"equalized_odds": 5.0}, density="kde"), "found on kde densities"),
        (together, "more was asked than this one gap"),
    ):
        assert why in read(gf.report(result, sketch).html).one(id="frontier").text
    random = np.random.default_rng(0)
    labels, groups = random.integers(0, 2, 2_000), random.integers(0, 4, 2_000)
    four = gf.Sketch.from_rows(random.normal(labels * (1 + groups / 2) + groups / 3), labels, groups)
    weighed = gf.solve(four, penalties={"equalized_odds": 1.0})
    assert "a penalty weighs squared gaps" in read(gf.report(weighed, four).html).one(id="frontier").text
    other = gf.solve(sketch, penalties={"demographic_parity": 3.0})
    page = read(gf.report(other, sketch, criterion="equal_opportunity").html)
    assert "nothing was asked of this gap" in page.one(id="frontier").text


@pytest.mark.slow
def test_with_costs_the_curve_is_the_cost(sketch):
    result = gf.solve(sketch, limits={"equalized_odds": 0.05}, objective={"fp": 1, "fn": 3})
    page = read(gf.report(result, sketch).html)
    rows = dict(rows_of(page, "Error and gaps at this point"))
    assert rows["cost"] == short_number(float(np.sqrt(result.loss)))
    assert rows["error rate"] == short_number(result.error)
    unified = gf.solve(sketch, objective={"fp": 1, "fn": 3, "balanced": True}, unified=True)
    titles = [t.text for t in read(gf.report(unified, sketch).html).one(id="frontier").all("title")]
    gap, error = short_number(unified.gaps["equalized_odds"]), short_number(unified.loss**0.5)
    assert f"chosen thresholds: gap {gap}, error {error}" in titles


def test_a_frontier_of_one_point_shows_no_trade_off():
    sketch = gf.Sketch.from_rows([1, 2, 3, 4] * 20, [0, 0, 1, 1] * 20, ["a", "b"] * 40)
    page = read(gf.report(gf.solve(sketch, limits={"demographic_parity": 0.5}), sketch).html)
    assert "There is no trade-off to show: the least error, 0.0000" in page.one(id="frontier").text


def test_making_a_report_warns_of_nothing_new():
    sketch = gf.Sketch.from_rows([0.1, 0.9, 0.4, 0.2, 0.6, 0.7], [0, 1, 1, 0, 1, 1], list("aaabbc"))
    with pytest.warns(gf.errors.MissingClassWarning):
        result = gf.solve(sketch, limits={"predictive_equality": 0.5})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = gf.report(result, sketch).html
    assert "left out of the fpr gap" in text


def test_another_before_is_called_what_it_is(sketch, result):
    before = gf.audit({"men": 0.0, "women": 1.0}, sketch)
    page = read(gf.report(result, sketch, before=before, frontier=False).html)
    gaps = page.one(id="gaps").text
    assert "not the best unified threshold" in gaps
    assert "before: one threshold for all" not in gaps
    rows = {row[0]: row for row in rows_of(page, "Gaps")}
    assert rows["equalized odds"][2].startswith(short_number(before.gaps["equalized_odds"].value))
    assert "given by hand" in page.one("pre").text


@pytest.mark.slow
def test_a_frontier_is_called_what_it_is(sketch, result):
    def words(frontier):
        return read(gf.report(result, sketch, frontier=frontier).html).one(id="frontier").all("p")[0].text

    every = gf.frontier(sketch, "equalized_odds")
    assert words(every).startswith("No thresholds have both a smaller equalized odds gap and a smaller error")
    stopped = dataclasses.replace(every, proven_to=0.25)
    assert "for gaps from 0.2500 up; below, the search was stopped" in words(stopped)
    assert "mixtures of thresholds" in words(gf.frontier(sketch, "equalized_odds", randomize=True))
    swept = gf.frontier(sketch, "equalized_odds", by="penalties", penalties=[0.1, 1.0, 10.0])
    assert words(swept).startswith("The points that a penalty on the equalized odds gap reaches, 3 of 3.")


@pytest.mark.parametrize("scale", [0.0, 1e-310, 5e-324])
@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::gstar_fast.errors.DegenerateWarning")
def test_scores_that_are_all_zero_or_next_to_it_are_drawn(scale):
    scores = scale * np.arange(200) % 8
    sketch = gf.Sketch.from_rows(scores, np.arange(200) // 100, np.arange(200) % 2)
    pictures = read(gf.report(gf.solve(sketch), sketch, frontier=False).html).all("path")
    assert pictures
    assert not any("nan" in path.attributes["d"] for path in pictures)
