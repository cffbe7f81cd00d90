"""Tables of any library: which of their columns are asked for, and the rest of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, cast

import numpy as np
from sklearn.utils import _safe_indexing

from gstar_fast._base.arrays import Values
from gstar_fast._base.names import listed
from gstar_fast._base.refusals.place import bad_option, bad_option_type, bad_type, bad_value
from gstar_fast._input.group_columns import column_at, column_names


class Table(Protocol):
    """Columns that can be picked: a frame of pandas or polars, a pyarrow table, a sparse matrix, a 2-D array."""

    @property
    def shape(self) -> tuple[int, ...]: ...


def as_table(X: object, argument: str = "sensitive_features") -> Table:
    """X as something whose columns can be picked and left out; `argument` names them."""
    if column_names(X) is not None:
        return cast(Table, X)
    if hasattr(X, "collect"):
        raise bad_type("X", f"X is a {type(X).__name__}, which has no rows yet; pass X.collect()")
    if hasattr(X, "tocsc"):
        sparse: Table = X.tocsc()  # columns are what we pick
        return sparse
    array = np.asarray(X)
    if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
        array = np.asarray(X, dtype=object)  # numbers beside strings stay numbers
    if array.ndim != 2:
        raise bad_value("X", f"X must be 2-D to find {argument} in it, got shape {array.shape}")
    return array


def asked(wanted: object, argument: str = "sensitive_features") -> list[object]:
    """The columns that an argument of the constructor names, as a list."""
    if isinstance(wanted, (str, int, np.integer)):
        return [wanted]
    if isinstance(wanted, bytes) or not isinstance(wanted, Iterable):
        raise bad_option_type(
            argument, f"{argument} must be a column of X (a name, or a position) or a list of them, got {wanted!r}"
        )
    return list(wanted)


def places_of(table: Table, wanted: object, argument: str = "sensitive_features") -> tuple[int, ...]:
    """Positions of the columns that an argument of the constructor names."""
    several = asked(wanted, argument)
    if len(several) > table.shape[1]:
        beside = "; groups of rows are passed to fit: fit(X, y, sensitive_features=...)"
        raise bad_option(
            argument,
            f"{argument} of the classifier names columns of X, which has {table.shape[1]}, got {len(several)} values"
            + beside * (argument == "sensitive_features"),
        )
    places = tuple(_place(table, name, argument) for name in several)
    if not places:
        raise bad_option(argument, f"{argument} is an empty list; name at least one column of X, or leave it out")
    if len(set(places)) < len(places):
        raise bad_option(argument, f"{argument} names a column twice: {wanted!r}")
    if len(places) == table.shape[1] and argument == "sensitive_features":
        raise bad_option(
            "sensitive_features", "sensitive_features names every column of X; nothing is left to predict from"
        )
    return places


def _place(table: Table, name: object, argument: str) -> int:
    names, n = column_names(table), int(table.shape[1])
    if isinstance(name, str):
        if names is None:
            raise bad_option(
                argument,
                f"{argument} names the column {name!r}, but X is a {type(table).__name__} without names; pass "
                f"a data frame, or the position of the column (0 to {n - 1})",
            )
        if names.count(name) != 1:
            problem = "has no such column" if name not in names else "has more than one of them"
            raise bad_option(
                argument, f"{argument} names the column {name!r}, but X {problem}; its columns are {listed(names)}"
            )
        return names.index(name)
    if isinstance(name, (bool, np.bool_)) or not isinstance(name, (int, np.integer)):
        raise bad_option_type(argument, f"{argument} must name columns by strings or positions, got {name!r}")
    if not -n <= name < n:
        raise bad_option(argument, f"{argument} asks for column {name}, but X has {n}, numbered from 0")
    return int(name) % n


def text_places(X: object) -> list[int]:
    """Positions of the columns that hold text."""
    if not hasattr(X, "shape") or len(X.shape) != 2 or hasattr(X, "tocsc"):
        return []
    return [place for place in range(X.shape[1]) if _holds_text(np.asarray(column_at(X, place)))]


def _holds_text(values: Values) -> bool:
    return values.dtype.kind in "US" or (values.dtype == object and any(isinstance(v, str) for v in values.tolist()))


def rows_at(table: object, rows: Values) -> object:
    """Some rows of X."""
    if hasattr(table, "column_names") and hasattr(table, "take"):
        return table.take(rows)  # pyarrow, which older releases of scikit-learn do not cut
    return _safe_indexing(table, rows)


def without_columns(table: Any, places: Sequence[int]) -> object:
    """The table without some of its columns."""
    keep = [place for place in range(table.shape[1]) if place not in places]
    if hasattr(table, "iloc"):
        return table.iloc[:, keep]
    if hasattr(table, "get_column"):
        return table.select([table.columns[place] for place in keep])
    if hasattr(table, "column_names"):
        return table.select(keep)
    return table[:, keep]
