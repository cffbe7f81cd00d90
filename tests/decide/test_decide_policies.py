"""Rows that have no plain answer, arrays to write into, and the decider as an object: decided as chosen, or refused."""

import copy
import math
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gstar_fast as gf

INF, NAN = math.inf, math.nan

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
