"""Bytes: the same for ever, canonical only, and no bytes can do harm."""

from __future__ import annotations

import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from helpers.small_rows import small
from helpers.strategies import bins, tables
from hypothesis import given, settings
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast import _backends
from gstar_fast._base import sketch_format
from gstar_fast._base.bytes import varint, zigzag

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.ResolutionWarning")

OLD = Path(__file__).parent.parent / "old_sketches"


def signed(body: bytes) -> bytes:
    """The same bytes with a right length and checksum, as an attacker would write them."""
    body = body[:16] + struct.pack("<Q", len(body) + 4) + body[24:]
    return body + struct.pack("<I", zlib.crc32(body))


def golden() -> gf.Sketch:
    """Rows of the golden file of version 1."""
    rng = np.random.default_rng(20261116)
    x = np.concatenate([rng.normal(size=300), [np.inf, -np.inf, 0.0, 5e-324, -1e-9]])
    sketch = gf.Sketch(bins=64, nan="skip")
    sketch.update(x, [None, 0, 1] * 101 + [0, 1], ["F", "M", ("ä", 1, True)] * 101 + [-7, 2**40])
    return sketch.update([np.nan, 0.5], [1, 1], ["F", "F"], weights=[1, 0.1])


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
    assert sketch.digest() == (OLD / "version_1.sha256").read_text().strip()
    assert sketch == golden(), "the same rows still give the same bytes"
    assert sketch.weighted
    assert sketch.groups == (-7, 2**40, "F", "M", ("ä", 1, True))


# ------------------------------------------------------------------------------------------------------------- hostile


def test_every_truncation_is_refused(backend):
    data = small().to_bytes()
    for n in range(len(data)):
        with pytest.raises(ValueError, match=r"."):
            gf.Sketch.from_bytes(data[:n])
        if n > 24:
            with pytest.raises(ValueError, match=r"."):
                gf.Sketch.from_bytes(signed(data[: n - 4]))
    with pytest.raises(ValueError, match=r"."):
        gf.Sketch.from_bytes(data + b"\0")
    with pytest.raises(ValueError, match=r"."):
        gf.Sketch.from_bytes(signed(data[:-4] + b"\0"))


def test_every_single_bit_flip_is_refused(backend):
    data = small().to_bytes()
    for i in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[i // 8] ^= 1 << i % 8
        with pytest.raises(ValueError, match=r"."):
            gf.Sketch.from_bytes(bytes(flipped))


def outcome(backend: str, data: bytes) -> bytes | None:
    with gf.use_backend(backend):
        try:
            sketch = gf.Sketch.from_bytes(data)
        except ValueError:
            return None
        return sketch.to_bytes()


@settings(max_examples=400)
@given(data=st.data())
def test_resigned_mutations_are_refused_or_canonical_and_all_backends_agree(data):
    body = bytearray(small().to_bytes()[:-4])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(8, len(body) - 1))
        action = data.draw(st.sampled_from(["set", "insert", "delete"]))
        if action == "set":
            body[at] = data.draw(st.integers(0, 255))
        elif action == "insert":
            body.insert(at, data.draw(st.integers(0, 255)))
        elif len(body) > 30:
            del body[at]
    mutated = signed(bytes(body))
    expected = outcome("numpy", mutated)
    assert expected in (None, mutated)
    if _backends.has_native():
        assert outcome("native", mutated) == expected


def test_every_resigned_byte_is_refused_or_canonical_and_all_backends_agree():
    body = small().to_bytes()[:-4]
    accepted = 0
    for at in range(24, len(body)):
        for change in (1, 2, 0x40, 0x80, 0xFF):
            mutated = signed(body[:at] + bytes([body[at] ^ change]) + body[at + 1 :])
            expected = outcome("numpy", mutated)
            assert expected in (None, mutated), (at, change)
            accepted += expected is not None
            if _backends.has_native():
                assert outcome("native", mutated) == expected, (at, change)
    assert accepted > 0, "some changes only change counts or names"


def test_what_hostile_bytes_could_claim_is_refused(backend):
    v, z = varint, zigzag

    def claim(*parts: bytes, version: int = 1, flags: int = 0, reserved: int = 0) -> bytes:
        return signed(sketch_format.HEADER.pack(sketch_format.MAGIC, version, flags, reserved, 0) + b"".join(parts))

    head = v(4) + z(0) + z(0) + v(0)
    empty_cell = v(0) + v(0) + v(0)
    row = v(0) + v(0) + v(1) + struct.pack("<dd", 1.0, 1.0) + z(1) + z(0) + v(1) + v(1) + z(0)
    assert gf.Sketch.from_bytes(claim(v(4) + z(0) + z(0) + v(0) + v(0))) == gf.Sketch(bins=16)
    fixed = claim(head + v(1), b"\0" + z(5), row, empty_cell, empty_cell, flags=2)
    assert gf.Sketch.from_bytes(fixed).n_rows == 1
    one = struct.pack("<dd", 1.0, 1.0)
    hostile = {
        "version": claim(head + v(0), version=2),
        "flags": claim(head + v(0), flags=8),
        "reserved": claim(head + v(0), reserved=1),
        "bins 8": claim(v(3) + z(0) + z(0) + v(0) + v(0)),
        "bins 2**17": claim(v(17) + z(0) + z(0) + v(0) + v(0)),
        "bins 2**(2**60)": claim(v(2**60) + z(0) + z(0) + v(0) + v(0)),
        "level": claim(v(4) + z(1001) + z(0) + v(0) + v(0), flags=2),
        "level below": claim(v(4) + z(-1075) + z(0) + v(0) + v(0), flags=2),
        "first": claim(v(4) + z(0) + z(2**53) + v(0) + v(0), flags=2),
        "first of nothing": claim(v(4) + z(0) + z(1) + v(0) + v(0)),
        "groups": claim(head + v(65_536)),
        "huge varint": claim(head + b"\xff" * 100_000 + b"\1"),
        "long varint": claim(head[:-1] + b"\x80\0" + v(0)),
        "group without rows": claim(head + v(1) + b"\0" + z(1) + 3 * empty_cell),
        "group twice": claim(head + v(2) + 2 * (b"\0" + z(1)) + 6 * empty_cell, flags=4),
        "True and 1": claim(head + v(2) + b"\0" + z(1) + b"\2\1" + 6 * empty_cell, flags=4),
        "int beyond 64 bits": claim(head + v(1) + b"\0" + z(2**63) + 3 * empty_cell, flags=4),
        "bool 2": claim(head + v(1) + b"\2\2" + 3 * empty_cell, flags=4),
        "not UTF-8": claim(head + v(1) + b"\1\1\xff" + 3 * empty_cell, flags=4),
        "surrogate": claim(head + v(1) + b"\1\3\xed\xa0\x80" + 3 * empty_cell, flags=4),
        "empty tuple": claim(head + v(1) + b"\3\0" + 3 * empty_cell, flags=4),
        "tuple in tuple": claim(head + v(1) + b"\3\1\3\1\0\0" + 3 * empty_cell, flags=4),
        "seventeen": claim(head + v(1) + b"\3\x11" + 17 * b"\0\0" + 3 * empty_cell, flags=4),
        "huge string": claim(head + v(1) + b"\1" + v(2**62) + 3 * empty_cell, flags=4),
        "rows 2**63": claim(head + v(1) + b"\0\0" + v(2**62) + v(2**62) + v(0) + 2 * empty_cell, flags=2),
        "bins used": claim(head + v(1) + b"\0\0" + v(0) + v(0) + v(17) + one, flags=2),
        "bin 16": claim(
            head + v(1) + b"\0\0" + row.replace(v(1) + v(1) + z(0), v(16) + v(1) + z(0)) + 2 * empty_cell, flags=2
        ),
        "wrong window": claim(head + v(1) + b"\0\0" + row + 2 * empty_cell),
        "skipped 2**63": claim(v(4) + z(0) + z(0) + v(2**63) + v(0)),
    }
    for what, (low, high) in {
        "nan": (np.nan, np.nan),
        "inf": (1.0, np.inf),
        "outside its bin": (2.0, 2.0),
        "min over max": (1.75, 1.25),
        "beyond 2**1000": (1.0, 2.0**1001),
    }.items():
        cell = row.replace(one, struct.pack("<dd", low, high))
        hostile[what] = claim(head + v(1) + b"\0\0" + cell + 2 * empty_cell, flags=2)
    start = v(0) + v(0) + v(1)
    for what, rest in {
        "no rows in a bin": one + z(1) + z(0) + v(1) + v(0) + z(0),
        "sum below": one + z(1) + z(0) + v(1) + v(1) + z(-1),
        "sum above": one + z(1) + z(0) + v(1) + v(1) + z(2**23 + 1),
        "negative squares": one + z(-1) + z(0) + v(1) + v(1) + z(0),
        "squares too large": one + z(3) + z(0) + v(1) + v(1) + z(0),
        "squares not odd": one + z(2) + z(0) + v(1) + v(1) + z(0),
        "squares below their unit": one + z(1) + z(-2149) + v(1) + v(1) + z(0),
        "huge exponent": one + z(1) + z(2**60) + v(1) + v(1) + z(0),
        "minus zero": struct.pack("<dd", -0.0, 0.0) + z(0) + v(0) + v(1) + z(0),
        "sum at zero negative": struct.pack("<dd", 0.5, 0.5) + z(1) + z(-2) + v(0) + v(1) + z(-1) + z(-1),
        "sum at zero too large": struct.pack("<dd", 0.5, 0.5) + z(1) + z(-2) + v(0) + v(1) + z(3) + z(0),
    }.items():
        hostile[what] = claim(head + v(1) + b"\0\0" + start + rest + 2 * empty_cell, flags=2)
    for what, index, gaps in (("first", 16, [16]), ("last", 16, [15, 0]), ("far", 17, [17]), ("farther", 40, [3, 36])):
        # a score in the bin that is claimed, so that only the number of bins is against it
        low = float(gaps[0])
        square = low * low + index * index if len(gaps) > 1 else index * index
        odd, power = int(square), 0
        while odd % 2 == 0:
            odd, power = odd // 2, power + 1
        cell = v(0) + v(0) + v(len(gaps)) + struct.pack("<dd", low, float(index)) + z(odd) + z(power)
        cell += b"".join(v(gap) + v(1) + z(0) for gap in gaps)
        hostile[f"{what} bin beyond the window"] = claim(head + v(1) + b"\0\0" + cell + 2 * empty_cell, flags=2)
    most_skipped = claim(v(4) + z(0) + z(0) + v(2**63 - 1) + v(0))
    assert gf.Sketch.from_bytes(most_skipped).skipped == 2**63 - 1
    accepted = []
    for what, data in hostile.items():
        try:
            gf.Sketch.from_bytes(data)
        except ValueError:
            continue
        accepted.append(what)
    assert not accepted


def test_skipped_rows_never_wrap(backend):
    v, z = varint, zigzag
    body = sketch_format.HEADER.pack(sketch_format.MAGIC, 1, 0, 0, 0) + v(12) + z(0) + z(0)
    nearly = gf.Sketch.from_bytes(signed(body + v(2**63 - 2) + v(0)), nan="skip")
    assert nearly.update([np.nan], None, [0]).skipped == 2**63 - 1
    text = r"the sketch would hold 2\*\*63 rows or more; nothing was counted"
    for count in (
        lambda: nearly.update([np.nan], None, [0]),
        lambda: nearly.update([np.nan], None, [0], weights=[0.5]),
        lambda: nearly.update([np.nan] * 40_000, None, [0] * 40_000),
        lambda: nearly.merge(nearly),
    ):
        with pytest.raises(OverflowError, match=text):
            count()
    assert (nearly.skipped, nearly.n_rows) == (2**63 - 1, 0)
    assert nearly.update([0.5], None, [0], nan="raise").n_rows == 1


@pytest.mark.parametrize(("level", "first"), [(1000, 2**52), (1000, -(2**53)), (1000, 2**24 - 16), (980, 2**44)])
def test_a_window_without_finite_edges_is_refused(backend, level, first):
    """No range makes one, and nothing could be read from it."""
    v, z = varint, zigzag
    head = sketch_format.HEADER.pack(sketch_format.MAGIC, 1, 2 | 4, 0, 0)
    rest = v(0) + v(1) + b"\0" + z(5) + 3 * (v(0) + v(0) + v(0))
    with pytest.raises(ValueError, match="window is out of range"):
        gf.Sketch.from_bytes(signed(head + v(4) + z(level) + z(first) + rest))
    last = 2 ** (1024 - level) - 17 if first > 0 else 17 - 2 ** (1024 - level)
    sketch = gf.Sketch.from_bytes(signed(head + v(4) + z(level) + z(last) + rest))
    assert np.isfinite(sketch.edges).all()
    assert sketch.moments(1, 5).count == 0


def with_squares(sketch: gf.Sketch, change) -> bytes:
    """The bytes of a sketch of one cell, its sum of squares changed, as an attacker would write them."""
    content = sketch_format.read(sketch.to_bytes(), lambda *_: None)
    cells = [cell._replace(squares=change(cell.squares)) if cell.bins else cell for cell in content.cells]
    return sketch_format.write(content._replace(cells=cells))


@pytest.mark.parametrize(
    ("scores", "options"),
    [
        ([0.5, 0.5, 0.75], {}),
        ([0.5, 0.5, 0.75], {"bins": 16, "range": (0, 1)}),
        ([0.01, 0.02, -0.03], {"bins": 16, "range": (-1, 1)}),
        ([1e300, 1e299], {"bins": 16}),
        ([5e-324, 1e-310, -1e-320], {"bins": 16}),
        ([1000.1, 1000.2, 1000.3], {}),
    ],
)
def test_a_sum_of_squares_that_no_rows_have_is_refused(backend, scores, options):
    """Signed bytes whose squares lie below those of the means, or above what the bins allow."""
    sketch = gf.Sketch.from_rows(scores, [1] * len(scores), ["a"] * len(scores), **options)
    assert gf.Sketch.from_bytes(with_squares(sketch, lambda squares: squares)) == sketch
    for share in (0, 1, 3, 20):  # quarters; rows in a bin that touches zero may lie anywhere in it
        with pytest.raises(ValueError, match="sum of squares"):
            gf.Sketch.from_bytes(with_squares(sketch, lambda squares, share=share: squares * share // 4))


def test_a_claim_of_many_groups_allocates_nothing(backend):
    v, z = varint, zigzag
    body = sketch_format.HEADER.pack(sketch_format.MAGIC, 1, 0, 0, 0) + v(16) + z(0) + z(0) + v(0) + v(65_535)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="groups"):
            gf.Sketch.from_bytes(signed(body))
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_from_bytes_takes_any_buffer_and_refuses_text(backend):
    with pytest.raises(TypeError, match=r"data must be bytes, got str; for a file use Sketch.load\(path\)"):
        gf.Sketch.from_bytes("sketch.gstar")
    sketch = small()
    assert gf.Sketch.from_bytes(bytearray(sketch.to_bytes())) == sketch
    assert gf.Sketch.from_bytes(memoryview(sketch.to_bytes())) == sketch
