"""What is asked of the thresholds, checked, as numbers the solvers read.

The optimisation problem is stated in docs/reference/problem.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from numbers import Real

import numpy as np

from gstar_fast._backends.interface import Floats
from gstar_fast._base.arrays import Bools
from gstar_fast._base.names import Name
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.text import first_few
from gstar_fast._base.warn import warn
from gstar_fast._criteria import ADDED, CRITERIA, CRITERION, MOST, Form, Limit
from gstar_fast._density.density import Density
from gstar_fast._input.options import checked_flag
from gstar_fast._rates import SOLVER_RATES
from gstar_fast._solver.answer.note import Note
from gstar_fast._words import KINDS, METHODS
from gstar_fast.errors import MissingClassWarning

HARDLY_A_RATIO = 0.2  # a limit on disparate_impact up to here reads like a gap
TOLERANCE = 1e-12  # a limit holds when gap <= limit + TOLERANCE


@dataclass(frozen=True)
class Objective:
    """What was asked, checked, and its form by rate (positions as in `RATES`)."""

    limits: Mapping[str, float] = field(default_factory=dict)
    penalties: Mapping[str, float] = field(default_factory=dict)
    costs: tuple[float, float] = (1.0, 1.0)
    balanced: bool = False

    @classmethod
    def of(
        cls,
        limits: Mapping[str, float] | None,
        penalties: Mapping[str, float] | None,
        costs: Iterable[float],
        balanced: bool,
    ) -> Objective:
        """Check the user's words; the error says which one is wrong and what to write instead."""
        return cls(
            limits=_checked("limits", limits),
            penalties=_checked("penalties", penalties),
            costs=_checked_costs(costs),
            balanced=checked_flag("balanced", balanced),
        )

    @cached_property
    def asks(self) -> tuple[Limit, ...]:
        """The limits as records."""
        return tuple(CRITERION[name].limit(value) for name, value in self.limits.items())

    @cached_property
    def _windows(self) -> tuple[Floats, Floats]:
        return _windows(self.asks)

    @property
    def limit(self) -> Floats:
        """Largest difference allowed for each rate, tolerance included; inf where none is set.

        No gap is larger than a sum of gaps may be.
        """
        return self._windows[0]

    @property
    def alone(self) -> Floats:
        """The same, the limit on the sum of two gaps aside."""
        return _windows(limit for limit in self.asks if limit.form is not Form.SUM)[0]

    @property
    def total(self) -> float:
        """Largest sum of the gaps of the first two rates, tolerance included; inf where none is set."""
        return min((limit.most + TOLERANCE for limit in self.asks if limit.form is Form.SUM), default=math.inf)

    @property
    def ratio(self) -> Floats:
        """Least ratio allowed for each rate, tolerance included; -1 where none is set."""
        return self._windows[1]

    @property
    def penalty(self) -> Floats:
        """Weight of the mean squared difference of each rate."""
        out = np.zeros(len(SOLVER_RATES))
        for name, value in self.penalties.items():
            for rate in CRITERION[name].rates:
                out[SOLVER_RATES.index(rate)] += value
        return out

    @property
    def weighted(self) -> bool:
        """Whether errors have prices, so that the cost that is minimised is not the error rate."""
        return self.balanced or self.costs != (1.0, 1.0)

    @property
    def measure(self) -> str:
        """What is minimised: "error", "cost" or "loss"."""
        return "loss" if self.penalties else "cost" if self.weighted else "error"

    @property
    def lower(self) -> str:
        """The end of the sentence "no other thresholds have ..."."""
        return f"a lower {self.measure}{' within the limits' if self.limits else ''}"

    def asked(self) -> list[tuple[str, int]]:
        """Every criterion that is limited or penalised, with the positions of its rates in `SOLVER_RATES`."""
        names = [*self.limits, *(n for n in self.penalties if n not in self.limits)]
        return [(name, SOLVER_RATES.index(rate)) for name in names for rate in CRITERION[name].rates]


def _windows(limits: Iterable[Limit]) -> tuple[Floats, Floats]:
    """Largest differences and least ratios of all rates."""
    most, least = np.full(len(SOLVER_RATES), np.inf), np.full(len(SOLVER_RATES), -1.0)
    for limit in limits:
        for rate, (difference, ratio) in limit.windows(TOLERANCE).items():
            r = SOLVER_RATES.index(rate)
            most[r], least[r] = min(most[r], difference), max(least[r], ratio)
    most.flags.writeable = least.flags.writeable = False
    return most, least


def is_met(name: str, limit: float, gap: float | None, tolerance: float = TOLERANCE) -> bool | None:
    """Whether a limit holds; None where the gap is not defined."""
    return CRITERION[name].limit(limit).met(gap, tolerance)


def check_criterion(name: object, argument: str) -> str:
    """Return `name` if it is a criterion, else raise with the nearest word."""
    if not isinstance(name, str) or name not in CRITERIA:
        raise refusal("criterion", argument, value=name, limit=tuple(CRITERIA))
    return name


def question_limits(limits: Mapping[str, float]) -> None:
    """Ask those who may have taken a least ratio for a largest gap."""
    ratio = limits.get("disparate_impact", 1.0)
    if ratio > HARDLY_A_RATIO:
        return
    warn(refusal("low_ratio", "limits", value=ratio, limit=HARDLY_A_RATIO))


def _checked(argument: str, given: Mapping[str, float] | None) -> dict[str, float]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise refusal("criteria_type", argument, value=given)
    out: dict[str, float] = {}
    for name, value in given.items():
        check_criterion(name, f"names in {argument}")
        as_given: object = value
        if isinstance(as_given, (bool, np.bool_)) or not isinstance(as_given, (Real, np.number)):
            raise refusal("criterion_number", f"{argument}:{name}", value=value)
        number = float(value)
        if argument == "penalties":
            if name == "disparate_impact":
                raise refusal("penalised_ratio", "penalties", value=value)
            if name == ADDED:
                raise refusal("penalised_sum", "penalties", value=value)
            if not (number >= 0 and math.isfinite(number)):
                raise refusal("penalty", name, value=value)
            if number > 1e100:
                raise refusal("penalty_size", name, value=value, limit=1e100)
        elif not 0 <= number <= MOST.get(name, 1.0):
            raise refusal("limit", name, value=value, limit=MOST.get(name, 1.0))
        out[name] = number
    return out


def _checked_costs(costs: Iterable[float]) -> tuple[float, float]:
    try:
        pair = [float(c) for c in costs]
    except (TypeError, ValueError):
        pair = []
    if len(pair) != 2:
        raise refusal("costs_pair", "costs", value=costs)
    if not all(math.isfinite(c) and 0 <= c <= 1e100 for c in pair) or max(pair) == 0:
        raise refusal("costs", "costs", value=costs)
    return pair[0], pair[1]


@dataclass(frozen=True)
class Scale:
    """Integer prices of one false positive and one false negative: E = (fp * FP + fn * FN) / unit."""

    fp: int
    fn: int
    unit: float
    slack: float  # largest error in E from rounding the prices; 0 almost always


def scale_of(objective: Objective, n_negative: int, n_positive: int) -> Scale:
    """Turn costs into integers, so that errors are compared exactly."""
    if n_negative + n_positive == 0:
        raise refusal("no_labels", "sketch")
    if objective.costs == (1.0, 1.0) and not objective.balanced:
        return Scale(1, 1, float(n_negative + n_positive), 0.0)
    fp, fn = (Fraction(repr(c)) for c in objective.costs)
    unit = Fraction(n_negative + n_positive)
    if objective.balanced:
        if n_negative == 0 or n_positive == 0:
            absent = "negative" if n_negative == 0 else "positive"
            raise refusal("one_class", "balanced", value=absent)
        fp, fn, unit = fp * n_positive, fn * n_negative, Fraction(2 * n_negative * n_positive)
    common = math.lcm(fp.denominator, fn.denominator)
    whole_fp, whole_fn = int(fp * common), int(fn * common)
    shared = math.gcd(whole_fp, whole_fn)
    whole_fp, whole_fn, unit = whole_fp // shared, whole_fn // shared, unit * common / shared
    largest = whole_fp * n_negative + whole_fn * n_positive
    if largest < 2**62:
        return Scale(whole_fp, whole_fn, float(unit), 0.0)
    shrink = Fraction(2**62 - 2 * (n_negative + n_positive), largest)
    rounded_fp, rounded_fn = round(whole_fp * shrink), round(whole_fn * shrink)
    slack = float(Fraction(n_negative + n_positive) / (unit * shrink))
    return Scale(rounded_fp, rounded_fn, float(unit * shrink), slack)


def check_several(objective: Objective, groups: Sequence[Name]) -> None:
    """Refuse to compare a single group with itself: a column that was forgotten would pass for a gap of 0."""
    asked = objective.asked()
    if asked and len(groups) == 1:
        raise refusal("one_group", asked[0][0], value=groups[0])


def check_groups(objective: Objective, groups: tuple[Name, ...], has: Bools) -> list[Note]:
    """Notes on groups left out of a criterion; raises where fewer than two are left."""
    notes: list[Note] = []
    check_several(objective, groups)
    told: set[int] = set()
    for name, r in objective.asked():
        rate, present = SOLVER_RATES[r], has[r]
        missing = [groups[k] for k in np.flatnonzero(~present)]
        if not missing:
            continue
        if int(present.sum()) < 2:
            raise refusal("undefined_rate", name, value=missing, limit=(rate.name, rate.rows))
        if r not in told:
            told.add(r)
            text = f"left out of the {rate.name} gap, having no {rate.rows}: {first_few(map(repr, missing))}"
            notes.append(Note("missing_class", text, {"rate": rate.name, "groups": missing}))
    for note in notes:
        warn(note.text, MissingClassWarning)
    return notes


def check_options(
    objective: Objective,
    *,
    method: str,
    density: str | Mapping[tuple[int, Name], Density],
    unified: bool,
    randomize: bool,
    max_seconds: float | None = None,
) -> None:
    """Refuse options of `solve` that do not go together; needs no sketch, so that nobody counts or trains in vain."""
    checked_flag("unified", unified)
    checked_flag("randomize", randomize)
    if method not in METHODS:
        raise refusal("not_one_of", "method", value=method, limit=METHODS)
    if not isinstance(density, Mapping) and density not in KINDS:
        raise refusal("density", "density", value=density, limit=KINDS)
    counted = isinstance(density, str) and density == "empirical"
    if randomize and (objective.penalties or unified or method != "exact" or not counted):
        raise refusal("randomize", "randomize")
    if max_seconds is not None:
        _check_seconds(max_seconds)
        if randomize or unified or not counted:
            raise refusal("seconds_with", "max_seconds", value=max_seconds)
    if method == "exact":
        return
    if counted:
        raise refusal("method_density", "method", value=method)
    if objective.limits or not objective.penalties:
        raise refusal("method_penalties", "method", value=method)
    if unified and method == "alternating":
        raise refusal("method_unified", "method", value=method)


def check_densities(objective: Objective, asked: Mapping[str, bool], *, confidence: object) -> None:
    """Refuse what needs counted rows where densities take their place."""
    for argument, given in asked.items():
        if given:
            raise refusal("densities_with", argument)
    if confidence is not None:
        check_confidence(confidence)
        check_promise(objective, counted=False)


def _check_seconds(given: object) -> None:
    if isinstance(given, bool) or not isinstance(given, (Real, np.number)):
        raise refusal("seconds_type", "max_seconds", value=given)
    if not float(given) > 0:
        raise refusal("seconds", "max_seconds", value=given)


def check_confidence(given: object) -> float:
    """The level that was asked for; 95 for 0.95 is refused, with a hint."""
    if isinstance(given, (bool, str)) or not isinstance(given, (Real, np.number)):
        raise refusal("confidence_type", "confidence", value=given)
    level = float(given)
    if not 0.5 <= level <= 0.999:
        raise refusal("confidence", "confidence", value=given)
    return level


def check_evidence(given: object) -> float:
    """The evidence that was asked for; 95 for 0.95 raises with a hint."""
    if isinstance(given, (bool, np.bool_, str)) or not isinstance(given, (Real, np.number)):
        raise refusal("evidence_type", "evidence", value=given)
    level = float(given)
    if not 0 <= level < 1:
        raise refusal("evidence", "evidence", value=given)
    return level


def check_promise(objective: Objective, *, counted: bool, max_seconds: float | None = None) -> None:
    """Refuse to promise what is no limit on counted rows."""
    if not objective.limits:
        raise refusal("no_limits", "limits", value="confidence")
    if objective.penalties or not counted or max_seconds is not None:
        raise refusal("confidence_with", "confidence")
