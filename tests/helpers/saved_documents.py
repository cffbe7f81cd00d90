"""Saved documents that every reader must accept or reject: a few good files, and tables of what to change in them.

`python -m helpers.saved_documents FOLDER` writes all of them as files, for the fuzzer.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from helpers.bad_documents import BAD_BYTES, BAD_EDITS, BAD_RESULTS, BAD_TEXTS
from helpers.document_edits import DROP, FILES, FOLDER, WHOLE, from_edits, from_text

GOOD_EDITS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "columns": ("least", {"score_column": "p", "group_column": '"sex","race"'}),
    "cuts_null": ("cuts", {"cuts": None}),
    "cuts_of_whole_numbers": ("cuts", {"cuts.0": -1, "cuts.1": 2}),
    "cuts_with_an_empty_segment": (
        "cuts",
        {"groups": [{"name": 0, "threshold": 0.25}, {"name": 2, "threshold": 0.75}]},
    ),
    "cuts_without_a_point": ("cuts", {"groups": [{"name": 0, "threshold": 0.25}], "cuts": []}),
    "digest": ("least", {"sketch_digest": "0123456789abcdef" * 4}),
    "expired_at_the_first_moment": ("least", {"expires": "0001-01-01T00:00:00Z"}),
    "expires_in_a_leap_century": ("least", {"expires": "2400-02-29T00:00:00Z"}),
    "expires_last": ("least", {"expires": "9999-12-31T23:59:59Z"}),
    "expires_on_a_leap_day": ("least", {"expires": "2096-02-29T23:59:59Z"}),
    "infinities": ("least", {"groups": [{"name": "F", "threshold": "inf"}, {"name": "M", "threshold": "-inf"}]}),
    "many_groups": ("least", {"groups": [{"name": i, "threshold": i / 8} for i in range(300)]}),
    "mixture_that_adds_up_but_for_rounding": (
        "least",
        {"groups.0.mixture": [{"threshold": t, "probability": 0.1} for t in range(10)]},
    ),
    "mixture_with_a_part_of_no_chance": (
        "least",
        {
            "groups.0.threshold": 1,
            "groups.0.mixture": [{"threshold": 1, "probability": 1.0}, {"threshold": 2, "probability": 0}],
        },
    ),
    "mixture_with_a_probability_of_minus_zero": (
        "least",
        {
            "groups.0.threshold": -0.0,
            "groups.0.mixture": [{"threshold": -0.0, "probability": 1}, {"threshold": 2, "probability": -0.0}],
        },
    ),
    "names_at_the_ends_of_64_bits": (
        "least",
        {"groups": [{"name": -(2**63), "threshold": 1}, {"name": 2**63 - 1, "threshold": 2}]},
    ),
    "names_that_look_alike": (
        "least",
        {
            "groups": [
                {"name": "1", "threshold": 1},
                {"name": 1, "threshold": 2},
                {"name": {"tuple": [1]}, "threshold": 3},
                {"name": "é", "threshold": 4},
                {"name": "é", "threshold": 5},
            ]
        },
    ),
    "nulls_where_they_may_be": (
        "least",
        {"default_threshold": None, "sketch_digest": None, "expires": None, "score_column": None, "group_column": None},
    ),
    "policies": ("least", {"unknown": "default", "nan": False, "default_threshold": 0.25}),
    "result_by_segment_with_cuts_mixture": (
        "result_by_segment_with_cuts",
        {
            "message": "no mixture does better",
            "iterations": 2,
            "groups.0.mixture": [{"threshold": 1.0, "probability": 1.0}],
            "groups.1.mixture": [{"threshold": 1.0, "probability": 1.0}],
            "groups.2.mixture": [{"threshold": 0.5, "probability": 1.0}],
        },
    ),
    "result_by_segment_with_proof": (
        "result_by_segment",
        {
            "proof": [
                {
                    "order": None,
                    "first": "leaf 1 tpr 0 1 0.125",
                    "steps": ["cut 2 17 1 2", "leaf 1 tpr 0 1 0.25 fpr 1 0 0.5", "single"],
                }
            ]
        },
    ),
    "result_infeasible": (
        "result",
        {"verdict": "infeasible", "message": "no thresholds meet the limits", "question.min_rows": 20},
    ),
    "result_randomised": (
        "result",
        {
            "groups.0.mixture": [{"threshold": 0.375, "probability": 0.25}, {"threshold": 1, "probability": 0.75}],
            "groups.1.mixture": [{"threshold": 0.5, "probability": 0.25}, {"threshold": 1, "probability": 0.75}],
        },
    ),
    "result_with_infinite_bounds": (
        "result",
        {"loss": "inf", "lower_bound": "-inf", "trace": [0.5, "inf"]},
    ),
    "result_with_policies": ("result", {"unknown": "default", "nan": False, "expires": "2999-12-31T23:59:59Z"}),
    "result_with_rates_unknown": ("result", {"groups.0.tpr": None, "groups.0.balanced_accuracy": None}),
    "result_without_policies": ("result", {"unknown": DROP, "nan": DROP, "expires": DROP}),
    "sealed_by_its_content": ("least", {"unified": False, "score_column": "ä", "unknown": "raise", "nan": "raise"}),
    "unified": ("least", {"groups": [{"name": "F", "threshold": 2}, {"name": "M", "threshold": 2.0}], "unified": True}),
    "unknown_infinite": ("least", {"unknown": "-inf", "nan": True}),
    "unknown_number": ("least", {"unknown": -3}),
}
GOOD_TEXTS: Final = {
    "escaped_names": (b'"F"', rb'"\u0046\ud83d\ude00\n\t\r\b\f\/\\\"\u0000"'),
    "exponents": (b"0.5", b"-12.50E+1"),
    "four_hundred_zeros": (b"0.5", b"0." + b"0" * 400 + b"1"),
    "largest_number": (b"0.5", b"1.7976931348623157e308"),
    "long_fraction": (b"0.5", b"0." + b"123456789" * 90),
    "minus_underflow": (b"0.5", b"-1e-99999999999999999999"),
    "minus_zero": (b"0.5", b"-0"),
    "smallest_number": (b"0.5", b"4.9406564584124654e-324"),
    "underflow_to_zero": (b"0.5", b"1E-400"),
    "whole_number": (b"0.5", b"-7"),
    "whole_number_beyond_64_bits": (b"0.5", b"123456789012345678901234567890"),
}
GOOD_BYTES: Final = {
    "one_line": json.dumps(json.loads(WHOLE), separators=(",", ":")).encode(),
    "keys_in_another_order": json.dumps(json.loads(WHOLE), sort_keys=True).encode(),
    "white_space": b"\r\n\t " + WHOLE.replace(b"\n", b"\r\n").replace(b" ", b"\t") + b" \t\r\n",
}

GOOD: Final[dict[str, bytes]] = {
    **{name: (FOLDER / f"{name}.json").read_bytes() for name in FILES},
    **{name: from_edits(*row) for name, row in GOOD_EDITS.items()},
    **{name: from_text(*row) for name, row in GOOD_TEXTS.items()},
    **GOOD_BYTES,
}
BAD: Final[dict[str, bytes]] = {
    **{
        name: from_edits(base, edits)
        for table in (BAD_EDITS, BAD_RESULTS)
        for base, rows in table.items()
        for name, (edits, _) in rows.items()
    },
    **{name: from_text(old, new) for name, (old, new, _) in BAD_TEXTS.items()},
    **{name: data for name, (data, _) in BAD_BYTES.items()},
}
TABLES: Final = *BAD_EDITS.values(), *BAD_RESULTS.values(), BAD_TEXTS, BAD_BYTES
SAYS: Final[dict[str, str]] = {name: row[-1] for table in TABLES for name, row in table.items()}


def write(folder: Path) -> None:
    """All documents as files, in the folders `good` and `bad`."""
    for kind, documents in (("good", GOOD), ("bad", BAD)):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for name, data in documents.items():
            (folder / kind / f"{name}.json").write_bytes(data)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
