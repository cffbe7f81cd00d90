"""Limits on a rate itself: floors and ceilings in every group, and a share of all rows."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

import gstar_fast as gf
from gstar_fast.__main__ import main

pytestmark = pytest.mark.filterwarnings(
    "ignore::gstar_fast.errors.DegenerateWarning",
    "ignore::gstar_fast.errors.MissingClassWarning",
    "ignore::gstar_fast.errors.NoiseWarning",
    "ignore::gstar_fast.errors.ResolutionWarning",
)
FLOOR = {"tpr": {"at_least": 0.7}}


def rows_of(seed, groups=3, most=40):
    """A few rows with ties, every group and label among them."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, groups + 1))
    group = np.concatenate([np.arange(k), np.arange(k), rng.integers(0, k, int(rng.integers(2, most)))])
    label = np.concatenate([np.zeros(k, int), np.ones(k, int), rng.integers(0, 2, len(group) - 2 * k)])
    return np.round(rng.normal(size=len(group)) + label, 1), label, group


def counted(score, label, group, threshold):
    """Rates of a group, and its wrong decisions, from the rows."""
    taken = score >= threshold
    return {
        "tpr": taken[label == 1].mean(),
        "fpr": taken[label == 0].mean(),
        "selection_rate": taken.mean(),
        "accuracy": (taken == label).mean(),
        "wrong": int((taken != label).sum()),
        "taken": int(taken.sum()),
    }


def holds(rates, rows, limits):
    """Whether thresholds of all groups meet the limits."""
    for name, asked in limits.items():
        if name == "selected":
            values = [sum(at["taken"] for at in rates) / rows]
        elif isinstance(asked, dict):
            values = [at[name] for at in rates]
        else:
            ends = [[at[rate] for at in rates] for rate in ("tpr", "fpr")]
            values, asked = [max(max(end) - min(end) for end in ends)], {"at_most": asked}
        low, high = asked.get("at_least", -math.inf), asked.get("at_most", math.inf)
        if not all(low - 1e-12 <= value <= high + 1e-12 for value in values):
            return False
    return True


def least_error(sketch, rows, limits, *, unified=False):
    """The least error by trying all thresholds; None where nothing meets the limits."""
    score, label, group = rows
    candidates = [-math.inf, *sketch.edges.tolist()]
    own = [(score[group == k], label[group == k]) for k in sketch.groups]
    table = [[counted(s, y, None, t) for t in candidates] for s, y in own]
    choices = zip(*table, strict=True) if unified else itertools.product(*table)
    found = [sum(at["wrong"] for at in rates) for rates in choices if holds(rates, len(score), limits)]
    return min(found) / len(score) if found else None


ENDS = st.one_of(
    st.builds(lambda x: {"at_least": x}, st.integers(0, 16).map(lambda x: x / 20)),
    st.builds(lambda x: {"at_most": x}, st.integers(2, 20).map(lambda x: x / 20)),
)
BOUNDS = st.dictionaries(st.sampled_from(["tpr", "fpr", "selection_rate", "accuracy"]), ENDS, min_size=1, max_size=3)


@pytest.mark.slow
@pytest.mark.every_backend
@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), limits=BOUNDS, gap=st.sampled_from([None, 0.1, 0.4]), unified=st.booleans())
def test_bounds_give_the_least_error_of_all_thresholds_that_keep_them(backend, seed, limits, gap, unified):
    rows = rows_of(seed)
    sketch = gf.Sketch.from_rows(*rows, bins=16)
    if gap is not None and len(sketch.groups) > 1:
        limits = {**limits, "equalized_odds": gap}
    result = gf.solve(sketch, limits=limits, unified=unified, evidence=0)
    least = least_error(sketch, rows, limits, unified=unified)
    assert result.verdict == ("infeasible" if least is None else "optimal")
    assert result.meets_limits == (least is not None)
    if least is not None:
        assert result.error == pytest.approx(least, abs=1e-12)
    result.check(sketch)
    assert gf.Result.from_json(result.to_json()) == result


@pytest.mark.every_backend
@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), limits=BOUNDS)
def test_mixtures_keep_bounds_and_cost_no_more(backend, seed, limits):
    rows = rows_of(seed)
    sketch = gf.Sketch.from_rows(*rows, bins=16)
    mixed = gf.solve(sketch, limits=limits, randomize=True, evidence=0)
    single = gf.solve(sketch, limits=limits, evidence=0)
    if single.meets_limits:
        assert mixed.error <= single.error + 1e-9
    if mixed.meets_limits:
        for name, asked in limits.items():
            for rates in mixed.rates.values():
                value = getattr(rates, name)
                assert asked.get("at_least", 0) - 1e-9 <= value <= asked.get("at_most", 1) + 1e-9
    mixed.check(sketch)


SHARE = st.dictionaries(st.sampled_from(["at_least", "at_most"]), st.integers(1, 19).map(lambda x: x / 20), min_size=1)
SHARES = SHARE.filter(lambda ends: ends.get("at_least", 0) <= ends.get("at_most", 1))


@pytest.mark.slow
@pytest.mark.every_backend
@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), share=SHARES, gap=st.sampled_from([None, 0.2, 0.5]), unified=st.booleans())
def test_a_share_of_all_rows_gives_the_least_error_of_all_thresholds_that_keep_it(backend, seed, share, gap, unified):
    rows = rows_of(seed)
    sketch = gf.Sketch.from_rows(*rows, bins=16)
    limits = {"selected": share, "tpr": {"at_least": 0.2}}
    if gap is not None and len(sketch.groups) > 1:
        limits["equalized_odds"] = gap
    result = gf.solve(sketch, limits=limits, unified=unified, evidence=0)
    least = least_error(sketch, rows, limits, unified=unified)
    assert result.verdict == ("infeasible" if least is None else "optimal")
    if least is not None:
        assert result.error == pytest.approx(least, abs=1e-12)
    result.check(sketch)
    assert gf.Result.from_json(result.to_json()) == result
    if not unified:
        mixed = gf.solve(sketch, limits=limits, randomize=True, evidence=0)
        mixed.check(sketch)
        assert least is None or mixed.error <= least + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_a_share_of_all_rows_is_the_optimum_of_highs_for_many_groups(seed):
    """Thresholds of four to six groups as a program of whole numbers, which shares nothing with the search."""
    rng = np.random.default_rng(seed)
    groups, rows = int(rng.integers(4, 7)), 300
    group, label = rng.integers(0, groups, rows), rng.integers(0, 2, rows)
    score = np.round(rng.normal(size=rows) + label + 0.3 * group, 1)
    sketch = gf.Sketch.from_rows(score, label, group, bins=32)
    candidates = [-math.inf, *sketch.edges.tolist()]
    taken = np.array([[(group == k) & (score >= t) for t in candidates] for k in range(groups)])  # (K, C, rows)
    wrong = (taken & (label == 0)).sum(axis=2) + ((group == np.arange(groups)[:, None]) & (label == 1)).sum(axis=1)[
        :, None
    ]
    wrong = wrong - (taken & (label == 1)).sum(axis=2)
    tpr = (taken & (label == 1)).sum(axis=2) / [[((group == k) & (label == 1)).sum()] for k in range(groups)]
    n = wrong.size  # one switch for each group and candidate, and the lowest tpr at the end
    one_each = np.hstack([np.kron(np.eye(groups), np.ones(len(candidates))), np.zeros((groups, 1))])
    share = np.append(taken.sum(axis=2).ravel(), 0) / rows
    own = np.hstack([np.kron(np.eye(groups), np.ones(len(candidates))) * tpr.ravel(), -np.ones((groups, 1))])
    found = milp(
        np.append(wrong.ravel(), 0),
        constraints=[
            LinearConstraint(one_each, 1, 1),
            LinearConstraint(share[None], -np.inf, 0.3 + 1e-9),
            LinearConstraint(own, 0, 0.2 + 1e-9),
        ],
        integrality=np.append(np.ones(n), 0),
        bounds=Bounds(0, 1),
    )
    result = gf.solve(sketch, limits={"selected": {"at_most": 0.3}, "equal_opportunity": 0.2}, evidence=0)
    assert result.verdict == "optimal"
    assert result.error * rows == pytest.approx(found.fun, abs=1e-6)
    assert sum(at.selection_rate * at.rows for at in result.rates.values()) <= 0.3 * rows + 1e-9
    result.check(sketch)


def test_a_share_counts_rows_without_a_label_and_weights():
    score, label = np.arange(20.0), [0, 1, None, 1] * 5
    sketch = gf.Sketch.from_rows(score, label, np.arange(20) % 2, bins=256)
    result = gf.solve(sketch, limits={"selected": {"at_most": 0.29}}, evidence=0)
    assert (score >= 0).sum() * 0.29 >= sum(at.selection_rate * at.rows for at in result.rates.values()) > 4
    weights = np.where(np.arange(20) < 18, 1.0, 10.0)
    weighted = gf.Sketch.from_rows(score, label, np.arange(20) % 2, weights=weights, bins=256)
    result = gf.solve(weighted, limits={"selected": {"at_most": 0.29}}, evidence=0)
    taken = result.decider()(score, np.arange(20) % 2)
    assert weights[taken].sum() / weights.sum() <= 0.29


def test_few_places_are_not_called_hardly_deciding():
    result = gf.solve(sketch_of_people(), limits={"selected": {"at_most": 0.005}})
    assert result.verdict == "optimal"
    assert "degenerate" not in {note.code for note in result.notes if "of all rows" in note.text}
    assert result.gaps.held[0].reached <= 0.005


def sketch_of_people(rows=4000):
    table = gf.datasets.paper_synthetic(rows=rows, seed=1)
    return gf.Sketch.from_rows(table.scores, table.labels, table.groups)


def test_a_floor_is_read_back_as_it_was_given():
    result = gf.solve(sketch_of_people(), limits={**FLOOR, "equalized_odds": 0.1})
    assert result.limits == {**FLOOR, "equalized_odds": 0.1}
    assert min(at.tpr for at in result.rates.values()) >= 0.7
    assert "asked: tpr >= 0.7, equalized_odds <= 0.1" in str(result)
    (held, _) = result.gaps.held
    assert held.met
    assert held.reached == min(at.tpr for at in result.rates.values())
    assert json.loads(result.to_json())["question"]["limits"][0] == {"of": "tpr", "at_least": 0.7}


def test_a_floor_out_of_reach_says_how_far():
    result = gf.solve(sketch_of_people(), limits={"tpr": {"at_least": 0.9}, "fpr": {"at_most": 0.05}})
    assert result.verdict == "infeasible"
    worst = max(max(0.9 - at.tpr, at.fpr - 0.05) for at in result.rates.values())
    assert result.proof.slack.each - 2e-5 < worst <= result.proof.slack.each + 1e-12


def test_evidence_and_penalties_go_with_floors():
    sketch = sketch_of_people()
    assert gf.solve(sketch, limits={"tpr": {"at_least": 0.1}}).verdict in ("optimal", "unified")
    result = gf.solve(sketch, limits=FLOOR, penalties={"equalized_odds": 1.0})
    assert result.verdict == "optimal"
    assert min(at.tpr for at in result.rates.values()) >= 0.7


def test_a_floor_by_segment_is_one_of_protected_groups():
    table = gf.datasets.paper_synthetic(rows=3000, seed=2)
    segment = np.random.default_rng(0).integers(0, 3, 3000)
    sketch = gf.Sketch.from_rows(table.scores, table.labels, [table.groups, segment], bins=64)
    result = gf.solve(sketch, limits={**FLOOR, "equal_opportunity": 0.1}, fair_between=0, decide_by=1)
    assert min(at.tpr for at in result.rates.values()) >= 0.7
    result.check(sketch)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"tpr": 0.7}, "tpr needs at_least or at_most, such as {'tpr': {'at_least': 0.7}}; got 0.7"),
        ({"selected": 0.1}, "needs at_least or at_most, such as {'selected': {'at_most': 0.1}}; got 0.1"),
        ({"tpr": {}}, "at_least or at_most"),
        ({"tpr": {"least": 0.7}}, "at_least or at_most"),
        ({"tpr": {"at_least": 1.2}}, "from 0 to 1"),
        ({"tpr": {"at_least": math.nan}}, "from 0 to 1"),
        ({"tpr": {"at_least": 0.7, "at_most": 0.5}}, "at_least not above at_most"),
        ({"tpr": {"at_least": "high"}}, "must be a number"),
        ({"tpr": {"at_least": True}}, "must be a number"),
        ({"equalized_odds": {"at_most": 0.1}}, "must be a number"),
        ({"recall": {"at_least": 0.7}}, "recall"),
    ],
)
def test_a_limit_that_says_nothing_is_rejected(limits, words):
    with pytest.raises((ValueError, TypeError)) as raised:
        gf.solve(sketch_of_people(100), limits=limits)
    assert words in str(raised.value)


def test_the_estimator_and_the_report_take_floors():
    sklearn = pytest.importorskip("sklearn.linear_model")
    table = gf.datasets.paper_synthetic(rows=3000, seed=1)
    model = gf.GroupThresholdClassifier(sklearn.LogisticRegression(), limits=FLOOR, cv=3)
    model.fit(table.scores[:, None], table.labels, sensitive_features=table.groups)
    assert min(at.tpr for at in model.result_.rates.values()) >= 0.7
    assert "tpr >= 0.7" in gf.report(model.result_, model.sketch_).html.replace("&gt;", ">")


def test_the_command_line_takes_floors(tmp_path, capsys):
    sketch_of_people().save(tmp_path / "s.gstar")
    out = tmp_path / "t.json"
    options = ["--limit", "tpr>=0.3", "--limit", "equalized_odds=0.1", "--limit", "selected<=0.25"]
    assert main(["solve", str(tmp_path / "s.gstar"), *options, "-o", str(out)]) == 0
    result = gf.Result.load(out)
    assert result.limits == {"tpr": {"at_least": 0.3}, "equalized_odds": 0.1, "selected": {"at_most": 0.25}}
    assert result.question.as_options()[:6] == options


@pytest.mark.parametrize("name", ["tpr", "selected"])
def test_the_command_line_takes_both_bounds_of_a_rate(name, tmp_path, capsys):
    sketch_of_people().save(tmp_path / "s.gstar")
    limits = {name: {"at_least": 0.2, "at_most": 0.9}}
    options = gf.solve(sketch_of_people(), limits=limits).question.as_options()
    assert options == ["--limit", f"{name}>=0.2", "--limit", f"{name}<=0.9"]
    for both in (options, options[2:] + options[:2]):
        assert main(["solve", str(tmp_path / "s.gstar"), *both, "-o", str(tmp_path / "t.json")]) == 0
        assert gf.Result.load(tmp_path / "t.json").limits == limits
    assert main(["solve", str(tmp_path / "s.gstar"), *options, *options[:2]]) == 2
    assert f"--limit {name} is given twice" in capsys.readouterr().err


def test_a_floor_is_certified_on_fresh_rows():
    result = gf.solve(sketch_of_people(), limits={"tpr": {"at_least": 0.6}})
    table = gf.datasets.paper_synthetic(rows=20_000, seed=9)
    fresh = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
    assert gf.certify(result, fresh).holds
    assert not gf.certify(result, fresh, limits={"tpr": {"at_least": 0.99}}).holds
    assert gf.certify(result, fresh, limits={"selected": {"at_most": 0.99}}).holds
    with pytest.raises(ValueError, match="needs limits"):
        gf.certify(result.thresholds, fresh)


def test_a_curve_of_promises_with_a_floor_is_rejected():
    with pytest.raises(ValueError, match="only limits on gaps can be promised"):
        gf.frontier(sketch_of_people(), "equalized_odds", limits=FLOOR, confidence=0.9)


@pytest.mark.parametrize("penalties", [None, [0.1, 1.0]])
def test_a_sweep_of_penalties_with_a_share_of_all_rows_is_rejected(penalties):
    share = {"selected": {"at_most": 0.3}}
    with pytest.raises(ValueError, match="limits does not go with penalties: a share of all rows"):
        gf.frontier(sketch_of_people(), "equalized_odds", limits=share, by="penalties", penalties=penalties)


def test_a_group_without_the_rows_of_a_floor_is_named():
    sketch = gf.Sketch.from_rows([1.0, 2.0, 3.0, 4.0], [0, 0, 0, 0], list("aabb"))
    with pytest.raises(ValueError, match="tpr needs a group that has some"):
        gf.solve(sketch, limits=FLOOR)
