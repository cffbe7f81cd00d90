"""A result is data: it keeps no sketch and no search, and showing or saving it computes nothing."""

from __future__ import annotations

import gc
import pickle
import sys
import types
import weakref
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

import gstar_fast as gf

pytestmark = pytest.mark.filterwarnings("ignore")

BY = {"fair_between": 0, "decide_by": 1, "evidence": 0}
QUESTIONS = {
    "groups": {"limits": {"equalized_odds": 0.02}, "evidence": 0},
    "unified": {"limits": {"equalized_odds": 0.3}},
    "mixed": {"limits": {"equalized_odds": 0.02}, "randomize": True},
    "penalties": {"penalties": {"equalized_odds": 1.0}},
    "smooth": {"penalties": {"equalized_odds": 1.0}, "density": "normal"},
    "infeasible": {"limits": {"accuracy_parity": 0.0, "balanced_accuracy_parity": 0.0, "disparate_impact": 1.0}},
    "pooled": {"limits": {"equalized_odds": 0.02}, "min_rows": 10},
    "promised": {"limits": {"equalized_odds": 0.1}, "confidence": 0.9},
    "segments": {"limits": {"equalized_odds": 0.05}, **BY},
    "segments mixed": {"limits": {"equalized_odds": 0.05}, "randomize": True, **BY},
    "segments monotone": {"limits": {"equalized_odds": 0.05}, **BY, "decide_by": gf.Segments(column=1, monotone=True)},
}


def sketch_for(question):
    rng = np.random.default_rng(4)
    group, label, segment = (rng.integers(0, n, 1500) for n in (2, 2, 4))
    score = rng.normal(1.2 * label + 0.2 * group + 0.1 * segment)
    groups = [group, segment] if "decide_by" in question else group
    return gf.Sketch.from_rows(score, label, groups, bins=64)


def solved(name):
    """A result whose sketch is gone, and what showed that."""
    sketch = sketch_for(QUESTIONS[name])
    result = gf.solve(sketch, **QUESTIONS[name])
    return result, weakref.ref(sketch), sketch.digest()


def parts(value, seen):
    """Everything that a value is made of."""
    if id(value) in seen or isinstance(value, type):
        return
    seen.add(id(value))
    yield value
    if is_dataclass(value):
        for field in fields(value):
            yield from parts(getattr(value, field.name), seen)
    elif isinstance(value, dict):
        for item in [*value, *value.values()]:
            yield from parts(item, seen)
    elif isinstance(value, (tuple, list, set)):
        for item in value:
            yield from parts(item, seen)


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_part_of_a_result_is_a_function(name):
    result, _, _ = solved(name)
    found = [one for one in parts(result, set()) if callable(one) or isinstance(one, types.ModuleType)]
    assert found == []
    kinds = {type(one).__name__ for one in parts(result, set())}
    assert not kinds & {"Sketch", "Search", "SegmentSearch", "Cells", "Table"}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_result_outlives_its_sketch(name):
    result, sketch, digest = solved(name)
    gc.collect()
    assert sketch() is None
    assert result.origin.digest == digest
    again = gf.Result.from_json(result.to_json())
    assert again == result == pickle.loads(pickle.dumps(result))
    assert str(again) == str(result)
    assert again.to_json() == result.to_json()


@pytest.mark.parametrize("name", QUESTIONS)
def test_showing_and_saving_a_result_solves_nothing(name):
    result, _, _ = solved(name)
    entered = set()
    sys.setprofile(lambda frame, event, _: entered.add(frame.f_code.co_filename) if event == "call" else None)
    try:
        str(result), repr(result), result.to_json(), pickle.dumps(result)
    finally:
        sys.setprofile(None)
    solving = ("search.py", "cells.py", "solve.py", "finish.py", "segments/answer.py", "mix.py", "smooth.py", "view.py")
    assert not [path for path in entered if path.endswith(solving)]


def test_a_second_solve_takes_the_digest_that_the_sketch_remembers(backend, monkeypatch):
    sketch = sketch_for({})
    first = gf.solve(sketch, limits={"equalized_odds": 0.02})
    monkeypatch.setattr("gstar_fast._sketch.view.sha256_of", None)  # nothing may ask for it
    assert gf.solve(sketch, limits={"equalized_odds": 0.05}).origin.digest == first.origin.digest
    monkeypatch.undo()
    sketch.update([0.5], [1], [0])
    assert gf.solve(sketch).origin.digest == sketch.digest() != first.origin.digest


# ----------------------------------------------------------------------------------------------------------- frontiers

FRONTIERS = {
    "limits": {},
    "penalties": {"by": "penalties"},
    "some penalties": {"by": "penalties", "penalties": [0.1, 1.0]},
    "smooth": {"by": "penalties", "penalties": [0.1, 1.0], "density": "normal"},
    "mixed": {"randomize": True},
    "promised": {"confidence": 0.9},
    "roles": {"fair_between": 0, "decide_by": 0},
    "segments": {"fair_between": 0, "decide_by": 1},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FRONTIERS)
def test_a_frontier_is_data_and_outlives_its_sketch(name):
    asked = FRONTIERS[name]
    sketch = sketch_for(asked)
    found, gone = gf.frontier(sketch, "equalized_odds", **asked), weakref.ref(sketch)
    before, digest = [found.result(i) for i in range(len(found))], sketch.digest()
    inside = found.at(error=(found.errors[0] + found.errors[-1]) / 2)
    del sketch
    gc.collect()
    assert gone() is None
    assert not [one for one in parts(found, set()) if isinstance(one, types.FunctionType | types.MethodType)]
    again = pickle.loads(pickle.dumps(found))
    assert [again.result(i) for i in range(len(again))] == before
    assert again.at(error=(found.errors[0] + found.errors[-1]) / 2) == inside
    assert {result.origin.digest for result in before} == {digest}
    assert len(pickle.dumps(found)) < 200_000  # the points, not the counts
