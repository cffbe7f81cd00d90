"""Count scores once, then find one threshold for each group: least error within limits on the gaps."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gstar_fast._version import __version__ as __version__

if TYPE_CHECKING:  # what type checkers read; a test compares it with the table below
    from gstar_fast import config as config
    from gstar_fast import datasets as datasets
    from gstar_fast import errors as errors
    from gstar_fast import plot as plot
    from gstar_fast import results as results
    from gstar_fast._audit.audit import audit as audit
    from gstar_fast._audit.certify import certify as certify
    from gstar_fast._backends import use_backend as use_backend
    from gstar_fast._decide.decider import Decider as Decider
    from gstar_fast._decide.export import to_onnx as to_onnx
    from gstar_fast._decide.export import to_sql as to_sql
    from gstar_fast._decide.live import LiveDecider as LiveDecider
    from gstar_fast._density.density import density as density
    from gstar_fast._density.quality import fit_quality as fit_quality
    from gstar_fast._engines import dask as dask
    from gstar_fast._engines import ray as ray
    from gstar_fast._engines import spark as spark
    from gstar_fast._engines import sql as sql
    from gstar_fast._estimator.classifier import GroupThresholdClassifier as GroupThresholdClassifier
    from gstar_fast._estimator.decide_by import GroupProbability as GroupProbability
    from gstar_fast._question.cut import Segments as Segments
    from gstar_fast._report.report import report as report
    from gstar_fast._sketch.merging import merge_all as merge_all
    from gstar_fast._sketch.proxy import ProxySketch as ProxySketch
    from gstar_fast._sketch.sketch import Sketch as Sketch
    from gstar_fast._sketch.window import Window as Window
    from gstar_fast._solver.answer.result import Result as Result
    from gstar_fast._verbs.bounds import bounds as bounds
    from gstar_fast._verbs.frontier import frontier as frontier
    from gstar_fast._verbs.rows_needed import rows_needed as rows_needed
    from gstar_fast._verbs.solve import solve as solve

if not getattr(sys, "_is_gil_enabled", lambda: True)():  # a free-threaded Python
    raise ImportError("gstar_fast needs the global interpreter lock; start Python with -X gil=1 or PYTHON_GIL=1")
try:
    _of = import_module("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
except ImportError:
    pass
else:
    if _of.get_current() != _of.get_main():  # where the import of the compiled core would never end
        raise ImportError(
            "gstar_fast runs in the main interpreter only, and this is a subinterpreter; use processes or threads, "
            "under mod_wsgi: WSGIApplicationGroup %{GLOBAL}"
        )

# Every room is opened when it is first asked for, NumPy with it: `gstar-fast --help` should not wait for either.
_MODULES = ("config", "datasets", "errors", "plot", "results")
_ENGINES = ("dask", "ray", "spark", "sql")  # modules of the room `_engines`
_ROOMS = {
    "_audit.audit": ("audit",),
    "_audit.certify": ("certify",),
    "_backends": ("use_backend",),
    "_decide.decider": ("Decider",),
    "_decide.export": ("to_onnx", "to_sql"),
    "_decide.live": ("LiveDecider",),
    "_density.density": ("density",),
    "_density.quality": ("fit_quality",),
    "_estimator.classifier": ("GroupThresholdClassifier",),
    "_estimator.decide_by": ("GroupProbability",),
    "_question.cut": ("Segments",),
    "_report.report": ("report",),
    "_sketch.merging": ("merge_all",),
    "_sketch.proxy": ("ProxySketch",),
    "_sketch.sketch": ("Sketch",),
    "_sketch.window": ("Window",),
    "_verbs.bounds": ("bounds",),
    "_verbs.frontier": ("frontier",),
    "_verbs.rows_needed": ("rows_needed",),
    "_solver.answer.result": ("Result",),
    "_verbs.solve": ("solve",),
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = sorted([*_MODULES, *_ENGINES, *_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"gstar_fast.{name}")
    if name in _ENGINES:
        return import_module(f"gstar_fast._engines.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'gstar_fast' has no attribute {name!r}")
    value = getattr(import_module(f"gstar_fast.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
