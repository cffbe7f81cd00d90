"""Rates compared in one of five forms, and what a limit asks for.

Consumers ask a criterion and a limit for what they need and do not know names. Imports nothing but rates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from gstar_fast._rates import Ends, Rate, ends_of

if TYPE_CHECKING:
    from gstar_fast._base.arrays import Bools, Floats
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

        if self.criterion.compares:
            return np.ones(rates.shape[1], dtype=bool)
        kept = (rates >= self.least - tolerance) & (rates <= self.most + tolerance)
        return np.asarray(kept.all(axis=0))
