"""What gaps to expect on rows that thresholds were not found on: `NewRows`.

Chance makes such gaps larger twice: in the rows the thresholds were found on, and in the new rows. So thresholds found
on one replicate of the counts are measured on another, of as many rows as the new sample has.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gstar_fast._audit.metrics import gap_of, shares_of, values_of
from gstar_fast._backends.interface import Floats, Ints
from gstar_fast._base.arrays import Values
from gstar_fast._base.public import lives_in
from gstar_fast._base.text import row_count
from gstar_fast._criteria import CRITERION, MEASURED, Form

SAMPLES = 2000  # of new rows, over all replicates: nine of ten are then 89 to 91 of a hundred
CLEARLY = 1.25  # times the limit: a gap expected on new rows that is larger is not put down to chance
OUT_OF_FOLD = "this assumes out-of-fold scores: no row's score comes from a model that was trained on that row"


@lives_in("gstar_fast.results")
@dataclass(frozen=True, slots=True)
class NewRows:
    """The gap to expect on a sample of new rows, of the kind that was counted.

    Attributes
    ----------
    mean : float
        Over samples.
    nine_of_ten : float
        Nine of ten samples stay under it; of `disparate_impact`, a ratio, above it.
    rows : int
        Rows of a sample, with and without labels, with weights like the counted ones.
    """

    mean: float
    nine_of_ten: float
    rows: int

    def tenth(self, criterion: str) -> str:
        """What nine of ten samples do, as text."""
        side = "above" if MEASURED[criterion].form is Form.RATIO else "under"
        return f"nine of ten samples of {row_count(self.rows)} rows stay {side} {self.nine_of_ten:.2g}"


def new_rows_of(
    accepted: Floats | Ints,
    totals: Ints,
    one: Values,
    counted: int,
    criteria: Iterable[str],
    rows: int | None,
    seed: int,
) -> dict[str, NewRows]:
    """What to expect of each criterion, from the rows (3, n, K) that n thresholds accept of `totals` (3, K).

    `one` (3, K) is what one row counts, and `counted` is the number of rows. The sum of Poisson counts is a Poisson
    count: a replicate of all bins need not be drawn to know how many of its rows a threshold accepts. A criterion that
    most samples lack the rows for is left out.
    """
    rows = counted if rows is None else rows
    random = np.random.default_rng([seed, 2])  # another stream than those of the gaps and the thresholds
    used = totals.any(axis=1)  # without unlabelled rows there is nothing to draw for them
    share, each = rows / counted, -(-SAMPLES // accepted.shape[1])
    found: dict[str, list[float | None]] = {name: [] for name in criteria}
    for taken in np.moveaxis(accepted, 1, 0):
        cells = (np.stack([taken, np.maximum(totals - taken, 0)]) / one)[:, used] * share
        drawn = np.zeros((each, 2, *totals.shape))
        drawn[:, :, used] = random.poisson(cells, (each, *cells.shape)) * one[used]
        rates = values_of(*shares_of(*(np.moveaxis(part, 1, 0) for part in (drawn[:, 0], drawn.sum(axis=1)))))
        for name, gaps in found.items():
            gaps += [
                gap_of(MEASURED[name], {rate: rates[rate][i] for rate in MEASURED[name].names}) for i in range(each)
            ]
    known = {name: [gap for gap in gaps if gap is not None] for name, gaps in found.items()}
    return {
        name: NewRows(float(np.mean(gaps)), _ninth(name, gaps), rows)
        for name, gaps in known.items()
        if 2 * len(gaps) > len(found[name])
    }


def _ninth(criterion: str, gaps: list[float]) -> float:
    """The ninth tenth, on the side away from parity: a gap that was found, not a mean of two."""
    if MEASURED[criterion].form is Form.RATIO:
        return float(np.quantile(gaps, 0.1, method="lower"))
    return float(np.quantile(gaps, 0.9, method="higher"))


def clearly_over(name: str, limit: float, expected: float) -> bool:
    """Whether a gap exceeds its limit by a quarter; of a ratio, its distance from parity does."""
    parity = CRITERION[name].parity
    return abs(parity - expected) > CLEARLY * abs(parity - limit)
