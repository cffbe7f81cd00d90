"""Better choices near a given one: one segment moves, then two at once. Reads `Program`.

A choice is compared by how far it misses the limits, then by cost, distance and candidate. A move changes the measures
that have features in its segments; the others are looked at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from itertools import combinations

import numpy as np

from gstar_fast._backends.common.choices import within
from gstar_fast._backends.common.segments import HIGH, LEAST, LOW, RATIO, Program
from gstar_fast._base.arrays import Ints, Values

SHORT = 32  # candidates of a segment that are tried in pairs
ROUNDS = 8


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


class State:
    """Hits and values of all measures at a choice."""

    def __init__(self, p: Program, numbers: Ints) -> None:
        self.p = p
        self.hits = p.given.copy()
        for j, i in enumerate(numbers.tolist()):
            for q in p.parts[j]:
                self.hits[q] += hits_of(p, j, q, i)
        self.values = np.array([float(value_of(p, q, self.hits[q])) for q in range(len(p.base))])

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

    def missed(self, changed: dict[int, Values]) -> Values:
        """How far measures miss the limits, added over windows; 0 where they meet them."""
        rows = self.p.rows

        def end(some: Values, of_two: np.ufunc) -> Values:
            measures = np.unique(rows.measure[some]).tolist()
            return np.asarray(reduce(of_two, [changed.get(q, self.values[q]) for q in measures]))

        most = next(iter(rows.right[rows.share > 0].tolist()), np.inf)  # of the sum of two gaps
        out: Values = np.zeros(())
        total: Values = np.zeros(())
        for w in range(rows.n_windows):
            mine = rows.window == w
            if not np.any(mine & (rows.kind != LOW)):  # a ratio that a slack has used up
                continue
            low, high = end(mine & (rows.kind == LOW), np.minimum), end(mine & (rows.kind != LOW), np.maximum)
            summed = bool(rows.share[mine].any())
            limit = min([*rows.right[mine & (rows.kind == HIGH)][:1].tolist(), most if summed else np.inf])
            ratio = next(iter(rows.scale[mine & (rows.kind == RATIO)].tolist()), -1.0)
            by = np.maximum(np.maximum(high - low - limit, ratio * high - low), 1e-300)
            out = out + np.where(within(low, high, limit, ratio), 0.0, by)
            if summed:
                total = total + (high - low)
        for i in np.flatnonzero(rows.kind >= LEAST).tolist():
            q, sign = int(rows.measure[i]), -1.0 if rows.kind[i] == LEAST else 1.0
            out = out + _over(sign * changed.get(q, self.values[q]), float(rows.right[i]))
        return out + _over(total, most)


def _over(value: Values, most: float) -> Values:
    return np.where(value <= most, 0.0, np.maximum(value - most, 1e-300))


def cost_of(p: Program, numbers: Ints) -> int:
    return int(p.cost[p.start[:-1] + numbers].sum())


def _range(p: Program, numbers: Ints, j: int) -> Ints:
    """Candidates that segment j may take, the others staying."""
    low, high = 0, int(p.start[j + 1] - p.start[j])
    if p.rising:
        low, high = max([low, *numbers[:j][-1:]]), min([high, *(numbers[j + 1 : j + 2] + 1)])
    return np.arange(low, high)


def move_one(p: Program, numbers: Ints) -> tuple[Ints, float]:
    """Move one segment after the other to its best candidate until none moves; how far the choice misses the limits."""
    return _moved(p, numbers, lambda at: ({j: _range(p, at, j)} for j in range(len(at))))


def move_two(p: Program, numbers: Ints, lists: list[Ints]) -> tuple[Ints, float]:
    """Move two segments at once to listed candidates while that helps."""
    pairs = [{j: lists[j], k: lists[k]} for j, k in combinations(range(len(numbers)), 2)]
    return _moved(p, numbers, lambda _: pairs)


def _moved(p: Program, numbers: Ints, tried: Callable[[Ints], Iterable[dict[int, Ints]]]) -> tuple[Ints, float]:
    """Move segments together to the best of the candidates that are tried for them, until no move helps."""
    numbers = numbers.copy()
    state = State(p, numbers)
    miss = float(state.missed({}))
    for _ in range(ROUNDS):
        before = numbers.copy()
        for lists in tried(numbers):
            segments, candidates = list(lists), list(lists.values())
            entries = [p.start[j] + some for j, some in lists.items()]
            shape = [len(some) for some in candidates]
            away = np.broadcast_to(state.away(numbers, lists), shape).ravel()
            cost, far = (reduce(np.add.outer, [each[at] for at in entries]).ravel() for each in (p.cost, p.distance))
            best = int(np.lexsort((far, cost, away))[0])  # stable: the lowest candidates of equals
            mine = p.start[segments] + numbers[segments]
            key = (float(away[best]), int(cost[best]), int(far[best]))
            if key < (miss, int(p.cost[mine].sum()), int(p.distance[mine].sum())):
                places = np.unravel_index(best, shape)
                numbers[segments] = [some[i] for some, i in zip(candidates, places, strict=True)]
                state, miss = State(p, numbers), key[0]
        if np.array_equal(numbers, before):
            break
    return numbers, miss
