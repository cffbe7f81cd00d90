"""`apply` decides every row as the decider does, in any format, keeps the other columns, and writes all or nothing."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.applied import THRESHOLDS, apply, read, said
from helpers.table_files import pressed

import gstar_fast as gf
from gstar_fast._cli.commands.apply import Deciding
from gstar_fast._cli.tables import inputs

pa = pytest.importorskip("pyarrow")
import pyarrow.csv as pa_csv  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from gstar_fast._cli.tables import arrow  # noqa: E402

pytestmark = pytest.mark.usefixtures("saved_thresholds")

ROWS = 1_000
FORMATS = ["csv", "tsv", "csv.gz", "csv.bz2", "csv.zst", "csv.lz4", "parquet", "arrow"]


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(3)
    return pa.table(
        {
            "id": [f"{i:04}" for i in range(ROWS)],
            "p": random.normal(size=ROWS).round(2),
            "g": np.array(["a", "b"])[random.integers(0, 2, ROWS)],
            "text": np.array(["plain", "a, b", 'with "quotes"', "two\nlines", ""])[random.integers(0, 5, ROWS)],
        }
    )


@pytest.fixture(scope="module")
def expected(table):
    return gf.Decider(THRESHOLDS)(table["p"], table["g"]).astype(int).tolist()


def write(table, name):
    if ".csv" in name or ".tsv" in name:
        import bz2
        import gzip

        out = io.BytesIO()
        pa_csv.write_csv(table, out, pa_csv.WriteOptions(delimiter="\t" if ".tsv" in name else ","))
        press = {
            "gz": gzip.compress,
            "bz2": bz2.compress,
            "zst": lambda data: pressed(data, "zstd"),
            "lz4": lambda data: pressed(data, "lz4"),
        }.get(name.rsplit(".", 1)[1], bytes)
        Path(name).write_bytes(press(out.getvalue()))
    elif name.endswith("parquet"):
        pq.write_table(table, name, row_group_size=400)
    else:
        with pa.ipc.new_file(name, table.schema) as writer:
            writer.write_table(table, max_chunksize=350)


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", FORMATS)
def test_any_format_to_any_other(here, table, expected, source, target):
    write(table, f"in.{source}")
    apply(f"in.{source}", out=f"out.{target}")
    found = read(f"out.{target}")
    assert list(found) == [*table.column_names, "decision"]
    assert [int(x) for x in found["decision"]] == expected
    assert [float(x) for x in found["p"]] == table["p"].to_pylist()
    for name in ("g", "text"):
        assert found[name] == table[name].to_pylist()
    if source == "csv" and target in ("parquet", "arrow"):  # where pyarrow finds out the types
        assert [int(x) for x in found["id"]] == list(range(ROWS))
    elif "csv" not in source and "tsv" not in source:
        assert found["id"] == table["id"].to_pylist()


@pytest.mark.parametrize("pair", ["csv tsv", "csv.gz csv.bz2"])
def test_csv_needs_no_pyarrow(here, table, expected, pair, monkeypatch):
    source, target = pair.split()
    write(table, f"in.{source}")
    monkeypatch.setattr(inputs, "has_pyarrow", lambda: False)
    apply(f"in.{source}", out=f"out.{target}")
    found = read(f"out.{target}")
    assert [int(x) for x in found["decision"]] == expected
    assert found["text"] == table["text"].to_pylist()


def test_csv_to_csv_keeps_every_character(here):
    rows = ['007,0.250,a,"a, b"', "1e3,-0.50,b,0x1F", "  x ,+.5,a,2020-01-02T03:04Z", 'TRUE,-.5000000001,b,"q""q"']
    Path("in.csv").write_text("id,p,g,other\n" + "\n".join(rows) + "\n")
    apply("in.csv", out="out.csv")
    assert Path("out.csv").read_text() == "id,p,g,other,decision\n" + "".join(
        f"{row},{decision}\n" for row, decision in zip(rows, (1, 1, 1, 0), strict=True)
    )


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("last", [True, False])
def test_csv_to_csv_keeps_every_value_whatever_its_quotes_and_line_ends(here, end, mark, last):
    rows = ['"1","0.50","a","a ""q"" ; b"', '2,-1,b,"two\nlines"', '3,0.1,a,5" pipe', '"4",9,"b",""']
    Path("in.csv").write_bytes((mark + end.join(['"id","p","g","n ""ö"""', *rows]) + end * last).encode())
    apply("in.csv", out="out.csv")
    values = {"id": list("1234"), "p": ["0.50", "-1", "0.1", "9"], "g": list("abab")}
    assert read("out.csv") == {
        **values,
        'n "ö"': ['a "q" ; b', "two\nlines", '5" pipe', ""],
        "decision": list("1001"),
    }
    apply("out.csv", out="again.csv", extra=["--replace"])
    assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()


def test_a_decision_is_replaced_between_quoted_values(here):
    Path("in.csv").write_bytes('\ufeff"decision","p","g","x,y"\r\n"7,8","1","a","1,2"\r\n,-1,"a",""\r\n'.encode())
    apply("in.csv", out="out.csv", extra=["--replace"])
    assert Path("out.csv").read_text() == 'p,g,"x,y",decision\n1,a,"1,2",1\n-1,a,,0\n'


def test_tables_whose_columns_stand_in_another_order_are_brought_into_one(here):
    Path("1.csv").write_bytes(b'"p",g\r\n1,"a"')
    Path("2.csv").write_bytes(b'p,g\n"2",b')
    Path("3.csv").write_bytes(b'g,p\n"a",3\n')
    apply("1.csv", "2.csv", "3.csv", out="out.csv")
    assert Path("out.csv").read_text() == "p,g,decision\n1,a,1\n2,b,1\n3,a,1\n"


def test_a_column_that_changes_its_kind_is_kept_by_csv_only(here, capsys, monkeypatch):
    monkeypatch.setattr(arrow, "CSV_BLOCK", 64)
    Path("in.csv").write_text("p,g,n\n" + "1,a,7\n" * 50 + "1,a,x\n")
    error = said(capsys, 1, "in.csv", "--thresholds", "t.json", "-o", "out.parquet")
    assert "in.csv: column 'n' began as int64, and later has 'x'; write CSV, which keeps it as it is" in error
    apply("in.csv", out="out.csv")
    assert read("out.csv")["n"] == ["7"] * 50 + ["x"]


def test_numbers_are_written_in_full_and_no_longer(here):
    """What is read back is what was there, and 0.1 stays 0.1 also where it has 32 bits."""
    wide = np.array([0.1, 1 / 3, 1e-300, 5e22])
    narrow = np.array([0.1, 1 / 3, 1e-30, 5e22], np.float32)
    arrays = {"p": wide, "g": ["a"] * 4, "narrow": narrow, "whole": np.arange(4), "sure": np.array([True, False] * 2)}
    pq.write_table(pa.table(arrays), "in.parquet")
    apply("in.parquet", out="out.csv")
    found = read("out.csv")
    assert [float(x) for x in found["p"]] == wide.tolist()
    assert np.array_equal(np.array(found["narrow"], np.float32), narrow)
    assert found["narrow"][0] == found["p"][0] == "0.1"
    assert found["whole"] == ["0", "1", "2", "3"]
    assert [word.lower() for word in found["sure"]] == ["true", "false"] * 2


def test_types_of_a_typed_table_are_kept(here):
    table = pa.table(
        {
            "p": pa.array([0.5, 0.1], pa.float32()),
            "g": pa.array(["a", "b"]).dictionary_encode(),
            "when": pa.array([1, 2], pa.timestamp("ms")),
            "list": [[1], [2, 3]],
        }
    )
    pq.write_table(table, "in.parquet")
    apply("in.parquet", out="out.parquet")
    out = pq.read_table("out.parquet")
    assert out.schema.field("decision").type == pa.uint8()
    assert out.drop_columns("decision").equals(table)


def test_several_tables_become_one(here, table, expected):
    write(table.slice(0, 500), "a.parquet")
    write(table.slice(500).select(["text", "p", "g", "id"]), "b.arrow")
    apply("a.parquet", "b.arrow", out="out.parquet")
    assert read("out.parquet")["decision"] == expected
    assert read("out.parquet")["id"] == table["id"].to_pylist()


def test_tables_that_do_not_fit_together_are_refused(here, table, capsys):
    write(table, "a.parquet")
    write(table.drop_columns("id"), "b.parquet")
    error = said(capsys, 1, "a.parquet", "b.parquet", "--thresholds", "t.json", "-o", "out.parquet")
    assert "b.parquet: its columns are not those of the first table: it lacks id" in error
    write(table.set_column(0, "id", pa.array([None] * ROWS, pa.list_(pa.int8()))), "b.parquet")
    error = said(capsys, 1, "a.parquet", "b.parquet", "--thresholds", "t.json", "-o", "out.parquet")
    assert "column 'id' is list" in error
    assert not Path("out.parquet").exists()


@pytest.mark.parametrize("target", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("source", ["csv", "parquet"])
def test_a_table_without_rows_keeps_its_columns(here, table, source, target):
    write(table.slice(0, 0), f"in.{source}")
    apply(f"in.{source}", out=f"out.{target}")
    if target == "csv":
        assert Path("out.csv").read_text().replace('"', "") == "id,p,g,text,decision\n"
    else:
        assert read(f"out.{target}") == {"id": [], "p": [], "g": [], "text": [], "decision": []}


def test_standard_output_is_csv_or_what_is_asked_for(here, table, expected, capfdbinary):
    write(table, "in.parquet")
    apply("in.parquet", out="-")
    assert [
        int(x)
        for x in pa_csv.read_csv(
            io.BytesIO(capfdbinary.readouterr().out), parse_options=pa_csv.ParseOptions(newlines_in_values=True)
        )["decision"].to_pylist()
    ] == expected
    apply("in.parquet", out="-", extra=["--to", "parquet"])
    assert pq.read_table(io.BytesIO(capfdbinary.readouterr().out))["decision"].to_pylist() == expected


def shell(script):
    return subprocess.run(
        ["bash", "-c", script.replace("gstar-fast", f"{sys.executable} -m gstar_fast")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(gf.__file__).parent.parent)},
        check=True,
    )


def test_a_reader_that_closes_the_pipe_ends_with_141(here, table):
    write(pa.concat_tables([table] * 200), "in.parquet")
    run = shell("gstar-fast apply in.parquet --thresholds t.json -o - | head -n 1; echo ${PIPESTATUS[0]}")
    assert run.stdout.splitlines() == ["id,p,g,text,decision", "141"]
    assert run.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("target", ["parquet", "arrow"])
def test_a_pipe_takes_every_format(here, table, expected, target):
    write(table, "in.csv")
    shell(f"cat in.csv | gstar-fast apply - --thresholds t.json -o - --to {target} | cat > out.{target}")
    assert read(f"out.{target}")["decision"] == expected


def test_where_files_must_have_a_name_it_is_all_or_nothing_too(here, table, expected, monkeypatch, capsys):
    """Not every file system has files without a name; what replaces them is removed on every error."""
    monkeypatch.setattr("gstar_fast._base.files._open_unnamed", lambda _: None)
    write(table, "in.csv")
    Path("out.parquet").write_text("old")
    apply("in.csv", out="out.parquet")
    assert read("out.parquet")["decision"] == expected
    Path("in.csv").write_text("p,g\nhigh,a\n")
    before = Path("out.parquet").read_bytes()
    assert "found 'high'" in said(capsys, 1, "in.csv", "--thresholds", "t.json", "-o", "out.parquet")
    assert Path("out.parquet").read_bytes() == before
    assert {path.name for path in Path().iterdir()} == {"in.csv", "t.json", "out.parquet"}


def test_interrupted_it_writes_nothing(here, signals, table, monkeypatch, capsys):
    write(table, "in.parquet")
    Path("out.parquet").write_text("old")
    decide = Deciding.decide

    def stopping(self, *block):
        os.kill(os.getpid(), signal.SIGINT)
        return decide(self, *block)

    monkeypatch.setattr(Deciding, "decide", stopping)
    assert "stopped; nothing was written" in said(
        capsys, 130, "in.parquet", "--thresholds", "t.json", "-o", "out.parquet"
    )
    assert Path("out.parquet").read_text() == "old"
    assert {path.name for path in Path().iterdir()} == {"in.parquet", "t.json", "out.parquet"}


@pytest.mark.every_backend
def test_every_backend_decides_alike(backend, here, table, expected):
    write(table, "in.arrow")
    apply("in.arrow", out="out.csv")
    assert [int(x) for x in read("out.csv")["decision"]] == expected
