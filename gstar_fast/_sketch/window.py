"""Window: a ring of sketches that forgets the oldest rows."""

from __future__ import annotations

import operator
import os
import struct
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, Literal, NoReturn, Self, Unpack

from numpy.typing import ArrayLike

from gstar_fast._base import files, sketch_format
from gstar_fast._base.bytes import Envelope
from gstar_fast._base.grid import memory_of
from gstar_fast._base.names import Name
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._input.options import Missing, Passing, checked_limit, checked_passing
from gstar_fast._sketch.options import LoadOptions, SketchOptions, TableOptions, UpdateOptions
from gstar_fast._sketch.sketch import Sketch

__all__ = ["Window"]

# Bytes, little-endian: magic, version (u16), reserved (u16), number of sketches (u32), most panes (u64), length of all
# bytes (u64); the sketches, each after its length (u64): an empty pane, which holds the options, then the panes, oldest
# first; the CRC-32 of all before it (u32).
MAGIC: Final = b"\x89GPANE\r\n"
VERSION: Final = 1
HEADER: Final = struct.Struct("<8sHHIQQ")
LENGTH: Final = struct.Struct("<Q")
MOST_PANES: Final = 2**31 - 1
MOST_MEMORY: Final = 2**36  # bytes of all panes together


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

    def _set_up(self, most: int, blank: Sketch, panes: Sequence[Sketch | bytes]) -> None:
        self._blank = blank  # never counted into: every new pane is a copy
        self._lock = threading.Lock()
        self._panes: deque[Sketch | bytes] = deque(panes, maxlen=most)  # older ones as bytes if they were read
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
        pane = self._newest
        try:
            pane.update(scores, labels, groups, **options)
        finally:  # a warning that is an error comes after the rows were counted
            self._counted_into(pane)
        return self

    def update_table(
        self, data: object, *, score: str, label: str | None, group: str | list[str], **options: Unpack[TableOptions]
    ) -> Self:
        """Count the rows of a table into the newest pane; takes what `Sketch.update_table` takes."""
        pane = self._newest
        try:
            pane.update_table(data, score=score, label=label, group=group, **options)
        finally:
            self._counted_into(pane)
        return self

    def update_one(self, score: float, label: int | None, group: Name, **load: Unpack[LoadOptions]) -> None:
        """Count one row into the newest pane; takes what `Sketch.update_one` takes."""
        pane = self._newest
        try:
            if load:
                pane.update_one(score, label, group, **load)
            else:  # quicker without the names
                pane.update_one(score, label, group)
        finally:
            self._counted_into(pane)

    @property
    def _newest(self) -> Sketch:
        pane = self._panes[-1]
        assert isinstance(pane, Sketch), "only older panes are bytes"
        return pane

    def _as_sketch(self, pane: Sketch | bytes) -> Sketch:
        return pane if isinstance(pane, Sketch) else _pane(pane, self._blank._passing, self._blank._core.memory_limit)

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
            *old, _ = self._panes
            if self._closed is None:
                closed = self._blank.copy()
                for pane in old:
                    closed += self._as_sketch(pane)
                self._closed = closed  # kept only if every pane could be merged
            return self._closed + self._newest

    def __len__(self) -> int:
        return len(self._panes)

    def __repr__(self) -> str:
        return f"Window({len(self)} of {self.panes} panes; {self.sketch!r})"

    # ---------------------------------------------------------------------------------------------------------- bytes

    def to_bytes(self) -> bytes:
        """The window as bytes: versioned, checksummed, the same for the same rows in the same panes."""
        with self._lock:
            panes = [self._blank, *self._panes]
        blobs = [pane if isinstance(pane, bytes) else pane.to_bytes() for pane in panes]
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
        missing_group: Name = "raise",
    ) -> Self:
        """Read what `to_bytes` wrote. Anything else raises ValueError.

        Parameters
        ----------
        data : bytes
            What `to_bytes` gave.
        nan, missing, memory_limit, missing_group
            Options that are not saved, see `Sketch`. `memory_limit` is for each pane, as in `Window`; older panes stay
            bytes until `sketch` adds them up, so reading takes the memory of one pane.
        """
        new = cls.__new__(cls)
        new._read(data, checked_passing(nan, missing, missing_group=missing_group), checked_limit(memory_limit))
        return new

    def _read(self, data: bytes, passing: Passing, limit: int) -> None:
        try:
            plain = memoryview(data).cast("B")
        except TypeError:
            raise refusal("not_bytes", "data", value=data, limit="Window.load(path)") from None
        most, blobs = _cut(plain)
        need = sum(memory_of(n_groups, bins, weighted) for bins, n_groups, weighted in map(sketch_format.front, blobs))
        if need > MOST_MEMORY:  # more than was ever in memory: reading would take hours
            raise refusal("panes_need_too_much_memory", "data", value=(len(blobs) - 1, need), limit=MOST_MEMORY)
        blank = _pane(blobs[0], passing, limit)
        if blank.n_rows or blank.skipped or blank.weighted:
            _refuse("the empty pane is not empty")
        panes: list[Sketch | bytes] = []
        for blob in blobs[1:]:
            pane = _pane(blob, passing, limit)
            if _shape(pane) != _shape(blank):
                _refuse("a pane has other options than the rest")
            panes.append(pane if len(panes) == len(blobs) - 2 else pane.to_bytes())
        self._set_up(most, blank, panes)

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
        missing_group: Name = "raise",
    ) -> Self:
        """Read a file that `save` wrote; options as in `from_bytes`."""
        limit = checked_limit(memory_limit)
        data = files.read_limited(path, lambda head: _sketches_in(head) * (2 * limit + 2**20))
        return cls.from_bytes(data, nan=nan, missing=missing, memory_limit=memory_limit, missing_group=missing_group)

    def __getstate__(self) -> dict[str, object]:
        blank = self._blank  # its options are those of all panes
        return {"data": self.to_bytes(), "skip": tuple(blank._passing), "memory_limit": blank._core.memory_limit}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._read(state["data"], Passing(*state["skip"]), state["memory_limit"])


def _pane(blob: bytes, passing: Passing, limit: int) -> Sketch:
    new = Sketch.__new__(Sketch)
    new._read(blob, passing, limit)
    return new


def _sketches_in(head: bytes) -> int:
    """Number of sketches in the header of a file; 1 if it is not a window."""
    return HEADER.unpack_from(head)[3] if len(head) >= HEADER.size and head.startswith(MAGIC) else 1


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


def _shape(sketch: Sketch) -> tuple[object, ...]:
    """What all panes have in common."""
    core = sketch._core
    return core.bins, (core.level, core.first) if core.fixed else None, core.groups if core.given else None
