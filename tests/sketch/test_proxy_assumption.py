"""Groups that were estimated: what that assumes stays with the sketch and its results, and counts may contradict it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers.notes import texts

import gstar_fast as gf
from gstar_fast._base.bytes import varint
from gstar_fast._base.sections import UNMIXED
from gstar_fast._sketch.columns import ASSUMED
from gstar_fast._sketch.proxy import Fit, fit_of, segments_of

LIMITS = {"equalized_odds": 0.05}


def rows_of(n, seed=0, misled=0.0, lower=1.0):
    """Group 1 scores `lower` less; `misled` is how much a probability of it raises the score within a group."""
    rng = np.random.default_rng(seed)
    group, label = rng.integers(0, 2, n), rng.integers(0, 2, n)
    likely = 1 / (1 + np.exp(-0.6 * (rng.normal(0.6 * group) - 0.3)))
    score = rng.normal(4.0 * label - lower * group + misled * likely)
    return score, label, group, np.column_stack([1 - likely, likely])


def proxy_of(score, label, _group, probabilities, **options):
    return gf.ProxySketch([0, 1], **options).update(score, label, probabilities)


@pytest.fixture(scope="module")
def honest():
    return proxy_of(*rows_of(20_000), bins=512)


@pytest.fixture(scope="module")
def misled():
    return proxy_of(*rows_of(80_000, misled=6.0, lower=6.0), bins=512)


# ------------------------------------------------------------------------------------------------------ what it assumes


def test_the_assumption_survives_bytes_copies_and_sums(backend, honest):
    unmixed = honest.unmixed()
    known = gf.Sketch.from_rows([0.5], [1], [0], bins=512)
    assert unmixed.assumption == f"{ASSUMED}; the counts cannot prove it"
    assert known.assumption is None
    for kept in (
        gf.Sketch.from_bytes(unmixed.to_bytes()),
        unmixed.copy(),
        unmixed + known,
        known + unmixed,
        gf.merge_all([known, unmixed.to_bytes()]),
        unmixed.pooled(1),
    ):
        assert kept.assumption == unmixed.assumption
    with gf.use_backend("numpy"):
        assert gf.Sketch.from_bytes(unmixed.to_bytes()).to_bytes() == unmixed.to_bytes()
    plain = unmixed.copy()
    plain._core.set_sections(())
    assert plain.digest() != unmixed.digest()  # it speaks of the rows


def test_a_contradiction_stays_in_sums(backend, honest, misled):
    with pytest.warns(gf.errors.AssumptionWarning):
        wrong = misled.unmixed()
    assert wrong.assumption == f"{ASSUMED}; the counts contradict this"
    for both in (wrong + honest.unmixed(), honest.unmixed() + wrong):
        assert both.assumption == wrong.assumption


def test_sections_of_a_wrong_form_are_rejected(backend, honest):
    unmixed = honest.unmixed()
    for content in (b"", b"\2", b"\0\0", varint(300)):
        with pytest.raises(ValueError, match="a section is impossible"):
            unmixed._core.set_sections(((UNMIXED, True, content),))
    with pytest.raises(ValueError, match="a section is impossible"):
        unmixed._core.set_sections(((UNMIXED, False, b"\0"),))


def test_every_result_carries_the_assumption(backend, honest):
    unmixed = gf.Sketch.from_bytes(honest.unmixed().to_bytes())
    results = {
        "exact": gf.solve(unmixed, limits=LIMITS),
        "mixed": gf.solve(unmixed, limits=LIMITS, randomize=True),
        "smooth": gf.solve(unmixed, limits=LIMITS, density="normal"),
        "unified": gf.solve(unmixed, unified=True),
        "frontier": gf.frontier(unmixed, "equalized_odds").at(gap=0.05),
        "promised": gf.solve(unmixed, limits={"equalized_odds": 0.2}, confidence=0.9),
    }
    for how, result in results.items():
        assert f"note: {unmixed.assumption}" in str(result), how
        assert gf.Result.from_json(result.to_json()).notes == result.notes
    promised = results["promised"]
    assert promised.verdict == "promised"
    assert promised.message.endswith("; all of this holds only if the groups were estimated correctly, see the note")
    assert unmixed.assumption in texts(promised.promise.plain)
    assert unmixed.assumption in texts(gf.audit(promised, unmixed))
    assert unmixed.assumption in texts(gf.certify(promised, unmixed))


def test_the_report_says_what_is_assumed(honest):
    unmixed = honest.unmixed()
    for result in (gf.solve(unmixed, limits=LIMITS), gf.solve(unmixed, limits={"equalized_odds": 0.2}, confidence=0.9)):
        page = gf.report(result, unmixed).html
        assert "if the groups were estimated correctly" in page
        assert unmixed.assumption in page


def test_segments_carry_it_too(fast_backend):
    score, label, _, probabilities = rows_of(12_000)
    segment = np.arange(12_000) % 2
    names = [(g, s) for g in (0, 1) for s in (0, 1)]
    both = np.zeros((12_000, 4))
    for k, (g, s) in enumerate(names):
        both[:, k] = probabilities[:, g] * (segment == s)
    unmixed = gf.ProxySketch(names, bins=64).update(score, label, both).unmixed()
    result = gf.solve(unmixed, limits={"equalized_odds": 0.2}, fair_between=0, decide_by=1)
    assert unmixed.assumption in texts(result)


# ------------------------------------------------------------------------------------------------------- what is tested


def test_a_promise_of_a_gap_that_is_not_there_comes_with_a_warning(backend, misled):
    """The promised limit is 0.05; between the true groups the gap is more than ten times that."""
    with pytest.warns(gf.errors.AssumptionWarning, match="shares of rows in score ranges are not linear") as told:
        unmixed = misled.unmixed()
    assert told[0].filename == __file__
    result = gf.solve(unmixed, limits=LIMITS, confidence=0.95)
    assert result.verdict == "promised"
    score, label, group, _ = rows_of(80_000, misled=6.0, lower=6.0)
    truth = gf.audit(result.thresholds, gf.Sketch.from_rows(score, label, group), replicates=0)
    assert truth.gaps["equalized_odds"].value > 0.5
    assert "the counts contradict this" in str(result)


@pytest.mark.slow
def test_the_test_warns_rarely_where_the_assumptions_hold_and_mostly_where_they_fail():
    def warns(n, **options):
        found = 0
        for seed in range(60):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                proxy_of(*rows_of(n, seed=seed, **options), bins=64).unmixed()
            found += any(issubclass(w.category, gf.errors.AssumptionWarning) for w in told)
        return found

    assert warns(2_000) <= 4  # of 60, at 1 %
    assert warns(2_000, misled=6.0, lower=6.0) >= 55


def test_probabilities_that_are_not_calibrated_are_seen():
    score, label, group, p = rows_of(60_000, lower=3.0)
    odds = (p[:, 1] / p[:, 0]) ** 3  # far too sure
    with pytest.warns(gf.errors.AssumptionWarning):
        proxy_of(score, label, group, np.column_stack([1 / (1 + odds), odds / (1 + odds)])).unmixed()


def test_what_cannot_be_tested_is_not():
    score, label, group, _ = rows_of(2_000, misled=3.0)
    two = np.where(group[:, None] == 0, [[0.8, 0.2]], [[0.3, 0.7]])  # two kinds of rows fit any rates of two groups
    assert proxy_of(score, label, group, two).unmixed().assumption == f"{ASSUMED}; the counts cannot prove it"


def test_groups_that_are_certain_need_no_assumption():
    score, label, group, _ = rows_of(2_000, misled=3.0)
    unmixed = proxy_of(score, label, group, np.eye(2)[group]).unmixed()
    assert unmixed == gf.Sketch(groups=[0, 1]).update(score, label, group)
    assert unmixed.assumption is None


def test_counts_by_segment_do_not_depend_on_batches(backend):
    rows = rows_of(3_000, misled=2.0)
    whole, parts = proxy_of(*rows, bins=64), gf.ProxySketch([0, 1], bins=64)
    for part in (slice(2_000, 3_000), slice(0, 2_000)):
        parts = parts + proxy_of(*(column[part] for column in rows), bins=64)
    assert parts._cells == whole._cells
    assert (parts._sums == whole._sums).all()


def test_the_chance_is_that_of_a_chi_square():
    stats = pytest.importorskip("scipy.stats")
    for degrees in (2, 4, 16, 40):
        for chance in (0.2, 0.05, 0.01, 0.001):
            found = Fit(float(stats.chi2.isf(chance, degrees)), degrees).chance
            assert found == pytest.approx(chance, rel=1e-9)
    assert Fit(0.0, 0).chance == 1.0


def test_segments_and_sums_agree_with_linear_counts():
    """Counts that are exactly linear have a chi-square of zero."""
    p = np.linspace(0.05, 0.95, 10)
    probabilities = np.column_stack([1 - p, p])
    assert segments_of(probabilities).tolist() == [4, 3, 2, 2, 1, 6, 7, 7, 8, 9]
    rates = np.array([[0.1, 0.2, 0.3, 0.2, 0.2], [0.3, 0.2, 0.1, 0.2, 0.2]])
    sums = 20_000 * probabilities
    assert fit_of(np.rint(sums @ rates).astype(np.int64), sums).chi_square == pytest.approx(0.0, abs=1e-3)


# --------------------------------------------------------------------------------------------------- what used to fail


def sharper(probabilities):
    squared = probabilities**4
    return squared / squared.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("bins", "n", "seed"), [(16, 50, 57), (16, 200, 31)])
def test_bins_that_unmixing_empties_are_no_obstacle(backend, bins, n, seed):
    """The window of the unmixed sketch is finer then, and extreme score and mean of a bin lie in two of its bins."""
    score, label, _, probabilities = rows_of(n, seed=seed)
    unmixed = gf.ProxySketch([0, 1], bins=bins).update(score, label, sharper(probabilities)).unmixed()
    assert unmixed.weight == pytest.approx(n)
    assert unmixed.level < gf.Sketch.from_rows(score, label, label, bins=bins).level


@pytest.mark.parametrize("bins", [16, 64])
def test_zeros_beside_small_scores_are_unmixed(backend, bins):
    """A bin that holds zero and scores above it has rows of one score in the unmixed sketch."""
    rng = np.random.default_rng(0)
    _, label, _, probabilities = rows_of(200)
    score = np.where(rng.random(200) < 0.1, 0.0, np.exp(4 * rng.normal(size=200)))
    unmixed = gf.ProxySketch([0, 1], bins=bins).update(score, label, sharper(probabilities)).unmixed()
    assert unmixed.weight == pytest.approx(200)
