"""Compare the answers of two builds of gstar_fast on thousands of random problems.

    python tools/beside.py answer OUT.jsonl.xz [--kind small ...] [--first 0] [--count 500]   # in each environment
    python tools/beside.py compare BEFORE.jsonl.xz AFTER.jsonl.xz

A problem is made from its kind and its number alone, with nothing of the package, so two environments see the same
one. `answer` writes a line for each problem. `compare` prints every difference and exits with 1 if there are any.

Single thresholds are compared bit by bit (floats are written in hexadecimal). Optimal mixtures are not unique, so for
these the verdict, the cost to 1e-9, whether limits hold and the kinds of notes are compared. Frontiers of mixtures are
compared to 1e-9, numbers of promises to 1e-12.
"""

from __future__ import annotations

import argparse
import collections
import inspect
import json
import lzma
import math
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

COUNTS = {
    "small": 8000,
    "middle": 5000,
    "mixtures": 2500,
    "segments": 2000,
    "promises": 1500,
    "frontiers": 1000,
    "infeasible": 1000,
    "records": 500,
}
"""Problems of each kind."""

DIFFERENCES = (
    "demographic_parity",
    "equal_opportunity",
    "predictive_equality",
    "equalized_odds",
    "accuracy_parity",
    "balanced_accuracy_parity",
)
RENAMED = {"other costs": "other prices", "balanced=True": "objective='balanced_error'"}
"""Options in the notes of the build before, and their words now."""
CRITERIA = (*DIFFERENCES, "equalized_odds_sum", "disparate_impact")


# ------------------------------------------------------------------------------------------------------------ problems


class Problem(NamedTuple):
    """Rows, the options of the sketch, and a question in the words of `gstar_fast.solve`."""

    rows: dict[str, Any]
    sketch: dict[str, Any]
    question: dict[str, Any]
    verb: str = "solve"


def problem(kind: str, number: int) -> Problem:
    """The problem of this kind and number, the same on every machine."""
    r = np.random.default_rng([20261118, list(COUNTS).index(kind), number])
    return MAKERS[kind](r)


def rows_of(r: np.random.Generator, n_groups: int, n_rows: int, *, columns: int = 1) -> dict[str, Any]:
    """Scores of normal groups, with ties, unlabelled rows, weights and infinite scores now and then."""
    sizes = r.dirichlet(np.full(n_groups, 2.0))
    group = r.choice(n_groups, n_rows, p=sizes)
    rate = r.uniform(0.2, 0.7, n_groups)[group]
    label = (r.random(n_rows) < rate).astype(int)
    score = r.normal(r.normal(0, 0.5, n_groups)[group] + r.uniform(0.5, 2.0, n_groups)[group] * label, 1)
    shape = r.integers(0, 4)
    if shape == 1:
        score = np.round(score * r.integers(1, 5)) / 4
    elif shape == 2:
        score = 1 / (1 + np.exp(-score))
    if r.random() < 0.1:
        score[r.random(n_rows) < 0.05] = np.inf * r.choice([-1, 1])
    rows: dict[str, Any] = {"scores": score, "labels": label, "groups": group}
    if columns == 2:
        segments = int(r.integers(2, 7))
        tilt = r.uniform(0.5, 2.0, (n_groups, segments))
        tilt /= tilt.sum(axis=1, keepdims=True)
        rows["groups"] = [group, np.array([r.choice(segments, p=tilt[g]) for g in group])]
    if r.random() < 0.15:
        rows["labels"] = [None if hidden else int(y) for hidden, y in zip(r.random(n_rows) < 0.2, label, strict=True)]
    if r.random() < 0.1:
        rows["weights"] = np.round(np.exp(r.normal(0, 0.7, n_rows)), 3)
    return rows


def limits_of(r: np.random.Generator, most: int = 3, *, tight: bool = False) -> dict[str, float]:
    """One to three limits; `tight` for limits that can hardly be met."""
    names = r.choice(CRITERIA, int(r.integers(1, most + 1)), replace=False)
    gap = r.choice([0.0, 0.005, 0.01] if tight else [0.0, 0.01, 0.02, 0.05, 0.1, 0.2])
    return {str(name): float(1 - gap if name == "disparate_impact" else gap) for name in names}


def objective_of(r: np.random.Generator) -> dict[str, Any]:
    """The error in most problems, prices or both classes alike in the others."""
    drawn = r.random()
    if drawn < 0.7:
        return {}
    if drawn < 0.8:
        return {"objective": "balanced_error"}
    prices = {"fp": float(r.choice([1, 2, 0.5])), "fn": float(r.choice([1, 3, 5]))}
    return {"objective": prices if drawn < 0.95 else {**prices, "balanced": True}}


def window_of(r: np.random.Generator) -> dict[str, Any]:
    """Bins, and a fixed window now and then."""
    options: dict[str, Any] = {"bins": int(r.choice([16, 64, 256, 4096]))}
    if r.random() < 0.2:
        options["range"] = (-1.0, 2.0)
    return options


def by_group(r: np.random.Generator, groups: tuple[int, int], rows: tuple[int, int]) -> Problem:
    """Limits, penalties or both; one threshold for everybody now and then."""
    data = rows_of(r, int(r.integers(*groups)), int(r.integers(*rows)))
    question: dict[str, Any] = objective_of(r)
    drawn = r.random()
    if drawn < 0.75:
        question["limits"] = limits_of(r)
    if drawn > 0.6:
        names = r.choice(DIFFERENCES, int(r.integers(1, 3)), replace=False)
        question["penalties"] = {str(name): float(10 ** r.uniform(-2, 2)) for name in names}
    if r.random() < 0.15:
        question["unified"] = True
    return Problem(data, window_of(r), question)


def middle(r: np.random.Generator) -> Problem:
    """As `by_group` on more groups and rows, with pooled groups and roles of columns."""
    drawn = r.random()
    if drawn < 0.15:
        data = rows_of(r, int(r.integers(2, 4)), int(r.integers(100, 3000)), columns=2)
        return Problem(data, window_of(r), {"limits": limits_of(r, 2), "fair_between": 0, "decide_by": (0, 1)})
    made = by_group(r, (2, 21), (100, 5001))
    if drawn < 0.3:
        made.question["min_rows"] = float(r.integers(20, 200))
    return made


def mixtures(r: np.random.Generator) -> Problem:
    """Mixtures of thresholds by group."""
    data = rows_of(r, int(r.integers(2, 13)), int(r.integers(20, 3000)))
    return Problem(data, window_of(r), {**objective_of(r), "limits": limits_of(r), "randomize": True})


def segments(r: np.random.Generator) -> Problem:
    """Thresholds by segment, monotone and mixed ones among them."""
    data = rows_of(r, int(r.integers(2, 4)), int(r.integers(60, 1500)), columns=2)
    question: dict[str, Any] = {**objective_of(r), "limits": limits_of(r, 2), "fair_between": 0, "decide_by": 1}
    drawn = r.random()
    if drawn < 0.3:
        question["monotone"] = True
    elif drawn < 0.5:
        question["randomize"] = True
    return Problem(data, {"bins": int(r.choice([16, 64, 256]))}, question)


def promises(r: np.random.Generator) -> Problem:
    """Promises by group, mixture and segment, and the rows that they need."""
    drawn = r.random()
    if drawn < 0.2:
        data = rows_of(r, 2, int(r.integers(500, 3000)), columns=2)
        question: dict[str, Any] = {"fair_between": 0, "decide_by": 1}
    else:
        data = rows_of(r, int(r.integers(2, 5)), int(r.integers(500, 20_000)))
        question = {"randomize": True} if drawn < 0.4 else {}
    name = str(r.choice(CRITERIA))
    limit = float(r.choice([0.03, 0.05, 0.1, 0.15]))
    question |= {"limits": {name: 1 - limit if name == "disparate_impact" else limit}}
    verb = "rows_needed" if r.random() < 0.05 and "decide_by" not in question else "solve"
    return Problem(data, {"bins": 256}, question | {"confidence": float(r.choice([0.9, 0.95]))}, verb)


def frontiers(r: np.random.Generator) -> Problem:
    """Whole trade-offs: limits, penalties, mixtures, segments."""
    drawn = r.random()
    question: dict[str, Any] = {"criterion": str(r.choice(DIFFERENCES))}
    if drawn < 0.15:
        data = rows_of(r, 2, int(r.integers(60, 600)), columns=2)
        question |= {"fair_between": 0, "decide_by": 1}
    else:
        data = rows_of(r, int(r.integers(2, 5)), int(r.integers(40, 2000)))
        if drawn < 0.4:
            question["randomize"] = True
        elif drawn < 0.6:
            question["by"] = "penalties"
    return Problem(data, {"bins": int(r.choice([16, 64, 256]))}, question, "frontier")


def infeasible(r: np.random.Generator) -> Problem:
    """Limits that few thresholds meet: the verdict names the nearest."""
    data = rows_of(r, int(r.integers(2, 6)), int(r.integers(20, 400)))
    question: dict[str, Any] = {"limits": limits_of(r, 3, tight=True)}
    if r.random() < 0.3:
        question["unified"] = True
    return Problem(data, window_of(r), question)


def records(r: np.random.Generator) -> Problem:
    """What is made from a result: an audit, a certificate, JSON and back."""
    data = rows_of(r, int(r.integers(2, 5)), int(r.integers(100, 2000)))
    return Problem(data, {"bins": 256}, {"limits": limits_of(r, 1)}, "records")


MAKERS = {
    "small": lambda r: by_group(r, (2, 6), (5, 61)),
    "middle": middle,
    "mixtures": mixtures,
    "segments": segments,
    "promises": promises,
    "frontiers": frontiers,
    "infeasible": infeasible,
    "records": records,
}


# ------------------------------------------------------------------------------------------------------------- answers


def words(gf: Any, verb: str, question: dict[str, Any], evidence: float) -> dict[str, Any]:
    """The question in the words of the installed build, which may be older than the ones used here."""
    known = inspect.signature(getattr(gf, verb)).parameters
    asked = dict(question)
    if verb == "solve" and "evidence" in known:
        asked["evidence"] = evidence
    objective = asked.pop("objective", None)
    if objective is not None and "objective" in known:
        asked["objective"] = objective
    elif isinstance(objective, dict):
        asked["costs"], asked["balanced"] = (objective["fp"], objective["fn"]), bool(objective.get("balanced", False))
    elif objective is not None:
        asked["balanced"] = True
    if asked.get("monotone") and "monotone" not in known:
        del asked["monotone"]
        asked["decide_by"] = gf.Segments(column=asked["decide_by"], monotone=True)
    return asked


def answer(gf: Any, given: Problem, evidence: float) -> dict[str, Any]:
    """All that is compared of one problem."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            sketch = gf.Sketch.from_rows(**given.rows, **given.sketch)
            verb = "solve" if given.verb == "records" else given.verb
            asked = words(gf, verb, given.question, evidence)
            made = getattr(gf, verb)(sketch, **asked)
            if given.verb == "records":
                return of_records(gf, made, sketch)
            return {"solve": of_result, "frontier": of_frontier, "rows_needed": of_needed}[verb](made)
        except (ValueError, TypeError, ArithmeticError, RuntimeError) as error:
            return {"raises": type(error).__name__, "code": getattr(error, "code", None)}


def bits(value: Any) -> Any:
    """Floats to the last bit, names as texts, the rest as JSON has it."""
    if isinstance(value, (bool, int, str, type(None))):
        return value
    if isinstance(value, (float, np.floating)):
        return float(value).hex()
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, dict):
        return {str(name): bits(item) for name, item in value.items()}
    return [bits(item) for item in value]


def of_result(result: Any) -> dict[str, Any]:
    """A result, mixtures without their weights."""
    promise = result.promise
    told: dict[str, Any] = {
        "verdict": result.verdict,
        "mixed": result.mixtures is not None,
        "cost": float(result.cost).hex(),
        "met": bool(result.meets_limits),
        "before": bits(unified_of(result)),
        "notes": [[getattr(note, "code", None), str(note)] for note in result.notes],
    }
    if promise is not None:
        told["promise"] = {"held": result.verdict == "promised", "chance": float(promise.chance or 0).hex()}
    if result.mixtures is None:
        told |= bits(
            {
                "thresholds": dict(result.thresholds),
                "error": result.error,
                "loss": result.loss,
                "gaps": dict(result.gaps),
                "lower_bound": result.lower_bound,
                "rates": {name: (rates.tpr, rates.fpr) for name, rates in result.rates.items()},
            }
        )
    return told


def unified_of(result: Any) -> list[Any]:
    """The best unified threshold, its error and its gaps."""
    if hasattr(result, "default_threshold"):  # in the build before
        return [result.default_threshold, result.before_error, result.before_gaps]
    return [result.thresholds.default, result.before_error, result.gaps.before]


def of_frontier(frontier: Any) -> dict[str, Any]:
    """The points of a trade-off."""
    cost = frontier.costs if hasattr(frontier, "costs") else frontier.errors
    return {"gaps": bits(np.asarray(frontier.gaps)), "costs": bits(np.asarray(cost))}


def of_needed(needed: Any) -> dict[str, Any]:
    """How many rows a promise needs."""
    return {"rows": bits(float(needed.rows))}


def of_records(gf: Any, result: Any, sketch: Any) -> dict[str, Any]:
    """An audit and a certificate of the result, and the result after JSON."""
    back = gf.Result.from_json(result.to_json())
    first = next(iter(inspect.signature(gf.audit).parameters))
    audit = gf.audit(sketch, result) if first == "sketch" else gf.audit(result, sketch)
    found = gf.certify(result, sketch)
    return {
        "json": bits(dict(back.thresholds)) == bits(dict(result.thresholds)) and back.verdict == result.verdict,
        "gaps": {name: bits([gap.value, gap.low, gap.high]) for name, gap in sorted(audit.gaps.items())},
        "holds": bool(found.holds),
    }


# ------------------------------------------------------------------------------------------------------------- compare


def close(a: str, b: str, tolerance: float) -> bool:
    """Whether two numbers, written in hexadecimal, differ by no more than the tolerance."""
    x, y = float.fromhex(a), float.fromhex(b)
    return x == y or (math.isnan(x) and math.isnan(y)) or abs(x - y) <= tolerance * max(1.0, abs(x))


def renamed(text: str) -> str:
    """A note in the words of today's options."""
    for before, now in RENAMED.items():
        text = text.replace(before, now)
    return text


def differences(old: dict[str, Any], new: dict[str, Any], mixed: bool) -> list[str]:
    """The names of the parts that differ; `mixed` if mixtures were asked for."""
    if old.keys() != new.keys():
        return [f"has {sorted(old.keys() ^ new.keys())}"]
    mixed = bool(old.get("mixed", mixed))
    found = []
    for name in old:
        a, b = old[name], new[name]
        if name == "cost" and mixed:
            same = close(a, b, 1e-9)
        elif mixed and name in ("gaps", "costs"):
            same = len(a) == len(b) and all(close(x, y, 1e-9) for x, y in zip(a, b, strict=True))
        elif name == "promise":
            same = a["held"] == b["held"] and (mixed or close(a["chance"], b["chance"], 1e-12))
        elif name == "notes" and all(code for code, _ in a):  # a build without codes has texts only
            same = [code for code, _ in a] == [code for code, _ in b]
        elif name == "notes" and mixed:  # their numbers come from the mixture
            same = [text.partition(":")[0] for _, text in a] == [text.partition(":")[0] for _, text in b]
        elif name == "notes":
            same = [renamed(text) for _, text in a] == [renamed(text) for _, text in b]
        else:
            same = a == b
        if not same:
            found.append(name)
    return found


def compare(before: Path, after: Path) -> int:
    """Print what differs, and return how many problems do."""
    with lzma.open(before, "rt") as one, lzma.open(after, "rt") as other:
        old = {tuple(line["problem"]): line["answer"] for line in map(json.loads, one)}
        new = {tuple(line["problem"]): line["answer"] for line in map(json.loads, other)}
    both = [key for key in old if key in new]
    bad: collections.Counter[str] = collections.Counter()
    for key in both:
        if old[key] == new[key]:
            continue
        if found := differences(old[key], new[key], "randomize" in problem(*key).question):
            bad[key[0]] += 1
            print(*key, "differs in", ", ".join(found))
    total = collections.Counter(key[0] for key in both)
    for kind, n in total.items():
        print(f"{kind:12} {n:6} problems, {bad[kind]} differ")
    alone = f"{len(old) - len(both)} only before, {len(new) - len(both)} only after"
    print(f"{len(both)} compared, {sum(bad.values())} differ; {alone}")
    return sum(bad.values()) + (not both)


def main() -> int:
    """Parse, then answer or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("answer", help="write the answers of the installed build")
    run.add_argument("out", type=Path)
    run.add_argument("--kind", nargs="+", choices=COUNTS, default=list(COUNTS))
    run.add_argument("--first", type=int, default=0)
    run.add_argument("--count", type=int, help="problems of each kind; all if not given")
    run.add_argument("--evidence", type=float, default=0.0)
    two = verbs.add_parser("compare", help="compare two files of answers")
    two.add_argument("before", type=Path)
    two.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.verb == "compare":
        return 1 if compare(given.before, given.after) else 0
    import gstar_fast as gf

    with lzma.open(given.out, "wt") as out:
        for kind in given.kind:
            last = COUNTS[kind] if given.count is None else min(COUNTS[kind], given.first + given.count)
            for n in range(given.first, last):
                line = {"problem": [kind, n], "answer": answer(gf, problem(kind, n), given.evidence)}
                out.write(json.dumps(line, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
