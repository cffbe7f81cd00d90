"""Models, sketches, results and deciders are saved and loaded with skops, joblib, cloudpickle and pickle."""

import io
import pickle

import cloudpickle
import joblib
import numpy as np
import pytest
import skops.io
from helpers.estimator_cases import people
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gstar_fast as gf

LIMITS = {"equalized_odds": 0.1}
ALL, y = people(600)
X = ALL.drop(columns="race")
# What docs/guide/estimator.md tells users to trust.
TRUSTED = ["gstar_fast.GroupThresholdClassifier", "gstar_fast.Result", "gstar_fast.Sketch"]
BY_PROBABILITY = ["gstar_fast.GroupProbability", "gstar_fast.Segments"]


def by_skops(one):
    data = skops.io.dumps(one)
    others = {"gstar_fast.Decider", "gstar_fast.Window"}
    assert set(skops.io.get_untrusted_types(data=data)) <= {*TRUSTED, *BY_PROBABILITY, *others}
    return skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))


def by_joblib(one):
    file = io.BytesIO()
    joblib.dump(one, file, compress=3)
    file.seek(0)
    return joblib.load(file)


WAYS = {
    "skops": by_skops,
    "joblib": by_joblib,
    "cloudpickle": lambda one: cloudpickle.loads(cloudpickle.dumps(one)),
    "pickle": lambda one: pickle.loads(pickle.dumps(one)),
}
pytestmark = [
    pytest.mark.filterwarnings("ignore::gstar_fast.errors.NoiseWarning"),
    pytest.mark.filterwarnings("ignore::gstar_fast.errors.OverfitWarning"),
    pytest.mark.filterwarnings("ignore::gstar_fast.errors.UnpromisedWarning"),
]
MODELS = {
    "one column": ({"sensitive_features": "sex"}, X),
    "two columns": ({"sensitive_features": ["sex", "race"]}, ALL),
    "a promise": ({"sensitive_features": "sex", "confidence": 0.8}, X),
    "by a column": ({"sensitive_features": "sex", "decide_by": "race", "drop_decide_by": True}, ALL),
    "by a probability": (
        {"sensitive_features": "sex", "decide_by": gf.GroupProbability(LogisticRegression(), group="F")},
        X,
    ),
}


def model_of(kind):
    options, table = MODELS[kind]
    inside = make_pipeline(StandardScaler(), LogisticRegression())
    return gf.GroupThresholdClassifier(inside, limits=LIMITS, **options), table


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_that_has_decided_is_saved_as_before(kind):
    model, table = model_of(kind)
    before = skops.io.get_untrusted_types(data=skops.io.dumps(model.fit(table, y)))
    state = pickle.dumps(model)
    model.predict(table)
    assert pickle.dumps(model) == state
    assert skops.io.get_untrusted_types(data=skops.io.dumps(model)) == before
    assert set(before) <= {*TRUSTED, *BY_PROBABILITY}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", MODELS)
def test_a_fitted_model_comes_back(kind, way):
    model, table = model_of(kind)
    model.fit(table, y)
    again = WAYS[way](model)
    assert type(again) is gf.GroupThresholdClassifier
    assert again.result_ == model.result_
    assert again.sketch_ == model.sketch_
    assert np.array_equal(again.predict(table), model.predict(table))
    assert again.partial_fit(table, y).sketch_ == model.partial_fit(table, y).sketch_
    assert again.result_ == model.result_


@pytest.mark.parametrize("way", WAYS)
def test_a_model_that_is_not_fitted_comes_back(way):
    again = WAYS[way](model_of("one column")[0])
    assert not hasattr(again, "sketch_")
    assert again.fit(X, y).result_ == model_of("one column")[0].fit(X, y).result_


@pytest.mark.parametrize("way", WAYS)
def test_an_awkward_sketch_comes_back(backend, way):
    options = {"bins": 64, "missing": -999.0, "memory_limit": 2**20}
    sketch = gf.Sketch(nan="skip", **options)
    sketch.update([0.1, -0.5, np.inf, -999.0, np.nan], [0, 1, None, 1, 0], ["F", 7, ("F", 7), "F", True])
    sketch.update([0.3], [1], ["M"], weights=[0.5])
    again = WAYS[way](sketch)
    assert type(again) is gf.Sketch
    assert again.to_bytes() == sketch.to_bytes()
    assert again.update([-999.0, np.nan], [1, 1], ["F", "F"]).skipped == sketch.skipped + 2
    with pytest.raises(MemoryError, match="memory_limit"):
        again.update(range(3000), None, range(3000))
    window = gf.Window(panes=3, **options).update([0.1, -999.0], [0, 1], ["F", "F"]).advance().update([1], [1], ["M"])
    back = WAYS[way](window)
    assert (back.to_bytes(), len(back), back.sketch) == (window.to_bytes(), 2, window.sketch)
    assert back.update([-999.0], [1], ["F"]).sketch.skipped == 2


@pytest.mark.parametrize("way", WAYS)
def test_deciders_come_back(backend, way):
    deciders = [
        gf.Decider({"F": 0.25, "M": -np.inf}, unknown=0.5, nan=False, expires="2090-01-01T00:00:00Z"),
        gf.Decider({("F", 1): 0.1, ("M", True): 1e-310}, unknown="default", default=0.5, group_column="sex,age"),
        gf.Decider({1: 0.25, 2: 0.75}, mixtures={1: [(0.25, 1)], 2: [(0.5, 0.25), (0.75, 0.75)]}),
        gf.Decider({0: 0.25, 1: 0.75}, cuts=[0.5]),
        gf.Decider({"all": 0.5}, unified=True, score_column="score"),
    ]
    for decider in deciders:
        again = WAYS[way](decider)
        assert (again, again.backend, type(again)) == (decider, backend, type(decider))
        assert (again.score_column, again.group_column) == (decider.score_column, decider.group_column)
    assert again.one(0.75) is True


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_results_come_back_and_can_be_checked(way):
    sketch = gf.Sketch.from_rows(ALL["a"], y, [ALL["sex"], ALL["race"]])
    questions = [
        {},
        {"randomize": True},
        {"objective": {"fp": 1, "fn": 3}, "min_rows": 10},
        {"fair_between": 0, "decide_by": 1},
    ]
    for options in questions:
        result = gf.solve(sketch, limits=LIMITS, **options)
        again = WAYS[way](result)
        assert again == result
        assert again.origin.digest == result.origin.digest
        assert str(again) == str(result)
        again.check(sketch)


def test_what_one_backend_saved_another_loads():
    for way in WAYS.values():
        for here, there in (("native", "numpy"), ("numpy", "native")):
            with gf.use_backend(here):
                decider, sketch = gf.Decider({"F": 0.25}), gf.Sketch.from_rows([0.5], [1], ["F"])
            saved = []
            with gf.use_backend(there):
                saved += [way(decider), way(sketch)]
            assert saved == [decider, sketch]
            assert [one.backend for one in saved] == [there, there]


def test_a_decider_is_made_from_its_json(backend):
    decider = gf.Decider({"F": 0.25, "M": 0.75}, unknown=0.5, nan=False)
    assert gf.Decider(decider.to_json()) == decider
    with pytest.raises(TypeError, match="thresholds given as JSON have their options in it; leave out unknown, nan"):
        gf.Decider(decider.to_json(), unknown=0.25, nan=True)
    with pytest.raises(ValueError, match="not valid thresholds"):
        gf.Decider("0.5")


def test_a_live_decider_is_not_saved(backend):
    live = gf.LiveDecider(gf.Decider({"F": 0.25}))
    for way in WAYS.values():
        with pytest.raises(TypeError, match="belongs to one process; send its decider instead"):
            way(live)
