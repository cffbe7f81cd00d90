"""Limits and penalties as they are given, a dict by criterion -> records."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gstar_fast._base.arrays import Bools, Floats
from gstar_fast._base.json import bad_document
from gstar_fast._base.names import Name
from gstar_fast._base.refusals.place import bad_option
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.warn import warn
from gstar_fast._criteria import CRITERION, ENDS, KNOWN, LIMITED, TOLERANCE, Criterion, Form, Limit
from gstar_fast._rates import SOLVER_RATES

HARDLY_A_RATIO = 0.2  # a limit on a ratio up to here reads like a gap
LARGEST_PENALTY = 1e100

MEMBERS = {"of", "at_least", "at_most"}  # of a saved limit

LimitKey: TypeAlias = str | tuple[str, Name]  # what a limit is about
LimitLike: TypeAlias = float | Mapping[str, float]  # what it asks for
Limits: TypeAlias = Mapping[str, LimitLike] | Mapping[LimitKey, LimitLike]  # as users give them


def read_limits(given: object) -> tuple[Limit, ...]:
    """One limit for each entry: the largest gap, the least ratio, or what a rate is at least and at most."""
    entries = _entries("limits", given, LIMITED)
    return tuple((_limit if one.compares else _bound)(one, value) for one, value in entries)


def encode_limit(limit: Limit) -> dict[str, Any]:
    """The limit as JSON has it."""
    out: dict[str, Any] = {"of": limit.criterion.name}
    if limit.least > -math.inf:
        out["at_least"] = limit.least
    if limit.most < math.inf:
        out["at_most"] = limit.most
    return out


def saved_limits(saved: object) -> tuple[Limit, ...]:
    """Read what `encode_limit` wrote."""
    given: dict[LimitKey, LimitLike] = {}
    for one in saved if isinstance(saved, list) else [saved]:
        if not isinstance(one, dict) or one.get("of") not in KNOWN or not one.keys() <= MEMBERS:
            raise bad_document(f"a limit has the members {', '.join(sorted(MEMBERS))}; got {reprlib.repr(one)}")
        if not all(is_number(one[end]) for end in ("at_least", "at_most") if end in one):
            raise bad_document(f"limits on {one['of']} must be numbers; got {reprlib.repr(one)}")
        limit = Limit(KNOWN[one["of"]], one.get("at_least", -math.inf), one.get("at_most", math.inf))
        given[limit.key] = limit.given
    return read_limits(given)


def read_penalties(given: object) -> dict[str, float]:
    """The weight of the squared gap, by criterion."""
    return {criterion.name: _penalty(criterion, value) for criterion, value in _entries("penalties", given, CRITERION)}


def check_criterion(name: object, argument: str, known: Mapping[str, Criterion] = CRITERION) -> str:
    """Return `name` if it is known, else raise with the nearest word."""
    if not isinstance(name, str) or name not in known:
        raise refusal("criterion", argument, value=name, limit=tuple(known))
    return name


def warn_of_ratios(limits: tuple[Limit, ...]) -> None:
    """Warn about a least ratio that is so small that a largest gap may have been meant."""
    for limit in limits:
        if limit.form is Form.RATIO and limit.least <= HARDLY_A_RATIO:
            warn(refusal("low_ratio", "limits", value=limit.least, limit=HARDLY_A_RATIO))


def _entries(argument: str, given: object, known: Mapping[str, Criterion]) -> Iterator[tuple[Criterion, object]]:
    """Each criterion and what is asked of it."""
    if given is None:
        return
    if not isinstance(given, Mapping):
        raise refusal("criteria_type", argument, value=given)
    for name, value in given.items():
        yield known[check_criterion(name, f"names in {argument}", known)], value


def _limit(criterion: Criterion, value: object) -> Limit:
    number = _number("limits", criterion, value)
    if not 0 <= number <= criterion.largest:
        raise refusal("limit", criterion.name, value=value, limit=criterion.largest)
    return criterion.limit(number)


def _bound(criterion: Criterion, value: object) -> Limit:
    """What a rate is at least and at most."""
    name = criterion.name
    if not isinstance(value, Mapping) or not value or not value.keys() <= ENDS.keys():
        end = "'at_least': 0.7} or 'at_most'" if criterion.form is Form.BOUND else "'at_most': 0.1} or 'at_least'"
        text = f"a limit on {name} has to say on which side; write {{{name!r}: {{{end}"
        raise bad_option("limits", f"{text}; got {value!r}")
    ends = {end: _number("limits", criterion, value[end]) if end in value else none for end, none in ENDS.items()}
    least, most = ends.values()
    if not (least <= most and all(0 <= number <= 1 for number in ends.values() if math.isfinite(number))):
        raise bad_option("limits", f"limits on {name} are from 0 to 1, at_least not above at_most; got {value!r}")
    return Limit(criterion, least, most)


def _penalty(criterion: Criterion, value: object) -> float:
    number = _number("penalties", criterion, value)
    if not criterion.penalised:
        code = "penalised_ratio" if criterion.form is Form.RATIO else "penalised_sum"
        raise refusal(code, "penalties", value=value)
    if not (number >= 0 and math.isfinite(number)):
        raise refusal("penalty", criterion.name, value=value)
    if number > LARGEST_PENALTY:
        raise refusal("penalty_size", criterion.name, value=value, limit=LARGEST_PENALTY)
    return number


def _number(argument: str, criterion: Criterion, value: object) -> float:
    if not is_number(value):
        raise refusal("criterion_number", f"{argument}:{criterion.name}", value=value)
    return float(value)  # type: ignore[arg-type]


def is_number(value: object) -> bool:
    """Whether an option is a number; True and False are not."""
    return isinstance(value, (Real, np.number)) and not isinstance(value, (bool, np.bool_))


class Windows(NamedTuple):
    """What limits allow each rate of the solvers between groups, tolerance included."""

    most: Floats  # largest difference; inf where none is set. No gap is larger than a sum of gaps may be
    alone: Floats  # the same, limits on a sum of two gaps aside
    ratio: Floats  # least ratio; -1 where none is set
    total: float  # largest sum of the gaps of the first two rates; inf where none is set

    @property
    def set(self) -> Bools:
        """Which rates have a window."""
        return (self.most < np.inf) | (self.ratio >= 0)


def windows_of(limits: Iterable[Limit]) -> Windows:
    """The windows of all rates."""
    most, alone = np.full((2, len(SOLVER_RATES)), np.inf)
    ratio, total = np.full(len(SOLVER_RATES), -1.0), math.inf
    for limit in limits:
        for rate, (difference, least) in limit.windows(TOLERANCE).items():
            r = SOLVER_RATES.index(rate)
            most[r], ratio[r] = min(most[r], difference), max(ratio[r], least)
            if limit.form is not Form.SUM:
                alone[r] = min(alone[r], difference)
        if limit.form is Form.SUM:
            total = min(total, limit.most + TOLERANCE)
    for array in (most, alone, ratio):
        array.flags.writeable = False
    return Windows(most, alone, ratio, total)
