"""Words that users write and several rooms read. Imports nothing, so that help of the command line comes at once."""

from __future__ import annotations

BACKENDS = ("native", "numba", "numpy")
METHODS = ("exact", "alternating", "gauss_newton", "newton")
FAMILIES = ("normal", "student_t", "gamma")
KINDS = ("empirical", "kde", *FAMILIES, "best")  # of densities
GIVEN = "given"  # the kind that a result names where parameters of densities were given
FORMATS = ("csv", "tsv", "parquet", "arrow")  # of tables

UNLABELLED = 2  # where a label is not known
WEIGHT_UNIT = 2**20  # what a row of weight 1 counts in a weighted sketch
