"""A result reads well, and comes back from its file as it was."""

from __future__ import annotations

import json
import math
import os
import pickle
from pathlib import Path

import pytest

import gstar_fast as gf
from gstar_fast import datasets
from gstar_fast._result import threshold_number

GOLDEN = Path(__file__).parent / "golden"
SCHEMA = Path(gf.__file__).parent / "schemas" / "result.json"


@pytest.fixture(scope="module")
def table():
    return datasets.paper_synthetic(rows=4_000, seed=3)


@pytest.fixture
def sketch(table):
    return gf.Sketch.from_rows(table.scores, table.labels, table.groups, bins=128)


def results(sketch):
    names = gf.Sketch(bins=16)
    for name in (True, 4, "x", ("f", 2)):
        names.update([1.0, 2.0, -math.inf], [0, 1, 0], [name] * 3)
    yield "limits", gf.solve(sketch, limits={"equalized_odds": 0.02})
    yield "penalties", gf.solve(sketch, penalties={"equalized_odds": 10.0, "demographic_parity": 1.0}, costs=(1, 2))
    yield "unified", gf.solve(sketch, limits={"equalized_odds": 0.3}, unified=True)
    yield "randomized", gf.solve(sketch, limits={"equalized_odds": 0.0}, randomize=True)
    yield "infeasible", gf.solve(sketch, limits={"accuracy_parity": 0.0, "demographic_parity": 0.0})
    yield "names", gf.solve(names, limits={"disparate_impact": 0.8})


def test_texts_are_the_golden_ones(backend, sketch):
    """The same words on every backend. Run with GOLDEN=1 to write them anew; then read the difference."""
    for name, result in results(sketch):
        path = GOLDEN / f"result_{name}.txt"
        if os.environ.get("GOLDEN") == "1":
            path.write_text(str(result) + "\n", encoding="utf-8")
        assert str(result) + "\n" == path.read_text(encoding="utf-8")


def test_saved_and_loaded_is_the_same(sketch, tmp_path):
    for name, result in results(sketch):
        path = tmp_path / f"{name}.json"
        result.save(path)
        again = gf.Result.load(path)
        assert again == result
        assert again.sketch_digest == result.sketch_digest
        assert list(again.thresholds) == list(result.thresholds)
        assert [type(k) for k in again.thresholds] == [type(k) for k in result.thresholds]
        assert str(again) == str(result)
        assert pickle.loads(pickle.dumps(result)) == result
    assert not [p for p in tmp_path.iterdir() if p.suffix != ".json"]


def test_json_keeps_the_schema(sketch):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for _, result in results(sketch):
        jsonschema.validate(json.loads(result.to_json()), schema)


def test_schema_names_every_field(sketch):
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for _, result in results(sketch):
        written = json.loads(result.to_json())
        assert set(written) == set(schema["required"]) == set(schema["properties"])
        for entry in written["groups"]:
            assert set(schema["properties"]["groups"]["items"]["required"]) <= set(entry)
            assert set(entry) <= set(schema["properties"]["groups"]["items"]["properties"])


def test_digest_is_of_the_sketch_that_was_solved(sketch):
    before = sketch.digest()
    result = gf.solve(sketch)
    sketch.update([0.0], [1], [0])
    assert result.sketch_digest == before


def test_result_cannot_be_changed(sketch):
    result = gf.solve(sketch)
    with pytest.raises(AttributeError):
        result.error = 0.0


def test_failed_save_leaves_the_old_file(sketch, tmp_path, monkeypatch):
    path = tmp_path / "thresholds.json"
    path.write_text("old")

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        gf.solve(sketch).save(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def broken(data):
    """Ways a file can be wrong, each with a word of the message."""
    yield "not JSON", "{"
    yield "not a saved result", "[]"
    yield "not a saved result", json.dumps({**data, "format": "other"})
    yield "version 2", json.dumps({**data, "version": 2})
    yield "lacks 'groups'", json.dumps({k: v for k, v in data.items() if k != "groups"})
    yield "verdict must be one of", json.dumps({**data, "verdict": "fine"})
    yield "at least one group", json.dumps({**data, "groups": []})
    yield "repeats", json.dumps({**data, "groups": data["groups"] * 2})
    yield "threshold must be a number", json.dumps({**data, "groups": [{**data["groups"][0], "threshold": "low"}]})
    yield "must be an int", json.dumps({**data, "groups": [{**data["groups"][0], "name": None}]})
    yield "error must be a number", json.dumps({**data, "error": True})
    yield "NaN is not JSON", json.dumps({**data, "error": math.nan})
    yield (
        "do not add up",
        json.dumps({**data, "groups": [{**data["groups"][0], "mixture": [{"threshold": 0, "probability": 0.5}]}]}),
    )
    yield "lacks 'threshold'", json.dumps({**data, "groups": [{"name": 1}]})
    yield "not a saved result", json.dumps({**data, "groups": [7]})
    yield "unified must be", json.dumps({**data, "unified": "no"})
    yield "whole number", json.dumps({**data, "iterations": 1.5})
    yield "nested too deeply", "[" * 200_000


def test_broken_files_say_what_is_wrong(sketch, tmp_path):
    data = json.loads(gf.solve(sketch).to_json())
    path = tmp_path / "thresholds.json"
    for words, text in broken(data):
        path.write_text(text)
        with pytest.raises(ValueError, match=words):
            gf.Result.load(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not UTF-8"):
        gf.Result.load(path)


def test_a_result_changed_by_hand_is_refused(backend, tmp_path):
    """A result says what its thresholds do; one whose thresholds were edited would say it of others."""
    sketch = gf.Sketch.from_rows([1, 2, 3, 4, 2, 3, 4, 5], [0, 0, 1, 1, 0, 0, 1, 1], list("aaaabbbb"))
    path = tmp_path / "thresholds.json"
    gf.solve(sketch).save(path)
    document = json.loads(path.read_text())
    document["groups"][0]["threshold"] += 0.5
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="changed or damaged"):
        gf.Result.load(path)


@pytest.mark.filterwarnings("ignore::gstar_fast.DegenerateWarning")
def test_narrow_bins_show_enough_digits_to_name_the_edge(backend):
    narrow = gf.Sketch.from_rows([0.998, 0.999, 1.0] * 400, [0, 0, 1] * 400, ["u", "v"] * 600)
    result = gf.solve(narrow)
    shown = float(str(result).split("\nu")[1].split()[2])
    assert result.decider().one(shown, "u") == result.decider().one(1.0, "u")
    assert not result.decider().one(0.999, "u")
    assert shown > 0.999
    constant = gf.Sketch.from_rows([0.5] * 9, [0] * 8 + [1], ["a"] * 5 + ["b"] * 4)
    assert "0.5000000000000001" in str(gf.solve(constant))


@pytest.mark.parametrize(
    ("threshold", "text"),
    [
        (-0.9609375, "-0.9609"),
        (0.0, "0.0000"),
        (-math.inf, "-inf"),
        (0.5 + 2**-20, "0.5000010"),
        (2.0**40, "1099511627776.0"),
    ],
)
def test_four_decimals_where_they_are_enough(threshold, text):
    assert threshold_number(threshold) == text


def test_deciding_by_an_infeasible_result_warns(backend, tmp_path):
    """The verdict is in the text; who never prints it must hear of it before anybody is decided about."""
    rows = [1, 2, 3, 4] * 2, [0, 0, 1, 1, 0, 1, 1, 1], list("aaaabbbb")
    result = gf.solve(gf.Sketch.from_rows(*rows), limits={"accuracy_parity": 0, "demographic_parity": 0}, unified=True)
    assert result.verdict == "infeasible"
    with pytest.warns(gf.InfeasibleWarning, match="looser"):
        result.decider()
    path = tmp_path / "thresholds.json"
    result.save(path)
    with pytest.warns(gf.InfeasibleWarning, match="looser"):
        gf.Decider.load(path)
    assert gf.Result.load(path).verdict == "infeasible"
