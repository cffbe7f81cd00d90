"""Rows of a Spark data frame into a sketch: through Python on the executors, or by queries of Spark's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING
from uuid import uuid4

from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._engines import sql
from gstar_fast._engines.adapter import FAN_IN, Job, check_columns
from gstar_fast._engines.spark_decide import quoted
from gstar_fast._sketch.columns import Columns
from gstar_fast._sketch.sketch import Sketch

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Batches = Iterator["pa.RecordBatch"]


def counted(df: DataFrame, job: Job, merge_tasks: int | None, *, whole: bool = True) -> Sketch:
    """The sketch of all rows, counted and merged by Python tasks; `whole` is False for a batch of a stream."""
    if merge_tasks is None:
        context = getattr(df.sparkSession, "_sc", None)  # not there with Spark Connect
        merge_tasks = FAN_IN if context is None else min(FAN_IN, context.defaultParallelism)
    answers = _plain(df, job).mapInArrow(_task(job.count, job.columns), "answer binary")
    merge = _task(lambda blobs: job.merge(_values(blobs)))
    for tasks in (merge_tasks, 1) if merge_tasks > 1 else (1,):
        answers = answers.repartition(tasks).mapInArrow(merge, "answer binary")
    return job.finish((bytes(row[0]) for row in answers.collect()), whole=whole)


def pushed_down(df: DataFrame, job: Job) -> Sketch:
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
