"""The paper's five theorems, as numbers for one sketch and one result.

The constants need a pdf that is bounded away from zero, which no density with unbounded support has. The proofs need
them between two points only, such as the two thresholds, so they are evaluated there. A right side that is above the
largest value the left side can have says nothing, and the text says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gstar_fast._backends.common.descent import evaluate, slopes
from gstar_fast._backends.interface import Floats
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.place import bad_value
from gstar_fast._criteria import CRITERION, EQUAL_TPR, Limit
from gstar_fast._density.density import every_density
from gstar_fast._question.options import name_of
from gstar_fast._question.question import Question
from gstar_fast._sketch.sketch import Sketch, check_order, check_sketch
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.smooth.smooth import Kind, Smooth, prepare_smooth, solve_prepared

POINTS = 8193  # points of a range at which pdfs and cdfs are evaluated for their extremes


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class Bound:
    """One theorem: what it bounds, by how much, and with which constants.

    `left` is the quantity as it is for this result, `right` what the theorem allows; None where a side does not exist.
    `largest` is the largest value that the left side can have for any thresholds; None if it is unbounded.
    """

    theorem: str
    inequality: str
    left: float | None
    right: float | None
    constants: dict[str, float]
    note: str
    largest: float | None = None

    @property
    def says_nothing(self) -> bool:
        """Whether the right side is larger than any possible left side."""
        return self.right is not None and self.largest is not None and self.right > self.largest

    @property
    def holds(self) -> bool | None:
        """Whether `left <= right`; None where the theorem says nothing about this result."""
        return None if self.left is None or self.right is None else self.left <= self.right + 1e-12


@lives_in("gstar_fast.results")
@dataclass(frozen=True)
class Bounds:
    """The theorems by number: `bounds(...)[1]` to `[5]`; printed, a line for each.

    Attributes
    ----------
    by_number : dict of Bound
        The same, as a dict.
    density : str
        Kind of density the constants were taken from.
    range : (float, float)
        From the lower threshold to the higher one; the constants of Theorems 1 and 2 are those on this range.
    """

    by_number: dict[int, Bound]
    density: str
    range: tuple[float, float]

    def __getitem__(self, number: int) -> Bound:
        return self.by_number[number]

    def __str__(self) -> str:
        low, high = self.range
        lines = [f"density {self.density}; constants between the thresholds, {low:.4g} and {high:.4g}"]
        for number, bound in self.by_number.items():
            left = "-" if bound.left is None else f"{bound.left:.4g}"
            right = "-" if bound.right is None else f"{bound.right:.4g}"
            if bound.says_nothing:
                right += f", which says nothing here: it is at most {bound.largest:.4g}"
            sign = ">" if bound.holds is False else "<="
            lines.append(f"{number}. {bound.inequality}: {left} {sign} {right}")
            if bound.note:
                lines.append(f"   {bound.note}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Curves:
    """cdf and pdf of the four cells on a fine grid, by (label, group position)."""

    x: Floats
    cdf: dict[tuple[int, int], Floats]
    pdf: dict[tuple[int, int], Floats]
    finite: bool  # whether the range ends on the grid

    @classmethod
    def between(cls, s: Smooth, low: float, high: float) -> Curves:
        """From one score to another; where one is infinite, the grid ends where rows do."""
        finite = bool(np.isfinite([low, high]).all())
        used = np.flatnonzero(s.counted.rows[:2].sum(axis=(0, 1)))
        edges = s.counted.edges
        first, last = edges[max(used[0] - 1, 0)], edges[min(used[-1], len(edges) - 1)]
        low, high = (float(np.clip(end, first, last)) if np.isinf(end) else end for end in (low, high))
        seen = edges[(edges >= low) & (edges <= high)]
        x = np.union1d(np.linspace(low, high, POINTS), seen)
        cdf, pdf = {}, {}
        for k in range(2):
            for label in range(2):
                cdf[label, k], pdf[label, k] = s.problem.cells[3 * k + label].at(x)
        return cls(x, cdf, pdf, finite)

    def peak(self, label: int, group: int) -> float:
        """The largest pdf."""
        return float(self.pdf[label, group].max())

    def stretch(self, label: int, group: int) -> float:
        """Lipschitz constant of the inverse cdf on the range: one over the smallest pdf; infinite if the range is."""
        least = float(self.pdf[label, group].min())
        return 1.0 / least if least > 0 and self.finite else np.inf

    def apart(self, label: int) -> float:
        """Largest difference between the cdfs of the two groups."""
        return float(np.abs(self.cdf[label, 1] - self.cdf[label, 0]).max())

    def near(self, label: int, group: int, value: float, reach: float) -> tuple[float, float]:
        """Scores between which a cdf is within `reach` of a value, plus a step; infinite beyond the end of the grid."""
        first, last = np.searchsorted(self.cdf[label, group], [value - reach, value + reach])
        low = float(self.x[first - 1]) if first else -np.inf
        return low, float(self.x[last]) if last < len(self.x) else np.inf


def bounds(result: Result, sketch: Sketch, *, density: Kind = "kde") -> Bounds:
    """Evaluate the paper's theorems for a result of two groups.

    Parameters
    ----------
    result : Result
        Its thresholds are where Theorems 1, 2 and 4 are evaluated; its tpr gap is the gamma of Theorem 3.
    sketch : Sketch
        What the result was solved from.
    density : {"kde", "normal", "student_t", "gamma", "best"} or what `density` returns of a sketch
        A smooth density, since the constants are about pdfs.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> table = gf.datasets.paper_synthetic(rows=8_000, seed=1)
    >>> sketch = gf.Sketch.from_rows(table.scores, table.labels, table.groups)
    >>> found = gf.bounds(gf.solve(sketch, limits={"equal_opportunity": 0.01}), sketch)
    >>> found[1].holds
    True
    """
    check_order("bounds", result)
    check_sketch(sketch)
    if isinstance(density, str) and density == "empirical":
        raise bad_value("density", "bounds needs a smooth density: the counts have no pdf; use density='kde'")
    if len(result.thresholds) != 2:
        raise bad_value("result", f"the paper's theorems are about two groups; the result has {len(result.thresholds)}")
    question = Question(penalties=result.question.penalties)
    s = prepare_smooth(sketch, question, density, extra=(0, 1))
    if set(s.groups) != set(result.thresholds):
        raise bad_value(
            "result", f"the result is for groups {list(result.thresholds)}, the sketch has {list(s.groups)}"
        )
    if (s.totals[:2] == 0).any():
        raise bad_value("sketch", "the paper's theorems need rows of both labels in both groups")
    at = np.array([result.thresholds[g] for g in s.groups])
    curves = Curves.between(s, float(at.min()), float(at.max()))
    found = {1: _first(s, curves, at), 2: _second(s, curves, at), 3: _third(s, result)}
    found |= {4: _fourth(s, at, result), 5: _fifth(sketch, result, density)}
    return Bounds(found, name_of(density), (float(at.min()), float(at.max())))


def _rates(s: Smooth, at: Floats) -> tuple[Floats, Floats]:
    """The tpr and fpr of both groups under the densities."""
    accepted = s.accepted(at)
    return accepted[1] / s.totals[1], accepted[0] / s.totals[0]


def _times(factor: float, value: float) -> float:
    """A product in which infinity times 0 is 0."""
    return factor * value if value > 0 else 0.0


def _first(s: Smooth, c: Curves, at: Floats) -> Bound:
    tpr, fpr = _rates(s, at)
    gap = float(abs(tpr[1] - tpr[0]))
    constants = {"u_0": c.apart(0), "u_1": c.apart(1), "f_01": c.peak(0, 1), "M_10": c.stretch(1, 0), "tpr_gap": gap}
    right = constants["u_0"] + _times(constants["f_01"] * constants["M_10"], constants["u_1"] + gap)
    note = "" if gap <= 1e-9 else "the theorem has equal tpr; a tpr gap adds to u_1, by the same proof"
    inequality = "|fpr_0 - fpr_1| <= u_0 + f_01 M_10 (u_1 + tpr gap)"
    return Bound("Theorem 1", inequality, float(abs(fpr[1] - fpr[0])), right, constants, note, 1.0)


def _second(s: Smooth, c: Curves, at: Floats) -> Bound:
    tpr, fpr = _rates(s, at)
    gap = float(abs(fpr[1] - fpr[0]))
    constants = {"u_0": c.apart(0), "u_1": c.apart(1), "f_11": c.peak(1, 1), "M_00": c.stretch(0, 0), "fpr_gap": gap}
    right = constants["u_1"] + _times(constants["f_11"] * constants["M_00"], constants["u_0"] + gap)
    note = "" if gap <= 1e-9 else "the theorem has equal fpr; an fpr gap adds to u_0, by the same proof"
    inequality = "|fnr_0 - fnr_1| <= u_1 + f_11 M_00 (u_0 + fpr gap)"
    return Bound("Theorem 2", inequality, float(abs(tpr[1] - tpr[0])), right, constants, note, 1.0)


def _third(s: Smooth, result: Result) -> Bound:
    """What relaxing equal tpr by gamma can gain, against what it does gain."""
    c = Curves.between(s, -np.inf, np.inf)
    gamma = float(result.gaps[EQUAL_TPR])
    fair = solve_prepared(_with(s, (CRITERION[EQUAL_TPR].limit(0.0),)))
    best = fair.error**2
    star = np.array([fair.thresholds[g] for g in s.groups])
    # each threshold may move as long as its fnr moves by at most gamma / 2; E separates over the groups
    gained, reached = 0.0, []
    totals = s.totals.astype(np.float64)
    n = float(totals[:2].sum())
    for k in range(2):
        fnr = c.cdf[1, k]
        here = float(s.problem.cells[3 * k + 1].at(np.array([star[k]]))[0][0])
        near = np.abs(fnr - here) <= gamma / 2
        # the proof moves theta_1 by gamma / 2 of its fnr, and theta_0 after it by up to gamma more
        ends = c.near(1, k, here, gamma / 2 if k else 1.5 * gamma)
        reached.append(Curves.between(s, min(ends[0], star[k]), max(ends[1], star[k])))
        error = (totals[1, k] * fnr + totals[0, k] * (1 - c.cdf[0, k])) / n
        passed = 1 - float(s.problem.cells[3 * k].at(np.array([star[k]]))[0][0])
        at_star = (totals[1, k] * here + totals[0, k] * passed) / n
        gained += max(at_star - float(error[near].min()), 0.0) if near.any() else 0.0
    left = best - (fair.error - gained) ** 2
    share = {"r_0": totals[0].sum() / n, "r_1": totals[1].sum() / n}
    share |= {"n_00/N": totals[0, 0] / n, "n_10/N": totals[1, 0] / n}
    zero, one = reached
    f01, f00, f11 = one.peak(0, 1), zero.peak(0, 0), one.peak(1, 1)
    m11, m10 = one.stretch(1, 1), zero.stretch(1, 0)
    slope = f01 + f00 * m10 * f11  # the largest absolute slope that epsilon can have
    inner = share["r_1"] / 2 + share["r_0"] * f01 * m11 / 2
    inner += share["n_00/N"] * (f00 * m10 + slope * m11 / 2) + share["n_10/N"]
    constant = 2 * fair.error * inner
    constants = {**{k: float(v) for k, v in share.items()}, "f_00": f00, "f_01": f01, "M_10": m10, "M_11": m11}
    constants |= {"slope": slope, "sqrt(L*)": fair.error, "C": constant, "gamma": gamma}
    note = "the factor is 2 sqrt(L*), since L is a square; slope is the largest absolute slope of epsilon"
    return Bound("Theorem 3", "L* - L~ <= C gamma", left, _times(constant, gamma), constants, note, best)


def _with(s: Smooth, limits: tuple[Limit, ...]) -> Smooth:
    """The same densities under other limits."""
    question = Question(limits=limits)
    problem = s.problem._replace(penalty=np.zeros(len(s.active)))
    return replace(s, question=question, problem=problem)


def _fourth(s: Smooth, at: Floats, result: Result) -> Bound:
    """||Q (J^T J)^-1|| at the thresholds: below 1, Gauss-Newton converges from nearby."""
    inequality = "||Q (J^T J)^-1|| < 1"
    if not any(w > 0 for w in result.question.penalties.values()):
        note = "about the loss with penalties; this result has none"
        return Bound("Theorem 4", inequality, None, 1.0, {}, note)
    if not np.isfinite(at).all():
        return Bound("Theorem 4", inequality, None, 1.0, {}, "an infinite threshold has no Jacobian")
    point = evaluate(s.problem, at)
    _, normal = slopes(s.problem, point, second=False)
    _, full = slopes(s.problem, point, second=True)
    condition = float(np.linalg.cond(normal)) if normal.any() else np.inf
    constants = {"condition": condition}
    if condition > 1e12:
        note = "J is singular here, as it must be at an optimum of one rate whose residual is not zero"
        return Bound("Theorem 4", inequality, np.inf, 1.0, constants, note)
    factor = float(np.linalg.norm((full - normal) @ np.linalg.inv(normal), 2))
    note = "" if factor < 1 else "not a contraction: Gauss-Newton may leave this point; Newton's method would not"
    return Bound("Theorem 4", inequality, factor, 1.0, constants, note)


def _fifth(sketch: Sketch, result: Result, density: Kind) -> Bound:
    """2 d_K, between the density used and the counts, for randomised results."""
    inequality = "error - least possible error <= 2 d_K"
    if not result.randomized:
        note = "does not hold for single thresholds: two ROC curves may be close and yet meet only at their corners"
        return Bound("Theorem 5", inequality, None, None, {}, note)
    if result.question.density == "empirical":
        distance = 0.0
    else:
        made = density if isinstance(density, Mapping) else every_density(sketch, density)
        distance = max(float(d.kolmogorov) for d in made.values())
    note = "d_K is between the density used and the counts; the Bayes regressor cannot be observed"
    return Bound("Theorem 5", inequality, None, 2 * distance, {"d_K": distance}, note, 1.0)
