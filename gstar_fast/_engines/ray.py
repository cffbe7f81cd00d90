"""Sketches of Ray datasets (extra `ray`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Unpack

from gstar_fast._engines.adapter import CountOptions, Job, check_frame, in_a_tree, job_of
from gstar_fast._sketch.sketch import Sketch

if TYPE_CHECKING:
    import pyarrow as pa
    from ray.data import Dataset

__all__ = ["sketch"]


def sketch(
    dataset: Dataset,
    *,
    score: str,
    label: str | None,
    group: str | Sequence[str],
    **options: Unpack[CountOptions],
) -> Sketch:
    """Count all blocks on the workers and merge them there: the bytes are those of one pass over the rows.

    Parameters are those of `gstar_fast.dask.sketch`; `dataset` is a `ray.data.Dataset`.
    """
    check_frame(dataset, "dataset", "ray", "ray.data.Dataset")
    import ray

    job = job_of(score, label, group, **options)
    rows = dataset.select_columns(job.columns)
    counted = rows.map_batches(_count, fn_args=(job,), batch_format="pyarrow", batch_size=None, zero_copy_batch=True)
    merge = ray.remote(_merge)
    answers = in_a_tree(counted.to_arrow_refs(), lambda piece: merge.remote(job, *piece))
    return job.finish(_answers(ray.get(answers)))


def _count(table: pa.Table, job: Job) -> pa.Table:
    return _answer(job.count(table))


def _merge(job: Job, *tables: pa.Table) -> pa.Table:
    return _answer(job.merge(_answers(tables)))


def _answers(tables: Iterable[pa.Table]) -> Iterator[bytes]:
    """Of a block without rows there is none, nor a column of them."""
    return (answer for table in tables if table.num_rows for answer in table["answer"].to_pylist())


def _answer(answer: bytes) -> pa.Table:
    import pyarrow as pa

    return pa.table({"answer": pa.array([answer], pa.binary())})
