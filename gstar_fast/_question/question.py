"""What is asked of thresholds: one record, read by every verb, and its limits. `options.py` has the other options."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gstar_fast._base.arrays import Bools, Floats
from gstar_fast._base.json import bad_document
from gstar_fast._base.names import Name
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.place import bad_option
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.warn import warn
from gstar_fast._criteria import CRITERION, ENDS, KNOWN, LIMITED, TOLERANCE, Criterion, Form, Limit, limit_texts
from gstar_fast._input.options import checked_flag, checked_min_rows
from gstar_fast._question.cut import Code, Column, Segments
from gstar_fast._question.options import (
    OBJECTIVES,
    Densities,
    ObjectiveLike,
    check_confidence,
    check_together,
    is_number,
    name_of,
    objective_text,
    read_density,
    read_evidence,
    read_method,
    read_objective,
    read_rounds,
    read_seconds,
)
from gstar_fast._question.roles import read_columns, read_decide_by
from gstar_fast._rates import SOLVER_RATES
from gstar_fast._words import GIVEN

LimitKey: TypeAlias = str | tuple[str, Name]  # what a limit is about
LimitLike: TypeAlias = float | Mapping[str, float]  # what it asks for
Limits: TypeAlias = Mapping[str, LimitLike] | Mapping[LimitKey, LimitLike]  # as users give them

HARDLY_A_RATIO = 0.2  # a limit on a ratio up to here reads like a gap
LARGEST_PENALTY = 1e100

MEMBERS = {"of", "at_least", "at_most"}  # of a saved limit


class Windows(NamedTuple):
    """What limits allow each rate of the solvers between groups, tolerance included."""

    most: Floats  # largest difference allowed, inf if none; a limit on a sum of gaps also caps each gap
    alone: Floats  # the same without limits on sums
    ratio: Floats  # least ratio allowed, -1 if none
    total: float  # largest sum of the gaps of the first two rates, inf if none

    @property
    def limited(self) -> Bools:
        """Which rates have a window."""
        return (self.most < np.inf) | (self.ratio >= 0)


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class Question:
    """What was asked of `solve`, checked.

    Attributes
    ----------
    limits : tuple of Limit
        One for each criterion.
    penalties : dict
        Weight of the squared gap, by criterion.
    objective : str or dict
        "error", "balanced_error", or prices such as ``{"fp": 1.0, "fn": 5.0}``.
    fair_between, decide_by : tuple, Segments or None
        Group columns.
    method, density, unified, randomize, min_rows, max_seconds, confidence, evidence, rounds
        As in `solve`.
    """

    limits: tuple[Limit, ...] = ()
    penalties: Mapping[str, float] = field(default_factory=dict)
    objective: ObjectiveLike = "error"
    method: str = "exact"
    density: str | Densities = "empirical"
    unified: bool = False
    randomize: bool = False
    min_rows: float = 0.0
    max_seconds: float | None = None
    confidence: float | None = None
    evidence: float = 0.95
    fair_between: tuple[Column, ...] | None = None
    decide_by: tuple[Column, ...] | Segments | None = None
    rounds: int | None = None

    @classmethod
    def of(cls, **given: object) -> Question:
        """Check options as they are given; an error names the option, its value and what to do."""
        asked = {name: value for name, value in given.items() if not _is_default(name, value)}
        question = cls(**{name: _READ[name](value) for name, value in asked.items()})
        if asked.keys() - {"limits"}:  # which go together among themselves
            check_together(question)
        return question

    # ------------------------------------------------------------------------------------------------ what follows

    @property
    def gap_limits(self) -> dict[str, float]:
        """The largest gap, or the least ratio, by criterion; limits on a rate itself are left out."""
        return {limit.criterion.name: limit.asked for limit in self.limits if limit.gap() is not None}

    @property
    def asked_limits(self) -> dict[LimitKey, LimitLike]:
        """The limits as `solve` takes them."""
        return {limit.key: limit.given for limit in self.limits}

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """Every criterion that is limited or penalised."""
        names = dict.fromkeys([*(limit.criterion.name for limit in self.limits), *self.penalties])
        return tuple(KNOWN[name] for name in names)

    @property
    def compared_rates(self) -> list[tuple[str, int]]:
        """Every criterion that compares groups, with the positions of its rates in `SOLVER_RATES`."""
        return [(one.name, SOLVER_RATES.index(rate)) for one in self.criteria if one.compares for rate in one.rates]

    def limited(self, limit: Limit) -> Question:
        """The same question with this limit, in the place of another on the same."""
        by_key = {one.key: one for one in self.limits} | {limit.key: limit}
        return replace(self, limits=tuple(by_key.values()))

    @cached_property
    def windows(self) -> Windows:
        """What the limits allow each rate of the solvers."""
        return windows_of(self.limits)

    @cached_property
    def penalty(self) -> Floats:
        """Weight of the mean squared difference of each rate of the solvers."""
        out = np.zeros(len(SOLVER_RATES))
        for name, value in self.penalties.items():
            for rate in KNOWN[name].rates:
                out[SOLVER_RATES.index(rate)] += value
        return out

    @property
    def bounds(self) -> tuple[Limit, ...]:
        """Limits on a rate of every group."""
        return tuple(limit for limit in self.limits if limit.form is Form.BOUND)

    @property
    def totals(self) -> tuple[Limit, ...]:
        """Limits on a rate of all rows together."""
        return tuple(limit for limit in self.limits if limit.form is Form.TOTAL)

    @property
    def in_rows(self) -> bool:
        """Whether its limits are held as rows of a program, and not by a search over windows of rates."""
        forms = {limit.form for limit in self.limits}
        return not self.unified and (Form.TOTAL in forms or (Form.BOUND in forms and self.randomize))

    @property
    def weighted(self) -> bool:
        """Whether errors have prices, so that the cost that is minimised is not the error rate."""
        return self.objective != "error"

    @property
    def measure(self) -> str:
        """What is minimised: "error", "cost" or "loss"."""
        return "loss" if self.penalties else "cost" if self.weighted else "error"

    @property
    def lower(self) -> str:
        """The end of the sentence "no other thresholds have ..."."""
        return f"a lower {self.measure}{' within the limits' if self.limits else ''}"

    @property
    def balanced(self) -> bool:
        """Whether both classes weigh alike."""
        if isinstance(self.objective, str):
            return OBJECTIVES[self.objective]
        return bool(self.objective.get("balanced", False))

    @property
    def costs(self) -> tuple[float, float]:
        """Prices of a false positive and of a false negative."""
        if isinstance(self.objective, str):
            return 1.0, 1.0
        return self.objective["fp"], self.objective["fn"]

    @property
    def seconds(self) -> float:
        """How long the search may take."""
        return math.inf if self.max_seconds is None else self.max_seconds

    @property
    def smooth(self) -> bool:
        """Whether densities take the place of the counts."""
        return not (isinstance(self.density, str) and self.density == "empirical")

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns of `decide_by`."""
        if isinstance(self.decide_by, Segments):
            return () if self.decide_by.column is None else (self.decide_by.column,)
        return self.decide_by

    @property
    def by_segment(self) -> bool:
        """Whether thresholds depend on other columns than those between whose groups gaps are measured."""
        if self.decide_by is None:
            return self.fair_between is not None and not self.unified
        return isinstance(self.decide_by, Segments) or self.columns != self.fair_between

    @property
    def monotone(self) -> bool:
        """Whether thresholds must rise, or fall, along the segments."""
        return isinstance(self.decide_by, Segments) and self.decide_by.monotone

    @property
    def cuts(self) -> tuple[float, ...] | None:
        """Cut points of the column that thresholds depend on."""
        return self.decide_by.cuts if isinstance(self.decide_by, Segments) else None

    # ----------------------------------------------------------------------------------------------- written and read

    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults, in the words of `solve`."""
        out = {
            one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) != _DEFAULT[one.name]
        }
        return out | ({"limits": self.asked_limits} if self.limits else {})

    def to_dict(self) -> dict[str, object]:
        """The options that differ from their defaults, for JSON; densities by hand are only named."""
        out = self.given()
        if self.limits:
            out["limits"] = [encode_limit(limit) for limit in self.limits]
        if self.smooth:
            out["density"] = name_of(self.density)
        for name in ("fair_between", "decide_by"):
            if name in out:
                out[name] = out[name].to_dict() if isinstance(out[name], Segments) else list(out[name])
        return out

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Question:
        """Read what `to_dict` wrote. A question about densities by hand can be read, and not be solved again."""
        if unknown := next((name for name in saved if name not in _READ), None):
            raise bad_document(f"question has an unknown option {unknown!r}")
        given = dict(saved)
        known: dict[str, Any] = {"limits": saved_limits(given.pop("limits", []))}
        if given.get("density") == GIVEN:
            known["density"] = given.pop("density")
        if isinstance(given.get("decide_by"), Mapping):
            given["decide_by"] = Segments.from_dict(given["decide_by"])
        question = cls(**known, **{name: _READ[name](value) for name, value in given.items()})
        for column in (*(question.fair_between or ()), *(question.columns or ())):
            if isinstance(column, int) and column < 0:
                raise bad_document(f"columns have names, or positions from 0; got {column}")
        check_together(question)
        return question

    def as_python(self) -> list[str]:
        """The arguments of `solve` as Python code, without those that have their defaults."""
        out = self.given()
        if self.smooth:
            out["density"] = Code("densities") if name_of(self.density) == GIVEN else name_of(self.density)
        for name in ("fair_between", "decide_by"):
            if name in out:
                out[name] = out[name].as_python() if isinstance(out[name], Segments) else list(out[name])
        return [f"{name}={_plain(value)!r}" for name, value in out.items()]

    def as_options(self) -> list[str]:
        """The same for the command line; cut points are in a file there, which this does not know."""
        out: list[str] = []
        for name, value in self.given().items():
            option = f"--{name.replace('_', '-')}"
            if name == "limits":
                out += [word for limit in self.limits for text in limit_texts(limit) for word in ("--limit", text)]
            elif name == "penalties":
                out += [word for key, number in value.items() for word in ("--penalty", f"{key}={number!r}")]
            elif name in ("fair_between", "decide_by"):
                columns = self.columns if name == "decide_by" else value
                out += [word for column in columns or () for word in (option, str(column))]
            else:
                out += [option] if value is True else [option, objective_text(_plain(value))]
        return [*out, "--monotone"] if self.monotone and self.cuts is None else out


_DEFAULT = {one.name: getattr(Question(), one.name) for one in fields(Question)}


def _is_default(name: str, value: object) -> bool:
    """Whether an option has its default, so that it need not be read; 0 is not False."""
    if value is None:
        return _DEFAULT[name] in (None, (), {})
    return type(value) is type(_DEFAULT[name]) and not isinstance(value, (dict, tuple)) and value == _DEFAULT[name]


def _plain(value: object) -> object:
    """A whole number without its decimal point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


# -------------------------------------------------------------------------------------------------- limits


def read_limits(given: object) -> tuple[Limit, ...]:
    """One limit for each entry: the largest gap, the least ratio, or what a rate is at least and at most."""
    entries = _entries("limits", given, LIMITED)
    return tuple((_limit if one.compares else _bound)(one, value) for one, value in entries)


def encode_limit(limit: Limit) -> dict[str, object]:
    """The limit as JSON has it."""
    out: dict[str, object] = {"of": limit.criterion.name}
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
        example = {name: {"at_least": 0.7} if criterion.form is Form.BOUND else {"at_most": 0.1}}
        raise bad_option("limits", f"{name} needs at_least or at_most, such as {example}; got {value!r}")
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
    if type(value) is not float and not is_number(value):  # nearly all are floats
        raise refusal("criterion_number", f"{argument}:{criterion.name}", value=value)
    return float(value)  # type: ignore[arg-type]


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


_READ: dict[str, Callable[[object], Any]] = {
    "limits": read_limits,
    "penalties": read_penalties,
    "objective": read_objective,
    "method": read_method,
    "density": read_density,
    "unified": lambda given: checked_flag("unified", given),
    "randomize": lambda given: checked_flag("randomize", given),
    "min_rows": checked_min_rows,
    "max_seconds": read_seconds,
    "confidence": lambda given: None if given is None else check_confidence(given),
    "evidence": read_evidence,
    "fair_between": lambda given: None if given is None else read_columns(given, "fair_between"),
    "decide_by": lambda given: None if given is None else read_decide_by(given),
    "rounds": read_rounds,
}
