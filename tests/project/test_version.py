"""The version is written once, in csrc/gstar/version.hpp, and all readers say the same."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import gstar_fast as gf

ROOT = Path(__file__).parent.parent.parent
CITATION = ROOT / "CITATION.cff"
CHANGELOG = ROOT / "CHANGELOG.md"
CXX = next((name for name in ("c++", "g++", "clang++") if shutil.which(name)), None)


def test_the_version_is_three_numbers():
    assert re.fullmatch(r"\d+\.\d+\.\d+", gf.__version__)


@pytest.mark.skipif(CXX is None, reason="no C++ compiler of the GCC kind")
@pytest.mark.parametrize("language", ["c", "c++"])
def test_the_header_says_the_version_as_text(language):
    source = '#include "gstar/version.hpp"\nconst char* version = GSTAR_VERSION;\n'
    command = [CXX, "-E", "-P", "-x", language, f"-I{gf.config.get_include()}", "-"]
    text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    assert "".join(re.findall(r'"([^"]*)"', text)) == gf.__version__


@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
@pytest.mark.parametrize(("asked", "found"), [("", True), ("own", True), ("own EXACT", True), ("99", False)])
def test_cmake_finds_the_version(tmp_path, asked, found):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.15)\nproject(asks LANGUAGES CXX)\n"
        f"find_package(gstar {asked.replace('own', gf.__version__)} QUIET)\n"
        'message(STATUS "found=${gstar_FOUND} version=${gstar_VERSION}")\n'
    )
    command = ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build"), f"-Dgstar_DIR={gf.config.get_cmake_dir()}"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert (f"found=1 version={gf.__version__}" in text) is found


@pytest.mark.skipif(not CITATION.is_file(), reason="CITATION.cff is not here")
def test_the_citation_has_the_version():
    (cited,) = re.findall(r"^version: (.*)$", CITATION.read_text(encoding="utf-8"), re.M)
    assert cited == gf.__version__


@pytest.mark.skipif(not CHANGELOG.is_file(), reason="CHANGELOG.md is not here")
def test_the_changelog_begins_with_the_version():
    newest = re.search(r"^## (\S+) \((unreleased|\d{4}-\d{2}-\d{2})\)$", CHANGELOG.read_text(encoding="utf-8"), re.M)
    assert newest is not None
    assert newest[1] == gf.__version__
