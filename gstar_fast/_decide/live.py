"""LiveDecider: a decider whose thresholds are swapped while other threads decide."""

from __future__ import annotations

import functools
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gstar_fast import _backends
from gstar_fast._base.names import Name
from gstar_fast._base.public import lives_in
from gstar_fast._base.thresholds import Nan, Unknown
from gstar_fast._decide.decider import Decider, SolvedLike, as_decider, decider_of

__all__ = ["LiveDecider"]


@lives_in("gstar_fast")
class LiveDecider:
    """A decider whose thresholds are swapped while other threads decide.

    A batch is decided by one set of thresholds from its first row to its last; nobody waits for a swap, and a set is
    freed when the last batch it decides is done.

    Parameters
    ----------
    first : Result or Decider
        Thresholds to begin with.
    unknown, nan
        Policies for results, now and in later swaps; a decider brings its own.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> live = gf.LiveDecider(gf.Decider({"F": 0.25, "M": 0.75}))
    >>> live.one(0.5, "M")
    False
    >>> live.swap(gf.Decider({"F": 0.25, "M": 0.5}))
    2
    >>> live([0.5], ["M"], with_version=True)
    (array([ True]), 2)
    """

    _backend: str
    _unknown: Unknown
    _nan: Nan

    def __new__(cls, first: SolvedLike | Decider, *, unknown: Unknown = "raise", nan: Nan = "raise") -> LiveDecider:
        """Make a live decider of the current backend."""
        decider = as_decider(first, unknown, nan)
        self: LiveDecider = _live_class(decider._backend)(decider)
        self._backend = decider._backend
        self._unknown, self._nan = unknown, nan
        return self

    def swap(self, following: SolvedLike | Decider) -> int:
        """Decide by other thresholds from now on; returns their version.

        Batches under way end as they began. What cannot be made into a decider is refused and changes nothing.
        """
        decider = as_decider(following, self._unknown, self._nan)
        if decider._backend != self._backend:
            decider = decider_of(decider._thresholds, self._backend)
        return self._put(decider)

    @property
    def version(self) -> int:
        """1 at first, one more after each swap."""
        return self._read()[1]

    @property
    def decider(self) -> Decider:
        """The decider of the moment."""
        return self._read()[0]

    @overload
    def __call__(
        self,
        scores: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        with_version: Literal[False] = False,
        **options: Any,
    ) -> NDArray[np.bool_]: ...
    @overload
    def __call__(
        self, scores: ArrayLike, groups: ArrayLike | None = None, *, with_version: Literal[True], **options: Any
    ) -> tuple[NDArray[np.bool_], int]: ...
    def __call__(
        self, scores: ArrayLike, groups: ArrayLike | None = None, *, with_version: bool = False, **options: Any
    ) -> NDArray[np.bool_] | tuple[NDArray[np.bool_], int]:
        """Decide many rows as `Decider` does; `with_version=True` also tells by which version."""
        raise NotImplementedError

    def one(self, score: float, group: Name | None = None, key: int | str | bytes | None = None) -> bool:
        """Decide one row."""
        raise NotImplementedError

    def one_with_version(
        self, score: float, group: Name | None = None, key: int | str | bytes | None = None
    ) -> tuple[bool, int]:
        """Decide one row and tell by which version, for the audit log."""
        decider, version = self._read()
        return decider.one(score, group, key), version

    def margin(self, scores: ArrayLike, groups: ArrayLike | None = None, **options: Any) -> NDArray[np.float64]:
        """Score minus threshold of each row; see `Decider.margin`."""
        return self.decider.margin(scores, groups, **options)

    def _decide(self, scores: Any, groups: Any = None, *, with_version: bool = False, **options: Any) -> Any:
        decider, version = self._read()
        answers = decider(scores, groups, **options)
        return (answers, version) if with_version else answers

    def _read(self) -> tuple[Decider, int]:
        pair: tuple[Decider, int] = self.read()  # type: ignore[attr-defined]
        return pair

    def _put(self, decider: Decider) -> int:
        version: int = self.put(decider)  # type: ignore[attr-defined]
        return version

    def __repr__(self) -> str:
        decider, version = self._read()
        return f"LiveDecider(version {version}: {decider!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a live decider belongs to one process; send its decider instead: live.decider")


@functools.cache
def _live_class(backend: str) -> type[Any]:
    room = _backends.room("decide", backend)
    body = {"__module__": "gstar_fast"}
    return room.finished(type("LiveDecider", (room.LiveCore, LiveDecider), body))  # type: ignore[no-any-return]
