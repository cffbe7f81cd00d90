"""What a reader of an audit should know before trusting a number: small groups, missing classes, weights.

Reads from: the audit's counts and rates.  Read by: the audit.
"""

from __future__ import annotations

import numpy as np

from gstar_fast._audit_counts import Counts
from gstar_fast._audit_intervals import Rates, two_sided
from gstar_fast._groups import listed

SMALL = 50  # rows of a class; a rate of so few is known to about +-0.14 at best guess, at 95 %
MOST = 5  # groups spelled out


def notes_of(counts: Counts, rates: Rates, confidence: float) -> list[str]:
    """Plain sentences."""
    notes = []
    rows = counts.totals * counts.unit
    if counts.unit != 1:
        notes.append(
            "rows are weighted: intervals take a weight of 1 as one row, so they are too narrow where many rows have a "
            "weight far below it"
        )
    if rows[2].any():
        notes.append(f"{rows[2].sum():g} rows have no label and count for the selection rate only")
    for label, rate, others, word in (
        (1, "tpr", "fnr and balanced_accuracy", "positive"),
        (0, "fpr", "tnr and balanced_accuracy", "negative"),
    ):
        absent = [name for name, n in zip(counts.groups, rows[label], strict=True) if n == 0]
        if absent:
            who = f"group {absent[0]!r} has" if len(absent) == 1 else f"groups {listed(absent)} have"
            notes.append(f"{who} no {word} labels: {rate}, {others} are not known there, nor what they are part of")
        low, high = rates.limits(rate, two_sided(confidence))
        small = np.flatnonzero((rows[label] > 0) & (rows[label] < SMALL))
        notes += [
            f"group {counts.groups[k]!r} is small: it has {rows[label, k]:g} {word} labels, so its {rate} may be "
            f"anything from {low[k]:.2f} to {high[k]:.2f}"
            for k in small[np.argsort(rows[label, small], kind="stable")][:MOST]
        ]
        if len(small) > MOST:
            notes.append(f"{len(small) - MOST} more groups have fewer than {SMALL} {word} labels")
    return notes
