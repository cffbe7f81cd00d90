"""Errors of the command line, its exit codes, and its names for options, columns and rows of files."""

from __future__ import annotations

from collections.abc import Mapping

from gstar_fast._base.refusals.wording import Face
from gstar_fast.errors import InfeasibleError, OptionError

DONE, FAILED, USAGE, INFEASIBLE, INTERRUPTED = 0, 1, 2, 3, 130


class CliError(Exception):
    """One or two lines for the user: what is wrong, what was found, what to do."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


class Interrupted(Exception):  # noqa: N818 (no error, a wish)
    """Ctrl-C, or another signal to stop; the message says what was kept."""

    def __init__(self, message: str, signal: int) -> None:
        super().__init__(message)
        self.code = 128 + signal


def exit_code(error: BaseException) -> int:
    """The exit code for an error of the library."""
    if isinstance(error, OptionError):
        return USAGE
    return INFEASIBLE if isinstance(error, InfeasibleError) else FAILED


def worded(told: BaseException, face: Options | None = None) -> str:
    """An error or a warning of the library, with options and columns for its arguments."""
    if not getattr(told, "code", ""):
        return str(told)
    # imports NumPy, which every error with a code has imported already
    from gstar_fast._base.refusals.refusal import worded as words_of

    return words_of(told, face or Options())


def extra_missing(what: str, package: str, extra: str = "cli") -> CliError:
    """The error if a package is missing that one of the extras installs."""
    return CliError(f"{what} needs {package}, which is not installed; run: pip install 'gstar-fast[{extra}]'")


# ------------------------------------------------------------------------------------------- names of the command line

_NAMES = ("bins", "confidence", "decide_by", "density", "evidence", "fair_between", "max_seconds", "method", "min_rows")
_MORE = ("missing", "missing_group", "objective", "positive", "range", "replicates", "rounds", "seed")
_ARGUMENTS = {"limits": "--limit", "penalties": "--penalty"} | {
    name: f"--{name.replace('_', '-')}" for name in _NAMES + _MORE
}
_POLICIES = {"False": "reject", "True": "accept"}
_FLAGS = {"allow_expired", "exact", "randomize", "unified"}


class Options(Face):
    """Options of the command line for the arguments of the library."""

    give = "give"
    choose = "give"
    own_group = "name a group for them with --missing-group"
    keys = "name the column that identifies a row with --key"
    some_limits = "give --limit NAME=VALUE"
    count_rows = "count some first"
    count_labels = "count rows that have labels (--label)"
    same_bins = "the --bins and --range of the other"
    weights = "--weight"
    words_as_labels = "say which one is positive: --positive VALUE"

    def argument(self, name: str | None) -> str:
        return _ARGUMENTS.get(str(name), str(name))

    def option(self, name: str, value: str) -> str:
        if name in _FLAGS:
            return f"--{name.replace('_', '-')}"
        if name == "nan":
            value = _POLICIES.get(value, value)
        shown = "LO HI" if name == "range" else value.strip("'\"")
        return f"--{name.replace('_', '-')} {shown}"

    def other(self, name: str, _value: str) -> str:
        return f"--{name} NUMBER"

    def item(self, name: str, key: str) -> str:
        return f"{self.argument(name)} {key}"

    def entry(self, name: str, key: str, value: str) -> str:
        return f"{self.item(name, key)}={'VALUE' if value == '...' else value}"


class Table(Options):
    """Columns and rows of a table for the arrays of one of its blocks."""

    def __init__(self, columns: Mapping[str, str], groups: tuple[str, ...], first_row: int) -> None:
        self._columns = columns
        self._groups = groups
        self._first_row = first_row

    def argument(self, name: str | None) -> str:
        column = self._columns.get(str(name))
        return super().argument(name) if column is None else f"column {column!r}"

    def at(self, row: int | None, argument: str | None = None) -> str:
        return super().at(row, argument) if row is None else f" at row {self._first_row + row:,} (counted from 0)"

    def column(self, argument: str | None) -> str:
        column = self._columns.get(str(argument))
        return "" if argument == "groups" or column is None else f"column {column!r}: "

    def label_hint(self, value: object) -> str:
        return "; give --positive 1" if super().label_hint(value) else "; say which label is positive: --positive VALUE"

    def too_many_groups(self, found: int) -> str:
        names = " and ".join(map(repr, self._groups))
        return (
            f"column {names} has too many different values to be a group: {found:,} or more; name a column that has "
            "few, or give fewer --bins"
        )
