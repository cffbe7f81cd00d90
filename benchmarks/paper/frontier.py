"""Accuracy at equal gap on new rows: ours against each rival, paired by split, with what the test can see.

On one split a method is a ladder of choices: for each target gap the setting with the best accuracy on the validation
rows among those whose gap there is at most the target, or the smallest gap if there is none. Test rows are not looked
at. The test points of the chosen settings, in order of their gap, are the line of the method.

Two lines are compared at equal gap: each point of one with the other's line, in both directions, and the two means are
averaged. A point is compared only where the other line is. If the lines have no gap in common, the line with the
smaller gaps keeps the accuracy of its last point, which is to its disadvantage; where the lines are further apart than
the noise floor of the data set on average, that is no comparison at equal gap, and it is not tested. Swapping the
methods turns the sign.

Splits share rows, so their differences are not independent. The t test is the corrected one (Nadeau and Bengio,
2003): its variance is (1 / splits + test rows / train rows) times that of the differences. All comparisons with
rivals together are one family for Holm's correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

import numpy as np
from scipy import stats

from benchmarks.paper.records import GAPS, Record, by, floor_of, keep, ours
from benchmarks.studies.quality_pairs import Curve, both_ways

TARGETS = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, float("inf"))  # the last one: accuracy alone
RATIO = 0.3 / 0.7  # test rows over train rows of every split
LEVEL = 0.05
POWER = 0.8
LEAST_SPLITS = 3  # fewer differences have no spread to speak of
# Forms of ours by what they may do: (toss coins, ask for the group). Without the group `unified` is the paper's form,
# and `segments` was built later.
OURS = {
    (False, True): ("exact",),
    (True, True): ("randomised",),
    (False, False): ("unified", "segments"),
    (True, False): ("segments_randomised",),
}


@dataclass(frozen=True)
class Comparison:
    """Ours against one rival: accuracy of ours minus accuracy of the rival at equal gap."""

    data: str
    model: str
    criterion: str
    randomised: bool
    ours: str
    rival: str
    rival_uses_group: bool
    splits: int
    difference: float
    low: float
    high: float
    p: float
    visible: float  # smallest difference that this test finds with a power of 80 %, alone
    overlap: float  # share of splits in which the two lines have gaps in common
    apart: float  # by how much the nearest gaps of the lines differ on average; 0 where they overlap
    floor: float  # noise floor of the gap
    held: float  # the difference if all points are compared and lines keep the accuracy of their ends
    reached: float  # the same without points whose gap the other line does not reach
    values: tuple[float, ...] = field(repr=False)
    p_holm: float = float("nan")
    visible_holm: float = float("nan")  # the same at the strictest step of Holm's correction

    @property
    def tested(self) -> bool:
        """Whether the lines come as near to each other in gap as noise allows to say."""
        return not self.apart > self.floor

    @property
    def steady(self) -> bool:
        """Whether other ways to compare at equal gap agree about the sign."""
        signs = {np.sign(value) for value in (self.difference, self.held, self.reached) if abs(value) > 1e-9}
        return len(signs) <= 1


def choose(records: Sequence[Record], criterion: str, targets: Sequence[float] = TARGETS) -> list[Record]:
    """The settings of one method on one split that validation rows choose for the targets, each once."""
    gap = GAPS[criterion]
    chosen: list[Record] = []
    for target in targets:
        within = [one for one in records if one["validation"][gap] <= target]
        if within:
            best = max(within, key=lambda one: (one["validation"]["accuracy"], -one["validation"][gap]))
        else:
            best = min(records, key=lambda one: (one["validation"][gap], -one["validation"]["accuracy"]))
        if not any(best is one for one in chosen):
            chosen.append(best)
    return chosen


def line(records: Sequence[Record], criterion: str) -> Curve:
    """Gaps and errors on the test rows of the chosen settings of one method on one split."""
    chosen = choose(records, criterion)
    gap = GAPS[criterion]
    return np.array([one["test"][gap] for one in chosen]), np.array([1 - one["test"]["accuracy"] for one in chosen])


def at_equal_gap(mine: Curve, theirs: Curve) -> tuple[float, float]:
    """My accuracy minus theirs at equal gap on one split, and how far the gaps of the two lines are apart."""
    ways = both_ways(mine, theirs)  # my error minus theirs: at their gaps, at mine
    ends = [(curve[0].min(), curve[0].max()) for curve in (mine, theirs)]
    inside = [(at[0] >= low) & (at[0] <= high) for at, (low, high) in zip((theirs, mine), ends, strict=True)]
    means = [float(np.mean(way[where])) for way, where in zip(ways, inside, strict=True) if where.any()]
    if means:
        return -float(np.mean(means)), 0.0
    apart = float(max(ends[0][0] - ends[1][1], ends[1][0] - ends[0][1]))
    if ends[0][1] < ends[1][0]:
        return float(theirs[1][np.argmin(theirs[0])] - mine[1][np.argmax(mine[0])]), apart
    return float(theirs[1][np.argmax(theirs[0])] - mine[1][np.argmin(mine[0])]), apart


def otherwise(mine: Curve, theirs: Curve, how: str) -> float:
    """The difference by another definition of `quality_pairs`, to see whether the sign depends on it."""
    ways = both_ways(mine, theirs, how)
    return -float(np.mean([np.nanmean(way) for way in ways if not np.isnan(way).all()]))


def corrected_t(values: Sequence[float], ratio: float = RATIO, level: float = LEVEL) -> tuple[float, float, float]:
    """Standard error, half of the interval and p of a mean of differences over splits that share rows."""
    n = len(values)
    error = sqrt((1 / n + ratio) * float(np.var(values, ddof=1)))
    half = float(stats.t.ppf(1 - level / 2, n - 1)) * error
    average = float(np.mean(values))
    if error == 0:
        return 0.0, 0.0, 1.0 if average == 0 else 0.0
    return error, half, float(2 * stats.t.sf(abs(average) / error, n - 1))


def visible(error: float, splits: int, level: float = LEVEL, power: float = POWER) -> float:
    """Smallest difference that a two-sided t test at this level finds with this power."""
    return error * float(stats.t.ppf(1 - level / 2, splits - 1) + stats.t.ppf(power, splits - 1))


def holm(p: Sequence[float]) -> list[float]:
    """P values after Holm's correction: at most the level where the step-down test rejects."""
    order = np.argsort(p, kind="stable")
    stepped = np.asarray(p, dtype=float)[order] * np.arange(len(p), 0, -1)
    out = np.empty(len(p))
    out[order] = np.minimum(np.maximum.accumulate(stepped), 1.0) if len(p) else stepped
    return [float(value) for value in out]


def lines_of(records: Sequence[Record], criterion: str) -> dict[str, dict[int, Curve]]:
    """The lines of all methods by name and seed."""
    found: dict[str, dict[int, Curve]] = {}
    usable = [one for one in records if one.get("validation")]
    for (name, seed), some in by(usable, "method", "seed").items():
        found.setdefault(name, {})[seed] = line(some, criterion)
    return found


def compare(
    place: tuple[str, str, str], form: str, rival: Record, lines: dict[str, dict[int, Curve]], floor: float
) -> Comparison | None:
    """One comparison; None where fewer than three splits have both methods."""
    data, model, criterion = place
    name = rival["method"]
    seeds = sorted(set(lines.get(form, {})) & set(lines.get(name, {})))
    if len(seeds) < LEAST_SPLITS:
        return None
    pairs = [(lines[form][seed], lines[name][seed]) for seed in seeds]
    found = [at_equal_gap(*pair) for pair in pairs]
    values = [value for value, _ in found]
    error, half, p = corrected_t(values)
    average = float(np.mean(values))
    return Comparison(
        data=data,
        model=model,
        criterion=criterion,
        randomised=rival["randomised"],
        ours=form,
        rival=name,
        rival_uses_group=rival["uses_group"],
        splits=len(seeds),
        difference=average,
        low=average - half,
        high=average + half,
        p=p,
        visible=visible(error, len(seeds)),
        overlap=float(np.mean([apart == 0 for _, apart in found])),
        apart=float(np.mean([apart for _, apart in found])),
        floor=floor,
        held=float(np.mean([otherwise(*pair, "held") for pair in pairs])),
        reached=float(np.mean([otherwise(*pair, "left out") for pair in pairs])),
        values=tuple(values),
    )


def comparisons(records: Sequence[Record], protocol: str = "frontier") -> list[Comparison]:
    """All rivals against the form of ours that tosses coins if they do, with Holm's correction over all of them.

    A rival that does not ask for the group is compared twice: with the form of ours that asks for it, as the paper
    does, and with those that do not.
    """
    found: list[Comparison] = []
    for (data, model, criterion), some in by(keep(records, protocol=protocol), "data", "model", "criterion").items():
        lines, floor = lines_of(some, criterion), floor_of(records, data, criterion)
        rivals = {one["method"]: one for one in some if not ours(one["method"])}
        for rival in rivals.values():
            forms = OURS[rival["randomised"], True]
            if not rival["uses_group"]:
                forms += OURS[rival["randomised"], False]
            pairs = (compare((data, model, criterion), form, rival, lines, floor) for form in forms)
            found += [pair for pair in pairs if pair is not None]
    return corrected(found)


def among_ours(records: Sequence[Record], protocol: str = "frontier") -> list[Comparison]:
    """Our forms against the form of ours that stands in the comparisons; a family of its own."""
    found: list[Comparison] = []
    for (data, model, criterion), some in by(keep(records, protocol=protocol), "data", "model", "criterion").items():
        lines, floor = lines_of(some, criterion), floor_of(records, data, criterion)
        for name, one in {one["method"]: one for one in some if ours(one["method"])}.items():
            pair = compare((data, model, criterion), "exact", one, lines, floor) if name != "exact" else None
            found += [pair] if pair is not None else []
    return corrected(found)


def corrected(found: list[Comparison]) -> list[Comparison]:
    """The same comparisons with what Holm's correction over all of them makes of p and of what can be seen."""
    tested = [one for one in found if one.tested]
    adjusted = dict(zip(map(id, tested), holm([one.p for one in tested]), strict=True))
    strict = LEVEL / max(len(tested), 1)
    out = []
    for one in found:
        if not one.tested:
            out.append(replace(one, p=float("nan"), visible=float("nan")))
            continue
        error = corrected_t(one.values)[0]
        out.append(replace(one, p_holm=adjusted[id(one)], visible_holm=visible(error, one.splits, strict)))
    return out
