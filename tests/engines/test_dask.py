"""Dask: a cluster of two processes gives the bytes of one pass, and the decisions of a decider."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers.engines import (
    COLUMNS,
    awkward_rows,
    awkward_scores,
    by_key,
    needs,
    rows_by_key,
    run_page,
    sketches_of,
)

import gstar_fast as gf

pytestmark = pytest.mark.filterwarnings(
    "ignore::gstar_fast.errors.ResolutionWarning", "ignore::gstar_fast.errors.SentinelWarning"
)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    for package in ("dask.dataframe", "distributed"):
        needs(package.split(".")[0])
    import dask
    from distributed import Client, LocalCluster

    folder = str(tmp_path_factory.mktemp("dask"))
    quiet = {"distributed.worker.memory.terminate": False, "distributed.admin.large-graph-warning-threshold": "1GB"}
    with dask.config.set(quiet):
        kind = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "local_directory": folder}
        with LocalCluster(**kind) as cluster, Client(cluster) as client:
            yield client


def part(seed, n=50_000):
    """One partition, made where it is counted."""
    return awkward_rows(n, seed).to_pandas(types_mapper=pd.ArrowDtype)


def test_a_million_rows_give_the_bytes_of_one_pass(client):
    """The frame has a column that is not read, empty partitions, and more partitions than one task merges."""
    import dask.dataframe as dd

    sizes = [0, *[25_000] * 40, 0]
    frame = dd.from_map(part, range(42), sizes, meta=part(0, 0))
    one = gf.Sketch()
    for seed, n in enumerate(sizes):
        one.update_table(part(seed, n), **COLUMNS)
    assert one.n_rows == 1_000_000
    assert gf.dask.sketch(frame, **COLUMNS).to_bytes() == one.to_bytes()


def test_delayed_tables_of_any_kind_and_groups_of_other_types(client):
    """pandas, polars and pyarrow, with texts here, numbers there, and one table without rows."""
    import polars as pl
    from dask import delayed

    tables = [
        awkward_rows(500, 0).to_pandas(),
        awkward_rows(500, 1, [7, 8]),
        awkward_rows(0, 2),
        pl.from_arrow(awkward_rows(500, 3, ["7"])),
    ]
    one = gf.Sketch()
    for table in tables:
        one.update_table(table, **COLUMNS)
    assert one.groups[:3] == (7, 8, "")
    assert gf.dask.sketch([delayed(table) for table in tables], **COLUMNS).to_bytes() == one.to_bytes()


def test_the_workers_count_not_the_driver(client):
    """Each answer is made in another process, and what comes back is one sketch."""
    import os

    from dask import delayed

    def where():
        pid = os.getpid()
        return pa.table({"the score": [0.5], "y": [1], "who": [pid]})

    pids = gf.dask.sketch([delayed(where, pure=False)() for _ in range(8)], **COLUMNS).groups
    assert os.getpid() not in pids
    assert len(pids) == 2


def test_a_task_that_fails_once_changes_nothing(client, tmp_path):
    import dask
    from dask import delayed

    def fails_once(seed):
        mark = tmp_path / str(seed)
        if not mark.exists():
            mark.touch()
            raise OSError("the disk is busy")
        return awkward_rows(1_000, seed)

    with dask.annotate(retries=2):
        sketch = gf.dask.sketch([delayed(fails_once, pure=False)(seed) for seed in range(5)], **COLUMNS)
    one = gf.Sketch()
    for seed in range(5):
        one.update_table(awkward_rows(1_000, seed), **COLUMNS)
    assert len(list(tmp_path.iterdir())) == 5
    assert sketch.to_bytes() == one.to_bytes()


def test_nulls_and_nan_are_one_error_of_ours_or_counted_as_said(client):
    import dask.dataframe as dd

    rows = pd.DataFrame({"the score": [0.5, np.nan, 1.5, 2.5], "y": [0, 1, None, 1], "who": ["F", "M", None, "F"]})
    frame = dd.from_pandas(rows, npartitions=4, sort=False)
    with pytest.raises(gf.errors.InputTypeError, match=r"column 'who' has a missing value; .*missing_group="):
        gf.dask.sketch(frame, **COLUMNS, nan="skip")
    with pytest.raises(gf.errors.InputValueError, match=r"column 'the score' has NaN; .*nan=\"skip\""):
        gf.dask.sketch(frame, **COLUMNS, missing_group=0)
    one = gf.Sketch().update([0.5, np.nan, 1.5, 2.5], [0, 1, None, 1], ["F", "M", 0, "F"], nan="skip")
    assert gf.dask.sketch(frame, **COLUMNS, missing_group=0, nan="skip") == one


def test_a_column_that_is_not_there_is_named(client):
    import dask.dataframe as dd
    from dask import delayed

    frame = dd.from_pandas(pd.DataFrame({"p": [0.5], "y": [1]}), npartitions=1)
    with pytest.raises(ValueError, match="data has no column 'who'; its columns are 'p', 'y'"):
        gf.dask.sketch(frame, score="p", label="y", group="who")
    with pytest.raises(TypeError, match="data must be a Dask data frame, or a list of Delayed"):
        gf.dask.sketch(delayed(part)(0), score="p", label="y", group="who")


@pytest.mark.parametrize("types", [None, pd.ArrowDtype])
def test_sketches_by_key_have_the_bytes_of_one_pass_of_each_key(client, types):
    import dask.dataframe as dd

    table = rows_by_key(5_000, 4)
    if types is None:  # Dask keeps numbers of pandas with null as floats with NaN, which are no labels
        table = table.set_column(1, "y", table["y"].fill_null(0))
    frame = dd.from_pandas(table.to_pandas(types_mapper=types), npartitions=4)
    keys = ["day", "a shop"]
    sketches = gf.dask.sketches(frame, by=keys, **COLUMNS)
    assert list(sketches.columns) == [*keys, "sketch"]
    made = sketches.compute()
    assert by_key(pa.Table.from_pandas(made, preserve_index=False)) == sketches_of(table, keys)
    assert made["sketch"].dtype == sketches.dtypes["sketch"]
    shops = gf.dask.merged(sketches, "sketch", by="a shop")
    assert by_key(pa.Table.from_pandas(shops.compute(), preserve_index=False)) == sketches_of(table, ["a shop"])
    (total,) = gf.dask.merged(shops, "sketch").compute()["sketch"]
    assert total == gf.Sketch().update_table(table, **COLUMNS).to_bytes()


@pytest.mark.filterwarnings("ignore")
def test_what_is_no_frame_of_dask_is_refused(client):
    import dask.dataframe as dd

    rows = pd.DataFrame({"p": [0.5], "y": [2], "g": ["F"], "k": ["a"]})
    asked = {"score": "p", "label": "y", "group": "g"}
    with pytest.raises(TypeError, match="data must be a Dask data frame, or a list of Delayed"):
        gf.dask.sketch(rows, **asked)
    with pytest.raises(TypeError, match=r"data must be a dask\.dataframe\.DataFrame, got DataFrame"):
        gf.dask.sketches(rows, by="k", **asked)
    frame = dd.from_pandas(rows, npartitions=1)
    with pytest.raises(ValueError, match="column 'y' must be 0 or 1, got 2"):
        gf.dask.sketches(frame, by="k", **asked).compute()
    with pytest.raises(TypeError, match="a sketch must be bytes, got str"):
        gf.dask.merged(frame, "g", by="k").compute()


def test_no_partitions_are_an_empty_sketch(client):
    assert gf.dask.sketch([], **COLUMNS).n_rows == 0


@pytest.mark.parametrize("kind", ["texts", "numbers", "tuples", "unified", "mixture"])
def test_decisions_are_those_of_a_decider(client, kind):
    import dask.dataframe as dd

    n = 100_000
    scores = awkward_scores(n, 8)
    scores[::97] = np.nan
    rng = np.random.default_rng(9)
    columns = {"s": scores, "g": rng.choice(["F", "M", "x"], n), "k": rng.integers(0, 3, n), "id": np.arange(n)}
    rows = pd.DataFrame(columns)
    group, decider = {
        "texts": ("g", gf.Decider({"F": 0.0, "M": 5e-324, "x": -np.inf}, nan=False)),
        "numbers": ("k", gf.Decider({0: 0.5, 1: np.inf}, nan=True, unknown=-0.25)),
        "tuples": (["g", "k"], gf.Decider({("F", 0): 0.5, ("M", 1): -1e-9}, nan=True, unknown=0.0)),
        "unified": (None, gf.Decider({"F": 0.5, "M": 0.5}, unified=True, nan=False)),
        "mixture": (
            "g",
            gf.Decider(
                {"F": 0, "M": 0, "x": 0}, nan=False, mixtures={name: [(0.0, 0.5), (1.0, 0.5)] for name in "FMx"}
            ),
        ),
    }[kind]
    key = "id" if kind == "mixture" else None
    frame = dd.from_pandas(rows, npartitions=7)
    lazy = gf.dask.decide(frame, decider, score="s", group=group, key=key, column="yes")
    groups = None if group is None else rows[group]
    expected = decider(rows["s"], groups, keys=None if key is None else rows[key])
    done = lazy.compute()
    assert lazy.dtypes["yes"] == done["yes"].dtype == bool
    assert 0 < expected.sum() < n
    assert np.array_equal(done["yes"], expected)
    assert done.drop(columns="yes").equals(frame.compute())


def test_decisions_that_are_refused_are_errors_of_ours(client):
    import dask.dataframe as dd

    frame = dd.from_pandas(pd.DataFrame({"s": [0.5, np.nan], "g": ["F", "x"]}), npartitions=2)
    result = gf.solve(gf.Sketch.from_rows([0.1, 0.9, 0.2, 0.8], [0, 1, 0, 1], ["F", "F", "M", "M"]))
    with pytest.raises(gf.errors.InputValueError, match="group 'x' at row 0 has no threshold"):
        gf.dask.decide(frame, result, score="s", group="g", nan=False).compute()
    with pytest.raises(gf.errors.InputValueError, match="scores has NaN"):
        gf.dask.decide(frame, result, score="s", group="g", unknown=0.5).compute()
    mixed = gf.Decider({"F": 0.5}, mixtures={"F": [(0.25, 0.5), (0.75, 0.5)]})
    with pytest.raises(ValueError, match="these thresholds are randomised"):
        gf.dask.decide(frame, mixed, score="s", group="g")


def test_the_page_runs(client, tmp_path):
    assert run_page("Dask", tmp_path, {}) == 2
