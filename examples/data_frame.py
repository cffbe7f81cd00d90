"""A data scientist with a data frame: from rows to decisions, step by step.

People of two sexes and two origins ask for loans. The model sees neither. One threshold for all still accepts groups at
different rates, because the features that the model sees are distributed differently.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import gstar_fast as gf


def loans(rows: int, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """Applicants, and whether each paid back."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], rows, p=[0.45, 0.55])
    origin = rng.choice(["here", "abroad"], rows, p=[0.8, 0.2])
    thrift = rng.normal(size=rows)  # decides who pays back; not in the data
    career = np.where(sex == "F", -0.6, 0.0) + np.where(origin == "abroad", -0.4, 0.0)  # differs by group
    table = pd.DataFrame(
        {
            "income": np.exp(10 + 0.4 * thrift + 0.5 * career + 0.3 * rng.normal(size=rows)).round(),
            "years": np.clip(6 + 3 * thrift + 4 * career + 3 * rng.normal(size=rows), 0, 40).round(1),
            "job": rng.choice(["office", "shop", "craft"], rows),
            "sex": sex,
            "origin": origin,
        }
    )
    paid = thrift + 0.2 * career + 0.8 * rng.normal(size=rows) > -0.3
    return table, pd.Series(np.where(paid, "paid", "lost"), name="outcome")


def title(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def shown(what: gf.results.Audit, *names: str) -> str:
    """A few gaps of an audit in one line, with their intervals."""
    gaps = ((name, what.gaps[name]) for name in names)
    return ", ".join(f"{name} {gap.value:.3f} ({gap.low:.3f} to {gap.high:.3f})" for name, gap in gaps)


def main() -> None:
    people, outcome = loans(rows=8_000, seed=0)
    train, test, y_train, y_test = train_test_split(people, outcome, random_state=0, stratify=people["sex"])
    paid = (y_test == "paid").to_numpy()

    title("1. A model, and one threshold for all")
    prepare = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["income", "years"]))
    model = make_pipeline(prepare, LogisticRegression())
    plain = model.fit(train, y_train).predict(test)
    before = gf.audit(decisions=plain == "paid", labels=paid, groups=test["sex"])
    print(f"accuracy {before.overall['accuracy'].value:.3f}; by sex: {shown(before, 'equal_opportunity')}")

    title("2. One threshold for each sex, with tpr at most 0.02 apart")
    fair = gf.GroupThresholdClassifier(model, limits={"equal_opportunity": 0.02}, sensitive_features="sex")
    fair.fit(train, y_train)  # thresholds from out-of-fold scores
    print(fair.result_)

    title("3. The same on rows that neither model nor thresholds have seen")
    after = gf.audit(decisions=fair.predict(test) == "paid", labels=paid, groups=test["sex"])
    print(f"accuracy {after.overall['accuracy'].value:.3f}; by sex: {shown(after, 'equal_opportunity')}")

    title("4. Intersections: sex and origin together, at most 0.05 apart, since the groups are smaller")
    both = gf.GroupThresholdClassifier(model, limits={"equal_opportunity": 0.05}, sensitive_features=["sex", "origin"])
    for group, threshold in both.fit(train, y_train).thresholds_.items():
        print(f"{group!s:18} {threshold:.3f}")

    title("5. Which model, and which limit? A grid search tries them all")
    tree = make_pipeline(prepare, DecisionTreeClassifier(max_depth=6, random_state=0))
    grid = {"estimator": [model, tree], "limits": [{"equal_opportunity": limit} for limit in (0.03, 0.1)]}
    search = GridSearchCV(fair, grid, scoring="accuracy", cv=2).fit(train, y_train)
    for options, accuracy in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        name = type(options["estimator"][-1]).__name__
        print(f"{name:22} limit {options['limits']['equal_opportunity']:<5} accuracy {accuracy:.3f}")

    title("6. Next month: new outcomes are counted, the model stays")
    new, y_new = loans(rows=4_000, seed=1)
    old = fair.thresholds_
    fair.partial_fit(new, y_new)
    print(f"{fair.sketch_.n_rows} rows counted; thresholds were {old} and are {fair.thresholds_}")


if __name__ == "__main__":
    main()
