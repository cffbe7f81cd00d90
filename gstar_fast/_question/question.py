"""What is asked of thresholds: one record, read by every verb. The only place that checks options and combinations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from gstar_fast._base.arrays import Floats
from gstar_fast._base.json import bad_document
from gstar_fast._base.names import Name
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._criteria import KNOWN, Criterion, Form, Limit, limit_texts
from gstar_fast._density.density import Density
from gstar_fast._input.options import checked_flag
from gstar_fast._question.cut import Code, Column, Segments
from gstar_fast._question.limits import (
    LimitKey,
    LimitLike,
    Windows,
    encode_limit,
    is_number,
    read_limits,
    read_penalties,
    saved_limits,
    windows_of,
)
from gstar_fast._question.roles import read_columns, read_decide_by
from gstar_fast._question.tables import check_together
from gstar_fast._rates import SOLVER_RATES
from gstar_fast._sketch.pooling import checked_min_rows
from gstar_fast._words import GIVEN, KINDS, METHODS

Densities: TypeAlias = Mapping[tuple[int, Name], Density]
ObjectiveLike: TypeAlias = str | Mapping[str, float]  # what is minimised, as it is given

OBJECTIVES = {"error": False, "balanced_error": True}  # word -> whether both classes weigh alike


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
    method, density, unified, randomize, min_rows, max_seconds, confidence, evidence
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

    @classmethod
    def of(cls, **given: object) -> Question:
        """Check options as they are given; an error names the option, its value and what to do."""
        question = cls(**{name: _READ[name](value) for name, value in given.items() if not _is_default(name, value)})
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
    def compared(self) -> tuple[Criterion, ...]:
        """Every criterion that is limited or penalised."""
        names = dict.fromkeys([*(limit.criterion.name for limit in self.limits), *self.penalties])
        return tuple(KNOWN[name] for name in names)

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
        """Whether thresholds shall rise, or fall, along the segments."""
        return isinstance(self.decide_by, Segments) and self.decide_by.monotone

    @property
    def cuts(self) -> tuple[float, ...] | None:
        """Cut points of the column that thresholds depend on."""
        return self.decide_by.cuts if isinstance(self.decide_by, Segments) else None

    # ----------------------------------------------------------------------------------------------- written and read

    def given(self) -> dict[str, Any]:
        """The options that are not as by default, in the words of `solve`."""
        out = {
            one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) != _DEFAULT[one.name]
        }
        return out | ({"limits": self.asked_limits} if self.limits else {})

    def to_dict(self) -> dict[str, Any]:
        """The options that are not as by default, for JSON; densities by hand are only named."""
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
        """The arguments of `solve` as Python code, without those that are as by default."""
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
    """Whether an option is as by default, so that it need not be read; 0 is not False."""
    return type(value) is type(_DEFAULT[name]) and not isinstance(value, (dict, tuple)) and value == _DEFAULT[name]


def _plain(value: object) -> object:
    """A whole number without its decimal point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def name_of(density: str | Densities) -> str:
    """The kind of densities, for messages and JSON; "given" if parameters of some were given by hand."""
    if isinstance(density, str):
        return density
    kinds = {GIVEN if one.label is None else one.kind for one in density.values()}
    return GIVEN if GIVEN in kinds else kinds.pop() if len(kinds) == 1 else "best"


# ------------------------------------------------------------------------------------------------ one option at a time


def read_objective(given: object) -> ObjectiveLike:
    """A word, or prices of both errors."""
    if isinstance(given, str) and given in OBJECTIVES:
        return given
    if not isinstance(given, Mapping) or not {"fp", "fn"} <= given.keys() <= {"fp", "fn", "balanced"}:
        raise refusal("objective", "objective", value=given)
    prices = {name: _price(given[name], given) for name in ("fp", "fn")}
    if max(prices.values()) == 0:
        raise refusal("prices", "objective", value=given)
    balanced = checked_flag("objective['balanced']", given.get("balanced", False))
    if prices == {"fp": 1.0, "fn": 1.0}:
        return "balanced_error" if balanced else "error"
    return prices | ({"balanced": True} if balanced else {})


def objective_text(given: object) -> str:
    """An objective as the command line has it: a word, or "fp=1,fn=5,balanced"."""
    if not isinstance(given, Mapping):
        return str(given)
    return ",".join(
        [*(f"{name}={given[name]:g}" for name in ("fp", "fn")), *["balanced"] * bool(given.get("balanced"))]
    )


def _price(value: object, given: object) -> float:
    if not is_number(value):
        raise refusal("objective", "objective", value=given)
    price = float(value)  # type: ignore[arg-type]
    if not (math.isfinite(price) and 0 <= price <= 1e100):
        raise refusal("prices", "objective", value=given)
    return price


def _method(given: object) -> str:
    if not isinstance(given, str) or given not in METHODS:
        raise refusal("not_one_of", "method", value=given, limit=METHODS)
    return given


def _density(given: object) -> str | Densities:
    if not isinstance(given, Mapping) and not (isinstance(given, str) and given in KINDS):
        raise refusal("density", "density", value=given, limit=KINDS)
    return given


def _seconds(given: object) -> float | None:
    if given is None:
        return None
    if not is_number(given):
        raise refusal("seconds_type", "max_seconds", value=given)
    if not (seconds := float(given)) > 0:  # type: ignore[arg-type]
        raise refusal("seconds", "max_seconds", value=given)
    return seconds


def check_confidence(given: object) -> float:
    """The level that was asked for; 95 for 0.95 raises with a hint."""
    if not is_number(given):
        raise refusal("confidence_type", "confidence", value=given)
    level = float(given)  # type: ignore[arg-type]
    if not 0.5 <= level <= 0.999:
        raise refusal("confidence", "confidence", value=given)
    return level


def _evidence(given: object) -> float:
    if not is_number(given):
        raise refusal("evidence_type", "evidence", value=given)
    level = float(given)  # type: ignore[arg-type]
    if not 0 <= level < 1:
        raise refusal("evidence", "evidence", value=given)
    return level


_READ: dict[str, Callable[[object], Any]] = {
    "limits": read_limits,
    "penalties": read_penalties,
    "objective": read_objective,
    "method": _method,
    "density": _density,
    "unified": lambda given: checked_flag("unified", given),
    "randomize": lambda given: checked_flag("randomize", given),
    "min_rows": checked_min_rows,
    "max_seconds": _seconds,
    "confidence": lambda given: None if given is None else check_confidence(given),
    "evidence": _evidence,
    "fair_between": lambda given: None if given is None else read_columns(given, "fair_between"),
    "decide_by": lambda given: None if given is None else read_decide_by(given),
}
