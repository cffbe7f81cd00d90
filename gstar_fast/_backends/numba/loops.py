"""The compiled loops of the sketch: check a block of rows, find the column of each, and count them.

The table has for each cell, 3 * slot of the group + label, columns of a count and the sum of the rounded scores, where
`ring` is a power of two that is not less than the number of bins:

    k & (ring - 1)           bin number k of scores above zero, but bin 0
    ring + k & (ring - 1)    bin number k of scores below zero, but bin -1
    2 * ring + deep          bin 0 by octaves: `deep` is 0 for the one next to the upper edge
    2 * ring + 64 + deep     bin -1 by octaves
    2 * ring + 128 ...       the score zero, rows below the window, rows above it

A window has fewer bins than the ring, so that no two of them meet, and a row's column depends on the grid alone.
So the scores of one column lie in one octave, and their roundings are whole numbers of one unit, of up to 25 bits.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from gstar_fast._backends.numba.jit import jit

BLOCK = 1024  # rows whose columns are found before they are counted: the buffers stay in the first cache
DEEP = 64  # octaves next to zero that have columns
MORE = 2 * DEEP + 3  # columns after those of the rings
GROW, REFUSED = -1, -2

# Places in an extent: bits of the largest and smallest size on each side of zero, between them whether there is a zero.
BELOW, ORIGIN, ABOVE = 0, 2, 3

SIZE = np.int64(0x7FFFFFFFFFFFFFFF)  # the bits of |x|
INFINITE = np.int64(0x7FF0000000000000)
LARGEST = np.int64(0x7E70000000000000)  # 2.0**1000
FRACTION = np.int64(0x000FFFFFFFFFFFFF)
ONE = np.int64(0x0010000000000000)
HALF = np.int64(0x0FFFFFFF)  # rounding to 24 bits leaves out 29

compiled = jit(error_model="numpy")


@compiled
def assign(y, g, places, most_label, cell):
    """Find the cell of every row, and return whether a label or a group is unknown."""
    last, largest, signs = np.uint64(len(places) - 1), np.uint64(0), np.int32(0)  # the last place is of unknown codes
    for i in range(len(g)):
        cell[i] = places[min(np.uint64(g[i]), last)]
    for i in range(len(g)):
        slot, label = cell[i], np.uint64(y[i])
        signs, largest = signs | slot, max(largest, label)
        cell[i] = max(slot, np.int32(0)) * np.int32(3) + np.int32(label)
    return signs < 0 or largest > np.uint64(most_label)


@compiled
def measure(bits, found):
    """Write the extent of finite scores to `found`; return whether a score is NaN, and whether one is too large."""
    below_far, below_near, above_far, above_near = np.int64(0), INFINITE, np.int64(0), INFINITE
    zero, nan, large = False, False, False
    for i in range(len(bits)):
        u = bits[i]
        a = u & SIZE
        nan |= a > INFINITE
        large |= (a > LARGEST) & (a < INFINITE)
        zero |= a == 0
        far = a if a < INFINITE else np.int64(0)
        near = a if a > 0 else INFINITE
        below_far = max(below_far, far if u < 0 else np.int64(0))
        above_far = max(above_far, far if u > 0 else np.int64(0))
        below_near = min(below_near, near if u < 0 else INFINITE)
        above_near = min(above_near, near if u > 0 else INFINITE)
    found[BELOW], found[BELOW + 1], found[ORIGIN] = below_far, below_near, zero
    found[ABOVE], found[ABOVE + 1] = above_far, above_near
    return nan, large


@compiled
def place(x, bits, cell, grid, lo, hi, at, value):
    """Find the column of every row and its rounded score; -1 for NaN, subnormal scores and those too near to zero.

    `grid` has biased exponents of the lowest octave and of the first linear one, log2 of the bins in an octave, what
    shifts count from, the biased exponent of the smallest width, and the size of a ring. A score has a significand of
    53 bits; a bin is `2**right` wide in units of its last bit. Below zero bins hold their far edge, so a power of two
    there belongs to the octave before it; bin numbers are complements of those above.
    """
    low, top, per, reach, least, ring = grid
    columns, last = 2 * ring + MORE, 2 * ring + 2 * DEEP
    for i in range(len(x)):
        u = bits[i]
        sign = u >> 63  # 0 or -1
        a = u & SIZE
        e = a >> 52
        w = (a & FRACTION) | ONE
        edge = (w == ONE) & sign  # 1 for a power of two below zero
        octave = min(max(e, low), top)
        right = np.int64(min(np.uint64(octave + reach - e), np.uint64(63)))
        size = ((w + sign) >> right) + ((octave - low) << per)
        deep = least - 1 - (e - edge)
        rounded = ((w + HALF + ((w >> 29) & 1)) >> 29) << edge
        known = (a >= ONE) & (a <= INFINITE) & ((size > 0) | (deep < DEEP))
        column = ((size ^ sign) & (ring - 1)) - sign * ring
        column = column if size > 0 else 2 * ring - sign * DEEP + deep
        column = column if known else np.int64(-1)
        column = last if a == 0 else column
        column = last + 1 if x[i] < lo else column
        column = last + 2 if x[i] >= hi else column
        value[i] = (rounded ^ sign) - sign if column < last else np.int64(0)
        at[i] = np.int64(cell[i]) * columns + column if column >= 0 else np.int64(-1)


@compiled
def add(x, cell, at, value, lo, hi, first, table, ends, rest, left):
    """Count the rows that have a column, and list the others in `rest`."""
    for i in range(len(x)):
        row = at[i]
        if row < 0:
            rest[left] = first + i
            left += 1
            continue
        spot = np.uint64(2) * np.uint64(row)
        table[spot] += 1
        table[spot + np.uint64(1)] += value[i]
        c, v = np.uint64(2) * np.uint64(cell[i]), x[i]
        if v < ends[c] and v >= lo:
            ends[c] = v
        if v > ends[c + np.uint64(1)] and v < hi:
            ends[c + np.uint64(1)] = v
    return left


@compiled
def consume(
    x, y, g, places, most_label, skip_nan, checked, fixed, seen, found, grid, span, table, ends, rest
):  # fmt: skip
    """Count rows, all or none; return how many of them are only listed in `rest`, or why none is counted.

    REFUSED: a row must be rejected, or a group learned. GROW: scores lie outside the extent `seen`; `found` has theirs.
    With `checked`, a row without a known group has no score.
    """
    n, bits = len(x), x.view(np.int64)
    cell, at, value = np.empty(n, np.int32), np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    unknown = assign(y, g, places, most_label, cell)
    nan, large = measure(bits, found)
    if (unknown and not checked) or large or (nan and not skip_nan):
        return REFUSED
    outside = found[ORIGIN] > seen[ORIGIN]
    for side in (BELOW, ABOVE):
        outside |= (found[side] > seen[side]) | (found[side + 1] < seen[side + 1])
    if outside and not fixed:
        return GROW
    lo, hi = span
    left = 0
    for start in range(0, n, BLOCK):
        end = min(n, start + BLOCK)
        m = end - start
        place(x[start:end], bits[start:end], cell[start:end], grid, lo, hi, at[:m], value[:m])
        left = add(x[start:end], cell[start:end], at, value, lo, hi, start, table, ends, rest, left)
    return left
