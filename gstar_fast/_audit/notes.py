"""What a reader of an audit should know before trusting a number: small groups, missing classes, weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gstar_fast._audit.counts import Counts
from gstar_fast._audit.intervals import Rates, two_sided
from gstar_fast._base.names import Name, listed

SMALL = 50  # rows of a class, whose rate is then known to +-0.14 at worst, with confidence 0.95
MOST = 5  # groups spelled out


def notes_of(counts: Counts, rates: Rates, confidence: float) -> list[str]:
    """Plain sentences."""
    rows = counts.totals * counts.unit
    notes = []
    if counts.unit != 1:
        notes.append(
            "rows have weights: the intervals count a weight of 1 as one row, which is right where a weight says how "
            "many such rows there are"
        )
    if not rows[:2].any():
        notes.append("no row has a label: only selection rates and their gaps are known")
        return notes
    if rows[2].any():
        notes.append(f"{_number_of(rows[2].sum(), 'row')} without a label: counted for the selection rate only")
    empty = ~rows.any(axis=0)
    notes += _who(counts.groups, empty, "no rows")
    notes += _who(counts.groups, ~empty & (rows[1] == 0), "no positive label: tpr, fnr, balanced accuracy not known")
    notes += _who(counts.groups, ~empty & (rows[0] == 0), "no negative label: fpr, tnr, balanced accuracy not known")
    return notes + _small(counts.groups, rows, rates, two_sided(confidence))


def _who(groups: tuple[Name, ...], where: Any, what: str) -> list[str]:
    found = [groups[k] for k in np.flatnonzero(where)]
    if not found:
        return []
    return [f"{'group' if len(found) == 1 else 'groups'} {listed(found)}: {what}"]


def _small(groups: tuple[Name, ...], rows: NDArray[Any], rates: Rates, z: float) -> list[str]:
    """The smallest groups first: which class is short, and what that leaves open."""
    least = np.where(rows[:2] > 0, rows[:2], np.inf).min(axis=0)
    small = np.flatnonzero(least < SMALL)
    small = small[np.argsort(least[small], kind="stable")]
    notes = []
    for k in small[:MOST]:
        parts = []
        for label, word, rate in ((1, "positive", "tpr"), (0, "negative", "fpr")):
            if 0 < rows[label, k] < SMALL:
                low, high = (side[k] for side in rates.limits(rate, z))
                few = _number_of(rows[label, k], f"{word} label")
                parts.append(f"{few}, so its {rate} may be anything from {low:.2f} to {high:.2f}")
        notes.append(f"group {groups[k]!r} is small: {'; '.join(parts)}")
    if len(small) > MOST:
        notes.append(f"{_number_of(len(small) - MOST, 'more group')} with fewer than {SMALL} labels of a class")
    return notes


def _number_of(n: float, word: str) -> str:
    return f"{n:g} {word}{'' if n == 1 else 's'}"
