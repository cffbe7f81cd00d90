"""Better choices near a given one: one segment moves, then two at once. Reads `SegmentArrays`.

A choice is compared by how far it misses the limits, then by cost, distance and candidate.
"""

from __future__ import annotations

import numpy as np

from gstar_fast._backends.common.choices import within
from gstar_fast._backends.common.segments import SegmentArrays
from gstar_fast._base.arrays import Floats, Ints, Values

SHORT = 32  # candidates of a segment that are tried in pairs
ROUNDS = 8


def rate_of(p: SegmentArrays, r: int, a: int, sums: Values) -> Values:
    """Rate r of protected group a, where `sums` (C, ...) rows of each cell are accepted."""
    parts: list[Values] = [np.zeros(sums.shape[1:])] * 3
    for c in np.flatnonzero(p.cell // 3 == a):
        parts[int(p.cell[c]) % 3] = sums[c]
    neg, pos, spare = parts
    n_neg, n_pos, n_spare = p.totals[:, a]
    which = int(p.rate[r])
    if which == 0:
        return np.asarray(pos / n_pos)
    if which == 1:
        return np.asarray(neg / n_neg)
    if which == 2:
        return np.asarray((neg + pos + spare) / (n_neg + n_pos + n_spare))
    if which == 3:
        return np.asarray((pos + (n_neg - neg)) / (n_neg + n_pos))
    return np.asarray((pos / n_pos + (n_neg - neg) / n_neg) / 2)


def missed(p: SegmentArrays, sums: Values) -> Values:
    """How far sums (C, ...) miss the limits, added over rates; 0 where they meet them."""
    out = np.zeros(sums.shape[1:])
    total = np.zeros(sums.shape[1:])
    for r in range(len(p.rate)):
        rates = [rate_of(p, r, a, sums) for a in range(p.has.shape[1]) if p.has[r, a]]
        low = high = rates[0]
        for rate in rates[1:]:
            low, high = np.minimum(low, rate), np.maximum(high, rate)
        limit, ratio = float(p.limit[r]), float(p.ratio[r])
        by = np.maximum(np.maximum(high - low - limit, ratio * high - low), 1e-300)
        out = out + np.where(within(low, high, limit, ratio), 0.0, by)
        if r < 2:
            total = total + (high - low)
    return out + np.where(total <= p.total, 0.0, np.maximum(total - p.total, 1e-300))


def sums_of(p: SegmentArrays, numbers: Ints) -> Floats:
    return np.asarray(p.accepted[:, p.start[:-1] + numbers].sum(axis=1))  # whole numbers: exact in any order


def cost_of(p: SegmentArrays, numbers: Ints) -> int:
    return int(p.cost[p.start[:-1] + numbers].sum())


def _range(p: SegmentArrays, numbers: Ints, j: int) -> tuple[int, int]:
    """Candidates that segment j may take, the others staying."""
    size = int(p.start[j + 1] - p.start[j])
    if not p.rising:
        return 0, size
    m = len(numbers)
    return int(numbers[j - 1]) if j > 0 else 0, int(numbers[j + 1]) + 1 if j + 1 < m else size


def move_one(p: SegmentArrays, numbers: Ints) -> tuple[Ints, float]:
    """Move one segment after the other to its best candidate until none moves; how far the choice misses the limits."""
    numbers = numbers.copy()
    sums = sums_of(p, numbers)
    miss = float(missed(p, sums))
    for _ in range(ROUNDS):
        moved = False
        for j in range(len(numbers)):
            low, high = _range(p, numbers, j)
            first = int(p.start[j])
            mine = first + int(numbers[j])
            others = sums - p.accepted[:, mine]
            at = slice(first + low, first + high)
            away = missed(p, others[:, None] + p.accepted[:, at])
            order = np.lexsort((p.distance[at], p.cost[at], away))  # stable: the lowest candidate of equals
            best = int(order[0])
            entry = first + low + best
            key = (float(away[best]), int(p.cost[entry]), int(p.distance[entry]))
            if key < (miss, int(p.cost[mine]), int(p.distance[mine])):
                numbers[j], miss, moved = low + best, key[0], True
                sums = others + p.accepted[:, entry]
        if not moved:
            break
    return numbers, miss


def move_two(p: SegmentArrays, numbers: Ints, lists: list[Ints]) -> tuple[Ints, float]:
    """Move two segments at once to listed candidates while that helps."""
    numbers = numbers.copy()
    sums = sums_of(p, numbers)
    miss = float(missed(p, sums))
    for _ in range(ROUNDS):
        moved = False
        for j in range(len(numbers)):
            for k in range(j + 1, len(numbers)):
                one, two = int(p.start[j] + numbers[j]), int(p.start[k] + numbers[k])
                others = sums - p.accepted[:, one] - p.accepted[:, two]
                left, right = p.start[j] + lists[j], p.start[k] + lists[k]
                both = others[:, None, None] + p.accepted[:, left][:, :, None] + p.accepted[:, right][:, None, :]
                away = missed(p, both).ravel()
                cost = (p.cost[left][:, None] + p.cost[right][None, :]).ravel()
                far = (p.distance[left][:, None] + p.distance[right][None, :]).ravel()
                best = int(np.lexsort((far, cost, away))[0])
                key = (float(away[best]), int(cost[best]), int(far[best]))
                now = (miss, int(p.cost[one] + p.cost[two]), int(p.distance[one] + p.distance[two]))
                if key < now:
                    numbers[j], numbers[k] = lists[j][best // len(right)], lists[k][best % len(right)]
                    miss, moved = key[0], True
                    sums = both.reshape(len(sums), -1)[:, best]
        if not moved:
            break
    return numbers, miss
