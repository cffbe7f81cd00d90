"""What a row of a group column costs, by the kind of column, against pandas.factorize and pyarrow's dictionary_encode.

    python -m benchmarks.bench_groups            200,000 rows of each kind, then batches of a stream
    python -m benchmarks.bench_groups --quick    1e5 rows, for a look
    pytest benchmarks/bench_groups.py            four kinds under pytest-benchmark

All contenders run in turn in one process, and every answer is compared before the clock counts: the names of all rows
must come back. Tables and JSON go to benchmarks/results (`--results none` keeps them on the screen).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import gstar_fast as gf
from benchmarks import harness
from gstar_fast._input.columns import group_column
from gstar_fast._input.group_columns import as_groups

Encode: TypeAlias = Callable[[Any], tuple[Any, Any]]  # a column -> codes, and the names they index

OURS, PANDAS, ARROW = "gstar_fast", "pandas.factorize", "pyarrow dictionary_encode"
FEW = ["female", "male", "nonbinary", "unknown", "declined"]
GOALS = {
    "array of objects": 15.0,
    "array of objects, each row its own": 15.0,
    "list": 15.0,
    "Arrow utf8": 6.0,
    "Arrow large_utf8": 6.0,
    "Arrow string_view": 6.0,
}


def ours(column: Any) -> tuple[Any, Any]:
    """Codes and names as `Sketch.update` makes them before it counts."""
    return as_groups(*group_column(column, "groups"))


def pandas(column: Any) -> tuple[Any, Any]:
    return pd.factorize(np.array(column, object) if isinstance(column, list) else column)


def pyarrow(column: Any) -> tuple[Any, Any]:
    encoded = (column if isinstance(column, (pa.Array, pa.ChunkedArray)) else pa.array(column)).dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):  # all chunks have one dictionary
        return pa.chunked_array([chunk.indices for chunk in encoded.chunks]), encoded.chunk(0).dictionary
    return encoded.indices, encoded.dictionary


def kinds(rows: int, seed: int = 0) -> dict[str, tuple[Any, list[Encode]]]:
    """Columns of one content in every form, and who can read them."""
    random = np.random.default_rng(seed)
    pick = random.integers(0, len(FEW), rows)
    objects = np.array(FEW, object)[pick]
    text = pa.array(objects, pa.string())
    many = np.array([f"district {i}" for i in range(2000)], object)[random.integers(0, 2000, rows)]
    both = [ours, pandas, pyarrow]
    return {
        "array of objects": (objects, both),
        "array of objects, each row its own": (np.array([(name + ".")[:-1] for name in objects], object), both),
        "list": (objects.tolist(), both),
        "array of '<U9'": (objects.astype("U9"), [ours, pandas]),
        "Arrow utf8": (text, [ours, pyarrow]),
        "Arrow large_utf8": (text.cast(pa.large_string()), [ours, pyarrow]),
        "Arrow string_view": (text.cast(pa.string_view()), [ours]),
        "Arrow utf8 in chunks of 10,000": (
            pa.chunked_array([text[i : i + 10_000] for i in range(0, rows, 10_000)]),
            [ours, pyarrow],
        ),
        "Arrow utf8, 48 to 108 bytes": (pa.array([12 * name for name in objects], pa.string()), [ours, pyarrow]),
        "pandas str": (pd.Series(objects, dtype="str"), [ours, pandas]),
        "pandas string, in Python": (pd.Series(objects, dtype=pd.StringDtype("python")), [ours, pandas]),
        "array of objects, 2,000 names": (many, both),
        "Arrow utf8, 2,000 names": (pa.array(many, pa.string()), [ours, pyarrow]),
    }


NAMES = {ours: OURS, pandas: PANDAS, pyarrow: ARROW}


def check(column: Any, encode: Encode) -> None:
    """Every row gets its name back."""
    codes, names = encode(column)
    back = np.array(names.to_pylist() if isinstance(names, pa.Array) else list(names), object)[np.asarray(codes)]
    values = column.to_pylist() if isinstance(column, (pa.Array, pa.ChunkedArray)) else list(column)
    assert back.tolist() == values  # fast and wrong is out


def columns(rows: int, repeats: int) -> tuple[str, list[dict[str, Any]]]:
    """Nanoseconds a row of each kind."""
    body, records = [], []
    for kind, (column, who) in kinds(rows).items():
        for encode in who:
            check(column, encode)
        runs: dict[str, Callable[[], Any]] = {NAMES[encode]: lambda e=encode, c=column: e(c) for encode in who}
        times = harness.race(runs, repeats=repeats, budget=5.0)
        shown = [f"{1e9 * t.least / rows:.1f} ({1e9 * t.median / rows:.1f})" for t in times.values()]
        by_name = dict(zip(times, shown, strict=True))
        goal = GOALS.get(kind)
        met = "" if goal is None else f"{goal:g}, {'met' if 1e9 * times[OURS].least / rows <= goal else 'missed'}"
        body.append([kind, *(by_name.get(name, "-") for name in NAMES.values()), met])
        records.append({"kind": kind, "rows": rows, "times": times})
    return harness.table(["kind of column", *NAMES.values(), "goal"], body), records


def stream_of(table: pa.Table, rows: int) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=rows))


def count(table: pa.Table, rows: int) -> gf.Sketch:
    return gf.Sketch().update_table(stream_of(table, rows), score="p", label="y", group="g")


def batches(rows: int, repeats: int) -> tuple[str, list[dict[str, Any]]]:
    """Nanoseconds a row through update_table: one large batch, and smaller ones of the same rows."""
    random = np.random.default_rng(1)
    scores = random.standard_normal(rows, dtype=np.float32)
    labels = random.integers(0, 2, rows).astype(np.uint8)
    pick = random.integers(0, len(FEW), rows)
    text = pa.array(np.array(FEW, object)[pick], pa.string())
    groups = {
        "utf8": text,
        "string_view": text.cast(pa.string_view()),
        "dictionary": text.dictionary_encode(),
        "int32": pa.array(pick.astype(np.int32)),
    }
    sizes = [size for size in (rows, 100_000, 10_000, 1000) if size <= rows]
    body, records = [], []
    for kind, column in groups.items():
        table = pa.table({"p": scores, "y": labels, "g": column})
        expected = gf.Sketch.from_rows(scores, labels, pick if kind == "int32" else text)
        assert all(count(table, size) == expected for size in sizes)
        times = harness.race(
            {str(size): lambda t=table, s=size: count(t, s) for size in sizes}, repeats=repeats, budget=5.0
        )
        whole = times[str(rows)].least
        body.append([kind, *(f"{1e9 * t.least / rows:.1f} ({t.least / whole:.1f}x)" for t in times.values())])
        records.append({"kind": kind, "rows": rows, "times": times})
    return harness.table(["groups in the stream", *(f"batches of {size:,}" for size in sizes)], body), records


# ---------------------------------------------------------------------------------------------------- pytest-benchmark


@pytest.mark.parametrize("kind", ["array of objects", "list", "Arrow utf8", "Arrow string_view"])
def test_groups(benchmark: Any, kind: str) -> None:
    column, _ = kinds(100_000)[kind]
    check(column, ours)
    benchmark(lambda: ours(column))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1e5 rows")
    parser.add_argument("--results", default=str(harness.RESULTS), help="folder for tables and JSON, or none")
    options = parser.parse_args()
    rows, repeats = (100_000, 5) if options.quick else (200_000, 75)  # short rounds, for a machine that is shared
    about = harness.machine()
    one, kinds_report = columns(rows, repeats)
    many, batches_report = batches(rows, repeats)
    about["load"] = os.getloadavg()[0]
    page = f"""# Columns of groups

{harness.heading(about)}

The load of the machine was {about["load"]:.1f} on {about["cores"]} cores. Where other work runs beside, a contender
whose rounds take longer is disturbed more.

## From a column to codes and names

Nanoseconds a row, least (and median) of {repeats} rounds in which all contenders take turns. {rows:,} rows in random
order, of {len(FEW)} names of 4 to 9 bytes unless the kind says otherwise. Equal names are one object, except in the
second kind. For pandas a list becomes an array of objects, and for pyarrow arrays and lists become Arrow arrays, as
part of their time.

{one}

## Batches of a stream

`Sketch.update_table` on the same {rows:,} rows in batches of different size: nanoseconds a row, counting included, and
the ratio to one batch; least of {repeats} rounds.

{many}
"""
    print(page)
    if options.results != "none":
        report = {"machine": about, "columns": kinds_report, "batches": batches_report}
        harness.write(Path(options.results), "groups", report, page)


if __name__ == "__main__":
    main()
