"""What only the compiled loops of the Numba backend can get wrong: columns, windows that grow, pending sums."""

from __future__ import annotations

import numpy as np
import pytest

import gstar_fast as gf

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")


def on(backend, batches, repeats=None, **options):
    """Count batches of (scores, labels, groups), one after the other."""
    with gf.use_backend(backend):
        sketch = gf.Sketch(**options)
        for i, batch in enumerate(batches):
            sketch.update(*batch, repeats=None if repeats is None else repeats[i])
        return sketch


def rows(rng, n, scores, n_groups=3):
    return scores, rng.integers(0, 2, n).astype(np.uint8), rng.integers(0, n_groups, n).astype(np.uint8)


@pytest.mark.parametrize("x", [0.1, 1e-3, -0.7, 1e5 + 0.1, 1e-310, 0.0])
def test_a_bin_takes_many_rows(x):
    n = 2**19 + 2**18
    far = np.array([x - abs(x) / 64, x + abs(x) / 64])  # a window around it
    many = np.full(n, x), np.ones(n, np.uint8), np.zeros(n, np.uint8)
    few = far, np.ones(2, np.uint8), np.zeros(2, np.uint8)
    one = np.array([x]), np.ones(1, np.uint8), np.zeros(1, np.uint8)
    expected = on("numpy", [few, one], [np.ones(2), np.array([float(n)])])
    assert on("numba", [few, many]).to_bytes() == expected.to_bytes()
    assert on("numba", [many, few]).to_bytes() == expected.to_bytes()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("step", [0.25, 1.0, 3.0, 12.0])
def test_sums_stay_exact_while_the_level_rises(dtype, step):
    """Coarsened in place by a level, by several, and by too many for that."""
    rng = np.random.default_rng(11)
    batches = []
    for i, n in enumerate([50, 2000, 30_000, 700, 20_000, 5, 40_000]):
        scores = (rng.normal(size=n) * 2.0 ** (step * i)).astype(dtype)
        scores[rng.random(n) < 0.05] *= 1e-4  # some next to zero at every level
        batches.append(rows(rng, n, scores))
    expected = on("numpy", batches, bins=256).to_bytes()
    assert on("numba", batches, bins=256).to_bytes() == expected
    assert on("numba", batches[::-1], bins=256).to_bytes() == expected


@pytest.mark.parametrize("sign", [1, -1])
def test_new_extremes_come_in_different_blocks_of_a_batch(sign):
    """The window of 0 to 9 has room for 14.5, or for -2.5, but not for both."""
    rng = np.random.default_rng(2)
    n = 30_000
    scores = rng.random(n) * 9
    scores[20_000], scores[25_000] = 14.5, -2.5
    batch = rows(rng, n, sign * scores)
    assert on("numba", [batch], bins=16).to_bytes() == on("numpy", [batch], bins=16).to_bytes()


@pytest.mark.parametrize("seed", range(6))
def test_new_extremes_on_both_sides_in_one_large_batch(seed):
    """The window grows at both ends while blocks are counted."""
    rng = np.random.default_rng(seed)
    n = 60_000
    scores = rng.normal(size=n) * np.linspace(0.9, 1.1 + seed / 4, n) + rng.choice([0, 3, -40])
    batch = rows(rng, n, scores, n_groups=5)
    expected = on("numpy", [batch], bins=64).to_bytes()
    assert on("numba", [batch], bins=64).to_bytes() == expected
    with gf.use_backend("numba"):
        assert gf.Sketch(bins=64).update(*batch, threads=4).to_bytes() == expected


def test_scores_too_small_for_their_window_fit_in_any_batch():
    """They have no column, and are listed for the reference."""
    rng = np.random.default_rng(5)
    sizes = [2, 16_000, 384, 16_000, 300, 16_384, 20_000]
    tiny = [np.array([-1.0, 1.0]), *(rng.normal(size=n) * 1e-200 for n in sizes[1:])]
    batches = [rows(rng, n, x, 2) for n, x in zip(sizes, tiny, strict=True)]
    assert on("numba", batches, bins=16).to_bytes() == on("numpy", batches, bins=16).to_bytes()


@pytest.mark.slow
def test_single_rows_equal_a_batch():
    """Also where they bring new extremes, new groups, a wider window, infinities and scores next to zero."""
    rng = np.random.default_rng(3)
    n = 400
    scores = np.where(rng.random(n) < 0.2, rng.normal(size=n) * 1e-9, rng.normal(size=n) * 8)
    scores[::50] = rng.choice([np.inf, -np.inf, 0.0, -0.0], 8)
    labels, names = rng.choice([0, 1, None], n), rng.choice(["a", "b", 7, True], n)
    with gf.use_backend("numba"):
        sketch = gf.Sketch(bins=64)
        for x, y, name in zip(scores.tolist(), labels.tolist(), names.tolist(), strict=True):
            sketch.update_one(x, y, name)
    with gf.use_backend("numpy"):
        expected = gf.Sketch(bins=64).update(scores, list(labels), list(names))
    assert sketch.to_bytes() == expected.to_bytes()


@pytest.mark.parametrize("bad", [("score", np.nan), ("score", 2.0**1001), ("label", 2), ("label", -1)])
def test_a_refused_batch_changes_nothing_even_where_it_would_widen_the_window(bad):
    rng = np.random.default_rng(9)
    good = rng.normal(size=500), rng.integers(0, 2, 500), rng.integers(0, 2, 500)
    for n in (300, 30_000):
        scores, labels, groups = rng.normal(size=n) * 100, rng.integers(0, 2, n), rng.integers(0, 9, n)
        (scores if bad[0] == "score" else labels)[n - 2] = bad[1]
        with gf.use_backend("numba"):
            sketch = gf.Sketch().update(*good)
            before = sketch.to_bytes()
            sketch.update(*good)
            with pytest.raises(ValueError, match=f"row {n - 2}"):
                sketch.update(scores, labels, groups)
            sketch.update(*good)
            assert sketch.groups == (0, 1)
            assert (
                sketch.to_bytes() == (gf.Sketch.from_bytes(before) + gf.Sketch().update(*good).update(*good)).to_bytes()
            )


def test_counting_and_its_watch_leave_the_sums_pending():
    """Exact Python integers are made when the sketch is read, not while rows come in and the level rises."""
    rng = np.random.default_rng(1)
    with gf.use_backend("numba"):
        sketch = gf.Sketch()
        for i in range(8):
            sketch.update(*rows(rng, 3000, rng.normal(size=3000) * 2.0**i))
        assert sketch._core._pending.rows == 24_000
        sketch.to_bytes()
        assert sketch._core._pending is None


@pytest.mark.parametrize("step", [1, -7, 85_229, 2**16, 2**32, 2**47, 2**50])
def test_groups_may_be_numbers_of_any_size(step):
    """Small ones are looked up in a table, and others are not."""
    names = np.array([step * i for i in range(-100, 100)])
    batch = np.linspace(0, 1, len(names)), None, names
    assert on("numba", [batch, batch], bins=16) == on("numpy", [batch, batch], bins=16)
