"""Every warning points at the line of the user's code that has to change."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast import errors


def rows(n, groups, *, seed=1, spread=1.0, shift=0.0):
    """Scores, labels and groups, which differ by `shift`."""
    rng = np.random.default_rng(seed)
    labels, names = rng.integers(0, 2, n), rng.integers(0, groups, n)
    return rng.normal(labels * spread + names * shift, 1.0), labels, names


def sketch_of(*given, **options):
    return gf.Sketch.from_rows(*rows(*given, **options))


def missing_class():
    scores, labels, groups = rows(3_000, 3)
    return gf.solve(
        gf.Sketch.from_rows(scores, np.where(groups == 2, 0, labels), groups), limits={"equal_opportunity": 0.2}
    )


def overfit():
    scores, labels, groups = rows(400, 2)
    segments = np.random.default_rng(2).integers(0, 30, 400)
    sketch = gf.Sketch.from_rows(scores, labels, np.column_stack([groups, segments]))
    return gf.solve(sketch, fair_between=[0], decide_by=[1], limits={"equal_opportunity": 0.1}, evidence=0)


def resolution():
    scores, labels, groups = rows(3_000, 2)
    return gf.solve(gf.Sketch.from_rows(1002 + scores / 1000, labels, groups, range=(0, 16_384)))


def infeasible():
    """All scores are equal and the groups have different shares of positives, so no thresholds meet both limits."""
    labels, groups = [0, 1, 0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 1, 1, 1, 1]
    sketch = gf.Sketch.from_rows([0.5] * 8, labels, groups)
    return gf.solve(sketch, limits={"accuracy_parity": 0.0, "demographic_parity": 0.0})


def sentinel():
    scores, labels, groups = rows(3_000, 2)
    return gf.Sketch.from_rows(np.where(np.arange(3_000) % 100, scores, -999.0), labels, groups)


def unpromised():
    return gf.solve(sketch_of(500, 2, shift=1.0), limits={"equalized_odds": 0.001}, confidence=0.95)


def converge_early():
    table = gf.datasets.paper_synthetic(rows=8_000, seed=1)
    sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
    for penalty in (0.01, 1.0, 100.0, 1e4):
        gf.solve(sketch, penalties={"equal_opportunity": penalty}, method="gauss_newton", density="normal")


def weights_for_a_model_without():
    from sklearn.neighbors import KNeighborsClassifier

    scores, labels, groups = rows(300, 2)
    model = gf.GroupThresholdClassifier(KNeighborsClassifier(), limits={"equal_opportunity": 0.5})
    return model.fit(scores[:, None], labels, sensitive_features=groups, sample_weight=np.full(300, 2.0))


def contradicted():
    """The score depends on the probability of a group, not only on the group."""
    rng = np.random.default_rng(1)
    groups, labels = rng.integers(0, 2, 4_000), rng.integers(0, 2, 4_000)
    likely = 1 / (1 + np.exp(-0.6 * (rng.normal(0.6 * groups) - 0.3)))
    scores = rng.normal(4.0 * labels - 6.0 * groups + 6.0 * likely)
    return gf.ProxySketch([0, 1]).update(scores, labels, np.column_stack([1 - likely, likely])).unmixed()


def wrong_positive():
    """No row has the positive label."""
    import polars as pl

    scores, labels, groups = rows(300, 2)
    table = pl.DataFrame({"p": scores, "y": np.where(labels, "yes", "no"), "g": groups})
    sketch = gf.Sketch().update_table(table, score="p", label="y", group="g", positive="Yes")
    return gf.solve(sketch)


def expired():
    live = gf.LiveDecider(gf.Decider({"F": 0.25}, expires="2001-02-03T04:05:06Z"))
    return live([0.5], ["F"])


def saved(result, tmp_path):
    path = tmp_path / "t.json"
    path.write_text(result.to_json())
    return gf.Decider.load(path)


CASES = {
    "contradicted": (gf.errors.AssumptionWarning, contradicted),
    "degenerate": (
        gf.errors.DegenerateWarning,
        lambda: gf.solve(sketch_of(3_000, 2), objective={"fp": 1.0, "fn": 1e-6}),
    ),
    "expired": (gf.errors.ExpiredWarning, expired),
    "label": (gf.errors.LabelWarning, wrong_positive),
    "low ratio": (errors.InputWarning, lambda: gf.solve(sketch_of(3_000, 2), limits={"disparate_impact": 0.1})),
    "missing class": (gf.errors.MissingClassWarning, missing_class),
    "noise": (gf.errors.NoiseWarning, lambda: gf.solve(sketch_of(300, 2), limits={"equalized_odds": 0.001})),
    "not converged": (gf.errors.NotConvergedWarning, converge_early),
    "overfit": (gf.errors.OverfitWarning, overfit),
    "repeated rows": (gf.errors.RepeatedRowsWarning, lambda: gf.merge_all([sketch_of(300, 2).to_bytes()] * 2)),
    "resolution": (gf.errors.ResolutionWarning, resolution),
    "sentinel": (gf.errors.SentinelWarning, sentinel),
    "weights": (UserWarning, weights_for_a_model_without),
}


def caught_in(ask):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ask()
    return caught


@pytest.mark.parametrize("case", CASES)
def test_a_warning_names_the_file_of_the_caller(backend, case):
    kind, ask = CASES[case]
    caught = caught_in(ask)
    assert any(type(one.message) is kind for one in caught), [str(one.message) for one in caught]
    assert {one.filename for one in caught} == {__file__}


@pytest.mark.parametrize("way", ["pipeline", "cross_val_predict", "search"])
def test_a_warning_of_a_model_that_scikit_learn_fits_names_the_file_of_the_caller(way):
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, cross_val_predict
    from sklearn.pipeline import make_pipeline

    scores, labels, groups = rows(200, 2)
    table = np.column_stack([scores, groups])
    model = gf.GroupThresholdClassifier(
        LogisticRegression(), limits={"equalized_odds": 0.001}, sensitive_features=1, evidence=0
    )
    ways = {
        "pipeline": lambda: make_pipeline(model).fit(table, labels),
        "cross_val_predict": lambda: cross_val_predict(model, table, labels, cv=2),
        "search": lambda: GridSearchCV(model, {"cv": [2]}, cv=2).fit(table, labels),
    }
    caught = caught_in(ways[way])
    assert any(type(one.message) is gf.errors.NoiseWarning for one in caught)
    assert {one.filename for one in caught} == {__file__}


@pytest.mark.parametrize(
    ("make", "kind"), [(infeasible, gf.errors.InfeasibleWarning), (unpromised, gf.errors.UnpromisedWarning)]
)
def test_thresholds_that_are_about_to_decide_name_the_file_of_the_caller(tmp_path, make, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = make()
    for ask in (result.decider, lambda: saved(result, tmp_path)):
        caught = caught_in(ask)
        assert [type(one.message) for one in caught] == [kind]
        assert {one.filename for one in caught} == {__file__}


def test_every_class_of_warnings_is_tried():
    every = {getattr(errors, name) for name in errors.__all__ if name.endswith("Warning")}
    tried = {kind for kind, _ in CASES.values()} | {gf.errors.InfeasibleWarning, gf.errors.UnpromisedWarning}
    assert every <= tried
