"""Randomised thresholds: the linear program over mixtures of candidates, by a revised simplex.

Every candidate of every group is a column: its rates and its cost. A group's weights add up to one. For each limited
rate there is a variable t, the low end of its window, with rows `rate - t >= 0`, `rate - t <= limit` and, for a ratio,
`rate - t / ratio <= 0`. Where rates have bands, the first of these rows takes the low end and the others the high end:
the band of a mixture is the mean of its candidates' bands. A limit on the sum of the first two gaps is shared out: a
variable d is what the first may be, and the second gets the rest, `rate - t - d <= 0` and `rate - t + d <= total`. One
more variable z loosens every upper row; a first phase drives it to zero. Columns are priced straight from the arrays,
so the program is never written down. It is the same for all backends: the basis has a few dozen rows, and one order of
operations gives one answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gstar_fast._backends.interface import Arrays, Floats, Ints
from gstar_fast._base.arrays import Bools, Values
from gstar_fast._solver.question import TOLERANCE

EPSILON = 1e-11  # reduced costs, in units of E, that count as zero
MOST_PIVOTS = 50_000


@dataclass(frozen=True)
class Mixture:
    """The optimal weights: entries of the arrays, their weights, and how fast E falls as all limits rise."""

    entries: Ints
    weights: Floats
    slope: float
    pivots: int


class Program:
    """One linear program; `solve` may be called again after `loosen` with other limits, from the last basis."""

    def __init__(self, p: Arrays, swept: Bools | None = None, added: bool = False) -> None:
        """`swept` are the rates whose limit `set_limit` moves; with `added`, it moves that on the sum instead."""
        self.p = p
        self.n_groups = len(p.start) - 1
        self.group = np.repeat(np.arange(self.n_groups), np.diff(p.start))
        self.cost = p.cost / p.unit
        swept = np.zeros(len(p.limit), dtype=bool) if swept is None or added else swept
        total = max(p.total - TOLERANCE, 0.0)
        # rows: one convexity row a group, then for each rate and group a lower, an upper and a ratio row, and the sum
        kinds: list[tuple[int, int, float, float]] = []  # rate, group, coefficient of t, sign of the slack
        shares: list[float] = []  # coefficient of d
        right: list[float] = [1.0] * self.n_groups
        most: list[float] = [-1.0] * self.n_groups  # where a limit moves: the fixed limit that it may not pass
        for r in range(len(p.limit)):
            summed = r < 2 and (added or total < np.inf)
            limited = (p.limit[r] < np.inf and not (summed and p.limit[r] >= p.total)) or swept[r]
            if not limited and not summed and p.ratio[r] < 0:
                continue
            for k in range(self.n_groups):
                if not p.has[r, k]:
                    continue
                kinds.append((r, k, -1.0, -1.0))
                right.append(0.0)
                most.append(-1.0)
                if limited:
                    limit = max(float(p.limit[r]) - TOLERANCE, 0.0)
                    kinds.append((r, k, -1.0, 1.0))
                    right.append(limit)
                    most.append(limit if swept[r] else -1.0)
                least = float(p.ratio[r]) + TOLERANCE
                if p.ratio[r] >= 0 and least > 0:
                    kinds.append((r, k, -1.0 / least, 1.0))
                    right.append(0.0)
                    most.append(-1.0)
                shares += [0.0] * (len(kinds) - len(shares))
                if summed:
                    kinds.append((r, k, -1.0, 1.0))
                    shares.append(1.0 if r == 1 else -1.0)
                    right.append(min(total, 2.0) if r == 1 else 0.0)
                    most.append(right[-1] if added and r == 1 else -1.0)
        self.kinds = kinds
        self.shares = np.array(shares)
        self.right = np.array(right)
        self.most = np.array(most)
        self.moves = np.zeros(len(right), dtype=bool)
        m = len(right)
        self.row_rate = np.array([r for r, _, _, _ in kinds], dtype=np.int64)
        self.row_group = np.array([k for _, k, _, _ in kinds], dtype=np.int64)
        self.t_weight = np.array([w for _, _, w, _ in kinds])
        self.sign = np.array([s for _, _, _, s in kinds])
        self.low, self.high = p.bands
        # names of columns: ("x", entry), ("t", rate), ("d", 0), ("s", row), ("z", 0)
        self.basis: list[tuple[str, int]] = []
        self.inverse = np.eye(m)
        self.started = False

    def column(self, name: tuple[str, int]) -> Floats:
        kind, i = name
        out = np.zeros(len(self.right))
        if kind == "x":
            k = self.group[i]
            out[k] = 1.0
            mine = self.row_group == k
            rates = self.row_rate[mine]
            out[self.n_groups :][mine] = np.where(self.sign[mine] < 0, self.low[rates, i], self.high[rates, i])
        elif kind == "t":
            mine = self.row_rate == i
            out[self.n_groups :][mine] = self.t_weight[mine]
        elif kind == "d":
            out[self.n_groups :] = self.shares
        elif kind == "s":
            out[i] = self.sign[i - self.n_groups]
        else:
            out[self.n_groups :][self.sign > 0] = -1.0
        return out

    def begin(self) -> None:
        """Everybody accepted: t is each rate's smallest value, slacks take up the rest, z the worst excess."""
        first = self.p.start[:-1]
        lows, highs = self.low[:, first], self.high[:, first]  # (R, K)
        basis: list[tuple[str, int]] = [("x", int(i)) for i in first]
        low = {
            int(r): min((lows[r, k], k) for k in range(self.n_groups) if self.p.has[r, k])
            for r in np.unique(self.row_rate)
        }
        excess, worst = 0.0, -1
        for i, (r, k, weight, sign) in enumerate(self.kinds):
            row = self.n_groups + i
            level, lowest = low[r]
            if sign < 0 and k == lowest:
                basis.append(("t", r))
                continue
            basis.append(("s", row))
            over = highs[r, k] + weight * level - self.right[row]
            if sign > 0 and over > excess:
                excess, worst = over, row
        if worst >= 0:
            basis[worst] = ("z", 0)
        self.basis = basis
        self.factor()
        self.started = True

    def factor(self) -> None:
        self.inverse = np.linalg.inv(np.column_stack([self.column(name) for name in self.basis]))

    def costs(self, phase: int) -> Floats:
        if phase == 1:
            return np.array([1.0 if kind == "z" else 0.0 for kind, _ in self.basis])
        return np.array([self.cost[i] if kind == "x" else 0.0 for kind, i in self.basis])

    def entering(self, dual: Floats, phase: int, careful: bool) -> tuple[str, int] | None:
        """The column with the lowest reduced cost; the first negative one when cycling threatens (Bland)."""
        reduced = self.cost.copy() if phase == 2 else np.zeros(len(self.cost))
        reduced -= dual[: self.n_groups][self.group]
        lower = self.sign < 0
        parts: list[tuple[Floats, Bools | slice]] = [(self.low, slice(None))]
        if self.p.banded:
            parts = [(self.low, lower), (self.high, ~lower)]
        for rates, rows in parts:
            by_rate = np.zeros((len(self.p.limit), self.n_groups))
            np.add.at(by_rate, (self.row_rate[rows], self.row_group[rows]), dual[self.n_groups :][rows])
            for r in np.unique(self.row_rate[rows]):
                reduced -= by_rate[r][self.group] * rates[r]
        inside = set(self.basis)
        slack = -self.sign * dual[self.n_groups :]
        options: list[tuple[float, tuple[str, int]]] = []
        if careful:
            options += [(float(reduced[i]), ("x", int(i))) for i in np.flatnonzero(reduced < -EPSILON)[:64]]
        else:
            i = int(np.argmin(reduced))
            options.append((float(reduced[i]), ("x", i)))
        options += [(float(v), ("s", self.n_groups + int(i))) for i, v in enumerate(slack) if v < -EPSILON]
        for r in np.unique(self.row_rate):
            mine = self.row_rate == r
            options.append((-float(dual[self.n_groups :][mine] @ self.t_weight[mine]), ("t", int(r))))
        options.append((-float(dual[self.n_groups :] @ self.shares), ("d", 0)))
        options = [o for o in options if o[0] < -EPSILON and o[1] not in inside]
        if not options:
            return None
        return min(options, key=lambda o: o[1])[1] if careful else min(options)[1]

    def pivot(self, name: tuple[str, int], careful: bool) -> float:
        """Bring a column into the basis; returns the length of the step."""
        direction = self.inverse @ self.column(name)
        level = self.inverse @ self.right
        up = np.flatnonzero(direction > 1e-9)  # less may be rounding, and a pivot on it ruins the basis
        if len(up) == 0:
            raise AssertionError("the linear program is unbounded, which bounded rates rule out")
        steps = np.maximum(level[up], 0.0) / direction[up]
        least = steps.min()
        close = up[steps <= least + 1e-13]
        # z leaves first; then the firmest pivot, or the lowest name where cycling threatens
        z = [i for i in close if self.basis[i][0] == "z"]
        if z:
            out = z[0]
        elif careful:
            out = min(close, key=lambda i: self.basis[i])
        else:
            out = close[np.argmax(direction[close])]
        row = self.inverse[out] / direction[out]
        self.inverse = self.inverse - np.outer(direction, row)
        self.inverse[out] = row
        self.basis[out] = name
        return float(least)

    def solve(self) -> Mixture | None:
        """The optimum, or None if no mixture meets the limits."""
        if not self.started:
            self.begin()
        pivots, idle = 0, 0
        while pivots < MOST_PIVOTS:
            phase = 1 if any(kind == "z" for kind, _ in self.basis) else 2
            dual = self.costs(phase) @ self.inverse
            careful = idle > 2 * len(self.right)
            name = self.entering(dual, phase, careful)
            if name is None:
                level = self.inverse @ self.right
                if phase == 1:
                    at = [kind for kind, _ in self.basis].index("z")
                    if level[at] > 1e-9:
                        return None
                    if level[at] > 1e-12:  # forgiven: without it no basis is feasible, and the steps lead anywhere
                        self.right[self.n_groups :][self.sign > 0] += level[at]
                    if not self.expel(at):
                        return None
                    continue
                return self.answer(level, dual, pivots)
            step = self.pivot(name, careful)
            idle = 0 if step > 1e-13 else idle + 1
            pivots += 1
            if pivots % 64 == 0:
                self.factor()
        raise RuntimeError(f"the linear program did not finish in {MOST_PIVOTS} pivots")

    def expel(self, at: int) -> bool:
        """Take a zero z out of the basis by any column that can stand in for it."""
        for i in range(self.n_groups, len(self.right)):
            name = ("s", i)
            if name not in self.basis:
                direction = self.inverse @ self.column(name)
                if abs(direction[at]) > 1e-9:
                    row = self.inverse[at] / direction[at]
                    self.inverse = self.inverse - np.outer(direction, row)
                    self.inverse[at] = row
                    self.basis[at] = name
                    return True
        return False

    def answer(self, level: Floats, dual: Floats, pivots: int) -> Mixture:
        self.factor()
        level = self.inverse @ self.right
        chosen = sorted((i, max(float(w), 0.0)) for (kind, i), w in zip(self.basis, level, strict=True) if kind == "x")
        entries = np.array([i for i, w in chosen if w > 1e-12], dtype=np.int64)
        weights = np.array([w for _, w in chosen if w > 1e-12])
        total = np.zeros(self.n_groups)
        np.add.at(total, self.group[entries], weights)
        slope = float(dual[self.moves].sum())
        return Mixture(entries, weights / total[self.group[entries]], slope, pivots)

    def set_limit(self, gap: float) -> None:
        """Give the swept rates this limit, or their fixed one where that is smaller; a basis that fits is kept."""
        swept = self.most >= 0
        self.right[swept] = np.minimum(gap, self.most[swept])
        self.moves = gap < self.most  # the others are held by their fixed limits: E does not fall with the gap
        if self.started and np.any(self.inverse @ self.right < -1e-12):
            self.started = False


def mix(p: Arrays) -> Mixture | None:
    """The cheapest mixture that meets every limit, or None."""
    return Program(p).solve()


def mixed(values: Values, p: Arrays, mixture: Mixture) -> Floats:
    """Average of values (..., n) over each group's mixture: (..., K)."""
    n_groups = len(p.start) - 1
    group = np.searchsorted(p.start, mixture.entries, side="right") - 1
    out = np.zeros((*np.shape(values)[:-1], n_groups))
    for i, k, w in zip(mixture.entries, group, mixture.weights, strict=True):
        out[..., k] += w * np.asarray(values)[..., i]
    return out


# ----------------------------------------------------------------------------------------------------------- all limits


def corners_of(p: Arrays, swept: Bools, added: bool = False) -> dict[float, tuple[float, Mixture]]:
    """Gap -> least E and its mixture, at the corners of that convex, piecewise linear function.

    `swept` are the rates whose gap it is, the largest of theirs or, with `added`, their sum. Solves at both ends, then
    where tangents meet. Empty where no mixture meets the limits.
    """
    widest = 2.0 if added else 1.0

    def solve(gap: float) -> tuple[float, float, Mixture] | None:
        program = Program(p, swept, added)
        program.set_limit(gap)
        mixture = program.solve()
        if mixture is None:
            return None
        return float(mixed(p.cost / p.unit, p, mixture).sum()), mixture.slope, mixture

    def spread(mixture: Mixture) -> float:
        lows, highs = (mixed(ends, p, mixture) for ends in p.bands)
        has = p.has.astype(bool)
        gaps = [float(highs[r][has[r]].max() - lows[r][has[r]].min()) for r in np.flatnonzero(swept)]
        return sum(gaps) if added else max(gaps)

    cheapest = solve(widest)
    if cheapest is None:
        return {}
    least_gap = solve(0.0)
    low = 0.0
    if least_gap is None:  # fixed limits rule out a gap of 0: find the smallest there is
        low, high = 0.0, widest
        while high - low > 1e-12:
            half = (low + high) / 2
            low, high = (low, half) if solve(half) is not None else (half, high)
        low, least_gap = high, solve(high)
        assert least_gap is not None
    points: dict[float, tuple[float, Mixture]] = {low: (least_gap[0], least_gap[2])}
    pending = [(low, least_gap, widest, cheapest)]
    while pending:
        a, left, b, right = pending.pop()
        if left[0] - right[0] <= 1e-13 or left[1] >= right[1] - 1e-13:
            continue
        meet = (right[0] - left[0] + left[1] * a - right[1] * b) / (left[1] - right[1])
        if not a + 1e-12 < meet < b - 1e-12:  # one tangent is the chord: nothing lies between
            continue
        middle = solve(meet)
        assert middle is not None
        points[meet] = (middle[0], middle[2])
        if middle[0] > left[0] + left[1] * (meet - a) + 1e-12:  # above the tangents: there may be more on both sides
            pending += [(a, left, meet, middle), (meet, middle, b, right)]
    points.setdefault(spread(cheapest[2]), (cheapest[0], cheapest[2]))
    return {gap: points[gap] for gap in _corners([(gap, error) for gap, (error, _) in sorted(points.items())])}


def _corners(points: list[tuple[float, float]]) -> list[float]:
    """Which points, given in order of gap, are corners of their lower hull: their gaps."""
    kept: list[tuple[float, float]] = []
    for gap, error in points:
        if kept and error >= kept[-1][1] - 1e-13:
            continue
        while len(kept) > 1:
            (a, first), (b, second) = kept[-2:]
            if second < first + (error - first) * (b - a) / (gap - a) - 1e-13:
                break
            kept.pop()
        kept.append((gap, error))
    return [gap for gap, _ in kept]


def blended(one: Mixture, two: Mixture, share: float) -> Mixture:
    """A share of one mixture replaced by another."""
    entries = np.concatenate([one.entries, two.entries])
    weights = np.concatenate([(1 - share) * one.weights, share * two.weights])
    merged = np.unique(entries)
    total = np.array([weights[entries == e].sum() for e in merged])
    return Mixture(merged, total, 0.0, 0)
