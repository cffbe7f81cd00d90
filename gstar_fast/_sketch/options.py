"""Options of sketches that are handed on by keyword, as type checkers see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

from numpy.typing import ArrayLike

from gstar_fast._base.arrays import Objects
from gstar_fast._base.names import Name, Scalar
from gstar_fast._input.options import Missing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ReadOptions(TypedDict, total=False):
    """Options of `Sketch` that are not saved with it."""

    nan: Literal["raise", "skip"]
    missing: Missing
    memory_limit: int
    missing_group: Name


class WindowOptions(ReadOptions, total=False):
    """Options of `Sketch`, but for the groups."""

    bins: int
    range: tuple[float, float] | None


class SketchOptions(WindowOptions, total=False):
    """Options of `Sketch`."""

    groups: Iterable[Name] | None


class BatchOptions(TypedDict, total=False):
    """Options of all methods that count many rows."""

    nan: Literal["raise", "skip"] | None
    missing: Missing
    threads: int
    missing_group: Name | None


class UpdateOptions(BatchOptions, total=False):
    """Options of `Sketch.update`."""

    weights: ArrayLike | None
    repeats: ArrayLike | None


class TableOptions(BatchOptions, total=False):
    """Options of `Sketch.update_table`."""

    weight: str | None
    repeats: str | None
    positive: Scalar | None


class RowOptions(TypedDict, total=False):
    """Options of `Sketch.update_one`."""

    weight: float
    repeats: int


class PlotOptions(TypedDict, total=False):
    """Options of `Sketch.plot`."""

    kind: str | None
    bandwidth: float | str | None
    thresholds: Mapping[Name, float] | None
    axes: Sequence[Axes] | Objects | None
