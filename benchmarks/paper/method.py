"""What every method of the comparison is given, and what it answers with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Setting = dict[str, Any]


@dataclass(frozen=True)
class Rows:
    """Rows of one part of a split."""

    X: np.ndarray  # float32 (n, d): standardised, one-hot, without the sensitive columns
    y: np.ndarray  # uint8
    a: np.ndarray  # uint8, 1 is the privileged group
    score: np.ndarray  # float64 (n,): logit of the base model, which was trained on the fit rows
    q: np.ndarray  # float64 (n,): P(a = 1 | x), from a model that was trained on the fit rows

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Split:
    """One data set cut into rows to fit on, to choose settings on, and to judge on."""

    data: str
    model: str  # the base model: "lr" or "hgb"
    protocol: str  # "paper", "paper_oof": no validation rows; "frontier": a quarter of the train rows
    seed: int
    fit: Rows
    validation: Rows
    test: Rows
    oof: np.ndarray  # logits of the fit rows that thresholds are found on: out-of-fold, but in-sample in "paper"
    oof_q: np.ndarray  # P(a = 1 | x) of the fit rows, in the same way


# Rows and their scores -> probability of acceptance of each row; 0 or 1 where no coin is tossed. Scores are handed in
# beside the rows, so that thresholds can be tried on others than `rows.score`. A fair model that scores by itself
# ignores them, and its answer has an attribute `score`: a function of the rows that returns its own logits.
Decide = Callable[[Rows, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Method:
    """One way to fair decisions: ours or a rival's."""

    name: str
    title: str
    kind: str  # "post" reads scores only; "pre" and "in" train on the rows
    randomised: bool
    uses_group: bool  # whether it asks for the group when it decides
    criteria: tuple[str, ...]  # what it can aim at: "equalized_odds", "demographic_parity", "equal_opportunity"
    settings: Callable[[str, str], list[Setting]]  # of (data, criterion); one empty setting where there is no knob
    fit: Callable[[Split, str, Setting], Decide]  # of (split, criterion, setting); reads `split.fit`, `split.oof`
    environment: str = "main"  # the requirements file it runs with
    aims: bool = True  # whether the criterion changes what is fitted; if not, one fit answers for all criteria
    note: str = ""  # what the page must say about how it is run
