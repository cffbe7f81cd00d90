"""Files written atomically: the old content until the new one is whole and on disk, whatever happens in between.

On Linux the new file has no name until it is complete (O_TMPFILE), so a killed process or a full disk leaves nothing
behind. A new name can be given to it in one step; to replace an existing file it takes two (link under a fixed hidden
name, rename), and should a kill hit exactly between them, the next save to the same path reuses that name.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file, fsync it, give it its name, fsync the folder."""
    target = Path(os.path.realpath(path))  # through a link, the file it points to is replaced
    folder = os.open(target.parent, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        unnamed = _open_unnamed(target.parent)
        if unnamed is None:
            _write_named(target, data)
        else:
            try:
                _write_all(unnamed, data)
                _give_name(unnamed, target.name, folder)
            finally:
                os.close(unnamed)
        os.fsync(folder)
    finally:
        os.close(folder)


@contextlib.contextmanager
def open_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, piece by piece; it gets its name when the block ends, and none if the block raises."""
    target = Path(os.path.realpath(path))
    folder = os.open(target.parent, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        unnamed = _open_unnamed(target.parent)
        if unnamed is not None:
            with os.fdopen(unnamed, "wb") as file:
                yield file
                file.flush()
                os.fsync(unnamed)
                _give_name(unnamed, target.name, folder)
        else:
            with _named(target) as descriptor, os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(descriptor)
        os.fsync(folder)
    finally:
        os.close(folder)


def read_limited(path: str | os.PathLike[str], most: int) -> bytes:
    """Read a file, but not one too large to be meant."""
    with Path(path).open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(
            f"{os.fspath(path)!r} is larger than any sketch within memory_limit; raise it, or check the path"
        )
    return data


def _open_unnamed(folder: Path) -> int | None:
    if not hasattr(os, "O_TMPFILE") or not Path("/proc/self/fd").is_dir():
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except OSError:  # not every file system can
        return None


def _write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
    os.fsync(descriptor)


def _give_name(descriptor: int, name: str, folder: int) -> None:
    source = f"/proc/self/fd/{descriptor}"
    try:
        # a directory descriptor makes os.link follow the link in /proc to the unnamed file
        os.link(source, name, src_dir_fd=folder, dst_dir_fd=folder)
        return
    except FileExistsError:
        pass
    hidden = f".{name}.saving"
    while True:  # another save of the same path may take the hidden name away; both files are whole, the last one wins
        try:
            os.link(source, hidden, src_dir_fd=folder, dst_dir_fd=folder)
            os.rename(hidden, name, src_dir_fd=folder, dst_dir_fd=folder)
            return
        except FileExistsError:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(hidden, dir_fd=folder)
        except FileNotFoundError:
            continue


def _write_named(target: Path, data: bytes) -> None:
    with _named(target) as descriptor:
        try:
            _write_all(descriptor, data)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _named(target: Path) -> Iterator[int]:
    """Where files must have a name: a temporary one, removed on every error. The block closes the descriptor."""
    import tempfile  # slow, and needed here only

    descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".saving", dir=target.parent)
    try:
        yield descriptor
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
