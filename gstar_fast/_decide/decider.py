"""Decider: scores and groups -> decisions, by thresholds that never change."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gstar_fast import _backends
from gstar_fast._backends.interface import DecideCore, Key
from gstar_fast._base import files
from gstar_fast._base.names import Name, listed
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.place import bad_option_type, bad_type
from gstar_fast._base.text import some
from gstar_fast._base.thresholds import Mixture, Nan, Thresholds, Unknown, date_text, make
from gstar_fast._decide import document
from gstar_fast._decide.rows import check_out, rows_of
from gstar_fast._input.options import checked_flag

__all__ = ["Decider"]


@lives_in("gstar_fast")
class Decider:
    """Decides whether scores are accepted: `score >= threshold` of the row's group, compared in float64.

    Usually made by `result.decider(...)` or `Decider.load(...)`. It never changes and may be shared by threads.

    Parameters
    ----------
    thresholds : dict
        Group -> number; -inf accepts every row, inf only a score of inf. Or the text of `to_json`, which has the
        options too.
    unknown : {"raise", "default"} or float
        For a group that has no threshold: raise, take `default`, or take this threshold.
    nan : {"raise", False, True}
        For a score that is NaN: raise, reject the row, or accept it.
    default : float, optional
        The best threshold for all groups together, for `unknown="default"`.
    unified : bool
        All groups have the same threshold, so that no group is needed.
    mixtures : dict, optional
        Group -> (threshold, probability) pairs; each row draws one by its key.
    sketch_digest : str, optional
        `digest()` of the sketch that the thresholds came from.
    expires : datetime or str, optional
        When they should no longer be used, with its time zone.
    cuts : sequence of float, optional
        Cut points of a number that stands for the group, see `Segments`. The thresholds are then by segment, 0 to the
        number of cut points, and rows are decided by that number itself.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> decider = gf.Decider({"F": 0.25, "M": 0.75})
    >>> decider([0.5, 0.5], ["F", "M"])
    array([ True, False])
    >>> decider.one(0.5, "F")
    True
    >>> decider.margin([0.5, 0.5], ["F", "M"])
    array([ 0.25, -0.25])
    >>> gf.Decider({0: 0.25, 1: 0.75}, cuts=[0.5]).one(0.6, 0.4)
    True
    """

    _thresholds: Thresholds
    _backend: str
    _held: DecideCore

    def __new__(
        cls,
        thresholds: Mapping[Any, float] | str,  # Name; but to a type checker dict[str, float] is no Mapping[Name, ...]
        *,
        unknown: Unknown = "raise",
        nan: Nan = "raise",
        default: float | None = None,
        unified: bool = False,
        mixtures: Mapping[Any, Iterable[tuple[float, float]]] | None = None,
        sketch_digest: str | None = None,
        expires: datetime | str | None = None,
        score_column: str | None = None,
        group_column: str | None = None,
        cuts: Iterable[float] | None = None,
    ) -> Decider:
        """Check the thresholds and make a decider of the current backend."""
        options: dict[str, Any] = {
            "unknown": unknown,
            "nan": nan,
            "default": default,
            "unified": checked_flag("unified", unified),
            "mixtures": mixtures,
            "sketch_digest": sketch_digest,
            "expires": expires,
            "score_column": score_column,
            "group_column": group_column,
            "cuts": cuts,
        }
        if not isinstance(thresholds, str):
            return decider_of(make(thresholds, **options), kind=cls)
        defaults = Decider.__new__.__kwdefaults__ or {}
        given = [name for name, value in options.items() if value is not defaults[name]]
        if given:
            raise bad_option_type(
                "thresholds", f"thresholds given as JSON have their options in it; leave out {', '.join(given)}"
            )
        return decider_of(document.read(thresholds).thresholds, kind=cls)

    # -------------------------------------------------------------------------------------------------------- deciding

    def __call__(
        self,
        scores: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        keys: ArrayLike | None = None,
        codes: bool = False,
        out: NDArray[np.bool_] | None = None,
        threads: int = 1,
    ) -> NDArray[np.bool_]:
        """Decide many rows: all of them, or none and an error.

        Parameters
        ----------
        scores : array-like of shape (n_samples,)
            As for `Sketch.update`; -inf and inf are compared like all others.
        groups : array-like of shape (n_samples,), or several columns
            Group of each row, as for `Sketch.update`: several columns where the groups are tuples, in their order. Not
            needed where thresholds are unified. With `cuts`, the float that stands for the group, such as
            P(group | x): its segment is the number of cut points that it reaches. A NaN or null lies in no segment and
            is an unknown group.
        keys : array-like of shape (n_samples,), optional
            For randomised thresholds: what identifies the row, ints, strings or bytes. The same key draws the same.
        codes : bool
            Groups are positions in `groups` of the decider, not names.
        out : bool array of shape (n_samples,), optional
            Where to put the answer. After an error it is as it was.
        threads : int
            Threads for a large batch (native backend).

        Returns
        -------
        bool array of shape (n_samples,)
            True where the row is accepted.

        Raises
        ------
        ValueError
            If a group is unknown or a score NaN and the policy is "raise", or arrays differ in length.
        TypeError
            If an array holds the wrong kind of values, or a group is missing.
        """
        rows = rows_of(self._thresholds, self._backend, scores, groups, keys, codes, threads)
        if out is None:
            return self._core.decide(*rows, None)
        check_out(out, len(rows[0]))
        apart = self._thresholds.can_refuse or not out.flags.c_contiguous
        if apart or any(np.may_share_memory(out, rows[i]) for i in (0, 1, 4) if rows[i] is not None):
            out[:] = self._core.decide(*rows, None)
        else:
            self._core.decide(*rows, out)
        return out

    def one(self, score: float, group: Name | float | None = None, key: Key | None = None) -> bool:
        """Decide one row, in tens of nanoseconds; with `cuts`, `group` is the number that stands for it.

        Examples
        --------
        >>> import gstar_fast as gf
        >>> gf.Decider({1: 0.25, 2: 0.75}, unknown=0.5).one(0.6, 3)
        True
        """
        return self._core.one(score, group, key)

    def margin(
        self,
        scores: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        keys: ArrayLike | None = None,
        codes: bool = False,
        threads: int = 1,
    ) -> NDArray[np.float64]:
        """Score minus threshold of each row: not negative for exactly the rows that are accepted.

        Where both are the same infinity it is 0; for a NaN score that the policy lets pass it is NaN.
        """
        return self._core.margins(*rows_of(self._thresholds, self._backend, scores, groups, keys, codes, threads))

    @property
    def _core(self) -> DecideCore:
        """What decides."""
        return self._held

    # ------------------------------------------------------------------------------------------------------- reading

    @property
    def thresholds(self) -> dict[Name, float]:
        """Threshold of each group; accept when `score >= threshold`."""
        return dict(self._thresholds.values)

    @property
    def groups(self) -> tuple[Name, ...]:
        """Names of the groups; `codes=True` counts positions in it."""
        return tuple(self._thresholds.values)

    @property
    def mixtures(self) -> dict[Name, Mixture] | None:
        """Of a randomised decider, the (threshold, probability) pairs of each group."""
        return None if self._thresholds.mixtures is None else dict(self._thresholds.mixtures)

    @property
    def unified(self) -> bool:
        """Whether all groups have one threshold."""
        return self._thresholds.unified

    @property
    def randomized(self) -> bool:
        """Whether decisions need a key for each row."""
        return self._thresholds.mixtures is not None

    @property
    def default(self) -> float | None:
        """The best threshold for all groups together, for `unknown="default"`."""
        return self._thresholds.default

    @property
    def unknown(self) -> Unknown:
        """Policy for groups without a threshold."""
        return self._thresholds.unknown

    @property
    def nan(self) -> Nan:
        """Policy for scores that are NaN."""
        return self._thresholds.nan

    @property
    def sketch_digest(self) -> str | None:
        """Digest of the sketch that the thresholds came from."""
        return self._thresholds.sketch_digest

    @property
    def expires(self) -> datetime | None:
        """When the thresholds should no longer be used."""
        seconds = self._thresholds.expires
        return None if seconds is None else datetime.fromisoformat(date_text(seconds))

    @property
    def score_column(self) -> str | None:
        """Name of the column of scores, for the command line."""
        return self._thresholds.score_column

    @property
    def group_column(self) -> str | None:
        """Name of the column of groups, for the command line; several stand there as a line of CSV."""
        return self._thresholds.group_column

    @property
    def cuts(self) -> tuple[float, ...] | None:
        """Cut points of the number that stands for the group; None where groups decide by their names."""
        return self._thresholds.cuts

    @property
    def backend(self) -> str:
        """Backend that decides."""
        return self._backend

    def __repr__(self) -> str:
        what = "one threshold" if self.unified else f"{len(self.groups)} groups: {listed(self.groups)}"
        if self.cuts is not None:
            what = f"{len(self.groups)} segments, cut at {some(list(map(repr, self.cuts)), 10)}"
        return f"Decider({what}; unknown={self.unknown!r}, nan={self.nan!r})"

    def __eq__(self, other: object) -> bool:
        return self._thresholds == other._thresholds if isinstance(other, Decider) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._thresholds.checksum)

    # -------------------------------------------------------------------------------------------------------- saving

    def to_json(self) -> str:
        """Thresholds and policies as JSON, with a checksum."""
        return document.to_json(self._thresholds)

    def to_bytes(self) -> bytes:
        """The same in binary, for `csrc/gstar` and the C interface."""
        return self._thresholds.to_bytes()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON to a file, atomically."""
        files.write_atomically(path, self.to_json().encode("utf-8"))

    @classmethod
    def from_json(cls, text: str) -> Decider:
        """Read what `to_json` wrote, or the JSON of a result. The checksum is compared where there is one."""
        return decider_of(document.read(text).thresholds)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        unknown: Unknown | None = None,
        nan: Nan | None = None,
        allow_expired: bool = False,
        digest: str | None = None,
        now: datetime | None = None,
    ) -> Decider:
        """Read a saved decider or result; raise if it is damaged, expired or of another sketch.

        Parameters
        ----------
        path : path
            A file of JSON.
        unknown, nan
            Other policies than the saved ones.
        allow_expired : bool
            Take thresholds whose time is over.
        digest : str, optional
            Raise if the thresholds did not come from the sketch with this `digest()`.
        now : datetime, optional
            Instead of the clock's time.
        """
        thresholds = document.load_current(path, allow_expired=allow_expired, digest=digest, now=now)
        if unknown is not None or nan is not None:
            thresholds = thresholds.with_policies(
                thresholds.unknown if unknown is None else unknown, thresholds.nan if nan is None else nan
            )
        return decider_of(thresholds)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.to_json(),)  # skops allows only the class and plain values here


# --------------------------------------------------------------------------------------------------------------- making


def decider_of(thresholds: Thresholds, backend: str | None = None, kind: type[Decider] = Decider) -> Decider:
    """A decider of a backend, the current one if none is named, by thresholds that were checked."""
    backend = _backends.current() if backend is None else backend
    self: Decider
    if kind is Decider and backend == "native":
        from gstar_fast._decide.quick import QuickDecider  # there where the extension is

        self = QuickDecider.of(thresholds)
    else:
        self = object.__new__(kind)
        self._held = _backends.room("decide", backend).Core(thresholds)
        if kind is Decider:
            self.one = self._held.one  # type: ignore[method-assign]  # no Python frame of ours between
    self._thresholds = thresholds
    self._backend = backend
    return self


class SolvedLike(Protocol):
    """What `solve` answers, as far as a decider is concerned."""

    def decider(self, *, unknown: Unknown = "raise", nan: Nan = "raise") -> Decider:
        """A decider by these thresholds."""


def as_decider(source: Decider | SolvedLike, unknown: Unknown = "raise", nan: Nan = "raise") -> Decider:
    """A decider as it is; that of a result with these policies."""
    if isinstance(source, Decider):
        return source
    make = getattr(source, "decider", None)
    decider = make(unknown=unknown, nan=nan) if callable(make) else None
    if not isinstance(decider, Decider):
        raise bad_type("source", f"a result or a decider is needed, got {type(source).__name__}")
    return decider
