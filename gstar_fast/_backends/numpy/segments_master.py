"""The linear program over some columns, by a revised simplex; `common/segments.py` has its rows.

A block's weights add up to one; a column is one choice of a block's candidates. Every sum is taken in the order of its
rows, so that csrc/gstar/solve/segments/master.hpp takes the same steps to the last bit.
"""

from __future__ import annotations

import time

import numpy as np

from gstar_fast._backends.common.segments import LOW, Program
from gstar_fast._base.arrays import Floats

EPSILON = 1e-11  # reduced costs, in units of E, that count as zero; and steps of the objective
PATIENCE = 2  # pivots without progress for each row before the careful rule; ten times as many end the program
SMALLEST_PIVOT = 1e-9  # a smaller one may be rounding, and would ruin the basis
CLOCK = 64  # pivots between two looks at the clock; the basis is inverted again then
# kinds of columns: a choice, the low end of a window, a slack, what loosens rows, the first gap's share of a sum
X, T, S, Z, D = range(5)


def inverse_of(matrix: Floats) -> Floats:
    """Gauss-Jordan with the largest pivot."""
    m = len(matrix)
    a = np.concatenate([matrix, np.eye(m)], axis=1)
    for k in range(m):
        pivot = k + int(np.argmax(np.abs(a[k:, k])))
        if pivot != k:
            a[[k, pivot]] = a[[pivot, k]]
        a[k] /= a[k, k]
        factor = a[:, k].copy()
        factor[k] = 0.0
        rows = np.flatnonzero(factor)
        a[rows] -= factor[rows, None] * a[k]
    return a[:, m:].copy()


def times(matrix: Floats, vector: Floats) -> Floats:
    """Matrix times vector, one column of the matrix after the other."""
    return _added(matrix.T, vector)


def _added(rows: Floats, weights: Floats) -> Floats:
    """The sum of weighted rows, one after the other: so NumPy adds along the first axis."""
    some = np.flatnonzero(weights)
    return np.asarray(np.ascontiguousarray(rows[some] * weights[some, None]).sum(axis=0))


class Master:
    """Rows are fixed; columns are added."""

    def __init__(self, p: Program, n_blocks: int) -> None:
        self.n_blocks, self.rows = n_blocks, p.rows
        self.low = p.rows.kind == LOW
        self.ahead = np.where(p.rows.window < 0, 0.0, np.where(self.low, 1.0, -1.0))  # coefficients of windows
        self.right = np.concatenate([np.ones(n_blocks), p.rows.right - p.rows.scale * p.base[p.rows.measure]])
        self.size = len(self.right)
        self.pool = np.zeros((0, self.size))
        self.cost = np.zeros(0)
        self.basis: list[tuple[int, int]] = []
        self.inverse = np.zeros((0, 0))

    def add(self, block: int, cost: float, measures: Floats) -> None:
        """One more column: its block, its part of E, and of each measure."""
        column = np.zeros((1, self.size))
        column[0, block] = 1.0
        column[0, self.n_blocks :] = self.rows.scale * measures[self.rows.measure]
        self.pool = np.concatenate([self.pool, column])
        self.cost = np.append(self.cost, cost)

    def column(self, kind: int, i: int) -> Floats:
        if kind == X:
            return np.asarray(self.pool[i])
        out = np.zeros(self.size)
        if kind == T:
            mine = self.rows.window == i
            out[self.n_blocks :][mine] = self.ahead[mine]
        elif kind == S:
            out[i] = 1.0
        elif kind == D:
            out[self.n_blocks :] = self.rows.share
        else:
            out[self.n_blocks :][~self.low] = -1.0
        return out

    def begin(self) -> None:
        """The first column of each block, in order; windows begin at the lowest, slacks take up the rest."""
        total = np.zeros(self.size)
        for b in range(self.n_blocks):
            total += self.pool[b]
        value = total - self.right  # how far each row is above its right side, windows aside
        basis = [(X, b) for b in range(self.n_blocks)]
        lowest: dict[int, int] = {}
        for i, w in enumerate(self.rows.window.tolist(), self.n_blocks):
            if self.low[i - self.n_blocks] and (w not in lowest or value[i] > value[lowest[w]]):
                lowest[w] = i
        excess, worst = 0.0, -1
        for i, w in enumerate(self.rows.window.tolist(), self.n_blocks):
            if i == lowest.get(w):
                basis.append((T, w))
                continue
            basis.append((S, i))
            over = float(value[i]) + (float(value[lowest[w]]) if w in lowest else 0.0)
            if not self.low[i - self.n_blocks] and over > excess:
                excess, worst = over, i
        if worst >= 0:
            basis[worst] = (Z, 0)
        self.basis = basis
        self.factor()

    def factor(self) -> None:
        self.inverse = inverse_of(np.column_stack([self.column(*name) for name in self.basis]))

    def level(self) -> Floats:
        return times(self.inverse, self.right)

    def phase(self) -> int:
        return 1 if any(kind == Z for kind, _ in self.basis) else 2

    def dual(self, phase: int) -> Floats:
        costs = [
            (1.0 if kind == Z else 0.0) if phase == 1 else (float(self.cost[i]) if kind == X else 0.0)
            for kind, i in self.basis
        ]
        return times(self.inverse.T, np.array(costs))

    def reduced(self, dual: Floats, phase: int) -> Floats:
        """Reduced costs of all columns of the pool."""
        cost = self.cost if phase == 2 else np.zeros(len(self.cost))
        return _added(np.vstack([cost, self.pool.T]), np.concatenate([[1.0], -dual]))

    def entering(self, dual: Floats, phase: int, careful: bool) -> tuple[int, int] | None:
        """The column with the lowest reduced cost; the first negative one when cycling threatens (Bland)."""
        inside = set(self.basis)
        found: tuple[int, int] | None = None
        least = -EPSILON
        reduced = self.reduced(dual, phase)
        for i in np.flatnonzero(reduced < -EPSILON).tolist():
            if reduced[i] < least and (X, i) not in inside:
                if careful:
                    return X, i
                found, least = (X, i), float(reduced[i])
        own = dual[self.n_blocks :]
        window = np.zeros(self.rows.n_windows)
        some = self.rows.window >= 0
        np.subtract.at(window, self.rows.window[some], own[some] * self.ahead[some])
        names = [*((T, w) for w in range(len(window))), *((S, i) for i in range(self.n_blocks, self.size))]
        for name, value in zip(names, [*window.tolist(), *(-own).tolist()], strict=True):
            if value < least and name not in inside:
                if careful:
                    return name
                found, least = name, value
        value = 0.0
        for i in np.flatnonzero(self.rows.share).tolist():
            value -= float(self.rows.share[i]) * float(own[i])
        if value < least and (D, 0) not in inside:
            found = (D, 0)
        return found

    def pivot(self, name: tuple[int, int], careful: bool) -> float:
        """Bring a column into the basis; returns the length of the step, -1 where nothing bounds it."""
        direction = times(self.inverse, self.column(*name))
        level = self.level()
        up = [i for i in range(self.size) if direction[i] > SMALLEST_PIVOT]
        if not up:
            return -1.0
        steps = [max(float(level[i]), 0.0) / float(direction[i]) for i in up]
        least = min(steps)
        close = [i for i, step in zip(up, steps, strict=True) if step <= least + 1e-13]
        out = -1
        for i in close:  # z leaves first; then the firmest pivot, or the lowest name where cycling threatens
            if self.basis[i][0] == Z:
                out = i
                break
            if out < 0 or (self.basis[i] < self.basis[out] if careful else direction[i] > direction[out]):
                out = i
        self.replace(out, name, direction)
        return least

    def replace(self, out: int, name: tuple[int, int], direction: Floats) -> None:
        row = self.inverse[out] / direction[out]
        self.inverse = self.inverse - direction[:, None] * row
        self.inverse[out] = row
        self.basis[out] = name

    def optimise(self, end: float) -> tuple[int, Floats]:
        """Pivot until no column helps: the phase it ended in (1: the limits are not met yet), and the dual values.

        A window as narrow as the tolerance makes steps as small as rounding errors, and the pivots go round in circles.
        So the program also ends when the objective has not fallen for long, or at the moment `end`: dual values of any
        basis give a valid bound.
        """
        pivots, idle, least, before = 0, 0, np.inf, 0
        while True:
            phase = self.phase()
            dual = self.dual(phase)
            value = 0.0  # the objective: dual values times right sides
            for k in range(self.size):
                value += float(dual[k]) * float(self.right[k])
            if phase != before or value < least - EPSILON:
                idle, least, before = 0, value, phase
            patience = PATIENCE * self.size
            stuck = idle > 10 * patience or (pivots % CLOCK == CLOCK - 1 and time.monotonic() > end)
            name = None if stuck else self.entering(dual, phase, idle > patience)
            if name is None:
                if phase == 1 and self.expel():
                    continue
                return phase, dual
            if self.pivot(name, idle > patience) < 0:  # a ray, which can only come from rounding
                return phase, dual
            idle += 1
            pivots += 1
            if pivots % CLOCK == 0:
                self.factor()

    def expel(self) -> bool:
        """Take a z of zero out of the basis by any slack that can stand in for it."""
        at = [kind for kind, _ in self.basis].index(Z)
        if self.level()[at] > 1e-11:
            return False
        for i in range(self.n_blocks, self.size):
            if (S, i) not in self.basis:
                direction = times(self.inverse, self.column(S, i))
                if abs(direction[at]) > 1e-9:
                    self.replace(at, (S, i), direction)
                    return True
        return False
