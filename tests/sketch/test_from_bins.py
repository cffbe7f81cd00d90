"""`Sketch.from_bins`: counts made elsewhere give the bytes of counting, and impossible ones are refused."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf

UNIT = -149  # every float32 is a whole number of 2**-149
SCORES = st.one_of(
    st.floats(-4, 4, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 2**-120),
    st.sampled_from([0.0, -0.0, 0.1, 1.0, -1.0, 1e-9, -(2.0**-40), 2.0**100, math.inf, -math.inf]),
)
ROWS = st.lists(st.tuples(SCORES, st.sampled_from([0, 1, None]), st.sampled_from(["F", "M", 3])), max_size=30)
OPTIONS = st.sampled_from(
    [{}, {"bins": 16}, {"range": (0, 1)}, {"range": (-1, 1), "bins": 64}, {"groups": ["M", 3, "F"]}]
)


def rounded(x: float) -> int:
    """The score as a float32, which has 24 bits, in units of 2**-149."""
    whole = Fraction(float(np.float32(x))) * 2**-UNIT
    assert whole.denominator == 1
    return int(whole)


def told(x: list[float], label: Any, group: Any) -> tuple[Any, ...]:
    """A row of `from_bins` for these scores."""
    if math.isinf(x[0]):
        return group, label, len(x), x[0], x[0], None, None
    return group, label, len(x), min(x), max(x), sum(map(rounded, x)), UNIT


@given(rows=ROWS, options=OPTIONS, together=st.booleans())
def test_counts_made_elsewhere_have_the_bytes_of_one_pass(backend, rows, options, together):
    one_pass = gf.Sketch(**options)
    for row in rows:
        one_pass.update_one(*row)
    edges = one_pass.edges
    bins: dict[Any, list[float]] = {}
    for at, (x, label, group) in enumerate(rows):
        outside = x < edges[0] or x >= edges[-1]
        place = x if outside else (int(np.searchsorted(edges, x, side="right")), (x > 0) - (x < 0))
        bins.setdefault((label, group, place, 0 if together else at), []).append(x + 0.0)
    counted = [told(x, label, group) for (label, group, _, _), x in bins.items()]
    made = gf.Sketch.from_bins(iter(counted), level=one_pass.level, **options)
    assert made.to_bytes() == one_pass.to_bytes()
    assert made.backend == backend


def test_weighted_counts_have_the_bytes_of_one_pass(backend):
    scores, labels, weights = [0.25, 0.75, 0.25, -math.inf], [0, 1, 0, 1], [0.5, 2.0, 1.25, 0.5]
    rows = []
    for x, label, w in zip(scores, labels, weights, strict=True):
        units = int(w * 2**20)
        total = (None, None) if math.isinf(x) else (units * rounded(x), UNIT)
        rows.append(("a", label, units, x, x, *total, 1, units**2))
    one_pass = gf.Sketch.from_rows(scores, labels, ["a"] * 4, weights=weights)
    made = gf.Sketch.from_bins(rows)
    assert made.to_bytes() == one_pass.to_bytes()
    assert made.squared_weights.tolist() == one_pass.squared_weights.tolist()


def test_counts_of_weights_of_1_are_those_of_rows(backend):
    one = 2**20
    rows = [
        ("a", 1, 2 * one, 0.5, 0.5, 2 * one, -1, 2, 2 * one**2),
        ("a", 0, one, math.inf, math.inf, None, None, 1, one**2),
    ]
    assert gf.Sketch.from_bins(rows) == gf.Sketch.from_rows([0.5, 0.5, math.inf], [1, 1, 0], ["a"] * 3)


def test_missing_scores_of_weighted_rows_are_rows(backend):
    rows = [("a", 1, 2**19, 0.5, 0.5, 2**18, 0, 1, 2**38), ("a", 0, 2**21, None, None, None, None, 3, 2**50)]
    assert gf.Sketch.from_bins(rows).skipped == 3


def test_scores_that_are_missing_are_skipped_and_bring_no_group(backend):
    rows = [("a", 0, 3, None, None, None, None), ("b", 1, 1, 1.0, 1.0, 1, 0)]
    made = gf.Sketch.from_bins(rows)
    assert made.skipped == 3
    assert made.groups == ("b",)
    nan = gf.Sketch(nan="skip").update([math.nan] * 3 + [1.0], [0, 0, 0, 1], ["a", "a", "a", "b"])
    assert made == nan
    with pytest.raises(ValueError, match="not one of the given groups"):
        gf.Sketch.from_bins(rows, groups=["b"])


def test_numbers_may_come_as_numpy_has_them_or_as_decimals(backend):
    rows = [("a", np.int64(1), np.uint8(2), np.float32(0.5), np.float64(0.5), Decimal(2), Decimal(-1))]
    assert gf.Sketch.from_bins(rows) == gf.Sketch.from_rows([0.5, 0.5], [1, 1], ["a", "a"])
    assert gf.Sketch.from_bins([]) == gf.Sketch()
    assert gf.Sketch.from_bins([], range=(0, 1), groups=["a"]) == gf.Sketch(range=(0, 1), groups=["a"])


# ------------------------------------------------------------------------------------------------------- without sums


@given(rows=ROWS.filter(bool), options=OPTIONS)
def test_counts_without_sums_have_the_counts_of_one_pass_and_no_means(backend, rows, options):
    one_pass = gf.Sketch(**options)
    for row in rows:
        one_pass.update_one(*row)
    made = gf.Sketch.from_bins([(group, label, 1, x, x) for x, label, group in rows], **options)
    assert np.array_equal(made.counts, one_pass.counts)
    assert np.array_equal(made.edges, one_pass.edges)
    assert np.array_equal(made.unlabelled, one_pass.unlabelled)
    assert not made.has_means
    assert np.isnan(made.means).all()
    _, label, group = rows[0]
    moments, known = made.moments(label, group), one_pass.moments(label, group)
    assert (moments.count, math.isnan(moments.mean), math.isnan(moments.variance)) == (known.count, True, True)
    assert repr(moments.min) == repr(known.min)
    assert not gf.Sketch.from_bytes(made.to_bytes()).has_means
    assert not (made + one_pass).has_means


def test_thresholds_need_no_sums_and_smooth_densities_do(backend, table):
    one_pass = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
    rows = zip(table.groups.tolist(), table.labels.tolist(), [1] * 4000, table.scores, table.scores, strict=True)
    made = gf.Sketch.from_bins(rows)
    limits = {"equalized_odds": 0.05}
    assert gf.solve(made, limits=limits).thresholds == gf.solve(one_pass, limits=limits).thresholds
    zeros = dict.fromkeys(made.groups, 0.0)
    assert str(gf.audit(zeros, made, replicates=100)) == str(gf.audit(zeros, one_pass, replicates=100))
    first = made.groups[0]
    assert gf.density(made, 1, first).cdf(0.25) == gf.density(one_pass, 1, first).cdf(0.25)
    for kind in ("kde", "normal", "best"):
        with pytest.raises(ValueError, match="counted without sums of scores"):
            gf.density(made, 1, first, kind=kind)


def test_a_full_bin_counts_as_coarse_where_no_sum_says_that_it_is_one_score(backend):
    rows = [("a", 0, 50, 1.0, 1.0, 50, 0), ("a", 0, 50, 2.0, 2.0, 100, 0)]
    assert gf.Sketch.from_bins(rows).coarseness.share == 0
    assert gf.Sketch.from_bins([row[:5] for row in rows]).coarseness.share == 0.5


# ------------------------------------------------------------------------------------------------------ what is refused


GOOD = ("a", 0, 2, 0.5, 0.5, 2, -1)


def but(**values: Any) -> tuple[Any, ...]:
    names = ("group", "label", "count", "min", "max", "sum", "unit")
    return tuple(values.get(name, value) for name, value in zip(names, GOOD, strict=True))


REFUSED: dict[str, tuple[Any, str]] = {
    "no tuple": (5, "row 1 of rows must be a tuple"),
    "text": ("abcdefg", "row 1 of rows must be a tuple"),
    "too few values": (GOOD[:6], "has 6 values"),
    "another number of values": (GOOD[:5], "has 5 values; all rows have 5, 7 or 9"),
    "squares in one row only": ((*GOOD, 1, 1), "has 9 values"),
    "a group that is no name": (but(group=1.5), "group names must be"),
    "no group": (but(group=None), "groups has a missing value"),
    "True beside 1": (but(group=True), "Python cannot tell apart"),
    "label 2": (but(label=2), "has the label 2; labels are 0, 1 or None"),
    "label NaN": (but(label=math.nan), "has the label nan"),
    "a label of text": (but(label="1"), "has the label '1'"),
    "count 0": (but(count=0), "has a count of 0; counts are whole numbers from 1 to 2\\*\\*63 - 1"),
    "a negative count": (but(count=-1), "has a count of -1"),
    "half a count": (but(count=1.5), "has a count of 1.5"),
    "a count that is a bool": (but(count=True), "has a count of True"),
    "a count that is NaN": (but(count=Decimal("NaN")), "has a count of"),
    "a count of a million digits": (but(count=Decimal("1E+1000000")), r"has a count of Decimal\('1E\+1000000'\)"),
    "a count of a million bits": (but(count=1 << 10**6), "has a count of an int of 1000001 bits"),
    "a sum of a million digits": (but(sum=Decimal("-1E+1000000")), r"has a sum of Decimal\('-1E\+1000000'\)"),
    "a unit of a million digits": (but(unit=Decimal("1E+1000000")), r"and a unit of Decimal\('1E\+1000000'\)"),
    "a min of a million digits": (but(min=Decimal("1E+1000000")), "within 2\\*\\*1000"),
    "2**63 rows": (but(count=2**63, sum=2**63), "2\\*\\*63 rows or more"),
    "min NaN": (but(min=math.nan), "has a min that is NaN"),
    "max NaN": (but(max=math.nan), "has a max that is NaN"),
    "no min": (but(min=None), "has a min of None; it must be a number"),
    "min above max": (but(min=0.75), "has a min of 0.75 above its max of 0.5"),
    "a score beyond 2**1000": (but(min=1e302, max=1e302), "within 2\\*\\*1000"),
    "an int that is no float": (but(max=10**400), "within 2\\*\\*1000"),
    "a min of text": (but(min="0"), "has a min of '0'"),
    "no sum": (but(sum=None), "has no sum, and its scores lie inside the window"),
    "a sum that is no whole number": (but(sum=1.0), "has a sum of 1.0 and a unit of -1; both are whole numbers"),
    "no unit": (but(unit=None), "has a sum of 2 and a unit of None"),
    "a unit beyond all scores": (but(unit=5000), "has a unit of 5000; units are from -1097 to 1024"),
    "a sum below the scores": (but(sum=1), "has a sum that 2 scores from 0.5 to 0.5, rounded to 24 bits, do not have"),
    "a sum above the scores": (but(sum=3), "has a sum that 2 scores"),
    "a sum of scores that have more than 24 bits": (
        but(max=0.5 + 2**-11, sum=2**41 + 1, unit=-41),
        "rounded to 24 bits, do not have",
    ),
    "scores of two bins": (but(max=0.75), "has scores of more than one bin of level -1, from 0.5 to 0.75"),
    "zero and more": (but(min=0.0), "has scores on more than one side of zero"),
    "both sides of zero": (but(min=-0.5, sum=0), "has scores on more than one side of zero"),
    "finite and infinite": (but(max=math.inf), "has scores inside and outside of the window"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_row_that_no_scores_have_is_refused_in_words(backend, what):
    row, words = REFUSED[what]
    good = (1 if what == "True beside 1" else "x", 0, 1, 1000.0, 1000.0, 1000, 0)
    with pytest.raises((ValueError, TypeError, OverflowError), match=words):
        gf.Sketch.from_bins([good, row])


def test_rows_that_contradict_what_is_said_of_them_are_refused(backend):
    with pytest.raises(ValueError, match="the rows were made for level 0, and their scores have level -53"):
        gf.Sketch.from_bins([GOOD], level=0)
    with pytest.raises(ValueError, match="group 'a' at row 0 is not one of the given groups 'b'"):
        gf.Sketch.from_bins([GOOD], groups=["b"])
    with pytest.raises(ValueError, match=r"has scores inside and outside of the window, from 0\.5 to 1\.5"):
        gf.Sketch.from_bins([but(max=1.5)], range=(0, 1))
    with pytest.raises(ValueError, match="bins must be a power of two"):
        gf.Sketch.from_bins([GOOD], bins=3)
    with pytest.raises(MemoryError, match="memory_limit"):
        gf.Sketch.from_bins([GOOD], memory_limit=1000)
    with pytest.raises(ValueError, match="squares of -1"):
        gf.Sketch.from_bins([(*GOOD, 1, -1)])
    with pytest.raises(ValueError, match="number of 0"):
        gf.Sketch.from_bins([(*GOOD, 0, 1)])
    with pytest.raises(ValueError, match="a sum of squared weights is impossible"):
        gf.Sketch.from_bins([(*GOOD, 1, 5)])


def test_scores_outside_of_a_range_need_no_sum(backend):
    rows = [("a", 0, 2, -3.0, -1.0, None, None), ("a", 1, 1, 2.0, 2.0, 77, 5), GOOD]
    expected = gf.Sketch.from_rows([-3.0, -1.0, 2.0, 0.5, 0.5], [0, 0, 1, 0, 0], ["a"] * 5, range=(0, 1))
    assert gf.Sketch.from_bins(rows, range=(0, 1)) == expected
