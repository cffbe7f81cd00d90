"""`apply` writes several tables as one without loss: types are widened for all values, or the tables are refused."""

from __future__ import annotations

import io
import itertools
from decimal import Decimal
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from helpers.applied import apply
from hypothesis import given

import gstar_fast as gf

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

from gstar_fast._cli.errors import CliError  # noqa: E402
from gstar_fast._cli.tables import arrow  # noqa: E402
from gstar_fast._cli.tables.write import CommonTypes  # noqa: E402

ODD = 2**53 + 1  # the first whole number that float64 cannot hold


@pytest.fixture
def here(here, monkeypatch):
    monkeypatch.setattr(arrow, "BLOCK_ROWS", 2)
    gf.Decider({"a": 0.5}, score_column="p", group_column="g").save("t.json")
    return here


def save(name, column, **more):
    """A table with that column, in the format of the name."""
    n = len(column)
    arrays = {"p": pa.array([1.0] * n), "g": pa.array(["a"] * n), "x": column, **more}
    if name.endswith("parquet"):
        pq.write_table(pa.table(arrays), name)
    else:
        table = pa.table(arrays)
        with pa.ipc.new_file(name, table.schema) as writer:
            writer.write_table(table)


def column_of(name):
    if name.endswith("parquet"):
        return pq.read_table(name)["x"]
    with pa.ipc.open_file(name) as reader:
        return reader.read_all()["x"]


def refused(capsys, *inputs, out="out.parquet"):
    capsys.readouterr()
    Path(out).write_text("old")
    apply(*inputs, out=out, code=1)
    assert Path(out).read_text() == "old"
    return capsys.readouterr().err


NARROW, WIDE = pa.array([0.1, 1.5, 2.0], pa.float32()), pa.array([16777217.0, 1e300, 0.1])


@pytest.mark.parametrize("target", ["parquet", "arrow"])
@pytest.mark.parametrize("source", ["parquet", "arrow"])
@pytest.mark.parametrize("turned", [False, True])
def test_float64_survives_next_to_float32(here, source, target, turned):
    """Whichever comes first: 16777217 stayed 16777216 and 1e300 became inf where it was the float32."""
    Path("in").mkdir()
    parts = [NARROW, WIDE][:: -1 if turned else 1]
    for i, part in enumerate(parts):
        save(f"in/{i}.{source}", part)
    apply("in", out=f"out.{target}")
    found = column_of(f"out.{target}")
    assert found.type == pa.float64()
    assert found.to_pylist() == [value for part in parts for value in part.cast(pa.float64()).to_pylist()]


WIDENED = [
    (pa.array([1], pa.int8()), pa.array([2**40]), pa.int64()),
    (pa.array([1], pa.int32()), pa.array([2**32 - 1], pa.uint32()), pa.int64()),
    (pa.array([-1]), pa.array([2**63 - 1], pa.uint64()), pa.int64()),
    (pa.array([2**53]), pa.array([0.5]), pa.float64()),
    (pa.array([2**31 - 1], pa.int32()), pa.array([0.5], pa.float32()), pa.float64()),
    (pa.array([np.float16(0.5)], pa.float16()), pa.array([0.1], pa.float32()), pa.float32()),
    (pa.array([Decimal("1.25")]), pa.array([Decimal("12345.6789")]), pa.decimal128(9, 4)),
    (pa.array([1], pa.timestamp("s")), pa.array([1], pa.timestamp("ns")), pa.timestamp("ns")),
    (pa.array([1], pa.date32()), pa.array([86_400_000], pa.date64()), pa.date64()),
    (pa.array([1], pa.duration("s")), pa.array([1], pa.duration("us")), pa.duration("us")),
    (pa.array(["x"]).dictionary_encode(), pa.array(["y"]), pa.string()),
    (pa.array(["x"], pa.large_string()), pa.array(["y"]).dictionary_encode(), pa.large_string()),
    (pa.array([None]), pa.array([True]), pa.bool_()),
    (pa.array([None]), pa.array([[1, 2]]), pa.list_(pa.int64())),
]


@pytest.mark.parametrize("target", ["parquet", "arrow"])
@pytest.mark.parametrize(("one", "two", "kind"), WIDENED, ids=[f"{a.type} {b.type}" for a, b, _ in WIDENED])
def test_columns_become_the_narrowest_type_that_holds_both(here, one, two, kind, target):
    save("1.parquet", one)
    save("2.arrow", two)
    for names in itertools.permutations(["1.parquet", "2.arrow"]):
        apply(*names, out=f"out.{target}")
        found = column_of(f"out.{target}")
        if (kind, target) != (pa.date64(), "parquet"):  # which has no such type
            assert found.type == kind
        expected = [value for name in names for value in (one if name == "1.parquet" else two).to_pylist()]
        assert found.to_pylist() == expected


REFUSED = [
    (pa.array([ODD]), pa.array([0.5])),
    (pa.array([-ODD]), pa.array([0.5], pa.float32())),
    (pa.array([2**63], pa.uint64()), pa.array([-1])),
    (pa.array([10**11], pa.timestamp("s")), pa.array([1], pa.timestamp("ns"))),
    (pa.array([Decimal("0.1")]), pa.array([0.1])),
    (pa.array([Decimal("0.1")]), pa.array([1])),
    (pa.array([[1]], pa.list_(pa.int32())), pa.array([[1]])),
    (pa.array([[Decimal("0.1")]]), pa.array([[0.1]])),
    (pa.array(["7"]), pa.array([7])),
    (pa.array(["7"]), pa.array([b"7"])),
    (pa.array(["true"]), pa.array([True])),
    (pa.array([1]), pa.array([True])),
    (pa.array([1], pa.date32()), pa.array([1], pa.timestamp("s"))),
    (pa.array([1], pa.timestamp("s")), pa.array([1], pa.timestamp("s", "UTC"))),
    (pa.array([[1]]), pa.array([1])),
]


@pytest.mark.parametrize("target", ["parquet", "arrow"])
@pytest.mark.parametrize(("one", "two"), REFUSED, ids=[f"{a.type} {b.type}" for a, b in REFUSED])
def test_what_cannot_be_widened_is_refused_whatever_comes_first(here, capsys, one, two, target):
    save("1.parquet", one)
    save("2.arrow", two)
    for names in itertools.permutations(["1.parquet", "2.arrow"]):
        error = refused(capsys, *names, out=f"out.{target}")
        assert "column 'x' is " in error
        assert all(name in error for name in names)
        assert "give the column one type where the tables are made, or write CSV" in error
    if not pa.types.is_nested(one.type):
        apply("1.parquet", "2.arrow", out="out.csv")  # as the message says


KINDS = {
    pa.int8(): st.integers(-128, 127),
    pa.uint8(): st.integers(0, 255),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1) | st.sampled_from([2**53, ODD]),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.float64(): st.floats(allow_nan=False),
    pa.decimal128(5, 2): st.integers(-999, 999).map(lambda n: Decimal(n) / 100),
    pa.decimal128(30, 10): st.integers(-(10**29), 10**29).map(lambda n: Decimal(n).scaleb(-10)),
    pa.string(): st.text("ab7", max_size=2),
    pa.bool_(): st.booleans(),
    pa.null(): st.none(),
}


@given(data=st.data())
def test_every_value_comes_through_or_the_tables_are_refused(data):
    """The law, for any tables; and the order of the tables decides neither."""
    kinds = data.draw(st.lists(st.sampled_from(list(KINDS)), min_size=2, max_size=4))
    values = [data.draw(st.lists(KINDS[kind] | st.none(), max_size=3)) for kind in kinds]
    tables = [{"x": pa.array(column, kind)} for column, kind in zip(values, kinds, strict=True)]

    def together(tables):
        common = CommonTypes()
        for i, table in enumerate(tables):
            common.add(f"table {i}", {"x": table["x"].slice(0, 0)})
        return [common.widened(table)["x"] for table in tables]

    try:
        found = together(tables)
    except CliError:
        with pytest.raises(CliError):
            together(tables[::-1])
        return
    assert len({column.type for column in found}) == 1
    assert [column.type for column in together(tables[::-1])] == [column.type for column in found]
    for before, after in zip(values, found, strict=True):
        assert after.to_pylist() == before  # Python compares 1, 1.0 and Decimal(1) exactly
        kinds_of = {type(value) for value in (*before, *after.to_pylist())} - {type(None)}
        assert len(kinds_of) <= 1 or kinds_of <= {int, float, Decimal}


def test_the_columns_of_every_table_are_checked_before_a_row_is_decided(here, capsys):
    save("1.parquet", pa.array(["high"]), p=pa.array([float("nan")]))  # which could not be decided
    save("2.parquet", pa.array([1]), y=pa.array([1]))
    assert "2.parquet: its columns are not those of the first table: it has y besides" in refused(
        capsys, "1.parquet", "2.parquet"
    )
    save("2.parquet", pa.array([1]))
    assert "2.parquet: column 'x' is int64, and 1.parquet has string: no type fits both" in refused(
        capsys, "1.parquet", "2.parquet"
    )


def test_the_score_is_widened_as_the_others_are(here, capsys):
    save("1.parquet", pa.array([1]), p=pa.array([0.25], pa.float32()))
    save("2.parquet", pa.array([1]), p=pa.array([1]))
    apply("1.parquet", "2.parquet", out="out.parquet")
    out = pq.read_table("out.parquet")
    assert (out["p"].to_pylist(), out["decision"].to_pylist()) == ([0.25, 1.0], [0, 1])
    save("2.parquet", pa.array([1]), p=pa.array([ODD]))
    assert f"Integer value {ODD}" in refused(capsys, "1.parquet", "2.parquet")


def test_an_older_decision_column_of_another_type_is_replaced(here):
    save("1.parquet", pa.array([1]), decision=pa.array(["yes"]))
    save("2.parquet", pa.array([1]), decision=pa.array([0.5]))
    apply("1.parquet", "2.parquet", out="out.parquet", extra=["--replace"])
    assert pq.read_table("out.parquet")["decision"].to_pylist() == [1, 1]


# ------------------------------------------------------------------------------------------------------------------ CSV


def test_csv_files_have_the_types_that_all_of_them_show(here, capsys):
    Path("in").mkdir()
    for name, values in {"1": ["7", "8"], "2": ["", ""], "3": ["0.5"], "4": []}.items():
        Path(f"in/{name}.csv").write_text("p,g,x\n" + "".join(f"1,a,{value}\n" for value in values))
    apply("in", out="out.parquet")
    assert column_of("out.parquet").to_pylist() == [7.0, 8.0, None, None, 0.5]
    Path("in/5.csv").write_text(f"p,g,x\n1,a,{ODD}\n")
    error = refused(capsys, "in", out="out.arrow")
    assert (
        "in/5.csv: column 'x' is int64, and in/3.csv has double: a value does not fit in double, their common type"
        in error
    )
    Path("in/5.csv").write_text("x,p,g\nword,1,a\n")
    assert "in/5.csv: column 'x' is string, and in/1.csv has int64: no type fits both" in refused(capsys, "in")
    apply("in", out="out.csv")
    assert Path("out.csv").read_text() == ("p,g,x,decision\n1,a,7,1\n1,a,8,1\n1,a,,1\n1,a,,1\n1,a,0.5,1\n1,a,word,1\n")


def test_typed_tables_of_several_types_are_written_to_csv_in_full(here):
    save("1.parquet", pa.array([0.1], pa.float32()))
    save("2.parquet", pa.array([16777217.0, 1e300]))
    save("3.parquet", pa.array([ODD]))
    save("4.parquet", pa.array(["007"]))
    apply("1.parquet", "2.parquet", "3.parquet", "4.parquet", out="out.csv")
    found = [line.split(",")[2] for line in Path("out.csv").read_text().splitlines()[1:]]
    assert (found[0], float(found[1]), float(found[2]), *found[3:]) == ("0.1", 16777217, 1e300, str(ODD), "007")


@pytest.mark.parametrize("form", ["csv", "arrow", "parquet"])
@pytest.mark.parametrize("first", [True, False])
def test_a_pipe_is_read_once_also_among_other_tables(here, monkeypatch, form, first):
    """Its types are found before its rows are read."""
    if form == "csv":
        Path("in.csv").write_text("p,g,x\n" + "1,a,0.5\n" * 5)
    else:
        save(f"in.{form}", pa.array([0.5] * 5))
    save("other.parquet", pa.array([3]))
    bytes_in = io.BufferedReader(io.BytesIO(Path(f"in.{form}").read_bytes()))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(bytes_in))
    names = ["-", "other.parquet"] if first else ["other.parquet", "-"]
    apply(*names, out="out.parquet")
    assert column_of("out.parquet").to_pylist() == ([0.5] * 5 + [3.0] if first else [3.0] + [0.5] * 5)
