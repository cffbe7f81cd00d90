"""All backends give the same bytes, and are chosen as asked."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.machinery
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.strategies import bins, tables
from hypothesis import given
from hypothesis import strategies as st

import gstar_fast as gf
from gstar_fast import _backends

pytestmark = pytest.mark.filterwarnings("ignore::gstar_fast.errors.ResolutionWarning")

LIMITS = st.sampled_from([None, (0.0, 1.0), (-0.3, 1e-3), (1000.0, 1000.5), (-(2.0**1000), 2.0**1000), (0.0, 5e-324)])


def reference(table, **options):
    with gf.use_backend("numpy"):
        return table.into(gf.Sketch(**options))


@given(table=tables(), n_bins=bins(), limits=LIMITS, cut=st.integers(0, 40))
def test_bytes_agree_with_the_reference(fast_backend, table, n_bins, limits, cut):
    expected = reference(table, bins=n_bins, range=limits)
    sketch = gf.Sketch(bins=n_bins, range=limits)
    table.take(range(len(table.scores))[cut:]).into(sketch)
    table.take(range(len(table.scores))[:cut]).into(sketch)
    assert sketch.to_bytes() == expected.to_bytes()
    for name in ("counts", "means", "unlabelled", "below", "above", "unlabelled_below", "unlabelled_above", "edges"):
        assert np.array_equal(getattr(sketch, name), getattr(expected, name), equal_nan=True), name
    for label in (0, 1, None):
        for group in sketch.groups:
            a, b = sketch.moments(label, group), expected.moments(label, group)
            assert dataclasses.astuple(a) == pytest.approx(dataclasses.astuple(b), rel=1e-12, nan_ok=True)
    assert sketch.resolution == expected.resolution
    assert repr(sketch) == repr(expected)


@given(table=tables(), data=st.data())
def test_weighted_bytes_agree_with_the_reference(fast_backend, table, data):
    n = len(table.scores)
    weight = st.one_of(st.sampled_from([0.0, 1.0, 3.0, 0.5, 1.5 * 2**-20, 2.5 * 2**-20, 2.0**36]), st.floats(0, 1e6))
    w = np.array(data.draw(st.lists(weight, min_size=n, max_size=n)))
    k = data.draw(st.none() | st.lists(st.integers(0, 3), min_size=n, max_size=n))
    with gf.use_backend("numpy"):
        expected = table.into(gf.Sketch(bins=16), weights=w, repeats=k)
    sketch = table.into(gf.Sketch(bins=16), weights=w, repeats=k)
    assert sketch.to_bytes() == expected.to_bytes()
    assert np.array_equal(sketch.means, expected.means, equal_nan=True)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "spread", ["normal", "skewed", "uniform", "wide", "zeros", "far", "tiny", "growing", "some odd"]
)
def test_large_batches_agree_with_the_reference(fast_backend, dtype, spread):
    """More rows than any block or buffer, so that every path of a compiled loop is taken."""
    rng = np.random.default_rng(7)
    n = 40_000
    x = {
        "normal": lambda: rng.normal(size=n),
        "skewed": lambda: np.where(rng.random(n) < 0.9, 0.1 + 1e-6 * rng.random(n), rng.normal(size=n)),
        "uniform": lambda: rng.random(n),
        "wide": lambda: np.exp(rng.normal(size=n) * 12) * rng.choice([-1, 1], n),
        "zeros": lambda: np.where(rng.random(n) < 0.5, 0.0, rng.normal(size=n) * 1e-7),
        "far": lambda: 1e4 + rng.random(n) * 1e-3,
        "tiny": lambda: rng.normal(size=n) * (1e-40 if dtype == "f4" else 1e-310),
        "growing": lambda: rng.normal(size=n) * np.exp(np.linspace(0, 20, n)),
        "some odd": lambda: np.where(
            rng.random(n) < 0.01, rng.choice([np.inf, -np.inf, np.nan], n), rng.normal(size=n)
        ),
    }[spread]().astype(dtype)
    y, g = rng.integers(0, 2, n).astype(np.uint8), rng.choice([3, 1, 1000, -5], n)
    for options in ({}, {"range": (-1.0, 0.5)}, {"groups": [3, 1, 1000, -5], "bins": 64}):
        sketch = gf.Sketch(nan="skip", **options).update(x, y, g, threads=2)
        sketch.update(x[:3000], None, g[:3000])
        with gf.use_backend("numpy"):
            expected = gf.Sketch(nan="skip", **options).update(x, y, g).update(x[:3000], None, g[:3000])
        assert sketch.to_bytes() == expected.to_bytes(), options


def test_sketches_of_different_backends_merge(fast_backend):
    rng = np.random.default_rng(1)
    x, y, g = rng.normal(size=500), rng.integers(0, 2, 500), rng.choice(["a", "b"], 500)
    whole = gf.Sketch.from_rows(x, y, g)
    mine = gf.Sketch.from_rows(x[:200], y[:200], g[:200])
    with gf.use_backend("numpy"):
        other = gf.Sketch.from_rows(x[200:], y[200:], g[200:])
    assert mine + other == other + mine == whole
    assert (mine + other).backend == fast_backend
    assert (other + mine).backend == "numpy"


@pytest.mark.skipif(not _backends.has_native(), reason="the extension is not built")
@pytest.mark.parametrize("n_groups", [2, 3, 20])
def test_all_kernels_give_the_same_bytes(n_groups):
    """Each kernel that this CPU has; two groups fit into registers, three do not."""
    core = importlib.import_module("gstar_fast._core")
    rng = np.random.default_rng(2)
    n = 100_003
    x, y = rng.normal(size=n), rng.integers(0, 2, n).astype(np.uint8)
    g = rng.integers(0, n_groups, n).astype(np.uint8)
    before = core.kernel()
    kernels = ("generic", "four", "avx2", "avx512")
    try:
        with gf.use_backend("native"):
            found = set()
            for kernel in kernels[: kernels.index(before) + 1]:
                core.use_kernel(kernel)
                assert core.kernel() == kernel
                for scores in (x, x.astype(np.float32).astype(np.float64), x.astype(np.float32)):
                    found.add((scores.dtype == x.dtype, gf.Sketch.from_rows(scores, y, g).digest()))
        assert len({digest for _, digest in found}) == 2, "one for the float64 scores, one for the float32 ones"
    finally:
        core.use_kernel(before)


# -------------------------------------------------------------------------------------------------------------- choice


def test_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="backend must be one of native, numba, numpy; got 'cuda'"):
        gf.use_backend("cuda")


def test_use_backend_lasts_inside_a_with_block_or_until_changed():
    before = _backends.current()
    with gf.use_backend("numpy"):
        sketch = gf.Sketch()
        with gf.use_backend("numba"):
            assert gf.Sketch().backend == "numba"
        assert gf.Sketch().backend == "numpy"
    assert _backends.current() == before
    assert sketch.update([0.5], [1], [0]).backend == "numpy", "a sketch keeps its backend"


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


@pytest.mark.slow
def test_the_environment_chooses_a_backend():
    code = "import gstar_fast as gf; print(gf.Sketch().backend)"
    assert run(code, GSTAR_FAST_BACKEND="numpy").stdout == "numpy\n"
    wrong = run(code, GSTAR_FAST_BACKEND="cuda")
    assert "GSTAR_FAST_BACKEND: backend must be one of native, numba, numpy; got 'cuda'" in wrong.stderr


@pytest.mark.slow
def test_without_the_extension_numba_answers_and_native_says_what_to_do():
    hide = """
import importlib.util as u
find = u.find_spec
u.find_spec = lambda name, *a: None if name == "gstar_fast._core" else find(name, *a)
import gstar_fast as gf
print(gf.Sketch().backend)
gf.use_backend("native")
"""
    outcome = run(hide, GSTAR_FAST_BACKEND="", PYTHONSAFEPATH="1")  # the package itself, hiding no other
    assert outcome.stdout == "numba\n"
    assert "ImportError: the native backend is not available" in outcome.stderr
    assert outcome.stderr.count("RuntimeWarning: the numba backend answers, more slowly than the native one") == 1
    assert outcome.stderr.count("pip install --force-reinstall --no-deps --no-cache-dir") == 2  # the error says it too


@pytest.mark.slow
@pytest.mark.parametrize("writable", [True, False])
def test_numba_compiles_once_for_all_processes_where_a_folder_can_be_written(tmp_path, writable):
    """Where none can, as in a container with a read-only file system, every process compiles and none fails."""
    package, caches = tmp_path / "gstar_fast", tmp_path / "caches"
    shutil.copytree(Path(gf.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(gf.config.get_include(), tmp_path / "csrc")
    for folder in (package / "_backends" / "numba" / "__pycache__", caches) if not writable else ():
        folder.write_bytes(b"")  # no folder can be made here, not even by root
    code = f"""{PLAIN}
gf.Decider({{0: 0.5}})([0.1, 0.9], [0, 0])
from gstar_fast._backends.numba.decide import _compare
stats = _compare.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""
    told = []
    for _ in range(2):
        ended = run(
            code,
            GSTAR_FAST_BACKEND="numba",
            PYTHONPATH=str(tmp_path),
            PYTHONSAFEPATH="1",
            PYTHONDONTWRITEBYTECODE="1",
            XDG_CACHE_HOME=str(caches),
            LOCALAPPDATA=str(caches),
            HOME=str(caches),
        )
        assert ended.returncode == 0, ended.stderr
        told.append(ended.stdout.split())
    assert told == [["0", "1"], ["1", "0"] if writable else ["0", "1"]]


@pytest.fixture
def clone(tmp_path):
    """A source tree without the extension, and a folder of installed packages with it."""
    package = Path(gf.__file__).parent
    ignore = shutil.ignore_patterns("_core*", "__pycache__")
    shutil.copytree(package, tmp_path / "clone" / "gstar_fast", ignore=ignore)
    shutil.copytree(gf.config.get_include(), tmp_path / "clone" / "csrc")
    installed = tmp_path / "installed" / "gstar_fast"
    installed.mkdir(parents=True)
    (installed / "__init__.py").touch()
    (installed / f"_core{importlib.machinery.EXTENSION_SUFFIXES[0]}").touch()  # it is looked for, not loaded
    return tmp_path


# an editable install finds the parts of a package for any copy of it, the compiled extension among them
PLAIN = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in getattr(finder, "__module__", "")]
import gstar_fast as gf
"""
HIDDEN = f"""{PLAIN}
with gf.use_backend("numpy"):
    pass
for _ in range(2):
    print(gf.Sketch().backend)
    from gstar_fast import _backends
    _backends._chosen = None
"""


@pytest.mark.slow
def test_a_clone_that_hides_the_installed_package_says_so_once(clone):
    path = f"{clone / 'clone'}{os.pathsep}{clone / 'installed'}"
    outcome = run(HIDDEN, GSTAR_FAST_BACKEND="", PYTHONPATH=path, PYTHONSAFEPATH="1")
    assert outcome.stdout.split() == ["numba", "numba"]
    assert outcome.stderr.count("the numba backend answers, more slowly than the native one") == 1
    assert f"from the source tree {clone / 'clone' / 'gstar_fast'}, which has no compiled extension" in outcome.stderr
    assert f"hides the installed package in {clone / 'installed' / 'gstar_fast'}" in outcome.stderr
    assert "Start Python in another folder or with python -P, or build the extension here" in outcome.stderr
    native = run(f"{PLAIN}gf.use_backend('native')", PYTHONPATH=path, PYTHONSAFEPATH="1")
    assert (
        "ImportError: the native backend is not available: gstar_fast was imported from the source tree"
        in native.stderr
    )
    asked = run(HIDDEN, GSTAR_FAST_BACKEND="numba", PYTHONPATH=path, PYTHONSAFEPATH="1")
    assert (asked.stdout.split(), asked.stderr) == (["numba", "numba"], "")


def test_only_another_package_with_the_extension_is_hidden(clone, monkeypatch):
    here = str(Path(gf.__file__).parent.parent)
    monkeypatch.setattr(sys, "path", [here])
    assert _backends.hidden_native() is None  # itself
    monkeypatch.setattr(sys, "path", [here, str(clone / "clone"), str(clone / "nowhere")])
    assert _backends.hidden_native() is None  # another source tree
    monkeypatch.setattr(sys, "path", [here, str(clone / "clone"), str(clone / "installed")])
    assert str(clone / "installed") in _backends.hidden_native()


def test_show_config_names_backend_kernel_compiler_and_versions(capsys, backend):
    gf.config.show_config()
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["backend"] == backend
    assert {"gstar_fast", "kernel", "compiler", "python", "numpy", "numba", "scipy"} <= set(lines)
