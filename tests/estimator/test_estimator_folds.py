"""Thresholds are found on scores of rows the scoring model has not seen, and every row counts once."""

import numpy as np
import pytest
from helpers.estimator_cases import FirstColumn, people
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, ShuffleSplit, TimeSeriesSplit
from sklearn.tree import DecisionTreeClassifier

import gstar_fast as gf
from gstar_fast import GroupThresholdClassifier
from gstar_fast._estimator.groups import groups_of_rows
from gstar_fast._estimator.training import cells_of, splits_of

X, y = people()
FEATURES = X[["a", "b"]]


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")
@pytest.mark.parametrize("estimator", [RandomForestClassifier(30, random_state=0), DecisionTreeClassifier(max_depth=9)])
def test_thresholds_from_memorised_scores_are_worse_on_new_rows(estimator):
    """A model that knows its rows by heart separates them perfectly, so that any threshold looks good."""
    new, new_y = people(20_000, seed=1)
    columns = ["a", "b"]
    asked = {"limits": {"equal_opportunity": 0.05}, "objective": {"fp": 1, "fn": 4}, "random_state": 0}
    estimator = estimator.set_params(random_state=0)

    def judged(model):
        decisions = model.predict(new[columns], sensitive_features=new["sex"])
        rates = [decisions[(new["sex"] == sex) & (new_y == 1)].mean() for sex in "FM"]
        cost = np.mean(np.where(new_y == 1, 4 * (decisions == 0), decisions == 1))
        return cost, abs(rates[0] - rates[1])

    honest = GroupThresholdClassifier(estimator, **asked).fit(X[columns], y, sensitive_features=X["sex"])
    fitted = estimator.fit(X[columns], y)
    naive = GroupThresholdClassifier(fitted, cv="prefit", **asked).fit(X[columns], y, sensitive_features=X["sex"])
    assert naive.result_.error < honest.result_.error  # it looks better where it was found ...
    (cost, gap), (naive_cost, naive_gap) = judged(honest), judged(naive)
    assert cost < 0.9 * naive_cost  # ... and is worse in every way where it is used
    assert gap < naive_gap / 2


def test_out_of_fold_models_never_saw_their_rows():
    seen = []

    class Spy(FirstColumn):
        def fit(self, X, y, sample_weight=None):
            self.rows_ = set(X[:, 1])
            return super().fit(X, y, sample_weight)

        def decision_function(self, X):
            seen.append(self.rows_ & set(X[:, 1]))
            return super().decision_function(X)

    rows = np.column_stack([X["a"], np.arange(len(y))])
    GroupThresholdClassifier(Spy()).fit(rows, y)
    assert seen == [set()] * 5


@given(
    cells=st.lists(st.integers(0, 5), min_size=2, max_size=60),
    cv=st.integers(2, 7),
    seed=st.sampled_from([None, 0, 1]),
)
def test_folds_hold_every_cell_evenly(cells, cv, seed):
    cells = np.array(cells)
    splits = splits_of(cv, cells, cells, cells, seed, {})
    tests = [test for _, test in splits]
    assert sorted(np.concatenate(tests)) == list(range(len(cells)))
    for train, test in splits:
        assert sorted([*train, *test]) == list(range(len(cells)))
    for rows in (np.isin(cells, [0, 1, 2]), *(cells == cell for cell in set(cells))):  # a stretch of cells, and each
        counts = [int(rows[test].sum()) for test in tests] + [0] * (cv - len(tests))
        assert max(counts) - min(counts) <= 1


@given(cells=st.lists(st.integers(0, 5), min_size=2, max_size=60), share=st.floats(0.1, 0.9))
def test_a_held_out_share_holds_every_cell_evenly(cells, share):
    cells = np.array(cells)
    [(train, test)] = splits_of(share, cells, cells, cells, 0, {})
    assert sorted([*train, *test]) == list(range(len(cells)))
    for cell in set(cells):
        assert abs((cells[test] == cell).sum() - share * (cells == cell).sum()) < 1 + 1e-9


def test_labels_are_spread_as_evenly_as_cells():
    rng = np.random.default_rng(0)
    labels, groups = rng.integers(0, 2, 203), rng.integers(0, 9, 203)
    cells = cells_of(labels.astype(np.uint8), groups_of_rows(groups, 203))
    for _, test in splits_of(5, cells, labels, cells, None, {}):
        assert abs(labels[test].sum() - labels.sum() / 5) < 1


def test_seed_shuffles_folds_and_repeats():
    cells = np.zeros(50, np.int64)
    one, two, other = (splits_of(5, cells, cells, cells, seed, {})[0][1].tolist() for seed in (0, 0, 1))
    assert one == two != other


def test_a_single_split_may_keep_its_model():
    model = GroupThresholdClassifier(FirstColumn(), cv=0.25, refit=False).fit(FEATURES, y)
    assert model.sketch_.n_rows == 300
    model = GroupThresholdClassifier(FirstColumn(), cv=ShuffleSplit(1, test_size=100, random_state=0), refit=False)
    assert model.fit(FEATURES, y).sketch_.n_rows == 100
    with pytest.raises(ValueError, match=r"refit=False needs a single split, such as cv=0.3; this cv has 5"):
        GroupThresholdClassifier(FirstColumn(), refit=False).fit(FEATURES, y)


def test_splitters_and_iterables_decide_for_themselves():
    rows = np.arange(len(y))
    for cv in (KFold(3), [(rows[:600], rows[600:]), (rows[600:], rows[:600])]):
        assert GroupThresholdClassifier(FirstColumn(), cv=cv).fit(FEATURES, y).sketch_.n_rows == len(y)


def test_rows_that_no_fold_tests_are_not_counted():
    times = TimeSeriesSplit(3)
    tested = np.concatenate([test for _, test in times.split(FEATURES)])
    model = GroupThresholdClassifier(FirstColumn(), cv=times).fit(FEATURES, y)
    assert model.sketch_ == gf.Sketch.from_rows(FEATURES["a"].to_numpy()[tested], y[tested], ["all"] * len(tested))
    mask = np.arange(len(y)) < 300
    assert GroupThresholdClassifier(FirstColumn(), cv=[(~mask, mask)]).fit(FEATURES, y).sketch_.n_rows == 300


@pytest.mark.parametrize(
    ("cv", "text"),
    [
        (RepeatedStratifiedKFold(n_splits=3, n_repeats=9), "cv tests 1200 of 1200 rows more than once, up to 9 times"),
        (
            ShuffleSplit(5, random_state=0),
            "more than once, .*; pass folds that do not overlap, such as StratifiedKFold",
        ),
        ([([0, 1, 2, 3], [5, 5, 6])], "cv tests 1 of 1200 rows more than once, up to 2 times"),
        ([], "cv tests no row, so there are no scores"),
        ("five", "cv must be a number of folds, a share of rows, a splitter or 'prefit', got 'five'"),
        (1, "cv must be at least 2 folds, got 1"),
        (0, "cv must be at least 2 folds, got 0"),
        (1.5, "cv as a share of rows to test on must be between 0 and 1, got 1.5"),
    ],
)
def test_wrong_cv_is_refused(cv, text):
    with pytest.raises(ValueError, match=text):
        GroupThresholdClassifier(FirstColumn(), cv=cv).fit(FEATURES, y)


def test_one_row_of_a_class_cannot_be_cut_into_folds():
    with pytest.raises(ValueError, match=r"fold 0 would train on only the class .*; pass more rows, other folds"):
        GroupThresholdClassifier(FirstColumn(), cv=2).fit(FEATURES[:9], [0] * 8 + [1])


def test_fit_takes_a_group_of_one_row():
    groups = np.array(["a", "b"] * 100 + ["tiny"])
    model = GroupThresholdClassifier(LogisticRegression()).fit(FEATURES[:201], y[:201], sensitive_features=groups)
    assert set(model.thresholds_) == {"a", "b", "tiny"}
