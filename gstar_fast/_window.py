"""Window: a ring of sketches that forgets the oldest rows.

Reads from: the sketch. Read by: users; later rooms take `window.sketch`.
"""

from __future__ import annotations

import operator
import threading
from collections import deque
from typing import Any, Self

from gstar_fast._sketch import Sketch

__all__ = ["Window"]


class Window:
    """Sketch of the last `panes` stretches of a stream, such as the last 24 hours.

    Rows go into the newest pane. `advance` begins a new one and forgets the oldest, with its effect on the window of
    scores: what is left is the sketch of the rows that are left.

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
    """

    def __init__(self, panes: int = 24, **options: Any) -> None:
        try:
            n = operator.index(panes)
        except TypeError:
            raise TypeError(f"panes must be an int, got {type(panes).__name__}") from None
        if n < 1:
            raise ValueError(f"panes must be at least 1, got {n}")
        self._options = options
        self._lock = threading.Lock()
        self._panes: deque[Sketch] = deque([Sketch(**options)], maxlen=n)
        self._closed: Sketch | None = None  # the sum of all panes but the newest

    @property
    def panes(self) -> int:
        """How many stretches are kept."""
        return self._panes.maxlen or 1

    def update(self, *rows: Any, **options: Any) -> Self:
        """Count a batch into the newest pane; takes what `Sketch.update` takes."""
        self._panes[-1].update(*rows, **options)
        return self

    def update_one(self, score: float, label: int | None, group: Any) -> None:
        """Count one row into the newest pane."""
        self._panes[-1].update_one(score, label, group)

    def advance(self) -> Self:
        """Begin a new pane; where there are `panes` already, forget the oldest."""
        new = Sketch(**self._options)
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
                self._closed = Sketch(**self._options)
                for pane in old:
                    self._closed += pane
            return self._closed + newest

    def __len__(self) -> int:
        return len(self._panes)

    def __repr__(self) -> str:
        return f"Window({len(self)} of {self.panes} panes; {self.sketch!r})"
