"""Small groups under one name: the same sketch as if the rows had been counted under it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from helpers.strategies import Table, bins, tables
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")


def sketch_of(table: Table, **options: object) -> gf.Sketch:
    return table.into(gf.Sketch(**options))  # type: ignore[arg-type]


def renamed(table: Table, min_rows: float) -> Table:
    """The rows with the names that pooling gives them."""
    rows = Counter(table.groups)
    return Table(table.scores, table.labels, ["other" if rows[g] < min_rows else g for g in table.groups])


# ---------------------------------------------------------------------------------------------------------------- laws


@given(table=tables(), n_bins=bins(), min_rows=st.integers(0, 12))
def test_pooling_counts_equals_counting_pooled_rows(backend, table, n_bins, min_rows):
    sketch = sketch_of(table, bins=n_bins)
    pooled = sketch.pooled(min_rows)
    assert pooled == sketch_of(renamed(table, min_rows), bins=n_bins)
    assert gf.Sketch.from_bytes(pooled.to_bytes()) == pooled
    assert set(pooled.pooled_groups) == {g for g, n in Counter(table.groups).items() if n < min_rows}
    assert sketch == sketch_of(table, bins=n_bins), "the sketch itself stays as it was"


@given(table=tables(), cut=st.integers(0, 40), min_rows=st.integers(0, 12))
def test_merging_then_pooling_equals_pooling_one_pass(backend, table, cut, min_rows):
    rows = range(len(table.scores))
    parts = [sketch_of(table.take(part)) for part in (rows[:cut], rows[cut:])]
    assert (parts[0] + parts[1]).pooled(min_rows) == sketch_of(table).pooled(min_rows)


@given(table=tables(), min_rows=st.integers(0, 12))
def test_pooling_twice_is_pooling_once(backend, table, min_rows):
    once = sketch_of(table).pooled(min_rows)
    assert once.pooled(min_rows) == once


@given(table=tables())
def test_no_least_number_of_rows_pools_nothing(backend, table):
    sketch = sketch_of(table)
    assert sketch.pooled(min_rows=0) == sketch
    assert sketch.pooled(min_rows=0).pooled_groups == ()


@given(table=tables(), min_rows=st.integers(0, 12))
def test_backends_give_the_same_bytes(fast_backend, table, min_rows):
    with gf.use_backend("numpy"):
        reference = sketch_of(table).pooled(min_rows).to_bytes()
    assert sketch_of(table).pooled(min_rows).to_bytes() == reference


# --------------------------------------------------------------------------------------------------------------- edges


def test_effective_rows_are_what_is_compared(backend):
    """Two rows of one weight are two rows; of weights 1 and 3 they are (1 + 3)^2 / (1 + 9) = 1.6."""
    rows, weights = ([1, 2, 3, 4, 5], [0, 1, 1, 0, 1]), [7, 7, 1, 3, 500]
    sketch = gf.Sketch.from_rows(*rows, list("aabbc"), weights=weights)
    assert sketch.pooled(min_rows=1).pooled_groups == ()
    assert sketch.pooled(min_rows=1.5).pooled_groups == ("c",)
    pooled = sketch.pooled(min_rows=2)
    assert pooled.pooled_groups == ("b", "c")
    assert pooled == gf.Sketch.from_rows(*rows, ["a", "a", "other", "other", "other"], weights=weights)


def test_unlabelled_and_infinite_rows_count(backend):
    sketch = gf.Sketch.from_rows([1, np.inf, -np.inf, 4], [0, None, None, 1], ["a", "a", "a", "b"])
    assert sketch.pooled(min_rows=3).pooled_groups == ("b",)


def test_given_groups_stay_given_and_in_order(backend):
    sketch = gf.Sketch(groups=["z", "empty", "m", "a"], range=(0, 8), nan="skip")
    sketch.update([1, 2, 3, 9, np.nan], [0, 1, 1, 0, 1], ["z", "z", "m", "a", "a"])
    pooled = sketch.pooled(min_rows=2)
    assert pooled.groups == ("z", "other")
    assert pooled.pooled_groups == ("empty", "m", "a")
    assert (pooled.n_rows, pooled.skipped) == (4, 1)
    with pytest.raises(ValueError, match="'m'"):
        pooled.update([1.0], [0], ["m"])
    pooled.update([1.0, np.nan], [0, 0], ["other", "z"])
    assert pooled.counts[0, 1].sum() == 1


def test_intersections_are_pooled_under_one_plain_name_or_a_chosen_tuple(backend):
    sketch = gf.Sketch.from_rows([1, 2, 3, 4], [0, 1, 0, 1], [("F", 1), ("F", 2), ("M", 1), ("M", 1)])
    assert sketch.pooled(min_rows=2).groups == ("other", ("M", 1))
    assert sketch.pooled(min_rows=2, name=("any", 0)).groups == (("M", 1), ("any", 0))


def test_a_large_group_of_that_name_is_an_error_and_a_small_one_joins(backend):
    sketch = gf.Sketch.from_rows([1, 2, 3, 4], [0, 1, 0, 1], ["a", "b", "other", "other"])
    with pytest.raises(ValueError, match=r"has a group 'other' that is not small.*name="):
        sketch.pooled(min_rows=2)
    assert sketch.pooled(min_rows=2, name="few").groups == ("few", "other")
    assert sketch.pooled(min_rows=3).groups == ("other",)
    assert sketch.pooled(min_rows=1) == sketch, "nothing is pooled, so the name does not matter"


def test_names_python_cannot_tell_apart_are_refused(backend):
    sketch = gf.Sketch.from_rows([1, 2, 3], [0, 1, 0], [1, 1, 2])
    with pytest.raises(ValueError, match="True"):
        sketch.pooled(min_rows=2, name=True)


@pytest.mark.parametrize("bad", [True, "100", None, [1]])
def test_a_number_of_rows_is_asked_for(backend, bad):
    with pytest.raises(TypeError, match="min_rows must be a number of rows"):
        gf.Sketch().pooled(bad)


@pytest.mark.parametrize("bad", [-1, np.nan, np.inf])
def test_a_sensible_number_of_rows_is_asked_for(backend, bad):
    with pytest.raises(ValueError, match="min_rows must be finite and not negative"):
        gf.Sketch().pooled(bad)


def test_the_text_says_which_groups_were_pooled(backend):
    pooled = gf.Sketch.from_rows([1, 2, 3], [0, 1, 0], ["a", "b", "b"]).pooled(min_rows=2)
    assert repr(pooled).endswith("; pooled: 'a')")
    assert "pooled: &#x27;a&#x27;" in pooled._repr_html_()
    assert gf.Sketch().pooled(min_rows=5).groups == ()
