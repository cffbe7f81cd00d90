"""How thresholds and gaps change when other rows are drawn: `solve` again on Poisson-resampled counts.

A replicate draws every occupied bin again and finds the optimum under the same limits, penalties and costs; its cost
depends on bins, not rows. The thresholds' limits are percentiles of what was found; the gaps that these thresholds
leave on other replicates say what to expect on rows that the solver has not seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from gstar_fast._audit.new_rows import OUT_OF_FOLD, NewRows, new_rows_of
from gstar_fast._backends.interface import Floats, Ints
from gstar_fast._base.thresholds import most_probable
from gstar_fast._criteria import MEASURED
from gstar_fast._question.roles import Roles
from gstar_fast._solver.answer.parts import Note
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.cells import Cells, Parts, resampled
from gstar_fast._solver.mix import mix
from gstar_fast._solver.search import Problem, choose, choose_unified, lay_out
from gstar_fast._solver.segments.search import SegmentSearch, choose_among, mix_among, parts_of, searches_of

REPLICATES = 500
MIXED_REPLICATES = 100  # linear programs: slower, and they give no interval
ELSEWHERE = "they were not found on this sketch"
FEWEST = 100  # fewer say nothing of the ends of an interval
FEWEST_MEAN = 10  # enough for a mean: so few are drawn only for many groups, whose largest gap varies little
WORK = 2**26  # counts that may be read by default: about a second
BOXES = 1000  # of a search for thresholds by segment
MOST_WORK = 4 * WORK  # for the fewest replicates


@dataclass(frozen=True)
class Again:
    """What solving again has shown; the notes say why where it has shown nothing."""

    limits: list[tuple[float, float]] = field(default_factory=list)  # of each group's threshold
    new_rows: dict[str, NewRows] = field(default_factory=dict)  # by criterion that was asked for
    notes: list[Note] = field(default_factory=list)


def draw_again(
    result: Result,
    cells: Cells,
    confidence: float,
    replicates: int | None,
    seed: int,
    rows: int | None = None,
    roles: Roles | None = None,
) -> Again:
    """Limits of each group's threshold, the gaps to expect on so many new `rows`, and what to know of both.

    `replicates` None chooses for itself; `rows` None are as many as were counted. `roles` of a result by segment: its
    thresholds are those of segments, its gaps those of protected groups.
    """
    digest = result.origin.digest
    if digest is not None and digest != cells.digest:
        return Again(notes=[] if replicates == 0 else [_no_intervals(ELSEWHERE)])
    fitted = [] if digest is None else _fitted(result, {})
    if replicates == 0:
        return Again(notes=fitted)
    why = why_not(result)
    if why is None and replicates is None:
        replicates = affordable(result, cells)
        why = None if replicates else _takes_long(cells)
    if why is not None or replicates is None:
        return Again(notes=[*fitted, _no_intervals(why)])
    resolved = solve_again(result, cells, replicates, seed, roles)
    if resolved is None:
        why = ELSEWHERE if digest is None else "they are not those of least error, and only these can be found again"
        return Again(notes=[*fitted, _no_intervals(why)])
    failed = replicates - resolved.accepted.shape[1]
    words = f"the limits could not be met in {failed} of {replicates} replicates"
    if failed > replicates / 2:
        return Again(notes=[*fitted, _no_intervals(words)])
    new_rows = resolved.expected(result, cells, rows, seed, roles)
    notes = _fitted(result, new_rows)
    if failed:
        text = f"{words}, which are left out of what is said of new rows and of the thresholds' intervals"
        notes.append(Note("failed_replicates", text, {"failed": failed, "replicates": replicates}))
    if roles is not None:  # an audit tells of protected groups, which have no thresholds
        return Again(new_rows=new_rows, notes=notes)
    at_random = result.randomized and result.verdict != "unified"
    if at_random or replicates < FEWEST:
        why = "it mixes thresholds at random" if at_random else _takes_long(cells)
        return Again(new_rows=new_rows, notes=[*notes, _no_intervals(why)])
    found = zip(result.thresholds.values(), *(side.tolist() for side in resolved.limits(confidence)), strict=True)
    return Again([(min(low, value), max(high, value)) for value, low, high in found], new_rows, notes)


def _no_intervals(why: str | None) -> Note:
    return Note("no_intervals", f"the thresholds have no intervals: {why}")


def _fitted(result: Result, new_rows: dict[str, NewRows]) -> list[Note]:
    """Notes on thresholds that were found on the rows they are measured on."""
    words = (
        "the thresholds were found on these very rows: rates and gaps are measured on what they were fitted to, and "
        "their intervals do not allow for that"
    )
    if not new_rows:
        return [Note("fitted", f"{words}; audit rows that were set aside to see how they fare on new ones")]
    notes, last = [Note("fitted", words)], list(new_rows)[-1]
    for name, there in new_rows.items():
        here, about = f"{result.gaps[name]:.2g}", f"{there.mean:.2g}"
        here = "as here" if here == about else f"not {here}"
        text = f"on new rows expect {name} of about {about}, {here}; {there.tenth(name)}"
        text += f"; {OUT_OF_FOLD}" if name == last else ""
        notes.append(Note("new_rows", text, {"criterion": name, "mean": there.mean, "here": result.gaps[name]}))
    return notes


Found: TypeAlias = "tuple[Floats, Floats | Ints]"  # thresholds, and rows they accept of the sketch


def _takes_long(cells: Cells) -> str:
    return f"solving for {len(cells.groups)} groups takes long; ask with threshold_replicates=200"


def asked(result: Result) -> list[str]:
    """Criteria of limits and penalties; bounds on a rate have no gap."""
    return [one.name for one in result.question.criteria if one.name in MEASURED]


def affordable(result: Result, cells: Cells) -> int:
    """How many replicates are drawn without being asked; 0 where even a few take long.

    By counts and by the steps that the result itself took, not by the clock: the same seed gives the same audit.
    """
    k, work, most = len(cells.groups), cells.rows.size, REPLICATES
    if result.verdict == "unified":
        pass
    elif result.randomized and not result.question.by_segment:
        work, most = work + result.proof.iterations * (2**13 + 2**8 * k * k), MIXED_REPLICATES
    elif result.question.penalties and k > 2:
        work = work * k // 2 + result.proof.iterations * k * 2**8
    elif result.question.by_segment:
        work = 4 * work + result.proof.iterations * work // (8 if result.question.monotone else 64)
    elif not result.question.unified:
        work += result.proof.iterations * k * 2**4
    if FEWEST_MEAN * work > MOST_WORK:
        return 0
    return max(min(WORK // work, most), FEWEST_MEAN)


@dataclass(frozen=True)
class Resolved:
    """Thresholds of replicates: (n, K), for the replicates whose limits could be met; of mixtures, the likeliest."""

    thresholds: Floats
    accepted: Floats | Ints  # (3, n, K) rows of the sketch itself that they accept, by (protected) group

    def limits(self, confidence: float) -> tuple[Floats, Floats]:
        """Percentiles, each of them a threshold that was found: no mean is taken of -inf and a number."""
        ordered = np.sort(self.thresholds, axis=0)
        n = len(ordered)
        tail = math.floor((1 - confidence) / 2 * n)
        return ordered[tail], ordered[n - 1 - tail]

    def expected(
        self, result: Result, cells: Cells, rows: int | None, seed: int, roles: Roles | None = None
    ) -> dict[str, NewRows]:
        """The gap to expect on so many new `rows`, by criterion that was asked for.

        The sketch stands for all rows there are; one replicate of it for the rows thresholds are found on, another for
        the new ones. Gaps that nothing was asked of are not fitted to the rows; where thresholds wander they would tell
        of other thresholds than these.
        """
        cells = _of_roles(cells, roles)
        totals = cells.totals
        one = np.ones(totals.shape)
        if cells.weighted:  # as effective rows of equal weight
            one = cells.by_group(cells.squares.sum(axis=2)) / np.maximum(totals, 1) / cells.weight_unit**2
            one = np.where(totals > 0, one, 1.0)
        return new_rows_of(self.accepted, totals, one, int(cells.n_rows.sum()), asked(result), rows, seed)


def why_not(result: Result) -> str | None:
    """Why a result cannot be solved again, in a few words; None if it can."""
    if result.verdict == "infeasible":
        return "its limits could not be met"
    if result.question.method != "exact" or result.question.density != "empirical":
        return "it was found on smooth densities, not on the counts"
    if result.question.min_rows:
        return "small groups were pooled before it was found"
    if result.verdict == "promised":
        return "they were chosen for a promise, which speaks of new rows itself"
    return None


def solve_again(
    result: Result, cells: Cells, replicates: int, seed: int, roles: Roles | None = None
) -> Resolved | None:
    """Thresholds of resampled counts; None if the counts themselves give other thresholds than the result has."""
    question = result.question
    if result.verdict == "unified":  # the best unified threshold, whatever its gaps
        question = replace(question, limits=())
    counted = _of_roles(cells, roles)

    def find(drawn: Cells) -> Found | None:
        problem = Problem.resampled(_of_roles(drawn, roles), question)
        parts = None if problem is None else found_again(problem, result)
        if parts is None:
            return None
        likeliest = np.array([most_probable(part.items()) for part in parts])
        return cells.thresholds(likeliest), counted.by_group(counted.accepted(parts))

    own = find(cells)
    if own is None or own[0].tolist() != list(result.thresholds.values()):
        return None
    random = np.random.default_rng([seed, 1])  # another stream than that of the gaps
    occupied = np.flatnonzero(cells.rows)
    rows, drawn = cells.rows.flat[occupied], np.zeros_like(cells.rows)
    squares = cells.squares.flat[occupied] if cells.weighted else rows
    found = []
    for _ in range(replicates):
        drawn.flat[occupied] = resampled(random, rows, squares, cells.weight_unit)
        if (one := find(replace(cells, rows=drawn, numbers=None, squared=None))) is not None:
            found.append(one)
    thresholds = np.array([thresholds for thresholds, _ in found]).reshape(-1, len(own[0]))
    accepted = np.array([accepted for _, accepted in found]).reshape(-1, 3, own[1].shape[1])
    return Resolved(thresholds, np.moveaxis(accepted, 1, 0))


def _of_roles(cells: Cells, roles: Roles | None) -> Cells:
    """The cells of a result, given those of all groups of a sketch."""
    return cells if roles is None else cells.by(roles)


def found_again(problem: Problem, result: Result) -> Parts | None:
    """The thresholds of resampled counts as candidates; None if the limits cannot be met."""
    alike = result.verdict == "unified"
    if problem.cells.by_segments or problem.question.in_rows:
        return _by_segment(searches_of(problem), result, alike)
    if alike or not result.randomized:
        candidates = solved(problem, result.question.unified or alike)
        return None if candidates is None else [{t: 1.0} for t in candidates.tolist()]
    search = lay_out(problem)
    mixture = mix(search.arrays)
    if mixture is None:
        return None
    parts: Parts = [{} for _ in search.groups]
    group = np.searchsorted(search.arrays.start, mixture.entries, side="right") - 1
    for k, t, w in zip(group, search.table.candidate[mixture.entries], mixture.weights.tolist(), strict=True):
        parts[k][int(t)] = w
    return parts


def _by_segment(searches: list[SegmentSearch], result: Result, alike: bool) -> Parts | None:
    if alike:
        return [{searches[0].unified: 1.0}] * len(searches[0].order)
    if result.randomized:
        mixture = mix_among(searches).best
        return None if mixture is None else parts_of(*mixture)
    candidates = choose_among(searches, BOXES).candidates
    return None if candidates is None else [{t: 1.0} for t in candidates]


def solved(problem: Problem, unified: bool) -> Ints | None:
    """Candidate of each group; None where the limits cannot be met."""
    search = lay_out(problem, shared=unified)
    numbers = (choose_unified(search) if unified else choose(search)).numbers
    return None if numbers is None else np.asarray(search.table.candidate[search.table.start[:-1] + numbers])
