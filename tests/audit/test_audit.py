"""An audit counts to the row, says what it does not know, and reads well."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from helpers.golden import golden
from helpers.notes import texts
from helpers.strategies import tables
from hypothesis import assume, given
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._base.text import threshold_number

METRICS = [
    "rows",
    "base_rate",
    "selection_rate",
    "tpr",
    "fpr",
    "tnr",
    "fnr",
    "ppv",
    "accuracy",
    "balanced_accuracy",
]


def values(audit):
    """All numbers of an audit, without their intervals."""
    by_group = {g: {m: e.value for m, e in rates.items()} for g, rates in audit.rates.items()}
    return by_group, {m: e.value for m, e in audit.overall.items()}, {g: e.value for g, e in audit.gaps.items()}


# ----------------------------------------------------------------------------------------------------------- counting


@pytest.mark.slow
@given(data=st.data(), rows=tables())
def test_sketch_and_decisions_give_the_same_audit(backend, data, rows):
    """At edges, and at both infinities, the sketch's audit is that of the rows' decisions, intervals included."""
    assume(len(rows.scores))
    sketch = rows.into(gf.Sketch(bins=16))
    edges = st.sampled_from([-math.inf, math.inf, *sketch.edges.tolist()])
    thresholds = {name: data.draw(edges) for name in sketch.groups}
    decisions = gf.Decider(thresholds)(rows.scores, rows.groups)
    labels = [None if label == 2 else int(label) for label in rows.labels]
    one = gf.audit(thresholds, sketch, replicates=100)
    two = gf.audit(decisions=decisions, labels=labels, groups=rows.groups, replicates=100)
    assert (one.rates, one.overall, one.gaps) == (two.rates, two.overall, two.gaps)


@given(
    rows=st.lists(
        st.tuples(st.booleans(), st.sampled_from([0, 1, None]), st.sampled_from("abc")), min_size=1, max_size=30
    )
)
def test_rates_are_what_one_counts_by_hand(rows):
    audit = gf.audit(
        decisions=[d for d, _, _ in rows], labels=[y for _, y, _ in rows], groups=[g for _, _, g in rows], replicates=0
    )

    def share(hits, trials):
        return len(hits) / len(trials) if trials else None

    for name in (None, *audit.groups):
        mine = [(d, y) for d, y, g in rows if name in (None, g)]
        labelled = [(d, y) for d, y in mine if y is not None]
        positive, negative = [r for r in labelled if r[1]], [r for r in labelled if not r[1]]
        expected = {
            "rows": len(mine),
            "base_rate": share(positive, labelled),
            "selection_rate": share([r for r in mine if r[0]], mine),
            "tpr": share([r for r in positive if r[0]], positive),
            "fpr": share([r for r in negative if r[0]], negative),
            "tnr": share([r for r in negative if not r[0]], negative),
            "fnr": share([r for r in positive if not r[0]], positive),
            "ppv": share([r for r in positive if r[0]], [r for r in labelled if r[0]]),
            "accuracy": share([r for r in labelled if r[0] == bool(r[1])], labelled),
        }
        both = expected["tpr"] is not None and expected["tnr"] is not None
        expected["balanced_accuracy"] = (expected["tpr"] + expected["tnr"]) / 2 if both else None
        found = audit.overall if name is None else audit.rates[name]
        assert {m: e.value for m, e in found.items()} == expected
        assert list(found) == METRICS


def results(sketch):
    yield gf.solve(sketch, limits={"equalized_odds": 0.02})
    yield gf.solve(sketch, penalties={"equalized_odds": 1.0}, objective={"fp": 1, "fn": 2})
    yield gf.solve(sketch, limits={"equalized_odds": 0.3}, unified=True)
    yield gf.solve(sketch, limits={"equalized_odds": 0.0}, randomize=True)


def test_a_result_is_audited_as_it_promised(backend, sketch):
    """Rates, gaps and error of the result, bit for bit; a mixture in expectation."""
    for result in results(sketch):
        audit = gf.audit(result, sketch, threshold_replicates=0)
        for name, promised in result.rates.items():
            for metric, value in vars(promised).items():
                assert audit.rates[name][metric].value == value
        assert {name: audit.gaps[name].value for name in result.gaps} == result.gaps
        assert audit.overall["accuracy"].value == pytest.approx(1 - result.error, abs=1e-15)
        assert {name: e.value for name, e in audit.thresholds.items()} == result.thresholds


def test_thresholds_come_as_dict_number_result_or_decider(sketch):
    result = gf.solve(sketch, limits={"equalized_odds": 0.3}, unified=True)
    number = result.thresholds[0]
    expected = values(gf.audit(number, sketch))
    for form in (result.thresholds, result, result.decider(), np.float64(number)):
        assert values(gf.audit(form, sketch)) == expected
    patched = gf.Decider({0: number}, unknown=number)
    assert values(gf.audit(patched, sketch)) == expected


def test_unlabelled_rows_count_for_the_selection_rate_only():
    audit = gf.audit(decisions=[1, 0, 1, 1], labels=[1, 0, None, None], groups=list("aabb"))
    assert audit.rates["b"]["selection_rate"].value == 1.0
    assert audit.rates["b"]["rows"].value == 2
    assert [audit.rates["b"][m].value for m in METRICS[3:]] == [None] * 7
    assert audit.overall["accuracy"].value == 1.0
    assert "2 rows without a label: counted for the selection rate only" in texts(audit)
    nobody = gf.audit(decisions=[1, 0, 1, 1], labels=None, groups=list("aabb"))
    assert nobody.gaps["demographic_parity"].value == 0.5
    assert nobody.gaps["equalized_odds"].value is None
    assert texts(nobody) == ("no row has a label: only selection rates and their gaps are known",)


def test_repeats_are_rows_and_weights_are_noted():
    d, y, g = [1, 0, 1, 0], [1, 1, 0, 0], list("aabb")
    often = gf.audit(decisions=d, labels=y, groups=g, repeats=[1, 2, 3, 1])
    assert often == gf.audit(decisions=[1, 0, 0, 1, 1, 1, 0], labels=[1, 1, 1, 0, 0, 0, 0], groups=list("aaabbbb"))
    heavy = gf.audit(decisions=d, labels=y, groups=g, weights=[1, 2, 3, 1])
    assert values(heavy)[2] == values(often)[2]
    assert (often.n_rows, heavy.n_rows) == (7, 4)
    (note,) = [note for note in texts(heavy) if "total weight" in note]
    assert note.startswith("rows have a total weight of 7")
    assert "3.267 rows of weight 1" in note
    assert heavy.rates["a"]["tpr"].high > often.rates["a"]["tpr"].high  # fewer rows are less evidence


# ------------------------------------------------------------------------------------------------------ odd thresholds


def test_a_threshold_inside_a_bin_is_in_proportion_and_noted():
    sketch = gf.Sketch(bins=16, range=(0, 16)).update([3.5] * 4 + [9.5] * 4, [1, 0] * 4, ["a"] * 4 + ["b"] * 4)
    audit = gf.audit({"a": 3.25, "b": 5.25}, sketch)  # 'b' has no rows in that bin, so nothing is guessed
    assert audit.rates["a"]["selection_rate"].value == 0.75
    assert audit.rates["b"]["selection_rate"].value == 1.0
    assert texts(audit)[0].endswith("as if spread evenly: 'a' (4 rows)")
    assert not any("spread" in note for note in texts(gf.audit({"a": 4.0, "b": 9.0}, sketch)))


def test_a_smooth_result_can_be_audited(sketch):
    result = gf.solve(sketch, penalties={"equalized_odds": 1.0}, density="normal")
    audit = gf.audit(result, sketch)
    assert audit.thresholds[0].low is None
    assert any("smooth densities" in note for note in texts(audit))
    assert audit.gaps["equalized_odds"].value == pytest.approx(result.gaps["equalized_odds"], abs=0.05)


def test_thresholds_beyond_the_window():
    scores, labels, groups = [0.25, 0.75, math.inf, -math.inf], [0, 1, 1, 0], ["a"] * 4
    grown = gf.Sketch.from_rows(scores, labels, groups)
    for threshold, rate in ((-math.inf, 1.0), (-1e300, 0.75), (1e300, 0.25), (math.inf, 0.25)):
        assert gf.audit(threshold, grown).rates["a"]["selection_rate"].value == rate
    fixed = gf.Sketch.from_rows([0.25, 0.75, 1.5, -1.0], labels, groups, range=(0, 1), bins=16)
    assert gf.audit(-math.inf, fixed).rates["a"]["selection_rate"].value == 1.0
    assert gf.audit(math.inf, fixed).rates["a"]["selection_rate"].value == 0.0
    for threshold in (1.25, -0.5):
        with pytest.raises(ValueError, match=r"outside the sketch's range, 0.0 to 1.0, and 1 of the group's rows"):
            gf.audit(threshold, fixed)
    inside = gf.Sketch.from_rows([0.25, 0.75], [0, 1], ["a", "a"], range=(0, 1), bins=16)
    assert gf.audit(7.0, inside).rates["a"]["selection_rate"].value == 0.0


# --------------------------------------------------------------------------------------------------- what is not there


def test_decisions_without_a_group_are_an_error_skipped_or_named(backend):
    d, y, g = [1, 0, 1, 0, 1], [1, 1, 0, 0, 1], ["a", "a", None, "b", "b"]
    known = [0, 1, 3, 4]
    with pytest.raises(TypeError, match=r"at row 2; drop such rows or .* \(missing_group= does either where rows are"):
        gf.audit(decisions=d, labels=y, groups=g)
    skipped = gf.audit(decisions=d, labels=y, groups=g, missing_group="skip", repeats=[1, 1, 3, 1, 1])
    expected = gf.audit(decisions=[d[i] for i in known], labels=[y[i] for i in known], groups=[g[i] for i in known])
    assert texts(skipped)[0] == "rows without a group, left out: 3"
    assert dataclasses.replace(skipped, notes=skipped.notes[1:]) == expected
    named = gf.audit(decisions=d, labels=y, groups=g, missing_group="unknown")
    assert named == gf.audit(decisions=d, labels=y, groups=["a", "a", "unknown", "b", "b"])
    with pytest.raises(ValueError, match=r"no rows to audit: .* or no row has a group"):
        gf.audit(decisions=d, labels=y, groups=[None] * 5, missing_group="skip")
    with pytest.raises(TypeError, match='missing_group must be "raise", "skip" or the name of a group'):
        gf.audit(decisions=d, labels=y, groups=g, missing_group=1.5)
    with pytest.raises(TypeError, match="a sketch holds its labels, groups and weights"):
        gf.audit(0.5, gf.Sketch.from_rows([0.5], [1], ["a"]), missing_group="skip")


def test_missing_classes_are_none_with_a_note():
    audit = gf.audit(decisions=[1, 0, 1, 1], labels=[1, 1, 0, 1], groups=list("aabb"))
    assert audit.rates["a"]["fpr"].value is None
    assert audit.rates["a"]["fpr"].low is None
    assert audit.gaps["predictive_equality"].value is None  # a single group is left
    assert audit.gaps["equal_opportunity"].value == 0.5
    assert "group 'a': no negative label: fpr, tnr, balanced accuracy not known" in texts(audit)


def test_a_group_without_a_class_is_left_out_of_its_gap():
    audit = gf.audit(decisions=[1, 0, 1, 0, 1], labels=[1, 0, 0, 1, 1], groups=list("aabbc"))
    assert audit.gaps["predictive_equality"].value == 1.0
    assert audit.gaps["predictive_equality"].low is not None


def test_a_group_without_rows_is_named():
    sketch = gf.Sketch(groups=["a", "b", "empty"]).update([0.1, 0.9, 0.2, 0.8], [0, 1, 0, 1], list("aabb"))
    audit = gf.audit(0.5, sketch)
    assert audit.rates["empty"]["rows"].value == 0
    assert "group 'empty': no rows" in texts(audit)
    assert audit.gaps["demographic_parity"].value == 0.0


def test_one_group_has_no_gaps():
    audit = gf.audit(decisions=[1, 0], labels=[1, 1], groups=["a", "a"])
    ratios = {"disparate_impact", "equal_opportunity_ratio", "predictive_equality_ratio", "equalized_odds_ratio"}
    assert {name: e.value for name, e in audit.gaps.items()} == {n: float(n in ratios) for n in audit.gaps}
    assert {e.low for e in audit.gaps.values()} == {None}


def test_small_groups_are_named_smallest_first():
    groups = ["big"] * 400 + ["small"] * 60 + ["tiny"] * 6
    labels = [0, 1] * 233
    audit = gf.audit(decisions=[1] * 466, labels=labels, groups=groups)
    small = [note for note in texts(audit) if "is small" in note]
    assert [note.split("'")[1] for note in small] == ["tiny", "small"]
    assert small[0] == (
        "group 'tiny' is small: 3 positive labels, so its tpr may be anything from 0.44 to 1.00; "
        "3 negative labels, so its fpr may be anything from 0.44 to 1.00"
    )
    many = gf.audit(decisions=[1] * 20, labels=[1] * 20, groups=list(range(20)))
    assert sum("is small" in note for note in texts(many)) == 5
    assert "15 more groups with fewer than 50 labels of a class" in texts(many)


# --------------------------------------------------------------------------------------------------------- bad input

GOOD = ([1, 0], [1, 0], ["a", "b"])


def by_keyword(rows, **options):
    return gf.audit(**dict(zip(("decisions", "labels", "groups"), rows, strict=True)), **options)


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (GOOD, "list, list, list"),
        (([1, 0], [1, 0]), "list, list"),
        ((np.array([1, 0]),), "ndarray"),
    ],
)
def test_arrays_are_taken_by_keyword_only(arguments, found):
    """In scikit-learn's order labels come first: by position the two would be exchanged, and with them tpr and ppv."""
    text = rf"audit takes arrays by keyword, audit\(decisions=..., labels=..., groups=...\), .* got {found} by position"
    with pytest.raises(TypeError, match=text):
        gf.audit(*arguments)


def test_an_array_that_is_missing_is_named(sketch):
    with pytest.raises(TypeError, match="there is no sketch, and groups= is missing"):
        gf.audit(decisions=[1, 0], labels=[1, 0])
    with pytest.raises(TypeError, match="there is no sketch, and decisions= and groups= are missing"):
        gf.audit(thresholds=0.5)
    with pytest.raises(TypeError, match="decisions have no thresholds"):
        by_keyword(GOOD, thresholds=0.5)
    assert gf.audit(sketch=sketch, thresholds=0.5) == gf.audit(0.5, sketch)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "text"),
    [
        (([], [], []), {}, ValueError, "there are no rows to audit"),
        (([1, 0.5], [1, 0], [0, 1]), {}, ValueError, "got 0.5 at row 1; for scores count a Sketch"),
        (([1, -1], [1, 0], [0, 1]), {}, ValueError, "for -1/\\+1 decisions pass decisions > 0"),
        (([1, math.nan], [1, 0], [0, 1]), {}, ValueError, "decisions has NaN at row 1"),
        (([1, None], [1, 0], [0, 1]), {}, ValueError, "decisions has a missing value at row 1"),
        ((["yes", "no"], [1, 0], [0, 1]), {}, TypeError, "got str at row 0; pass decisions == <the accepting one>"),
        (
            (np.array(["y", "n"]), [1, 0], [0, 1]),
            {},
            TypeError,
            "decisions must be 0 or 1, got strings; pass",
        ),
        ((np.ones((2, 2)), [1, 0], [0, 1]), {}, ValueError, "decisions must be 1-D"),
        (([1, 0], [1, 2], [0, 1]), {}, ValueError, "labels must be 0 or 1, got 2 at row 1"),
        (([1, 0], [1], [0, 1]), {}, ValueError, "decisions has 2, labels has 1, groups has 2"),
        (([1, 0], [1, 0], ["a", None]), {}, TypeError, "groups has a missing value at row 1"),
        (GOOD, {"weights": [1, -1]}, ValueError, "weights must be finite and not negative"),
        (GOOD, {"weights": [0, 0]}, ValueError, "all weights or repeats are 0"),
        (GOOD, {"confidence": 95}, ValueError, "from 0.5 to 0.999, got 95; 95 % is 0.95"),
        (GOOD, {"confidence": math.nan}, ValueError, "from 0.5 to 0.999"),
        (GOOD, {"confidence": "high"}, TypeError, "confidence must be a number"),
        (GOOD, {"replicates": 10}, ValueError, "replicates must be 0, or from 100"),
        (GOOD, {"replicates": 10.5}, TypeError, "replicates must be a whole number"),
        (GOOD, {"replicates": True}, TypeError, "replicates must be a whole number"),
        (GOOD, {"seed": -1}, ValueError, "seed must be a whole number that is not negative"),
        (GOOD, {"threshold_replicates": 100}, TypeError, "decisions have no thresholds"),
    ],
)
def test_bad_rows_and_options_say_what_is_wrong(arguments, options, error, text):
    with pytest.raises(error, match=text):
        by_keyword(arguments, **options)


@pytest.mark.parametrize(
    ("thresholds", "error", "text"),
    [
        ({0: 0.5}, ValueError, "group 1 of the sketch has no threshold; there are thresholds for 0"),
        ({0: 0.5, 1: math.nan}, ValueError, "the threshold of group 1 is NaN"),
        ({0: 0.5, 1: "high"}, TypeError, "must be a number"),
        ({}, ValueError, "thresholds is empty"),
        (math.nan, ValueError, "the threshold is NaN"),
        (True, TypeError, "thresholds must be a dict"),
        ([0.5, 0.5], TypeError, "thresholds must be a dict of group -> number, .* got list"),
        (None, TypeError, "got NoneType"),
    ],
)
def test_bad_thresholds_say_what_is_wrong(sketch, thresholds, error, text):
    before = sketch.digest()
    with pytest.raises(error, match=text):
        gf.audit(thresholds, sketch)
    assert sketch.digest() == before


def test_a_sketch_takes_no_groups_and_an_empty_one_is_refused(sketch):
    for arrays in ({"decisions": [1]}, {"labels": [1]}, {"groups": ["a"]}, {"weights": [1]}):
        with pytest.raises(TypeError, match="a sketch holds its labels, groups and weights"):
            gf.audit(0.5, sketch, **arrays)
    with pytest.raises(ValueError, match="the sketch has no rows"):
        gf.audit(0.5, gf.Sketch())


def test_thresholds_of_groups_nobody_has_are_noted(sketch):
    audit = gf.audit({0: 0.0, 1: 0.0, "gone": 1.0}, sketch)
    assert "thresholds for groups that have no rows: 'gone'" in texts(audit)
    assert audit.groups == (0, 1)


# ------------------------------------------------------------------------------------------------- words and tables


def audits(sketch):
    yield "result", gf.audit(gf.solve(sketch, limits={"equalized_odds": 0.02}), sketch)
    yield "thresholds", gf.audit({0: -0.5, 1: math.inf}, sketch, confidence=0.9)
    yield (
        "decisions",
        gf.audit(decisions=[1, 0, 1, 1, 0], labels=[1, 0, None, 1, 1], groups=["<b>", "<b>", ("x", 1), ("x", 1), 7]),
    )


def test_texts_are_the_golden_ones(backend, sketch):
    """The same words and numbers on every backend."""
    for name, audit in audits(sketch):
        golden(f"audit_{name}.txt", f"{audit}\n")


@pytest.mark.parametrize(
    ("threshold", "text"),
    [
        (0.25, "0.2500"),
        (-1.0703125, "-1.0703"),
        (0.3, "0.3000"),
        (0.0, "0.0000"),
        (math.inf, "inf"),
        (2.0**-15 + 0.5, "0.50003"),
        (0.5 + 2.0**-20, "0.5000010"),
        (2.0**-20, "9.5367431640625e-07"),
        (1234567.5, "1234567.5"),
    ],
)
def test_thresholds_have_the_digits_that_tell_neighbouring_bins_apart(threshold, text):
    assert threshold_number(threshold) == text
    audit = gf.audit(threshold, gf.Sketch.from_rows([threshold], [1], ["a"], bins=16))
    assert text in str(audit).split()


@given(level=st.integers(-30, 0), number=st.integers(1, 2**16))
def test_neighbouring_edges_are_never_shown_alike(level, number):
    one, two = math.ldexp(number, level), math.ldexp(number + 1, level)
    assert threshold_number(one) != threshold_number(two)


def test_text_and_html_of_many_groups_end(sketch):
    audit = gf.audit(decisions=[1, 0] * 300, labels=[1, 1] * 300, groups=list(range(300)) * 2, replicates=100)
    assert "... and 250 more groups before the last row" in str(audit)
    assert "100 more groups are not shown" in audit.to_html()


def test_dict_is_json_and_whole(sketch):
    for _, audit in audits(sketch):
        data = json.loads(json.dumps(audit.to_dict(), allow_nan=False))
        assert len(data["groups"]) == len(audit.groups)
        for group, name in zip(data["groups"], audit.groups, strict=True):
            assert group["name"] == ({"tuple": list(name)} if isinstance(name, tuple) else name)
            assert list(group["rates"]) == METRICS
            assert group["rates"]["tpr"]["value"] == audit.rates[name]["tpr"].value
        assert set(data["gaps"]) == set(audit.gaps) == set(audit.definitions)
        there = {name: gap["new_rows"] for name, gap in data["gaps"].items() if gap["new_rows"] is not None}
        assert there == {name: dataclasses.asdict(expected) for name, expected in audit.new_rows.items()}
        assert [note["text"] for note in data["notes"]] == list(texts(audit))
    assert data["groups"][0]["threshold"] is None
    assert gf.audit(math.inf, sketch).to_dict()["groups"][0]["threshold"]["value"] == "inf"


def test_data_frame_is_tidy(sketch):
    pd = pytest.importorskip("pandas")
    for _, audit in audits(sketch):
        frame = audit.to_dataframe()
        new = ["new_rows", "new_rows_mean", "new_rows_nine_of_ten"]
        assert list(frame.columns) == ["group", "metric", "value", "low", "high", "method", *new]
        gaps = frame[frame["group"].isna() & ~frame["metric"].isin(METRICS)]
        there = {name: (e.rows, e.mean, e.nine_of_ten) for name, e in audit.new_rows.items()}
        assert {row[0]: row[1:] for row in gaps[["metric", *new]].dropna().itertuples(index=False)} == there
        assert (frame[new].count() == len(audit.new_rows)).all()
        per_group = len(METRICS) + (audit.thresholds is not None)
        assert len(frame) == per_group * len(audit.groups) + len(METRICS) + len(audit.gaps)
        assert frame["value"].dtype == "float64"
        gap = frame[frame["metric"] == "equalized_odds"].iloc[0]
        assert gap["group"] is None
        if (value := audit.gaps["equalized_odds"].value) is not None:
            assert gap["value"] == value
    assert not pd.isna(frame["method"]).any()


def test_html_escapes_names(sketch):
    *_, (_, audit) = audits(sketch)
    assert "<b>" not in audit.to_html()
    assert "&lt;b&gt;" in audit.to_html()
    assert audit._repr_html_() == audit.to_html()


def test_an_audit_cannot_be_changed(sketch):
    audit = gf.audit(0.0, sketch)
    with pytest.raises(dataclasses.FrozenInstanceError):
        audit.seed = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        audit.overall["tpr"].value = 1.0


def test_columns_of_every_kind_are_taken():
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    d, y, g = [True, False, True, True], [1, 0, 0, 1], ["a", "a", "b", "b"]
    expected = gf.audit(decisions=d, labels=y, groups=g)
    for form in (np.array, pd.Series, pl.Series, pa.array):
        assert gf.audit(decisions=form(d), labels=form(y), groups=form(g)) == expected
    assert (
        gf.audit(decisions=np.array(d)[::-1][::-1], labels=pd.Series(y, dtype="Int8"), groups=pd.Categorical(g))
        == expected
    )


def test_inf_in_a_fixed_range_says_what_it_cannot_know(backend):
    sketch = gf.Sketch.from_rows([0.5, 2.0, np.inf], [0, 1, 1], ["a"] * 3, range=(0, 1))
    audit = gf.audit({"a": np.inf}, sketch)
    assert audit.overall["tpr"].value == 0
    assert any("all 2 rows there are counted as rejected" in note for note in texts(audit))
    assert not any("such rows" in note for note in texts(gf.audit({"a": 0.5}, sketch)))


def test_a_seed_of_another_kind_is_a_type_error():
    with pytest.raises(TypeError, match="seed must be a whole number, got 'x'"):
        by_keyword(GOOD, seed="x")
