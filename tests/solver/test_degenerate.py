"""Answers that hold their limits by hardly deciding are told apart, and pooling small groups cures them."""

from __future__ import annotations

import json
import pickle
import re
import warnings

import numpy as np
import pytest
from helpers.notes import texts
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast import datasets

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")  # few bins, to be quick

LIMITS = {"equalized_odds": 0.02}


def intersections(rows=4_000, seed=0, backend=None):
    """Two large groups, each with a large part and two of a few dozen rows."""
    table = datasets.paper_synthetic(rows=rows, seed=seed)
    places = ["north", "south", "isles", "abroad"]
    place = np.random.default_rng(seed).choice(places, len(table), p=[0.6, 0.37, 0.02, 0.01])
    return table.scores, table.labels, list(zip(table.groups.tolist(), place.tolist(), strict=True))


def warned(sketch, **asked):
    """The result, and what the DegenerateWarnings said."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = gf.solve(sketch, **asked)
    return result, [str(w.message) for w in caught if w.category is gf.errors.DegenerateWarning]


# ------------------------------------------------------------------------------------------------------- when it warns


def test_few_rows_that_force_it_are_named_and_what_helps_does(backend):
    """The words name the groups, and following them gives an answer that decides."""
    sketch = gf.Sketch.from_rows(*intersections())
    result, said = warned(sketch, limits=LIMITS)
    assert result.verdict == "optimal"
    assert result.error > 0.35
    assert len(said) == 1
    assert re.search(r"accepts 99.* % of all rows, where 62.* % are positive", said[0])
    assert "of what the best unified threshold gains" in said[0]
    assert "forced by few rows" in said[0]
    assert "(0, 'abroad') (4 negative labels)" in said[0]
    assert "'north'" not in said[0].partition("forced")[2], "large groups force nothing"
    assert "a looser limit or randomize=True" in said[0]
    least = int(re.search(r"min_rows=(\d+)", said[0])[1])
    cured, again = warned(sketch, limits=LIMITS, min_rows=least)
    assert again == []
    assert cured.error < 0.26
    mixed, again = warned(sketch, limits=LIMITS, randomize=True)
    assert again == []
    assert mixed.error < 0.26


def test_at_most_four_groups_are_named():
    """Six small groups force it; the words end with dots."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 4_120)
    groups = np.repeat(["large", *"abcdef"], [4_000, *[20] * 6])
    sketch = gf.Sketch.from_rows(rng.normal(labels, 1), labels, groups)
    _, said = warned(sketch, limits=LIMITS)
    named = said[0].partition("larger than the limit: ")[2].partition(";")[0]
    assert named.count("labels)") == 4
    assert named.endswith(", ...")


def test_rows_without_labels_count_for_the_number_of_rows_that_helps():
    """`min_rows` counts all rows of a group, so that the number that is named must count them too."""
    scores, labels, groups = intersections()
    sketch = gf.Sketch.from_rows(scores, labels, groups)
    small = sorted({name for name in groups if name[1] in ("isles", "abroad")})
    for name in small:
        sketch.update(np.linspace(-2, 2, 100), None, [name] * 100)
    _, said = warned(sketch, limits=LIMITS)
    named = [name for name in small if f"{name} (" in said[0].partition("forced")[2]]
    assert named
    least = int(re.search(r"min_rows=(\d+)", said[0])[1])
    assert least == max(groups.count(name) + 100 for name in named) + 1


def test_the_verdict_tells_it_and_keeps_it(backend, tmp_path):
    sketch = gf.Sketch.from_rows(*intersections())
    result, said = warned(sketch, limits=LIMITS)
    assert f"note: degenerate: {said[0]}\n" in str(result)
    assert f"degenerate: {said[0]}" in [note["text"] for note in json.loads(result.to_json())["notes"]]
    result.save(tmp_path / "t.json")
    assert str(gf.Result.load(tmp_path / "t.json")) == str(result)


def rows_of(cells):
    """Rows of groups, each (accepted and rejected negatives, rejected and accepted positives) at a threshold of 0."""
    scores, labels, groups = [], [], []
    for name, counts in cells.items():
        for score, label, n in zip((1.0, -1.0, -1.0, 1.0), (0, 0, 1, 1), counts, strict=True):
            scores += [score] * n
            labels += [label] * n
            groups += [name] * n
    return scores, labels, groups


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        # fp, tn, fn, tp
        ({"a": (0, 100, 8, 0), "b": (10, 100, 10, 100)}, "it rejects everybody in 'a', where 7.41 % are positive"),
        ({"a": (0, 500, 60, 4), "b": (10, 100, 10, 100)}, "it accepts 0.709 % of 'a', where 11.3 % are positive"),
        ({"a": (8, 0, 0, 100), "b": (10, 100, 10, 100)}, "it accepts everybody in 'a', where 92.6 % are positive"),
        ({"a": (0, 500, 60, 4), "b": (0, 500, 60, 4)}, "it accepts 0.709 % of all rows, where 11.3 % are positive"),
        ({"a": (0, 100, 2, 0), "b": (0, 90, 1, 0)}, "it rejects everybody, where 1.55 % are positive"),
    ],
)
def test_shares_that_are_hardly_a_decision(backend, cells, words):
    _, said = warned(gf.Sketch.from_rows(*rows_of(cells), bins=16))
    assert len(said) == 1
    assert said[0].startswith(words)
    assert said[0].endswith("what helps: objective='balanced_error' or other prices")


@pytest.mark.parametrize(
    "cells",
    [
        {"a": (0, 1000, 4, 0), "b": (10, 100, 10, 100)},  # 0.4 % positive: rejecting all is fine
        {"a": (4, 0, 0, 1000), "b": (10, 100, 10, 100)},  # 99.6 % positive: accepting all is fine
        {"a": (0, 1000, 0, 4), "b": (0, 1000, 0, 5)},  # rare and found: under 1 % accepted, and rightly
        {"a": (0, 10, 0, 0), "b": (0, 10, 0, 0)},  # one class only: no error to make
        {"a": (0, 500, 60, 6), "b": (10, 100, 10, 100)},  # 1.06 % accepted
        {"a": (10, 100, 10, 100), "b": (12, 80, 9, 100)},
    ],
)
@pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")
def test_decisions_that_are_as_they_should_be(backend, cells):
    _, said = warned(gf.Sketch.from_rows(*rows_of(cells), bins=16))
    assert said == []


def test_losing_what_the_unified_threshold_gains(backend):
    """Both groups are decided about, half by half, but no better than by a constant."""
    sketch = gf.Sketch.from_rows(*intersections(rows=8_000))
    kept, said = warned(sketch, limits={"equalized_odds": 0.001})
    gain = 0.375 - kept.before_error
    assert 0.375 - kept.error < gain / 4
    assert "gains over deciding all rows alike" in said[0]
    kept, said = warned(sketch, limits={"equalized_odds": 0.2})
    assert 0.375 - kept.error > gain / 4
    assert said == []


@pytest.mark.parametrize(("kept", "said_so"), [(10, True), (24, True), (25, False), (40, False)])
def test_a_quarter_of_the_gain_is_the_line(backend, kept, said_so):
    """By hand: 100 positives of group a can be told apart, nobody of b; the limit leaves `kept` of them."""
    scores = [2.0] * kept + [1.0] * (100 - kept) + [-1.0] * 100 + [-3.0] * 200
    sketch = gf.Sketch.from_rows(scores, ([1] * 100 + [0] * 100) * 2, ["a"] * 200 + ["b"] * 200, bins=64)
    result, said = warned(sketch, limits={"demographic_parity": kept / 200})
    assert (result.before_error, result.error) == (0.25, (200 - kept) / 400)
    assert (f"it keeps {kept} % of what the best unified threshold gains" in said[0]) == said_so
    assert ("best unified threshold gains" in said[0]) == said_so


def test_unified_penalties_mixtures_and_smooth_densities_are_looked_at_too(backend):
    few = gf.Sketch.from_rows(*rows_of({"a": (0, 500, 60, 4), "b": (10, 100, 10, 100)}))
    _, said = warned(few, penalties={"demographic_parity": 1e-6})
    assert "a lighter penalty" in said[0]
    _, said = warned(few, limits={"demographic_parity": 0.0}, unified=True)
    assert "a looser limit or a threshold for each group instead of unified=True" in said[0]
    _, said = warned(few, limits={"demographic_parity": 0.9}, randomize=True)
    assert "'a', where 11.3 % are positive" in said[0]
    assert "randomize" not in said[0]
    rng = np.random.default_rng(0)
    labels = (rng.random(4000) < 0.2).astype(int)
    weak = gf.Sketch.from_rows(rng.normal(labels * 0.2), labels, rng.integers(0, 2, 4000))
    _, said = warned(weak, density="normal")
    assert len(said) == 1


def test_an_infeasible_result_has_no_second_warning(backend):
    """An infeasible verdict says so itself: a second warning would only hide it."""
    sketch = gf.Sketch.from_rows([1, 2, 3, 4] * 2, [0, 0, 1, 1, 0, 1, 1, 1], list("aaaabbbb"))
    result, said = warned(sketch, limits={"accuracy_parity": 0, "demographic_parity": 0}, unified=True)
    assert result.verdict == "infeasible"
    assert said == []


def test_points_of_a_frontier_have_a_note_instead_of_a_warning(backend):
    sketch = gf.Sketch.from_rows(*intersections())
    found = gf.frontier(sketch, "equalized_odds")  # warnings are errors here
    assert "degenerate" in [note.code for note in found.at(gap=0.02).notes]


# ------------------------------------------------------------------------------------------------------------ min_rows


def test_pooled_groups_share_a_threshold_and_all_groups_are_told(backend):
    rows = intersections()
    sketch = gf.Sketch.from_rows(*rows)
    pooled = sketch.pooled(min_rows=100)
    result, inner = gf.solve(sketch, limits=LIMITS, min_rows=100), gf.solve(pooled, limits=LIMITS)
    small = set(pooled.pooled_groups)
    assert small == {(g, place) for g in (0, 1) for place in ("isles", "abroad")}
    assert result.groups == tuple(sorted(sketch.groups))
    assert all(result.thresholds[g] == inner.thresholds["other" if g in small else g] for g in result.groups)
    assert (result.error, result.gaps, result.loss) == (inner.error, inner.gaps, inner.loss)
    assert result.origin.digest == sketch.digest()
    assert result.question.min_rows == 100
    assert texts(result)[0].startswith("pooled, having fewer than 100 rows: (0, 'abroad'), (0, 'isles'), (1, 'abroad')")
    audit = gf.audit(result, sketch)
    for g in result.groups:
        for rate in ("tpr", "fpr", "selection_rate", "accuracy", "balanced_accuracy"):
            assert getattr(result.rates[g], rate) == pytest.approx(audit.rates[g][rate].value, abs=1e-15)
    assert audit.gaps["equalized_odds"].value > 0.02, "between the original groups"
    assert any("small groups were pooled" in note for note in texts(audit))
    decided = result.decider()(rows[0], rows[2])
    assert (decided != rows[1]).mean() == pytest.approx(result.error)


@given(least=st.integers(0, 3000), seed=st.integers(0, 5))
def test_a_pooled_answer_is_that_of_renamed_rows(backend, least, seed):
    scores, labels, groups = intersections(rows=800, seed=seed)
    sketch = gf.Sketch.from_rows(scores, labels, groups, bins=64)
    small = set(sketch.pooled(least).pooled_groups)
    if len(small) >= len(sketch.groups) - 1 > 0 and small == set(sketch.groups):
        with pytest.raises(ValueError, match=f"min_rows={least} pools all 8 groups into one"):
            gf.solve(sketch, limits=LIMITS, min_rows=least)
        return
    renamed = ["x" if g in small else str(g) for g in groups]
    expected, _ = warned(gf.Sketch.from_rows(scores, labels, renamed, bins=64), limits=LIMITS)
    result, _ = warned(sketch, limits=LIMITS, min_rows=least)
    assert result.error == expected.error
    assert {g: expected.thresholds["x" if g in small else str(g)] for g in result.groups} == result.thresholds


def test_every_way_of_solving_takes_min_rows(backend):
    sketch = gf.Sketch.from_rows(*intersections(rows=2_000), bins=64)
    for asked in (
        {"limits": LIMITS, "randomize": True},
        {"limits": {"equalized_odds": 0.2}, "unified": True},
        {"penalties": {"equalized_odds": 1.0}},
        {"penalties": {"equalized_odds": 1.0}, "density": "kde"},
        {"limits": LIMITS, "density": "normal"},
        {"penalties": {"equal_opportunity": 1.0}, "density": "kde", "method": "newton"},
    ):
        result = gf.solve(sketch, min_rows=100, **asked)
        shared = {result.thresholds[g] for g in result.groups if g[1] in ("isles", "abroad")}
        assert len(shared) == 1
        assert len(result.groups) == 8
        if result.mixtures is not None:
            assert len({result.mixtures[g] for g in result.groups if g[1] in ("isles", "abroad")}) == 1
        assert "pooled, having fewer than 100 rows" in str(result)
        assert pickle.loads(pickle.dumps(result)) == result
        assert gf.Result.from_json(result.to_json()) == result


def test_a_group_called_other_is_left_alone(backend):
    scores, labels, groups = intersections()
    names = ["other" if g == (0, "north") else str(g) for g in groups]
    result = gf.solve(gf.Sketch.from_rows(scores, labels, names), limits=LIMITS, min_rows=100)
    assert len(result.thresholds) == 8
    assert result.thresholds["other"] != result.thresholds["(0, 'isles')"]


def test_nothing_to_pool_changes_nothing(backend):
    table = datasets.paper_synthetic(rows=4_000, seed=3)
    sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups, bins=128)
    plain, pooled = gf.solve(sketch, limits=LIMITS), gf.solve(sketch, limits=LIMITS, min_rows=10)
    assert str(plain) == str(pooled)
    assert (plain.question.min_rows, pooled.question.min_rows) == (0, 10)


@pytest.mark.parametrize(
    ("least", "error", "words"),
    [
        ("5", TypeError, "min_rows must be a number of rows; got '5'"),
        (-1, ValueError, "min_rows must be finite and not negative; got -1"),
        (10**6, ValueError, r"min_rows=1e\+06 pools all 8 groups into one; choose it lower"),
    ],
)
def test_what_min_rows_cannot_be(backend, least, error, words):
    with pytest.raises(error, match=words):
        gf.solve(gf.Sketch.from_rows(*intersections(), bins=64), limits=LIMITS, min_rows=least)


def test_ready_made_densities_know_no_pooled_groups(backend):
    sketch = gf.Sketch.from_rows(*intersections(), bins=64)
    made = gf.density(sketch, kind="kde")
    with pytest.raises(ValueError, match=r"ready made know nothing of pooled groups.*density='kde'"):
        gf.solve(sketch, limits=LIMITS, density=made, min_rows=100)


# --------------------------------------------------------------------------------------------------------- mixing saves


@pytest.mark.parametrize("weighing", [{}, {"objective": {"fp": 1, "fn": 3}}], ids=str)
def test_mixing_saves_the_cost_that_mixtures_do_not_have(backend, weighing):
    sketch = gf.Sketch.from_rows(*intersections(), bins=256)
    asked = {"limits": LIMITS, "min_rows": 41, **weighing}
    plain, mixed = warned(sketch, **asked)[0], warned(sketch, **asked, randomize=True)[0]
    assert plain.mixing_saves(sketch) == pytest.approx(plain.cost - mixed.cost, abs=1e-9)
    assert plain.mixing_saves(sketch) > 0.002
    assert "mixing" not in str(plain)


def test_mixing_saves_by_segment():
    rng = np.random.default_rng(1)
    group, label, segment = (rng.integers(0, n, 2000) for n in (2, 2, 3))
    sketch = gf.Sketch.from_rows(rng.normal(label + 0.5 * group * segment), label, [group, segment], bins=64)
    asked = {"limits": {"equalized_odds": 0.02}, "fair_between": 0, "decide_by": 1, "evidence": 0}
    plain, mixed = warned(sketch, **asked)[0], warned(sketch, **asked, randomize=True)[0]
    assert plain.mixing_saves(sketch) == pytest.approx(plain.cost - mixed.cost, abs=1e-9)


def test_mixing_saves_is_none_where_nothing_can_be_mixed(backend):
    sketch = gf.Sketch.from_rows(*intersections(), bins=64)
    for asked in ({}, {"penalties": {"equalized_odds": 1.0}}, {"limits": {"equalized_odds": 0.5}, "unified": True}):
        assert gf.solve(sketch, **asked).mixing_saves(sketch) is None
    assert gf.solve(sketch, limits=LIMITS, randomize=True).mixing_saves(sketch) is None


# ------------------------------------------------------------------------------------- report, estimator, command line


@pytest.mark.slow
def test_a_report_is_not_green_and_says_what_was_pooled():
    from helpers.report_reader import read

    sketch = gf.Sketch.from_rows(*intersections())
    forced, _ = warned(sketch, limits=LIMITS)
    box = read(gf.report(forced, sketch, frontier=False).html).one(id="verdict").one("div", class_="verdict")
    assert box.attributes["class"] == "verdict warn"
    assert box.one("h2").text == "The limit is met, but the thresholds hardly decide"
    pooled = gf.solve(sketch, limits=LIMITS, min_rows=100)
    page = read(gf.report(pooled, sketch, frontier=False).html)
    box = page.one(id="verdict").one("div", class_="verdict")
    assert box.attributes["class"] == "verdict warn"
    assert box.one("h2").text == "Met with small groups pooled, but not between all groups: equalized odds"
    assert "pooled, having fewer than 100 rows" in box.text
    assert "limits={'equalized_odds': 0.02}, min_rows=100)" in page.text


def test_the_estimator_pools_warns_and_refuses_a_single_group(backend):
    pytest.importorskip("sklearn")
    from helpers.estimator_cases import prefit

    from gstar_fast import GroupThresholdClassifier

    scores, labels, groups = intersections()
    model = GroupThresholdClassifier(prefit(), limits=LIMITS, cv="prefit")
    with pytest.warns(gf.errors.DegenerateWarning, match=r"forced by few rows.*min_rows=41"):
        model.fit(scores[:, None], labels, sensitive_features=groups)
    model.set_params(min_rows=41).fit(scores[:, None], labels, sensitive_features=groups)  # without a warning
    assert model.result_ == gf.solve(gf.Sketch.from_rows(scores, labels, groups), limits=LIMITS, min_rows=41)
    decided = model.predict(scores[:, None], sensitive_features=groups)
    assert (decided != labels).mean() == pytest.approx(model.result_.error)
    with pytest.raises(TypeError, match="min_rows must be a number of rows"):
        model.set_params(min_rows="many").fit(scores[:, None], labels, sensitive_features=groups)
    with pytest.raises(ValueError, match="there is only one, 'all of us'; equalized_odds needs two groups"):
        model.set_params(min_rows=0).fit(scores[:, None], labels, sensitive_features=["all of us"] * len(labels))


def test_the_command_line_pools_and_notes(tmp_path, monkeypatch, capsys):
    from gstar_fast.__main__ import main

    monkeypatch.chdir(tmp_path)
    sketch = gf.Sketch.from_rows(*intersections())
    sketch.save("s.gstar")
    asked = ["solve", "s.gstar", "--limit", "equalized_odds=0.02"]
    assert main(asked) == 0
    said = capsys.readouterr()
    assert "optimal: " in said.out
    assert re.search(r"note: it accepts 99.* % of all rows.*what helps: --min-rows 41 \(pools these groups\)", said.err)
    assert "or --randomize" in said.err
    assert main([*asked, "--min-rows", "41", "-o", "t.json"]) == 0
    said = capsys.readouterr()
    assert "note: pooled, having fewer than 41 rows" in said.out
    assert "min-rows" not in said.err
    assert "randomize" not in said.err
    assert gf.Result.load("t.json") == gf.solve(sketch, limits=LIMITS, min_rows=41)
    assert main([*asked, "--min-rows", "-3"]) == 2
    assert "--min-rows must be finite and not negative" in capsys.readouterr().err
    assert main(["solve", "s.gstar", "--limit", "predictive_parity=0.02"]) == 2
    said = capsys.readouterr().err
    assert "no criterion 'predictive_parity'; predictive parity (equal ppv) is not offered" in said
    assert "did you mean" not in said
    assert main(["solve", "s.gstar", "--limit", "disparate_impact=0.02", "-o", "t.json"]) == 0
    assert (
        "did you mean 0.98, 0.8 (the four-fifths rule), or --limit demographic_parity=0.02?" in capsys.readouterr().err
    )


# ------------------------------------------------------------------------------------------------------------- segments


def test_a_segment_that_is_hardly_decided_about_is_named(backend):
    """Gaps close by accepting all of one segment, while every protected group is decided about."""
    rng = np.random.default_rng(0)
    sex, label, segment = (rng.integers(0, n, 4000) for n in (2, 2, 3))
    score = np.rint(rng.normal(label * 1.5 + 0.4 * sex - 0.3 * segment, 1.0) * 16) / 16
    sketch = gf.Sketch.from_rows(score, label, [sex, segment], bins=64)
    ask = {"fair_between": 0, "decide_by": 1}
    result, said = warned(sketch, limits={"equalized_odds": 0.03}, **ask)
    shares = {name: at.selection_rate for name, at in result.rates.by_segment.items()}
    poor = [name for name, share in shares.items() if not 0.01 <= share <= 0.99]
    assert poor
    assert all(0.01 <= at.selection_rate <= 0.99 for at in result.rates.values())
    assert len(said) == 1
    assert re.search(rf"(accepts [\d.]+ % of|accepts everybody in|rejects everybody in) segment {poor[0]}", said[0])
    assert said[0].endswith("other segments")
    assert not warned(sketch, **ask)[1]


def test_more_segments_than_the_smallest_cell_carries_are_warned_of():
    rng = np.random.default_rng(0)
    sex, label, segment = (rng.integers(0, n, 1300) for n in (2, 2, 4))
    score = rng.normal(label * 3.0 + 0.1 * sex, 1.0)
    ask = {"limits": {"equalized_odds": 0.2}, "fair_between": 0, "decide_by": 1, "evidence": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gf.solve(gf.Sketch.from_rows(score, label, [sex, segment]), **ask)  # about 325 rows of each cell
        gf.solve(gf.Sketch.from_rows(score, label, [sex, 0 * segment]), **ask)
    few = slice(0, 800)
    with pytest.warns(gf.errors.OverfitWarning, match=r"4 segments .* enough for [23] at 64 a segment"):
        gf.solve(gf.Sketch.from_rows(score[few], label[few], [sex[few], segment[few]]), **ask)
