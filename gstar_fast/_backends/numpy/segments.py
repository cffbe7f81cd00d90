"""The search for the best choice: cut the range of a segment that the mixture of a node mixes, and bound both parts.

A node is closed only by its bound, never by giving up a limit: the bounds of the leaves are the proof.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import replace

import numpy as np

from gstar_fast._backends.common.segments import Best, Leaves, Program
from gstar_fast._backends.numpy import segments_moves as moves
from gstar_fast._backends.numpy.segments_bounds import Node, Search, mix, value_of
from gstar_fast._base.arrays import Bools, Floats, Ints

__all__ = ["choose", "mix"]


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
        cost = moves.cost_of(self.p, numbers)
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
        return [np.sort(np.argsort(value, kind="stable")[: moves.SHORT]) for value in self.values(node)]

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
        numbers, miss = moves.move_one(self.p, self.rounded(node))
        if not self.offer(numbers, miss) or self.p.rising:
            return
        self.offer(*moves.move_two(self.p, numbers, self.lists(node)))

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
    return found if found.numbers[0] < 0 else found._replace(numbers=moves.move_one(p, found.numbers)[0])


def _choose(p: Program, node_limit: int, end: float) -> Best:
    first = Tree(p)
    root = first.whole()
    first.offer(*moves.move_one(p, root.low))
    first.solve(root, [], first.enough, end)
    if root.empty or root.bound > first.enough:
        return first.run(root, node_limit, end)
    first.polish(root)
    if p.rising:
        return first.run(root, node_limit, end)
    if first.best is not None:
        first.offer(*moves.move_two(p, first.best, first.lists(root)))
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
