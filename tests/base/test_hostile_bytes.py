"""No bytes can do harm: what no rows could have written is refused, also with a right checksum, on every backend."""

from __future__ import annotations

import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from helpers.plain_sketch import sealed, varint, zigzag
from helpers.small_rows import small
from hypothesis import given, settings
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast import _backends

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")


def signed(body: bytes) -> bytes:
    """The same bytes with a right length and checksum, as an attacker would write them."""
    body = body[:16] + struct.pack("<Q", len(body) + 4) + body[24:]
    return body + struct.pack("<I", zlib.crc32(body))


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


KINDS = ("small", "weighted", "range", "gap")


def base(kind: str) -> bytes:
    """Bytes of a sketch of each kind, in few of them; all on the reference, so that backends get the same."""
    x, y, g = [0.25, -0.5, 1e-3, np.inf, 0.75], [0, 1, 1, 0, 1], ["F", "M", "F", "F", "F"]
    with gf.use_backend("numpy"):
        if kind == "small":
            return small().to_bytes()
        if kind == "range":
            return gf.Sketch(bins=16, range=(-1, 1), groups=["F", "M"]).update(x, y, g).to_bytes()
        if kind == "gap":
            return gf.Sketch(bins=16).update([-999.0, 0.5, 0.625, 0.0], [0, 1, 1, 0], [1] * 4).to_bytes()
        sketch = gf.Sketch(bins=16).update(x, y, g, weights=[0.5, 1, 2, 0.25, 1])
        sketch._core.set_sections(((1, False, b"\1\1\1p\0\2"), (2, True, b"\1\1y"), (9, False, b"ab")))
        return sketch.to_bytes()


def outcome(backend: str, data: bytes) -> bytes | None:
    """What a backend makes of bytes: None if it refuses them, else what it writes after reading."""
    with gf.use_backend(backend):
        try:
            sketch = gf.Sketch.from_bytes(data)
        except ValueError:
            return None
        return sketch.to_bytes()


def check(mutated: bytes) -> bool:
    """Bytes are refused or canonical, on every backend, and what is read can be counted on. Return if they are read."""
    expected = outcome("numpy", mutated)
    assert expected in (None, mutated)
    if _backends.has_native():
        assert outcome("native", mutated) == expected
    if expected is None:
        return False
    sketch = gf.Sketch.from_bytes(mutated, memory_limit=2**40)
    assert np.isfinite(sketch.edges).all()
    assert (np.diff(sketch.edges) > 0).all()
    used = sketch.counts > 0
    assert ((sketch.means >= sketch.edges[:-1]) & (sketch.means <= sketch.edges[1:]))[used].all()
    if sketch.n_rows < 2**40 and sketch.skipped < 2**40:
        twice = sketch + sketch
        assert gf.Sketch.from_bytes(twice.to_bytes()) == twice
        name = sketch.groups[0] if sketch.groups else 0
        sketch.update([-3.0, 1e5], [1, 0], [name] * 2)
        assert gf.Sketch.from_bytes(sketch.to_bytes()) == sketch
    return True


@pytest.mark.slow
@settings(max_examples=400)
@given(data=st.data())
def test_resigned_mutations_are_refused_or_canonical_and_all_backends_agree(data):
    body = bytearray(base(data.draw(st.sampled_from(KINDS)))[:-4])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(8, len(body) - 1))
        action = data.draw(st.sampled_from(["set", "insert", "delete"]))
        if action == "set":
            body[at] = data.draw(st.integers(0, 255))
        elif action == "insert":
            body.insert(at, data.draw(st.integers(0, 255)))
        elif len(body) > 30:
            del body[at]
    check(signed(bytes(body)))


@pytest.mark.parametrize("kind", KINDS)
def test_every_resigned_byte_is_refused_or_canonical_and_all_backends_agree(kind):
    body = base(kind)[:-4]
    assert check(signed(body))
    changes = [
        signed(body[:at] + bytes([body[at] ^ change]) + body[at + 1 :])
        for at in range(8, len(body))
        for change in (1, 0x42, 0x80)
    ]
    assert sum(map(check, changes)) > 0, "some changes only change counts or names"


def claim(*parts: bytes, version: int = 1, flags: int = 0, reserved: int = 0) -> bytes:
    """Signed bytes of a sketch with this body."""
    return sealed(b"".join(parts), flags, version, reserved)


def two(low: float, high: float) -> bytes:
    """A pair of float64."""
    return struct.pack("<dd", low, high)


def refused(hostile: dict[str, bytes]) -> None:
    """All of these are."""
    accepted = []
    for what, data in hostile.items():
        try:
            gf.Sketch.from_bytes(data)
        except ValueError:
            continue
        accepted.append(what)
    assert not accepted


v, z = varint, zigzag
FIXED = v(4) + z(0) + z(0) + v(0)  # sixteen bins of 1 from 0, nothing skipped
EMPTY = v(0) + v(0) + v(0)  # a cell without rows
NO_SECTIONS = v(0)
END = 2 * EMPTY + NO_SECTIONS
ONE = two(1.0, 1.0)
ROW = v(0) + v(0) + v(1) + ONE + v(1) + v(1) + z(0)  # a row with score 1


def test_what_a_front_could_claim_is_refused(backend):
    assert gf.Sketch.from_bytes(claim(v(4), z(0), b"\0", v(0), v(0), NO_SECTIONS)) == gf.Sketch(bins=16)
    most_skipped = claim(v(4), z(0), b"\0", v(2**63 - 1), v(0), NO_SECTIONS)
    assert gf.Sketch.from_bytes(most_skipped).skipped == 2**63 - 1
    start, rest = v(4) + z(0) + b"\0", v(0) + v(0) + NO_SECTIONS
    refused(
        {
            "version": claim(start, rest, version=2),
            "version 0": claim(start, rest, version=0),
            "flags": claim(start, rest, flags=8),
            "weighted without rows": claim(start, rest, flags=1),
            "flags of a range": claim(FIXED, v(0), NO_SECTIONS, flags=2 | 8),
            "reserved": claim(start, rest, reserved=1),
            "bins 8": claim(v(3), z(0), b"\0", rest),
            "bins 2**17": claim(v(17), z(0), b"\0", rest),
            "bins 2**(2**60)": claim(v(2**60), z(0), b"\0", rest),
            "level of nothing": claim(v(4), z(1), b"\0", rest),
            "level": claim(v(4), z(1064), z(0), rest, flags=2),
            "level below": claim(v(4), z(-1075), z(0), rest, flags=2),
            "first": claim(v(4), z(0), z(2**53), rest, flags=2),
            "groups": claim(start, v(0), v(65_536)),
            "huge varint": claim(start, b"\xff" * 100_000, b"\1"),
            "long varint": claim(start, b"\x80\0", v(0), NO_SECTIONS),
            "skipped 2**63": claim(start, v(2**63), v(0), NO_SECTIONS),
            "no number of sections": claim(start, v(0), v(0)),
            "more": claim(start, rest, b"\0"),
            "sides": claim(v(4), z(0), b"\x08", rest),
            "extent without rows": claim(v(4), z(0), b"\2", rest),
        }
    )


def test_what_names_could_claim_is_refused(backend):
    def named(n: int, *names: bytes, flags: int = 4) -> bytes:
        return claim(FIXED, v(n), *names, 3 * n * EMPTY, NO_SECTIONS, flags=2 | flags)

    assert gf.Sketch.from_bytes(named(2, b"\0" + z(1), b"\1\1a")).groups == (1, "a")
    refused(
        {
            "group without rows": named(1, b"\0" + z(1), flags=0),
            "group twice": named(2, 2 * (b"\0" + z(1))),
            "True and 1": named(2, b"\0" + z(1), b"\2\1"),
            "int beyond 64 bits": named(1, b"\0" + z(2**63)),
            "bool 2": named(1, b"\2\2"),
            "not UTF-8": named(1, b"\1\1\xff"),
            "surrogate": named(1, b"\1\3\xed\xa0\x80"),
            "empty tuple": named(1, b"\3\0"),
            "tuple in tuple": named(1, b"\3\1\3\1\0\0"),
            "seventeen": named(1, b"\3\x11" + 17 * b"\0\0"),
            "huge string": named(1, b"\1" + v(2**62)),
            "out of order": claim(FIXED, v(2), b"\0" + z(2), b"\0" + z(1), 2 * (ROW + 2 * EMPTY), v(0), flags=2),
        }
    )


def test_what_cells_could_claim_is_refused(backend):
    def cell(*parts: bytes, flags: int = 2) -> bytes:
        return claim(FIXED, v(1), b"\0", z(5), *parts, END, flags=flags)

    start = v(0) + v(0) + v(1)
    assert gf.Sketch.from_bytes(cell(ROW)).n_rows == 1

    def weighing(n: int, rows: int, squares: int, beyond: tuple[int, int] = (0, 0), below: int = 0) -> bytes:
        """A cell with a bin of n units, and some below the window."""
        front = v(below) + v(0) + v(1) + v(rows) + v(beyond[0]) + v(beyond[1])
        return cell(front + ONE + v(1) + v(n) + v(squares) + z(0), flags=3)

    most, one = 2**63 - 1, 2**20
    for n, rows, squares in ((3, 1, 9), (3, 3, 3), (3, 2, 5), (most, 1, most**2), (most, most, most), (one, 2, 2**39)):
        read = gf.Sketch.from_bytes(weighing(n, rows, squares))
        assert (read.n_rows, read.weight) == (rows, n / 2**20)
        assert read._core.squares(0)[0, 2] == squares / 2**40
    assert gf.Sketch.from_bytes(weighing(3, 2, 9, (25, 0), 5))._core.squares(0)[0, 0] == 25 / 2**40
    assert gf.Sketch.from_bytes(cell(start + ONE + v(1) + v(2**32) + z(2**55))).n_rows == 2**32
    refused(
        {
            "rows 2**63": cell(v(2**62) + v(2**62) + v(0)),
            "bins used": cell(v(0) + v(0) + v(17) + ONE),
            "bin 16": cell(start + two(16.0, 16.0) + v(16) + v(1) + z(0)),
            "bin 40": cell(v(0) + v(0) + v(2) + two(3.0, 40.0) + v(3) + v(1) + z(0) + v(36) + v(1) + z(0)),
            "nan": cell(ROW.replace(ONE, two(np.nan, np.nan))),
            "inf": cell(ROW.replace(ONE, two(1.0, np.inf))),
            "outside its bin": cell(ROW.replace(ONE, two(2.0, 2.0))),
            "min over max": cell(ROW.replace(ONE, two(1.75, 1.25))),
            "beyond 2**1000": cell(ROW.replace(ONE, two(1.0, 2.0**1001))),
            "no rows in a bin": cell(start + ONE + v(1) + v(0) + z(0)),
            "sum below": cell(start + ONE + v(1) + v(1) + z(-1)),
            "sum above": cell(start + ONE + v(1) + v(1) + z(2**23 + 1)),
            "minus zero": cell(start + two(-0.0, 0.0) + v(0) + v(1) + z(0)),
            "sum at zero negative": cell(start + two(0.5, 0.5) + v(0) + v(1) + z(-1) + z(-1)),
            "sum at zero too large": cell(start + two(0.5, 0.5) + v(0) + v(1) + z(3) + z(0)),
            "sum at zero not odd": cell(start + two(0.5, 0.5) + v(0) + v(1) + z(2) + z(-2)),
            "sum at zero below its unit": cell(start + two(0.5, 0.5) + v(0) + v(1) + z(1) + z(-1075)),
            "huge exponent": cell(start + two(0.5, 0.5) + v(0) + v(1) + z(1) + z(2**60)),
            "squares 0": weighing(3, 1, 0),
            "squares above": weighing(3, 1, 10),
            "squares below those of equal weights": weighing(3, 1, 8),
            "squares below the count": weighing(3, 3, 2),
            "squares of the most units above": weighing(most, 1, most**2 + 1),
            "squares beyond 128 bits": weighing(3, 1, 2**128 + 9),
            "no rows": weighing(3, 0, 9),
            "more rows than units": weighing(3, 4, 3),
            "fewer rows than places": weighing(3, 1, 9, (25, 0), 5),
            "squares below the window of no rows": weighing(3, 1, 8, (1, 0)),
            "squares above the window of no rows": weighing(3, 1, 8, (0, 1)),
            "no squares below the window": weighing(3, 2, 34, (0, 0), 5),
            "every weight is 1": weighing(one, 1, one**2),
            "every weight is 1, twice": weighing(2 * one, 2, 2 * one**2),
            "rows 2**63 of a weight": weighing(3, 2**63, 3),
            "sum of 2**32 rows above": cell(start + ONE + v(1) + v(2**32) + z(2**55 + 1)),
            "rows of a cell without any": cell(v(0) + v(0) + v(0) + v(1) + v(0) + v(0), flags=3),
        }
    )


def test_what_extents_could_claim_is_refused(backend):
    """Four scores, -3, 0, 1 and 5 in two cells; one of them has the largest, the other the smallest sizes."""
    sketch = gf.Sketch(bins=16).update([-3.0, 5.0, 0.0, 1.0], [0, 0, 1, 1], [0] * 4)
    level = sketch.level
    far = v(0) + v(0) + v(2) + two(-3.0, 5.0)
    body = sketch.to_bytes()
    extent = bytes([7]) + two(3.0, 3.0) + two(1.0, 5.0)
    assert extent in body
    assert far in body
    for what in (
        bytes([5]) + two(3.0, 3.0) + two(1.0, 5.0),  # there is a zero
        bytes([6]) + two(1.0, 5.0),  # there are scores below zero
        bytes([3]) + two(3.0, 3.0),  # and above
        bytes([7]) + two(2.0, 3.0) + two(1.0, 5.0),  # nobody has a score in the bin of -2
        bytes([7]) + two(3.0, 3.5) + two(1.0, 5.0),  # nor beyond -3
        bytes([7]) + two(3.0, 3.0) + two(1.0, 5.5),  # nor beyond 5
        bytes([7]) + two(3.0, 3.0) + two(1.0, 4.75),
        bytes([7]) + two(3.0, 3.0) + two(2.5, 5.0),  # 1 is nearer to zero
        bytes([7]) + two(3.0, 3.0) + two(5.0, 1.0),
        bytes([7]) + two(0.0, 3.0) + two(1.0, 5.0),
        bytes([7]) + two(-0.0, 3.0) + two(1.0, 5.0),
        bytes([7]) + two(-3.0, 3.0) + two(1.0, 5.0),
        bytes([7]) + two(np.nan, 3.0) + two(1.0, 5.0),
        bytes([7]) + two(3.0, np.nan) + two(1.0, 5.0),
        bytes([7]) + two(3.0, np.inf) + two(1.0, 5.0),
        bytes([7]) + two(3.0, 3.0) + two(1.0, 2.0**1001),
        bytes([15]) + two(3.0, 3.0) + two(1.0, 5.0),
    ):
        with pytest.raises(ValueError, match="not a valid sketch"):
            gf.Sketch.from_bytes(signed(body[:-4].replace(extent, what)))
    for other in (level - 1, level + 1):
        assert body[24:26] == v(4) + z(level)
        with pytest.raises(ValueError, match="level"):
            gf.Sketch.from_bytes(signed(body[:25] + z(other) + body[26:-4]))


def test_rows_in_a_gap_are_refused(backend):
    sketch = gf.Sketch(bins=16).update([-8.0, -4.0, 4.0, 8.0], [0] * 4, [0] * 4)
    assert np.flatnonzero(sketch.counts[0, 0]).tolist() == [0, 4, 6, 10], "bin 5 is the gap"
    ends, row = two(-8.0, 8.0), v(1) + z(0)  # one row, at the lower edge of its bin
    used = v(4) + ends + v(0) + row + v(3) + row + v(1) + row + v(3) + row
    body = sketch.to_bytes()[:-4]
    assert used in body
    with pytest.raises(ValueError, match="gap"):
        gf.Sketch.from_bytes(
            signed(body.replace(used, v(5) + ends + v(0) + row + v(3) + 2 * (row + v(0)) + row + v(3) + row))
        )


def test_skipped_rows_never_wrap(backend):
    nearly = gf.Sketch.from_bytes(claim(v(12), z(0), b"\0", v(2**63 - 2), v(0), NO_SECTIONS), nan="skip")
    assert nearly.update([np.nan], None, [0]).skipped == 2**63 - 1
    text = r"the sketch would hold 2\*\*63 rows or more, or a weight of 2\*\*43 or more; nothing was counted"
    for count in (
        lambda: nearly.update([np.nan], None, [0]),
        lambda: nearly.update([np.nan], None, [0], weights=[0.5]),
        lambda: nearly.update([np.nan, np.nan], None, [0, 0], repeats=[2**62, 2**62]),
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
    rest = v(0) + v(1) + b"\0" + z(5) + 3 * EMPTY + NO_SECTIONS
    with pytest.raises(ValueError, match="window is out of range"):
        gf.Sketch.from_bytes(claim(v(4), z(level), z(first), rest, flags=2 | 4))
    last = 2 ** (1024 - level) - 17 if first > 0 else 17 - 2 ** (1024 - level)
    sketch = gf.Sketch.from_bytes(claim(v(4), z(level), z(last), rest, flags=2 | 4))
    assert np.isfinite(sketch.edges).all()


def test_a_claim_of_many_groups_allocates_nothing(backend):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="groups"):
            gf.Sketch.from_bytes(claim(v(16), z(0), b"\0", v(0), v(65_535)))
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
