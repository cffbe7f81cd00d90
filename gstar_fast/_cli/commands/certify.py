"""The command `certify`."""

from __future__ import annotations

import argparse
from dataclasses import asdict

import gstar_fast as gf
from gstar_fast._cli.errors import DONE, INFEASIBLE, USAGE, CliError
from gstar_fast._cli.output import Console
from gstar_fast._cli.read import sketch_of
from gstar_fast._cli.thresholds import load_thresholds, take_columns
from gstar_fast._cli.values import once


def certify(given: argparse.Namespace, console: Console) -> int:
    """Say whether thresholds keep their limits, going by fresh rows."""
    thresholds = load_thresholds(given.thresholds)
    limits = once(given.limit, "--limit") or getattr(thresholds, "limits", None)
    if not limits:
        raise CliError(f"{given.thresholds} was saved without limits; give --limit NAME=VALUE", USAGE)
    take_columns(given, thresholds)
    fresh = sketch_of(given, console)
    found = gf.certify(thresholds, fresh, limits=limits, confidence=given.confidence, exact=given.exact)
    console.answer(asdict(found), lambda: str(found))
    return DONE if found.holds else INFEASIBLE
