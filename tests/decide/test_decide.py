"""A decision is `score >= threshold` of the row's group, for every score, column and backend."""

import itertools
import math
import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast import _backends

INF, NAN = math.inf, math.nan
KERNELS = ("generic", "four", "avx2", "avx512")


@pytest.fixture(params=KERNELS)
def kernel(request):
    """Run with each kernel of the native backend that this CPU has."""
    if not _backends.has_native():
        pytest.skip("the extension was not built")
    from gstar_fast import _core

    before = _core.kernel()
    try:
        _core.use_kernel(request.param)
    except ValueError:
        pytest.skip(f"this CPU has no {request.param}")
    with gf.use_backend("native"):
        yield request.param
    _core.use_kernel(before)


def hard_scores(thresholds, n, dtype, seed=0):
    """Scores at the thresholds, next to them, denormal, infinite, and of any bits at all."""
    rng = np.random.default_rng(seed)
    at = rng.choice(np.array(list(thresholds)), n)
    with np.errstate(over="ignore"):
        near = at.astype(dtype)
    up, down = np.nextafter(near, dtype(INF)), np.nextafter(near, dtype(-INF))
    with np.errstate(invalid="ignore"):
        bits = rng.integers(0, 256, (n, np.dtype(dtype).itemsize), dtype=np.uint8).view(dtype)[:, 0]
    special = rng.choice(np.array([INF, -INF, 0.0, -0.0, 1e-310, -1e-310, 1e-40, 3e38, -3e38]), n).astype(dtype)
    scores = np.choose(rng.integers(0, 5, n), [near, up, down, bits, special])
    scores[np.isnan(scores)] = -0.0
    return scores


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [31, 33, 64, 100, 255])
def test_a_nan_that_is_rejected_changes_no_other_row(kernel, n, dtype):
    """Rows after the last full register are decided too; `out` shows those that are not."""
    decider = gf.Decider({0: 0.5, 1: 1.5, 2: 2.5}, nan=False, unknown=0.0)
    scores, groups = (np.arange(n) % 7 * 0.5).astype(dtype), np.arange(n) % 4
    scores[3] = np.nan
    expected = scores >= np.array([0.5, 1.5, 2.5, 0.0])[groups]
    for out in (np.zeros(n, bool), np.ones(n, bool)):
        assert np.array_equal(decider(scores, groups, out=out), expected)


def some_thresholds(n_groups, seed=1):
    values = np.random.default_rng(seed).normal(size=n_groups)
    fixed = [INF, -INF, 0.0, 1e-310, 1e300, -1e300, 0.1]
    values[1 : 1 + len(fixed)] = fixed[: max(0, n_groups - 1)]
    return values


# ---------------------------------------------------------------------------------------------------------------- laws


@pytest.mark.parametrize("n_groups", [1, 2, 8, 9, 16, 17, 32, 33, 256, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_decision_is_score_at_least_threshold(backend, n_groups, dtype):
    thresholds = some_thresholds(n_groups)
    decider = gf.Decider(dict(enumerate(thresholds.tolist())))
    scores = hard_scores(thresholds, 3001, dtype)
    groups = np.random.default_rng(2).integers(0, n_groups, 3001)
    expected = scores.astype(np.float64) >= thresholds[groups]
    for kind in (np.int64, np.uint16, *([np.uint8] if n_groups <= 256 else [])):
        assert np.array_equal(decider(scores, groups.astype(kind)), expected)


@pytest.mark.parametrize("n_groups", [1, 2, 8, 9, 16, 17, 32, 33, 256, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_kernel_decides_alike(kernel, n_groups, dtype):
    thresholds = some_thresholds(n_groups)
    decider = gf.Decider(dict(enumerate(thresholds.tolist())))
    for n in (0, 1, 31, 64, 65, 4096, 9999):
        scores = hard_scores(thresholds, n, dtype, seed=n)
        groups = np.random.default_rng(n).integers(0, n_groups, n).astype(np.uint8 if n_groups <= 256 else np.int32)
        assert np.array_equal(decider(scores, groups), scores.astype(np.float64) >= thresholds[groups])


@pytest.mark.skipif(os.environ.get("GSTAR_FAST_EXHAUSTIVE") != "1", reason="set GSTAR_FAST_EXHAUSTIVE=1: minutes")
def test_every_float32_is_decided_as_in_float64(kernel):
    thresholds = np.array([0.1, -0.1, 1e-310, 1e-45, 0.0, INF, -INF, 3.5e38])
    decider = gf.Decider(dict(enumerate(thresholds.tolist())), nan=False)
    step = 2**24
    groups = [np.full(step, group, np.uint8) for group in range(len(thresholds))]
    for start in range(0, 2**32, step):
        scores = np.arange(start, start + step, dtype=np.uint32).view(np.float32)
        with np.errstate(invalid="ignore"):  # NaN of every kind is among them
            wide = scores.astype(np.float64)
            for group, threshold in enumerate(thresholds):
                assert np.array_equal(decider(scores, groups[group]), wide >= threshold)


@pytest.mark.every_backend
@given(st.data())
def test_all_ways_to_ask_agree(backend, data):
    """Arrays, one row, margins and codes."""
    names = data.draw(st.lists(st.integers(-3, 300) | st.text(max_size=3), min_size=1, max_size=6, unique=True))
    floats = st.floats(allow_nan=False)
    values = data.draw(st.lists(floats, min_size=len(names), max_size=len(names)))
    decider = gf.Decider(dict(zip(names, values, strict=True)))
    places = data.draw(st.lists(st.integers(0, len(names) - 1), min_size=1, max_size=20))
    scores = data.draw(st.lists(floats | st.sampled_from(values), min_size=len(places), max_size=len(places)))
    expected = [score >= values[place] for score, place in zip(scores, places, strict=True)]
    groups = [names[place] for place in places]
    assert decider(scores, groups).tolist() == expected
    assert decider(scores, places, codes=True).tolist() == expected
    assert (decider.margin(scores, groups) >= 0).tolist() == expected
    assert [decider.one(score, group) for score, group in zip(scores, groups, strict=True)] == expected


def test_the_confusion_matrix_of_the_sketch_is_the_one_of_the_decisions(backend):
    """To the row, at any edge of the sketch, for float32 and float64 scores."""
    rng = np.random.default_rng(4)
    for dtype in (np.float32, np.float64):
        scores = rng.normal(size=5000).astype(dtype)
        labels, groups = rng.integers(0, 2, 5000), rng.integers(0, 2, 5000)
        sketch = gf.Sketch.from_rows(scores, labels, groups, bins=256)
        places = rng.integers(0, 257, 2)
        decider = gf.Decider({group: float(sketch.edges[place]) for group, place in enumerate(places)})
        accepted = decider(scores, groups)
        for label, group in itertools.product((0, 1), (0, 1)):
            promised = sketch.counts[label, group, places[group] :].sum() + sketch.above[label, group]
            assert accepted[(labels == label) & (groups == group)].sum() == promised


def test_threads_change_nothing(backend):
    thresholds = some_thresholds(8)
    scores = hard_scores(thresholds, 200_000, np.float32)
    groups = np.arange(200_000) % 8
    decider = gf.Decider(dict(enumerate(thresholds.tolist())))
    assert np.array_equal(decider(scores, groups, threads=3), decider(scores, groups))
    scores[[70_001, 190_001]] = NAN
    with pytest.raises(ValueError, match="scores has NaN at row 70001"):
        decider(scores, groups, threads=3)


# ----------------------------------------------------------------------------------------------------------- any column


def polars_categorical(groups):
    series = pl.Series(groups, dtype=pl.Categorical)
    try:
        pa.chunked_array(series)
    except pa.ArrowException:
        pytest.skip("this polars hands out a categorical series wrongly; its frames are fine")
    return series


NAMES = ["F", "M", "X"]
COLUMNS = {
    "list": lambda g: g,
    "array of strings": np.array,
    "array of objects": lambda g: np.array(g, object),
    "pandas": lambda g: pd.Series(g, dtype=object),
    "pandas categorical": lambda g: pd.Series(pd.Categorical(g, categories=["X", "unused", "M", "F"])),
    "polars": pl.Series,
    "polars categorical": polars_categorical,
    "Arrow": pa.array,
    "Arrow dictionary": lambda g: pa.array(g).dictionary_encode(),
}


@pytest.mark.parametrize("column", COLUMNS)
def test_groups_in_any_column(backend, column):
    decider = gf.Decider({"F": 0.25, "M": 0.5, "X": 0.75})
    groups = [NAMES[i % 3] for i in range(100)]
    scores = np.linspace(0, 1, 100)
    expected = [score >= decider.thresholds[group] for score, group in zip(scores.tolist(), groups, strict=True)]
    assert decider(scores, COLUMNS[column](groups)).tolist() == expected


@pytest.mark.parametrize(
    "scores",
    [
        [0.5, 1, 2],
        np.array([0.5, 1, 2], np.float16),
        np.array([9, 0.5, 9, 1, 9, 2])[1::2],
        np.array([2, 1, 0.5], np.float32)[::-1],
        np.array([0.5, 1, 2], ">f8"),
        pd.Series([0.5, 1, 2]),
        pl.Series([0.5, 1, 2]),
        np.array([0.5, 1, 2]).view(np.recarray),
    ],
    ids=lambda scores: f"{type(scores).__name__}{getattr(scores, 'strides', '')}{getattr(scores, 'dtype', '')}",
)
def test_scores_in_any_column(backend, scores):
    decider = gf.Decider({0: 1.0, 1: 2.0})
    assert decider(scores, [0, 0, 1]).tolist() == [False, True, True]


@pytest.mark.parametrize("names", [(7, -3), (10**12, 70_000), (True, False), (("F", 1), ("M", True)), ("a", 1)])
def test_names_of_every_kind(backend, names):
    decider = gf.Decider(dict(zip(names, (0.25, 0.75), strict=True)))
    column = np.empty(4, object)
    column[:] = [names[0], names[1], names[0], names[1]]
    assert decider([0.5, 0.5, 0.1, 0.8], column).tolist() == [True, False, False, True]
    assert decider.one(0.5, names[0]) is True
    assert decider.one(0.5, names[1]) is False


def test_integers_are_names_and_codes_are_positions(backend):
    decider = gf.Decider({1: 0.25, 0: 0.75})
    assert decider([0.5, 0.5], [0, 1]).tolist() == [False, True]
    assert decider([0.5, 0.5], [0, 1], codes=True).tolist() == [True, False]
    with pytest.raises(ValueError, match="code 2 at row 1 is not a position among the 2 groups"):
        decider([0.5, 0.5], [0, 2], codes=True)
    with pytest.raises(TypeError, match="codes=True needs whole numbers"):
        decider([0.5, 0.5], ["a", "b"], codes=True)


# ------------------------------------------------------------------------------------------------- unified, randomised


def test_unified_needs_no_group(backend):
    decider = gf.Decider({"F": 0.5, "M": 0.5}, unified=True)
    scores = hard_scores([0.5], 500, np.float32)
    assert np.array_equal(decider(scores), scores >= 0.5)
    assert np.array_equal(decider(scores, ["never seen"] * 500), scores >= 0.5)
    assert np.array_equal(decider.margin(scores) >= 0, scores >= 0.5)
    assert decider.one(0.5) is True
    assert decider.one(0.4, "never seen") is False
    with pytest.raises(ValueError, match="arrays differ in length: scores has 500, groups has 1"):
        decider(scores, ["F"])
    with pytest.raises(ValueError, match="scores has NaN at row 1"):
        decider([0.0, NAN])


MIXTURES = {"F": [(0.2, 0.7), (0.8, 0.3)], "M": [(0.5, 1.0)]}


def test_a_row_draws_by_its_key(backend):
    """Reproducible, in the chosen proportion, one row as many."""
    decider = gf.Decider({"F": 0.2, "M": 0.5}, mixtures=MIXTURES)
    keys = np.arange(20_000)
    scores, groups = np.full(20_000, 0.5), np.array(["F"] * 20_000)
    answers = decider(scores, groups, keys=keys)
    assert abs(answers.mean() - 0.7) < 0.015
    assert np.array_equal(decider(scores[::-1], groups, keys=keys[::-1]), answers[::-1])
    assert [decider.one(0.5, "F", key) for key in range(200)] == answers[:200].tolist()
    assert np.array_equal(decider.margin(scores, groups, keys=keys) >= 0, answers)
    assert decider([0.5, 0.4], ["M", "M"], keys=[1, 2]).tolist() == [True, False]


@pytest.mark.parametrize(
    ("key", "expected"),
    [(0, 0xE220A8397B1DCDAF), (1, 0x910A2DEC89025CC1), (-1, 0xE4D971771B652C20), (2**64 - 1, 0xE4D971771B652C20)],
)
def test_the_hash_of_a_number_is_the_published_one(backend, key, expected):
    """SplitMix64: whoever writes it again can compare."""
    hashes = _backends.room("decide").hash_keys([key])
    assert hashes.dtype == np.uint64
    assert hashes.tolist() == [expected]


@pytest.mark.every_backend
def test_every_backend_hashes_alike(backend):
    from gstar_fast._decide.rows import hashes_of

    keys = ["", "a", "Ä€𝄞", b"\x00\xff", "x" * 100]
    reference = _backends.room("decide", "numpy").hash_keys(keys)
    assert np.array_equal(hashes_of(keys, backend), reference)
    numbers = np.array([0, 1, -1, 2**62, -(2**63)])
    reference = _backends.room("decide", "numpy").hash_keys(numbers.tolist())
    assert np.array_equal(hashes_of(numbers, backend), reference)
    assert np.array_equal(hashes_of(numbers.tolist(), backend), reference)
    assert np.array_equal(hashes_of(pd.Series(["a", "b"]), backend), hashes_of(["a", "b"], backend))


def test_randomised_thresholds_ask_for_keys(backend):
    decider = gf.Decider({"F": 0.2, "M": 0.5}, mixtures=MIXTURES)
    with pytest.raises(ValueError, match="these thresholds are randomised; pass keys="):
        decider([0.5], ["F"])
    with pytest.raises(ValueError, match="these thresholds are randomised; pass the row's key"):
        decider.one(0.5, "F")
    with pytest.raises(ValueError, match="arrays differ in length: scores has 1, groups has 1, keys has 2"):
        decider([0.5], ["F"], keys=[1, 2])
    with pytest.raises(TypeError, match="a key must be an int, a str or bytes, got float"):
        decider([0.5], ["F"], keys=[1.5])
    for keys in (pd.Categorical(["a", None]), np.ma.array([1, 2], mask=[False, True]), pa.array([1, None])):
        with pytest.raises(TypeError, match="keys has a missing value at row 1"):
            decider([0.5, 0.5], ["F", "F"], keys=keys)
    with pytest.raises(ValueError, match="does not fit into 64 bits; pass it as a string"):
        decider.one(0.5, "F", 2**64)
