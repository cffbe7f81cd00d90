"""A wheel says what is in it: without the compiled core it is for every platform."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("gstar_fast", "csrc", "cmake", "setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")


@pytest.mark.slow
def test_a_wheel_built_without_a_compiler_is_for_every_platform(tmp_path):
    pytest.importorskip("setuptools")
    pytest.importorskip("pybind11")
    source = tmp_path / "source"
    source.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
        else:
            shutil.copy(ROOT / name, source)
    code = f"from setuptools import build_meta; print(build_meta.build_wheel({str(tmp_path)!r}))"
    environment = {**os.environ, "CC": "/bin/false", "CXX": "/bin/false"}
    environment.pop("GSTAR_FAST_REQUIRE_CORE", None)
    built = subprocess.run(
        [sys.executable, "-c", code], cwd=source, env=environment, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    assert "the compiled core could not be built" in built.stderr
    (wheel,) = tmp_path.glob("*.whl")
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
