"""What the command line says when something is wrong, and with which exit code it ends."""

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
    """Ctrl-C, or a signal that asks to stop: the message says what was kept."""

    def __init__(self, message: str, signal: int) -> None:
        super().__init__(message)
        self.code = 128 + signal


def exit_code(error: BaseException) -> int:
    """The exit code that an error of the library stands for."""
    if isinstance(error, OptionError):
        return USAGE
    return INFEASIBLE if isinstance(error, InfeasibleError) else FAILED


def worded(told: BaseException, face: Options | None = None) -> str:
    """An error or a warning of the library, with options and columns for its arguments."""
    if not getattr(told, "code", ""):
        return str(told)
    # brings NumPy; what has a code comes from where it was needed already
    from gstar_fast._base.refusals.refusal import worded as words_of

    return words_of(told, face or Options())


def pyarrow_missing(what: str) -> CliError:
    """The error for a format that cannot be read or written without pyarrow."""
    return extra_missing(what, "pyarrow", "arrow")


def extra_missing(what: str, package: str, extra: str) -> CliError:
    """The error for what cannot be done without a package that an extra of ours installs."""
    return CliError(f"{what} needs {package}, which is not installed; run: pip install 'gstar-fast[{extra}]'")
