"""`solve` with `fair_between` and `decide_by`: thresholds that do not depend on the protected group."""

from __future__ import annotations

import itertools
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from helpers.results import asked, changed
from hypothesis import given, settings
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._base import json as strict

pytestmark = pytest.mark.filterwarnings(
    "ignore::gstar_fast.errors.DegenerateWarning", "ignore::gstar_fast.errors.OverfitWarning"
)

BY = {"fair_between": 0, "decide_by": 1}
LIMITS = {"equalized_odds": 0.05}


def people(seed=0, rows=900, segments=3):
    rng = np.random.default_rng(seed)
    sex, label = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    segment = np.clip(rng.integers(0, segments, rows) + (rng.random(rows) < 0.4) * sex, 0, segments - 1)
    score = np.rint(rng.normal(label * 1.5 + 0.6 * sex - 0.3 * segment, 1.0) * 16) / 16
    return score, label, np.array(["F", "M"])[sex], segment


def counted(seed=0, **options):
    score, label, sex, segment = people(seed, **options)
    return gf.Sketch.from_rows(score, label, [sex, segment], bins=64)


def rates_of(accepted, label):
    return accepted[label == 1].mean(), accepted[label == 0].mean()


# -------------------------------------------------------------------------------------------------------- what it finds


def test_rows_that_are_decided_have_the_error_the_rates_and_the_gaps_of_the_result(backend):
    score, label, sex, segment = people()
    sketch = gf.Sketch.from_rows(score, label, [sex, segment], bins=64)
    result = gf.solve(sketch, limits=LIMITS, **BY)
    assert (result.verdict, result.question.fair_between, result.question.columns, result.question.monotone) == (
        "optimal",
        (0,),
        (1,),
        False,
    )
    accepted = result.decider()(score, segment)
    assert (accepted != label).mean() == pytest.approx(result.error, abs=1e-12)
    rates = {name: rates_of(accepted[sex == name], label[sex == name]) for name in ("F", "M")}
    for name, (tpr, fpr) in rates.items():
        at = result.rates[name]
        assert (at.rows, at.tpr, at.fpr) == ((sex == name).sum(), pytest.approx(tpr), pytest.approx(fpr))
    gap = max(abs(np.subtract(*pair)) for pair in zip(*rates.values(), strict=True))
    assert result.gaps["equalized_odds"] == pytest.approx(gap)
    assert gap <= 0.05 + 1e-12
    assert list(result.thresholds) == list(result.rates.by_segment) == [0, 1, 2]
    for name, at in result.rates.by_segment.items():
        one = segment == name
        assert (at.rows, at.selection_rate) == (one.sum(), pytest.approx(accepted[one].mean()))
    assert "segment" in str(result)
    assert str(result).count("\nF ") == 1


def test_no_thresholds_of_all_are_better(backend):
    """Every choice of edges of a small sketch, tried one by one."""
    score, label, sex, segment = people(3, rows=120, segments=2)
    sketch = gf.Sketch.from_rows(score, label, [sex, segment], bins=16)
    least = np.inf
    edges = [-np.inf, *sketch.edges]
    for pair in itertools.product(edges, repeat=2):
        accepted = score >= np.array(pair)[segment]
        one, two = (rates_of(accepted[sex == name], label[sex == name]) for name in ("F", "M"))
        if max(abs(a - b) for a, b in zip(one, two, strict=True)) <= 0.1 + 1e-12:
            least = min(least, (accepted != label).mean())
    result = gf.solve(sketch, limits={"equalized_odds": 0.1}, **BY)
    assert result.error == pytest.approx(least, abs=1e-12)


def test_a_mixture_is_decided_with_one_key_for_each_row(backend):
    score, label, sex, segment = people(1, rows=20_000)
    sketch = gf.Sketch.from_rows(score, label, [sex, segment], bins=64)
    result = gf.solve(sketch, limits={"equalized_odds": 0.01}, randomize=True, **BY)
    plain = gf.solve(sketch, limits={"equalized_odds": 0.01}, **BY)
    assert result.randomized
    assert result.error <= plain.error
    accepted = result.decider()(score, segment, keys=np.arange(len(score)))
    assert (accepted != label).mean() == pytest.approx(result.error, abs=0.01)
    result.check(sketch)


def test_repeats_are_rows_and_weights_keep_the_thresholds(backend):
    score, label, sex, segment = people(11, rows=400)
    weights = 1 + np.arange(400) % 3
    often = gf.Sketch.from_rows(score, label, [sex, segment], repeats=weights, bins=64)
    halves = gf.Sketch.from_rows(score, label, [sex, segment], weights=weights / 2, bins=64)
    columns = (np.repeat(column, weights) for column in (score, label, sex, segment))
    score, label, sex, segment = columns
    plain = gf.Sketch.from_rows(score, label, [sex, segment], bins=64)
    expected = gf.solve(plain, limits=LIMITS, **BY)
    assert gf.solve(often, limits=LIMITS, **BY) == expected
    half = gf.solve(halves, limits=LIMITS, **BY)
    assert half.error == pytest.approx(expected.error, abs=1e-12)
    assert half.thresholds == expected.thresholds
    assert sum(at.rows for at in half.rates.values()) == half.n_rows == 400
    assert sum(at.rows for at in half.rates.by_segment.values()) == 400
    half.check(halves)
    assert gf.solve(plain, **BY).error <= expected.error


@pytest.mark.parametrize("randomize", [False, True])
def test_monotone_thresholds_rise_or_fall(backend, randomize):
    sketch = counted(4, segments=4)
    free = gf.solve(sketch, limits=LIMITS, randomize=randomize, **BY)
    result = gf.solve(
        sketch, limits=LIMITS, randomize=randomize, **BY | {"decide_by": gf.Segments(column=1, monotone=True)}
    )
    assert result.question.monotone
    if not randomize:
        steps = np.diff(list(result.thresholds.values()))
        assert np.all(steps >= 0) or np.all(steps <= 0)
    assert result.error >= free.error - 1e-12
    result.check(sketch)


def test_limits_out_of_reach_have_a_proof_and_a_nearest_answer(backend):
    limits = {"accuracy_parity": 0.0, "equalized_odds": 0.0}
    groups = [np.array(list("aaaabbb")), np.array([0, 0, 1, 1, 0, 0, 1])]
    sketch = gf.Sketch.from_rows([1, 2, 3, 4, 1, 2, 3], [0, 1, 0, 1, 1, 0, 0], groups, bins=16)
    result = gf.solve(sketch, limits=limits, **BY)
    assert (result.verdict, result.lower_bound) == ("infeasible", 0.0)
    assert not result.meets_limits
    assert "could be met if each were" in result.message
    result.check(sketch)
    mixed = gf.solve(sketch, limits=limits, randomize=True, **BY)
    assert mixed.verdict in ("infeasible", "optimal")


def test_a_search_that_is_ended_says_so(backend):
    score, label, sex, segment = people(5, rows=3000, segments=6)
    sketch = gf.Sketch.from_rows(score, label, [sex, segment], bins=256)
    limits = {"equalized_odds": 0.001}
    result = gf.solve(sketch, limits=limits, max_seconds=1e-9, **BY)
    assert result.verdict == "not_converged"
    assert result.meets_limits
    assert 0 <= result.lower_bound <= gf.solve(sketch, limits=limits, randomize=True, **BY).loss <= result.loss
    with pytest.raises(ValueError, match="does not say that the error is the least"):
        result.check(sketch)


# ---------------------------------------------------------------------------------------------------- today's questions


def without_columns(result):
    """The result as a sketch of its groups alone gives it: the question names no columns."""
    promise = result.promise and replace(result.promise, plain=without_columns(result.promise.plain))
    return replace(asked(result, fair_between=None, decide_by=None), promise=promise)


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.booleans())
def test_the_same_columns_are_todays_answer_to_the_last_bit(backend, seed, randomize):
    score, label, sex, segment = people(seed, rows=300)
    both, alone = (gf.Sketch.from_rows(score, label, groups, bins=64) for groups in ([sex, segment], sex))
    options = {"limits": LIMITS, "randomize": randomize}
    here = gf.solve(both, fair_between=0, decide_by=[0], **options)
    assert (here.question.fair_between, here.question.columns, here.question.by_segment) == ((0,), (0,), False)
    assert without_columns(here) == gf.solve(alone, **options)
    assert here.origin.digest == both.digest()


@settings(max_examples=12)
@given(st.integers(0, 10**6))
def test_deciding_by_nothing_is_one_threshold_for_everybody(backend, seed):
    score, label, sex, segment = people(seed, rows=300)
    both, alone = (gf.Sketch.from_rows(score, label, groups, bins=64) for groups in ([sex, segment], sex))
    here = gf.solve(both, limits=LIMITS, fair_between=0, unified=True)
    assert (here.question.fair_between, here.question.decide_by) == ((0,), None)
    assert without_columns(here) == gf.solve(alone, limits=LIMITS, unified=True)


def test_todays_options_go_with_todays_questions(backend):
    score, label, sex, segment = people(2, rows=6000)
    both, alone = (gf.Sketch.from_rows(score, label, groups, bins=64) for groups in ([sex, segment], sex))
    options = {"limits": {"equalized_odds": 0.2}, "confidence": 0.9}
    here, there = gf.solve(both, fair_between=0, decide_by=0, **options), gf.solve(alone, **options)
    assert without_columns(here) == there
    assert here.promise.plain.origin.digest == both.digest()


# ----------------------------------------------------------------------------------------------------------------- laws


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.permutations(range(3)), st.booleans())
def test_names_of_groups_and_segments_do_not_matter(backend, seed, numbers, swap):
    score, label, sex, segment = people(seed, rows=300)
    first = gf.solve(gf.Sketch.from_rows(score, label, [sex, segment], bins=64), limits=LIMITS, **BY)
    renamed = np.array(numbers)[segment]
    other = np.where(sex == "F", "M", "F") if swap else sex
    second = gf.solve(
        gf.Sketch.from_rows(score, label, [renamed, other], bins=64), limits=LIMITS, fair_between=1, decide_by=0
    )
    assert second.error == first.error
    assert second.verdict == first.verdict == "optimal"


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_a_result_survives_json_and_pickle(backend, seed, randomize, monotone):
    sketch = counted(seed, rows=300)
    result = gf.solve(
        sketch, limits=LIMITS, randomize=randomize, **BY | {"decide_by": gf.Segments(column=1, monotone=monotone)}
    )
    again = gf.Result.from_json(result.to_json())
    assert again == result
    assert str(again) == str(result)
    assert gf.Decider.from_json(result.to_json()).groups == (0, 1, 2)
    again.check(sketch)
    pickle.loads(pickle.dumps(result)).check(sketch)


def test_columns_have_names_and_may_be_several(backend):
    pl = pytest.importorskip("polars")
    score, label, sex, segment = people(6, rows=600)
    region = np.array(["n", "s"])[np.arange(600) % 2]
    table = pl.DataFrame({"p": score, "y": label, "sex": sex, "segment": segment, "region": region})
    sketch = gf.Sketch(bins=64).update_table(table, score="p", label="y", group=["sex", "segment", "region"])
    result = gf.solve(sketch, limits=LIMITS, fair_between="sex", decide_by=["region", "segment"])
    assert (result.question.fair_between, result.question.columns) == (("sex",), ("region", "segment"))
    assert result.origin.group_column == "region,segment"
    assert set(result.thresholds) == {(r, s) for r in "ns" for s in range(3)}
    assert set(result.rates) == {"F", "M"}
    several = gf.solve(sketch, limits={"equalized_odds": 0.2}, fair_between=["sex", "region"], decide_by="segment")
    assert set(several.rates) == {(s, r) for s in "FM" for r in "ns"}
    assert several.origin.group_column == "segment"
    same = gf.solve(sketch, limits=LIMITS, fair_between="sex", decide_by="sex")
    assert (same.origin.group_column, same.question.columns, same.question.by_segment) == ("sex", ("sex",), False)
    result.check(sketch)


def test_exports_decide_by_segment():
    sqlite3 = pytest.importorskip("sqlite3")
    score, _, _, segment = people()
    result = gf.solve(counted(), limits=LIMITS, **BY)
    text = gf.to_sql(result.decider(), score="p", group="s")
    db = sqlite3.connect(":memory:")
    db.execute("create table t (p real, s integer)")
    db.executemany("insert into t values (?, ?)", zip(score.tolist(), segment.tolist(), strict=True))
    found = [row[0] for row in db.execute(f"select {text} from t")]
    db.close()
    assert found == result.decider()(score, segment).astype(int).tolist()


# --------------------------------------------------------------------------------------------------------------- proofs


def test_a_proof_of_other_rows_or_of_another_answer_does_not_hold(backend):
    sketch, other = counted(7), counted(8)
    result = gf.solve(sketch, limits=LIMITS, **BY)
    result.check(sketch)
    with pytest.raises(ValueError, match="does not hold on this sketch"):
        result.check(other)
    for edge in sketch.edges[:60:6]:
        moved = {**result.thresholds, 0: float(edge)}
        if moved != result.thresholds:
            with pytest.raises(ValueError, match=r"does not hold on this sketch: .*, but the rows give"):
                changed(result, thresholds=moved).check(sketch)
    with pytest.raises(ValueError, match="not at a bin edge"):
        changed(result, thresholds={**result.thresholds, 0: 0.0101}).check(sketch)
    with pytest.raises(ValueError, match="other groups or segments"):
        changed(result, thresholds={**result.thresholds, 9: 0.5}).check(sketch)
    with pytest.raises(ValueError, match="nothing is better"):
        changed(result, limits={"equalized_odds": 0.5}).check(sketch)
    with pytest.raises(ValueError, match="one of two orders"):
        asked(result, decide_by=gf.Segments(column=1, monotone=True)).check(sketch)
    with pytest.raises(ValueError, match="lower_bound"):
        changed(result, verdict="infeasible").check(sketch)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"randomize": True},
        {"unified": True},
        {"objective": {"fp": 1, "fn": 3}},
        {"limits": {}},
        {"limits": {"disparate_impact": 0.9}},
    ],
    ids=str,
)
def test_thresholds_by_group_are_proven_by_a_new_search(backend, options):
    score, label, sex, _ = people(9)
    sketch = gf.Sketch.from_rows(score, label, sex, bins=64)
    result = gf.solve(sketch, **{"limits": LIMITS, **options})
    result.check(sketch)
    gf.Result.from_json(result.to_json()).check(sketch)
    worse = float(sketch.edges[-9])
    if result.mixtures is None:
        other = changed(result, thresholds=dict.fromkeys(result.thresholds, worse))
    else:
        other = changed(result, mixtures=dict.fromkeys(result.mixtures, ((worse, 1.0),)))
    with pytest.raises(ValueError, match="does not hold"):
        other.check(sketch)


def test_results_without_a_certificate_are_solved_again():
    score, label, sex, _ = people(9)
    sketch = gf.Sketch.from_rows(score, label, sex, bins=64)
    for options in (
        {"penalties": {"equalized_odds": 1.0}},
        {"density": "normal"},
        {"limits": LIMITS, "min_rows": 10},
        {"limits": {"equalized_odds": 0.3}, "confidence": 0.6},
    ):
        result = gf.solve(sketch, **options)
        result.check(sketch)
        with pytest.raises(ValueError, match="error is"):
            changed(result, error=result.error / 2).check(sketch)
    many = gf.Sketch.from_rows(score, label, np.arange(len(score)) // 9)  # too many groups for certificates
    gf.solve(many).check(many)


def test_what_claims_nothing_is_not_proven():
    score, label, sex, segment = people(9)
    sketch = gf.Sketch.from_rows(score, label, sex, bins=64)
    plain = gf.solve(sketch, limits=LIMITS)
    with pytest.raises(ValueError, match="'not_converged', which does not say"):
        changed(plain, verdict="not_converged").check(sketch)
    with pytest.raises(ValueError, match="not part of the result"):
        asked(plain, density="given").check(sketch)
    with pytest.raises(ValueError, match="came from the sketch with digest"):
        plain.check(gf.Sketch.from_rows(score, label, segment, bins=64))
    with pytest.raises(TypeError, match=r"must be a gf\.Sketch"):
        plain.check(7)


def tampered(content):
    """The document of a result by segment, each with one thing that is wrong."""
    protected, question = content["protected"], content["question"]
    first = protected[0]
    yield {key: value for key, value in content.items() if key != "protected"}
    for wrong in (
        7,
        [],
        protected[:1],
        [first, first],
        [7, *protected[1:]],
        [{**first, "name": None}, *protected[1:]],
        [{**first, "tpr": "high"}, *protected[1:]],
        [{**first, "more": 1}, *protected[1:]],
        [{key: value for key, value in first.items() if key != "rows"}, *protected[1:]],
    ):
        yield {**content, "protected": wrong}
    yield {**content, "question": {"limits": question["limits"], "decide_by": [1]}}
    for key in ("fair_between", "decide_by"):
        for wrong in (7.5, [], [True], {"column": 1}, {"cuts": None, "column": 1, "monotone": True, "more": 1}):
            yield {**content, "question": {**question, key: wrong}}
    yield {**content, "question": {**question, "more": 1}}
    yield {**content, "question": {**question, "decide_by": question["fair_between"]}}


def test_a_document_with_wrong_columns_or_protected_groups_is_refused():
    content = json.loads(gf.solve(counted(), limits=LIMITS, **BY).to_json())
    for wrong in tampered(content):
        words = r"not a saved result: .*(protected|question|fair_between|decide_by|before|segments)"
        with pytest.raises(ValueError, match=words):
            gf.Result.from_json(json.dumps(strict.sealed(wrong)))
    content["protected"][0]["tpr"] = 0.5  # not sealed again
    for reader in (gf.Result, gf.Decider):
        with pytest.raises(ValueError, match="checksum"):
            reader.from_json(json.dumps(content))


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"decide_by": 0}, "decide_by needs fair_between too"),
        ({"fair_between": 0, "decide_by": ()}, "decide_by names no column"),
        ({"fair_between": (), "decide_by": 1}, "fair_between names no column"),
        ({"fair_between": "sex", "decide_by": 1}, "does not know the names of its 2 group columns"),
        ({"fair_between": 0, "decide_by": 2}, "position 2, and groups of this sketch have 2 columns, counted from 0"),
        ({"fair_between": 0, "decide_by": -1}, "position -1"),
        ({"fair_between": 0, "decide_by": [1, 1]}, "names the column 1 twice"),
        ({"fair_between": 0, "decide_by": 1.5}, "must be the name of a group column, its position"),
        ({"fair_between": True, "decide_by": 1}, "must be the name of a group column, its position"),
        (
            {**BY, "penalties": {"equalized_odds": 1}},
            "decide_by does not go with penalties: thresholds by segment are for limits",
        ),
        ({**BY, "density": "kde"}, "decide_by does not go with density='kde': "),
        ({**BY, "min_rows": 10}, "decide_by does not go with min_rows=10.0: segments cannot be pooled yet"),
        ({**BY, "unified": True}, "decide_by does not go with unified=True: "),
        ({"decide_by": gf.Segments(column=1)}, "decide_by needs fair_between too"),
        (
            {"fair_between": 0, "decide_by": gf.Segments(column=0)},
            "segments of the column 0, and fair_between names the",
        ),
        ({"fair_between": 1, "decide_by": gf.Segments(column=0)}, "one column of whole numbers; got 'F'"),
        ({"fair_between": 0, "unified": True, "randomize": True}, "randomize=True does not go with unified=True: "),
    ],
)
def test_what_does_not_go_together_is_refused_in_words(options, words):
    with pytest.raises((TypeError, ValueError), match=words.replace("(", r"\(")):
        gf.solve(counted(), **{"limits": LIMITS, **options})


def test_a_column_itself_in_the_place_of_its_name_is_refused_shortly():
    with pytest.raises(TypeError, match=r"^decide_by must be the name .* got ndarray; count the column with the rows$"):
        gf.solve(counted(), limits=LIMITS, fair_between=0, decide_by=np.arange(100))


def test_groups_that_are_no_tuples_are_refused():
    both = [("a", 1), ("b", 1, 2), ("a", 1), ("b", 1, 2)]
    for groups, words in ((["a", "b", "a", "b"], "'a';"), (both, r"\('a', 1\) and \('b', 1, 2\);")):
        names = np.empty(4, dtype=object)
        names[:] = groups
        sketch = gf.Sketch.from_rows([1, 2, 3, 4], [0, 1, 0, 1], names)
        with pytest.raises(ValueError, match=f"not tuples of the same columns: there is {words}"):
            gf.solve(sketch, limits=LIMITS, **BY)
    with pytest.raises(ValueError, match="the sketch has no rows"):
        gf.solve(gf.Sketch(), limits=LIMITS, **BY)


def test_one_protected_group_has_nobody_to_compare_with():
    score, label, _, segment = people(rows=100)
    sketch = gf.Sketch.from_rows(score, label, [np.full(100, "F"), segment])
    with pytest.raises(ValueError, match="there is only one, 'F'"):
        gf.solve(sketch, limits=LIMITS, **BY)
