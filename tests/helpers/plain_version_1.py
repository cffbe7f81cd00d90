"""Bytes of version 1 from rows, as `docs/sketch_format.md` says them; shares no code with the library."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from fractions import Fraction

from helpers.plain_sketch import Row, least, name_bytes, order, round24, sealed, varint, wide, zigzag

Change = Callable[[Fraction], Fraction]


def window_of(scores: Sequence[float], bins: int, limits: tuple[float, float] | None) -> tuple[int, int]:
    """Level and first bin."""
    if limits is None and not scores:
        return 0, 0
    lo, hi = (min(scores), max(scores)) if limits is None else limits

    def fits(s: int) -> bool:
        unit = Fraction(2) ** s
        first, last = math.floor(Fraction(lo) / unit), math.floor(Fraction(hi) / unit)
        end = last + 1 if limits is None else math.ceil(Fraction(hi) / unit)
        furthest = max(abs(first), abs(last if limits is None else end))
        return end - first <= bins and furthest + bins <= 2**53

    level = least(-1074, fits)
    return level, math.floor(Fraction(lo) / Fraction(2) ** level)


def version_1_bytes(
    rows: Sequence[Row],
    bins: int,
    limits: tuple[float, float] | None = None,
    skipped: int = 0,
    squares: Change = lambda q: q,
) -> bytes:
    """The bytes of learned groups; `squares` changes the sum of squares of every cell, as an attacker would."""
    rows = [(x + 0.0, y, g, w) for x, y, g, w in rows]
    weighted = any(w.denominator != 1 for *_, w in rows)
    unit = 2**20 if weighted else 1
    there = [(x, y, g, round(w * unit)) for x, y, g, w in rows if round(w * unit)]
    level, first = window_of([x for x, *_ in there if math.isfinite(x)], bins, limits)
    out = [varint(bins.bit_length() - 1), zigzag(level), zigzag(first), varint(skipped)]
    groups = sorted({order(g): g for _, _, g, _ in there}.items())
    out += varint(len(groups)), *(name_bytes(g) for _, g in groups)
    for key, _ in groups:
        for label in range(3):
            cell = [(x, w) for x, y, g, w in there if y == label and order(g) == key]
            out.append(_cell(cell, level, first, bins, squares))
    return sealed(b"".join(out), weighted | (limits is not None) << 1, version=1)


def _cell(rows: list[tuple[float, int]], level: int, first: int, bins: int, squares: Change) -> bytes:
    width = Fraction(2) ** level
    lo, hi = first * width, (first + bins) * width
    inside = [(x, w) for x, w in rows if math.isfinite(x) and lo <= Fraction(x) < hi]
    below = sum(w for x, w in rows if x == -math.inf or (math.isfinite(x) and Fraction(x) < lo))
    above = sum(w for _, w in rows) - below - sum(w for _, w in inside)
    used: dict[int, list[tuple[float, int]]] = {}
    for x, w in inside:
        used.setdefault(math.floor(Fraction(x) / width), []).append((x, w))
    out = [varint(below), varint(above), varint(len(used))]
    if inside:
        out.append(struct.pack("<dd", min(x for x, _ in inside), max(x for x, _ in inside)))
        out.append(wide(squares(sum((w * round24(x) ** 2 for x, w in inside), Fraction(0)))))
    last = -1
    for k in sorted(used):
        n, total = sum(w for _, w in used[k]), sum((w * round24(x) for x, w in used[k]), Fraction(0))
        offsets = (total - n * k * width) / (width / 2**23)
        out += varint(k - first - last - 1), varint(n), wide(total) if k in (0, -1) else zigzag(int(offsets))
        last = k - first
    return b"".join(out)
