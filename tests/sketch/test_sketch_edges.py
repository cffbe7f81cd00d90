"""What a sketch promises at its edges: few rows, odd scores, odd names, odd options."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import weakref
from fractions import Fraction

import numpy as np
import pytest
from helpers.plain_sketch import plain_bytes

import gstar_fast as gf

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")


def test_the_empty_sketch_is_at_level_zero(backend):
    sketch = gf.Sketch()
    assert (sketch.level, sketch.edges[0], sketch.n_rows, sketch.groups, sketch.resolution) == (0, 0.0, 0, (), 0)
    assert sketch.counts.shape == (2, 0, 4096)
    assert sketch.update([], [], []) == gf.Sketch()


def test_infinite_scores_count_at_the_ends_and_move_no_window(backend):
    sketch = gf.Sketch.from_rows([np.inf, -np.inf, np.inf], [1, 0, None], ["a"] * 3)
    assert sketch.level == 0
    assert sketch.below.tolist() == [[1], [0]]
    assert sketch.above.tolist() == [[0], [1]]
    assert sketch.unlabelled_above.tolist() == [1]
    assert sketch.unlabelled_below.tolist() == [0]
    assert sketch.counts.sum() == 0


def test_minus_zero_is_zero(backend):
    a, b = (gf.Sketch.from_rows([z, 1.0], [0, 1], [0, 0]) for z in (0.0, -0.0))
    assert a == b


def test_a_score_beside_an_edge_falls_on_its_own_side(backend):
    sketch = gf.Sketch(bins=16, range=(-1.0, 1.0))
    edges = sketch.edges
    for i, e in enumerate(edges[:-1].tolist()):
        alone = gf.Sketch.from_rows([e], [1], [0], bins=16, range=(-1.0, 1.0))
        assert alone.counts[1, 0, i] == 1
        under = gf.Sketch.from_rows([np.nextafter(e, -np.inf)], [1], [0], bins=16, range=(-1.0, 1.0))
        assert (under.counts[1, 0, i - 1] if i else under.below[1, 0]) == 1
    top = gf.Sketch.from_rows([1.0], [1], [0], bins=16, range=(-1.0, 1.0))
    assert top.above[1, 0] == 1, "the top of the range is exclusive"


def test_a_tiny_negative_score_lies_under_zero_at_every_level(backend):
    for wide in (1.0, 2.0**100, 2.0**900):
        sketch = gf.Sketch.from_rows([-5e-324, wide], [1, 1], [0, 0], bins=16)
        zero = int(np.searchsorted(sketch.edges, 0.0))
        assert sketch.counts[1, 0, zero - 1] == 1


@pytest.mark.parametrize(
    "value",
    [0.0, 5e-324, -5e-324, 2.0**-1045, 3 * 2.0**-1046, 2.0**-1030, 16777217.0, 1e16 / 3, 2.0**1000, -(2.0**1000)],
)
def test_a_constant_score_of_any_size_is_kept(backend, value):
    sketch = gf.Sketch.from_rows([value] * 3, [1] * 3, [0] * 3)
    assert sketch.counts.sum() == 3
    assert gf.Sketch.from_bytes(sketch.to_bytes()) == sketch
    m = sketch.moments(1, 0)
    assert m.min == m.max == value
    assert m.mean == pytest.approx(value, rel=1e-7, abs=2.0**-1045)
    wider = sketch + gf.Sketch.from_rows([value, 1.0], [1, 1], [0, 0])
    assert wider == gf.Sketch.from_rows([value] * 4 + [1.0], [1] * 5, [0] * 5)


UP, DOWN = (lambda x: float(np.nextafter(x, np.inf))), (lambda x: float(np.nextafter(x, -np.inf)))
AROUND = [f(s * 2.0**e) for e in (-1022, -30, -1, 0, 1, 10) for s in (1, -1) for f in (float, UP, DOWN)]
HARD = {
    "zero": [0.0],
    "zeros": [-0.0, 0.0],
    "subnormal": [5e-324, -5e-324, 2.0**-1045, -(2.0**-1023), 3 * 2.0**-1046],
    "one score": [0.1],
    "one power of two below zero": [-4.0],
    "powers of two and their neighbours": AROUND,
    "powers of two below zero": [x for x in AROUND if x < 0],
    "the largest": [2.0**1000, -(2.0**1000), DOWN(2.0**1000), 1.0],
    "the largest alone": [2.0**1000],
    "everything": [5e-324, 2.0**1000, -(2.0**1000), -5e-324, 0.0, 1.0, -1.0],
    "only negatives": [-0.25, -0.3, -7.0, -1e-5],
    "a sentinel": [-999.0, 0.001, 0.2, 0.999, 1e-6],
    "a sentinel and zeros": [-1.0, 0.0, 0.0, 0.001, 1e-7],
    "a sentinel above": [1e9, 0.5, 0.25, -0.5],
    "whole numbers": [0.0, 1.0, 2.0, 3.0, 100.0, -1.0, 2.0**53, 2.0**53 + 2],
    "neighbours": [1e6, UP(1e6), DOWN(1e6), 1e6 + 1],
    "logits": [-7.5, 3.25, 0.125, -0.0625, 20.0, -30.0],
}


@pytest.mark.parametrize("n_bins", [16, 64, 4096])
@pytest.mark.parametrize("what", list(HARD))
def test_hard_scores_have_the_bytes_of_the_page_in_any_order_and_merge_tree(backend, what, n_bins):
    x = HARD[what] * 2
    y, g = [i % 3 for i in range(len(x))], [i % 2 for i in range(len(x))]
    expected = plain_bytes([(a, b, c, Fraction(1)) for a, b, c in zip(x, y, g, strict=True)], n_bins)
    labels = [None if label == 2 else label for label in y]
    whole = gf.Sketch(bins=n_bins).update(x, labels, g)
    assert whole.to_bytes() == expected
    backwards, tree = gf.Sketch(bins=n_bins), gf.Sketch(bins=n_bins)
    for row in reversed(list(zip(x, labels, g, strict=True))):
        backwards.update_one(*row)
        one = gf.Sketch(bins=n_bins)
        one.update_one(*row)
        tree = one + tree
    assert backwards.to_bytes() == tree.to_bytes() == expected
    assert gf.Sketch.from_bytes(expected).to_bytes() == expected
    pooled = whole._core.relabelled((7, 7))
    assert pooled.to_bytes() == gf.Sketch(bins=n_bins).update(x, labels, [7] * len(x)).to_bytes()
    edges = whole.edges
    inside = np.searchsorted(edges, x, side="right") - 1
    assert np.array_equal(whole._core.pooled()[0], np.bincount(inside, minlength=n_bins))


def test_groups_are_learned_in_canonical_order(backend):
    sketch = gf.Sketch()
    for name in ["b", 10, ("b", 1), "a", 2, ("a", "z"), ("a",), "é", -3]:
        sketch.update_one(0.5, 1, name)
    assert sketch.groups == (-3, 2, 10, "a", "b", "é", ("a",), ("a", "z"), ("b", 1))
    assert gf.Sketch.from_rows([0.0, 0.0], None, [True, False]).groups == (False, True)
    types = [type(name) for name in gf.Sketch.from_rows([0.5], [1], np.array([3], np.int8)).groups]
    assert types == [int]


def test_given_groups_keep_their_order_and_refuse_others(backend):
    sketch = gf.Sketch(groups=["M", "F"]).update([0.1, 0.2], [0, 1], ["F", "F"])
    assert sketch.groups == ("M", "F")
    assert sketch.counts.sum(axis=(0, 2)).tolist() == [0, 2]
    before = sketch.to_bytes()
    with pytest.raises(ValueError, match=r"group 'X' at row 1 is not one of the given groups 'M', 'F'; add it to"):
        sketch.update([0.1, 0.2], [0, 1], ["F", "X"])
    with pytest.raises(ValueError, match=r"group 'X' is not one of the given groups 'M', 'F'; add it to"):
        sketch.update_one(0.1, 1, "X")
    assert sketch.to_bytes() == before


def test_merging_is_by_name(backend):
    a = gf.Sketch.from_rows([0.1, 0.2], [0, 1], ["x", "y"])
    b = gf.Sketch.from_rows([0.3, 0.4], [0, 1], ["y", "w"])
    assert (a + b).groups == ("w", "x", "y")
    assert (a + b).counts.sum(axis=2).tolist() == [[0, 1, 1], [1, 0, 1]]
    given_groups = gf.Sketch(groups=["y", "x"])
    assert (a + given_groups).groups == (given_groups + a).groups == ("y", "x")
    assert (gf.Sketch(groups=["y", "x"]) + gf.Sketch(groups=["x", "y"])).groups == ("x", "y")
    with pytest.raises(ValueError, match="group 'w'"):
        given_groups + b
    with pytest.raises(ValueError, match=r"different groups: .*; count one of them again with the groups"):
        given_groups + gf.Sketch(groups=["x"])


def test_merging_different_bins_or_ranges_is_refused(backend):
    with pytest.raises(ValueError, match="different bins: 4096 and 1024; count one of them again with the bins= and"):
        gf.Sketch.from_rows([1.0], [1], [0]) + gf.Sketch(bins=1024)
    with pytest.raises(ValueError, match="cannot merge sketches with different ranges"):
        gf.Sketch(range=(0, 1)) + gf.Sketch(range=(0, 2))
    with pytest.raises(ValueError, match="cannot merge sketches with different ranges"):
        gf.Sketch(range=(0, 1)) + gf.Sketch.from_rows([1.0], [1], [0])


def test_an_empty_default_sketch_is_neutral_whatever_the_other_is(backend):
    for other in (gf.Sketch(bins=16), gf.Sketch(range=(0, 1)), gf.Sketch(groups=["a"])):
        assert (gf.Sketch() + other).to_bytes() == other.to_bytes() == (other + gf.Sketch()).to_bytes()


def test_merge_with_itself_doubles(backend):
    a = gf.Sketch.from_rows([0.1, 0.2], [0, 1], ["x", "y"])
    a += a
    assert a == gf.Sketch.from_rows([0.1, 0.2] * 2, [0, 1] * 2, ["x", "y"] * 2)


def test_range_fixes_the_window(backend):
    sketch = gf.Sketch.from_rows([-1.0, 0.25, 5.0], [1, 1, 1], [0] * 3, range=(0.1, 0.9), bins=16)
    assert sketch.edges[0] <= 0.1
    assert sketch.edges[-1] >= 0.9
    assert (sketch.below[1, 0], sketch.counts.sum(), sketch.above[1, 0]) == (1, 1, 1)
    m = sketch.moments(1, 0)
    assert (m.count, m.min, m.max) == (1, 0.25, 0.25)


def test_nan_is_refused_or_skipped_and_counted(backend):
    sketch = gf.Sketch.from_rows([0.5], [1], ["a"])
    before = sketch.to_bytes()
    with pytest.raises(ValueError, match='scores has NaN at row 1; drop such rows or pass nan="skip"'):
        sketch.update([0.5, np.nan], [1, 0], ["a", "new"])
    with pytest.raises(ValueError, match='scores has NaN; drop such rows or pass nan="skip"'):
        sketch.update_one(math.nan, 1, "a")
    assert sketch.to_bytes() == before
    sketch.update([0.5, np.nan], [1, 0], ["a", "new"], nan="skip")
    assert (sketch.skipped, sketch.n_rows, sketch.groups) == (1, 2, ("a",))
    assert gf.Sketch(nan="skip").update([np.nan], [1], [0]).skipped == 1
    assert (sketch + sketch).skipped == 2


def test_a_row_of_weight_zero_is_not_there(backend):
    sketch = gf.Sketch.from_rows([0.5, 1e9], [1, 1], ["a", "b"], weights=[1, 0])
    assert sketch == gf.Sketch.from_rows([0.5], [1], ["a"])
    nan = gf.Sketch.from_rows([np.nan, np.nan, 0.5], [1, 1, 1], ["a"] * 3, weights=[0, 2, 1], nan="skip")
    assert (nan.skipped, nan.n_rows, nan.weighted) == (1, 1, False), (
        "the weight of a row without a score is not counted"
    )


def test_counts_never_wrap(backend):
    sketch = gf.Sketch.from_rows([0.5], [1], ["a"], repeats=[2.0**62])
    assert sketch.n_rows == 2**62
    before = sketch.to_bytes()
    text = r"the sketch would hold 2\*\*63 rows or more, or a weight of 2\*\*43 or more; nothing was counted"
    with pytest.raises(OverflowError, match=text):
        sketch.update([0.5, 0.25], [1, 1], ["a", "a"], repeats=[1.0, 2.0**62])
    with pytest.raises(OverflowError, match=text):
        sketch += sketch
    with pytest.raises(OverflowError, match=text):
        sketch.update([0.5], [1], ["a"], weights=[0.5])
    assert sketch.to_bytes() == before
    assert gf.Sketch.from_bytes(before) == sketch
    sketch.update([0.75], [1], ["a"], repeats=[2.0**62 - 2**10])
    assert sketch.moments(1, "a").mean == pytest.approx(0.625)


@pytest.mark.parametrize("times", [2, 3, 4, 5, 8])
def test_the_weights_of_one_batch_never_wrap(backend, times):
    """Four times 2**62 is 0 in 64 bits, five times 2**62 is 2**62."""
    sketch = gf.Sketch(bins=16)
    rows = [0.5] * times, [1] * times, ["a"] * times
    text = r"the sketch would hold 2\*\*63 rows or more, or a weight of 2\*\*43 or more; nothing was counted"
    for load in (
        {"repeats": [2.0**62] * times},
        {"repeats": [2**62] * times},
        {"weights": [2.0**42 + 0.5] * times * 2},
    ):
        n = len(next(iter(load.values()))) // times
        with pytest.raises(OverflowError, match=text):
            sketch.update(*(column * n for column in rows), **load)
    with pytest.raises(OverflowError, match=text):
        sketch.update(*rows, weights=[2**41 + 1] * times, repeats=[2] * times)
    assert sketch == gf.Sketch(bins=16)


def test_a_sketch_holds_one_row_less_than_2_to_the_63(backend):
    most = 2**63 - 1
    for repeats in ([most], [2**62, 2**62 - 1], [most - 1, 1]):
        n = len(repeats)
        sketch = gf.Sketch.from_rows([0.5] * n, [1] * n, ["a"] * n, repeats=repeats)
        assert sketch.n_rows == most
        assert gf.Sketch.from_bytes(sketch.to_bytes()) == sketch
        before = sketch.to_bytes()
        for count in (
            lambda s: s.update([0.5], [1], ["a"]),
            lambda s: s.update([0.5], [1], ["a"], weights=[1]),
            lambda s: s.update([0.5], [1], ["a"], repeats=[1]),
            lambda s: s.update_one(0.5, 1, "a", repeats=2),
            lambda s: s.update_one(0.5, 1, "a", weight=0.5),
            lambda s: s.update_one(0.5, 1, "a"),
            lambda s: s.update_one(0.5, 1, "new"),
            lambda s: s.merge(gf.Sketch.from_rows([0.5], [1], ["a"])),
        ):
            with pytest.raises(OverflowError, match=r"2\*\*63 rows or more"):
                count(sketch)
        assert sketch.to_bytes() == before
    for values in ([2**63], [2**64 - 1], [2**64], [2.0**63], [1e300]):
        for load, one in (("weights", "weight"), ("repeats", "repeats")):
            with pytest.raises(OverflowError, match=r"2\*\*63 rows or more"):
                gf.Sketch().update([0.5], [1], ["a"], **{load: values})
            with pytest.raises(OverflowError, match=r"2\*\*63 rows or more"):
                gf.Sketch().update_one(0.5, 1, "a", **{one: values[0]})


def test_scores_beyond_2_to_the_1000_are_refused_within_a_wider_window(backend):
    scores = np.linspace(0, 1, 10_000)
    scores[5000] = 1.5 * 2.0**1000  # under the last edge, which is rounded outward
    sketch = gf.Sketch(range=(-1, 2.0**1000), bins=16)
    assert sketch.edges[-1] > scores[5000]
    for n in (5001, 10_000):
        with pytest.raises(ValueError, match="at row 5000; finite scores must lie within"):
            sketch.update(scores[:n], np.zeros(n, np.uint8), np.zeros(n, np.uint8))
    assert sketch.n_rows == 0


def test_a_sketch_becomes_weighted_if_its_rows_have_room_for_it(backend):
    most = 2**43 - 1  # 2**20 parts of each
    sketch = gf.Sketch.from_rows([0.5], [1], ["a"], repeats=[most])
    sketch.update([0.5], [1], ["a"], weights=[0.5])
    assert (sketch.n_rows, sketch.weight) == (most + 1, most + 0.5)
    sketch = gf.Sketch.from_rows([0.5], [1], ["a"], repeats=[most + 1])
    with pytest.raises(OverflowError, match=r"2\*\*63 rows or more"):
        sketch.update([0.5], [1], ["a"], weights=[0.5])
    assert (sketch.n_rows, sketch.weighted) == (most + 1, False)


def test_a_refused_weight_leaves_a_sketch_of_whole_rows(backend):
    """Rows become parts of a weight only when nothing can be refused any more."""
    sketch = gf.Sketch.from_rows([0.5], [1], [1], repeats=[2**42])
    before = sketch.to_bytes()
    parts = [0.5], [1], [1]
    with pytest.raises(OverflowError, match=r"2\*\*63 rows or more"):
        sketch.update(*parts, weights=[2.0**42 + 0.5])
    with pytest.raises(OverflowError, match=r"2\*\*63 rows or more"):
        sketch.merge(gf.Sketch.from_rows(*parts, weights=[2.0**42 + 0.5]))
    with pytest.raises(ValueError, match="groups has both True and 1"):
        sketch.update([0.5], [1], [True], weights=[0.5])
    with pytest.raises(ValueError, match="groups has both True and 1"):
        sketch.merge(gf.Sketch.from_rows([0.5], [1], [True], weights=[0.5]))
    assert sketch.to_bytes() == before
    assert sketch.update(*parts, weights=[0.5]).weight == 2**42 + 0.5


def test_too_many_groups_are_refused_before_memory_is(backend):
    small = gf.Sketch(memory_limit=2**20)
    with pytest.raises(MemoryError, match=r"5 groups of 4096 bins need 0\.0 GiB; memory_limit is 0\.0 GiB: use fewer"):
        small.update(np.zeros(5), None, np.arange(5))
    assert small.n_rows == 0
    with pytest.raises(MemoryError, match="groups of 4096 bins need"):
        gf.Sketch(groups=range(60_000))
    many = gf.Sketch(bins=16, memory_limit=2**40)
    with pytest.raises(ValueError, match="65536 groups; at most 65535 are supported"):
        many.update(np.zeros(65_536), None, np.arange(65_536))
    assert many == gf.Sketch(bins=16)


def test_copies_are_independent(backend):
    sketch = gf.Sketch.from_rows([0.5], [1], ["a"])
    twins = [copy.copy(sketch), copy.deepcopy(sketch), sketch.copy(), pickle.loads(pickle.dumps(sketch))]
    before = sketch.to_bytes()
    for twin in twins:
        assert twin == sketch
        twin.update([3.0], [0], ["b"])
        twin.update_one(4.0, 1, "c")
        assert twin.n_rows == 3
    assert sketch.to_bytes() == before
    skipping = pickle.loads(pickle.dumps(gf.Sketch(nan="skip", memory_limit=2**20)))
    assert skipping.update([np.nan], [1], [0]).skipped == 1


def test_a_sketch_is_freed_without_the_garbage_collector(backend):
    gc.disable()
    try:
        sketch = gf.Sketch.from_rows([0.5], [1], ["a"])
        gone = weakref.ref(sketch)
        del sketch
        assert gone() is None
    finally:
        gc.enable()


def test_comparing_with_other_things(backend):
    assert gf.Sketch() != 3
    assert gf.Sketch() != gf.Sketch.from_rows([0.5], [1], [0])
    with pytest.raises(TypeError):
        hash(gf.Sketch())
    with pytest.raises(TypeError):
        gf.Sketch() + 1
    with pytest.raises(TypeError):
        1 + gf.Sketch()
    with pytest.raises(TypeError, match="can only merge a Sketch, got int"):
        gf.Sketch().merge(3)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"bins": 100}, ValueError, "bins must be a power of two from 16 to 65536, got 100"),
        ({"bins": 8}, ValueError, "bins must be a power of two"),
        ({"bins": 2**17}, ValueError, "bins must be a power of two"),
        ({"bins": 16.0}, TypeError, "bins must be an int, got float"),
        ({"range": (1, 1)}, ValueError, "range must have lo < hi"),
        ({"range": (0, np.inf)}, ValueError, "range must be finite"),
        ({"range": (np.nan, 1)}, ValueError, "range must be finite"),
        ({"range": 3}, TypeError, "range must be a pair of numbers"),
        ({"nan": "drop"}, ValueError, 'nan must be "raise" or "skip", got \'drop\''),
        ({"groups": "FM"}, TypeError, "groups must be a list of names"),
        ({"groups": []}, ValueError, "groups= is empty"),
        ({"groups": ["a", "a"]}, ValueError, "group 'a' appears twice"),
        ({"groups": [True, 1]}, ValueError, "groups has both True and 1, which Python cannot tell apart"),
        ({"groups": [1.5]}, TypeError, "group names must be int, str, bool or tuples of these, got float"),
        ({"memory_limit": -1}, ValueError, "memory_limit must be a number of bytes"),
    ],
)
def test_bad_options_are_refused(backend, options, error, text):
    with pytest.raises(error, match=text):
        gf.Sketch(**options)


def test_moments_names_what_it_does_not_know(backend):
    sketch = gf.Sketch.from_rows([0.5], [1], ["a"])
    with pytest.raises(ValueError, match="group 'b' is not in the sketch; its groups are 'a'"):
        sketch.moments(1, "b")
    with pytest.raises(ValueError, match="label must be 0, 1 or None"):
        sketch.moments(2, "a")


def test_the_table_in_a_notebook_counts_rows_beyond_the_range():
    """Of each cell: one row below, two inside and four above; without labels one, none and two."""
    scores = np.array([-9.0, 1.0, 2.0, 9.0, 9.0, 9.0, 9.0])
    sketch = gf.Sketch(bins=16, range=(0, 4))
    for label in (0, 1):
        sketch.update(np.repeat(scores, 1 + label), np.full(7 * (1 + label), label), ["a"] * (7 * (1 + label)))
    sketch.update([-9.0, 9.0, 9.0], None, ["a"] * 3)
    assert "<tr><th>&#x27;a&#x27;</th><td>7</td><td>14</td><td>3</td></tr>" in sketch._repr_html_()


@pytest.mark.parametrize("names", [["F", "M"], ["", "é", "名前", "a\0b", "F"], [f"g{i:02}" for i in range(40)]])
def test_strings_of_known_groups_count_as_on_first_sight(backend, names):
    """A sketch that has the groups takes a shorter way; the rows are the same, in each form that strings come in."""
    r = np.random.default_rng(3)
    codes, scores, labels = r.integers(0, len(names), 90), r.random(90), r.integers(0, 2, 90)
    texts = [names[code] for code in codes]
    wanted = gf.Sketch()
    for row in zip(scores.tolist(), labels.tolist(), texts, strict=True):
        wanted.update_one(*row)
    for groups in (texts, tuple(texts), np.array(texts, object), np.array(texts), np.array(texts, object)[::-1][::-1]):
        sketch = gf.Sketch()
        for part in (slice(0, 60), slice(60, 75), slice(75, 90)):
            sketch.update(scores[part], labels[part], groups[part])
        assert sketch == wanted
        assert sketch.groups == wanted.groups


def test_strings_of_unknown_groups_after_known_ones(backend):
    """One new name in a batch adds a group; another type raises as before, and nothing is counted."""
    sketch = gf.Sketch.from_rows([0.1, 0.2], [0, 1], ["a", "b"])
    sketch.update(np.array([0.3, 0.4]), np.array([0, 1]), ["a", "c"])
    assert sketch.groups == ("a", "b", "c")
    for wrong in (["a", None], np.array(["a", None], object), ["a"]):
        with pytest.raises((TypeError, ValueError)):
            sketch.update(np.array([0.3, 0.4]), np.array([0, 1]), wrong)
    sketch.update(np.array([0.5, 0.6]), None, np.array(["a", 1], object))
    assert sketch.groups == (1, "a", "b", "c")
    assert sketch.n_rows == 6
    given = gf.Sketch(groups=["b", "a"]).update(np.array([0.5, 0.6]), np.array([0, 1]), ["a", "b"])
    with pytest.raises(ValueError, match="'c' at row 1 is not one of the given groups"):
        given.update(np.array([0.5, 0.6]), np.array([0, 1]), ["a", "c"])
    assert given.n_rows == 2
