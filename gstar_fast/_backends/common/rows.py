"""One careful read of a batch, which the Python backends share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, SupportsFloat, TypeGuard

import numpy as np

from gstar_fast._base.arrays import Flags, Floats, Ints, Objects, Values
from gstar_fast._base.grid import LARGEST_SCORE, as_float, memory_of
from gstar_fast._base.names import MOST_GROUPS, Name, clean_name, listed
from gstar_fast._base.refusals.refusal import refusal
from gstar_fast._words import UNLABELLED, WEIGHT_UNIT

MOST_ROWS = 2**63 - 1


def check_size(n_groups: int, bins: int, weighted: bool, memory_limit: int, code: str = "too_much_memory") -> None:
    """Refuse more groups than the format or the memory limit allows."""
    if n_groups > MOST_GROUPS:
        raise refusal("too_many_groups", "groups", value=n_groups, limit=MOST_GROUPS)
    if memory_of(n_groups, bins, weighted) > memory_limit:
        raise refusal(code, "memory_limit", value=(n_groups, bins, int(weighted)), limit=memory_limit)


class Rows(NamedTuple):
    """A checked batch: private copies of the rows that count."""

    scores: Floats  # no NaN, no -0.0
    labels: Flags  # 0, 1 or 2
    codes: Ints  # index into names
    names: tuple[Name, ...]  # only those that occur
    repeats: Objects | None  # how many rows each line stands for, as Python ints above 0; None: one each
    weights: Objects | None  # weight of each of these rows in units of 2**-20; None: no weights
    skipped: int

    @property
    def weighted(self) -> bool:
        """Whether multiplicities are in units of 2**-20."""
        return self.weights is not None

    @property
    def rows(self) -> Objects:
        """How many rows each line stands for."""
        return np.ones(len(self.scores), object) if self.repeats is None else self.repeats

    @property
    def multiplicities(self) -> Objects:
        """What each line counts."""
        return self.rows if self.weights is None else self.rows * self.weights

    @property
    def total(self) -> int:
        """What all lines count."""
        plain = self.repeats is None and self.weights is None
        return len(self.scores) if plain else sum(self.multiplicities.tolist())


def read_rows(
    scores: Values,
    labels: Values | None,
    codes: Values,
    names: tuple[Name, ...] | None,
    weights: Values | None,
    repeats: Values | None,
    skip_nan: bool,
    unlabelled_code: bool,
    given: Sequence[Name] | None,
    weighted: bool,
    start: int = 0,
) -> Rows:
    """Copy a batch, the only read of the caller's memory, and refuse it at its first bad row.

    Every row is checked, also one that is then skipped for its NaN or its weight of 0. `weighted` says that rows
    of weight 1 are to have their weight too. `start` is the number of the first row, for messages.
    """
    x = np.array(scores, np.float64) + 0.0  # -0.0 becomes 0.0
    y = np.full(len(x), UNLABELLED, np.uint8) if labels is None else np.array(labels)
    g = np.array(codes)
    w = None if weights is None else np.array(weights)  # float64, or whole numbers as they are
    k = None if repeats is None else np.array(repeats)

    nan, large = np.isnan(x), np.isfinite(x) & (np.abs(x) > LARGEST_SCORE)
    allowed = (y == 0) | (y == 1) | ((y == UNLABELLED) & (unlabelled_code or labels is None))
    _, used, inverse = np.unique(g, return_index=True, return_inverse=True)
    known = None if given is None else set(given)
    found = [_name_of(int(g[i]), names, given, known, start + i) for i in used.tolist()]
    refused = np.array([isinstance(name, Exception) for name in found], bool)
    checks: list[tuple[Values, Callable[[int], Exception]]] = [
        (nan & (not skip_nan), lambda i: refusal("nan_score", "scores", start + i)),
        (large, lambda i: refusal("too_large", "scores", start + i, float(x[i]))),
        (~allowed, lambda i: refusal("bad_label", "labels", start + i, int(y[i]))),
        (refused[inverse], lambda i: found[inverse[i]]),
    ]
    if w is not None:
        bad = ~(np.isfinite(w) & (w >= 0))
        checks.append((bad, lambda i: refusal("bad_weight", "weights", start + i, w[i].item())))
    if k is not None:
        bad = ~(np.isfinite(k) & (k >= 0)) | (np.where(np.isfinite(k), k, 0) % 1 != 0)
        checks.append((bad, lambda i: refusal("bad_repeats", "repeats", start + i, k[i].item())))
    first = [(int(bad.argmax()), which) for which, (bad, _) in enumerate(checks) if bad.any()]
    if first:  # the first bad row, there the first check
        row, which = min(first)
        raise checks[which][1](row)

    keep, skipped = ~nan, int(nan.sum())
    each, times = _loads(w, k, weighted, len(x))
    if times is not None:  # a row of weight 0, and one that is repeated 0 times, is not there
        there = (times > 0).astype(bool)
        skipped = sum(times[nan].tolist())
        keep &= there
        times = times[keep]
    if each is not None:
        each = each[keep]
        if not weighted and (each == WEIGHT_UNIT).all():
            each = None
    if times is not None and (times == 1).all():
        times = None
    kept = inverse[keep]
    present = np.unique(kept)
    rank = np.searchsorted(present, kept).astype(np.int64)
    final = [name for i in present.tolist() if not isinstance(name := found[i], Exception)]
    return Rows(x[keep], y[keep].astype(np.uint8), rank, tuple(final), times, each, skipped)


def _loads(w: Values | None, k: Values | None, weighted: bool, n: int) -> tuple[Objects | None, Objects | None]:
    """Weight of each line in units of 2**-20, and how many rows it stands for; None: 1."""
    each = np.full(n, WEIGHT_UNIT, object) if weighted else None
    times: Objects | None = None
    if w is not None:  # to nearest, ties to even
        if (w >= 2.0**63).any():
            raise refusal("too_many_rows")
        each = np.array([round(v * WEIGHT_UNIT) for v in w.tolist()], object)
        times = (each > 0).astype(object) * 1
    if k is not None:
        whole = np.array([int(v) for v in k.tolist()], object)
        times = whole if times is None else whole * times
    load = times if each is None else each if times is None else each * times
    if load is not None and len(load) and max(load.tolist()) > MOST_ROWS:
        raise refusal("too_many_rows")
    return each, times


def _name_of(
    code: int, names: tuple[Name, ...] | None, given: Sequence[Name] | None, known: set[Name] | None, row: int
) -> Name | Exception:
    """The name of a code, or the error for its first row."""
    try:
        if names is not None and not 0 <= code < len(names):
            raise refusal("missing_group", "groups", row)
        name = clean_name(code, row) if names is None else names[code]
        if known is not None and name not in known:
            raise unknown_group(name, given or (), row)
    except (TypeError, ValueError) as error:
        return error
    return name


def unknown_group(name: Name, given: Sequence[Name], row: int | None = None) -> Exception:
    """The error for a group that is not one of the given ones."""
    unknown: Exception = refusal("unknown_group", "groups", row, name, listed(given))
    return unknown


def read_one(
    score: object,
    label: object,
    group: object,
    given: Sequence[Name] | None,
    weighted: bool,
    weight: object = 1,
    repeats: object = 1,
) -> Rows:
    """One row, with the same checks."""
    x, y = score_of(score) + 0.0, label_of(label)
    if x != x:
        raise refusal("nan_score", "scores")
    if LARGEST_SCORE < abs(x) < float("inf"):
        raise refusal("too_large", "scores", value=x)
    name = clean_name(group)
    if given is not None and name not in given:
        raise unknown_group(name, given)
    times, each = load_of(weight, repeats)
    if not times or not each:
        return Rows(np.zeros(0), np.zeros(0, np.uint8), np.zeros(0, np.int64), (), None, None, 0)
    one = np.ones(1, object)
    weights = one * each if weighted or each != WEIGHT_UNIT else None
    if times * (1 if weights is None else each) > MOST_ROWS:
        raise refusal("too_many_rows")
    where = np.array([x]), np.array([y], np.uint8), np.zeros(1, np.int64), (name,)
    return Rows(*where, None if times == 1 else one * times, weights, 0)


def load_of(weight: object, repeats: object) -> tuple[int, int]:
    """For `update_one`: how many rows the line stands for, and the weight of each in units of 2**-20."""
    if not _is_number(repeats):
        raise refusal("bad_repeats", "repeats", value=repeats)
    if not _is_number(weight):
        raise refusal("bad_weight", "weights", value=weight)
    try:
        w, k = as_float(weight), as_float(repeats)
    except OverflowError:
        raise refusal("too_many_rows") from None
    if not 0 <= w < math.inf:
        raise refusal("bad_weight", "weights", value=w)
    if not 0 <= k < math.inf or k != math.floor(k):
        raise refusal("bad_repeats", "repeats", value=repeats)
    if max(w * WEIGHT_UNIT, k) >= 2.0**63:
        raise refusal("too_many_rows")
    return int(repeats), round(w * WEIGHT_UNIT)  # type: ignore[call-overload]


def _is_number(value: object) -> TypeGuard[SupportsFloat]:
    return hasattr(value, "__float__") and not isinstance(value, (bool, np.bool_, str, bytes, complex))


def score_of(score: object) -> float:
    """The score of a row that comes alone, of any kind of number; the compiled backend asks here for all but floats."""
    if not _is_number(score):
        raise refusal("score_of_row", "score", value=score)
    try:
        return as_float(score)
    except OverflowError:
        raise refusal("too_large", "scores", value=score) from None


def label_of(label: object) -> int:
    """The label of a row that comes alone, 2 for None; the compiled backend asks here for all but ints."""
    if label is None:
        return UNLABELLED
    if not isinstance(label, (bool, int, float, np.bool_, np.integer, np.floating)):
        raise refusal("label_of_row", "label", value=label)
    if label not in (0, 1):
        raise refusal("bad_label", "labels", value=label)
    return int(label)
