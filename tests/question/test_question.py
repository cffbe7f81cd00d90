"""One record of what is asked: read from options, checked once, and written as JSON, Python and command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast._question.options import APART, FEATURES, NEEDS
from gstar_fast._question.question import Question

LIMITS = {"limits": {"equalized_odds": 0.02}}
PENALTIES = {"penalties": {"equalized_odds": 10}}
NEWTON = {"method": "newton", "density": "kde"}

QUESTIONS = [
    {},
    LIMITS,
    {"limits": {"disparate_impact": 0.8, "equalized_odds_sum": 1.5, "demographic_parity": 0}},
    PENALTIES | NEWTON | {"unified": True},
    PENALTIES | NEWTON | {"rounds": 20},
    LIMITS | {"objective": "balanced_error", "min_rows": 50, "evidence": 0},
    LIMITS | {"objective": {"fp": 1, "fn": 5}, "max_seconds": 2},
    LIMITS | {"objective": {"fp": 0, "fn": 0.1, "balanced": True}, "randomize": True, "confidence": 0.9},
    LIMITS | {"fair_between": "sex", "decide_by": ["region", 2]},
    LIMITS | {"fair_between": 0, "decide_by": gf.Segments((0.25, 0.5), column="p")},
    LIMITS | {"fair_between": ["sex"], "decide_by": gf.Segments(column="age", monotone=False)},
    LIMITS | {"fair_between": "sex", "unified": True},
]


@pytest.mark.parametrize("given", QUESTIONS)
def test_json_gives_the_question_back(given):
    question = Question.of(**given)
    assert Question.from_dict(json.loads(json.dumps(question.to_dict()))) == question


@pytest.mark.parametrize("given", QUESTIONS)
def test_python_code_gives_the_question_back(given):
    question = Question.of(**given)
    made = eval(f"dict({', '.join(question.as_python())})", {"gf": gf, "dict": dict})
    assert Question.of(**made) == question


def test_only_what_is_not_as_by_default_is_written():
    assert Question.of().to_dict() == {}
    assert Question.of(**LIMITS, evidence=0.95, min_rows=0, objective={"fp": 1, "fn": 1}).to_dict() == {
        "limits": [{"of": "equalized_odds", "at_most": 0.02}]
    }


def test_options_of_the_command_line():
    asked = Question.of(**LIMITS, objective={"fp": 1, "fn": 5, "balanced": True}, randomize=True, min_rows=50)
    options = "--limit equalized_odds=0.02 --objective fp=1,fn=5,balanced --randomize --min-rows 50"
    assert " ".join(asked.as_options()) == options
    asked = Question.of(fair_between=["sex", "race"], decide_by=gf.Segments(column="age"))
    assert " ".join(asked.as_options()) == "--fair-between sex --fair-between race --decide-by age --monotone"


def test_densities_by_hand_are_named_and_not_written():
    cells = {(y, g): gf.density("normal", location=y, rows=100) for y in (0, 1) for g in "ab"}
    question = Question.of(density=cells, **PENALTIES, method="newton")
    assert question.to_dict()["density"] == "given"
    assert "density=densities" in question.as_python()
    assert Question.from_dict(question.to_dict()).penalties == {"equalized_odds": 10.0}


@pytest.mark.parametrize(
    ("objective", "costs", "balanced"),
    [
        ("error", (1, 1), False),
        ("balanced_error", (1, 1), True),
        ({"fp": 1, "fn": 5}, (1, 5), False),
        ({"fp": np.float32(0.5), "fn": 0, "balanced": True}, (0.5, 0), True),
    ],
)
def test_objectives(objective, costs, balanced):
    question = Question.of(objective=objective)
    assert (question.costs, question.balanced) == (costs, balanced)


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"limits": 0.02}, TypeError, "limits must be a dict such as .*; got float"),
        ({"limits": {"tnr": 0.5}}, ValueError, "names in limits must be among .*; got 'tnr'"),
        ({"penalties": {"tpr": 0.5}}, ValueError, "names in penalties must be among .*; got 'tpr'"),
        ({"limits": {"equalized_odds": True}}, TypeError, r"limits\['equalized_odds'\] must be a number; got True"),
        ({"limits": {"equalized_odds": 1.5}}, ValueError, "largest gap and must be from 0 to 1; got 1.5"),
        ({"limits": {"equalized_odds_sum": 2.5}}, ValueError, "largest gap and must be from 0 to 2; got 2.5"),
        ({"penalties": {"disparate_impact": 1}}, ValueError, "is a ratio and cannot be a penalty"),
        ({"penalties": {"equalized_odds_sum": 1}}, ValueError, "is a sum of gaps"),
        ({"penalties": {"equalized_odds": -1}}, ValueError, "must be finite and not negative; got -1"),
        ({"penalties": {"equalized_odds": 1e101}}, ValueError, "must be at most 1e100"),
        ({"objective": "f1"}, ValueError, "objective must be 'error', 'balanced_error' or prices .*; got 'f1'"),
        ({"objective": {"fp": 1}}, ValueError, "objective must be .*; got {'fp': 1}"),
        ({"objective": {"fp": 1, "fn": "5"}}, ValueError, "objective must be .*; got {'fp': 1, 'fn': '5'}"),
        ({"objective": {"fp": 0, "fn": 0}}, ValueError, "prices of objective must be finite, not negative and not bo"),
        ({"objective": {"fp": 1, "fn": -1}}, ValueError, "prices of objective must be finite"),
        ({"objective": {"fp": 1, "fn": 2, "balanced": 1}}, TypeError, "must be True or False, got 1"),
        ({"method": "adam"}, ValueError, "method must be one of exact, .*; got 'adam'"),
        ({"density": "beta"}, ValueError, "density must be one of empirical, .*; got 'beta'"),
        ({"unified": "no"}, TypeError, "unified must be True or False, got 'no'"),
        ({"randomize": 1}, TypeError, "randomize must be True or False, got 1"),
        ({"min_rows": -1}, ValueError, "min_rows must be finite and not negative; got -1"),
        ({"max_seconds": 0}, ValueError, "max_seconds must be above 0; got 0"),
        ({"max_seconds": True}, TypeError, "max_seconds must be a number of seconds or None; got True"),
        ({"confidence": 95, **LIMITS}, ValueError, "confidence must be from 0.5 to 0.999, got 95; 95 % is 0.95"),
        ({"confidence": "0.9", **LIMITS}, TypeError, "confidence must be a number such as 0.95"),
        ({"evidence": 1}, ValueError, "evidence must be at least 0 and below 1, got 1"),
        ({"evidence": False}, TypeError, "evidence must be a number such as 0.95, got False"),
        ({"fair_between": 1.5}, TypeError, "fair_between must be the name of a group column, .*; got 1.5"),
        ({"fair_between": ()}, ValueError, "fair_between names no column"),
        ({"fair_between": "sex", "decide_by": ()}, ValueError, "decide_by names no column; .* is unified=True"),
        ({"fair_between": "sex", "decide_by": gf.Segments((0.5,))}, ValueError, r"name it: segments.of\('segment'\)"),
        ({"decide_by": "region"}, ValueError, "decide_by needs fair_between too; pass the columns between whose"),
        ({"rounds": 0}, ValueError, "rounds must be from 1 to 10,000,000; got 0"),
        ({"rounds": True}, TypeError, "rounds must be a whole number, got True"),
        ({"rounds": 3}, ValueError, "rounds=3 needs method too; pass an iterative one, such as method='alternating'"),
        ({"method": "newton"}, ValueError, "method='newton' needs density too; pass a smooth one, such as density='k"),
        (NEWTON, ValueError, "method='newton' needs penalties too; pass penalties="),
        ({"confidence": 0.9}, ValueError, "confidence=0.9 needs limits too; pass limits="),
        (PENALTIES | {"randomize": True}, ValueError, "randomize=True does not go with penalties: .*; leave one"),
        (LIMITS | {"unified": True, "max_seconds": 1}, ValueError, "max_seconds=1.0 does not go with unified=True: on"),
    ],
)
def test_an_error_names_the_option_and_what_to_do(given, kind, words):
    with pytest.raises(kind, match=words) as found:
        Question.of(**given)
    assert found.value.code


def test_the_tables_name_features_that_exist():
    assert {name for pair in APART for name in pair} | {*NEEDS} | {x for xs in NEEDS.values() for x in xs} <= {
        *FEATURES
    }
    assert len({frozenset(pair) for pair in APART}) == len(APART) == 20
