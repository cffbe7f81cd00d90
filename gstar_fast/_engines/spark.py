"""Sketches and decisions of Spark data frames and streams (extra `spark`).

Rows go to Python as Arrow batches (`mapInArrow`), so classic sessions and Spark Connect work alike. The workers need
gstar_fast and the Python of the driver (`PYSPARK_PYTHON`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Unpack
from uuid import uuid4

from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._engines import sql
from gstar_fast._engines.adapter import FAN_IN, CountOptions, Job, check_columns, check_frame, job_of
from gstar_fast._engines.spark_decide import decide, quoted
from gstar_fast._input.options import checked_flag
from gstar_fast._sketch.columns import Columns
from gstar_fast._sketch.sketch import Sketch

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["decide", "foreach_batch", "sketch"]

Batches = Iterator["pa.RecordBatch"]


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
        If a row is rejected; the message names the column and what to do.
    """
    pushdown = checked_flag("pushdown", pushdown)
    check_frame(df, "df", "pyspark", "pyspark.sql.DataFrame")
    job = job_of(score, label, group, **options)
    return _pushed_down(df, job) if pushdown else _counted(df, job, merge_tasks)


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
        In the query, if a row is rejected, or if the folder has later batches: they come from another checkpoint.
    """
    job = job_of(score, label, group, **options)
    place = Path(folder)

    def count_batch(df: DataFrame, batch_id: int) -> None:
        file = place / f"batch-{batch_id:012d}.gstar"
        last = max((found.name for found in place.glob("batch-*.gstar")), default="")
        if last > file.name:
            raise refusal("other_checkpoint", "folder", value=batch_id, limit=str(place / last))
        place.mkdir(parents=True, exist_ok=True)
        _counted(df, job, None, whole=False).save(file)

    return count_batch


def _counted(df: DataFrame, job: Job, merge_tasks: int | None, *, whole: bool = True) -> Sketch:
    """The sketch of all rows, counted and merged by Python tasks; `whole` is False for a batch of a stream."""
    if merge_tasks is None:
        context = getattr(df.sparkSession, "_sc", None)  # not there with Spark Connect
        merge_tasks = FAN_IN if context is None else min(FAN_IN, context.defaultParallelism)
    answers = _plain(df, job).mapInArrow(_task(job.count, job.columns), "answer binary")
    merge = _task(lambda blobs: job.merge(_values(blobs)))
    for tasks in (merge_tasks, 1) if merge_tasks > 1 else (1,):
        answers = answers.repartition(tasks).mapInArrow(merge, "answer binary")
    return job.finish((bytes(row[0]) for row in answers.collect()), whole=whole)


def _pushed_down(df: DataFrame, job: Job) -> Sketch:
    """The same sketch by two queries, which Spark runs without Python."""
    table = job.table
    for name, value in (("weight", table.weight), ("repeats", table.repeats), ("missing", job.missing)):
        if value is not None:
            raise refusal("not_pushed_down", name, value=value)
    plain = dict(zip(job.columns, _plain_names(job), strict=True))
    session, view = df.sparkSession, f"gstar_fast_{uuid4().hex}"
    _plain(df, job).createTempView(view)
    try:
        sketch = sql.sketch(
            lambda query: session.sql(query).collect(),
            view,
            score=plain[table.score],
            label=None if table.label is None else plain[table.label],
            group=[plain[name] for name in table.groups],
            dialect="spark",
            positive=table.positive,
            nan=job.nan,
            missing_group=job.missing_group,
            **job.options,
        )
    finally:
        session.catalog.dropTempView(view)
    return sketch._remember(Columns(table.score, table.label, table.groups), table.positive)


def _plain_names(job: Job) -> list[str]:
    return [f"c{i}" for i in range(len(job.columns))]


def _plain(df: DataFrame, job: Job) -> DataFrame:
    """The columns of a job under plain names, since `mapInArrow` trips over others; decimals but groups as doubles."""
    check_columns(job, df.columns, "df")
    decimals = {field.name for field in df.schema if field.dataType.typeName() == "decimal"} - {*job.table.groups}
    found = [(name, df[quoted(name)]) for name in job.columns]
    columns = [column.cast("double") if name in decimals else column for name, column in found]
    return df.select(*[column.alias(name) for name, column in zip(_plain_names(job), columns, strict=True)])


def _task(
    answer: Callable[[pa.RecordBatchReader], bytes], names: list[str] | None = None
) -> Callable[[Batches], Batches]:
    """What a task does: all batches of a partition, as one reader, into one answer; no rows, no answer."""

    def run(batches: Batches) -> Batches:
        import pyarrow as pa

        if names is not None:
            batches = (pa.RecordBatch.from_arrays(batch.columns, names) for batch in batches)
        first = next(batches, None)
        if first is not None:
            reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
            yield pa.record_batch([pa.array([answer(reader)], pa.binary())], names=["answer"])

    return run


def _values(blobs: pa.RecordBatchReader) -> Iterator[bytes]:
    return (blob.as_py() for batch in blobs for blob in batch.column(0))
