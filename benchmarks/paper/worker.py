"""One process that fits methods for the runner, in the environment that they need. Needs NumPy beside the method.

It reads one task a line, as JSON, and answers with one record a line as soon as each setting is done. What methods
print goes to the error stream.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import platform
import sys
import time
import traceback
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper import metrics, splits
from benchmarks.paper.method import Decide, Method, Rows, Setting, Split

HERE = Path(__file__).parent
PACKAGES = ("numpy", "scipy", "scikit-learn", "aif360", "fairlearn", "oxonfair", "tensorflow-cpu", "BlackBoxAuditing")
PACKAGES += ("error-parity", "fairgbm", "numba")
ON_TOP = ("paper", "equalized_odds")  # where our thresholds are put on top of fair models


def methods() -> dict[str, Method]:
    """Every method by name: ours, then the rivals in alphabetical order."""
    from benchmarks.paper import ours

    found = {method.name: method for method in ours.METHODS}
    for file in sorted((HERE / "rivals").glob("[a-z]*.py")):
        try:
            module = importlib.import_module(f"benchmarks.paper.rivals.{file.stem}")
        except ImportError as error:  # another environment has what it needs
            print(f"{file.name} is left out: {error}", file=sys.stderr)
            continue
        found.update({method.name: method for method in getattr(module, "METHODS", None) or [module.METHOD]})
    return found


def versions() -> dict[str, str]:
    """What is installed of the packages that figures may depend on."""
    from gstar_fast._version import __version__

    found = {"python": platform.python_version(), "gstar-fast": __version__}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def answers(split: Split, method: Method, criterion: str, setting: Setting) -> Iterator[dict[str, Any]]:
    """The record of one fit, and those of our thresholds on top of it where the method scores by itself."""
    began, worked = time.perf_counter(), time.process_time()
    try:
        decide = method.fit(split, criterion, setting)
    except Exception as error:  # a rival's failure is a record too
        yield record(split, method, criterion, setting) | {"error": _said(error), "seconds": _since(began, worked)}
        return
    seconds = _since(began, worked)
    whole = record(split, method, criterion, setting) | _judged(split, decide) | {"seconds": seconds}
    yield whole
    if not method.aims and split.protocol == "frontier":
        yield from (whole | {"criterion": other} for other in method.criteria if other != criterion)
    if (split.protocol, criterion) != ON_TOP or not callable(getattr(decide, "score", None)):
        return
    from benchmarks.paper import ours

    above, scored = ours.on_top(method), _Scored(decide)
    for limit in ours.ON_TOP_LIMITS:
        began, worked = time.perf_counter(), time.process_time()
        both = record(split, above, criterion, {"limit": limit, **setting})
        try:
            solved = ours.thresholds_on(scored, split, criterion, limit)
        except Exception as error:  # such as a model whose scores are all alike
            yield both | {"error": _said(error), "seconds": _since(began, worked)}
            continue
        yield both | _judged(split, solved) | {"seconds": _since(began, worked)}


class _Scored:
    """A fair model that scores each part of a split once, however many thresholds are tried on it."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        self._kept: list[tuple[Rows, np.ndarray]] = []

    def score(self, rows: Rows) -> np.ndarray:
        for known, scores in self._kept:
            if known is rows:
                return scores
        self._kept.append((rows, self._decide.score(rows)))  # type: ignore[attr-defined]
        return self._kept[-1][1]


def record(split: Split, method: Method, criterion: str, setting: Setting) -> dict[str, Any]:
    """What is known before the fit."""
    return {
        "data": split.data,
        "model": split.model,
        "protocol": split.protocol,
        "seed": split.seed,
        "method": method.name,
        "criterion": criterion,
        "setting": setting,
        "form": method.title,
        "randomised": method.randomised,
        "uses_group": method.uses_group,
        "kind": method.kind,
        "fit": None,
        "validation": None,
        "test": None,
        "counts": {"test": metrics.counts(split.test.y, split.test.a)},
        "seconds": None,
        "verdict": None,
        "error": None,
    }


def _judged(split: Split, decide: Decide) -> dict[str, Any]:
    """Metrics of the parts that somebody reads. Nothing is chosen here; the test rows are only judged."""
    found: dict[str, Any] = {"verdict": getattr(decide, "verdict", None)}
    for name in ("thresholds", "iterations", "solving"):
        if hasattr(decide, name):
            found[name] = getattr(decide, name)
    try:
        for part in splits.PARTS:
            rows = getattr(split, part)
            if len(rows) and (split.protocol, part) != ("frontier", "fit"):
                found[part] = metrics.judge(decide(rows, rows.score), rows.y, rows.a)
    except Exception as error:
        return {"error": _said(error)}
    return found


def _since(began: float, worked: float) -> dict[str, float]:
    return {"wall": time.perf_counter() - began, "cpu": time.process_time() - worked}


def _said(error: Exception) -> str:
    line = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {str(error)[:300]} ({Path(line.filename).name}:{line.lineno})"


def main() -> None:
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not look like an answer
    known, about, kept = methods(), versions(), {}
    for line in sys.stdin:
        task = json.loads(line)
        place = (task["folder"], task["data"], task["model"], task["protocol"], task["seed"])
        if place not in kept:
            kept = {place: splits.load(*place)}
        for setting in task["settings"]:
            for found in answers(kept[place], known[task["method"]], task["criterion"], setting):
                print(json.dumps(found | {"versions": about}), file=answer, flush=True)
        print(json.dumps({"done": True}), file=answer, flush=True)


if __name__ == "__main__":
    main()
