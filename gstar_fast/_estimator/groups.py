"""Groups of rows, and where they come from: columns of X, an argument of the methods, or nowhere."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from gstar_fast._base.arrays import Values
from gstar_fast._base.names import Name, as_tuple, joined_columns, listed, sort_key
from gstar_fast._base.refusals.place import bad_option, bad_option_type, bad_type, bad_value
from gstar_fast._base.refusals.refusal import about
from gstar_fast._base.text import first_few
from gstar_fast._input.columns import group_column
from gstar_fast._input.group_columns import (
    check_one_length,
    column_at,
    column_names,
    columns_of,
    cross,
    named,
    without_missing,
)
from gstar_fast._question.cut import Column
from gstar_fast._sketch.columns import Columns
from gstar_fast._sketch.sketch import Sketch
from gstar_fast.errors import OptionValueError

EVERYBODY = "all"  # the one group where there are no sensitive features


@dataclass(frozen=True)
class Groups:
    """Group of each row: `names[codes]`."""

    codes: NDArray[np.int64]
    names: tuple[Name, ...]
    columns: tuple[str, ...] | None = None  # names of the columns, where they have some

    @property
    def column(self) -> str | None:
        """Name of the column, or of several as a line of CSV, as the command line writes it and reads it there."""
        return None if self.columns is None else joined_columns(self.columns)

    @classmethod
    def one(cls, n: int) -> Groups:
        """All rows in one group."""
        return cls(np.zeros(n, np.int64), (EVERYBODY,))

    def __len__(self) -> int:
        return len(self.codes)

    def positions(self, known: Sequence[Name]) -> NDArray[np.int64]:
        """Where each row's group stands among the known ones; -1 for a group that does not."""
        place = {name: i for i, name in enumerate(known)}
        return np.array([place.get(name, -1) for name in self.names], np.int64)[self.codes]


class Named(NamedTuple):
    """Columns of X that an argument of the classifier names."""

    argument: str
    columns: object
    drop: bool  # whether the estimator does not see them

    @property
    def kind(self) -> str:
        """The word for them in messages; the flag is called ``drop_`` plus this word."""
        return self.argument.removesuffix("_features")

    @property
    def several(self) -> list[object]:
        """The columns as a list."""
        if isinstance(self.columns, (str, int, np.integer)):
            return [self.columns]
        if isinstance(self.columns, bytes) or not isinstance(self.columns, Iterable):
            text = "must be a column of X (a name, or a position) or a list of them, got"
            raise bad_option_type(self.argument, f"{self.argument} {text} {self.columns!r}")
        return list(self.columns)

    def is_in(self, message: str) -> bool:
        """Whether a message has the name of one of the columns in it."""
        names = [re.escape(name) for name in self.several if isinstance(name, str)]
        return bool(names) and re.search(rf"(?<!\w)({'|'.join(names)})(?!\w)", message) is not None

    def places(self, table: Table) -> tuple[int, ...]:
        """Positions of the columns."""
        several, n, is_sensitive = self.several, int(table.shape[1]), self.argument == "sensitive_features"
        if len(several) > n:
            beside = "; groups of rows are passed to fit: fit(X, y, sensitive_features=...)" * is_sensitive
            raise self._wrong(f"of the classifier names columns of X, which has {n}, got {len(several)} values{beside}")
        places = tuple(self._place(table, name) for name in several)
        if not places:
            raise self._wrong("is an empty list; name at least one column of X, or leave it out")
        if len(set(places)) < len(places):
            raise self._wrong(f"names a column twice: {self.columns!r}")
        if len(places) == n and is_sensitive:
            raise self._wrong("names every column of X; nothing is left to predict from")
        return places

    def present(self, X: object) -> tuple[int, ...]:
        """The same, or none if X has none of the columns; an error if X has only some."""
        table = as_table(X, self.argument)
        names = column_names(table)
        absent = names is not None and all(isinstance(name, str) and name not in names for name in self.several)
        return () if absent else self.places(table)

    def _place(self, table: Table, name: object) -> int:
        names, n = column_names(table), int(table.shape[1])
        if isinstance(name, str):
            if names is None:
                kind, last = type(table).__name__, n - 1
                cure = f"pass a data frame, or the position of the column (0 to {last})"
                raise self._wrong(f"names the column {name!r}, but X is a {kind} without names; {cure}")
            if names.count(name) != 1:
                problem = "has no such column" if name not in names else "has more than one of them"
                known = first_few(map(repr, names), 10)
                raise self._wrong(f"names the column {name!r}, but X {problem}; its columns are {known}")
            return names.index(name)
        if isinstance(name, (bool, np.bool_)) or not isinstance(name, (int, np.integer)):
            text = f"{self.argument} must name columns by strings or positions, got {name!r}"
            raise bad_option_type(self.argument, text)
        if not -n <= name < n:
            raise self._wrong(f"asks for column {name}, but X has {n}, numbered from 0")
        return int(name) % n

    def _wrong(self, text: str) -> OptionValueError:
        return bad_option(self.argument, f"{self.argument} {text}")


class Source(NamedTuple):
    """Where `fit` found the groups, and so where every later call finds them: in X, beside X, or nowhere."""

    beside: bool  # passed as sensitive_features
    sensitive: object  # columns of X
    drop_sensitive: bool
    decide_by: object  # columns of X that decide in the place of the groups
    drop_decide_by: bool

    @property
    def named(self) -> list[Named]:
        """The columns of X that have a role of their own."""
        roles = (
            Named("sensitive_features", self.sensitive, self.drop_sensitive),
            Named("decide_by", self.decide_by, self.drop_decide_by),
        )
        return [role for role in roles if role.columns is not None]

    @property
    def is_nowhere(self) -> bool:
        """Whether all rows are one group."""
        return self.sensitive is None and not self.beside

    def names_of(self, estimator: object, X: object) -> dict[str, object]:
        """`n_features_in_` and `feature_names_in_` of X as the user passes it, None where not known."""
        if not self.named:
            return {name: getattr(estimator, name, None) for name in ("n_features_in_", "feature_names_in_")}
        table = as_table(X)
        names = column_names(table)
        known = names is not None and all(isinstance(name, str) for name in names)
        return {
            "n_features_in_": int(table.shape[1]),
            "feature_names_in_": np.array(names, object) if known else None,
        }

    def read(self, X: object, given: object) -> tuple[object, Groups]:
        """X as the estimator sees it, and the group of each row."""
        if self.sensitive is not None and given is not None:
            raise bad_option(
                "sensitive_features",
                f"sensitive_features={self.sensitive!r} of the classifier names columns of X, so none may be passed to "
                "its methods; do one or the other",
            )
        if self.beside and given is None:
            raise bad_value(
                "sensitive_features",
                "fit had sensitive_features, so this needs them too: pass sensitive_features=..., or let the "
                "classifier find them in X with GroupThresholdClassifier(..., sensitive_features='column')",
            )
        if self.is_nowhere and given is not None:
            raise bad_value(
                "sensitive_features",
                "fit had no sensitive_features, so there is one threshold for all; do not pass them here",
            )
        if self.sensitive is not None:
            table = as_table(X)
            groups = groups_in_table(table, self.named[0].places(table))
        else:
            groups = groups_of_rows(given, _num_samples(X)) if self.beside else Groups.one(_num_samples(X))
        return self._without([(role, role.places(as_table(X, role.argument))) for role in self.named], X), groups

    def segments(self, X: object) -> Groups:
        """The group of each row by the columns that decide."""
        table = as_table(X, "decide_by")
        places = self.named[-1].places(table)
        sensitive = self.named[0].present(X) if self.sensitive is not None else ()
        if both := set(places).intersection(sensitive):
            raise bad_option(
                "decide_by",
                f"decide_by={self.decide_by!r} names a sensitive column, {listed(sorted(both))} by position; leave "
                "decide_by out to decide by the protected group",
            )
        return groups_in_table(table, places)

    def features(self, X: object) -> object:
        """X as the estimator sees it; where groups do not matter, X may come without the columns that are dropped."""
        return self._without([(role, role.present(X)) for role in self.named], X)

    def _without(self, found: Sequence[tuple[Named, tuple[int, ...]]], X: object) -> object:
        """X without the columns of the roles that are dropped."""
        dropped = [role for role, places in found if role.drop and places]
        if not dropped:
            return X
        table = as_table(X, dropped[0].argument)
        places = {place for role, places in found if role.drop for place in places}
        if len(places) == table.shape[1]:
            named = " and ".join(role.argument for role in dropped)
            raise bad_option("sensitive_features", f"{named} name every column of X; nothing is left to predict from")
        return without_columns(table, places)

    @contextlib.contextmanager
    def explained(self, X: object) -> Iterator[None]:
        """Add notes to an error of the estimator: which columns hold text, and which were dropped."""
        try:
            yield
        except Exception as error:
            for note in self._notes(error, as_table(X) if self.named else X):
                error.add_note(note)
            raise

    def _notes(self, error: Exception, X: object) -> Iterator[str]:
        """What may have led to this error."""
        places = {role.kind: {*role.places(as_table(X))} for role in self.named}
        dropped = {place for role in self.named if role.drop for place in places[role.kind]}
        texts = [place for place in text_places(X) if place not in dropped]
        names = column_names(X) or range(max(texts, default=-1) + 1)
        missed = [role for role in self.named if role.drop and role.is_in(str(error))]
        if texts and not missed:
            listing = ", ".join(repr(names[place]) for place in texts)
            yield (
                f"The estimator was given columns of X that hold text: {listing}. Encode text in a pipeline, or leave "
                "it out of X."
            )
        for role in self.named:
            if role in missed or (role.drop and not texts and not missed):
                yield (
                    f"The columns {role.argument}={role.columns!r} were dropped before the estimator saw X; "
                    f"drop_{role.kind}=False keeps them."
                )
            elif not role.drop and places[role.kind].intersection(texts):
                yield f"drop_{role.kind}=True leaves out {role.argument}={role.columns!r}."


# ----------------------------------------------------------------------------------------------- sensitive_features=...


def groups_of_rows(given: object, n: int) -> Groups:
    """Read what was passed to a method beside X: one value for each row, or several columns of them."""
    if isinstance(given, (str, bytes)):
        raise bad_type(
            "sensitive_features",
            f"sensitive_features must have one value for each row, got {given!r}; to name a column of X, write "
            f"GroupThresholdClassifier(..., sensitive_features={given!r})",
        )
    if not hasattr(given, "__len__") or isinstance(given, (Mapping, Set)) or getattr(given, "shape", None) == ():
        raise bad_type(
            "sensitive_features",
            "sensitive_features must be a column, an array, a list or a table with one value for each row, got "
            f"{type(given).__name__}",
        )
    found = columns_of(given, "sensitive_features")
    if found is None:
        name = getattr(given, "name", None)  # of a pandas or polars Series
        groups = _crossed([given], ["sensitive_features"], [name])
    else:
        groups = _crossed(found.columns, found.labels("sensitive_features"), found.names)
    check_one_length({"X": n, "sensitive_features": len(groups)})
    return groups


def groups_in_table(table: Table, places: Sequence[int]) -> Groups:
    """Read the groups from columns of X."""
    names = column_names(table)
    labels = list(places) if names is None else [names[place] for place in places]
    columns = [column_at(table, place) for place in places]
    if names is None:
        columns = [_whole(np.asarray(column)) for column in columns]
    return _crossed(columns, [f"column {label!r} of X" for label in labels], None if names is None else labels)


def _crossed(columns: Sequence[object], labels: Sequence[str], names: Sequence[object] | None) -> Groups:
    """One column as it is, several as tuples; `labels` is what messages call them."""
    read = [_read(column, label) for column, label in zip(columns, labels, strict=True)]
    check_one_length({label: len(codes) for label, (codes, _) in zip(labels, read, strict=True)})
    codes, found = read[0] if len(read) == 1 else cross(read)
    order = sorted(range(len(found)), key=lambda code: sort_key(found[code]))  # the same in whatever form they came
    return Groups(np.argsort(order)[codes], tuple(found[code] for code in order), _all_named(names))


def joined(protected: Groups, segments: Groups) -> Groups:
    """Tuples of protected group and segment, as far as rows have them."""
    codes, names = cross([(protected.codes, protected.names), (segments.codes, segments.names)])
    columns = None
    if protected.columns is not None and segments.columns is not None:
        columns = (*protected.columns, *segments.columns)
    return Groups(codes, names, columns)


class Roles(NamedTuple):
    """The columns that were counted, as a question and thresholds name them."""

    column: str | None  # of what decides
    fair_between: tuple[Column, ...] = ()
    decide_by: tuple[Column, ...] = ()

    @classmethod
    def of(cls, protected: Groups, counted: Groups, sketch: Sketch) -> Roles:
        """The roles of counted columns; the sketch learns their names where something else than the group decides."""
        if counted is protected:
            return cls(protected.column)
        names: Sequence[Column] = range(len(as_tuple(counted.names[0])))
        if counted.columns is not None and len(set(counted.columns)) == len(counted.columns):
            names = counted.columns
            sketch._remember(Columns(group=counted.columns), None)
        k = len(as_tuple(protected.names[0]))
        column = None if counted.columns is None else joined_columns(counted.columns[k:])
        return cls(column, tuple(names[:k]), tuple(names[k:]))


def _all_named(names: Sequence[object] | None) -> tuple[str, ...] | None:
    """Names of columns, where each has one."""
    texts = tuple(name for name in names or () if isinstance(name, str) and name)
    return None if names is None or len(texts) < len(names) else texts


def _read(data: object, label: str) -> tuple[Values, tuple[Name, ...]]:
    """Codes and names of one column, or an error that says which column it is."""
    column = group_column(data, label)
    try:
        missing = without_missing(column)[1]
        if not missing.any():
            return named(*column)
    except (TypeError, ValueError) as error:
        raise about(error, label) from None
    count = int(missing.sum())
    raise bad_value(
        "sensitive_features",
        f"{label} has {count} missing value{'s' if count > 1 else ''}, first at row {int(missing.argmax())}; "
        "drop such rows or give them a group of their own, such as 'unknown'",
    )


def _whole(column: Values) -> Values:
    """0.0 and 1.0 as 0 and 1: an array has one type for all its columns, so a code in it may have to be a float."""
    if column.dtype.kind != "f" or not ((column == np.floor(column)) & (np.abs(column) <= 2.0**53)).all():
        return column
    return column.astype(np.int64)


# ------------------------------------------------------------------------------------------------------ columns of X


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


def text_places(X: object) -> list[int]:
    """Positions of the columns that hold text."""
    if not hasattr(X, "shape") or len(X.shape) != 2 or hasattr(X, "tocsc"):
        return []
    return [place for place in range(X.shape[1]) if _holds_text(np.asarray(column_at(X, place)))]


def _holds_text(values: Values) -> bool:
    return values.dtype.kind in "US" or (values.dtype == object and any(isinstance(v, str) for v in values.tolist()))


def without_columns(table: Table, places: Container[int]) -> object:
    """The table without some of its columns."""
    keep = [place for place in range(table.shape[1]) if place not in places]
    if hasattr(table, "iloc"):
        return table.iloc[:, keep]
    if hasattr(table, "select"):  # polars selects by name, pyarrow by place too
        names = column_names(table) or []
        return table.select([names[place] for place in keep] if hasattr(table, "get_column") else keep)
    return cast(Values, table)[:, keep]


def check_columns(estimator: object, table: Table, source: Source) -> None:
    """Reject a fitted estimator that was trained with columns we drop, or without columns we pass on."""
    names = column_names(table)
    seen = getattr(estimator, "feature_names_in_", None)
    n_seen, n_named = getattr(estimator, "n_features_in_", None), 0
    for role in source.named:
        places = role.places(table)
        n_named += len(places)
        if seen is not None and names is not None:
            trained_with = any(names[place] in seen for place in places)
        elif len(source.named) > 1 or n_seen not in (table.shape[1], table.shape[1] - n_named):
            continue  # counts do not show which columns differ; the estimator will raise
        else:
            trained_with = n_seen == table.shape[1]
        if trained_with and role.drop:
            raise bad_option(
                "estimator",
                f"estimator was fitted with the {role.kind} columns {role.columns!r}; pass drop_{role.kind}=False so "
                "that it gets them, or one that was fitted without",
            )
        if not trained_with and not role.drop:
            raise bad_option(
                "estimator",
                f"estimator was fitted without the {role.kind} columns {role.columns!r}; leave drop_{role.kind}=True "
                "so that it does not get them",
            )
