"""Sketches and decisions of Spark data frames and streams (extra `spark`).

Rows go to Python as Arrow batches (`mapInArrow`), so classic sessions and Spark Connect work alike. The workers need
gstar_fast and the Python of the driver (`PYSPARK_PYTHON`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._engines.adapter import CountOptions, check_frame, job_of
from gstar_fast._engines.spark_decide import decide
from gstar_fast._engines.spark_rows import counted, pushed_down
from gstar_fast._input.options import checked_flag
from gstar_fast._sketch.sketch import Sketch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["decide", "foreach_batch", "sketch"]


def sketch(
    df: DataFrame,
    *,
    score: str,
    label: str | None,
    group: str | Sequence[str],
    pushdown: bool = False,
    merge_tasks: int | None = None,
    **options: Unpack[CountOptions],
) -> Sketch:
    """Count all partitions on the executors and merge them there: the bytes are those of one pass over the rows.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Only the named columns are read.
    score, label, group, weight, repeats, nan, missing_group, positive, missing, bins, range, groups, memory_limit
        As in `gstar_fast.dask.sketch`.
    pushdown : bool
        Count with two queries of Spark's own, as `gstar_fast.sql.sketch` does, where no Python may run on the
        executors. It takes more time, and no `weight`, `repeats` or `missing`. The bytes are the same.
    merge_tasks : int, optional
        Tasks that merge the sketches of the partitions, before one task merges theirs. Without it the number of
        cores, and at most 32; more are useful from about 100,000 partitions on.

    Raises
    ------
    InputError
        If a row is refused; the message names the column and what to do.
    """
    pushdown = checked_flag("pushdown", pushdown)
    check_frame(df, "df", "pyspark", "pyspark.sql.DataFrame")
    job = job_of(score, label, group, **options)
    return pushed_down(df, job) if pushdown else counted(df, job, merge_tasks)


def foreach_batch(
    folder: str | os.PathLike[str],
    *,
    score: str,
    label: str | None,
    group: str | Sequence[str],
    **options: Unpack[CountOptions],
) -> Callable[[DataFrame, int], None]:
    """A function for `writeStream.foreachBatch` that counts each row of a stream exactly once.

    It saves the sketch of each batch as a file with the batch's number. Spark may run a batch again after a failure;
    its file is then written again, so that no row counts twice. ``gf.merge_all(Path(folder).glob("*.gstar"))`` is the
    sketch of the stream so far.

    Parameters
    ----------
    folder : path
        A folder that the driver can write to, one for each checkpoint of a stream. It is made if it does not exist.
    score, label, group, weight, repeats, nan, missing_group, positive, missing, bins, range, groups, memory_limit
        As in `gstar_fast.spark.sketch`.

    Raises
    ------
    InputError
        In the query, if a row is refused, or if the folder has later batches: they come from another checkpoint.
    """
    job = job_of(score, label, group, **options)
    place = Path(folder)

    def count_batch(df: DataFrame, batch_id: int) -> None:
        file = place / f"batch-{batch_id:012d}.gstar"
        last = max((found.name for found in place.glob("batch-*.gstar")), default="")
        if last > file.name:
            raise refusal("other_checkpoint", "folder", value=batch_id, limit=str(place / last))
        place.mkdir(parents=True, exist_ok=True)
        counted(df, job, None, whole=False).save(file)

    return count_batch
