"""The interface of the modules `sketch`, `density`, `decide` and `solver`, which every backend has.

The fifth module, `segments`, has its interface in `common/segments.py`. mypy checks each backend against these
protocols (the compiled ones through `_core.pyi`), so a signature is written once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeAlias

import numpy as np

from gstar_fast._base.arrays import Bools, Flags, Floats, Hashes, Ints, Values
from gstar_fast._base.names import Name
from gstar_fast._base.sketch_parts.content import Section

if TYPE_CHECKING:
    from gstar_fast._base.thresholds import Thresholds

__all__ = [
    "BOX_LIMIT",
    "NODE_LIMIT",
    "Arrays",
    "CellCopy",
    "Curve",
    "DecideCore",
    "Deciding",
    "Densities",
    "Descent",
    "Evaluator",
    "Floats",
    "Ints",
    "Key",
    "SketchCore",
    "SketchMaker",
    "Sketching",
    "SmoothProblem",
    "Solver",
    "Table",
    "Watch",
    "node_limit",
]

Watch: TypeAlias = Callable[[], object]  # called when the grid changed (level, or bins an octave), or the rows doubled
Key: TypeAlias = int | str | bytes  # what identifies a row, for randomised thresholds

# --------------------------------------------------------------------------------------------------------------- sketch


class CellCopy(Protocol):
    """One cell of a sketch, as it was when it was copied."""

    @property
    def counts(self) -> Ints: ...  # rows of each bin
    @property
    def means(self) -> Floats: ...  # mean score of each bin, NaN where there are no rows
    @property
    def below(self) -> int: ...
    @property
    def above(self) -> int: ...
    @property
    def min(self) -> float: ...
    @property
    def max(self) -> float: ...
    @property
    def weighted(self) -> bool: ...
    @property
    def edges(self) -> Floats: ...  # (bins + 1,)


class SketchCore(Protocol):
    """One sketch: counts of each label (0, 1, and 2 for unlabelled), group and bin. Guards itself against threads."""

    @property
    def groups(self) -> tuple[Name, ...]: ...
    @property
    def bins(self) -> int: ...
    @property
    def level(self) -> int: ...  # the widest bins are 2**level wide
    @property
    def first(self) -> int: ...  # number of the first bin if all bins are of one width, else 0
    @property
    def edges(self) -> Floats: ...  # (bins + 1,)
    @property
    def given(self) -> bool: ...  # groups were named when it was made
    @property
    def fixed(self) -> bool: ...  # so was its window
    @property
    def weighted(self) -> bool: ...
    @property
    def total(self) -> int: ...  # of all counts
    @property
    def skipped(self) -> int: ...
    @property
    def memory_limit(self) -> int: ...
    @property
    def sections(self) -> tuple[Section, ...]: ...  # ascending by type

    def try_update(
        self, scores: object, labels: object, groups: object, skip_nan: bool, threads: int, /
    ) -> bool: ...  # False, and nothing done, for all that is not plain arrays of numbers
    def update(
        self,
        scores: Values,
        labels: Values | None,
        codes: Values,
        names: tuple[Name, ...] | None,
        weights: Values | None,
        skip_nan: bool,
        threads: int,
        unlabelled_code: bool = False,
        repeats: Values | None = None,
    ) -> None: ...  # all or nothing
    def update_one(
        self, score: float, label: int | None, group: Name, *, weight: float = 1, repeats: int = 1
    ) -> None: ...
    def merge(self, other: SketchCore, /) -> None: ...  # of any backend
    def merge_bytes(
        self, data: bytes
    ) -> tuple[Section, ...]: ...  # as merge(from_bytes(data)), within our own memory_limit; the sections of the bytes
    def copy(self) -> Self: ...
    def relabelled(self, names: tuple[Name, ...]) -> Self: ...  # groups that get one name become one group
    def set_sections(self, sections: tuple[Section, ...]) -> None: ...  # all of them; refuses wrong forms
    def to_bytes(self) -> bytes: ...
    def row_bytes(self) -> bytes: ...  # with no sections but those that speak of the rows
    def pooled(self) -> tuple[Ints, float, float, int, int]: ...  # rows by bin; extreme scores, and their bins
    def fullest(
        self, least: int = 1
    ) -> tuple[float, int, int, int]: ...  # of bins with `least` rows and several values that with the largest share
    def rows(self) -> Ints: ...  # (3, groups) number of rows
    def squared_weights(self) -> Floats: ...  # (3, groups) sums
    def squares(self, label: int) -> Floats: ...  # (groups, bins + 2) the same: below, every bin, above
    def counts(self, label: int) -> Ints: ...  # (groups, bins) rows, or weights in units of 2**-20; so are all counts
    def cell(self, label: int, group: Name) -> CellCopy: ...
    def means(self, label: int) -> Floats: ...  # (groups, bins)
    def below(self) -> Ints: ...  # (3, groups)
    def above(self) -> Ints: ...  # (3, groups)
    def extremes(self, label: int) -> tuple[Floats, Floats]: ...


class SketchMaker(Protocol):
    """A backend's class of sketches."""

    def __call__(
        self,
        bins: int,
        window: tuple[int, int] | None,
        groups: tuple[Name, ...] | None,
        memory_limit: int,
        watch: Watch | None = None,
    ) -> SketchCore: ...
    def from_bytes(self, data: bytes, memory_limit: int, watch: Watch | None = None) -> SketchCore: ...


class Sketching(Protocol):
    """The room `sketch`."""

    @property
    def Core(self) -> SketchMaker: ...  # noqa: N802 (a class)


# -------------------------------------------------------------------------------------------------------------- density


class Curve(Protocol):
    """The density of one cell, as a search reads it."""

    def at(self, x: Floats, /) -> tuple[Floats, Floats]: ...  # P(X < x) and pdf at every x


class Evaluator(Curve, Protocol):
    """A density of one cell, ready to be asked by users too."""

    def quantile(self, p: Floats, /) -> Floats: ...  # the least x with P(X <= x) >= p, for every p


class Densities(Protocol):
    """The room `density`: makers of densities from plain arrays."""

    @property
    def empirical(self) -> Callable[[Floats, Floats, Floats], Evaluator]: ...  # edges, cdf, atoms
    @property
    def kde(
        self,
    ) -> Callable[[Floats, Floats, float, float, float], Evaluator]: ...  # points, weights, bandwidth, below, above
    def family(
        self, name: str, parameters: tuple[float, ...], below: float, above: float, low: float, high: float
    ) -> Evaluator: ...
    def fit_student_t(
        self, points: Floats, weights: Floats, smallest_scale: float
    ) -> tuple[float, float, float, float, bool]: ...  # df, location, scale, mean log-likelihood, at a bound
    def fit_gamma(
        self, points: Floats, weights: Floats, mirrored: bool, end: float, reach: float, rows: float
    ) -> tuple[float, float, float, float, bool]: ...  # shape, location, scale, mean log-likelihood, at a bound


# --------------------------------------------------------------------------------------------------------------- decide


class DecideCore(Protocol):
    """One set of thresholds, ready."""

    def one(self, score: float, group: Name | float | None = None, key: Key | None = None) -> bool: ...
    def decide(
        self,
        scores: Values,
        codes: Values | None,
        names: tuple[Name, ...] | None,
        as_codes: bool,
        keys: Hashes | None,
        threads: int,
        out: Bools | None,
        /,
    ) -> Bools: ...  # clean arrays of one length
    def margins(
        self,
        scores: Values,
        codes: Values | None,
        names: tuple[Name, ...] | None,
        as_codes: bool,
        keys: Hashes | None,
        threads: int,
        /,
    ) -> Floats: ...


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
    ) -> Descent: ...  # the paper's loop
    def newton(
        self, p: SmoothProblem, start: Floats, exact: bool, shared: bool, limit: int, tolerance: float, trace: bool
    ) -> Descent: ...  # all thresholds at once
    def sweep(
        self, p: SmoothProblem, grid: Arrays, edges: Floats, penalties: Floats, tolerance: float
    ) -> tuple[Floats, Floats, int, int]: ...  # many penalties on two groups: thresholds, losses, steps, restarts
