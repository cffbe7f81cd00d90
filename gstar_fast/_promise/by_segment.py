"""Promises for thresholds by segment.

Rates of protected groups are sums over segments, so at fixed thresholds accepted rows are a count, and the chance that
a limit is broken is that of thresholds by group. Three things differ.

Candidates: the search with tighter limits. A rate with a limit L gets q * L - z * s, s being the standard error of the
difference between the two groups whose rate is known worst, at the plain thresholds.

Selection: m thresholds fit the counted rows more closely than one a group does, so that gaps on new rows are larger
than counted ones. How much is measured on resampled counts: the search with the same limits is repeated on each, and
what its rates lose from the resampled rows to the counted ones is taken as what they lose from counted rows to new ones
(Efron's optimism). The same loss at the option's own thresholds is nothing but noise, and is taken off. Beliefs are
centred there, and half as far again (`MORE`, chosen after seeing). It is measured once, with the limits of the first
option that could be promised without it.

Mixtures: a row counts with the probability that it is accepted, in its segment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gstar_fast._base.arrays import Floats, Ints
from gstar_fast._criteria import TOLERANCE
from gstar_fast._promise.chance import PRIOR, Beliefs, Ground, active_rates, matched, moments, of_two
from gstar_fast._promise.choose import Asked, Option, Worth
from gstar_fast._promise.planning import plan
from gstar_fast._question.question import Question
from gstar_fast._rates import SOLVER_RATES, has_rate, rates_of
from gstar_fast._solver.answer.parts import RowsNeeded
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.cells import Cells, Parts, effective, effective_rows, hits_of, resampled
from gstar_fast._solver.finish import parts_again
from gstar_fast._solver.search import Problem
from gstar_fast._solver.segments.answer import Answer
from gstar_fast._solver.segments.search import SegmentSearch, choose_among, mix_among, parts_of, searches_of

SHARES = (0.75, 0.5, 0.25)  # of the limit: q, at z = 0
WIDTHS = (0.5, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0)  # standard errors: z, at q = 1
BOXES = 100  # of the search for one option
REPLICATES = 16
MORE = 1.5  # times what resampling shows: it showed three quarters of the truth, on scores whose truth is known
SEED = 20260
LATER = 0.5  # of what selection adds to gaps is left with the rows that a promise needs, which are a few times as many


class Limits(NamedTuple):
    """What a search is held to: differences and ratios of the active rates, and the sum of the tpr and the fpr gap."""

    limit: Floats
    ratio: Floats
    total: float


class Tried(NamedTuple):
    """Thresholds by segment, and the limits that they were found with; None: they were not fitted to the rows."""

    parts: Parts
    limits: Limits | None


@dataclass(frozen=True)
class SegmentsKnown(Ground):
    """Rates of protected groups, and the rows they rest on, at any thresholds by segment."""

    cells: Cells
    searches: tuple[SegmentSearch, ...]  # one, or one for each order
    randomize: bool

    @classmethod
    def of(cls, answer: Answer, randomize: bool) -> SegmentsKnown:
        cells, question = answer.cells, answer.question
        searches = tuple(searches_of(Problem.unchecked(cells, question)))
        ground = question, cells.groups, float(cells.n_rows.sum()), cells.weighted, active_rates(question)
        return cls(*ground, effective_rows(cells), cells, searches, randomize)

    # ------------------------------------------------------------------------------------------------------- beliefs

    def rates(self, parts: Parts, cells: Cells | None = None) -> Floats:
        """All five rates, (5, A)."""
        cells = self.cells if cells is None else cells
        return rates_of(cells.by_group(cells.accepted(parts)), cells.totals)

    def rows_at(self, parts: Parts) -> Floats:
        """Effective rows at some thresholds, (4, A): weights of accepted rows may be others than those of all."""
        cells = self.cells
        if not cells.weighted:
            return self.n
        squares, unit = cells.squares, cells.weight_unit
        weights = hits_of(cells.by_group(cells.accepted(parts)) * unit, cells.totals * unit)
        return effective(
            *weights, *hits_of(cells.by_group(cells.accepted(parts, squares)), cells.by_group(squares.sum(axis=2)))
        )

    def beliefs(self, parts: Parts, shift: Floats | None = None) -> Beliefs:
        """What is known at some thresholds; `shift` (5, A) is what new rows are expected to differ by."""
        rates, n = self.rates(parts), self.rows_at(parts)
        if shift is not None:
            rates = np.clip(rates + shift, 0.0, 1.0)
        everybody = all(set(part) == {0} for part in parts)
        shape = len(self.active), rates.shape[1]
        a, b, sure = np.empty(shape), np.empty(shape), np.full(shape, np.nan)
        for i, r in enumerate(self.active):
            if of_two(r):
                one, two = (self._moments(rates, n, part, parts) for part in (0, 1))
                a[i], b[i] = matched((one[0] + 1 - two[0]) / 2, (one[1] + two[1]) / 4)
            elif (
                self.randomize and SOLVER_RATES[r].falls
            ):  # else it is not nested: rows of one class count when rejected
                a[i], b[i] = matched(*self._moments(rates, n, r, parts))
            else:
                a[i], b[i] = rates[r] * n[r] + PRIOR, (1 - rates[r]) * n[r] + PRIOR
            if everybody and SOLVER_RATES[r].falls:
                sure[i] = 1.0
        return Beliefs(a, b, sure, has_rate(self.cells.totals)[self.active])

    def _moments(self, rates: Floats, n: Floats, r: int, parts: Parts) -> tuple[Floats, Floats]:
        """Mean and variance of a rate of each group, which n rows are behind.

        A row counts with the probability v that it is accepted. Thresholds of a segment are nested, so the mean of v
        squared is the sum, over segments and pairs of their parts, of both weights times the smaller accepted share.
        """
        mean, variance = moments(rates[r], n[r])
        if self.randomize:
            labels = list(SOLVER_RATES[r].labels)
            total = np.maximum(self.cells.totals[labels].sum(axis=0), 1)
            square = np.zeros(rates.shape[1])
            for j, part in enumerate(parts):
                weight = np.array(list(part.values()))
                taken = np.stack([self._taken(j, t)[labels].sum(axis=0) for t in part], axis=1)  # (A, parts)
                least = np.minimum(taken[:, :, None], taken[:, None, :])
                square += np.einsum("i,aij,j->a", weight, least, weight) / total
            spread = np.clip(square - rates[r] ** 2, 0.0, None) / np.maximum(rates[r] * (1 - rates[r]), 1e-12)
            variance = variance * np.minimum(spread, 1.0)
        return mean, variance

    def _taken(self, j: int, candidate: int) -> Ints:
        """Rows (3, A) of segment `j` that a candidate accepts."""
        mine, out = self.cells.members[j], np.zeros(self.cells.totals.shape, dtype=np.int64)
        out[:, self.cells.group[mine]] = self.cells.rows[:, mine, candidate:].sum(axis=2)
        return out

    # ------------------------------------------------------------------------------------------------------- options

    def family(self, plain: Option[Tried]) -> list[Option[Tried]]:
        """Plain thresholds and those with tighter limits, each once, in order of error."""
        found, parts = [plain], plain.chosen.parts
        rates, n, apart = self.rates(parts), self.rows_at(parts), np.zeros(len(self.active))
        for i, r in enumerate(self.active):
            has = has_rate(self.cells.totals)[r]
            if of_two(r):
                tpr, fpr = (moments(rates[part], n[part])[1] for part in (0, 1))
                variance = (tpr + fpr) / 4
            else:
                variance = moments(rates[r], n[r])[1]
            apart[i] = math.sqrt(float(np.sort(variance[has])[-2:].sum()))
        limit, ratio, total = self.asked
        tighter = [Limits(q * limit, np.where(ratio >= 0, 1 - q * (1 - ratio), -1.0), q * total) for q in SHARES]
        if (limit < np.inf).any():
            both = float(apart[:2].sum())  # where their sum is limited, these are tpr and fpr
            some = [Limits(limit - z * apart, ratio, total - z * both) for z in WIDTHS]
            tighter += [one for one in some if min(one.limit.min(), one.total) > 0]
        for one in tighter:
            option = self.best(self.searches, one)
            if option is not None:
                found.append(option)
        known: dict[object, Option[Tried]] = {}
        for option in found:
            known.setdefault(tuple(tuple(sorted(part.items())) for part in option.chosen.parts), option)
        return sorted(known.values(), key=lambda option: option.cost)

    @property
    def asked(self) -> Limits:
        """The limits themselves. No gap is larger than the sum of two may be."""
        return Limits(self.question.windows.most[self.active] - TOLERANCE, self.ratio, self.total)

    def best(self, searches: tuple[SegmentSearch, ...], limits: Limits) -> Option[Tried] | None:
        """The least error within these limits on the active rates; None where none was found."""
        asked, (limit, ratio, total) = [], limits
        for search in searches:
            at = [self.active.index(r) for r in search.rates]
            least = np.where(ratio[at] >= 0, ratio[at] - TOLERANCE, -1.0)
            asked.append(search.held_to(limit[at] + TOLERANCE, least, total + TOLERANCE))
        if self.randomize:
            mixture = mix_among(asked).best
            return None if mixture is None else Option(mixture[1].value, Tried(parts_of(*mixture), limits))
        choice = choose_among(asked, BOXES)
        if choice.candidates is None:
            return None
        cost = choice.cost / choice.search.scale.unit
        return Option(cost, Tried([{t: 1.0} for t in choice.candidates], limits))

    # ----------------------------------------------------------------------------------------------------- selection

    def shift(self, option: Option[Tried], replicates: list[tuple[Cells, tuple[SegmentSearch, ...]]]) -> Floats:
        """What new rows are expected to differ by at thresholds that were looked for on the counted ones, (5, A)."""
        parts, limits = option.chosen
        own, lost = self.rates(parts), []
        for cells, searches in replicates:
            again = None if limits is None else self.best(searches, limits)
            if again is not None:
                noise, found = own - self.rates(parts, cells), again.chosen.parts
                lost.append(self.rates(found) - self.rates(found, cells) - noise)
        return MORE * np.mean(lost, axis=0) if lost else np.zeros_like(own)


def replicates_of(cells: Cells, question: Question) -> list[tuple[Cells, tuple[SegmentSearch, ...]]]:
    """Resampled counts, and the question asked of them. Which draws a cell gets depends on its rows, not on names."""
    rows = cells.rows
    group, segment = _ranks(cells.by_group(rows))[cells.group], cells.segment
    if not question.monotone:
        segment = _ranks(cells.by_segment(rows))[segment]
    order = np.lexsort((segment, group))
    ordered = rows[:, order]
    powers = ordered if cells.squared is None else cells.squared[:, order]
    occupied = np.flatnonzero(ordered)
    random = np.random.default_rng(SEED)
    found = []
    for _ in range(REPLICATES):
        drawn, back = np.zeros(ordered.shape, dtype=np.int64), np.empty_like(rows)
        drawn.flat[occupied] = resampled(random, ordered.flat[occupied], powers.flat[occupied], cells.weight_unit)
        back[:, order] = drawn
        one = replace(cells, rows=back)
        if one.totals[:2].sum(axis=1).all() and (has_rate(one.totals) == has_rate(cells.totals)).all():
            found.append((one, tuple(searches_of(Problem.unchecked(one, question)))))
    return found


def _ranks(rows: Ints) -> Ints:
    """Ranks of columns (3, n, C) by their rows; of equal ones the first is first."""
    texts = [rows[:, k].astype(">f8").tobytes() for k in range(rows.shape[1])]
    keys = np.array([sorted(set(texts)).index(text) for text in texts])
    ranks = np.empty_like(keys)
    ranks[np.argsort(keys)] = np.arange(len(keys))
    return ranks


@dataclass(frozen=True)
class AskedBySegment(Asked[Tried]):
    """A question about thresholds by segment, and what selection does to them."""

    known: SegmentsKnown
    answer: Answer
    shift: Floats  # what new rows are expected to differ by

    @classmethod
    def of(cls, answer: Answer, best: Result, level: float, randomize: bool) -> AskedBySegment:
        """Lay out the question that `best` answers."""
        known = SegmentsKnown.of(answer, randomize)
        cells, search = known.cells, known.searches[0]
        at_unified = cells.rows[:, :, search.unified :].sum(axis=2)
        worth, least = Worth.of(search.scale, cells.totals, at_unified), math.sqrt(best.loss)
        plain = Option(least, Tried(parts_again(cells, best), known.asked))
        options = worth.useful(known.family(plain), least)
        kept = [
            option
            for option in options
            if known.chance(known.beliefs(option.chosen.parts), most=1 - level) <= 1 - level
        ]
        shift = known.shift(kept[0] if kept else plain, replicates_of(cells, answer.question))
        return cls(known, plain, options, worth, level, randomize, answer, shift)

    @property
    def can_mix(self) -> bool:
        return not self.randomize

    def option(self, result: Result) -> Option[Tried]:
        return Option(math.sqrt(result.loss), Tried(parts_again(self.answer.cells, result), None))

    def beliefs(self, option: Option[Tried], share: float = 1.0) -> Beliefs:
        """What is known of new rows; `share` of what selection adds. A unified threshold is hardly fitted to rows."""
        parts, limits = option.chosen
        return self.known.beliefs(parts, None if limits is None else share * self.shift)

    def result(self, option: Option[Tried], iterations: int) -> Result:
        search, parts = self.known.searches[0], option.chosen.parts
        return self.answer.result(search, parts, "optimal", "-", iterations, mixed=self.randomize)

    def other(self, question: Question, mixed: bool, evidence: float) -> tuple[AskedBySegment, Result]:
        answer = replace(self.answer, question=question)
        alike = answer.solved(mixed, evidence)
        best = alike if alike.verdict != "unified" else answer.solved(mixed)
        return AskedBySegment.of(answer, best, self.level, mixed), alike

    def needed(self) -> RowsNeeded:
        return plan(self.known, [self.beliefs(option, LATER) for option in self.options], self.level)
