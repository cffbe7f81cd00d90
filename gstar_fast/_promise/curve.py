"""The curve of promised limits: for each limit the least error at which it can be promised.

Points come from the frontiers of rates with bands of several widths. Each is worth the smallest limit that its
thresholds can be promised to hold; of those that nobody beats in both, the ones are kept that keep enough of what plain
thresholds gain at the same limit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gstar_fast._backends import room
from gstar_fast._backends.interface import Arrays
from gstar_fast._base.arrays import Bools
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._criteria import CRITERION, Form
from gstar_fast._promise.by_group import WIDTHS, Entries, beliefs, option_at, result_of
from gstar_fast._promise.chance import Known
from gstar_fast._promise.choose import Option, Worth, promised_message, upper_of, with_verdict
from gstar_fast._question.question import Question
from gstar_fast._rates import SOLVER_RATES
from gstar_fast._solver.answer.parts import Promise
from gstar_fast._solver.answer.points import Frontier, Listed
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.cells import Cells
from gstar_fast._solver.mix import corners_of
from gstar_fast._solver.search import prepare

FROM_EACH = 16  # points of the frontier of each width
BOXES = 2_000_000


class Point(NamedTuple):
    """Thresholds, the limit they are promised to hold, and plain thresholds for that limit."""

    limit: float
    option: Option[Entries]
    plain: Option[Entries]


def promised_curve(cells: Cells, criterion: str, question: Question, level: float) -> Frontier:
    """The frontier of limits that can be promised, from the smallest limit to the least error."""
    randomize = question.randomize
    limited = question.limited(CRITERION[criterion].limit(CRITERION[criterion].largest))  # which nothing breaks
    search = prepare(cells, limited, certain=True)
    known = Known.of(search)
    swept = np.array([SOLVER_RATES[r] in CRITERION[criterion].rates for r in known.active])
    points = _points(known, criterion, swept, level, randomize)
    if not points:
        raise refusal("no_promise", "confidence", value=level, limit=criterion)
    return Frontier(
        criterion=criterion,
        groups=search.groups,
        gaps=np.array([point.limit for point in points]),
        costs=np.array([point.option.cost for point in points]),
        thresholds=np.array([list(result_of(search, point.option).thresholds.values()) for point in points]),
        randomized=randomize,
        proven_to=1.0,
        penalty=None,
        _points=Listed(tuple(_result(known, criterion, level, point) for point in points)),
        confidence=level,
        weighted=question.weighted,
    )


def _result(known: Known, criterion: str, level: float, point: Point) -> Result:
    """A point as a result with a promise."""
    limit, option, other = point
    of = known.asked(known.question.limited(CRITERION[criterion].limit(limit)))
    plain, made = (result_of(of.search, one) for one in (other, option))
    chance, plain_chance = (of.chance(beliefs(of, one)) for one in (option, other))
    cost = max(made.error - plain.error, 0.0)
    promise = Promise(level, chance, {criterion: limit}, cost, plain, plain_chance)
    return with_verdict(made, promise, "promised", promised_message(promise, made))


def _points(known: Known, criterion: str, swept: Bools, level: float, randomize: bool) -> list[Point]:
    """The promised limits; the search has a limit on the criterion that nothing breaks."""
    search = known.search
    asked = next(limit for limit in search.question.limits if limit.criterion.name == criterion)
    most, added = asked.criterion.largest, asked.form is Form.SUM
    plain = _frontier(known, search.arrays, swept, randomize, added)
    options = [option for _, option in plain]
    for z in WIDTHS[1:]:
        low, high = known.bands(z)
        banded = replace(search.arrays, low=low, high=high)
        options += [option for _, option in _frontier(known, banded, swept, randomize, added)]
    worth = Worth.of(search.scale, search.table.totals, search.table.at_unified)
    gaps = [gap for gap, _ in plain]
    found = []
    for option in options:
        limit = upper_of(known, beliefs(known, option), 1 - level, asked)
        beside = plain[max(int(np.searchsorted(gaps, limit + 1e-12, side="right")) - 1, 0)][1]
        if option.cost <= worth.most(beside.cost) and limit < most:
            found.append(Point(limit, option, beside))
    kept: list[Point] = []
    for point in sorted(found, key=lambda point: (point.limit, point.option.cost)):
        if not kept or point.option.cost < kept[-1].option.cost:
            kept.append(point)
    return kept


def _frontier(
    known: Known, p: Arrays, swept: Bools, randomize: bool, added: bool
) -> list[tuple[float, Option[Entries]]]:
    """Some points of a frontier, from the smallest gap on."""
    found: list[tuple[float, Option[Entries]]]
    if randomize:
        corners = corners_of(p, swept, added)
        found = [(gap, Option(corners[gap][0], corners[gap][1])) for gap in sorted(corners)]
    else:
        choices, gaps, _ = room("solver").frontier(p, swept.astype(np.uint8), BOXES, added)
        found = [(float(gap), option_at(known, p.start[:-1] + one)) for gap, one in zip(gaps, choices, strict=True)]
    if len(found) <= FROM_EACH:
        return found
    cost = np.array([option.cost for _, option in found])
    wanted = np.linspace(cost[0], cost[-1], FROM_EACH // 2)  # evenly in error, and evenly along the list
    picked = {*np.searchsorted(-cost, -wanted).clip(0, len(found) - 1).tolist()}
    picked |= {*np.linspace(0, len(found) - 1, FROM_EACH // 2).astype(int).tolist()}
    return [found[i] for i in sorted(picked)]
