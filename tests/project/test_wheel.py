"""A wheel says what is in it: without the compiled core it is for every platform."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("gstar_fast", "csrc", "cmake", "setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")


def copied(folder):
    """The sources in a new folder, with the dates of now."""
    folder.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            ignore = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
            shutil.copytree(ROOT / name, folder / name, ignore=ignore, copy_function=shutil.copyfile)
        else:
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def build(kind, source, target, **more):
    """Build without a compiler, and return what was built and what was said."""
    pytest.importorskip("setuptools")
    pytest.importorskip("pybind11")
    target.mkdir(exist_ok=True)
    code = f"from setuptools import build_meta; print(build_meta.build_{kind}({str(target)!r}))"
    environment = {**os.environ, "CC": "/bin/false", "CXX": "/bin/false", **more}
    environment.pop("GSTAR_FAST_REQUIRE_CORE", None)
    built = subprocess.run(
        [sys.executable, "-c", code], cwd=source, env=environment, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    (file,) = target.iterdir()
    return file, built.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sdist", "wheel"])
def test_two_builds_of_one_date_are_the_same_bytes(tmp_path, kind):
    """In two folders, from files of other dates."""
    files = []
    for name, day in (("first", 1_000_000_000), ("second", 1_500_000_000)):
        source = copied(tmp_path / name)
        for path in source.rglob("*"):
            os.utime(path, (day, day))
        files.append(build(kind, source, tmp_path / f"{name}_{kind}", SOURCE_DATE_EPOCH="1700000000")[0])
    assert files[0].name == files[1].name
    assert files[0].read_bytes() == files[1].read_bytes()
    if kind == "sdist":
        with tarfile.open(files[0]) as archive:
            names = archive.getnames()
            assert {member.mtime for member in archive} == {1_700_000_000}
        root = names[0].split("/")[0]
        assert {f"{root}/{name}" for name in ("PKG-INFO", "setup.py", "csrc/capi/capi.cpp")} <= set(names)


@pytest.mark.slow
def test_a_wheel_built_without_a_compiler_is_for_every_platform(tmp_path):
    wheel, told = build("wheel", copied(tmp_path / "source"), tmp_path / "wheel")
    assert "the compiled core could not be built" in told
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        (about,) = (name for name in names if name.endswith(".dist-info/WHEEL"))
        lines = packed.read(about).decode().splitlines()
    assert "Root-Is-Purelib: true" in lines
    assert "Tag: py3-none-any" in lines
    assert "gstar_fast/__init__.py" in names
    assert "gstar_fast/include/gstar/gstar.hpp" in names
    assert not [name for name in names if name.endswith((".so", ".pyd"))]
