"""Bad input is refused alike on every backend: the same code, class, fields and words, and nothing is changed."""

from __future__ import annotations

import inspect
import pickle
import re
import struct
import zlib
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import gstar_fast as gf
from gstar_fast import _backends, errors
from gstar_fast._base.refusals.option_sentences import OPTION_CASES
from gstar_fast._base.refusals.refusal import about, refusal, table, worded
from gstar_fast._base.refusals.sentences import ROW_CASES
from gstar_fast._base.refusals.wording import PYTHON
from gstar_fast._base.sections import LabelTexts
from gstar_fast._cli.errors import Options, Table, exit_code
from gstar_fast._sketch.columns import Columns

ROOT = Path(__file__).parent.parent.parent
BACKENDS = [name for name in _backends.BACKENDS if name != "native" or _backends.has_native()]
NAN, INF = float("nan"), float("inf")
X, Y, G = [0.1, 0.2, 0.3, 0.4], [0, 1, 1, 0], ["a", "b", "a", "b"]


F8 = np.array(X)  # plain arrays take the short way into the core
N8 = np.array([1, 2, 1, 2])


def array(values, dtype):
    return np.array(values, dtype)


# ------------------------------------------------------------------------------------------------------------- counting

# what is wrong, what was counted, and the code it is refused with
BATCHES = [
    ("NaN in a list", (([0.1, NAN, 0.3, 0.4], Y, G), {}), "nan_score"),
    (
        "NaN in plain arrays",
        ((array([0.1, NAN, 0.3], "f4"), array([0, 1, 1], "u1"), array([1, 2, 1], "i4")), {}),
        "nan_score",
    ),
    ("a null as score", (([0.1, None, 0.3, 0.4], Y, G), {}), "nan_score"),
    ("a huge score", ((array([0.1, 1e302], "f8"), array([0, 1], "u1"), array([1, 2], "i4")), {}), "too_large"),
    ("a round huge score", ((array([0.1, -1e305], "f8"), [0, 1], ["a", "b"]), {}), "too_large"),
    ("a huge Decimal", (([0.1, Decimal("1e400")], [0, 1], ["a", "b"]), {}), "too_large"),
    ("a label of 2", ((F8, array([0, 1, 2, 0], "i8"), N8), {}), "bad_label"),
    ("labels -1 and 1", ((F8, array([-1, 1, 1, -1], "i1"), N8), {}), "bad_label"),
    (
        "a label beyond int64",
        ((F8, array([0, 1, 2**64 - 1, 0], "u8"), N8), {}),
        "bad_label",
    ),
    ("a label of 0.5", ((X, [0, 1, 0.5, 0], G), {}), "bad_label"),
    ("a NaN label", ((X, [0, 1, NAN, 0], G), {}), "nan_label"),
    ("labels of text", ((X, ["0", "1", "1", "0"], G), {}), "bad_label_type"),
    ("labels of fixed-width text", ((X, array(["no", "yes", "yes", "no"], str), G), {}), "bad_label_type"),
    ("a missing group", ((X, Y, ["a", None, "a", "b"]), {}), "missing_group"),
    ("a column of floats as groups, one missing", ((X, Y, array([1.0, NAN, 2.0, 1.0], "f8")), {}), "missing_group"),
    ("a group of 2**70", ((X, Y, [1, 2**70, 1, 1]), {}), "too_large_group"),
    ("a uint64 group", ((F8, array(Y, "u1"), array([1, 2**63, 1, 1], "u8")), {}), "too_large_group"),
    ("half a character", ((X, Y, ["a", "\ud800", "a", "b"]), {}), "bad_unicode"),
    ("a tuple of 17", ((X, Y, [("a",), ("b",) * 17, ("a",), ("b",)]), {}), "bad_tuple"),
    ("an empty tuple", ((X, Y, [("a",), (), ("a",), ("b",)]), {}), "bad_tuple"),
    ("a tuple in a tuple", ((X, Y, [("a",), (("b",),), ("a",), ("b",)]), {}), "bad_group_type"),
    ("a float group", ((X, Y, [1.5, 2.0, 2.0, 1.0]), {}), "bad_group_type"),
    ("bytes as group", ((X, Y, ["a", b"b", "a", "b"]), {}), "bad_group_type"),
    ("a date as group", ((X, Y, array(["2020-01-01"] * 4, "M8[D]")), {}), "bad_group_type"),
    ("True beside 1", ((X, Y, [True, 1, True, 1]), {}), "indistinct_groups"),
    ("65,536 groups", ((np.zeros(65_536), None, np.arange(65_536)), {}), "too_many_groups"),
    ("lengths that differ", ((X, [0, 1], G), {}), "lengths"),
    (
        "lengths of plain arrays that differ",
        ((F8, array([0, 1], "u1"), N8), {}),
        "lengths",
    ),
    ("short weights", ((X, Y, G), {"weights": [1.0, 2.0]}), "lengths"),
    ("a negative weight", ((X, Y, G), {"weights": [1.0, -2.0, 1.0, 1.0]}), "bad_weight"),
    ("a negative whole weight", ((X, Y, G), {"weights": array([1, -2, 1, 1], "i8")}), "bad_weight"),
    ("a NaN weight", ((X, Y, G), {"weights": [1.0, NAN, 1.0, 1.0]}), "bad_weight"),
    ("an infinite weight", ((X, Y, G), {"weights": [1.0, INF, 1.0, 1.0]}), "bad_weight"),
    ("2**63 rows", ((X, Y, G), {"weights": [2.0**62] * 4}), "too_many_rows"),
    ("a weight of 2**63", ((X, Y, G), {"weights": array([1, 2**63, 1, 1], "u8")}), "too_many_rows"),
    ("a 2-D array", ((np.zeros((4, 2)), Y, G), {}), "shape"),
    ("a single score", ((0.5, Y, G), {}), "shape"),
    ("no array", (("abcd", Y, G), {}), "not_an_array"),
    ("scores of text", ((["0.1"] * 4, Y, G), {}), "not_numbers"),
    ("scores that are decisions", ((array([True] * 4, bool), Y, G), {}), "not_numbers"),
    ("a list of rows of different length", ((X, Y, [["a"], ["a", "b"], ["a"], ["b"]]), {}), "ragged_lists"),
    ("a dict as groups", ((X, Y, {"a": 1}), {}), "mapping"),
    ("threads of 0", ((X, Y, G), {"threads": 0}), "threads"),
    ("an unknown policy for NaN", ((X, Y, G), {"nan": "drop"}), "nan_policy"),
    ("NaN beside missing scores", (([0.1, -999, NAN, 0.4], Y, G), {"missing": -999}), "nan_score"),
    ("a missing score of no label", (([0.1, -999, 0.3, 0.4], [0, 7, 1, 0], G), {"missing": -999}), "bad_label"),
    (
        "a missing score of no group",
        (([0.1, -999, 0.3, 0.4], Y, ["a", None, "a", "b"]), {"missing": -999}),
        "missing_group",
    ),
    ("a missing score of text", ((X, Y, G), {"missing": "-999"}), "missing_type"),
    ("a missing score beyond float64", ((X, Y, G), {"missing": 10**400}), "missing_size"),
]
ROWS = [
    ("NaN", (NAN, 1, "a"), "nan_score"),
    ("a huge score", (1e302, 1, "a"), "too_large"),
    ("a huge int", (10**400, 1, "a"), "too_large"),
    ("a huge Decimal", (Decimal("1e400"), 1, "a"), "too_large"),
    ("a bool as score", (True, 1, "a"), "score_of_row"),
    ("a numpy bool as score", (np.True_, 1, "a"), "score_of_row"),
    ("text as score", ("0.5", 1, "a"), "score_of_row"),
    ("None as score", (None, 1, "a"), "score_of_row"),
    ("a label of -1", (0.5, -1, "a"), "bad_label"),
    ("a label of 0.5", (0.5, 0.5, "a"), "bad_label"),
    ("a huge label", (0.5, 2**70, "a"), "bad_label"),
    ("a numpy label", (0.5, np.int8(3), "a"), "bad_label"),
    ("text as label", (0.5, "1", "a"), "label_of_row"),
    ("no group", (0.5, 1, None), "missing_group"),
    ("a NaN group", (0.5, 1, NAN), "missing_group"),
    ("a float group", (0.5, 1, np.float64(1.5)), "bad_group_type"),
    ("bytes as group", (0.5, 1, b"a"), "bad_group_type"),
    ("a list as group", (0.5, 1, ["a"]), "bad_group_type"),
    ("a tuple in a tuple", (0.5, 1, ("a", ("b",))), "bad_group_type"),
    ("a tuple of 17", (0.5, 1, tuple(range(17))), "bad_tuple"),
    ("a group of 2**70", (0.5, 1, 2**70), "too_large_group"),
    ("2**70 in a tuple", (0.5, 1, ("a", 2**70)), "too_large_group"),
    ("half a character", (0.5, 1, "a\udcff"), "bad_unicode"),
    ("True beside 1", (0.5, 1, True), "indistinct_groups"),
]
MERGES = [
    ("other bins", lambda: (gf.Sketch.from_rows(X, Y, G), gf.Sketch.from_rows(X, Y, G, bins=64)), "different_bins"),
    ("another range", lambda: (gf.Sketch(range=(0, 1)), gf.Sketch(range=(0, 100_000))), "different_range"),
    ("no range", lambda: (gf.Sketch(range=(-1e6, 1)), gf.Sketch.from_rows(X, Y, G)), "different_range"),
    ("other given groups", lambda: (gf.Sketch(groups=["a", "b"]), gf.Sketch(groups=["c"])), "different_groups"),
    ("a group that is not given", lambda: (gf.Sketch(groups=["a"]), gf.Sketch.from_rows(X, Y, G)), "unknown_group"),
    (
        "True beside 1",
        lambda: (gf.Sketch.from_rows([0], [1], [1]), gf.Sketch.from_rows([0], [1], [True])),
        "indistinct_groups",
    ),
    ("too many rows", lambda: (full(), full()), "too_many_rows"),
    ("another positive label", lambda: (meaning("yes"), meaning("no")), "different_positive"),
    ("another kind of positive label", lambda: (meaning(1), meaning(True)), "different_positive"),
]


def meaning(positive):
    return gf.Sketch.from_rows(X, Y, G)._remember(Columns("p"), positive)


def full():
    return gf.Sketch.from_rows([0.5], [1], ["a"], repeats=[2.0**62])


def told(call):
    """What an error says, apart from where it came from."""
    with pytest.raises(errors.InputError) as caught:
        call()
    e = caught.value
    assert e.code in table()
    assert str(e) == worded(e, PYTHON)
    return type(e), e.code, e.argument, e.row, repr(e.value), repr(e.limit), str(e)


def on_all_backends(try_it):
    """What each backend says, from `try_it()` under it; all must say the same."""
    said = {}
    for backend in BACKENDS:
        with gf.use_backend(backend):
            said[backend] = try_it()
    assert len(set(said.values())) == 1, said
    return said[BACKENDS[0]]


@pytest.mark.slow
@pytest.mark.parametrize(("case", "code"), [(case, code) for _, case, code in BATCHES], ids=[b[0] for b in BATCHES])
def test_a_bad_batch_is_refused_alike(case, code):
    arrays, options = case

    def try_it():
        sketch = gf.Sketch.from_rows(X, Y, [1, 2, 1, 2], bins=16)
        before = sketch.to_bytes()
        try:
            return told(lambda: sketch.update(*arrays, **options))
        finally:
            assert sketch.to_bytes() == before

    assert on_all_backends(try_it)[1] == code


@pytest.mark.parametrize(("row", "code"), [(row, code) for _, row, code in ROWS], ids=[r[0] for r in ROWS])
def test_a_bad_single_row_is_refused_alike(row, code):
    def try_it():
        sketch = gf.Sketch.from_rows(X, Y, [1, 2, 1, 2])
        before = sketch.to_bytes()
        try:
            return told(lambda: sketch.update_one(*row))
        finally:
            assert sketch.to_bytes() == before

    found = on_all_backends(try_it)
    assert (found[1], found[3]) == (code, None)


@pytest.mark.parametrize("by_row", [True, False])
def test_a_group_that_is_not_given_is_refused_alike(by_row):
    def try_it():
        sketch = gf.Sketch(groups=["a", "b"])
        return told(lambda: sketch.update_one(0.5, 1, "c") if by_row else sketch.update(X, Y, ["a", "c", "a", "a"]))

    assert on_all_backends(try_it)[1] == "unknown_group"


@pytest.mark.parametrize(("pair", "code"), [(pair, code) for _, pair, code in MERGES], ids=[m[0] for m in MERGES])
def test_sketches_that_do_not_fit_are_refused_alike(pair, code):
    def try_it():
        one, two = pair()
        return told(lambda: one.merge(two))

    assert on_all_backends(try_it)[1] == code


@pytest.mark.parametrize(("pair", "code"), [(pair, code) for _, pair, code in MERGES], ids=[m[0] for m in MERGES])
def test_bytes_that_do_not_fit_are_refused_alike(pair, code):
    """Merging straight from bytes says what merging the sketch says, and changes nothing."""

    def try_it():
        one, two = pair()
        before = one.to_bytes()
        assert told(lambda: one._core.merge_bytes(two.to_bytes())) == told(lambda: one.merge(two))
        assert one.to_bytes() == before
        return told(lambda: one.merge(two))

    assert on_all_backends(try_it)[1] == code


def test_more_memory_than_allowed_is_refused_alike():
    def try_it():
        sketch = gf.Sketch(memory_limit=1_000_000)
        return told(lambda: sketch.update(X, Y, [1, 2, 3, 4]))

    kind, code, *_ = on_all_backends(try_it)
    assert code == "too_much_memory"
    assert issubclass(kind, MemoryError)


def with_checksum(data):
    return data[:-4] + struct.pack("<I", zlib.crc32(data[:-4]))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:0],
        lambda data: b"score,label,group\n0.5,1,a and more text"[: len(data)],
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data + b"\0",
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: data[:30] + bytes([data[30] ^ 1]) + data[31:],
        lambda data: with_checksum(data[:8] + b"\x03\x00" + data[10:]),
        lambda data: with_checksum(data[:10] + b"\xff\x00" + data[12:]),
    ],
    ids=["empty", "text", "cut by one", "cut in half", "too long", "end", "middle", "version", "flags"],
)
def test_bytes_that_are_no_sketch_are_refused_alike(spoil):
    data = spoil(gf.Sketch.from_rows(X, Y, G).to_bytes())
    kind, code, argument, *_ = on_all_backends(lambda: told(lambda: gf.Sketch.from_bytes(data)))
    assert (kind, code, argument) == (errors.InputValueError, "not_valid", "sketch")


def test_bytes_that_need_too_much_memory_are_refused_alike():
    data = gf.Sketch.from_rows(X, Y, G).to_bytes()
    kind, code, *_ = on_all_backends(lambda: told(lambda: gf.Sketch.from_bytes(data, memory_limit=1000)))
    assert (kind, code) == (errors.InputValueError, "bytes_need_too_much_memory")


# ------------------------------------------------------------------------------------------------------------- deciding

PLAIN = {"a": 0.25, "b": 0.5}
DECISIONS = [
    ("NaN", PLAIN, lambda d: d([0.1, NAN], ["a", "b"]), "undecided_nan"),
    ("NaN in plain arrays", {1: 0.5}, lambda d: d(array([0.1, NAN], "f4"), array([1, 1], "i4")), "undecided_nan"),
    ("NaN as the only score", PLAIN, lambda d: d.one(NAN, "a"), "undecided_nan"),
    ("NaN for a margin", PLAIN, lambda d: d.margin([NAN], ["a"]), "undecided_nan"),
    ("an unseen group", PLAIN, lambda d: d([0.1, 0.2], ["a", "c"]), "no_threshold"),
    ("an unseen number", {1: 0.5}, lambda d: d(array([0.1, 0.2], "f4"), array([1, 7], "i4")), "no_threshold"),
    ("an unseen uint64", {1: 0.5}, lambda d: d(array([0.1], "f4"), array([2**63], "u8")), "no_threshold"),
    ("an unseen single group", PLAIN, lambda d: d.one(0.5, "c"), "no_threshold"),
    ("a missing group", PLAIN, lambda d: d([0.1, 0.2], ["a", None]), "missing_group"),
    ("a missing single group", PLAIN, lambda d: d.one(0.5, NAN), "missing_group"),
    ("no groups", PLAIN, lambda d: d([0.1, 0.2]), "needs_groups"),
    ("no single group", PLAIN, lambda d: d.one(0.5), "needs_groups"),
    ("a position that is none", PLAIN, lambda d: d([0.1, 0.2], [0, 2], codes=True), "no_such_position"),
    ("text as score", PLAIN, lambda d: d.one("0.5", "a"), "score_to_decide"),
    ("a float as group", PLAIN, lambda d: d.one(0.5, 1.5), "bad_group_type"),
    ("a group of 2**70", PLAIN, lambda d: d.one(0.5, 2**70), "too_large_group"),
    ("lengths that differ", PLAIN, lambda d: d([0.1, 0.2], ["a"]), "lengths"),
    ("threads of 0", PLAIN, lambda d: d([0.1], ["a"], threads=0), "threads"),
]
DRAWN = [
    ("no keys", lambda d: d([0.1], ["a"]), "needs_keys"),
    ("no key", lambda d: d.one(0.1, "a"), "needs_key"),
    ("a float as key", lambda d: d.one(0.1, "a", 1.5), "key_type"),
    ("floats as keys", lambda d: d([0.1], ["a"], keys=[1.5]), "key_type"),
    ("a key of 2**70", lambda d: d([0.1], ["a"], keys=[2**70]), "key_size"),
    ("a missing key", lambda d: d([0.1], ["a"], keys=np.ma.array([1], mask=[True])), "key_missing"),
]


@pytest.mark.parametrize(("by", "call", "code"), [d[1:] for d in DECISIONS], ids=[d[0] for d in DECISIONS])
def test_rows_nobody_can_decide_are_refused_alike(by, call, code):
    assert on_all_backends(lambda: told(lambda: call(gf.Decider(by))))[1] == code


@pytest.mark.parametrize(("call", "code"), [d[1:] for d in DRAWN], ids=[d[0] for d in DRAWN])
def test_rows_nobody_can_draw_for_are_refused_alike(call, code):
    def try_it():
        decider = gf.Decider({"a": 0.5}, mixtures={"a": [(0.25, 0.5), (0.75, 0.5)]})
        return told(lambda: call(decider))

    assert on_all_backends(try_it)[1] == code


@pytest.mark.parametrize(
    "ask",
    [
        gf.solve,
        lambda given: gf.frontier(given, "equalized_odds"),
        lambda given: gf.bounds(None, given),
        lambda given: gf.density(given, 0, "a"),
        gf.density,
        gf.fit_quality,
    ],
)
def test_what_is_not_a_sketch_is_named(ask):
    with pytest.raises(errors.InputTypeError, match=r"must be a gf\.Sketch, got list; count first"):
        ask([0.1, 0.2])
    with pytest.raises(errors.InputTypeError, match=r"got Window; pass window\.sketch"):
        ask(gf.Window(panes=2))


# ---------------------------------------------------------------------------------------------------------- every code

# fields that the sentence of a code needs; all others can do with a row and a number
FIELDS = {
    "assumption": {"value": (40.0, 8, 0.001)},
    "one_label": {"value": (0, "Yes"), "limit": LabelTexts(("no", "yes"))},
    "positive_absent": {"value": "Yes", "limit": LabelTexts(("no", "yes"))},
    "lengths": {"value": {"scores": 2, "labels": 3}},
    "shape": {"value": (4, 2)},
    "too_much_memory": {"value": (5, 4096, 0), "limit": 1000},
    "bytes_need_too_much_memory": {"value": (5, 4096, 0), "limit": 1000},
    "bad_tuple": {"value": (), "limit": 16},
    "indistinct_groups": {"value": (True, 1)},
    "panes_need_too_much_memory": {"value": (20, 1000)},
    "solving_needs_too_much_memory": {"value": 2**31, "limit": (2**30, 250, 4096)},
    "resolution": {"value": (0.25, 1, "x", 0.0, 1.0, -3.0, 1e9, 64)},
    "sentinel": {"value": (-999.0, 20, 0.0, 1.0)},
    "merged_integers": {"value": (3, 1)},
    "rounded_weights": {"argument": "weights"},
    "criterion_number": {"argument": "limits:equalized_odds"},
    "noise": {
        "value": {
            "criterion": "equalized_odds",
            "limit": 0.01,
            "rate": "tpr",
            "gap": 0.05,
            "group": "b",
            "rows": 75.0,
            "what": "positive labels",
            "ways": ["more rows"],
        }
    },
    "proxy_row": {"value": [0.5, 0.4]},
    "overfit": {"value": {"segments": 16, "group": "a", "rows": "120", "label": 1, "enough": 1}},
    "degenerate": {
        "value": {"found": "it accepts nobody", "ways": ["a looser limit", ["min_rows", "12", "", " (pools)"]]}
    },
    "limit": {"argument": "equalized_odds"},
    "apart": {"argument": "penalties", "value": {}, "limit": ("randomize", True, "a mixture needs none")},
    "needs": {"argument": "confidence", "limit": "limits"},
    "not_here": {"argument": "min_rows", "value": 20, "limit": "frontier by segment"},
    "not_one_of": {"value": "x", "limit": ("exact", "newton")},
    "density": {"value": "x", "limit": ("kde", "normal")},
    "criterion": {"value": "ppv", "limit": ("equalized_odds",)},
    "undefined_rate": {"value": ["a", "b"], "limit": ("tpr", "positive labels")},
    "no_gap": {"limit": 0.5},
    "no_error": {"limit": 0.5},
    "proxy_columns": {"value": ("x", "y"), "limit": ("a", "b")},
    "proxy_shape": {"value": (5,), "limit": 2},
    "roles_elsewhere": {"value": (("sex",), ("region",)), "limit": ("age", "place")},
    "roles_groups": {"value": ("a", ("b", 1))},
    "densities_rows": {"value": (1, "a")},
    "family": {"value": "normal2", "limit": ("normal", "gamma")},
    "family_df": {"value": 1e6, "limit": (0.1, 1e5)},
    "family_shape": {"value": 1e6, "limit": (0.1, 1e5)},
    "family_ends": {"value": (0.5, 0.6)},
    "family_needs": {"value": "gamma", "limit": ("shape", "location")},
    "family_parameter": {"argument": "mu", "value": "normal", "limit": ("location", "scale")},
}


@pytest.mark.parametrize("code", sorted(table()))
def test_every_code_has_a_class_and_words_for_every_face(code):
    made = refusal(code, **{"argument": "scores", "row": 7, "value": 0.5, "limit": 9, **FIELDS.get(code, {})})
    assert type(made).__name__ in errors.__all__
    assert made.code == code
    again = pickle.loads(pickle.dumps(made))
    assert (type(again), again.code, again.row, again.value, str(again)) == (type(made), code, 7, made.value, str(made))
    table = Table({"scores": "p", "labels": "y", "groups": "g"}, ("g",), 1000)
    for face in (PYTHON, Options(), table):
        words = worded(made, face)
        assert words
        assert "None" not in words.replace("or None", "").replace("labels=None", "").replace("else None", "")
        if " at row " in words:
            assert (" at row 1,007 (counted from 0)" if face is table else " at row 7") in words
    infeasible = code.startswith(("inf", "no_gap", "no_err", "no_promise", "not_f"))
    assert exit_code(made) == (2 if isinstance(made, errors.OptionError) else 3 if infeasible else 1)


def test_words_for_a_case_stand_where_the_table_has_a_place_for_them():
    assert {code for code, entry in table().items() if "{case}" in entry.template} == (ROW_CASES | OPTION_CASES).keys()


def test_every_error_is_the_builtin_one_too():
    for name in errors.__all__:
        kind = getattr(errors, name)
        builtins = {base for base in kind.__mro__ if base.__module__ == "builtins"} - {object, BaseException, Exception}
        assert builtins or kind in (errors.InputError, errors.OptionError)
        assert inspect.getdoc(kind)


def test_the_core_refuses_by_codes_of_the_table():
    """A code that C++ throws has a sentence in Python."""
    found = set()
    for path in [*(ROOT / "csrc" / "gstar").rglob("*.hpp"), *(ROOT / "csrc" / "bindings").iterdir()]:
        found |= set(re.findall(r'(?:refuse|_error)\(\s*\{?\s*"([a-z_0-9]+)"', path.read_text()))
    assert {"nan_score", "missing_group", "too_much_memory", "key_size"} <= found <= table().keys()


def test_a_refusal_about_something_else_keeps_its_fields():
    one = refusal("nan_score", "scores", 3)
    other = about(one, "decisions")
    assert (other.code, other.argument, other.row) == ("nan_score", "decisions", 3)
    assert str(other).startswith("decisions has NaN at row 3")
    plain = about(ValueError("no"), "decisions")
    assert (type(plain), str(plain)) == (ValueError, "decisions: no")


@pytest.mark.parametrize("ask", [gf.audit, gf.bounds, gf.certify, gf.report, gf.plot.roc])
def test_swapped_arguments_say_the_order(ask):
    sketch = gf.Sketch.from_rows([0.1, 0.4, 0.2, 0.9], [0, 1, 0, 1], ["a", "a", "b", "b"])
    with pytest.raises(TypeError, match=rf"the sketch last: {ask.__name__}\(result, sketch\)"):
        ask(sketch, gf.solve(sketch, evidence=0))
