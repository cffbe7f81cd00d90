"""Tables in files of every format, counted and refused by the command line."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pytest

import gstar_fast as gf
from gstar_fast.__main__ import main

pa = pytest.importorskip("pyarrow")
import pyarrow.csv as pa_csv  # noqa: E402
import pyarrow.feather as feather  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

COLUMNS = ["--score", "p", "--label", "y", "--group", "g"]
ROWS = 3_000


def pressed(data, codec):
    """Bytes as the programs zstd and lz4 write them."""
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, codec) as file:
        file.write(data)
    return out.getvalue().to_pybytes()


def write(table, name):
    """A table in the format of the name."""
    path = Path(name)
    if name.endswith((".csv", ".tsv")):
        sign = "\t" if name.endswith(".tsv") else ","
        pa_csv.write_csv(table, name, pa_csv.WriteOptions(delimiter=sign))
    elif name.endswith(".csv.gz"):
        write(table, "plain.csv")
        path.write_bytes(gzip.compress(Path("plain.csv").read_bytes()))
    elif name.endswith(".csv.bz2"):
        write(table, "plain.csv")
        path.write_bytes(bz2.compress(Path("plain.csv").read_bytes()))
    elif name.endswith((".csv.zst", ".csv.lz4")):
        write(table, "plain.csv")
        path.write_bytes(pressed(Path("plain.csv").read_bytes(), "zstd" if name.endswith("zst") else "lz4"))
    elif name.endswith((".parquet", ".pq")):
        pq.write_table(table, name, row_group_size=1_000)
    elif name.endswith(".feather"):
        feather.write_feather(table, name, chunksize=700)
    elif name.endswith(".arrows"):
        with pa.ipc.new_stream(name, table.schema) as writer:
            writer.write_table(table, max_chunksize=700)
    else:
        with pa.ipc.new_file(name, table.schema) as writer:
            writer.write_table(table, max_chunksize=700)


def typed(columns, name="t.parquet"):
    pq.write_table(pa.table(columns), name)
    return name


def count(*inputs, columns=COLUMNS, out="s.gstar", code=0):
    assert main(["sketch", *inputs, "-o", out, *columns, "-q"]) == code
    return gf.Sketch.load(out) if code == 0 else None


def said(capsys, *words):
    capsys.readouterr()
    assert main([*words]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) <= 2
    return printed.err
