"""Rows whose true rates are known, for tests of promises: normal scores of a few groups."""

from __future__ import annotations

import math

import numpy as np

import gstar_fast as gf


def normal_rows(rows, seed, shares=(0.6, 0.4), positive=(0.4, 0.3), distance=(1.6, 1.5), shift=(0.0, 0.3)):
    """Scores, labels and groups: positives of a group lie around shift + distance, negatives around shift."""
    random = np.random.default_rng(seed)
    groups = random.choice(len(shares), rows, p=shares)
    labels = (random.random(rows) < np.array(positive)[groups]).astype(np.uint8)
    scores = random.normal(np.array(shift)[groups] + labels * np.array(distance)[groups])
    return scores.astype(np.float32), labels, groups


def normal_sketch(rows, seed, bins=256, **how):
    return gf.Sketch.from_rows(*normal_rows(rows, seed, **how), bins=bins, range=(-8, 8))


def true_gap(thresholds, distance=(1.6, 1.5), shift=(0.0, 0.3)):
    """The equalized odds gap of all rows to come."""
    rates = [
        [0.5 * math.erfc((thresholds[k] - shift[k] - label * distance[k]) / math.sqrt(2)) for k in range(len(shift))]
        for label in (0, 1)
    ]
    return max(max(of_label) - min(of_label) for of_label in rates)
