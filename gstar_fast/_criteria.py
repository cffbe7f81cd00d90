"""Criteria as records: which rates each compares, in which of five forms, and what a limit on it asks for.

Consumers ask a criterion and a limit for what they need and do not know names. Imports nothing but rates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from gstar_fast._rates import (
    ACCURACY,
    BALANCED_ACCURACY,
    FNR,
    FPR,
    ODDS,
    PPV,
    SELECTION_RATE,
    SOLVER_RATES,
    TNR,
    TPR,
    Ends,
    Rate,
    ends_of,
)

if TYPE_CHECKING:
    from gstar_fast._base.arrays import Bools, Floats, Ints
    from gstar_fast._base.names import Name


class Form(Enum):
    """How a limit looks at the rates of groups."""

    DIFFERENCE = "difference"  # the largest minus the smallest rate; of several rates, the widest
    SUM = "sum"  # the differences of several rates, added
    RATIO = "ratio"  # the smallest over the largest rate; of several rates, the lowest
    BOUND = "bound"  # the rate itself, of every group or of one
    TOTAL = "total"  # the rate of all rows together


_RATIO, _SUM = Form.RATIO, Form.SUM  # read often: looking into an Enum takes longer

TOLERANCE = 1e-12  # a limit holds when gap <= limit + TOLERANCE


class Criterion(NamedTuple):
    """Some rates and the form in which a limit compares them."""

    name: str
    rates: tuple[Rate, ...]
    form: Form
    meaning: str = ""  # what it asks for; empty where it is only measured
    measured: str = ""  # how its gap is measured
    elsewhere: str = ""  # what others call it
    scale: float = 1.0  # times the gap, in an audit
    shown: str = ""  # of a ratio in an audit: "distance" (1 - ratio) or "excess" (1 / ratio - 1)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its rates."""
        return tuple(rate.name for rate in self.rates)

    @property
    def definition(self) -> str:
        """One line; what stands after the semicolon is what others call it."""
        return f"{self.measured}; {self.elsewhere}" if self.elsewhere else self.measured

    @property
    def penalised(self) -> bool:
        """Whether it can have a penalty: a weight of squared differences."""
        return self.form is Form.DIFFERENCE

    @property
    def compares(self) -> bool:
        """Whether it compares groups with one another."""
        return self.form not in (Form.BOUND, Form.TOTAL)

    @property
    def from_below(self) -> bool:
        """Whether one number for it is the least value that is allowed, and not the largest."""
        return self.form is Form.RATIO

    @property
    def parity(self) -> float:
        """The value where all groups are alike."""
        return 1.0 if self.form is Form.RATIO else 0.0

    @property
    def largest(self) -> float:
        """The largest value that it can have."""
        return float(len(self.rates)) if self.form is Form.SUM else 1.0

    @property
    def as_difference(self) -> Criterion:
        """The criterion that compares the same rates by their differences."""
        return next(one for one in CRITERION.values() if one.form is Form.DIFFERENCE and one.rates == self.rates)

    def limit(self, value: float) -> Limit:
        """The limit that one number stands for."""
        return Limit(self, least=value) if self.from_below else Limit(self, most=value)

    def value(self, ends: Sequence[Ends]) -> float | None:
        """Its gap, or ratio, from the ends of its rates; None where one of them is undefined."""
        if None in ends:
            return None
        if self.form is _RATIO:
            return min([pair[0] / pair[1] if pair[1] > 0 else 1.0 for pair in ends if pair])
        gaps = [pair[1] - pair[0] for pair in ends if pair]
        return gaps[0] if len(gaps) == 1 else sum(gaps) if self.form is _SUM else max(gaps)

    def reported(self, value: float) -> float:
        """A value as an audit shows it."""
        if self.shown == "distance":
            return 1.0 - value
        if self.shown == "excess":
            return 1.0 / value - 1.0 if value > 0 else math.inf
        return self.scale * value

    def wider(self, now: float, before: float) -> float:
        """By how much groups are further apart than before."""
        return before - now if self.form is Form.RATIO else now - before


class Row(NamedTuple):
    """One linear condition: scale * rate + sum of free variables <= right.

    The rate is that of group `group`, or of all rows together where this is None. Of a rate with bands, a positive
    `scale` takes the high end and a negative one the low end. A rate that is not linear stands for
    hits - level * trials.
    """

    scale: float
    rate: Rate | None  # None: the row has free variables only
    group: int | None
    free: tuple[tuple[str, float], ...]
    right: float
    level: float = 0.0


class Limit(NamedTuple):
    """One limit that was asked: the value of a criterion is at least `least` and at most `most`."""

    criterion: Criterion
    least: float = -math.inf
    most: float = math.inf
    group: Name | None = None  # of a BOUND on one group alone

    def __repr__(self) -> str:
        return f"Limit({self.show()!r})"

    @property
    def form(self) -> Form:
        return self.criterion.form

    @property
    def key(self) -> str | tuple[str, Name]:
        """What the limit is about, as `limits` names it."""
        return self.criterion.name if self.group is None else (self.criterion.name, self.group)

    @property
    def asked(self) -> float:
        """The number that was asked for."""
        return self.most if self.most < math.inf else self.least

    @property
    def given(self) -> float | dict[str, float]:
        """The limit as `limits` has it: a number, or what a rate is at least and at most."""
        if self.criterion.compares:
            return self.asked
        ends = {"at_least": self.least, "at_most": self.most}
        return {end: value for end, value in ends.items() if abs(value) < math.inf}

    @property
    def sign(self) -> str:
        return "<=" if self.most < math.inf else ">="

    def show(self) -> str:
        """As messages write it: "equalized_odds <= 0.02"."""
        where = "" if self.group is None else f" of {self.group!r}"
        return " and ".join(
            f"{self.criterion.name}{where} {sign} {bound:g}"
            for sign, bound in ((">=", self.least), ("<=", self.most))
            if abs(bound) < math.inf
        )

    # What solvers, promises and words ask.

    def value(self, rates: Floats, has: Bools) -> float | None:
        """What is compared with the limit: of rates (R, K) and of which groups have them.

        For TOTAL the one column is all rows together. A BOUND gives the rate that is nearest to the bound, or furthest
        beyond it.
        """
        if self.criterion.compares:
            return self.criterion.value(ends_of(rates, has))
        known = rates[has]
        if not known.size:
            return None
        low, high = float(known.min()), float(known.max())
        return low if low - self.least <= self.most - high else high

    def met(self, value: float | None, tolerance: float = 0.0) -> bool | None:
        """Whether a value is within the limit; None where it is not defined."""
        return None if value is None else self.least - tolerance <= value <= self.most + tolerance

    def looser(self, slack: float) -> Limit:
        """The same limit, this much looser."""
        least = self.least - slack
        return self._replace(least=max(least, 0.0) if self.form is Form.RATIO else least, most=self.most + slack)

    def windows(self, tolerance: float = 0.0) -> dict[Rate, tuple[float, float]]:
        """Largest difference (inf: any) and least ratio (-1: any) of each rate between groups."""
        if not self.criterion.compares:
            return {}
        ratio = self.form is Form.RATIO
        window = (math.inf, self.least - tolerance) if ratio else (self.most + tolerance, -1.0)
        return dict.fromkeys(self.criterion.rates, window)

    def gap(self) -> float | None:
        """How far rates of groups may be apart, roughly; None where they are not compared."""
        if not self.criterion.compares:
            return None
        return 1.0 - self.least if self.form is Form.RATIO else self.most

    def keeps(self, rates: Floats, tolerance: float = 0.0) -> Bools:
        """Which candidates of a group the limit allows, by their rates (R, n): a BOUND leaves some out."""
        import numpy as np

        if self.form is not Form.BOUND:
            return np.ones(rates.shape[1], dtype=bool)
        kept = (rates >= self.least - tolerance) & (rates <= self.most + tolerance)
        return np.asarray(kept.all(axis=0))

    def counts(self, totals: Ints, tolerance: float = 1e-12) -> tuple[tuple[int, ...], int, int] | None:
        """For TOTAL, the coefficients of accepted rows by label, and the least and the largest sum; else None.

        Whole numbers of rows: `totals` is (3, ...). Bounds are read as decimals, so 0.29 of 100 rows are 29.
        """
        if self.form is not Form.TOTAL:
            return None
        ((hits, trials),) = self.criterion.rates[0].shares
        by_label = totals.reshape(3, -1).sum(axis=1).tolist()
        fixed, n = (sum(c * rows for c, rows in zip(of[3:], by_label, strict=True)) for of in (hits, trials))
        least, most = Fraction(repr(max(self.least, 0.0))), Fraction(repr(min(self.most, 1.0)))
        slack = Fraction(repr(tolerance))
        return hits[:3], math.ceil((least - slack) * n) - fixed, math.floor((most + slack) * n) - fixed

    def rows(self, has: Bools, group: int | None = None) -> list[Row]:
        """The limit as linear conditions; `has` (R, K) says which groups have its rates.

        `group` is the position of the limit's own group. `low <rate>` stands for the lowest rate of a group, and
        `share` for the part of a sum that its first rate takes. Gaps of a rate that is not linear have no rows.
        """
        (rate, *others), upper = self.criterion.rates, self._upper
        if self.form is Form.TOTAL:
            return self._bounded(rate, None)
        if self.form is Form.BOUND:
            return [
                row
                for k in (has[0].nonzero()[0].tolist() if group is None else [group])
                for row in self._bounded(rate, k)
            ]
        for other in (rate, *others):
            assert other.linear, f"gaps of {other.name} are not linear"
        pairs = [
            (rate, k) for rate, of in zip(self.criterion.rates, has, strict=True) for k in of.nonzero()[0].tolist()
        ]
        low = [Row(-1.0, rate, k, ((f"low {rate.name}", 1.0),), 0.0) for rate, k in pairs]
        return low + [upper(rate, k) for rate, k in pairs]

    def _upper(self, rate: Rate, k: int) -> Row:
        """The row that keeps the highest rate near the lowest."""
        free = ((f"low {rate.name}", -1.0),)
        if self.form is Form.RATIO:
            return Row(self.least, rate, k, free, 0.0)
        if self.form is Form.DIFFERENCE:
            return Row(1.0, rate, k, free, self.most)
        first = rate is self.criterion.rates[0]
        return Row(1.0, rate, k, (*free, ("share", -1.0 if first else 1.0)), 0.0 if first else self.most)

    def _bounded(self, rate: Rate, group: int | None) -> list[Row]:
        """A rate that is at least and at most something."""
        return [
            Row(scale, rate, group, (), scale * bound) if rate.linear else Row(scale, rate, group, (), 0.0, bound)
            for scale, bound in ((-1.0, self.least), (1.0, self.most))
            if abs(bound) < math.inf
        ]


# ------------------------------------------------------------------------------------------------------------ by name

MEASURED: dict[str, Criterion] = {  # in the order of an audit
    criterion.name: criterion
    for criterion in (
        Criterion(
            "demographic_parity",
            (SELECTION_RATE,),
            Form.DIFFERENCE,
            "selection rates alike: who is accepted does not depend on the group",
            "largest minus smallest selection rate",
            "fairlearn's demographic_parity_difference, size of AIF360's statistical_parity_difference",
        ),
        Criterion(
            "equal_opportunity",
            (TPR,),
            Form.DIFFERENCE,
            "tpr alike: of those who deserve it, as many are accepted in every group",
            "largest minus smallest tpr",
            "the paper's EOp, fairlearn's equal_opportunity_difference, size of AIF360's",
        ),
        Criterion(
            "predictive_equality",
            (FPR,),
            Form.DIFFERENCE,
            "fpr alike: of those who do not, as many are accepted in every group",
            "largest minus smallest fpr",
            "fairlearn's false_positive_rate_difference, size of AIF360's",
        ),
        Criterion(
            "equalized_odds",
            (TPR, FPR),
            Form.DIFFERENCE,
            "tpr and fpr alike, both",
            "the larger of the tpr gap and the fpr gap (max form)",
            "fairlearn's equalized_odds_difference, AIF360's too",
        ),
        Criterion(
            "equalized_odds_sum",
            (TPR, FPR),
            Form.SUM,
            "the same as one number: tpr gap plus fpr gap, the paper's EOd (a limit only)",
            "tpr gap plus fpr gap (the paper's EOd)",
        ),
        Criterion(
            "equalized_odds_mean",
            (TPR, FPR),
            Form.SUM,
            measured="half the tpr gap plus half the fpr gap",
            elsewhere="fairlearn's equalized_odds_difference with agg='mean', AIF360's average_abs_odds_difference",
            scale=0.5,
        ),
        Criterion(
            "average_odds",
            (ODDS,),
            Form.DIFFERENCE,
            measured="largest minus smallest mean of tpr and fpr",
            elsewhere="size of AIF360's average_odds_difference",
        ),
        Criterion(
            "accuracy_parity",
            (ACCURACY,),
            Form.DIFFERENCE,
            "accuracy alike",
            "largest minus smallest accuracy",
            "fairlearn's accuracy_score_difference, size of AIF360's error_rate_difference",
        ),
        Criterion(
            "balanced_accuracy_parity",
            (BALANCED_ACCURACY,),
            Form.DIFFERENCE,
            "balanced accuracy alike",
            "largest minus smallest balanced accuracy",
            "half the paper's BD",
        ),
        Criterion(
            "balanced_accuracy_sum",
            (BALANCED_ACCURACY,),
            Form.DIFFERENCE,
            measured="largest minus smallest sum of tpr and tnr (the paper's BD)",
            scale=2.0,
        ),
        Criterion("predictive_parity", (PPV,), Form.DIFFERENCE, measured="largest minus smallest ppv"),
        Criterion(
            "disparate_impact",
            (SELECTION_RATE,),
            Form.RATIO,
            "least ratio of selection rates; 0.8 is the four-fifths rule (a limit only)",
            "smallest over largest selection rate (a ratio: 1 is parity)",
            "fairlearn's demographic_parity_ratio, AIF360's disparate_impact or one over it",
        ),
        Criterion(
            "disparate_impact_distance",
            (SELECTION_RATE,),
            Form.RATIO,
            measured="1 - smallest / largest selection rate (the paper's 1-DIMP, smaller on top)",
            shown="distance",
        ),
        Criterion(
            "disparate_impact_excess",
            (SELECTION_RATE,),
            Form.RATIO,
            measured="largest / smallest selection rate - 1 (the paper's 1-DIMP, larger on top)",
            shown="excess",
        ),
        Criterion(
            "equal_opportunity_ratio",
            (TPR,),
            Form.RATIO,
            measured="smallest over largest tpr (a ratio: 1 is parity)",
            elsewhere="fairlearn's equal_opportunity_ratio",
        ),
        Criterion(
            "predictive_equality_ratio",
            (FPR,),
            Form.RATIO,
            measured="smallest over largest fpr (a ratio: 1 is parity)",
            elsewhere="fairlearn's false_positive_rate_ratio",
        ),
        Criterion(
            "equalized_odds_ratio",
            (TPR, FPR),
            Form.RATIO,
            measured="the smaller of the tpr ratio and the fpr ratio (a ratio: 1 is parity)",
            elsewhere="fairlearn's equalized_odds_ratio",
        ),
    )
}
CRITERION = {name: criterion for name, criterion in MEASURED.items() if criterion.meaning}  # that can be asked for
BOUNDS = {rate.name: Criterion(rate.name, (rate,), Form.BOUND) for rate in (*SOLVER_RATES, TNR, FNR, PPV)}
SELECTED = Criterion("selected", (SELECTION_RATE,), Form.TOTAL)
KNOWN: dict[str, Criterion] = {**CRITERION, **BOUNDS, SELECTED.name: SELECTED}  # offered or not


def is_met(name: str, limit: float, gap: float | None, tolerance: float = TOLERANCE) -> bool | None:
    """Whether a limit holds; None where the gap is not defined."""
    return CRITERION[name].limit(limit).met(gap, tolerance)


EXAMPLE, EQUAL_TPR, LEAST_RATIO = "equalized_odds", "equal_opportunity", "disparate_impact"

# names that others use for criteria, here and elsewhere
PREDICTIVE_PARITY = frozenset(
    ("predictive_parity", "predictive_value_parity", "predictive_rate_parity", "ppv", "ppv_parity", "precision")
)
CALLED_ELSEWHERE = {  # in fairlearn and AIF360
    "statistical_parity": "demographic_parity",
    "true_positive_rate_parity": "equal_opportunity",
    "false_positive_rate_parity": "predictive_equality",
}


def not_offered(name: object) -> str:
    """What to say to those who ask for a criterion by a name that is not ours; empty where the nearest name is right.

    The nearest name would mislead: predictive_equality is about fpr, predictive parity about ppv.
    """
    import difflib  # slow, and needed here only

    word = str(name).casefold().replace(" ", "_").replace("-", "_")
    if word in CALLED_ELSEWHERE:
        return f"; did you mean {CALLED_ELSEWHERE[word]!r}?"
    if not PREDICTIVE_PARITY.intersection(difflib.get_close_matches(word, (*PREDICTIVE_PARITY, *CRITERION), n=1)):
        return ""
    return (
        "; predictive parity (equal ppv) is not offered as a limit or penalty: read its gap in audit, because limits "
        "on other criteria can widen it"
    )
