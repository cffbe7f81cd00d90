"""`import gstar_fast` brings numpy and little else; what is heavy comes when it is needed."""

import subprocess
import sys

import pytest

HEAVY = ["scipy", "numba", "pandas", "polars", "pyarrow", "boost_histogram", "matplotlib", "sklearn"]


@pytest.mark.parametrize("module", ["gstar_fast", "gstar_fast.datasets"])
def test_import_leaves_heavy_packages_alone(module):
    code = f"import sys, {module}; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
