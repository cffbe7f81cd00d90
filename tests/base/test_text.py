"""Names are printed without control characters, so that they cannot change a terminal or break a table."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast._base.text import printable, printable_name

WILD = "\x1b[31mred\x07\x9b2J\u202egnol\n\ttail\u2028"


@given(st.text())
def test_printable_keeps_json_valid(text):
    written = json.dumps(text, ensure_ascii=False)
    assert json.loads(printable(written)) == text
    assert not set(printable(text)) & set("\x00\x1b\x7f\x9b\u202e\u2028")
    assert printable(printable(text)) == printable(text)
    assert "\n" not in printable_name(text)


def test_letters_of_all_languages_stay_as_they_are():
    text = "é 東京 نیم‌فاصله 👩‍🚀 a\xa0b"
    assert printable_name(text) == text


@pytest.mark.slow
def test_printed_output_has_no_control_characters(backend):
    rng = np.random.default_rng(5)
    groups = np.array([WILD, "b", "c"], object)[rng.integers(0, 3, 3_000)]
    labels = rng.integers(0, 2, 3_000)
    scores = rng.normal(labels, 1.0)
    sketch = gf.Sketch.from_rows(scores, labels, groups)
    shown = [sketch, gf.rows_needed(sketch, limits={"equalized_odds": 0.01})]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = gf.solve(sketch, limits={"equalized_odds": 0.05})
        promise = gf.solve(sketch, limits={"equalized_odds": 0.01}, confidence=0.95)
        everybody = gf.solve(sketch, objective={"fp": 1e-6, "fn": 1.0})
        shown += [result, promise, promise.promise, everybody, gf.audit(result, sketch), result.decider()]
        shown += [gf.frontier(sketch, "equalized_odds"), gf.density(sketch), gf.certify(result, sketch)]
        shown.append(gf.Result.from_json(result.to_json()))
    texts = [text for one in shown for text in (str(one), repr(one))] + [str(one.message) for one in caught]
    for wrong in ({}, {WILD: "x"}, {WILD: 0.5, "nobody": 0.5}):
        with pytest.raises((ValueError, TypeError)) as error:
            gf.audit(wrong, sketch)
        texts.append(str(error.value))
    for text in texts:
        assert all(char.isprintable() or char == "\n" for char in text), ascii(text)
    assert sum("\\u001b[31mred" in text or "\\x1b[31mred" in text for text in texts) > 5
    assert str(result).splitlines()[4].startswith("\\u001b[31mred\\u0007\\u009b2J\\u202egnol\\u000a\\u0009tail\\u2028")
