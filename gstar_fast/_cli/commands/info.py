"""The command `info`."""

from __future__ import annotations

import argparse
import os
import platform
from pathlib import Path

import gstar_fast as gf
from gstar_fast._cli.output import Console


def info(_: argparse.Namespace, console: Console) -> None:
    """Print versions, backend, kernel and processor."""
    about = gf.config.versions("numpy", "numba", "scipy", "pyarrow")
    about["gstar_fast"] = gf.__version__
    if about["pyarrow"] == "not installed":
        about["pyarrow"] += ": CSV only"
    about["processor"] = f"{_processor()}, {os.cpu_count()} cores"
    console.answer(about, lambda: "\n".join(f"{key:<10} {value}" for key, value in about.items()))


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
