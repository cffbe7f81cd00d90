"""Sketches of the splits, to bundle: counts of scores by label and group, no rows, no single scores.

    python -m benchmarks.paper.bundle --folder build/paper

Made from the splits of the protocol "paper": thresholds are found on the scores of the rows the base model was trained
on, as in the paper. Each score is replaced by the middle of its bin before it is counted, so that a sketch has no
mean, smallest or largest score of anybody, only how many scores lie in a bin. COMPAS and German have few rows: their
bins are wide, and wider still away from zero.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gstar_fast as gf

FOLDER = Path(__file__).parent / "sketches"
SEEDS = range(5)


@dataclass(frozen=True)
class Window:
    """How the scores of a data set are counted: bins of one width around zero, wider ones beyond `core`."""

    reach: float  # scores lie between -reach and reach
    bins: int
    core: float
    wide: float  # width beyond the core


WINDOWS = {
    "adult": Window(64.0, 4096, core=64.0, wide=1.0),
    "celeba": Window(16.0, 2048, core=16.0, wide=1.0),
    "compas": Window(16.0, 256, core=2.0, wide=1.0),
    "german": Window(8.0, 32, core=2.0, wide=2.0),
}


def counted(data: str, scores: np.ndarray, labels: np.ndarray, groups: np.ndarray) -> gf.Sketch:
    """The sketch of some rows in the bins of their data set, from counts alone."""
    window = WINDOWS[data]
    if not np.all(np.abs(scores) < window.reach):
        raise ValueError(f"{data} has scores beyond {window.reach}: {scores.min()} to {scores.max()}")
    fine = 2 * window.reach / window.bins
    width = np.where(np.abs(scores) < window.core, fine, window.wide)
    middle = (np.floor(scores / width) + 0.5) * width
    unit = round(math.log2(fine)) - 1  # the middle of a bin is a whole multiple of 2**unit
    found, counts = np.unique(np.column_stack([groups, labels, middle]), axis=0, return_counts=True)
    rows = [
        (int(group), int(label), count, score, score, round(count * score / 2.0**unit), unit)
        for (group, label, score), count in zip(found.tolist(), counts.tolist(), strict=True)
    ]
    return gf.Sketch.from_bins(rows, bins=window.bins, range=(-window.reach, window.reach), groups=[0, 1])


def path_of(data: str, seed: int, part: str) -> Path:
    return FOLDER / f"{data}_{seed}_{part}.gstar"


def load(data: str, seed: int) -> tuple[gf.Sketch, gf.Sketch]:
    """The sketches of train and test rows."""
    return gf.Sketch.load(path_of(data, seed, "train")), gf.Sketch.load(path_of(data, seed, "test"))


def main() -> None:
    from benchmarks.paper import splits

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where the splits are")
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    for data in WINDOWS:
        for seed in SEEDS:
            split = splits.load(options.folder, data, "lr", "paper", seed)
            counted(data, split.oof, split.fit.y, split.fit.a).save(path_of(data, seed, "train"))
            counted(data, split.test.score, split.test.y, split.test.a).save(path_of(data, seed, "test"))
    total = sum(path.stat().st_size for path in FOLDER.glob("*.gstar"))
    print(f"{len(WINDOWS) * len(SEEDS) * 2} sketches, {total:,} bytes")


if __name__ == "__main__":
    main()
