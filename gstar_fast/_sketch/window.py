"""Window: a ring of sketches that forgets the oldest rows."""

from __future__ import annotations

import math
import operator
import os
import struct
import threading
from collections import deque
from collections.abc import Sequence
from typing import Final, Literal, NoReturn, Self, Unpack

from numpy.typing import ArrayLike

from gstar_fast._base import files, sketch_format
from gstar_fast._base.bytes import Envelope
from gstar_fast._base.grid import memory_of
from gstar_fast._base.names import Name
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._input.missing import Missing
from gstar_fast._input.options import checked_limit
from gstar_fast._sketch.options import SketchOptions, UpdateOptions
from gstar_fast._sketch.sketch import Sketch

__all__ = ["Window"]

# Bytes, little-endian: magic, version (u16), reserved (u16), number of sketches (u32), most panes (u64), length of all
# bytes (u64); the sketches, each after its length (u64): an empty pane, which holds the options, then the panes, oldest
# first; the CRC-32 of all before it (u32).
MAGIC: Final = b"\x89GPANE\r\n"
VERSION: Final = 1
HEADER: Final = struct.Struct("<8sHHIQQ")
LENGTH: Final = struct.Struct("<Q")
LEAST_MEMORY: Final = 2**12  # about what a sketch without rows takes
MOST_PANES: Final = 2**31 - 1
ONE: Final = 1


def _refuse(why: str) -> NoReturn:
    raise refusal("not_valid", "window", value=why)


ENVELOPE: Final = Envelope(MAGIC, VERSION, HEADER, _refuse)


@lives_in("gstar_fast")
class Window:
    """Sketch of the last `panes` stretches of a stream, such as the last 24 hours.

    Rows go into the newest pane. `advance` begins a new one and forgets the oldest, with its effect on the window of
    scores: what is left is the sketch of the rows that are left. `save` and `load`, `to_bytes` and `from_bytes`, and
    pickles keep every pane and the options, so that a service that was restarted goes on where it was.

    Threads may share a window. Rows go into the pane that is the newest when their `update` begins, also if another
    thread calls `advance` before it ends.

    Parameters
    ----------
    panes : int
        How many stretches to keep.
    **options
        Options of `Sketch` for every pane.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> window = gf.Window(panes=2)
    >>> for hour in range(3):
    ...     window = window.update([hour / 4], [1], ["F"]).advance()
    >>> window.sketch.n_rows
    1
    >>> again = gf.Window.from_bytes(window.to_bytes())
    >>> again.advance().sketch.n_rows
    0
    """

    def __init__(self, panes: int = 24, **options: Unpack[SketchOptions]) -> None:
        try:
            n = operator.index(panes)
        except TypeError:
            raise refusal("panes_type", "panes", value=panes) from None
        if not 1 <= n <= MOST_PANES:
            raise refusal("panes", "panes", value=n, limit=MOST_PANES)
        blank = Sketch(**options)
        self._set_up(n, blank, [blank.copy()])

    def _set_up(self, most: int, blank: Sketch, panes: Sequence[Sketch]) -> None:
        self._blank = blank  # never counted into: every new pane is a copy
        self._lock = threading.Lock()
        self._panes: deque[Sketch] = deque(panes, maxlen=most)
        self._closed: Sketch | None = None  # the sum of all panes but the newest

    @property
    def panes(self) -> int:
        """How many stretches are kept."""
        return self._panes.maxlen or 1

    def update(
        self,
        scores: ArrayLike,
        labels: ArrayLike | None,
        groups: ArrayLike,
        **options: Unpack[UpdateOptions],
    ) -> Self:
        """Count a batch into the newest pane; takes what `Sketch.update` takes."""
        pane = self._panes[-1]
        try:
            pane.update(scores, labels, groups, **options)
        finally:  # a warning that is an error comes after the rows were counted
            self._counted_into(pane)
        return self

    def update_one(
        self, score: float, label: int | None, group: Name, *, weight: float = ONE, repeats: int = ONE
    ) -> None:
        """Count one row into the newest pane; takes what `Sketch.update_one` takes."""
        pane = self._panes[-1]
        try:
            if weight is ONE and repeats is ONE:  # as nearly always, and quicker without the names
                pane.update_one(score, label, group)
            else:
                pane.update_one(score, label, group, weight=weight, repeats=repeats)
        finally:
            self._counted_into(pane)

    def _counted_into(self, pane: Sketch) -> None:
        """Drop the sum of the older panes if this pane became one of them while its rows were being counted."""
        if pane is not self._panes[-1]:
            with self._lock:
                self._closed = None

    def advance(self) -> Self:
        """Begin a new pane; where there are `panes` already, forget the oldest."""
        new = self._blank.copy()
        with self._lock:
            self._panes.append(new)
            self._closed = None
        return self

    @property
    def sketch(self) -> Sketch:
        """All panes merged, a new sketch each time."""
        with self._lock:
            *old, newest = self._panes
            if self._closed is None:
                closed = self._blank.copy()
                for pane in old:
                    closed += pane
                self._closed = closed  # kept only if every pane could be merged
            return self._closed + newest

    def __len__(self) -> int:
        return len(self._panes)

    def __repr__(self) -> str:
        return f"Window({len(self)} of {self.panes} panes; {self.sketch!r})"

    # ---------------------------------------------------------------------------------------------------------- bytes

    def to_bytes(self) -> bytes:
        """The window as bytes: versioned, checksummed, the same for the same rows in the same panes."""
        with self._lock:
            sketches = [self._blank, *self._panes]
        blobs = [sketch.to_bytes() for sketch in sketches]
        body = b"".join(LENGTH.pack(len(blob)) + blob for blob in blobs)
        return ENVELOPE.seal((0, len(blobs), self.panes), body)

    @classmethod
    def from_bytes(
        cls,
        data: bytes,
        *,
        nan: Literal["raise", "skip"] = "raise",
        missing: Missing = None,
        memory_limit: int = 2**30,
    ) -> Self:
        """Read what `to_bytes` wrote. Anything else raises ValueError.

        Parameters
        ----------
        data : bytes
            What `to_bytes` gave.
        nan, missing, memory_limit
            Options of every pane that bytes do not hold, see `Sketch`. Besides, all panes that are read may take
            `memory_limit` together.
        """
        limit = checked_limit(memory_limit)
        return cls._read(data, nan, missing, limit, limit)

    @classmethod
    def _read(cls, data: bytes, nan: Literal["raise", "skip"], missing: Missing, limit: int, together: float) -> Self:
        try:
            plain = memoryview(data).cast("B")
        except TypeError:
            raise refusal("not_bytes", "data", value=data, limit="Window.load(path)") from None
        most, blobs = _cut(plain)
        need = sum(map(_memory, blobs))
        if need > together:
            raise refusal("panes_need_too_much_memory", "memory_limit", value=(len(blobs) - 1, need), limit=together)
        blank, *panes = (Sketch.from_bytes(blob, nan=nan, missing=missing, memory_limit=limit) for blob in blobs)
        if blank.n_rows or blank.skipped or blank.weighted:
            _refuse("the empty pane is not empty")
        if any(_shape(pane) != _shape(blank) for pane in panes):
            _refuse("a pane has other options than the rest")
        new = cls.__new__(cls)
        new._set_up(most, blank, panes)
        return new

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bytes to a file, atomically: the old file stays until the new one is whole and on disk."""
        files.write_atomically(path, self.to_bytes())

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        nan: Literal["raise", "skip"] = "raise",
        missing: Missing = None,
        memory_limit: int = 2**30,
    ) -> Self:
        """Read a file that `save` wrote; options as in `from_bytes`."""
        data = files.read_limited(path, 2 * checked_limit(memory_limit) + 2**20)
        return cls.from_bytes(data, nan=nan, missing=missing, memory_limit=memory_limit)

    def __reduce__(self) -> tuple[object, ...]:
        nan, missing = self._blank._passing.options
        return _unpickled, (type(self), self.to_bytes(), nan, self._blank._core.memory_limit, missing)


def _unpickled(
    cls: type[Window], data: bytes, nan: Literal["raise", "skip"], limit: int, missing: Missing = None
) -> Window:
    return cls._read(data, nan, missing, limit, math.inf)  # what was in memory may be there again


def _cut(data: memoryview) -> tuple[int, list[bytes]]:
    """Most panes to keep, and the bytes of each sketch; no more is made than the bytes hold."""
    (reserved, n, most), end = ENVELOPE.open(data)
    if reserved or not 2 <= n <= most + 1 <= MOST_PANES + 1:
        _refuse("the number of panes is impossible")
    blobs, at = [], HEADER.size
    for _ in range(n):
        if end - at < LENGTH.size:
            _refuse("it ends too early")
        (size,) = LENGTH.unpack_from(data, at)
        at += LENGTH.size
        if size > end - at:
            _refuse("it ends too early")
        blobs.append(bytes(data[at : at + size]))
        at += size
    if at != end:
        _refuse("there are more bytes than the panes need")
    return most, blobs


def _memory(blob: bytes) -> int:
    """What a sketch will take, read from the front of its bytes before anything is made of them."""
    bins, n_groups, weighted = sketch_format.front(blob)
    return LEAST_MEMORY + memory_of(n_groups, bins, weighted)


def _shape(sketch: Sketch) -> tuple[object, ...]:
    """What all panes have in common."""
    core = sketch._core
    return core.bins, (core.level, core.first) if core.fixed else None, core.groups if core.given else None
