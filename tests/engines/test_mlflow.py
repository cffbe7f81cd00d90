"""MLflow: a fitted model is saved, logged and loaded in every format that MLflow has for scikit-learn."""

import numpy as np
import pytest
from helpers.engines import needs
from helpers.estimator_cases import people
from sklearn.linear_model import LogisticRegression

import gstar_fast as gf

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # MLflow warns of its own type hints and formats
    pytest.mark.filterwarnings("error:::gstar_fast"),
]
# What docs/guide/estimator.md tells users to trust.
TRUSTED = ["gstar_fast.GroupThresholdClassifier", "gstar_fast.Result", "gstar_fast.Sketch"]


@pytest.fixture(scope="module")
def mlflow():
    needs("mlflow")
    import mlflow.pyfunc
    import mlflow.sklearn

    return mlflow


@pytest.fixture(scope="module")
def table():
    rows, labels = people(600)
    return rows.drop(columns="race"), labels


@pytest.fixture
def model(table):
    limits = {"equalized_odds": 0.1}
    return gf.GroupThresholdClassifier(LogisticRegression(), limits=limits, sensitive_features="sex").fit(*table)


@pytest.mark.parametrize("form", [None, "skops", "cloudpickle", "pickle"])
def test_a_fitted_model_is_saved_and_loaded(mlflow, model, table, tmp_path, form):
    rows, _ = table
    options = {"skops_trusted_types": TRUSTED} if form in (None, "skops") else {}
    if form is not None:
        options["serialization_format"] = form
    mlflow.sklearn.save_model(model, tmp_path / "model", pip_requirements=["gstar-fast"], **options)
    if form is None:
        assert (tmp_path / "model" / "model.skops").exists(), "its default is skops"
    again = mlflow.sklearn.load_model(str(tmp_path / "model"))
    assert again.result_ == model.result_
    assert again.sketch_ == model.sketch_
    assert np.array_equal(again.predict(rows), model.predict(rows))
    served = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    assert np.array_equal(served.predict(rows), model.predict(rows))


def test_without_trust_it_says_which_types_to_trust(mlflow, model, tmp_path):
    with pytest.raises(mlflow.exceptions.MlflowException, match="skops_trusted_types") as error:
        mlflow.sklearn.save_model(model, tmp_path / "model", pip_requirements=["gstar-fast"])
    assert all(name in str(error.value) for name in TRUSTED)
