"""`apply` as tests run it, and the tables that it wrote."""

from __future__ import annotations

import io
from pathlib import Path

from gstar_fast.__main__ import main

THRESHOLDS = {"a": 0.25, "b": -0.5}


def unpressed(data):
    """What a file of zstd or lz4 holds."""
    import pyarrow as pa

    codec = "zstd" if data[:1] == b"\x28" else "lz4"
    with pa.CompressedInputStream(pa.BufferReader(data), codec) as file:
        return file.read()


def read(name):
    """Columns as lists; of CSV files all as text."""
    if ".csv" in name or ".tsv" in name:
        import bz2
        import csv
        import gzip

        press = {"gz": gzip.decompress, "bz2": bz2.decompress, "zst": unpressed, "lz4": unpressed}
        text = press.get(name.rsplit(".", 1)[1], bytes)(Path(name).read_bytes()).decode()
        names, *rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if ".tsv" in name else ",")
        return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    if name.endswith("parquet"):
        import pyarrow.parquet as pq

        return pq.read_table(name).to_pydict()
    if name.endswith("arrow"):
        import pyarrow as pa

        with pa.ipc.open_file(name) as reader:
            return reader.read_all().to_pydict()
    raise ValueError(name)


def apply(*inputs, out, extra=(), code=0):
    assert main(["apply", *inputs, "--thresholds", "t.json", "-o", out, "-q", *extra]) == code


def said(capsys, code, *words):
    capsys.readouterr()
    assert main(["apply", *words]) == code
    return capsys.readouterr().err
