"""The whole trade-off between error and a gap, in one computation.

Reads from: _solver, _mixture, the backends.  Read by: users, plots.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gstar_fast._backends import room
from gstar_fast._backends._search import NODE_LIMIT, Floats, Ints
from gstar_fast._backends.numpy.choices import extremes, loss_of
from gstar_fast._mixture import Mixture, Program, mixed
from gstar_fast._objective import CRITERIA, RATES, TOLERANCE, Objective, check_criterion, check_groups, has_rate
from gstar_fast._result import Result
from gstar_fast._sketch import Sketch
from gstar_fast._solver import Search, finish, finish_mixture, prepare

FRONTIER_LIMIT = 20_000_000  # boxes in all, for more than two groups


@dataclass(frozen=True)
class Frontier:
    """Points from the fairest to the cheapest: gaps rise, errors fall. Made by `frontier`.

    Attributes
    ----------
    criterion : str
        Whose gap; `definition` says how it is measured.
    gaps, errors : ndarray of shape (n_points,)
        `errors` is the weighted error E that was minimised; with the default costs it is the error rate.
    thresholds : ndarray of shape (n_points, n_groups)
        Columns in the order of `groups`. For a randomised frontier, the most probable of each mixture.
    penalty : ndarray of shape (n_points,) or None
        For the frontier that penalties trace: the least lambda at which the point is the optimum.
    proven_to : float
        The list is complete for gaps from here up; 0 means all of it.
    """

    criterion: str
    groups: tuple[Any, ...]
    gaps: Floats
    errors: Floats
    thresholds: Floats
    randomized: bool
    proven_to: float
    penalty: Floats | None
    _search: Search
    _choices: Ints | None
    _mixtures: tuple[Mixture, ...]

    def __len__(self) -> int:
        return len(self.gaps)

    def __str__(self) -> str:
        ends = f"gap {self.gaps[0]:.4g} at error {self.errors[0]:.4g} to gap {self.gaps[-1]:.4g} at error {self.errors[-1]:.4g}"
        kind = "randomised " if self.randomized else ""
        return f"{kind}frontier of {self.criterion}: {len(self)} points, {ends}"

    def result(self, i: int) -> Result:
        """The point as a `Result`, with rates, every gap and text."""
        message = f"point {i % len(self) + 1} of {len(self)} on the frontier of {self.criterion}: none is cheaper and as fair"
        if self.randomized:
            return replace(finish_mixture(self._search, self._mixtures[i]), message=message)
        assert self._choices is not None
        return finish(self._search, self._choices[i], "optimal", 0, message=message)

    def at(self, *, gap: float | None = None, error: float | None = None) -> Result:
        """The cheapest point whose gap is at most `gap`, or the fairest whose error is at most `error`.

        A randomised frontier also has the points between its corners: both mix the two neighbours.
        """
        if (gap is None) == (error is None):
            raise ValueError("pass either gap= or error=, and not both")
        if gap is not None:
            fits = np.flatnonzero(self.gaps <= gap + TOLERANCE)
            if len(fits) == 0:
                raise ValueError(f"no thresholds have a gap of {gap:g} or less; the smallest is {self.gaps[0]:.6g}")
            i = int(fits[-1])
            if self.randomized and i + 1 < len(self) and self.gaps[i] < gap:
                return self._between(i, (gap - self.gaps[i]) / (self.gaps[i + 1] - self.gaps[i]))
            return self.result(i)
        fits = np.flatnonzero(self.errors <= error + TOLERANCE)
        if len(fits) == 0:
            raise ValueError(f"no thresholds have an error of {error:g} or less; the smallest is {self.errors[-1]:.6g}")
        i = int(fits[0])
        if self.randomized and i > 0 and self.errors[i] < error:
            return self._between(i - 1, (self.errors[i - 1] - error) / (self.errors[i - 1] - self.errors[i]))
        return self.result(i)

    def _between(self, i: int, share: float) -> Result:
        one, two = self._mixtures[i], self._mixtures[i + 1]
        entries = np.concatenate([one.entries, two.entries])
        weights = np.concatenate([(1 - share) * one.weights, share * two.weights])
        merged = np.unique(entries)
        total = np.array([weights[entries == e].sum() for e in merged])
        return finish_mixture(self._search, Mixture(merged, total, 0.0, 0))

    def knee(self) -> Result:
        """The point furthest below the straight line between the two ends, both axes scaled to one."""
        width, height = self.gaps[-1] - self.gaps[0], self.errors[0] - self.errors[-1]
        if len(self) < 3 or width <= 0 or height <= 0:
            return self.result(0)
        below = (self.gaps[-1] - self.gaps) / width + (self.errors[0] - self.errors) / height
        return self.result(int(np.argmax(below)))

    def to_dataframe(self) -> Any:
        """A pandas data frame: gap, error and one threshold column for each group. Needs the extra `pandas`."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_dataframe needs pandas; install gstar-fast[pandas]") from None
        columns: dict[Any, Any] = {"gap": self.gaps, "error": self.errors}
        if self.penalty is not None:
            columns["penalty"] = self.penalty
        columns |= {f"threshold_{name}": self.thresholds[:, k] for k, name in enumerate(self.groups)}
        return pd.DataFrame(columns)

    def plot(self, ax: Any = None) -> Any:
        """Draw error against gap and return the axes. Needs the extra `plot`."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError("plot needs matplotlib; install gstar-fast[plot]") from None
        if ax is None:
            _, ax = plt.subplots()
        style = "-" if self.randomized else "steps-post"
        ax.plot(self.gaps, self.errors, **({} if self.randomized else {"drawstyle": style}))
        ax.set_xlabel(f"{self.criterion.replace('_', ' ')} gap")
        ax.set_ylabel("error")
        return ax


def frontier(
    sketch: Sketch,
    criterion: str,
    *,
    limits: Mapping[str, float] | None = None,
    by: str = "limits",
    costs: Iterable[float] = (1, 1),
    balanced: bool = False,
    randomize: bool = False,
) -> Frontier:
    """Every non-dominated pair of gap and error, with its thresholds, in one computation.

    Parameters
    ----------
    sketch : Sketch
        Counted scores.
    criterion : str
        Whose gap is traded against the error; `equalized_odds` is the larger of the tpr and the fpr gap.
    limits : dict, optional
        Limits on other criteria that every point keeps.
    by : {"limits", "penalties"}
        `limits` gives every point that some limit makes optimal. `penalties` gives those that the paper's lambda form
        can reach, for all lambda at once: the corners of the lower hull of squared gap and squared error.
    costs, balanced
        As in `solve`.
    randomize : bool
        Allow mixtures of thresholds: the frontier is then convex, and its corners are listed.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> sketch = gf.Sketch.from_rows([1, 2, 3, 4, 2, 3, 4, 5], [0, 1, 0, 1, 0, 0, 1, 1], list("aaaabbbb"))
    >>> print(gf.frontier(sketch, "demographic_parity"))
    frontier of demographic_parity: 2 points, gap 0 at error 0.25 to gap 0.25 at error 0.125
    """
    check_criterion(criterion, "criterion")
    if criterion == "disparate_impact":
        raise ValueError("disparate_impact is a ratio and has no gap to trade; use 'demographic_parity'")
    if by not in ("limits", "penalties"):
        raise ValueError(f"by must be 'limits' or 'penalties'; got {by!r}")
    objective = Objective.of(limits, None, costs, balanced)
    swept_rates = tuple(RATES.index(rate) for rate in CRITERIA[criterion])
    search = prepare(sketch, objective, swept=swept_rates)
    check_groups(Objective(limits={criterion: 1.0}), search.groups, has_rate(search.table.totals))
    limit, ratio = objective.limit, objective.ratio
    active = [r for r in range(len(RATES)) if limit[r] < np.inf or ratio[r] >= 0 or r in swept_rates]
    swept = np.array([r in swept_rates for r in active])
    if randomize:
        if by == "penalties":
            raise ValueError("randomize=True gives the frontier of limits; drop by='penalties'")
        return _randomised(search, criterion, swept)
    if by == "penalties":
        return _penalised(search, criterion, swept)
    choices, gaps, proven_to = room("solver").frontier(search.arrays, swept.astype(np.uint8), FRONTIER_LIMIT)
    if len(gaps) == 0:
        raise ValueError(f"no thresholds meet the limits {dict(objective.limits)}; loosen them")
    return _made(search, criterion, choices, gaps, proven_to, None)


def _made(
    search: Search,
    criterion: str,
    choices: Ints,
    gaps: Floats,
    proven_to: float,
    penalty: Floats | None,
) -> Frontier:
    at = search.table.start[:-1] + choices
    return Frontier(
        criterion=criterion,
        groups=search.groups,
        gaps=gaps,
        errors=search.table.cost[at].sum(axis=1) / search.scale.unit,
        thresholds=search.thresholds(at),
        randomized=False,
        proven_to=proven_to,
        penalty=penalty,
        _search=search,
        _choices=choices,
        _mixtures=(),
    )


def _penalised(search: Search, criterion: str, swept: Any) -> Frontier:
    """All lambdas at once: the lower hull of (sum of squared gaps, E^2), found chord by chord.

    For a chord between two corners, the lambda at which both are equally good either finds a corner below it or proves
    that there is none.
    """
    backend = room("solver")
    base = search.arrays
    found: dict[tuple[int, ...], tuple[float, float]] = {}
    nothing_left = True

    def best(penalty: float) -> tuple[int, ...]:
        nonlocal nothing_left
        p = replace(base, penalty=np.where(swept, penalty, 0.0))
        if len(search.groups) == 2:
            numbers, _, _ = backend.solve_pair(p)
        elif penalty == 0:
            numbers, _, _, _ = backend.solve_limits(p, NODE_LIMIT)
        else:
            guess, _, _, _ = backend.solve_limits(p, NODE_LIMIT)
            numbers, loss, bound, _ = backend.solve_penalties(p, guess, NODE_LIMIT)
            nothing_left = nothing_left and loss - bound <= TOLERANCE * max(1.0, loss)
        if numbers[0] < 0:
            raise ValueError(f"no thresholds meet the limits {dict(search.objective.limits)}; loosen them")
        choice = tuple(int(i) for i in numbers)
        found.setdefault(choice, _squares(base, swept, numbers))
        return choice

    ends = best(1e12), best(0.0)
    corners = [*_chords(best, found, *ends), ends[1]]
    unique = list(dict.fromkeys(corners))
    choices = np.array(unique, dtype=np.int64)
    spread = np.array([_gap(base, swept, numbers) for numbers in choices])
    squares = np.array([found[c] for c in unique])
    # a corner is best from the lambda of the chord to its cheaper neighbour upwards
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.append((squares[:-1, 1] - squares[1:, 1]) / (squares[1:, 0] - squares[:-1, 0]), 0.0)
    return _made(search, criterion, choices, spread, 0.0 if nothing_left else 1.0, least)


def _chords(best: Any, found: Any, fair: tuple[int, ...], cheap: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Corners from `fair` up to, not including, `cheap`."""
    pending, out = [(fair, cheap)], []
    while pending:
        fair, cheap = pending.pop()
        (gap_fair, error_fair), (gap_cheap, error_cheap) = found[fair], found[cheap]
        if fair == cheap or gap_cheap <= gap_fair or error_fair <= error_cheap:
            out.append(fair)
            continue
        penalty = (error_fair - error_cheap) / (gap_cheap - gap_fair)
        middle = best(penalty)
        gap, error = found[middle]
        level = error_fair + penalty * gap_fair
        if middle in (fair, cheap) or error + penalty * gap >= level * (1 - 1e-14):
            out.append(fair)
        else:
            pending += [(middle, cheap), (fair, middle)]
    return out


def _squares(p: Any, swept: Any, numbers: Any) -> tuple[float, float]:
    """Sum over the swept rates of the mean squared gap, and E^2."""
    error = float(loss_of(replace(p, penalty=np.zeros(len(swept))), numbers))
    both = float(loss_of(replace(p, penalty=np.where(swept, 1.0, 0.0), cost=np.zeros_like(p.cost)), numbers))
    return both, error


def _gap(p: Any, swept: Any, numbers: Any) -> float:
    return float(max(high - low for r in np.flatnonzero(swept) for low, high in [extremes(p, int(r), numbers)]))


def _randomised(search: Search, criterion: str, swept: Any) -> Frontier:
    """The corners of a convex, piecewise linear function of the gap: solve at both ends, then where tangents meet."""
    p = search.arrays

    def solve(gap: float) -> tuple[float, float, Mixture] | None:
        program = Program(p, swept)
        program.set_limit(gap)
        mixture = program.solve()
        if mixture is None:
            return None
        return float(mixed(p.cost / p.unit, p, mixture).sum()), mixture.slope, mixture

    def spread(mixture: Mixture) -> float:
        rates = mixed(p.rates, p, mixture)
        return float(max(np.ptp(rates[r][p.has[r].astype(bool)]) for r in np.flatnonzero(swept)))

    cheapest = solve(1.0)
    if cheapest is None:
        raise ValueError(f"no mixture meets the limits {dict(search.objective.limits)}; loosen them")
    fairest = solve(0.0)
    low = 0.0
    if fairest is None:  # fixed limits rule out a gap of 0: find the smallest there is
        low, high = 0.0, 1.0
        while high - low > 1e-12:
            middle = (low + high) / 2
            low, high = (low, middle) if solve(middle) is not None else (middle, high)
        low, fairest = high, solve(high)
        assert fairest is not None
    points: dict[float, tuple[float, Mixture]] = {low: (fairest[0], fairest[2])}
    pending = [(low, fairest, 1.0, cheapest)]
    while pending:
        a, left, b, right = pending.pop()
        if left[0] - right[0] <= 1e-13 or left[1] >= right[1] - 1e-13:
            continue
        meet = (right[0] - left[0] + left[1] * a - right[1] * b) / (left[1] - right[1])
        if not a + 1e-12 < meet < b - 1e-12:
            continue
        middle = solve(meet)
        assert middle is not None
        tangent = left[0] + left[1] * (meet - a)
        if middle[0] <= tangent + 1e-12:  # the tangents meet on the curve: a corner
            points[meet] = (middle[0], middle[2])
        else:
            pending += [(a, left, meet, middle), (meet, middle, b, right)]
    last = max(points)
    if points[last][0] - cheapest[0] > 1e-13:
        points[max(spread(cheapest[2]), np.nextafter(last, 2.0))] = (cheapest[0], cheapest[2])
    gaps = np.array(sorted(points))
    mixtures = tuple(points[g][1] for g in gaps)
    results = [_most_probable(search, m) for m in mixtures]
    return Frontier(
        criterion=criterion,
        groups=search.groups,
        gaps=gaps,
        errors=np.array([points[g][0] for g in gaps]),
        thresholds=np.array(results),
        randomized=True,
        proven_to=0.0,
        penalty=None,
        _search=search,
        _choices=None,
        _mixtures=mixtures,
    )


def _most_probable(search: Search, mixture: Mixture) -> list[float]:
    group = np.searchsorted(search.arrays.start, mixture.entries, side="right") - 1
    out = []
    for k in range(len(search.groups)):
        mine = np.flatnonzero(group == k)
        entry = mixture.entries[mine[np.argmax(mixture.weights[mine])]]
        out.append(float(search.thresholds(entry)))
    return out
