"""Sections: what a sketch's bytes say besides its rows, how it is kept, and how it merges."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from helpers.plain_sketch import name_bytes, sealed, varint, zigzag
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf

COLUMNS, POSITIVE = 1, 2
NO_SUMS = (3, True, b"")


def columns(score: object, label: object = (), group: object = ()) -> tuple[int, bool, bytes]:
    """A section of columns: () for one not named, None where several names were met."""
    return COLUMNS, False, b"".join(map(_column, (score, label, group)))


def _column(names: object) -> bytes:
    if names is None:
        return b"\2"
    assert isinstance(names, tuple)
    texts = [name.encode() for name in names]
    return b"\1" + varint(len(texts)) + b"".join(varint(len(t)) + t for t in texts) if names else b"\0"


def positive(name: object) -> tuple[int, bool, bytes]:
    """A section that says what label 1 stood for."""
    return POSITIVE, True, name_bytes(name)


def sketch_with(*sections: tuple[int, bool, bytes], rows: int = 1, bins: int = 16) -> gf.Sketch:
    """A sketch of a few rows."""
    sketch = gf.Sketch(bins=bins).update([0.5] * rows, [1] * rows, ["a"] * rows)
    sketch._core.set_sections(sections)
    return sketch


NAMED = st.sampled_from([(), None, ("p",), ("q",), ("ä",)])
UNKNOWN = st.tuples(st.sampled_from([0, 6, 2**62]), st.just(False), st.binary(max_size=5))
SECTIONS = st.builds(
    lambda *found: [s for s in found if s is not None],
    st.one_of(st.none(), st.builds(columns, NAMED, NAMED, st.sampled_from([(), None, ("sex",), ("sex", "age")]))),
    st.one_of(st.none(), st.sampled_from([positive(1), positive("yes"), positive(True), positive(-3)])),
    st.sampled_from([None, NO_SUMS]),
    st.one_of(st.none(), UNKNOWN),
).map(lambda found: tuple(sorted(s for s in found if s != columns(()))))


@given(sections=SECTIONS, rows=st.integers(0, 2))
def test_sections_survive_bytes_and_copies_and_do_not_count_as_rows(backend, sections, rows):
    sketch = sketch_with(*sections, rows=rows)
    assert sketch._core.sections == sections
    data = sketch.to_bytes()
    back = gf.Sketch.from_bytes(data)
    assert back.to_bytes() == data
    assert back._core.sections == sections
    assert sketch._core.copy().sections == sections
    assert sketch._core.relabelled(tuple("b" for _ in sketch.groups)).sections == sections
    plain = sketch_with(*[s for s in sections if s[0] in (POSITIVE, NO_SUMS[0])], rows=rows)
    assert sketch._core.row_bytes() == plain.to_bytes() == plain._core.row_bytes()
    with gf.use_backend("numpy"):
        assert sketch_with(*sections, rows=rows).to_bytes() == data


def test_an_unknown_section_that_is_needed_is_refused_and_another_is_kept(backend):
    front = varint(4) + zigzag(0) + b"\0" + varint(0) + varint(0)
    kept = sealed(front + varint(1) + varint(77) + b"\0" + varint(3) + b"abc", 0)
    assert gf.Sketch.from_bytes(kept).to_bytes() == kept
    needed = sealed(front + varint(1) + varint(77) + b"\1" + varint(3) + b"abc", 0)
    with pytest.raises(ValueError, match="77"):
        gf.Sketch.from_bytes(needed)


WRONG = {
    "columns that say nothing": [columns(())],
    "columns needed": [(1, True, columns(("p",))[2])],
    "no columns": [(1, False, b"")],
    "a column of an unknown kind": [(1, False, b"\3\0\0")],
    "two columns of scores": [columns(("p", "q"))],
    "no column of scores": [(1, False, b"\1\0\0\0")],
    "seventeen columns of groups": [columns((), (), tuple("abcdefghijklmnopq"))],
    "a column's name not UTF-8": [(1, False, b"\1\1\1\xff\0\0")],
    "a column's name cut off": [(1, False, b"\1\1\5ab")],
    "columns and more": [(1, False, columns(("p",))[2] + b"\0")],
    "a positive label not needed": [(2, False, name_bytes("yes"))],
    "no positive label": [(2, True, b"")],
    "a tuple as positive label": [positive(("a", 1))],
    "a positive label and more": [(2, True, name_bytes("yes") + b"\0")],
    "a positive label beyond 64 bits": [positive(2**63)],
    "out of order": [positive("yes"), columns(("p",))],
    "twice": [positive("yes"), positive("yes")],
    "no sums not needed": [(3, False, b"")],
    "no sums and more": [(3, True, b"\0")],
    "unknown and needed": [(5, True, b"")],
    "labels needed": [(4, True, b"\0\1\1a")],
    "no labels": [(4, False, b"\0\0")],
    "no content of labels": [(4, False, b"")],
    "nine labels": [(4, False, b"\0\t" + b"".join(b"\1" + bytes([c]) for c in b"abcdefghi"))],
    "labels out of order": [(4, False, b"\0\2\1b\1a")],
    "a label twice": [(4, False, b"\0\2\1a\1a")],
    "more labels than eight, of which there are two": [(4, False, b"\1\2\1a\1b")],
    "more is not 0 or 1": [(4, False, b"\2\1\1a")],
    "a label of 257 bytes": [(4, False, b"\0\1" + varint(257) + b"a" * 257)],
    "a label that is not UTF-8": [(4, False, b"\0\1\1\xff")],
    "labels and more": [(4, False, b"\0\1\1a\0")],
    "a type of 2**63": [(2**63, False, b"")],
}


@pytest.mark.parametrize("what", list(WRONG))
def test_a_section_of_a_wrong_form_is_refused(backend, what):
    sections = tuple(WRONG[what])
    core = gf.Sketch(bins=16)._core
    with pytest.raises(ValueError, match="not a valid sketch"):
        core.set_sections(sections)
    assert core.sections == ()
    body = varint(4) + zigzag(0) + b"\0" + varint(0) + varint(0) + varint(len(sections))
    body += b"".join(varint(k) + bytes([needed]) + varint(len(data)) + data for k, needed, data in sections)
    with pytest.raises(ValueError, match="not a valid sketch"):
        gf.Sketch.from_bytes(sealed(body, 0))


def test_needed_is_a_byte_of_0_or_1_and_lengths_are_checked(backend):
    front = varint(4) + zigzag(0) + b"\0" + varint(0) + varint(0)
    for rest in (
        varint(1) + varint(5) + b"\2" + varint(0),
        varint(1) + varint(5) + b"\0" + varint(1),
        varint(1) + varint(5) + b"\0" + varint(2**62),
        varint(2**62) + varint(5) + b"\0" + varint(0),
        varint(2) + varint(5) + b"\0" + varint(0),
    ):
        with pytest.raises(ValueError, match="not a valid sketch"):
            gf.Sketch.from_bytes(sealed(front + rest, 0))


# ------------------------------------------------------------------------------------------------------------- merging


@given(found=st.lists(st.builds(columns, NAMED, NAMED, NAMED), min_size=3, max_size=3), rows=st.integers(0, 1))
def test_columns_merge_in_any_order_and_tree(backend, found, rows):
    parts = [sketch_with(*[s for s in (section,) if s != columns(())], rows=rows) for section in found]
    merged = {((parts[i] + parts[j]) + parts[k]).to_bytes() for i, j, k in permutations(range(3))}
    merged |= {(parts[i] + (parts[j] + parts[k])).to_bytes() for i, j, k in permutations(range(3))}
    assert len(merged) == 1


def test_columns_of_one_name_stay_and_others_are_several(backend):
    a, b = columns(("p",), ("y",)), columns(("p",), ("z",), ("sex", "age"))
    assert (sketch_with(a) + sketch_with(b))._core.sections == (columns(("p",), None, ("sex", "age")),)
    assert (sketch_with(a) + sketch_with())._core.sections == (a,)
    assert (sketch_with() + sketch_with(a))._core.sections == (a,)


def test_different_positive_labels_are_refused_and_nothing_changes(backend):
    sketch = sketch_with(columns(("p",)), positive("yes"))
    before = sketch.to_bytes()
    for other in (positive("no"), positive(1), positive(True)):
        with pytest.raises(ValueError, match="cannot merge sketches with different positive labels: 'yes' and"):
            sketch.merge(sketch_with(other))
        with pytest.raises(ValueError, match="different positive labels"):
            sketch._core.merge_bytes(sketch_with(other).to_bytes())
    with pytest.raises(ValueError, match="different positive labels: 1 and True"):
        sketch_with(positive(1), rows=0) + sketch_with(positive(True), rows=0)
    assert sketch.to_bytes() == before
    assert (sketch + sketch_with())._core.sections == (sketch_with() + sketch)._core.sections == sketch._core.sections


def test_rows_without_sums_leave_the_total_without_means(backend):
    for rows in (0, 1):
        for total in (sketch_with(NO_SUMS) + sketch_with(rows=rows), sketch_with(rows=rows) + sketch_with(NO_SUMS)):
            assert total._core.sections == (NO_SUMS,)
            assert not total.has_means
            assert np.isnan(total.means).all()
            assert "without means" in repr(total)
    assert sketch_with().has_means
    assert sketch_with(NO_SUMS) != sketch_with()


def test_an_unknown_section_stays_with_the_only_sketch_that_has_rows(backend):
    x, y = (7, False, b"x"), (7, False, b"y")
    assert (sketch_with(x) + sketch_with(y, rows=0))._core.sections == (x,)
    assert (sketch_with(y, rows=0) + sketch_with(x))._core.sections == (x,)
    assert (sketch_with(x) + sketch_with(rows=0))._core.sections == (x,)
    assert (sketch_with(x, rows=0) + sketch_with(rows=0))._core.sections == (x,)
    assert (sketch_with(x) + gf.Sketch())._core.sections == (gf.Sketch() + sketch_with(x))._core.sections == (x,)
    assert (sketch_with(x) + sketch_with())._core.sections == ()
    assert (sketch_with(x) + sketch_with(x))._core.sections == ()
    assert (sketch_with(x, rows=0) + sketch_with(y, rows=0))._core.sections == ()


def test_an_empty_default_sketch_gives_its_sections_and_takes_all_else(backend):
    empty = gf.Sketch()
    empty._core.set_sections((columns(("p",)), positive("yes")))
    other = gf.Sketch(range=(0, 1), bins=32).update([0.5], [1], ["a"])
    merged = empty + other
    assert merged._core.row_bytes() == (other + empty)._core.row_bytes()
    assert merged._core.sections == (other + empty)._core.sections == empty._core.sections
    assert np.array_equal(merged.counts, other.counts)


def test_merging_bytes_is_merging_what_they_say(backend):
    for other in (sketch_with(columns(("p",)), positive(1)), gf.Sketch(), sketch_with((9, False, b"z"), rows=0)):
        one, two = sketch_with(columns(("q",))), sketch_with(columns(("q",)))
        one._core.merge_bytes(other.to_bytes())
        assert one == two.merge(other)
    before = one.to_bytes()
    for bad in (b"", other.to_bytes()[:-1], gf.Sketch(bins=32, groups=["a"]).to_bytes()):
        with pytest.raises(ValueError, match=r"not a valid sketch|different bins"):
            one._core.merge_bytes(bad)
    assert one.to_bytes() == before
