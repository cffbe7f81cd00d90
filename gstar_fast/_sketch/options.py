"""What sketches and windows share: options that are handed on by keyword, and the way to bytes, files and pickles."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Self, TypedDict, Unpack

from gstar_fast._base import files
from gstar_fast._base.arrays import Objects
from gstar_fast._base.names import Name, Scalar
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._input.options import Missing, Passing, checked_reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike


class ReadOptions(TypedDict, total=False):
    """Options of `Sketch` that are not saved with it."""

    nan: Literal["raise", "skip"]
    missing: Missing
    memory_limit: int
    missing_group: Name


class GridOptions(TypedDict, total=False):
    """Options of `Sketch` that say where its bins are."""

    bins: int
    range: tuple[float, float] | None


class WindowOptions(ReadOptions, GridOptions, total=False):
    """Options of `Sketch`, but for the groups."""


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


class State(TypedDict, total=False):
    """What a pickle of a sketch or a window holds: plain values, which skops saves too."""

    data: bytes
    skip: tuple[bool, tuple[float, ...], Name]  # a `Passing`
    memory_limit: int
    warned: bool  # of a sketch


class Saved:
    """Something that bytes hold, but for the options of `ReadOptions`."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """The bytes: versioned, checksummed, the same for the same rows on every platform."""

    @abstractmethod
    def _read(self, data: bytes, passing: Passing, limit: int) -> None:
        """Become what the bytes hold, with these options."""

    @classmethod
    def from_bytes(cls, data: bytes, **options: Unpack[ReadOptions]) -> Self:
        """Read what `to_bytes` wrote. Anything else raises ValueError.

        `nan`, `missing`, `memory_limit` and `missing_group` are as in `Sketch`: bytes hold none of them. `memory_limit`
        is for each pane of a window; reading one takes the memory of one pane, since older panes stay bytes until
        `sketch` adds them up.
        """
        try:
            plain = bytes(memoryview(data))
        except TypeError:
            raise refusal("not_bytes", "data", value=data, limit=f"{cls.__name__}.load(path)") from None
        return cls._of_bytes(plain, *checked_reading(**options))

    @classmethod
    def _of_bytes(cls, data: bytes, passing: Passing, limit: int) -> Self:
        new = cls.__new__(cls)
        new._read(data, passing, limit)
        return new

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bytes to a file, atomically: the old file stays until the new one is whole and on disk."""
        files.write_atomically(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str], **options: Unpack[ReadOptions]) -> Self:
        """Read a file that `save` wrote; options as in `from_bytes`."""
        passing, limit = checked_reading(**options)
        data = files.read_limited(path, lambda head: cls._sketches_in(head) * (2 * limit + 2**20))
        return cls._of_bytes(data, passing, limit)

    @classmethod
    def _sketches_in(cls, _head: bytes) -> int:
        """How many sketches a file holds, by its first 64 bytes."""
        return 1

    def __setstate__(self, state: State) -> None:
        self._read(state["data"], Passing(*state["skip"]), state["memory_limit"])
