"""What is asked of the thresholds, checked, as numbers the solvers read.

The optimisation problem is stated in docs/reference/problem.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from gstar_fast._backends.interface import Floats
from gstar_fast._base.arrays import Bools
from gstar_fast._base.names import Name
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.text import first_few
from gstar_fast._base.warn import warn
from gstar_fast._criteria import CRITERION, Form, Limit
from gstar_fast._question.question import Question
from gstar_fast._rates import SOLVER_RATES
from gstar_fast._solver.answer.note import Note
from gstar_fast.errors import MissingClassWarning

TOLERANCE = 1e-12  # a limit holds when gap <= limit + TOLERANCE


@dataclass(frozen=True)
class Objective:
    """What was asked, checked, and its form by rate (positions as in `RATES`)."""

    limits: Mapping[str, float] = field(default_factory=dict)
    penalties: Mapping[str, float] = field(default_factory=dict)
    costs: tuple[float, float] = (1.0, 1.0)
    balanced: bool = False

    @classmethod
    def of(cls, question: Question) -> Objective:
        """The part of a question that is about numbers."""
        return cls(question.bounds, question.penalties, question.costs, question.balanced)

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
            raise refusal("one_class", "objective", value=absent)
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
