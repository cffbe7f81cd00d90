"""Better choices near a given one: one segment moves, then two at once. Reads `Program`.

A choice is compared by how far it misses the limits, then by cost, distance and candidate. A move changes the measures
that have features in its segments; the others are looked at once.
"""

from __future__ import annotations

import numpy as np

from gstar_fast._backends.common.choices import within
from gstar_fast._backends.common.segments import HIGH, LEAST, LOW, RATIO, Program
from gstar_fast._base.arrays import Floats, Ints, Values

SHORT = 32  # candidates of a segment that are tried in pairs
ROUNDS = 8
Changed = dict[int, Values]  # measures that a move changes


def hits_of(p: Program, j: int, q: int, candidates: Ints | int) -> Values:
    """What candidates of segment j add to both quotients of measure q, (2, ...)."""
    values = p.features[j][1]
    out: Values = np.zeros((2, *np.shape(candidates)))
    for f, hits in p.parts[j].get(q, ()):
        out += np.multiply.outer(hits, values[f, candidates])
    return out


def value_of(p: Program, q: int, hits: Values) -> Values:
    """Measure q with these hits (2, ...)."""
    one, (first, second) = hits[0] / p.trials[q, 0], p.trials[q]
    assert first > 0
    return np.asarray((one + hits[1] / second) / 2 if second > 0 else one)


def missed(p: Program, values: Floats, changed: Changed) -> Values:
    """How far measures (Q,) miss the limits, added over windows; 0 where they meet them."""
    rows = p.rows

    def ends(some: Values, least: bool) -> Values:
        mine = [changed.get(q, values[q]) for q in np.unique(rows.measure[some]).tolist()]
        out: Values = mine[0]
        for one in mine[1:]:
            out = np.minimum(out, one) if least else np.maximum(out, one)
        return out

    added = np.flatnonzero(rows.share > 0)
    most = float(rows.right[added[0]]) if len(added) else np.inf
    out: Values = np.zeros(())
    total: Values = np.zeros(())
    for w in range(rows.n_windows):
        mine = rows.window == w
        if not np.any(mine & (rows.kind != LOW)):  # a ratio that a slack has used up
            continue
        low, high = ends(mine & (rows.kind == LOW), least=True), ends(mine & (rows.kind != LOW), least=False)
        summed = bool(rows.share[mine].any())
        limit = min([*rows.right[mine & (rows.kind == HIGH)][:1].tolist(), most if summed else np.inf])
        ratio = next(iter(rows.scale[mine & (rows.kind == RATIO)].tolist()), -1.0)
        by = np.maximum(np.maximum(high - low - limit, ratio * high - low), 1e-300)
        out = out + np.where(within(low, high, limit, ratio), 0.0, by)
        if summed:
            total = total + (high - low)
    for i in np.flatnonzero(rows.kind >= LEAST).tolist():
        q, sign = int(rows.measure[i]), -1.0 if rows.kind[i] == LEAST else 1.0
        out = out + _over(sign * changed.get(q, values[q]), float(rows.right[i]))
    return out + _over(total, most)


def _over(value: Values, most: float) -> Values:
    return np.where(value <= most, 0.0, np.maximum(value - most, 1e-300))


class State:
    """Hits and values of all measures at a choice."""

    def __init__(self, p: Program, numbers: Ints) -> None:
        self.p = p
        self.hits = p.given.copy()
        for j, i in enumerate(numbers.tolist()):
            for q in p.parts[j]:
                self.hits[q] += hits_of(p, j, q, i)
        self.values = np.array([float(value_of(p, q, self.hits[q])) for q in range(len(p.base))])

    def missed(self, changed: Changed | None = None) -> Values:
        return missed(self.p, self.values, changed or {})

    def away(self, numbers: Ints, moved: dict[int, Ints]) -> Values:
        """How far choices miss the limits that have other candidates in some segments: one axis for each of them."""
        p, changed = self.p, {}
        for q in {q: None for j in moved for q in p.parts[j]}:
            hits = self.hits[q]
            for j, candidates in moved.items():
                more = hits_of(p, j, q, candidates) - hits_of(p, j, q, int(numbers[j]))[:, None]
                hits = hits[..., None] + more.reshape(2, *(1,) * (hits.ndim - 1), -1)
            changed[q] = value_of(p, q, hits)
        return self.missed(changed)


def cost_of(p: Program, numbers: Ints) -> int:
    return int(p.cost[p.start[:-1] + numbers].sum())


def _range(p: Program, numbers: Ints, j: int) -> tuple[int, int]:
    """Candidates that segment j may take, the others staying."""
    size = int(p.start[j + 1] - p.start[j])
    if not p.rising:
        return 0, size
    m = len(numbers)
    return int(numbers[j - 1]) if j > 0 else 0, int(numbers[j + 1]) + 1 if j + 1 < m else size


def move_one(p: Program, numbers: Ints) -> tuple[Ints, float]:
    """Move one segment after the other to its best candidate until none moves; how far the choice misses the limits."""
    numbers = numbers.copy()
    state = State(p, numbers)
    miss = float(state.missed())
    for _ in range(ROUNDS):
        moved = False
        for j in range(len(numbers)):
            low, high = _range(p, numbers, j)
            first = int(p.start[j])
            mine = first + int(numbers[j])
            at = slice(first + low, first + high)
            away = np.broadcast_to(state.away(numbers, {j: np.arange(low, high)}), high - low)
            order = np.lexsort((p.distance[at], p.cost[at], away))  # stable: the lowest candidate of equals
            best = int(order[0])
            entry = first + low + best
            key = (float(away[best]), int(p.cost[entry]), int(p.distance[entry]))
            if key < (miss, int(p.cost[mine]), int(p.distance[mine])):
                numbers[j], miss, moved = low + best, key[0], True
                state = State(p, numbers)
        if not moved:
            break
    return numbers, miss


def move_two(p: Program, numbers: Ints, lists: list[Ints]) -> tuple[Ints, float]:
    """Move two segments at once to listed candidates while that helps."""
    numbers = numbers.copy()
    state = State(p, numbers)
    miss = float(state.missed())
    for _ in range(ROUNDS):
        moved = False
        for j in range(len(numbers)):
            for k in range(j + 1, len(numbers)):
                one, two = int(p.start[j] + numbers[j]), int(p.start[k] + numbers[k])
                left, right = p.start[j] + lists[j], p.start[k] + lists[k]
                both = state.away(numbers, {j: lists[j], k: lists[k]})
                away = np.broadcast_to(both, (len(left), len(right))).ravel()
                cost = (p.cost[left][:, None] + p.cost[right][None, :]).ravel()
                far = (p.distance[left][:, None] + p.distance[right][None, :]).ravel()
                best = int(np.lexsort((far, cost, away))[0])
                key = (float(away[best]), int(cost[best]), int(far[best]))
                now = (miss, int(p.cost[one] + p.cost[two]), int(p.distance[one] + p.distance[two]))
                if key < now:
                    numbers[j], numbers[k] = lists[j][best // len(right)], lists[k][best % len(right)]
                    miss, moved = key[0], True
                    state = State(p, numbers)
        if not moved:
            break
    return numbers, miss
