"""Files written atomically: the old content until the new one is whole and on disk, whatever happens in between.

On Linux the new file has no name until it is complete (O_TMPFILE), so a killed process or a full disk leaves nothing
behind. A new name can be given to it in one step; to replace an existing file it takes two (link under a fixed hidden
name, rename), and should a kill hit exactly between them, the next save to the same path reuses that name. Elsewhere a
temporary name is replaced. Windows opens no folders and keeps no modes, so both are left out there.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from gstar_fast._base.refusals.place import bad_value

BINARY = getattr(os, "O_BINARY", 0)  # without it Windows changes the ends of lines


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file, fsync it, give it its name, fsync the folder."""
    with open_atomically(path) as file:
        file.write(data)


@contextlib.contextmanager
def open_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, piece by piece; it gets its name when the block ends, and none if the block raises.

    A file that is replaced keeps its mode. What is no file, a pipe or a device, is written to and not replaced.
    """
    target = Path(os.path.realpath(path))  # through a link, the file it points to is replaced
    mode = target.stat().st_mode if target.exists() else None
    if mode is not None and not stat.S_ISREG(mode):
        with _writer(os.open(target, os.O_WRONLY | BINARY), path) as file:
            yield file
        return
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY) if hasattr(os, "O_DIRECTORY") else None
    try:
        unnamed = None if folder is None else _open_unnamed(target.parent)
        with contextlib.ExitStack() as stack:
            descriptor = stack.enter_context(_named(target)) if unnamed is None else unnamed
            file = stack.enter_context(_writer(descriptor, path))
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, stat.S_IMODE(mode))
            yield file
            file.flush()
            with _naming(path):
                os.fsync(descriptor)
            if folder is not None and unnamed is not None:
                _give_name(unnamed, target.name, folder)
        if folder is not None:
            os.fsync(folder)
    finally:
        if folder is not None:
            os.close(folder)


def read_limited(
    path: str | os.PathLike[str],
    most: int | Callable[[bytes], int],
    why: str = "larger than any sketch within memory_limit; raise it, or check the path",
) -> bytes:
    """Read a file, or raise if it is too large; `why` is the end of that message.

    `most` is the largest size in bytes, or a function that computes it from the first 64 bytes.
    """
    with Path(path).open("rb") as file:
        head = read_at_most(file, 64) if callable(most) else b""
        most = most(head) if callable(most) else most
        data = head + read_at_most(file, max(0, most + 1 - len(head)), os.fstat(file.fileno()).st_size + 1)
    if len(data) > most:
        raise bad_value("path", f"{os.fspath(path)!r} is {why}")
    return data


def read_at_most(file: BinaryIO, most: int, at_once: int = 2**20) -> bytes:
    """Bytes to the end of a file, or the first `most`; a single read would take memory for as many first."""
    parts: list[bytes] = []
    while most and (part := file.read(min(most, max(at_once, 2**16)))):
        parts.append(part)
        most -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _open_unnamed(folder: Path) -> int | None:
    if not hasattr(os, "O_TMPFILE") or not Path("/proc/self/fd").is_dir():
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except OSError:  # not every file system can
        return None


class _NamedFile(io.FileIO):
    """A file that adds its name to errors such as "No space left on device"."""

    def __init__(self, descriptor: int, path: str | os.PathLike[str]) -> None:
        super().__init__(descriptor, "wb")
        self._path = path

    def write(self, data: Any, /) -> int:
        with _naming(self._path):
            return os.write(self.fileno(), data)


def _writer(descriptor: int, path: str | os.PathLike[str]) -> BinaryIO:
    return io.BufferedWriter(_NamedFile(descriptor, path))


@contextlib.contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = os.fspath(path)
        raise


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
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(hidden, dir_fd=folder)
            raise


@contextlib.contextmanager
def _named(target: Path) -> Iterator[int]:
    """Where files must have a name: a temporary one, removed on every error. The block closes the descriptor."""
    temporary = target.with_name(f".{target.name}.{os.urandom(8).hex()}.saving")
    # A name that cannot be foreseen, and a new file or none: a link that was put there is not written to.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o666)
    try:
        yield descriptor
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
