"""Sketches and decisions of Dask data frames, and of delayed pieces of any kind (extra `dask`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Unpack

from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.thresholds import Nan, Unknown
from gstar_fast._decide.decider import Decider, SolvedLike, as_decider
from gstar_fast._engines.adapter import CountOptions, Job, check_columns, check_installed, in_a_tree, job_of
from gstar_fast._sketch.sketch import Sketch

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd
    from dask.delayed import Delayed

__all__ = ["decide", "sketch"]


def sketch(
    data: dd.DataFrame | Iterable[Delayed],
    *,
    score: str,
    label: str | None,
    group: str | Sequence[str],
    **options: Unpack[CountOptions],
) -> Sketch:
    """Count all partitions on the workers and merge them there: the bytes are those of one pass over the rows.

    It computes at once, where Dask would: on the current client, else in threads. Each partition is read as
    `Sketch.update_table` reads a table.

    Parameters
    ----------
    data : dask.dataframe.DataFrame or several Delayed
        A data frame of which only the named columns are read, or delayed objects that each give a table: a pandas or
        polars frame, a pyarrow table or reader.
    score, label, weight, repeats : str
        Names of columns; `label` is None for unlabelled rows. Rows with a null label are unlabelled. `weight` is the
        weight of a row, and `repeats` how many rows it stands for.
    group : str or several
        Name of the column of groups; several make tuples, for intersections.
    nan : {"raise", "skip"}
        What to do with rows whose score is NaN or null; skipped ones are counted in `skipped`.
    missing_group : {"raise", "skip"} or a name
        What to do with rows whose group is null, or one of several columns of it: "skip" counts them in `skipped`
        only, any other name counts them as that group.
    positive, missing, bins, range, groups, memory_limit
        As in `Sketch` and `Sketch.update_table`.

    Raises
    ------
    InputError
        If a row of any partition is rejected; the message names the column and what to do.
    """
    check_installed("dask", "dask")
    from dask.base import compute
    from dask.delayed import delayed

    job = job_of(score, label, group, **options)
    count, merge = delayed(Job.count, pure=False), delayed(Job.merge, pure=False)
    answers = in_a_tree([count(job, part) for part in _parts(data, job)], lambda piece: merge(job, piece))
    return job.finish(compute(*answers))


def decide(
    data: dd.DataFrame,
    result: Decider | SolvedLike,
    *,
    score: str,
    group: str | Sequence[str] | None = None,
    key: str | None = None,
    column: str = "decision",
    unknown: Unknown = "raise",
    nan: Nan = "raise",
) -> dd.DataFrame:
    """The data frame with a column of decisions; lazy, as everything of Dask.

    Parameters
    ----------
    data : dask.dataframe.DataFrame
        The rows.
    result : Result or Decider
        What decides. A decider keeps its own policies; those of a result are `unknown` and `nan`.
    score, group, key : str
        Names of columns. Several groups where groups are tuples, none where one threshold is for everybody; `key`
        identifies a row where thresholds are randomised.
    column : str
        Name of the new column.
    unknown, nan
        As in `Decider`. A row that the decider rejects is an error when the frame is computed.
    """
    decider = as_decider(result, unknown, nan)
    if decider.randomized and key is None:
        raise refusal("needs_keys", "key")
    meta = data._meta.assign(**{column: False}).astype({column: bool})
    return data.map_partitions(_decided, decider, score, group, key, column, meta=meta)


def _parts(data: dd.DataFrame | Iterable[Delayed], job: Job) -> list[Delayed]:
    from dask.delayed import Delayed

    if isinstance(data, Delayed) or not isinstance(data, Iterable):
        raise refusal("not_partitions", "data", value=data)
    if not hasattr(data, "to_delayed"):
        return list(data)
    frame: dd.DataFrame = data
    check_columns(job, frame.columns, "data")
    return list(frame[job.columns].to_delayed())


def _decided(
    frame: pd.DataFrame, decider: Decider, score: str, group: str | Sequence[str] | None, key: str | None, column: str
) -> pd.DataFrame:
    groups = None if group is None else frame[group if isinstance(group, str) else list(group)]
    decisions = decider(frame[score], groups, keys=None if key is None else frame[key])
    return frame.assign(**{column: decisions})
