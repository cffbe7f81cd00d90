"""Thresholds on smooth densities, exact or by the paper's iterative methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gstar_fast._backends import room
from gstar_fast._backends.common.choices import allowed, loss_of
from gstar_fast._backends.interface import BOX_LIMIT, Arrays, Curve, Floats, Ints, SmoothProblem, node_limit
from gstar_fast._base.names import Name
from gstar_fast._base.refusals.place import bad_value
from gstar_fast._base.warn import warn
from gstar_fast._density.density import Density, every_density
from gstar_fast._question.options import Densities
from gstar_fast._question.question import Question
from gstar_fast._rates import SOLVER_RATES, has_rate, rates_of
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._solver.answer.parts import Note, Proof
from gstar_fast._solver.answer.result import Result
from gstar_fast._solver.cells import Cells, Outcome, Scale, scale_of
from gstar_fast._solver.finish import made, none_found
from gstar_fast._solver.notes import cautions
from gstar_fast._solver.search import Problem, cheapest_within, check_groups, loosened, nearest
from gstar_fast._solver.smooth.known import expected_cells
from gstar_fast._solver.smooth.polish import hold_limits, polish
from gstar_fast.errors import NotConvergedWarning

Kind = str | Densities  # of density, or what `density` returns of a sketch

NEAR = 0.01  # an iterative method has converged if no thresholds lower its loss by more than this share


@dataclass(frozen=True)
class Smooth:
    """Densities of all cells, tabulated at the edges, with the way to thresholds in between."""

    counted: Cells
    question: Question
    scale: Scale
    totals: Ints
    candidates: Floats  # -inf, every edge, and points beyond them
    shares: Floats  # (3, K, C) expected accepted rows at every candidate
    problem: SmoothProblem
    active: list[int]
    notes: tuple[Note, ...]

    @property
    def groups(self) -> tuple[Name, ...]:
        return self.counted.groups

    def around(self, thresholds: Floats, bins: Floats) -> Floats:
        """Scores so many bins, and parts of them, from each threshold: (K, n) for thresholds (K,) and bins (n,)."""
        finite = self.candidates[1:]
        place = np.interp(thresholds, finite, np.arange(len(finite)))
        return np.interp(place[:, None] + bins, np.arange(len(finite)), finite)

    def accepted(self, thresholds: Floats) -> Floats:
        """Expected accepted rows (3, K) at one threshold a group."""
        return self.accepted_at(thresholds[None, :])[:, 0]

    def accepted_at(self, thresholds: Floats) -> Floats:
        """Expected accepted rows (3, n, K) at n thresholds a group (n, K)."""
        out = np.zeros((3, *thresholds.shape))
        for k in range(thresholds.shape[1]):
            for c in range(3):
                cell = self.problem.cells[3 * k + c]
                if cell is not None:
                    out[c, :, k] = self.totals[c, k] * (1.0 - cell.at(np.ascontiguousarray(thresholds[:, k]))[0])
        return out

    def arrays(self, thresholds: list[Floats], shares: list[Floats], centre: float, penalised: bool = True) -> Arrays:
        """What the exact searches read, for any candidates of each group: (C_k,) thresholds, (3, C_k) accepted rows."""
        start = np.concatenate([[0], np.cumsum([len(t) for t in thresholds])])
        group = np.repeat(np.arange(len(self.groups)), np.diff(start))
        accepted = np.concatenate(shares, axis=1)
        totals = self.totals[:, group].astype(np.float64)
        windows, penalty = self.question.windows, self.question.penalty
        at = np.concatenate(thresholds)
        return Arrays(
            start=start,
            cost=self.scale.fp * accepted[0] + self.scale.fn * (totals[1] - accepted[1]),
            distance=np.abs(np.arange(len(at)) - start[group] - np.searchsorted(thresholds[0], centre)),
            rates=rates_of(accepted, totals, self.active),
            has=self.problem.has,
            limit=windows.most[self.active],
            ratio=windows.ratio[self.active],
            penalty=penalty[self.active] if penalised else np.zeros(len(self.active)),
            unit=self.scale.unit,
            total=windows.total,
        )

    def grid(self) -> Arrays:
        """All groups on all candidates."""
        n_groups = len(self.groups)
        return self.arrays([self.candidates] * n_groups, [self.shares[:, k] for k in range(n_groups)], self.unified)

    def loss(self, thresholds: Floats) -> float:
        """What is minimised, at one threshold a group."""
        return float(loss_of(self._point(thresholds), np.zeros(len(self.groups), dtype=np.int64)))

    def allows(self, thresholds: Floats) -> bool:
        """Whether one threshold a group meets the limits."""
        return bool(allowed(self._point(thresholds), np.zeros(len(self.groups), dtype=np.int64)))

    def _point(self, thresholds: Floats) -> Arrays:
        accepted = self.accepted(thresholds)
        shares = [accepted[:, [k]] for k in range(len(self.groups))]
        return self.arrays([np.array([x]) for x in thresholds], shares, 0.0)

    @property
    def unified(self) -> float:
        """The edge that is best for everybody, limits and penalties aside."""
        cost = self.scale.fp * self.shares[0].sum(axis=0) - self.scale.fn * self.shares[1].sum(axis=0)
        return float(self.candidates[int(np.argmin(cost))])


def prepare_smooth(
    sketch: Sketch | None, question: Question, kind: Kind, extra: tuple[int, ...] = (), cells: Cells | None = None
) -> Smooth:
    """Make the densities and evaluate them at every edge; without a sketch they are given, and know their rows."""
    if sketch is None:
        counted = expected_cells(_made(None, kind))
    else:
        counted = Cells.of(sketch) if cells is None else cells
        sketch = counted.sketch(sketch)
    groups, rows = counted.groups, counted.rows
    totals = rows.sum(axis=2)
    scale = scale_of(question, int(totals[0].sum()), int(totals[1].sum()))
    has = has_rate(totals)
    notes = [*counted.notes, *check_groups(question, groups, has)]
    asked = question.windows.limited | (question.penalty > 0)
    active = [r for r in range(len(SOLVER_RATES)) if asked[r] or r in extra]
    edges = counted.edges
    curves = _curves(_made(sketch, kind), groups, rows, totals, edges)
    # smooth densities reach beyond the scores seen: so may thresholds, by half the range
    beyond = float(edges[-1] - edges[0]) / 2
    low, high = float(edges[0]) - beyond, float(edges[-1]) + beyond
    bulk = _bulk(counted)
    outside = np.geomspace(min(bulk, beyond) / 256, beyond, 256)
    candidates = np.concatenate([[-np.inf], edges[0] - outside[::-1], edges, edges[-1] + outside])
    shares = np.zeros((3, len(groups), len(candidates)))
    for k in range(len(groups)):
        for c in range(3):
            cell = curves[3 * k + c]
            if cell is not None:
                shares[c, k, 0] = totals[c, k]
                # a density's rounding must not make its cdf fall
                shares[c, k, 1:] = totals[c, k] * (1.0 - np.maximum.accumulate(cell.at(candidates[1:])[0]))
    problem = linear_forms(curves, totals, question, scale, active, low, high, bulk)
    return Smooth(counted, question, scale, totals, candidates, shares, problem, active, tuple(notes))


def _bulk(counted: Cells) -> float:
    """How far the middle 99 % of the rows reach; scores further out may be a thousand times as far."""
    before, edges = np.cumsum(counted.rows[:, :, 1:-1].sum(axis=(0, 1))), counted.edges
    low, high = np.searchsorted(before, [0.005 * before[-1], 0.995 * before[-1]])
    return float(edges[high + 1] - edges[low])


def _made(sketch: Sketch | None, kind: Kind) -> Mapping[tuple[int, Name], Density]:
    """Densities by cell."""
    if isinstance(kind, Mapping):
        return kind
    assert sketch is not None, "a kind of density needs counts"
    return every_density(sketch, kind)


def _curves(
    made: Mapping[tuple[int, Name], Density],
    groups: tuple[Name, ...],
    rows: Ints,
    totals: Ints,
    edges: Floats,
) -> list[Curve | None]:
    """Evaluators of label 0, label 1 and unlabelled for each group; unlabelled rows stay as counted."""
    backend = room("density")
    cells: list[Curve | None] = []
    for k, name in enumerate(groups):
        for c in range(3):
            if totals[c, k] == 0:
                cells.append(None)
            elif c < 2:
                if (c, name) not in made:
                    raise bad_value("density", f"density lacks the cell of label {c}, group {name!r}, which has rows")
                cells.append(made[c, name]._on(backend))
            else:
                below = np.cumsum(rows[2, k, :-1]) / totals[2, k]
                atoms = np.full(len(edges) - 1, np.nan)
                cells.append(backend.empirical(edges, below, atoms))
    return cells


def solve_smooth(sketch: Sketch | None, question: Question, cells: Cells | None = None) -> Result:
    """What `solve` does for densities other than the counts; without a sketch the question has them all."""
    method, unified = question.method, question.unified
    s = prepare_smooth(sketch, question, question.density, cells=cells)
    if method == "exact":
        return _exact(s, unified)
    backend = room("solver")
    n_groups = len(s.groups)
    p = s.problem
    middle = np.clip(0.0, p.low, p.high)
    tolerance, rounds = 1e-12 * p.bulk, question.rounds
    most, least_move = (5_000 if method == "alternating" else 500, tolerance) if rounds is None else (rounds, -1.0)
    if method == "alternating":
        found = backend.alternate(p, np.full(n_groups, middle), 1.0, most, least_move, True)
    else:
        starts = [np.full(n_groups, middle), np.full(n_groups, np.clip(s.unified, p.low, p.high)), _own_best(s)]
        exact = method == "newton"
        tried = [backend.newton(p, start, exact, unified, most, least_move, True) for start in starts]
        found = min(tried, key=lambda d: float(d[1]))
    thresholds, loss, iterations, stalled, trace = found
    # the truth about convergence: would one more step, with the exact Hessian, still help, or other thresholds?
    _, lower, _, _, _ = backend.newton(p, thresholds, True, unified, 50, tolerance, False)
    helped = loss - lower
    stopped = (stalled or rounds is not None) and helped <= 1e-9 * loss
    certified = _exact(s, unified)
    gap = max(loss - certified.loss, 0.0)
    converged = stopped and gap <= NEAR * loss
    step = "step" if iterations == 1 else "steps"
    if stopped:
        message = f"no step lowers the loss any more ({iterations} {step})"
    else:
        message = f"stopped after {iterations} {step}, but the loss can still fall by {helped:.2g} from here"
    if gap > 1e-9 * max(certified.loss, 1e-12):
        message += f"; the least loss is {certified.loss:.6g}, {gap:.2g} lower, elsewhere"
    if not converged:
        if gap > NEAR * loss:
            message += "; method='exact' finds it"
        warn(f"{method}: {message}", NotConvergedWarning)
    verdict = "converged" if converged else "not_converged"
    result = finish_smooth(s, np.asarray(thresholds), verdict, int(iterations), message)
    return result.but(
        loss=float(loss),
        trace=tuple(float(x) for x in trace),
        lower_bound=min(certified.lower_bound, float(loss)),
    )


def solve_prepared(s: Smooth) -> Result:
    """The exact answer for densities already made."""
    return _exact(s, False)


def _own_best(s: Smooth) -> Floats:
    """Each group's own error minimum."""
    cost = s.scale.fp * s.shares[0] - s.scale.fn * s.shares[1]
    best: Floats = np.clip(s.candidates[np.argmin(cost, axis=1)], s.problem.low, s.problem.high)
    return best


def _exact(s: Smooth, unified: bool) -> Result:
    """The best edges, proven; then the optimum off the grid, from there and from where easier questions lead."""
    grid = s.grid()
    numbers, opened, proven, lower = _best_edges(s, grid, unified)
    found = [polish(s, s.candidates[numbers], unified)] if numbers[0] >= 0 else []
    found += list(_from_easier(s, grid, unified))
    if not found:
        return _infeasible(s, grid, opened, proven, unified)
    thresholds = min(found, key=lambda at: s.loss(at))
    if proven:
        better = s.question.lower
        message = f"no other bin edges have {better}, nor have thresholds next to these"
        if unified:
            message = f"no other unified threshold at a bin edge has {better}, nor has one next to this"
        return finish_smooth(s, thresholds, "optimal", opened, message)
    message = f"no better edges in {opened} nodes, the most allowed, nor any thresholds next to these"
    return finish_smooth(s, thresholds, "not_converged", opened, message, lower)


def _infeasible(s: Smooth, grid: Arrays, opened: int, proven: bool, unified: bool) -> Result:
    """The edges that come closest to the limits; of these, the ones with the least loss."""

    def best_for_all(p: Arrays) -> tuple[Ints | None, bool]:
        numbers, _, _, _ = _best_edges(s, p, unified=True)
        return (numbers if numbers[0] >= 0 else None), True

    find = best_for_all if unified else cheapest_within
    near = nearest(lambda slack: find(loosened(grid, slack)))
    best, _, _, _ = _best_edges(s, loosened(grid, near.slack.each), unified)
    at = s.candidates[best if best[0] >= 0 else near.found]
    verdict, message = "not_converged", none_found(near.slack, opened, "bin edges")
    if proven:
        verdict, message = "infeasible", f"no thresholds meet these limits; {near.slack.words('bin edges')}"
    return finish_smooth(s, at, verdict, opened, message, 0.0).but(slack=near.slack)


def _best_edges(s: Smooth, grid: Arrays, unified: bool) -> tuple[Ints, int, bool, float]:
    """The best edges, the work it took, whether they are proven to be that, and a lower bound of the loss at edges.

    Numbers are -1 if no edges were found within the limits.
    """
    backend = room("solver")
    if unified:
        shared = [np.arange(len(s.candidates))] * len(s.groups)
        value = np.where(allowed(grid, shared), loss_of(grid, shared), np.inf)
        best = int(np.argmin(value))
        numbers = np.full(len(s.groups), best if value[best] < np.inf else -1)
        return numbers, len(s.candidates), True, float(value[best])
    if not (grid.penalty > 0).any():
        numbers, opened, finished, bound = backend.solve_limits(grid, BOX_LIMIT)
        return numbers, int(opened), bool(finished), (float(bound) / grid.unit) ** 2
    if len(s.groups) == 2:
        numbers, loss, _ = backend.solve_pair(grid)
        return numbers, 1, True, float(loss)
    guess, _, _, _ = backend.solve_limits(grid, BOX_LIMIT)
    numbers, loss, bound, opened = backend.solve_penalties(grid, guess, node_limit(len(s.groups)))
    proven = bound == np.inf if numbers[0] < 0 else loss - bound <= 1e-9 * max(loss, 1e-12)
    return numbers, int(opened), bool(proven), float(bound)


def _from_easier(s: Smooth, grid: Arrays, unified: bool) -> Iterator[Floats]:
    """Answers reached from easier questions, where bins are fine enough to see the way.

    A heavy penalty makes a valley narrower than a bin, and a tight limit a strip that no pair of edges may lie in. So
    follow the optimum up from lighter penalties, and down from limits loosened by what one bin can change.
    """
    p = s.problem
    backend = room("solver")
    tolerance = 1e-13 * p.bulk
    if s.question.limits:
        ends = zip(grid.start[:-1], grid.start[1:], strict=True)
        steps = [np.abs(np.diff(grid.rates[:, lo:hi], axis=1)).max(axis=1) for lo, hi in ends]
        loosened = replace(
            grid,
            limit=grid.limit + 2 * np.max(steps, axis=0),
            ratio=np.where(grid.ratio >= 0, np.maximum(grid.ratio - 0.05, 0.0), grid.ratio),
            total=grid.total + 2 * float(np.max(steps, axis=0)[:2].sum()),
        )
        numbers, _, _, _ = _best_edges(s, loosened, unified)
        if numbers[0] >= 0 and not unified and np.isfinite(s.candidates[numbers]).all():
            at = hold_limits(s, s.candidates[numbers], None)
            if at is not None:
                yield at
        return
    heaviest = float(p.penalty.max(initial=0.0))
    shrink = 0.1
    while heaviest * shrink > 1e-3 and shrink > 1e-9:
        numbers, _, _, _ = _best_edges(s, replace(grid, penalty=grid.penalty * shrink), unified)
        at = np.clip(s.candidates[numbers], p.low, p.high)
        for power in range(round(-np.log10(shrink)), -1, -1):
            lighter = p._replace(penalty=p.penalty * 10.0**-power)
            at, _, _, _, _ = backend.newton(lighter, at, True, unified, 100, tolerance, False)
        yield np.asarray(at)
        shrink *= 0.1


def finish_smooth(
    s: Smooth,
    thresholds: Floats,
    verdict: str,
    iterations: int,
    message: str,
    lower_bound: float = np.inf,
) -> Result:
    """Put thresholds on smooth densities into words and numbers; a bound above their loss says no more than that."""
    totals = s.totals
    after = Outcome.of(s.accepted(thresholds), totals, s.scale)
    before = Outcome.of(s.accepted(np.full(len(s.groups), s.unified)), totals, s.scale)
    loss = s.loss(thresholds)
    notes = cautions(s.counted, s.question, s.scale, after, before)
    problem = Problem(s.counted, s.question, totals, s.scale, before.has, s.notes)
    at = {name: float(x) for name, x in zip(s.groups, thresholds, strict=True)}
    proof = Proof(verdict, message, loss, min(lower_bound, loss), iterations)
    return made(problem, at, after, before, proof, s.unified, notes=notes)


def linear_forms(
    cells: Sequence[Curve | None],
    totals: Ints,
    question: Question,
    scale: Scale,
    active: list[int],
    low: float,
    high: float,
    bulk: float,
) -> SmoothProblem:
    """Write E and the active rates as linear forms in the cdfs; `totals` is (3, K)."""
    rows = totals.astype(np.float64)
    wanted, shape = [SOLVER_RATES[r] for r in active], (len(active), rows.shape[1])
    price = np.array([[-scale.fp], [scale.fn], [0]])
    return SmoothProblem(
        cells=list(cells),
        error_base=scale.fp * rows[0] / scale.unit,
        error_coefficient=(price * rows).T / scale.unit,
        rate_base=np.array([rate.values(rows, rows) for rate in wanted]).reshape(shape),
        rate_coefficient=np.array([rate.slopes(rows, rows).T for rate in wanted]).reshape(*shape, 3),
        has=has_rate(totals)[active].astype(np.uint8),
        penalty=question.penalty[active],
        low=low,
        high=high,
        bulk=bulk,
    )
