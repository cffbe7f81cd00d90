"""Sketches and decisions of Spark data frames and streams (extra `spark`).

Rows go to Python as Arrow batches (`mapInArrow`), so classic sessions and Spark Connect work alike. The workers need
gstar_fast and the Python of the driver (`PYSPARK_PYTHON`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack
from uuid import uuid4

from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._engines import sql
from gstar_fast._engines.adapter import FAN_IN, CountOptions, Job, check_columns, check_frame, job_of
from gstar_fast._engines.keys import SKETCH, by_key, key_columns, merge_column
from gstar_fast._engines.spark_decide import FRAME, decide, quoted
from gstar_fast._input.options import checked_flag
from gstar_fast._sketch.columns import Columns
from gstar_fast._sketch.sketch import Sketch

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["decide", "foreach_batch", "merged", "sketch", "sketches"]


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
    check_frame(df, "df", FRAME)
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


def sketches(
    df: DataFrame,
    *,
    by: str | Sequence[str],
    score: str,
    label: str | None,
    group: str | Sequence[str],
    **options: Unpack[CountOptions],
) -> DataFrame:
    """A data frame of keys and sketches, one row for each key: the bytes are those of one pass over the key's rows.

    It is lazy, as everything of Spark, and nothing goes to the driver. Executors sort and count the rows of each
    partition, and the sketches of a key come together. Where a partition has few rows of each key, give it more of
    them first: ``df.repartition("day")``.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Only the named columns are read.
    by : str or several
        Names of the columns of keys, which may also be columns that are counted. Null is a key like others.
    score, label, group, weight, repeats, nan, missing_group, positive, missing, bins, range, groups, memory_limit
        As in `gstar_fast.dask.sketch`. A key that has no row with the positive label is not an error. A rejected row
        is one when the frame is computed.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns of keys, and `sketch`, which `Sketch.from_bytes` reads.
    """
    check_frame(df, "df", FRAME)
    keys, job = key_columns(by), job_of(score, label, group, **options)
    counted = _answers(_sorted(_plain(df, job, keys), len(keys)), len(keys), job.count_key, job.columns)
    return _named(_merged(counted, len(keys), merge_column), keys, SKETCH)


def merged(df: DataFrame, column: str, *, by: str | Sequence[str] = ()) -> DataFrame:
    """A data frame of keys and sketches in which the sketches of equal keys are added up.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        It has a column of sketches in bytes, such as `sketches` makes.
    column : str
        The name of this column.
    by : str or several
        Names of the columns of keys; without them the frame has one row, the sum of all.

    Examples
    --------
    ``gf.spark.merged(days, "sketch", by="month")`` adds up the days of each month.
    """
    check_frame(df, "df", FRAME)
    keys = key_columns(by, column)
    frame = _selected(df, keys, [column])
    return _named(_merged(frame, len(keys), merge_column, _cores(df)), keys, column)


def _counted(df: DataFrame, job: Job, merge_tasks: int | None, *, whole: bool = True) -> Sketch:
    """The sketch of all rows, counted and merged by Python tasks; `whole` is False for a batch of a stream."""
    answers = _answers(_plain(df, job), 0, job.count, job.columns)
    answers = _merged(answers, 0, job.merge_column, _cores(df) if merge_tasks is None else merge_tasks)
    return job.finish((bytes(row[0]) for row in answers.collect()), whole=whole)


def _cores(df: DataFrame) -> int:
    """Tasks that merge at the same time."""
    context = getattr(df.sparkSession, "_sc", None)  # not there with Spark Connect
    return FAN_IN if context is None else min(FAN_IN, context.defaultParallelism)


def _answers(
    df: DataFrame, n_keys: int, answer: Callable[[pa.RecordBatchReader], bytes], names: list[str]
) -> DataFrame:
    """The keys of each partition, whose rows are sorted by them, with the answers of tasks to their rows."""
    from pyspark.sql.types import BinaryType, StructField, StructType

    schema = StructType([*df.schema.fields[:n_keys], StructField(SKETCH, BinaryType())])
    return df.mapInArrow(partial(by_key, n_keys=n_keys, answer=answer, names=names), schema)


def _merged(
    answers: DataFrame, n_keys: int, merge: Callable[[pa.RecordBatchReader], bytes], tasks: int = 1
) -> DataFrame:
    """One answer for each key; without keys one in all, by so many tasks and then by one."""
    if n_keys:
        together = answers.repartition(*answers.columns[:n_keys])
        return _answers(_sorted(together, n_keys), n_keys, merge, [SKETCH])
    for n in (tasks, 1) if tasks > 1 else (1,):
        answers = _answers(answers.repartition(n), 0, merge, [SKETCH])
    return answers


def _sorted(df: DataFrame, n_keys: int) -> DataFrame:
    return df.sortWithinPartitions(*df.columns[:n_keys]) if n_keys else df


def _named(df: DataFrame, keys: Sequence[str], column: str) -> DataFrame:
    return df.toDF(*keys, column)


def _pushed_down(df: DataFrame, job: Job) -> Sketch:
    """The same sketch by two queries, which Spark runs without Python."""
    table = job.table
    for name, value in (("weight", table.weight), ("repeats", table.repeats), ("missing", job.missing)):
        if value is not None:
            raise refusal("not_pushed_down", name, value=value)
    rows = _plain(df, job)
    plain = dict(zip(job.columns, rows.columns, strict=True))
    job.check_types(rows.limit(0).toArrow().schema)
    session, view = df.sparkSession, f"gstar_fast_{uuid4().hex}"
    rows.createTempView(view)
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


def _plain(df: DataFrame, job: Job, keys: Sequence[str] = ()) -> DataFrame:
    """The columns of keys and of a job under plain names; decimals but groups and keys as doubles."""
    decimals = {field.name for field in df.schema if field.dataType.typeName() == "decimal"} - {*job.table.groups}
    return _selected(df, keys, job.columns, decimals)


def _selected(df: DataFrame, keys: Sequence[str], names: Sequence[str], doubles: Container[str] = ()) -> DataFrame:
    """The columns of keys, and the others, under plain names, since `mapInArrow` trips over some."""
    check_columns([*keys, *names], df.columns, "df")
    columns = [df[quoted(name)].alias(f"k{i}") for i, name in enumerate(keys)]
    for i, name in enumerate(names):
        column = df[quoted(name)]
        columns.append((column.cast("double") if name in doubles else column).alias(f"c{i}"))
    return df.select(*columns)
