"""CPU seconds and memory of counting on Dask and Spark, on one machine.

Times are CPU seconds of the whole process tree, read from /proc (Linux): the driver, its workers, Java, and processes
that have ended since. Wall time on shared cores would say little.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

import gstar_fast as gf

COLUMNS: dict[str, Any] = {"score": "p", "label": "y", "group": "race"}
NAMES = ["p", "y", "race"]
GROUPS = 50
FILES = 8


def cpu_of_tree() -> float:
    """CPU seconds of this process, all that came from it, and those of them that have ended."""
    parents, spent = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has just ended
            parents[int(entry.name)], spent[int(entry.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    tree, left = set(), [os.getpid()]
    while left:
        one = left.pop()
        tree.add(one)
        left += [child for child, parent in parents.items() if parent == one and child not in tree]
    return sum(spent.get(one, 0) for one in tree) / os.sysconf("SC_CLK_TCK")


def race(contenders: dict[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """CPU seconds of all contenders, in turn, round after round; each has run once before."""
    spent: dict[str, list[float]] = {name: [] for name in contenders}
    for run in contenders.values():
        run()
    for _ in range(repeats):
        for name, run in contenders.items():
            start = cpu_of_tree()
            run()
            spent[name].append(cpu_of_tree() - start)
    return spent


def write_rows(folder: Path, rows: int) -> str:
    """A folder of Parquet files: scores from 0 to 1, labels, and five groups of text."""
    place = folder / "people"
    place.mkdir()
    names = pa.array(["Asian", "Black", "Hispanic", "Other", "White"])
    for part in range(FILES):
        rng, n = np.random.default_rng(part), rows // FILES
        scores = 1 / (1 + np.exp(-rng.normal(-1, 2, n)))
        labels = (rng.random(n) < scores).astype(np.int64)
        table = pa.table({"p": scores, "y": labels, "race": names.take(pa.array(rng.integers(0, 5, n)))})
        pa.parquet.write_table(table, place / f"{part}.parquet")
    return str(place)


def one_pass(path: str) -> gf.Sketch:
    """All rows in one process, as pyarrow streams them."""
    reader = pyarrow.dataset.dataset(path).scanner(columns=NAMES).to_reader()
    return gf.Sketch().update_table(reader, **COLUMNS)


def read_only(path: str) -> int:
    """Read all rows and do nothing."""
    return sum(len(batch) for batch in pyarrow.dataset.dataset(path).scanner(columns=NAMES).to_batches())


# ---------------------------------------------------------------------------------------------------------------- Spark


@contextmanager
def spark_session(cores: str = "local[2]") -> Iterator[Any]:
    """A session on this machine."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(cores).config("spark.ui.enabled", "false")
    for name in ("spark.driver.host", "spark.driver.bindAddress"):
        builder = builder.config(name, "127.0.0.1")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def spark(path: str, repeats: int) -> dict[str, list[float]]:
    """Ours, Spark that hands the same rows to Python for nothing, Spark's own counting, and our queries."""

    def nothing(batches: Any) -> Any:
        n = sum(len(batch) for batch in batches)
        yield pa.record_batch([pa.array([n])], names=["n"])

    with spark_session() as session:
        people = session.read.parquet(path)

        def own() -> Any:  # a new frame each time: an old one would keep its shuffled counts
            binned = people.selectExpr("race", "y", "floor(p * 4096) AS bin")
            return binned.groupBy("race", "y", "bin").count().collect()

        expected = one_pass(path)
        for pushdown in (False, True):
            made = gf.spark.sketch(people, **COLUMNS, pushdown=pushdown)
            assert made.to_bytes() == expected.to_bytes()  # fast and wrong is out
        assert sum(row[0] for row in people.select(*NAMES).mapInArrow(nothing, "n long").collect()) == expected.n_rows
        return race(
            {
                "Spark hands the rows to Python, which does nothing": lambda: (
                    people.select(*NAMES).mapInArrow(nothing, "n long").collect()
                ),
                "gf.spark.sketch": lambda: gf.spark.sketch(people, **COLUMNS),
                "Spark's own counts, 4096 equal bins": own,
                "gf.spark.sketch, pushdown=True": lambda: gf.spark.sketch(people, **COLUMNS, pushdown=True),
                "pyarrow reads, nothing more": lambda: read_only(path),
                "pyarrow and update_table, one process": lambda: one_pass(path),
            },
            repeats,
        )


# ----------------------------------------------------------------------------------------------------------------- Dask


def dask(path: str, repeats: int) -> dict[str, list[float]]:
    """Ours, the same partitions read and thrown away, and counting frames that are in memory."""
    import dask.dataframe as dd
    from dask.base import compute
    from dask.delayed import delayed
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        people = dd.read_parquet(path, columns=NAMES)
        length = delayed(len, pure=False)
        frames = [part.compute() for part in people.partitions]
        assert gf.dask.sketch(people, **COLUMNS).to_bytes() == one_pass(path).to_bytes()

        def counting() -> gf.Sketch:
            return gf.merge_all([gf.Sketch().update_table(frame, **COLUMNS).to_bytes() for frame in frames])

        assert counting() == one_pass(path)
        return race(
            {
                "Dask reads all partitions, nothing more": lambda: compute(*map(length, people.to_delayed())),
                "counting frames in memory, one process": counting,
                "gf.dask.sketch": lambda: gf.dask.sketch(people, **COLUMNS),
                "Dask's own counts, 4096 equal bins": lambda: (
                    people.assign(bin=(people["p"] * 4096).astype("int64"))
                    .groupby(["race", "y", "bin"])
                    .size()
                    .compute()
                ),
            },
            repeats,
        )


# -------------------------------------------------------------------------------------------------------- driver memory


def small_table(seed: int, rows: int = 1_000) -> pa.Table:
    """A partition of fifty groups."""
    rng = np.random.default_rng(seed)
    scores = 1 / (1 + np.exp(-rng.normal(-0.5, 1.5, rows)))
    return pa.table({"p": scores, "y": rng.integers(0, 2, rows), "race": rng.integers(0, GROUPS, rows)})


def _peak(pid: str = "self") -> float:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def driver_of_dask(partitions: int) -> dict[str, float]:
    """Peak megabytes of the driver, in which Dask's scheduler runs too; without ours it is as the first figure says."""
    from dask.delayed import delayed
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        gf.dask.sketch([delayed(small_table)(0)], **COLUMNS)
        before, start = _peak(), cpu_of_tree()
        sketch = gf.dask.sketch([delayed(small_table)(seed) for seed in range(partitions)], **COLUMNS)
        assert sketch.n_rows == 1_000 * partitions
        return {"before": before, "peak": _peak(), "seconds": cpu_of_tree() - start}


def driver_of_spark(partitions: int) -> dict[str, float]:
    """Peak megabytes of the driver's Python; what its Java holds is bounded by spark.driver.memory."""

    def make(batches: Any) -> Any:
        for batch in batches:
            for seed in batch.column(0).to_pylist():
                yield from small_table(seed).to_batches()

    with spark_session() as session:
        rows = session.range(0, partitions, 1, partitions).mapInArrow(make, "p double, y long, race long")
        gf.spark.sketch(session.range(0, 2, 1, 2).mapInArrow(make, "p double, y long, race long"), **COLUMNS)
        before, start = _peak(), cpu_of_tree()
        sketch = gf.spark.sketch(rows, **COLUMNS)
        assert sketch.n_rows == 1_000 * partitions
        return {"before": before, "peak": _peak(), "seconds": cpu_of_tree() - start}


def in_a_process(name: str, *arguments: Any) -> Any:
    """What a function of this module answers in a process of its own, so that nothing lingers."""
    command = [sys.executable, "-m", "benchmarks.engines.cluster", name, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    return json.loads(done.stdout.splitlines()[-1])


# -------------------------------------------------------------------------------------------------------------- merging


def merging(rows: int, most: int) -> dict[str, Any]:
    """Bytes of sketches of fifty groups, and CPU seconds of merging more and more of them into one."""
    blobs = [gf.Sketch().update_table(small_table(seed, rows), **COLUMNS).to_bytes() for seed in range(min(most, 200))]
    total, merged, steps = gf.Sketch(), 0, []
    start = time.process_time()
    while merged < most:
        total._core.merge_bytes(blobs[merged % len(blobs)])
        merged += 1
        if str(merged).strip("0") == "1" and merged >= 100:
            steps.append({"partitions": merged, "seconds": time.process_time() - start, "bytes": len(total.to_bytes())})
    assert total.n_rows == rows * most
    return {"rows": rows, "bytes": sum(map(len, blobs)) / len(blobs), "steps": steps}


if __name__ == "__main__":
    called = {"spark": spark, "dask": dask, "driver_of_dask": driver_of_dask, "driver_of_spark": driver_of_spark}
    name, *given = sys.argv[1:]
    answer = called[name](*[int(one) if one.isdigit() else one for one in given])
    print(json.dumps(answer), flush=True)
