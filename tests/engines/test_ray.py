"""Ray: datasets give the bytes of one pass. Ray is not among the engines that `.ci/run` installs: it takes 600 MB."""

import importlib.util

import numpy as np
import pyarrow as pa
import pytest
from helpers.engines import COLUMNS, awkward_rows, by_key, rows_by_key, run_page, sketches_of

import gstar_fast as gf

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own are many


@pytest.fixture(scope="module")
def ray():
    if importlib.util.find_spec("ray") is None:
        pytest.skip("ray is not installed")
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().default_hash_shuffle_parallelism = 3
    yield ray
    ray.shutdown()


def test_blocks_give_the_bytes_of_one_pass(ray):
    table = awkward_rows(200_000, 1)
    one = gf.Sketch().update_table(table, **COLUMNS)
    dataset = ray.data.from_arrow([table.slice(start, 5_000) for start in range(0, 200_000, 5_000)])
    assert gf.ray.sketch(dataset, **COLUMNS).to_bytes() == one.to_bytes()


def test_refused_rows_are_one_error_of_ours(ray):
    table = pa.table({"the score": [0.5, np.nan, 1.5], "y": [0, 1, None], "who": ["F", "M", None]})
    dataset = ray.data.from_arrow([table, table.slice(0, 1), table.slice(0, 0)])
    with pytest.raises(gf.errors.InputTypeError, match=r"column 'who' has a missing value; .*missing_group="):
        gf.ray.sketch(dataset, **COLUMNS, nan="skip")
    one = gf.Sketch().update([0.5, np.nan, 1.5, 0.5], [0, 1, None, 0], ["F", "M", 0, "F"], nan="skip")
    assert gf.ray.sketch(dataset, **COLUMNS, nan="skip", missing_group=0) == one


def test_sketches_by_key_have_the_bytes_of_one_pass_of_each_key(ray):
    table = rows_by_key(3_000, 4)
    dataset = ray.data.from_arrow([table.slice(start, 500) for start in range(0, 3_000, 500)])
    keys = ["day", "a shop"]
    sketches = gf.ray.sketches(dataset, by=keys, **COLUMNS).materialize()
    assert sketches.columns() == [*keys, "sketch"]
    assert by_key(pa.Table.from_pylist(sketches.take_all())) == sketches_of(table, keys)
    shops = gf.ray.merged(sketches, "sketch", by="a shop").materialize()
    assert by_key(pa.Table.from_pylist(shops.take_all())) == sketches_of(table, ["a shop"])
    (total,) = gf.ray.merged(shops, "sketch").take_all()
    assert total["sketch"] == gf.Sketch().update_table(table, **COLUMNS).to_bytes()


def test_the_page_runs(ray, tmp_path):
    assert run_page("Ray", tmp_path, {}) == 1
