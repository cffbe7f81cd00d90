"""Records of the runs: read, put in order, averaged over seeds; and the published figures beside them.

A record is one method with one setting on one split, as `run.py` writes it: one JSON line. This file only reads.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from math import pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np

Record = dict[str, Any]

DATA = ("adult", "compas", "german", "celeba")
SHOWN = {"adult": "Adult", "compas": "COMPAS", "german": "German", "celeba": "CelebA stand-in"}
GAPS = {"equalized_odds": "eod_sum", "demographic_parity": "dp", "equal_opportunity": "eop"}
GAP_WORDS = {"equalized_odds": "EOd (sum)", "demographic_parity": "DP", "equal_opportunity": "EOp"}
PUBLISHED = Path(__file__).parent / "published"
RECORDED = Path(__file__).parent.parent / "results" / "paper.jsonl.gz"


FORMS = ("exact", "randomised", "kde", "loop", "loop_kde", "loop_unified", "unified", "promised")
BLIND_FORMS = ("segments", "segments_randomised", "tilted")  # built after the comparison with LinearPost


# Rivals that train, and were given a part of CelebA's fit rows: so many of those of protocol frontier.
THINNED = ("adv_deb", "dir", "dir_aif360", "exponentiated_gradient", "fairgbm", "fgp", "laftr")
TRAINED_ON, FIT_ROWS = 30_000, 106_364


def trained_on_part(data: str, method: str) -> str:
    """Which part of the fit rows a rival was trained on in protocol frontier; empty if it had all."""
    return f"{TRAINED_ON:,} of {FIT_ROWS:,}" if data == "celeba" and method in THINNED else ""


def unpromised(some: list[Record]) -> str:
    """How many answers came without the promise that was asked for; empty if there are none."""
    count = sum(one.get("verdict") == "unpromised" for one in some)
    return f", {count} of {len(some)} unpromised" if count else ""


def absent(records: Iterable[Record]) -> dict[tuple[Any, ...], list[Record]]:
    """Records that a method has for some seeds of a protocol and lacks for others: one for each, by method and data."""
    found: dict[tuple[Any, ...], list[Record]] = defaultdict(list)
    for (method, data, *_), some in by(records, "method", "data", "model", "protocol", "criterion").items():
        seeds = {one["seed"] for one in some}
        for few in by(some, "setting").values():
            there = {one["seed"] for one in few}
            found[method, data] += [few[0] | {"seed": seed} for seed in sorted(seeds - there)]
    return {place: some for place, some in found.items() if some}


def ours(method: str) -> bool:
    """Whether a method is a form of ours, also on top of a fair model."""
    return method in BLIND_FORMS or method.startswith(FORMS)  # exact_on_..., and variants that are named after a form


def load(*paths: Path) -> Records:
    """The records of files of JSON lines, packed or not; of records with one key the last one counts."""
    found: dict[str, Record] = {}
    for path in paths:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for line in content.decode().splitlines():
            if line.strip():
                one = json.loads(line)
                found[key(one)] = one
    return Records(found.values())


def key(one: Record) -> str:
    """What tells a record from all others, as text."""
    parts = [one.get(name, "") for name in ("data", "model", "protocol", "seed", "method", "criterion")]
    return json.dumps([*parts, one["setting"]], sort_keys=True)


class Records(list[Record]):
    """A list of records that finds those of a data set, method, protocol or criterion without looking at all."""

    INDEXES = (("protocol", "data", "method"), ("protocol", "data"), ("protocol",), ("method",), ("data",))

    @cached_property
    def places(self) -> dict[tuple[str, ...], dict[tuple[Any, ...], list[Record]]]:
        """Records by the values of some fields, for each index."""
        return {names: by(self, *names) for names in self.INDEXES}


def keep(records: Iterable[Record], **wanted: Any) -> Records:
    """Records that did not fail and have these values; a tuple means any of its values."""
    if isinstance(records, Records) and len(records) > 500:
        for names in Records.INDEXES:
            if all(isinstance(wanted.get(name), str) for name in names):
                records = records.places[names].get(tuple(wanted[name] for name in names), [])
                break
    return Records(one for one in records if not one.get("error") and _fits(one, wanted))


def failures(records: Iterable[Record]) -> list[Record]:
    """Records that failed."""
    return [one for one in records if one.get("error")]


def _fits(one: Record, wanted: dict[str, Any]) -> bool:
    for name, value in wanted.items():
        found = one.get(name)
        if (found not in value) if isinstance(value, tuple) else (found != value):
            return False
    return True


def by(records: Iterable[Record], *names: str) -> dict[tuple[Any, ...], list[Record]]:
    """Records by the values of these fields, in order of first appearance; a setting is its JSON text."""
    found: dict[tuple[Any, ...], list[Record]] = defaultdict(list)
    for one in records:
        found[tuple(setting_text(one) if name == "setting" else one.get(name) for name in names)].append(one)
    return dict(found)


def setting_text(one: Record) -> str:
    """The setting of a record as short text."""
    return ", ".join(f"{name} {_short(value)}" for name, value in one["setting"].items())


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def mean(records: Iterable[Record], name: str, part: str = "test") -> float:
    """Mean of a metric over records; NaN where there are none."""
    values = [one[part][name] for one in records if one.get(part) and one[part][name] is not None]
    return float(np.mean(values)) if values else float("nan")


def spread(records: Iterable[Record], name: str, part: str = "test") -> float:
    """Standard deviation of a metric over records."""
    values = [one[part][name] for one in records if one.get(part) and one[part][name] is not None]
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


# ------------------------------------------------------------------------------------------------------ noise floor


def rates(one: Record, part: str = "test") -> tuple[float, float]:
    """True and false positive rate of all rows, from accuracy, balanced accuracy and the counts of the cells."""
    (n00, n01), (n10, n11) = one["counts"]["test"]
    positive = (n10 + n11) / (n00 + n01 + n10 + n11)
    accuracy, balanced = one[part]["accuracy"], one[part]["balanced_accuracy"]
    if abs(positive - 0.5) < 1e-6:
        return balanced, 1 - balanced  # accuracy says nothing more: the two rates are taken to be alike
    tpr = (accuracy - 2 * balanced * (1 - positive)) / (2 * positive - 1)
    return tpr, 1 - (2 * balanced - tpr)


def noise_floor(one: Record, criterion: str = "equalized_odds") -> float:
    """Mean gap that a rule shows on these test rows if its rates are those of the record and equal in both groups.

    A difference of two shares is nearly normal, and the mean size of a normal value is its deviation times
    sqrt(2 / pi). EOd is the sum of two such sizes.
    """
    (n00, n01), (n10, n11) = one["counts"]["test"]
    tpr, fpr = rates(one)
    positive = (n10 + n11) / (n00 + n01 + n10 + n11)
    cells = {
        "equalized_odds": [(tpr, n10, n11), (fpr, n00, n01)],
        "equal_opportunity": [(tpr, n10, n11)],
        "demographic_parity": [(positive * tpr + (1 - positive) * fpr, n00 + n10, n01 + n11)],
    }[criterion]
    return sum(sqrt(2 / pi * rate * (1 - rate) * (1 / n + 1 / m)) for rate, n, m in cells)


def floor_of(records: Iterable[Record], data: str, criterion: str = "equalized_odds") -> float:
    """Noise floor of a data set: the mean over the paper's splits at the rates of the base model, or of exact."""
    some = keep(records, data=data, protocol="paper", model="lr")
    chosen = [one for one in some if one["method"] == "baseline"]
    chosen = chosen or [one for one in some if one["method"] == "exact" and one["setting"] == {"limit": 0.2}]
    return float(np.mean([noise_floor(one, criterion) for one in chosen])) if chosen else float("nan")


# --------------------------------------------------------------------------------------------------- published figures


def published(name: str) -> list[dict[str, Any]]:
    """Lines of a published figure; numbers as numbers."""
    with (PUBLISHED / f"{name}.csv").open(newline="") as lines:
        return [{head: _number(cell) for head, cell in line.items()} for line in csv.DictReader(lines)]


def figure3(data: str) -> dict[str, dict[str, float]]:
    """The paper's Figure 3 of one data set, as drawn: half of EOd, half of BD."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for line in published("figure3"):
        if line["dataset"].lower() == data:
            found[line["method"]][line["metric"]] = line["value"]
    return dict(found)


def _number(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell
