"""Backends give the same answers to random questions, to the last bit; other tests ask one backend."""

import numpy as np
import pytest
from helpers.problems import random_question, random_rows, sketch_of

import gstar_fast as gf
from gstar_fast import _backends, _words

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # about few rows; they are part of the compared texts

BACKENDS = [name for name in _words.BACKENDS if name != "native" or _backends.has_native()]

ASKED = {
    "plain": {},
    "unified": {"unified": True},
    "mixtures": {"randomize": True},
    "pooled": {"min_rows": 12},
    "promised": {"confidence": 0.8},
    "promised mixtures": {"confidence": 0.8, "randomize": True},
}


def on_every_backend(call):
    """What a call gives on each backend: its result, or the class and text of its error."""
    found = []
    for name in BACKENDS:
        with gf.use_backend(name):
            try:
                found.append(call())
            except ValueError as error:
                found.append((type(error).__name__, str(error)))
    return found


def question(rng, form):
    """Random limits, or penalties where they are allowed."""
    limits, penalties = random_question(
        rng, "limits" if form not in ("plain", "unified") else rng.choice(["limits", "penalties"])
    )
    return {"limits": limits, "penalties": penalties, **ASKED[form]}


@pytest.mark.parametrize("form", ASKED)
def test_thresholds_are_the_same(form):
    rng = np.random.default_rng(len(form))
    solved, problems = 0, 4 if "promised" in form else 12
    for _ in range(problems):
        rows, asked = random_rows(rng, int(rng.integers(2, 5))), question(rng, form)
        found = on_every_backend(lambda: gf.solve(sketch_of(*rows), evidence=0, **asked))  # noqa: B023 - called at once
        texts = [one.to_json() if isinstance(one, gf.Result) else one for one in found]
        assert texts.count(texts[0]) == len(texts)
        solved += isinstance(found[0], gf.Result)
    assert solved > problems / 2


def two_columns(rng, n=300):
    """Rows whose second column, with three values, is not protected."""
    names = [np.array(values)[rng.integers(0, len(values), n)] for values in (["F", "M"], ["x", "y", "z"])]
    labels = rng.integers(0, 2, n)
    return rng.normal(labels + (names[0] == "F"), 1).round(1), labels, names


@pytest.mark.parametrize("randomize", [False, True])
def test_thresholds_by_another_column_are_the_same(randomize):
    rng = np.random.default_rng(4)
    for _ in range(6):
        rows, limit = two_columns(rng), float(rng.choice([0.05, 0.2]))
        found = on_every_backend(
            lambda: gf.solve(
                gf.Sketch.from_rows(*rows, bins=12),  # noqa: B023
                limits={"equalized_odds": limit},  # noqa: B023
                fair_between=0,
                decide_by=(0, 1),
                randomize=randomize,
                evidence=0,
            ).to_json()
        )
        assert found.count(found[0]) == len(found)


@pytest.mark.parametrize("kind", _words.KINDS)
def test_smooth_densities_agree(kind):
    """Sums of exponentials differ in the last bits, so that these agree to 1e-9."""
    rng = np.random.default_rng(9)
    for _ in range(3):
        labels, groups = rng.integers(0, 2, 800), rng.integers(0, 2, 800)
        scores = 1 / (1 + np.exp(-rng.normal(labels + groups / 2, 1)))
        cells = on_every_backend(lambda: gf.density(gf.Sketch.from_rows(scores, labels, groups), kind=kind))  # noqa: B023
        at = np.linspace(0.05, 0.95, 19)
        for name in ("pdf", "cdf"):
            values = [[getattr(cell, name)(at) for cell in one.values()] for one in cells]
            np.testing.assert_allclose(values, [values[-1]] * len(values), rtol=1e-9, atol=1e-12)


def test_decisions_and_audits_are_the_same():
    rng = np.random.default_rng(12)
    for _ in range(10):
        scores, labels, groups = random_rows(rng, 3, most=60)
        thresholds = {name: float(rng.normal()) for name in np.unique(groups).tolist()}
        found = on_every_backend(lambda: gf.Decider(thresholds)(scores, groups).tolist())  # noqa: B023
        assert found.count(found[0]) == len(found)
        audits = on_every_backend(lambda: str(gf.audit(thresholds, sketch_of(scores, labels, groups))))  # noqa: B023
        assert audits.count(audits[0]) == len(audits)
