"""What the Python backends share: the messages of refusals, and one careful read of a batch.

The native backend has its own copy of these messages; the tests compare them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from os import register_at_fork
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gstar_fast._base.arrays import Values
from gstar_fast._base.grid import LARGEST_SCORE, as_float, memory_of
from gstar_fast._base.names import MOST_GROUPS, Name, clean_name, listed, missing_group
from gstar_fast._words import UNLABELLED, WEIGHT_UNIT

MOST_ROWS = 2**63 - 1

# One lock for all sketches of the Python backends: it is held for short commits only, no two are ever needed at once,
# and taking it before a fork hands the child sketches that nobody is in the middle of changing.
LOCK = threading.Lock()
register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)


def nan_error(where: str) -> ValueError:
    """A score is NaN."""
    return ValueError(f'scores has NaN{where}; drop such rows or pass nan="skip"')


def size_error(score: object, where: str) -> ValueError:
    """A finite score is too large."""
    return ValueError(f"scores has {score!r}{where}; finite scores must lie within 2**1000")


def label_error(label: object, where: str) -> ValueError:
    """A label is not 0 or 1."""
    hint = "; for -1/+1 labels pass labels > 0" if label == -1 else ""
    return ValueError(f"labels must be 0 or 1, got {label}{where}{hint}")


def group_error(name: Name, given: Sequence[Name], where: str) -> ValueError:
    """A group is not one of the given ones."""
    return ValueError(
        f"group {name!r}{where} is not one of the given groups {listed(given)}; "
        "add it to groups= or leave groups= out to learn them"
    )


def weight_error(weight: float, where: str) -> ValueError:
    """A weight is negative, NaN or infinite."""
    return ValueError(f"weights must be finite and not negative, got {weight!r}{where}")


def overflow_error() -> OverflowError:
    """Counts would not fit into 64 bits."""
    return OverflowError("the sketch would hold 2**63 rows or more; nothing was counted")


def check_size(n_groups: int, bins: int, memory_limit: int) -> None:
    """Refuse more groups than the format or the memory limit allows."""
    if n_groups > MOST_GROUPS:
        raise ValueError(f"{n_groups} groups; at most {MOST_GROUPS} are supported")
    need = memory_of(n_groups, bins)
    if need > memory_limit:
        raise MemoryError(
            f"{n_groups} groups of {bins} bins need {need / 2**30:.1f} GiB; memory_limit is "
            f"{memory_limit / 2**30:.1f} GiB: use fewer bins or groups, or pass a larger memory_limit"
        )


def check_lengths(scores: Values, labels: Values | None, codes: Values, weights: Values | None) -> None:
    """Refuse arrays of different length, naming all of them."""
    given = {"scores": scores, "labels": labels, "groups": codes, "weights": weights}
    lengths = {key: len(array) for key, array in given.items() if array is not None}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{key} has {n}" for key, n in lengths.items())
        raise ValueError(f"arrays differ in length: {found}")


class Rows(NamedTuple):
    """A checked batch: private copies of the rows that count."""

    scores: NDArray[np.float64]  # no NaN, no -0.0
    labels: NDArray[np.uint8]  # 0, 1 or 2
    codes: NDArray[np.int64]  # index into names
    names: tuple[Name, ...]  # only those that occur
    weights: NDArray[np.object_] | None  # multiplicities as Python ints, none of them 0
    weighted: bool  # multiplicities are in units of 2**-20
    skipped: int


def read_rows(
    scores: Values,
    labels: Values | None,
    codes: Values,
    names: tuple[Name, ...] | None,
    weights: Values | None,
    skip_nan: bool,
    unlabelled_code: bool,
    given: Sequence[Name] | None,
    weighted: bool,
    start: int = 0,
) -> Rows:
    """Copy a batch, the only read of the caller's memory, and refuse it at its first bad row.

    Every row is checked, also one that is then passed over for its NaN or its weight of 0. `start` is the number of
    the first row, for messages.
    """
    check_lengths(scores, labels, codes, weights)
    x = np.array(scores, np.float64) + 0.0  # -0.0 becomes 0.0
    y = np.full(len(x), UNLABELLED, np.uint8) if labels is None else np.array(labels)
    g = np.array(codes)
    w = None if weights is None else np.array(weights)  # float64, or whole numbers as they are

    nan = np.isnan(x)
    allowed = (y == 0) | (y == 1) | ((y == UNLABELLED) & (unlabelled_code or labels is None))
    _, used, inverse = np.unique(g, return_index=True, return_inverse=True)
    found = [_name_of(int(g[i]), names, start + i) for i in used.tolist()]
    known = None if given is None else set(given)
    refused = np.array([isinstance(n, Exception) or (known is not None and n not in known) for n in found], bool)
    checks = [
        (nan & (not skip_nan)),
        np.isfinite(x) & (np.abs(x) > LARGEST_SCORE),
        ~allowed,
        refused[inverse] if len(g) else nan,
    ]
    if w is not None:
        checks.append(~(np.isfinite(w) & (w >= 0)))
    bad = [(int(c.argmax()), which) for which, c in enumerate(checks) if c.any()]
    if bad:  # the first bad row, there the first check
        row, which = min(bad)
        where = f" at row {start + row}"
        if which == 0:
            raise nan_error(where)
        if which == 1:
            raise size_error(float(x[row]), where)
        if which == 2:
            raise label_error(int(y[row]), where)
        if which == 3:
            name = found[int(inverse[row])]
            raise name if isinstance(name, Exception) else group_error(name, given or (), where)
        assert w is not None
        raise weight_error(w[row].item(), where)

    keep = ~nan
    skipped = int(nan.sum())
    multiplicity: NDArray[np.object_] | None = None
    if w is not None:
        weighted = weighted or bool((w % 1 != 0).any())
        if (w > MOST_ROWS if w.dtype.kind in "iu" else w >= 2.0**63).any():
            raise overflow_error()
        unit = WEIGHT_UNIT if weighted else 1
        multiplicity = np.array([round(v * unit) for v in w.tolist()], object)  # to nearest, ties to even
        there = (multiplicity > 0).astype(bool)  # a row of weight 0 is not there
        skipped = int((nan & there).sum())
        keep &= there
        multiplicity = multiplicity[keep]
    elif weighted:
        multiplicity = np.full(int(keep.sum()), WEIGHT_UNIT, object)
    kept = inverse[keep]
    present = np.unique(kept)
    rank = np.searchsorted(present, kept).astype(np.int64)
    final = [name for i in present.tolist() if not isinstance(name := found[i], Exception)]
    return Rows(x[keep], y[keep].astype(np.uint8), rank, tuple(final), multiplicity, weighted, skipped)


def _name_of(code: int, names: tuple[Name, ...] | None, row: int) -> Name | Exception:
    where = f" at row {row}"
    if names is None:
        try:
            return clean_name(code, where)
        except ValueError as error:
            return error
    return names[code] if 0 <= code < len(names) else missing_group(where)


def read_one(score: object, label: object, group: object, given: Sequence[Name] | None, weighted: bool) -> Rows:
    """One row, with the same checks and the same words."""
    if isinstance(score, (bool, np.bool_, str, bytes, complex)) or not hasattr(score, "__float__"):
        raise TypeError(f"score must be a number, got {type(score).__name__}")
    try:
        x = as_float(score) + 0.0
    except OverflowError:
        raise size_error(score, "") from None
    if x != x:
        raise nan_error("")
    if LARGEST_SCORE < abs(x) < float("inf"):
        raise size_error(x, "")
    if label is None:
        y = UNLABELLED
    elif isinstance(label, (bool, int, float, np.bool_, np.integer, np.floating)):
        if label not in (0, 1):
            raise label_error(label, "")
        y = int(label)
    else:
        raise TypeError(f"label must be 0, 1 or None, got {type(label).__name__}")
    name = clean_name(group)
    if given is not None and name not in given:
        raise group_error(name, given, "")
    weights = np.array([WEIGHT_UNIT], object) if weighted else None
    return Rows(np.array([x]), np.array([y], np.uint8), np.zeros(1, np.int64), (name,), weights, weighted, 0)
