"""Groups known with probabilities: counts are unmixed, worth fewer rows, and thresholds are those of the groups."""

from __future__ import annotations

import pickle
import threading
import time

import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast._sketch.proxy import monotone
from gstar_fast.errors import InputError


def rows_of(n, seed=0, groups=2, strength=1.5):
    """Scores and labels that depend on the group, and probabilities from a signal that depends on the group alone."""
    rng = np.random.default_rng(seed)
    group = rng.choice(groups, n, p=np.arange(groups, 0, -1) / np.arange(1, groups + 1).sum())
    label = rng.random(n) < 0.35 + 0.1 * group
    score = rng.normal(1.2 * label - 0.6 * group, 1.0 + 0.2 * group)
    signal = rng.normal(size=(n, groups)) + strength * np.eye(groups)[group]
    probabilities = np.empty((n, groups))
    for y in (False, True):  # calibrated among the rows of each label
        own = label == y
        share = np.bincount(group[own], minlength=groups) / own.sum()
        likely = share * np.exp(strength * signal[own])
        probabilities[own] = likely / likely.sum(axis=1, keepdims=True)
    return score, label.astype(int), group, probabilities


def proxy_of(score, label, probabilities, **options):
    return gf.ProxySketch(range(probabilities.shape[1]), **options).update(score, label, probabilities)


def rates_at(sketch, threshold):
    """tpr and fpr of all groups at one threshold."""
    return np.array([[1 - gf.density(sketch, y, g).cdf(threshold) for g in sketch.groups] for y in (1, 0)])


# ----------------------------------------------------------------------------------------------------------- what it is


def test_known_groups_are_counted_as_they_are(backend):
    """With probabilities of 0 and 1 the unmixed sketch has the counts of the rows."""
    score, label, group, _ = rows_of(3_000)
    proxy = proxy_of(score, label, np.eye(2)[group], bins=256)
    unmixed, plain = proxy.unmixed(), gf.Sketch.from_rows(score, label, group, bins=256)
    for y in (0, 1):
        for g in (0, 1):
            at = plain.edges
            assert gf.density(unmixed, y, g).cdf(at) == pytest.approx(gf.density(plain, y, g).cdf(at), abs=1e-9)
    for (y, g), rows in proxy.effective_rows.items():
        assert rows == pytest.approx(((label == y) & (group == g)).sum())
    limits = {"equalized_odds": 0.1}
    assert gf.solve(unmixed, limits=limits).thresholds == gf.solve(plain, limits=limits).thresholds


def test_unmixed_rates_are_the_regression_of_acceptance_on_probabilities(backend):
    """Where the cumulative counts rise anyhow, unmixing is least squares without an intercept."""
    score, label, _, probabilities = rows_of(20_000)
    unmixed = proxy_of(score, label, probabilities, range=(-8, 8), bins=16).unmixed()
    for y, found in ((1, 0), (0, 1)):
        own = label == y
        accepted = (score[own] >= 0.0).astype(float)
        expected = np.linalg.lstsq(probabilities[own], accepted, rcond=None)[0]
        assert rates_at(unmixed, 0.0)[found] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("groups", [2, 3])
def test_unmixed_rates_are_those_of_the_groups(backend, groups):
    score, label, group, probabilities = rows_of(60_000, groups=groups)
    proxy = proxy_of(score, label, probabilities, bins=512)
    true = rates_at(gf.Sketch.from_rows(score, label, group, bins=512), 0.2)
    naive = rates_at(gf.Sketch.from_rows(score, label, probabilities.argmax(axis=1), bins=512), 0.2)
    unmixed = rates_at(proxy.unmixed(), 0.2)
    errors = np.array([[proxy.effective_rows[y, g] ** -0.5 for g in proxy.groups] for y in (1, 0)]) / 2
    assert (np.abs(unmixed - true) < 3 * errors).all()
    assert np.abs(unmixed - true).max() < np.abs(naive - true).max() / 2


def test_thresholds_are_fair_between_the_true_groups(fast_backend):
    score, label, group, probabilities = rows_of(80_000, strength=1.0)
    limits = {"equalized_odds": 0.05}
    proxy = proxy_of(score, label, probabilities, bins=512)
    counted = gf.Sketch.from_rows(score, label, group, bins=512)
    gaps = {
        name: gf.audit(gf.solve(sketch, limits=limits), counted).gaps["equalized_odds"].value
        for name, sketch in {
            "unmixed": proxy.unmixed(),
            "guessed": gf.Sketch.from_rows(score, label, probabilities.argmax(axis=1), bins=512),
        }.items()
    }
    assert gaps["unmixed"] < 0.08
    assert gaps["guessed"] > 0.09
    assert gaps["unmixed"] < gaps["guessed"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gstar_fast.errors.AssumptionWarning")  # which one in a hundred samples gives
def test_gaps_vary_as_effective_rows_say():
    """The spread of an unmixed gap over many samples is at most that of rows which are independent and so many."""
    found, bounds = [], []
    for seed in range(150):
        score, label, _, probabilities = rows_of(1_500, seed=seed, strength=1.0)
        proxy = proxy_of(score, label, probabilities, range=(-8, 8), bins=16)
        tpr = rates_at(proxy.unmixed(), 0.0)[0]
        found.append(tpr[0] - tpr[1])
        rows = [proxy.effective_rows[1, g] for g in (0, 1)]
        bounds.append(sum(r * (1 - r) / n for r, n in zip(tpr, rows, strict=True)))
    claimed = np.mean(bounds) ** 0.5
    assert 0.75 * claimed < np.std(found) < 1.15 * claimed


def test_weak_probabilities_are_worth_few_rows():
    worth = [proxy_of(*_without_groups(rows_of(4_000, strength=s))).effective_rows[1, 1] for s in (4.0, 1.5, 0.5)]
    assert worth[0] > 1.5 * worth[1] > 6 * worth[2] > 0


def _without_groups(rows):
    score, label, _, probabilities = rows
    return score, label, probabilities


def test_intervals_and_warnings_use_effective_rows():
    score, label, group, probabilities = rows_of(6_000, strength=0.7)
    unmixed = proxy_of(score, label, probabilities, bins=256).unmixed()
    with pytest.warns(gf.errors.NoiseWarning, match="below what chance alone shows"):
        result = gf.solve(unmixed, limits={"equal_opportunity": 0.02})
    known = gf.Sketch.from_rows(score, label, group, bins=256)
    beyond = []
    for sketch in (unmixed, known):
        found = gf.certify(result, sketch, confidence=0.9)
        beyond.append(found.upper["equal_opportunity"] - found.gaps["equal_opportunity"])
    assert beyond[0] > 1.5 * beyond[1] > 0


# -------------------------------------------------------------------------------------------------------- how it counts


def test_batches_and_merges_count_the_same(backend):
    score, label, _, probabilities = rows_of(9_000)
    whole = proxy_of(score, label, probabilities, bins=64)
    parts = gf.ProxySketch([0, 1], bins=64)
    for part in (slice(5_000, 9_000), slice(0, 5_000)):
        parts = parts + proxy_of(score[part], label[part], probabilities[part], bins=64)
    assert parts.n_rows == whole.n_rows == 9_000
    assert parts.unmixed().to_bytes() == whole.unmixed().to_bytes()
    assert pickle.loads(pickle.dumps(parts)).unmixed() == whole.unmixed()
    assert repr(whole) == "ProxySketch(9000 rows, 2 groups: 0, 1)"


def test_backends_unmix_to_the_same_bytes(fast_backend):
    score, label, _, probabilities = rows_of(2_000)
    fast = proxy_of(score, label, probabilities, bins=64).unmixed().to_bytes()
    with gf.use_backend("numpy"):
        assert proxy_of(score, label, probabilities, bins=64).unmixed().to_bytes() == fast


def test_awkward_rows_are_unmixed(backend):
    """Infinite scores, scores outside of the range, unlabelled rows, a group that nobody of a label may belong to."""
    score = np.array([-np.inf, 0.25, np.inf, 0.5, 9.0, -9.0, 0.75, 0.1])
    label = [0, 1, 0, 1, None, None, 1, 0]
    probabilities = np.array([[1, 0], [1, 0], [1, 0], [1, 0], [0, 1], [1, 0], [1, 0], [1, 0]])
    for options in ({}, {"range": (0, 1), "bins": 16}):
        unmixed = proxy_of(score, label, probabilities, **options).unmixed()
        assert unmixed.n_rows == pytest.approx(8)
        assert gf.density(unmixed, 0, 0).cdf(0.05) == pytest.approx(1 / 3, abs=1e-5)
        assert gf.density(unmixed, 1, 0).n_rows == 3


def test_cumulative_counts_are_the_nearest_that_rise():
    assert monotone(np.array([0.0, 0.3, 0.2, 0.25, 0.9, 0.8])).tolist() == pytest.approx(
        [0.0, 0.25, 0.25, 0.25, 0.85, 0.85]
    )


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("scores", "labels", "probabilities", "words"),
    [
        ([0.1, 0.2], [0, 1], [[0.5, 0.5]], "scores has 2, labels has 2, group_probabilities has 1"),
        ([0.1, 0.2], [0, 1], [0.5, 0.5], r"a column for each of 2 groups, got shape \(2,\); pass np.column_stack"),
        ([0.1], [0], [[0.5, 0.4]], "add up to 1 in every row, got 0.5, 0.4 at row 0"),
        ([0.1, 0.2], [0, 1], [[0.5, 0.5], [1.5, -0.5]], r"from 0 to 1 .* got 1.5, -0.5 at row 1"),
        ([0.1], [0], [["x", "y"]], "must be an array of numbers"),
        ([0.1], [7], [[0.5, 0.5]], "labels must be 0 or 1"),
        ([float("nan")], [0], [[0.5, 0.5]], "NaN"),
    ],
)
def test_wrong_rows_are_refused_and_change_nothing(backend, scores, labels, probabilities, words):
    proxy = gf.ProxySketch(["a", "b"])
    with pytest.raises(InputError, match=words):
        proxy.update(scores, labels, probabilities)
    assert proxy.n_rows == 0
    assert proxy.effective_rows == {}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_a_frame_are_taken_by_name(library):
    frames = pytest.importorskip(library)
    score, label, _, p = rows_of(400)
    plain = gf.ProxySketch(["a", "b"]).update(score, label, p).unmixed()
    for columns in ({"a": p[:, 0], "b": p[:, 1]}, {"b": p[:, 1], "a": p[:, 0]}, {"x": p[:, 0], "y": p[:, 1]}):
        assert gf.ProxySketch(["a", "b"]).update(score, label, frames.DataFrame(columns)).unmixed() == plain
    proxy = gf.ProxySketch(["a", "b"])
    with pytest.raises(
        InputError, match="has the columns 'a', 'c', and the groups are 'a', 'b'; give columns of these"
    ):
        proxy.update(score, label, frames.DataFrame({"a": p[:, 0], "c": p[:, 1]}))
    assert proxy.n_rows == 0


class Slow(np.ndarray):
    """Sums that leave time for another thread between reading and writing."""

    def __add__(self, other):
        out = super().__add__(other)
        time.sleep(0.01)
        return out


def test_threads_that_count_at_once_lose_nothing(backend):
    score, label, _, p = rows_of(400)
    together, one = gf.ProxySketch([0, 1]), gf.ProxySketch([0, 1]).update(score, label, p)
    together._products = together._products.view(Slow)

    def work(half):
        for at in range(200 * half, 200 * half + 200, 50):
            together.update(score[at : at + 50], label[at : at + 50], p[at : at + 50])

    threads = [threading.Thread(target=work, args=(half,)) for half in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (together.n_rows, together.unmixed()) == (400, one.unmixed())
    assert pickle.loads(pickle.dumps(one)).merge(one).n_rows == 800


def test_a_proxy_in_the_place_of_a_sketch_is_told_what_to_do():
    with pytest.raises(TypeError, match=r"got ProxySketch; pass proxy.unmixed\(\)"):
        gf.solve(gf.ProxySketch(["a", "b"]))


def test_probabilities_that_tell_nothing_are_refused():
    proxy = gf.ProxySketch(["a", "b"]).update([0.1, 0.2, 0.3], [1, 1, 1], [[0.4, 0.6]] * 3)
    with pytest.raises(InputError, match="cannot tell the groups apart among rows of label 1"):
        proxy.unmixed()


def test_wrong_groups_are_refused():
    with pytest.raises(InputError, match="at least two names"):
        gf.ProxySketch(["a"])
    with pytest.raises(TypeError, match="groups must be a list of names, got 3"):
        gf.ProxySketch(3)
    with pytest.raises(InputError, match="of the same groups"):
        gf.ProxySketch(["a", "b"]).merge(gf.ProxySketch(["a", "c"]))
