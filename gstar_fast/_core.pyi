"""The compiled module as type checkers see it; `_backends/interface.py` says what each part answers."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gstar_fast._backends.common.segments import Program
from gstar_fast._backends.interface import Descent, Key, SketchMaker
from gstar_fast._base.arrays import Bools, Flags, Floats, Hashes, Ints, Values
from gstar_fast._base.names import Name

compiler: str

def kernel() -> str: ...
def use_kernel(wanted: str) -> None: ...
def number_strings(values: object) -> tuple[NDArray[np.int32], tuple[str, ...]] | None: ...

class Texts:
    def __len__(self) -> int: ...
    def since(self, first: int) -> list[bytes]: ...
    def number_offsets(self, offsets: Values, data: Flags, valid: Bools | None) -> NDArray[np.int32]: ...
    def number_views(self, views: Flags, data: Sequence[Flags], valid: Bools | None) -> NDArray[np.int32]: ...
    def number_records(self, records: Values) -> NDArray[np.int32]: ...

SketchCore: SketchMaker

class Density:
    @staticmethod
    def empirical(edges: Floats, cdf: Floats, atoms: Floats) -> Density: ...
    @staticmethod
    def kde(points: Floats, weights: Floats, bandwidth: float, below: float, above: float) -> Density: ...
    @staticmethod
    def normal(location: float, scale: float, below: float, above: float, low: float, high: float) -> Density: ...
    @staticmethod
    def student_t(
        df: float, location: float, scale: float, below: float, above: float, low: float, high: float
    ) -> Density: ...
    @staticmethod
    def gamma(
        shape: float,
        location: float,
        scale: float,
        mirrored: bool,
        below: float,
        above: float,
        low: float,
        high: float,
    ) -> Density: ...
    def at(self, x: Floats) -> tuple[Floats, Floats]: ...
    def table_at(self, x: Floats) -> tuple[Floats, Floats]: ...
    def source_at(self, x: Floats) -> tuple[Floats, Floats]: ...
    def quantile(self, p: Floats) -> Floats: ...

def fit_student_t(
    points: Floats, weights: Floats, smallest_scale: float
) -> tuple[float, float, float, float, bool]: ...
def fit_gamma(
    points: Floats, weights: Floats, mirrored: bool, end: float, reach: float, rows: float
) -> tuple[float, float, float, float, bool]: ...
def tabulate(rows: Ints, price_fp: int, price_fn: int) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints, int]: ...
def solve(
    sketch: object,
    limits: list[tuple[int, list[int], float]],
    penalties: list[tuple[list[int], float]],
    price_fp: int,
    price_fn: int,
    balanced: bool,
    unified: bool,
    randomize: bool,
    seconds: float,
) -> dict[str, Any]: ...

class SegmentSearch:
    def __init__(self, program: Program) -> None: ...
    def price(self, weights: Floats, low: Ints, high: Ints) -> tuple[Ints, Floats]: ...
    def mix(self) -> tuple[Ints, Ints, Floats, Floats, float, float, int] | None: ...
    def choose(
        self, node_limit: int, seconds: float
    ) -> tuple[Ints, int, bool, float, tuple[Ints, Ints, Ints, Floats, Floats]]: ...

class CountSearch:
    def __init__(
        self,
        start: Ints,
        cost: Values,  # whole numbers, or shares in a ShareSearch
        distance: Ints,
        rates: Floats,
        has: Flags,
        limit: Floats,
        ratio: Floats,
        penalty: Floats,
        unit: float,
        low: Floats | None = None,
        high: Floats | None = None,
        total: float = ...,
    ) -> None: ...
    def solve_limits(self, node_limit: int, seconds: float) -> tuple[Ints, int, bool, float]: ...
    def solve_pair(self) -> tuple[Ints, float, int]: ...
    def solve_penalties(self, guess: Ints, node_limit: int, seconds: float) -> tuple[Ints, float, float, int]: ...
    def frontier(self, swept: Flags, node_limit: int, added: bool = ...) -> tuple[Ints, Floats, float]: ...

class ShareSearch(CountSearch): ...

class SmoothProblem:
    def __init__(
        self,
        cells: list[Density | None],
        error_base: Floats,
        error_coefficient: Floats,
        rate_base: Floats,
        rate_coefficient: Floats,
        has: Flags,
        penalty: Floats,
        low: float,
        high: float,
    ) -> None: ...
    def slopes(self, thresholds: Floats) -> tuple[float, Floats, Floats]: ...
    def alternate(self, start: Floats, shrink: float, limit: int, tolerance: float, trace: bool) -> Descent: ...
    def newton(
        self, start: Floats, exact: bool, shared: bool, limit: int, tolerance: float, trace: bool
    ) -> Descent: ...
    def sweep(
        self, grid: ShareSearch, edges: Floats, penalties: Floats, tolerance: float
    ) -> tuple[Floats, Floats, int, int]: ...

class DecideCore:
    def __new__(cls, thresholds: bytes, table: dict[Name, float]) -> Self: ...
    def __call__(
        self,
        scores: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        keys: ArrayLike | None = None,
        codes: bool = False,
        out: Bools | None = None,
        threads: int = 1,
    ) -> Bools: ...
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
    ) -> Bools: ...
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

class LiveCore:
    def __new__(cls, first: DecideCore) -> Self: ...
    def one(self, score: float, group: Name | float | None = None, key: Key | None = None) -> bool: ...
    def one_with_version(
        self, score: float, group: Name | float | None = None, key: Key | None = None
    ) -> tuple[bool, int]: ...
    def begin(self) -> tuple[DecideCore, int]: ...
    def read(self) -> tuple[DecideCore, int]: ...
    def put(self, following: DecideCore, /) -> int: ...

def hash_keys(keys: list[Key]) -> Hashes: ...
def own_methods(kind: type[DecideCore | LiveCore]) -> None: ...
