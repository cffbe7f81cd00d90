"""Peak memory of `gstar-fast sketch` on 5 million and on 50 million rows of Parquet: it should be the same.

    python -m benchmarks.studies.constant_memory FOLDER [--rows 50000000] [--results FOLDER]

FOLDER gets the tables, ten parts of one tenth of the rows each (some 350 MB in all); those of an earlier run are taken
again. The peak is what the kernel says of the finished process (ru_maxrss of wait4), its imports included.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import gstar_fast as gf
from benchmarks import harness

PARTS = 10
STEP = 1_000_000  # rows in memory while a part is made
REPEATS = 3  # what allocators keep differs by a tenth from run to run; the median counts
MOST = 1.25  # peak of all rows over peak of a tenth
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(gf.__file__).parent.parent)}


def make_part(path: Path, rows: int, seed: int) -> None:
    if path.exists():
        return
    random = np.random.default_rng(seed)
    names = pa.array(["east", "north", "south", "west"])
    writer = None
    unfinished = path.with_suffix(".making")
    for start in range(0, rows, STEP):
        n = min(STEP, rows - start)
        labels = random.integers(0, 2, n).astype(np.int8)
        scores = random.standard_normal(n, dtype=np.float32) + labels
        groups = pa.DictionaryArray.from_arrays(pa.array(random.integers(0, 4, n).astype(np.int32)), names)
        table = pa.table({"score": scores.astype(np.float32), "label": labels, "group": groups, "id": np.arange(n)})
        writer = writer or pq.ParquetWriter(unfinished, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()
    unfinished.rename(path)


def peak_of(inputs: list[Path], out: Path) -> tuple[float, int]:
    """Peak resident megabytes of the command, and the rows it counted."""
    columns = ["--score", "score", "--label", "label", "--group", "group"]
    words = ["-m", "gstar_fast", "sketch", *map(str, inputs), "-o", str(out), *columns, "--quiet"]
    process = os.spawnve(os.P_NOWAIT, sys.executable, [sys.executable, *words], ENVIRONMENT)
    _, status, usage = os.wait4(process, 0)
    if status:
        raise SystemExit(f"gstar-fast sketch failed with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_maxrss / 1024, int(gf.Sketch.load(out).n_rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--results", default=str(harness.RESULTS), help="folder for the report, or none")
    options = parser.parse_args()
    place = options.folder / f"constant-memory-{options.rows}"
    place.mkdir(parents=True, exist_ok=True)
    parts = [place / f"part-{i}.parquet" for i in range(PARTS)]
    for i, part in enumerate(parts):
        make_part(part, options.rows // PARTS, seed=i)
    body, peaks = [], []
    for inputs in (parts[:1], [place]):
        runs = [peak_of(inputs, options.folder / "constant-memory.gstar") for _ in range(REPEATS)]
        peak, rows = sorted(runs)[REPEATS // 2]
        assert rows == (options.rows if inputs == [place] else options.rows // PARTS)
        size = sum(part.stat().st_size for part in (parts if inputs == [place] else inputs))
        peaks.append(peak)
        spread = ", ".join(f"{run:,.0f}" for run, _ in sorted(runs))
        body.append([f"{rows:,}", f"{size / 1e6:,.0f} MB", f"{peak:,.0f} MB", spread])
    ratio = peaks[1] / peaks[0]
    text = harness.table(["rows", "files", "peak RSS", "all runs"], body)
    text += f"\n\nTen times the rows take {ratio:.2f} times the memory.\n"
    print(text)
    if options.results != "none":
        about = harness.machine()
        about["packages"]["pyarrow"] = pa.__version__
        page = f"# Constant memory\n\n{harness.heading(about)}\n\n{text}\n`gstar-fast sketch` on Parquet: "
        page += "the whole process, with Python, NumPy and pyarrow.\n"
        harness.write(Path(options.results), "constant_memory", {"machine": about, "MB": peaks, "ratio": ratio}, page)
    if ratio > MOST:
        raise SystemExit(f"memory grows with the rows: {ratio:.2f} times, at most {MOST} is allowed")


if __name__ == "__main__":
    main()
