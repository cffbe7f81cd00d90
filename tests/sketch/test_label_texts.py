"""A positive label that no row has: an error where all rows are seen, else a warning with the labels found."""

from __future__ import annotations

import pickle
import sqlite3
import warnings
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from helpers.notes import texts
from helpers.plain_sketch import varint
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._engines.adapter import job_of

COLUMNS = {"score": "p", "label": "y", "group": "g"}
LABELS = 4


def table(labels, groups=None):
    n = len(labels)
    return pa.table({"p": np.linspace(0, 1, n), "y": labels, "g": groups or (["a", "b"] * n)[:n]})


def counted(labels, positive, **options):
    return gf.Sketch(**options).update_table(table(labels), **COLUMNS, positive=positive)


def section(sketch):
    return next((content for kind, _, content in sketch._core.sections if kind == LABELS), None)


def test_solve_audit_and_report_warn_with_the_labels(backend):
    sketch = counted(["yes", "no"] * 4, "Yes")
    assert sketch.label_texts == ("no", "yes")
    words = r"no row has the positive label 'Yes' \(labels found: 'no', 'yes'\); count the rows again with positive=..."
    with pytest.warns(gf.errors.LabelWarning, match=words):
        result = gf.solve(sketch)
    with pytest.warns(gf.errors.LabelWarning, match=words):
        audit = gf.audit(result, sketch)
    assert any(note.startswith("no row has the positive label 'Yes'") for note in texts(audit))
    with pytest.warns(gf.errors.LabelWarning, match=words) as caught:
        page = gf.report(result, sketch)
    assert len([one for one in caught if one.category is gf.errors.LabelWarning]) == 1
    assert "no row has the positive label" in page.html
    assert {one.filename for one in caught} == {__file__}


def test_frontier_certify_and_rows_needed_warn_once_too(backend):
    labels, groups = ["yes", "no"] * 4, ["a", "b"] * 4
    more = {"score": "p", "label": "y", "group": ["g", "h"], "positive": "Yes"}
    sketch = gf.Sketch().update_table(table(labels, groups).append_column("h", pa.array(groups)), **more)
    limits = {"demographic_parity": 0.5}
    for ask in (
        lambda: gf.frontier(sketch, "demographic_parity"),
        lambda: gf.frontier(sketch, "demographic_parity", fair_between="g", decide_by="g"),
        lambda: gf.frontier(sketch, "demographic_parity", fair_between="g", decide_by="h"),
        lambda: gf.rows_needed(sketch, limits=limits),
        lambda: gf.certify(0.5, sketch, limits=limits),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answer = ask()
        [warning] = [one for one in caught if one.category is gf.errors.LabelWarning]
        assert str(warning.message).startswith("no row has the positive label 'Yes' (labels found: 'no', 'yes')")
        assert warning.filename == __file__
    assert texts(answer)[0] == str(warning.message)


def test_they_warn_where_every_row_is_positive(backend):
    sketch = counted(["yes", None, "yes", "yes"], "yes")
    words = r"every labelled row has the positive label 'yes' \(labels found: 'yes'\); count rows with other labels"
    with pytest.warns(gf.errors.LabelWarning, match=words):
        gf.solve(sketch)


@pytest.mark.filterwarnings("error")
def test_rows_of_both_labels_give_no_warning_and_keep_no_texts(backend):
    both = counted(["yes", "no"] * 20, "yes")
    assert both.label_texts == ()
    gf.audit(gf.solve(both), both)
    pieces = counted(["yes"] * 20, "yes") + counted(["no"] * 20, "yes")
    assert pieces.label_texts == ()
    assert LABELS not in [kind for kind, _, _ in gf.Sketch.from_bytes(pieces.to_bytes())._core.sections]
    gf.audit(0.5, pieces)
    unlabelled = counted([None, None], "yes")
    assert (unlabelled.label_texts, section(unlabelled)) == ((), None)


def test_rows_and_columns_tell_the_bytes_whatever_the_pieces_were(backend):
    labels = ["yes", "no", "no", "yes"] * 3
    rows = table(labels)
    whole = gf.Sketch().update_table(rows, **COLUMNS, positive="yes")
    one_by_one = [gf.Sketch().update_table(rows.slice(i, 1), **COLUMNS, positive="yes") for i in range(len(rows))]
    assert sum(one_by_one).to_bytes() == whole.to_bytes() == gf.merge_all(one_by_one).to_bytes()
    none = gf.Sketch().update_table(rows, **COLUMNS, positive="x")
    one_by_one = [gf.Sketch().update_table(rows.slice(i, 1), **COLUMNS, positive="x") for i in range(len(rows))]
    assert sum(one_by_one).to_bytes() == none.to_bytes() == gf.merge_all(o.to_bytes() for o in one_by_one).to_bytes()


def test_texts_are_metadata_outside_equality_and_digest(backend):
    found, other = counted(["no"] * 4, "yes"), counted(["nein"] * 4, "yes")
    assert found == other
    assert found.digest() == other.digest()
    assert found._core.row_bytes() == other._core.row_bytes()
    assert found.to_bytes() != other.to_bytes()
    for again in (gf.Sketch.from_bytes(found.to_bytes()), pickle.loads(pickle.dumps(found)), found.copy()):
        assert again.label_texts == ("no",)
        assert again.to_bytes() == found.to_bytes()


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.RepeatedRowsWarning")  # parts may have as many rows of one score
@given(
    found=st.lists(st.lists(st.sampled_from("abcdefghijkäß"), min_size=1, max_size=12), min_size=3, max_size=3),
)
def test_merging_takes_the_first_eight_of_all_in_any_order_and_tree(backend, found):
    parts = [counted(labels, "yes", bins=16) for labels in found]
    every = sorted({label for labels in found for label in labels})
    merged = [(parts[i] + parts[j]) + parts[k] for i, j, k in permutations(range(3))]
    merged += [parts[i] + (parts[j] + parts[k]) for i, j, k in permutations(range(3))]
    merged += [gf.merge_all(part.to_bytes() for part in parts)]
    assert len({one.to_bytes() for one in merged}) == 1
    assert merged[0].label_texts == tuple(every[:8])
    expected = bytes([len(every) > 8, min(len(every), 8)])
    expected += b"".join(varint(len(t.encode())) + t.encode() for t in every[:8])
    assert section(merged[0]) == expected
    with gf.use_backend("numpy"):
        assert sum(counted(labels, "yes", bins=16) for labels in found).to_bytes() == merged[0].to_bytes()


def test_more_labels_than_eight_are_said_to_be_more(backend):
    sketch = counted([f"label {i}" for i in range(12)], "yes") + counted(["a"], "yes")
    with pytest.warns(
        gf.errors.LabelWarning,
        match=r"labels found: 'a', 'label 0', 'label 1', 'label 10', .*'label 4', \.\.\.\); count",
    ):
        gf.audit(0.5, sketch)


KINDS = {
    "text": (["no", None, "yes"], "Yes", ("no", "yes")),
    "dictionary": (pa.array(["no", None, "yes"]).dictionary_encode(), "Yes", ("no", "yes")),
    "a dictionary with labels that no row has": (
        pa.DictionaryArray.from_arrays(pa.array([1, 1]), pa.array(["Yes", "no", "maybe"])),
        "Yes",
        ("no",),
    ),
    "whole numbers": ([1, 2, None, 10], 0, ("1", "10", "2")),
    "floats": ([1.0, 2.5], 0, ("1.0", "2.5")),
    "bools": ([False, False], True, ("False",)),
    "long text": (["x" * 100, "y"], "z", ("x" * 60 + "...", "y")),
    "text of many bytes": (["ä" * 63, "人" * 100], "z", ("ä" * 60 + "...", "人" * 60 + "...")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_label_has_a_text(backend, kind):
    labels, positive, texts = KINDS[kind]
    sketch = counted(labels, positive)
    assert sketch.label_texts == texts
    assert gf.Sketch.from_bytes(sketch.to_bytes()).to_bytes() == sketch.to_bytes()


def test_a_window_counts_tables_and_warns_for_the_panes_that_are_left(backend):
    window = gf.Window(panes=2)
    window.update_table(table(["no", "yes"] * 4), **COLUMNS, positive="Yes").advance()
    window.update_table(table(["maybe"] * 4), **COLUMNS, positive="Yes")
    again = gf.Window.from_bytes(window.to_bytes())
    assert window.sketch.label_texts == again.sketch.label_texts == ("maybe", "no", "yes")
    with pytest.warns(gf.errors.LabelWarning, match="labels found: 'maybe', 'no', 'yes'"):
        gf.solve(again.sketch)
    assert window.advance().sketch.label_texts == ("maybe",)
    one = gf.Sketch().update_table(table(["maybe"] * 4), **COLUMNS, positive="Yes")
    assert window.sketch.to_bytes() == one.to_bytes()


def test_a_section_of_labels_beside_rows_of_both_labels_is_not_a_sketch(backend):
    sketch = counted(["no"] * 4, "yes").update([0.5], [1], ["a"])
    data = sketch.to_bytes()
    assert sketch.label_texts == ()
    assert gf.Sketch.from_bytes(data).to_bytes() == data
    forged = _with_section(data, sketch._core.sections)
    with pytest.raises(ValueError, match="a section is impossible"):
        gf.Sketch.from_bytes(forged)
    other = gf.Sketch().update([0.5], [1], ["a"])
    with pytest.raises(ValueError, match="a section is impossible"):
        other._core.merge_bytes(forged)
    assert other == gf.Sketch().update([0.5], [1], ["a"])


def _with_section(data, sections):
    """The bytes with all sections of a sketch, whatever its rows are."""
    from gstar_fast._base import sketch_format as io
    from gstar_fast._base.sections import sections_bytes

    content = io.read(data, lambda *_: None)
    written, every = sections_bytes(content.sections), sections_bytes(sections)
    front = data[: -4 - len(written)]
    body = front[io.HEADER.size :] + every
    return io.ENVELOPE.seal((int.from_bytes(data[10:12], "little"), 0), body)


# --------------------------------------------------------------------------------------------- routes that see all rows


def job(**options):
    return job_of(**{**COLUMNS, **options})


def test_engines_raise_with_the_labels_of_all_partitions(backend):
    one = job(positive="Yes")
    answers = [one.count(table(labels)) for labels in (["no", None], ["yes"] * 3, [None])]
    with pytest.raises(
        ValueError, match=r"no row has the label 'Yes' \(positive\); found 'no', 'yes'; pass the one"
    ) as e:
        one.finish([one.merge(answers[:2]), answers[2]])
    assert (e.value.code, e.value.argument, e.value.value) == ("positive_absent", "positive", "Yes")
    assert isinstance(e.value, gf.errors.InputError)
    assert one.finish(answers, whole=False).label_texts == ("no", "yes")
    assert one.finish([]).n_rows == 0
    with pytest.raises(ValueError, match="found no label"):
        one.finish(answers[2:])
    right = job(positive="yes")
    assert right.finish([right.count(table(["no"])), right.count(table(["yes"]))]).positive == "yes"


@pytest.mark.parametrize("options", [{}, {"range": (0, 1)}])
def test_sql_raises_with_the_labels(backend, options):
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (p REAL, y TEXT, g TEXT)")
    database.executemany("INSERT INTO t VALUES (?, ?, ?)", [(0.25, "no", "a"), (0.5, "yes", "b"), (0.75, None, "b")])

    def count(positive, source="t"):
        return gf.sql.sketch(database.execute, source, **COLUMNS, dialect="sqlite", positive=positive, **options)

    with pytest.raises(ValueError, match=r"no row has the label 'Yes' \(positive\); found 'no', 'yes'; pass the one"):
        count("Yes")
    assert count("yes").n_rows == 3
    only = gf.sql.Query("SELECT * FROM t WHERE y = 'yes'")
    assert count("yes", only).label_texts == ("yes",)
    assert count("yes", gf.sql.Query("SELECT * FROM t WHERE p > 9")).n_rows == 0
    database.executemany("INSERT INTO t VALUES (0.5, ?, 'a')", [(f"x{i}",) for i in range(20)])
    with pytest.raises(ValueError, match=r"found 'no', 'x0', .*'x14', \.\.\.; pass the one"):
        count("Yes")
    database.close()
