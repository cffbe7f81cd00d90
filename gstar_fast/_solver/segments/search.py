"""The search over segments: a question laid out for a backend, what it finds, and the proof that comes with it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gstar_fast._backends import room
from gstar_fast._backends.common.segments import LEAST, MOST, SEGMENT_NODES, SMALLEST, Best, Mix, Program, Row, rows_of
from gstar_fast._base.arrays import Bools, Floats, Ints, Values
from gstar_fast._base.names import Name
from gstar_fast._base.refusals.place import bad_value
from gstar_fast._criteria import TOLERANCE, Form, Limit
from gstar_fast._rates import RATES, SOLVER_RATES, Rate
from gstar_fast._solver.answer.proof import ALL, Certificate, Steps, Tree
from gstar_fast._solver.cells import Parts
from gstar_fast._solver.search import Problem

ORDERS = ("rising", "falling")  # tried in this order where thresholds must be monotone; the first of equals stays


@dataclass(frozen=True)
class SegmentSearch(Problem):
    """A question about segments ready for a backend, and the way back from its numbers to thresholds."""

    candidate: Ints  # (n,) of each entry of the arrays
    last: Ints  # (n,) the highest candidate that accepts the same rows
    order: tuple[int, ...]  # segments as the arrays have them; reversed where thresholds fall
    unified: int  # the best candidate for everybody
    rates: tuple[int, ...]  # that are limited; measure r * A + a is that of protected group a
    arrays: Program

    def candidates(self, numbers: Ints) -> Ints:
        """Candidates of all segments, in the order of `cells.segments`."""
        out = np.empty(len(self.order), dtype=np.int64)
        out[list(self.order)] = self.candidate[self.arrays.start[:-1] + numbers]
        return out

    def held_to(self, limit: Floats, ratio: Floats, total: float) -> SegmentSearch:
        """The same with other limits on the rates: tolerance included, inf and -1 where there is none."""
        total = total if self.arrays.rows.share.any() else np.inf
        rows = self.arrays.rows
        made = rows_of(limit, ratio, total, self.measured, rows.kept(rows.kind >= LEAST))
        return replace(self, arrays=replace(self.arrays, rows=made))

    @property
    def measured(self) -> Bools:
        """Which measures there are, by rate and protected group; all rows together come last where they are limited."""
        groups = len(self.arrays.base) // len(self.rates) if self.rates else self.has.shape[1]
        return _measured(self.has, self.rates, groups)

    def nominal(self) -> Program:
        """The same with limits that leave no tolerance, as mixtures are held to."""
        p = self.arrays
        return replace(p, rows=p.rows.looser(-TOLERANCE, least=0.0))


def from_above(rows: Ints) -> Ints:
    """Rows in each bin and all bins over it: sums along the last axis, from its end."""
    out = np.empty_like(rows)
    out[..., 0] = 0
    np.cumsum(rows[..., :-1], axis=-1, out=out[..., 1:])  # those under each bin: quicker than from the end
    np.subtract(rows.sum(axis=-1, keepdims=True), out, out=out)
    return out


def loosened(p: Program, slack: float) -> Program:
    """The same question with every limit looser."""
    return replace(p, rows=p.rows.looser(slack))


def searches_of(problem: Problem) -> list[SegmentSearch]:
    """One search, or one for each of ORDERS where thresholds must be monotone."""
    return [lay_out(problem, order) for order in (ORDERS if problem.question.monotone else (None,))]


def lay_out(problem: Problem, monotone: str | None = None) -> SegmentSearch:
    """Lay out a question. `monotone` is None, "rising" or "falling": thresholds along the order of segments."""
    cells, question, totals, scale, has = problem.cells, problem.question, problem.totals, problem.scale, problem.has
    order = tuple(range(len(cells.segments)))[:: -1 if monotone == "falling" else 1]
    everybody = from_above(cells.rows.sum(axis=1))
    unified = int(np.argmin(scale.fp * everybody[0] - scale.fn * everybody[1]))
    cell = np.flatnonzero(totals.T.reshape(-1) > 0)  # 3 a + label
    slot_of = np.full(totals.size, -1)
    slot_of[cell] = np.arange(len(cell))
    ends, chosen, slots, values, cost = [], [], [], [], []
    for j in order:  # one after the other: each fits into the cache
        mine = cells.members[j]
        rows = cells.rows[:, mine]
        ends.append(_ends(np.asarray(rows.any(axis=(0, 1))), monotone is not None))
        at = np.clip(unified, *ends[-1])
        accepted = from_above(rows)[..., at]
        here = rows.any(axis=2).T.reshape(-1)  # of the cells, by group and label
        slots.append(slot_of[(3 * cells.group[mine][:, None] + np.arange(3)).reshape(-1)[here]])
        values.append(accepted.transpose(1, 0, 2).reshape(-1, len(at))[here].astype(np.float64).reshape(-1))
        cost.append(scale.fp * accepted[0].sum(axis=0) + scale.fn * (rows[1].sum() - accepted[1].sum(axis=0)))
        chosen.append(at)
    candidate = np.concatenate(chosen)
    limit, ratio = question.windows.most, question.windows.ratio
    bounds = [one for one in question.limits if one.form in (Form.BOUND, Form.TOTAL)]
    alone = {SOLVER_RATES.index(rate) for one in bounds for rate in one.criterion.rates}
    compared = [r for r in range(len(SOLVER_RATES)) if (limit[r] < np.inf or ratio[r] > 0) and int(has[r].sum()) > 1]
    active = sorted(alone.union(compared))
    groups = totals.shape[1] + any(one.form is Form.TOTAL for one in bounds)
    measured = _measured(has, active, groups)
    single = [row for one in bounds for row in _bounds(one, active, measured, cells.groups)]
    total = question.windows.total if compared[:2] == [0, 1] else np.inf  # one gap alone has its limit above
    arrays = Program(
        start=_offsets(chosen),
        begin=_offsets(slots),
        slot=np.concatenate(slots),
        values=np.concatenate(values),
        cost=np.concatenate(cost),
        distance=np.abs(candidate - unified).astype(np.int64),
        price=np.array([(scale.fp, -scale.fn, 0)[c % 3] for c in cell.tolist()], dtype=np.float64) / scale.unit,
        most=totals.T.reshape(-1)[cell].astype(np.float64),
        constant=scale.fn * int(totals[1].sum()) / scale.unit,
        **_measures(totals, cell, [SOLVER_RATES[r] for r in active], groups),
        rows=rows_of(limit[active], ratio[active], total, measured, single),
        unit=scale.unit,
        rising=monotone is not None,
    )
    last = np.concatenate([last for _, last in ends])
    given = cells, question, totals, scale, has, problem.notes
    return SegmentSearch(*given, candidate, last, order, unified, tuple(active), arrays)


def _offsets(parts: Sequence[Values]) -> Ints:
    """Where each of these begins, end to end."""
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)


def _ends(filled: Bools, every: bool) -> tuple[Ints, Ints]:
    """First and last of the candidates that accept the same rows of a segment, whose bins are `filled` or empty."""
    n = len(filled)
    if every:
        return np.arange(n), np.arange(n)
    first = np.concatenate([[0], 1 + np.flatnonzero(filled[: n - 1])])
    return first, np.concatenate([first[1:] - 1, [n - 1]])


def _measured(has: Bools, rates: Sequence[int], groups: int) -> Bools:
    """Which protected groups have each rate, and that all rows together are not compared with them."""
    out = np.zeros((len(rates), groups), dtype=bool)
    out[:, : has.shape[1]] = has[list(rates)]
    return out


def _bounds(limit: Limit, active: list[int], measured: Bools, protected: tuple[Name, ...]) -> list[Row]:
    """The rows of a bound on a rate of every group, of one, or of all rows together."""
    found = []
    for r in (active.index(SOLVER_RATES.index(rate)) for rate in limit.criterion.rates):
        some = [len(protected)] if limit.form is Form.TOTAL else np.flatnonzero(measured[r]).tolist()
        for a in some if limit.group is None else [protected.index(limit.group)]:
            measure = r * measured.shape[1] + a
            if limit.least > -np.inf:
                found.append(Row(LEAST, measure, -1, -1.0, TOLERANCE - limit.least))
            if limit.most < np.inf:
                found.append(Row(MOST, measure, -1, 1.0, limit.most + TOLERANCE))
    return found


def _measures(totals: Ints, cell: Ints, rates: Sequence[Rate], groups: int) -> dict[str, Values]:
    """Measure r * groups + a of a program is rate r of protected group a; of all rows where there is one more group."""
    rows = totals.astype(np.float64)
    if groups > rows.shape[1]:
        rows = np.concatenate([rows, rows.sum(axis=1, keepdims=True)], axis=1)
    every = np.array([rate.slopes(rows) for rate in rates]).reshape(-1, 3, groups)
    own = every[:, cell % 3, cell // 3]
    slopes = np.stack([own, every[:, cell % 3, -1]], axis=1) if groups > totals.shape[1] else own[:, None]
    slot, r, whole = np.nonzero(slopes.transpose(2, 0, 1))
    hits, given, trials = np.zeros((len(rates), 2, 3)), *np.zeros((2, len(rates), groups, 2))
    for i, rate in enumerate(rates):
        for k, share in enumerate(rate.shares):
            hits[i, k] = share.hits[:3]
            given[i, :, k], trials[i, :, k] = share.counted(np.zeros_like(rows), rows)
    trials[..., 0] = np.maximum(trials[..., 0], 1.0)
    return {
        "term": np.searchsorted(slot, np.arange(len(cell) + 1)),
        "measure": r * groups + np.where(whole, groups - 1, cell[slot] // 3),
        "slope": slopes[r, whole, slot],
        "hits": hits[r, :, cell[slot] % 3],
        "base": np.array([rate.base(rows) for rate in rates]).reshape(-1),
        "given": given.reshape(-1, 2),
        "trials": trials.reshape(-1, 2),
    }


# ----------------------------------------------------------------------------------------------------- search


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


def parts_of(search: SegmentSearch, mix: Mix) -> Parts:
    """Candidates and weights of each segment."""
    parts: Parts = [{} for _ in search.order]
    for j, number, weight in zip(mix.segment.tolist(), mix.number.tolist(), mix.weight.tolist(), strict=True):
        candidate, part = int(search.candidate[search.arrays.start[j] + number]), parts[search.order[j]]
        part[candidate] = part.get(candidate, 0.0) + weight
    return parts


# ------------------------------------------------------------------------------------------------------ proof


def tree_of(search: SegmentSearch, best: Best) -> Tree:
    """The proof that came with the best choice; raises where the search was ended early."""
    if not best.finished:
        raise bad_value("best", "a search that was ended early has no proof")
    leaves = best.leaves
    cut = leaves.segment >= 0
    at = np.where(cut, leaves.segment, 0)
    after = search.last[np.where(cut, search.arrays.start[at] + leaves.candidate, 0)]
    segment = np.where(cut, np.array(search.order)[at], leaves.segment)
    return Tree(_order(search), segment, after, leaves.child, leaves.weight, leaves.multipliers, _rows(search))


def tree_of_mix(search: SegmentSearch, mix: Mix) -> Tree:
    """The proof of a mixture: one bound for all."""
    leaf = np.array([-1])
    return Tree(_order(search), leaf, leaf, leaf, np.ones(1), mix.multipliers[None], _rows(search))


def certificate_of(search: SegmentSearch, best: Best) -> Certificate:
    """The certificate of the best choice, with its question."""
    found = int(best.numbers[0]) >= 0
    asked = _with_question(search, tree_of(search, best))
    choice = tuple(search.candidates(best.numbers).tolist()) if found else None
    return replace(asked, choice=choice, within=max(1, int(np.ceil(SMALLEST * search.arrays.unit))))


def certificate_of_mix(search: SegmentSearch, mix: Mix) -> Certificate:
    """The certificate of a mixture, with its question."""
    parts = (tuple(part.items()) for part in parts_of(search, mix))
    return replace(_with_question(search, tree_of_mix(search, mix)), mixture=tuple(parts))


def _with_question(search: SegmentSearch, tree: Tree) -> Certificate:
    limits, scale = numbered(search.question.limits, search.cells.groups), search.scale
    return replace(tree.certificate(), limits=limits, prices=(scale.fp, scale.fn), unit=scale.unit)


def numbered(limits: tuple[Limit, ...], protected: tuple[Name, ...]) -> tuple[Limit, ...]:
    """The limits as a certificate has them: groups are numbers."""
    return tuple(
        limit if limit.group is None else limit._replace(group=protected.index(limit.group)) for limit in limits
    )


def _order(search: SegmentSearch) -> tuple[int, ...] | None:
    return search.order if search.arrays.rising else None


def _rows(search: SegmentSearch) -> tuple[tuple[str, int, int], ...]:
    rows, groups, protected = search.arrays.rows, search.measured.shape[1], len(search.cells.groups)
    found = []
    for measure, kind in zip(rows.measure.tolist(), rows.kind.tolist(), strict=True):
        r, a = divmod(measure, groups)
        found.append((RATES[search.rates[r]], a if a < protected else ALL, kind))
    return tuple(found)
