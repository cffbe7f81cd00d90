"""Folders named `column=value` give columns: counted as if the files had them, or refused with a reason."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from helpers.applied import read
from helpers.interrupted import interrupt_after
from helpers.table_files import count, pressed, said

import gstar_fast as gf
from gstar_fast.__main__ import main
from gstar_fast._cli.tables import inputs

pa = pytest.importorskip("pyarrow")
import pyarrow.csv as pa_csv  # noqa: E402
import pyarrow.dataset as ds  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

BY_SEX = ["--score", "p", "--label", "y", "--group", "sex"]
BY_BOTH = [*BY_SEX, "--group", "year"]
ROWS = 2_000
NAMES = ["F", "a/b = 100 %", "zoë", "007"]


@pytest.fixture(scope="module")
def table():
    """Scores of groups whose names must be encoded, in two columns."""
    random = np.random.default_rng(5)
    return pa.table(
        {
            "p": random.normal(size=ROWS),
            "y": random.integers(0, 2, ROWS),
            "sex": np.array(NAMES)[random.integers(0, len(NAMES), ROWS)],
            "year": random.integers(2019, 2021, ROWS),
        }
    )


def bytes_of(table, *group):
    """The sketch that one pass over the whole table gives."""
    group = group[0] if len(group) == 1 else list(group)
    return gf.Sketch().update_table(table, score="p", label="y", group=group).to_bytes()


def write_hive(table, folder, ending):
    """The table in folders of both columns, written by hand: pyarrow's own writer is tried besides."""
    for name in NAMES:
        for year in (2019, 2020):
            chosen = table.filter((ds.field("sex") == name) & (ds.field("year") == year)).select(["p", "y"])
            place = Path(folder, f"sex={quote(name, safe='')}", f"year={year}")
            place.mkdir(parents=True)
            if ending == "parquet":
                pq.write_table(chosen, place / "part-0.parquet")
            else:
                pa_csv.write_csv(chosen, place / "part-0.csv")
                if ending == "csv.zst":
                    data = (place / "part-0.csv").read_bytes()
                    (place / "part-0.csv.zst").write_bytes(pressed(data, "zstd"))
                    (place / "part-0.csv").unlink()
    Path(folder, "_SUCCESS").touch()


@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.zst"])
def test_columns_of_folders_count_as_columns_of_files(here, table, ending, arrow):
    if not arrow and ending != "csv":
        pytest.skip("needs pyarrow")
    write_hive(table, "in", ending)
    for columns, group in ((BY_SEX, ["sex"]), (BY_BOTH, ["sex", "year"]), ([*BY_SEX[:-1], "year"], ["year"])):
        assert count("in", columns=columns).to_bytes() == bytes_of(table, *group)


def test_folders_that_pyarrow_wrote(here, table):
    parts = ds.partitioning(pa.schema([("year", pa.int64()), ("sex", pa.string())]), flavor="hive")
    ds.write_dataset(table, "in", format="parquet", partitioning=parts)
    assert count("in", columns=BY_BOTH).to_bytes() == bytes_of(table, "sex", "year")
    assert count("in/year=*/**/*.parquet", columns=BY_BOTH).to_bytes() == bytes_of(table, "sex", "year")


def test_folders_that_duckdb_wrote(here, table):
    duckdb = pytest.importorskip("duckdb")
    Path("in").mkdir()  # duckdb 1.0 makes only the folders in it
    with duckdb.connect() as connection:
        connection.register("people", table)
        connection.execute("COPY (SELECT * FROM people) TO 'in' (FORMAT parquet, PARTITION_BY (sex, year))")
    assert count("in", columns=BY_BOTH).to_bytes() == bytes_of(table, "sex", "year")


def test_folders_that_polars_wrote(here, table):
    polars = pytest.importorskip("polars")
    polars.from_arrow(table).write_parquet("in", partition_by=["year", "sex"])
    assert count("in", columns=BY_BOTH).to_bytes() == bytes_of(table, "sex", "year")


def test_a_folder_of_a_partition_may_be_named_itself(here, table):
    write_hive(table, "in", "parquet")
    assert count("in/sex=F", columns=BY_BOTH).groups == (("F", 2019), ("F", 2020))
    assert count("in/sex=F/year=2019/part-0.parquet", columns=BY_BOTH).groups == (("F", 2019),)


def test_a_column_that_begins_with_an_underscore_is_no_hidden_folder(here):
    Path("in/_sex=F").mkdir(parents=True)
    Path("in/_sex=F/a.csv").write_text("p,y\n1,1\n")
    assert count("in", columns=[*BY_SEX[:-1], "_sex"]).groups == ("F",)


def test_labels_and_weights_may_come_from_folders(here):
    for label, rows in (("0", 2), ("1", 3), ("__HIVE_DEFAULT_PARTITION__", 5), ("", 7)):
        place = Path(f"in/y={label}/w=2.5")
        place.mkdir(parents=True)
        pq.write_table(pa.table({"p": [0.5] * rows, "sex": ["F"] * rows}), place / "a.parquet")
    found = count("in", columns=[*BY_SEX, "--weight", "w"])
    labels = [*[0] * 2, *[1] * 3, *[None] * 12]
    assert found == gf.Sketch.from_rows([0.5] * 17, labels, ["F"] * 17, weights=[2.5] * 17)


def test_values_are_typed_one_by_one_as_in_csv(here):
    """Two partitions that show different types are two groups, as they are in a CSV file."""
    for value in ("7", "007", "7.0", "-8", "x", "True", str(2**63)):
        Path(f"in/g={value}").mkdir(parents=True)
        pq.write_table(pa.table({"p": [0.5], "y": [1]}), f"in/g={value}/a.parquet")
    groups = count("in", columns=[*BY_SEX[:-1], "g"]).groups
    assert set(map(repr, groups)) == {"7", "'007'", "'7.0'", "-8", "'x'", "'True'", f"'{2**63}'"}


def test_a_column_of_the_file_wins(here):
    """Some writers keep the column in the file too, where it has a type."""
    Path("in/g=7").mkdir(parents=True)
    pq.write_table(pa.table({"p": [0.5], "y": [1], "g": ["7"]}), "in/g=7/a.parquet")
    assert count("in", columns=[*BY_SEX[:-1], "g"]).groups == ("7",)


@pytest.mark.parametrize(
    ("folder", "said_"),
    [
        ("sex=%ZZ", "the folder 'sex=%ZZ' has '%ZZ', which encodes no character; a percent sign is written %25"),
        ("sex=5%", "the folder 'sex=5%' has '%', which encodes no character"),
        ("sex=%FF", "the folder 'sex=%FF' is not percent-encoded UTF-8; rename the folder"),
        ("sex=%ED%A0%80", "is not percent-encoded UTF-8; rename the folder"),
        ("sex=__HIVE_DEFAULT_PARTITION__", "column 'sex' is empty in 1 of the 1 rows"),
        ("sex=", "column 'sex' is empty in 1 of the 1 rows"),
        ("sex=F/sex=M", "is in two folders for the column 'sex'; it can have one value only"),
        ("sax=F", "has no column 'sex' (--group sex); did you mean 'sax'?"),
        ("=F", "has no column 'sex' (--group sex)"),
        ("plain", "in/plain/a.parquet has no column 'sex' (--group sex)"),
    ],
)
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_folders_that_give_no_value_are_refused(here, capsys, folder, said_, ending):
    """The other files are right: a folder that mixes both is refused too."""
    for name in (folder, "sex=Z"):
        Path("in", name).mkdir(parents=True)
        table = pa.table({"p": [0.5], "y": [1]})
        if ending == "csv":
            pa_csv.write_csv(table, f"in/{name}/a.csv")
        else:
            pq.write_table(table, f"in/{name}/a.parquet")
    error = said(capsys, "sketch", "in", "-o", "s.gstar", *BY_SEX)
    assert said_.replace(".parquet", f".{ending}") in error
    assert f"in/{folder}/a.{ending}" in error
    assert not Path("s.gstar").exists()


def test_a_folder_that_is_not_asked_for_does_no_harm(here):
    Path("in/rate=5%").mkdir(parents=True)
    Path("in/rate=5%/a.csv").write_text("p,y,sex\n1,1,F\n")
    assert count("in", columns=BY_SEX).n_rows == 1


@pytest.mark.parametrize("files", ["parquet"], indirect=True)  # for its small blocks
def test_an_interrupted_count_of_partitions_goes_on_to_the_bytes_of_one_pass(files, monkeypatch, table):
    write_hive(table, "in", "parquet")
    words = ["sketch", "in", "-o", "h.gstar", *BY_BOTH, "--resume", "-q"]
    for _ in range(40):
        with monkeypatch.context() as patch:
            interrupt_after(patch, 3)
            if main(words) == 0:
                break
    assert Path("h.gstar").read_bytes() == bytes_of(table, "sex", "year")


@pytest.mark.parametrize("files", ["parquet"], indirect=True)
def test_a_count_does_not_go_on_where_a_file_means_another_group(files, monkeypatch, table, capsys):
    write_hive(table, "in", "parquet")
    with monkeypatch.context() as patch:
        interrupt_after(patch, 3)
        assert main(["sketch", "in/sex=F", "in/sex=007", "-o", "h.gstar", *BY_SEX]) == 130
    Path("other").mkdir()
    for name in ("sex=F", "sex=007"):
        Path("other", name.replace("sex=F", "sex=M")).symlink_to(Path("in", name).resolve())
    words = ["sketch", "other/sex=M", "other/sex=007", "-o", "h.gstar", *BY_SEX, "--resume"]
    assert "was in the folders sex=F/year=2019 when its rows were counted" in said(capsys, *words)


@pytest.mark.parametrize("target", ["out.csv", "out.parquet"])
def test_apply_to_one_table_keeps_the_columns_of_folders(here, table, target, arrow):
    write_hive(table, "in", "csv")
    if not arrow and target == "out.parquet":
        pytest.skip("needs pyarrow")
    gf.Decider(dict.fromkeys(NAMES, 0.25), score_column="p", group_column="sex").save("t.json")
    assert main(["apply", "in", "--thresholds", "t.json", "-o", target, "-q"]) == 0
    found = read(target)
    assert list(found) == ["p", "y", "sex", "year", "decision"]
    rows = zip(*(found[c] for c in ("p", "sex", "year", "decision")), strict=True)
    columns = (table[c].to_pylist() for c in ("p", "sex", "year"))
    wanted = [(p, sex, year, int(p >= 0.25)) for p, sex, year in zip(*columns, strict=True)]
    assert sorted((float(p), sex, int(year), int(decision)) for p, sex, year, decision in rows) == sorted(wanted)
    if target == "out.parquet":
        assert str(pq.read_schema(target).field("year").type) == "int64"


def test_apply_matches_folders_with_the_groups_of_the_thresholds(here):
    """As text of a CSV file is: the thresholds know whether 7 is a number and True a truth value."""
    for value in ("7", "True"):
        Path(f"in/g={value}").mkdir(parents=True)
        pq.write_table(pa.table({"p": [0.5]}), f"in/g={value}/a.parquet")
    for groups in ((7, True), ("7", "True")):
        gf.Decider(dict.fromkeys(groups, 0.25), score_column="p", group_column="g").save("t.json")
        assert main(["apply", "in", "--thresholds", "t.json", "-o", "out.csv", "-q"]) == 0
        assert Path("out.csv").read_text() == "p,g,decision\n0.5,7,1\n0.5,True,1\n"


def test_types_of_partitions_that_no_type_holds_are_refused(here, capsys):
    for value in ("7", "x"):
        Path(f"in/sex=F/h={value}").mkdir(parents=True)
        pq.write_table(pa.table({"p": [0.5]}), f"in/sex=F/h={value}/a.parquet")
    gf.Decider({"F": 0.25}, score_column="p", group_column="sex").save("t.json")
    words = ["apply", "in", "--thresholds", "t.json", "-o"]
    assert "column 'h' is string, and in/sex=F/h=7/a.parquet has int64: no type fits both" in said(
        capsys, *words, "out.parquet"
    )
    assert not Path("out.parquet").exists()
    assert main([*words, "out.csv", "-q"]) == 0
    assert Path("out.csv").read_text() == "p,sex,h,decision\n0.5,F,7,1\n0.5,F,x,1\n"


def test_zstd_and_lz4_need_pyarrow(here, capsys, monkeypatch):
    Path("t.csv.zst").write_bytes(pressed(b"p,y,sex\n1,1,F\n", "zstd"))
    monkeypatch.setattr(inputs, "has_pyarrow", lambda: False)
    error = said(capsys, "sketch", "t.csv.zst", "-o", "s.gstar", *BY_SEX)
    assert "t.csv.zst: reading zstd needs pyarrow, which is not installed; run: pip install 'gstar-fast[cli]'" in error
    Path("t.csv").write_text("p,sex\n1,F\n")
    gf.Decider({"F": 0.25}, score_column="p", group_column="sex").save("t.json")
    error = said(capsys, "apply", "t.csv", "--thresholds", "t.json", "-o", "out.csv.lz4")
    assert "writing lz4 needs pyarrow" in error
    assert not Path("out.csv.lz4").exists()


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_compressed_files_that_are_damaged_are_refused(here, capsys, codec):
    """Cut anywhere, followed by something else, or not what the name says; several frames are one file."""
    name = {"zstd": "t.csv.zst", "lz4": "t.csv.lz4"}[codec]
    lines = "".join(f"{i / 999},{i % 2},F\n" for i in range(999)).encode()
    whole = pressed(b"p,y,sex\n" + lines, codec)
    for wrong in (whole[: len(whole) // 2], whole[:-4], whole[:6], whole + b"rest", lines):
        Path(name).write_bytes(wrong)
        error = said(capsys, "sketch", name, "-o", "s.gstar", *BY_SEX)
        assert f"{name} cannot be read as a CSV file to its end; it is another format (--format), damaged" in error
    Path(name).write_bytes(b"")
    assert f"{name} is empty" in said(capsys, "sketch", name, "-o", "s.gstar", *BY_SEX)
    assert not Path("s.gstar").exists()
    Path(name).write_bytes(whole + pressed(lines, codec))
    assert count(name, columns=BY_SEX).n_rows == 2 * 999
