"""A result reads well, and comes back from its file as it was."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import pickle
import warnings
from pathlib import Path

import pytest
from helpers.document_edits import edited
from helpers.documents import changed, changes, places
from helpers.golden import golden
from helpers.results import changed as with_values
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._base import json as strict
from gstar_fast._base.text import threshold_number
from gstar_fast._solver.answer.parts import Note

NOTE = Note("text", "mind this", {"groups": ["a", (1, True)], "rows": 2.0})
SCHEMA = Path(gf.__file__).parent / "schemas" / "result.json"


def results(sketch):
    names = gf.Sketch(bins=16)
    for name in (True, 4, "x", ("f", 2)):
        names.update([1.0, 2.0, -math.inf], [0, 1, 0], [name] * 3)
    yield "limits", gf.solve(sketch, limits={"equalized_odds": 0.02})
    yield (
        "penalties",
        gf.solve(sketch, penalties={"equalized_odds": 10.0, "demographic_parity": 1.0}, objective={"fp": 1, "fn": 2}),
    )
    yield "unified", gf.solve(sketch, limits={"equalized_odds": 0.3}, unified=True)
    yield "randomized", gf.solve(sketch, limits={"equalized_odds": 0.0}, randomize=True)
    yield "infeasible", gf.solve(sketch, limits={"accuracy_parity": 0.0, "demographic_parity": 0.0})
    yield "names", gf.solve(names, limits={"disparate_impact": 0.8})


def test_texts_are_the_golden_ones(backend, sketch):
    """The same words on every backend."""
    for name, result in results(sketch):
        golden(f"result_{name}.txt", f"{result}\n")


def test_saved_and_loaded_is_the_same(sketch, tmp_path):
    for name, result in results(sketch):
        path = tmp_path / f"{name}.json"
        result.save(path)
        again = gf.Result.load(path)
        assert again == result
        assert again.origin.digest == result.origin.digest
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
        optional = {"promise", "evidence", "protected", "cuts", "cost", "proof", "slack", "point", "trace"}
        assert set(written) | optional == set(schema["properties"]) >= set(schema["required"])
        for entry in written["groups"]:
            assert set(schema["properties"]["groups"]["items"]["required"]) <= set(entry)
            assert set(entry) <= set(schema["properties"]["groups"]["items"]["properties"])


def test_digest_is_of_the_sketch_that_was_solved(sketch):
    before = sketch.digest()
    result = gf.solve(sketch)
    sketch.update([0.0], [1], [0])
    assert result.origin.digest == before


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
    yield "version 2, and this release reads 1;", json.dumps({**data, "version": 2})
    yield "version True", json.dumps({**data, "version": True})
    yield "lacks 'groups'", json.dumps({k: v for k, v in data.items() if k != "groups"})
    yield (
        "verdict must be 'optimal', .* or 'unpromised'; got 'fine'",
        json.dumps({**data, "verdict": "fine"}),
    )
    yield "thresholds is empty; give one for each group", json.dumps({**data, "groups": []})
    yield "repeats", json.dumps({**data, "groups": data["groups"] * 2})
    yield "threshold must be a number", json.dumps({**data, "groups": [{**data["groups"][0], "threshold": "low"}]})
    yield "must be an int", json.dumps({**data, "groups": [{**data["groups"][0], "name": None}]})
    yield "error must be a number", json.dumps({**data, "error": True})
    yield "NaN is not JSON", json.dumps({**data, "error": math.nan})
    mixture = [{"threshold": 0, "probability": 0.5}]
    yield "add up to 1, got .0.5.", json.dumps({**data, "groups": [{**data["groups"][0], "mixture": mixture}]})
    yield "lacks 'threshold'", json.dumps({**data, "groups": [{"name": 1}]})
    yield "not a saved result", json.dumps({**data, "groups": [7]})
    yield "unified must be", json.dumps({**data, "unified": "no"})
    yield "whole number", json.dumps({**data, "iterations": 1.5})
    yield "whole number", json.dumps({**data, "iterations": -1})
    yield "1e999 is too large for a float64", json.dumps(data).replace('"error": ', '"error": 1e999, "wrong": ')
    yield "is too large for a float64", json.dumps({**data, "error": 10**400})
    yield "is too large for a float64", json.dumps({**data, "iterations": -(10**400)})
    yield "is too large for a float64", json.dumps({**data, "more": [10**400]})
    yield "gaps.equalized_odds must be a number; got 'inf'", json.dumps({**data, "gaps": {"equalized_odds": "inf"}})
    yield "objective must be", json.dumps({**data, "question": {"objective": {"fp": 1}}})
    yield "question must be an object; got 7", json.dumps({**data, "question": 7})
    yield "question has an unknown option 'more'", json.dumps({**data, "question": {"more": 1}})
    yield "held has 1 entries for 0 limits", json.dumps({**data, "held": [{"reached": 0.5, "before": 0.5}]})
    yield "before.rates has 0 entries for", json.dumps({**data, "before": {**data["before"], "rates": []}})
    yield "unknown member 'more'", json.dumps({**data, "more": 1})
    yield "notes must be a list; got 'mind'", json.dumps({**data, "notes": "mind"})
    yield "notes\\[0\\] must be an object; got 7", json.dumps({**data, "notes": [7]})
    yield "before must be an object", json.dumps({**data, "before": 0})
    yield "an object has a key twice", json.dumps(data).replace('"error": ', '"error": 0, "error": ')
    yield "half a character", json.dumps({**data, "message": "\ud800"})
    yield "nested too deeply", "[" * 200_000


def test_broken_files_say_what_is_wrong(sketch, tmp_path):
    data = json.loads(gf.solve(sketch).to_json())
    path = tmp_path / "thresholds.json"
    for words, text in broken(data):
        with contextlib.suppress(ValueError, TypeError, AttributeError):  # where no reader gets as far as the checksum
            text = json.dumps(strict.sealed(strict.read(text)))
        path.write_text(text)
        with pytest.raises(ValueError, match=words):
            gf.Result.load(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not UTF-8"):
        gf.Result.load(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"question.limits": [{"of": "kindness", "at_most": 0.5}]}, "a limit has the members .*'kindness'"),
        (
            {"question.penalties": {"kindness": 0.5}},
            "names in penalties must be among demographic_parity, .*'kindness'",
        ),
        ({"gaps.kindness": 0.5}, "gaps has 'kindness'; there are demographic_parity,"),
        ({"before.gaps.kindness": 0.5}, "before.gaps has 'kindness'; there are demographic_parity,"),
    ],
    ids=["limits", "penalties", "gaps", "before.gaps"],
)
def test_a_criterion_that_nobody_knows_is_refused_by_result_and_not_by_decider(sketch, change, words):
    """A decider does not read criteria: a later release may have more of them."""
    text = json.dumps(strict.sealed(edited(json.loads(gf.solve(sketch).to_json()), change)))
    with pytest.raises(ValueError, match=f"not a saved result: {words}"):
        gf.Result.from_json(text)
    assert gf.Decider.from_json(text).groups == sketch.groups


def test_a_result_changed_by_hand_is_refused(backend, tmp_path):
    """A result says what its thresholds do; one that was edited would say what is not so."""
    sketch = gf.Sketch.from_rows([1, 2, 3, 4, 2, 3, 4, 5], [0, 0, 1, 1, 0, 0, 1, 1], list("aaaabbbb"))
    path = tmp_path / "thresholds.json"
    result = gf.solve(sketch, limits={"equalized_odds": 0.02}, randomize=True)
    with_values(result, notes=(NOTE,), trace=(0.5, 0.25), score_column="p").save(path)
    text = path.read_text(encoding="utf-8")
    document = json.loads(text)
    assert document["version"] == 1
    edited = {
        "error": {**document, "error": document["error"] + 0.1},
        "gaps": {**document, "gaps": {**document["gaps"], "equalized_odds": 0.01}},
        "before": {**document, "before": {**document["before"], "error": 0.5}},
        "message": {**document, "message": "no thresholds do better"},
        "notes": {**document, "notes": []},
        "rates": {**document, "groups": [{**entry, "tpr": 0.75} for entry in document["groups"]]},
    }
    for one in edited.values():
        path.write_text(json.dumps(one), encoding="utf-8")
        for reader in (gf.Result, gf.Decider):
            with pytest.raises(ValueError, match=r"the checksum is .*: it was changed or damaged"):
                reader.load(path)
    for one in changes(document):
        with pytest.raises(ValueError, match="not a saved result"):
            gf.Result.from_json(json.dumps(one))


def as_script(text):
    """A number as JavaScript writes it: 1 for 1.0."""
    return int(text[:-2]) if text.endswith(".0") else float(text)


def test_the_layout_of_a_saved_result_does_not_matter(sketch):
    """By a tool that indents, sorts keys, escapes letters, or writes numbers as JavaScript does."""
    result = dataclasses.replace(
        gf.solve(sketch, limits={"equalized_odds": 0.02}), notes=(Note("text", "Ä is \u2028 a letter", {"of": 1.0}),)
    )
    document = json.loads(result.to_json())
    in_script = json.loads(result.to_json(), parse_float=as_script)
    assert json.dumps(in_script) != json.dumps(document)
    for text in (
        json.dumps(document, indent=7),
        json.dumps(document, sort_keys=True, separators=(",", ":")),
        json.dumps(document, ensure_ascii=False),
        json.dumps(in_script),
    ):
        assert gf.Result.from_json(text) == result


SMALL = gf.solve(
    gf.Sketch.from_rows([1, 2, 3, 4, 2, 3, 4, 5], [0, 0, 1, 1, 0, 0, 1, 1], [True, "a"] * 4, bins=16),
    limits={"equalized_odds": 0.02},
    randomize=True,
)
HOSTILE = st.sampled_from(
    [
        *(None, True, "", "inf", "-inf", "NaN", "\ud800", "\0", "optimal", "x" * 10_000, [], {}, [[]], {"tuple": []}),
        *(0, -1, 2**63, -(2**63), 2**64, 10**400, 0.5, -0.0, 5e-324, 1.7976931348623157e308, math.inf, math.nan),
        *({"tuple": [["a"]]}, {"tuple": list(range(17))}, {"equalized_odds": 10**400}, {"a": {"a": 1}}),
    ]
)


@given(st.data())
def test_a_hostile_document_is_refused_or_can_be_used(data):
    """Whoever writes the document may compute its checksum too, so everything else must hold without it."""
    document = json.loads(SMALL.to_json())
    for _ in range(data.draw(st.integers(1, 3))):
        path, value = data.draw(st.sampled_from(list(places(document))))
        if isinstance(value, dict) and value and data.draw(st.booleans()):
            renamed, name = data.draw(st.sampled_from(sorted(value))), data.draw(st.text(max_size=3))
            document = changed(document, path, {name if k == renamed else k: v for k, v in value.items()})
        else:
            document = changed(document, path, data.draw(HOSTILE))
        if not isinstance(document, dict):
            return
    with contextlib.suppress(ValueError):  # where no reader gets as far as the checksum
        document = strict.sealed(strict.read(json.dumps(document)))
    try:
        result = gf.Result.from_json(json.dumps(document))
    except ValueError:
        return
    assert str(result)
    assert gf.Result.from_json(result.to_json()) == result
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gf.errors.InfeasibleWarning)
        assert result.decider(unknown="default").groups == result.groups


@given(st.integers(0, len(SMALL.to_json()) - 1), st.characters(codec="utf-8"))
def test_a_changed_letter_is_refused_or_changes_nothing(place, letter):
    text = SMALL.to_json()
    damaged = text[:place] + letter + text[place + 1 :]
    try:
        result = gf.Result.from_json(damaged)
    except ValueError:
        return
    assert result == SMALL


@pytest.mark.filterwarnings("ignore::gstar_fast.errors.DegenerateWarning")
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
    with pytest.warns(gf.errors.InfeasibleWarning, match="looser"):
        result.decider()
    path = tmp_path / "thresholds.json"
    result.save(path)
    with pytest.warns(gf.errors.InfeasibleWarning, match="looser"):
        gf.Decider.load(path)
    assert gf.Result.load(path).verdict == "infeasible"
