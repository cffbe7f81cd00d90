"""Bytes go straight into a sketch, as if it were merged; hostile ones get the same answer on every backend."""

from __future__ import annotations

import itertools
import struct
import zlib
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from helpers.small_rows import small
from helpers.strategies import bins, tables
from hypothesis import given, settings
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast import _backends
from gstar_fast._base.bytes import varint, zigzag
from gstar_fast._base.sketch_format import HEADER, MAGIC

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")

OLD = Path(__file__).parent.parent / "old_sketches"
COLUMNS, POSITIVE, UNKNOWN = (1, False, b"\1\1\1s\0\2"), (2, True, b"\2\1"), (9, False, b"?")


def signed(body: bytes) -> bytes:
    """The same bytes with a right length and checksum, as an attacker would write them."""
    body = body[:16] + struct.pack("<Q", len(body) + 4) + body[24:]
    return body + struct.pack("<I", zlib.crc32(body))


def weighted() -> gf.Sketch:
    """A few weights that are not 1."""
    return gf.Sketch(bins=16).update([0.5, -2.0, 0.0], [1, 0, None], ["F", "M", "F"], weights=[0.5, 3, 0.1])


@cache
def kinds() -> dict[str, bytes]:
    """Bytes of sketches of every kind, the same on every backend."""
    ranged = gf.Sketch(bins=16, range=(0, 1)).update([-1.0, 0.0, 0.3, 2.0], [0, 1, 1, 0], ["F", "F", "M", "M"])
    given_groups = gf.Sketch(groups=["M", "F"], bins=16).update([0.25, -3e9], [0, 1], ["F", "M"])
    tiny = gf.Sketch(bins=16).update([5e-324, -1e-310, 1e300], [0, 1, 1], ["F", "M", "F"])
    far = gf.Sketch(bins=16, range=(2**24 + 1, 2**24 + 17)).update([2.0**24 + 1.75], [1], ["F"])
    said = small()
    said._core.set_sections((COLUMNS, POSITIVE, UNKNOWN))
    sketches = {"small": small(), "weighted": weighted(), "range": ranged, "given": given_groups, "tiny": tiny}
    sketches |= {"far": far, "sections": said, "empty": gf.Sketch(), "bins": gf.Sketch(bins=32)}
    out = {name: sketch.to_bytes() for name, sketch in sketches.items()}
    old = {path.stem: path.read_bytes() for path in OLD.glob("*.gstar")}
    return out | old


# ---------------------------------------------------------------------------------------------------------------- laws


def outcome(act) -> tuple[object, ...]:
    """What comes of it: nothing said, or the error with its words."""
    try:
        act()
    except (ValueError, OverflowError, MemoryError) as error:
        return type(error), str(error)
    return ()


def test_every_kind_of_bytes_into_every_kind_of_sketch(backend):
    for (name, data), (other_name, other) in itertools.product(kinds().items(), repeat=2):
        straight, apart = gf.Sketch.from_bytes(data), gf.Sketch.from_bytes(data)
        before = straight.to_bytes()
        said = outcome(lambda: straight._core.merge_bytes(other))  # noqa: B023 (called at once)
        assert said == outcome(lambda: apart.merge(gf.Sketch.from_bytes(other))), (name, other_name)  # noqa: B023
        assert straight.to_bytes() == apart.to_bytes(), (name, other_name)
        assert not said or straight.to_bytes() == before, (name, other_name)


@given(parts=st.lists(tables(max_rows=8), min_size=1, max_size=4), n_bins=bins(), weight=st.sampled_from([None, 0.3]))
def test_merged_bytes_are_those_of_all_rows(backend, parts, n_bins, weight):
    kinds_of_names = {type(name) for table in parts for name in table.groups}
    if {bool, int} <= kinds_of_names:
        return
    whole, merged = gf.Sketch(bins=n_bins), gf.Sketch(bins=n_bins)
    for i, table in enumerate(parts):
        weights = None if weight is None or i % 2 else [weight] * len(table.scores)
        part = table.into(gf.Sketch(bins=n_bins), weights=weights)
        table.into(whole, weights=weights)
        merged._core.merge_bytes(part.to_bytes())
    assert merged.to_bytes() == whole.to_bytes()


def test_files_merge_in_any_order_with_the_bytes_of_the_reference(backend):
    old = (OLD / "version_1.gstar").read_bytes()
    new = gf.Sketch(bins=gf.Sketch.from_bytes(old).bins).update(
        [0.125, -1e-9, 3e5], [1, 0, None], ["F", "M", "F"], weights=[0.5, 1, 2]
    )
    files = [old, old, new.to_bytes()]
    with gf.use_backend("numpy"):
        reference = sum((gf.Sketch.from_bytes(data) for data in files[1:]), gf.Sketch.from_bytes(files[0]))
    for order in set(itertools.permutations(files)):
        merged = gf.Sketch.from_bytes(order[0])
        pair = gf.Sketch.from_bytes(order[1])
        pair._core.merge_bytes(order[2])
        merged._core.merge_bytes(pair.to_bytes())
        assert merged.to_bytes() == reference.to_bytes()
        one_by_one = gf.Sketch(bins=new.bins)
        for data in order:
            one_by_one._core.merge_bytes(data)
        assert one_by_one.to_bytes() == reference.to_bytes()


def test_what_was_merged_goes_on_counting(backend):
    rng = np.random.default_rng(3)
    x, y, g = rng.normal(size=6000), rng.integers(0, 2, 6000), rng.integers(0, 5, 6000)
    merged = gf.Sketch.from_rows(x[:2000], y[:2000], g[:2000])
    merged._core.merge_bytes(gf.Sketch.from_rows(x[2000:4000], y[2000:4000], g[2000:4000]).to_bytes())
    merged.update(x[4000:], y[4000:], g[4000:])
    assert merged == gf.Sketch.from_rows(x, y, g)


def test_rows_never_wrap(backend):
    nearly = gf.Sketch(bins=16).update([0.5], [1], ["F"], repeats=[2**62])
    data = nearly.to_bytes()
    before = nearly.to_bytes()
    text = r"the sketch would hold 2\*\*63 rows or more, or a weight of 2\*\*43 or more; nothing was counted"
    for more in (data, weighted().to_bytes()):
        with pytest.raises(OverflowError, match=text):
            nearly._core.merge_bytes(more)
        assert nearly.to_bytes() == before


def test_the_memory_limit_holds(backend):
    many = gf.Sketch.from_rows(np.arange(40.0), None, np.arange(40)).to_bytes()
    limited = gf.Sketch(memory_limit=2**22)
    with pytest.raises(ValueError, match="memory_limit"):
        limited._core.merge_bytes(many)
    assert limited == gf.Sketch()
    few = gf.Sketch.from_rows(np.arange(10.0), None, np.arange(10), memory_limit=2**22)
    before = few.to_bytes()
    ten = gf.Sketch.from_rows(np.arange(10.0), None, np.arange(100, 110)).to_bytes()
    with pytest.raises(MemoryError, match="memory_limit"):
        few._core.merge_bytes(ten)
    assert few.to_bytes() == before


def test_a_claim_of_rows_that_would_wrap_is_refused(backend):
    """Twice 2**64 - 2, and twice 2**63: no sum of them is small."""
    sketch = small()
    for each in (2**63 - 1, 2**62):
        cell = varint(each) + varint(each) + b"\0"
        front = varint(4) + zigzag(0) + zigzag(0) + b"\0\1" + b"\0\0"
        data = signed(HEADER.pack(MAGIC, 1, 2, 0, 0) + front + cell + cell + b"\0\0\0" + b"\0")
        for act in (gf.Sketch.from_bytes, sketch._core.merge_bytes):
            with pytest.raises(ValueError, match=r"it holds 2\*\*63 rows or more"):
                act(data)
    assert sketch == small()


# ------------------------------------------------------------------------------------------------------------- hostile


def answers(backend: str, data: bytes, into: bytes) -> list[object]:
    """What a backend says to bytes: read on their own, and merged into a sketch."""
    with gf.use_backend(backend):
        read = outcome(lambda: gf.Sketch.from_bytes(data))
        sketch = gf.Sketch.from_bytes(into)
        merged = outcome(lambda: sketch._core.merge_bytes(data))
        if merged:
            assert sketch.to_bytes() == into, "a refusal changes nothing"
        return [read, merged, sketch.to_bytes()]


def mutated(draw, body: bytearray) -> bytes:
    """Signed bytes with a few changes."""
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(8, len(body) - 1))
        action = draw(st.sampled_from(["set", "flip", "insert", "delete"]))
        if action == "set":
            body[at] = draw(st.integers(0, 255))
        elif action == "flip":
            body[at] ^= 1 << draw(st.integers(0, 7))
        elif action == "insert":
            body.insert(at, draw(st.integers(0, 255)))
        elif len(body) > 40:
            del body[at]
    return signed(bytes(body))


@pytest.mark.slow
@pytest.mark.skipif(not _backends.has_native(), reason="compares the compiled reader with the reference")
@settings(max_examples=600)
@given(data=st.data())
def test_hostile_bytes_get_the_same_answer_in_the_same_words(data):
    with gf.use_backend("numpy"):
        seeds = kinds()
    start = data.draw(st.sampled_from(sorted(seeds)))
    into = data.draw(st.sampled_from(["small", "weighted", "range", "sections"]))
    hostile = mutated(data.draw, bytearray(seeds[start][:-4]))
    assert answers("native", hostile, seeds[into]) == answers("numpy", hostile, seeds[into])


@pytest.mark.slow
@pytest.mark.skipif(not _backends.has_native(), reason="compares the compiled reader with the reference")
@pytest.mark.parametrize("name", ["small", "weighted", "range", "given", "tiny", "far", "sections"])
def test_every_changed_byte_gets_the_same_answer_in_the_same_words(name):
    with gf.use_backend("numpy"):
        seeds = kinds()
    body = seeds[name][:-4]
    refusals = set()
    for at in range(8, len(body)):
        for change in (1, 0x80, 0xFF):
            data = signed(body[:at] + bytes([body[at] ^ change]) + body[at + 1 :])
            native = answers("native", data, seeds["small"])
            assert native == answers("numpy", data, seeds["small"]), (at, change)
            refusals.add(native[0])
    assert len(refusals) > 8
