"""Segments: a column whose order means something, cut from a number or counted as it is."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from gstar_fast._base import json
from gstar_fast._base.arrays import Floats, Ints
from gstar_fast._base.files import read_limited, write_atomically
from gstar_fast._base.public import lives_in
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.thresholds import ascending
from gstar_fast._input.options import checked_flag
from gstar_fast._sketch.sketch import Sketch

EACH: Final = 64  # rows of the smallest cell for each segment
MOST, MOST_MONOTONE = 16, 32
FORMAT: Final = "gstar_fast.segments"
LONGEST: Final = 2**20  # bytes of a file
MEMBERS: Final = ("cuts", "column", "monotone")

Column: TypeAlias = str | int  # its name, or its position from 0


@lives_in("gstar_fast")
@dataclass(frozen=True)
class Segments:
    """Thresholds by a column of segments: whole numbers whose order has a meaning.

    Pass it to `solve` as `decide_by`. With `cuts` the column was cut from a number that stands for the group, such as
    P(group | x): a row's segment is how many cut points its number reaches, and the decider takes the number.

    Attributes
    ----------
    cuts : tuple of float or None
        Ascending. Segment 0 lies below the first, segment k from cut k - 1 up to the next. None for a column of whole
        numbers that is in order already, such as an age.
    column : str, int or None
        The group column that holds the segments, by name or position; `of` sets it.
    monotone : bool
        Whether thresholds rise along the segments, or fall, whichever has the lower error.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> cut = gf.Segments((0.25, 0.5))
    >>> cut.cut([0.1, 0.25, 0.4, 0.9])
    array([0, 1, 1, 2])
    >>> cut.of("segment").column
    'segment'
    """

    cuts: tuple[float, ...] | None = None
    column: Column | None = field(default=None, kw_only=True)
    monotone: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        if self.cuts is None and self.column is None:
            raise refusal("segments_empty", "cuts")
        if self.column is not None and (isinstance(self.column, bool) or not isinstance(self.column, (str, int))):
            raise refusal("role_type", "column", value=self.column)
        object.__setattr__(self, "monotone", checked_flag("monotone", self.monotone))
        object.__setattr__(self, "cuts", None if self.cuts is None else ascending(self.cuts))

    @classmethod
    def from_scores(
        cls, q: ArrayLike, labels: ArrayLike | None, groups: ArrayLike, *, monotone: bool = True
    ) -> Segments:
        """Cut points that give segments of equally many rows, as many as the rows can carry.

        One segment for each 64 rows of the smallest cell, that is the rows of one label in one protected group; at
        most 16, or 32 for monotone thresholds.

        Parameters
        ----------
        q : array-like of shape (n_samples,)
            Out of fold: no row's number may come from a model that was trained on that row.
        labels, groups : array-like
            As for `Sketch.update`; `groups` are the protected ones.
        monotone : bool
            Whether thresholds will be monotone along the segments.
        """
        monotone = checked_flag("monotone", monotone)
        numbers = _finite(q)
        if not len(numbers):
            raise refusal("segment_numbers", "q", value="no rows")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are about scores, which these are not
            sketch = Sketch.from_rows(numbers, labels, groups)
        core = sketch._core
        cells = np.array([core.counts(label).sum(axis=1) for label in (0, 1)]) + core.below()[:2] + core.above()[:2]
        smallest = int(cells[cells > 0].min(initial=np.iinfo(np.int64).max)) if cells.any() else 0
        m = max(1, min(smallest // EACH, MOST_MONOTONE if monotone else MOST))
        at = np.unique(np.quantile(numbers, np.arange(1, m) / m, method="higher")) if m > 1 else np.empty(0)
        return cls(tuple(at[at > numbers.min()].tolist()), monotone=monotone)

    def of(self, column: Column) -> Segments:
        """The same segments of a column that is now named."""
        return replace(self, column=column)

    @property
    def count(self) -> int:
        """How many segments the cut points make."""
        return len(self._known()) + 1

    def cut(self, q: ArrayLike) -> Ints:
        """The segment of each number: how many cut points it reaches."""
        return np.searchsorted(np.array(self._known()), _finite(q), side="right").astype(np.int64)

    def _known(self) -> tuple[float, ...]:
        if self.cuts is None:
            raise refusal("no_cuts", "cuts", value=self.column)
        return self.cuts

    def as_python(self) -> Code:
        """The call that makes these segments, as Python code."""
        given = [] if self.cuts is None else [repr(self.cuts)]
        given += [] if self.column is None else [f"column={self.column!r}"]
        return Code(f"gf.Segments({', '.join([*given, *['monotone=False'] * (not self.monotone)])})")

    def to_dict(self) -> dict[str, object]:
        """The segments as JSON has them."""
        return {
            "cuts": None if self.cuts is None else list(self.cuts),
            "column": self.column,
            "monotone": self.monotone,
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Segments:
        """Read what `to_dict` wrote."""
        if set(saved) != set(MEMBERS):
            raise refusal("not_valid", "file of segments", value="it has other members, or is of another version")
        cuts: Any = saved["cuts"]
        if cuts is not None and not (isinstance(cuts, list) and all(type(x) in (int, float) for x in cuts)):
            raise refusal("not_valid", "file of segments", value="cuts must be a list of numbers")
        return cls(None if cuts is None else tuple(cuts), column=saved["column"], monotone=saved["monotone"])

    def to_json(self) -> str:
        """The segments as readable JSON, with a checksum."""
        return json.dumps(json.sealed({"format": FORMAT, "version": 1, **self.to_dict()}))

    @classmethod
    def from_json(cls, text: str) -> Segments:
        """Read what `to_json` wrote; anything else, or what was changed since, raises ValueError."""
        content = json.read(text)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise refusal("not_valid", "file of segments", value=f"'format' is not {FORMAT!r}")
        if not content.keys() >= {"version", "checksum"} or content["version"] != 1:
            raise refusal("not_valid", "file of segments", value="it has other members, or is of another version")
        json.check_seal(content, json.checksum(content))
        return cls.from_dict({name: content[name] for name in content.keys() - {"format", "version", "checksum"}})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the cut points as JSON; the file is replaced whole or not at all."""
        write_atomically(path, self.to_json().encode("utf-8"))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Segments:
        """Read saved cut points; ValueError says what is wrong with a file."""
        data = read_limited(path, LONGEST, f"larger than {LONGEST >> 20} MiB, which no cut points are; check the path")
        try:
            return cls.from_json(data.decode("utf-8"))
        except ValueError as error:
            raise refusal("in_file", os.fspath(path), value=error) from None


class Code(str):
    """A piece of Python code, which stands in other code as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _finite(q: ArrayLike) -> Floats:
    try:
        numbers = np.asarray(q, dtype=np.float64)
    except (TypeError, ValueError):
        raise refusal("segment_numbers_type", "q", value=q) from None
    if numbers.ndim != 1:
        raise refusal("segment_numbers", "q", value=f"shape {numbers.shape}")
    if not (finite := np.isfinite(numbers)).all():
        row = int(np.argmin(finite))
        raise refusal("segment_numbers", "q", row, value="NaN" if np.isnan(numbers[row]) else float(numbers[row]))
    return numbers
