"""What is asked of the thresholds: criteria, limits, penalties and costs, as numbers the solvers read.

The optimisation problem is stated in docs/guide/solver.md.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gstar_fast._backends.interface import Floats, Ints, SmoothProblem
from gstar_fast._backends.rows import WEIGHT_UNIT
from gstar_fast._base.names import sort_key
from gstar_fast._base.refusals import refusal
from gstar_fast._sketch.sketch import Sketch
from gstar_fast.errors import MissingClassWarning

HARDLY_A_RATIO = 0.2  # a limit on disparate_impact up to here reads like a gap
TOLERANCE = 1e-12  # a limit holds when gap <= limit + TOLERANCE

RATES = ("tpr", "fpr", "selection_rate", "accuracy", "balanced_accuracy")

CRITERIA: dict[str, tuple[str, ...]] = {
    "demographic_parity": ("selection_rate",),
    "equal_opportunity": ("tpr",),
    "predictive_equality": ("fpr",),
    "equalized_odds": ("tpr", "fpr"),
    "accuracy_parity": ("accuracy",),
    "balanced_accuracy_parity": ("balanced_accuracy",),
    "disparate_impact": ("selection_rate",),
}

DEFINITIONS: dict[str, str] = {
    "demographic_parity": "largest minus smallest selection rate",
    "equal_opportunity": "largest minus smallest tpr",
    "predictive_equality": "largest minus smallest fpr",
    "equalized_odds": "the larger of the tpr gap and the fpr gap (max form)",
    "equalized_odds_sum": "tpr gap plus fpr gap (the paper's EOd)",
    "accuracy_parity": "largest minus smallest accuracy",
    "balanced_accuracy_parity": "largest minus smallest balanced accuracy",
    "disparate_impact": "smallest over largest selection rate (a ratio: 1 is parity)",
}

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


def not_offered(name: object) -> str:
    """What to say to those who ask for a gap that is reported but cannot be asked for; empty for all other names.

    The nearest name would mislead: predictive_equality is about fpr, predictive parity about ppv.
    """
    if name not in ("predictive_parity", "ppv", "precision"):
        return ""
    return (
        "; predictive parity (equal ppv) is not offered as a limit or penalty, audit reports it; near to it is "
        "equalized_odds, which brings it about where base rates are equal"
    )


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
    warnings.warn(refusal("low_ratio", "limits", value=ratio, limit=HARDLY_A_RATIO), stacklevel=3)


def _checked(argument: str, given: Mapping[str, float] | None) -> dict[str, float]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise refusal("criteria_type", argument, value=given)
    out: dict[str, float] = {}
    for name, value in given.items():
        check_criterion(name, f"names in {argument}")
        as_given: Any = value
        if isinstance(as_given, (bool, np.bool_)) or not isinstance(as_given, (Real, np.number)):
            raise refusal("criterion_number", f"{argument}:{name}", value=value)
        number = float(value)
        if argument == "penalties":
            if name == "disparate_impact":
                raise refusal("penalised_ratio", "penalties", value=value)
            if not (number >= 0 and math.isfinite(number)):
                raise refusal("penalty", name, value=value)
            if number > 1e100:
                raise refusal("penalty_size", name, value=value, limit=1e100)
        elif not 0 <= number <= 1:
            raise refusal("limit", name, value=value, limit=1.0)
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
class Snapshot:
    """What the solvers read of a sketch, at one moment, groups in canonical order."""

    groups: tuple[Any, ...]
    level: int
    first: int  # bin number of the first bin
    rows: Ints  # (3, K, C) label 0, label 1, unlabelled: rows below, in each bin, above
    weight_unit: float  # what one count stands for: 1, or 2^-20 in a weighted sketch
    digest: Any  # the sketch's digest when called; a copy of the sketch stands behind it

    @classmethod
    def of(cls, sketch: Sketch) -> Snapshot:
        frozen = sketch.copy()  # others may go on updating the sketch
        names = tuple(frozen.groups)
        if not names:
            raise refusal("no_rows", "solving")
        order = sorted(range(len(names)), key=lambda k: sort_key(names[k]))
        # each public property copies the counts first, to be safe from updates; a copy of our own needs that only once
        core = frozen._core
        rows = np.empty((3, len(names), core.bins + 2), dtype=np.int64)
        for label in range(3):
            rows[label, :, 1:-1] = core.counts(label)
        rows[:, :, 0], rows[:, :, -1] = core.below(), core.above()
        if order != list(range(len(names))):
            rows = np.ascontiguousarray(rows[:, order])
        unit = 1 / WEIGHT_UNIT if core.weighted else 1.0
        return cls(tuple(names[k] for k in order), core.level, core.first, rows, unit, frozen.digest)

    def thresholds(self, candidates: Ints) -> Floats:
        """Candidate 0 is -inf, candidate 1 + i is edge i."""
        edges = np.ldexp((self.first + candidates - 1).astype(np.float64), self.level)
        return np.where(candidates == 0, -np.inf, edges)

    @property
    def candidates(self) -> Floats:
        """All of them: -inf, then every edge."""
        return self.thresholds(np.arange(self.rows.shape[2]))


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


def rates_at(accepted: NDArray[Any], totals: NDArray[Any], start: Ints, wanted: list[int]) -> Floats:
    """As `rates_of` for groups end to end: `accepted` is (3, n), `totals` (3, K), `start` (K + 1,)."""
    if totals.shape[1] > 100:
        return rates_of(accepted, totals[:, np.repeat(np.arange(totals.shape[1]), np.diff(start))], wanted)
    out = np.empty((len(wanted), accepted.shape[1]))
    for k, (lo, hi) in enumerate(zip(start[:-1].tolist(), start[1:].tolist(), strict=True)):
        out[:, lo:hi] = rates_of(accepted[:, lo:hi], totals[:, k], wanted)
    return out


def rates_of(accepted: NDArray[Any], totals: NDArray[Any], wanted: Iterable[int] = range(5)) -> Floats:
    """The wanted rates (R, n) of n candidates; `accepted` is (3, n), `totals` (3, n) or (3,): label 0, 1, unlabelled.

    Integer counts give the exact rates; densities pass expected counts. A rate whose rows are missing reads 0.
    """
    neg, pos, spare = accepted
    n_neg, n_pos, n_spare = totals
    out = np.empty((len(tuple(wanted)), len(neg)))
    for row, r in zip(out, wanted, strict=True):
        if r == 0:
            np.divide(pos, np.maximum(n_pos, 1), out=row)
        elif r == 1:
            np.divide(neg, np.maximum(n_neg, 1), out=row)
        elif r == 2:
            np.divide(neg + pos + spare, np.maximum(n_neg + n_pos + n_spare, 1), out=row)
        elif r == 3:
            np.divide(pos + (n_neg - neg), np.maximum(n_neg + n_pos, 1), out=row)
        else:
            row[:] = (pos / np.maximum(n_pos, 1) + (n_neg - neg) / np.maximum(n_neg, 1)) / 2
            row *= np.minimum(n_pos, 1) * np.minimum(n_neg, 1)
    return out


def has_rate(totals: NDArray[Any]) -> NDArray[np.bool_]:
    """Which groups have the rows each rate needs: (5, K)."""
    out = np.empty((5, totals.shape[1]), dtype=bool)
    out[1], out[0], spare = totals > 0
    out[3] = out[0] | out[1]
    out[2] = out[3] | spare
    out[4] = out[0] & out[1]
    return out


def check_several(objective: Objective, groups: Sequence[Any]) -> None:
    """Refuse to compare a single group with itself: a column that was forgotten would pass for a gap of 0."""
    asked = objective.asked()
    if asked and len(groups) == 1:
        raise ValueError(
            f"limits and penalties compare groups, but there is only one, {groups[0]!r}; {asked[0][0]} "
            "needs two groups: count rows with their groups, or leave limits and penalties out"
        )


def check_groups(objective: Objective, groups: tuple[Any, ...], has: NDArray[np.bool_]) -> list[str]:
    """Notes on groups left out of a criterion; raises where fewer than two are left."""
    notes: list[str] = []
    check_several(objective, groups)
    told: set[str] = set()
    for name, rate in objective.asked():
        present = has[RATES.index(rate)]
        missing = [groups[k] for k in np.flatnonzero(~present)]
        if not missing:
            continue
        if int(present.sum()) < 2:
            listed = ", ".join(repr(g) for g in missing[:5]) + (", ..." if len(missing) > 5 else "")
            raise ValueError(
                f"{'group' if len(missing) == 1 else 'groups'} {listed} {'has' if len(missing) == 1 else 'have'} no "
                f"{_NEEDS[rate]}, so {rate} is undefined there; {name} needs two groups that have some"
            )
        if rate not in told:
            told.add(rate)
            listed = ", ".join(repr(g) for g in missing[:5]) + (", ..." if len(missing) > 5 else "")
            notes.append(f"left out of the {rate} gap, having no {_NEEDS[rate]}: {listed}")
    for note in notes:
        warnings.warn(note, MissingClassWarning, stacklevel=4)
    return notes


def linear_forms(
    cells: list[Any], totals: Ints, objective: Objective, scale: Scale, active: list[int], low: float, high: float
) -> SmoothProblem:
    """Write E and the active rates as linear forms in the cdfs; `totals` is (3, K)."""
    n0, n1, nu = totals.astype(np.float64)
    zero, one = np.zeros_like(n0), np.ones_like(n0)
    rows, labelled = np.maximum(n0 + n1 + nu, 1), np.maximum(n0 + n1, 1)
    # everybody is accepted where all cdfs are 0
    forms = {
        "tpr": (one, (zero, one, zero)),
        "fpr": (one, (one, zero, zero)),
        "selection_rate": (one, (n0 / rows, n1 / rows, nu / rows)),
        "accuracy": (n1 / labelled, (-n0 / labelled, n1 / labelled, zero)),
        "balanced_accuracy": (one / 2, (-one / 2, one / 2, zero)),
    }
    n_groups = len(n0)
    return SmoothProblem(
        cells=cells,
        error_base=scale.fp * n0 / scale.unit,
        error_coefficient=np.stack([-scale.fp * n0, scale.fn * n1, zero], axis=1) / scale.unit,
        rate_base=np.array([forms[RATES[r]][0] for r in active]).reshape(len(active), n_groups),
        rate_coefficient=np.array([np.stack(forms[RATES[r]][1], axis=1) for r in active]).reshape(
            len(active), n_groups, 3
        ),
        has=has_rate(totals)[active].astype(np.uint8),
        penalty=objective.penalty[active],
        low=low,
        high=high,
    )
