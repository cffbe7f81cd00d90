"""Certificates: exact chances of false ones by sums over binomials, and what fresh rows may look like."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.notes import texts
from scipy import stats

import gstar_fast as gf
from gstar_fast._audit.certify import Fresh, certified
from gstar_fast._audit.counts import Taken
from gstar_fast._criteria import KNOWN, Limit
from tests.helpers.promise_rows import normal_sketch

ODDS = {"equalized_odds": 0.1}


def counted(accepted, totals):
    """A sketch of cells (2, K) with so many rows above a threshold of 0.5."""
    accepted, totals = np.array(accepted), np.array(totals)
    label, group = np.indices(totals.shape).reshape(2, -1)
    scores, labels, groups, repeats = [], [], [], []
    for score, rows in ((1.0, accepted), (0.0, totals - accepted)):
        scores += [score] * rows.size
        labels, groups, repeats = [*labels, *label], [*groups, *group], [*repeats, *rows.ravel()]
    kept = np.array(repeats) > 0
    columns = (np.array(column)[kept] for column in (scores, labels, groups))
    return gf.Sketch(bins=16, range=(-4, 4)).update(*columns, repeats=np.array(repeats)[kept])


def false_chance(n, low, limit, exact):
    """Of a certificate for equal opportunity at a true gap just above the limit, summed over both binomials."""
    high = low + limit + 1e-9
    chance = [stats.binom(n, p).pmf(np.arange(n + 1)) for p in (low, high)]
    total = 0.0
    for first in np.flatnonzero(chance[0] > 1e-7):
        seconds = np.flatnonzero(chance[1] > 1e-7)
        # the more the higher group accepts, the larger the gap: certificates are given up to some count
        below, above = int(seconds[0]), int(seconds[-1]) + 1
        while below < above:
            middle = (below + above) // 2
            sketch = counted([[5, 5], [first, middle]], [[10, 10], [n, n]])
            held = gf.certify(0.5, sketch, limits={"equal_opportunity": limit}, exact=exact).holds
            below, above = (middle + 1, above) if held and middle >= first else (below, middle)
        total += chance[0][first] * chance[1][first:below].sum() if below > first else 0.0
    return total


@pytest.mark.parametrize(("n", "low", "limit"), [(30, 0.3, 0.3), (60, 0.02, 0.2), (60, 0.75, 0.2), (30, 0.58, 0.4)])
def test_false_certificates_are_rare(n, low, limit):
    assert false_chance(n, low, limit, exact=False) <= 0.05
    assert false_chance(n, low, limit, exact=True) <= 0.05


def test_certificate_of_many_rows(backend):
    result = gf.solve(normal_sketch(20_000, 1), limits=ODDS, confidence=0.95)
    found = gf.certify(result, normal_sketch(50_000, 2))
    assert found.holds
    assert found.gaps["equalized_odds"] < found.upper["equalized_odds"] <= 0.1
    assert found.limits == ODDS
    assert found.n_rows == 50_000
    assert str(found).startswith("certified: the limit holds")
    exact = gf.certify(result, normal_sketch(50_000, 2), exact=True)
    assert exact.exact
    assert exact.upper["equalized_odds"] >= found.upper["equalized_odds"]


def test_few_rows_certify_nothing(backend):
    result = gf.solve(normal_sketch(20_000, 1), limits=ODDS)
    found = gf.certify(result, normal_sketch(200, 3))
    assert not found.holds
    assert str(found).startswith("not certified: the rows do not show")


def clopper_pearson(hits, n, chance):
    """The lower and the upper limit of a share, each wrong with this chance."""
    low = stats.binomtest(hits, n, alternative="greater").proportion_ci(1 - chance, method="exact").low
    high = stats.binomtest(hits, n, alternative="less").proportion_ci(1 - chance, method="exact").high
    return np.array([low, high])


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_exact_limits_share_the_chance_among_all_rates(confidence):
    """Of two rates each is wrong with 1 - sqrt(confidence), of four with 1 - confidence^(1/4): Sidak's share."""
    accepted, totals = np.array([[20, 31], [45, 52]]), np.array([[80, 90], [70, 60]])
    names = ("equal_opportunity", "balanced_accuracy_parity", "equalized_odds_sum", "demographic_parity")
    limits = {**dict.fromkeys(names, 0.5), "disparate_impact": 0.1}
    upper = gf.certify(0.5, counted(accepted, totals), limits=limits, confidence=confidence, exact=True).upper

    def limits_of(hits, n, shares):
        """Of both groups."""
        return [clopper_pearson(int(h), int(m), 1 - confidence ** (1 / shares)) for h, m in zip(hits, n, strict=True)]

    def widest(rates):
        return max(rates[0][1] - rates[1][0], rates[1][1] - rates[0][0])

    tpr, fpr = (limits_of(accepted[label], totals[label], 4) for label in (1, 0))
    balanced = [(t + 1 - f[::-1]) / 2 for t, f in zip(tpr, fpr, strict=True)]
    selected = limits_of(accepted.sum(axis=0), totals.sum(axis=0), 2)
    expected = {
        "equal_opportunity": widest(limits_of(accepted[1], totals[1], 2)),
        "balanced_accuracy_parity": widest(balanced),
        "equalized_odds_sum": max(sum(r[a][1] - r[1 - a][0] for r in (tpr, fpr)) for a in (0, 1)),
        "demographic_parity": widest(selected),
        "disparate_impact": min(selected[a][0] / selected[1 - a][1] for a in (0, 1)),
    }
    for name, value in expected.items():
        assert upper[name] == pytest.approx(value, rel=1e-9), name


@pytest.mark.parametrize("exact", [False, True])
def test_higher_confidence_raises_the_upper_limit(backend, exact):
    sketch = counted([[100, 110], [500, 520]], [[1000, 1000], [1000, 1000]])
    limits = dict.fromkeys(("equalized_odds", "demographic_parity", "accuracy_parity", "balanced_accuracy_parity"), 0.5)
    upper = [gf.certify(0.5, sketch, limits=limits, confidence=c, exact=exact).upper for c in (0.5, 0.8, 0.95, 0.99)]
    for name in limits:
        found = [of[name] for of in upper]
        assert found == sorted(found)
        assert found[0] < found[-1] < 0.2
    ratios = [
        gf.certify(0.5, sketch, limits={"disparate_impact": 0.1}, confidence=c, exact=exact).upper["disparate_impact"]
        for c in (0.5, 0.8, 0.95)
    ]
    assert ratios == sorted(ratios, reverse=True)
    assert 0.8 < ratios[-1] < 610 / 630


def test_threshold_inside_a_bin_takes_the_worse_side(backend):
    rows = np.repeat([0.25, 0.75], 500)
    sketch = gf.Sketch(bins=16, range=(0, 16)).update(
        np.concatenate([rows, rows]), np.tile([0, 1], 1000), np.repeat([0, 1], 1000)
    )
    found = gf.certify({0: 0.5, 1: 0.0}, sketch, limits=ODDS)
    assert found.upper["equalized_odds"] == 1.0
    assert "either side" in texts(found)[0]


def test_absent_group_is_not_certified(backend):
    sketch = counted([[100, 100], [500, 500]], [[1000, 1000], [1000, 1000]])
    assert gf.certify({0: 0.5, 1: 0.5}, sketch, limits=ODDS).holds
    found = gf.certify({0: 0.5, 1: 0.5, 2: 0.5}, sketch, limits=ODDS)
    assert not found.holds
    assert "without fresh rows" in texts(found)[0]
    no_positives = counted([[100, 100], [500, 0]], [[1000, 1000], [1000, 0]])
    assert gf.certify(0.5, no_positives, limits=ODDS).upper["equalized_odds"] == 1.0


def test_weights_say_less(backend):
    columns = (np.tile([0.0, 1.0], 2000), np.repeat([0, 1], 2000), np.tile(np.repeat([0, 1], 2), 1000))
    even, uneven = gf.Sketch(bins=16, range=(-4, 4)), gf.Sketch(bins=16, range=(-4, 4))
    even.update(*columns)
    uneven.update(*columns, weights=np.tile(np.repeat([0.5, 1.5], 4), 500))
    one, two = (gf.certify(0.5, sketch, limits=ODDS).upper["equalized_odds"] for sketch in (even, uneven))
    assert two == pytest.approx(one * np.sqrt(1.25), rel=0.02)
    with pytest.raises(ValueError, match="needs whole rows, and rows have weights"):
        gf.certify(0.5, uneven, limits=ODDS, exact=True)


def test_what_cannot_be_certified_is_refused(backend):
    sketch = normal_sketch(2000, 1)
    with pytest.raises(ValueError, match="needs limits too"):
        gf.certify(0.5, sketch)
    with pytest.raises(ValueError, match="no rows"):
        gf.certify(0.5, gf.Sketch(), limits=ODDS)
    mixed = gf.solve(sketch, limits={"equalized_odds": 0.001}, randomize=True)
    with pytest.raises(ValueError, match="thresholds are mixed"):
        gf.certify(mixed, sketch, exact=True)
    assert gf.certify(mixed, sketch).upper["equalized_odds"] > 0.001


# ------------------------------------------------------------------------------------------------- bounds of one rate


def limit_of(sketch, limit, *, confidence=0.95, exact=False):
    """The confidence limit of a rate that has a bound, at a threshold of 0.5."""
    return certified(limit, Fresh.of(Taken.of(0.5, sketch), 1 - confidence, exact))


@pytest.mark.parametrize("exact", [False, True])
def test_limit_of_one_rate_is_that_of_clopper_and_pearson(backend, exact):
    """Of every group alone, and each with the whole chance: the number of groups does not matter."""
    accepted, totals = np.array([[20, 31], [45, 52]]), np.array([[80, 90], [70, 60]])
    sketch = counted(accepted, totals)
    of = {
        "tpr": (accepted[1], totals[1]),
        "fnr": (totals[1] - accepted[1], totals[1]),
        "fpr": (accepted[0], totals[0]),
        "ppv": (accepted[1], accepted.sum(axis=0)),
        "accuracy": (accepted[1] + totals[0] - accepted[0], totals.sum(axis=0)),
    }
    for name, (hits, rows) in of.items():
        low, high = np.transpose([clopper_pearson(int(h), int(n), 0.05) for h, n in zip(hits, rows, strict=True)])
        least, most = Limit(KNOWN[name], least=0.01), Limit(KNOWN[name], most=0.99)
        assert limit_of(sketch, least, exact=exact) == pytest.approx(low.min(), rel=1e-9)
        assert limit_of(sketch, most, exact=exact) == pytest.approx(high.max(), rel=1e-9)
        assert limit_of(sketch, least._replace(group=1), exact=exact) == pytest.approx(low[1], rel=1e-9)
        assert limit_of(sketch, least._replace(group="other"), exact=exact) == 0.0
        both = Limit(KNOWN[name], least=float(low.min()) - 0.2, most=float(high.max()) + 0.1)
        assert limit_of(sketch, both, exact=exact) == pytest.approx(high.max(), rel=1e-9)


def test_exact_limit_of_a_mean_of_two_shares_is_shared_between_them(backend):
    accepted, totals = np.array([[20, 31], [45, 52]]), np.array([[80, 90], [70, 60]])
    tpr, fpr = (
        np.array([clopper_pearson(int(h), int(n), 1 - 0.95**0.5) for h, n in zip(*pair, strict=True)])
        for pair in ((accepted[1], totals[1]), (accepted[0], totals[0]))
    )
    least = Limit(KNOWN["balanced_accuracy"], least=0.5)
    expected = ((tpr[:, 0] + 1 - fpr[:, 1]) / 2).min()
    assert limit_of(counted(accepted, totals), least, exact=True) == pytest.approx(expected, rel=1e-9)
    assert limit_of(counted(accepted, totals), least) > expected


@pytest.mark.parametrize("exact", [False, True])
def test_share_of_all_rows_is_that_of_the_groups_together(backend, exact):
    accepted, totals = np.array([[20, 31], [45, 52]]), np.array([[80, 90], [70, 60]])
    low, high = clopper_pearson(int(accepted.sum()), int(totals.sum()), 0.05)
    sketch, selected = counted(accepted, totals), KNOWN["selected"]
    assert limit_of(sketch, Limit(selected, most=0.6), exact=exact) == pytest.approx(high, rel=1e-9)
    assert limit_of(sketch, Limit(selected, least=0.1), exact=exact) == pytest.approx(low, rel=1e-9)


@pytest.mark.parametrize("name", ["tpr", "balanced_accuracy", "selected"])
def test_bounds_that_do_not_hold_are_rarely_certified(name):
    """Two groups of which one is just below the bound; all rows are just above it. 2,000 draws."""
    random, n, p = np.random.default_rng(0), 80, 0.6
    chance = np.array([[1 - p, 0.3], [p, 0.9]])  # of being accepted, by label and group
    rows, draws = np.full((2, 2), n), random.binomial(n, chance, (2000, 2, 2))
    if name == "selected":
        limit = Limit(KNOWN[name], most=float(chance.mean()) - 1e-9)
    else:
        limit = Limit(KNOWN[name], least=p + 1e-9)
    taken = Taken.of(0.5, counted(rows // 2, rows))
    for exact in (False, True):
        wrong = 0
        for accepted in draws:
            cells, all_ = (np.vstack([part, [0.0, 0.0]]) for part in (accepted, rows))  # no row without a label
            fresh = Fresh(taken.groups, cells, cells, all_, None, [], 0.05, exact)
            wrong += bool(limit.met(certified(limit, fresh)))
        assert wrong <= 0.05 * len(draws) + 3 * np.sqrt(0.05 * 0.95 * len(draws))
        assert wrong or exact  # the sum of two distances leaves much to spare


def test_a_form_that_certify_does_not_know_is_not_certified():
    """It used to pass for a bound on one rate."""
    with pytest.raises(AssertionError):
        limit_of(normal_sketch(500, 1), Limit(KNOWN["tpr"]._replace(form="median"), most=0.99))


def test_bound_of_a_group_without_rows_is_not_certified(backend):
    sketch = counted([[100, 100], [500, 0]], [[1000, 1000], [1000, 0]])
    assert limit_of(sketch, Limit(KNOWN["tpr"], least=0.1)) == 0.0
    assert limit_of(sketch, Limit(KNOWN["tpr"], most=0.9)) == 1.0
    assert limit_of(sketch, Limit(KNOWN["tpr"], least=0.1, group=0)) > 0.4


def test_threshold_inside_a_bin_takes_the_worse_side_of_a_rate():
    scores = np.repeat([0.25, 1.5], 100)  # the threshold of 0.5 is inside the bin of the first
    sketch = gf.Sketch(bins=16, range=(0, 16)).update(scores, np.tile([0, 1], 100), np.zeros(200, int))
    assert limit_of(sketch, Limit(KNOWN["ppv"], least=0.1)) == pytest.approx(clopper_pearson(50, 150, 0.05)[0])
    assert limit_of(sketch, Limit(KNOWN["ppv"], most=0.9)) == pytest.approx(clopper_pearson(100, 150, 0.05)[1])
    assert limit_of(sketch, Limit(KNOWN["fnr"], most=0.9)) == pytest.approx(clopper_pearson(50, 100, 0.05)[1])
