"""Thresholds with cut points, and rows at and next to all of them."""

import math

import numpy as np

INF, NAN = math.inf, math.nan
CUTS = (0.1, 0.30000000000000004, 0.5, 0.75)
THRESHOLDS = {0: 0.25, 1: 0.75, 2: INF, 3: -INF, 4: 1e-310}
EMPTY = {k: t for k, t in THRESHOLDS.items() if k not in (1, 4)}  # two segments have no threshold


def hard_rows(dtype=np.float64, number_dtype=np.float64):
    """Scores at the thresholds and numbers at the cut points, each with its two neighbours, crossed."""

    def around(points, kind):
        each = [[np.nextafter(kind(p), kind(-INF)), kind(p), np.nextafter(kind(p), kind(INF))] for p in points]
        return [*np.concatenate(each), kind(INF), kind(-INF), kind(NAN), kind(0), kind(-1), kind(2)]

    scores, numbers = around((0.25, 0.75, 0.3), dtype), around(CUTS, number_dtype)
    return np.repeat(np.array(scores, dtype), len(numbers)), np.tile(np.array(numbers, number_dtype), len(scores))
