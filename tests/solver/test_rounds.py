"""`rounds=`: an iterative method runs exactly so many rounds, on every backend, and says whether it converged."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import gstar_fast as gf
from gstar_fast import _backends, _words, datasets
from gstar_fast.__main__ import main

BACKENDS = [name for name in _words.BACKENDS if name != "native" or _backends.has_native()]
METHODS = [name for name in _words.METHODS if name != "exact"]
ODDS = {"penalties": {"equalized_odds": 10.0}, "density": "normal"}


def sketch_of(n_groups, seed=0, rows=600):
    rng = np.random.default_rng(seed)
    groups, labels = rng.integers(0, n_groups, rows), rng.integers(0, 2, rows)
    return gf.Sketch.from_rows(1.5 * labels + 0.4 * groups + rng.normal(size=rows), labels, groups, bins=64)


def solve(sketch, **asked):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return gf.solve(sketch, **{"method": "alternating", **ODDS, **asked})


@pytest.mark.every_backend
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rounds", [1, 12])
def test_exactly_so_many_rounds_are_run(backend, method, rounds):
    result = solve(sketch_of(3), method=method, rounds=rounds)
    assert (result.proof.iterations, len(result.proof.trace)) == (rounds, rounds)
    assert list(result.proof.trace) == sorted(result.proof.trace, reverse=True)
    assert result.question.rounds == rounds


@pytest.mark.slow
@pytest.mark.every_backend
@pytest.mark.parametrize("penalty", [0.01, 10.0])
def test_rounds_begin_as_the_loop_without_them(backend, penalty):
    """As many rounds as the loop takes by itself end at the same thresholds; fewer rounds are its first ones."""
    sketch, asked = sketch_of(2, rows=200), {"penalties": {"equalized_odds": penalty}}
    first = solve(sketch, rounds=20, **asked)
    for rounds in (1, 5, 19):
        assert solve(sketch, rounds=rounds, **asked).proof.trace == first.proof.trace[:rounds]
    own = solve(sketch, **asked)
    again = solve(sketch, rounds=own.proof.iterations, **asked)
    assert (again.thresholds, again.loss, again.proof.trace) == (own.thresholds, own.loss, own.proof.trace)
    assert (again.verdict, again.message) == (own.verdict, own.message)
    assert solve(sketch, rounds=own.proof.iterations + 50, **asked).loss <= own.loss


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(METHODS),
    st.integers(1, 12),
    st.integers(2, 3),
    st.integers(0, 10**6),
    st.floats(0.1, 1000.0),
    st.sampled_from(["normal", "kde", "student_t"]),
)
def test_all_backends_run_the_same_rounds(method, rounds, n_groups, seed, penalty, density):
    sketch = sketch_of(n_groups, seed)
    asked = {"method": method, "rounds": rounds, "density": density, "penalties": {"equal_opportunity": penalty}}
    found = []
    for name in BACKENDS:
        with gf.use_backend(name):
            found.append(solve(sketch, **asked))
    near = (
        1e-9 if method == "alternating" else 1e-6
    )  # slopes of densities, which steer Newton, are differences in NumPy
    for one in found[1:]:
        assert one.proof.iterations == found[0].proof.iterations == rounds
        assert one.loss == pytest.approx(found[0].loss, rel=near)
        if method == "alternating":  # the others have three starts, and the best may be any of some that end alike
            assert one.proof.trace == pytest.approx(found[0].proof.trace, rel=near)


def test_few_rounds_are_not_converged_and_many_are():
    sketch = sketch_of(2)
    with pytest.warns(gf.errors.NotConvergedWarning, match="stopped after 1 step, but the loss can still fall by"):
        few = gf.solve(sketch, method="alternating", rounds=1, **ODDS)
    assert few.verdict == "not_converged"
    many = gf.solve(sketch, method="alternating", rounds=6000, **ODDS)
    assert (many.verdict, many.proof.iterations) == ("converged", 6000)
    assert many.loss <= few.loss


@pytest.mark.parametrize(
    ("rounds", "kind", "words"),
    [
        (0, ValueError, "rounds must be from 1 to 10,000,000; got 0"),
        (-3, ValueError, "rounds must be from 1 to 10,000,000; got -3"),
        (10**30, ValueError, "rounds must be from 1 to 10,000,000; got 1000"),
        (1.5, TypeError, "rounds must be a whole number, got 1.5"),
        (5.0, TypeError, "rounds must be a whole number, got 5.0"),
        (True, TypeError, "rounds must be a whole number, got True"),
        ("5", TypeError, "rounds must be a whole number, got '5'"),
    ],
)
def test_rounds_is_a_whole_number_from_one(rounds, kind, words):
    with pytest.raises(kind, match=words):
        gf.solve(sketch_of(2), method="alternating", rounds=rounds, **ODDS)


@pytest.mark.parametrize("asked", [{}, ODDS, {"limits": {"equalized_odds": 0.1}}])
def test_rounds_needs_an_iterative_method(asked):
    with pytest.raises(ValueError, match="rounds=5 needs method too; pass an iterative one, such as method='altern"):
        gf.solve(sketch_of(2), rounds=5, **asked)


def test_rounds_of_numpy_are_rounds():
    assert solve(sketch_of(2), rounds=np.int32(5)) == solve(sketch_of(2), rounds=5)


def test_rounds_are_saved_and_solved_again():
    sketch = sketch_of(2)
    result = solve(sketch, rounds=5)
    assert json.loads(result.to_json())["question"]["rounds"] == 5
    assert gf.Result.from_json(result.to_json()).question == result.question
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result.check(sketch)
    assert "rounds=5" in result.question.as_python()


def test_densities_in_the_place_of_a_sketch_take_rounds():
    cells = {(y, g): gf.density("normal", location=y + 0.3 * g, rows=100) for y in (0, 1) for g in (0, 1)}
    assert solve(cells, density="empirical", rounds=4).proof.iterations == 4


def test_the_command_line_and_the_classifier_take_rounds(tmp_path, capsys):
    sketch_of(2).save(tmp_path / "s.gstar")
    options = ["--penalty", "equalized_odds=10", "--density", "normal", "--method", "alternating"]
    warnings.simplefilter("ignore", UserWarning)
    assert main(["solve", str(tmp_path / "s.gstar"), "--json", "--rounds", "4000", *options]) == 0
    assert json.loads(capsys.readouterr().out)["question"]["rounds"] == 4000
    assert main(["solve", str(tmp_path / "s.gstar"), "--rounds", "1.5", *options]) == 2
    assert "argument --rounds: invalid int value: '1.5'" in capsys.readouterr().err
    assert main(["solve", str(tmp_path / "s.gstar"), "--rounds", "0", *options]) == 2
    assert "--rounds must be from 1 to 10,000,000; got 0" in capsys.readouterr().err
    assert main(["solve", str(tmp_path / "s.gstar"), "--rounds", "4"]) == 2
    assert (
        "--rounds 4 needs --method too; give an iterative one, such as --method alternating" in capsys.readouterr().err
    )
    rows = datasets.paper_synthetic(rows=400, seed=0)
    model = gf.GroupThresholdClassifier(LogisticRegression(), cv=2, method="alternating", rounds=3, **ODDS)
    model.fit(rows.scores[:, None], rows.labels, sensitive_features=rows.groups)
    assert model.result_.proof.iterations == 3
