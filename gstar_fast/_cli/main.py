"""One call of the command line: arguments in, exit code out."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module

from gstar_fast._cli.errors import DONE, FAILED, INTERRUPTED, USAGE, CliError, Interrupted
from gstar_fast._cli.output import Console, printable
from gstar_fast._cli.parser import parse

BROKEN_PIPE = 141  # what a shell shows for a program that SIGPIPE ended

# words of the Python library -> ours
_WORDS = (
    (r"limits\[['\"](\w+)['\"]\]", r"--limit \1"),
    (r"penalties\[['\"](\w+)['\"]\]", r"--penalty \1"),
    (r"limits=\{['\"](\w+)['\"]: ([\d.]+)\}", r"--limit \1=\2"),
    (r"limits=\{\.\.\.\}", "--limit NAME=VALUE"),
    (r"penalties=\{['\"](\w+)['\"]: \.\.\.\}", r"--penalty \1=VALUE"),
    (r"\b(unified|randomize|balanced)=True", r"--\1"),
    (r"\bmin_rows=([\d.]+)", r"--min-rows \1"),
    (r"\bmin_rows must", "--min-rows must"),
    (r"\b(method|density)=['\"](\w+)['\"]", r"--\1 \2"),
    (r"\brange=\(lo, hi\)", "--range LO HI"),
    (r"\ballow_expired=True", "--allow-expired"),
    (r"\bnan=False or nan=True", "--nan reject or --nan accept"),
    (r"\bunknown=\"default\" or a number", "--unknown default or --unknown NUMBER"),
    (r"\bpass keys=, one for each row", "name the column that identifies a row with --key"),
    (r"(?<![-\w])bins must be", "--bins must be"),
    (r"(?<![-\w])range must", "--range must"),
    (r"^(confidence|replicates|seed) must", r"--\1 must"),
    (r"^max_seconds ", "--max-seconds "),
    (r"\bcosts must be", "--cost-fp and --cost-fn must be"),
    (r"update it with scores, labels and groups before solving", "count some first"),
    (r"update it with labels", "count rows that have labels (--label)"),
    (r"^pass ", "give "),
    (r"(; |or )pass (?=--)", r"\1give "),
)


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
        with warnings.catch_warnings():
            _show_warnings(console)
            code = _run(given, console)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read our output has seen enough
        _forget_output()
        return BROKEN_PIPE
    except (Exception, KeyboardInterrupt) as error:
        if given.debug:
            import traceback  # slow, and needed here only

            traceback.print_exc()
        return _say(error)


def _run(given: argparse.Namespace, console: Console) -> int:
    with _undisturbed():
        command: Callable[[argparse.Namespace, Console], int | None] = getattr(
            import_module(f"gstar_fast._cli.commands.{given.command}"), given.command
        )
    if given.backend is None:
        return command(given, console) or DONE
    from gstar_fast import use_backend

    with use_backend(given.backend):
        return command(given, console) or DONE


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
        text = in_our_words(str(error)) or type(error).__name__
        code = USAGE if re.match(r"--|disparate_impact\b", text) else FAILED  # an option's value is wrong
    else:
        text = f"{type(error).__name__}: {error}\nthis should not happen; please report it with what --debug shows"
        code = FAILED
    print(f"gstar-fast: {printable(text)}", file=sys.stderr, flush=True)
    return code


def in_our_words(said: str) -> str:
    """A message of the library with options of the command line for its arguments."""
    for pattern, ours in _WORDS:
        said = re.sub(pattern, ours, said)
    return said


def _show_warnings(console: Console) -> None:
    from gstar_fast.errors import MissingClassWarning, NotConvergedWarning

    def show(message: object, *_: object, **__: object) -> None:
        console.note(f"note: {in_our_words(str(message))}")

    warnings.showwarning = show  # restored by catch_warnings
    warnings.simplefilter("always", UserWarning)
    for kind in (MissingClassWarning, NotConvergedWarning):  # the verdict says it too
        warnings.simplefilter("ignore", kind)


def _forget_output() -> None:
    """Keep Python from flushing into the broken pipe once more when it ends."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    except (OSError, ValueError):  # no file behind it
        pass
