"""The interface of the modules `sketch`, `density`, `decide` and `solver`, which every backend has.

The fifth module, `segments`, has its interface in `common/segments.py`. Sketches and deciders have the public methods
of the reference's classes; for the rest there are protocols. mypy checks each backend against them, through `_core.pyi`
where it is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from gstar_fast._base.arrays import Flags, Hashes, Values
from gstar_fast._base.arrays import Floats as Floats
from gstar_fast._base.arrays import Ints as Ints

if TYPE_CHECKING:
    from gstar_fast._backends.numpy import cells, decide, sketch
    from gstar_fast._base.thresholds import Thresholds

    CellCopy: TypeAlias = cells.CellCopy
    DecideCore: TypeAlias = decide.Core
    SketchCore: TypeAlias = sketch.Core
else:
    CellCopy = DecideCore = SketchCore = object  # for annotations, which need no other backend to be imported

Watch: TypeAlias = Callable[[], object]  # called when the grid changed (level, or bins an octave), or the rows doubled
Key: TypeAlias = int | str | bytes  # what identifies a row, for randomised thresholds

# --------------------------------------------------------------------------------------------------------------- sketch


class Sketching(Protocol):
    """The room `sketch`."""

    @property
    def Core(self) -> type[SketchCore]: ...  # noqa: N802 (a class)


# -------------------------------------------------------------------------------------------------------------- density


class Curve(Protocol):
    """The density of one cell, as a search reads it."""

    def at(self, x: Floats, /) -> tuple[Floats, Floats]: ...  # P(X < x) and pdf at every x


class Evaluator(Curve, Protocol):
    """A density of one cell, ready to be asked by users too."""

    def quantile(self, p: Floats, /) -> Floats: ...  # the least x with P(X <= x) >= p, for every p


Fitted: TypeAlias = tuple[float, float, float, float, bool]  # parameters, mean log-likelihood, whether at a bound


class Densities(Protocol):
    """The room `density`: makers of densities from plain arrays."""

    @property
    def empirical(self) -> Callable[[Floats, Floats, Floats], Evaluator]: ...  # edges, cdf, atoms
    @property  # points, weights, bandwidth, below, above
    def kde(self) -> Callable[[Floats, Floats, float, float, float], Evaluator]: ...
    def family(
        self, name: str, parameters: tuple[float, ...], below: float, above: float, low: float, high: float
    ) -> Evaluator: ...
    def fit_student_t(self, points: Floats, weights: Floats, smallest_scale: float) -> Fitted: ...
    def fit_gamma(
        self, points: Floats, weights: Floats, mirrored: bool, end: float, reach: float, rows: float
    ) -> Fitted: ...  # shape, location, scale


# --------------------------------------------------------------------------------------------------------------- decide


class Deciding(Protocol):
    """The room `decide`."""

    def Core(self, thresholds: Thresholds, /) -> DecideCore: ...  # noqa: N802 (a class)
    def hash_keys(self, keys: list[Key], /) -> Hashes: ...


# --------------------------------------------------------------------------------------------------------------- solver

NODE_LIMIT = 20_000  # nodes of the search with penalties for up to fifty groups
BOX_LIMIT = 2_000_000  # boxes of the search with limits; thousands of times what real data need


def node_limit(n_groups: int) -> int:
    """Nodes of the search with penalties: fewer for many groups, where each costs more; the same on every backend."""
    return min(NODE_LIMIT, 50 * NODE_LIMIT // n_groups)


class Table(NamedTuple):
    """Accepted rows at the candidates worth looking at, groups end to end (see a backend's `tabulate`)."""

    start: Ints  # (K + 1,)
    candidate: Ints  # (n,) 0 is -inf, 1 + i is edges[i]
    accepted: Ints  # (3, n) label 0, label 1, unlabelled
    cost: Ints  # (n,)
    totals: Ints  # (3, K)
    at_unified: Ints  # (3, K) rows the best unified candidate accepts
    unified: int


@dataclass(frozen=True)
class Arrays:
    """Everything about a search over candidates, groups end to end; a choice is one candidate a group."""

    start: Ints  # (K + 1,) where each group's candidates begin
    cost: Values  # (n,) int64 from counts, float64 from densities; E = sum of one a group / unit
    distance: Ints  # (n,) from the best unified threshold, in candidates
    rates: Floats  # (R, n) the rates that are limited, penalised or swept
    has: Flags  # (R, K) whether a group has the rows a rate needs
    limit: Floats  # (R,) largest difference, tolerance included; inf where none
    ratio: Floats  # (R,) least ratio, tolerance included; -1 where none
    penalty: Floats  # (R,)
    unit: float
    # bands: a rate is only known to lie in [low, high], and a limit holds for the whole of it; without penalties only
    low: Floats | None = None  # (R, n); None: the rates themselves
    high: Floats | None = None  # (R, n)
    total: float = np.inf  # largest sum of the differences of the first two rates, tolerance included; inf where none

    @property
    def bands(self) -> tuple[Floats, Floats]:
        """The ends of every rate."""
        return self.rates if self.low is None else self.low, self.rates if self.high is None else self.high

    @property
    def banded(self) -> bool:
        return self.low is not None or self.high is not None


class SmoothProblem(NamedTuple):
    """The loss on densities. Rates and E are linear in the cdfs of a group's cells (label 0, label 1, unlabelled).

    rate = rate_base - sum of rate_coefficient * cdf,
    E = sum over groups of error_base + sum of error_coefficient * cdf.
    """

    cells: list[Any]  # 3 K of this backend's Curve; None where a cell has no rows
    error_base: Floats  # (K,)
    error_coefficient: Floats  # (K, 3)
    rate_base: Floats  # (R, K)
    rate_coefficient: Floats  # (R, K, 3)
    has: Flags  # (R, K)
    penalty: Floats  # (R,)
    low: float  # thresholds stay in here
    high: float
    bulk: float  # how far the middle of the scores reaches: steps are small beside this


Descent: TypeAlias = tuple[Floats, float, int, bool, Floats]  # thresholds, loss, iterations, stalled, trace


class Solver(Protocol):
    """The room `solver`; candidates are numbered from 0 in each group, and a choice is one number a group."""

    def tabulate(self, rows: Ints, price_fp: int, price_fn: int) -> Table: ...
    def solve_limits(
        self, p: Arrays, node_limit: int, seconds: float = ...
    ) -> tuple[Ints, int, bool, float]: ...  # cheapest choice that meets every limit, boxes, finished, bound on cost
    def solve_pair(self, p: Arrays) -> tuple[Ints, float, int]: ...  # of two groups: choice, loss, rows looked at
    def solve_penalties(
        self, p: Arrays, guess: Ints, node_limit: int, seconds: float = ...
    ) -> tuple[Ints, float, float, int]: ...  # choice, loss, proven lower bound, nodes opened
    def frontier(
        self, p: Arrays, swept: Flags, node_limit: int, added: bool = ...
    ) -> tuple[Ints, Floats, float]: ...  # choices nobody dominates in (cost, gap), their gaps, least gap proven
    def alternate(
        self, p: SmoothProblem, start: Floats, shrink: float, limit: int, tolerance: float, trace: bool
    ) -> Descent: ...  # the paper's loop; a tolerance below 0 runs all rounds, in both
    def newton(
        self, p: SmoothProblem, start: Floats, exact: bool, shared: bool, limit: int, tolerance: float, trace: bool
    ) -> Descent: ...  # all thresholds at once
    def sweep(
        self, p: SmoothProblem, grid: Arrays, edges: Floats, penalties: Floats, tolerance: float
    ) -> tuple[Floats, Floats, int, int]: ...  # many penalties on two groups: thresholds, losses, steps, restarts
