"""`gstar::solve`, which C++ programs call, finds the thresholds that `gf.solve` finds."""

from __future__ import annotations

import math
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from helpers.programs import CXX, SANITIZE, WARNINGS, FrontDoor, can_sanitize, compiled, shared_folder

import gstar_fast as gf
from gstar_fast._criteria import CRITERION, Form
from gstar_fast._rates import SOLVER_RATES

PROGRAM = Path(__file__).parent.parent.parent / "csrc" / "tests" / "answer_questions.cpp"

pytestmark = [
    pytest.mark.every_backend,
    pytest.mark.skipif(
        CXX is None or sys.platform == "win32" or not PROGRAM.exists(), reason="no C++ compiler of the GCC kind"
    ),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

FORMS = [Form.DIFFERENCE, Form.SUM, Form.RATIO]  # as `gstar::form` numbers them
VERDICTS = ["optimal", "not_converged", "infeasible"]  # as `gstar::verdict` does; others come with an error in Python


@pytest.fixture(scope="session")  # compiled once, in whatever order tests run
def program(tmp_path_factory):
    folder = shared_folder(tmp_path_factory)
    flags = [*WARNINGS, *(SANITIZE if can_sanitize(folder) else ())]
    return compiled(PROGRAM, folder / "answer_questions", *flags)


@pytest.fixture
def front_door(program):
    """What the C++ function answers to a question in the words of `gf.solve`."""

    def places(name):
        return [SOLVER_RATES.index(rate) for rate in CRITERION[name].rates]

    def ask(sketch, *, limits=None, penalties=None, objective="error", unified=False, randomize=False):
        prices = objective if isinstance(objective, dict) else {"fp": 1, "fn": 1, "balanced": objective != "error"}
        return running(
            sketch,
            [(FORMS.index(CRITERION[name].form), places(name), value) for name, value in (limits or {}).items()],
            [(places(name), weight) for name, weight in (penalties or {}).items()],
            (prices["fp"], prices["fn"]),
            prices.get("balanced", False),
            unified,
            randomize,
        )

    running = FrontDoor(program)
    yield ask
    running.close()


def random_sketch(rng):
    n, groups = int(rng.integers(20, 400)), int(rng.integers(1, 6))
    group = rng.integers(0, groups, n)
    labels = (rng.random(n) < rng.uniform(0.2, 0.8, groups)[group]).astype(np.uint8)
    scores = rng.normal(labels * rng.uniform(0, 2, groups)[group])
    if rng.random() < 0.5:
        scores = np.round(scores, 1)
    if rng.random() < 0.1:
        labels[group == 0] = 1
    names = np.array(["a", "ä", "Z", "", "b"])[group] if rng.random() < 0.5 else group - 2
    weights = rng.integers(1, 2**21, n) / 2**20 if rng.random() < 0.2 else None
    given = {"bins": int(rng.choice([64, 1024, 4096]))}
    if rng.random() < 0.2:
        given["range"] = (-1.0, 1.0)
    sketch = gf.Sketch(**given).update(scores, labels, names, weights=weights)
    if rng.random() < 0.3:
        sketch.update(scores[:20] / 2, None, names[:20], weights=None if weights is None else weights[:20])
    return sketch


def random_question(rng):
    question = {}
    if rng.random() < 0.8:
        names = rng.choice(list(CRITERION), int(rng.integers(1, 4)), replace=False)
        bounds = [0.0, 0.005, 0.02, 0.05, 0.2, 0.5]
        question["limits"] = {
            str(name): float(rng.choice([0.3, 0.8, 0.95, 1.0]) if CRITERION[name].from_below else rng.choice(bounds))
            for name in names
        }
    asked = rng.random()
    if asked < 0.3:
        possible = [name for name, one in CRITERION.items() if one.penalised]
        question["penalties"] = {
            str(name): float(rng.choice([0.01, 1.0, 100.0])) for name in rng.choice(possible, int(rng.integers(1, 3)))
        }
    elif asked < 0.6 and "limits" in question:
        question["randomize"] = True
    if "randomize" not in question and rng.random() < 0.25:
        question["unified"] = True
    objectives = ["error", "error", "balanced_error", {"fp": 1, "fn": 5}, {"fp": 30, "fn": 12, "balanced": True}]
    objectives += [{"fp": 0, "fn": 2}, {"fp": 2**31, "fn": 1, "balanced": True}]
    question["objective"] = objectives[rng.integers(len(objectives))]
    return question


@pytest.mark.parametrize("seed", range(4))
def test_the_front_door_answers_as_python_does(backend, front_door, seed):
    """The same bytes of thresholds; of mixtures, which may differ, the same cost."""
    rng = np.random.default_rng(seed)
    verdicts = set()
    for _ in range(90 if backend == "native" else 15):
        sketch, question = random_sketch(rng), random_question(rng)
        try:
            expected = gf.solve(sketch, **question, evidence=0)
        except ValueError:
            found = front_door(sketch, **question)
            assert found["verdict"] >= len(VERDICTS)
            assert "thresholds" not in found
            continue
        found = front_door(sketch, **question)
        verdict = VERDICTS[found["verdict"]]
        verdicts.add(verdict)
        where = question, found, expected
        assert verdict == expected.verdict, where
        assert found["slack"] == (0.0 if expected.proof.slack is None else expected.proof.slack.each), where
        exact = not expected.randomized
        if exact:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert found["thresholds"] == expected.decider().to_bytes(), where
            rates = [[getattr(one, rate.name) for rate in SOLVER_RATES] for one in expected.rates.values()]
            rates = np.array(rates, dtype=np.float64).reshape(-1)  # None is NaN
            assert np.array_equal(found["rates"], rates, equal_nan=True), where
        else:
            assert bytes.fromhex(sketch.digest()) in found["thresholds"], where
        for name in ("error", "cost", "loss", "lower_bound"):
            ours, theirs = found[name], getattr(expected, name)
            assert ours == (theirs if exact and name != "error" else pytest.approx(theirs, rel=1e-9, abs=1e-9)), (
                name,
                *where,
            )
    assert verdicts >= {"optimal"}


def test_what_a_sketch_lacks_is_a_verdict(front_door):
    rows = [0.1, 0.4, 0.2, 0.9], [0, 1, 0, 1], ["a", "a", "b", "b"]
    limits = {"equal_opportunity": 0.1}
    names = "no_rows", "no_labels", "one_class", "one_group", "undefined_rate"
    asked = {
        "no_rows": (gf.Sketch(), {}),
        "no_labels": (gf.Sketch.from_rows(rows[0], None, rows[2]), {}),
        "one_class": (gf.Sketch.from_rows(rows[0], [1] * 4, rows[2]), {"objective": "balanced_error"}),
        "one_group": (gf.Sketch.from_rows(rows[0], rows[1], ["a"] * 4), {"limits": limits}),
        "undefined_rate": (gf.Sketch.from_rows(rows[0], [0, 1, 0, 0], rows[2]), {"limits": limits}),
    }
    for place, name in enumerate(names, 3):
        sketch, question = asked[name]
        assert front_door(sketch, **question)["verdict"] == place
        with pytest.raises(gf.errors.InputError) as caught:
            gf.solve(sketch, **question)
        assert caught.value.code == name


def test_a_question_that_no_sketch_could_answer_raises(front_door):
    sketch = gf.Sketch.from_rows([0.1, 0.4, 0.2, 0.9], [0, 1, 0, 1], ["a", "a", "b", "b"])
    for question, words in [
        ({"limits": {"equal_opportunity": 1.5}}, "question: not valid: the bound of a limit must be from 0 to 1"),
        ({"limits": {"equalized_odds_sum": math.nan}}, "from 0 to 2"),
        ({"penalties": {"equal_opportunity": -1.0}}, "the weight of a penalty must be from 0 to 1e"),
        ({"objective": {"fp": 0, "fn": 0}}, "prices must be from 0 to 2"),
        ({"objective": {"fp": -1, "fn": 2}}, "not both 0, got -1 and 2"),
        ({"randomize": True, "unified": True}, "randomize goes with limits alone"),
        ({"randomize": True, "penalties": {"equal_opportunity": 1.0}}, "randomize goes with limits alone"),
    ]:
        with pytest.raises(ValueError, match=words):
            front_door(sketch, **question)
