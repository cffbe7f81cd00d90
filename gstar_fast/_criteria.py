"""Criteria by name: which rates each compares, and in which form. The only place that knows names."""

from __future__ import annotations

import math

from gstar_fast._rates import (
    ACCURACY,
    BALANCED_ACCURACY,
    FNR,
    FPR,
    ODDS,
    PPV,
    SELECTION_RATE,
    SOLVER_RATES,
    TNR,
    TPR,
)
from gstar_fast._rates import TOLERANCE as TOLERANCE
from gstar_fast._rates import Criterion as Criterion
from gstar_fast._rates import Form as Form
from gstar_fast._rates import Limit as Limit

MEASURED: dict[str, Criterion] = {  # in the order of an audit
    criterion.name: criterion
    for criterion in (
        Criterion(
            "demographic_parity",
            (SELECTION_RATE,),
            Form.DIFFERENCE,
            "selection rates alike: who is accepted does not depend on the group",
            "largest minus smallest selection rate",
            "fairlearn's demographic_parity_difference, size of AIF360's statistical_parity_difference",
        ),
        Criterion(
            "equal_opportunity",
            (TPR,),
            Form.DIFFERENCE,
            "tpr alike: of those who deserve it, as many are accepted in every group",
            "largest minus smallest tpr",
            "the paper's EOp, fairlearn's equal_opportunity_difference, size of AIF360's",
        ),
        Criterion(
            "predictive_equality",
            (FPR,),
            Form.DIFFERENCE,
            "fpr alike: of those who do not, as many are accepted in every group",
            "largest minus smallest fpr",
            "fairlearn's false_positive_rate_difference, size of AIF360's",
        ),
        Criterion(
            "equalized_odds",
            (TPR, FPR),
            Form.DIFFERENCE,
            "tpr and fpr alike, both",
            "the larger of the tpr gap and the fpr gap (max form)",
            "fairlearn's equalized_odds_difference, AIF360's too",
        ),
        Criterion(
            "equalized_odds_sum",
            (TPR, FPR),
            Form.SUM,
            "the same as one number: tpr gap plus fpr gap, the paper's EOd (a limit only)",
            "tpr gap plus fpr gap (the paper's EOd)",
        ),
        Criterion(
            "equalized_odds_mean",
            (TPR, FPR),
            Form.SUM,
            measured="half the tpr gap plus half the fpr gap",
            elsewhere="fairlearn's equalized_odds_difference with agg='mean', AIF360's average_abs_odds_difference",
            scale=0.5,
        ),
        Criterion(
            "average_odds",
            (ODDS,),
            Form.DIFFERENCE,
            measured="largest minus smallest mean of tpr and fpr",
            elsewhere="size of AIF360's average_odds_difference",
        ),
        Criterion(
            "accuracy_parity",
            (ACCURACY,),
            Form.DIFFERENCE,
            "accuracy alike",
            "largest minus smallest accuracy",
            "fairlearn's accuracy_score_difference, size of AIF360's error_rate_difference",
        ),
        Criterion(
            "balanced_accuracy_parity",
            (BALANCED_ACCURACY,),
            Form.DIFFERENCE,
            "balanced accuracy alike",
            "largest minus smallest balanced accuracy",
            "half the paper's BD",
        ),
        Criterion(
            "balanced_accuracy_sum",
            (BALANCED_ACCURACY,),
            Form.DIFFERENCE,
            measured="largest minus smallest sum of tpr and tnr (the paper's BD)",
            scale=2.0,
        ),
        Criterion("predictive_parity", (PPV,), Form.DIFFERENCE, measured="largest minus smallest ppv"),
        Criterion(
            "disparate_impact",
            (SELECTION_RATE,),
            Form.RATIO,
            "least ratio of selection rates; 0.8 is the four-fifths rule (a limit only)",
            "smallest over largest selection rate (a ratio: 1 is parity)",
            "fairlearn's demographic_parity_ratio, AIF360's disparate_impact or one over it",
        ),
        Criterion(
            "disparate_impact_distance",
            (SELECTION_RATE,),
            Form.RATIO,
            measured="1 - smallest / largest selection rate (the paper's 1-DIMP, smaller on top)",
            shown="distance",
        ),
        Criterion(
            "disparate_impact_excess",
            (SELECTION_RATE,),
            Form.RATIO,
            measured="largest / smallest selection rate - 1 (the paper's 1-DIMP, larger on top)",
            shown="excess",
        ),
        Criterion(
            "equal_opportunity_ratio",
            (TPR,),
            Form.RATIO,
            measured="smallest over largest tpr (a ratio: 1 is parity)",
            elsewhere="fairlearn's equal_opportunity_ratio",
        ),
        Criterion(
            "predictive_equality_ratio",
            (FPR,),
            Form.RATIO,
            measured="smallest over largest fpr (a ratio: 1 is parity)",
            elsewhere="fairlearn's false_positive_rate_ratio",
        ),
        Criterion(
            "equalized_odds_ratio",
            (TPR, FPR),
            Form.RATIO,
            measured="the smaller of the tpr ratio and the fpr ratio (a ratio: 1 is parity)",
            elsewhere="fairlearn's equalized_odds_ratio",
        ),
    )
}
CRITERION = {name: criterion for name, criterion in MEASURED.items() if criterion.meaning}  # that can be asked for
BOUNDS = {
    rate.name: Criterion(rate.name, (rate,), Form.BOUND, measured="of the group nearest to the limit, or beyond it")
    for rate in (*SOLVER_RATES, TNR, FNR, PPV)
}
SELECTED = Criterion("selected", (SELECTION_RATE,), Form.TOTAL, measured="share of all rows that is accepted")
KNOWN: dict[str, Criterion] = {**CRITERION, **BOUNDS, SELECTED.name: SELECTED}  # offered or not
LIMITED = {  # what a limit can be about
    **CRITERION,
    **{rate.name: BOUNDS[rate.name] for rate in SOLVER_RATES},
    SELECTED.name: SELECTED,
}


ENDS = {"at_least": -math.inf, "at_most": math.inf}  # of a limit on a rate, and where one is left out
SIGNS = dict(zip((">=", "<="), ENDS, strict=True))


def limit_of_text(text: str) -> tuple[str, dict[str, float]] | None:
    """The entry of `limits` that a text such as "tpr>=0.7" stands for; None if it is written in another way."""
    for sign, end in SIGNS.items():
        name, found, value = text.partition(sign)
        if found and name in LIMITED and not LIMITED[name].compares:
            return name, {end: float(value)}
    return None


def limit_texts(limit: Limit) -> list[str]:
    """A limit as such texts."""
    if limit.criterion.compares:
        return [f"{limit.criterion.name}={limit.asked!r}"]
    ends = zip(SIGNS, (limit.least, limit.most), strict=True)
    return [f"{limit.criterion.name}{sign}{bound!r}" for sign, bound in ends if math.isfinite(bound)]


def is_met(name: str, limit: float, gap: float | None, tolerance: float = TOLERANCE) -> bool | None:
    """Whether a limit holds; None where the gap is not defined."""
    return CRITERION[name].limit(limit).met(gap, tolerance)


def as_difference(criterion: Criterion) -> Criterion:
    """The criterion that compares the same rates by their differences."""
    return next(one for one in CRITERION.values() if one.form is Form.DIFFERENCE and one.rates == criterion.rates)


EXAMPLE, EQUAL_TPR, LEAST_RATIO = "equalized_odds", "equal_opportunity", "disparate_impact"

# names that others use for criteria, here and elsewhere
PREDICTIVE_PARITY = frozenset(
    ("predictive_parity", "predictive_value_parity", "predictive_rate_parity", "ppv", "ppv_parity", "precision")
)
CALLED_ELSEWHERE = {  # in fairlearn and AIF360
    "statistical_parity": "demographic_parity",
    "true_positive_rate_parity": "equal_opportunity",
    "false_positive_rate_parity": "predictive_equality",
}


def not_offered(name: object) -> str:
    """What to say to those who ask for a criterion by a name that is not ours; empty where the nearest name is right.

    The nearest name would mislead: predictive_equality is about fpr, predictive parity about ppv.
    """
    import difflib  # slow, and needed here only

    word = str(name).casefold().replace(" ", "_").replace("-", "_")
    if word in CALLED_ELSEWHERE:
        return f"; did you mean {CALLED_ELSEWHERE[word]!r}?"
    if not PREDICTIVE_PARITY.intersection(difflib.get_close_matches(word, (*PREDICTIVE_PARITY, *CRITERION), n=1)):
        return ""
    return (
        "; predictive parity (equal ppv) is not offered as a limit or penalty: read its gap in audit, because limits "
        "on other criteria can widen it"
    )
