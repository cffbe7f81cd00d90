"""Limits below what chance alone shows: the gap that an exactly fair rule has on so few rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from gstar_fast._backends.interface import Floats
from gstar_fast._base.names import Name
from gstar_fast._criteria import ADDED, CRITERIA
from gstar_fast._solver.answer.note import Note, has
from gstar_fast._solver.result import Result
from gstar_fast._solver.snapshot import Snapshot

Cells: TypeAlias = dict[Name, tuple[Floats, Floats]]  # sums of weights and of their squares, by group

LABELS = {
    "tpr": ((1,), "positive labels"),
    "fpr": ((0,), "negative labels"),
    "selection_rate": ((0, 1, 2), "rows"),
    "accuracy": ((0, 1), "labelled rows"),
}
NOISIEST = 16  # groups looked at; the others hardly widen the range
PROMISE = ["confidence", "0.95", "", ""]


def told_of_noise(result: Result, snapshot: Snapshot, named: Callable[[Name], Name] = lambda name: name) -> Result:
    """The same result, with a note where one of its limits is below the gap that chance alone shows.

    `named` is the group of `result.rates` that a group of the counts belongs to. Nothing is said of limits that are not
    met, and of answers that are degenerate anyhow.
    """
    if not result.limits or result.verdict == "infeasible" or has(result.notes, "degenerate"):
        return result
    cells = _effective(snapshot, named)
    found = [one for name, limit in result.limits.items() for one in _noises(result, name, limit, cells)]
    told = [one for one in found if one.gap > one.allowed]
    if not told:
        return result
    name, rate, gap, _, group, rows, what = max(told, key=lambda one: one.gap - one.allowed)
    what = f"effective {what}" if snapshot.weighted else what
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


def _noises(result: Result, name: str, limit: float, cells: Cells) -> list[Noise]:
    """The noise of each rate that a limit is about; of their sum where the limit is on that."""
    found = []
    for rate in CRITERIA[name]:
        groups, values, rows, errors = _errors(result, rate, cells)
        if len(groups) < 2:
            continue
        allowed = limit if name != "disparate_impact" else (1.0 - limit) * float(values @ rows) / float(rows.sum())
        far = name != ADDED and allowed >= most_by_chance(errors)
        least = int(np.argmin(rows))
        what = LABELS[rate][1] if rate in LABELS else "labels of a class"
        found.append(
            Noise(name, rate, 0.0 if far else chance_gap(errors), allowed, groups[least], float(rows[least]), what)
        )
    if name != ADDED or len(found) < 2:
        return found
    return [
        max(found, key=lambda one: one.gap)._replace(rate=" and ".join(CRITERIA[name]), gap=sum(x.gap for x in found))
    ]


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


def _effective(snapshot: Snapshot, named: Callable[[Name], Name]) -> Cells:
    """Sum of weights, and of their squares, of labels 0, 1 and unlabelled, by group."""
    totals = snapshot.rows.sum(axis=2) * snapshot.weight_unit
    squares = snapshot.squares().sum(axis=2) if snapshot.weighted else totals
    out: Cells = {}
    for k, name in enumerate(map(named, snapshot.groups)):
        sums, powers = out.get(name, (0.0, 0.0))
        out[name] = sums + totals[:, k], powers + squares[:, k]
    return out


def _errors(result: Result, rate: str, cells: Cells) -> tuple[list[Name], Floats, Floats, Floats]:
    """Groups that have the rate, its values, effective rows behind them, and standard errors as if all had the same."""
    if rate == "balanced_accuracy":
        return _balanced(result, cells)
    labels = list(LABELS[rate][0])
    groups, values, rows = [], [], []
    for name, rates in result.rates.items():
        value = getattr(rates, rate)
        if value is None:
            continue
        sums, squares = cells[name]
        groups.append(name)
        values.append(value)
        rows.append(float(sums[labels].sum()) ** 2 / float(squares[labels].sum()))
    at, n = np.array(values), np.array(rows)
    common = (float(at @ n) + 1.0) / (float(n.sum()) + 2.0)
    return groups, at, n, np.sqrt(common * (1.0 - common) / n)


def _balanced(result: Result, cells: Cells) -> tuple[list[Name], Floats, Floats, Floats]:
    """As `_errors`, for the mean of tpr and tnr; the smaller of both cells counts as its rows."""
    parts = [_errors(result, rate, cells) for rate in ("tpr", "fpr")]
    groups = [name for name, rates in result.rates.items() if rates.balanced_accuracy is not None]
    values = np.array([result.rates[name].balanced_accuracy for name in groups], dtype=np.float64)
    places = [[own.index(name) for name in groups] for own, _, _, _ in parts]
    rows = [own[at] for (_, _, own, _), at in zip(parts, places, strict=True)]
    errors = [own[at] for (_, _, _, own), at in zip(parts, places, strict=True)]
    return groups, values, np.minimum(*rows), np.hypot(*errors) / 2.0
