"""Every metric and gap of an audit: what it is, and its value from counts."""

from __future__ import annotations

import numpy as np

from gstar_fast._backends.interface import Floats
from gstar_fast._base.arrays import Values
from gstar_fast._criteria import Criterion
from gstar_fast._rates import (
    ACCURACY,
    BALANCED_ACCURACY,
    BASE_RATE,
    FNR,
    FPR,
    ODDS,
    PPV,
    SELECTION_RATE,
    TNR,
    TPR,
    ends_of,
)

SHARES = (BASE_RATE, SELECTION_RATE, TPR, FPR, TNR, FNR, PPV, ACCURACY)  # binomial, given the trials
METRICS = ("rows", *(rate.name for rate in (*SHARES, BALANCED_ACCURACY)))

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
MEANS = {
    rate.name: tuple(next(one.name for one in SHARES if one.shares == (share,)) for share in rate.shares)
    for rate in (BALANCED_ACCURACY, ODDS)
}


def shares_of(accepted: Values, totals: Values) -> tuple[dict[str, Values], dict[str, Values]]:
    """Hits and trials of every share; the first axis of both arrays is label 0, label 1, unlabelled."""
    found = {rate.name: rate.shares[0].counted(accepted, totals) for rate in SHARES}
    return {name: hits for name, (hits, _) in found.items()}, {name: trials for name, (_, trials) in found.items()}


def values_of(hits: dict[str, Values], trials: dict[str, Values]) -> dict[str, Floats]:
    """Every rate, one division each; NaN where there are no rows for it."""
    out: dict[str, Floats] = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        for name in hits:
            out[name] = np.true_divide(hits[name], trials[name])
        for name, (one, two) in MEANS.items():
            out[name] = (out[one] + out[two]) / 2
    return out


def gap_of(criterion: Criterion, rates: dict[str, Floats]) -> float | None:
    """Value of a gap over the groups (K,); None where fewer than two of several have the rates."""
    values = np.stack([rates[rate.name] for rate in criterion.rates])
    value = criterion.value(ends_of(values, ~np.isnan(values)))
    return None if value is None else float(criterion.reported(value))
