"""`Result.check` computes every number again and trusts no field of a result, of its proof, or of a file."""

from __future__ import annotations

import copy
import json
import math
import pickle
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from helpers.results import asked, changed, places, value_at, with_value
from hypothesis import given, settings
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._base import json as strict
from gstar_fast._criteria import CRITERION, Limit
from gstar_fast._solver.answer import proof
from gstar_fast._solver.answer.parts import Note, Part
from gstar_fast._solver.answer.proof import Certificate, Cut, Leaf, Single
from gstar_fast._verbs import check as recheck

pytestmark = pytest.mark.filterwarnings(
    "ignore::gstar_fast.errors.DegenerateWarning",
    "ignore::gstar_fast.errors.NoiseWarning",
    "ignore::gstar_fast.errors.OverfitWarning",
    "ignore::gstar_fast.errors.UnpromisedWarning",
)

LIMITS = {"equalized_odds": 0.05}
BY = {"fair_between": 0, "decide_by": 1}
NOTE = Note("wider_gap", "the gap was 0.5 before", {"gap": 0.5})
UNREACHABLE = {"accuracy_parity": 0.0, "balanced_accuracy_parity": 0.0, "disparate_impact": 0.99}
QUESTIONS = {
    "groups": {"limits": LIMITS},
    "no limits": {},
    "costs": {"limits": LIMITS, "objective": {"fp": 5, "fn": 1}},
    "groups mixed": {"limits": LIMITS, "randomize": True},
    "unified": {"limits": LIMITS, "unified": True},
    "penalties": {"penalties": {"equalized_odds": 0.5}},
    "infeasible": {"limits": UNREACHABLE},
    "infeasible unified": {
        "limits": {"equalized_odds": 0.001, "disparate_impact": 0.99, "accuracy_parity": 0.001},
        "unified": True,
    },
    "promised": {"limits": {"equalized_odds": 0.3}, "confidence": 0.6},
    "segments": {"limits": LIMITS, **BY},
    "segments mixed": {"limits": LIMITS, "randomize": True, **BY},
    "segments monotone": {"limits": LIMITS, **BY, "decide_by": gf.Segments(column=1)},
    "segments infeasible": {"limits": UNREACHABLE, **BY},
}


def people(seed=5, rows=1500):
    rng = np.random.default_rng(seed)
    label, group, segment = (rng.random(rows) < 0.5).astype(int), rng.integers(0, 3, rows), rng.integers(0, 4, rows)
    return rng.normal(size=rows) + label + 0.4 * group, label, group, segment


def answered(question, seed=5):
    score, label, group, segment = people(seed)
    options = QUESTIONS[question]
    groups = [group, segment] if "decide_by" in options else group
    sketch = gf.Sketch.from_rows(score, label, groups, bins=32)
    return sketch, gf.solve(sketch, **options)


def altered(value):
    """Other values for a value of a result: each number in it, one at a time."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, (int, float)):
        if math.isfinite(value):
            yield value + 1e-6
            yield value / 2 - 1e-3
        yield 0.123 if value != 0.123 else 0.2
    elif is_dataclass(value):
        for field in fields(value):
            if field.name not in recheck.METADATA | recheck.HIDDEN | {"plain", "limits", "confidence", "level"}:
                for other in altered(getattr(value, field.name)):
                    yield replace(value, **{field.name: other})
    elif isinstance(value, dict):
        for key in list(value)[:2]:
            for other in altered(value[key]):
                yield with_items(value, {key: other})
        yield with_items(value, {"more": 0.5})
        for name in vars(value) if isinstance(value, Part) else ():
            for other in altered(getattr(value, name)):
                setattr(new := copy.copy(value), name, other)
                yield new
    elif isinstance(value, Limit):
        for name in ("least", "most"):
            for other in altered(getattr(value, name)):
                yield value._replace(**{name: other})
    elif isinstance(value, tuple) and value:
        for i, part in enumerate(value[:2]):
            for other in altered(part):
                yield (*value[:i], other, *value[i + 1 :])
    elif value is None:
        yield 0.5


def with_items(value, items):
    new = copy.copy(value)
    new.update(items)
    return new


def checked_places(result):
    """Where the values stand that `check` compares."""
    return [place for place in places(result) if not {*place} & (recheck.METADATA | recheck.HIDDEN)]


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_solve_finds_passes_also_from_a_file(backend, question):
    sketch, result = answered(question)
    result.check(sketch)
    gf.Result.from_json(result.to_json()).check(sketch)
    pickle.loads(pickle.dumps(result)).check(sketch)
    pickle.loads(pickle.dumps(gf.Result.from_json(result.to_json()))).check(sketch)


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_no_number_of_a_result_can_be_changed(backend, question):
    sketch, result = answered(question)
    assert result.verdict in ("optimal", "infeasible", "promised", "unified")
    tried = 0
    for place in checked_places(result):
        others = list(altered(value_at(result, *place)))
        for other in others if backend == "native" else others[:2]:
            with pytest.raises(ValueError, match=r"does not hold on this sketch|no proof to check"):
                with_value(result, *place, other).check(sketch)
            tried += 1
    assert tried > 20
    for verdict in {"optimal", "infeasible", "converged", "promised", "unpromised", "unified"} - {result.verdict}:
        with pytest.raises(ValueError, match="does not hold"):
            changed(result, verdict=verdict).check(sketch)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_question_of_a_result_cannot_be_changed(backend, question):
    """A change that leaves a true statement passes: a limit that the answer meets, and no other answer is better."""
    sketch, result = answered(question)
    question = result.question
    prices = dict(zip(("fp", "fn"), question.costs, strict=True))
    others = [
        {"objective": {"fp": 1.0, "fn": 7.0, "balanced": question.balanced}},
        {"objective": {**prices, "balanced": not question.balanced}},
        {"method": "newton"},
        {"min_rows": 700.0},
        {"unified": not question.unified},
        {"randomize": not question.randomize},
        {"density": "normal"},
        {"density": "given"},
        {"penalties": {"equalized_odds": 3.0}},
        {"confidence": 0.7 if question.confidence is None else None},
        {"limits": (Limit(CRITERION["equalized_odds"], most=1e-5),)},
        {"limits": ({"equal": 1},)},
        {"limits": 7},
    ]
    if result.evidence is not None:
        others += [{"evidence": 0.0}, {"evidence": 0.5}]
    if question.by_segment:
        monotone = gf.Segments(column=1, monotone=not question.monotone)
        others += [{"decide_by": (0,)}, {"fair_between": (1,), "decide_by": (0,)}, {"decide_by": monotone}]
    for other in others:
        with pytest.raises(ValueError, match=r".+"):
            asked(result, **other).check(sketch)
    for limit in (0.9, 1e-5) if result.limits else ():
        with pytest.raises(ValueError, match=r".+"):
            changed(result, limits={next(iter(result.limits)): limit}).check(sketch)


@pytest.mark.parametrize("options", [{}, {"unified": True}, BY], ids=["groups", "unified", "segments"])
def test_a_question_cannot_claim_what_nobody_looked_for(options):
    score, label, group, segment = people()
    sketch = gf.Sketch.from_rows(score, label, [group, segment] if "decide_by" in options else group, bins=32)
    result = gf.solve(sketch, limits=LIMITS, evidence=0, **options)
    result.check(sketch)
    for other in ({"confidence": 0.9}, {"evidence": 0.95}):
        if "unified" not in options or "evidence" not in other:  # one threshold needs no evidence
            with pytest.raises(ValueError, match="does not hold"):
                asked(result, **other).check(sketch)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_words_of_a_result_cannot_be_changed(backend, question):
    sketch, result = answered(question)
    message = f"no other thresholds have an error above 0.01; {result.message}"
    others = [{"message": message}, {"message": "all is well"}, {"notes": (*result.notes, NOTE)}]
    others += [{"notes": (replace(note, fields={"gap": 0.5}),)} for note in result.notes[:1]]
    others += [{"notes": result.notes[1:]}] if result.notes else []
    for other in others:
        with pytest.raises(ValueError, match="does not hold"):
            changed(result, **other).check(sketch)


@pytest.mark.parametrize("options", [{}, {"randomize": True}, {**BY, "randomize": True}, BY], ids=str)
def test_points_of_a_frontier_pass(options):
    score, label, group, segment = people()
    sketch = gf.Sketch.from_rows(score, label, [group, segment] if "decide_by" in options else group, bins=16)
    points = gf.frontier(sketch, "equalized_odds", **options)
    for i in (0, len(points) // 2, len(points) - 1):
        points.result(i).check(sketch)
        with pytest.raises(ValueError, match="does not hold"):
            replace(points.result(i), notes=(NOTE,)).check(sketch)


@pytest.mark.parametrize("question", QUESTIONS)
def test_another_sketch_does_not_pass(question):
    sketch, result = answered(question)
    other, _ = answered(question, seed=6)
    for one in (result, changed(result, digest=None)):
        with pytest.raises(ValueError, match="does not hold"):
            one.check(other)
    changed(result, digest=None).check(sketch)


def test_thresholds_that_miss_limits_by_more_do_not_pass(backend):
    """With all numbers their own: only the claim is wrong."""
    for question in ("infeasible", "infeasible unified", "segments infeasible"):
        sketch, result = answered(question)
        same, slack = dict.fromkeys(result.thresholds, float(sketch.edges[9])), result.proof.slack
        other = recheck.again_from_thresholds(changed(result, thresholds=same), sketch)
        with pytest.raises(ValueError, match=r"miss the limits by more|decides like one nearer"):
            changed(other, message=result.message, steps=result.proof.steps).check(sketch)
        with pytest.raises(ValueError, match="does not say"):
            changed(result, slack=None).check(sketch)
        for each in (slack.each / 2, slack.each * 2, 0.0, 1e-7, 1e9, math.nan, "0.1", None):
            with pytest.raises(ValueError, match=r"does not hold|cannot convert|Unknown format"):
                changed(result, slack=replace(slack, each=each)).check(sketch)


def test_every_field_of_a_result_is_checked_or_listed(backend):
    """A field that is new has to be computed by `finish`, or be named as one that is not checked."""
    sketch, result = answered("groups")
    assert {name or part for part, name in places(result)} >= recheck.METADATA | recheck.HIDDEN
    for place in checked_places(result):
        with pytest.raises(ValueError, match=r".+"):
            with_value(result, *place, object()).check(sketch)


# -------------------------------------------------------------------------------------------------------- forged proofs


def forged(result, **fields_of_certificate):
    certificates = (replace(c, **fields_of_certificate) for c in result.proof.steps.certificates)
    return changed(result, steps=proof.Steps(tuple(certificates)))


def accepting_everybody(question):
    """Thresholds that accept everybody, with all numbers their own."""
    sketch, result = answered(question)
    parts = dict.fromkeys(result.thresholds, ((-math.inf, 1.0),))
    mixtures = None if result.mixtures is None else parts
    all_in = changed(result, thresholds=dict.fromkeys(result.thresholds, -math.inf), mixtures=mixtures)
    made = recheck.again_from_thresholds(all_in, sketch)
    return sketch, changed(made, message=result.message, steps=result.proof.steps)


LEAF = ("tpr", 0, 1, 0.5)
FORGED = {
    "own": {},
    "within": {"within": 10**9},
    "negative within": {"within": -(10**9), "first": None, "steps": (Leaf(-1, ()),)},
    "negative weight": {"steps": (Leaf(-1, ()),)},
    "weight above 1": {"steps": (Leaf(2, ()),)},
    "weight true": {"steps": (Leaf(True, ()),)},
    "first of negative weight": {"first": Leaf(-1, ())},
    "negative multiplier": {"steps": (Leaf(1, (("tpr", 0, 1, -5.0),)),)},
    "infinite multiplier": {"steps": (Leaf(1, (("tpr", 0, 0, math.inf),)),)},
    "kind -2": {"steps": (Leaf(0, (("tpr", 0, -2, 5.0),)),)},
    "kind -1": {"steps": (Leaf(0, (("tpr", 0, -1, 5.0),)),)},
    "group -1": {"steps": (Leaf(0, (("tpr", -1, 1, 5.0),)),)},
    "rate without a limit": {"steps": (Leaf(0, (("accuracy", 0, 1, 5.0),)),)},
    "no rate": {"steps": (Leaf(0, (("recall", 0, 1, 5.0),)),)},
    "no steps": {"steps": ()},
    "a cut to itself": {"steps": (Cut(0, 3, 0, 0),)},
    "a step twice": {"steps": (Cut(0, 3, 1, 1), Leaf(0, ()))},
    "a cut of no segment": {"steps": (Cut(9, 3, 1, 2), Leaf(0, ()), Leaf(0, ()))},
    "one choice": {"steps": (Single(),)},
    "something else": {"steps": (7,)},
    "multipliers of another kind": {"steps": (Leaf(0, [LEAF]),)},
    "another order": {"order": (3, 0, 1, 2)},
    "limits": {"limits": {"equalized_odds": 1.0}},
    "prices": {"prices": (0, 0)},
    "unit": {"unit": math.inf},
    "choice": {"choice": (0, 0, 0, 0)},
}


@pytest.mark.parametrize("name", FORGED)
@pytest.mark.parametrize("question", ["segments", "segments mixed"])
def test_no_proof_makes_accepting_everybody_the_best_answer(question, name):
    sketch, everybody = accepting_everybody(question)
    with pytest.raises(ValueError, match="does not hold"):
        forged(everybody, **FORGED[name]).check(sketch)
    if name != "something else":  # which has no form in JSON, and so none in a pickle
        with pytest.raises(ValueError, match="does not hold"):
            pickle.loads(pickle.dumps(forged(everybody, **FORGED[name]))).check(sketch)


def test_a_mixture_is_not_proven_by_cuts():
    """A cut says something of every choice, and nothing of mixtures of choices on both sides of it."""
    sketch, choice = answered("segments")
    _, mixed = answered("segments mixed")
    assert mixed.error < choice.error
    parts = {name: ((threshold, 1.0),) for name, threshold in choice.thresholds.items()}
    made = recheck.again_from_thresholds(changed(mixed, mixtures=parts, thresholds=choice.thresholds), sketch)
    with pytest.raises(ValueError, match="one bound for all"):
        changed(made, steps=choice.proof.steps).check(sketch)


def test_a_proof_for_one_order_does_not_prove_both():
    sketch, result = answered("segments monotone")
    first, second = result.proof.steps.certificates
    for parts in ((first,), (second,), (first, first), (first, second, second)):
        with pytest.raises(ValueError, match="one of two orders"):
            changed(result, steps=proof.Steps(parts)).check(sketch)


def test_an_infeasible_verdict_needs_a_proof_that_nothing_meets_the_limits():
    sketch, result = answered("segments infeasible")
    for steps in ((Leaf(1, ()),), (Leaf(0, ()),), (Single(),)):
        with pytest.raises(ValueError, match="does not hold"):
            forged(result, steps=steps).check(sketch)


# ---------------------------------------------------------------------------------------------------------------- files


def saved(result, change):
    content = json.loads(result.to_json())
    change(content)
    return json.dumps(strict.sealed(content))


def test_a_file_has_the_proof_and_is_checked_with_it(backend, monkeypatch):
    sketch, result = answered("segments monotone")
    text = result.to_json()
    assert len(json.loads(text)["proof"]) == 2
    again = gf.Result.from_json(text)
    assert again.to_json() == text
    monkeypatch.setattr(recheck, "room", None)  # no search
    again.check(sketch)


@pytest.mark.parametrize(
    "steps",
    [
        7,
        [],
        [7],
        ["leaf"],
        ["leaf 1 tpr 0 1"],
        ["leaf 1 tpr 0 1 nan"],
        ["leaf -1"],
        ["leaf 1 tpr 0 1 inf"],
        ["cut 0 1"],
        ["cut 0 1 1 1", "leaf 1"],
        ["leaf 99999999999999999999"],
        ["single "],
        [None],
        ["leaf 1" + " tpr 0 1 1.0" * 500],
    ],
    ids=lambda steps: str(steps)[:30],
)
def test_a_file_with_a_broken_proof_is_rejected(steps):
    sketch, result = answered("segments")

    def change(content):
        content["proof"][0]["steps"] = steps

    again = gf.Result.from_json(saved(result, change))
    with pytest.raises(ValueError, match="does not hold on this sketch"):
        again.check(sketch)


@pytest.mark.parametrize("found", [[7], [{}], [{"order": None, "first": "single", "steps": []}], [], {"order": 7}])
def test_a_file_with_something_else_for_a_proof_is_rejected(found):
    sketch, result = answered("segments")
    if isinstance(found, dict):
        found = [{"first": None, "steps": ["leaf 1"], **found}]
    again = gf.Result.from_json(saved(result, lambda content: content.update(proof=found)))
    if found:
        with pytest.raises(ValueError, match="does not hold on this sketch"):
            again.check(sketch)
    else:
        again.check(sketch)  # no proof at all: it is searched for


def test_a_proof_that_is_too_large_is_not_saved(monkeypatch):
    sketch, result = answered("segments")
    monkeypatch.setattr(proof, "LARGEST", 10)
    again = gf.Result.from_json(result.to_json())
    assert again.proof.steps is None
    again.check(sketch)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.data())
def test_a_proof_with_one_change_proves_nothing_that_is_false(data):
    """Whatever a step becomes: accepting everybody is never the best answer."""
    sketch, everybody = accepting_everybody("segments")
    certificate = everybody.proof.steps.certificates[0]
    steps = [proof._text(step) for step in certificate.steps]
    at = data.draw(st.integers(0, len(steps) - 1))
    words = steps[at].split(" ")
    word = data.draw(st.integers(0, len(words) - 1))
    words[word] = data.draw(st.sampled_from(["0", "1", "2", "-1", "7", "1e300", "0.5", "tpr", "fpr", "leaf", "single"]))
    steps[at] = " ".join(words)
    content = [{"order": None, "first": None, "steps": steps}]
    with pytest.raises(ValueError, match="does not hold"):
        changed(everybody, steps=proof.Steps(saved=content)).check(sketch)


def test_what_is_written_is_what_is_read():
    steps = (Cut(0, 3, 1, 2), Leaf(1, (("tpr", 0, 1, 0.1), ("fpr", 2, 0, 1e-300))), Single())
    certificate = Certificate((), (0, 0), 0.0, (0, 1), choice=None, first=Leaf(0, ()), steps=steps)
    assert proof.decode(copy.deepcopy(proof.encode((certificate,)))) == (certificate,)
