"""Rows to fit on, to choose settings on and to judge on, with the scores of a base model: cut once, kept as files.

    python -m benchmarks.paper.splits --folder build/paper --model lr --protocol paper --seeds 0-4

In the protocol "paper" thresholds are found on the scores of the rows that the base model was trained on, as in the
paper; in "paper_oof" on out-of-fold scores of the same rows, and so in "frontier", which has validation rows as well.
A file `split_<data>_<model>_<protocol>_<seed>.npz` has row numbers, scores and the scaling of the columns; the columns
themselves stand once in the table's file. `load` needs NumPy alone, so that old environments can read splits.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper import data as tables
from benchmarks.paper.method import Rows, Split

FOLDS = 5
PARTS = ("fit", "validation", "test")
PROTOCOLS = {"paper": range(5), "paper_oof": range(5), "frontier": range(10)}  # and their seeds
IN_SAMPLE = ("paper",)  # thresholds are found on the scores of the rows that the base model was trained on


def file_of(folder: Path, data: str, model: str, protocol: str, seed: int) -> Path:
    return folder / f"split_{data}_{model}_{protocol.removesuffix('_oof')}_{seed}.npz"


def make(table: tables.Table, model: str, protocol: str, seed: int) -> dict[str, np.ndarray]:
    """What a split's file keeps."""
    from sklearn.model_selection import StratifiedKFold, train_test_split

    rows = np.arange(len(table.y))
    fit, test = train_test_split(rows, test_size=0.3, random_state=seed)
    validation = rows[:0]
    if protocol == "frontier":
        fit, validation = train_test_split(fit, test_size=0.25, random_state=seed)
    mean = table.X[fit].mean(axis=0, dtype=np.float64)
    scale = table.X[fit].std(axis=0, dtype=np.float64)
    scale[scale == 0.0] = 1.0
    X = _standardised(table.X, mean, scale)
    kept: dict[str, np.ndarray] = {"mean": mean, "scale": scale, "fit": fit, "validation": validation, "test": test}

    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(fit, 2 * table.y[fit] + table.a[fit]))
    for name, kind, target in (("score", model, table.y), ("q", "lr", table.a)):
        whole = _trained(kind, seed, X[fit], target[fit])
        for part, chosen in zip(PARTS, (fit, validation, test), strict=True):
            kept[f"{name}_{part}"] = _logits(whole, X[chosen])
        out = np.empty(len(fit))
        for others, held in folds:
            out[held] = _logits(_trained(kind, seed, X[fit[others]], target[fit[others]]), X[fit[held]])
        kept[f"oof_{name}"] = out
    return kept


def _standardised(X: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return ((X - mean) / scale).astype(np.float32)


def _trained(kind: str, seed: int, X: np.ndarray, target: np.ndarray) -> Any:
    if kind == "hgb":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(random_state=seed).fit(X, target)
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1.0, max_iter=1000).fit(X.astype(np.float64), target)


def _logits(model: Any, X: np.ndarray) -> np.ndarray:
    if not len(X):
        return np.empty(0)
    return np.asarray(model.decision_function(X.astype(np.float64)), dtype=np.float64)


def write(folder: Path, table: tables.Table, model: str, protocol: str, seed: int) -> None:
    target = file_of(folder, table.name, model, protocol, seed)
    half = target.with_suffix(".part.npz")
    np.savez(half, **make(table, model, protocol, seed))
    half.replace(target)


@lru_cache(maxsize=1)
def _table(folder: Path, name: str) -> tables.Table:
    return tables.load(folder, name)


def load(folder: Path | str, data: str, model: str, protocol: str, seed: int) -> Split:
    """A split that was written."""
    table = _table(Path(folder), data)
    with np.load(file_of(Path(folder), data, model, protocol, seed)) as kept:
        parts = {
            part: Rows(
                X=_standardised(table.X[kept[part]], kept["mean"], kept["scale"]),
                y=table.y[kept[part]],
                a=table.a[kept[part]],
                score=kept[f"score_{part}"],
                q=_share(kept[f"q_{part}"]),
            )
            for part in PARTS
        }
        if protocol in IN_SAMPLE:
            return Split(data, model, protocol, seed, **parts, oof=parts["fit"].score, oof_q=parts["fit"].q)
        return Split(data, model, protocol, seed, **parts, oof=kept["oof_score"], oof_q=_share(kept["oof_q"]))


def _share(logit: np.ndarray) -> np.ndarray:
    return 0.5 * (1.0 + np.tanh(0.5 * logit))  # never overflows


def numbers(text: str) -> list[int]:
    """Read "0-4" or "0,2,7" as whole numbers."""
    found: list[int] = []
    for piece in text.split(","):
        first, _, last = piece.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=tables.FOLDER)
    parser.add_argument("--data", default=",".join(tables.REAL), help="names, separated by commas")
    parser.add_argument("--synthetic", action="store_true", help="the made table instead of the real ones")
    parser.add_argument("--model", default="lr", help="lr, hgb or both, separated by a comma")
    parser.add_argument("--protocol", default="paper,frontier")
    parser.add_argument("--seeds", type=numbers, help="such as 0-4; those of the protocol unless given")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    todo = [
        (options.folder, name, model, protocol, seed)
        for name in (["synthetic"] if options.synthetic else options.data.split(","))
        for model in options.model.split(",")
        for protocol in options.protocol.split(",")
        for seed in (PROTOCOLS[protocol] if options.seeds is None else options.seeds)
        if not file_of(options.folder, name, model, protocol, seed).exists()
    ]
    with ProcessPoolExecutor(options.jobs) as pool:
        for said in pool.map(_written, todo):
            print(said, flush=True)


def _written(place: tuple[Path, str, str, str, int]) -> str:
    folder, name, model, protocol, seed = place
    start = time.perf_counter()
    write(folder, _table(folder, name), model, protocol, seed)
    return f"{name} {model} {protocol} {seed}: {time.perf_counter() - start:.1f} s"


if __name__ == "__main__":
    main()
