"""Gap and accuracy on new rows where only probabilities of the group are known: unmixed, guessed, and with true groups.

    python -m benchmarks.studies.proxy --data FOLDER [--folder SPLITS] [--results FOLDER]

FOLDER has `scores/*.npz` as `quality.py` takes them. They have true groups and no probabilities, so hints are drawn and
probabilities fitted to them (`made`). SPLITS has the splits of `benchmarks.paper.splits`, whose columns tell the group
for real (`real`): all of them out of fold, or the few of `FEW`. Thresholds are found on train rows under a limit, with
probabilities counted by `gf.ProxySketch` and unmixed, with the more probable group, with true groups, and with no
limit; beside them stands the model as it is. On test rows they are all applied by true group. A question that is
refused is counted.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import gstar_fast as gf
from benchmarks.harness import heading, machine, table, write
from benchmarks.paper import data as tables
from benchmarks.paper import splits
from benchmarks.studies.quality import by_column, judge, load
from benchmarks.studies.quality_tables import rows_of

CRITERION, LIMIT = "equalized_odds", 0.02
LIMITS = {CRITERION: LIMIT}
DATA = {"adult": "Adult", "celeba": "CelebA", "compas": "COMPAS", "german": "German"}
MODELS, FILE_SEEDS, DRAWS = ("hgb", "lr"), (0, 1), 3
SEEDS = range(10)
HINTS = {
    "two": "two deviations apart",
    "one": "one deviation apart",
    "half": "half a deviation apart",
    "no label": "one, calibrated without the label",
    "too sure": "one, too sure (log odds times 1.5)",
    "related": "one, and related to the score",
}
APART = {"two": 2.0, "half": 0.5}  # standard deviations between the means of a hint in both groups; else 1
FEW = {  # columns of the weak proxy, chosen by name before anything was run
    "adult": ("Adm-clerical", "Craft-repair", "Transport-moving", "Protective-serv"),
    "celeba": ("Wearing_Necktie", "Wearing_Necklace", "Wearing_Hat", "Mustache"),
    "compas": (
        "Driving Under The Influence",
        "Possession of Cocaine",
        "Driving While License Revoked",
        "Grand Theft in the 3rd Degree",
    ),
    "german": ("people", "A151", "A192"),
}
PROXIES = {
    "all": "all columns",
    "few": "few columns",
    "all, less score": "all columns, score taken out",
    "few, less score": "few columns, score taken out",
}
PLAIN = ("untouched", "no limit", "true groups")
WAYS = ("the more probable group", "unmixed")

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # scores, labels, groups


# -------------------------------------------------------------------------------------------------------- probabilities


def shares(columns: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Probability of group 1 by a logistic regression on these columns, of the rows it was fitted on."""
    return LogisticRegression(C=1e6, max_iter=1000).fit(columns, group).predict_proba(columns)[:, 1]


def by_label(columns: np.ndarray, labels: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The same, fitted for each label."""
    out = np.empty(len(labels))
    for y in (0, 1):
        out[labels == y] = shares(columns[labels == y], group[labels == y])
    return out


def made(hint: str, rows: Rows, rng: np.random.Generator) -> np.ndarray:
    """Probabilities of group 1 from a normal hint that is drawn for each row."""
    scores, labels, group = rows
    drawn = rng.normal(APART.get(hint, 1.0) * group)
    if hint == "related":
        low, middle, high = np.percentile(scores, (25, 50, 75))
        drawn += 0.3 * np.clip((scores - middle) / (high - low + 1e-9), -3.0, 3.0)
    column = drawn[:, None]
    share = shares(column, group) if hint == "no label" else by_label(column, labels, group)
    return _of_logit(1.5 * _logit(share)) if hint == "too sure" else share


def few(table_: tables.Table) -> list[int]:
    """Places of the weak proxy's columns."""
    names = [name.rpartition("=")[2] for name in table_.columns]
    return [names.index(name) for name in FEW.get(table_.name, names[-3:])]


def without_score(logit: np.ndarray, rows: Rows) -> np.ndarray:
    """The same log odds less their slope on the scores within group, for each label: nothing linear is left."""
    scores, labels, group = rows
    out = logit.copy()
    for y in (0, 1):
        cells = [(labels == y) & (group == g) for g in (0, 1)]
        one, two = (np.concatenate([x[cell] - x[cell].mean() for cell in cells]) for x in (logit, scores))
        out[labels == y] -= scores[labels == y] * (one @ two) / (two @ two)
    return out


def _logit(share: np.ndarray) -> np.ndarray:
    share = np.clip(share, 1e-9, 1.0 - 1e-9)
    return np.log(share / (1.0 - share))


def _of_logit(logit: np.ndarray) -> np.ndarray:
    return 0.5 * (1.0 + np.tanh(0.5 * logit))


# ------------------------------------------------------------------------------------------------------------ questions


def plain(train: Rows, test: Rows) -> Iterator[dict[str, Any]]:
    """The model as it is, and what is found with true groups, without a limit and with it."""
    truth = gf.Sketch.from_rows(*train)
    free, within = (gf.solve(truth, limits=limits, evidence=0).decider() for limits in (None, LIMITS))
    found = (lambda scores, _: scores >= 0.0), free, within
    for way, decide in zip(PLAIN, found, strict=True):
        yield {"way": way} | judged(decide, test)


def compared(train: Rows, test: Rows, share: np.ndarray) -> Iterator[dict[str, Any]]:
    """What is found with probabilities `share` of group 1, and how they are related to groups and scores."""
    scores, labels, group = train
    probabilities = np.column_stack([1.0 - share, share])
    proxy = gf.ProxySketch([0, 1]).update(scores, labels, probabilities)
    about = {
        "effective": _effective(proxy) / min(int(((labels == y) & (group == g)).sum()) for y in (0, 1) for g in (0, 1)),
        "correlation": relation(train, share),
    }
    found: dict[str, Any] = {
        WAYS[0]: lambda: gf.Sketch.from_rows(scores, labels, probabilities.argmax(axis=1)),
        WAYS[1]: proxy.unmixed,
    }
    for way, sketch in found.items():
        row = {"way": way} | about
        try:
            result = gf.solve(sketch(), limits=LIMITS, evidence=0)
        except ValueError as error:
            yield row | {"refused": str(error)[:120]}
        else:
            yield row | ({"refused": "one group"} if len(result.thresholds) < 2 else judged(result.decider(), test))


def _effective(proxy: gf.ProxySketch) -> float:
    try:
        return min(proxy.effective_rows.values())
    except ValueError:  # the groups cannot be told apart
        return 0.0


def relation(rows: Rows, share: np.ndarray) -> float:
    """Correlation of log odds and ranks of scores within group and label, of largest size: 0 is what is assumed."""
    scores, labels, group = rows
    found = [0.0]
    for cell in ((labels == y) & (group == g) for y in (0, 1) for g in (0, 1)):
        one, two = _logit(share[cell]), np.argsort(np.argsort(scores[cell]))
        if np.ptp(one) > 0.0:
            found.append(float(np.corrcoef(one, two)[0, 1]))
    return max(found, key=abs)


def judged(decide: Callable[..., Any], test: Rows) -> dict[str, Any]:
    """Gap between the true groups, and accuracy, on test rows."""
    scores, labels, group = test
    accept = np.asarray(decide(scores, group), dtype=np.float64)
    error, gap = judge(accept[:, None], labels, group, CRITERION, np.ones((1, len(labels))))
    return {"gap": float(gap[0, 0]), "accuracy": 1.0 - float(error[0, 0])}


def of_file(path: Path) -> Iterator[dict[str, Any]]:
    """Every hint and draw on one score file."""
    train, test = load(path, many=False)
    about = {"part": "made", "data": path.stem.split("_")[0], "from": path.stem}
    yield from (about | row for row in plain(train, test))
    for place, hint in enumerate(HINTS):
        for draw in range(DRAWS):
            rng = np.random.default_rng([*path.stem.encode(), place, draw])
            for row in compared(train, test, made(hint, train, rng)):
                yield about | {"proxy": hint, "draw": draw} | row


def of_split(folder: Path, data: str, seed: int) -> Iterator[dict[str, Any]]:
    """Both real proxies on one split: their probabilities are fitted for each label, on the fit rows."""
    split = splits.load(folder, data, "lr", "frontier", seed)
    fit, test = split.fit, split.test
    train = split.oof, fit.y.astype(np.int64), fit.a.astype(np.int64)
    held = test.score, test.y.astype(np.int64), test.a.astype(np.int64)
    about = {"part": "real", "data": data, "from": f"seed {seed}"}
    yield from (about | row for row in plain(train, held))
    columns = {"all": _logit(split.oof_q)[:, None], "few": fit.X[:, few(tables.load(folder, data))].astype(np.float64)}
    share = {proxy: by_label(known, *train[1:]) for proxy, known in columns.items()}
    for proxy in columns:
        rest = without_score(_logit(share[proxy]), train)
        share[f"{proxy}, less score"] = by_label(rest[:, None], *train[1:])
    for proxy, own in share.items():
        yield from (about | {"proxy": proxy} | row for row in compared(train, held, own))


# --------------------------------------------------------------------------------------------------------------- tables


def chosen(rows: list[dict[str, Any]], **asked: str) -> list[dict[str, Any]]:
    """Rows with these values."""
    return [row for row in rows if all(row.get(key) == value for key, value in asked.items())]


def mean(rows: list[dict[str, Any]], key: str) -> str:
    """Mean of those that were not refused."""
    known = [row[key] for row in rows if "refused" not in row]
    return f"{np.mean(known):.3f}" if known else "-"


def by_hint(rows: list[dict[str, Any]], key: str) -> str:
    """A line for each hint: with the more probable group, then unmixed."""
    data = [name for name in DATA if chosen(rows, data=name)]
    body = [[way, *(mean(chosen(rows, data=name, way=way), key) for name in data)] for way in PLAIN]
    for hint, words in HINTS.items():
        body.append([words])
        for name in data:
            body[-1].append(", ".join(mean(chosen(rows, data=name, proxy=hint, way=way), key) for way in WAYS))
    return table(["hint", *(DATA[name] for name in data)], body)


def refused(rows: list[dict[str, Any]]) -> str:
    """A sentence for each kind of question that has no answer."""
    found: dict[tuple[str, ...], int] = {}
    for row in rows:
        if "refused" in row:
            words = (HINTS | PROXIES)[row["proxy"]]
            at = (row["way"], DATA.get(row["data"], row["data"]), words)
            found[at] = found.get(at, 0) + 1
    lines = [f"- {way}, {data}, {words}: {n}" for (way, data, words), n in found.items()]
    return "\n".join(["Questions without an answer, which the means leave out:", "", *lines]) if lines else ""


def by_proxy(rows: list[dict[str, Any]]) -> str:
    """A line for each data set, proxy and way: mean and spread over seeds, and seeds in which the gap was smaller."""
    body = []
    for name in dict.fromkeys(row["data"] for row in rows):
        own = chosen(rows, data=name)
        lines = [(way, "", chosen(own, way=way)) for way in PLAIN]
        lines += [(way, words, chosen(own, way=way, proxy=proxy)) for proxy, words in PROXIES.items() for way in WAYS]
        free = [{row["from"]: row["gap"] for row in chosen(own, way=way)} for way in PLAIN[:2]]
        for way, words, some in lines:
            known = [row for row in some if "refused" not in row]
            spread = f"{np.std([row['gap'] for row in known], ddof=1):.3f}" if len(known) > 1 else "-"
            fewer = [f"{sum(row['gap'] < gaps[row['from']] for row in known)} of {len(some)}" for gaps in free]
            means = mean(some, "gap"), spread, mean(some, "accuracy")
            body.append([DATA.get(name, name), words or "-", way, *means, *(fewer if way not in PLAIN[:2] else "--")])
    return table(
        ["data", "proxy", "thresholds by", "gap", "sd", "accuracy", *(f"gap below {way}" for way in PLAIN[:2])], body
    )


def strength(rows: list[dict[str, Any]]) -> str:
    """How much each proxy says about the group, and about the score besides."""
    body = []
    for name in dict.fromkeys(row["data"] for row in rows):
        for proxy, words in (HINTS | PROXIES).items():
            some = chosen(rows, data=name, proxy=proxy, way="unmixed")
            if some:
                effective, related = (np.array([row[key] for row in some]) for key in ("effective", "correlation"))
                body.append([DATA.get(name, name), words, f"{np.median(effective):.4f}", f"{np.median(related):+.2f}"])
    return table(["data", "proxy", "effective share", "correlation"], body)


def page(report: dict[str, Any]) -> str:
    """The tables, and how to read them."""
    rows = rows_of(report["rows"])
    hinted, real = chosen(rows, part="made"), chosen(rows, part="real")
    text = f"""# Probabilities of the group

{heading(report["machine"])}

`python -m benchmarks.studies.proxy`: thresholds are found on train rows under a limit of {LIMIT} on `equalized_odds`,
where only probabilities of the group are known. They are applied by true group on test rows. Gaps are the larger of the
tpr and the fpr gap. *The more probable group* is taken for the true one, or `gf.ProxySketch` is *unmixed*.
proxy.json.xz has each question.

- *untouched*: the model as it is, scores from 0 up are accepted. *no limit*: the thresholds of least error, one for
  each true group. They may have a larger gap than the model as it is. *true groups*: the same with the limit.
- *effective share*: rows of known group that say as much about the worst cell as the probabilities do, over the rows of
  the smallest cell. Median over questions.
- *correlation*: of the log odds with the ranks of the scores, within group and label; the cell where it is largest.
  `gf.ProxySketch` assumes 0. Median over questions.
"""
    if hinted:
        text += f"""
## Made hints

{len({row["from"] for row in hinted})} score files, {DRAWS} draws of each hint, the means over all. In each cell first
the more probable group, then unmixed. A hint is a normal number whose means in both groups are so many deviations
apart. Probabilities are fitted to it, for each label if nothing else is said. The related hint has 0.3 per quartile
distance of the scores added.

Gap:

{by_hint(hinted, "gap")}

Accuracy:

{by_hint(hinted, "accuracy")}

{refused(hinted)}

{strength(hinted)}
"""
    if real:
        columns = "\n".join(f"- {DATA[name]}: {', '.join(FEW[name])}" for name in DATA)
        text += f"""
## Probabilities from columns

Splits of the paper's comparison (logistic regression, protocol frontier), {len({row["from"] for row in real})} seeds.
*All columns*: P(group) by a logistic regression on all columns that the scores come from too, out of fold, calibrated
for each label. *Few columns*: a logistic regression for each label on these columns alone, chosen by name before
anything was run. They are among the columns of the scores too:

{columns}

*Score taken out*: the same log odds, less their slope on the scores within group and label, calibrated again. This was
added after the first split of each data set had been looked at. It removes what is linear of the relation.

The last columns count the seeds in which the gap on test rows is smaller than that of the model as it is, and than that
of the best thresholds with no limit. A question without an answer counts as not smaller.

{by_proxy(real)}

{refused(real)}

{strength(real)}
"""
    return text.replace("\n\n\n\n", "\n\n")


def main() -> None:
    """Parse, run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with scores/*.npz")
    parser.add_argument("--folder", type=Path, help="folder of the splits; without it there are made hints only")
    parser.add_argument("--results", type=Path, help="folder to write proxy.md and proxy.json.xz to")
    given = parser.parse_args()
    about, rows = machine(), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of limits below the noise; the gaps show it
        for name in (f"{data}_{model}_s{seed}" for data in DATA for model in MODELS for seed in FILE_SEEDS):
            rows += of_file(given.data / "scores" / f"{name}.npz")
            print(name, "done", flush=True)
        for data, seed in ((data, seed) for data in DATA if given.folder is not None for seed in SEEDS):
            rows += of_split(given.folder, data, seed)
            print(data, seed, "done", flush=True)
    report = {"machine": about, "rows": by_column(rows)}
    text = page(report)
    print(text)
    if given.results is not None:
        write(given.results, "proxy", report, text, indent=None)


if __name__ == "__main__":
    main()
