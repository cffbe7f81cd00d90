"""Files of version 1: read for ever, checked as ever, and merged with others in any order."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from helpers.plain_version_1 import version_1_bytes
from helpers.small_rows import golden_rows
from helpers.strategies import Table, tables
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import gstar_fast as gf

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.ResolutionWarning")

OLD = Path(__file__).parent.parent / "old_sketches"
WEIGHTED = ("range_weighted_version_1.gstar", "version_1.gstar")
FILES = sorted({path.name for path in OLD.glob("*version_1.gstar")} - {*WEIGHTED})


def rows_of(table: Table) -> list[tuple[float, int, object, Fraction]]:
    """Rows as the plain writers take them."""
    w = [Fraction(1)] * len(table.scores)
    return list(zip(table.scores.tolist(), table.labels.tolist(), table.groups, w, strict=True))


def old(table: Table, bins: int = 16, **options: object) -> gf.Sketch:
    """The rows, counted under version 1."""
    return gf.Sketch.from_bytes(version_1_bytes(rows_of(table), bins, **options))  # type: ignore[arg-type]


# -------------------------------------------------------------------------------------------------------------- reading


def test_the_plain_writer_writes_what_version_1_wrote():
    """So that the laws below speak of real files."""
    data = (OLD / "version_1.gstar").read_bytes()
    assert version_1_bytes(golden_rows(), 64, skipped=1) == data


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file_is_read_and_written_as_version_2(backend, name):
    data = (OLD / name).read_bytes()
    sketch = gf.Sketch.from_bytes(data)
    written = sketch.to_bytes()
    assert (data[8], written[8]) == (1, 2)
    assert gf.Sketch.from_bytes(written).to_bytes() == written
    assert gf.Sketch.from_bytes(written) == sketch
    with gf.use_backend("numpy"):
        assert gf.Sketch.from_bytes(data).to_bytes() == written, "on every backend"
    core = sketch._core
    finite = sum(int(core.counts(label).sum()) for label in range(3))
    assert core.fixed == name.startswith("range")
    assert core.linear == (finite > 0 and not core.fixed)
    assert not sketch.weighted


@pytest.mark.parametrize("name", WEIGHTED)
def test_files_with_weights_are_not_read(backend, name):
    """They lack the number of rows and the squared weights."""
    with pytest.raises(ValueError, match="it has weights and is of version 1; count its rows again"):
        gf.Sketch.from_bytes((OLD / name).read_bytes())


def test_rows_of_an_old_file_are_all_there(backend):
    rows = [row for row in golden_rows() if row[3] == 1]
    sketch = gf.Sketch.from_bytes(version_1_bytes(rows, 64, skipped=1))
    assert sketch.skipped == 1
    assert sketch.groups == (-7, 2**40, "F", "M", ("ä", 1, True))
    counts, above = sketch.counts, sketch.above
    for label in (0, 1):
        for i, name in enumerate(sketch.groups):
            mine = [(x, w) for x, y, g, w in rows if y == label and g == name]
            for at, edge in enumerate(sketch.edges.tolist()):
                tail = above[label, i] + counts[label, i, at:].sum()
                assert tail == sum(w for x, w in mine if x >= edge)


@given(table=tables(max_rows=20), bins=st.sampled_from([16, 64]), limits=st.sampled_from([None, (-1.0, 1.0)]))
def test_counts_means_and_extremes_of_old_rows_are_kept(backend, table, bins, limits):
    sketch = old(table, bins, limits=limits)
    assert sketch.n_rows == len(table.scores)
    edges, counts, means = sketch.edges, sketch.counts, sketch.means
    for label in (0, 1):
        for i, name in enumerate(sketch.groups):
            mine = [g == name and y == label for g, y in zip(table.groups, table.labels, strict=True)]
            x = np.sort(table.scores[np.array(mine, bool)])
            at_or_over = len(x) - np.searchsorted(x, edges, side="left")
            tail = sketch.above[label, i] + np.concatenate([np.cumsum(counts[label, i][::-1])[::-1], [0]])
            assert np.array_equal(at_or_over, tail)
            lo, hi = sketch._core.extremes(label)
            inside = x[(x >= edges[0]) & (x < edges[-1])]
            assert not len(inside) or (lo[i], hi[i]) == (inside[0], inside[-1])
            used = counts[label, i] > 0
            assert ((means[label, i] >= edges[:-1]) & (means[label, i] <= edges[1:]))[used].all()


def test_a_file_without_finite_scores_reads_as_a_new_sketch(backend):
    read = gf.Sketch.from_bytes((OLD / "infinite_version_1.gstar").read_bytes())
    rows = [np.inf, -np.inf, np.inf], [0, 1, None], ["F", "F", "M"]
    assert read == gf.Sketch(bins=64).update(*rows)
    assert read.update([0.5], [1], ["F"]) == gf.Sketch(bins=64).update(*rows).update([0.5], [1], ["F"])
    empty = gf.Sketch.from_bytes((OLD / "empty_version_1.gstar").read_bytes())
    assert empty == gf.Sketch()


# -------------------------------------------------------------------------------------------------------------- merging


@settings(max_examples=80)
@given(data=st.data(), bins=st.sampled_from([16, 64]), table=tables(max_rows=24))
def test_old_and_new_rows_merge_in_any_tree_and_batching_with_the_same_bytes(backend, data, bins, table):
    n = len(table.scores)
    is_old = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
    finite_old = is_old & np.isfinite(table.scores)
    part = [*(np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), int) + 3 * ~is_old)]
    pieces = [table.take(np.flatnonzero(np.array(part, int) == i)) for i in range(6)]
    sketches = [old(piece, bins) for piece in pieces[:3]] + [piece.into(gf.Sketch(bins=bins)) for piece in pieces[3:]]
    whole = old(table.take(np.flatnonzero(is_old)), bins)
    table.take(np.flatnonzero(~is_old)).into(whole)
    parts = list(sketches)
    while len(parts) > 1:
        one = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
        j = data.draw(st.integers(0, len(parts) - 1))
        parts[j] = parts[j] + one
    assert parts[0] == whole
    assert parts[0]._core.linear == bool(finite_old.any())
    assert gf.Sketch.from_bytes(whole.to_bytes()) == whole
    edges = whole.edges
    finite = table.scores[np.isfinite(table.scores)]
    counts = sum(whole._core.counts(label).sum(axis=0) for label in range(3))
    assert np.array_equal(counts, np.histogram(np.searchsorted(edges, finite, side="right") - 1, range(bins + 1))[0])


@given(a=tables(max_rows=12), b=tables(max_rows=12))
def test_old_sketches_of_a_range_merge_with_new_ones_as_if_they_were_new(backend, a, b):
    kinds = {type(name) for table in (a, b) for name in table.groups}
    assume(not (bool in kinds and int in kinds))
    new = a.into(gf.Sketch(bins=16, range=(-1, 1)))
    read = old(a, 16, limits=(-1.0, 1.0))
    assert read == new
    assert b.into(read) == b.into(new)
    with pytest.raises(ValueError, match="different ranges"):
        read + gf.Sketch.from_rows([1.0], [1], ["x"], bins=16)


@given(table=tables(max_rows=12))
def test_old_rows_have_weight_1_beside_weighted_ones(backend, table):
    weights = [0.75] * len(table.scores)
    both = table.into(gf.Sketch(bins=16), weights=weights) + old(table)
    assert both == old(table) + table.into(gf.Sketch(bins=16), weights=weights)
    assert both == table.into(old(table), weights=weights)
    assert both.n_rows == 2 * len(weights)
    assert both._core.squared_weights().sum() == 1.5625 * len(weights)
    assert gf.Sketch.from_bytes(both.to_bytes()) == both


# -------------------------------------------------------------------------------------------------------------- hostile


@pytest.mark.parametrize(
    ("scores", "limits"),
    [
        ([0.5, 0.5, 0.75], None),
        ([0.5, 0.5, 0.75], (0.0, 1.0)),
        ([0.01, 0.02, -0.03], (-1.0, 1.0)),
        ([1e300, 1e299], None),
        ([5e-324, 1e-310, -1e-320], None),
        ([1000.1, 1000.2, 1000.3], None),
    ],
)
def test_a_sum_of_squares_that_no_rows_have_is_refused(backend, scores, limits):
    """Signed bytes whose squares lie below those of the means, or above what the bins allow."""
    rows = [(x, 1, "a", Fraction(1)) for x in scores]
    assert gf.Sketch.from_bytes(version_1_bytes(rows, 16, limits)).n_rows == len(scores)
    for share in (0, 1, 3, 20):  # quarters; rows in a bin that touches zero may lie anywhere in it
        change = lambda q, share=share: math.floor(q * 2**2148 * share / 4) * Fraction(2) ** -2148  # noqa: E731
        with pytest.raises(ValueError, match="sum of squares"):
            gf.Sketch.from_bytes(version_1_bytes(rows, 16, limits, squares=change))
