"""The search for the best choice of candidates within the limits, or for the one nearest to them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from gstar_fast._backends import room
from gstar_fast._backends.common.choices import allowed, loss_of
from gstar_fast._backends.interface import BOX_LIMIT, Arrays, Floats, Ints, Table, node_limit
from gstar_fast._base.arrays import Bools, Values
from gstar_fast._base.names import Name
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.text import first_few
from gstar_fast._base.warn import warn
from gstar_fast._criteria import TOLERANCE, Form, Limit
from gstar_fast._question.question import Question
from gstar_fast._rates import SOLVER_RATES, has_rate, rates_at
from gstar_fast._solver.answer.parts import Note, Slack
from gstar_fast._solver.cells import Cells, Outcome, Scale, scale_of
from gstar_fast._solver.notes import cautions
from gstar_fast.errors import MissingClassWarning

STEPS = 100_000  # slacks are whole numbers of 1e-5, so that the one in the message is the one that was used
BOXES = 20_000  # for one slack; there are 17 of them

Found = TypeVar("Found")


@dataclass(frozen=True)
class Problem:
    """A question about counts, checked: what every search begins with."""

    cells: Cells
    question: Question
    totals: Ints  # (3, A) rows of each label and group
    scale: Scale
    has: Bools  # (5, A) which groups have the rows that each rate needs
    notes: tuple[Note, ...]

    @classmethod
    def of(cls, cells: Cells, question: Question) -> Problem:
        """Raise where a rate that is asked about needs rows that fewer than two groups have."""
        totals = cells.totals
        has = has_rate(totals)
        scale = scale_of(question, int(totals[0].sum()), int(totals[1].sum()))
        notes = (*cells.notes, *check_groups(question, cells.groups, has))
        return cls(cells, question, totals, scale, has, notes)

    @classmethod
    def resampled(cls, cells: Cells, question: Question) -> Problem | None:
        """The same for rows that were drawn; None where too few are left to ask."""
        totals = cells.totals
        has, labelled = has_rate(totals), totals[:2].sum(axis=1)
        if not labelled.any() or (question.balanced and not labelled.all()):
            return None
        if len(cells.groups) > 1 and any(has[r].sum() < 2 for _, r in question.compared_rates):
            return None
        return cls.unchecked(cells, question)

    @classmethod
    def unchecked(cls, cells: Cells, question: Question) -> Problem:
        """The same for a question that was checked on these groups."""
        totals = cells.totals
        scale = scale_of(question, int(totals[0].sum()), int(totals[1].sum()))
        return cls(cells, question, totals, scale, has_rate(totals), ())


def check_several(question: Question, groups: Sequence[Name]) -> None:
    """Refuse to compare a single group with itself: a column that was forgotten would pass for a gap of 0."""
    asked = question.compared_rates
    if asked and len(groups) == 1:
        raise refusal("one_group", asked[0][0], value=groups[0])


def check_groups(question: Question, groups: tuple[Name, ...], has: Bools) -> list[Note]:
    """Notes on groups left out of a criterion; raises where fewer than two are left."""
    notes: list[Note] = []
    check_several(question, groups)
    told: set[int] = set()
    for one in question.criteria:
        for rate in one.rates:
            r = SOLVER_RATES.index(rate)
            missing = [groups[k] for k in np.flatnonzero(~has[r])]
            if not missing or one.form is Form.TOTAL:
                continue
            if int(has[r].sum()) < (2 if one.compares else 1):
                raise refusal("undefined_rate", one.name, value=missing, limit=(rate.name, rate.rows))
            if r in told:
                continue
            told.add(r)
            what = f"{rate.name} {'gap' if one.compares else 'limit'}"
            text = f"left out of the {what}, having no {rate.rows}: {first_few(map(repr, missing))}"
            notes.append(Note("missing_class", text, {"rate": rate.name, "groups": missing}))
    for note in notes:
        warn(note.text, MissingClassWarning)
    return notes


@dataclass(frozen=True)
class Search(Problem):
    """A question about thresholds by group ready for a backend, and the way back from its numbers to thresholds."""

    table: Table
    arrays: Arrays

    @property
    def groups(self) -> tuple[Name, ...]:
        return self.cells.groups

    @property
    def n_candidates(self) -> int:
        return int(self.cells.rows.shape[2])

    def thresholds(self, entries: Ints) -> Floats:
        """Thresholds that entries of the arrays stand for."""
        return self.cells.thresholds(self.table.candidate[entries])

    def accepted(self, numbers: Ints) -> Ints:
        return self.table.accepted[:, self.table.start[:-1] + numbers]

    def only(self, entries: Ints) -> Search:
        """The same question with these entries alone, in rising order; it keeps no counts of bins."""
        table = kept(self.table, entries)
        p = self.arrays
        arrays = replace(p, start=table.start, cost=table.cost, distance=p.distance[entries], rates=p.rates[:, entries])
        cells = self.cells.summed()
        return Search(cells, self.question, self.totals, self.scale, self.has, self.notes, table, arrays)

    def asked(self, question: Question, shared: bool = False, certain: bool = False) -> Search:
        """Another question about the same rows, at the same prices."""
        return lay_out(replace(self, question=question), shared=shared, certain=certain)

    @property
    def default(self) -> float:
        """The best unified threshold."""
        return float(self.cells.thresholds(np.array(self.table.unified)))

    def cautions(self, after: Outcome, before: Outcome, can_mix: bool = False) -> list[Note]:
        """Notes on an outcome that hardly decides."""
        return cautions(self.cells, self.question, self.scale, after, before, can_mix=can_mix)


def prepare(
    cells: Cells, question: Question, swept: tuple[int, ...] = (), shared: bool = False, certain: bool = False
) -> Search:
    """Count what every candidate accepts, and lay out the rates that matter.

    `swept` are rates wanted besides those asked for; `shared` keeps all candidates of all groups; `certain` adds those
    whose tpr, fpr and selection rate are known for any rows (`with_certain`).
    """
    return lay_out(Problem.of(cells, question), swept, shared, certain)


def lay_out(p: Problem, swept: tuple[int, ...] = (), shared: bool = False, certain: bool = False) -> Search:
    """What `prepare` does once the question is checked."""
    rows, scale = p.cells.rows, p.scale
    table: Table = every_candidate(rows, scale) if shared else room("solver").tabulate(rows, scale.fp, scale.fn)
    if certain:
        table = with_certain(table, rows.shape[2], scale)
    if not shared and (bounds := p.question.bounds):
        group = np.repeat(np.arange(len(p.cells.groups)), np.diff(table.start))
        table = kept(table, np.flatnonzero(within(bounds, table.accepted, p.totals[:, group])))
    windows, penalty = p.question.windows, p.question.penalty
    asked = (windows.limited | (penalty > 0)).tolist()
    active = [r for r in range(len(SOLVER_RATES)) if asked[r] or r in swept]
    distance = table.candidate - table.unified
    arrays = Arrays(
        start=table.start,
        cost=table.cost,
        distance=np.abs(distance, out=distance),
        rates=rates_at(table.accepted, p.totals, table.start, active),
        has=p.has[active].astype(np.uint8),
        limit=windows.most[active],
        ratio=windows.ratio[active],
        penalty=penalty[active],
        unit=scale.unit,
        total=windows.total,
    )
    return Search(p.cells, p.question, p.totals, p.scale, p.has, p.notes, table, arrays)


def kept(table: Table, entries: Ints) -> Table:
    """These entries alone, in rising order."""
    return table._replace(
        start=entries.searchsorted(table.start),
        candidate=table.candidate[entries],
        accepted=table.accepted[:, entries],
        cost=table.cost[entries],
    )


def within(bounds: tuple[Limit, ...], accepted: Ints, totals: Ints) -> Bools:
    """Which entries keep every rate within its bounds; rows (3, ...). A group without the rows of a rate keeps it."""
    out = np.ones(accepted.shape[1:], dtype=bool)
    for limit in bounds:
        rate = limit.criterion.rates[0]
        out &= limit.keeps(rate.values(accepted, totals)[None], TOLERANCE) | ~rate.has(totals)
    return out


class Choice(NamedTuple):
    """One candidate a group, and what was proven of it."""

    numbers: Ints | None  # None where no choice meets the limits, or none was found and `proven` is False
    opened: int
    loss: float | None = None
    lower_bound: float | None = None
    proven: bool = True

    def for_numbers(self, p: Arrays, numbers: Ints) -> Choice:
        """What is proven of another choice in the same search with penalties."""
        loss = float(loss_of(p, numbers))
        lower = min(float(self.lower_bound or 0.0), loss)
        return self._replace(numbers=numbers, loss=loss, lower_bound=lower, proven=_meets(loss, lower))


def choose(search: Search, end: float = math.inf) -> Choice:
    """The best choice within the limits, or of those found until the moment `end`."""
    p = search.arrays
    if not np.diff(p.start).all():  # bounds leave a group without candidates
        return Choice(None, 0)
    backend = room("solver")
    if not any(w > 0 for w in p.penalty):
        numbers, opened, finished, bound = backend.solve_limits(p, BOX_LIMIT, seconds_left(end))
        if numbers[0] < 0 and not finished:  # fall back to accepting everybody, which most limits allow
            lower = max(float(bound) / search.scale.unit - search.scale.slack, 0.0) ** 2
            return Choice(_first_allowed(p), opened, lower_bound=lower, proven=False)
        return Choice(None if numbers[0] < 0 else numbers, opened)
    if len(search.groups) == 2:
        numbers, loss, _ = backend.solve_pair(p)
        lower, opened = loss, 1  # one pass over all pairs; how it skips most of them is the backend's business
    else:
        guess, _, finished, _ = backend.solve_limits(p, BOX_LIMIT, seconds_left(end))
        if guess[0] < 0 and finished:
            return Choice(None, 0)
        if guess[0] < 0 and (everybody := _first_allowed(p)) is not None:
            guess = everybody
        numbers, loss, lower, opened = backend.solve_penalties(
            p, guess, node_limit(len(search.groups)), seconds_left(end)
        )
    if numbers[0] < 0:  # without a choice the bound is finite where nodes are left
        return Choice(None, opened, lower_bound=lower, proven=lower == np.inf)
    return Choice(numbers, opened, loss, lower, proven=_meets(loss, lower))


def seconds_left(end: float) -> float:
    """Seconds left until a moment; infinitely many where it never comes."""
    return max(end - time.monotonic(), 0.0) if end < math.inf else math.inf


def _meets(loss: float, lower: float) -> bool:
    """Whether a loss is proven to be the least."""
    return loss - lower <= TOLERANCE * max(1.0, loss)


def choose_unified(search: Search) -> Choice:
    """The best candidate for all groups: every one is looked at."""
    p = search.arrays
    shared = [np.arange(search.n_candidates)] * len(search.groups)
    penalised = any(w > 0 for w in p.penalty)
    value: Values = loss_of(p, shared) if penalised else p.cost.reshape(len(search.groups), -1).sum(axis=0)
    met = np.broadcast_to(allowed(p, shared), search.n_candidates)
    if bounds := search.question.bounds:
        totals = np.broadcast_to(search.totals[:, :, None], (*search.totals.shape, search.n_candidates))
        met = met & within(bounds, search.table.accepted.reshape(totals.shape), totals).all(axis=0)
    if shares := search.question.totals:
        accepted = search.table.accepted.reshape(3, len(search.groups), -1).sum(axis=1)
        met = met & within(shares, accepted, np.broadcast_to(search.totals.sum(axis=1)[:, None], accepted.shape))
    open_ = np.flatnonzero(met)
    if len(open_) == 0:
        return Choice(None, search.n_candidates)
    order = np.lexsort((open_, np.abs(open_ - search.table.unified), value[open_]))
    return Choice(np.full(len(search.groups), open_[order[0]], dtype=np.int64), search.n_candidates)


def _first_allowed(p: Arrays) -> Ints | None:
    """The lowest remaining candidate of each group, if the limits allow it."""
    everybody = np.zeros(len(p.start) - 1, dtype=np.int64)
    return everybody if allowed(p, everybody) else None


def every_candidate(rows: Ints, scale: Scale) -> Table:
    """A table of all candidates of all groups, none left out, so that groups can share one."""
    accepted = np.cumsum(rows[:, :, ::-1], axis=2)[:, :, ::-1]
    n_groups, n = accepted.shape[1:]
    totals = accepted[:, :, 0].copy()
    cost = scale.fp * accepted[0] + scale.fn * (totals[1][:, None] - accepted[1])
    best = int(np.argmin(cost.sum(axis=0)))
    return Table(
        start=np.arange(n_groups + 1) * n,
        candidate=np.tile(np.arange(n), n_groups),
        accepted=accepted.reshape(3, -1),
        cost=cost.reshape(-1),
        totals=totals,
        at_unified=accepted[:, :, best],
        unified=best,
    )


def with_certain(table: Table, n_candidates: int, scale: Scale) -> Table:
    """The table with -inf and +inf as entries of their own in each group: they accept everybody and nobody for certain.

    The edges beside them accept the same counted rows, and rows to come may lie beyond. -inf is candidate 0 and +inf
    candidate `n_candidates`: the entries whose `Search.thresholds` are infinite. A group with rows above the last edge
    has no +inf, which may accept some of them.
    """
    n_groups = len(table.start) - 1
    edges = np.flatnonzero(table.candidate > 0)
    all_groups = np.arange(n_groups)
    closed = all_groups[~table.accepted[:, table.start[1:] - 1].any(axis=0)]  # where the last edge accepts nobody
    group = np.concatenate([all_groups, np.repeat(all_groups, np.diff(table.start))[edges], closed])
    candidate = np.concatenate([0 * all_groups, table.candidate[edges], 0 * closed + n_candidates])
    nobody = 0 * table.totals[:, closed]
    accepted = np.concatenate([table.totals, table.accepted[:, edges], nobody], axis=1)
    cost = np.concatenate([scale.fp * table.totals[0], table.cost[edges], scale.fn * table.totals[1, closed]])
    order = np.argsort(group, kind="stable")
    start = np.searchsorted(group[order], np.arange(n_groups + 1))
    return table._replace(start=start, candidate=candidate[order], accepted=accepted[:, order], cost=cost[order])


# -------------------------------------------------------------------------------------------------- limits out of reach


class Nearest(NamedTuple, Generic[Found]):
    """The least common slack of all limits at which something was found, and what was."""

    slack: Slack  # `least` if nothing exists at a smaller one, and not only nothing was found in the boxes allowed
    found: Found


def loosened(p: Arrays, slack: float) -> Arrays:
    """The same question with every limit looser."""
    ratio = np.where(p.ratio >= 0, np.maximum(p.ratio - slack, 0), p.ratio)
    return replace(p, limit=p.limit + slack, ratio=ratio, total=p.total + slack)


def looser(search: Search, slack: float) -> Search:
    """The same search with every limit looser; bounds of rates may then leave more candidates."""
    if search.question.bounds or search.question.totals:
        limits = (one if one.criterion.compares else one.looser(slack) for one in search.question.limits)
        question = replace(search.question, limits=tuple(limits))
        search = lay_out(replace(search, question=question), shared=question.unified)
    return replace(search, arrays=loosened(search.arrays, slack))


def nearest(find: Callable[[float], tuple[Found | None, bool]]) -> Nearest[Found]:
    """Bisect for the least slack; `find` answers with what meets limits so much looser, or None, and if it is sure."""
    low, high = 0, STEPS
    found, least = None, True
    while high - low > 1:
        middle = (low + high) // 2
        met, proven = find(middle / STEPS)
        if met is not None:
            high, found = middle, met
        else:
            low, least = middle, least and proven
    if found is None:
        found, _ = find(1.0)
        assert found is not None, "accepting everybody leaves no gap above 1, so it is allowed now"
    return Nearest(Slack(high / STEPS, least), found)


def cheapest_within(p: Arrays, end: float = math.inf) -> tuple[Ints | None, bool]:
    """The choice of least error within the limits, ignoring penalties; the search stops at time `end`."""
    if not np.diff(p.start).all():
        return None, True
    numbers, _, finished, _ = room("solver").solve_limits(p, BOXES, seconds_left(end))
    return (numbers if numbers[0] >= 0 else None if finished else _first_allowed(p)), bool(finished)
