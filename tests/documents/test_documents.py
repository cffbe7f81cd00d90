"""One grammar: Python, the command line, the schemas and C++ read the same documents, and refuse the same.

`helpers.saved_documents` has them: a few good files in `good/`, and tables of what to change in them to get others.
"""

import copy
import json
import re
import sys
from pathlib import Path

import pytest
from helpers.bad_documents import BAD_RESULTS
from helpers.documents import changed, places
from helpers.programs import CXX, SANITIZE, WARNINGS, Reader, can_sanitize, compiled, shared_folder
from helpers.saved_documents import BAD, GOOD, SAYS, write
from hypothesis import given, settings
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast.__main__ import main
from gstar_fast._base import json as strict
from gstar_fast._decide import document
from gstar_fast._solver.answer import document as answer

HERE = Path(__file__).parent
PROGRAM = HERE.parent.parent / "csrc" / "tests" / "read_documents.cpp"

ONLY_PYTHON = {name for rows in BAD_RESULTS.values() for name in rows}

needs_compiler = pytest.mark.skipif(
    CXX is None or sys.platform == "win32" or not PROGRAM.exists(), reason="no C++ compiler of the GCC kind"
)


@pytest.fixture(scope="session")  # compiled once, in whatever order tests run
def program(tmp_path_factory):
    folder = shared_folder(tmp_path_factory)
    flags = [*WARNINGS, *(SANITIZE if can_sanitize(folder) else ())]
    return compiled(PROGRAM, folder / "read_documents", *flags)


@pytest.fixture(scope="session")
def core(program):
    """The C++ reader of documents."""
    reader = Reader(program)
    yield reader
    reader.close()


@pytest.fixture(scope="session")
def core_json(program):
    """The C++ reader of JSON."""
    reader = Reader(program, "json")
    yield reader
    reader.close()


def python(data):
    """Python's verdict: whether it reads all of the bytes, and the checksum of the thresholds or the reason."""
    try:
        saved = document.read(data.decode("utf-8"))
        if saved.is_result:
            answer.result_of(saved)
        return True, saved.thresholds.checksum
    except UnicodeDecodeError:
        return False, "not UTF-8"
    except ValueError as error:
        return False, str(error)


def is_result(data):
    return json.loads(data)["format"] == "gstar_fast.result"


def schema_of(data):
    name = "result" if is_result(data) else "thresholds"
    return json.loads(Path(gf.__file__).with_name("schemas").joinpath(f"{name}.json").read_text(encoding="utf-8"))


# ------------------------------------------------------------------------------------------------------------ the files


def test_the_corpus_is_large_and_says_why():
    assert len(GOOD) >= 60
    assert len(BAD) >= 300
    assert len(set(BAD.values())) == len(BAD)
    assert SAYS.keys() == BAD.keys()


@needs_compiler
@pytest.mark.parametrize("name", GOOD)
def test_a_good_document_is_read_by_all(name, core):
    """And they take it for the same thresholds."""
    read, checksum = python(GOOD[name])
    assert read, checksum
    assert core(GOOD[name]) == (True, checksum)


# C++ lists the fields of a refusal, Python has a sentence.
BEGINS = ("not JSON: ", "not valid thresholds: ", "thresholds: not valid: ", "not a saved result: ", "not UTF-8")


@needs_compiler
@pytest.mark.parametrize("name", BAD)
def test_a_bad_document_is_refused_by_all(name, core):
    """And they say what is wrong with it; C++ reads only the members of a result that decide."""
    answers = [python(BAD[name])]
    if name in ONLY_PYTHON:
        assert core(BAD[name]) == python(what_decides(BAD[name]))
        assert core(BAD[name])[0]
    else:
        answers.append(core(BAD[name]))
    for read, why in answers:
        assert not read
        assert why.startswith(BEGINS), why
        assert any(words in why for words in SAYS[name].split("|")), why


@pytest.mark.parametrize("name", GOOD)
def test_a_good_document_is_loaded_as_what_it_is(name, tmp_path):
    path = tmp_path / f"{name}.json"
    path.write_bytes(GOOD[name])
    if is_result(GOOD[name]):
        result = gf.Result.load(path)
        assert gf.Result.from_json(result.to_json()) == result
    else:
        with pytest.raises(ValueError, match=r"not a saved result: 'format' is not 'gstar_fast\.result'"):
            gf.Result.load(path)
    text = GOOD[name].decode("utf-8")
    decider = gf.Decider.from_json(text)
    assert gf.Decider.from_json(decider.to_json()) == decider


@pytest.mark.parametrize("name", BAD)
def test_a_bad_document_is_loaded_by_nobody(name, tmp_path):
    """A decider looks only at what decides, as C++ does."""
    path = tmp_path / f"{name}.json"
    path.write_bytes(BAD[name])
    for reader in (gf.Decider,) * (name not in ONLY_PYTHON) + (gf.Result,):
        with pytest.raises(ValueError, match=rf"{re.escape(path.name)}'(:| is) not "):
            reader.load(path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gstar_fast.errors.InfeasibleWarning")
@pytest.mark.filterwarnings("ignore::gstar_fast.errors.UnpromisedWarning")
def test_the_command_line_reads_what_the_library_reads(tmp_path, monkeypatch, capsys):
    """`apply` on a table without rows: what is left is reading the thresholds."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    table = Path("rows.csv")
    table.write_text("p,g,k\n")
    columns = ["--score", "p", "--group", "g", "-o", "out.csv", "--allow-expired", "--allow-infeasible"]
    for name in (*GOOD, *BAD):
        path = tmp_path / ("good" if name in GOOD else "bad") / f"{name}.json"
        keys = ["--key", "k"] if name in GOOD and gf.Decider.from_json(GOOD[name].decode()).randomized else []
        code = main(["apply", "rows.csv", "--thresholds", str(path), *columns, *keys])
        error = capsys.readouterr().err
        assert (code == 0) == (name in GOOD or name in ONLY_PYTHON), (name, error)
        if code:
            assert path.name in error


# ---------------------------------------------------------------------------------------------------------- the schemas


@pytest.mark.parametrize("name", GOOD)
def test_a_good_document_fits_its_schema(name):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(json.loads(GOOD[name]), schema_of(GOOD[name]))


# What a schema cannot say: checksums, the calendar, Unicode, sums, what stands twice, an order, how a whole number is
# written.
BEYOND_SCHEMAS = re.compile(
    r"checksum_.*|.*_changed_by_hand|expires_(day_31|leap_day|line_feed).*|.*hal(f|ves)_.*|mixture_(in|of_|that).*"
    r"|name_(twice.*|real|.*64_bits)|unified_that_differ|unknown_default_.*|version_real|result_with_iterations_1_0"
    r"|promise_(of_(other_(protected_)?groups|fewer_groups|true_for_1)|by_fewer_groups|with_a_group_beyond)"
    r"|held_of_fewer_limits|question_(of|that)_.*|result_with_(fewer_rates_before|unknown_limit)"
    r"|decide_by_missing|protected_missing|cuts_(descending|twice.*|fewer_than_groups)|result_with_cuts_of_other_segments"
)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_document_misses_its_schema(name):
    """Unless it is bad in a way that no schema can tell."""
    jsonschema = pytest.importorskip("jsonschema")
    try:
        content = strict.read(BAD[name])
        schema = schema_of(BAD[name])
    except (KeyError, TypeError, ValueError):
        return  # nothing a schema could be chosen for
    valid = jsonschema.Draft202012Validator(schema).is_valid(content)
    assert not valid or BEYOND_SCHEMAS.fullmatch(name)


def test_schemas_and_readers_name_the_same_members():
    for table, name in ((document.OF_THRESHOLDS, "thresholds"), (answer.OF_RESULT, "result")):
        path = Path(gf.__file__).with_name("schemas") / f"{name}.json"
        schema = json.loads(path.read_text(encoding="utf-8"))
        assert set(schema["properties"]) == set(table)
        assert set(schema["required"]) == {key for key, member in table.items() if member.required}
        group = schema["properties"]["groups"]["items"]
        of_group = {**document.OF_GROUP, **answer.OF_RATES} if name == "result" else document.OF_GROUP
        assert set(group["properties"]) == set(of_group)
        assert set(group["required"]) == {key for key, member in of_group.items() if member.required}


# --------------------------------------------------------------------------------------------------- chance and changes

VALUES = st.sampled_from(
    [
        *(
            None,
            True,
            False,
            "",
            "inf",
            "-inf",
            "nan",
            "raise",
            "default",
            "F",
            "\0",
            "\ud800",
            "x" * 100,
            "Ä\U0001f600",
        ),
        *(0, 1, 2, 3, -1, 2**63 - 1, 2**63, -(2**63), 2**64, 10**400, 0.5, 1.0, -0.0, 5e-324, 1.5e308, 1e-9),
        *([], {}, [[]], [{}], [0.5], {"tuple": []}, {"tuple": ["F", 1]}, {"tuple": [[]]}, {"equalized_odds": 0.5}),
        *("2030-01-31T00:00:00Z", "2030-02-31T00:00:00Z", "2030-01-31T00:00:00+00:00", "0000-01-01T00:00:00Z"),
        *("0f" * 32, "crc32:00000000", "optimal", "exact", "gstar_fast.result", "gstar_fast.thresholds"),
        *([{"threshold": 1, "probability": 1}], [{"threshold": "inf", "probability": 0.5}] * 2),
        {"name": "Z", "threshold": 0.5},
    ]
)
KEYS = st.sampled_from(
    [
        *answer.OF_RESULT,
        *document.OF_GROUP,
        *answer.OF_RATES,
        "of",
        "at_most",
        "limits",
        "probability",
        "tuple",
        "more",
        "",
    ]
)
WRITTEN = st.sampled_from(["007", "1E-400", "-0", "1e400", "NaN", "1.", "1.0", "12e-1", f"0.{'0' * 400}1", "9" * 30])

BYTES = st.sampled_from([b"", b"\xff", b",", b'"', b"\\", b"0", b" ", b"\n", b"[", b"}", b"\xc3", b"\0"])


def sealed(content):
    """The document with a right checksum, if it is whole enough to have one: anybody can compute it."""
    try:
        return strict.sealed(strict.read(json.dumps(content)))
    except ValueError:
        return content


@st.composite
def mutated(draw):
    """A good document with up to three things changed; it is sealed again, and then perhaps changed in its text."""
    content = json.loads(GOOD[draw(st.sampled_from(sorted(set(GOOD) - {"many_groups"})))])
    for _ in range(draw(st.integers(0, 3))):
        path, value = draw(st.sampled_from(list(places(content))))
        how = draw(st.sampled_from(["put", "put", "drop", "rename", "add", "copy"]))
        if isinstance(value, dict) and value and how != "put":
            key = draw(st.sampled_from(sorted(value)))
            one = {k: v for k, v in value.items() if k != key}
            if how == "rename":
                one[draw(KEYS)] = value[key]
            elif how != "drop":
                one = {**value, draw(KEYS): draw(VALUES) if how == "add" else value[key]}
            content = changed(content, path, one)
        elif isinstance(value, list) and value and how != "put":
            i = draw(st.integers(0, len(value) - 1))
            one = value[:i] + value[i + 1 :] if how == "drop" else [*value, copy.deepcopy(value[i])]
            content = changed(content, path, one)
        else:
            content = changed(content, path, draw(VALUES))
        if not isinstance(content, dict):
            break
    if isinstance(content, dict) and draw(st.integers(0, 4)):
        content = sealed(content)
    text = json.dumps(content, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 3)) == 0:
        numbers = [m.span() for m in re.finditer(rb"-?[0-9.]+(e-?[0-9]+)?", text)]
        first, last = draw(st.sampled_from(numbers or [(0, 0)]))
        text = text[:first] + draw(WRITTEN).encode() + text[last:]
    if draw(st.integers(0, 3)) == 0:
        first = draw(st.integers(0, len(text)))
        last = draw(st.sampled_from([first, first + 1, len(text)]))
        text = text[:first] + draw(BYTES) + text[last:]
    return text


def only(value, keys):
    return {key: one for key, one in value.items() if key in keys} if isinstance(value, dict) else value


def what_decides(text):
    """The document without what only Python reads: a sealed result as thresholds, all else as it is."""
    try:
        content = strict.read(text)
        if content["format"] != document.RESULT_FORMAT or content["checksum"] != strict.checksum(content):
            return text
    except (KeyError, TypeError, ValueError):
        return text
    kept = only(content, document.OF_THRESHOLDS)
    if isinstance(kept.get("groups"), list):
        kept["groups"] = [only(group, document.OF_GROUP) for group in kept["groups"]]
    return strict.dumps(strict.sealed({**kept, "format": document.FORMAT})).encode()


@needs_compiler
@settings(max_examples=500)
@given(mutated())
def test_both_readers_agree_on_changed_documents(core, text):
    """The same verdict, the same thresholds where it is yes, and then the schema agrees too."""
    read, answer = python(text)
    in_core, core_answer = core(text)
    decides, checksum = python(what_decides(text))
    assert decides == in_core, (text, checksum, core_answer)
    assert in_core or not read, (text, answer, core_answer)
    if in_core:
        assert checksum == core_answer
    if read:
        assert answer == core_answer
        jsonschema = pytest.importorskip("jsonschema")
        jsonschema.validate(json.loads(text), schema_of(text))
        assert gf.Decider.from_json(text.decode()).groups
        if is_result(text):
            assert str(gf.Result.from_json(text.decode()))


TOKENS = st.sampled_from(
    [
        *(
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            '"',
            "\\",
            " ",
            "\n",
            "\t",
            "\f",
            "\0",
            "\ufeff",
            "-",
            "+",
            ".",
            "e",
            "E",
            "0",
            "1",
        ),
        *("12", "00", "1e5", "1E-400", "1e400", "true", "false", "null", "NaN", "Infinity", '"a"', '"a":', '"\\u00e4"'),
        *('"\\ud83d\\ude00"', '"\\ud83d"', '"\\n"', '"ä"', '{"a":1}', "[1,2]", "9223372036854775808", "-0"),
    ]
)


@needs_compiler
@settings(max_examples=500)
@given(st.lists(TOKENS, max_size=12).map("".join) | st.text(max_size=12))
def test_both_readers_agree_on_what_is_json(core_json, text):
    """Any text: the same is JSON, and says the same."""
    for whole in (text, f'{{"a": {text}}}'):
        try:
            value = strict.read(whole)
            expected = strict.checksum(value if isinstance(value, dict) else {"a": value})
        except ValueError:
            expected = None
        read, answer = core_json(whole.encode("utf-8"))
        assert read == (expected is not None), (whole, answer)
        if isinstance(expected, str) and whole.lstrip().startswith("{"):
            assert answer == expected


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**64)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-(2**64), 2**64).map(float)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@needs_compiler
@settings(max_examples=500)
@given(json_values)
def test_both_readers_have_the_same_checksum(core_json, value):
    """Of whatever may stand in a document: numbers of every size and form, names in every script."""
    text = json.dumps({"more": value})
    assert core_json(text.encode()) == (True, strict.checksum(strict.read(text)))


@needs_compiler
@pytest.mark.parametrize("depth", range(30, 36))
@pytest.mark.parametrize("one", ["[]", '{"a":}'])
def test_both_readers_stop_at_the_same_depth(core_json, depth, one):
    begin, end = one[:-1], one[-1]
    for inmost in ("1", "[]"):
        text = '{"a":' + begin * depth + inmost + end * depth + "}"
        try:
            expected = True, strict.checksum(strict.read(text))
        except ValueError:
            expected = False, "not JSON: it is nested too deeply"
        assert core_json(text.encode()) == expected


def test_a_text_too_long_to_be_a_document_is_not_read(monkeypatch):
    monkeypatch.setattr(document, "LONGEST", 2**10)
    text = GOOD["least"].decode()
    assert document.read(text + " " * (2**10 - len(text)))
    with pytest.raises(ValueError, match="larger than"):
        document.read(text + " " * (2**10 - len(text) + 1))
    with pytest.raises(ValueError, match="larger than"):
        document.read(text + "ä" * (2**9 - len(text) // 2 + 1))
