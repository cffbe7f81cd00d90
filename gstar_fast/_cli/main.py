"""One call of the command line: arguments in, exit code out."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module

from gstar_fast._cli.errors import DONE, FAILED, INTERRUPTED, CliError, Interrupted, exit_code, worded
from gstar_fast._cli.output import Console, for_terminal
from gstar_fast._cli.parser import parse

BROKEN_PIPE = 141  # what a shell shows for a program that SIGPIPE ended


def run(argv: list[str]) -> int:
    """Run a command and return its exit code."""
    from gstar_fast import __version__

    try:
        given = parse(argv, __version__)
    except SystemExit as end:
        return int(end.code or 0)
    given.argv = argv
    console = Console(given.json, given.quiet)
    try:
        with warnings.catch_warnings(), contextlib.ExitStack() as stack:
            _show_warnings(console)
            with _undisturbed():
                command = getattr(import_module(f"gstar_fast._cli.commands.{given.command}"), given.command)
            if given.backend is not None:
                from gstar_fast import use_backend

                stack.enter_context(use_backend(given.backend))
            code: int | None = command(given, console)
        sys.stdout.flush()
        return code or DONE
    except BrokenPipeError:  # the reader of our output has stopped reading
        with contextlib.suppress(OSError, ValueError):  # no file behind it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more when it ends
        return BROKEN_PIPE
    except (Exception, KeyboardInterrupt) as error:
        if given.debug:
            import traceback  # slow, and needed here only

            print(for_terminal(traceback.format_exc()), file=sys.stderr)
        return _say(error)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits for the end: NumPy takes one in the middle of its import for a broken installation."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _say(error: BaseException) -> int:
    """Print the error and return the exit code it stands for."""
    if isinstance(error, (CliError, Interrupted)):
        text, code = str(error), error.code
    elif isinstance(error, KeyboardInterrupt):
        text, code = "stopped", INTERRUPTED
    elif isinstance(error, OSError) and error.strerror:
        name = f"{error.filename}: " if error.filename is not None else ""
        text, code = f"{name}{error.strerror}", FAILED
    elif isinstance(error, (ValueError, TypeError, OSError, ImportError, MemoryError)):
        text, code = worded(error) or type(error).__name__, exit_code(error)
    else:
        text = f"{type(error).__name__}: {error}\nthis should not happen; please report it with what --debug shows"
        code = FAILED
    print(f"gstar-fast: {for_terminal(text)}", file=sys.stderr, flush=True)
    return code


def _show_warnings(console: Console) -> None:
    from gstar_fast.errors import MissingClassWarning, NotConvergedWarning

    told: set[str] = set()  # `solve --report` gives some of them twice

    def show(message: BaseException | str, *_: object, **__: object) -> None:
        note = f"note: {worded(message) if isinstance(message, BaseException) else message}"
        if note not in told:
            told.add(note)
            console.note(note)

    warnings.showwarning = show  # restored by catch_warnings
    warnings.simplefilter("always", UserWarning)
    for kind in (MissingClassWarning, NotConvergedWarning):  # the verdict says it too
        warnings.simplefilter("ignore", kind)
