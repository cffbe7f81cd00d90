"""Segments of a group probability: where to cut it, and how often the rows allow."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import Any, Final

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
from gstar_fast._solver.snapshot import Snapshot

EACH: Final = 64  # rows of the smallest cell for each segment
MOST, MOST_MONOTONE = 16, 32
FORMAT: Final = "gstar_fast.segments"
LONGEST: Final = 2**20  # bytes of a file


@lives_in("gstar_fast")
@dataclass(frozen=True)
class Segments:
    """Cut points of a number that stands for the group, such as P(group | x): a row's segment is how many it reaches.

    Attributes
    ----------
    cuts : tuple of float
        Ascending. Segment 0 lies below the first, segment k from cut k - 1 up to the next.
    monotone : bool
        Whether so many segments are meant for monotone thresholds; `solve(segments=...)` takes it as its default.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> cut = gf.Segments((0.25, 0.5))
    >>> cut.cut([0.1, 0.25, 0.4, 0.9])
    array([0, 1, 1, 2])
    """

    cuts: tuple[float, ...]
    monotone: bool = True

    def __post_init__(self) -> None:
        cuts = ascending(self.cuts)
        object.__setattr__(self, "monotone", checked_flag("monotone", self.monotone))
        object.__setattr__(self, "cuts", cuts)

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
        cells = Snapshot.of(sketch).rows[:2].sum(axis=2)
        smallest = int(cells[cells > 0].min(initial=np.iinfo(np.int64).max)) if cells.any() else 0
        m = max(1, min(smallest // EACH, MOST_MONOTONE if monotone else MOST))
        at = np.unique(np.quantile(numbers, np.arange(1, m) / m, method="higher")) if m > 1 else np.empty(0)
        return cls(tuple(at[at > numbers.min()].tolist()), monotone)

    @property
    def count(self) -> int:
        """How many segments there are."""
        return len(self.cuts) + 1

    def cut(self, q: ArrayLike) -> Ints:
        """The segment of each number: how many cut points it reaches."""
        return np.searchsorted(np.array(self.cuts), _finite(q), side="right").astype(np.int64)

    def to_json(self) -> str:
        """The cut points as readable JSON, with a checksum."""
        content = {"format": FORMAT, "version": 1, "cuts": list(self.cuts), "monotone": self.monotone}
        return json.dumps(json.sealed(content))

    @classmethod
    def from_json(cls, text: str) -> Segments:
        """Read what `to_json` wrote; anything else, or what was changed since, raises ValueError."""
        content = json.read(text)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f"not saved segments: 'format' is not {FORMAT!r}")
        if set(content) != {"format", "version", "cuts", "monotone", "checksum"} or content["version"] != 1:
            raise ValueError("not saved segments: it has other members, or is of another version")
        json.check_seal(content, json.checksum(content))
        cuts: Any = content["cuts"]
        if not isinstance(cuts, list) or not all(type(x) in (int, float) for x in cuts):
            raise ValueError("not saved segments: cuts must be a list of numbers")
        return cls(tuple(cuts), content["monotone"])

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
            raise ValueError(f"{os.fspath(path)!r}: {error}") from None


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
