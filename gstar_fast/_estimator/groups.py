"""Sensitive features, in any of the shapes people have them -> the group of each row."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from gstar_fast._base.arrays import Values
from gstar_fast._base.factorize import cross
from gstar_fast._base.names import Name, is_missing, joined_columns, sort_key
from gstar_fast._base.refusals.place import bad_option, bad_type, bad_value
from gstar_fast._estimator.tables import Table, as_table, asked, places_of, text_places, without_columns
from gstar_fast._input.arrow import Column
from gstar_fast._input.columns import _named, group_column
from gstar_fast._input.group_columns import check_one_length, column_at, column_names, columns_of

EVERYBODY = "all"  # the one group of those who have no sensitive features


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
        """Everybody in one group."""
        return cls(np.zeros(n, np.int64), (EVERYBODY,))

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Values) -> Groups:
        """Some of the rows."""
        return Groups(self.codes[rows], self.names, self.columns)

    def positions(self, known: Sequence[Name]) -> NDArray[np.int64]:
        """Where each row's group stands among the known ones; -1 for a group that does not."""
        place = {name: i for i, name in enumerate(known)}
        return np.array([place.get(name, -1) for name in self.names], np.int64)[self.codes]


@dataclass(frozen=True)
class Named:
    """Columns of X that an argument of the classifier names."""

    argument: str
    columns: object
    drop: bool  # whether the estimator does not see them

    @property
    def kind(self) -> str:
        """The word for them in messages; the flag is called ``drop_`` plus this word."""
        return "sensitive" if self.argument == "sensitive_features" else self.argument

    def is_in(self, message: str) -> bool:
        """Whether a message has the name of one of the columns in it."""
        names = [re.escape(name) for name in asked(self.columns, self.argument) if isinstance(name, str)]
        return bool(names) and re.search(rf"(?<!\w)({'|'.join(names)})(?!\w)", message) is not None

    def present(self, X: object) -> list[object]:
        """The columns, or none if X has none of them; an error if X has only some."""
        names, places = column_names(as_table(X, self.argument)), asked(self.columns, self.argument)
        absent = names is not None and all(isinstance(place, str) and place not in names for place in places)
        return [] if absent else places


@dataclass(frozen=True)
class Source:
    """Where `fit` found the groups, and so where every later call finds them: in X, beside X, or nowhere."""

    columns: object = None  # names or positions of columns of X
    beside: bool = False  # passed as sensitive_features
    named: tuple[Named, ...] = ()  # columns of X with a role of their own

    @classmethod
    def of(cls, columns: object, given: object, *, drop: bool, decide_by: object, drop_decide_by: bool) -> Source:
        """From the arguments of `fit`; `decide_by` are columns of X, or None."""
        if columns is not None and given is not None:
            raise bad_option(
                "sensitive_features",
                f"sensitive_features={columns!r} of the classifier names columns of X, so none may be passed to its "
                "methods; do one or the other",
            )
        roles = (Named("sensitive_features", columns, drop), Named("decide_by", decide_by, drop_decide_by))
        return cls(columns, given is not None, tuple(role for role in roles if role.columns is not None))

    @property
    def is_nowhere(self) -> bool:
        """Whether all rows are one group."""
        return self.columns is None and not self.beside

    def names_of(self, estimator: object, X: object) -> dict[str, object]:
        """`n_features_in_` and `feature_names_in_` of X as the user passes it, None where not known."""
        if not self.named:
            return {name: getattr(estimator, name, None) for name in ("n_features_in_", "feature_names_in_")}
        table = as_table(X)
        names = column_names(table)
        text = names is not None and all(isinstance(name, str) for name in names)
        return {
            "n_features_in_": int(table.shape[1]),
            "feature_names_in_": np.array(names, object) if text else None,
        }

    def read(self, X: object, given: object) -> tuple[object, Groups]:
        """X as the estimator sees it, and the group of each row."""
        if self.columns is not None:
            if given is not None:
                raise bad_value(
                    "sensitive_features",
                    f"groups come from sensitive_features={self.columns!r} of X; "
                    "do not pass sensitive_features as well",
                )
            table = as_table(X)
            return self._without(self.named, X), groups_in_table(table, places_of(table, self.columns))
        n = _num_samples(X)
        if given is None:
            if self.beside:
                raise bad_value(
                    "sensitive_features",
                    "fit had sensitive_features, so this needs them too: pass sensitive_features=..., or let the "
                    "classifier find them in X with GroupThresholdClassifier(..., sensitive_features='column')",
                )
            return self._without(self.named, X), Groups.one(n)
        if not self.beside:
            raise bad_value(
                "sensitive_features",
                "fit had no sensitive_features, so there is one threshold for all; do not pass them here",
            )
        return self._without(self.named, X), groups_of_rows(given, n)

    def features(self, X: object) -> object:
        """X as the estimator sees it; where groups do not matter, X may come without the columns that are dropped."""
        return self._without([replace(role, columns=there) for role in self.named if (there := role.present(X))], X)

    def _without(self, roles: Sequence[Named], X: object) -> object:
        """X without the columns of the roles that are dropped."""
        dropped = [role for role in roles if role.drop]
        if not dropped:
            return X
        table = as_table(X, dropped[0].argument)
        places = {place for role in dropped for place in places_of(table, role.columns, role.argument)}
        if len(places) == table.shape[1]:
            named = " and ".join(role.argument for role in dropped)
            raise bad_option("sensitive_features", f"{named} name every column of X; nothing is left to predict from")
        return without_columns(table, sorted(places))

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
        places = {role.kind: {*places_of(as_table(X), role.columns, role.argument)} for role in self.named}
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
    if len(groups) != n:
        raise bad_value(
            "sensitive_features", f"arrays differ in length: X has {n}, sensitive_features has {len(groups)}"
        )
    return groups


def groups_in_table(table: Table, places: Sequence[int]) -> Groups:
    """Read the groups from columns of X."""
    names = column_names(table)
    labels = list(places) if names is None else [names[place] for place in places]
    columns = [column_at(table, place) for place in places]
    if names is None:
        columns = [_whole(column) for column in columns]
    return _crossed(columns, [f"column {label!r} of X" for label in labels], None if names is None else labels)


def _crossed(columns: Sequence[object], labels: Sequence[str], names: Sequence[object] | None) -> Groups:
    """One column as it is, several as tuples; `labels` is what messages call them."""
    read = [_read(column, label) for column, label in zip(columns, labels, strict=True)]
    check_one_length({label: len(codes) for label, (codes, _) in zip(labels, read, strict=True)})
    codes, found = read[0] if len(read) == 1 else cross(read)
    order = sorted(range(len(found)), key=lambda code: sort_key(found[code]))  # the same in whatever form they came
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return Groups(rank[codes], tuple(found[code] for code in order), _all_named(names))


def _all_named(names: Sequence[object] | None) -> tuple[str, ...] | None:
    """Names of columns, where each has one."""
    texts = tuple(name for name in names or () if isinstance(name, str) and name)
    return None if names is None or len(texts) < len(names) else texts


def _read(data: object, label: str) -> tuple[Values, tuple[Name, ...]]:
    """Codes and names of one column, or an error that says which column it is."""
    column = group_column(data, label)
    missing = _missing(column)
    if missing.any():
        count = int(missing.sum())
        raise bad_value(
            "sensitive_features",
            f"{label} has {count} missing value{'s' if count > 1 else ''}, first at row {int(missing.argmax())}; "
            "drop such rows or give them a group of their own, such as 'unknown'",
        )
    try:
        return _named(*column)
    except (TypeError, ValueError) as error:
        cure = "" if column.values.dtype.kind == "f" else "; strings always do, such as column.astype(str)"
        raise type(error)(f"{label}: {error}{cure}") from None


def _missing(column: Column) -> NDArray[np.bool_]:
    values, valid, names = column
    missing: NDArray[np.bool_] = np.zeros(len(values), bool) if valid is None else ~valid
    if names is not None:
        absent = np.array([*map(is_missing, names), True])  # the last, for codes that point nowhere
        missing |= absent[np.where((values >= 0) & (values < len(names)), values, -1)]
    elif values.dtype.kind == "f":
        missing |= np.isnan(values)
    elif values.dtype == object and not {*map(type, values.tolist())} <= {str, int, bool, tuple}:
        missing |= np.fromiter(map(is_missing, values.tolist()), bool, len(values))
    return missing


def _whole(column: Values) -> Values:
    """0.0 and 1.0 as 0 and 1: an array has one type for all its columns, so a code in it may have to be a float."""
    if column.dtype.kind != "f" or not ((column == np.floor(column)) & (np.abs(column) <= 2.0**53)).all():
        return column
    return column.astype(np.int64)


def check_columns(estimator: object, table: Table, source: Source) -> None:
    """Reject a fitted estimator that was trained with columns we drop, or without columns we pass on."""
    names = column_names(table)
    seen = getattr(estimator, "feature_names_in_", None)
    n_seen, n_named = getattr(estimator, "n_features_in_", None), 0
    for role in source.named:
        places = places_of(table, role.columns, role.argument)
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
