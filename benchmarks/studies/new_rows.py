"""Whether gaps on held-out rows are what an audit of the train rows expects: their mean, and nine of ten under a value.

    python -m benchmarks.studies.new_rows --data FOLDER [--files "adult_*" ...] [--results FOLDER]

FOLDER has `scores/*.npz` as `quality.py` takes them. Thresholds are found on train, where `audit.new_rows` is read for
as many rows as test has, and looked at on test. Studies, each of every file that it can be made of and of every
criterion and limit, with two groups and, as "many groups", with `mgroup`:

- held-out: scores that are out of fold (`oof`), or of logistic regression, which is too simple to learn rows by heart;
- redrawn: train and test rows drawn with replacement from all rows of the file: the population is known, train and test
  have scores of one kind, and no two settings share their rows;
- in-sample (two groups): scores that another model gives the rows it was trained on.

All settings are in new_rows.json.xz.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import gstar_fast as gf
from benchmarks.harness import heading, machine, table, write
from benchmarks.studies.quality import by_column
from gstar_fast._audit.replicates import solve_again
from gstar_fast._solver.cells import Cells

CRITERIA = ("equalized_odds", "demographic_parity", "equal_opportunity")
LIMITS = (0.01, 0.02, 0.05, 0.1)
REPLICATES = 100
POPULATION = 10**12  # so many new rows leave out the chance in them
STUDIES = ("held-out", "held-out, many groups", "redrawn", "redrawn, many groups", "in-sample")

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # scores, labels, groups


def parts(path: Path) -> Iterator[tuple[str, Callable[[], tuple[Rows, Rows]]]]:
    """Each study that a file is for, and what gives its train and test rows, anew for each setting."""
    with np.load(path) as file:
        columns = {name: file[name] for name in file.files}
    train, test = columns["split"] == 0, columns["split"] == 1
    plain = columns["score"].astype(np.float64)
    sound = np.where(train, columns["oof"], plain).astype(np.float64) if "oof" in columns else plain
    labels = columns["label"].astype(np.int64)
    groups, many = (columns[name].astype(np.int64) for name in ("group", "mgroup"))

    def split(scores: np.ndarray, groups: np.ndarray) -> tuple[Rows, Rows]:
        return tuple((scores[part], labels[part], groups[part]) for part in (train, test))  # type: ignore[return-value]

    random = np.random.default_rng(list(path.stem.encode()))

    def redraw(groups: np.ndarray) -> tuple[Rows, Rows]:
        drawn = (random.integers(0, len(labels), int(part.sum())) for part in (train, test))
        return tuple((sound[rows], labels[rows], groups[rows]) for rows in drawn)  # type: ignore[return-value]

    simple = "_lr_" in path.stem
    for these, words in ((groups, ""), (many, ", many groups")):
        if len(np.unique(these)) > 2 or not words:
            if simple or "oof" in columns:
                yield f"held-out{words}", lambda these=these: split(sound, these)
            yield f"redrawn{words}", lambda these=these: redraw(these)
    if not simple:
        yield "in-sample", lambda: split(plain, groups)


def look(train: Rows, test: Rows, criterion: str, limit: float) -> dict[str, Any]:
    """The gap expected on as many rows as `test` has, and the gap seen there."""
    sketch = gf.Sketch.from_rows(*train)
    result = gf.solve(sketch, limits={criterion: limit}, evidence=0)
    if result.verdict != "optimal":
        return {"failed": result.verdict}
    snapshot = Cells.of(sketch)
    again = solve_again(result, snapshot, REPLICATES, seed=0)
    assert again is not None, "the thresholds are those of this sketch"
    there = again.expected(result, snapshot, len(test[0]), seed=0).get(criterion)
    if there is None:
        return {"failed": "not known"}
    decisions = result.decider(unknown="default")(test[0], test[2])
    return {
        "found": result.gaps[criterion],
        "population": again.expected(result, snapshot, POPULATION, seed=0)[criterion].mean,
        "mean": there.mean,
        "nine_of_ten": there.nine_of_ten,
        "seen": gf.audit(decisions=decisions, labels=test[1], groups=test[2], replicates=0).gaps[criterion].value,
    }


def run(path: Path) -> list[dict[str, Any]]:
    """Every setting of one file."""
    name, seed = path.stem.rsplit("_s", 1)
    data = next(data for data in ("compas_aa", "compas", "adult", "german", "celeba") if name.startswith(data))
    return [
        {"file": path.stem, "data": data, "seed": int(seed), "study": study, "criterion": criterion, "limit": limit}
        | look(*rows(), criterion, limit)
        for study, rows in parts(path)
        for criterion in CRITERIA
        for limit in LIMITS
    ]


# --------------------------------------------------------------------------------------------------------------- tables

HEAD = ["settings", "above, %", "found", "for a population", "mean expected", "seen", "nine of ten under"]


def line(rows: list[dict[str, Any]]) -> list[str]:
    """What a group of settings comes to: means, and the share whose gap was above that of nine in ten."""
    above = np.mean([row["seen"] > row["nine_of_ten"] for row in rows])
    means = (np.mean([row[key] for row in rows]) for key in ("found", "population", "mean", "seen", "nine_of_ten"))
    return [str(len(rows)), f"{100 * above:.1f}", *(f"{mean:.3f}" for mean in means)]


def by(rows: list[dict[str, Any]], *keys: str) -> str:
    """A line for each value of these keys."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return table([*keys, *HEAD], [[*map(str, values), *line(some)] for values, some in groups.items()])


def page(rows: list[dict[str, Any]], about: dict[str, Any]) -> str:
    """The tables, and how to read them."""
    known = sorted((row for row in rows if "failed" not in row), key=lambda row: STUDIES.index(row["study"]))
    failed = [row for row in rows if "failed" in row]
    sections = []
    for study in dict.fromkeys(row["study"] for row in known):
        some = [row for row in known if row["study"] == study]
        tables = [by(some, *keys) for keys in (("data", "seed"), ("criterion", "limit"), ("file",))]
        sections.append("\n\n".join([f"## {study.capitalize()}", *tables]))
    return f"""# What to expect on new rows

{heading(about)}

`python -m benchmarks.studies.new_rows`: thresholds are found on the train rows of a score file under a limit. From the
counts of the same rows, `audit.new_rows` says what gap to expect on as many rows as the test part has, with
{REPLICATES} replicates. Then the test rows are looked at. All files, seeds, criteria and limits that were run are here;
new_rows.json.xz has each setting.

- *above*: settings whose gap on the test rows was above the value that nine of ten samples should stay under. 10 is
  right.
- *found*: mean gap on the rows that the thresholds were found on. *for a population*: what was expected of very many
  new rows. *mean expected*, *nine of ten under*: what was expected of as many rows as the test part has. *seen*: there.
- Settings of one file, and files of one data set and seed, share their rows: held-out, there are ten pairs of train and
  test rows, so a share of 10 % is known to about 10 points. Redrawn, no two settings share their rows: a share of 10 %
  of 600 is known to 2.4 points (two standard errors).
- Held-out are files with out-of-fold scores, and those of logistic regression. CelebA's other files (hgb, tree, xconf)
  have none, which was noticed only when a first run had counted them as held-out: with them 12.7 % were above, with
  many groups 16.5 %. Here they are among the in-sample ones.
- {len(failed)} settings are left out: their limit could not be met, or there was nothing to expect.
- Randomised results were not part of this.

{by(known, "study")}

{chr(10).join(chr(10) + section for section in sections).lstrip()}
"""


def main() -> None:
    """Parse, run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--files", nargs="*", default=["*"], help="patterns of the names of files")
    parser.add_argument("--results", type=Path, help="folder to write new_rows.md and new_rows.json.xz to")
    given = parser.parse_args()
    about, rows = machine(), []
    for path in sorted({path for pattern in given.files for path in (given.data / "scores").glob(f"{pattern}.npz")}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of limits that are met in strange ways; the gaps show it
            rows += run(path)
        print(path.stem, "done", flush=True)
    text = page(rows, about)
    print(text)
    if given.results is not None:
        report = {"machine": about, "replicates": REPLICATES, "settings": by_column(rows)}
        write(given.results, "new_rows", report, text, indent=None)


if __name__ == "__main__":
    main()
