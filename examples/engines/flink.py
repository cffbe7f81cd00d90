"""Apache Flink: each file becomes the bytes of a sketch, and a keyed reduce merges them to the bytes of one pass.

    pip install apache-flink
    python examples/engines/flink.py

PyFlink needs Java. Give its workers this Python with `env.set_python_executable`.
"""

import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyflink.common import Types
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment

import gstar_fast as gf

BYTES = Types.PICKLED_BYTE_ARRAY()


def count(path):
    """The bytes of one file's sketch; a task that fails and is repeated returns them again, and none counts twice."""
    table = pq.read_table(path, columns=["p", "y", "sex"])
    return gf.Sketch().update_table(table, score="p", label="y", group="sex").to_bytes()


def merge(a, b):
    """A new sketch, as bytes."""
    return gf.merge_all([a, b]).to_bytes()


def main(folder):
    table = gf.datasets.paper_synthetic(rows=100_000, seed=0)
    rows = pa.table({"p": table.scores, "y": table.labels, "sex": pa.array(table.groups).cast(pa.string())})
    paths = [f"{folder}/part-{i}.parquet" for i in range(8)]
    for i, path in enumerate(paths):
        pq.write_table(rows.slice(i * 12_500, 12_500), path)
    expected = gf.Sketch().update_table(rows, score="p", label="y", group="sex").to_bytes()

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)  # a reduce then gives its last value only
    env.set_parallelism(2)
    env.set_python_executable(sys.executable)
    merged = env.from_collection(paths, Types.STRING()).map(count, BYTES).key_by(lambda _: 0, Types.INT()).reduce(merge)
    (found,) = merged.execute_and_collect()
    assert found == expected
    print(f"{gf.Sketch.from_bytes(found).n_rows:,} rows of {len(paths)} files, the bytes of one pass")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as here:
        main(Path(here))
