"""From rows to bytes as `docs/sketch_format.md` says it, in fractions and loops; shares no code with the library."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

Row = tuple[float, int, object, Fraction]  # score, label, group, weight


def varint(value: int) -> bytes:
    """LEB128, written from the definition."""
    digits = [value & 127]
    while value := value >> 7:
        digits.append(value & 127)
    return bytes([d | 128 for d in digits[:-1]] + digits[-1:])


def zigzag(value: int) -> bytes:
    """A signed integer."""
    return varint(2 * value if value >= 0 else -2 * value - 1)


def wide(value: Fraction) -> bytes:
    """An odd number times a power of two."""
    if not value:
        return zigzag(0)
    e = 1 - value.denominator.bit_length()
    odd = value.numerator
    while odd % 2 == 0:
        odd, e = odd // 2, e + 1
    return zigzag(odd) + zigzag(e)


def name_bytes(name: object) -> bytes:
    """A group's name."""
    if isinstance(name, bool):
        return b"\2" + bytes([name])
    if isinstance(name, int):
        return b"\0" + zigzag(name)
    if isinstance(name, str):
        return b"\1" + varint(len(name.encode())) + name.encode()
    assert isinstance(name, tuple)
    return b"\3" + varint(len(name)) + b"".join(map(name_bytes, name))


def order(name: object) -> tuple[object, ...]:
    """Bools, ints, strings, tuples."""
    if isinstance(name, tuple):
        return 3, tuple(map(order, name))
    return (0 if isinstance(name, bool) else 1 if isinstance(name, int) else 2), name


def round24(x: float) -> Fraction:
    """To 24 significant bits, but not finer than 2**-1045; ties to even."""
    if x == 0:
        return Fraction(0)
    unit = Fraction(2) ** max(octave(x) - 23, -1045)
    return round(Fraction(x) / unit) * unit


def octave(x: float) -> int:
    """floor(log2 |x|)"""
    return math.frexp(x)[1] - 1


class Grid(NamedTuple):
    """The grid of the page; `per` None is linear."""

    s: int
    per: int | None
    octaves: int

    def width(self, x: float) -> int:
        """log2 of the width of the bin of x."""
        if self.per is None:
            return self.s
        return self.s - self.octaves if x == 0 else max(self.s - self.octaves, min(self.s, octave(x) - self.per))

    def number(self, x: float) -> int:
        """The bin of x."""
        w = self.width(x)
        a = Fraction(x) / Fraction(2) ** w
        if self.per is None:
            return math.floor(a)
        before = (w - (self.s - self.octaves)) * 2**self.per
        return before + math.floor(a) if x >= 0 else -before - math.ceil(-a)

    def lower(self, k: int) -> Fraction:
        """The lower edge of bin k."""
        if self.per is None:
            return k * Fraction(2) ** self.s
        up = max(0, min(abs(k) // 2**self.per - 1, self.octaves))
        sign = (k > 0) - (k < 0)
        return sign * (abs(k) - up * 2**self.per) * Fraction(2) ** (self.s - self.octaves + up)


def runs_of(grid: Grid, scores: Sequence[float]) -> list[list[int]]:
    """The runs of bins that scores need."""
    runs: list[list[int]] = []
    for side in ([x for x in scores if x < 0], [x for x in scores if x == 0], [x for x in scores if x > 0]):
        if side:
            first, last = grid.number(min(side)), grid.number(max(side))
            if runs and first <= runs[-1][1] + 1:
                runs[-1][1] = last
            else:
                runs.append([first, last])
    return runs


def size_of(runs: list[list[int]]) -> int:
    """Bins of the runs, and of the gaps between them."""
    return sum(last - first + 1 for first, last in runs) + len(runs) - 1


def least(low: int, fits: Callable[[int], bool]) -> int:
    """The least level that fits; one that fits is followed only by such."""
    high = 1100
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle + 1, high)
    return low


def nested(scores: Sequence[float], bins: int) -> tuple[Grid, list[int | None]]:
    """The grid that finite scores get, and the number of each bin of the window, None for a gap."""
    most, octaves = max(bins.bit_length() - 1 - 6, 0), min(40, bins // 4 + 1)
    if not scores:
        return Grid(0, most, octaves), list(range(bins))
    below, above = [-x for x in scores if x < 0], [x for x in scores if x > 0]
    overlap = bool(below and above and min(below) <= max(above) and min(above) <= max(below))
    per = max(most - 1, 0) if overlap else most
    sizes = [abs(x) for x in scores]

    def fits(s: int) -> bool:
        far = math.floor(Fraction(max(sizes)) / Fraction(2) ** s) + bins <= 2**53
        room = size_of(runs_of(Grid(s, per, octaves), scores)) <= bins
        folded = not overlap or size_of(runs_of(Grid(s, most, octaves), sizes)) <= bins - 4
        return far and room and folded

    grid = Grid(least(-1074 + octaves, fits), per, octaves)
    numbers: list[int | None] = []
    for first, last in runs_of(grid, scores):
        numbers += [None] * bool(numbers) + list(range(first, last + 1))
    end = numbers[-1]
    assert end is not None
    numbers += range(end + 1, end + 1 + bins - len(numbers))
    return grid, numbers


def sum_bytes(grid: Grid, k: int, rows: list[tuple[float, int]]) -> bytes:
    """Sum of the scores of one bin, as it is written; each row has its multiplicity."""
    total = sum((w * round24(x) for x, w in rows), Fraction(0))
    if k in (0, -1):
        return wide(total)
    lower, upper = grid.lower(k), grid.lower(k + 1)
    nearer = float(min(abs(lower), abs(upper)))
    unit = min(upper - lower, Fraction(2) ** (octave(nearer) - 23))
    s = (total - sum(w for _, w in rows) * lower) / unit
    assert s.denominator == 1
    return zigzag(s.numerator)


def cell_bytes(grid: Grid, numbers: list[int | None], rows: list[tuple[float, int]], weighted: bool) -> bytes:
    """One cell; each row has its multiplicity."""
    finite = [row for row in rows if math.isfinite(row[0])]
    bins: dict[int, list[tuple[float, int]]] = {}
    for x, w in finite:
        bins.setdefault(grid.number(x), []).append((x, w))
    out = [varint(sum(w for x, w in rows if x == sign * math.inf)) for sign in (-1, 1)] + [varint(len(bins))]
    if weighted and rows:
        out.append(varint(len(rows)))
        out += [varint(sum(w * w for x, w in rows if x == sign * math.inf)) for sign in (-1, 1)]
    if finite:
        out.append(struct.pack("<dd", min(x for x, _ in finite), max(x for x, _ in finite)))
    last = -1
    for k in sorted(bins):
        index = numbers.index(k)
        out += varint(index - last - 1), varint(sum(w for _, w in bins[k]))
        out += [varint(sum(w * w for _, w in bins[k]))] * weighted
        out.append(sum_bytes(grid, k, bins[k]))
        last = index
    return b"".join(out)


def plain_bytes(rows: Sequence[Row], bins: int) -> bytes:
    """The bytes of a sketch without range and with learned groups."""
    rows = [(x + 0.0, y, g, w) for x, y, g, w in rows]
    parts = [(x, y, g, round(w * 2**20)) for x, y, g, w in rows]
    weighted = any(w not in (0, 2**20) for *_, w in parts)
    there = [(x, y, g, w if weighted else 1) for x, y, g, w in parts if w]
    scores = [x for x, *_ in there if math.isfinite(x)]
    grid, numbers = nested(scores, bins)
    sides = [sorted(-x for x in scores if x < 0), sorted(x for x in scores if x > 0)]
    out = [varint(bins.bit_length() - 1), zigzag(grid.s)]
    out.append(bytes([bool(sides[0]) + 2 * (0.0 in scores) + 4 * bool(sides[1])]))
    out += [struct.pack("<dd", side[0], side[-1]) for side in sides if side]
    groups = sorted({order(g): g for _, _, g, _ in there}.items())
    out += varint(0), varint(len(groups)), *(name_bytes(g) for _, g in groups)
    for key, _ in groups:
        for label in range(3):
            cell = [(x, w) for x, y, g, w in there if y == label and order(g) == key]
            out.append(cell_bytes(grid, numbers, cell, weighted))
    out.append(varint(0))
    return sealed(b"".join(out), int(weighted))


def sealed(body: bytes, flags: int, version: int = 1, reserved: int = 0) -> bytes:
    """A body with its header and its checksum."""
    magic = bytes([0x89]) + b"GSTAR\r\n"
    head = struct.pack("<8sHHIQ", magic, version, flags, reserved, 24 + len(body) + 4)
    return head + body + struct.pack("<I", zlib.crc32(head + body))
