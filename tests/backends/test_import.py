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


def test_plain_solve_leaves_scipy_alone():
    """Limits, segments, penalties and mixtures need no SciPy; promises do."""
    code = """
import sys
import gstar_fast as gf

sketch = gf.Sketch.from_rows([1, 2, 3, 4] * 4, [0, 1] * 8, list(zip("aaaaaaaabbbbbbbb", "ccdd" * 4)))
for options in ({"limits": {"equalized_odds": 0.1}}, {"limits": {"tpr": {"at_least": 0.5}}, "randomize": True},
                {"limits": {"equalized_odds": 0.1}, "fair_between": 0, "decide_by": 1}):
    gf.solve(sketch, **options)
gf.solve(sketch, penalties={"equalized_odds": 1.0})
print("scipy" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False"]
