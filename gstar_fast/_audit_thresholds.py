"""How far thresholds move when other rows are drawn: `solve` again on Poisson-resampled counts.

Reads from: the solver.  Read by: the audit.

A replicate draws every occupied bin anew and looks for the optimum under the same limits, penalties and costs; it costs
bins, not rows. The thresholds' limits are percentiles of what was found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from gstar_fast._audit_metrics import GAPS, gap_of, shares_of, values_of
from gstar_fast._backends._search import Floats, Ints
from gstar_fast._objective import RATES, Objective, Snapshot, has_rate, scale_of
from gstar_fast._result import Result
from gstar_fast._solver import choose, choose_unified, lay_out

REPLICATES = 500
FEWEST = 100  # fewer say nothing of the ends of an interval
WORK = 2**25  # counts looked at without being asked: under a second


def threshold_limits(
    result: Result, snapshot: Snapshot, confidence: float, replicates: int | None, seed: int
) -> tuple[list[tuple[float, float]], list[str]]:
    """Limits of each group's threshold, and what to know of them; no limits where the notes say why.

    `replicates` None chooses for itself.
    """
    if replicates == 0:
        return [], []
    why = why_not(result)
    if why is None and replicates is None:
        replicates = min(WORK // snapshot.rows.size, REPLICATES)
        if replicates < FEWEST or (result.penalties and len(snapshot.groups) > 2):
            why = f"solving for {len(snapshot.groups)} groups takes long; ask with threshold_replicates=200"
    if why is not None or replicates is None:
        return [], [f"the thresholds have no intervals: {why}"]
    resolved = solve_again(result, snapshot, replicates, seed)
    if resolved is None:
        return [], ["the thresholds have no intervals: they were not found on this sketch"]
    failed = replicates - len(resolved.thresholds)
    words = f"the limits could not be met in {failed} of {replicates} replicates"
    if failed > replicates / 2:
        return [], [f"the thresholds have no intervals: {words}"]
    notes = [f"{words}, which are left out of the thresholds' intervals"] if failed else []
    notes += [
        f"the thresholds were found on these rows; on new rows expect {name} of about {there:.2g}, not {here:.2g}"
        for name, here, there in resolved.expected(result, snapshot)
        if f"{there:.2g}" != f"{here:.2g}"
    ]
    found = zip(result.thresholds.values(), *(side.tolist() for side in resolved.limits(confidence)), strict=True)
    return [(min(low, value), max(high, value)) for value, low, high in found], notes


@dataclass(frozen=True)
class Resolved:
    """Thresholds of replicates: (n, K), for the replicates whose limits could be met."""

    thresholds: Floats
    accepted: Ints  # (3, n, K) rows of the sketch itself that they accept

    def limits(self, confidence: float) -> tuple[Floats, Floats]:
        """Percentiles, each of them a threshold that was found: no mean is taken of -inf and a number."""
        ordered = np.sort(self.thresholds, axis=0)
        n = len(ordered)
        tail = math.floor((1 - confidence) / 2 * n)
        return ordered[tail], ordered[n - 1 - tail]

    def expected(self, result: Result, snapshot: Snapshot) -> list[tuple[str, float, float]]:
        """Each criterion that was asked for, its gap here, and the mean gap here of thresholds found elsewhere.

        The sketch stands for the new rows, its replicates for the rows thresholds are found on.
        """
        totals = snapshot.rows.sum(axis=2)
        found = []
        for name in dict.fromkeys([*result.limits, *result.penalties]):
            gaps = [
                gap_of(GAPS[name], values_of(*shares_of(rows, totals))) for rows in np.moveaxis(self.accepted, 1, 0)
            ]
            found.append((name, result.gaps[name], float(np.mean([gap for gap in gaps if gap is not None]))))
        return found


def why_not(result: Result) -> str | None:
    """Why a result cannot be solved again, in a few words; None if it can."""
    if result.verdict == "infeasible":
        return "its limits could not be met"
    if result.randomized:
        return "it mixes thresholds at random"
    if result.method != "exact" or result.density != "empirical":
        return "it was found on smooth densities, not on the counts"
    return None


def solve_again(result: Result, snapshot: Snapshot, replicates: int, seed: int) -> Resolved | None:
    """Thresholds of resampled counts; None if the counts themselves give other thresholds than the result has."""
    objective = Objective(result.limits, result.penalties, result.costs, result.balanced)
    found = _solved(snapshot, objective, result.unified)
    if (
        found is None
        or dict(zip(snapshot.groups, snapshot.thresholds(found).tolist(), strict=True)) != result.thresholds
    ):
        return None
    random = np.random.default_rng([seed, 1])  # another stream than that of the gaps
    occupied = np.flatnonzero(snapshot.rows)
    expected = snapshot.rows.flat[occupied] * snapshot.weight_unit
    drawn = np.zeros_like(snapshot.rows)
    candidates = []
    for _ in range(replicates):
        drawn.flat[occupied] = random.poisson(expected)
        found = _solved(replace(snapshot, rows=drawn), objective, result.unified)
        if found is not None:
            candidates.append(found)
    chosen = np.array(candidates, dtype=np.int64).reshape(-1, len(snapshot.groups))
    group = np.arange(len(snapshot.groups))
    upward = np.cumsum(snapshot.rows[:, :, ::-1], axis=2)[:, :, ::-1]
    return Resolved(snapshot.thresholds(chosen), upward[:, group, chosen])


def _solved(snapshot: Snapshot, objective: Objective, unified: bool) -> Ints | None:
    """Candidate of each group; None where the limits cannot be met, or too few rows are left to ask."""
    totals = snapshot.rows.sum(axis=2)
    has = has_rate(totals)
    labelled = int(totals[0].sum()), int(totals[1].sum())
    if not any(labelled) or (objective.balanced and not all(labelled)):
        return None
    if len(snapshot.groups) > 1 and any(has[RATES.index(rate)].sum() < 2 for _, rate in objective.asked()):
        return None
    search = lay_out(snapshot, objective, totals, scale_of(objective, *labelled), has, shared=unified)
    numbers = (choose_unified(search) if unified else choose(search)).numbers
    if numbers is None:
        return None
    candidates: Ints = search.table.candidate[search.table.start[:-1] + numbers]
    return candidates
