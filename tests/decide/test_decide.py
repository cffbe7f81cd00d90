"""A decision is `score >= threshold` of the row's group, for every score, column and backend; all rows or none."""

import copy
import itertools
import math
import os
import pickle

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
KERNELS = ("generic", "avx2", "avx512")


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


NAMES = ["F", "M", "X"]
COLUMNS = {
    "list": lambda g: g,
    "array of strings": np.array,
    "array of objects": lambda g: np.array(g, object),
    "pandas": lambda g: pd.Series(g, dtype=object),
    "pandas categorical": lambda g: pd.Series(pd.Categorical(g, categories=["X", "unused", "M", "F"])),
    "polars": pl.Series,
    "polars categorical": lambda g: pl.Series(g, dtype=pl.Categorical),
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


# ------------------------------------------------------------------------------------------------------------- policies


def test_an_unknown_group_is_refused_by_name_and_row(backend):
    decider = gf.Decider({"F": 0.25, "M": 0.75})
    text = r"""group 'X' at row 2 has no threshold; there are 'F', 'M'; choose unknown="default" or a number"""
    with pytest.raises(ValueError, match=text):
        decider([0.5] * 4, ["F", "M", "X", "X"])
    with pytest.raises(ValueError, match="group 'X' has no threshold"):
        decider.one(0.5, "X")
    for large in (300, 2**40, -1):
        with pytest.raises(ValueError, match=f"group {large} at row 1 has no threshold"):
            gf.Decider({0: 0.5, 3: 0.5})(np.zeros(100), np.array([0, large] + [3] * 98))
    with pytest.raises(ValueError, match="group 2 at row 0 "):  # a hole among the numbers
        gf.Decider({0: 0.5, 3: 0.5})(np.zeros(100, np.float32), np.array([2] * 100, np.uint8))


@pytest.mark.parametrize(("unknown", "threshold"), [(0.5, 0.5), ("default", 0.625), (-INF, -INF), (INF, INF)])
def test_an_unknown_group_has_the_threshold_chosen(backend, unknown, threshold):
    decider = gf.Decider({0: 0.25, 3: 0.75}, unknown=unknown, default=0.625)
    scores = np.linspace(0, 1, 200)
    groups = np.arange(200) % 7
    table = np.array([0.25, threshold, threshold, 0.75, threshold, threshold, threshold])
    for kind in (np.uint8, np.int64):
        assert np.array_equal(decider(scores, groups.astype(kind)), scores >= table[groups])
    assert decider([0.6], [10**15]).tolist() == [threshold <= 0.6]
    assert decider.one(0.6, "never seen") is (threshold <= 0.6)
    assert decider.unknown == unknown


@pytest.mark.parametrize("policy", [False, True])
def test_a_nan_score_is_decided_as_chosen(backend, policy):
    decider = gf.Decider({0: -INF, 1: 0.5}, nan=policy)
    scores = np.array([NAN, 1.0, NAN, 0.0] * 30, np.float32)
    groups = np.array([0, 1, 1, 0] * 30, np.uint8)
    assert decider(scores, groups).tolist() == [policy, True, policy, True] * 30
    assert decider.one(NAN, 1) is policy
    assert np.isnan(decider.margin(scores, groups)).tolist() == np.isnan(scores).tolist()
    assert decider([None, 1.0], [0, 0]).tolist() == [policy, True]


def test_a_nan_score_is_refused_by_row(backend):
    decider = gf.Decider({0: -INF})
    with pytest.raises(ValueError, match="scores has NaN at row 1; drop such rows, or choose nan=False or nan=True"):
        decider([0.0, NAN], [0, 0])
    with pytest.raises(ValueError, match="scores has NaN; drop"):
        decider.one(NAN, 0)
    with pytest.raises(ValueError, match="scores has NaN at row 1"):
        decider.margin([0.0, NAN], [0, 0])


def test_a_missing_group_is_refused_whatever_the_policy(backend):
    decider = gf.Decider({"F": 0.5}, unknown=0.5)
    for groups in (["F", None], pd.Categorical(["F", None]), pa.array(["F", None]), np.array(["F", NAN], object)):
        with pytest.raises(TypeError, match="groups has a missing value at row 1"):
            decider([0.5, 0.5], groups)
    with pytest.raises(TypeError, match=r"groups has a missing value|group names must be"):
        decider.one(0.5, NAN)


def test_a_group_that_is_a_float_is_refused(backend):
    decider = gf.Decider({1: 0.5})
    with pytest.raises(TypeError, match=r"group names must be int, str, bool"):
        decider.one(0.5, 1.0)
    with pytest.raises(TypeError, match=r"group names must be int, str, bool"):
        decider.one(0.5, np.float32(1.0))
    with pytest.raises(TypeError, match=r"group names must be int, str, bool"):
        decider([0.5], [1.0])
    assert decider.one(0.5, np.int16(1)) is True


def test_infinite_scores_and_thresholds(backend):
    decider = gf.Decider({0: INF, 1: -INF})
    scores, groups = [INF, 1e308, -INF, INF, -INF], [0, 0, 0, 1, 1]
    assert decider(scores, groups).tolist() == [True, False, False, True, True]
    assert decider.margin(scores, groups).tolist() == [0.0, -INF, -INF, INF, 0.0]


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


# ----------------------------------------------------------------------------------------------------------- out, input


def test_out_takes_the_answer(backend):
    decider = gf.Decider({0: 0.5, 1: 0.25})
    never = gf.Decider({0: 0.5, 1: 0.25}, unknown=0.5, nan=False)
    scores, groups = np.linspace(0, 1, 50), np.arange(50) % 2
    for which in (decider, never):
        out = np.empty(50, bool)
        assert which(scores, groups, out=out) is out
        assert np.array_equal(out, decider(scores, groups))
        wide = np.zeros(100, bool)
        which(scores, groups, out=wide[::2])
        assert np.array_equal(wide[::2], out)
        assert not wide[1::2].any()


def test_out_is_as_it_was_after_an_error(backend):
    decider = gf.Decider({0: 0.5})
    out = np.array([True, False, True])
    with pytest.raises(ValueError, match="group 1 at row 2"):
        decider([0.1, 0.9, 0.1], [0, 0, 1], out=out)
    assert out.tolist() == [True, False, True]


def test_a_wrong_out_is_refused(backend):
    decider = gf.Decider({0: 0.5})
    frozen = np.empty(1, bool)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        decider([0.5], [0], out=frozen)
    with pytest.raises(ValueError, match=r"out must have shape \(1,\) as scores has, got \(2,\)"):
        decider([0.5], [0], out=np.empty(2, bool))
    with pytest.raises(TypeError, match="out must be an array of bool, got uint8"):
        decider([0.5], [0], out=np.empty(1, np.uint8))


def test_out_may_lie_over_the_scores(backend):
    decider = gf.Decider({0: 0.5}, unknown=0.5, nan=False)
    scores = np.linspace(0, 1, 64)
    expected = scores >= 0.5
    out = scores.view(bool)[:64]
    assert np.array_equal(decider(scores, np.zeros(64, int), out=out), expected)


@pytest.mark.parametrize(
    ("scores", "groups", "error", "text"),
    [
        ([0.5, 0.5], [0], ValueError, "arrays differ in length: scores has 2, groups has 1"),
        (np.zeros((2, 2)), [0, 0], ValueError, r"scores must be 1-D, got shape \(2, 2\); pass proba"),
        (0.5, [0], ValueError, r"got a single number; for one row use decider.one\(score, group\)"),
        (["a"], [0], TypeError, "scores must be real numbers"),
        ([True], [0], TypeError, "scores must be real numbers, got bool"),
        ([0.5], None, ValueError, "groups must be given: each group has a threshold of its own"),
        ([0.5], "F", TypeError, "groups must be an array"),
    ],
)
def test_bad_input_is_refused(backend, scores, groups, error, text):
    with pytest.raises(error, match=text):
        gf.Decider({0: 0.5})(scores, groups)


def test_no_rows_are_no_decisions(backend):
    decider = gf.Decider({0: 0.5})
    assert decider([], []).tolist() == []
    assert decider(np.empty(0, np.float32), np.empty(0, np.uint8)).dtype == bool
    assert decider.margin([], []).tolist() == []


def test_masked_arrays_keep_their_mask(backend):
    decider = gf.Decider({0: 0.5}, nan=False)
    assert decider(np.ma.array([1.0, 1.0], mask=[True, False]), np.zeros(2, int)).tolist() == [False, True]
    with pytest.raises(TypeError, match="groups has a missing value at row 0"):
        decider(np.ones(2), np.ma.array([0, 0], mask=[True, False]))


def test_one_takes_its_arguments_by_name(backend):
    decider = gf.Decider({"F": 0.5})
    assert decider.one(score=0.5, group="F") is True
    assert decider.one(np.float32(0.25), "F") is False
    assert decider.one(1, "F") is True
    for arguments in ((), (0.5, "F", None, None)):
        with pytest.raises(TypeError):
            decider.one(*arguments)
    for score, kind in (("0.5", "str"), (None, "NoneType"), ([0.5], "list"), (b"1", "bytes")):
        with pytest.raises(TypeError, match=rf"score must be a number, got {kind}; for many rows call decider\(scores"):
            decider.one(score, "F")
    with pytest.raises(TypeError):
        decider.one(0.5, wrong="F")


# --------------------------------------------------------------------------------------------------------------- object


@pytest.mark.parametrize(
    ("arguments", "options", "error", "text"),
    [
        ([{}], {}, ValueError, "thresholds is empty"),
        ([[0.5]], {}, TypeError, "thresholds must be a dict of group -> number, got list"),
        ([{"a": NAN}], {}, ValueError, "the threshold of group 'a' is NaN; use inf to accept nobody"),
        ([{"a": "0.5"}], {}, TypeError, "the threshold of group 'a' must be a number"),
        ([{1.5: 0.5}], {}, TypeError, "group names must be int, str, bool"),
        ([{"a": 0.5}], {"unknown": "first"}, ValueError, 'unknown must be "raise", "default" or a threshold'),
        ([{"a": 0.5}], {"unknown": "default"}, ValueError, 'unknown="default" needs a default threshold'),
        ([{"a": 0.5}], {"unknown": NAN}, ValueError, "unknown is NaN"),
        ([{"a": 0.5}], {"nan": 0}, ValueError, 'nan must be "raise", False'),
        ([{"a": 0.5, "b": 0.6}], {"unified": True}, ValueError, "these groups differ"),
        ([{"a": 0.5}], {"mixtures": {"a": [(0.5, 0.9)]}}, ValueError, "must be from 0 to 1 and add up to 1"),
        ([{"a": 0.5}], {"mixtures": {}}, ValueError, "mixtures lacks group 'a'"),
    ],
)
def test_thresholds_that_cannot_be_decided_by_are_refused(backend, arguments, options, error, text):
    with pytest.raises(error, match=text):
        gf.Decider(*arguments, **options)


def test_a_decider_shows_what_it_is(backend):
    decider = gf.Decider({"F": 0.25, "M": -0.0}, unknown="default", default=0.5)
    assert repr(decider) == "Decider(2 groups: 'F', 'M'; unknown='default', nan='raise')"
    assert decider.thresholds == {"F": 0.25, "M": 0.0}
    assert math.copysign(1, decider.thresholds["M"]) == 1
    assert (decider.groups, decider.backend, decider.default) == (("F", "M"), backend, 0.5)
    assert isinstance(decider, gf.Decider)
    assert not decider.unified
    assert not decider.randomized


def test_a_decider_can_be_pickled_and_compared(backend):
    decider = gf.Decider({"F": 0.25, ("M", 1): 0.5}, nan=True)
    twin = pickle.loads(pickle.dumps(decider))
    assert twin == decider
    assert hash(twin) == hash(decider)
    assert twin != gf.Decider({"F": 0.25, ("M", 1): 0.5})
    assert twin([0.3, 0.3], [("M", 1), ("M", 1)]).tolist() == [False, False]


class Named(gf.Decider):
    """A decider that somebody gave a method."""

    def names(self):
        return sorted(map(str, self.groups))


def test_a_decider_may_be_subclassed(backend):
    plain, named = gf.Decider({"F": 0.25, "M": 0.75}), Named({"F": 0.25, "M": 0.75})
    assert type(named) is Named
    assert named == plain
    assert named.names() == ["F", "M"]
    assert named([0.5, 0.5], ["F", "M"]).tolist() == plain([0.5, 0.5], ["F", "M"]).tolist() == [True, False]
    assert named.one(0.5, "F") is plain.one(0.5, "F") is True
    assert named.margin([0.5], ["F"]).tolist() == [0.25]
    assert type(pickle.loads(pickle.dumps(named))) is Named
    live = gf.LiveDecider(named)
    assert live.swap(named) == 2
    assert live.decider == plain


def test_deciders_are_copied(backend):
    decider = gf.Decider({"F": 0.25, "M": 0.75})
    assert copy.copy(decider) == copy.deepcopy(decider) == decider
    assert copy.copy(decider).one(0.5, "F") is True
