"""`gstar-fast sketch` and `apply` on files, against pyarrow alone reading (and writing) the same columns of them.

    python -m benchmarks.bench_cli                   2e7 rows; writes cli.json and cli.md to benchmarks/results
    python -m benchmarks.bench_cli --rows 1000000 --results none
    pytest benchmarks/bench_cli.py                   small files under pytest-benchmark

Files are made in a temporary folder (or --folder, where they stay) and are in the page cache when the clock runs, so
that no disk is measured. pyarrow uses all its threads on both sides; its whole tables and its stream of batches both
run, and the faster is the rival. Every answer is compared with that of the arrays before the clock counts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import gstar_fast as gf
from benchmarks import harness
from gstar_fast.__main__ import main as gstar_fast

PARTS = 4
KINDS = {"dictionary": "text, as a dictionary", "code": "int32"}  # of the column of groups
CSV = {"csv": "CSV", "csv.gz": "CSV, gzip", "csv.zst": "CSV, zstd", "csv.lz4": "CSV, lz4"}
LEAST = 0.5  # of pyarrow's speed: the goal
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(gf.__file__).parent.parent)}


def make_table(rows: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    codes = random.integers(0, 4, rows).astype(np.int32)
    labels = random.integers(0, 2, rows).astype(np.int8)
    scores = (random.standard_normal(rows, dtype=np.float32) + labels).astype(np.float32)
    names = pa.DictionaryArray.from_arrays(pa.array(codes), ["east", "north", "south", "west"])
    return pa.table({"score": scores, "label": labels, "dictionary": names, "code": codes})


def make_files(folder: Path, rows: int, kind: str) -> list[Path]:
    """Parts of a table in a folder of their own; those of an earlier run are taken again."""
    place = folder / f"{kind}-{rows}"
    files = [place / f"part-{i}.{kind}" for i in range(PARTS)]
    if not all(file.exists() for file in files):
        place.mkdir(parents=True, exist_ok=True)
        for i, file in enumerate(files):
            table = make_table(rows // PARTS, seed=i)
            if kind == "parquet":
                pq.write_table(table, file)
            else:  # pyarrow writes what the last ending says
                with pa.output_stream(file) as out:
                    pa_csv.write_csv(table.drop_columns("code"), out, pa_csv.WriteOptions(quoting_style="none"))
    return files


def command(*words: str) -> None:
    code = gstar_fast([*words, "--quiet"])
    assert code == 0, code


def process(*words: str) -> None:
    subprocess.run([sys.executable, *words], check=True, env=ENVIRONMENT)


def sketch_words(files: list[Path], group: str, out: Path) -> list[str]:
    columns = ["--score", "score", "--label", "label", "--group", group]
    return ["sketch", str(files[0].parent), "-o", str(out), *columns]


# --------------------------------------------------------------------------------------------------------------- rivals


def read_whole(files: list[Path], columns: list[str]) -> None:
    for file in files:
        pq.read_table(file, columns=columns)


def read_batches(files: list[Path], columns: list[str]) -> None:
    for file in files:
        for _ in pq.ParquetFile(file).iter_batches(1 << 18, columns=columns):
            pass


WHOLE = "import sys, pyarrow.parquet as pq\nfor f in sys.argv[2:]: pq.read_table(f, columns=sys.argv[1].split(','))"
BATCHES = (
    "import sys, pyarrow.parquet as pq\nfor f in sys.argv[2:]:\n"
    "    for _ in pq.ParquetFile(f).iter_batches(1 << 18, columns=sys.argv[1].split(',')): pass"
)


def read_csv(files: list[Path], *, stream: bool) -> None:
    words = pa.dictionary(pa.int32(), pa.string())
    types = {"score": pa.float64(), "label": pa.int8(), "dictionary": words}
    options = pa_csv.ConvertOptions(column_types=types)
    for file in files:
        if stream:
            for _ in pa_csv.open_csv(file, convert_options=options):
                pass
        else:
            pa_csv.read_csv(file, convert_options=options)


def copy_parquet(files: list[Path], out: Path) -> None:
    """What `apply` must do at least: read all columns, put one more beside them, write."""
    writer = None
    for file in files:
        for batch in pq.ParquetFile(file).iter_batches(1 << 18):
            columns = [*batch.columns, pa.array(np.zeros(batch.num_rows, np.uint8))]
            more = pa.record_batch(columns, [*batch.schema.names, "decision"])
            if writer is None:
                writer = pq.ParquetWriter(out, more.schema)
            writer.write_batch(more)
    assert writer is not None
    writer.close()


# -------------------------------------------------------------------------------------------------------------- answers


def check_sketch(files: list[Path], group: str, out: Path) -> None:
    command(*sketch_words(files, group, out))
    expected = gf.Sketch()
    for i in range(PARTS):
        table = make_table(_rows_of(files) // PARTS, seed=i)
        scores = table["score"]
        if ".csv" in files[0].name:  # text has no float32
            scores = pa_csv.read_csv(files[i], convert_options=pa_csv.ConvertOptions(include_columns=["score"]))[
                "score"
            ]
        expected.update(scores, table["label"], table[group])
    assert gf.Sketch.load(out) == expected


def _rows_of(files: list[Path]) -> int:
    return int(files[0].parent.name.split("-")[1])


def check_decisions(files: list[Path], thresholds: Path, out: Path) -> None:
    command("apply", str(files[0].parent), "--thresholds", str(thresholds), "-o", str(out))
    decided = pq.read_table(out, columns=["score", "dictionary", "decision"])
    expected = gf.Decider.load(thresholds)(decided["score"], decided["dictionary"])
    assert np.array_equal(decided["decision"].to_numpy(), expected)
    assert len(decided) == _rows_of(files)


# ---------------------------------------------------------------------------------------------------------------- cases


def cases(folder: Path, rows: int, csv_rows: int) -> dict[str, tuple[int, dict[str, Callable[[], Any]]]]:
    """Title -> rows and contenders; the first contender is ours."""
    parquet = make_files(folder, rows, "parquet")
    sketch, decided, copied = folder / "s.gstar", folder / "decided.parquet", folder / "copied.parquet"
    thresholds = folder / "thresholds.json"
    found: dict[str, tuple[int, dict[str, Callable[[], Any]]]] = {}
    for group, kind in KINDS.items():
        check_sketch(parquet, group, sketch)
        columns = ["score", "label", group]
        words = sketch_words(parquet, group, sketch)
        found[f"sketch, Parquet, groups {kind}, in one process"] = (
            rows,
            {
                "gstar-fast": lambda words=words: command(*words),
                "pyarrow, whole tables": lambda columns=columns: read_whole(parquet, columns),
                "pyarrow, batches": lambda columns=columns: read_batches(parquet, columns),
            },
        )
        listed = [",".join(columns), *map(str, parquet)]
        found[f"sketch, Parquet, groups {kind}, start of the process included"] = (
            rows,
            {
                "gstar-fast": lambda words=words: process("-m", "gstar_fast", *words, "--quiet"),
                "pyarrow, whole tables": lambda listed=listed: process("-c", WHOLE, *listed),
                "pyarrow, batches": lambda listed=listed: process("-c", BATCHES, *listed),
            },
        )
    for kind, title in CSV.items():
        files = make_files(folder, csv_rows, kind)
        check_sketch(files, "dictionary", sketch)
        words = sketch_words(files, "dictionary", sketch)
        found[f"sketch, {title}, in one process"] = (
            csv_rows,
            {
                "gstar-fast": lambda words=words: command(*words),
                "pyarrow, whole tables": lambda files=files: read_csv(files, stream=False),
                "pyarrow, batches": lambda files=files: read_csv(files, stream=True),
            },
        )
    columns = ["--score", "score", "--group", "dictionary"]
    command("solve", str(sketch), "--limit", "equalized_odds=0.1", "-o", str(thresholds), *columns)
    check_decisions(parquet, thresholds, decided)
    found["apply, Parquet to Parquet, in one process"] = (
        rows,
        {
            "gstar-fast": lambda: command(
                "apply", str(parquet[0].parent), "--thresholds", str(thresholds), "-o", str(decided)
            ),
            "pyarrow, read and write": lambda: copy_parquet(parquet, copied),
        },
    )
    return found


def report(found: dict[str, tuple[int, dict[str, harness.Timing]]]) -> str:
    body = []
    for title, (rows, times) in found.items():
        ours = times["gstar-fast"].least
        rival = min((name for name in times if name != "gstar-fast"), key=lambda name: times[name].least)
        speed = times[rival].least / ours
        body.append(
            [
                title,
                f"{rows:.0e}",
                f"{rows / ours / 1e6:,.1f}",
                f"{rows / times[rival].least / 1e6:,.1f}",
                rival,
                f"{speed:.2f}x",
                f"{LEAST}x" if "Parquet, groups" in title else "",
                ("yes" if speed >= LEAST else "NO") if "Parquet, groups" in title else "",
            ]
        )
    head = [
        "what",
        "rows",
        "ours, million/s",
        "pyarrow, million/s",
        "its faster way",
        "of pyarrow's speed",
        "goal",
        "met",
    ]
    return harness.table(head, body)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="for the files, which then stay there")
    parser.add_argument("--results", default=str(harness.RESULTS), help="folder for the report, or none")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        found = {
            title: (rows, harness.race(contenders, repeats=options.repeats))
            for title, (rows, contenders) in cases(folder, options.rows, options.rows // 10).items()
        }
    text = report(found)
    print(text)
    if options.results != "none":
        about = harness.machine()
        about["packages"]["pyarrow"] = pa.__version__
        page = f"# Command line\n\n{harness.heading(about)}\n\n{text}\n\n{__doc__.strip().split(chr(10) * 2)[-1]}\n"
        data = {title: {"rows": rows, "times": times} for title, (rows, times) in found.items()}
        harness.write(Path(options.results), "cli", {"machine": about, **data}, page)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return cases(tmp_path_factory.mktemp("tables"), 200_000, 20_000)


@pytest.mark.parametrize("title", ["sketch, Parquet, groups int32, in one process", "sketch, CSV, in one process"])
@pytest.mark.parametrize("contender", ["gstar-fast", "pyarrow, whole tables"])
def test_command_line(benchmark: Any, small: Any, title: str, contender: str) -> None:
    rows, contenders = small[title]
    benchmark.group = f"{title}, {rows} rows"
    benchmark(contenders[contender])


if __name__ == "__main__":
    main()
