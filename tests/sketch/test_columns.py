"""A sketch remembers the columns of its tables and what label 1 meant, whoever counts, copies, merges or sends it."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import polars as pl
import pytest

import gstar_fast as gf
from gstar_fast._sketch.columns import MIXED, Columns

PEOPLE = pl.DataFrame({"p": [0.25, 0.75, 0.5], "y": [0, 1, 1], "sex": ["F", "M", "F"], "old": [True, False, True]})
NAMES = [
    Columns(),
    Columns("p"),
    Columns("several", "y", ("sex",)),
    Columns("p", None, ("sex", "old")),
    Columns(MIXED, "y", MIXED),
    Columns("", "\u00e9 \U0001f600", ("a,b",)),
]


def counted(score="p", label="y", group="sex", **options):
    return gf.Sketch(**options).update_table(
        PEOPLE.rename({"p": score} if score != "p" else {}), score=score, label=label, group=group
    )


def named(columns, positive=None):
    return gf.Sketch.from_rows([0.5], [1], ["a"])._remember(columns, positive)


def test_tables_name_the_columns(backend):
    assert counted().columns == Columns("p", "y", ("sex",))
    assert counted(group=["sex", "old"], label=None).columns == Columns("p", None, ("sex", "old"))
    assert gf.Sketch().columns == gf.Sketch.from_rows([0.5], [1], ["a"]).columns == Columns()


@pytest.mark.parametrize("columns", NAMES, ids=str)
@pytest.mark.parametrize("positive", [None, "yes", 1, 0, -(2**63), True, ""])
def test_names_are_there_after_every_way_of_sending_a_sketch(backend, columns, positive, tmp_path):
    sketch = named(columns, positive)
    sketch.save(tmp_path / "s.gstar")
    ways = [
        gf.Sketch.from_bytes(sketch.to_bytes()),
        gf.Sketch.load(tmp_path / "s.gstar"),
        pickle.loads(pickle.dumps(sketch)),
        copy.copy(sketch),
        copy.deepcopy(sketch),
        sketch + gf.Sketch(),
        gf.Sketch() + sketch,
        sum([sketch]),
        sketch.pooled(min_rows=10),
        gf.merge_all([sketch.to_bytes()]),
        gf.merge_all([sketch]),
    ]
    for again in ways:
        assert again.columns == columns
        assert again.positive == positive
        assert type(again.positive) is type(positive)
    assert {again.to_bytes() for again in ways if again.groups == ("a",)} == {sketch.to_bytes()}


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.RepeatedRowsWarning")  # sketches differ in names only
@pytest.mark.parametrize(("a", "b"), list(itertools.combinations_with_replacement(NAMES, 2)))
def test_names_merge_part_by_part(backend, a, b):
    both = named(a) + named(b)

    def expected(x, y):
        return y if x is None else x if y in (None, x) else MIXED

    assert both.columns == Columns(*(expected(getattr(a, n), getattr(b, n)) for n in ("score", "label", "group")))
    assert (named(b) + named(a)).to_bytes() == both.to_bytes()
    assert gf.merge_all([named(b).to_bytes(), named(a).to_bytes()]).to_bytes() == both.to_bytes()


def test_tables_of_other_names_make_them_several(backend):
    both = counted().update_table(PEOPLE.rename({"p": "q"}), score="q", label="y", group="sex")
    assert both.columns == Columns(MIXED, "y", ("sex",))
    assert both.update([0.5], [1], ["F"]).columns.score is MIXED
    assert (counted() + counted(score="q")).columns == Columns(MIXED, "y", ("sex",))


def test_a_refused_table_changes_no_name(backend):
    sketch = counted()
    before = sketch.to_bytes()
    with pytest.raises(ValueError, match="must be 0 or 1"):
        sketch.update_table(PEOPLE.with_columns(y=pl.lit(7)).rename({"p": "q"}), score="q", label="y", group="sex")
    assert sketch.to_bytes() == before


def test_names_are_no_part_of_the_rows(backend):
    """Digest and equality speak of the counted rows; the bytes have the names too."""
    plain = gf.Sketch.from_rows([0.25, 0.75, 0.5], [0, 1, 1], ["F", "M", "F"])
    assert plain == counted()
    assert plain.digest() == counted().digest()
    assert plain.to_bytes() != counted().to_bytes()


def test_the_positive_label_is_part_of_the_rows(backend):
    yes, no, plain = named(Columns(), "yes"), named(Columns(), "no"), named(Columns())
    assert len({yes.digest(), no.digest(), plain.digest()}) == 3
    assert yes != no
    assert (yes + plain).positive == (plain + yes).positive == "yes"
    before = yes.to_bytes()
    for merge in (lambda: yes.merge(no), lambda: gf.merge_all([yes.to_bytes(), no.to_bytes()])):
        with pytest.raises(ValueError, match=r"different positive labels: 'yes' and 'no', so 1 .* with positive='yes'"):
            merge()
    assert yes.to_bytes() == before


def test_a_result_names_the_columns():
    table = gf.datasets.paper_synthetic(rows=2_000, seed=1)
    frame = pl.DataFrame({"p": table.scores, "y": table.labels, "g": table.groups, "h": table.groups % 2 == 0})
    sketch = gf.Sketch(bins=64).update_table(frame, score="p", label="y", group="g")
    smooth = {"density": "normal", "method": "newton", "penalties": {"equalized_odds": 1}}
    for options in ({}, {"unified": True}, {"min_rows": 1}, smooth):
        result = gf.solve(sketch, **options)
        assert (result.origin.score_column, result.origin.group_column) == ("p", "g")
        assert (result.decider().score_column, result.decider().group_column) == ("p", "g")
    crossed = gf.Sketch(bins=64).update_table(frame, score="p", label="y", group=["g", "h"])
    assert gf.solve(crossed).origin.group_column == "g,h"
    assert gf.frontier(sketch, "equal_opportunity").at(gap=0.5).origin.score_column == "p"
    mixed = sketch + gf.Sketch(bins=64).update_table(frame.rename({"p": "q"}), score="q", label="y", group="g")
    assert (gf.solve(mixed).origin.score_column, gf.solve(mixed).origin.group_column) == (None, "g")


def test_groups_of_other_parts_have_no_group_columns():
    """Thresholds of pooled intersections do not name columns from which nobody could read their groups."""
    groups = [("F", True)] * 6 + [("M", False)] * 6 + [("M", True)]
    frame = pl.DataFrame({"p": np.linspace(0, 1, 13), "y": [0, 1] * 6 + [1], "a": [g[0] for g in groups]})
    frame = frame.with_columns(b=pl.Series([g[1] for g in groups]))
    sketch = gf.Sketch(bins=64).update_table(frame, score="p", label="y", group=["a", "b"])
    assert gf.solve(sketch.pooled(min_rows=3), evidence=0).origin.group_column is None
    assert gf.solve(sketch, min_rows=3, evidence=0).origin.group_column == "a,b"


def test_a_window_keeps_names():
    blank = gf.Window(panes=2)
    blank._panes[-1]._remember(Columns("p", "y", ("sex",)), "yes")
    blank.update([0.5], [1], ["F"])
    for window in (blank, gf.Window.from_bytes(blank.to_bytes()), pickle.loads(pickle.dumps(blank))):
        assert window.sketch.columns == Columns("p", "y", ("sex",))
        assert window.sketch.positive == "yes"


def test_columns_print_as_people_say_them():
    assert str(Columns("p", "y", ("sex", "old"))) == "score p, label y, group sex and old"
    assert str(Columns(MIXED, None, ("sex",))) == "score (several), group sex"
    assert str(Columns()) == ""


def test_squared_weights(backend):
    plain = gf.Sketch.from_rows([0.25, 0.5, 0.75], [0, 1, 1], ["a", "a", "b"])
    assert plain.squared_weights.tolist() == [[1, 0], [1, 1]]
    weighted = gf.Sketch.from_rows([0.25, 0.5, 0.75], [0, 1, 1], ["a", "a", "a"], weights=[0.5, 3, 1.5])
    assert weighted.squared_weights.tolist() == [[0.25], [9 + 2.25]]


LABELS = [
    (["no", "yes", None, "yes", "maybe"], "yes", pl.String),
    (["no", "yes", None, "yes", "maybe"], "yes", pl.Categorical),
    ([-1, 1, None, 1, 3], 1, pl.Int8),
    ([-1.0, 1.0, None, 1.0, 3.5], 1, pl.Float64),
    ([False, True, None, True, False], True, pl.Boolean),
    ([True, False, None, False, True], False, pl.Boolean),
]


@pytest.mark.parametrize(("labels", "positive", "kind"), LABELS)
def test_a_label_that_means_1(backend, labels, positive, kind):
    frame = pl.DataFrame({"p": [0.1, 0.2, 0.3, 0.4, 0.5], "y": pl.Series(labels, dtype=kind), "g": ["a"] * 5})
    sketch = gf.Sketch().update_table(frame, score="p", label="y", group="g", positive=positive)
    assert sketch.positive == positive
    plain = frame.with_columns(y=pl.Series([0, 1, None, 1, 0]))
    expected = gf.Sketch().update_table(plain, score="p", label="y", group="g")
    assert expected._remember(expected.columns, positive).to_bytes() == sketch.to_bytes()
    pandas = frame.to_pandas(use_pyarrow_extension_array=kind != pl.Categorical)
    assert gf.Sketch().update_table(pandas, score="p", label="y", group="g", positive=positive) == sketch
    text = isinstance(positive, str)
    with pytest.raises(
        ValueError, match=f"is no label here, because the labels are {'text' if text else 'numbers or b'}"
    ):
        gf.Sketch().update_table(frame, score="p", label="y", group="g", positive=1 if text else str(positive))
    other = "other" if text else 77
    none = gf.Sketch().update_table(frame, score="p", label="y", group="g", positive=other)
    assert (none.counts[1].sum(), none.counts[0].sum()) == (0, 4)


def test_a_batch_without_any_label_is_of_no_kind(backend):
    for kind in (pl.String, pl.Categorical, pl.Int8, pl.Null):
        frame = pl.DataFrame({"p": [0.1, 0.2], "y": pl.Series([None, None], dtype=kind), "g": ["a", "a"]})
        for rows, positive in ((2, "yes"), (2, 1), (0, "yes"), (0, 1)):
            sketch = gf.Sketch().update_table(frame.head(rows), score="p", label="y", group="g", positive=positive)
            assert (sketch.unlabelled.sum(), sketch.n_rows) == (rows, rows)


def test_a_positive_label_must_be_one():
    frame = pl.DataFrame({"p": [0.1, 0.2], "y": [0.0, float("nan")], "g": ["a", "a"]})
    words = {"score": "p", "label": "y", "group": "g"}
    for wrong in (1.5, ("yes",), b"yes", [1], 2**70, "\ud800"):
        with pytest.raises(TypeError, match="positive must be a label, that is a str, an int or a bool, got"):
            gf.Sketch().update_table(frame, **words, positive=wrong)
    with pytest.raises(ValueError, match="positive='yes' names a label, and no column of labels is named"):
        gf.Sketch().update_table(frame, **(words | {"label": None}), positive="yes")
    with pytest.raises(ValueError, match="labels has NaN at row 1"):
        gf.Sketch().update_table(frame, **words, positive=1)
