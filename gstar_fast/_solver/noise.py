"""Limits below what chance alone shows: the gap that an exactly fair rule has on so few rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from gstar_fast._backends.interface import Floats
from gstar_fast._base.names import Name
from gstar_fast._criteria import CRITERION, Form, Limit
from gstar_fast._rates import SOLVER_RATES, Rate
from gstar_fast._solver.answer.note import Note, has
from gstar_fast._solver.cells import Cells
from gstar_fast._solver.result import Result

Sums: TypeAlias = dict[Name, tuple[Floats, Floats]]  # of weights and of their squares, by group

NOISIEST = 16  # groups looked at; the others hardly widen the range
PROMISE = ["confidence", "0.95", "", ""]


def told_of_noise(result: Result, cells: Cells) -> Result:
    """The same result, with a note where one of its limits is below the gap that chance alone shows.

    Nothing is said of limits that are not met, and of answers that are degenerate anyhow.
    """
    if not result.limits or result.verdict == "infeasible" or has(result.notes, "degenerate"):
        return result
    sums_of = _effective(cells)
    asks = (CRITERION[name].limit(value) for name, value in result.limits.items())
    found = [one for limit in asks for one in _noises(result, limit, sums_of)]
    told = [one for one in found if one.gap > one.allowed]
    if not told:
        return result
    name, rate, gap, _, group, rows, what = max(told, key=lambda one: one.gap - one.allowed)
    what = f"effective {what}" if cells.weighted else what
    can_promise = result.density == "empirical" and not result.penalties
    ways = [f"more rows of {group!r}", "a wider limit", *([PROMISE] if can_promise else [])]
    limit = result.limits[name]
    values = {"limit": limit, "rate": rate, "gap": gap, "group": group, "rows": rows, "what": what, "ways": ways}
    return replace(result, notes=(*result.notes, Note.warned("noise", criterion=name, **values)))


class Noise(NamedTuple):
    """The gap that chance shows, beside the one that a limit allows."""

    criterion: str
    rate: str
    gap: float
    allowed: float
    group: Name  # that has the fewest rows
    rows: float  # effective ones
    what: str  # the rows are


def _noises(result: Result, limit: Limit, sums_of: Sums) -> list[Noise]:
    """The noise of each rate that a limit is about; of their sum where the limit is on that."""
    gap = limit.gap()
    if gap is None:
        return []
    name, found = limit.criterion.name, []
    for rate in limit.criterion.rates:
        groups, values, rows, errors = _errors(result, rate, sums_of)
        if len(groups) < 2:
            continue
        allowed = gap * float(values @ rows) / float(rows.sum()) if limit.form is Form.RATIO else gap
        far = limit.form is not Form.SUM and allowed >= most_by_chance(errors)
        least = int(np.argmin(rows))
        chance = 0.0 if far else chance_gap(errors)
        found.append(Noise(name, rate.name, chance, allowed, groups[least], float(rows[least]), rate.fewest))
    if limit.form is not Form.SUM or len(found) < 2:
        return found
    both = " and ".join(one.rate for one in found)
    return [max(found, key=lambda one: one.gap)._replace(rate=both, gap=sum(one.gap for one in found))]


def most_by_chance(errors: Floats) -> float:
    """A bound of `chance_gap` that costs nothing: the largest of k standard normal numbers is sqrt(2 log k) at most."""
    return 2.0 * math.sqrt(2.0 * math.log(len(errors))) * float(errors.max())


def chance_gap(errors: Floats) -> float:
    """Expected largest minus smallest of independent normal numbers with mean 0 and these standard deviations."""
    if len(errors) == 2:
        return math.hypot(*errors.tolist()) * math.sqrt(2.0 / math.pi)
    errors = np.sort(errors)[::-1][:NOISIEST]
    if not (len(errors) and errors[0] > 0.0):
        return 0.0
    # E max - E min = 2 * integral over x > 0 of P(some are above x) + P(some are below x) - 1
    x, step = np.linspace(0.0, 6.0 * errors[0], 129, retstep=True)
    z = x[:, None] / np.maximum(errors, 1e-300)
    below = np.array([0.5 * math.erfc(-v * math.sqrt(0.5)) for v in z.ravel().tolist()]).reshape(z.shape)
    height = 1.0 - below.prod(axis=1) - (1.0 - below).prod(axis=1)
    return float(2.0 * step * (height.sum() - 0.5 * (height[0] + height[-1])))


def _effective(cells: Cells) -> Sums:
    """Sum of weights, and of their squares, of labels 0, 1 and unlabelled, by group."""
    totals = cells.totals.astype(np.float64) * cells.weight_unit
    squares: Floats = cells.by_group(cells.squares.sum(axis=2)) if cells.weighted else totals
    return {name: (totals[:, k], squares[:, k]) for k, name in enumerate(cells.groups)}


def _errors(result: Result, rate: Rate, sums_of: Sums) -> tuple[list[Name], Floats, Floats, Floats]:
    """Groups that have the rate, its values, effective rows behind them, and standard errors as if all had the same.

    The errors of a mean of two shares add up in squares, and the smaller of both cells counts as its rows.
    """
    groups = [name for name, rates in result.rates.items() if getattr(rates, rate.name) is not None]
    at = np.array([getattr(result.rates[name], rate.name) for name in groups], dtype=np.float64)
    if len(rate.shares) > 1:
        parts = [_errors(result, SOLVER_RATES[r], sums_of) for r in rate.parts]
        places = [[own.index(name) for name in groups] for own, _, _, _ in parts]
        found = [(rows[place], errors[place]) for (_, _, rows, errors), place in zip(parts, places, strict=True)]
        each, errors = zip(*found, strict=True)
        return groups, at, np.minimum(*each), np.hypot(*errors) / 2.0
    labels = list(rate.labels)
    sums = (sums_of[name] for name in groups)
    n = np.array([float(all_[labels].sum()) ** 2 / float(squares[labels].sum()) for all_, squares in sums])
    common = (float(at @ n) + 1.0) / (float(n.sum()) + 2.0)
    return groups, at, n, np.sqrt(common * (1.0 - common) / n)
