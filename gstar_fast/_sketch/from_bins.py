"""A sketch of counts that were made elsewhere: by a database, a cluster, a program in another language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

from gstar_fast._base.grid import linear_window
from gstar_fast._base.names import Name, given_names
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._input.options import checked_bins, checked_limit, checked_window
from gstar_fast._sketch.options import Saved


class FromBins(Saved):
    """The part of `Sketch` that takes counts in the place of rows."""

    @classmethod
    def from_bins(
        cls,
        rows: Iterable[Sequence[object]],
        *,
        bins: int = 4096,
        level: int | None = None,
        range: tuple[float, float] | None = None,  # noqa: A002 (the word numpy uses)
        groups: Iterable[Name] | None = None,
        memory_limit: int = 2**30,
    ) -> Self:
        """A sketch of counts that were made elsewhere, with the bytes it would have if the scores were counted here.

        Each row tells of some scores of one label and group that lie in one bin. A bin may have several rows: they are
        added up. Scores below zero, zero, and scores above zero have rows of their own (with `range` this is not
        needed).

        Parameters
        ----------
        rows : iterable of tuples (group, label, count, min, max, sum, unit)
            - group: its name, a tuple for intersections
            - label: 0, 1, or None for unlabelled scores
            - count: how many scores
            - min, max: the smallest and the largest of them. Of infinite scores and of those outside of `range` only
              the count matters, and sum may be None. None for min, max and sum: these scores were NaN or missing, and
              are counted in `skipped`
            - sum: an int; the sum of the scores, each rounded to 24 significant bits (ties to even), is
              ``sum * 2**unit``

            Without sum and unit, in all rows, the sketch has no means, see `has_means`. Rows of weighted scores have
            two values more: number, how many scores there are, and squares, the sum of their squared weights in units
            of 2**-40; count and sum are then in units of 2**-20, and each score goes into them with its weight.
        bins, range, groups, memory_limit
            As in `Sketch`.
        level : int, optional
            The level that the rows were made for. The scores must have this one.

        Raises
        ------
        ValueError, TypeError
            If a row, or all of them together, cannot come from scores; it says what is wrong with which row.

        Examples
        --------
        >>> import gstar_fast as gf
        >>> rows = [("F", 0, 2, 0.25, 0.25, 2, -2), ("F", 1, 1, 0.75, 0.75, 3, -2)]
        >>> gf.Sketch.from_bins(rows) == gf.Sketch.from_rows([0.25, 0.75, 0.25], [0, 1, 0], ["F", "F", "F"])
        True
        """
        bins, limit = checked_bins(bins), checked_limit(memory_limit)
        fixed = None if range is None else linear_window(*checked_window(range, bins), bins)
        given = None if groups is None else given_names(groups)
        from gstar_fast._base import sketch_format  # not at import: few programs need them
        from gstar_fast._sketch.bins import content_of

        content = content_of(rows, bins, fixed, given, limit)
        if level is not None and content.window.grid.level != level:
            raise refusal("bins_level", "level", value=level, limit=content.window.grid.level)
        return cls.from_bytes(sketch_format.write(content), memory_limit=limit)
