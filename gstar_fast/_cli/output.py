"""Output of the command line: results on standard output, notes and progress on standard error, and files.

Files are checked before any work is done, and named once they are written.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gstar_fast._base.text import printable, span, without_secrets
from gstar_fast._cli.errors import USAGE, CliError
from gstar_fast._cli.tables.places import is_url

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Console:
    """How much to print, and in which form."""

    json: bool = False
    quiet: bool = False

    def answer(self, data: object, text: str | Callable[[], str]) -> None:
        """Print the result: as JSON if asked for, else as text, and nothing if quiet."""
        if self.json:
            print(printable(json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False)))
        elif not self.quiet:
            print(for_terminal(text if isinstance(text, str) else text()))

    def note(self, text: str) -> None:
        """Print a note on standard error."""
        if not self.quiet:
            print(f"gstar-fast: {for_terminal(text)}", file=sys.stderr, flush=True)


def for_terminal(text: str) -> str:
    """Text without terminal control characters and passwords."""
    return printable(without_secrets(text))


def command_line(argv: list[str]) -> str:
    """The command line as text, without secrets."""
    return shlex.join(["gstar-fast", *map(without_secrets, argv)])


def plain(value: object, key: object = None) -> object:
    """Values for JSON; infinities as text, counts of rows as whole numbers, other keys than texts as JSON."""
    if isinstance(value, dict):
        return {
            one if isinstance(one, str) else json.dumps(list(one) if isinstance(one, tuple) else one): plain(item, one)
            for one, item in value.items()
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, float) and key in ("rows", "n_rows") and value.is_integer():
        return int(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return value


def json_bytes(data: object) -> bytes:
    """The JSON of a file."""
    return (json.dumps(plain(data), indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


class Progress:
    """A progress line: share, rows, rows a second, time left.

    On a terminal it is redrawn; elsewhere, if asked for, a new line is printed every two seconds.
    """

    def __init__(self, *, shown: bool | None = None, quiet: bool = False) -> None:
        terminal = sys.stderr.isatty()
        self._shown = not quiet and (terminal if shown is None else shown)
        self._redraw = terminal
        self._every = 0.1 if terminal else 2.0
        self._start = self._last = time.monotonic()
        self._first_share: float | None = None
        self._drawn = False

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def update(self, rows: int, share: float | None) -> None:
        """Show the rows that are counted and the share of all bytes that is read."""
        if not self._shown:
            return
        now = time.monotonic()
        if self._first_share is None:
            self._first_share = share or 0.0
        if now - self._last < self._every:
            return
        self._last = now
        line = self._line(rows, share, now - self._start)
        if self._redraw:
            self._draw(line)
        else:
            print(line, file=sys.stderr, flush=True)

    def _draw(self, line: str, end: str = "") -> None:
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{line[:width]:<{width}}", end=end, file=sys.stderr, flush=True)
        self._drawn = True

    def _line(self, rows: int, share: float | None, seconds: float) -> str:
        speed = f"{rows:,} rows, {rows / max(seconds, 1e-9) / 1e6:,.1f} million a second"
        if share is None:
            return speed
        share = min(share, 1.0)
        bar = "#" * round(20 * share)
        gained = share - (self._first_share or 0.0)
        left = f", {span(seconds * (1 - share) / gained)} left" if gained > 0 and seconds > 0.5 else ""
        return f"[{bar:.<20}] {share:4.0%}  {speed}{left}"

    def close(self) -> None:
        """Erase the line."""
        if self._drawn:
            self._draw("", end="\r")
        self._drawn = False


def check_output(path: str | None, inputs: Iterable[str | None] = ()) -> None:
    """Raise, before any work is done, if an output cannot be written or is one of the inputs."""
    if path is None or path == "-":
        return
    refuse_remote(path)
    target = Path(path)
    folder = target.parent
    if not folder.is_dir():
        raise CliError(f"there is no folder {folder} to write {target.name} to; make it first: mkdir -p {folder}")
    if target.is_dir():
        raise CliError(f"{path} is a folder; name a file in it")
    if not os.access(folder, os.W_OK):
        raise CliError(f"{folder} may not be written to: permission denied")
    for source in inputs:
        if source is not None and target.exists() and os.path.exists(source) and os.path.samefile(target, source):  # noqa: PTH110, PTH121
            raise CliError(f"{path} is also an input; write to another file")


def refuse_remote(path: str) -> None:
    """Raise if an output is not on this machine."""
    if is_url(path):
        raise CliError(f"{without_secrets(path)} is remote, and outputs must be local files; write here, then copy")


def check_outputs(outputs: dict[str, str | None], inputs: Iterable[str | None]) -> None:
    """`check_output` for each of them (option -> path); raises also if two are the same file."""
    options: dict[str, str] = {}
    for option, path in outputs.items():
        if path is not None and (first := options.setdefault(os.path.realpath(path), option)) != option:
            raise CliError(f"{first} and {option} both write to {path}; give each a name of its own", USAGE)
        check_output(path, inputs)


def write_bytes(data: bytes) -> None:
    """Bytes to standard output."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def ending(path: str, known: Mapping[str, Kind]) -> Kind:
    """The value for the ending of an output's name."""
    suffix = Path(path).suffix.lower()
    if suffix not in known:
        raise CliError(f"{path} must end in {', '.join(known)}, to say what to write", USAGE)
    return known[suffix]


def files(*outputs: str | None) -> str:
    """The names of the outputs that are files, as text; empty if there are none."""
    return " and ".join(path for path in outputs if path is not None and path != "-")


def note_written(console: Console, *outputs: str | None) -> None:
    """Print which files were written, if any."""
    if written := files(*outputs):
        console.note(f"wrote {written}")
