"""Densities of one cell of scores, for the tests of every kind of density."""

import numpy as np

import gstar_fast as gf
from gstar_fast import _backends

SMOOTH = ["kde", "normal", "student_t", "gamma", "best"]
KINDS = ["empirical", *SMOOTH]

# All backends count alike, which test_sketch.py shows; here the quickest counts and the backend under test reads.
COUNTING = "native" if _backends.has_native() else "numpy"


def sketch_of(scores, label=1, group="a", **options):
    scores = np.asarray(scores, dtype=float)
    with gf.use_backend(COUNTING):
        return gf.Sketch.from_rows(scores, np.full(len(scores), label), np.full(len(scores), group), **options)


def one(scores, kind, bandwidth=None, **options):
    return gf.density(sketch_of(scores, **options), 1, "a", kind=kind, bandwidth=bandwidth)
