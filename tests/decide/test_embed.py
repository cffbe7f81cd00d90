"""Programs without Python read what Python saved, decide as it does, and count what it can merge, byte for byte."""

import ctypes
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.cut_points import CUTS, EMPTY, hard_rows
from helpers.documents import changes
from helpers.programs import CXX, compiled, shared_folder

import gstar_fast as gf
from gstar_fast._criteria import CRITERION
from gstar_fast._question.question import Question
from gstar_fast.config import get_cmake_dir, get_include

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "embed_cpp"
pytestmark = [
    pytest.mark.slow,  # compiles
    pytest.mark.skipif(CXX is None or sys.platform == "win32", reason="no C++ compiler of the GCC kind"),
    pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples are not here"),
]


@pytest.fixture(scope="session")  # compiled once, in whatever order tests run
def decide(tmp_path_factory):
    return compiled(EXAMPLES / "decide.cpp", shared_folder(tmp_path_factory) / "decide")


@pytest.fixture(scope="session")  # compiled once, in whatever order tests run
def count(tmp_path_factory):
    return compiled(EXAMPLES / "count.cpp", shared_folder(tmp_path_factory) / "count")


@pytest.fixture(scope="session")  # compiled once, in whatever order tests run
def solve(tmp_path_factory):
    return compiled(EXAMPLES / "solve.cpp", shared_folder(tmp_path_factory) / "solve")


@pytest.fixture(scope="session")  # compiled once, in whatever order tests run
def library_file(tmp_path_factory):
    source = Path(get_include(), "capi", "capi.cpp")
    return compiled(source, shared_folder(tmp_path_factory) / "libgstar.so", "-shared", "-fPIC")


@pytest.fixture(scope="session")
def library(library_file):
    return ctypes.CDLL(str(library_file))


def rows(n=500, seed=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n), rng.integers(0, 2, n), np.array(["F", "M", "Ä"])[rng.integers(0, 3, n)]


def run(program, argument, text):
    return subprocess.run([str(program), str(argument)], input=text.encode(), capture_output=True, check=False)


def lines(*columns):
    return "".join(",".join(map(str, row)) + "\n" for row in zip(*(c.tolist() for c in columns), strict=True))


THRESHOLDS = {"F": -0.627, "M": 0.64, "Ä": float("inf")}


@pytest.mark.parametrize("form", ["json", "bytes"])
def test_the_program_decides_as_python_does(decide, tmp_path, form):
    decider = gf.Decider(THRESHOLDS, unknown=0.1, nan=False, expires="2999-12-31T00:00:00Z", sketch_digest="0f" * 32)
    scores, _, groups = rows()
    groups[:50] = "unseen"
    path = tmp_path / f"thresholds.{form}"
    path.write_bytes(decider.to_json().encode() if form == "json" else decider.to_bytes())
    answer = run(decide, path, lines(scores, groups))
    assert answer.returncode == 0, answer.stderr
    assert [line == b"1" for line in answer.stdout.split()] == decider(scores, groups).tolist()


def test_the_program_decides_by_numbers(decide, tmp_path):
    decider = gf.Decider({0: 0.25, -7: 0.75})
    path = tmp_path / "thresholds.json"
    decider.save(path)
    answer = run(decide, path, "0.5,0\n0.5,-7\n")
    assert answer.stdout.split() == [b"1", b"0"]


def test_the_program_decides_by_numbers_that_stand_for_groups(decide, tmp_path):
    decider = gf.Decider({0: 0.25, 1: 0.75}, cuts=[0.5])
    path = tmp_path / "thresholds.json"
    decider.save(path)
    answer = run(decide, path, "0.5,0.25\n0.5,0.5\n0.5,1\n")
    assert answer.stdout.split() == [b"1", b"0", b"0"]
    answer = run(decide, path, "0.5,F\n")
    assert b"line 1: groups: needs numbers" in answer.stderr


def test_the_program_refuses_as_python_does(decide, tmp_path):
    path = tmp_path / "thresholds.json"
    gf.Decider({"F": 0.5}).save(path)
    answer = run(decide, path, "0.5,F\n0.5,X\n")
    assert answer.returncode == 1
    assert b"line 2: groups: no threshold, got 'X'; allowed: 'F'" in answer.stderr
    path.write_text(path.read_text().replace("0.5", "0.6"))
    assert b"the checksum is" in run(decide, path, "").stderr
    gf.Decider({"F": 0.5}, expires="2001-01-01T00:00:00Z").save(path)
    assert b"these thresholds have expired" in run(decide, path, "").stderr


def test_a_worker_counts_the_bytes_python_counts(backend, count, tmp_path):
    scores, labels, groups = rows()
    first = tmp_path / "first.sketch"
    assert run(count, first, lines(scores, labels, groups)).returncode == 0
    assert first.read_bytes() == gf.Sketch.from_rows(scores, labels, groups).to_bytes()
    second = tmp_path / "second.sketch"
    assert run(count, second, "0.5,,M\n0.25,1,F\n").returncode == 0
    total = gf.Sketch.load(first) + gf.Sketch.load(second)
    assert total.n_rows == 502
    bad = run(count, second, "0.5,1,F\n0.5,2,F\n")
    assert bad.returncode == 1
    assert b"line 2: labels: bad label: 2" in bad.stderr


def test_a_service_finds_the_thresholds_python_finds(solve, tmp_path):
    scores, labels, groups = rows(2000)
    scores = scores + labels * (1.0 + (groups == "F"))
    saved = tmp_path / "thresholds"
    command = [str(solve), "0.05", str(saved)]
    answer = subprocess.run(command, input=lines(scores, labels, groups).encode(), capture_output=True, check=True)
    sketch = gf.Sketch.from_rows(scores, labels, groups)
    result = gf.solve(sketch, limits={"equalized_odds": 0.05}, evidence=0)
    assert saved.read_bytes() == result.decider().to_bytes()
    error, first, *_, last = answer.stdout.decode("utf-8").splitlines()
    assert error == f"error {result.error:.4f}"
    rates = result.rates["F"]
    assert first == f"F >= {result.thresholds['F']:.6g}  tpr {rates.tpr:.4f}  fpr {rates.fpr:.4f}"
    word = "accepted" if result.thresholds["F"] <= 0.5 else "rejected"
    assert last == f"0.5 is {word} at first; now version 2 decides"
    bad = run(solve, "0.05", "0.5,1,F\n")
    assert bad.returncode == 2
    none = subprocess.run(command, input=b"0.5,1,F\n0.5,1,M\n", capture_output=True, check=False)
    assert (none.returncode, none.stderr) == (1, b"rows or labels are missing\n")


def test_c_and_python_believe_the_same_documents(library):
    """Old versions and new, whole and changed: the core and Python read a document, or neither does."""
    library.gstar_decider_read.restype = ctypes.c_void_p
    library.gstar_error.restype = ctypes.c_char_p
    library.gstar_decider_release.argtypes = [ctypes.c_void_p]

    def core_reads(text):
        data = text.encode("utf-8")
        handle = library.gstar_decider_read(data, ctypes.c_size_t(len(data)))
        if handle:
            library.gstar_decider_release(handle)
        return bool(handle)

    def python_reads(text):
        try:
            gf.Decider.from_json(text)
        except ValueError:
            return False
        return True

    for path in sorted((Path(__file__).parent.parent / "old_thresholds").glob("*.json")):
        text = path.read_text(encoding="utf-8")
        document = json.loads(text)
        assert core_reads(text), (path, library.gstar_error())
        assert python_reads(text)
        relaid = json.dumps(json.loads(text, parse_float=lambda x: int(x[:-2]) if x[-2:] == ".0" else float(x)))
        for same in (json.dumps(document, sort_keys=True, indent=3), json.dumps(document, ensure_ascii=False), relaid):
            assert core_reads(same)
            assert python_reads(same)
        for one in changes(document):
            assert not core_reads(json.dumps(one))
            assert not python_reads(json.dumps(one))


def test_the_c_interface_decides_counts_and_reports(library):
    library.gstar_decider_read.restype = ctypes.c_void_p
    library.gstar_error.restype = ctypes.c_char_p
    library.gstar_decider_version.restype = ctypes.c_uint64
    decider = gf.Decider(THRESHOLDS)
    blob = decider.to_bytes()
    handle = ctypes.c_void_p(library.gstar_decider_read(blob, ctypes.c_size_t(len(blob))))
    assert handle.value
    accepted = ctypes.c_int(-1)
    score = ctypes.c_double(0.5)
    assert library.gstar_decide_text(handle, score, b"F", ctypes.c_size_t(1), ctypes.byref(accepted)) == 0
    assert accepted.value == 1
    assert library.gstar_decide_text(handle, score, b"X", ctypes.c_size_t(1), ctypes.byref(accepted)) == 1
    assert b"groups: no threshold, got 'X'" in library.gstar_error()

    scores = np.linspace(-1, 1, 100, dtype=np.float32)
    codes = (np.arange(100) % 3).astype(np.int32)
    out = np.full(100, 9, np.uint8)

    def decide(codes):
        pointers = (ctypes.c_void_p(array.ctypes.data) for array in (scores, codes))
        return library.gstar_decide_f32(handle, ctypes.c_size_t(100), *pointers, 1, ctypes.c_void_p(out.ctypes.data))

    assert decide(codes) == 0
    assert np.array_equal(out.astype(bool), decider(scores, codes, codes=True))
    before = out.copy()
    assert decide(codes + 1) == 1
    assert np.array_equal(out, before)

    other = gf.Decider({"F": 1.0}).to_bytes()
    assert library.gstar_decider_swap(handle, other, ctypes.c_size_t(len(other))) == 0
    assert library.gstar_decider_version(handle) == 2
    assert library.gstar_decider_swap(handle, b"nonsense", ctypes.c_size_t(8)) == 1
    assert library.gstar_decide_text(handle, score, b"F", ctypes.c_size_t(1), ctypes.byref(accepted)) == 0
    assert accepted.value == 0
    library.gstar_decider_release(handle)


@pytest.fixture(scope="session")  # compiled once, in whatever order tests run
def decide_c(tmp_path_factory, library_file):
    """The program in C, as C, linked with our library."""
    target = tmp_path_factory.mktemp("embed") / "decide_c"
    as_c = [CXX, "-x", "c", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{get_include()}", EXAMPLES / "decide.c"]
    link = ["-x", "none", library_file, f"-Wl,-rpath,{library_file.parent}", "-o", target]
    subprocess.run([*map(str, as_c + link)], check=True, capture_output=True)
    return target


@pytest.mark.parametrize(
    ("score", "answer"),
    [("0.64", "1\n"), ("0.1", "0\n"), ("1e3", "1\n"), ("-inf", "0\n"), ("1e-400", "0\n"), ("inf", "1\n")],
)
def test_the_program_in_c_decides(decide_c, tmp_path, score, answer):
    path = tmp_path / "thresholds.json"
    gf.Decider(THRESHOLDS).save(path)
    run = subprocess.run([decide_c, path, score, "M"], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, answer, "")


@pytest.mark.parametrize("score", ["abc", "", "0.5x", "0,5", "1e400", "-1e400"])
def test_the_program_in_c_takes_no_text_for_a_number(decide_c, tmp_path, score):
    """It took abc for 0, and decided by it."""
    path = tmp_path / "thresholds.json"
    gf.Decider({"M": -1.0}).save(path)
    run = subprocess.run([decide_c, path, score, "M"], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (2, "", f"score must be a number, got '{score}'\n")


def test_the_c_interface_writes_sketches_python_reads(library):
    library.gstar_sketch_new.restype = ctypes.c_void_p
    library.gstar_error.restype = ctypes.c_char_p
    scores, labels, _ = rows()
    labels, groups = labels.astype(np.uint8), (np.arange(500) % 4).astype(np.int32)
    handle = ctypes.c_void_p(library.gstar_sketch_new(4096))
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (scores, labels, groups)]
    assert library.gstar_sketch_count_f64(handle, ctypes.c_size_t(500), *pointers) == 0
    assert library.gstar_sketch_merge(handle, handle) == 0
    data, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert library.gstar_sketch_write(handle, ctypes.byref(data), ctypes.byref(size)) == 0
    expected = gf.Sketch.from_rows(scores, labels, groups)
    assert ctypes.string_at(data.value, size.value) == (expected + expected).to_bytes()
    library.gstar_bytes_release(data)
    library.gstar_sketch_release(handle)
    assert library.gstar_sketch_new(17) in (None, 0)
    assert b"bins must be a power of two" in library.gstar_error()


def test_the_c_interface_counts_weights_and_repeats(library):
    library.gstar_sketch_new.restype = ctypes.c_void_p
    library.gstar_sketch_rows.restype = ctypes.c_int64
    library.gstar_sketch_weight.restype = ctypes.c_double
    scores, labels, groups = np.array([0.25, 0.5, 0.75]), np.array([0, 1, 1], np.uint8), np.array([1, 2, 1], np.int32)
    weights, repeats = np.array([2.5, 1.0, 0.5]), np.array([1, 3, 2])
    handle = ctypes.c_void_p(library.gstar_sketch_new(4096))
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (scores, labels, groups, weights, repeats)]
    assert library.gstar_sketch_weigh_f64(handle, ctypes.c_size_t(3), *pointers) == 0
    assert library.gstar_sketch_weigh_f64(handle, ctypes.c_size_t(3), *pointers[:3], None, None) == 0
    row = ctypes.c_double(0.5), ctypes.c_uint(1)
    load = ctypes.c_double(10.0), ctypes.c_uint64(2)
    assert library.gstar_sketch_weigh_number(handle, *row, ctypes.c_int64(2), *load) == 0
    assert library.gstar_sketch_weigh_number(handle, *row, ctypes.c_int64(2), ctypes.c_double(-1.0), load[1]) == 1
    assert library.gstar_sketch_weigh_text(handle, *row, b"a", ctypes.c_size_t(1), *load) == 0
    expected = gf.Sketch.from_rows(scores, labels, groups, weights=weights, repeats=repeats)
    expected.update(scores, labels, groups).update([0.5, 0.5], [1, 1], [2, 2], weights=[10, 10])
    expected.update([0.5, 0.5], [1, 1], ["a", "a"], weights=[10, 10])
    assert (library.gstar_sketch_rows(handle), library.gstar_sketch_weight(handle)) == (13, expected.weight)
    data, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert library.gstar_sketch_write(handle, ctypes.byref(data), ctypes.byref(size)) == 0
    assert ctypes.string_at(data.value, size.value) == expected.to_bytes()
    library.gstar_bytes_release(data)
    library.gstar_sketch_release(handle)


def packed(words):
    """Texts one after the other, and where each begins."""
    parts = [word.encode() for word in words]
    return b"".join(parts), np.cumsum([0, *map(len, parts)], dtype=np.int64)


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def handed_out(library, call, *arguments):
    """What a function answers, and the bytes that it hands out."""
    data, size = ctypes.c_void_p(), ctypes.c_size_t()
    answer = call(*arguments, ctypes.byref(data), ctypes.byref(size))
    got = ctypes.string_at(data.value, size.value) if data.value else None
    library.gstar_bytes_release(data)
    return answer, got


def opened(library, decider):
    library.gstar_decider_read.restype = ctypes.c_void_p
    library.gstar_decider_groups.restype = ctypes.c_size_t
    library.gstar_error.restype = ctypes.c_char_p
    blob = decider.to_bytes()
    handle = ctypes.c_void_p(library.gstar_decider_read(blob, ctypes.c_size_t(len(blob))))
    assert handle.value
    return handle


def test_the_c_interface_names_the_groups_of_a_decider(library):
    groups = ["F", "Ä", "", 7, -1, True, ("F", 3)]
    handle = opened(library, gf.Decider(dict.fromkeys(groups, 0.5)))
    assert library.gstar_decider_groups(handle) == len(groups)
    names = [handed_out(library, library.gstar_decider_group, handle, ctypes.c_size_t(k)) for k in range(len(groups))]
    assert sorted(name.decode() for _, name in names) == sorted(map(str, groups))
    assert handed_out(library, library.gstar_decider_group, handle, ctypes.c_size_t(99)) == (1, None)
    library.gstar_decider_release(handle)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_c_interface_counts_and_decides_groups_that_are_strings(library, dtype):
    library.gstar_sketch_new.restype = ctypes.c_void_p
    kind = "f32" if dtype is np.float32 else "f64"
    scores, labels, groups = rows()
    scores, labels, weights = scores.astype(dtype), labels.astype(np.uint8), np.arange(500) % 5 + 0.5
    data, offsets = packed(groups)
    n, columns = ctypes.c_size_t(500), (data, pointer(offsets))
    for load in (None, weights):
        sketch = ctypes.c_void_p(library.gstar_sketch_new(4096))
        weigh = getattr(library, f"gstar_sketch_weigh_texts_{kind}")
        weight = None if load is None else pointer(load)
        assert weigh(sketch, n, pointer(scores), pointer(labels), *columns, weight, None) == 0
        assert weigh(sketch, ctypes.c_size_t(0), None, None, None, None, None, None) == 0
        written = handed_out(library, library.gstar_sketch_write, sketch)
        assert written == (0, gf.Sketch.from_rows(scores, labels, groups, weights=load).to_bytes())
        assert weigh(sketch, n, pointer(scores), None, data, pointer(offsets[::-1].copy()), None, None) == 1
        assert weigh(sketch, n, pointer(scores), None, None, None, None, None) == 1
        library.gstar_sketch_release(sketch)

    mixed = gf.Decider(THRESHOLDS, mixtures={g: [(t - 0.5, 0.25), (t, 0.75)] for g, t in THRESHOLDS.items()})
    plain, keys = gf.Decider(THRESHOLDS), np.arange(500)
    library.gstar_hash_number.restype = ctypes.c_uint64
    hashes = np.array([library.gstar_hash_number(ctypes.c_int64(key)) for key in keys], np.uint64)
    codes = np.array([mixed.groups.index(g) for g in groups], np.int32)
    texts, keyed = (getattr(library, f"gstar_decide_{what}_{kind}") for what in ("texts", "keyed"))
    out = np.full(500, 9, np.uint8)
    handle = opened(library, plain)
    assert texts(handle, n, pointer(scores), *columns, None, pointer(out)) == 0
    assert np.array_equal(out.astype(bool), plain(scores, groups))
    library.gstar_decider_release(handle)
    handle, expected = opened(library, mixed), mixed(scores, groups, keys=keys)
    for call in (
        lambda: texts(handle, n, pointer(scores), *columns, pointer(hashes), pointer(out)),
        lambda: keyed(handle, n, pointer(scores), pointer(codes), 1, pointer(hashes), pointer(out)),
    ):
        out[:] = 9
        assert call() == 0, library.gstar_error()
        assert np.array_equal(out.astype(bool), expected)
    assert texts(handle, n, pointer(scores), *columns, None, pointer(out)) == 1
    unseen, places = packed(["unseen"] * 500)
    assert texts(handle, n, pointer(scores), unseen, pointer(places), pointer(hashes), pointer(out)) == 1
    assert b"groups at row 0: no threshold, got 'unseen'" in library.gstar_error()
    assert np.array_equal(out.astype(bool), expected)
    library.gstar_decider_release(handle)


@pytest.fixture(scope="module")
def counted():
    scores, labels, groups = rows(3000)
    return gf.Sketch.from_rows(scores + labels * (1.0 + (groups == "F")), labels, groups)


def asked(library, sketch, question):
    library.gstar_error.restype = ctypes.c_char_p
    library.gstar_decider_read.restype = ctypes.c_void_p
    text, blob = question.encode(), sketch.to_bytes()
    sizes = ctypes.c_size_t(len(blob)), ctypes.c_size_t(len(text))
    return handed_out(library, library.gstar_solve, blob, sizes[0], text, sizes[1])


@pytest.mark.parametrize(
    "options",
    [
        {},
        *({"limits": {name: 0.9 if name == "disparate_impact" else 0.04}} for name in CRITERION),
        *({"penalties": {name: 2.0}} for name in ("demographic_parity", "equalized_odds", "balanced_accuracy_parity")),
        {"limits": {"equal_opportunity": 0.1, "disparate_impact": 0.8}, "objective": "balanced_error"},
        {"limits": {"equalized_odds": 0.05}, "objective": {"fp": 3, "fn": 7}, "max_seconds": 60.0},
        {"limits": {"equalized_odds": 0.05}, "objective": {"fp": 3, "fn": 7, "balanced": True}},
        {"limits": {"demographic_parity": 0.02}, "unified": True},
    ],
    ids=str,
)
def test_c_solves_what_python_solves_to_the_same_bytes(library, counted, options):
    result = gf.solve(counted, **options, evidence=0)
    answer, thresholds = asked(library, counted, json.dumps(result.question.to_dict()))
    assert answer == (2 if result.verdict == "infeasible" else 0), library.gstar_error()
    assert thresholds == result.decider().to_bytes()


def test_c_solves_mixtures(library, counted):
    question = {"limits": [{"of": "equalized_odds", "at_most": 0.01}], "randomize": True, "evidence": 0}
    answer, thresholds = asked(library, counted, json.dumps(question))
    assert answer == 0
    handle = ctypes.c_void_p(library.gstar_decider_read(thresholds, ctypes.c_size_t(len(thresholds))))
    accepted = ctypes.c_int(-1)
    row = handle, ctypes.c_double(0.5), b"F", ctypes.c_size_t(1)
    assert library.gstar_decide_text(*row, ctypes.byref(accepted)) == 1
    assert b"key" in library.gstar_error()
    assert library.gstar_decide_text_keyed(*row, ctypes.c_uint64(7), ctypes.byref(accepted)) == 0
    library.gstar_decider_release(handle)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, 'a question without "evidence": 0 is solved in Python only'),
        ({"evidence": 0, "limits": {"tpr": {"at_least": 0.5}}}, "a limit on 'tpr' is"),
        ({"evidence": 0, "confidence": 0.9, "limits": {"equalized_odds": 0.5}}, "the option 'confidence' is"),
        ({"evidence": 0, "min_rows": 5}, "the option 'min_rows' is"),
        ({"evidence": 0, "density": "kde", "method": "newton", "penalties": {"equalized_odds": 1}}, "the option "),
        ({"evidence": 0, "objective": {"fp": 1, "fn": 2.5}}, "a price that is not whole"),
    ],
    ids=str,
)
def test_c_says_what_only_python_solves(library, counted, options, words):
    question = json.dumps(Question.of(**options).to_dict())
    assert asked(library, counted, question) == (4, None)
    assert words in library.gstar_error().decode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        '{"evidence": 0',
        '{"evidence": "0"}',
        '{"evidence": 0, "limits": {}}',
        '{"evidence": 0, "limits": [{}]}',
        '{"evidence": 0, "limits": [7]}',
        '{"evidence": 0, "limits": [{"of": "equalized_odds"}]}',
        '{"evidence": 0, "limits": [{"of": "equalized_odds", "at_least": 0.1}]}',
        '{"evidence": 0, "limits": [{"of": "equalized_odds", "at_most": "x"}]}',
        '{"evidence": 0, "limits": [{"of": "equalized_odds", "at_most": 1.5}]}',
        '{"evidence": 0, "limits": [{"of": "equalized_odds", "at_most": 0.1, "other": 1}]}',
        '{"evidence": 0, "penalties": {"disparate_impact": 1}}',
        '{"evidence": 0, "penalties": {"equalized_odds": null}}',
        '{"evidence": 0, "penalties": []}',
        '{"evidence": 0, "objective": "cost"}',
        '{"evidence": 0, "objective": {"fp": 1}}',
        '{"evidence": 0, "objective": {"fp": 1, "fn": 1, "tp": 1}}',
        '{"evidence": 0, "unified": 1}',
        '{"evidence": 0, "randomize": true, "unified": true}',
        '{"evidence": 0, "max_seconds": 0}',
    ],
)
def test_c_rejects_what_is_not_a_question(library, counted, text):
    assert asked(library, counted, text) == (1, None)
    assert library.gstar_error()


def test_c_rejects_what_is_not_a_sketch_or_lacks_rows(library, counted):
    question = '{"evidence": 0, "limits": [{"of": "equalized_odds", "at_most": 0.1}]}'
    empty = gf.Sketch()
    assert asked(library, empty, question) == (1, None)
    assert library.gstar_error() == b"the sketch lacks rows or labels that the question needs"
    text = question.encode()
    call = library.gstar_solve, b"nonsense", ctypes.c_size_t(8), text, ctypes.c_size_t(len(text))
    assert handed_out(library, *call) == (1, None)


@pytest.fixture(scope="session")  # compiled once, in whatever order tests run
def solve_c(tmp_path_factory, library_file):
    """The program in C, as C, linked with our library."""
    target = tmp_path_factory.mktemp("embed") / "solve_c"
    as_c = [CXX, "-x", "c", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{get_include()}", EXAMPLES / "solve.c"]
    link = ["-x", "none", library_file, f"-Wl,-rpath,{library_file.parent}", "-o", target]
    subprocess.run([*map(str, as_c + link)], check=True, capture_output=True)
    return target


def test_the_program_in_c_counts_solves_and_decides(solve_c, tmp_path):
    scores, labels, groups = rows(2000)
    scores = scores + labels * (1.0 + (groups == "F"))
    result = gf.solve(gf.Sketch.from_rows(scores, labels, groups), limits={"equalized_odds": 0.05}, evidence=0)
    question, saved = json.dumps(result.question.to_dict()), tmp_path / "thresholds"

    def answer(question, text):
        return subprocess.run([solve_c, question, saved], input=text.encode(), capture_output=True, check=False)

    good = answer(question, lines(scores, labels, groups))
    assert (good.returncode, good.stderr) == (0, b"")
    assert saved.read_bytes() == result.decider().to_bytes()
    accepted = int(result.decider()(scores, groups).sum())
    assert good.stdout.decode() == f"F\nM\nÄ\n{accepted} of 2000 rows are accepted\n"
    unsupported = answer("{}", lines(scores, labels, groups))
    assert (unsupported.returncode, unsupported.stdout) == (4, b"")
    assert answer(question, "0.5,1\n").stderr == b"a line is score,label,group\n"
    assert answer(question, "0.5,1,F\n").returncode == 1


@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
def test_cmake_finds_the_package(tmp_path):
    """find_package, the headers, and both C libraries."""
    build = [
        "cmake",
        "-S",
        str(EXAMPLES),
        "-B",
        str(tmp_path),
        f"-Dgstar_DIR={get_cmake_dir()}",
        "-DCMAKE_BUILD_TYPE=Debug",
        "-DCMAKE_CXX_FLAGS_DEBUG=-O0",  # -g makes it slower, and no one debugs it
    ]
    subprocess.run(build, check=True, capture_output=True)
    targets = ["--target", "decide_c", "--target", "decide_c_static"]
    subprocess.run(["cmake", "--build", str(tmp_path), "--parallel", "2", *targets], check=True, capture_output=True)
    path = tmp_path / "thresholds.json"
    gf.Decider(THRESHOLDS).save(path)
    for program in ("decide_c", "decide_c_static"):
        for group, expected in (("F", b"1\n"), ("M", b"0\n")):
            answer = subprocess.run([tmp_path / program, path, "0.1", group], capture_output=True, check=True)
            assert answer.stdout == expected


SUBPROJECT = """
cmake_minimum_required(VERSION 3.15)
project(service LANGUAGES C CXX)
{get}
add_subdirectory("{examples}" examples)
"""
FETCH = """
include(FetchContent)
FetchContent_Declare(gstar URL "{root}/gstar.tar.gz")
FetchContent_MakeAvailable(gstar)
"""


@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
@pytest.mark.skipif(not (ROOT / "CMakeLists.txt").is_file(), reason="the sources are not here")
@pytest.mark.parametrize("route", ["add_subdirectory", "FetchContent", "install"])
def test_cmake_finds_the_sources(tmp_path, route):
    def cmake(*words):
        ended = subprocess.run(["cmake", *map(str, words)], capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr

    source, build = tmp_path / "source", tmp_path / "build"
    source.mkdir()
    options = ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0"]
    if route == "install":
        cmake("-S", ROOT, "-B", tmp_path / "gstar", "-DGSTAR_BUILD_TESTS=OFF")
        cmake("--install", tmp_path / "gstar", "--prefix", tmp_path / "prefix")
        cmake("-S", EXAMPLES, "-B", build, f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}", *options)
    else:
        if route == "FetchContent":
            for name in ("csrc/gstar", "csrc/capi", "cmake"):
                shutil.copytree(ROOT / name, tmp_path / "gstar" / name)
            shutil.copy(ROOT / "CMakeLists.txt", tmp_path / "gstar")
            shutil.make_archive(str(tmp_path / "gstar"), "gztar", tmp_path, "gstar")
        get = FETCH.format(root=tmp_path) if route == "FetchContent" else f'add_subdirectory("{ROOT}" gstar)'
        (source / "CMakeLists.txt").write_text(SUBPROJECT.format(get=get, examples=EXAMPLES))
        cmake("-S", source, "-B", build, *options)
    cmake("--build", build, "--parallel", "2", "--target", "decide", "--target", "decide_c_static")
    path = tmp_path / "thresholds.json"
    gf.Decider(THRESHOLDS).save(path)
    (decide,) = (file for file in build.rglob("decide") if file.is_file())  # not a folder of headers
    assert run(decide, path, "0.1,F\n0.1,M\n").stdout.split() == [b"1", b"0"]
    (decide_c,) = build.rglob("decide_c_static")
    assert subprocess.run([decide_c, path, "0.1", "F"], capture_output=True, check=True).stdout == b"1\n"


@pytest.mark.parametrize("form", ["json", "bytes"])
def test_c_decides_by_the_number_that_stands_for_the_group(library, form):
    library.gstar_decider_read.restype = ctypes.c_void_p
    library.gstar_error.restype = ctypes.c_char_p
    library.gstar_hash_number.restype = ctypes.c_uint64

    def opened(decider):
        data = decider.to_json().encode() if form == "json" else decider.to_bytes()
        handle = ctypes.c_void_p(library.gstar_decider_read(data, ctypes.c_size_t(len(data))))
        assert handle.value, library.gstar_error()
        return handle

    decider = gf.Decider(EMPTY, cuts=CUTS, unknown=0.3, nan=False)
    handle, accepted = opened(decider), ctypes.c_int(-1)
    for dtype, call in ((np.float32, library.gstar_decide_reals_f32), (np.float64, library.gstar_decide_reals_f64)):
        scores, numbers = hard_rows(dtype, dtype)
        out, pointers = np.zeros(len(scores), np.uint8), [ctypes.c_void_p(x.ctypes.data) for x in (scores, numbers)]
        assert call(handle, ctypes.c_size_t(len(scores)), *pointers, ctypes.c_void_p(out.ctypes.data)) == 0
        assert out.astype(bool).tolist() == decider(scores, numbers).tolist()
    for score, number, expected in zip(scores, numbers, decider(scores, numbers), strict=True):
        where = ctypes.byref(accepted)
        assert library.gstar_decide_real(handle, ctypes.c_double(score), ctypes.c_double(number), where) == 0
        assert accepted.value == expected
    one = ctypes.c_double(0.5)
    assert library.gstar_decide_number(handle, one, ctypes.c_int64(1), ctypes.byref(accepted)) == 1
    assert b"needs numbers" in library.gstar_error()
    library.gstar_decider_release(handle)
    plain = opened(gf.Decider({0: 0.5}))
    assert library.gstar_decide_real(plain, one, one, ctypes.byref(accepted)) == 1
    assert b"bad group type" in library.gstar_error()
    library.gstar_decider_release(plain)
    drawn = gf.Decider({0: 0.25}, mixtures={0: [(0.25, 0.5), (0.75, 0.5)]}, cuts=[])
    handle = opened(drawn)
    for key in range(30):
        key_hash = ctypes.c_uint64(library.gstar_hash_number(ctypes.c_int64(key)))
        assert library.gstar_decide_real_keyed(handle, one, one, key_hash, ctypes.byref(accepted)) == 0
        assert accepted.value == drawn.one(0.5, 0.5, key)
    library.gstar_decider_release(handle)
