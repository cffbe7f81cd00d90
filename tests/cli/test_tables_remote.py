"""Files elsewhere, through fsspec: the same sketch as of local files, or what to install; passwords stay hidden."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from helpers.commands import fails
from helpers.interrupted import interrupt_after
from helpers.table_files import COLUMNS, count, said, write

import gstar_fast as gf
from gstar_fast.__main__ import main
from gstar_fast._base.text import without_secrets
from gstar_fast._cli.tables import places


@pytest.fixture
def store():
    """A store in memory, with a function that copies files to it."""
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")

    def put(name, data):
        files.pipe(f"/{name}", data)

    yield put
    for name in files.find("/"):
        files.rm(name)


@pytest.mark.parametrize("ending", ["csv", "csv.zst", "csv.gz", "parquet", "feather", "arrows"])
def test_every_format_is_read_from_a_store(here, store, table, expected, ending):
    write(table, f"t.{ending}")
    store(f"in/t.{ending}", Path(f"t.{ending}").read_bytes())
    assert count(f"memory://in/t.{ending}") == expected
    assert count(f"file://{here}/t.{ending}") == expected


def test_folders_patterns_and_partitions_of_a_store(here, store, table, expected, capsys):
    write(table.slice(0, 1_000), "a.parquet")
    write(table.slice(1_000, 2_000), "b.csv")
    store("in/h=7/a.parquet", Path("a.parquet").read_bytes())
    store("in/h=a%20b/b.csv", Path("b.csv").read_bytes())
    store("in/_SUCCESS", b"")
    store("in/notes.txt", b"no table")
    assert count("memory://in") == expected
    assert count("memory://in/") == expected
    assert count("memory://in/*/*.parquet", "memory://in/**/*.csv") == expected
    assert set(count("memory://in", columns=[*COLUMNS[:-1], "h"]).groups) == {7, "a b"}
    assert main(["sketch", "memory://in", "-o", "s.gstar", *COLUMNS]) == 0
    assert "the ending is not one of" in (error := capsys.readouterr().err)
    assert "memory://in/notes.txt" in error
    assert "SUCCESS" not in error


def test_a_store_is_decided_into_a_local_folder(here, store):
    store("in/g=a/t.csv", b"p\n0.5\n")
    store("in/g=b/t.csv", b"p\n0.5\n")
    gf.Decider({"a": 0.25, "b": 0.75}, score_column="p", group_column="g").save("t.json")
    assert main(["apply", "memory://in", "--thresholds", "t.json", "-o", "out/", "-q"]) == 0
    assert Path("out/g=a/t.csv").read_text() == "p,decision\n0.5,1\n"
    assert Path("out/g=b/t.csv").read_text() == "p,decision\n0.5,0\n"


def test_sketches_of_a_store_are_merged_and_shown(here, store, capsys):
    total = gf.Sketch()
    for i in range(3):
        day = gf.Sketch.from_rows([i, i + 0.5], [0, 1], ["a", "b"])
        store(f"days/{i}.gstar", day.to_bytes())
        total += day
    assert main(["merge", "memory://days", "-o", "all.gstar", "-q"]) == 0
    assert gf.Sketch.load("all.gstar") == total
    assert main(["show", "memory://days/0.gstar", "-q"]) == 0
    store("days/1.gstar", b"no sketch")
    assert "memory://days/1.gstar is not a sketch" in fails(capsys, 1, "merge", "memory://days", "-o", "x.gstar")


@pytest.mark.parametrize("files", ["csv"], indirect=True)
def test_an_interrupted_count_of_a_store_goes_on_unless_a_file_changed(files, store, monkeypatch, capsys):
    names, expected = files
    for name in names:
        store(f"in/{name}", Path(name).read_bytes())
    words = ["sketch", "memory://in", "-o", "s.gstar", "--score", "score", "--label", "label", "--group", "group"]
    with monkeypatch.context() as patch:
        interrupt_after(patch, 15)
        assert main(words) == 130
    partial = Path("s.gstar.partial").read_bytes()
    assert main([*words, "--resume", "-q"]) == 0
    assert Path("s.gstar").read_bytes() == expected
    Path("s.gstar.partial").write_bytes(partial)
    store("in/0.csv", Path("0.csv").read_bytes())  # the same bytes, at another time
    assert "memory://in/0.csv has changed since its rows were counted" in fails(capsys, 1, *words, "--resume")


def test_a_file_with_two_names_counts_once(here, store, capsys):
    store("in/t.csv", b"p,y,g\n0.5,1,a\n")
    Path("t.csv").write_text("p,y,g\n0.5,1,a\n")
    assert "was given twice" in said(
        capsys, "sketch", "memory://in/t.csv", "memory:///in/t.csv", "-o", "s.gstar", *COLUMNS
    )
    assert "was given twice" in said(capsys, "sketch", "t.csv", f"file://{here}/t.csv", "-o", "s.gstar", *COLUMNS)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("memory://in/absent.csv", "memory://in/absent.csv does not exist"),
        ("memory://in/*.nothing", "no file matches 'memory://in/*.nothing'"),
        ("memory://empty", "memory://empty does not exist"),
        ("nowhere://x/t.csv", "nowhere://x/t.csv: fsspec does not know nowhere://; check the spelling"),
        ("memory://in/t.csv", "memory://in/t.csv has no column 'y' (--label)"),
        ("memory://in/cut.parquet", "memory://in/cut.parquet cannot be read as a Parquet file to its end"),
    ],
)
def test_what_is_not_there_or_damaged(here, store, capsys, name, words):
    store("in/t.csv", b"p,g\n0.5,a\n")
    store("in/cut.parquet", b"PAR1 and no more")
    assert words in said(capsys, "sketch", name, "-o", "s.gstar", *COLUMNS)
    assert not Path("s.gstar").exists()


def test_outputs_are_local_files(here, store, capsys):
    store("in/t.csv", b"p,y,g\n0.5,1,a\n")
    words = ["sketch", "memory://in/t.csv", "-o", "memory://out/s.gstar", *COLUMNS]
    assert "memory://out/s.gstar is remote, and outputs must be local files" in said(capsys, *words)


def test_without_fsspec_it_says_what_to_install(here, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    words = ["sketch", "s3://bucket/t.csv", "-o", "s.gstar", *COLUMNS]
    assert "reading s3:// needs fsspec, which is not installed; run: pip install 'gstar-fast[cli]'" in said(
        capsys, *words
    )


def test_errors_of_a_store_are_told_in_one_line_without_passwords(here, store, monkeypatch, capsys):
    fsspec = pytest.importorskip("fsspec")

    class Refusing(fsspec.AbstractFileSystem):
        protocol = "refusing"

        def info(self, *_, **__):
            raise RuntimeError("no route from refusing://ann:sesame@host/in\nto anywhere")

    fsspec.register_implementation("refusing", Refusing, clobber=True)
    error = said(capsys, "sketch", "refusing://ann:sesame@host/in/t.csv", "-o", "s.gstar", *COLUMNS)
    assert "refusing://***@host/in/t.csv cannot be reached.\n" in error
    assert "found: no route from refusing://***@host/in to anywhere" in error
    assert "sesame" not in error


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sftp://ann:sesame@host/x", "sftp://***@host/x"),
        ("sftp://ann:se:s/a@me@host/x", "sftp://***@host/x"),
        ("sftp://ann:se same@host/x", "sftp://***@host/x"),
        ("sftp://ann:12/34@host/x", "sftp://***@host/x"),
        ("https://TOKEN@host/t.csv", "https://***@host/t.csv"),
        ("https://host:8080/t.csv is not found, ask ann@host", "https://host:8080/t.csv is not found, ask ann@host"),
        ("postgresql://host/db?user=ann&password=sesame&x=1", "postgresql://host/db?user=***&password=***&x=***"),
        ("https://host/t.csv?X-Amz-Signature=abc", "https://host/t.csv?X-Amz-Signature=***"),
        ("https://host/t.csv?sv=1&sig=a/b%3D&key=c;api_key=d", "https://host/t.csv?sv=***&sig=***&key=***;api_key=***"),
        ("https://host/t.csv?sesame", "https://host/t.csv?***"),
        ("https://host/t.csv#token=sesame", "https://host/t.csv#token=***"),
        ("no 'https://h/t?sig=a', no https://h/u?sig=b.", "no 'https://h/t?sig=***', no https://h/u?sig=***."),
        ("s3://bucket/sex=F/t.csv", "s3://bucket/sex=F/t.csv"),
        ("s3://bucket/sex=F/t?.csv", "s3://bucket/sex=F/t?.csv"),
        ("s3://bucket/v@2/t.csv", "s3://bucket/v@2/t.csv"),
        ("a@b:c/t.csv", "a@b:c/t.csv"),
    ],
)
def test_users_and_query_values_are_hidden(text, shown):
    assert without_secrets(text) == shown
    assert without_secrets(shown) == shown


def test_keys_of_a_url_are_hidden_where_they_stand_alone():
    url = "https://ann:ses%40me@host/t.csv?sig=abc&key=def&page=2"
    said = "bad ses@me and ses%40me and abc of ann; def; page 2 cannot be had"
    assert without_secrets(said, url) == "bad *** and *** and *** of ***; ***; page 2 cannot be had"


def test_a_query_names_no_folders():
    assert places.partition_folders("https://a=b@host/sex=F/t.csv?sig=c/d=e/f") == ["sex=F"]
    assert places.partition_folders("s3://bucket/sex=F/t.csv") == ["sex=F"]


@pytest.fixture
def guarded():
    """A store of this machine's files behind a name and a password, or a key in a query."""
    fsspec = pytest.importorskip("fsspec")
    from fsspec.implementations.local import LocalFileSystem

    class Guarded(LocalFileSystem):
        protocol = "guarded"

        @classmethod
        def _strip_protocol(cls, path):
            return super()._strip_protocol(str(path).removeprefix("guarded://").rpartition("@")[2])

        def unstrip_protocol(self, name):
            return f"guarded://{name}"

        def info(self, path, **options):
            return super().info(path.partition("?")[0], **options)

        def isfile(self, path):
            return super().isfile(path.partition("?")[0])

        def exists(self, path, **options):
            return super().exists(path.partition("?")[0], **options)

        def _open(self, path, *rest, **options):
            return super()._open(path.partition("?")[0], *rest, **options)

    fsspec.register_implementation("guarded", Guarded, clobber=True)


@pytest.mark.parametrize("files", ["csv"], indirect=True)
def test_a_count_of_urls_with_keys_goes_on_and_keeps_no_key(files, guarded, monkeypatch, capsys):
    """The same path with another value in its query is another table, though both look alike without it."""
    names, _ = files
    first = Path(names[0]).resolve()
    words = ["sketch", *(f"guarded://TOKEN@{first}?part={i}&sig=sesame" for i in (1, 2)), "-o", "s.gstar"]
    words += ["--format", "csv", "--score", "score", "--label", "label", "--group", "group"]
    assert main([*words, "-q"]) == 0
    whole = Path("s.gstar").read_bytes()
    with monkeypatch.context() as patch:
        interrupt_after(patch, 7)
        assert main(words) == 130
    kept = Path("s.gstar.partial").read_text() + capsys.readouterr().err
    assert "sesame" not in kept
    assert "TOKEN" not in kept
    assert "part=***&sig=***" in kept
    assert main([*words, "--resume", "-q"]) == 0
    assert Path("s.gstar").read_bytes() == whole
    assert main(["solve", "s.gstar", "-o", "t.json", "-q"]) == 0
    url = words[1]
    for more in (["sketch", url, url, "-o", "x.gstar", *words[5:]], ["show", f"{url}.json"], ["show", url, "--debug"]):
        main(more)
        assert "sesame" not in (said := capsys.readouterr().err)
        assert "TOKEN" not in said
    assert main(["solve", url, "--report", "r.html", "--limit", "equalized_odds=0.3", *words[5:]]) in (0, 3)
    page = Path("r.html").read_text()
    assert "part=***" in page.replace("&amp;", "&")
    assert "sesame" not in page


@pytest.mark.parametrize("files", ["csv"], indirect=True)
def test_the_command_that_goes_on_hides_a_password(files, guarded, monkeypatch, capsys):
    names, _ = files
    words = ["sketch", *(f"guarded://ann:sesame@{Path(name).resolve()}" for name in names), "-o", "s.gstar"]
    with monkeypatch.context() as patch:
        interrupt_after(patch, 3)
        assert main([*words, "--score", "score", "--label", "label", "--group", "group"]) == 130
    error = capsys.readouterr().err
    assert "to continue: gstar-fast sketch --resume" in error
    assert "sesame" not in error
    assert "sesame" not in Path("s.gstar.partial").read_text()
