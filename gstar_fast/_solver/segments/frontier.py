"""Error against gap for thresholds by segment: exact answers at a ladder of limits, refined where most is unknown.

There may be millions of points that no other thresholds beat in both, too many to list. So the search is asked for the
least error at one limit after another. An answer with gap g at limit L settles every limit from g to L. Between two
answers the least error is at least that of the looser limit, and at most that of the tighter one: an area that is not
known. Limits are asked for in the middle of the largest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gstar_fast._backends.interface import Floats
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.thresholds import most_probable
from gstar_fast._criteria import CRITERION, TOLERANCE
from gstar_fast._question.question import Question
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.answer.points import Frontier, Listed
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.cells import Cells, Outcome, Parts
from gstar_fast._solver.search import Problem
from gstar_fast._solver.segments.answer import Answer
from gstar_fast._solver.segments.search import SegmentSearch, choose_among, mix_among, parts_of, searches_of

ASKS = 40  # limits asked for besides the ends
BOXES = 64  # of the search for one of them
CLOSE = 1e-5  # of the whole area: what is not worth another question
HALVINGS = 10  # of the gap below which nothing meets the limits
APART = 1e-9  # limits nearer than this are one
ROUNDING = 1e-12


class Point(NamedTuple):
    """The answer for one limit."""

    limit: float
    gap: float
    error: float  # E
    lower: float  # E of everything within the limit is at least this
    search: SegmentSearch
    parts: Parts
    nodes: int
    finished: bool


def within(question: Question, criterion: str, limit: float) -> Question:
    """The question with a limit on a criterion, which may have a tighter one already."""
    asked = (one.most for one in question.limits if one.criterion.name == criterion)
    return question.limited(CRITERION[criterion].limit(min([limit, *asked])))


class Ladder:
    """Answers for limits on one criterion, others as they are."""

    def __init__(self, answer: Answer, criterion: str, randomize: bool) -> None:
        self.answer, self.criterion, self.randomize = answer, criterion, randomize
        question = answer.question.limited(CRITERION[criterion].limit(CRITERION[criterion].largest))
        self.problem = Problem.of(answer.cells, question)
        self.first = searches_of(self.problem)[0]
        self.nodes = 0
        self.unsure = False  # whether a search ended early without an answer

    def ask(self, limit: float) -> Point | None:
        """The least error within a limit; None where nothing meets it, or nothing was found."""
        question = within(self.answer.question, self.criterion, limit)
        searches = searches_of(replace(self.problem, question=question))
        if self.randomize:
            mixture = mix_among(searches)
            if mixture.best is None:
                return None
            search, mix = mixture.best
            return self._point(limit, search, parts_of(search, mix), mix.scans, mix.value, finished=True)
        choice = choose_among(searches, BOXES)
        self.nodes += choice.nodes
        if choice.candidates is None:
            self.unsure |= not choice.finished
            return None
        lower = choice.cost / choice.search.scale.unit if choice.finished else max(choice.bound, 0.0)
        parts = [{t: 1.0} for t in choice.candidates]
        return self._point(limit, choice.search, parts, choice.nodes, lower, finished=choice.finished)

    def _point(
        self, limit: float, search: SegmentSearch, parts: Parts, nodes: int, lower: float, *, finished: bool
    ) -> Point:
        outcome = self._outcome(search, parts)
        gap, error = outcome.gaps[self.criterion], outcome.weighted_error
        return Point(limit, gap, error, min(lower, error), search, parts, nodes, finished)

    def _outcome(self, search: SegmentSearch, parts: Parts) -> Outcome:
        cells = search.cells
        return Outcome.of(cells.by_group(cells.accepted(parts)), search.totals, search.scale)

    def alike(self) -> list[Point]:
        """All rows accepted, or all rejected, as far as other limits allow: often all that a gap of 0 leaves."""
        search, found = self.first, []
        for candidate in () if self.randomize else (0, search.cells.rows.shape[2] - 1):
            parts = [{candidate: 1.0}] * len(search.order)
            outcome, groups = self._outcome(search, parts), search.cells.groups
            if all(one.met(outcome.reached(one, groups), TOLERANCE) for one in self.answer.question.limits):
                found.append(self._point(outcome.gaps[self.criterion], search, parts, 0, 0.0, finished=False))
        return found

    def climb(self) -> tuple[list[Point], list[float], float]:
        """Answers from the smallest gap on, none beaten by another; bounds up to the next; from which gap they hold."""
        top = self.ask(CRITERION[self.criterion].largest)
        if top is None:
            limits = self.answer.question.asked_limits
            if self.unsure:
                raise refusal("not_found", "limits", value=self.nodes, limit=limits)
            raise refusal("infeasible_mixture" if self.randomize else "infeasible", "limits", limit=limits)
        found, proven_to = [top, *self.alike()], 0.0
        if top.gap > 0 and (bottom := self.ask(0.0)) is not None:
            found.append(bottom)
        elif top.gap > 0:
            low, high = 0.0, top.gap
            for _ in range(HALVINGS):
                middle = (low + high) / 2
                if (one := self.ask(middle)) is None:
                    low = middle
                else:
                    high = one.gap
                    found.append(one)
            proven_to = high
        for _ in range(ASKS):
            if (limit := widest(found)) is None:
                break
            one = self.ask(limit)  # None where the search ended early, though a tighter limit had an answer
            found.append(found_within(found, limit) if one is None else one)
        kept = best_of(found)
        ends = [*(point.gap for point in kept[1:]), top.limit]
        lower = [max(p.lower for p in found if p.limit >= end) for end in ends]
        return kept, [min(x, p.error) for x, p in zip(lower, kept, strict=True)], proven_to


def found_within(points: list[Point], limit: float) -> Point:
    """The best answer known for a limit, as that of a question which had none of its own."""
    within = min((point for point in points if point.gap <= limit), key=lambda point: point.error)
    return within._replace(limit=limit, lower=max(p.lower for p in points if p.limit >= limit), finished=False)


def bounds_at(points: list[Point]) -> tuple[Floats, Floats, Floats]:
    """Where the known changes, and up to the next such place: the least error found, and what it is at least."""
    places = np.unique([x for point in points for x in (point.gap, point.limit)])
    gaps, errors = np.array([p.gap for p in points]), np.array([p.error for p in points])
    limits, lowers = np.array([p.limit for p in points]), np.array([p.lower for p in points])
    upper = np.where(gaps <= places[:-1, None], errors, np.inf).min(axis=1)
    lower = np.where(limits >= places[1:, None], lowers, 0.0).max(axis=1)
    return places, upper, np.minimum(lower, upper)


def widest(points: list[Point]) -> float | None:
    """The limit to ask for next; None where nothing large is unknown."""
    places, upper, lower = bounds_at(points)
    known = upper < np.inf
    area = np.where(known, (np.where(known, upper, 0.0) - lower) * np.diff(places), 0.0)
    area[np.diff(places) < APART] = 0.0
    errors, gaps = [p.error for p in points], [p.gap for p in points]
    whole = (max(errors) - min(errors)) * (max(gaps) - min(gaps))
    at = int(np.argmax(area)) if len(area) else -1
    if at < 0 or area[at] <= CLOSE * whole:
        return None
    return float((places[at] + places[at + 1]) / 2)


def best_of(points: list[Point]) -> list[Point]:
    """Those that no other beats in both, from the smallest gap on."""
    kept: list[Point] = []
    for point in sorted(points, key=lambda p: (p.gap, p.error, not p.finished)):  # of two alike the proven one
        if not kept or point.error < kept[-1].error - ROUNDING:
            kept.append(point)
    return kept


@dataclass(frozen=True)
class SegmentsAgain:
    """The question of a frontier by segment."""

    question: Question
    criterion: str
    randomize: bool

    def at(self, gap: float, sketch: Sketch) -> Result:
        """The least error within a gap, solved for on the sketch."""
        question = within(self.question, self.criterion, min(gap, CRITERION[self.criterion].largest))
        return Answer(Cells.asked(sketch, question), question).solved(self.randomize)


def frontier_by_segment(cells: Cells, criterion: str, question: Question) -> Frontier:
    """The frontier of thresholds by segment."""
    randomize = question.randomize
    answer = Answer(cells, question)
    ladder = Ladder(answer, criterion, randomize)
    found, lower, proven_to = ladder.climb()

    def result(i: int) -> Result:
        point = found[i]
        search = replace(point.search, question=question)
        verdict = "optimal" if point.finished else "not_converged"
        bound = None if point.finished else point.lower
        return answer.result(
            search, point.parts, verdict, "-" if point.finished else "", point.nodes, mixed=randomize, bound=bound
        )

    likeliest = [[most_probable(part.items()) for part in point.parts] for point in found]
    return Frontier(
        criterion=criterion,
        groups=cells.segments,
        gaps=np.array([point.gap for point in found]),
        costs=np.array([point.error for point in found]),
        thresholds=cells.candidates[np.array(likeliest)],
        randomized=randomize,
        weighted=question.weighted,
        proven_to=proven_to,
        penalty=None,
        lower_bounds=np.array(lower),
        _points=Listed(tuple(map(result, range(len(found))))),
        _again=SegmentsAgain(question, criterion, randomize),
    )
