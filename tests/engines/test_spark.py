"""Spark: a local cluster that repeats failed tasks gives the bytes of one pass, and the decisions of a decider."""

import os
import shutil
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cut_points import CUTS, EMPTY, hard_rows
from helpers.databases import absent
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
    "ignore::gstar_fast.errors.ResolutionWarning",
    "ignore::gstar_fast.errors.SentinelWarning",
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
)


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    needs("pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        absent("java is not installed")
    from pyspark.sql import SparkSession

    folder = str(tmp_path_factory.mktemp("spark"))
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": folder,
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)  # workers take the system's Python else
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        builder = SparkSession.builder.master("local[2,3]").appName("gstar_fast")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


def test_numbers_that_stand_for_groups_decide_as_the_decider_does(spark):
    scores, numbers = hard_rows()
    for options in ({"unknown": 0.3, "nan": False}, {"unknown": "default", "default": 0.2, "nan": True}):
        decider = gf.Decider(EMPTY, cuts=CUTS, **options)
        for kind in (np.float64, np.float32):
            table = pa.table({"i": np.arange(len(scores)), "p": scores.astype(kind), "q": numbers.astype(kind)})
            rows = spark.createDataFrame(table.to_pandas())
            decided = gf.spark.decide(rows, decider, score="p", group="q").orderBy("i").collect()
            assert [row["decision"] for row in decided] == decider(table["p"], table["q"]).tolist()
    refusing = gf.Decider(EMPTY, cuts=CUTS, nan=False)
    rows = spark.createDataFrame([(0.5, 0.2)], "p double, q double")
    with pytest.raises(Exception, match="a segment that has no threshold"):
        gf.spark.decide(rows, refusing, score="p", group="q").collect()
    with pytest.raises(TypeError, match="column 'q' must be given as floats"):
        gf.spark.decide(spark.createDataFrame([(0.5, 1)], "p double, q int"), refusing, score="p", group="q")


@pytest.fixture
def frame(spark, tmp_path):
    """A table of rows as a frame of Spark, with this many partitions."""

    def make(table, partitions):
        pq.write_table(table, tmp_path / "rows.parquet")
        return spark.read.parquet(str(tmp_path / "rows.parquet")).repartition(partitions)

    return make


def test_the_bytes_are_those_of_one_pass(frame):
    """Some partitions are empty, and one column is not read."""
    table = awkward_rows(300_000, 1)
    rows = frame(table, 5)
    one = gf.Sketch().update_table(table, **COLUMNS)
    assert gf.spark.sketch(rows, **COLUMNS).to_bytes() == one.to_bytes()
    few = rows.where("other < 3").repartition(6)
    first = gf.Sketch().update_table(table.slice(0, 3), **COLUMNS)
    assert gf.spark.sketch(few, **COLUMNS, merge_tasks=1).to_bytes() == first.to_bytes()
    none = gf.Sketch().update_table(table.slice(0, 0), **COLUMNS)
    assert gf.spark.sketch(rows.where("other < 0"), **COLUMNS).to_bytes() == none.to_bytes()


def test_pushed_down_to_spark_the_bytes_are_the_same(frame, spark):
    """By queries of Spark's own; nulls, NaN and the positive label are taken as Python takes them."""
    table = awkward_rows(5_000, 2)
    one = gf.Sketch().update_table(table, **COLUMNS)
    assert gf.spark.sketch(frame(table, 3), **COLUMNS, pushdown=True).to_bytes() == one.to_bytes()
    rows = [(0.5, "y\\'\\n", None), (float("nan"), "no", 3), (-0.0, None, 3), (None, "y\\'\\n", 4), (1e-310, "no", 4)]
    small = spark.createDataFrame(rows, "`the score` double, y string, who int")
    options = {"positive": "y\\'\\n", "nan": "skip", "missing_group": "none", "bins": 64, "range": (-1.0, 1.0)}
    python = gf.spark.sketch(small, **COLUMNS, **options)
    assert python.positive == "y\\'\\n"
    assert gf.spark.sketch(small, **COLUMNS, **options, pushdown=True).to_bytes() == python.to_bytes()
    assert spark.catalog.listTables() == []
    with pytest.raises(ValueError, match="pushdown=True counts with queries that have no missing, got -1"):
        gf.spark.sketch(small, **COLUMNS, missing=-1, pushdown=True)
    with pytest.raises(ValueError, match="pushdown=True counts with queries that have no repeats, got 'n'"):
        gf.spark.sketch(small, **COLUMNS, repeats="n", pushdown=True)


@pytest.mark.parametrize("what", ["score", "label", "group"])
@pytest.mark.parametrize("kind", ["timestamp", "date", "boolean", "string", "array<double>"])
def test_pushed_down_the_same_types_are_rejected(spark, kind, what):
    frame = spark.createDataFrame([(0.5, 1, "F")], "`the score` double, y int, who string")
    value = {"timestamp": "now()", "date": "now()", "array<double>": "array(1)"}.get(kind, "1")
    frame = frame.selectExpr("*", f"CAST({value} AS {kind}) AS other")
    if (kind, what) in (("boolean", "label"), ("boolean", "group"), ("string", "group")):
        both = [gf.spark.sketch(frame, **COLUMNS | {what: "other"}, pushdown=pushed) for pushed in (False, True)]
        assert both[0].to_bytes() == both[1].to_bytes()
        return
    told = []
    for pushed in (False, True):
        with pytest.raises(gf.errors.InputTypeError, match=r"column 'other'|label must be 0, 1 or None") as caught:
            gf.spark.sketch(frame, **COLUMNS | {what: "other"}, pushdown=pushed)
        told.append(caught.value.code)
    assert told[0] == told[1] or (kind, what) == ("string", "label")  # which only a row shows


def test_what_is_no_name_of_a_column_is_refused(spark):
    from pyspark.sql import functions as F  # noqa: N812

    frame = spark.createDataFrame([(0.5, 1, "F")], "p double, y int, g string")
    with pytest.raises(TypeError, match="a column must be given by its name, got Column"):
        gf.spark.sketch(frame, score=F.col("p"), label="y", group="g")
    with pytest.raises(TypeError, match="a column must be given by its name, got Column"):
        gf.spark.sketch(frame, score="p", label="y", group=F.col("g"))
    with pytest.raises(TypeError, match=r"df must be a pyspark.sql.DataFrame, got pyspark.*Column;"):
        gf.spark.sketch(F.col("g"), score="p", label="y", group="g")
    nested = frame.select(F.struct("p").alias("person"), "y", "g")
    with pytest.raises(ValueError, match=r"no column 'person\.p', but a column 'person'; make its field a column"):
        gf.spark.sketch(nested, score="person.p", label="y", group="g")


def test_sketches_by_key_have_the_bytes_of_one_pass_of_each_key(frame):
    table = rows_by_key(20_000, 4)
    rows = frame(table, 3)
    keys = ["day", "a shop"]
    sketches = gf.spark.sketches(rows, by=keys, **COLUMNS).cache()
    assert sketches.columns == [*keys, "sketch"]
    assert by_key(sketches.toArrow()) == sketches_of(table, keys)
    shops = gf.spark.merged(sketches, "sketch", by="a shop")
    assert by_key(shops.toArrow()) == sketches_of(table, ["a shop"])
    (total,) = gf.spark.merged(shops, "sketch").collect()
    assert bytes(total["sketch"]) == gf.Sketch().update_table(table, **COLUMNS).to_bytes()
    of_groups = gf.spark.sketches(rows, by="who", **COLUMNS, bins=64, range=(0, 1))  # a key that is also counted
    assert {key for key, *_ in of_groups.collect()} == {*table["who"].to_pylist()}


def test_a_rejected_row_fails_the_frame_of_sketches_and_says_why(spark):
    frame = spark.createDataFrame([(0.5, 2, "F", 1.5)], "p double, y int, g string, k double")
    sketches = gf.spark.sketches(frame, by="k", score="p", label="y", group="g")
    with pytest.raises(Exception, match="column 'y' must be 0 or 1, got 2"):
        sketches.collect()
    with pytest.raises(Exception, match="a sketch must be bytes, got str"):
        gf.spark.merged(frame, "g", by="k").collect()
    for keys in (["k", "sketch"], ["k", "k"]):
        with pytest.raises(ValueError, match="by has more than one column"):
            gf.spark.sketches(frame, by=keys, score="p", label="y", group="g")


def test_options_decimals_and_hostile_names_go_along(spark):
    from pyspark.sql import functions as F  # noqa: N812

    rows = [
        (0.25, "yes", 3, True, 2.0, 3),
        (0.5, "no", 3, False, 1.0, 1),
        (-999.0, "yes", 4, True, 1.0, 2),
        (0.75, None, 3, True, 0.5, 0),
    ]
    frame = spark.createDataFrame(rows, "`a.b` double, `y``` string, `g 1` smallint, `g'2` boolean, w double, n int")
    frame = frame.withColumn("a.b", F.col("`a.b`").cast("decimal(10,4)"))
    options = {"positive": "yes", "missing": -999, "weight": "w", "repeats": "n"}
    names = {"score": "a.b", "label": "y`", "group": ["g 1", "g'2"]}
    table = pa.Table.from_pylist([dict(zip(["a.b", "y`", "g 1", "g'2", "w", "n"], row, strict=True)) for row in rows])
    one = gf.Sketch(bins=64).update_table(table, **names, **options)
    assert gf.spark.sketch(frame, **names, **options, bins=64).to_bytes() == one.to_bytes()
    with pytest.raises(ValueError, match=r"df has no column 'b'; its columns are 'a\.b'"):
        gf.spark.sketch(frame, score="b", label=None, group="g 1")


def test_a_task_that_fails_once_changes_nothing(spark, tmp_path):
    """Spark tries it again; sketches are returned, never written, so that no row counts twice."""

    def fails_once(batches):
        from pyspark import TaskContext

        mark = tmp_path / str(TaskContext.get().partitionId())
        yield next(batches)  # some rows are counted before
        if not mark.exists():
            mark.touch()
            raise OSError("the disk is busy")
        yield from batches

    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 100)
    rows = spark.range(0, 1_000, 1, 2).selectExpr("id / 7 AS s", "id % 2 AS y", "id % 3 AS g")
    sketch = gf.spark.sketch(rows.mapInArrow(fails_once, rows.schema), score="s", label="y", group="g")
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    ids = np.arange(1_000)
    assert sketch == gf.Sketch.from_rows(ids / 7, ids % 2, ids % 3)
    assert len(list(tmp_path.iterdir())) == 2


def test_nulls_and_nan_are_one_error_of_ours_or_counted_as_said(spark):
    rows = [(0.5, 0, "F"), (float("nan"), 1, "M"), (1.5, None, None), (None, 1, "F")]
    frame = spark.createDataFrame(rows, "`the score` double, y int, who string").repartition(4)
    with pytest.raises(gf.errors.InputTypeError, match=r"^column 'who' has a missing value; .*missing_group="):
        gf.spark.sketch(frame, **COLUMNS, nan="skip")
    with pytest.raises(gf.errors.InputValueError, match=r"^column 'the score' has NaN; .*nan=\"skip\""):
        gf.spark.sketch(frame, **COLUMNS, missing_group=0)
    one = gf.Sketch().update([0.5, np.nan, 1.5, np.nan], [0, 1, None, 1], ["F", "M", 0, "F"], nan="skip")
    assert gf.spark.sketch(frame, **COLUMNS, missing_group=0, nan="skip") == one


def test_a_replayed_batch_of_a_stream_counts_once(spark, tmp_path):
    """The query fails after the batch was counted, and runs it again after the restart."""
    tables = [awkward_rows(2_000, seed) for seed in range(3)]
    (tmp_path / "in").mkdir()
    for i, table in enumerate(tables):
        pq.write_table(table, tmp_path / f"in/{i}.parquet")
    count = gf.spark.foreach_batch(tmp_path / "out", **COLUMNS)
    seen = []

    def fails_after_the_second(frame, batch_id):
        count(frame, batch_id)
        seen.append(batch_id)
        if seen == [0, 1]:
            raise OSError("the driver is gone")

    def run(function, checkpoint):
        schema = spark.read.parquet(str(tmp_path / "in")).schema
        stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
        writer = stream.writeStream.foreachBatch(function).trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / checkpoint)).start().awaitTermination()

    from pyspark.errors import StreamingQueryException

    with pytest.raises(StreamingQueryException, match="the driver is gone"):
        run(fails_after_the_second, "checkpoint")
    run(fails_after_the_second, "checkpoint")
    assert seen == [0, 1, 1, 2]
    one = gf.Sketch()
    for table in tables:
        one.update_table(table, **COLUMNS)
    assert gf.merge_all((tmp_path / "out").glob("*.gstar")).to_bytes() == one.to_bytes()
    with pytest.raises(StreamingQueryException, match="use a new folder for a new checkpoint"):
        run(count, "another")


DECIDERS = {
    "texts": ("g", gf.Decider({"F": 0.0, "M": 5e-324, "it's \\ `x`": -np.inf, 7: 3.0}, nan=False)),
    "numbers": ("k", gf.Decider({0: 0.5, 1: np.inf, "2": 9.0}, nan=True, unknown=-0.25)),
    "small numbers": ("b", gf.Decider({0: 0.5, 1: -1e-9, 2: 2.0**-40}, nan=True)),
    "bools": ("t", gf.Decider({True: 0.5, False: -0.5}, nan=False)),
    "bools as numbers": ("t", gf.Decider({1: 0.5, 0: -0.5}, nan=False)),
    "numbers as bools": ("b", gf.Decider({True: 0.5, False: -0.5}, nan=False, unknown=0.1)),
    "tuples": (["g", "k"], gf.Decider({("F", 0): 0.5, ("M", 1): -1e-9}, nan=True, unknown=0.0)),
    "default": ("g", gf.Decider({"F": 0.25}, nan=False, default=0.75, unknown="default")),
    "unified": (None, gf.Decider({"F": 0.5, "M": 0.5}, unified=True, nan=False)),
}


@pytest.fixture(scope="module")
def people(spark, tmp_path_factory):
    """A hundred thousand awkward rows, as a table and as a frame."""
    n = 100_000
    rng = np.random.default_rng(9)
    scores = awkward_scores(n, 8)
    scores[::97] = np.nan
    with np.errstate(over="ignore"):
        narrow = scores.astype(np.float32)
    table = pa.table(
        {
            "s": pa.array(scores, mask=np.arange(n) % 89 == 0),
            "f": narrow,
            "i": pa.array(rng.integers(-2, 3, n)),
            "g": rng.choice(["F", "M", "it's \\ `x`"], n),
            "k": rng.integers(0, 3, n),
            "b": rng.integers(0, 3, n).astype(np.int8),
            "t": rng.random(n) < 0.5,
        }
    )
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    pq.write_table(table, path)
    return table, spark.read.parquet(str(path))


@pytest.mark.parametrize("kind", DECIDERS)
def test_decisions_are_those_of_a_decider(people, kind):
    table, frame = people
    group, decider = DECIDERS[kind]
    expected = frame
    for name in ("s", "f", "i"):
        expected = gf.spark.decide(expected, decider, score=name, group=group, column=f"yes `{name}`")
    done = expected.toArrow()
    groups = None if group is None else table[group] if isinstance(group, str) else table.select(group)
    for name in ("s", "f", "i"):
        assert np.array_equal(done[f"yes `{name}`"], decider(table[name], groups)), name


def test_no_python_runs_where_rows_are_decided(people, capsys):
    _, frame = people
    gf.spark.decide(frame, DECIDERS["texts"][1], score="s", group="g").explain()
    plan = capsys.readouterr().out
    assert "FileScan parquet" in plan
    assert "Python" not in plan
    assert "Arrow" not in plan


def test_decisions_that_are_refused_fail_the_query_and_say_why(spark):
    frame = spark.createDataFrame([(0.5, "F", 1.5), (None, "x", 2.5), (1.5, None, 3.5)], "s double, g string, d double")
    decider = gf.Decider({"F": 0.25})
    for where, policy, words in [
        ("g = 'x'", {"nan": False}, r"group x has no threshold; there are 'F'; choose unknown="),
        ("g = 'x'", {"unknown": 0.5}, r"column 's' has NaN or null; .* choose nan="),
        ("g IS NULL", {"unknown": 0.5, "nan": False}, r"column 'g' has a null"),
    ]:
        refusing = gf.Decider(decider.thresholds, **policy)
        decided = gf.spark.decide(frame.where(where), refusing, score="s", group="g")
        with pytest.raises(Exception, match=words):
            decided.collect()
    with pytest.raises(ValueError, match="randomised thresholds need the hash of a key, which a Spark expression"):
        gf.spark.decide(frame, gf.Decider({"F": 0.5}, mixtures={"F": [(0, 0.5), (1, 0.5)]}), score="s", group="g")
    with pytest.raises(TypeError, match=r"column 'd': group names must be int, str, .* got double"):
        gf.spark.decide(frame, decider, score="s", group="d")


def test_the_page_runs(spark, tmp_path):
    assert run_page("Spark", tmp_path, {"spark": spark}) == 3
