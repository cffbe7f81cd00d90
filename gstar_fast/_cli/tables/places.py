"""Where files are: on this machine, or in a store that fsspec knows (`s3://bucket/scores/`)."""

from __future__ import annotations

import contextlib
import glob
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeAlias, cast

from gstar_fast._base.text import without_secrets
from gstar_fast._cli.errors import CliError, extra_missing

Identity: TypeAlias = dict[str, str | int | None]  # of a file: where it is, its size, when it was changed

_WEB = re.compile(r"(?i)https?://[^/?#]*([^?#]*)")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


def is_url(name: str) -> bool:
    """Whether a name is that of a file elsewhere."""
    return _URL.match(name) is not None


def partition_folders(path: str) -> list[str]:
    """Folders named `column=value` in the path of a file, as written; the query of a URL is ignored."""
    if found := _WEB.match(path):
        path = found[1]
    parts = re.split(rf"[/{re.escape(os.sep)}]", path)
    return [part for part in parts[:-1] if part.find("=") > 0]


class Place(Protocol):
    """What there is to know of files by their names."""

    def is_folder(self, name: str) -> bool:
        """Whether it stands for the files below it."""
        ...

    def is_file(self, name: str) -> bool:
        """Whether it can be read more than once; a pipe cannot."""
        ...

    def exists(self, name: str) -> bool:
        """Whether there is anything of this name."""
        ...

    def below(self, folder: str) -> Iterator[tuple[str, str, bool]]:
        """Everything below a folder but folders: name, name within the folder, whether it is a file."""
        ...

    def matching(self, pattern: str) -> list[str]:
        """Names that match a pattern."""
        ...

    def open(self, name: str) -> BinaryIO:
        """A file one can seek in."""
        ...

    def size(self, name: str) -> int:
        """Its bytes."""
        ...

    def identity(self, name: str) -> Identity:
        """Path, size and time of a file, to detect changes. It is saved, so it contains no secrets."""
        ...

    def canonical(self, name: str) -> str:
        """The same for all names of a file."""
        ...


def place_of(name: str) -> Place:
    """The place that a name is about."""
    return Remote() if is_url(name) else Local()


def first_bytes(name: str, number: int = 8) -> bytes:
    """How a file begins."""
    try:
        with place_of(name).open(name) as file:
            return file.read(number)
    except OSError as error:
        raise CliError(f"{without_secrets(name)} cannot be read: {error.strerror or error}") from None


class Local:
    """Files of this machine."""

    def is_folder(self, name: str) -> bool:
        return Path(name).is_dir()

    def is_file(self, name: str) -> bool:
        return Path(name).is_file()

    def exists(self, name: str) -> bool:
        return Path(name).exists()

    def below(self, folder: str) -> Iterator[tuple[str, str, bool]]:
        """Links to folders are not followed, and are no files."""

        def fail(error: OSError) -> None:
            raise CliError(f"{error.filename} cannot be read: {error.strerror}")

        for place, folders, files in os.walk(folder, onerror=fail):
            links = [name for name in folders if Path(place, name).is_symlink()]
            for file in (Path(place, name) for name in [*files, *links]):
                yield str(file), str(file.relative_to(folder)), file.is_file()

    def matching(self, pattern: str) -> list[str]:
        return glob.glob(pattern, recursive=True)  # noqa: PTH207

    def open(self, name: str) -> BinaryIO:
        return Path(name).open("rb")

    def size(self, name: str) -> int:
        return Path(name).stat().st_size

    def identity(self, name: str) -> Identity:
        state = Path(name).stat()
        return {"path": self.canonical(name), "size": state.st_size, "changed": state.st_mtime_ns}

    def canonical(self, name: str) -> str:
        return os.path.realpath(name)


class Remote:
    """Files in object stores and elsewhere, through fsspec."""

    def is_folder(self, name: str) -> bool:
        with _told(name):
            fs, path = _opened(name)
            return bool(fs.isdir(path))

    def is_file(self, name: str) -> bool:
        with _told(name):
            fs, path = _opened(name)
            return bool(fs.isfile(path))

    def exists(self, name: str) -> bool:
        with _told(name):
            fs, path = _opened(name)
            return bool(fs.exists(path))

    def below(self, folder: str) -> Iterator[tuple[str, str, bool]]:
        with _told(folder):
            fs, top = _opened(folder)
            found = sorted(fs.find(top))
        for path in found:
            inside = path[len(top) :].strip("/")
            if ".." in inside.split("/"):
                raise CliError(
                    f"{without_secrets(folder)} has a file named {inside!r}, which is outside of it; rename it"
                )
            yield f"{folder.rstrip('/')}/{inside}", inside, True

    def matching(self, pattern: str) -> list[str]:
        with _told(pattern):
            fs, path = _opened(pattern)
            return [str(fs.unstrip_protocol(one)) for one in fs.glob(path)]

    def open(self, name: str) -> BinaryIO:
        with _told(name):
            fs, path = _opened(name)
            return cast(BinaryIO, fs.open(path, "rb"))

    def size(self, name: str) -> int:
        with _told(name):
            fs, path = _opened(name)
            return int(fs.info(path)["size"])

    def identity(self, name: str) -> Identity:
        """Of a store that keeps no time of change, the size alone tells."""
        with _told(name):
            fs, path = _opened(name)
            size = int(fs.info(path)["size"])
            return {"path": without_secrets(self.canonical(name)), "size": size, "changed": str(fs.ukey(path))}

    def canonical(self, name: str) -> str:
        with _told(name):
            fs, path = _opened(name)
            if "file" in fs.protocol:
                return os.path.realpath(path)
            return str(fs.unstrip_protocol(path))


def forget(names: Iterable[str]) -> None:
    """Let stores forget what they listed, so that a change shows."""
    for name in names:
        if is_url(name):
            with _told(name):
                _opened(name)[0].invalidate_cache()


@cache
def _fsspec(protocol: str) -> Any:
    try:
        import fsspec
    except ImportError:
        raise extra_missing(f"reading {protocol}://", "fsspec", "remote") from None
    return fsspec


def _opened(name: str) -> tuple[Any, str]:
    """The file system of fsspec for a URL, and the path in it."""
    protocol = _URL.match(name)[1]  # type: ignore[index]
    fsspec = _fsspec(protocol)
    try:
        fsspec.get_filesystem_class(protocol)
    except ValueError:
        raise CliError(f"{without_secrets(name)}: fsspec knows no {protocol}://; check how it is written") from None
    fs, path = fsspec.core.url_to_fs(name)
    return fs, str(path)


@contextlib.contextmanager
def _told(name: str) -> Iterator[None]:
    """Whatever a store says, with the name of the file; stores have errors of their own kinds."""
    try:
        yield
    except (CliError, FileNotFoundError, PermissionError):
        raise
    except ImportError as error:  # the package for one kind of store
        raise CliError(f"{without_secrets(name)} needs another package: {without_secrets(str(error), name)}") from None
    except Exception as error:
        said = " ".join(without_secrets(str(error), name).split())[:200]
        raise CliError(f"{without_secrets(name)} cannot be reached.\nfound: {said or type(error).__name__}") from None
