"""Outputs of a command: checked before any work is done, and named once they are written."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from gstar_fast._base.text import without_secrets
from gstar_fast._cli.errors import USAGE, CliError
from gstar_fast._cli.output import Console
from gstar_fast._cli.tables.places import is_url

Kind = TypeVar("Kind")


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
