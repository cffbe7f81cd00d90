"""Sketches and decisions of Dask data frames, and of delayed pieces of any kind (extra `dask`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._base.thresholds import Nan, Unknown
from gstar_fast._decide.decider import Decider, SolvedLike, as_decider
from gstar_fast._engines.adapter import CountOptions, Job, check_columns, check_installed, in_a_tree, job_of
from gstar_fast._engines.keys import SKETCH, key_columns, merge_key
from gstar_fast._sketch.sketch import Sketch

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd
    from dask.delayed import Delayed

__all__ = ["decide", "merged", "sketch", "sketches"]


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


def sketches(
    data: dd.DataFrame,
    *,
    by: str | Sequence[str],
    score: str,
    label: str | None,
    group: str | Sequence[str],
    **options: Unpack[CountOptions],
) -> dd.DataFrame:
    """A data frame of keys and sketches, one row for each key: the bytes are those of one pass over the key's rows.

    It is lazy, and nothing goes to the client. Workers count the rows of each partition key by key, and the sketches of
    a key come together.

    Parameters
    ----------
    data : dask.dataframe.DataFrame
        Only the named columns are read.
    by : str or several
        Names of the columns of keys, which may also be columns that are counted. Null is a key like others.
    score, label, group, weight, repeats, nan, missing_group, positive, missing, bins, range, groups, memory_limit
        As in `sketch`. A key that has no row with the positive label is not an error. A rejected row is one when the
        frame is computed.

    Returns
    -------
    dask.dataframe.DataFrame
        The columns of keys, and `sketch`, which `Sketch.from_bytes` reads.
    """
    keys, job = key_columns(by), job_of(score, label, group, **options)
    counted = _by_key(_columns(data, [*keys, *job.columns]), keys, SKETCH, job.count_key)
    return merged(counted, SKETCH, by=keys)


def merged(data: dd.DataFrame, column: str, *, by: str | Sequence[str] = ()) -> dd.DataFrame:
    """A data frame of keys and sketches in which the sketches of equal keys are added up.

    Parameters
    ----------
    data : dask.dataframe.DataFrame
        It has a column of sketches in bytes, such as `sketches` makes.
    column : str
        The name of this column.
    by : str or several
        Names of the columns of keys; without them the frame has one row, the sum of all.

    Examples
    --------
    ``gf.dask.merged(days, "sketch", by="month")`` adds up the days of each month.
    """
    keys = key_columns(by, column)
    frame, merge = _columns(data, [*keys, column]), partial(_merge, column=column)
    if not keys:
        frame = _by_key(frame, keys, column, merge)
    together = frame.shuffle(on=list(keys)) if keys else frame.repartition(npartitions=1)
    return _by_key(together, keys, column, merge)


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

    several = isinstance(data, Iterable) and not isinstance(data, Delayed)  # which has every attribute
    if several and hasattr(data, "to_delayed"):
        return list(_columns(data, job.columns).to_delayed())
    parts = list(data) if several else [None]
    if not all(isinstance(part, Delayed) for part in parts):
        raise refusal("not_partitions", "data", value=data)
    return parts


def _columns(data: Any, names: Sequence[str]) -> dd.DataFrame:
    """The named columns of a data frame of Dask, each once."""
    if not hasattr(data, "to_delayed"):
        raise refusal("engine_frame", "data", value=data, limit="dask.dataframe.DataFrame")
    check_columns(names, data.columns, "data")
    return data[list(dict.fromkeys(names))]


def _by_key(frame: dd.DataFrame, keys: Sequence[str], column: str, answer: Callable[[Any], bytes]) -> dd.DataFrame:
    """The keys of each partition, with the answers to their rows."""
    names = list(keys)
    meta = _keys_and_answers(frame._meta, names, column, answer)
    return frame.map_partitions(_keys_and_answers, names, column, answer, meta=meta)


def _keys_and_answers(
    frame: pd.DataFrame, keys: list[str], column: str, answer: Callable[[Any], bytes]
) -> pd.DataFrame:
    import pandas as pd
    import pyarrow as pa

    codes = np.zeros(len(frame), np.int64)
    if keys:
        codes = frame.groupby(keys, dropna=False, sort=False, observed=True).ngroup().to_numpy()
    found, first = np.unique(codes, return_index=True)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes, found, side="right", sorter=order).tolist()
    pieces = [frame.iloc[order[start:end]] for start, end in pairwise([0, *ends])]
    answers = pd.array([answer(piece) for piece in pieces], dtype=pd.ArrowDtype(pa.binary()))
    return frame.iloc[first][keys].reset_index(drop=True).assign(**{column: answers})


def _merge(frame: pd.DataFrame, column: str) -> bytes:
    return merge_key(frame[column])


def _decided(
    frame: pd.DataFrame, decider: Decider, score: str, group: str | Sequence[str] | None, key: str | None, column: str
) -> pd.DataFrame:
    groups = None if group is None else frame[group if isinstance(group, str) else list(group)]
    decisions = decider(frame[score], groups, keys=None if key is None else frame[key])
    return frame.assign(**{column: decisions})
