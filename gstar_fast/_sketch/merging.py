"""Many sketches, or files of them, into one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Literal

from gstar_fast._base import files
from gstar_fast._base.names import Name
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._input.missing import Missing
from gstar_fast._sketch.sketch import Sketch

__all__ = ["add", "merge_all"]


def merge_all(
    sketches: Iterable[Sketch | bytes | str | os.PathLike[str]],
    *,
    nan: Literal["raise", "skip"] = "raise",
    missing: Missing = None,
    memory_limit: int = 2**30,
    missing_group: Name = "raise",
) -> Sketch:
    """One sketch of the rows of many: the same as their sum, in the memory of one.

    Bytes and files are added as they are read, and no sketch is made of each.

    Parameters
    ----------
    sketches : iterable of Sketch, bytes or path
        At least one: sketches, what `Sketch.to_bytes` gave, or files that `Sketch.save` wrote. May be a generator.
    nan, missing, memory_limit, missing_group
        Options of the new sketch, see `Sketch`.

    Returns
    -------
    Sketch
        A new one; those that were given do not change.

    Raises
    ------
    ValueError
        If there is none, or one of them is not a sketch or cannot be merged with those before it; `row` of the error
        and its message say which.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> days = [gf.Sketch.from_rows([score], [1], ["F"]) for score in (0.25, 0.5, 0.75)]
    >>> week = gf.merge_all(day.to_bytes() for day in days)
    >>> week.n_rows, week == sum(days)
    (3, True)
    """
    single = isinstance(sketches, (Sketch, bytes, bytearray, memoryview, str, os.PathLike))
    if single or not isinstance(sketches, Iterable):
        raise refusal("not_several", "sketches", value=sketches)
    total = Sketch(nan=nan, missing=missing, memory_limit=memory_limit, missing_group=missing_group)
    empty = True
    for position, one in enumerate(sketches):
        empty = False
        if not isinstance(one, (Sketch, bytes, bytearray, memoryview, str, os.PathLike)):
            raise refusal("not_mergeable", "sketches", position, one)
        try:
            add(total, one)
        except ValueError as error:
            raise refusal("cannot_merge", "sketches", position, str(error)) from error
    if empty:
        raise refusal("nothing_to_merge", "sketches")
    return total


def add(total: Sketch, one: Sketch | bytes | bytearray | memoryview | str | os.PathLike[str]) -> None:
    """Add a sketch, the bytes of one, or a file of such bytes to a sketch."""
    if isinstance(one, Sketch):
        total.merge(one)
        return
    if isinstance(one, (str, os.PathLike)):
        one = files.read_limited(one, 2 * total._core.memory_limit + 2**20)
    total._core.merge_bytes(bytes(one))
