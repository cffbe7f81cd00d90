"""Saved thresholds are read back as they were, by every release, and refused where damaged, stale or foreign."""

import json
import math
import os
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from helpers.documents import changes
from helpers.saved_documents import GOOD
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._decide import document as documents

OLD = Path(__file__).parent.parent / "old_thresholds"
INF = math.inf
DIGEST = "0123456789abcdef" * 4

scalars = st.integers(-(2**63), 2**63 - 1) | st.text(max_size=5) | st.booleans()
names = scalars | st.lists(scalars, min_size=1, max_size=3).map(tuple)
numbers = st.floats(allow_nan=False)


@st.composite
def deciders(draw):
    found = draw(st.dictionaries(names, numbers, min_size=1, max_size=5))
    mixtures = None
    if draw(st.booleans()):
        mixtures = {name: [(t, 0.25), (draw(numbers), 0.75)] for name, t in found.items()}
    default = draw(st.none() | numbers)
    return gf.Decider(
        found,
        default=default,
        mixtures=mixtures,
        unknown=draw(st.sampled_from(["raise"] if default is None else ["raise", "default"]) | numbers),
        nan=draw(st.sampled_from(["raise", False, True])),
        sketch_digest=draw(st.none() | st.just(DIGEST)),
        expires=draw(st.none() | st.datetimes(datetime(1970, 1, 2), datetime(3000, 1, 1), timezones=st.just(UTC))),
        score_column=draw(st.none() | st.just("p")),
    )


@given(deciders())
def test_json_is_read_back_as_it_was(decider):
    twin = gf.Decider.from_json(decider.to_json())
    assert twin == decider
    assert twin.to_json() == decider.to_json()
    assert twin.to_bytes() == decider.to_bytes()
    assert twin.groups == decider.groups


@given(deciders())
def test_the_native_core_reads_these_bytes(decider):
    """Making a native decider parses the binary form, names and all."""
    from gstar_fast import _backends

    if not _backends.has_native():
        pytest.skip("the extension was not built")
    from gstar_fast._decide.decider import decider_of

    assert decider_of(decider._thresholds, "native") == decider


SCHEMA = json.loads(Path(gf.__file__).with_name("schemas").joinpath("thresholds.json").read_text(encoding="utf-8"))


@given(deciders())
def test_what_is_written_fits_the_schema(decider):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(json.loads(decider.to_json()), SCHEMA)


def test_the_schema_has_the_fields_that_are_written():
    assert set(SCHEMA["properties"]) == set(json.loads(gf.Decider({0: 0.5}, cuts=[]).to_json()))


# -------------------------------------------------------------------------------------------------------- old releases


def test_old_files_are_read_for_ever():
    """One file for each form a release has written; add to them, never change them."""
    plain = gf.Decider.load(OLD / "thresholds_v1.json")
    assert plain.thresholds == {"F": -0.627, "M": 0.64, 7: INF, ("F", True): 1e-310}
    assert (plain.unknown, plain.nan, plain.default) == ("default", False, 0.125)
    assert plain.sketch_digest == DIGEST
    assert plain.expires == datetime(2999, 12, 31, 23, 59, 59, tzinfo=UTC)
    mixed = gf.Decider.load(OLD / "randomised_v1.json")
    assert mixed.mixtures == {"F": ((0.25, 0.5), (0.75, 0.5)), "M": ((-INF, 1.0),)}
    assert [mixed.one(0.5, "F", key) for key in range(8)] == [False, False, False, True, True, True, False, True]
    result = gf.Decider.load(OLD / "result_v1.json", unknown="default")
    assert result.thresholds == {"F": 0.375, "M": 0.5}
    assert result.default == 0.4375
    whole = gf.Result.load(OLD / "result_v1.json")
    assert (whole.error, whole.gaps, whole.before_error) == (0.2, {"equalized_odds": 0.0}, 0.19)


def test_new_files_are_written_as_the_old_ones():
    for name in ("thresholds", "randomised"):
        text = (OLD / f"{name}_v1.json").read_text(encoding="utf-8")
        assert gf.Decider.from_json(text).to_json() == text


def test_the_layout_of_the_text_does_not_matter():
    text = (OLD / "thresholds_v1.json").read_text(encoding="utf-8")
    assert gf.Decider.from_json(json.dumps(json.loads(text), sort_keys=True)) == gf.Decider.from_json(text)


# -------------------------------------------------------------------------------------------------------------- refusal


def changed(**fields):
    document = json.loads((OLD / "thresholds_v1.json").read_text(encoding="utf-8"))
    document.update(fields)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ("[]", "'format' is not 'gstar_fast.result' nor 'gstar_fast.thresholds'"),
        ("[" * 100_000, "not JSON|nested too deeply"),
        (
            '{"format": "gstar_fast.thresholds", "version": 2}',
            "of version 2, and this release reads 1; install a newer",
        ),
        (changed(version=1.0), "of version 1.0, and this release reads 1"),
        (changed(checksum=None), "checksum must be a string; got None"),
        (changed(groups=[]), "thresholds is empty"),
        (changed(groups=[1]), r"groups\[0\] must be an object; got 1"),
        (changed(groups=[{"name": None, "threshold": 1}]), r"groups\[0\].name must be an int, a string, a bool"),
        (changed(groups=[{"name": "a", "threshold": "1"}]), r"groups\[0\].threshold must be a number, 'inf' or '-inf'"),
        (changed(groups=[{"name": "a", "threshold": 1}] * 2), r"groups\[1\].name repeats 'a'"),
        (changed(unknown="first"), "unknown must be 'raise', 'default', a number, 'inf' or '-inf'; got 'first'"),
        (changed(nan=1), "nan must be 'raise', true or false; got 1"),
        (changed(unified=1), "unified must be true or false; got 1"),
        (changed(sketch_digest="abc"), "sketch_digest must be 64 hexadecimal digits"),
        (changed(expires="soon"), "expires must be a date"),
        (changed(expires="2030-02-30T00:00:00Z"), "expires is not a date of the calendar: 2030-02-30T00:00:00Z"),
        (changed(approved="by me"), "the document has an unknown member 'approved'"),
        (
            changed(expires="2030-01-01T00:00:00"),
            "expires must be a date in UTC .*; got '2030-01-01T00:00:00'",
        ),
        (changed(default_threshold=0.25), "the checksum is .* but the content has .* it was changed or damaged"),
        (changed(nan=True), "it was changed or damaged"),
        (changed().replace("-0.627", "-0.628"), "it was changed or damaged"),
        (changed().replace("-0.627", "NaN"), "NaN is not JSON"),
        (changed().replace('"nan":', '"nan": true, "nan":'), "an object has a key twice"),
        (changed().replace("-0.627", "1" * 400), "too large"),
        (changed().replace("-0.627", "1" * 5000), "too large"),
        (changed().replace("-0.627", "-1e999"), "-1e999 is too large"),
        (changed(score_column="\ud800"), "half a character in a string"),
        (changed(more=[[[]]]).replace("[[[]]]", "[" * 40 + "]" * 40), "nested too deeply"),
        (changed(groups=[{"name": 2**63, "threshold": 1}]), r"groups\[0\].name must be an int"),
    ],
)
def test_text_that_is_not_thresholds_is_refused(text, why):
    with pytest.raises(ValueError, match=why):
        gf.Decider.from_json(text)


def test_stale_and_foreign_thresholds_are_refused(tmp_path):
    path = tmp_path / "thresholds.json"
    end = datetime(2030, 1, 31, tzinfo=UTC)
    gf.Decider({"F": 0.5}, expires=end, sketch_digest=DIGEST).save(path)
    before, after = end - timedelta(seconds=1), end
    assert gf.Decider.load(path, now=before, digest=DIGEST).expires == end
    with pytest.raises(
        ValueError, match="these thresholds expired on 2030-01-31T00:00:00Z; solve again, or pass allow"
    ):
        gf.Decider.load(path, now=after)
    assert gf.Decider.load(path, now=after, allow_expired=True).thresholds == {"F": 0.5}
    with pytest.raises(ValueError, match=f"did not come from the sketch with digest f.*: theirs is {DIGEST}"):
        gf.Decider.load(path, now=before, digest="f" * 64)


def test_files_without_extras_load_unless_they_are_asked_for(tmp_path):
    path = tmp_path / "thresholds.json"
    path.write_bytes(GOOD["least"])
    assert gf.Decider.load(path).unknown == "raise"
    with pytest.raises(ValueError, match="no sketch is named in them"):
        gf.Decider.load(path, digest=DIGEST)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="is not UTF-8 text"):
        gf.Decider.load(path)


def test_policies_can_be_chosen_at_load(tmp_path):
    path = tmp_path / "thresholds.json"
    gf.Decider({"F": 0.5}, default=0.25).save(path)
    decider = gf.Decider.load(path, unknown="default", nan=True)
    assert (decider.unknown, decider.nan) == ("default", True)
    assert decider.one(0.3, "unseen") is True


def test_a_result_can_be_sealed():
    """What `Result.save` adds to its own fields; a later change of anything is then noticed."""
    document = json.loads((OLD / "result_v1.json").read_text(encoding="utf-8"))
    thresholds = documents.read(json.dumps(document)).thresholds
    sealed = documents.seal(document, thresholds)
    assert sealed["error"] == document["error"]
    assert documents.read(json.dumps(sealed)).thresholds == thresholds
    sealed["groups"][0]["threshold"] = 0.25
    with pytest.raises(ValueError, match="it was changed or damaged"):
        documents.read(json.dumps(sealed))


@pytest.mark.parametrize("name", ["thresholds", "randomised"])
def test_every_change_of_the_content_is_noticed(name):
    """Also of what only the command line reads: it would decide by another column."""
    document = json.loads((OLD / f"{name}_v1.json").read_text(encoding="utf-8"))
    for changed_one in changes(document):
        with pytest.raises(ValueError, match="valid thresholds"):
            gf.Decider.from_json(json.dumps(changed_one))
    for key in ("score_column", "group_column"):
        with pytest.raises(ValueError, match="it was changed or damaged"):
            gf.Decider.from_json(json.dumps({**document, key: "other"}))
    del document["checksum"]
    with pytest.raises(ValueError, match="it lacks 'checksum'"):
        gf.Decider.from_json(json.dumps(document))


def test_a_file_too_large_to_be_thresholds_is_not_read(tmp_path):
    path = tmp_path / "thresholds.json"
    path.touch()
    os.truncate(path, 2**27 + 1)
    for reader in (gf.Decider, gf.Result):
        with pytest.raises(ValueError, match="is larger than 128 MiB, and thresholds of 65,535 groups take less"):
            reader.load(path)


# --------------------------------------------------------------------------------------------------------------- values


def test_what_cannot_be_thresholds_is_refused(backend):
    for value in (True, False, np.True_):
        with pytest.raises(TypeError, match=f"the threshold of group 'F' must be a number, got {value!r}"):
            gf.Decider({"F": value})
    for value in (10**400, -(10**400), Decimal("1e400")):
        with pytest.raises(ValueError, match="the threshold of group 'F' is too large for a float64"):
            gf.Decider({"F": value})
    assert gf.Decider({"F": Decimal("Infinity")}).thresholds == {"F": INF}


@pytest.mark.parametrize("chances", [(1.5, -0.5), (-1e-9, 1.0), (-0.25, 0.75, 0.5)])
def test_a_negative_probability_is_refused(backend, chances):
    """Even where all add up to 1: a draw could not be made by them."""
    with pytest.raises(ValueError, match="the probabilities of group 'F' must be from 0 to 1"):
        gf.Decider({"F": 0.5}, mixtures={"F": [(0.5, chance) for chance in chances]})
    mixture = [{"threshold": 0.5, "probability": chance} for chance in chances]
    document = json.loads(changed(groups=[{"name": "F", "threshold": 0.5, "mixture": mixture}]))
    with pytest.raises(ValueError, match="the probabilities of group 'F' must be from 0 to 1"):
        gf.Decider.from_json(json.dumps(document))


def test_more_groups_than_there_may_be_are_refused(backend):
    assert len(gf.Decider(dict.fromkeys(range(65_535), 0.5)).groups) == 65_535
    with pytest.raises(ValueError, match="65536 groups; at most 65535 are supported"):
        gf.Decider(dict.fromkeys(range(65_536), 0.5))


@pytest.mark.parametrize(
    "expires",
    [
        *(sign * 10**power for sign in (1, -1) for power in (12, 18, 19, 30, 400)),
        2**63 - 1,
        253_402_300_800,
        -62_135_596_801,
        "9999-12-31T23:59:59-01:00",
        "0001-01-01T00:00:00+01:00",
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=14))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
    ],
)
def test_a_moment_that_has_no_date_is_refused(expires):
    with pytest.raises(ValueError, match="expires must be from 0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z"):
        gf.Decider({"F": 0.5}, expires=expires)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "0999-02-28T23:59:59Z", "9999-12-31T23:59:59Z"])
def test_the_first_and_the_last_date_are_read_back(text):
    decider = gf.Decider({"F": 0.5}, expires=text)
    assert json.loads(decider.to_json())["expires"] == text
    assert gf.Decider.from_json(decider.to_json()) == decider
    assert decider.expires == datetime.fromisoformat(text)


@pytest.mark.parametrize("read", [gf.Decider.from_json, gf.Result.from_json, gf.Segments.from_json])
@pytest.mark.parametrize("given", [3, None, {"format": "gstar_fast.thresholds"}])
def test_what_is_no_text_is_refused_in_words(read, given):
    with pytest.raises(TypeError, match=f"text must be JSON as str or bytes, got {type(given).__name__}; a file is"):
        read(given)
