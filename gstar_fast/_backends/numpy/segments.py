"""The search for the best choice: cut the range of a segment that the mixture of a node mixes, and bound both parts.

A node is closed only by its bound, never by giving up a limit: the bounds of the leaves are the proof. Choices become
better by moves of one segment, then of two at once. They are compared by how far they miss the limits, then by cost,
distance and candidate.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from itertools import combinations

import numpy as np

from gstar_fast._backends.common.choices import within
from gstar_fast._backends.common.segments import HIGH, LEAST, LOW, RATIO, Best, Leaves, Program
from gstar_fast._backends.numpy.segments_bounds import Node, Search, mix, value_of
from gstar_fast._base.arrays import Bools, Floats, Ints, Values

__all__ = ["choose", "mix"]

SHORT = 32  # candidates of a segment that are tried in pairs
ROUNDS = 8


class Tree(Search):
    """The search for the best choice."""

    def __init__(self, p: Program, names: list[Ints] | None = None) -> None:
        super().__init__(p)
        self.names = names  # what candidates were called before some were left out
        self.best: Ints | None = None
        self.cost = 0
        self.enough = np.inf  # a bound above this closes a node

    def offer(self, numbers: Ints, miss: float) -> bool:
        """Keep a choice if it meets the limits and is better."""
        if miss > 0:
            return False
        cost = cost_of(self.p, numbers)
        if self.best is not None and cost >= self.cost:
            return False
        self.best, self.cost = numbers.copy(), cost
        self.enough = cost / self.p.unit - self.step
        return True

    def rounded(self, node: Node) -> Ints:
        """The heaviest candidate of each segment."""
        out = np.zeros(self.m, np.int64)
        heavy = np.full(self.m, -1.0)
        for block, numbers, share in node.columns:
            for j in range(self.m) if self.p.rising else (block,):
                if share > heavy[j] or (share == heavy[j] and numbers[j] < out[j]):
                    out[j], heavy[j] = numbers[j], share
        return out

    def values(self, node: Node) -> list[Floats]:
        """What the candidates of each segment weigh at the multipliers of a node."""
        weights = self.weights(self.net(node.multipliers), node.weight)
        sizes = np.diff(self.p.start).tolist()
        return [value_of(self.p, weights, j, slice(0, size)) for j, size in enumerate(sizes)]

    def lists(self, node: Node) -> list[Ints]:
        """The candidates of each segment that the multipliers like best."""
        return [np.sort(np.argsort(value, kind="stable")[:SHORT]) for value in self.values(node)]

    def kept(self, node: Node) -> Bools:
        """Candidates that a choice better than the best one may have, by the bound of the root."""
        return np.concatenate([node.bound + (value - value.min()) <= self.enough for value in self.values(node)])

    def spread(self, node: Node) -> tuple[int, int]:
        """Which segment to cut, and after which candidate; segment -1 where the box is one choice."""
        p = self.p
        best, found, cut = 0.0, -1, 0
        norm = np.zeros(len(p.price))
        np.add.at(norm, p.terms[0], np.abs(p.slope))
        for j in range(self.m):
            columns = [column for column in node.columns if column[2] > 1e-9 and (p.rising or column[0] == j)]
            mine = [(int(numbers[j]), share) for _, numbers, share in columns]
            if not mine:
                continue
            low, high = min(i for i, _ in mine), max(i for i, _ in mine)
            if low == high:
                continue
            total = place = 0.0
            for i, share in mine:
                total += share
                place += share * i
            wide = 0.0
            for c, rows in zip(*p.features[j], strict=True):
                mean = 0.0
                for i, share in mine:
                    mean += share * float(rows[i])
                mean /= total
                for i, share in mine:
                    wide += float(norm[c]) * share * abs(float(rows[i]) - mean)
            if wide > best or found < 0:
                best, found = wide, j
                cut = min(max(int(place / total), low), high - 1)
        if found < 0:
            widths = node.high - node.low
            found = int(np.argmax(widths))
            if widths[found] == 0:
                return -1, 0
            cut = int(node.low[found] + node.high[found]) // 2
        return found, cut

    def polish(self, node: Node) -> None:
        numbers, miss = move_one(self.p, self.rounded(node))
        if not self.offer(numbers, miss) or self.p.rising:
            return
        self.offer(*move_two(self.p, numbers, self.lists(node)))

    def run(self, root: Node, node_limit: int, end: float) -> Best:
        """Branch until every node is closed; `root` has been solved, and choices were offered."""
        nodes = [root]
        queue: list[tuple[float, int]] = []
        if not root.empty and root.bound <= self.enough:
            queue.append((root.bound, 0))
        finished = True
        while queue:
            if queue[0][0] > self.enough:
                break
            if len(nodes) >= node_limit or time.monotonic() > end:
                finished = False
                break
            node = nodes[heapq.heappop(queue)[1]]
            segment, cut = self.spread(node)
            if segment < 0:
                node.split = -2, 0, -1  # one choice, which breaks a limit or is no better
                continue
            node.split = segment, int(self.names[segment][cut]) if self.names else cut, len(nodes)
            for side in range(2):
                low, high = node.low.copy(), node.high.copy()
                if side == 0:
                    high[segment] = cut
                else:
                    low[segment] = cut + 1
                if self.p.rising:  # the others have to follow
                    high = np.minimum.accumulate(high[::-1])[::-1].copy()
                    low = np.maximum.accumulate(low)
                child = Node(low, high, node.multipliers)
                nodes.append(child)
                self.solve(child, node.columns, self.enough, end)
                if child.empty or child.bound > self.enough:
                    continue
                self.polish(child)
                if child.bound <= self.enough:
                    heapq.heappush(queue, (child.bound, len(nodes) - 1))
            node.columns = []
        best = np.full(self.m, -1, np.int64) if self.best is None else self.best
        value = np.inf if self.best is None else self.cost / self.p.unit
        bound = value if finished else min(value, queue[0][0])
        segments, candidates, children = np.array([node.split for node in nodes], np.int64).T.copy()
        weights, multipliers = np.array([node.weight for node in nodes]), np.stack([node.multipliers for node in nodes])
        leaves = Leaves(segments, candidates, children, weights, multipliers)
        return Best(best, len(nodes), finished, bound, leaves)


def choose(p: Program, node_limit: int, seconds: float = np.inf) -> Best:
    """The cheapest choice that meets every limit, with its proof.

    No segment alone can come nearer to the best unified threshold at the same cost.
    """
    found = _choose(p, node_limit, time.monotonic() + seconds)
    return found if found.numbers[0] < 0 else found._replace(numbers=move_one(p, found.numbers)[0])


def _choose(p: Program, node_limit: int, end: float) -> Best:
    first = Tree(p)
    root = first.whole()
    first.offer(*move_one(p, root.low))
    first.solve(root, [], first.enough, end)
    if root.empty or root.bound > first.enough:
        return first.run(root, node_limit, end)
    first.polish(root)
    if p.rising:
        return first.run(root, node_limit, end)
    if first.best is not None:
        first.offer(*move_two(p, first.best, first.lists(root)))
    if first.best is None or root.bound > first.enough:
        return first.run(root, node_limit, end)
    keep = first.kept(root)
    for j in range(first.m):  # the best choice stays, so that moves may begin there
        keep[int(p.start[j] + first.best[j])] = True
    names = [np.flatnonzero(keep[p.start[j] : p.start[j + 1]]) for j in range(first.m)]
    small = replace(
        p,
        start=np.concatenate([[0], np.cumsum([len(x) for x in names])]).astype(np.int64),
        values=np.concatenate([p.features[j][1][:, names[j]].reshape(-1) for j in range(first.m)]),
        cost=p.cost[keep],
        distance=p.distance[keep],
    )
    second = Tree(small, names)

    def renamed(numbers: Ints) -> Ints:
        return np.array([np.searchsorted(name, i) for name, i in zip(names, numbers, strict=True)], dtype=np.int64)

    second.offer(renamed(first.best), 0.0)
    again = second.whole()
    again.multipliers = root.multipliers
    seeds = [
        (block, renamed(numbers), share)
        for block, numbers, share in root.columns
        if keep[p.start[block] + numbers[block]]
    ]
    second.solve(again, seeds, second.enough, end)
    found = second.run(again, node_limit, end)
    leaves = found.leaves
    return found._replace(
        numbers=np.array([name[i] for name, i in zip(names, found.numbers, strict=True)], dtype=np.int64),
        leaves=Leaves(  # the multipliers of the first root are the first entry of the proof
            np.concatenate([[-3], leaves.segment]),
            np.concatenate([[0], leaves.candidate]),
            np.concatenate([[1], np.where(leaves.child >= 0, leaves.child + 1, -1)]),
            np.concatenate([[root.weight], leaves.weight]),
            np.concatenate([root.multipliers[None], leaves.multipliers]),
        ),
    )


# --------------------------------------------------------------------------------------------------------------- moves


def hits_of(p: Program, j: int, q: int, candidates: Ints | int) -> Values:
    """What candidates of segment j add to both quotients of measure q, (2, ...)."""
    values = p.features[j][1]
    out: Values = np.zeros((2, *np.shape(candidates)))
    for f, hits in p.parts[j].get(q, ()):
        out += np.multiply.outer(hits, values[f, candidates])
    return out


def measured(p: Program, q: int, hits: Values) -> Values:
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
        self.values = np.array([float(measured(p, q, self.hits[q])) for q in range(len(p.base))])

    def away(self, numbers: Ints, moved: dict[int, Ints]) -> Values:
        """How far choices miss the limits that have other candidates in some segments: one axis for each of them."""
        p, changed = self.p, {}
        for q in {q: None for j in moved for q in p.parts[j]}:
            hits = self.hits[q]
            for j, candidates in moved.items():
                more = hits_of(p, j, q, candidates) - hits_of(p, j, q, int(numbers[j]))[:, None]
                hits = hits[..., None] + more.reshape(2, *(1,) * (hits.ndim - 1), -1)
            changed[q] = measured(p, q, hits)
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
