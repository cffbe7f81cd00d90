"""What is asked of the thresholds, checked, as numbers the solvers read.

The optimisation problem is stated in docs/guide/solver.md.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real

import numpy as np

from gstar_fast._backends.interface import Floats
from gstar_fast._base.arrays import Bools
from gstar_fast._base.names import Name
from gstar_fast._base.text import first_few
from gstar_fast._density.density import Density
from gstar_fast._words import CRITERIA, KINDS, METHODS, RATES, not_offered
from gstar_fast.errors import MissingClassWarning

HARDLY_A_RATIO = 0.2  # a limit on disparate_impact up to here reads like a gap
TOLERANCE = 1e-12  # a limit holds when gap <= limit + TOLERANCE

_NEEDS = {
    "tpr": "positive labels",
    "fpr": "negative labels",
    "selection_rate": "rows",
    "accuracy": "labelled rows",
    "balanced_accuracy": "labels of both classes",
}


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
            balanced=bool(balanced),
        )

    @property
    def limit(self) -> Floats:
        """Largest difference allowed for each rate, tolerance included; inf where none is set."""
        out = np.full(len(RATES), np.inf)
        for name, value in self.limits.items():
            if name != "disparate_impact":
                for rate in CRITERIA[name]:
                    r = RATES.index(rate)
                    out[r] = min(out[r], value + TOLERANCE)
        return out

    @property
    def ratio(self) -> Floats:
        """Least ratio allowed for each rate, tolerance included; -1 where none is set."""
        out = np.full(len(RATES), -1.0)
        if "disparate_impact" in self.limits:
            out[RATES.index("selection_rate")] = self.limits["disparate_impact"] - TOLERANCE
        return out

    @property
    def penalty(self) -> Floats:
        """Weight of the mean squared difference of each rate."""
        out = np.zeros(len(RATES))
        for name, value in self.penalties.items():
            for rate in CRITERIA[name]:
                out[RATES.index(rate)] += value
        return out

    def asked(self) -> list[tuple[str, str]]:
        """Every (criterion, rate) pair that is limited or penalised."""
        names = [*self.limits, *(n for n in self.penalties if n not in self.limits)]
        return [(name, rate) for name in names for rate in CRITERIA[name]]


def is_met(name: str, limit: float, gap: float | None, tolerance: float = TOLERANCE) -> bool | None:
    """Whether a limit holds; None where the gap is not defined."""
    if gap is None:
        return None
    return gap >= limit - tolerance if name == "disparate_impact" else gap <= limit + tolerance


def check_criterion(name: object, argument: str) -> str:
    """Return `name` if it is a criterion, else raise with the nearest word."""
    if not isinstance(name, str) or name not in CRITERIA:
        import difflib

        near = difflib.get_close_matches(str(name), CRITERIA, n=1)
        hint = not_offered(name) or (f"; did you mean {near[0]!r}?" if near else "")
        raise ValueError(f"{argument} must be among {', '.join(CRITERIA)}; got {name!r}{hint}")
    return name


def question_limits(limits: Mapping[str, float]) -> None:
    """Ask those who may have taken a least ratio for a largest gap."""
    ratio = limits.get("disparate_impact", 1.0)
    if ratio > HARDLY_A_RATIO:
        return
    times = f"{1 / ratio:.3g} times as often as another" if ratio > 0 else "and another not at all"
    warnings.warn(
        f"limits['disparate_impact'] is a least ratio of selection rates; {ratio:g} lets one group be accepted "
        f"{times}; did you mean {1 - ratio:g}, 0.8 (the four-fifths rule), or "
        f"limits={{'demographic_parity': {ratio:g}}}?",
        UserWarning,
        stacklevel=3,
    )


def _checked(argument: str, given: Mapping[str, float] | None) -> dict[str, float]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"{argument} must be a dict such as {{'equalized_odds': 0.02}}; got {type(given).__name__}")
    out: dict[str, float] = {}
    for name, value in given.items():
        check_criterion(name, f"names in {argument}")
        as_given: object = value
        if isinstance(as_given, (bool, np.bool_)) or not isinstance(as_given, (Real, np.number)):
            raise TypeError(f"{argument}[{name!r}] must be a number; got {value!r}")
        number = float(value)
        if argument == "penalties":
            if name == "disparate_impact":
                raise ValueError(
                    "disparate_impact is a ratio and cannot be a penalty; use limits={'disparate_impact': 0.8}, "
                    "or penalties={'demographic_parity': ...}"
                )
            if not (number >= 0 and math.isfinite(number)):
                raise ValueError(f"penalties[{name!r}] must be finite and not negative; got {value!r}")
            if number > 1e100:
                raise ValueError(f"penalties[{name!r}] must be at most 1e100; got {value!r}; limits can say 'no gap'")
        elif not 0 <= number <= 1:
            what = "a least ratio" if name == "disparate_impact" else "a largest gap"
            raise ValueError(f"limits[{name!r}] is {what} and must be from 0 to 1; got {value!r}")
        out[name] = number
    return out


def _checked_costs(costs: Iterable[float]) -> tuple[float, float]:
    try:
        pair = [float(c) for c in costs]
    except (TypeError, ValueError):
        pair = []
    if len(pair) != 2:
        raise ValueError(f"costs must be two numbers (false_positive, false_negative); got {costs!r}")
    if not all(math.isfinite(c) and 0 <= c <= 1e100 for c in pair) or max(pair) == 0:
        raise ValueError(f"costs must be finite, not negative and not both 0; got {costs!r}")
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
        raise ValueError("the sketch has no labelled rows, so no error can be computed; update it with labels")
    if objective.costs == (1.0, 1.0) and not objective.balanced:
        return Scale(1, 1, float(n_negative + n_positive), 0.0)
    fp, fn = (Fraction(repr(c)) for c in objective.costs)
    unit = Fraction(n_negative + n_positive)
    if objective.balanced:
        if n_negative == 0 or n_positive == 0:
            absent = "negative" if n_negative == 0 else "positive"
            raise ValueError(f"balanced=True needs rows of both classes; the sketch has no {absent} labels")
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
        raise ValueError(
            f"limits and penalties compare groups, but there is only one, {groups[0]!r}; {asked[0][0]} "
            "needs two groups: count rows with their groups, or leave limits and penalties out"
        )


def check_groups(objective: Objective, groups: tuple[Name, ...], has: Bools) -> list[str]:
    """Notes on groups left out of a criterion; raises where fewer than two are left."""
    notes: list[str] = []
    check_several(objective, groups)
    told: set[str] = set()
    for name, rate in objective.asked():
        present = has[RATES.index(rate)]
        missing = [groups[k] for k in np.flatnonzero(~present)]
        if not missing:
            continue
        listed = first_few(map(repr, missing))
        if int(present.sum()) < 2:
            raise ValueError(
                f"{'group' if len(missing) == 1 else 'groups'} {listed} {'has' if len(missing) == 1 else 'have'} no "
                f"{_NEEDS[rate]}, so {rate} is undefined there; {name} needs two groups that have some"
            )
        if rate not in told:
            told.add(rate)
            notes.append(f"left out of the {rate} gap, having no {_NEEDS[rate]}: {listed}")
    for note in notes:
        warnings.warn(note, MissingClassWarning, stacklevel=4)
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
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    if not isinstance(density, Mapping) and density not in KINDS:
        raise ValueError(f"density must be one of {', '.join(KINDS)}, or what gf.densities returns; got {density!r}")
    counted = isinstance(density, str) and density == "empirical"
    if randomize and (objective.penalties or unified or method != "exact" or not counted):
        raise ValueError(
            "randomize=True works with limits, method='exact' and density='empirical', and not with penalties or "
            "unified=True; a mixture needs no penalty: give limits={...}"
        )
    if max_seconds is not None:
        _check_seconds(max_seconds)
        if randomize or unified or not counted:
            raise ValueError(
                "max_seconds ends the search for one threshold a group on the counts, and does not go with "
                "randomize=True, unified=True or a density other than 'empirical'; leave it out"
            )
    if method == "exact":
        return
    if counted:
        raise ValueError(f"method={method!r} needs a smooth density, such as density='kde' or 'normal'")
    if objective.limits or not objective.penalties:
        raise ValueError(f"method={method!r} needs penalties and takes no limits; method='exact' takes both")
    if unified and method == "alternating":
        raise ValueError("method='alternating' moves one group at a time; unified=True needs 'exact' or 'newton'")


def _check_seconds(given: object) -> None:
    if isinstance(given, bool) or not isinstance(given, (Real, np.number)):
        raise TypeError(f"max_seconds must be a number of seconds or None; got {given!r}")
    if not float(given) > 0:
        raise ValueError(f"max_seconds must be above 0; got {given!r}; leave it out for no limit")
