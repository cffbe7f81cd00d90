"""CPU seconds to count a table in DuckDB: our queries, DuckDB's own counting, and its rows handed to `update_table`.

    python -m benchmarks.engines.sql --rows 10000000

DuckDB runs in this process, so the process's own CPU time, all threads together, is the whole of it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import gstar_fast as gf
from benchmarks import harness

COLUMNS: dict[str, Any] = {"score": "p", "label": "y", "group": "race"}
OWN = "SELECT race, y, FLOOR(p * 4096) AS bin, COUNT(*) FROM people GROUP BY ALL"


def table_of(rows: int, seed: int = 0) -> pa.Table:
    """Probabilities, labels and texts of five values."""
    rng = np.random.default_rng(seed)
    scores = 1 / (1 + np.exp(-rng.normal(-1, 2, rows)))
    races = pa.array(["Asian", "Black", "Hispanic", "Other", "White"]).take(pa.array(rng.integers(0, 5, rows)))
    return pa.table({"p": scores, "y": (rng.random(rows) < scores).astype(np.int64), "race": races})


def contenders(connection: duckdb.DuckDBPyConnection) -> dict[str, Callable[[], Any]]:
    """What is compared; the table `people` is DuckDB's own."""

    def execute(query: str) -> list[Any]:
        return connection.execute(query).fetchall()

    def query(**options: Any) -> Callable[[], Any]:
        text = gf.sql.sketch_query("people", **COLUMNS, dialect="duckdb", **options)
        return lambda: execute(text)

    def stream() -> gf.Sketch:
        reader = connection.sql("SELECT p, y, race FROM people").to_arrow_reader(1_000_000)
        return gf.Sketch().update_table(reader, **COLUMNS)

    extent = execute(gf.sql.sketch_query("people", **COLUMNS, dialect="duckdb"))[0]
    return {
        "DuckDB's own counts, 4096 equal bins": lambda: execute(OWN),
        "our first query: the extent": query(),
        "our second query, without sums": query(extent=extent, exact=False),
        "our second query, exact": query(extent=extent),
        "our only query with range=(0, 1), exact": query(range=(0, 1)),
        "gf.sql.sketch: both queries, and the sketch": lambda: gf.sql.sketch(
            execute, "people", **COLUMNS, dialect="duckdb"
        ),
        "rows from DuckDB as Arrow, and update_table": stream,
    }


def measure(rows: int, repeats: int) -> dict[str, list[float]]:
    """CPU seconds of every contender, round after round."""
    table = table_of(rows)
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
        found = contenders(connection)
        expected = gf.Sketch().update_table(table, **COLUMNS).to_bytes()
        for name, run in found.items():
            made = run()
            assert not isinstance(made, gf.Sketch) or made.to_bytes() == expected, name  # fast and wrong is out
        del table
        spent: dict[str, list[float]] = {name: [] for name in found}
        for _ in range(repeats):
            for name, run in found.items():
                start = time.process_time()
                run()
                spent[name].append(time.process_time() - start)
    return spent


def page_of(spent: dict[str, list[float]], rows: int) -> str:
    """A table: least and median seconds, and the median against DuckDB's own counts."""
    own = statistics.median(next(iter(spent.values())))
    body = [
        [name, f"{min(times):.2f}", f"{(middle := statistics.median(times)):.2f}", f"{middle / own:.2f}"]
        for name, times in spent.items()
    ]
    head = [f"{rows:,} rows, CPU seconds", "least", "median", "to DuckDB's own"]
    return harness.table(head, body)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--repeats", type=int, default=5)
    asked = options.parse_args()
    print(page_of(measure(asked.rows, asked.repeats), asked.rows))


if __name__ == "__main__":
    main()
