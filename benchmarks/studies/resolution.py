"""What bins cost: the error over the optimum on the rows themselves, for scores on which a grid may fail.

    python -m benchmarks.studies.resolution [--data FOLDER] [--seeds N] [--quick] [--results FOLDER]

FOLDER has `scores/*.npz` as `quality.py` takes them; each file is then tried as it is and with 20 scores of -999.

For each data set and seed: the least error within a limit on the equalized odds, over thresholds at every distinct
score; and the same over the edges of a grid of 4096 bins. Grids, all asked by the same exact solver:

- ours: the grid of a sketch (`docs/sketch_format.md`);
- linear: equal bins over the range of the scores, the finest power of two (version 1 of the sketch);
- log-linear: as many bins in every octave of |x|, equal ones below the last, as HdrHistogram has them.

More than 65,536 distinct scores are thinned for the optimum: cuts beside rows of the rarer class come first, then
others evenly by rank. All seeds are in resolution.json.xz.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import gstar_fast as gf
from benchmarks.harness import heading, machine, table, write
from benchmarks.studies.quality import by_column
from benchmarks.studies.resolution_sets import CORE, MORE, Rows, Set, make

BINS = 4096
MOST = 65_536  # bins of a sketch, so cuts that the solver can be given
GRIDS = ("ours", "linear", "log-linear")


def error_at(places: np.ndarray, rows: Rows, kind: Set) -> float:
    """The least error of thresholds between whole numbers that stand for the scores."""
    bins = max(16, 1 << int(places.max()).bit_length())
    sketch = gf.Sketch.from_rows(places.astype(np.float64), rows[1], rows[2], bins=bins, range=(0, bins))
    result = gf.solve(
        sketch,
        limits={"equalized_odds": kind.limit},
        objective="balanced_error" if kind.balanced else "error",
        evidence=0,
    )
    assert result.verdict == "optimal", result
    return float(result.loss) ** 0.5


def ranks(rows: Rows) -> np.ndarray:
    """The rank of each score among the distinct ones, thinned to what the solver takes."""
    values, places = np.unique(rows[0], return_inverse=True)
    if len(values) <= MOST:
        return places
    rare = rows[1] == (rows[1].mean() < 0.5)
    kept = np.zeros(len(values) + 1, bool)
    beside = np.unique(places[rare])
    if 2 * len(beside) < MOST // 2:
        kept[beside] = kept[beside + 1] = True
    room = MOST - 2 - int(kept.sum())
    kept[np.linspace(0, len(values) - 1, room).astype(int)] = True
    thinned: np.ndarray = np.cumsum(kept[:-1])[places]
    return thinned - thinned.min()


def log_linear(x: np.ndarray) -> np.ndarray:
    """Bin numbers of a log-linear grid: from the largest |x| to the least, with at least 64 bins an octave."""
    size = np.abs(x.astype(np.float64))
    sides = 1 + bool((x < 0).any() and (x >= 0).any())
    octave = np.frexp(np.where(size == 0, 1, size))[1]
    top = int(octave[size > 0].max(initial=0))
    reach = top - int(octave[size > 0].min(initial=top)) + 1
    octaves = min(reach, BINS // 64 // sides - 1)
    per = 1 << (BINS // (sides * (octaves + 1))).bit_length() - 1
    width = np.maximum(np.where(size == 0, top - octaves, octave), top - octaves + 1) - 1
    depth = width - (top - octaves)
    number = np.floor(np.ldexp(size, -width) * per) + depth * per
    return np.where(x < 0, -number - 1, number).astype(np.int64)


def linear(x: np.ndarray) -> np.ndarray:
    """Bin numbers of the finest 4096 equal bins of a power of two."""
    x = x.astype(np.float64)
    level = np.ceil(np.log2((x.max() - x.min()) / BINS)) - 1
    while np.floor(x.max() / 2**level) - np.floor(x.min() / 2**level) >= BINS:
        level += 1
    return np.floor(x / 2**level).astype(np.int64)


def ours(rows: Rows) -> tuple[np.ndarray, gf.Sketch, list[str]]:
    """The bins of a sketch, the sketch, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sketch = gf.Sketch.from_rows(*rows, bins=BINS)
    places = np.searchsorted(sketch.edges, rows[0].astype(np.float64), side="right") - 1
    return places, sketch, sorted({type(w.message).__name__ for w in caught})


def look(kind: Set, seed: int, rows: Rows) -> dict[str, Any]:
    """What each grid costs on one data set."""
    least = error_at(ranks(rows), rows, kind)
    mine, sketch, warned = ours(rows)
    numbers = {"ours": mine, "linear": linear(rows[0]), "log-linear": log_linear(rows[0])}
    cost = {}
    for grid, number in numbers.items():
        places = np.unique(number, return_inverse=True)[1]
        assert places.max() < BINS, (grid, kind.name, places.max())
        assert (np.diff(places[np.argsort(rows[0])]) >= 0).all(), (grid, kind.name, "a higher score, a lower bin")
        cost[grid] = error_at(places, rows, kind) - least
    direct = gf.solve(
        sketch,
        limits={"equalized_odds": kind.limit},
        objective="balanced_error" if kind.balanced else "error",
        evidence=0,
    )
    assert abs(direct.loss**0.5 - least - cost["ours"]) < 1e-9, "the sketch itself gives the same"
    return {"set": kind.name, "seed": seed, "optimum": least, "level": sketch.level, "warned": warned, **cost}


def files(folder: Path) -> list[tuple[Set, int, Rows]]:
    """Real scores: each file as it is, and with a sentinel."""
    out = []
    for path in sorted((folder / "scores").glob("*.npz")):
        with np.load(path) as file:
            score, label, group = (file[name] for name in ("score", "label", "group"))
        for sentinel in (False, True):
            scores = score.copy()
            if sentinel:
                scores[:20] = -999
            out.append((Set("files, 20 x -999" if sentinel else "files"), len(out) // 2, (scores, label, group)))
    return out


def row_of(name: str, found: list[dict[str, Any]]) -> list[str]:
    """Mean and largest cost of each grid, in units of 0.0001."""
    cells = []
    for grid in GRIDS:
        cost = 1e4 * np.array([one[grid] for one in found])
        cells += [f"{cost.mean():.1f}", f"{cost.max():.1f}"]
    warned = sum(bool(one["warned"]) for one in found)
    return [name, str(len(found)), *cells, f"{warned} of {len(found)}"]


def page(found: dict[str, list[dict[str, Any]]], about: dict[str, Any]) -> str:
    """The record to read."""
    head = ["scores", "runs", *(f"{grid}: {what}" for grid in GRIDS for what in ("mean", "largest")), "warned"]
    goals = {kind.name for kind in CORE}
    core = table(head, [row_of(name, runs) for name, runs in found.items() if name in goals])
    more = table(head, [row_of(name, runs) for name, runs in found.items() if name not in goals])
    return f"""# What bins cost

Error above the least that any thresholds have on the same rows, in units of 0.0001, with 4096 bins. Equalized odds at
most 0.02 (0.002 where it says so); balanced error where a class is rare. 40,000 rows a set, 400,000 where a class is
rare, else as it says. All seeds that were run are in it. `python -m benchmarks.studies.resolution --data FOLDER` makes
it.

{heading(about)}

The thirteen sets with a goal: a mean of at most 15, and of at most 5 where linear bins are below that.

{core}

More sets, without a goal:

{more}

- *ours*: the bins of a sketch. *linear*: equal bins over the range of the scores, as version 1 of the sketch had them.
  *log-linear*: as many bins in each octave of |x|, as HdrHistogram has them. All are asked by one exact solver, and the
  optimum is found by the same solver on the ranks of the scores.
- *warned*: runs in which our sketch warned, of bins too coarse or of a score that may stand for none.
- More than 65,536 distinct scores were thinned for the optimum: where a class is rare, cuts beside its rows came first.
- The numbers of octaves and of bins an octave were chosen after seeing these sets (seeds 0 and 1, then 0 to 9).
"""


def main() -> None:
    """Parse, run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with scores/*.npz")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="one seed, and no set of a million rows")
    parser.add_argument("--results", type=Path, help="folder to write resolution.md and resolution.json.xz to")
    args = parser.parse_args()

    found: dict[str, list[dict[str, Any]]] = {}
    jobs: list[tuple[Set, int, Rows | None]] = [
        (kind, seed, None)
        for kind in (*CORE, *MORE)
        if not (args.quick and kind.rows >= 1_000_000)
        for seed in range(1 if args.quick else min(args.seeds, kind.seeds))
    ]
    jobs += files(args.data) if args.data else []
    for kind, seed, rows in jobs:
        one = look(kind, seed, make(kind, seed) if rows is None else rows)
        found.setdefault(kind.name, []).append(one)
        print(
            f"{kind.name:28s} {seed:2d}  " + "  ".join(f"{grid} {1e4 * one[grid]:8.2f}" for grid in GRIDS), flush=True
        )

    text = page(found, machine())
    print(text)
    if args.results is not None:
        report = {"machine": machine(), "runs": {name: by_column(runs) for name, runs in found.items()}}
        write(args.results, "resolution", report, text, indent=None)


if __name__ == "__main__":
    main()
