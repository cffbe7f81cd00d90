"""Fairness criteria: which rates each compares, what it asks for, how its gap is measured. Imports nothing."""

from __future__ import annotations

RATES = ("tpr", "fpr", "selection_rate", "accuracy", "balanced_accuracy")

# criterion -> the rates that it compares between groups
CRITERIA: dict[str, tuple[str, ...]] = {
    "demographic_parity": ("selection_rate",),
    "equal_opportunity": ("tpr",),
    "predictive_equality": ("fpr",),
    "equalized_odds": ("tpr", "fpr"),
    "equalized_odds_sum": ("tpr", "fpr"),
    "accuracy_parity": ("accuracy",),
    "balanced_accuracy_parity": ("balanced_accuracy",),
    "disparate_impact": ("selection_rate",),
}

# criterion -> what it asks for, for people
MEANINGS: dict[str, str] = {
    "demographic_parity": "selection rates alike: who is accepted does not depend on the group",
    "equal_opportunity": "tpr alike: of those who deserve it, as many are accepted in every group",
    "predictive_equality": "fpr alike: of those who do not, as many are accepted in every group",
    "equalized_odds": "tpr and fpr alike, both",
    "equalized_odds_sum": "the same as one number: tpr gap plus fpr gap, the paper's EOd (a limit only)",
    "accuracy_parity": "accuracy alike",
    "balanced_accuracy_parity": "balanced accuracy alike",
    "disparate_impact": "least ratio of selection rates; 0.8 is the four-fifths rule (a limit only)",
}

ADDED = "equalized_odds_sum"  # the criterion whose gap is a sum: of two rates, the first of RATES
MOST = {ADDED: 2.0}  # criterion -> its largest gap, where that is not 1

# gap -> how it is measured
DEFINITIONS: dict[str, str] = {
    "demographic_parity": "largest minus smallest selection rate",
    "equal_opportunity": "largest minus smallest tpr",
    "predictive_equality": "largest minus smallest fpr",
    "equalized_odds": "the larger of the tpr gap and the fpr gap (max form)",
    "equalized_odds_sum": "tpr gap plus fpr gap (the paper's EOd)",
    "accuracy_parity": "largest minus smallest accuracy",
    "balanced_accuracy_parity": "largest minus smallest balanced accuracy",
    "disparate_impact": "smallest over largest selection rate (a ratio: 1 is parity)",
}

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
    if not PREDICTIVE_PARITY.intersection(difflib.get_close_matches(word, (*PREDICTIVE_PARITY, *CRITERIA), n=1)):
        return ""
    return (
        "; predictive parity (equal ppv) is not offered as a limit or penalty: read its gap in audit, because limits "
        "on other criteria can widen it"
    )
