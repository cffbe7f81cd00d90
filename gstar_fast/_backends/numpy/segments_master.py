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
Z, D = -2, -1  # the columns of what loosens rows, and of the first gap's share of a sum


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
    """Rows are fixed; columns are added.

    Choices are columns 0, 1, ...; behind them are the low end of each window, the slack of each row, Z and D, whose
    places are counted from the end.
    """

    def __init__(self, p: Program, n_blocks: int) -> None:
        self.n_blocks, self.rows = n_blocks, p.rows
        self.low = p.rows.kind == LOW
        self.right = np.concatenate([np.ones(n_blocks), p.rows.right - p.rows.scale * p.base[p.rows.measure]])
        self.size = len(self.right)
        ahead = np.where(self.low, 1.0, -1.0)  # coefficients of windows
        windows = [np.where(p.rows.window == w, ahead, 0.0) for w in range(p.rows.n_windows)]
        own = np.array([*windows, *np.eye(len(p.rows)), np.where(self.low, 0.0, -1.0), p.rows.share])
        self.columns = np.concatenate([np.zeros((len(own), n_blocks)), own], axis=1)
        self.slack = -2 - len(p.rows)  # the first of them
        self.window = self.slack - p.rows.n_windows
        self.cost = np.zeros(len(own))
        self.basis: list[int] = []
        self.inverse = np.zeros((0, 0))

    def add(self, block: int, cost: float, measures: Floats) -> None:
        """One more choice: its block, its part of E, and of each measure."""
        column = np.concatenate([np.zeros(self.n_blocks), self.rows.scale * measures[self.rows.measure]])
        column[block] = 1.0
        n = len(self.cost) + self.window
        self.columns, self.cost = np.insert(self.columns, n, column, axis=0), np.insert(self.cost, n, cost)

    def begin(self) -> None:
        """The first column of each block, in order; windows begin at the lowest, slacks take up the rest."""
        total = np.zeros(self.size)
        for b in range(self.n_blocks):
            total += self.columns[b]
        value = (total - self.right)[self.n_blocks :]  # how far each row is above its right side, windows aside
        windows = self.rows.window.tolist()
        lowest: dict[int, int] = {}
        for i in np.flatnonzero(self.low).tolist():
            if windows[i] not in lowest or value[i] > value[lowest[windows[i]]]:
                lowest[windows[i]] = i
        basis, excess, worst = list(range(self.n_blocks)), 0.0, -1
        for i, w in enumerate(windows):
            if i == lowest.get(w):
                basis.append(self.window + w)
                continue
            basis.append(self.slack + i)
            over = float(value[i]) + (float(value[lowest[w]]) if w in lowest else 0.0)
            if not self.low[i] and over > excess:
                excess, worst = over, i
        if worst >= 0:
            basis[self.n_blocks + worst] = Z
        self.basis = basis
        self.factor()

    def factor(self) -> None:
        self.inverse = inverse_of(self.columns[self.basis].T)

    def level(self) -> Floats:
        return times(self.inverse, self.right)

    def dual(self, phase: int) -> Floats:
        costs = self.cost[self.basis] if phase == 2 else np.array(self.basis) == Z
        return times(self.inverse.T, costs.astype(np.float64))

    def entering(self, dual: Floats, phase: int, careful: bool) -> int | None:
        """The column with the lowest reduced cost; the first negative one when cycling threatens (Bland)."""
        cost = self.cost if phase == 2 else np.zeros(len(self.cost))
        reduced = _added(np.vstack([cost, self.columns.T]), np.concatenate([[1.0], -dual]))
        reduced[[*self.basis, Z]] = 0.0
        if not (reduced < -EPSILON).any():
            return None
        found = int(np.argmax(reduced < -EPSILON) if careful else np.argmin(reduced))
        behind = len(reduced) + self.window
        return found if found < behind else found - len(reduced)

    def pivot(self, name: int, careful: bool) -> float:
        """Bring a column into the basis; returns the length of the step, -1 where nothing bounds it."""
        direction = times(self.inverse, self.columns[name])
        level = self.level()
        up = [i for i in range(self.size) if direction[i] > SMALLEST_PIVOT]
        if not up:
            return -1.0
        steps = [max(float(level[i]), 0.0) / float(direction[i]) for i in up]
        least = min(steps)
        close = [i for i, step in zip(up, steps, strict=True) if step <= least + 1e-13]
        out, places = -1, np.array(self.basis) % len(self.cost)
        for i in close:  # z leaves first; then the firmest pivot, or the lowest name where cycling threatens
            if self.basis[i] == Z:
                out = i
                break
            if out < 0 or (places[i] < places[out] if careful else direction[i] > direction[out]):
                out = i
        self.replace(out, name, direction)
        return least

    def replace(self, out: int, name: int, direction: Floats) -> None:
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
            phase = 1 if Z in self.basis else 2
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
        at = self.basis.index(Z)
        if self.level()[at] > 1e-11:
            return False
        for name in range(self.slack, Z):
            if name not in self.basis:
                direction = times(self.inverse, self.columns[name])
                if abs(direction[at]) > 1e-9:
                    self.replace(at, name, direction)
                    return True
        return False
