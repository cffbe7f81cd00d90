"""The compiled loops of the sketch: read a block once, place its rows, count them; rows that need thought come last.

Every element of the caller's arrays is read once, into buffers of our own; all later steps see the buffers only, so an
array that changes meanwhile can spoil its own rows and nothing else. A row is counted without thought if it lies within
the extremes its cell has already seen, is no nearer to zero than the nearest score of its side so far, and is not in
the two bins that touch zero, unless it is zero itself: these tests cover NaN, infinities, all that may change the
window, and all that has no offset. All others are listed as special. Sums are pending int64 numbers:

    table    for each cell and bin: count * 2**44 + sum of offsets, where these are from 0 to 2**23; a word whose count
             reaches 2**19 turns negative and moves to `full`
    full     for each cell and bin: count and sum of offsets, in the bin's own unit, as the format's `n` and `S`
    zeros    for each cell, for the bins -1 and 0: their sum as a wide number, in slots of 32 binary places, each with
             its low 28 bits apart so that neither part overflows
    ends     for each cell: smallest and largest score
    beyond   for each cell: rows below and above the window

Sizes are compared as the bits of a float64, which ascend with it. Loops are split so that each either can be vectorised
or must touch the table; one that both looks up and stores is neither, and costs several times more.
"""

# mypy: disable-error-code="no-untyped-def, assignment"
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numba import njit

OFFSET = 24  # bits that a row's offset takes below its place
COUNT = 44  # the count stands above this bit of a table's word
SLOTS = 68  # of a wide sum: from 2**SUM_UNIT to beyond the largest score
PIECE = 28  # bits in the low part of a slot
GROW = -1
REFUSED = -2
SKIPPED, SPILLED = 0, 1  # places in `state`: NaN rows, whether `full` is in use

# Places in `window`: whether offsets fit a word; biased exponents of the lowest octave and of the first linear one, how
# many bits the bins of an octave take, what shifts count from; what turns bin numbers of each side into places, and the
# place of zero (NOWHERE: none); the bits of the smallest width.
NEAR, LOW, TOP, PER, REACH, NEGATIVE, POSITIVE, ZERO, LEAST = range(9)
# Places in `extent`, for each side of zero: bits of the largest and smallest size, and between them whether there is a
# zero. The rows counted so far, then those about to be, then what the window has room for.
BELOW, ORIGIN, ABOVE = 0, 2, 3
SEEN, ASKED, ROOM = 0, 5, 10

SIZE = np.int64(0x7FFFFFFFFFFFFFFF)  # the bits of |x|
NOWHERE = np.int64(-1) << 38  # below zero after any place is added
INFINITE = np.int64(0x7FF0000000000000)
FRACTION = np.int64(0x000FFFFFFFFFFFFF)
ONE = np.int64(0x0010000000000000)
HALF = np.int64(0x0FFFFFFF)  # round24 leaves out 29 bits


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
        for i in range(m):
            cell[i] = direct[np.uint64(g[i])]
        signs = np.uint32(0)
        for i in range(m):
            c = np.uint32(cell[i] * np.uint32(3) + np.uint32(y[i]))  # the sign of a slot that is not known stays
            signs = np.uint32(signs | c)
            cell[i] = c
        unknown |= np.int32(signs) < 0
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
def place(m, bits, cell, window, floor, shift, at):
    """Where in the table each row belongs, and below that its offset; negative for the rows that need thought.

    `floor` has the smallest size that needs none, of scores below and above zero, and the place of zero. A score is a
    significand of 53 bits; a bin is `2**right` wide in units of its last bit. Below zero bins hold their far edge, and
    their numbers and offsets are turned around: a number is the complement of what it would be above.
    """
    low, top, per, reach = window[LOW], window[TOP], window[PER], window[REACH]
    first = window[POSITIVE] - (low << per)
    turned = window[POSITIVE] + window[NEGATIVE]
    least_below, least_above, zero = floor
    zero <<= OFFSET
    for i in range(m):
        u = bits[i]
        sign = u >> 63  # 0 or -1
        a = u & SIZE
        e = a >> 52
        octave = min(max(e, low), top)
        right = np.int64(min(np.uint64(octave + reach - e), np.uint64(63)))
        w = (a & FRACTION) | ONE
        q = (w + sign) >> right
        offset = (w + HALF + ((w >> 29) & 1) - ((q - sign) << right)) >> 29
        start = np.int64(cell[i]) << shift
        index = ((q + (octave << per) + first) ^ sign) + (sign & turned)
        least = least_above + (sign & (least_below - least_above))
        row = start + (index << OFFSET) + ((offset ^ sign) - sign)
        at[i] = row if a >= least else (start + zero if a == 0 else np.int64(-1))


@_inner
def judge(m, x, cell, ends, skip_nan, at):
    """Take their place from the rows outside their cell's extremes; return whether one must be refused."""
    for i in range(m):
        v, c = x[i], np.uint64(cell[i])
        if (v >= ends[np.uint64(2) * c]) & (v <= ends[np.uint64(2) * c + np.uint64(1)]):
            continue
        at[i] = -1
        if v != v:
            if not skip_nan:
                return True
        elif abs(v) > 2.0**1000 and abs(v) < np.inf:
            return True
    return False


@_inner
def spill(at, word, full, state):
    """Move a word of the table to where more rows fit."""
    full[np.uint64(2) * at] += np.int64(np.uint64(word) >> np.uint64(COUNT))
    full[np.uint64(2) * at + np.uint64(1)] += word & ((np.int64(1) << COUNT) - 1)
    state[SPILLED] = 1


@_inner
def add(m, at, sums, special):
    """Count the rows that have a place; return how many others are listed in `special`."""
    table, full, state = sums[0], sums[1], sums[5]
    n_special = 0
    for i in range(m):
        row = at[i]
        if row < 0:
            special[n_special] = i
            n_special += 1
            continue
        spot = np.uint64(row >> OFFSET)
        word = table[spot] + (np.int64(1) << COUNT) + (row & ((np.int64(1) << OFFSET) - 1))
        if word < 0:
            spill(spot, word, full, state)
            word = 0
        table[spot] = word
    return n_special


@_inner
def outgrown(n_special, special, bits, extent):
    """Whether special rows need another window; their extent is then the one that is asked for."""
    for side in (BELOW, ABOVE):
        extent[ASKED + side], extent[ASKED + side + 1] = 0, INFINITE
    extent[ASKED + ORIGIN] = 0
    for j in range(n_special):
        u = bits[special[j]]
        a = u & SIZE
        if a == 0:
            extent[ASKED + ORIGIN] = 1
        elif a < INFINITE:
            side = ASKED + (BELOW if u < 0 else ABOVE)
            extent[side] = max(extent[side], a)
            extent[side + 1] = min(extent[side + 1], a)
    more = extent[ASKED + ORIGIN] > extent[ROOM + ORIGIN]
    for side in (BELOW, ABOVE):
        more |= extent[ASKED + side] > extent[ROOM + side]
        more |= extent[ASKED + side + 1] < extent[ROOM + side + 1]
    return more


@_inner
def put(zeros, wide, value, unit):
    """Add `value * 2**(unit + SUM_UNIT)`, a value of up to 25 bits, to a wide sum."""
    spot = 2 * (wide * SLOTS + (unit >> 5))
    value <<= unit & 31
    zeros[spot] += value & ((np.int64(1) << PIECE) - 1)
    zeros[spot + 1] += value >> PIECE


@_inner
def think(n_special, special, x, bits, cell, window, span, bins, extent, sums):
    """Count special rows, after the window has grown for them."""
    table, full, zeros, ends, beyond, state = sums
    lo, hi = span
    low, top, per, reach = window[LOW], window[TOP], window[PER], window[REACH]
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
        ends[np.uint64(2) * c] = min(ends[np.uint64(2) * c], v)
        ends[np.uint64(2) * c + np.uint64(1)] = max(ends[np.uint64(2) * c + np.uint64(1)], v)
        a = bits[i] & SIZE
        there = window[ZERO]
        offset = np.int64(0)
        if a == 0:
            extent[SEEN + ORIGIN] = 1
        else:
            below = np.int64(v < 0)
            side = SEEN + (BELOW if below else ABOVE)
            extent[side] = max(extent[side], a)
            extent[side + 1] = min(extent[side + 1], a)
            given = max(a >> 52, 1)  # subnormal scores have the smallest normal ones' exponent, and no leading one
            w = a if a < ONE else (a & FRACTION) | ONE
            rounded = (w + HALF + ((w >> 29) & 1)) >> 29  # in units of 2**(given - 1046)
            e = given
            while w < ONE + below:  # a power of two below zero is the far end of the octave before it
                w <<= 1
                e -= 1
            octave = min(max(e, low), top)
            right = min(octave + reach - e, 63)
            q = (w - below) >> right
            size = q + ((octave - low) << per)
            if size == 0:
                put(zeros, np.int64(c) * 2 + 1 - below, rounded, given + 51)
            else:
                unit = min(right, 29)  # of the offset, in units of 2**(e - 1075)
                offset = (rounded << min(given - e + 29 - unit, 63)) - ((q + below) << (right - unit))
                offset = -offset if below else offset
            there = -1 - size + window[NEGATIVE] if below else size + window[POSITIVE]
        spot = c * np.uint64(bins) + np.uint64(there)
        if window[NEAR]:
            word = table[spot] + (np.int64(1) << COUNT) + offset
            if word < 0:
                spill(spot, word, full, state)
                word = 0
            table[spot] = word
        else:
            full[np.uint64(2) * spot] += 1
            full[np.uint64(2) * spot + np.uint64(1)] += offset
            state[SPILLED] = 1


@_inner
def floor_of(window, fixed, extent):
    """The smallest size on each side of zero that needs no thought, and the place of zero, if it needs none."""
    if not window[NEAR]:
        return INFINITE, INFINITE, NOWHERE
    below, above, zero = window[LEAST] + 1, window[LEAST], window[ZERO]
    if not fixed:
        below, above = max(below, extent[SEEN + BELOW + 1]), max(above, extent[SEEN + ABOVE + 1])
        if not extent[SEEN + ORIGIN]:
            zero = NOWHERE
    return below, above, zero


@_jit
def consume(
    scores, labels, codes, pos, end, block, held, n_special, most_label, lookup, n_groups, buffers, window, fixed,
    span, skip_nan, bins, extent, sums,
):  # fmt: skip
    """Count rows pos..end, block by block; return where it stopped, rows in the buffers, special ones left, and why.

    Stops where Python must look: at a block with rows to refuse or groups to learn, of which nothing is counted yet
    (REFUSED); at one whose special rows need a wider window, while the others are counted (GROW); 0 at the end. Called
    again with what it returned, it goes on with the rows it held, and takes them for checked: a group that is still
    unknown then has no row that counts.
    """
    x, bits, y, g, cell, at, special = buffers
    ends = sums[3]
    least_label = 0 if len(labels) else 2
    shift = np.int64(0)
    while (1 << shift) < bins:
        shift += 1
    lo, hi = inner_range(ends, n_groups, least_label, most_label)
    while pos < end:
        m = held if held else min(block, end - pos)
        if not n_special:
            if not held:
                read(scores[pos : pos + m], labels[pos : pos + m], codes[pos : pos + m], x, y, g)
            unknown = assign(m, y, g, most_label, lookup, cell)
            if unknown and not held:
                return pos, m, 0, REFUSED
            place(m, bits, cell, window, floor_of(window, fixed, extent), shift + OFFSET, at)
            seen = all_within(m, x, lo, hi) or all_seen(m, x, cell, ends)
            if not seen and judge(m, x, cell, ends, skip_nan, at):
                return pos, m, 0, REFUSED
            n_special = add(m, at, sums, special)
            if n_special and not fixed and outgrown(n_special, special, bits, extent):
                return pos, m, n_special, GROW
        if n_special:
            think(n_special, special, x, bits, cell, window, span, bins, extent, sums)
            if n_groups < 64:  # with many groups one of them mostly has few rows
                lo, hi = inner_range(ends, n_groups, least_label, most_label)
        held = n_special = 0
        pos += m
    return pos, 0, 0, 0


@_jit
def count_one(score, c, buffers, window, fixed, span, bins, extent, sums):
    """Count one row that changes no extreme of its cell, nor the extent; return whether it was."""
    x, bits, cell, special = buffers[0], buffers[1], buffers[4], buffers[6]
    ends = sums[3]
    v = score + 0.0
    if not (v >= ends[2 * c] and v <= ends[2 * c + 1]):
        return False
    x[0], cell[0], special[0] = v, c, 0
    a, nearest = bits[0] & SIZE, extent[SEEN + (BELOW if v < 0 else ABOVE) + 1]
    if not (fixed or (a >= nearest if a != 0 else extent[SEEN + ORIGIN] != 0)):
        return False
    think(1, special, x, bits, cell, window, span, bins, extent, sums)
    return True


@_jit
def empty_table(table, full, ends, state):
    """Move everything from the table to where more rows fit."""
    bins = 2 * len(table) // len(ends)
    for c in range(len(ends) // 2):
        if ends[2 * c] <= ends[2 * c + 1]:
            for at in range(c * bins, (c + 1) * bins):
                if table[at] != 0:
                    spill(np.uint64(at), table[at], full, state)
                    table[at] = 0


@_jit
def pour(full, ends, cells, bins, route, goal, zeros):
    """Add the bins of `full`, cell c to cell `cells[c]`, to those of another window; `route` says how.

    It has, for each bin that has rows: where it is, and where there; which of the bins at zero that is (0: -1, 1: 0, 2:
    none of them); the distance from the start of that bin, or from zero, in our bin's unit; the unit; by how many
    places units differ.
    """
    used, places, sides, starts, units, shifts = route
    for c in range(len(cells)):
        if not ends[2 * c] <= ends[2 * c + 1]:
            continue
        for j in range(len(used)):
            at = 2 * (c * bins + used[j])
            n, v = full[at], full[at + 1]
            if n == 0:
                continue
            there = 2 * (cells[c] * bins + places[j])
            goal[there] += n
            v += n * starts[j]
            if sides[j] == 2:
                goal[there + 1] += v >> shifts[j]
            else:
                v, unit = abs(v), units[j]
                while v:
                    put(zeros, 2 * cells[c] + sides[j], v & 0xFFFFFF, unit)
                    v >>= 24
                    unit += 24
