"""Rates as records: hits over trials with whole coefficients. Imports nothing of the library.

Consumers ask a rate for what they need (`labels`, `falls`, `slopes`, ...) and do not know its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from gstar_fast._base.arrays import Bools, Floats, Ints, Values

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

        (hits, trials), *others = [share.counted(accepted, totals) for share in self.shares]
        rate: Floats = np.divide(hits, np.maximum(trials, 1), out=out)
        if not others:
            return rate
        there = np.minimum(trials, 1)
        for hits, trials in others:
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

    def _mean(self, part: Any, totals: Values) -> Floats:
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
SELECTED = SOLVER_RATES.index(SELECTION_RATE)
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


def ends_of(rates: Floats, has: Bools) -> list[Ends]:
    """The lowest and the highest of each rate, (R, K), over the groups that have it.

    None where fewer than two of several groups have it. One group has no gap, with the rows or without.
    """
    import numpy as np

    low = np.where(has, rates, np.inf).min(axis=1).tolist()
    high = np.where(has, rates, -np.inf).max(axis=1).tolist()
    members, n_groups = has.sum(axis=1).tolist(), has.shape[1]
    return [
        (b, h) if m >= 2 or m == n_groups else (1.0, 1.0) if n_groups == 1 else None
        for b, h, m in zip(low, high, members, strict=True)
    ]
