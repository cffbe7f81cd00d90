"""Files on this machine and in stores that fsspec reads, such as `s3://bucket/scores/`, by their names."""

from __future__ import annotations

import contextlib
import glob
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NotRequired, TypedDict, cast

from gstar_fast._base.text import without_secrets
from gstar_fast._cli.errors import CliError, extra_missing

_WEB = re.compile(r"(?i)https?://[^/?#]*([^?#]*)")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


class Identity(TypedDict):
    """What must be equal for a file, and the meaning of its rows, to be the same; None for a pipe."""

    path: str
    size: int | None
    changed: int | str | None
    folders: NotRequired[str]


def is_url(name: str) -> bool:
    """Whether the name is a URL, and not a path on this machine."""
    return _URL.match(name) is not None


def partition_folders(path: str) -> list[str]:
    """Folders named `column=value` in the path of a file, as written; the query of a URL is ignored."""
    if found := _WEB.match(path):
        path = found[1]
    parts = re.split(rf"[/{re.escape(os.sep)}]", path)
    return [part for part in parts[:-1] if part.find("=") > 0]


def is_folder(name: str) -> bool:
    """Whether the name is a folder."""
    return bool(_ask(name, "isdir")) if is_url(name) else Path(name).is_dir()


def is_file(name: str) -> bool:
    """Whether the name is a file that can be read more than once; a pipe is not."""
    return bool(_ask(name, "isfile")) if is_url(name) else Path(name).is_file()


def exists(name: str) -> bool:
    """Whether there is a file, a folder or a pipe of this name."""
    return bool(_ask(name, "exists")) if is_url(name) else Path(name).exists()


def open_file(name: str) -> BinaryIO:
    """The file, opened for reading."""
    return cast(BinaryIO, _ask(name, "open", "rb")) if is_url(name) else Path(name).open("rb")


def first_bytes(name: str, number: int = 8) -> bytes:
    """The first bytes of a file."""
    try:
        with open_file(name) as file:
            return file.read(number)
    except OSError as error:
        raise CliError(f"{without_secrets(name)} cannot be read: {error.strerror or error}") from None


def size_of(name: str) -> int:
    """Size in bytes."""
    return int(_ask(name, "info")["size"]) if is_url(name) else Path(name).stat().st_size


def identity(name: str) -> Identity:
    """Path, size and time of a file, to detect changes. It is saved, so it contains no secrets."""
    if is_url(name):  # some stores have no time of change; the size alone is compared then
        return {"path": without_secrets(canonical(name)), "size": size_of(name), "changed": str(_ask(name, "ukey"))}
    state = Path(name).stat()
    return {"path": canonical(name), "size": state.st_size, "changed": state.st_mtime_ns}


def canonical(name: str) -> str:
    """One name for all names of a file."""
    if not is_url(name):
        return os.path.realpath(name)
    with _explained(name):
        fs, path = _opened(name)
        return os.path.realpath(path) if "file" in fs.protocol else str(fs.unstrip_protocol(path))


def matching(pattern: str) -> list[str]:
    """Names that match a pattern."""
    if not is_url(pattern):
        return glob.glob(pattern, recursive=True)  # noqa: PTH207
    with _explained(pattern):
        fs, path = _opened(pattern)
        return [str(fs.unstrip_protocol(one)) for one in fs.glob(path)]


def below(folder: str) -> Iterator[tuple[str, str, bool]]:
    """All files below a folder: name, name within the folder, and whether it is a regular file.

    Links to folders are not followed; they are listed, but not as regular files.
    """

    def fail(error: OSError) -> None:
        raise CliError(f"{error.filename} cannot be read: {error.strerror}")

    if not is_url(folder):
        for place, folders, files in os.walk(folder, onerror=fail):
            links = [name for name in folders if Path(place, name).is_symlink()]
            for file in (Path(place, name) for name in [*files, *links]):
                yield str(file), str(file.relative_to(folder)), file.is_file()
        return
    with _explained(folder):
        fs, top = _opened(folder)
        found = sorted(fs.find(top))
    for path in found:
        inside = path[len(top) :].strip("/")
        if ".." in inside.split("/"):
            raise CliError(f"{without_secrets(folder)} has a file named {inside!r}, which is outside of it; rename it")
        yield f"{folder.rstrip('/')}/{inside}", inside, True


def forget(names: Iterable[str]) -> None:
    """Drop cached listings of stores, so that changes are seen."""
    for name in filter(is_url, names):
        with _explained(name):
            _opened(name)[0].invalidate_cache()


def _ask(url: str, method: str, *arguments: object) -> Any:
    """Call a method of the file system of a URL."""
    with _explained(url):
        fs, path = _opened(url)
        return getattr(fs, method)(path, *arguments)


def _opened(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    protocol = url.partition("://")[0]
    try:
        import fsspec

        fsspec.get_filesystem_class(protocol)
    except ModuleNotFoundError as error:
        if error.name != "fsspec":
            raise
        raise extra_missing(f"reading {protocol}://", "fsspec") from None
    except ValueError:
        raise CliError(f"{without_secrets(url)}: fsspec does not know {protocol}://; check the spelling") from None
    fs, path = fsspec.core.url_to_fs(url)
    return fs, str(path)


@contextlib.contextmanager
def _explained(url: str) -> Iterator[None]:
    """Turn the errors of a store, which may be of any type, into one that names the file and shows no password."""
    try:
        yield
    except (CliError, FileNotFoundError, PermissionError):
        raise
    except ImportError as error:  # the package for one kind of store
        raise CliError(f"{without_secrets(url)} needs another package: {without_secrets(str(error), url)}") from None
    except Exception as error:
        said = " ".join(without_secrets(str(error), url).split())[:200]
        raise CliError(f"{without_secrets(url)} cannot be reached.\nfound: {said or type(error).__name__}") from None
