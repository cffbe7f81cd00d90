"""What all engines share, without an engine: pieces of a table, their answers, and any tree of merges."""

import pickle
import subprocess
import sys
import warnings
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers.engines import COLUMNS, awkward_rows

import gstar_fast as gf
from gstar_fast._engines.adapter import FAN_IN, REFUSED, in_a_tree, job_of
from gstar_fast._engines.keys import by_key, key_columns

pytestmark = pytest.mark.filterwarnings(
    "ignore::gstar_fast.errors.ResolutionWarning", "ignore::gstar_fast.errors.SentinelWarning"
)


def make_job(**options):
    return job_of(**{**COLUMNS, **options})


def pieces(table, n, seed):
    """Cut anywhere; some pieces are empty."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(0, len(table) + 1, n - 1)).tolist()
    cuts += [cuts[0]] if cuts else []  # an empty piece, for certain
    edges = [0, *sorted(cuts), len(table)]
    return [table.slice(a, b - a) for a, b in pairwise(edges)]


def merged_as_a_tree(job, answers, seed):
    """Answers in any order, merged in pieces of any size until one is left."""
    rng = np.random.default_rng(seed)
    while len(answers) > 1:
        answers = [answers[i] for i in rng.permutation(len(answers))]
        size = int(rng.integers(2, 5))
        answers = [job.merge(iter(answers[i : i + size])) for i in range(0, len(answers), size)]
    return answers


def counted(job, tables, seed=0):
    job = pickle.loads(pickle.dumps(job))
    return job.finish(merged_as_a_tree(job, [job.count(one) for one in tables], seed))


@pytest.mark.parametrize("seed", range(3))
def test_pieces_in_any_tree_give_the_bytes_of_one_pass(backend, seed):
    table = awkward_rows(3_000, seed)
    one = gf.Sketch().update_table(table, **COLUMNS)
    assert counted(make_job(), pieces(table, 9, seed), seed).to_bytes() == one.to_bytes()


def test_a_piece_is_one_stream_whose_batches_differ_in_their_dictionaries(backend):
    table = awkward_rows(2_000, 5)
    coded = [one.set_column(2, "who", one["who"].dictionary_encode()) for one in pieces(table, 4, 5) if len(one)]
    batches = [batch for one in coded for batch in one.to_batches()]
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, iter(batches))
    one = gf.Sketch().update_table(table, **COLUMNS)
    assert counted(make_job(), [reader]).to_bytes() == one.to_bytes()


def test_an_answer_that_comes_again_is_the_same(backend):
    """A task that is repeated, or runs twice, answers the same; engines take one of the two."""
    table, job = awkward_rows(500, 1), make_job()
    assert job.count(table) == job.count(table)


def test_groups_of_other_types_in_other_pieces(backend):
    """One partition may have numbers where another has texts, and a third nothing at all."""
    kinds = [[3, -1], ["3", "F"], [True, False]]
    tables = [awkward_rows(400, seed, groups) for seed, groups in enumerate(kinds[:2])]
    empty = tables[0].slice(0, 0).set_column(2, "who", pa.nulls(0))
    one = gf.Sketch()
    for table in tables:
        one.update_table(table, **COLUMNS)
    assert counted(make_job(), [tables[0], empty, tables[1]]).to_bytes() == one.to_bytes()
    assert one.groups == (-1, 3, "3", "F")
    with pytest.raises(ValueError, match=r"groups has both (False and 0|True and 1)"):
        counted(make_job(), [awkward_rows(9, 0, [0, 1]), awkward_rows(9, 0, kinds[2])])


def test_no_partition_at_all_is_an_empty_sketch_of_these_columns(backend):
    job = make_job(bins=64, positive="yes")
    one = gf.Sketch(bins=64).update_table(awkward_rows(0, 0), **COLUMNS, positive="yes")
    assert job.finish([]).to_bytes() == one.to_bytes()


def test_options_go_along(backend):
    table = awkward_rows(900, 3).set_column(1, "y", pa.array(["yes", "no", None] * 300))
    table = table.append_column("w", pa.array(np.arange(900) % 4 * 0.5))
    table = table.append_column("n", pa.array(np.arange(900) % 3))
    options = {"positive": "yes", "missing": (0.0,)}
    of_sketch = {"bins": 64, "range": (-2.0, 2.0), "groups": sorted(set(table["who"].to_pylist()), reverse=True)}
    one = gf.Sketch(**of_sketch).update_table(table, **COLUMNS, **options, weight="w", repeats="n")
    again = counted(make_job(**options, **of_sketch, weight="w", repeats="n"), pieces(table, 5, 3))
    assert again.to_bytes() == one.to_bytes()
    assert again.columns == one.columns
    assert again.positive == "yes"
    assert again.skipped > 0


def test_several_columns_of_groups_make_tuples(backend):
    table = awkward_rows(600, 4).append_column("old", pa.array([True, False, None] * 200))
    job = make_job(group=["who", "old"], missing_group="?")
    pairs = zip(table["who"].to_pylist(), table["old"].to_pylist(), strict=True)
    names = ["?" if old is None else (who, old) for who, old in pairs]
    one = gf.Sketch().update(table["the score"], table["y"], names)
    assert counted(job, pieces(table, 4, 4)) == one


TEXTS = pa.array(["F", None, "M", "F", "other"])
WITH_NULLS = {
    "text": TEXTS,
    "dictionary": TEXTS.dictionary_encode(),
    "null in a dictionary": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2], pa.int8()).take([0, 1, 2, 0, 1]), TEXTS[:3]
    ),
    "numbers": pa.array([7, None, -3, 7, 2**40]),
    "small numbers": pa.array([7, None, 3, 7, 200], pa.uint8()),
    "bools": pa.array([True, None, False, True, None]),
    "nulls": pa.nulls(5),
    "no null": pa.array(["a", "b", "c", "d", "e"]),
}


@pytest.mark.parametrize("name", ["other", 7, "ein Name"])
@pytest.mark.parametrize("kind", WITH_NULLS)
def test_a_null_group_has_the_name_that_it_is_given(backend, kind, name):
    who = WITH_NULLS[kind]
    table = pa.table({"the score": [0.5, 1.5, -2.0, 3.0, 0.25], "y": [0, 1, 1, 0, None], "who": who})
    one = gf.Sketch().update(table["the score"], table["y"], [name if x is None else x for x in who.to_pylist()])
    assert counted(make_job(missing_group=name), [table, table.slice(5)]) == one


@pytest.mark.parametrize("kind", WITH_NULLS)
def test_a_row_without_a_group_is_skipped(backend, kind):
    table = pa.table({"the score": [0.5, 1e9, -2.0, 3.0, 0.25], "y": [0, 1, 1, 0, None], "who": WITH_NULLS[kind]})
    there = table.filter(table["who"].combine_chunks().is_valid())
    if kind == "null in a dictionary":
        there = table.filter(pa.array([True, False, True, True, False]))
    found = counted(make_job(missing_group="skip"), [table, table.slice(5)])
    assert found.skipped == len(table) - len(there)
    assert found.groups == counted(make_job(), [there]).groups
    assert np.array_equal(found.counts, counted(make_job(), [there]).counts)


REFUSED_ROWS = {
    "null group": (
        {"who": [None, "F"]},
        TypeError,
        "missing_group",
        "column 'who' has a missing value; .*missing_group=",
    ),
    "NaN": ({"the score": [np.nan, 1.0]}, ValueError, "nan_score", "column 'the score' has NaN; .*nan=\"skip\""),
    "null score": ({"the score": [None, 1.0]}, ValueError, "nan_score", "column 'the score' has NaN; .*nan=\"skip\""),
    "label 2": ({"y": [2, 1]}, ValueError, "bad_label", "column 'y' must be 0 or 1, got 2$"),
    "text score": ({"the score": ["1", "2"]}, TypeError, "categories", "column 'the score' must be numbers"),
    "float group": ({"who": [1.5, 2.0]}, TypeError, "bad_group_type", "group names must be int, str"),
    "date group": ({"who": pa.array([1, 2], pa.date32())}, TypeError, "arrow_type", "column 'who' must hold numbers"),
}


@pytest.mark.parametrize("kind", REFUSED_ROWS)
def test_a_refused_row_is_an_answer_and_one_error_where_the_user_is(backend, kind):
    """The task succeeds, so that no engine repeats it; the words name the user's column and no row of a partition."""
    change, error, code, words = REFUSED_ROWS[kind]
    good = {"the score": [0.5, 1.5], "y": [0, 1], "who": ["F", "M"]}
    job = make_job()
    bad = job.count(pa.table(good | change))
    assert bad.startswith(REFUSED)
    with pytest.raises(error, match=words) as caught:
        job.finish(merged_as_a_tree(job, [*[job.count(pa.table(good)) for _ in range(9)], bad], 0))
    assert isinstance(caught.value, gf.errors.InputError)
    assert (caught.value.code, caught.value.row) == (code, None)
    assert "at row" not in str(caught.value)


def test_rows_that_may_be_skipped_are_counted_as_skipped(backend):
    table = pa.table({"the score": [np.nan, None, 0.5], "y": [1, 0, 1], "who": ["F", "M", "F"]})
    assert counted(make_job(nan="skip"), [table, table]).skipped == 4


def test_what_is_no_refusal_fails_the_task():
    """A disk that fails may work the next time: that is for the engine to try again."""

    def broken():
        yield from awkward_rows(5, 0).to_batches()
        raise OSError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(awkward_rows(0, 0).schema, broken())
    with pytest.raises(OSError, match="the disk is gone"):
        make_job().count(reader)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bins": 100}, "bins must be a power of two"),
        ({"nan": "drop"}, 'nan must be "raise" or "skip"'),
        ({"group": []}, "group must name a column"),
        ({"group": [str(i) for i in range(17)]}, "group has 17 columns, and at most 16"),
        ({"score": 7}, "a column must be given by its name, got int"),
        ({"weight": ["w"]}, "a column must be given by its name, got list"),
        ({"positive": "yes", "label": None}, "no column of labels is named"),
        ({"missing_group": ("a", 1.5)}, r"missing_group must be \"raise\", \"skip\" or the name .*, got \('a', 1.5\)"),
        ({"missing_group": 1.5}, "missing_group must be .*, got 1.5"),
        ({"range": (1, 0)}, "range must have lo < hi"),
    ],
)
def test_wrong_options_are_refused_before_any_task(options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make_job(**options)


@pytest.mark.filterwarnings("error")
def test_workers_are_silent_and_the_user_is_warned_once(backend):
    """The warning is about all rows; one of each partition would be noise in the logs of workers."""
    n = 4_000
    scores = np.where(np.arange(n) % 40, np.random.default_rng(0).random(n), -999.0)
    table = pa.table({"the score": scores, "y": [0, 1] * (n // 2), "who": ["F"] * n})
    job = make_job()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        answers = [job.merge([job.count(one) for one in pieces(table, 3, 0)])]
        assert told == []
        job.finish(answers)
    assert [warning.category for warning in told] == [gf.errors.SentinelWarning]


@pytest.mark.slow
def test_a_key_that_goes_on_in_the_next_batch_has_one_sketch(backend):
    """Also with more keys than a batch of answers has, and keys with dictionaries, NaN and both zeros."""
    n = 3_000
    keys = np.repeat(np.arange(n // 5), 5)
    job = make_job()
    table = awkward_rows(n, 6).append_column("k", pa.array(keys)).select(["k", *job.columns])
    found = list(by_key(table.to_batches(7), 1, job.count_key, job.columns))
    assert len(found) > 2
    rows = pa.Table.from_batches(found)
    assert rows["k"].to_pylist() == [*range(n // 5)]
    for at in (0, 1, 300):
        assert rows["sketch"][at].as_py() == job.count(table.slice(5 * at, 5))
    for odd in (
        pa.array([None, None, "a", "a", "b"]).dictionary_encode(),
        pa.array([np.nan, np.nan, -0.0, 0.0, None]),
        pa.array([True, True, False, False, None]),
    ):
        some = pa.table([odd, *table.slice(0, 5).columns[1:]], names=table.column_names)
        batches = [batch for start in range(5) for batch in some.slice(start, 1).to_batches()]
        (made,) = by_key(batches, 1, job.count_key, job.columns)
        assert made["sketch"].to_pylist() == [job.count(some.slice(*cut)) for cut in ((0, 2), (2, 2), (4, 1))]


def test_keys_are_names_that_differ():
    assert key_columns("day") == ("day",)
    assert key_columns(["day", "shop"], "s") == ("day", "shop")
    for by, column in ((["day", "day"], "s"), ("s", "s")):
        with pytest.raises(ValueError, match="by has more than one column"):
            key_columns(by, column)
    for by in (7, [None], [("a", "b")]):
        with pytest.raises(TypeError, match="a column must be given by its name, got"):
            key_columns(by)


def test_a_task_merges_few_answers():
    asked = []
    assert in_a_tree([1] * (2 * FAN_IN + 1), lambda piece: asked.append(len(piece)) or sum(piece)) == [2 * FAN_IN + 1]
    assert asked == [FAN_IN, FAN_IN, 1, 3]


def test_importing_the_library_imports_no_engine():
    code = (
        "import sys, gstar_fast as gf\n"
        "assert not any(name.startswith('gstar_fast._engines') for name in sys.modules)\n"
        "print(gf.dask.sketch.__module__, gf.spark.sketch.__module__, gf.ray.sketch.__module__)\n"
        "assert not {'dask', 'pyspark', 'ray', 'pyarrow', 'pandas'} & {*sys.modules}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"gstar_fast._engines.{name}" for name in ("dask", "spark", "ray")]


def test_what_is_no_frame_of_an_engine_is_refused_in_words():
    """Also where the engine is not installed: nobody should read of a missing attribute or module."""
    asked = {"score": "p", "group": "g"}
    for function, what in (
        (partial(gf.spark.sketch, label="y"), "df must be a pyspark.sql.DataFrame, got dict"),
        (partial(gf.spark.decide, result=gf.Decider({"a": 0.5})), "df must be a pyspark.sql.DataFrame, got dict"),
        (partial(gf.ray.sketch, label="y"), "dataset must be a ray.data.Dataset, got dict"),
    ):
        with pytest.raises(TypeError, match=what):
            function({"p": [0.5]}, **asked)
    with pytest.raises(TypeError, match=r"got pandas\..*DataFrame; count a table in memory with Sketch.update_table"):
        gf.spark.sketch(pd.DataFrame({"p": [0.5]}), label="y", **asked)


def test_an_engine_that_is_not_installed_is_named_with_its_extra(monkeypatch):
    monkeypatch.setattr("gstar_fast._engines.adapter.find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"gf\.dask needs dask; install it with: pip install 'gstar-fast\[dask\]'"):
        gf.dask.sketch([], score="p", label="y", group="g")
