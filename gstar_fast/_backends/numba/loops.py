"""The compiled loops of the sketch: read a block once, sort out the odd rows, count the rest.

Every element of the caller's arrays is read once, into buffers of our own; all later steps see the buffers only, so an
array that changes meanwhile can spoil its own rows and nothing else. Sums are pending int64 numbers:

    table    for each cell and bin two words, to touch one cache line a row: count * 2**40 + sum of v, and sum of v * v,
             where a rounded score is `(v + base + k * origin) * unit` with v from 0 to 2**25
    full     for each cell and bin: count and sum of v, moved here from the table every 4096 rows
    squares  for each cell: sum of v * v moved from the table, in two halves of 32 bits
    zeros    for each cell, for the bins -1 and 0, for each of 64 exponents: sum of 24-bit mantissas, and their squares
             in two halves; smaller scores go to `tiny`, for Python to add

Bins are stored at `k mod bins`, so that a window that only shifts moves no data.
"""

# mypy: disable-error-code="no-untyped-def, assignment"
from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

EXPONENTS = 64  # of scores in the bins that touch zero; 2**-64 of a bin and below is rare
COUNT = 40  # the count stands above this bit of a table's first word
FULL = 52  # and must not reach this one: 4096 rows
GROW = -1
REFUSED = -2
DRAIN = -3


def _jit(function: Any) -> Any:
    return njit(nogil=True, cache=True, boundscheck=False, error_model="numpy")(function)


@_jit
def read(scores, labels, codes, most_label, direct, keys, slots, x, y, g, cell, window):
    """Copy rows into the buffers; return whether rows are outside the window, have bad labels, unknown groups."""
    lo, hi = window[0], window[1]
    outside = False
    for i in range(len(scores)):
        v = np.float64(scores[i]) + 0.0  # -0.0 becomes 0.0
        x[i] = v
        outside |= not (v >= lo and v < hi)
    bad = False
    for i in range(len(labels)):
        label = labels[i]
        y[i] = label
        bad |= label > most_label
    for i in range(len(codes)):
        g[i] = codes[i]
    unknown = False
    n_direct = np.uint64(len(direct))
    mask = np.uint64(len(keys) - 1)
    labelled = len(labels) > 0
    for i in range(len(codes)):
        code = np.uint64(g[i])
        if code < n_direct:
            slot = np.int64(direct[code])
        else:
            at = (code * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)) & mask
            while slots[at] >= 0 and keys[at] != code:
                at = (at + np.uint64(1)) & mask
            slot = np.int64(slots[at])
        unknown |= slot < 0
        cell[i] = slot * 3 + (np.int64(y[i]) if labelled else 2)
    return outside, bad, unknown


@_jit
def sort_out(x, cell, m, window, fixed, skip_nan, extent, below, above, skipped):
    """Count rows beyond the window and drop them and NaN from the buffers; return how many rows are left.

    Returns REFUSED, or GROW with the extent of the finite scores, before anything has changed.
    """
    lo, hi = window[0], window[1]
    smallest, largest = np.inf, -np.inf
    for i in range(m):
        v = x[i]
        if v != v:
            if not skip_nan:
                return REFUSED
        elif abs(v) > 2.0**1000:
            if abs(v) < np.inf:
                return REFUSED
        else:
            smallest = min(smallest, v)
            largest = max(largest, v)
    if not fixed:
        if smallest <= largest and (smallest < lo or largest >= hi):
            extent[0], extent[1] = smallest, largest
            return GROW
        lo, hi = -np.inf, np.inf  # only infinite scores are beyond the window
    kept = 0
    for i in range(m):
        v = x[i]
        if v != v:
            skipped[0] += 1
        elif v < lo or v == -np.inf:
            below[cell[i]] += 1
        elif v >= hi:
            above[cell[i]] += 1
        else:
            x[kept] = v
            cell[kept] = cell[i]
            kept += 1
    return kept


@_jit
def round24(bits, rounded, m):
    """Round float64, seen as bits, to 24 significant bits."""
    for i in range(m):
        u = bits[i]
        rounded[i] = (u + np.uint64(0x0FFFFFFF) + ((u >> np.uint64(29)) & np.uint64(1))) & np.uint64(0xFFFFFFFFE0000000)


@_jit
def count(x, r, r_bits, cell, m, scales, bins, top, sums):
    """Add m rows, all inside the window, to the pending sums."""
    lift, inverse_width, inverse_unit, origin, base = scales
    table, full, squares, zeros, mins, maxs, tiny_cell, tiny, n_tiny = sums
    mask = np.int64(bins - 1)
    low = np.int64(0xFFFFFFFF)
    one_row = np.int64(1) << np.int64(COUNT)
    for i in range(m):
        v = x[i]
        c = np.uint64(cell[i])
        k = np.floor(v * lift * inverse_width)
        number = np.int64(k)
        if v < mins[c]:
            mins[c] = v
        if v > maxs[c]:
            maxs[c] = v
        offset = np.int64(0)
        if np.uint64(number + 1) > np.uint64(1):
            offset = np.int64(r[i] * lift * inverse_unit - k * origin - base)
        else:  # the bins -1 and 0
            if v < 0:
                number = np.int64(-1)  # the quotient may have underflowed to zero
            u = np.int64(r_bits[i] & np.uint64(0x7FFFFFFFFFFFFFFF))
            if u != 0:
                field = u >> 52
                place = top - field
                if field > 0 and place >= 0 and place < EXPONENTS:
                    mantissa = (u & 0xFFFFFFFFFFFFF | 0x10000000000000) >> 29
                    spot = ((np.int64(c) * 2 + number + 1) * EXPONENTS + place) * 3
                    zeros[spot] += mantissa
                    zeros[spot + 1] += mantissa * mantissa & low
                    zeros[spot + 2] += mantissa * mantissa >> 32
                else:
                    tiny_cell[n_tiny[0]] = np.int64(c)
                    tiny[n_tiny[0]] = r[i]
                    n_tiny[0] += 1
        at = (c * np.uint64(bins) + np.uint64(number & mask)) * np.uint64(2)
        word = table[at] + one_row + offset
        square = table[at + np.uint64(1)] + offset * offset
        if word >> np.int64(FULL):
            full[at] += word >> np.int64(COUNT)
            full[at + np.uint64(1)] += word & (one_row - 1)
            squares[np.uint64(2) * c] += square & low
            squares[np.uint64(2) * c + np.uint64(1)] += square >> 32
            word = square = np.int64(0)
        table[at] = word
        table[at + np.uint64(1)] = square


@_jit
def consume(
    scores, labels, codes, pos, end, block, most_label, lookup, buffers, window, fixed, skip_nan, exact, scales, bins,
    top, odd, sums,
):  # fmt: skip
    """Count rows pos..end, block by block; return where it stopped, how many rows are in the buffers, and why.

    Stops at the first block Python must look at: rows to refuse or groups to learn (REFUSED), a window to widen (GROW),
    `tiny` nearly full (DRAIN); 0 at the end. The rows of that block are in the buffers, read but not counted.
    """
    direct, keys, slots = lookup
    x, x_bits, r, r_bits, y, g, cell = buffers
    extent, below, above, skipped = odd
    tiny, n_tiny = sums[7], sums[8]
    while pos < end:
        m = min(block, end - pos)
        outside, bad, unknown = read(
            scores[pos : pos + m], labels[pos : pos + m], codes[pos : pos + m],
            most_label, direct, keys, slots, x, y, g, cell, window,
        )  # fmt: skip
        if bad or unknown:
            return pos, m, REFUSED
        kept = m
        if outside:
            kept = sort_out(x, cell, m, window, fixed, skip_nan, extent, below, above, skipped)
            if kept < 0:
                return pos, m, kept
        if exact:
            count(x, x, x_bits, cell, kept, scales, bins, top, sums)
        else:
            round24(x_bits, r_bits, kept)
            count(x, r, r_bits, cell, kept, scales, bins, top, sums)
        pos += m
        if n_tiny[0] + block > len(tiny):
            return pos, 0, DRAIN
    return pos, 0, 0
