"""LiveDecider: a decider whose thresholds are swapped while other threads decide."""

from __future__ import annotations

import math
import threading
import time
from typing import Literal, NoReturn, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gstar_fast._backends.interface import Key
from gstar_fast._base.names import Name
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.place import bad_type
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.thresholds import Nan, Unknown, date_text
from gstar_fast._base.warn import warn
from gstar_fast._decide.decider import Decider, SolvedLike, as_decider, decider_of
from gstar_fast._input.options import checked_flag

__all__ = ["LiveDecider"]


class MarginOptions(TypedDict, total=False):
    """Options of `Decider.margin`."""

    keys: ArrayLike | None
    codes: bool
    threads: int


class CallOptions(MarginOptions, total=False):
    """Options of a call of `Decider`."""

    out: NDArray[np.bool_] | None


@lives_in("gstar_fast")
class LiveDecider:
    """A decider whose thresholds are swapped while other threads decide.

    A batch is decided by one set of thresholds from its first row to its last. Swaps never block, and a set is freed
    after its last batch. Thresholds that expire while in use still decide, with one `ExpiredWarning`; `expired` and
    `seconds_left` are for health checks.

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
    _now: tuple[Decider, int]  # one tuple, so that decider and version change together
    _due: float  # when to warn that the thresholds have expired; inf if they do not expire, or have been warned about
    _swapping: threading.Lock  # only those who swap wait for each other

    def __new__(cls, first: SolvedLike | Decider, *, unknown: Unknown = "raise", nan: Nan = "raise") -> LiveDecider:
        """Make a live decider of the current backend."""
        decider = as_decider(first, unknown, nan)
        self: LiveDecider
        if cls is LiveDecider and decider._backend == "native":
            from gstar_fast._decide.quick import QuickLiveDecider  # there where the extension is

            self = QuickLiveDecider.of(decider)
        else:
            self = object.__new__(cls)
            self._now, self._due, self._swapping = (decider, 1), _due(decider), threading.Lock()
        self._backend = decider._backend
        self._unknown, self._nan = unknown, nan
        return self

    def swap(self, following: SolvedLike | Decider) -> int:
        """Decide by other thresholds from now on; returns their version.

        Running batches finish with the old thresholds. Invalid or expired thresholds raise an error, and the current
        ones stay in use.
        """
        decider = as_decider(following, self._unknown, self._nan)
        if _seconds_left(decider) == 0:
            raise refusal("swap_expired", "thresholds", value=date_text(decider._thresholds.expires or 0))
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

    @property
    def expired(self) -> bool:
        """Whether the current thresholds have expired; False if they have no expiry."""
        return self.seconds_left == 0

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the current thresholds expire, 0 once they have; None if they have no expiry."""
        return _seconds_left(self.decider)

    @overload
    def __call__(
        self,
        scores: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        with_version: Literal[False] = False,
        **options: Unpack[CallOptions],
    ) -> NDArray[np.bool_]: ...
    @overload
    def __call__(
        self,
        scores: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        with_version: Literal[True],
        **options: Unpack[CallOptions],
    ) -> tuple[NDArray[np.bool_], int]: ...
    def __call__(
        self,
        scores: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        with_version: bool = False,
        **options: Unpack[CallOptions],
    ) -> NDArray[np.bool_] | tuple[NDArray[np.bool_], int]:
        """Decide many rows as `Decider` does; `with_version=True` also tells by which version."""
        with_version = checked_flag("with_version", with_version)
        decider, version = self._begin()
        answers = decider(scores, groups, **options)
        return (answers, version) if with_version else answers

    def one(self, score: float, group: Name | float | None = None, key: Key | None = None) -> bool:
        """Decide one row."""
        return self._begin()[0].one(score, group, key)

    def one_with_version(
        self, score: float, group: Name | float | None = None, key: Key | None = None
    ) -> tuple[bool, int]:
        """Decide one row and tell by which version, for the audit log."""
        decider, version = self._begin()
        return decider.one(score, group, key), version

    def margin(
        self, scores: ArrayLike, groups: ArrayLike | None = None, **options: Unpack[MarginOptions]
    ) -> NDArray[np.float64]:
        """Score minus threshold of each row; see `Decider.margin`."""
        return self._begin()[0].margin(scores, groups, **options)

    def _read(self) -> tuple[Decider, int]:
        """The decider of the moment and its version."""
        return self._now

    def _begin(self) -> tuple[Decider, int]:
        """The same for deciding: warns if the thresholds have expired."""
        if time.time() >= self._due:
            with self._swapping:  # one of many threads warns
                due = self._due
                if is_due := time.time() >= due:
                    self._due = math.inf
            if is_due:
                self._warn_expired(int(due))
        return self._now

    def _warn_expired(self, due: int) -> None:
        """Warn at the line of the caller."""
        warn(refusal("decides_expired", value=date_text(due)))

    def _put(self, decider: Decider) -> int:
        """Put another decider in place; the new version."""
        with self._swapping:
            version = self._now[1] + 1
            self._now, self._due = (decider, version), _due(decider)
        return version

    def __repr__(self) -> str:
        decider, version = self._read()
        return f"LiveDecider(version {version}: {decider!r})"

    def __reduce__(self) -> NoReturn:
        raise bad_type("live", "a live decider belongs to one process; send its decider instead: live.decider")


def _due(decider: Decider) -> float:
    """When the thresholds of a decider expire, in seconds since 1970."""
    expires = decider._thresholds.expires
    return math.inf if expires is None else expires


def _seconds_left(decider: Decider) -> float | None:
    """Seconds until the thresholds of a decider expire, 0 once they have; None if they have no expiry."""
    due = _due(decider)
    return None if due == math.inf else max(0.0, due - time.time())
