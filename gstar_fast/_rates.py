"""Rates as records (hits over trials with whole coefficients), criteria that compare them, and limits on criteria.

Consumers ask a rate, a criterion or a limit for what they need (`labels`, `falls`, `windows`, ...) and do not know its
name. Imports nothing of the library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from gstar_fast._base.arrays import Bools, Floats, Ints, Values
    from gstar_fast._base.names import Name

Ends: TypeAlias = "tuple[float, float] | None"  # the lowest and the highest rate of a group; None where undefined
Coefficients: TypeAlias = "tuple[int, int, int, int, int, int]"
Summed: TypeAlias = "Callable[[Values, Values], Values]"


class Share(NamedTuple):
    """One division: hits over trials.

    Both are sums of rows; the coefficients belong to the accepted rows of label 0, label 1 and without a label, and
    then to all rows of these.
    """

    hits: Coefficients
    trials: Coefficients

    def counted(self, accepted: Values, totals: Values) -> tuple[Values, Values]:
        """Hits and trials; `accepted` and `totals` are (3, ...)."""
        return _sum(self.hits)(accepted, totals), _sum(self.trials)(accepted, totals)


@dataclass(frozen=True, eq=False)
class Rate:
    """A rate of a group: one share, or the mean of several that rest on different rows.

    There is one object for each name, also after unpickling.
    """

    name: str
    shares: tuple[Share, ...]
    rows: str  # which rows it rests on

    @cached_property
    def labels(self) -> tuple[int, ...]:
        """Labels of the rows that it rests on; 2 stands for rows without a label."""
        return tuple(y for y in range(3) if any(s.trials[y] or s.trials[3 + y] for s in self.shares))

    @cached_property
    def linear(self) -> bool:
        """Whether it is a sum over accepted rows, because its trials do not depend on what is accepted."""
        return not any(any(s.trials[:3]) for s in self.shares)

    @cached_property
    def falls(self) -> bool:
        """Whether it cannot rise with the threshold; then accepting all rows, or none, makes it certain."""
        return self.linear and min(c for s in self.shares for c in s.hits[:3]) >= 0

    @cached_property
    def parts(self) -> tuple[int, ...]:
        """Positions of the `SOLVER_RATES` of one share each that rest on the rows of its shares."""
        return tuple([rate.shares[0].trials for rate in SOLVER_RATES].index(share.trials) for share in self.shares)

    @cached_property
    def fewest(self) -> str:
        """The rows of the share that has the fewest."""
        return self.rows if len(self.shares) == 1 else "labels of a class"

    def apart(self, others: Iterable[Rate]) -> bool:
        """Whether it rests on other rows than all of these, so that it is independent of them."""
        return not any(set(self.labels).intersection(other.labels) for other in others)

    def values(self, accepted: Values, totals: Values, out: Floats | None = None) -> Floats:
        """The rate; `accepted` and `totals` are (3, ...). A rate whose rows are missing reads 0."""
        import numpy as np

        hits, trials = self.shares[0].counted(accepted, totals)
        rate: Floats = np.divide(hits, np.maximum(trials, 1), out=out)
        if len(self.shares) == 1:
            return rate
        there = np.minimum(trials, 1)
        for hits, trials in (share.counted(accepted, totals) for share in self.shares[1:]):
            rate += hits / np.maximum(trials, 1)
            there = there * np.minimum(trials, 1)
        rate /= len(self.shares)
        rate *= there
        return rate

    def has(self, totals: Values, accepted: Values | None = None) -> Bools:
        """Whether the rows of the rate are there; only a rate that is not linear asks for accepted rows."""
        import numpy as np

        taken = totals if accepted is None else accepted
        out: Bools = np.all([share.counted(taken, totals)[1] > 0 for share in self.shares], axis=0)
        return out

    def slopes(self, totals: Values, by: Values | None = None) -> Floats:
        """By how much accepting `by` more rows of a label, one if not given, raises the rate, (3, ...)."""
        import numpy as np

        rows = np.ones_like(totals) if by is None else by
        return self._mean(lambda share, n: [share.hits[y] * rows[y] / n for y in range(3)], totals)

    def base(self, totals: Values) -> Floats:
        """The rate where nothing is accepted; plus `slopes` times accepted rows it is the rate."""
        import numpy as np

        def given(share: Share, n: Values) -> Values:
            hits = share.counted(np.zeros_like(totals), totals)[0]
            return np.where(hits == n, 1.0, hits * (1.0 / n))  # rounded as the slopes are

        return self._mean(given, totals)

    def __reduce__(self) -> tuple[Callable[[str], Rate], tuple[str]]:
        return _named, (self.name,)

    def _mean(self, part: Callable[[Share, Values], Sequence[Values] | Values], totals: Values) -> Floats:
        import numpy as np

        assert self.linear, f"{self.name} is not a sum over accepted rows"
        found = [part(s, np.maximum(s.counted(totals, totals)[1], 1)) for s in self.shares]
        return np.asarray(sum(map(np.asarray, found)) / len(found), dtype=np.float64)


def _named(name: str) -> Rate:
    return RATE[name]


@cache
def _sum(coefficients: Coefficients) -> Summed:
    """The function that adds rows label by label: accepted rows, all rows, or rejected rows of each."""
    parts = [
        _PARTS[coefficients[y], coefficients[3 + y]](y) for y in range(3) if coefficients[y] or coefficients[3 + y]
    ]
    if len(parts) == 1:
        return parts[0]
    return lambda accepted, totals: reduce(add, [part(accepted, totals) for part in parts])


_PARTS: dict[tuple[int, int], Callable[[int], Summed]] = {  # coefficients of accepted rows, of all rows -> which rows
    (1, 0): lambda y: lambda accepted, _: accepted[y],
    (0, 1): lambda y: lambda _, totals: totals[y],
    (-1, 1): lambda y: lambda accepted, totals: totals[y] - accepted[y],
}


TPR = Rate("tpr", (Share((0, 1, 0, 0, 0, 0), (0, 0, 0, 0, 1, 0)),), "positive labels")
FPR = Rate("fpr", (Share((1, 0, 0, 0, 0, 0), (0, 0, 0, 1, 0, 0)),), "negative labels")
TNR = Rate("tnr", (Share((-1, 0, 0, 1, 0, 0), (0, 0, 0, 1, 0, 0)),), "negative labels")
FNR = Rate("fnr", (Share((0, -1, 0, 0, 1, 0), (0, 0, 0, 0, 1, 0)),), "positive labels")
SELECTION_RATE = Rate("selection_rate", (Share((1, 1, 1, 0, 0, 0), (0, 0, 0, 1, 1, 1)),), "rows")
BASE_RATE = Rate("base_rate", (Share((0, 0, 0, 0, 1, 0), (0, 0, 0, 1, 1, 0)),), "labelled rows")
ACCURACY = Rate("accuracy", (Share((-1, 1, 0, 1, 0, 0), (0, 0, 0, 1, 1, 0)),), "labelled rows")
BALANCED_ACCURACY = Rate("balanced_accuracy", TPR.shares + TNR.shares, "labels of both classes")
ODDS = Rate("odds", TPR.shares + FPR.shares, "labels of both classes")
PPV = Rate("ppv", (Share((0, 1, 0, 0, 0, 0), (1, 1, 0, 0, 0, 0)),), "accepted labelled rows")

SOLVER_RATES = (TPR, FPR, SELECTION_RATE, ACCURACY, BALANCED_ACCURACY)  # that solvers know, by position
RATES = tuple(rate.name for rate in SOLVER_RATES)
SELECTION_INDEX = SOLVER_RATES.index(SELECTION_RATE)
SHARES = tuple(rate.shares[0] for rate in SOLVER_RATES if len(rate.shares) == 1)  # these come first
RATE = {
    rate.name: rate for rate in (TPR, FPR, SELECTION_RATE, ACCURACY, BALANCED_ACCURACY, TNR, FNR, BASE_RATE, ODDS, PPV)
}


@cache
def _tables() -> tuple[Ints, Ints, Ints]:
    """Hits, trials and rows of the first and the last share of each rate of solvers; it may have one share only."""
    import numpy as np

    hits, trials = (
        np.array([[getattr(rate.shares[i], of) for rate in SOLVER_RATES] for i in (0, -1)]).reshape(-1, 6)
        for of in ("hits", "trials")
    )
    return hits, trials, trials[:, 3:].copy()


def has_rate(totals: Values) -> Bools:
    """Which groups have the rows that each of `SOLVER_RATES` needs: (5, K) of totals (3, K)."""
    there = _tables()[2] @ totals > 0
    out: Bools = there[: len(SOLVER_RATES)] & there[len(SOLVER_RATES) :]
    return out


def rates_of_counts(accepted: Values, totals: Values) -> Floats:
    """All `SOLVER_RATES`, (5, n), of whole numbers of rows (3, n): the same as `Rate.values`, in a few steps."""
    import numpy as np

    rows, n = np.concatenate([accepted, totals]), len(SOLVER_RATES)
    hits, tried, _ = _tables()
    trials = tried @ rows
    shares = hits @ rows / np.maximum(trials, 1)
    np.minimum(trials, 1, out=trials)
    out: Floats = (shares[:n] + shares[n:]) / 2 * (trials[:n] * trials[n:])
    return out


def rates_of(accepted: Values, totals: Values, wanted: Iterable[int] = range(len(SOLVER_RATES))) -> Floats:
    """The wanted rates (R, n) of n candidates; `accepted` is (3, n), `totals` (3, n) or (3,): label 0, 1, unlabelled.

    Integer counts give the exact rates; densities pass expected counts. A rate whose rows are missing reads 0.
    """
    import numpy as np

    positions = list(wanted)
    if len(positions) == len(SOLVER_RATES) and accepted.dtype.kind == "i" and accepted.shape == totals.shape:
        return rates_of_counts(accepted, totals)
    out = np.empty((len(positions), accepted.shape[1]))
    for row, r in zip(out, positions, strict=True):
        SOLVER_RATES[r].values(accepted, totals, row)
    return out


def rates_at(accepted: Values, totals: Values, start: Ints, wanted: list[int]) -> Floats:
    """As `rates_of` for groups end to end: `accepted` is (3, n), `totals` (3, K), `start` (K + 1,)."""
    import numpy as np

    if totals.shape[1] > 100:
        return rates_of(accepted, totals[:, np.repeat(np.arange(totals.shape[1]), np.diff(start))], wanted)
    out = np.empty((len(wanted), accepted.shape[1]))
    for k, (lo, hi) in enumerate(zip(start[:-1].tolist(), start[1:].tolist(), strict=True)):
        out[:, lo:hi] = rates_of(accepted[:, lo:hi], totals[:, k], wanted)
    return out


def ends_of(rates: Floats, has: Bools) -> list[Ends]:
    """The lowest and the highest of each rate, (R, K), over the groups that have it.

    None where fewer than two of several groups have it. With one group the gap is 0, whether or not it has the rows.
    """
    import numpy as np

    low = np.where(has, rates, np.inf).min(axis=1).tolist()
    high = np.where(has, rates, -np.inf).max(axis=1).tolist()
    members, n_groups = has.sum(axis=1).tolist(), has.shape[1]
    return [
        (b, h) if m >= 2 or m == n_groups else (1.0, 1.0) if n_groups == 1 else None
        for b, h, m in zip(low, high, members, strict=True)
    ]


# ------------------------------------------------------------------------------------------ criteria and limits


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
