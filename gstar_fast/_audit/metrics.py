"""Every metric and gap of an audit: what it is, and its value from counts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gstar_fast._backends.interface import Floats
from gstar_fast._base.arrays import Values
from gstar_fast._criteria import DEFINITIONS

# hits out of trials: binomial, given the trials
SHARES = ("base_rate", "selection_rate", "tpr", "fpr", "tnr", "fnr", "ppv", "accuracy")
METRICS = ("rows", *SHARES, "balanced_accuracy")

METRIC_DEFINITIONS = {
    "rows": "rows counted, unlabelled ones too",
    "base_rate": "positive labels among labelled rows",
    "selection_rate": "accepted rows among all rows, unlabelled ones too",
    "tpr": "accepted among rows with a positive label (true positive rate, recall)",
    "fpr": "accepted among rows with a negative label (false positive rate)",
    "tnr": "rejected among rows with a negative label (true negative rate)",
    "fnr": "rejected among rows with a positive label (false negative rate)",
    "ppv": "positive labels among accepted labelled rows (positive predictive value, precision)",
    "accuracy": "labelled rows decided as their label says (the paper's ACC)",
    "balanced_accuracy": "mean of tpr and tnr (the paper's BA)",
}

# means of two shares of different rows, which are independent
MEANS = {"balanced_accuracy": ("tpr", "tnr"), "odds": ("tpr", "fpr")}


@dataclass(frozen=True)
class Gap:
    """How a gap comes from the rates of the groups.

    `form` compares the groups of each rate: the largest minus the smallest, or the smallest over the largest. `over`
    puts several rates together; `scale` multiplies the answer. `elsewhere` is what others call it.
    """

    rates: tuple[str, ...]
    meaning: str
    elsewhere: str = ""
    form: str = "difference"  # or "ratio", "distance" (1 - ratio), "excess" (1 / ratio - 1)
    over: str = "worst"  # or "sum"
    scale: float = 1.0

    @property
    def is_difference(self) -> bool:
        return self.form == "difference"

    @property
    def definition(self) -> str:
        """One line; what stands after the semicolon is what others call it."""
        return f"{self.meaning}; {self.elsewhere}" if self.elsewhere else self.meaning


GAPS: dict[str, Gap] = {
    "demographic_parity": Gap(
        ("selection_rate",),
        DEFINITIONS["demographic_parity"],
        "fairlearn's demographic_parity_difference, size of AIF360's statistical_parity_difference",
    ),
    "equal_opportunity": Gap(
        ("tpr",),
        DEFINITIONS["equal_opportunity"],
        "the paper's EOp, fairlearn's equal_opportunity_difference, size of AIF360's",
    ),
    "predictive_equality": Gap(
        ("fpr",), DEFINITIONS["predictive_equality"], "fairlearn's false_positive_rate_difference, size of AIF360's"
    ),
    "equalized_odds": Gap(
        ("tpr", "fpr"), DEFINITIONS["equalized_odds"], "fairlearn's equalized_odds_difference, AIF360's too"
    ),
    "equalized_odds_sum": Gap(("tpr", "fpr"), DEFINITIONS["equalized_odds_sum"], over="sum"),
    "equalized_odds_mean": Gap(
        ("tpr", "fpr"),
        "half the tpr gap plus half the fpr gap",
        "fairlearn's equalized_odds_difference with agg='mean', AIF360's average_abs_odds_difference",
        over="sum",
        scale=0.5,
    ),
    "average_odds": Gap(
        ("odds",), "largest minus smallest mean of tpr and fpr", "size of AIF360's average_odds_difference"
    ),
    "accuracy_parity": Gap(
        ("accuracy",),
        DEFINITIONS["accuracy_parity"],
        "fairlearn's accuracy_score_difference, size of AIF360's error_rate_difference",
    ),
    "balanced_accuracy_parity": Gap(
        ("balanced_accuracy",), DEFINITIONS["balanced_accuracy_parity"], "half the paper's BD"
    ),
    "balanced_accuracy_sum": Gap(
        ("balanced_accuracy",), "largest minus smallest sum of tpr and tnr (the paper's BD)", scale=2.0
    ),
    "predictive_parity": Gap(("ppv",), "largest minus smallest ppv"),
    "disparate_impact": Gap(
        ("selection_rate",),
        DEFINITIONS["disparate_impact"],
        "fairlearn's demographic_parity_ratio, AIF360's disparate_impact or one over it",
        form="ratio",
    ),
    "disparate_impact_distance": Gap(
        ("selection_rate",),
        "1 - smallest / largest selection rate (the paper's 1-DIMP, smaller on top)",
        form="distance",
    ),
    "disparate_impact_excess": Gap(
        ("selection_rate",),
        "largest / smallest selection rate - 1 (the paper's 1-DIMP, larger on top)",
        form="excess",
    ),
    "equal_opportunity_ratio": Gap(
        ("tpr",),
        "smallest over largest tpr (a ratio: 1 is parity)",
        "fairlearn's equal_opportunity_ratio",
        form="ratio",
    ),
    "predictive_equality_ratio": Gap(
        ("fpr",),
        "smallest over largest fpr (a ratio: 1 is parity)",
        "fairlearn's false_positive_rate_ratio",
        form="ratio",
    ),
    "equalized_odds_ratio": Gap(
        ("tpr", "fpr"),
        "the smaller of the tpr ratio and the fpr ratio (a ratio: 1 is parity)",
        "fairlearn's equalized_odds_ratio",
        form="ratio",
    ),
}


def shares_of(accepted: Values, totals: Values) -> tuple[dict[str, Values], dict[str, Values]]:
    """Hits and trials of every share; the first axis of both arrays is label 0, label 1, unlabelled."""
    fp, tp, free = accepted
    n0, n1, spare = totals
    labelled = n0 + n1
    hits = {
        "base_rate": n1,
        "selection_rate": fp + tp + free,
        "tpr": tp,
        "fpr": fp,
        "tnr": n0 - fp,
        "fnr": n1 - tp,
        "ppv": tp,
        "accuracy": tp + (n0 - fp),
    }
    trials = {
        "base_rate": labelled,
        "selection_rate": labelled + spare,
        "tpr": n1,
        "fpr": n0,
        "tnr": n0,
        "fnr": n1,
        "ppv": fp + tp,
        "accuracy": labelled,
    }
    return hits, trials


def values_of(hits: dict[str, Values], trials: dict[str, Values]) -> dict[str, Floats]:
    """Every rate, one division each; NaN where there are no rows for it."""
    out: dict[str, Floats] = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        for name in SHARES:
            out[name] = np.true_divide(hits[name], trials[name])
        for name, (one, two) in MEANS.items():
            out[name] = (out[one] + out[two]) / 2
    return out


def gap_of(gap: Gap, rates: dict[str, Floats]) -> float | None:
    """Value of a gap over the groups (K,); None where fewer than two of several have the rates."""
    found = []
    for name in gap.rates:
        values = rates[name]
        known = values[~np.isnan(values)]
        if len(known) < 2 < 1 + len(values):
            return None
        low, high = (known.min(), known.max()) if len(known) else (1.0, 1.0)  # one group has no gap, with rows or not
        found.append(high - low if gap.is_difference else (low / high if high > 0 else 1.0))
    worst = max(found) if gap.is_difference else min(found)
    return shaped(gap, float(sum(found) if gap.over == "sum" else worst))


def shaped(gap: Gap, value: float) -> float:
    """A difference or ratio in the form the gap is reported in."""
    if gap.form == "distance":
        return 1.0 - value
    if gap.form == "excess":
        return 1.0 / value - 1.0 if value > 0 else math.inf
    return gap.scale * value
