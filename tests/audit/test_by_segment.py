"""Audits and certificates of thresholds by segment: the same as of the decisions they make."""

from __future__ import annotations

import html

import numpy as np
import pytest
from helpers.notes import texts

import gstar_fast as gf
from gstar_fast._audit import replicates

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")  # scores lie on bin edges

LIMITS = {"equalized_odds": 0.2, "demographic_parity": 0.2, "balanced_accuracy_parity": 0.3}


def people(seed, rows=3000):
    rng = np.random.default_rng(seed)
    sex, label, segment = (rng.integers(0, n, rows) for n in (2, 2, 3))
    score = np.rint(rng.normal(label * 1.5 + 0.4 * sex - 0.3 * segment, 1.0) * 16) / 16
    return score, label, np.array(["F", "M"])[sex], segment


def counted(score, label, sex, segment, weights=None):
    return gf.Sketch.from_rows(score, label, [sex, segment], weights=weights, bins=512, range=(-16, 16))


def named(score, label, sex, segment, column="segment"):
    columns = {"score": score, "label": label, "sex": sex, column: segment}
    table = pytest.importorskip("pyarrow").table(columns)
    return gf.Sketch().update_table(table, score="score", label="label", group=["sex", column])


@pytest.fixture
def found():
    return gf.solve(counted(*people(0)), limits=LIMITS, fair_between=0, decide_by=1)


def test_an_audit_is_that_of_the_decisions(backend, found):
    score, label, sex, segment = people(1)
    here = gf.audit(found, counted(score, label, sex, segment), seed=3)
    decisions = found.decider()(score, segment)
    there = gf.audit(decisions=decisions, labels=label, groups=sex, seed=3)
    assert (here.groups, here.n_rows, here.thresholds) == (("F", "M"), 3000, None)
    assert here.rates == there.rates
    assert here.gaps == there.gaps
    assert "not found on this sketch" in " ".join(texts(here))


def test_a_mixture_is_audited_in_expectation(backend):
    sketch = counted(*people(2))
    mixed = gf.solve(sketch, limits={"equalized_odds": 0.01}, fair_between=0, decide_by=1, randomize=True)
    audit = gf.audit(mixed, sketch, replicates=0, threshold_replicates=0)
    for name, gap in mixed.gaps.items():
        assert audit.gaps[name].value == pytest.approx(gap, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_certificate_is_that_of_the_decisions(backend, found, weighted):
    score, label, sex, segment = people(4)
    weights = np.linspace(0.5, 2.5, len(score)) if weighted else None
    here = gf.certify(found, counted(score, label, sex, segment, weights))
    decisions = found.decider()(score, segment).astype(float)
    fresh = gf.Sketch.from_rows(decisions, label, sex, weights=weights, bins=16, range=(-4, 4))
    there = gf.certify({"F": 0.5, "M": 0.5}, fresh, limits=found.limits)
    assert here.upper == pytest.approx(there.upper)
    assert (here.gaps, here.holds) == (pytest.approx(there.gaps), there.holds)


def test_rows_that_are_missing_are_named(found):
    score, label, sex, segment = people(5)
    with pytest.raises(ValueError, match=r"segment 7 of the sketch has no threshold; there are thresholds for 0, 1, 2"):
        gf.audit(found, counted(score, label, sex, np.where(segment == 2, 7, segment)))
    with pytest.raises(ValueError, match="not tuples of the same columns"):
        gf.audit(found, gf.Sketch.from_rows(score, label, sex))
    names = gf.solve(named(score, label, sex, segment), limits=LIMITS, fair_between="sex", decide_by="segment")
    for judge in (lambda sketch: gf.audit(names, sketch), lambda sketch: gf.certify(names, sketch)):
        with pytest.raises(
            ValueError, match="fair between 'sex' and decide by 'segment', and the sketch does not know"
        ):
            judge(counted(score, label, sex, segment))
        with pytest.raises(
            ValueError, match="the sketch has the group columns 'sex', 'region'; count the rows with all"
        ):
            judge(named(score, label, sex, segment, "region"))
    women = sex == "F"
    alone = gf.certify(found, counted(*(column[women] for column in (score, label, sex, segment))))
    assert not alone.holds
    assert any(note.startswith("groups without fresh rows") and note.endswith("'M'") for note in texts(alone))


@pytest.mark.slow
@pytest.mark.parametrize("unified", [False, True])
@pytest.mark.parametrize("loaded", [False, True])
def test_thresholds_by_protected_group_are_judged_on_the_sketch_of_both(backend, unified, loaded):
    """`decide_by=fair_between` and `unified=True` are judged as if the protected column alone had been counted."""
    score, label, sex, segment = people(6)
    both, alone = named(score, label, sex, segment), gf.Sketch.from_rows(score, label, sex)
    limits = {"equalized_odds": 0.2}
    result = gf.solve(
        both, limits=limits, fair_between="sex", **({"unified": True} if unified else {"decide_by": "sex"})
    )
    result = gf.Result.from_json(result.to_json()) if loaded else result
    plain = gf.solve(alone, limits=limits, unified=unified)
    here, there = gf.audit(result, both, replicates=100), gf.audit(plain, alone, replicates=100)
    assert (here.gaps, here.thresholds, here.notes) == (there.gaps, there.thresholds, there.notes)
    assert gf.certify(result, both).upper == gf.certify(plain, alone).upper
    result.check(both)
    page = gf.report(result, both, frontier=False).html
    assert both.digest() in page
    asked = "unified=True, fair_between=['sex']" if unified else "fair_between=['sex'], decide_by=['sex']"
    assert asked in html.unescape(page)
    positions = gf.solve(both, limits=limits, fair_between=0, **({"unified": True} if unified else {"decide_by": 0}))
    assert gf.audit(positions, both, replicates=0).gaps["equalized_odds"].value == result.gaps["equalized_odds"]


@pytest.mark.slow
def test_one_threshold_for_everybody_may_be_judged_between_any_groups():
    score, label, sex, segment = people(6)
    unified = gf.solve(named(score, label, sex, segment), limits={"equalized_odds": 0.2}, unified=True)
    assert len(gf.audit(unified, named(score, label, sex, segment), replicates=0).groups) == 6


# ------------------------------------------------------------------------------------------------------------- new rows


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")
@pytest.mark.parametrize("asked", [{}, {"randomize": True}, {"decide_by": gf.Segments(column=1)}])
def test_what_to_expect_on_new_rows_is_what_new_rows_have(backend, asked, monkeypatch):
    """A population of two segments: thresholds found on samples of it, gaps measured on other samples."""
    monkeypatch.setattr(replicates, "affordable", lambda *_: 40 if backend == "native" else 10)
    rng = np.random.default_rng(0)
    population = people(0, rows=4000)
    limits, roles = {"equalized_odds": 0.05}, {"fair_between": 0, "decide_by": 1}

    def draw():
        at = rng.integers(0, 4000, 1500)
        return [column[at] for column in population]

    sketch = counted(*population)
    found = gf.solve(sketch, limits=limits, **roles | asked)
    audit = gf.audit(found, sketch, new_rows=1500, replicates=0)
    expected = audit.new_rows["equalized_odds"]
    assert expected.rows == 1500
    assert not any("no intervals" in note for note in texts(audit))
    if backend != "native":
        return
    seen = []
    for _ in range(40):
        rows, (score, label, sex, segment) = draw(), draw()
        one = gf.solve(counted(*rows), limits=limits, **roles | asked)
        keys = {"keys": np.arange(len(score))} if one.randomized else {}
        accepted = one.decider()(score, segment, **keys)
        seen.append(gf.audit(decisions=accepted, labels=label, groups=sex, replicates=0).gaps["equalized_odds"].value)
    # thresholds are found here on 1,500 rows, by replicates on 4,000: gaps are a little larger
    assert expected.mean == pytest.approx(np.mean(seen), abs=0.02)
    assert np.mean(np.array(seen) <= expected.nine_of_ten) >= 0.7
    assert audit.new_rows == gf.audit(found, sketch, new_rows=1500, replicates=0).new_rows


def test_a_gap_clearly_above_its_limit_is_noted():
    """Many segments and few rows: what holds on the counted rows does not on others."""
    rng = np.random.default_rng(0)

    def rows(n):
        sex, label, segment = (rng.integers(0, k, n) for k in (2, 2, 16))
        return rng.normal(label * 1.5 + 0.4 * sex, 1.0), label, np.array(["F", "M"])[sex], segment

    ask = {"limits": {"equalized_odds": 0.02}, "fair_between": 0, "decide_by": 1}
    sketch = counted(*rows(600))
    with pytest.warns(gf.errors.OverfitWarning, match="16 segments are more than these rows carry: '[FM]' has"):
        found = gf.solve(sketch, **ask)
    assert any("segments are more than these rows carry" in note for note in texts(found))
    audit = gf.audit(found, counted(*rows(600)), replicates=0)
    gap = audit.gaps["equalized_odds"].value
    noted = [note for note in texts(audit) if "the limit is 0.02" in note]
    assert bool(noted) == (gap > 0.025)
    assert gap > 0.025
    assert f"{gap:.2g} on these rows" in noted[0]


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")
def test_segments_that_are_the_groups_expect_what_groups_expect():
    """Segments under other names than the protected groups: the same question, and the same samples."""
    score, label, sex, _ = people(2)
    other = np.where(sex == "F", 0, 1)
    one = gf.Sketch.from_rows(score, label, sex, bins=64)
    two = gf.Sketch.from_rows(score, label, [sex, other], bins=64)
    limits = {"equalized_odds": 0.05}
    plain = gf.audit(gf.solve(one, limits=limits), one, threshold_replicates=100, replicates=0)
    found = gf.solve(two, limits=limits, fair_between=0, decide_by=1)
    here = gf.audit(found, two, threshold_replicates=100, replicates=0)
    assert here.new_rows["equalized_odds"].mean == pytest.approx(plain.new_rows["equalized_odds"].mean, abs=2e-3)
