"""Every way to say which columns of X are sensitive, in every kind of table, means the same to every method."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from helpers.estimator_cases import people
from sklearn.linear_model import LogisticRegression

from gstar_fast import GroupThresholdClassifier

X, y = people(600)
PENALTIES = {"equal_opportunity": 1.0}

TABLES = {
    "pandas": lambda table: table,
    "polars": lambda table: pl.DataFrame({name: table[name].to_numpy() for name in table}),
    "pyarrow": lambda table: pa.table({name: pa.array(table[name]) for name in table}),
    "ndarray": lambda table: table.to_numpy(),
}

ONE, BOTH = X[["a", "b", "sex"]], X[["a", "sex", "race"]]
COLUMNS = [
    (ONE, 2),
    (ONE, [2]),
    (ONE, -1),
    (ONE, [np.int64(2)]),
    (ONE, "sex"),
    (ONE, ["sex"]),
    (ONE, np.array(["sex"])),
    (BOTH, [1, 2]),
    (BOTH, ("sex", "race")),
    (BOTH, ["sex", 2]),
]
CASES = [  # an array has no names
    pytest.param(form, frame, columns, id=f"{form}-{columns!r}")
    for form in TABLES
    for frame, columns in COLUMNS
    if form != "ndarray" or "sex" not in repr(columns)
]


@pytest.mark.slow
@pytest.mark.parametrize(("form", "frame", "columns"), CASES)
@pytest.mark.parametrize("unified", [False, True])
def test_columns_in_any_form_mean_the_same_to_every_method(form, frame, columns, unified):
    table = TABLES[form](frame)
    sensitive = [name for name in ("sex", "race") if name in frame]
    options = {"penalties": PENALTIES, "unified": unified, "cv": 2}
    beside = GroupThresholdClassifier(LogisticRegression(), **options)
    # in the same kind of table: another layout in memory may round the model's products otherwise
    features = TABLES[form](frame.drop(columns=sensitive))
    beside.fit(features, y, sensitive_features=frame[sensitive])
    model = GroupThresholdClassifier(LogisticRegression(), sensitive_features=columns, **options).fit(table, y)
    assert model.thresholds_ == beside.thresholds_
    assert np.array_equal(model.predict(table), beside.predict(features, sensitive_features=frame[sensitive]))
    assert np.array_equal(model.predict_proba(table), beside.predict_proba(features))
    assert np.array_equal(model.decision_function(table), beside.decision_function(features))


def test_half_of_the_named_columns_is_a_mistake():
    model = GroupThresholdClassifier(LogisticRegression(), sensitive_features=["sex", "race"], cv=2).fit(BOTH, y)
    assert np.array_equal(model.predict_proba(BOTH[["a"]]), model.predict_proba(BOTH))
    with pytest.raises(ValueError, match="names the column 'race', but X has no such column"):
        model.predict_proba(BOTH[["a", "sex"]])
