"""Many sketches, or files of them, into one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TypeAlias, Unpack

from gstar_fast._base import files, sketch_format
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.text import counted, without_secrets
from gstar_fast._base.warn import warn
from gstar_fast._sketch.options import ReadOptions
from gstar_fast._sketch.sketch import Sketch
from gstar_fast._sketch.view import sha256_of

__all__ = ["add", "merge_all", "merge_named"]

Part: TypeAlias = Sketch | bytes | bytearray | memoryview | str | os.PathLike[str]
PARTS = (Sketch, bytes, bytearray, memoryview, str, os.PathLike)


def merge_all(sketches: Iterable[Part], **options: Unpack[ReadOptions]) -> Sketch:
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

    Warns
    -----
    RepeatedRowsWarning
        If two of them have rows and the same digest.

    Examples
    --------
    >>> import gstar_fast as gf
    >>> days = [gf.Sketch.from_rows([score], [1], ["F"]) for score in (0.25, 0.5, 0.75)]
    >>> week = gf.merge_all(day.to_bytes() for day in days)
    >>> week.n_rows, week == sum(days)
    (3, True)
    """
    if isinstance(sketches, PARTS) or not isinstance(sketches, Iterable):
        raise refusal("not_several", "sketches", value=sketches)
    return merge_named(((one, _name(one, position)) for position, one in enumerate(sketches)), Sketch(**options))


def merge_named(parts: Iterable[tuple[Part, str]], total: Sketch) -> Sketch:
    """Add sketches to an empty one; their names are for warnings."""
    first: dict[str, str] = {}  # the name of the first sketch that has a digest
    repeated: list[str] = []
    position = -1
    for position, (one, name) in enumerate(parts):
        if not isinstance(one, PARTS):
            raise refusal("not_mergeable", "sketches", position, one)
        before = total._core.total, total._core.weighted
        try:
            digest_of = add(total, one)
        except ValueError as error:
            raise refusal("cannot_merge", "sketches", position, str(error)) from error
        if (total._core.total, total._core.weighted) != before:
            digest = digest_of()
            if digest in first:
                repeated.append(f"{first[digest]} and {name}")
            first.setdefault(digest, name)
    if position < 0:
        raise refusal("nothing_to_merge", "sketches")
    if repeated:
        more = f" (and {counted(len(repeated) - 1, 'more pair')})" if len(repeated) > 1 else ""
        warn(refusal("repeated_rows", "sketches", value=repeated[0] + more))
    return total


def _name(one: object, position: int) -> str:
    return without_secrets(str(one)) if isinstance(one, (str, os.PathLike)) else f"sketch {position}"


def add(total: Sketch, one: Part) -> Callable[[], str]:
    """Add a sketch, its bytes, or a file to a sketch; returns a function that gives its digest."""
    if isinstance(one, Sketch):
        total.merge(one)
        return one.digest
    if isinstance(one, (str, os.PathLike)):
        one = files.read_limited(one, 2 * total._core.memory_limit + 2**20)
    data = bytes(one)
    sections = total._core.merge_bytes(data)
    return lambda: sha256_of(sketch_format.rows_in(data, sections))
