"""Two methods compared on held-out rows: error at equal gap in both directions, hypervolume, and what noise can do.

Fewer errors with a larger gap are no victory, so errors are compared at equal gap. On one file a method has a line: its
(gap, error) points on test rows, one for each limit, joined in order of gap. Each point of the second method is
compared with the line of the first at the same gap ("ours moved"), and each point of the first with the line of the
second ("other moved"). Either direction alone favours one side where points lie beyond the other's line, so the average
of both is taken. Beyond its ends a line keeps the error of its end. `DEFINITIONS` has three other choices. A difference
whose sign changes with the choice is not a finding.

Files of one data set share people, so the interval is over data sets: files are averaged within each, then a t interval
is taken over the means. COMPAS is there twice with mostly the same people and counts once.
"""

from __future__ import annotations

from math import erfc, sqrt
from typing import Any

import numpy as np

LIMITS = (0.01, 0.02, 0.05, 0.1)
DEFINITIONS = {
    "held": "beyond its ends a line keeps the error of its end",
    "left out": "points whose gap is under the smallest one of the other's line are not compared",
    "constant": "under its smallest gap a line goes to gap 0 and the error of the best constant decision",
    "slope": "a line has the least-squares slope of error on gap over its own points, 0 where error rises with gap",
}
T95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # two-sided t quantiles for so many values
MODELS = ("_lr", "_hgb", "_tree", "_xconf")
Row = dict[str, Any]
Curve = tuple[np.ndarray, np.ndarray]  # gaps and errors at LIMITS


def moved(curve: Curve, to: np.ndarray, how: str = "held", constant: float = np.nan) -> np.ndarray:
    """Error of a method at the gaps `to`, read off its own line; NaN where there is nothing to compare."""
    gaps = np.unique(curve[0])
    errors = np.array([np.mean(curve[1][curve[0] == gap]) for gap in gaps])
    if how == "constant" and gaps[0] > 0:
        gaps, errors = np.append(0.0, gaps), np.append(constant, errors)
    found = np.interp(to, gaps, errors)
    return np.where(to < gaps[0], np.nan, found) if how == "left out" else found


def price(curve: Curve) -> float:
    """How much error a method pays for one unit of gap: minus the slope over its points, never below 0."""
    gaps, errors = curve
    spread = np.var(gaps)
    return max(0.0, -float(np.mean((gaps - gaps.mean()) * (errors - errors.mean())) / spread)) if spread > 0 else 0.0


def both_ways(mine: Curve, theirs: Curve, how: str = "held", constant: float = np.nan) -> tuple[np.ndarray, np.ndarray]:
    """My error minus theirs at their gaps (mine is moved), and at my gaps (theirs is), one for each limit."""
    if how == "slope":
        error, gap = mine[1] - theirs[1], mine[0] - theirs[0]
        return error + price(mine) * gap, error + price(theirs) * gap
    return moved(mine, theirs[0], how, constant) - theirs[1], mine[1] - moved(theirs, mine[0], how, constant)


def hypervolume(gaps: np.ndarray, errors: np.ndarray) -> float:
    """Area between the staircase of (gap, error) points and the corner (0.3, 0.5)."""
    area, best, last = 0.0, 0.5, 0.0
    points = sorted((g, e) for g, e in zip(gaps, errors, strict=True) if g < 0.3)
    for gap, error in [*points, (0.3, 0.5)]:
        area += (gap - last) * (0.5 - best)
        last, best = gap, min(best, error)
    return area


def pair(one: str, two: str, mine: tuple[np.ndarray, ...], theirs: tuple[np.ndarray, ...]) -> list[Row]:
    """Compare two methods on one file; row 0 of errors and gaps is the estimate, the others are resamples."""
    (my_error, my_gap), (their_error, their_gap) = mine, theirs
    resamples = zip(my_gap, my_error, their_gap, their_error, strict=True)
    ways = np.array([both_ways((g, e), (h, f)) for g, e, h, f in resamples])  # resample, direction, limit
    equal = ways.mean(1)
    volume = np.array([hypervolume(g, e) for g, e in zip(my_gap, my_error, strict=True)])
    volume -= [hypervolume(g, e) for g, e in zip(their_gap, their_error, strict=True)]
    lines: list[Row] = [{"hypervolume": float(volume[0]), "p": p_value(volume)}]
    for i, limit in enumerate(LIMITS):
        line = {"limit": limit, "error": my_error[0, i] - their_error[0, i], "gap": my_gap[0, i] - their_gap[0, i]}
        line |= {"ours_moved": ways[0, 0, i], "other_moved": ways[0, 1, i], "at_equal_gap": equal[0, i]}
        lines.append({**line, "p": p_value(equal[:, i])})
    return [{"one": one, "two": two, **line} for line in lines]


def p_value(values: np.ndarray) -> float:
    """Two-sided chance of so large a value[0], with the spread of the others, if the truth is 0."""
    deviation = float(np.std(values[1:]))
    return erfc(abs(float(values[0])) / deviation / sqrt(2)) if deviation > 0 else 1.0


def holm(p: list[float], level: float = 0.05) -> np.ndarray:
    """Which of several comparisons are significant when all are looked at."""
    order = np.argsort(p)
    passed = np.sort(p) <= level / np.arange(len(p), 0, -1)
    out = np.zeros(len(p), dtype=bool)
    out[order[: len(p) if passed.all() else int(np.argmin(passed))]] = True
    return out


def data_set(file: str) -> str:
    """The data set of a score file, by its name."""
    return file[: min(file.find(m) for m in MODELS if m in file)] + (" (many)" if "(many)" in file else "")


def by_data_set(values: dict[str, float]) -> dict[str, float]:
    """Mean over the files of each data set; files without a value are left out."""
    kept: dict[str, list[float]] = {}
    for file, value in values.items():
        if not np.isnan(value):
            kept.setdefault(data_set(file), []).append(value)
    return {name: float(np.mean(found)) for name, found in kept.items()}


def over_data_sets(values: dict[str, float]) -> tuple[float, float, int]:
    """Mean over data sets of values by file, half the width of its 95 % interval (NaN for one set), and how many."""
    means: dict[str, list[float]] = {}
    for name, mean in by_data_set(values).items():
        means.setdefault("compas" if name.startswith("compas") else name, []).append(mean)  # the same people
    sets = [float(np.mean(found)) for found in means.values()]
    half = T95[len(sets)] * float(np.std(sets, ddof=1)) / sqrt(len(sets)) if len(sets) > 1 else float("nan")
    return float(np.mean(sets)), half, len(sets)
