"""Window: a ring of sketches that forgets the oldest rows."""

from __future__ import annotations

import operator
import struct
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NoReturn, Self, Unpack

from numpy.typing import ArrayLike

from gstar_fast._base import sketch_format
from gstar_fast._base.bytes import Envelope, Reader
from gstar_fast._base.grid import memory_of
from gstar_fast._base.names import Name
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._input.options import Passing
from gstar_fast._sketch.options import RowOptions, Saved, SketchOptions, State, TableOptions, UpdateOptions
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
class Window(Saved):
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
        self._count(lambda pane: pane.update(scores, labels, groups, **options))
        return self

    def update_table(
        self, data: object, *, score: str, label: str | None, group: str | list[str], **options: Unpack[TableOptions]
    ) -> Self:
        """Count the rows of a table into the newest pane; takes what `Sketch.update_table` takes."""
        self._count(lambda pane: pane.update_table(data, score=score, label=label, group=group, **options))
        return self

    def update_one(self, score: float, label: int | None, group: Name, **options: Unpack[RowOptions]) -> None:
        """Count one row into the newest pane; takes what `Sketch.update_one` takes."""
        self._count(lambda pane: pane.update_one(score, label, group, **options))

    def _count(self, into: Callable[[Sketch], object]) -> None:
        """Count into the newest pane; if it is an older one by the end, drop the sum of the older ones."""
        pane = self._newest
        try:
            into(pane)
        finally:  # a warning that is an error comes after the rows were counted
            if pane is not self._panes[-1]:
                with self._lock:
                    self._closed = None

    @property
    def _newest(self) -> Sketch:
        pane = self._panes[-1]
        assert isinstance(pane, Sketch), "only older panes are bytes"
        return pane

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
                own = closed._passing, closed._core.memory_limit
                for pane in old:
                    closed += pane if isinstance(pane, Sketch) else Sketch._of_bytes(pane, *own)
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

    def _read(self, data: bytes, passing: Passing, limit: int) -> None:
        most, blobs = _cut(data)
        need = sum(memory_of(n_groups, bins, weighted) for bins, n_groups, weighted in map(sketch_format.front, blobs))
        if need > MOST_MEMORY:  # more than was ever in memory: reading would take hours
            raise refusal("panes_need_too_much_memory", "data", value=(len(blobs) - 1, need), limit=MOST_MEMORY)
        blank = Sketch._of_bytes(blobs[0], passing, limit)
        if blank.n_rows or blank.skipped or blank.weighted:
            _refuse("the empty pane is not empty")
        panes: list[Sketch | bytes] = []
        for blob in blobs[1:]:
            pane = Sketch._of_bytes(blob, passing, limit)
            if _shape(pane) != _shape(blank):
                _refuse("a pane has other options than the rest")
            panes.append(pane if len(panes) == len(blobs) - 2 else pane.to_bytes())
        self._set_up(most, blank, panes)

    @classmethod
    def _sketches_in(cls, head: bytes) -> int:
        return HEADER.unpack_from(head)[3] if len(head) >= HEADER.size and head.startswith(MAGIC) else 1

    def __getstate__(self) -> State:
        blank = self._blank  # its options are those of all panes
        return {"data": self.to_bytes(), "skip": (*blank._passing,), "memory_limit": blank._core.memory_limit}


def _cut(data: bytes) -> tuple[int, list[bytes]]:
    """Most panes to keep, and the bytes of each sketch; no more is made than the bytes hold."""
    (reserved, n, most), end = ENVELOPE.open(data)
    if reserved or not 2 <= n <= most + 1 <= MOST_PANES + 1:
        _refuse("the number of panes is impossible")
    source = Reader(data, HEADER.size, end, _refuse)
    blobs = [source.take(*LENGTH.unpack(source.take(LENGTH.size))) for _ in range(n)]
    if source.at != end:
        _refuse("there are more bytes than the panes need")
    return most, blobs


def _shape(sketch: Sketch) -> tuple[object, ...]:
    """What all panes have in common."""
    core = sketch._core
    return core.bins, (core.level, core.first) if core.fixed else None, core.groups if core.given else None
