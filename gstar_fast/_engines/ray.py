"""Sketches of Ray datasets (extra `ray`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack

from gstar_fast._base.names import Name
from gstar_fast._engines.adapter import CountOptions, Job, check_frame, in_pieces, job_of
from gstar_fast._sketch.sketch import Sketch

if TYPE_CHECKING:
    from ray.data import Dataset

__all__ = ["sketch"]


def sketch(
    dataset: Dataset,
    *,
    score: str,
    label: str | None,
    group: str | Sequence[str],
    weight: str | None = None,
    repeats: str | None = None,
    nan: Literal["raise", "skip"] = "raise",
    missing_group: Name = "raise",
    **options: Unpack[CountOptions],
) -> Sketch:
    """Count all blocks on the workers and merge them there: the bytes are those of one pass over the rows.

    Parameters are those of `gstar_fast.dask.sketch`; `dataset` is a `ray.data.Dataset`.
    """
    check_frame(dataset, "dataset", "ray", "ray.data.Dataset")
    import ray

    job = job_of(score, label, group, weight, repeats, nan, missing_group, **options)
    rows = dataset.select_columns(job.columns)
    counted = rows.map_batches(_count, fn_args=(job,), batch_format="pyarrow", batch_size=None, zero_copy_batch=True)
    merge, answers = ray.remote(_merge), counted.to_arrow_refs()
    while len(answers) > 1:
        answers = [merge.remote(job, *piece) for piece in in_pieces(answers)]
    return job.finish(_answers(ray.get(answers)))


def _count(table: Any, job: Job) -> Any:
    return _answer(job.count(table))


def _merge(job: Job, *tables: Any) -> Any:
    return _answer(job.merge(_answers(tables)))


def _answers(tables: Iterable[Any]) -> Iterator[bytes]:
    """Of a block without rows there is none, nor a column of them."""
    return (answer for table in tables if table.num_rows for answer in table["answer"].to_pylist())


def _answer(answer: bytes) -> Any:
    import pyarrow as pa

    return pa.table({"answer": pa.array([answer], pa.binary())})
