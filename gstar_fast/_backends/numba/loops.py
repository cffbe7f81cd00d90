"""The compiled loops of the sketch: read a block once, place its rows, count them; rows that need thought come last.

Every element of the caller's arrays is read once, into buffers of our own; all later steps see the buffers only, so an
array that changes meanwhile can spoil its own rows and nothing else. A row is counted without thought if it lies within
the extremes its cell has already seen and not in the two bins that touch zero: that one test covers NaN, infinities,
new extremes and the window. All others are listed as special. Sums are pending int64 numbers:

    table    for each cell and bin: count * 2**44 + sum of v, where a rounded score is `(v + base + k * origin) * unit`
             with v from 0 to 2**25; a word whose count reaches 2**19 turns negative and moves to `full`
    full     for each cell and bin: count and sum of v
    squares  for each cell: sum of v * v, which moves to the two halves of 32 bits behind it when it turns negative
    zeros    for each cell, for the bins -1 and 0, for each of 64 exponents: sum of 24-bit mantissas, and their squares
             in two halves; smaller scores go to `tiny`, for Python to add
    ends     for each cell: smallest and largest score
    beyond   for each cell: rows below and above the window

Bins are stored at `k mod bins`, so that a window that only shifts moves no data. Loops are split so that each either
can be vectorised or must touch the table; one that both looks up and stores is neither, and costs several times more.
"""

# mypy: disable-error-code="no-untyped-def, assignment"
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numba import njit

EXPONENTS = 64  # of scores in the bins that touch zero; 2**-64 of a bin and below is rare
COUNT = 44  # the count stands above this bit of a table's word
OFFSETS = 2.0**23  # offsets in a bin's width, where the window is near zero
GROW = -1
REFUSED = -2
DRAIN = -3
SKIPPED, N_TINY, SPILLED = 0, 1, 2  # places in `state`: NaN rows, rows in `tiny`, whether `full` is in use


Loop: TypeAlias = Callable[..., Any]  # compiled for the types it is called with


def _jit(function: Callable[..., object], **options: Any) -> Loop:
    """Compile for Python, without a door for C that nobody uses.

    The loops allocate nothing and their callers hold all arrays, so nothing is gained by counting references: it costs
    more than a hundred locked instructions a block.
    """
    options["no_cfunc_wrapper"] = True
    options["_nrt"] = False
    compiled: Loop = njit(nogil=True, cache=True, boundscheck=False, error_model="numpy", **options)(function)
    return compiled


def _inner(function: Callable[..., object]) -> Loop:
    """Compile for other compiled functions only: a door for Python takes longer than many a loop."""
    return _jit(function, no_cpython_wrapper=True)


@_inner
def read(scores, labels, codes, x, y, g):
    """Copy rows into the buffers, unlabelled ones where there are no labels."""
    for i in range(len(scores)):
        x[i] = np.float64(scores[i]) + 0.0  # -0.0 becomes 0.0
    for i in range(len(labels)):
        y[i] = labels[i]
    if len(labels) == 0:
        for i in range(len(scores)):
            y[i] = 2
    for i in range(len(codes)):
        g[i] = codes[i]


@_inner
def mixed(number):
    """SplitMix64's step, as the reference's `hash_key` takes it."""
    number += np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@_inner
def assign(m, y, g, most_label, lookup, cell):
    """Find the cell of every row; return whether a label must be refused or a group is not known."""
    direct, keys, slots = lookup
    n_direct = np.uint64(len(direct))
    most = np.uint64(most_label)
    unknown, hashed = False, False
    for i in range(m):
        unknown |= np.uint64(y[i]) > most
    for i in range(m):
        hashed |= np.uint64(g[i]) >= n_direct
    if hashed:
        mask = np.uint64(len(keys) - 1)
        for i in range(m):
            code = np.uint64(g[i])
            if code < n_direct:
                slot = np.int64(direct[code])
            else:
                at = mixed(code) & mask
                while slots[at] >= 0 and keys[at] != code:
                    at = (at + np.uint64(1)) & mask
                slot = np.int64(slots[at])
            unknown |= slot < 0
            cell[i] = slot * 3 + np.int64(y[i])
    else:
        signs = np.int64(0)
        for i in range(m):
            c = np.int64(direct[np.uint64(g[i])]) * 3 + np.int64(y[i])  # below zero where the slot is
            signs |= c
            cell[i] = c
        unknown |= signs < 0
    if unknown:
        for i in range(m):  # so that later loops stay within their arrays
            if np.int32(cell[i]) < 0 or np.uint64(y[i]) > most:
                cell[i] = 0
    return unknown


@_inner
def inner_range(ends, n_groups, least_label, most_label):
    """The range that all cells a batch may have rows for have seen; empty where one has no rows yet."""
    lo, hi = -np.inf, np.inf
    for slot in range(n_groups):
        for label in range(least_label, most_label + 1):
            lo = max(lo, ends[2 * (3 * slot + label)])
            hi = min(hi, ends[2 * (3 * slot + label) + 1])
    return lo, hi


@_inner
def all_within(m, x, lo, hi):
    """Whether all scores lie in a range."""
    outside = False
    for i in range(m):
        outside |= not ((x[i] >= lo) & (x[i] <= hi))
    return not outside


@_inner
def all_seen(m, x, cell, ends):
    """Whether all scores lie within the extremes of their cells."""
    outside = False
    for i in range(m):
        v, c = x[i], np.uint64(cell[i])
        outside |= not ((v >= ends[np.uint64(2) * c]) & (v <= ends[np.uint64(2) * c + np.uint64(1)]))
    return not outside


@_inner
def round24(bits, rounded, m):
    """Round float64, seen as bits, to 24 significant bits."""
    for i in range(m):
        u = bits[i]
        rounded[i] = (u + np.uint64(0x0FFFFFFF) + ((u >> np.uint64(29)) & np.uint64(1))) & np.uint64(0xFFFFFFFFE0000000)


@_inner
def place(m, x, r, cell, scale, shift, at, offset):
    """Where in the table each row belongs, and its offset; -1 for the bins that touch zero."""
    mask = np.int32((1 << shift) - 1)
    for i in range(m):
        k = np.floor(x[i] * scale)
        offset[i] = np.int32((r[i] * scale - k) * OFFSETS)
        there = (np.int64(cell[i]) << shift) + np.int64(np.int32(k) & mask)
        at[i] = there if np.abs(k + 0.5) > 1.0 else np.int64(-1)


@_inner
def judge(m, x, cell, ends, grid, fixed, skip_nan, extent, at):
    """Take their place from the rows outside their cell's extremes.

    Returns REFUSED, GROW with the extent that is needed, or 0.
    """
    smallest, largest = np.inf, -np.inf
    for i in range(m):
        v, c = x[i], np.uint64(cell[i])
        if (v >= ends[np.uint64(2) * c]) & (v <= ends[np.uint64(2) * c + np.uint64(1)]):
            continue
        at[i] = -1
        if v != v:
            if not skip_nan:
                return REFUSED
        elif abs(v) > 2.0**1000:
            if abs(v) < np.inf:
                return REFUSED
        else:
            smallest = min(smallest, v)
            largest = max(largest, v)
    if fixed or smallest > largest or (smallest >= grid[0] and largest < grid[1]):
        return 0
    extent[2], extent[3] = smallest, largest
    return GROW


@_inner
def spill(at, word, full, state):
    """Move a word of the table to where more rows fit."""
    full[np.uint64(2) * at] += np.int64(np.uint64(word) >> np.uint64(COUNT))
    full[np.uint64(2) * at + np.uint64(1)] += word & ((np.int64(1) << COUNT) - 1)
    state[SPILLED] = 1


@_inner
def spill_square(c, square, squares):
    """Move a cell's sum of squares to where more fit."""
    squares[np.uint64(3) * c + np.uint64(1)] += square & 0xFFFFFFFF
    squares[np.uint64(3) * c + np.uint64(2)] += np.int64(np.uint64(square) >> np.uint64(32))


@_inner
def add(m, at, offset, shift, sums, special):
    """Count the rows that have a place; return how many others are listed in `special`."""
    table, full, squares, state = sums[0], sums[1], sums[2], sums[6]
    n_special = 0
    for i in range(m):
        there = at[i]
        if there < 0:
            special[n_special] = i
            n_special += 1
            continue
        spot, v = np.uint64(there), np.int64(offset[i])
        c = spot >> np.uint64(shift)
        word = table[spot] + (np.int64(1) << COUNT) + v
        if word < 0:
            spill(spot, word, full, state)
            word = 0
        table[spot] = word
        square = squares[np.uint64(3) * c] + v * v
        if square < 0:
            spill_square(c, square, squares)
            square = 0
        squares[np.uint64(3) * c] = square
    return n_special


@_inner
def think(n_special, special, x, r, r_bits, cell, grid, fixed, bins, top, extent, sums):
    """Count special rows, after the window has grown for them."""
    table, full, squares, zeros, ends, beyond, state, tiny_cell, tiny = sums
    lo, hi = (grid[0], grid[1]) if fixed else (-np.inf, np.inf)  # without a range only infinities are beyond
    lift, inverse_width, inverse_unit, origin, base = grid[3], grid[4], grid[5], grid[6], grid[7]
    mask = np.int64(bins - 1)
    for j in range(n_special):
        i = np.uint64(special[j])
        v, c = x[i], np.uint64(cell[i])
        if v != v:
            state[SKIPPED] += 1
            continue
        if v < lo or v == -np.inf:
            beyond[np.uint64(2) * c] += 1
            continue
        if v >= hi:
            beyond[np.uint64(2) * c + np.uint64(1)] += 1
            continue
        if v < ends[np.uint64(2) * c]:
            ends[np.uint64(2) * c] = v
            extent[0] = min(extent[0], v)
        if v > ends[np.uint64(2) * c + np.uint64(1)]:
            ends[np.uint64(2) * c + np.uint64(1)] = v
            extent[1] = max(extent[1], v)
        k = np.floor(v * lift * inverse_width)
        number = np.int64(k)
        offset = np.int64(0)
        if np.uint64(number + 1) > np.uint64(1):
            offset = np.int64(r[i] * lift * inverse_unit - k * origin - base)
        else:  # the bins -1 and 0
            if v < 0:
                number = np.int64(-1)  # the quotient may have underflowed to zero
            u = np.int64(r_bits[i] & np.uint64(0x7FFFFFFFFFFFFFFF))
            if u != 0:
                field = u >> 52
                depth = top - field
                if field > 0 and depth >= 0 and depth < EXPONENTS:
                    mantissa = (u & 0xFFFFFFFFFFFFF | 0x10000000000000) >> 29
                    spot = ((np.int64(c) * 2 + number + 1) * EXPONENTS + depth) * 3
                    zeros[spot] += mantissa
                    zeros[spot + 1] += mantissa * mantissa & 0xFFFFFFFF
                    zeros[spot + 2] += mantissa * mantissa >> 32
                else:
                    tiny_cell[state[N_TINY]] = np.int64(c)
                    tiny[state[N_TINY]] = r[i]
                    state[N_TINY] += 1
        there = c * np.uint64(bins) + np.uint64(number & mask)
        word = table[there] + (np.int64(1) << COUNT) + offset
        if word < 0:
            spill(there, word, full, state)
            word = 0
        table[there] = word
        square = squares[np.uint64(3) * c] + offset * offset
        if square < 0:
            spill_square(c, square, squares)
            square = 0
        squares[np.uint64(3) * c] = square


@_jit
def consume(
    scores, labels, codes, pos, end, block, held, n_special, most_label, lookup, n_groups, buffers, grid, fixed,
    skip_nan, exact, bins, top, extent, sums,
):  # fmt: skip
    """Count rows pos..end, block by block; return where it stopped, rows in the buffers, special ones left, and why.

    Stops where Python must look: at a block with rows to refuse or groups to learn, of which nothing is counted yet
    (REFUSED); at one whose special rows need a wider window, while the others are counted (GROW); where `tiny` may not
    hold another block (DRAIN); 0 at the end. Called again with what it returned, it goes on with the rows it held, and
    takes them for checked: a group that is still unknown then has no row that counts.
    """
    x, x_bits, r, r_bits, y, g, cell, at, offset, special = buffers
    ends, state, tiny = sums[4], sums[6], sums[8]
    least_label = 0 if len(labels) else 2
    shift = np.int64(0)
    while (1 << shift) < bins:
        shift += 1
    if exact:
        r, r_bits = x, x_bits
    lo, hi = inner_range(ends, n_groups, least_label, most_label)
    while pos < end:
        m = held if held else min(block, end - pos)
        if not n_special:
            if state[N_TINY] + m > len(tiny):
                return pos, held, 0, DRAIN
            if not held:
                read(scores[pos : pos + m], labels[pos : pos + m], codes[pos : pos + m], x, y, g)
            unknown = assign(m, y, g, most_label, lookup, cell)
            if unknown and not held:
                return pos, m, 0, REFUSED
            if not exact:
                round24(x_bits, r_bits, m)
            place(m, x, r, cell, grid[2], shift, at, offset)
            why = 0
            if not (all_within(m, x, lo, hi) or all_seen(m, x, cell, ends)):
                why = judge(m, x, cell, ends, grid, fixed, skip_nan, extent, at)
                if why == REFUSED:
                    return pos, m, 0, REFUSED
            n_special = add(m, at, offset, shift, sums, special)
            if why == GROW:
                return pos, m, n_special, GROW
        if n_special:
            think(n_special, special, x, r, r_bits, cell, grid, fixed, bins, top, extent, sums)
            if n_groups < 64:  # with many groups one of them mostly has few rows
                lo, hi = inner_range(ends, n_groups, least_label, most_label)
        held = n_special = 0
        pos += m
    return pos, 0, 0, 0


@_jit
def count_one(score, c, buffers, grid, fixed, bins, top, extent, sums):
    """Count one row within the extremes of its cell; return whether it was."""
    x, x_bits, r, r_bits, cell, special = buffers[0], buffers[1], buffers[2], buffers[3], buffers[6], buffers[9]
    ends, state, tiny = sums[4], sums[6], sums[8]
    v = score + 0.0
    if not (v >= ends[2 * c] and v <= ends[2 * c + 1]) or state[N_TINY] == len(tiny):
        return False
    x[0], cell[0], special[0] = v, c, 0
    round24(x_bits, r_bits, 1)
    think(1, special, x, r, r_bits, cell, grid, fixed, bins, top, extent, sums)
    return True


@_jit
def empty_table(table, full, squares, state):
    """Move everything from the table, and the sums of squares, to where more rows fit."""
    for at in range(len(table)):
        if table[at] != 0:
            spill(np.uint64(at), table[at], full, state)
            table[at] = 0
    for c in range(len(squares) // 3):
        spill_square(np.uint64(c), squares[3 * c], squares)
        squares[3 * c] = 0


@_jit
def coarsen(full, bins, first, shift, zeros, coarse):
    """Add the bins of `full`, whose window starts at `first`, to `coarse`, `shift` levels up.

    What comes to touch zero leaves its value in `zeros`, whose exponents are those of the coarser level already.
    """
    mask = np.int64(bins - 1)
    for c in range(len(full) // (2 * bins)):
        for k in range(first, first + bins):
            at = np.uint64(2 * (c * bins + (k & mask)))
            n, v = full[at], full[at + np.uint64(1)]
            if n == 0:
                continue
            to = k >> shift
            goal = np.uint64(2 * (c * bins + (to & mask)))
            coarse[goal] += n
            if to != 0 and to != -1:
                coarse[goal + np.uint64(1)] += (v + n * ((k - (to << shift)) << 23)) >> shift
            elif k != 0 and k != -1:
                zeros[((c * 2 + to + 1) * EXPONENTS + shift) * 3] += abs(((n * k) << 23) + v)
