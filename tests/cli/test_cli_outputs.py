"""What the command line writes and prints, and what it takes for the same: outputs, names, options, values."""

from __future__ import annotations

import bz2
import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import ENVIRONMENT, completed

import gstar_fast as gf
from gstar_fast.__main__ import main
from gstar_fast._cli import count
from gstar_fast._cli.tables import csv_file, inputs

COLUMNS = ["--score", "p", "--label", "y", "--group", "g"]


def rows_of(groups, n=400, seed=5):
    """Scores that say something about the label, for groups whose scores are shifted."""
    rng = np.random.default_rng(seed)
    places, labels = rng.integers(0, len(groups), n), rng.integers(0, 2, n)
    return rng.normal(labels + 0.2 * places, 1), labels, [groups[place] for place in places]


def saved(names):
    """A sketch of such groups, and the file of it."""
    scores, labels, groups = rows_of(names)
    found = gf.Sketch(bins=128).update(scores, labels, groups)
    found.save("s.gstar")
    return found


@pytest.fixture
def sketch(here):
    return saved(["a", "b"])


def said(capsys, code, *argv):
    """What a command prints on standard output and on standard error."""
    capsys.readouterr()
    assert main(list(argv)) == code
    return capsys.readouterr()


# ------------------------------------------------------------------------------------------- files that come and go


def stop_after(monkeypatch, number, meanwhile):
    """Do something, and send ourselves Ctrl-C, once so many blocks are counted."""
    add, done = count.Tally.add, []

    def adding(self, *block):
        add(self, *block)
        done.append(block)
        if len(done) == number:
            meanwhile()
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(count.Tally, "add", adding)


def table_of(n):
    return "p,y,g\n" + "".join(f"{i / n},{i % 2},a\n" for i in range(n))


@pytest.fixture
def two(here, signals, monkeypatch):
    """Two tables that come in many blocks."""
    monkeypatch.setattr(csv_file, "TEXT_ROWS", 500)
    if inputs.has_pyarrow():
        monkeypatch.setattr("gstar_fast._cli.tables.arrow.BLOCK_ROWS", 500)
    Path("one.csv").write_text(table_of(1000))
    Path("two.csv.bz2").write_bytes(bz2.compress(table_of(9000).encode()))
    return ["sketch", "one.csv", "two.csv.bz2", "-o", "s.gstar", *COLUMNS]


def test_a_file_that_is_replaced_after_it_was_counted_is_not_resumed(two, monkeypatch, capsys):
    def replace():
        Path("new.csv").write_text(table_of(1500))
        Path("new.csv").replace("one.csv")

    with monkeypatch.context() as patch:
        stop_after(patch, 5, replace)
        assert main(two) == 130
    assert "one.csv has changed since its rows were counted" in said(capsys, 1, *two, "--resume").err
    assert not Path("s.gstar").exists()


def test_a_file_that_is_gone_after_it_was_counted_costs_no_counts(two, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        stop_after(patch, 5, Path("one.csv").unlink)
        assert "are counted and kept in s.gstar.partial" in said(capsys, 130, *two).err
    assert main(["merge", "s.gstar.partial", "-o", "m.gstar", "-q"]) == 0
    assert gf.Sketch.load("m.gstar").n_rows == 2500


def test_a_file_that_is_gone_at_the_end_is_counted(two, monkeypatch):
    add = count.Tally.add

    def adding(self, *block):
        add(self, *block)
        Path("one.csv").unlink(missing_ok=True)

    monkeypatch.setattr(count.Tally, "add", adding)
    assert main([*two, "-q", "--checkpoint", "0"]) == 0
    assert gf.Sketch.load("s.gstar").n_rows == 10_000


# -------------------------------------------------------------------------------------------------------------- outputs


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")  # few bins, to be quick
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_thresholds_are_saved_before_the_verdict_is_printed(here, form):
    """A reader that closes the pipe at once must not cost the file."""
    scores, labels, groups = rows_of([f"group {i}" for i in range(1000)], 20_000)
    gf.Sketch(bins=128).update(scores, labels, groups).save("s.gstar")
    words = [sys.executable, "-m", "gstar_fast", "solve", "s.gstar", "-o", "t.json", "--report", "r.html", *form]
    reading, writing = os.pipe()
    os.close(reading)
    code = subprocess.run(words, stdout=writing, stderr=subprocess.DEVNULL, env=ENVIRONMENT, check=False).returncode
    os.close(writing)
    assert code == 141
    assert len(gf.Result.load("t.json").thresholds) == 1000
    assert Path("r.html").exists()


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["solve", "-o", "x.html", "--report", "./x.html"], "-o and --report both write to"),
        (
            ["frontier", "--criterion", "equalized_odds", "--at-gap", "1", "-o", "x.json", "--thresholds", "x.json"],
            "-o and --thresholds both write to x.json",
        ),
    ],
)
def test_two_outputs_of_one_name_are_refused(sketch, capsys, words, options):
    assert options in said(capsys, 2, *words, "s.gstar").err
    assert [path.name for path in Path().iterdir()] == ["s.gstar"]


@pytest.mark.parametrize(
    "words",
    [
        ["solve", "-o", "-"],
        ["frontier", "--criterion", "equalized_odds", "--at-gap", "0.1", "--thresholds", "-"],
    ],
)
def test_thresholds_go_to_standard_output(sketch, capsys, words):
    printed = said(capsys, 0, *words, "s.gstar")
    result = gf.Result.from_json(printed.out)
    assert printed.err == f"{result}\n"
    assert said(capsys, 0, *words, "s.gstar", "-q") == (printed.out, "")
    assert said(capsys, 0, *words, "s.gstar", "--json") == (printed.out, "")
    assert [path.name for path in Path().iterdir()] == ["s.gstar"]


def test_thresholds_that_miss_the_limits_do_not_go_to_standard_output(sketch, capsys):
    limits = ["--limit", "accuracy_parity=0", "--limit", "demographic_parity=0", "--limit", "equal_opportunity=0"]
    printed = said(
        capsys, 3, "solve", "s.gstar", "-o", "-", *limits, "--limit", "disparate_impact=1", "--objective", "fp=9,fn=1"
    )
    assert printed.out == ""
    assert "the limits cannot be met" in printed.err


def test_a_saved_result_is_known_in_whatever_order_its_keys_are(sketch, capsys):
    assert main(["solve", "s.gstar", "-o", "t.json", "-q"]) == 0
    document = json.loads(Path("t.json").read_text())
    Path("t.json").write_text(json.dumps(document, sort_keys=True, indent=1))
    assert main(["report", "s.gstar", "--thresholds", "t.json", "-o", "r.html", "-q"]) == 0
    assert main(["audit", "s.gstar", "--thresholds", "t.json", "-q"]) == 0


# ---------------------------------------------------------------------------------------------------------------- names


def test_groups_that_print_alike_keep_their_columns(here, capsys):
    expected = gf.frontier(saved([1, "1"]), "equalized_odds").thresholds
    names = ["gap", "error", "threshold_1", "threshold_'1'"]
    for target in ("csv", "parquet"):
        words = ["frontier", "s.gstar", "--criterion", "equalized_odds", "-o", f"f.{target}", "-q"]
        if target == "parquet":
            pq = pytest.importorskip("pyarrow.parquet")
            assert main(words) == 0
            table = pq.read_table("f.parquet")
            columns = {name: table[name].to_pylist() for name in table.column_names}
        else:
            assert main(words) == 0
            with Path("f.csv").open() as file:
                header, *rows = csv.reader(file)
            columns = dict(zip(header, np.array(rows, float).T.tolist(), strict=True))
        assert list(columns) == names
        assert np.array_equal(np.array([columns[name] for name in names[2:]]).T, expected)
    assert main(["solve", "s.gstar", "-o", "t.json", "-q"]) == 0
    assert main(["audit", "s.gstar", "--thresholds", "t.json", "-o", "a.csv", "-q"]) == 0
    with Path("a.csv").open() as file:
        groups = {row["group"] for row in csv.DictReader(file)}
    assert groups == {"1", "'1'", ""}
    assert "\n'1' " in said(capsys, 0, "show", "s.gstar").out


def test_no_name_reaches_the_terminal_as_a_command(here, capsys):
    wild = "\x1b[31mred\x07\x9b2J"
    saved([wild, "b"])
    for words in (
        ["show", "s.gstar"],
        ["merge", "s.gstar", "-o", "m.gstar"],
        ["solve", "s.gstar", "-o", "t.json"],
        ["solve", "s.gstar", "-o", "-"],
        ["audit", "s.gstar", "--thresholds", "t.json"],
        ["frontier", "s.gstar", "--criterion", "equalized_odds"],
        ["show", "\x1b.gstar"],
    ):
        for form in ([], ["--json"]):
            main([*words, *form])
            printed = capsys.readouterr()
            assert all(char.isprintable() or char == "\n" for char in printed.err)
            if "-" not in words:  # that is a file
                assert all(char.isprintable() or char == "\n" for char in printed.out)
    assert json.loads(said(capsys, 0, "show", "s.gstar", "--json").out)["groups"][0]["name"] == wild


# -------------------------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    "option",
    ["--positive z", "--bins 16", "--range 0 1", "--weight q", "--label y", "--no-label", "--nan skip", "--format csv"],
)
def test_options_for_tables_are_refused_with_a_sketch(sketch, capsys, option):
    name = option.split()[0]
    assert f"{name} is for counting tables" in said(capsys, 2, "solve", "s.gstar", *option.split()).err
    assert main(["solve", "s.gstar", "--score", "p", "--group", "g", "-q", "-o", "t.json"]) == 0
    assert gf.Result.load("t.json").origin.group_column == "g"


@pytest.mark.parametrize("option", ["--bins 16", "--range 5 6", "--nan skip"])
def test_options_for_scores_are_refused_with_decisions(here, capsys, option):
    Path("d.csv").write_text("d,y,g\n1,1,a\n0,1,a\n1,0,b\n0,0,b\n")
    words = ["audit", "d.csv", "--decision", "d", "--label", "y", "--group", "g"]
    assert main([*words, "-q"]) == 0
    assert f"{option.split()[0]} is about scores" in said(capsys, 2, *words, *option.split()).err


@pytest.mark.parametrize("seconds", ["nan", "-5"])
def test_a_checkpoint_needs_a_time(here, capsys, seconds):
    Path("t.csv").write_text(table_of(10))
    words = ["sketch", "t.csv", "-o", "s.gstar", *COLUMNS, "--checkpoint", seconds]
    assert f"--checkpoint must be a number of seconds, 0 or more, got {seconds}" in said(capsys, 2, *words).err


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["sketch", "--nan"], ["raise", "skip"]),
        (["apply", "--nan"], ["raise", "reject", "accept"]),
        (["--backend"], ["native", "numba", "numpy"]),
    ],
)
def test_bash_completes_the_values_of_the_command(here, capsys, words, values):
    pytest.importorskip("argcomplete")
    assert main(["completion", "bash"]) == 0
    assert completed(capsys.readouterr().out, "gstar-fast", *words, "") == values


# --------------------------------------------------------------------------------------------------------------- values


def written(columns, target):
    """The same rows as a table of this format; a column of text stays text where the format has types."""
    name = f"in.{target}"
    arrays = {key: np.array(values) for key, values in columns.items()}
    if target == "csv":
        with Path(name).open("w", newline="") as file:
            csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])
    else:
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pa.table(arrays), name)
    return name


def texts(numbers):
    return [str(number) for number in numbers]


SMALL, LARGE, LARGER = range(200), range(2**63 - 200, 2**63), range(2**64 - 200, 2**64)
LONG = texts(range(2**64, 2**64 + 200))
PADDED = [f"0{i}" for i in SMALL]
KEYS = {  # as they are in the file, and what they are
    "text": (texts(SMALL), SMALL),
    "int64": (list(LARGE), LARGE),
    "int64 as text": (texts(LARGE), LARGE),
    "uint64": (list(LARGER), LARGER),
    "uint64 as text": (texts(LARGER), LARGER),
    "lowest": (list(range(-(2**63), -(2**63) + 200)), range(-(2**63), -(2**63) + 200)),
    "longer than 64 bits": (LONG, LONG),
    "padded": (PADDED, PADDED),
    "of both ends": ([*texts(range(-100, 0)), *texts(LARGER[:100])], [*range(-100, 0), *LARGER[:100]]),
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("target", ["csv", "parquet"])
def test_a_key_draws_the_same_in_every_format(here, kind, target):
    keys, meant = KEYS[kind]
    decider = gf.Decider({"a": 0.0}, mixtures={"a": [(0.0, 0.5), (9.0, 0.5)]}, score_column="p", group_column="g")
    decider.save("t.json")
    name = written({"p": [1.0] * 200, "g": ["a"] * 200, "id": keys}, target)
    assert main(["apply", name, "--thresholds", "t.json", "--key", "id", "-o", "out.csv", "-q"]) == 0
    with Path("out.csv").open() as file:
        found = [row["decision"] == "1" for row in csv.DictReader(file)]
    assert found == decider([1.0] * 200, ["a"] * 200, keys=list(meant)).tolist()
    assert 60 < sum(found) < 140


@pytest.fixture(params=["pyarrow", "csv"])
def reader(request, monkeypatch):
    """Each of the two readers of CSV."""
    if request.param == "pyarrow":
        pytest.importorskip("pyarrow")
    else:
        monkeypatch.setattr(inputs, "has_pyarrow", lambda: False)


def test_none_is_a_label_and_na_is_no_label(here, reader):
    labels = ["some", "none", "None", "NA", "na", "", "null", "NaN", "other", "some"]
    Path("t.csv").write_text("p,y,g\n" + "".join(f"{i}.5,{label},a\n" for i, label in enumerate(labels)))
    assert main(["sketch", "t.csv", "-o", "s.gstar", *COLUMNS, "--positive", "some", "-q"]) == 0
    found = gf.Sketch.load("s.gstar")
    assert (found.counts[0].sum(), found.counts[1].sum(), found.unlabelled.sum()) == (3, 2, 5)


@pytest.mark.parametrize("header", ["\tp\ty\tg", "\n  \n\tp\ty\tg", "\r\n\tp\ty\tg\r"])
def test_a_first_column_without_a_name_is_a_column(here, reader, header):
    """As `DataFrame.to_csv(sep="\\t")` writes them."""
    Path("t.tsv").write_bytes((header + "\n0\t0.5\t1\ta\n1\t1.5\t0\tb\n").encode())
    assert main(["sketch", "t.tsv", "-o", "s.gstar", *COLUMNS, "-q"]) == 0
    assert gf.Sketch.load("s.gstar").n_rows == 2


def test_a_space_belongs_to_the_name(here, reader, capsys):
    Path("t.csv").write_text(" p,y,g\n0.5,1,a\n")
    assert (
        "t.csv has no column 'p' (--score); did you mean ' p'?"
        in said(capsys, 1, "sketch", "t.csv", "-o", "s.gstar", *COLUMNS).err
    )
    assert main(["sketch", "t.csv", "-o", "s.gstar", *COLUMNS[2:], "--score", " p", "-q"]) == 0


@pytest.mark.parametrize("text", ["1_0", "\u0663", "none", "None", "  ", "1\u00a0", "0x10", "#NA", "1.#IND", " NA"])
def test_every_reader_refuses_the_same_non_numbers(here, reader, capsys, text):
    Path("t.csv").write_text(f"p,y,g\n0.5,1,a\n{text},0,a\n", encoding="utf-8")
    error = said(capsys, 1, "sketch", "t.csv", "-o", "s.gstar", *COLUMNS, "--nan", "skip").err
    assert "column 'p' must hold numbers, found " in error


@pytest.mark.parametrize("text", ["", "NA", "na", "nA", "N/A", "#n/a", "NaN", "nan", "-nan", "null", "Null", "NULL"])
def test_every_reader_finds_the_same_values_missing(here, reader, text):
    Path("t.csv").write_text(f"p,y,g\n0.5,1,a\n{text},0,a\n")
    assert main(["sketch", "t.csv", "-o", "s.gstar", *COLUMNS, "--nan", "skip", "-q"]) == 0
    assert gf.Sketch.load("s.gstar").skipped == 1


@pytest.mark.parametrize("text", ["+1.5", " 1.5", "1.5 ", "1.", ".5", "1e5", "1E+5", "inf", "-Infinity", "1e400"])
def test_every_reader_parses_the_same_numbers(here, reader, text):
    Path("t.csv").write_text(f"p,y,g\n0.5,1,a\n{text},0,a\n")
    assert main(["sketch", "t.csv", "-o", "s.gstar", *COLUMNS, "-q"]) == 0
    assert gf.Sketch.load("s.gstar").digest() == gf.Sketch().update([0.5, float(text)], [1, 0], ["a", "a"]).digest()


def test_a_key_keeps_its_zeros_on_the_way_to_parquet(here):
    pq = pytest.importorskip("pyarrow.parquet")
    gf.Decider({"a": 0.5}).save("t.json")
    Path("t.csv").write_text("p,g,id,other\n0.7,a,007,008\n")
    words = ["--thresholds", "t.json", "--score", "p", "--group", "g", "--key", "id", "-o", "out.parquet", "-q"]
    assert main(["apply", "t.csv", *words]) == 0
    assert pq.read_table("out.parquet").to_pylist() == [{"p": 0.7, "g": "a", "id": "007", "other": 8, "decision": 1}]
