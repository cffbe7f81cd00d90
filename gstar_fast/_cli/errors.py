"""Errors of the command line, and its exit codes."""

from __future__ import annotations

from gstar_fast._cli.wording import Options
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
