"""Rates as records: hits over trials with whole coefficients. Imports nothing of the library.

Consumers ask a rate for what they need (`labels`, `falls`, `slopes`, ...) and do not know its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from gstar_fast._base.arrays import Bools, Floats, Values

Ends: TypeAlias = "tuple[float, float] | None"  # the lowest and the highest rate of a group; None where undefined
Coefficients: TypeAlias = "tuple[int, int, int, int, int, int]"


class Share(NamedTuple):
    """One division: hits over trials.

    Both are sums of rows; the coefficients belong to the accepted rows of label 0, label 1 and without a label, and
    then to all rows of these.
    """

    hits: Coefficients
    trials: Coefficients

    def counted(self, accepted: Values, totals: Values) -> tuple[Values, Values]:
        """Hits and trials; `accepted` and `totals` are (3, ...)."""
        return _summed(self.hits, accepted, totals), _summed(self.trials, accepted, totals)


class Rate(NamedTuple):
    """A rate of a group: one share, or the mean of several that rest on different rows."""

    name: str
    shares: tuple[Share, ...]
    rows: str  # which rows it rests on

    @property
    def labels(self) -> tuple[int, ...]:
        """Labels of the rows that it rests on; 2 stands for rows without a label."""
        return tuple(y for y in range(3) if any(s.trials[y] or s.trials[3 + y] for s in self.shares))

    @property
    def linear(self) -> bool:
        """Whether it is a sum over accepted rows, because its trials do not depend on what is accepted."""
        return not any(any(s.trials[:3]) for s in self.shares)

    @property
    def falls(self) -> bool:
        """Whether it cannot rise with the threshold; then accepting all rows, or none, makes it certain."""
        return self.linear and min(c for s in self.shares for c in s.hits[:3]) >= 0

    def apart(self, others: Iterable[Rate]) -> bool:
        """Whether it rests on other rows than all of these, so that it is independent of them."""
        return not any(set(self.labels).intersection(other.labels) for other in others)

    def values(self, accepted: Values, totals: Values, out: Floats | None = None) -> Floats:
        """The rate; `accepted` and `totals` are (3, ...). A rate whose rows are missing reads 0."""
        parts = [share.counted(accepted, totals) for share in self.shares]
        (hits, trials), *others = parts
        rate: Floats = np.divide(hits, np.maximum(trials, 1), out=out)
        if not others:
            return rate
        for hits, trials in others:
            rate += hits / np.maximum(trials, 1)
        rate /= len(parts)
        for _, trials in parts:
            rate *= np.minimum(trials, 1)
        return rate

    def has(self, totals: Values, accepted: Values | None = None) -> Bools:
        """Whether the rows of the rate are there; only a rate that is not linear asks for accepted rows."""
        taken = totals if accepted is None else accepted
        out: Bools = np.all([share.counted(taken, totals)[1] > 0 for share in self.shares], axis=0)
        return out

    def slopes(self, totals: Values) -> Floats:
        """By how much each accepted row of a label raises the rate, (3, ...)."""
        return self._mean(lambda share, n: [share.hits[y] / n for y in range(3)], totals)

    def base(self, totals: Values) -> Floats:
        """The rate where nothing is accepted; plus `slopes` times accepted rows it is the rate."""
        return self._mean(lambda share, n: _summed(share.hits, np.zeros_like(totals), totals) / n, totals)

    def _mean(self, part: Any, totals: Values) -> Floats:
        if not self.linear:
            raise TypeError(f"{self.name} is not a sum over accepted rows")
        found = [part(s, np.maximum(s.counted(totals, totals)[1], 1)) for s in self.shares]
        return np.asarray(sum(map(np.asarray, found)) / len(found), dtype=np.float64)


@cache
def _terms(coefficients: Coefficients) -> tuple[tuple[int, int, int], ...]:
    """Label, coefficient of its accepted rows and of all its rows, where one of these is not 0."""
    found = ((y, coefficients[y], coefficients[3 + y]) for y in range(3))
    return tuple((y, taken, all_) for y, taken, all_ in found if taken or all_)


def _summed(coefficients: Coefficients, accepted: Values, totals: Values) -> Values:
    """The sum of rows, label by label: accepted rows, all rows, or rejected rows of each."""
    out: Values | None = None
    for y, taken, all_ in _terms(coefficients):
        term = accepted[y] if not all_ else totals[y] if not taken else totals[y] - accepted[y]
        out = term if out is None else out + term
    return np.zeros_like(totals[0]) if out is None else out


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
RATE = {
    rate.name: rate for rate in (TPR, FPR, SELECTION_RATE, ACCURACY, BALANCED_ACCURACY, TNR, FNR, BASE_RATE, ODDS, PPV)
}


def ends_of(rates: Floats, has: Bools) -> list[Ends]:
    """The lowest and the highest of each rate, (R, K), over the groups that have it.

    None where fewer than two of several groups have it. One group has no gap, with the rows or without.
    """
    low = np.where(has, rates, np.inf).min(axis=1).tolist()
    high = np.where(has, rates, -np.inf).max(axis=1).tolist()
    members, n_groups = has.sum(axis=1).tolist(), has.shape[1]
    return [
        (b, h) if m >= 2 or m == n_groups else (1.0, 1.0) if n_groups == 1 else None
        for b, h, m in zip(low, high, members, strict=True)
    ]
