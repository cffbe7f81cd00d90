"""A limit on the sum of two gaps in the rest of the library: segments and proofs, promises, audits, files, commands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.cells import cells_of
from helpers.results import changed
from scipy import stats

import gstar_fast as gf
from gstar_fast.__main__ import main
from gstar_fast._backends import room
from gstar_fast._promise import curve
from gstar_fast._promise.chance import Beliefs, chance
from gstar_fast._question.question import Question
from gstar_fast._rates import has_rate, rates_of
from gstar_fast._solver.answer.proof import Leaf
from gstar_fast._solver.cells import gaps_of
from gstar_fast._solver.search import Problem
from gstar_fast._solver.segments.check import check
from gstar_fast._solver.segments.search import certificate_of, certificate_of_mix, lay_out
from tests.helpers.segment_oracle import least_cost

pytestmark = pytest.mark.filterwarnings(
    "ignore::gstar_fast.errors.DegenerateWarning", "ignore::gstar_fast.errors.MissingClassWarning"
)

SUM = "equalized_odds_sum"
OTHERS = ("demographic_parity", "equal_opportunity", "predictive_equality", "equalized_odds", "accuracy_parity")


# ------------------------------------------------------------------------------------------------------------ segments


def question(rng):
    """Few rows in few bins, and a limit on the sum; sometimes others beside it."""
    n_groups, m, bins = int(rng.integers(2, 4)), int(rng.integers(1, 4)), int(rng.integers(3, 8))
    rows = rng.integers(0, rng.choice([3, 8, 20]), size=(3, n_groups, m, bins))
    slant = np.linspace(0.3, 1.3, bins)
    rows[1], rows[0] = np.rint(rows[1] * slant), np.rint(rows[0] * slant[::-1])
    rows[2] *= rng.random() < 0.3
    rows[:, :, :, -1] *= rng.random() < 0.7
    rows[:2, :, 0, 0] += 1  # both labels are there, in every group
    limits = {SUM: float(rng.choice([0.0, 0.03, 0.1, 0.3, 0.9]))}
    if rng.random() < 0.4:
        limits[str(rng.choice(OTHERS))] = float(rng.choice([0.01, 0.05, 0.2]))
    order = [None, None, "rising", "falling"][rng.integers(4)]
    prices = {"fp": 1, "fn": (1, 5)[rng.integers(2)], "balanced": bool(rng.random() < 0.2)}
    objective = Question.of(limits=limits, objective=prices)
    return lay_out(Problem.unchecked(cells_of(rows), objective), order), order


def test_segments_are_those_of_highs_and_their_proofs_hold(backend):
    """The best choice and the best mixture; certificates of both convince a reader that knows only the counts."""
    rng = np.random.default_rng(11)
    branched = 0
    for _ in range(30 if backend == "native" else 12):
        search, order = question(rng)
        prices, limits = (search.scale.fp, search.scale.fn), search.question.gap_limits
        rows = search.cells.dense().tolist()
        best = room("segments").choose(search.arrays, 20_000)
        expected = least_cost(search.cells.dense(), prices, limits, whole=True, order=order)
        assert best.finished
        assert (best.numbers[0] < 0) == (expected is None)
        assert check(certificate_of(search, best), rows) is None
        branched += best.nodes > 1
        if expected is not None:
            cells, totals = search.cells, search.totals
            chosen = [{t: 1.0} for t in search.candidates(best.numbers).tolist()]
            accepted = cells.by_group(cells.accepted(chosen))
            assert gaps_of(rates_of(accepted, totals), has_rate(totals))[SUM] <= limits[SUM] + 1e-12
            assert prices[0] * accepted[0].sum() + prices[1] * (totals[1] - accepted[1]).sum() == round(expected)
        least = least_cost(search.cells.dense(), prices, limits, whole=False, order=order)
        mix = room("segments").mix(search.nominal())
        assert (mix is None) == (least is None)
        if mix is not None:
            assert mix.value * search.scale.unit == pytest.approx(least, rel=1e-6, abs=1e-6)
            assert mix.bound <= mix.value <= mix.bound + 1e-9
            assert check(certificate_of_mix(search, mix), rows) is None
    assert branched > 2


def test_backends_take_the_same_steps(fast_backend):
    rng = np.random.default_rng(12)
    for _ in range(12):
        search, _ = question(rng)
        one, two = (room("segments", name).choose(search.arrays, 200) for name in ("numpy", None))
        for a, b in [*zip(one[:-1], two[:-1], strict=True), *zip(one.leaves, two.leaves, strict=True)]:
            np.testing.assert_array_equal(a, b)
        mixes = [room("segments", name).mix(search.nominal()) for name in ("numpy", None)]
        assert (mixes[0] is None) == (mixes[1] is None)
        for a, b in zip(*(mix[:-1] for mix in mixes), strict=True) if mixes[0] is not None else ():
            np.testing.assert_array_equal(a, b)


def people(rows=1200, seed=0):
    rng = np.random.default_rng(seed)
    sex, label = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    segment = np.clip(rng.integers(0, 3, rows) + (rng.random(rows) < 0.4) * sex, 0, 2)
    score = np.rint(rng.normal(label * 1.5 + 0.6 * sex - 0.3 * segment, 1.0) * 16) / 16
    return score, label, sex, segment


BY = {"fair_between": 0, "decide_by": 1}


def test_answers_by_segment_are_checked_and_tampered_ones_refused(backend):
    score, label, sex, segment = people()
    sketch = gf.Sketch.from_rows(score, label, [sex, segment], bins=64)
    for randomize in (False, True):
        result = gf.solve(sketch, limits={SUM: 0.08}, randomize=randomize, **BY)
        half, whole = (
            gf.solve(sketch, limits={"equalized_odds": by}, randomize=randomize, **BY) for by in (0.04, 0.08)
        )
        assert result.verdict == "optimal"
        assert result.gaps[SUM] <= 0.08 + 1e-9
        assert whole.error - 1e-9 <= result.error <= half.error + 1e-9
        result.check(sketch)
        with pytest.raises(ValueError, match="breaks a limit"):
            changed(result, limits={SUM: 0.9 * result.gaps[SUM]}).check(sketch)
        with pytest.raises(ValueError, match=r"do not prove|to no limit"):
            changed(result, limits={"equalized_odds": 0.08}).check(sketch)
    worse = gf.solve(sketch, limits={SUM: 0.04}, **BY)
    right = gf.solve(sketch, limits={SUM: 0.08}, **BY)
    assert worse.error > right.error
    with pytest.raises(ValueError, match="do not prove"):
        changed(worse, limits=right.limits, steps=right.proof.steps).check(sketch)
    with pytest.raises(ValueError, match="breaks a limit"):
        changed(right, limits=worse.limits, steps=worse.proof.steps).check(sketch)
    rising = gf.solve(sketch, limits={SUM: 0.08}, **BY | {"decide_by": gf.Segments(column=1, monotone=True)})
    rising.check(sketch)
    assert rising.error >= right.error


def test_thresholds_by_group_are_proven_anew(backend, table):
    sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups, bins=64)
    for options in ({}, {"unified": True}, {"randomize": True}):
        gf.solve(sketch, limits={SUM: 0.1}, **options).check(sketch)
    lax = gf.solve(sketch, limits={SUM: 0.3})
    with pytest.raises(ValueError, match="breaks a limit"):
        changed(lax, limits={SUM: 0.1}).check(sketch)


def test_a_proof_may_not_spend_the_sum_twice():
    """Both gaps at the whole sum would be another, looser question: multipliers that assume it prove too much."""
    rng = np.random.default_rng(3)
    refused = 0
    for _ in range(40):
        search, _ = question(rng)
        best = room("segments").choose(search.arrays, 20_000)
        certificate = certificate_of(search, best)
        steps = [
            Leaf(s.weight, tuple((r, a, k, v * 4 if k == 1 else v) for r, a, k, v in s.multipliers))
            if isinstance(s, Leaf)
            else s
            for s in certificate.steps
        ]
        if steps != list(certificate.steps):
            refused += check(replace(certificate, steps=tuple(steps)), search.cells.dense().tolist()) is not None
        limits = tuple(
            one._replace(most=one.most + 0.4) if one.criterion.name == SUM else one for one in certificate.limits
        )
        if certificate.choice is None and certificate.steps != ():
            refused += check(replace(certificate, limits=limits), search.cells.dense().tolist()) is not None
    assert refused > 5


# ------------------------------------------------------------------------------------------------------------ promises


@pytest.mark.parametrize(("n_groups", "rows", "total"), [(2, 200, 0.1), (3, 1000, 0.1), (4, 60, 0.5), (2, 6, 0.7)])
def test_the_chance_is_that_of_draws(n_groups, rows, total):
    rng = np.random.default_rng(n_groups + rows)
    accepted = np.clip(rows * (rng.random((2, 1)) * 0.6 + 0.2 + rng.normal(0, 0.01, (2, n_groups))), 1, rows - 1)
    a, b = accepted + 0.5, rows - accepted + 0.5
    beliefs = Beliefs(a, b, np.full_like(a, np.nan), np.ones(a.shape, bool))
    gaps = np.ptp(stats.beta.rvs(a[..., None], b[..., None], size=(2, n_groups, 100_000), random_state=1), axis=1)
    none, own = np.full(2, np.inf), np.array([0.7 * total, np.inf])
    for limit in (none, own):
        drawn = ((gaps.sum(axis=0) > total) | (gaps > limit[:, None]).any(axis=0)).mean()
        found = chance(beliefs, [0, 1], limit, np.full(2, -1.0), total)
        assert found == pytest.approx(drawn, abs=0.006)
    # both gaps within a half of it is less likely than the sum within it, which is less likely than each within it
    half, whole = (chance(beliefs, [0, 1], np.full(2, by), np.full(2, -1.0)) for by in (total / 2, total))
    assert whole - 1e-3 <= chance(beliefs, [0, 1], none, np.full(2, -1.0), total) <= half + 1e-3


def test_rates_that_are_certain(backend):
    """Accepting everybody leaves no gap on any rows, so the sum is promised."""
    a, b = np.full((2, 2), 50.0), np.full((2, 2), 50.0)
    beliefs = Beliefs(a, b, np.ones((2, 2)), np.ones((2, 2), bool))
    assert chance(beliefs, [0, 1], np.full(2, np.inf), np.full(2, -1.0), 0.0) == 0.0
    assert chance(beliefs, [0, 1], np.full(2, np.inf), np.full(2, -1.0), 0.1) == 0.0
    half = beliefs._replace(sure=np.array([[1.0, 1.0], [np.nan, np.nan]]))  # then the fpr gap has all of it
    alone = chance(half, [0, 1], np.array([np.inf, 0.1]), np.full(2, -1.0))
    assert chance(half, [0, 1], np.full(2, np.inf), np.full(2, -1.0), 0.1) == pytest.approx(alone, abs=2e-3)


@pytest.fixture(scope="module")
def many():
    table = gf.datasets.paper_synthetic(rows=20_000, seed=5)
    return gf.Sketch.from_rows(table.scores, table.labels, table.groups, bins=256)


@pytest.mark.parametrize("options", [{}, {"unified": True}, {"randomize": True}], ids=lambda o: "".join(o) or "plain")
def test_a_promise_on_the_sum(backend, many, options):
    limit = 0.5 if options.get("unified") else 0.1
    result = gf.solve(many, limits={SUM: limit}, confidence=0.95, **options)
    assert result.verdict == "promised"
    assert result.promise.chance <= 0.05
    assert result.promise.upper[SUM] <= limit
    assert result.gaps[SUM] < limit
    assert result.error >= result.promise.plain.error - 1e-9


def test_no_promise_says_what_is_missing(backend, table):
    few = gf.Sketch.from_rows(table.scores[:600], table.labels[:600], table.groups[:600], bins=128)
    result = gf.solve(few, limits={SUM: 0.05}, confidence=0.95)
    assert result.verdict == "unpromised"
    assert "cannot promise equalized_odds_sum <= 0.05" in result.message
    assert gf.rows_needed(few, limits={SUM: 0.05}).times > 1
    looser, tighter = (gf.rows_needed(few, limits={SUM: by}).rows for by in (0.2, 0.1))
    assert looser < tighter


def test_the_curve_of_promised_sums(many, monkeypatch):
    monkeypatch.setattr(curve, "FROM_EACH", 6)
    found = gf.frontier(many, SUM, confidence=0.9)
    point = found.result(len(found) // 2)
    assert point.verdict == "promised"
    assert point.promise.chance <= 0.1 + 1e-6
    assert (np.diff(found.errors) < 0).all()


# ------------------------------------------------------------------------------------------- audits, files and commands


@pytest.mark.parametrize("exact", [False, True])
def test_fresh_rows_certify_the_sum(many, exact):
    fresh = gf.datasets.paper_synthetic(rows=20_000, seed=6)
    counted = gf.Sketch.from_rows(fresh.scores, fresh.labels, fresh.groups, bins=256)
    result = gf.solve(many, limits={SUM: 0.1}, confidence=0.95)
    certified = gf.certify(result, counted, exact=exact)
    assert certified.gaps[SUM] <= certified.upper[SUM]
    assert certified.holds == (certified.upper[SUM] <= 0.1)
    both = gf.certify(result, counted, limits={"equal_opportunity": 1.0, "predictive_equality": 1.0}, exact=exact)
    parts = both.upper.values()
    assert certified.upper[SUM] <= sum(parts) + (0.01 if exact else 0.0)
    assert certified.upper[SUM] >= max(parts)


def test_exact_certificates_are_wrong_no_more_often_than_said():
    """Rows drawn so that the sum is just above the limit: a certificate is a mistake."""
    rng = np.random.default_rng(8)
    wrong = 0
    for _ in range(200):
        hits = [rng.random(400) < rate for rate in (0.7, 0.6, 0.3, 0.25)]  # tpr 0.1 apart, fpr 0.05
        rows = np.concatenate(hits).astype(float), np.repeat([1, 1, 0, 0], 400), np.tile(np.repeat([0, 1], 400), 2)
        counted = gf.Sketch.from_rows(*rows, bins=16, range=(-1, 1.5))
        wrong += gf.certify({0: 0.5, 1: 0.5}, counted, limits={SUM: 0.149}, confidence=0.8).holds
    assert wrong <= 200 * 0.2


def test_saved_read_and_reported(many, tmp_path):
    result = gf.solve(many, limits={SUM: 0.05})
    again = gf.Result.from_json(result.to_json())
    assert again == result
    assert "asked: equalized_odds_sum <= 0.05" in str(again)
    gf.report(result, many).save(tmp_path / "report.html")
    assert "equalized odds sum" in (tmp_path / "report.html").read_text(encoding="utf-8")
    axes = gf.frontier(many, SUM).plot()
    assert axes.get_xlabel() == "equalized odds sum gap"


def test_the_command_line(many, tmp_path, capsys):
    many.save(tmp_path / "s.gstar")
    out = tmp_path / "t.json"
    assert main(["solve", str(tmp_path / "s.gstar"), "--limit", f"{SUM}=0.04", "-o", str(out)]) == 0
    assert gf.Result.load(out).gaps[SUM] <= 0.04 + 1e-12
    assert main(["solve", str(tmp_path / "s.gstar"), "--penalty", f"{SUM}=1"]) == 2
    assert "use --penalty equalized_odds=VALUE" in capsys.readouterr().err
    assert main(["frontier", str(tmp_path / "s.gstar"), "--criterion", SUM, "-o", str(tmp_path / "f.csv")]) == 0


def test_the_estimator():
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    group, y = rng.integers(0, 2, 2000), rng.integers(0, 2, 2000)
    x = np.stack([rng.normal(y + 0.5 * group), rng.normal(y)], axis=1)
    model = gf.GroupThresholdClassifier(LogisticRegression(), limits={SUM: 0.05}).fit(x, y, sensitive_features=group)
    assert model.result_.gaps[SUM] <= 0.05 + 1e-12
