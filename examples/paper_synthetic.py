"""The paper's synthetic experiment: accuracy, gaps and thresholds over lambda, on kernel densities.

    python examples/paper_synthetic.py [FOLDER]

Draws the scores of the paper's table, splits them 70 / 15 / 15, and for each penalty finds thresholds on the training
part with a Gaussian kernel of deviation 0.5; the validation part chooses between the paper's loop and the certified
optimum, the test part is reported. Draws the figures "kde_perf" and "kde_theta" into FOLDER, or prints a table.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

import gstar_fast as gf
from gstar_fast import datasets

OBJECTIVES = {
    "DP": ["demographic_parity"],
    "EOd": ["equalized_odds"],
    "DP + EOd": ["demographic_parity", "equalized_odds"],
}
LAMBDAS = np.logspace(-2, 4, 13)
MEASURES = ("accuracy", "equal opportunity", "equalized odds", "demographic parity")


def split(table: datasets.ScoreTable, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Rows at random into 70 % train, 15 % validation, 15 % test."""
    order = np.random.default_rng(seed).permutation(len(table.scores))
    cuts = np.cumsum([round(0.7 * len(order)), round(0.15 * len(order))])
    return [(table.scores[i], table.labels[i], table.groups[i]) for i in np.split(order, cuts)]


def measure(thresholds: dict[int, float], rows: tuple[np.ndarray, np.ndarray, np.ndarray]) -> list[float]:
    """Accuracy and the paper's gaps (EOd is the sum of both) on rows."""
    scores, labels, groups = rows
    accept = scores >= np.array([thresholds[0], thresholds[1]])[groups]
    tpr, fpr, selected = (
        [accept[(groups == a) & kept].mean() for a in (0, 1)] for kept in (labels == 1, labels == 0, labels >= 0)
    )
    gaps = [abs(r[0] - r[1]) for r in (tpr, fpr, selected)]
    return [float((accept == labels).mean()), gaps[0], gaps[0] + gaps[1], gaps[2]]


def objective(measured: list[float], criteria: list[str], penalty: float) -> float:
    """The paper's loss from counted rates, for choosing on the validation part."""
    parts = {
        "demographic_parity": measured[3] ** 2,
        "equalized_odds": measured[1] ** 2 + (measured[2] - measured[1]) ** 2,
    }
    return (1 - measured[0]) ** 2 + penalty * sum(parts[c] for c in criteria)


def main() -> None:
    """Run the experiment; draw or print."""
    train, validation, test = split(datasets.paper_synthetic(rows=40_000, seed=0))
    sketch = gf.Sketch.from_rows(*train)
    cells = gf.density(sketch, kind="kde", bandwidth=0.5)
    before = measure({0: 0.0, 1: 0.0}, test)
    curves: dict[str, list[list[float]]] = {}
    for name, criteria in OBJECTIVES.items():
        curves[name] = []
        for penalty in LAMBDAS:
            penalties = dict.fromkeys(criteria, float(penalty))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", gf.errors.NotConvergedWarning)  # the paper's loop may stop on its way
                warnings.simplefilter("ignore", gf.errors.DegenerateWarning)  # heavy penalties leave little to decide
                loop = gf.solve(sketch, penalties=penalties, density=cells, method="alternating")
                found = [gf.solve(sketch, penalties=penalties, density=cells), loop]
            best = min(found, key=lambda r: objective(measure(r.thresholds, validation), criteria, penalty))
            curves[name].append([*measure(best.thresholds, test), best.thresholds[0], best.thresholds[1]])
    if len(sys.argv) > 1:
        draw(curves, before, Path(sys.argv[1]))
        return
    print(f"{'':10}{'lambda':>10}" + "".join(f"{m:>20}" for m in MEASURES) + f"{'theta_0':>10}{'theta_1':>10}")
    print(f"{'baseline':10}{'':>10}" + "".join(f"{x:20.4f}" for x in before) + f"{0.0:10.3f}{0.0:10.3f}")
    for name, rows in curves.items():
        for penalty, row in zip(LAMBDAS[::4], rows[::4], strict=True):
            print(
                f"{name:10}{penalty:10.3g}" + "".join(f"{x:20.4f}" for x in row[:4]) + f"{row[4]:10.3f}{row[5]:10.3f}"
            )


def draw(curves: dict[str, list[list[float]]], before: list[float], folder: Path) -> None:
    """The paper's two figures."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    for file, columns, labels in (("kde_perf", range(4), MEASURES), ("kde_theta", range(4, 6), ("theta_0", "theta_1"))):
        figure, axes = plt.subplots(1, 3, figsize=(12, 3.2), sharey=True)
        for ax, (name, rows) in zip(axes, curves.items(), strict=True):
            for i, (column, label) in enumerate(zip(columns, labels, strict=True)):
                (line,) = ax.semilogx(LAMBDAS, [row[column] for row in rows], label=label)
                if file == "kde_perf":
                    ax.axhline(before[i], linestyle=":", color=line.get_color())
            ax.set_title(name), ax.set_xlabel("lambda")
        axes[0].legend(fontsize=8)
        figure.tight_layout()
        figure.savefig(folder / f"{file}.svg")


if __name__ == "__main__":
    main()
