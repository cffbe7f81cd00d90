"""The best thresholds by segment, or the best mixture of them, each with its certificates."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass

from gstar_fast._backends import room
from gstar_fast._backends.common.segments import SEGMENT_NODES, Best, Mix
from gstar_fast._solver.answer.proof import Steps
from gstar_fast._solver.search import Problem
from gstar_fast._solver.segments.certificate import tree_of, tree_of_mix
from gstar_fast._solver.segments.problem import SegmentSearch, searches_of


@dataclass(frozen=True)
class SegmentChoice:
    """The best choice of candidates, what was proven of it, and what was searched for it."""

    search: SegmentSearch  # of the choice
    candidates: tuple[int, ...] | None  # a candidate for each segment; None where none was found
    cost: int  # E * unit; 0 without candidates
    nodes: int
    finished: bool  # the choice is proven to be the best, or that there is none
    bound: float  # E of every choice is at least this; inf where there is none
    parts: tuple[tuple[SegmentSearch, Best], ...]  # one, or one for each of ORDERS

    def proof(self) -> Steps:
        """A tree for each search; the answer is the best of theirs. Raises where a search was ended early."""
        return Steps(tuple(tree_of(search, best) for search, best in self.parts))


@dataclass(frozen=True)
class SegmentMixture:
    """The best mixture, and what was searched for it."""

    best: tuple[SegmentSearch, Mix] | None  # None where no mixture meets the limits
    parts: tuple[tuple[SegmentSearch, Mix | None], ...]  # one, or one for each of ORDERS

    def proof(self) -> Steps:
        """A bound for each search that met the limits."""
        return Steps(tuple(tree_of_mix(search, mix) for search, mix in self.parts if mix is not None))


def choose_by_segment(problem: Problem, node_limit: int = SEGMENT_NODES, seconds: float = math.inf) -> SegmentChoice:
    """The cheapest thresholds by segment that meet every limit between protected groups.

    Of choices that cost the same the search keeps the first it finds, in an order that is the same on every backend;
    a choice it keeps cannot be brought nearer to the best unified threshold by moving one segment.
    """
    return choose_among(searches_of(problem), node_limit, seconds)


def choose_among(
    searches: Iterable[SegmentSearch], node_limit: int = SEGMENT_NODES, seconds: float = math.inf
) -> SegmentChoice:
    """The same for searches that are laid out."""
    end = time.monotonic() + seconds
    parts = []
    for search in searches:
        best = room("segments").choose(search.arrays, node_limit, max(end - time.monotonic(), 0.0))
        parts.append((search, best))
    costs = [_cost(search, best) for search, best in parts]
    at = min(range(len(parts)), key=lambda i: costs[i])
    search, best = parts[at]
    found = costs[at] < math.inf
    return SegmentChoice(
        search,
        tuple(search.candidates(best.numbers).tolist()) if found else None,
        int(costs[at]) if found else 0,
        sum(best.nodes for _, best in parts),
        all(best.finished for _, best in parts),
        min(best.bound for _, best in parts),
        tuple(parts),
    )


def mix_by_segment(problem: Problem) -> SegmentMixture:
    """The cheapest mixture of thresholds by segment that meets every limit."""
    return mix_among(searches_of(problem))


def mix_among(searches: Iterable[SegmentSearch]) -> SegmentMixture:
    """The same for searches that are laid out."""
    parts = [(search, room("segments").mix(search.nominal())) for search in searches]
    met = [(search, mix) for search, mix in parts if mix is not None]
    return SegmentMixture(min(met, key=lambda part: part[1].value, default=None), tuple(parts))


def _cost(search: SegmentSearch, best: Best) -> float:
    if best.numbers[0] < 0:
        return math.inf
    return int(search.arrays.cost[search.arrays.start[:-1] + best.numbers].sum())
