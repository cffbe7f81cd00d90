"""What the command line says when something is wrong, and with which exit code it ends."""

from __future__ import annotations

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


def pyarrow_missing(what: str) -> CliError:
    """The error for a format that cannot be read or written without pyarrow."""
    return CliError(f"{what} needs pyarrow, which is not installed; run: pip install 'gstar-fast[arrow]'")
