"""Bytes: the same for ever, canonical only, and no bytes can do harm."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from helpers.plain_sketch import plain_bytes
from helpers.small_rows import golden_rows, small
from helpers.strategies import bins, tables
from hypothesis import given, settings
from hypothesis import strategies as st

import gstar_fast as gf

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")

OLD = Path(__file__).parent.parent / "old_sketches"


def golden() -> gf.Sketch:
    """Rows of the golden files."""
    x, y, g, w = zip(*golden_rows(), strict=True)
    labels = [None if label == 2 else label for label in y]
    sketch = gf.Sketch(bins=64, nan="skip").update(x, labels, g, weights=[float(weight) for weight in w])
    return sketch.update([np.nan], [1], ["F"])


# ---------------------------------------------------------------------------------------------------------------- laws


@given(table=tables(), n_bins=bins(), limits=st.sampled_from([None, (-1.0, 1.0)]), weight=st.sampled_from([None, 0.3]))
def test_round_trip_is_exact_and_canonical(backend, table, n_bins, limits, weight):
    weights = None if weight is None else [weight] * len(table.scores)
    sketch = table.into(gf.Sketch(bins=n_bins, range=limits), weights=weights)
    data = sketch.to_bytes()
    back = gf.Sketch.from_bytes(data)
    assert back.to_bytes() == data
    assert back == sketch
    assert back.groups == sketch.groups
    assert [type(name) for name in back.groups] == [type(name) for name in sketch.groups]
    assert np.array_equal(back.counts, sketch.counts)
    assert np.array_equal(back.means, sketch.means, equal_nan=True)


@pytest.mark.slow
@given(a=tables(max_rows=15), b=tables(max_rows=15))
def test_a_sketch_from_bytes_goes_on_counting_as_if_it_had_never_stopped(backend, a, b):
    kinds = {type(name) for name in [*a.groups, *b.groups]}
    if {bool, int} <= kinds:
        return
    stopped = gf.Sketch.from_bytes(a.into(gf.Sketch(bins=16)).to_bytes())
    assert b.into(stopped) == b.into(a.into(gf.Sketch(bins=16)))


@pytest.mark.parametrize("k", [2**24 + 1, 2**24 + 3, 2**25 - 1, 2**31 + 1, -(2**24) - 3])
def test_rounding_beyond_the_bin_is_not_taken_for_damage(backend, k):
    """24 bits cannot tell these neighbouring bins apart, so a score's rounded value may lie in the next one."""
    sketch = gf.Sketch(bins=16, range=(k - 4, k + 12))
    assert sketch.level == 0
    sketch.update([k, k + 0.75, k + 1.5], [1, 1, 1], [0, 0, 0])
    assert gf.Sketch.from_bytes(sketch.to_bytes()) == sketch


@pytest.mark.parametrize("x", [3 * 2.0**-1074, 2.0**-1050, 3 * 2.0**-1047, 2.0**-1044 + 2.0**-1070])
def test_rounding_of_subnormal_scores_is_not_taken_for_damage(backend, x):
    sketch = gf.Sketch.from_rows([x, x + 5e-324], [1, 1], [0, 0], bins=16)
    assert gf.Sketch.from_bytes(sketch.to_bytes()) == sketch


def test_few_rows_take_few_bytes(backend):
    rng = np.random.default_rng(0)
    sketch = gf.Sketch.from_rows(rng.normal(size=1000), rng.integers(0, 2, 1000), rng.integers(0, 10, 1000))
    assert len(sketch.to_bytes()) < 8192
    assert len(gf.Sketch().to_bytes()) < 64


def test_the_first_version_is_read_for_ever(backend):
    data = (OLD / "version_1.gstar").read_bytes()
    sketch = gf.Sketch.from_bytes(data)
    assert sketch.to_bytes() == data
    assert sketch == golden(), "the same rows still give the same bytes"
    assert sketch.weighted
    assert sketch.groups == (-7, 2**40, "F", "M", ("ä", 1, True))


@pytest.mark.slow
@settings(max_examples=100)
@given(table=tables(), n_bins=bins(), data=st.data())
def test_bytes_are_those_of_the_page_in_any_order_and_batching(backend, table, n_bins, data):
    """An oracle that sorts and adds fractions writes them; it shares no code with any backend."""
    n = len(table.scores)
    weight = data.draw(st.sampled_from([st.just(1.0), st.integers(0, 3).map(float), st.floats(0, 100)]))
    w = data.draw(st.lists(weight, min_size=n, max_size=n))
    k = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    rows = zip(table.scores.tolist(), table.labels.tolist(), table.groups, map(Fraction, w), strict=True)
    expected = plain_bytes([row for row, times in zip(rows, k, strict=True) for _ in range(times)], n_bins)
    assert table.into(gf.Sketch(bins=n_bins), weights=w, repeats=k).to_bytes() == expected
    order = np.array(data.draw(st.permutations(range(n))), int)
    stream = gf.Sketch(bins=n_bins)
    for part in np.array_split(order, 3):
        table.take(part).into(stream, weights=np.array(w)[part], repeats=np.array(k)[part])
    assert stream.to_bytes() == expected


def test_from_bytes_takes_any_buffer_and_refuses_text(backend):
    with pytest.raises(TypeError, match=r"data must be bytes, got str; for a file use Sketch.load\(path\)"):
        gf.Sketch.from_bytes("sketch.gstar")
    sketch = small()
    assert gf.Sketch.from_bytes(bytearray(sketch.to_bytes())) == sketch
    assert gf.Sketch.from_bytes(memoryview(sketch.to_bytes())) == sketch
