"""Sketches of Ray datasets (extra `ray`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from gstar_fast._engines.adapter import CountOptions, check_frame, in_a_tree, job_of
from gstar_fast._engines.keys import SKETCH, by_key, key_columns, merge_column
from gstar_fast._sketch.sketch import Sketch

if TYPE_CHECKING:
    import pyarrow as pa
    from ray.data import Dataset

__all__ = ["merged", "sketch", "sketches"]

FRAME = "ray.data.Dataset"


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
    check_frame(dataset, "dataset", FRAME)
    import ray

    job = job_of(score, label, group, **options)
    answers = _answers(dataset, (), job.columns, job.count).to_arrow_refs()
    merge = ray.remote(_merge)
    found = ray.get(in_a_tree(answers, lambda piece: merge.remote(job.merge_column, *piece)))
    return job.finish(answer for table in found if table.num_rows for answer in table[SKETCH].to_pylist())


def sketches(
    dataset: Dataset,
    *,
    by: str | Sequence[str],
    score: str,
    label: str | None,
    group: str | Sequence[str],
    **options: Unpack[CountOptions],
) -> Dataset:
    """A dataset of keys and sketches, one row for each key: the bytes are those of one pass over the key's rows.

    Parameters are those of `gstar_fast.dask.sketches`; `dataset` is a `ray.data.Dataset`. It is lazy, and nothing goes
    to the driver.
    """
    check_frame(dataset, "dataset", FRAME)
    keys, job = key_columns(by), job_of(score, label, group, **options)
    return merged(_answers(dataset, keys, job.columns, job.count_key), SKETCH, by=keys)


def merged(dataset: Dataset, column: str, *, by: str | Sequence[str] = ()) -> Dataset:
    """A dataset of keys and sketches in which the sketches of equal keys are added up.

    Parameters are those of `gstar_fast.dask.merged`; `dataset` is a `ray.data.Dataset`.
    """
    check_frame(dataset, "dataset", FRAME)
    keys = key_columns(by, column)
    if not keys:
        parts = _answers(dataset, (), [column], merge_column).repartition(1)
        return _answers(parts, (), [SKETCH], merge_column, column)
    rows = dataset.select_columns([*keys, column]).groupby(list(keys))
    task = partial(_block, keys=keys, names=[column], answer=merge_column, called=column)
    return rows.map_groups(task, batch_format="pyarrow")


def _answers(
    dataset: Dataset, keys: Sequence[str], names: list[str], answer: Callable[[Any], bytes], called: str = SKETCH
) -> Dataset:
    """The keys of each block, with the answers to their rows."""
    rows = dataset.select_columns(list(dict.fromkeys([*keys, *names])))
    task = partial(_block, keys=keys, names=names, answer=answer, called=called)
    return rows.map_batches(task, batch_format="pyarrow", batch_size=None, zero_copy_batch=True)


def _block(
    table: pa.Table, keys: Sequence[str], names: list[str], answer: Callable[[Any], bytes], called: str = SKETCH
) -> pa.Table:
    import pyarrow as pa

    if keys:
        table = table.sort_by([(name, "ascending") for name in keys])
    arrays = [table[name] for name in (*keys, *names)]
    plain = pa.table(arrays, names=[str(i) for i, _ in enumerate(arrays)])
    schema = pa.schema([*plain.schema][: len(keys)]).append(pa.field(SKETCH, pa.binary()))
    made = by_key(plain.to_batches(), len(keys), answer, names)
    return pa.Table.from_batches(made, schema).rename_columns([*keys, called])


def _merge(merge: Callable[[Any], bytes], *tables: pa.Table) -> pa.Table:
    import pyarrow as pa

    answers = [batch for table in tables if table.num_rows for batch in table.to_batches()]
    return pa.table({SKETCH: pa.array([merge(answers)], pa.binary())})
