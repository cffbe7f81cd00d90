"""All pairs of features through `solve`, the classifier and the command line, compared with the tables.

`REJECTED` was recorded from the build before there were tables: the same fifteen pairs, by all three. `SINCE` are the
pairs of limits on a rate, which came later.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import gstar_fast as gf
from gstar_fast.__main__ import main
from gstar_fast._question.options import APART, FEATURES, NEEDS, VERBS
from gstar_fast._question.question import Question

PARITY = {"demographic_parity": 0.1}
OPTIONS = {
    "limits": {"limits": PARITY},
    "penalties": {"penalties": PARITY},
    "smooth": {"density": "normal"},
    "iterative": {"method": "newton"},
    "alternating": {"method": "alternating"},
    "rounds": {"rounds": 5},
    "unified": {"unified": True},
    "mixtures": {"randomize": True},
    "min_rows": {"min_rows": 10},
    "max_seconds": {"max_seconds": 60.0},
    "confidence": {"confidence": 0.9},
    "by_segment": {"fair_between": 0, "decide_by": 1},
    "bound": {"limits": {"selection_rate": {"at_least": 0.1}}},
    "total": {"limits": {"selected": {"at_most": 0.9}}},
}
REJECTED = {
    frozenset(pair.split("+")): code
    for pair, code in {
        "limits+iterative": "method_penalties",
        "unified+alternating": "method_unified",
        "penalties+mixtures": "randomize",
        "smooth+mixtures": "randomize",
        "unified+mixtures": "randomize",
        "smooth+max_seconds": "seconds_with",
        "unified+max_seconds": "seconds_with",
        "mixtures+max_seconds": "seconds_with",
        "penalties+confidence": "confidence_with",
        "smooth+confidence": "confidence_with",
        "max_seconds+confidence": "confidence_with",
        "penalties+by_segment": "decide_by_with",
        "smooth+by_segment": "decide_by_with",
        "unified+by_segment": "decide_by_with",
        "min_rows+by_segment": "decide_by_with",
    }.items()
}
SINCE = [*itertools.product(("bound", "total"), ("smooth", "confidence")), ("total", "penalties")]
PAIRS = list(itertools.combinations(OPTIONS, 2))

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::gstar_fast.errors.InputWarning")


def asked(names):
    """The options of features, with what they need."""
    options = {}
    for name in names:
        limits = options.get("limits", {}) | OPTIONS[name].get("limits", {})
        options |= OPTIONS[name] | ({"limits": limits} if limits else {})
    if "rounds" in options and len(names) > 1:
        options = {"method": "newton"} | options
    if "method" in options:
        options = {"density": "normal", "penalties": PARITY} | options
    return {"limits": PARITY} | options if "confidence" in options else options


def rows():
    r = np.random.default_rng(0)
    sex, region = r.choice(["F", "M"], 600), r.integers(0, 2, 600)
    label = (r.random(600) < 0.5).astype(int)
    return label + r.normal(size=600) + 0.3 * (sex == "M"), label, sex, region


class Given(ClassifierMixin, BaseEstimator):
    """Scores are the first column."""

    def fit(self, _, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, x):
        return np.asarray(x)[:, 0].astype(float)


def by_solve(sketch, options):
    try:
        gf.solve(sketch, **options)
    except gf.errors.OptionError as error:
        return error.code
    return None


def by_classifier(options):
    score, label, sex, region = rows()
    options = {name: value for name, value in options.items() if name != "fair_between"}
    if "decide_by" in options:
        options["decide_by"] = 2
    model = gf.GroupThresholdClassifier(Given(), cv=2, sensitive_features=1, **options)
    try:
        model.fit(np.array([score, sex == "M", region]).T, label)
    except gf.errors.OptionError as error:
        return error.code
    return None


def by_command(path, options):
    try:
        return main(["solve", path, "--json", *Question(**read(options)).as_options()])
    except SystemExit as stop:
        return stop.code


def read(options):
    """Options as `Question` keeps them, without the checks."""
    one_by_one = (vars(Question.of(**{name: value})) for name, value in options.items() if name in ("limits",))
    limits = next(one_by_one, {"limits": ()})["limits"]
    roles = {name: (options[name],) for name in ("fair_between", "decide_by") if name in options}
    return {**options, **roles, "limits": limits}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    score, label, sex, region = rows()
    sketch = gf.Sketch.from_rows(score, label, [sex, region], bins=64)
    path = tmp_path_factory.mktemp("pairs") / "s.gstar"
    sketch.save(path)
    return sketch, str(path)


def test_the_tables_have_the_pairs_that_were_rejected_before():
    assert {frozenset(pair) for pair in APART} == {*REJECTED, *map(frozenset, SINCE)}
    assert {name for names in VERBS.values() for name in names} <= {*FEATURES}


@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_solve_and_the_command_line_reject_what_the_tables_say(saved, pair, capsys):
    sketch, path = saved
    options = asked(pair)
    rejected = any(set(one) <= features(options) for one in APART)
    assert by_solve(sketch, options) == ("apart" if rejected else None)
    code, said = by_command(path, options), capsys.readouterr().err
    assert (code == 2) == rejected
    assert ("does not go with" in said) == rejected


@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_the_classifier_rejects_what_the_tables_say(pair):
    options = asked(pair)
    rejected = any(set(one) <= features(options) for one in APART)
    assert by_classifier(options) == ("apart" if rejected else None)


def features(options):
    """The features that options ask for."""
    question = Question(**read(options))
    return {name for name, feature in FEATURES.items() if feature.is_asked(question)}


@pytest.mark.parametrize("name", NEEDS)
def test_what_a_feature_needs_is_asked_for_by_all(saved, name, capsys):
    sketch, path = saved
    alone = {"decide_by": {"decide_by": 1}, **OPTIONS}[name]
    assert by_solve(sketch, alone) == "needs"
    if name != "decide_by":  # a classifier has sensitive features in the place of fair_between
        assert by_classifier(alone) == "needs"
    assert by_command(path, alone) == 2
    assert "needs --" in capsys.readouterr().err
